//! Waiting under a time limit and a cancellation token.

use std::future::Future;
use std::time::Duration;

use tine_wire::Partial;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{HttpLimits, LlmError, TimeLimit};

/// The limits of one request, from its first try to its end.
pub(crate) struct Watch<'a> {
    cancel: &'a CancellationToken,
    limits: &'a HttpLimits,
    /// `None` when there is no such limit, or it lies beyond what the clock can say.
    whole_by: Option<Instant>,
}

/// Why a wait ended without what was waited for.
#[derive(Debug)]
pub(crate) enum Stop {
    Cancelled,
    Limit { limit: TimeLimit, allowed: Duration },
}

/// The moment at which a limit strikes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    limit: TimeLimit,
    allowed: Duration,
    /// `None` lies beyond what the clock can say.
    by: Option<Instant>,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(limits: &'a HttpLimits, cancel: &'a CancellationToken) -> Self {
        let whole_by = limits.whole.and_then(|whole| Instant::now().checked_add(whole));
        Self { cancel, limits, whole_by }
    }

    /// The limits themselves.
    pub(crate) fn limits(&self) -> &HttpLimits {
        self.limits
    }

    /// For the first part of a reply that is asked for now.
    pub(crate) fn first_event(&self) -> Deadline {
        Deadline::after(TimeLimit::FirstEvent, self.limits.first_event)
    }

    /// For the next piece of an answer.
    pub(crate) fn idle(&self) -> Deadline {
        Deadline::after(TimeLimit::Idle, self.limits.idle)
    }

    /// For all of a reply that is asked for now.
    pub(crate) fn reply(&self) -> Deadline {
        Deadline::after(TimeLimit::Reply, self.limits.reply)
    }

    /// Only the limit of the whole request.
    pub(crate) fn whole(&self) -> Deadline {
        Deadline { limit: TimeLimit::Whole, allowed: Duration::MAX, by: None }
    }

    /// Waits for `work` until the deadline, the limit of the whole request, or a cancellation. When one of those
    /// comes first `work` is dropped, and its caller must not go on with what it worked on.
    pub(crate) async fn over<T>(
        &self,
        deadline: Deadline,
        work: impl Future<Output = T>,
    ) -> Result<T, Stop> {
        let deadline = self.nearest(deadline);
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Stop::Cancelled),
            value = work => Ok(value),
            () = reached(deadline.by) => {
                Err(Stop::Limit { limit: deadline.limit, allowed: deadline.allowed })
            }
        }
    }

    /// Whether the whole request may still last that long.
    pub(crate) fn allows(&self, wait: Duration) -> bool {
        let end = Instant::now().checked_add(wait);
        self.whole_by.is_none_or(|whole| end.is_some_and(|end| end < whole))
    }

    /// Waits that long; cancelled by the token alone.
    pub(crate) async fn pause(&self, wait: Duration) -> Result<(), Stop> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Stop::Cancelled),
            () = tokio::time::sleep(wait) => Ok(()),
        }
    }

    fn nearest(&self, deadline: Deadline) -> Deadline {
        match (self.whole_by, deadline.by) {
            (Some(whole), by) if by.is_none_or(|by| whole <= by) => Deadline {
                limit: TimeLimit::Whole,
                allowed: self.limits.whole.unwrap_or_default(),
                by: Some(whole),
            },
            _ => deadline,
        }
    }
}

impl Deadline {
    /// The one that strikes first.
    pub(crate) fn or_sooner(self, other: Self) -> Self {
        match (self.by, other.by) {
            (None, Some(_)) => other,
            (Some(mine), Some(theirs)) if theirs < mine => other,
            _ => self,
        }
    }

    fn after(limit: TimeLimit, allowed: Duration) -> Self {
        Self { limit, allowed, by: Instant::now().checked_add(allowed) }
    }
}

impl Stop {
    /// The error, with what had arrived.
    pub(crate) fn with(self, partial: Box<Partial>) -> LlmError {
        match self {
            Self::Cancelled => LlmError::Cancelled { partial },
            Self::Limit { limit, allowed } => LlmError::Timeout { limit, allowed, partial },
        }
    }
}

/// Waits for a moment; `None` never comes.
pub(crate) async fn reached(by: Option<Instant>) {
    match by {
        Some(by) => sleep_until(by).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    async fn limit(limits: &HttpLimits) -> TimeLimit {
        let cancel = CancellationToken::new();
        let watch = Watch::new(limits, &cancel);
        match watch.over(watch.idle(), pending::<()>()).await {
            Err(Stop::Limit { limit, .. }) => limit,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_nearest_limit_strikes() {
        let whole = |seconds| HttpLimits {
            whole: Some(Duration::from_secs(seconds)),
            ..HttpLimits::default()
        };
        assert_eq!(limit(&HttpLimits::default()).await, TimeLimit::Idle);
        assert_eq!(limit(&whole(119)).await, TimeLimit::Whole);
        assert_eq!(limit(&whole(121)).await, TimeLimit::Idle);
        assert_eq!(
            limit(&HttpLimits { whole: Some(Duration::MAX), ..whole(1) }).await,
            TimeLimit::Idle
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_beyond_all_clocks_never_strikes() {
        let limits = HttpLimits { idle: Duration::MAX, ..HttpLimits::default() };
        let cancel = CancellationToken::new();
        let watch = Watch::new(&limits, &cancel);
        let work = tokio::time::sleep(Duration::from_secs(1_000_000));
        assert!(watch.over(watch.idle(), work).await.is_ok());
        assert!(watch.allows(Duration::MAX));
    }

    #[tokio::test]
    async fn a_cancelled_token_wins_over_ready_work() {
        let (limits, cancel) = (HttpLimits::default(), CancellationToken::new());
        cancel.cancel();
        let watch = Watch::new(&limits, &cancel);
        assert!(matches!(watch.over(watch.idle(), async {}).await, Err(Stop::Cancelled)));
        assert!(matches!(watch.pause(Duration::MAX).await, Err(Stop::Cancelled)));
    }
}
