//! Waiting for what somebody else wrote, without trusting it to stop when it is told to.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How long a tool or a client may take to stop by itself: enough to end a process that does not listen at first. What it began
/// and did not end by then is dropped where it waits.
pub(crate) const STOP_MAX: Duration = Duration::from_secs(10);

/// What `work` gives. Once `cancel` is cancelled it may take [`STOP_MAX`] more; `None` when it takes longer.
pub(crate) async fn stopping<F: Future>(work: F, cancel: &CancellationToken) -> Option<F::Output> {
    let mut work = pin!(work);
    // All branches are cancel-safe: the work is only polled.
    tokio::select! {
        biased;
        output = &mut work => return Some(output),
        () = cancel.cancelled() => {}
    }
    tokio::time::timeout(STOP_MAX, work).await.ok()
}
