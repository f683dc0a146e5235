//! A running fork, as its caller holds it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::outcome::{ForkError, ForkResult, ForkRunId};

/// A fork that was started. Dropped with its completion inside, it cancels the fork, and only the fork; [`Self::detach`] lets
/// it go on without anybody waiting.
#[derive(Debug)]
#[must_use = "dropping the handle cancels the fork; `detach` lets it go on"]
pub struct ForkHandle {
    run_id: ForkRunId,
    agent: Arc<str>,
    abort: CancellationToken,
    /// Cancelled when the fork has ended.
    done: CancellationToken,
    completion: Option<ForkCompletion>,
}

/// The end of a fork, to be awaited once. Dropped before that, it cancels the fork as its handle would; once it has given the
/// result, the fork's token stays as it is, so that what its tools started under it goes on.
#[derive(Debug)]
#[must_use = "dropping the completion cancels the fork; `detach` lets it go on"]
pub struct ForkCompletion {
    result: oneshot::Receiver<ForkResult>,
    guard: Option<DropGuard>,
}

impl ForkHandle {
    pub(crate) fn new(
        (run_id, agent): (ForkRunId, Arc<str>),
        (abort, done): (CancellationToken, CancellationToken),
        result: oneshot::Receiver<ForkResult>,
    ) -> Self {
        let guard = Some(abort.clone().drop_guard());
        Self { run_id, agent, abort, done, completion: Some(ForkCompletion { result, guard }) }
    }

    /// Which fork it is.
    pub fn run_id(&self) -> ForkRunId {
        self.run_id
    }

    /// Who the fork is, for its tools and events.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// The fork's own token, derived from its parent's: cancelling it stops the fork and nothing above it.
    pub fn abort_token(&self) -> CancellationToken {
        self.abort.clone()
    }

    /// The fork's end, the first time; `None` from then on. Whoever has it is responsible for the fork: the handle may be
    /// dropped.
    pub fn take_completion(&mut self) -> Option<ForkCompletion> {
        self.completion.take()
    }

    /// Waits for the end. An error is a lost fork, or a completion that was taken before.
    pub async fn join(mut self) -> Result<ForkResult, ForkError> {
        match self.completion.take() {
            Some(completion) => completion.await,
            None => Err(ForkError::Taken),
        }
    }

    /// Whether the fork has ended.
    pub fn is_ended(&self) -> bool {
        self.done.is_cancelled()
    }

    /// Waits for the end and leaves the result for whoever takes it. Dropping this wait changes nothing.
    pub async fn ended(&self) {
        self.done.cancelled().await;
    }

    /// Stops the fork: its model call and its tools. It still ends in order, with what it has.
    pub fn cancel(&self) {
        self.abort.cancel();
    }

    /// Lets the fork go on without anybody waiting for it. Its parent's token still stops it.
    pub fn detach(mut self) {
        if let Some(completion) = self.completion.take() {
            completion.detach();
        }
    }
}

impl ForkCompletion {
    /// Lets the fork go on without anybody waiting for it.
    pub fn detach(mut self) {
        if let Some(guard) = self.guard.take() {
            drop(guard.disarm());
        }
    }
}

impl Future for ForkCompletion {
    type Output = Result<ForkResult, ForkError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = std::task::ready!(Pin::new(&mut self.result).poll(context));
        // The fork is over: nothing of it is left to cancel.
        if let Some(guard) = self.guard.take() {
            drop(guard.disarm());
        }
        Poll::Ready(result.map_err(|_| ForkError::Lost))
    }
}
