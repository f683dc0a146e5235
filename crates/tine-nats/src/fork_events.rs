//! The parts of the events of a library's fork that are not documented fields.

use serde::{Deserialize, Serialize};
use tine_cache::{Judgement, Verdict};
use tine_fork::client::StopReason;
use tine_fork::run::RequestRecord;

/// [`Cost::detail`](crate::event::Cost::detail).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CostDetail {
    /// When the request was sent, in milliseconds since the Unix epoch by the worker's clock.
    pub(crate) started_ms: i64,
    /// Why the model stopped.
    pub(crate) stop: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    items: usize,
    body_bytes: u64,
    /// The work of the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cache: Option<Judged>,
}

/// A [`Judgement`] as it travels, without the segment of its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Judged {
    verdict: String,
    expected_read: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    read: Option<u64>,
    missed: u64,
    why: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_of_miss: Option<f64>,
}

impl From<&RequestRecord> for CostDetail {
    fn from(record: &RequestRecord) -> Self {
        let RequestRecord { reply, model, usage: _, stop, items, body_bytes, started_ms, cache } =
            record;
        let judged = cache.as_ref().map(|cache| {
            let Judgement { verdict, expected_read, read, missed, why, cost_of_miss } =
                cache.judgement.clone();
            let verdict = verdict.as_str().to_owned();
            Judged { verdict, expected_read, read, missed, why, cost_of_miss }
        });
        Self {
            started_ms: *started_ms,
            stop: stop_word(stop).to_owned(),
            reply: reply.clone(),
            model: model.clone(),
            items: *items,
            body_bytes: *body_bytes,
            cache: judged,
        }
    }
}

impl CostDetail {
    /// The work of the cache.
    pub(crate) fn judgement(&self) -> Option<Judgement> {
        let Judged { verdict, expected_read, read, missed, why, cost_of_miss } =
            self.cache.clone()?;
        let verdict = Verdict::from_name(&verdict)?;
        Some(Judgement { verdict, expected_read, read, missed, why, cost_of_miss })
    }
}

/// [`Ended::detail`](crate::event::Ended::detail): sums over all workers that have had the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndDetail {
    pub(crate) turns: u32,
    pub(crate) tool_uses: u32,
}

/// A reply that paused a long turn.
pub(crate) const PAUSED: &str = "pause";

/// A reply that was cut at its limit.
pub(crate) const CUT: &str = "max_tokens";

/// A refusal.
pub(crate) const REFUSAL: &str = "refusal";

/// No answer.
pub(crate) const NO_ROOM: &str = "context_exceeded";

fn stop_word(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => CUT,
        StopReason::StopSequence => "stop_sequence",
        StopReason::Pause => PAUSED,
        StopReason::Refusal => REFUSAL,
        StopReason::ContextExceeded => NO_ROOM,
        StopReason::Other(word) => word,
    }
}
