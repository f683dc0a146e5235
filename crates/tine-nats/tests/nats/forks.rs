//! Forks on workers with scripted models.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tine_fork::client::LlmClient;
use tine_fork::message::{Message, RawJson};
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{
    CacheSafeParams, CancellationToken, DelegateMode, ForkParams, ForkRunId, ParentContext,
    ParentRequest, QuerySource, ToolDispatcher, async_trait, tool_filter,
};
use tine_model::ModelSettings;
use tine_nats::{
    Cluster, Events, ForkParts, Names, NatsForkSubagent, NatsForkWorker, Read, Settings,
};
use tine_testkit::{Answer, Gate, ScriptedModel, replies};
use tine_wire::{HeadParts, Lifetimes, ToolDeclaration};
use tokio_util::task::TaskTracker;

/// Tools: `Echo` says its arguments; `Gated` waits at a gate; `Cut` fails as a call does whose worker was lost.
#[derive(Default)]
pub(crate) struct Tools {
    pub(crate) gate: Gate,
    pub(crate) called: Mutex<Vec<String>>,
}

/// Told to the model of a call that had begun when its worker was lost.
pub(crate) const CUT_OFF: &str =
    "The run was cut off during this call; whether it was carried out is not known.";

#[async_trait]
impl ToolDispatcher for Tools {
    fn is_read_only(&self, tool: &str) -> bool {
        tool == "Echo"
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        let place = context.traceparent.as_deref().unwrap_or_default();
        let depth = context.delegation_depth;
        self.called.lock().unwrap().push(format!("{} {depth} {place}", call.name));
        match call.name.as_str() {
            "Echo" => ToolAnswer::ok(call.input.to_string()),
            "Gated" => {
                self.gate.pass().await;
                ToolAnswer::ok("through")
            }
            other => ToolAnswer::error(format!("There is no tool `{other}`.")),
        }
    }
}

/// Tools of which every call ends as one whose worker was lost.
pub(crate) struct CutOff;

#[async_trait]
impl ToolDispatcher for CutOff {
    fn is_read_only(&self, _tool: &str) -> bool {
        false
    }

    async fn dispatch(&self, _call: &ToolCall, _context: &CallContext) -> ToolAnswer {
        ToolAnswer::error(CUT_OFF)
    }
}

pub(crate) fn model(answers: impl IntoIterator<Item = Answer>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(answers))
}

pub(crate) fn names() -> Names {
    let [client, tools, filter] = ["main", "files", "no_writing"].map(str::to_owned);
    Names { client, tools, filter }
}

pub(crate) fn subagent(cluster: &Cluster) -> NatsForkSubagent {
    NatsForkSubagent::new(cluster.clone(), names())
}

/// A worker on a task of its own, with a connection of its own.
pub(crate) struct Running {
    pub(crate) stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    /// The worker is gone from one moment to the next.
    pub(crate) async fn kill(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }

    /// The worker ends with what it has.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}

/// Starts a worker that knows [`names`].
pub(crate) async fn worker(
    settings: Settings,
    name: &str,
    llm: &Arc<ScriptedModel>,
    tools: &Arc<Tools>,
) -> Running {
    worker_of((settings, 4), name, llm, tools).await
}

/// A worker with so many forks at once.
pub(crate) async fn worker_of(
    (settings, at_once): (Settings, usize),
    name: &str,
    llm: &Arc<ScriptedModel>,
    tools: &Arc<Tools>,
) -> Running {
    let cluster = Cluster::connect(settings, name).await.unwrap();
    let parts = ForkParts {
        llm: Arc::clone(llm) as Arc<dyn LlmClient>,
        tools: Arc::clone(tools) as Arc<dyn ToolDispatcher>,
        filter: Arc::new(tool_filter::AllowAllFilter),
    };
    let known = names();
    let find = move |names: &Names| (*names == known).then(|| parts.clone());
    let worker = NatsForkWorker::new(cluster, name, find).with_forks_at_once(at_once);
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let task = TaskTracker::new().spawn(async move { worker.run(&stopped).await.unwrap() });
    Running { stop, task }
}

/// The last request of a parent, to a model of this provider.
pub(crate) fn inherited(model: &str) -> CacheSafeParams {
    let settings = ModelSettings {
        model: model.parse().unwrap(),
        max_tokens: 100,
        thinking: None,
        effort: None,
    };
    let tool = |name: &str| ToolDeclaration {
        name: name.to_owned(),
        description: format!("The tool {name}."),
        schema: RawJson::parse(r#"{"type":"object","properties":{}}"#).unwrap(),
    };
    CacheSafeParams::from_parent_request(&ParentRequest {
        head: HeadParts::new(settings, "Be brief.".to_owned(), ["Gated", "Echo"].map(tool).into()),
        headers: Vec::new(),
        lifetimes: Lifetimes::default(),
        messages: vec![
            Message::user("What is here?"),
            replies::text("The parent's words."),
            Message::user("And there?"),
        ],
    })
}

/// A fork that is asked `go`, of a parent whose own client is not to be used.
pub(crate) fn params(inherited: CacheSafeParams) -> ForkParams {
    let ports = (model([]) as Arc<dyn LlmClient>, Arc::<Tools>::default() as _);
    ForkParams {
        query_source: QuerySource::Custom("harbour"),
        mode: DelegateMode::ForkAndForget,
        ..ForkParams::new(ParentContext::new("parent"), ports, inherited, "go")
    }
}

/// The record of an ended run: each event's JSON.
pub(crate) async fn record(cluster: &Cluster, run: ForkRunId) -> Vec<Value> {
    let (mut events, mut read) = (Events::new(cluster, run, 0), Vec::new());
    loop {
        let Read::Event(event) = events.next().await.unwrap() else { panic!("events are gone") };
        read.push(serde_json::to_value(&event).unwrap());
        if event.is_end() {
            return read;
        }
    }
}

/// The events' types, without what all of them have, and who wrote each.
pub(crate) fn types(record: &[Value]) -> Vec<String> {
    let words = |event: &Value| {
        let kind = event["type"].as_str().unwrap();
        let kind = kind.strip_prefix("tine.fork.").unwrap().strip_suffix(".v1").unwrap();
        match kind {
            "tool" => format!("{} {kind} {}", event["attempt"], event["data"]["state"]),
            _ => format!("{} {kind}", event["attempt"]),
        }
    };
    record.iter().map(words).map(|line| line.replace('"', "")).collect()
}
