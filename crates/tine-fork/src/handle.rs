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

/// The other end of a handle: whoever runs the fork tells here that it has ended. Dropped without a result, the fork is
/// [lost](ForkError::Lost).
#[derive(Debug)]
#[must_use = "dropping the end without a result loses the fork"]
pub struct ForkEnd {
    result: oneshot::Sender<ForkResult>,
    /// Says that the fork has ended, behind the result.
    done: DropGuard,
}

impl ForkEnd {
    /// The fork has ended. Whoever held the handle may be gone.
    pub fn finish(self, result: ForkResult) {
        drop(self.result.send(result));
        drop(self.done);
    }
}

impl ForkHandle {
    /// A handle of a fork that runs wherever its maker likes, and the end at which it is told that the fork has ended. `abort` is the
    /// fork's own token, derived from its parent's ([`ParentContext::abort`](crate::ParentContext::abort)): the maker stops the fork
    /// when it is cancelled, which the handle does where it is dropped.
    ///
    /// ```
    /// # use tine_fork::{CancellationToken, ForkHandle, ForkRunId, tokio};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let (handle, end) = ForkHandle::pair(ForkRunId::from_random([7; 16]), "elsewhere", CancellationToken::new());
    /// drop(end);
    /// assert!(handle.join().await.is_err(), "the fork was lost");
    /// # }
    /// ```
    pub fn pair(
        run_id: ForkRunId,
        agent: impl Into<Arc<str>>,
        abort: CancellationToken,
    ) -> (Self, ForkEnd) {
        let (sender, receiver) = oneshot::channel();
        let done = CancellationToken::new();
        let end = ForkEnd { result: sender, done: done.clone().drop_guard() };
        let guard = Some(abort.clone().drop_guard());
        let completion = Some(ForkCompletion { result: receiver, guard });
        (Self { run_id, agent: agent.into(), abort, done, completion }, end)
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
