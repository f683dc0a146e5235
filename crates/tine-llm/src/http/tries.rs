//! One request from its first try to its last: its turn at the gate before each, and what follows a failure.

use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::error::TimeLimit;
use crate::http::exchange::Failed;
use crate::http::failing::nothing;
use crate::http::gate::{Permit, RateGate};
use crate::http::incoming::Report;
use crate::http::retry::{Retry, Waits};
use crate::http::watch::{Stop, Watch};
use crate::{LlmError, Progress};

/// The tries of one request.
pub(crate) struct Tries<'a> {
    watch: &'a Watch<'a>,
    gate: &'a Arc<RateGate>,
    waits: Waits,
    /// Number of the present try, from 1.
    attempt: u32,
    /// All waits so far.
    waited: Duration,
    /// The wait that was reported and is still to come: the gate is closed for so long.
    told: Duration,
}

impl<'a> Tries<'a> {
    pub(crate) fn new(watch: &'a Watch<'a>, gate: &'a Arc<RateGate>, waits: Waits) -> Self {
        Self { watch, gate, waits, attempt: 1, waited: Duration::ZERO, told: Duration::ZERO }
    }

    /// Waits until the next try may be sent. Why it is held is reported once, unless that was told already.
    pub(crate) async fn enter(&mut self, report: &mut Report<'_>) -> Result<Permit, LlmError> {
        let told = mem::take(&mut self.told);
        let mut passing = pin!(self.gate.pass());
        let known = async {
            tokio::select! {
                biased;
                permit = &mut passing => Some(permit),
                () = pause(told) => None,
            }
        };
        let stopped = |stop: Stop| stop.with(nothing());
        if let Some(permit) = self.watch.over(self.watch.whole(), known).await.map_err(stopped)? {
            return Ok(permit);
        }
        let (reason, wait) = self.gate.hold();
        tracing::info!(?wait, reason = reason.as_str(), "held");
        report(Progress::Held { wait, reason });
        self.watch.over(self.watch.whole(), passing).await.map_err(stopped)
    }

    /// Returns when the next try may be prepared, or the error when there is none.
    pub(crate) async fn after(
        &mut self,
        failed: Failed,
        permit: Permit,
        report: &mut Report<'_>,
    ) -> Result<(), LlmError> {
        let Failed { error, retry } = failed;
        let limits = &self.watch.limits().retry;
        let wait = match retry {
            Retry::After(asked) => self.waits.asked(asked),
            Retry::Backoff | Retry::Never => self.waits.backoff(),
        };
        let left = limits.patience.saturating_sub(self.waited);
        let limited = error.limits_the_rate();
        if limited {
            // Who would wait longer is told so by a refusal of its own.
            permit.refused(wait.min(left));
        }
        let was_answered = permit.was_answered();
        drop(permit);
        let asked = match retry {
            Retry::Never => return Err(error.after(self.attempt, None)),
            Retry::After(asked) if asked > left => {
                return Err(error.after(self.attempt, Some(asked)));
            }
            // What is added at random is not the provider's wish.
            Retry::After(asked) => asked,
            Retry::Backoff => wait,
        };
        let tries = match error {
            LlmError::Unreachable { .. } | LlmError::Timeout { limit: TimeLimit::Connect, .. }
                if !was_answered =>
            {
                limits.tries.min(limits.tries_unreachable)
            }
            _ if error.may_be_for_good() => limits.tries.min(limits.tries_failing),
            _ => limits.tries,
        };
        let error = error.after(self.attempt, None);
        // A wait that the limit of the whole request would cut short only hides what went wrong.
        if self.attempt >= tries || asked > left || !self.watch.allows(wait) {
            return Err(error);
        }
        self.waited += asked;
        let attempt = self.attempt;
        tracing::info!(attempt, ?wait, cause = %error, "trying again");
        report(Progress::Retry { attempt, wait, cause: &error });
        self.attempt += 1;
        if limited {
            // The gate is closed for so long. Waiting there keeps the place before those who come later.
            self.told = wait;
            return Ok(());
        }
        self.watch.pause(wait).await.map_err(|stop| stop.with(nothing()))
    }
}

/// Waits; not at all for no wait, where a timer would still take a moment.
async fn pause(wait: Duration) {
    if !wait.is_zero() {
        sleep(wait).await;
    }
}
