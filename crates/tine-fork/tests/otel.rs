//! OpenTelemetry's spans and metrics of forks, as an exporter gets them. Runs with the feature `otel`.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry::trace::{FutureExt, SpanId, Status, TraceContextExt, TraceId, Tracer};
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData, ResourceMetrics};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tine_fork::delegate::{DelegateTool, Peer};
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{
    CacheSafeParams, DefaultForkSubagent, ForkParams, ForkResult, ForkSubagent, ParentContext,
    ParentRequest, ToolDispatcher, ToolFilter,
};
use tine_llm::{LlmClient, LlmError, Progress, Request};
use tine_model::{Message, ModelSettings, RawJson, StopReason, Usage};
use tine_testkit::{Answer, ScriptedModel};
use tine_wire::{FailureKind, HeadParts, Lifetimes, Reply};
use tokio_util::sync::CancellationToken;

/// The process's providers: OpenTelemetry has one of each, so tests tell their spans apart by trace, and their measurements by
/// model.
struct Exported {
    spans: InMemorySpanExporter,
    metrics: InMemoryMetricExporter,
    meters: SdkMeterProvider,
}

fn exported() -> &'static Exported {
    static EXPORTED: OnceLock<Exported> = OnceLock::new();
    EXPORTED.get_or_init(|| {
        let (spans, metrics) = (InMemorySpanExporter::default(), InMemoryMetricExporter::default());
        let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
        global::set_tracer_provider(tracers);
        let reader = PeriodicReader::builder(metrics.clone()).build();
        let meters = SdkMeterProvider::builder().with_reader(reader).build();
        global::set_meter_provider(meters.clone());
        Exported { spans, metrics, meters }
    })
}

/// The spans of a trace, in the order in which they began.
fn spans(trace: &str) -> Vec<SpanData> {
    let trace = TraceId::from_hex(trace).unwrap();
    let mut spans = exported().spans.get_finished_spans().unwrap();
    spans.retain(|span| span.span_context.trace_id() == trace);
    spans.sort_by_key(|span| span.start_time);
    spans
}

fn named<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
    spans.iter().find(|span| span.name == name).unwrap()
}

/// Attributes as lines, sorted.
fn attributes<'a>(attributes: impl IntoIterator<Item = &'a KeyValue>) -> String {
    let mut lines: Vec<String> =
        attributes.into_iter().map(|it| format!("{} = {}", it.key, it.value)).collect();
    lines.sort();
    lines.join("\n")
}

/// Answers every call but `Fail`, and keeps what each was told of its place in the trace.
#[derive(Default)]
struct Tools(Mutex<Vec<Option<String>>>);

#[async_trait]
impl ToolDispatcher for Tools {
    fn is_read_only(&self, _tool: &str) -> bool {
        true
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        self.0.lock().unwrap().push(context.traceparent.clone());
        ToolAnswer { is_error: call.name == "Fail", ..ToolAnswer::ok("secret") }
    }
}

struct NoShell;

impl ToolFilter for NoShell {
    fn allows(&self, tool: &str, _input: &RawJson) -> bool {
        tool != "Bash"
    }

    fn denial_message(&self, _tool: &str, _input: &RawJson) -> String {
        "No.".to_owned()
    }
}

/// A model whose replies begin a second and a half after their requests.
struct Slow(ScriptedModel);

#[async_trait]
impl LlmClient for Slow {
    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        on_progress(Progress::Begun { after: Duration::from_millis(1_500) });
        self.0.send(request, on_progress, cancel).await
    }
}

/// A fork in this trace, by a model of this name.
fn params(
    (name, trace): (&str, &str),
    answers: impl IntoIterator<Item = Answer>,
    tools: &Arc<Tools>,
) -> ForkParams {
    exported();
    let settings = ModelSettings {
        model: format!("anthropic/{name}").parse().unwrap(),
        max_tokens: 100,
        thinking: None,
        effort: None,
    };
    let request = ParentRequest {
        head: HeadParts::new(settings, "Be brief.".to_owned(), Vec::new()),
        headers: Vec::new(),
        lifetimes: Lifetimes::default(),
        messages: vec![Message::user("secret")],
    };
    let parent = ParentContext {
        traceparent: Some(format!("00-{trace}-00f067aa0ba902b7-01")),
        ..ParentContext::new("main")
    };
    let (model, tools) = (Arc::new(Slow(ScriptedModel::new(answers))), Arc::clone(tools));
    let inherited = CacheSafeParams::from_parent_request(&request);
    let params = ForkParams::new(parent, (model, tools), inherited, "secret");
    ForkParams { fork_label: "notes".to_owned(), tool_filter: Arc::new(NoShell), ..params }
}

async fn end(params: ForkParams) -> ForkResult {
    DefaultForkSubagent::new().fork(params).await.unwrap().join().await.unwrap()
}

/// Shows: a fork is the child of its parent's span and linked to it; its requests and calls are children of it, with the current
/// names; nothing that was said is exported.
#[tokio::test(start_paused = true)]
async fn a_fork_is_linked_to_its_parent_and_holds_its_requests_and_calls() {
    let trace = "11111111111111111111111111111111";
    let usage = Usage {
        uncached: 5,
        write_short: Some(20),
        write_long: None,
        read: Some(75),
        output: 9,
        reasoning: Some(4),
    };
    let calls = Answer::calls([("c1", "Echo", "{}"), ("c2", "Bash", "{}"), ("c3", "Fail", "{}")]);
    let (answers, tools) =
        ([calls.with_usage(usage), Answer::text("secret").with_usage(usage)], Arc::default());
    let result = end(params(("m-1", trace), answers, &tools)).await;
    let spans = spans(trace);
    let names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
    let expected = [
        "invoke_agent notes",
        "chat m-1",
        "execute_tool Echo",
        "execute_tool Bash",
        "execute_tool Fail",
        "chat m-1",
    ];
    assert_eq!(names, expected);
    let (fork, parent) = (&spans[0], SpanId::from_hex("00f067aa0ba902b7").unwrap());
    assert_eq!((fork.parent_span_id, fork.parent_span_is_remote), (parent, true));
    assert_eq!(fork.links.len(), 1);
    assert_eq!(fork.links[0].span_context.span_id(), parent);
    for span in &spans[1..] {
        assert_eq!(span.parent_span_id, fork.span_context.span_id(), "{}", span.name);
    }
    let fork = attributes(&fork.attributes).replace(&result.run_id.to_string(), "RUN");
    insta::assert_snapshot!(fork, @"
    gen_ai.agent.id = RUN
    gen_ai.agent.name = notes
    gen_ai.conversation.id = RUN
    gen_ai.operation.name = invoke_agent
    gen_ai.provider.name = anthropic
    gen_ai.request.model = m-1
    gen_ai.usage.cache_creation.input_tokens = 40
    gen_ai.usage.cache_read.input_tokens = 150
    gen_ai.usage.input_tokens = 200
    gen_ai.usage.output_tokens = 18
    gen_ai.usage.reasoning.output_tokens = 8
    tine.fork.mode = sync
    tine.fork.parent_agent = main
    tine.fork.query_source = fork
    ");
    insta::assert_snapshot!(attributes(&spans[1].attributes), @r#"
    gen_ai.operation.name = chat
    gen_ai.provider.name = anthropic
    gen_ai.request.model = m-1
    gen_ai.request.stream = true
    gen_ai.response.finish_reasons = ["tool_call"]
    gen_ai.response.id = scripted
    gen_ai.response.model = scripted
    gen_ai.response.time_to_first_chunk = 1.5
    gen_ai.usage.cache_creation.input_tokens = 20
    gen_ai.usage.cache_read.input_tokens = 75
    gen_ai.usage.input_tokens = 100
    gen_ai.usage.output_tokens = 9
    gen_ai.usage.reasoning.output_tokens = 4
    "#);
    insta::assert_snapshot!(attributes(&spans[2].attributes), @"
    gen_ai.operation.name = execute_tool
    gen_ai.tool.call.id = c1
    gen_ai.tool.name = Echo
    gen_ai.tool.type = function
    ");
    insta::assert_snapshot!(attributes(&spans[3].attributes), @"
    error.type = denied
    gen_ai.operation.name = execute_tool
    gen_ai.tool.call.id = c2
    gen_ai.tool.name = Bash
    gen_ai.tool.type = function
    ");
    assert_eq!(spans[4].status, Status::error("tool_error"));
    let all = format!("{spans:?}");
    assert!(!all.contains("secret"), "{all}");
}

/// Shows: a tool is told its own span, so that what it starts is a child of the call.
#[tokio::test(start_paused = true)]
async fn a_tool_is_told_its_own_span() {
    let trace = "22222222222222222222222222222222";
    let tools = Arc::default();
    let answers = [Answer::calls([("c1", "Echo", "{}")]), Answer::text("ok")];
    end(params(("m-2", trace), answers, &tools)).await;
    let spans = spans(trace);
    let call = named(&spans, "execute_tool Echo").span_context.span_id();
    assert_eq!(*tools.0.lock().unwrap(), [Some(format!("00-{trace}-{call}-01"))]);
}

/// Shows: without a trace of its own a fork belongs to the span in which it was made.
#[tokio::test(start_paused = true)]
async fn a_fork_belongs_to_the_span_in_which_it_was_made() {
    exported();
    let around = Context::current_with_span(global::tracer("test").start("around"));
    let span = around.span().span_context().clone();
    let tools = Arc::default();
    let mut params =
        params(("m-3", "33333333333333333333333333333333"), [Answer::text("ok")], &tools);
    for traceparent in [None, Some("00-not-one".to_owned())] {
        params.parent_ctx.traceparent = traceparent;
        end(params.clone()).with_context(around.clone()).await;
    }
    let spans = spans(&span.trace_id().to_string());
    let forks: Vec<&SpanData> =
        spans.iter().filter(|span| span.name == "invoke_agent notes").collect();
    assert_eq!(forks.len(), 2);
    for fork in forks {
        assert_eq!((fork.parent_span_id, fork.links.len()), (span.span_id(), 1));
    }
}

/// Shows: a delegated task is a child of the call that handed it on.
#[tokio::test(start_paused = true)]
async fn a_delegated_task_is_a_child_of_its_call() {
    let trace = "44444444444444444444444444444444";
    let tools = Arc::default();
    let peer = params(("m-peer", trace), [Answer::text("ok")], &tools);
    let peer = Peer::new(peer.cache_safe, (peer.llm, peer.tool_dispatcher));
    let peers = move |_: &str| Some(peer.clone());
    let tool = DelegateTool::new(
        Arc::new(DefaultForkSubagent::new()),
        Arc::new(peers),
        Arc::clone(&tools) as Arc<dyn ToolDispatcher>,
    );
    let call = Answer::calls([("c1", "delegate", r#"{"agent_id":"lib","task":"count"}"#)]);
    let params = params(("m-4", trace), [call, Answer::text("done")], &tools);
    let tool_dispatcher = Arc::new(tool.allowing(["lib"]));
    end(ForkParams { tool_dispatcher, ..params }).await;
    let spans = spans(trace);
    let call = named(&spans, "execute_tool delegate").span_context.span_id();
    let task = named(&spans, "invoke_agent delegate to lib");
    assert_eq!(task.parent_span_id, call);
    assert_eq!(named(&spans, "chat m-peer").parent_span_id, task.span_context.span_id());
}

/// Shows: what fails says how, on the request and on the fork.
#[tokio::test(start_paused = true)]
async fn what_fails_says_how() {
    let trace = "55555555555555555555555555555555";
    let tools = Arc::default();
    let answers = [Answer::refused(FailureKind::Overloaded, "busy")];
    end(params(("m-5", trace), answers, &tools)).await;
    let spans = spans(trace);
    assert_eq!(named(&spans, "chat m-5").status, Status::error("overloaded"));
    assert_eq!(named(&spans, "invoke_agent notes").status, Status::error("failed"));
    let trace = "66666666666666666666666666666666";
    let answers = [Answer::text("cut").with_stop(StopReason::MaxTokens)];
    end(params(("m-6", trace), answers, &tools)).await;
    let cut = self::spans(trace);
    assert_eq!(named(&cut, "chat m-6").status, Status::Unset);
    assert_eq!(named(&cut, "invoke_agent notes").status, Status::error("length_cut"));
}

/// The measurements of a model: attributes, how many, their sum.
fn measured(exported: &[ResourceMetrics], metric: &str, model: &str) -> Vec<String> {
    let metrics = exported.last().unwrap().scope_metrics().flat_map(|scope| scope.metrics());
    let metric = metrics.into_iter().find(|it| it.name() == metric).unwrap();
    let mut lines = Vec::new();
    let mut keep = |of: String, count: u64, sum: String| {
        if of.lines().any(|line| line == format!("gen_ai.request.model = {model}")) {
            lines.push(format!("{of}\n{count} x {} in all: {sum}", metric.unit()));
        }
    };
    match metric.data() {
        AggregatedMetrics::U64(MetricData::Histogram(histogram)) => {
            for point in histogram.data_points() {
                keep(attributes(point.attributes()), point.count(), point.sum().to_string());
            }
        }
        AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
            for point in histogram.data_points() {
                keep(attributes(point.attributes()), point.count(), point.sum().to_string());
            }
        }
        other => panic!("no histogram: {other:?}"),
    }
    lines.sort_by_key(|line| (line.contains("error.type"), line.clone()));
    lines
}

/// Shows: tokens and durations of requests are measured, by model and kind of token, failures too.
#[tokio::test(start_paused = true)]
async fn tokens_and_durations_are_measured() {
    let tools = Arc::default();
    let calls = || Answer::calls([("c1", "Echo", "{}")]);
    let usage = Usage { uncached: 10, read: Some(90), output: 7, ..Usage::default() };
    let answers = [
        calls().with_usage(usage),
        calls().with_usage(Usage::default()),
        Answer::refused(FailureKind::RateLimited, "slowly"),
    ];
    end(params(("m-7", "77777777777777777777777777777777"), answers, &tools)).await;
    exported().meters.force_flush().unwrap();
    let exported = exported().metrics.get_finished_metrics().unwrap();
    let tokens = measured(&exported, "gen_ai.client.token.usage", "m-7");
    insta::assert_snapshot!(tokens.join("\n\n"), @"
    gen_ai.operation.name = chat
    gen_ai.provider.name = anthropic
    gen_ai.request.model = m-7
    gen_ai.response.model = scripted
    gen_ai.token.type = input
    1 x {token} in all: 100

    gen_ai.operation.name = chat
    gen_ai.provider.name = anthropic
    gen_ai.request.model = m-7
    gen_ai.response.model = scripted
    gen_ai.token.type = output
    1 x {token} in all: 7
    ");
    let durations = measured(&exported, "gen_ai.client.operation.duration", "m-7");
    insta::assert_snapshot!(durations.join("\n\n"), @"
    gen_ai.operation.name = chat
    gen_ai.provider.name = anthropic
    gen_ai.request.model = m-7
    gen_ai.response.model = scripted
    2 x s in all: 0

    error.type = rate limited
    gen_ai.operation.name = chat
    gen_ai.provider.name = anthropic
    gen_ai.request.model = m-7
    1 x s in all: 0
    ");
}
