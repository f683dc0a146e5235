//! What forks tell of themselves beside their results: one span each, and few events, all through `tracing`.
//!
//! | name | level | when | fields |
//! |---|---|---|---|
//! | `fork.subagent` | span | around the whole fork | `fork_run_id`, `parent_agent`, `fork_label`, `query_source`, `mode`, `skip_transcript`, `cache_key_hash` |
//! | `fork.cache_break_detected` | WARN | the cache did not serve what a fork inherits | `verdict`, `first_difference`, `expected_read`, `read`, `hit_ratio` |
//! | `fork.cache_drop_detected` | WARN | a turn reads less than half of what the one before it read | `verdict`, `first_difference`, `read_before`, `read` |
//! | `fork.tool_filter` | DEBUG | a filter refused a call | `tool`, `code` |
//! | `fork.turn_loop` | DEBUG | a fork has ended | `outcome`, `turns`, `tool_uses`, `prompt_tokens`, `output_tokens`, `duration_ms` |
//!
//! Each name is the target, too: lines of a log show it, and filters select by it. `fork=debug` in an `EnvFilter` is all of the
//! table, `fork.tool_filter=debug` one line of it.
//!
//! It never tells what was said: no prompt, no reply, no arguments. A label is told; that of a [`Sibling`](crate::Sibling) is the
//! beginning of its prompt unless another one is given.
//!
//! With the feature `otel` forks also make spans and metrics of OpenTelemetry's conventions for generative AI, in the providers that
//! the process has installed ([`opentelemetry::global`](https://docs.rs/opentelemetry)): `invoke_agent {label}` around a fork, child
//! of its parent's span and linked to it; inside, `chat {model}` for each request and `execute_tool {tool}` for each call; the
//! histograms `gen_ai.client.token.usage` and `gen_ai.client.operation.duration`. Without the feature none of it is built.
//!
//! ```
//! # #[cfg(feature = "otel")] {
//! use opentelemetry_sdk::metrics::SdkMeterProvider;
//! use opentelemetry_sdk::trace::SdkTracerProvider;
//!
//! // With an exporter of your choice in each; forks find them by themselves.
//! opentelemetry::global::set_tracer_provider(SdkTracerProvider::builder().build());
//! opentelemetry::global::set_meter_provider(SdkMeterProvider::builder().build());
//! # }
//! ```
//!
//! A trace comes in as [`ParentContext::traceparent`](crate::ParentContext::traceparent), and each tool call is told how to hand it
//! on ([`CallContext::traceparent`](crate::tools::CallContext::traceparent)), with the feature and without:
//!
//! ```
//! use tine_fork::ParentContext;
//!
//! let parent = ParentContext {
//!     traceparent: std::env::var("TRACEPARENT").ok(),
//!     ..ParentContext::new("main")
//! };
//! # assert_eq!(&*parent.agent, "main");
//! ```

#[cfg(feature = "otel")]
mod names;
#[cfg(not(feature = "otel"))]
mod off;
#[cfg(feature = "otel")]
mod otel;
mod traceparent;

#[cfg(not(feature = "otel"))]
pub(crate) use off::{Traced, ambient_traceparent};
#[cfg(feature = "otel")]
pub(crate) use otel::{Traced, ambient_traceparent};

use tine_cache::Verdict;
use tine_guard::filter::Denial;
use tine_model::Usage;

use crate::cache::CacheRecord;
use crate::outcome::{ForkResult, Identity};
use crate::params::ForkParams;

/// A fork's first request that is served less than this share of its prompt is worth a warning.
const BREAK_HIT_RATIO: f64 = 0.5;

/// A turn that reads less than one part in so many of what the turn before it read is worth a warning.
const DROP_PARTS: u64 = 2;

/// What stands for a difference that nobody could find.
const UNKNOWN: &str = "unknown";

/// The span of one fork. Everything that the fork does happens inside.
pub(crate) fn span(params: &ForkParams, identity: &Identity) -> tracing::Span {
    tracing::info_span!(
        target: "fork.subagent",
        "fork.subagent",
        fork_run_id = %identity.run_id,
        parent_agent = &*params.parent_ctx.agent,
        fork_label = identity.label,
        query_source = identity.source.as_str(),
        mode = params.mode.as_str(),
        skip_transcript = params.skip_transcript,
        cache_key_hash = params.cache_safe.cache_key_hash(),
    )
}

/// The parent's trace, where it names one that can be read.
pub(crate) fn check_traceparent(params: &mut ForkParams, span: &tracing::Span) {
    let named = &mut params.parent_ctx.traceparent;
    if named.as_deref().is_some_and(|text| traceparent::parts(text).is_none()) {
        tracing::warn!(parent: span, "the parent's `traceparent` cannot be read, and is ignored");
        *named = None;
    }
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallEnd {
    /// The tool did what it was asked.
    Answered,
    /// The tool says that it failed.
    Failed,
    /// A filter refused it.
    Denied,
    /// The run was stopped.
    Stopped,
    /// A bug in the tool.
    Panicked,
}

/// A fork has ended.
pub(crate) fn turn_loop(result: &ForkResult) {
    tracing::debug!(
        name: "fork.turn_loop",
        target: "fork.turn_loop",
        outcome = result.outcome.as_str(),
        turns = result.turns,
        tool_uses = result.tool_uses,
        prompt_tokens = result.usage.prompt(),
        output_tokens = result.usage.output,
        duration_ms = result.duration.as_millis() as u64,
    );
}

/// A filter has refused a call.
pub(crate) fn tool_filter(tool: &str, denial: &Denial) {
    let code = denial.code().as_str();
    tracing::debug!(name: "fork.tool_filter", target: "fork.tool_filter", tool, code, "refused");
}

/// The first answer of a fork, and what is known of the prefix that it inherits.
pub(crate) struct FirstAnswer<'a> {
    pub(crate) cache: &'a CacheRecord,
    pub(crate) usage: &'a Usage,
    /// Whether somebody has sent the inherited part before, so that it should be in a cache.
    pub(crate) was_sent: bool,
    /// Shorter prefixes are not cached.
    pub(crate) min_tokens: u64,
}

impl FirstAnswer<'_> {
    /// Warns where the cache did not serve what the fork inherits: that is the promise of a fork.
    pub(crate) fn warn_of_a_break(&self) {
        if !self.is_break() {
            return;
        }
        let judgement = &self.cache.judgement;
        tracing::warn!(
            name: "fork.cache_break_detected",
        target: "fork.cache_break_detected",
            verdict = judgement.verdict.as_str(),
            first_difference = difference(&judgement.verdict),
            expected_read = judgement.expected_read,
            read = judgement.read,
            hit_ratio = self.usage.hit_ratio(),
            "a fork's inherited part was not served by the cache: {}",
            judgement.why,
        );
    }

    /// Less than half of the prompt was read, or nothing though the prefix is long enough to be cached; unless there is a good
    /// reason: the prefix was served and the rest is new, nobody has sent it before, it is too short, or nothing was reported.
    fn is_break(&self) -> bool {
        let judgement = &self.cache.judgement;
        match judgement.verdict {
            Verdict::Ok | Verdict::BelowMinimum | Verdict::Unknown => return false,
            Verdict::Cold if !self.was_sent => return false,
            Verdict::Cold
            | Verdict::Diverged(_)
            | Verdict::SettingsChanged(_)
            | Verdict::Race
            | Verdict::Expired
            | Verdict::MarkerMisplaced
            | Verdict::Unreliable => {}
        }
        let is_low = self.usage.hit_ratio().is_some_and(|ratio| ratio < BREAK_HIT_RATIO);
        let is_long_enough = self.cache.expectation.prefix >= self.min_tokens;
        let is_nothing = judgement.read.unwrap_or(0) == 0 && is_long_enough;
        is_low || is_nothing
    }
}

/// Warns where a turn reads much less than the turn before it in the same run: its requests only grow, so what could be read then
/// can be read now. Nothing reported counts as nothing read, for the turn before it did report.
pub(crate) fn warn_of_a_drop(before: &Usage, now: &Usage, cache: Option<&CacheRecord>) {
    let (before, now) = (before.read.unwrap_or(0), now.read.unwrap_or(0));
    if now.saturating_mul(DROP_PARTS) >= before {
        return;
    }
    let judgement = cache.map(|cache| &cache.judgement);
    tracing::warn!(
        name: "fork.cache_drop_detected",
        target: "fork.cache_drop_detected",
        verdict = judgement.map_or(UNKNOWN, |judgement| judgement.verdict.as_str()),
        first_difference = judgement.map_or(UNKNOWN.to_owned(), |it| difference(&it.verdict)),
        read_before = before,
        read = now,
        "the cache serves less than half of what it served a turn before: {}",
        judgement.map_or("the cause is not known", |judgement| judgement.why.as_str()),
    );
}

fn difference(verdict: &Verdict) -> String {
    verdict.segment().map_or(UNKNOWN.to_owned(), ToString::to_string)
}
