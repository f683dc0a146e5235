//! Asking again while servers do not answer: where one dies, another leads its streams some seconds later.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

use crate::error::ClusterError;

/// The time for which something is tried again: longer than a cluster takes to find a new leader.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The pause between two tries.
pub(crate) const RETRY: Duration = Duration::from_millis(250);

/// Does something that may be done twice, until it succeeds, fails for another reason than the servers', or [`PATIENCE`] is over.
pub(crate) async fn patiently<T, F>(mut operation: impl FnMut() -> F) -> Result<T, ClusterError>
where
    F: Future<Output = Result<T, ClusterError>>,
{
    let until = Instant::now() + PATIENCE;
    loop {
        match operation().await {
            Err(ClusterError::Server { what, source }) if Instant::now() < until => {
                tracing::debug!(what, %source, "the servers are asked again");
                tokio::time::sleep(RETRY).await;
            }
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn away() -> ClusterError {
        ClusterError::server("answer", "nobody leads")
    }

    #[tokio::test(start_paused = true)]
    async fn servers_are_asked_again_for_a_while() {
        let asked = Cell::new(0);
        let third = patiently(|| async {
            asked.set(asked.get() + 1);
            if asked.get() < 3 { Err(away()) } else { Ok(asked.get()) }
        });
        assert_eq!(third.await.unwrap(), 3);
        let begun = Instant::now();
        let never: Result<(), _> = patiently(|| async { Err(away()) }).await;
        assert!(matches!(never, Err(ClusterError::Server { .. })) && begun.elapsed() >= PATIENCE);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_fault_of_the_servers_is_said_at_once() {
        let begun = Instant::now();
        let gone: Result<(), _> = patiently(|| async { Err(ClusterError::Ended) }).await;
        assert!(matches!(gone, Err(ClusterError::Ended)) && begun.elapsed().is_zero());
    }
}
