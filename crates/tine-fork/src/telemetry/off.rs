//! Without the feature `otel`: the spans of OpenTelemetry that are not there. The same names as in `otel.rs`, and nothing behind
//! them.

use std::future::Future;
use std::time::Duration;

use tine_llm::LlmError;
use tine_wire::Reply;

use crate::outcome::{ForkResult, Identity};
use crate::params::ForkParams;
use crate::telemetry::CallEnd;
use crate::tools::ToolCall;

/// No span.
pub(crate) struct Traced;

impl Traced {
    pub(crate) fn fork(_params: &ForkParams, _identity: &Identity) -> Self {
        Self
    }

    pub(crate) fn chat() -> Self {
        Self
    }

    pub(crate) fn tool(_call: &ToolCall) -> Self {
        Self
    }

    pub(crate) fn around<F: Future>(&self, work: F) -> F {
        work
    }

    pub(crate) fn chat_began(&self, _after: Duration) {}

    pub(crate) fn chat_ended(&self, _result: &Result<Reply, LlmError>) {}

    pub(crate) fn tool_ended(&self, _end: CallEnd) {}

    pub(crate) fn fork_ended(&self, _result: &ForkResult) {}
}

/// Nobody traces here, so whoever is above is the nearest.
pub(crate) fn ambient_traceparent() -> Option<String> {
    None
}
