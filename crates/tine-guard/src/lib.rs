//! Verdicts on tool calls: permission rules and modes; and secrets out of what is shown.
//!
//! [`judge`] says of one call whether it may run, must be asked about, or is refused, and why. It
//! looks at nothing but its arguments. This crate runs nothing and changes nothing; all it looks at on
//! the disk is where links lead ([`real_path()`]), so that a call can be judged as it would really be.
//!
//! [`filter`] is narrower: it says which calls a maintenance run or a worker may make at all, and looks
//! also at what stands where a path leads.
//!
//! Shell text is read once ([`ShellText`]): its verdict, rules, warnings and offers all go by the commands that were seen. Paths are judged as the text they resolve to ([`place_of`]) and as where they really
//! lead ([`real_path`]); opening what was judged, relative to a directory handle and without following links, is
//! the tools' part.

#[macro_use]
mod words;

mod arguments;
mod call;
mod command;
mod command_pattern;
mod explain;
pub mod filter;
mod grant;
mod judge;
mod look_alike;
mod machine;
mod offer;
mod paths;
mod protected;
mod real_path;
mod redact;
mod rule;
mod secrets;
mod shell;
mod sweep;
mod unseen;
mod verdict;
mod warning;
mod wildcard;

pub use call::{Call, TOOL_NAMES, describe, read_path, written_path};
pub use command::{CommandRead, CommandReads, command_reads};
pub use explain::{Explanation, MetRule, SeenCommand, explain};
pub use grant::rule_for;
pub use judge::{allowed_by_rule, judge, judge_read};
pub use look_alike::{LookAlike, TextUse, look_alikes};
pub use machine::shows_machine;
pub use offer::{OfferedRule, offered_rules};
pub use paths::{PathPlace, normalise, place_of};
pub use protected::{
    HOME_STARTERS, REPOSITORIES_WITHIN, REPOSITORY_OPERATIONS, REPOSITORY_SETTINGS, is_protected,
    is_protected_name, starts_programs, steers_agents,
};
pub use real_path::{RealCall, RealPathError, real_call, real_path};
pub use redact::{redact, redact_json};
pub use rule::{Rule, RuleError, Rules};
pub use secrets::{is_key_store, is_secret, is_secret_in, leads_to_key_store, names_files_alone};
pub use shell::{ShellText, ShellVerdict, Width, shell_verdict};
pub use sweep::Sweep;
pub use unseen::is_unseen;
pub use verdict::{ModeError, PermissionMode, Reason, Verdict};
pub use warning::{Severity, Warning, warning};
