//! The agent tree: making, forking, running and reporting agents over a store.
//!
//! [`Runtime`] is the one door for every face. It owns the rules (fork transaction, leases, permissions, fan-out); a
//! face translates to and from it. It draws nothing and parses no command line.

mod codec;
mod cost;
mod dispatch;
mod error;
mod fan;
mod fan_report;
mod fold;
mod fork;
mod import;
mod journal;
mod load;
mod notice;
mod owner;
mod permission;
mod ports;
mod prompt;
mod real_path;
mod registry;
mod rewrite;
mod run;
mod runtime;
mod slash;

pub use cost::{CostLine, CostReport};
pub use error::RuntimeError;
pub use fan::{FAN_MAX, FanPlan, FanSpec, FanWatcher};
pub use fan_report::{CacheReport, FanReport, FanTask};
pub use fold::{Fold, FoldedEntry};
pub use fork::{ForkMade, ForkSpec};
pub use import::{Imported, to_messages};
pub use owner::{Owner, OwnerError};
pub use permission::{Answer, Asker, DenyAll, Permissions, Request as PermissionRequest};
pub use ports::{Clock, ConnectError, Connector, Ids, Ports};
pub use prompt::{environment_note, system_prompt};
pub use registry::{MAIL_BYTES_MAX, NAME_CHARS_MAX};
pub use run::{RunOptions, RunOutcome};
pub use runtime::{NewRoot, Runtime};
pub use slash::{SlashError, parse_fork};
