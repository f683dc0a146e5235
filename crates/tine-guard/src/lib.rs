//! Verdicts on tool calls: permission rules and modes.
//!
//! [`judge`] says of one call whether it may run, must be asked about, or is refused, and why. It
//! looks at nothing but its arguments: this crate does no I/O, so it does not know what a symbolic
//! link points to or whether a path exists, and it never runs anything.
//!
//! Shell text is judged by [`shell_verdict`], which allows only what it recognises, and compared with rules in the
//! `wildcard` module. Paths are judged only as the text they resolve to ([`place_of`]); opening them
//! relative to a directory handle is the tools' part.

mod arguments;
mod call;
mod command;
mod judge;
mod paths;
mod rule;
mod shell;
mod verdict;
mod warning;
mod wildcard;

pub use call::{Call, describe};
pub use command::command_reads;
pub use judge::judge;
pub use paths::{PathPlace, is_secret, place_of};
pub use rule::{Rule, RuleError, Rules};
pub use shell::{ShellVerdict, shell_verdict};
pub use verdict::{ModeError, PermissionMode, Reason, Verdict};
pub use warning::{Severity, Warning, warning};
