//! What most programs that fork need: `use tine_fork::prelude::*;`.

pub use crate::{
    CacheSafeParams, DefaultForkSubagent, DelegateMode, ForkError, ForkHandle, ForkParams,
    ForkResult, ForkSubagent, LlmClient, NoTools, Outcome, ParentContext, ParentRequest, Provider,
    ToolDispatcher,
};
