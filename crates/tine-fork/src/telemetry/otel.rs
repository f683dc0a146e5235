//! OpenTelemetry's spans and metrics of a fork: `invoke_agent` around the whole, in it `chat` for each request and `execute_tool`
//! for each call. Content is never recorded, but for the label that the embedder gave.
//!
//! Spans go to the process's global providers. What belongs to one fork travels in OpenTelemetry's own context, which every poll of
//! the fork's future restores, so the turn loop hands nothing on.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::metrics::Histogram;
use opentelemetry::trace::{
    FutureExt, Link, SpanContext, SpanId, SpanKind, Status, TraceContextExt, TraceFlags, TraceId,
    TraceState, Tracer, WithContext,
};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use tine_llm::LlmError;
use tine_model::{ModelRef, Outcome, Provider, StopReason, Usage};
use tine_wire::Reply;
use tokio::time::Instant;

use crate::outcome::{ForkResult, Identity};
use crate::params::ForkParams;
use crate::telemetry::{CallEnd, names, traceparent};
use crate::tools::ToolCall;

/// Name of our instrumentation.
const SCOPE: &str = "tine-fork";

/// A span under way, and everything that is inside of it. Dropped, it ends.
pub(crate) struct Traced {
    context: Context,
    began: Instant,
}

/// What spans of one fork share. Runs that are no fork have none of their own.
struct Scope {
    tracer: BoxedTracer,
    tokens: Histogram<u64>,
    durations: Histogram<f64>,
    /// Provider and model, on every span and measurement.
    model: Vec<KeyValue>,
    model_name: String,
}

impl Scope {
    fn new(model: Option<&ModelRef>) -> Self {
        let meter = global::meter(SCOPE);
        let tokens = meter.u64_histogram(names::TOKEN_USAGE).with_unit("{token}");
        let durations = meter.f64_histogram(names::OPERATION_DURATION).with_unit("s");
        let attributes = |model: &ModelRef| {
            let provider = KeyValue::new(names::PROVIDER_NAME, provider_name(model.provider));
            vec![provider, KeyValue::new(names::REQUEST_MODEL, model.name.clone())]
        };
        Self {
            tracer: global::tracer(SCOPE),
            tokens: tokens.with_boundaries(names::TOKEN_BOUNDARIES.to_vec()).build(),
            durations: durations.with_boundaries(names::DURATION_BOUNDARIES.to_vec()).build(),
            model: model.map(attributes).unwrap_or_default(),
            model_name: model.map(|model| model.name.clone()).unwrap_or_default(),
        }
    }

    /// That of the fork around.
    fn current() -> Arc<Self> {
        let context = Context::current();
        context.get::<Arc<Self>>().map_or_else(|| Arc::new(Self::new(None)), Arc::clone)
    }
}

impl Traced {
    /// The span of a fork: the child of its parent's span, and linked to it. The parent's is the one that it names, else the
    /// one in which it forks.
    pub(crate) fn fork(params: &ForkParams, identity: &Identity) -> Self {
        let named = params.parent_ctx.traceparent.as_deref().and_then(remote);
        let around = Context::current();
        let around = named.map_or(around.clone(), |named| around.with_remote_span_context(named));
        let scope = Arc::new(Scope::new(Some(&params.cache_safe.model)));
        let parent = around.span().span_context().clone();
        let links = parent.is_valid().then(|| Link::new(parent, Vec::new(), 0));
        let mut attributes = vec![
            KeyValue::new(names::OPERATION_NAME, names::INVOKE_AGENT),
            KeyValue::new(names::AGENT_NAME, identity.label.clone()),
            KeyValue::new(names::AGENT_ID, identity.agent.to_string()),
            KeyValue::new(names::CONVERSATION_ID, identity.run_id.to_string()),
            KeyValue::new(names::PARENT_AGENT, params.parent_ctx.agent.to_string()),
            KeyValue::new(names::QUERY_SOURCE, identity.source.as_str().to_owned()),
            KeyValue::new(names::MODE, params.mode.as_str()),
        ];
        attributes.extend(scope.model.iter().cloned());
        let builder = scope
            .tracer
            .span_builder(named_span(names::INVOKE_AGENT, &identity.label))
            .with_kind(SpanKind::Internal)
            .with_attributes(attributes)
            .with_links(links.into_iter().collect());
        let span = builder.start_with_context(&scope.tracer, &around);
        Self::new(around.with_span(span).with_value(scope))
    }

    /// The span of one request with all of its tries, in the span around.
    pub(crate) fn chat() -> Self {
        let scope = Scope::current();
        let mut attributes = vec![
            KeyValue::new(names::OPERATION_NAME, names::CHAT),
            KeyValue::new(names::REQUEST_STREAM, true),
        ];
        attributes.extend(scope.model.iter().cloned());
        let name = named_span(names::CHAT, &scope.model_name);
        Self::inside(&scope, name, SpanKind::Client, attributes)
    }

    /// The span of one tool call, in the span around.
    pub(crate) fn tool(call: &ToolCall) -> Self {
        let attributes = vec![
            KeyValue::new(names::OPERATION_NAME, names::EXECUTE_TOOL),
            KeyValue::new(names::TOOL_NAME, call.name.clone()),
            KeyValue::new(names::TOOL_CALL_ID, call.id.0.clone()),
            KeyValue::new(names::TOOL_TYPE, names::TOOL_TYPE_FUNCTION),
        ];
        let name = named_span(names::EXECUTE_TOOL, &call.name);
        Self::inside(&Scope::current(), name, SpanKind::Internal, attributes)
    }

    fn inside(scope: &Scope, name: String, kind: SpanKind, attributes: Vec<KeyValue>) -> Self {
        let around = Context::current();
        let builder = scope.tracer.span_builder(name).with_kind(kind).with_attributes(attributes);
        let span = builder.start_with_context(&scope.tracer, &around);
        Self::new(around.with_span(span))
    }

    fn new(context: Context) -> Self {
        Self { context, began: Instant::now() }
    }

    /// Everything that `work` does is inside of this span.
    pub(crate) fn around<F: Future>(&self, work: F) -> WithContext<F> {
        work.with_context(self.context.clone())
    }

    /// The reply begins so long after its request.
    pub(crate) fn chat_began(&self, after: Duration) {
        self.set(KeyValue::new(names::TIME_TO_FIRST_CHUNK, after.as_secs_f64()));
    }

    pub(crate) fn chat_ended(&self, result: &Result<Reply, LlmError>) {
        let (usage, error) = match result {
            Ok(reply) => {
                self.set_some(names::RESPONSE_ID, reply.id.clone());
                self.set_some(names::RESPONSE_MODEL, reply.model.clone());
                let reason = StringValue::from(finish_reason(&reply.stop).to_owned());
                let reasons = Value::Array(Array::String(vec![reason]));
                self.set(KeyValue::new(names::FINISH_REASONS, reasons));
                (reply.usage, None)
            }
            Err(error) => {
                let usage = error.partial().map(|partial| partial.usage).unwrap_or_default();
                (usage, Some(error_type(error)))
            }
        };
        self.set_usage(&usage);
        self.end(error);
        self.measure(&usage, result.as_ref().ok().and_then(|reply| reply.model.clone()), error);
    }

    pub(crate) fn tool_ended(&self, end: CallEnd) {
        self.end(match end {
            CallEnd::Answered => None,
            CallEnd::Failed => Some("tool_error"),
            CallEnd::Denied => Some("denied"),
            CallEnd::Stopped => Some("cancelled"),
            CallEnd::Panicked => Some("panic"),
        });
    }

    pub(crate) fn fork_ended(&self, result: &ForkResult) {
        self.set_usage(&result.usage);
        self.end(match &result.outcome {
            Outcome::Completed => None,
            other => Some(other.as_str()),
        });
    }

    /// Tokens and duration of a request, for the histograms.
    fn measure(&self, usage: &Usage, response_model: Option<String>, error: Option<&'static str>) {
        let Some(scope) = self.context.get::<Arc<Scope>>() else { return };
        let mut attributes = vec![KeyValue::new(names::OPERATION_NAME, names::CHAT)];
        attributes.extend(scope.model.iter().cloned());
        attributes.extend(response_model.map(|model| KeyValue::new(names::RESPONSE_MODEL, model)));
        // What was not reported is not counted.
        if *usage != Usage::default() {
            let counts = [
                (names::TOKEN_TYPE_INPUT, usage.prompt()),
                (names::TOKEN_TYPE_OUTPUT, usage.output),
            ];
            for (kind, tokens) in counts {
                let kind = KeyValue::new(names::TOKEN_TYPE, kind);
                scope.tokens.record(tokens, &[attributes.as_slice(), &[kind]].concat());
            }
        }
        attributes.extend(error.map(|error| KeyValue::new(names::ERROR_TYPE, error)));
        scope.durations.record(self.began.elapsed().as_secs_f64(), &attributes);
    }

    fn set_usage(&self, usage: &Usage) {
        if *usage == Usage::default() {
            return;
        }
        let is_write_told = usage.write_short.is_some() || usage.write_long.is_some();
        let counts = [
            (names::INPUT_TOKENS, Some(usage.prompt())),
            (names::OUTPUT_TOKENS, Some(usage.output)),
            (names::CACHE_READ_TOKENS, usage.read),
            (names::CACHE_CREATION_TOKENS, is_write_told.then(|| usage.written())),
            (names::REASONING_TOKENS, usage.reasoning),
        ];
        for (name, count) in counts {
            let count = count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
            if let Some(count) = count {
                self.set(KeyValue::new(name, count));
            }
        }
    }

    /// Ends the span; with an error it has failed.
    fn end(&self, error: Option<&'static str>) {
        if let Some(error) = error {
            self.set(KeyValue::new(names::ERROR_TYPE, error));
            self.context.span().set_status(Status::error(error));
        }
        self.context.span().end();
    }

    fn set(&self, attribute: KeyValue) {
        self.context.span().set_attribute(attribute);
    }

    fn set_some(&self, name: &'static str, value: Option<String>) {
        if let Some(value) = value {
            self.set(KeyValue::new(name, value));
        }
    }
}

/// The span around, for whoever goes on with the trace elsewhere.
pub(crate) fn ambient_traceparent() -> Option<String> {
    let context = Context::current();
    let span = context.span().span_context().clone();
    let text =
        || format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8());
    span.is_valid().then(text)
}

/// A span of another process.
fn remote(text: &str) -> Option<SpanContext> {
    let (trace, span, flags) = traceparent::parts(text)?;
    let trace = TraceId::from_hex(trace).ok()?;
    let span = SpanId::from_hex(span).ok()?;
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    Some(SpanContext::new(trace, span, flags, true, TraceState::NONE))
}

fn named_span(operation: &str, name: &str) -> String {
    match name {
        "" => operation.to_owned(),
        name => format!("{operation} {name}"),
    }
}

/// The conventions' word where they have one, else ours.
fn provider_name(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi | Provider::OpenAiChat => "openai",
        Provider::Gemini => "gcp.gemini",
        Provider::Sim
        | Provider::Anthropic
        | Provider::OpenAiCompat
        | Provider::DeepSeek
        | Provider::MiniMax => provider.as_str(),
    }
}

fn finish_reason(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence => "stop",
        StopReason::ToolUse => "tool_call",
        StopReason::MaxTokens | StopReason::ContextExceeded => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Pause => "pause",
        StopReason::Other(word) => word,
    }
}

/// One of few words for each way in which a request fails.
fn error_type(error: &LlmError) -> &'static str {
    match error {
        LlmError::MissingKey { .. } | LlmError::BadKey => "no_key",
        LlmError::MissingBaseUrl { .. } | LlmError::BadBaseUrl { .. } => "no_base_url",
        LlmError::Setup { .. } => "setup",
        LlmError::BadHeader { .. } => "bad_header",
        LlmError::WrongFormat { .. }
        | LlmError::Unsupported { .. }
        | LlmError::BadCachedName { .. } => "unsupported",
        LlmError::Unreachable { .. } => "unreachable",
        LlmError::Refused { failure, .. } => failure.kind.as_str(),
        LlmError::Broken { .. } => "broken",
        LlmError::Protocol { .. } => "protocol",
        LlmError::NoAnswer { .. } => "no_answer",
        LlmError::Timeout { .. } => "timeout",
        LlmError::Cancelled { .. } => "cancelled",
    }
}
