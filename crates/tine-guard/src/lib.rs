//! Verdicts on tool calls: permission rules and modes; and secrets out of what is shown.
//!
//! [`judge`] says of one call whether it may run, must be asked about, or is refused, and why. It
//! looks at nothing but its arguments: this crate does no I/O, so it does not know what a symbolic
//! link points to or whether a path exists, and it never runs anything.
//!
//! Two seams are kept for what comes later. Shell text is judged only in the `wildcard` module and by the
//! `Bash` arm of `judge`, so a recogniser of read-only commands has one place to go. Paths are
//! judged only as the text they resolve to ([`place_of`]); opening them relative to a directory
//! handle is the tools' part.

mod arguments;
mod call;
mod grant;
mod judge;
mod paths;
mod redact;
mod rule;
mod verdict;
mod wildcard;

pub use call::{Call, describe};
pub use grant::rule_for;
pub use judge::judge;
pub use paths::{PathPlace, is_secret, place_of};
pub use redact::{redact, redact_json};
pub use rule::{Rule, RuleError, Rules};
pub use verdict::{ModeError, PermissionMode, Reason, Verdict};
