//! Filters: which tools a fork may call, and with which arguments.
//!
//! A filter is narrower than the permission rules and knows no asking: a maintenance run or a worker is
//! refused, told why, and told what it may do instead, so that it goes on in the same run. Filters judge
//! canonical tool names and flat JSON arguments; whatever they cannot read without doubt is refused.
//! They run nothing; all they look at on the disk is what stands where a path leads.
//!
//! A filter is the first line. What it allows is opened by the tools without following links, and
//! commands run behind a wall that does not depend on it.

mod auto_mem;
mod bash;
mod compose;
mod denial;
mod directory;
mod fields;
mod git;
mod planted;
mod read_only;
mod reads;
mod roots;
pub mod tool_names;
mod worker;

pub use auto_mem::AutoMemFilter;
pub use compose::{All, Any, BoxedFilter, Not, all, any, not};
pub use denial::{Denial, DenialCode};
pub use directory::FilterError;
pub use read_only::ReadOnlyFilter;
pub use worker::WorkerFilter;

use tine_model::RawJson;

/// Refuses calls before they are dispatched. Declarations stay as they are, so that the cached prefix
/// does too.
pub trait ToolFilter: Send + Sync {
    /// Whether a call may be dispatched.
    fn allows(&self, tool: &str, input: &RawJson) -> bool;

    /// What the model is told otherwise: why, and what it may do instead.
    fn denial_message(&self, tool: &str, input: &RawJson) -> String;

    /// Both answers from one look at the call. Must agree with the other two.
    fn check(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        if self.allows(tool, input) {
            return Ok(());
        }
        Err(Denial::from_message(self.denial_message(tool, input)))
    }
}

/// A filter of ours: one judgement, from which the answers of [`ToolFilter`] follow.
trait Judgement: Send + Sync {
    fn judge(&self, tool: &str, input: &RawJson) -> Result<(), Denial>;
}

/// Answers for a call that is allowed and whose denial is asked for all the same.
const NOT_DENIED: &str = "This call is allowed.";

macro_rules! filter_by_judgement {
    ($($filter:ty),+) => {$(
        impl ToolFilter for $filter {
            fn allows(&self, tool: &str, input: &RawJson) -> bool {
                self.judge(tool, input).is_ok()
            }

            fn denial_message(&self, tool: &str, input: &RawJson) -> String {
                match self.judge(tool, input) {
                    Ok(()) => NOT_DENIED.to_owned(),
                    Err(denial) => denial.to_string(),
                }
            }

            fn check(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
                self.judge(tool, input)
            }
        }
    )+};
}

filter_by_judgement!(AllowAllFilter, AutoMemFilter, ReadOnlyFilter, WorkerFilter, All, Any, Not);

/// Lets every call through.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAllFilter;

impl Judgement for AllowAllFilter {
    fn judge(&self, _tool: &str, _input: &RawJson) -> Result<(), Denial> {
        Ok(())
    }
}
