//! What most programs that fork need: `use tine_fork::prelude::*;`.

pub use crate::client::LlmClient;
pub use crate::request::Provider;
pub use crate::tools::NoTools;
pub use crate::{
    CacheSafeParams, DefaultForkSubagent, DelegateMode, ForkError, ForkHandle, ForkParams,
    ForkResult, ForkSubagent, Outcome, ParentContext, ParentRequest, ToolDispatcher,
};
