//! Where forks are written down, for those who want to see them later.

use std::sync::Arc;

use async_trait::async_trait;

use crate::journal::Journal;
use crate::outcome::{ForkResult, ForkRunId};
use crate::params::QuerySource;

/// What a registry is told of a fork before it runs.
#[derive(Debug, Clone, Copy)]
pub struct ForkEntry<'a> {
    /// Which fork.
    pub run_id: ForkRunId,
    /// Who forks.
    pub parent: &'a str,
    /// Who the fork is.
    pub agent: &'a str,
    /// What it is called.
    pub label: &'a str,
    /// What it is for.
    pub source: &'a QuerySource,
    /// What it is asked: the last text of its prompt.
    pub directive: &'a str,
}

/// Keeps rows and messages of forks that do not skip their transcript ([`ForkParams::skip_transcript`](crate::ForkParams::skip_transcript)).
#[async_trait]
pub trait ForkRegistry: Send + Sync {
    /// Makes the fork's rows, and the log that its messages go to. An error means that the fork is not started.
    async fn register(
        &self,
        fork: ForkEntry<'_>,
    ) -> Result<Arc<dyn Journal>, Box<dyn std::error::Error + Send + Sync>>;

    /// The fork has ended. Called once, before its caller has the result; a failure is a warning, and the result stands.
    async fn finished(
        &self,
        result: &ForkResult,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;
}
