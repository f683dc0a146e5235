//! A run that has begun: its lease is held, its conversation loaded.

use tine_fork::cache::Seat;
use tine_llm::LlmClient;
use tine_store::Lease;

use crate::live::Entered;
use crate::load::Loaded;

/// One agent's run, prepared: the lease is held.
pub(crate) struct Prepared<'a> {
    pub(crate) loaded: Loaded,
    pub(crate) lease: Lease,
    pub(crate) llm: &'a dyn LlmClient,
    pub(crate) seat: Option<Seat>,
    pub(crate) label: Option<String>,
    pub(crate) entered: &'a Entered,
    /// Whether the prompt stands before mail that waits.
    pub(crate) prompt_first: bool,
    /// Whether what somebody kept for the end of its work is part of this run.
    pub(crate) takes_follow_ups: bool,
}
