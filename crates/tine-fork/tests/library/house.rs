//! What every test of the library needs: a parent's request in each format, tools that tests steer, and forks of it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tine_fork::host::Ids;
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{
    CacheSafeParams, DefaultForkSubagent, ForkHandle, ForkParams, ForkResult, ForkSubagent,
    ParentContext, ParentRequest, ToolDispatcher,
};
use tine_llm::LlmClient;
use tine_model::{Block, Message, ModelSettings, RawJson};
use tine_testkit::{Answer, FakeClock, FakeIds, Gate, ScriptedModel, replies};
use tine_wire::{HeadParts, Lifetimes, ToolDeclaration};
use tokio_util::sync::CancellationToken;

/// A model of every provider, and so of every wire format.
pub(crate) const MODELS: [&str; 7] = [
    "anthropic/m",
    "openai/m",
    "openai-chat/m",
    "openai-compat/m",
    "gemini/m",
    "deepseek/m",
    "minimax/m",
];

/// Runs a test once with a model of every provider.
macro_rules! every_format {
    ($($(#[$doc:meta])* async fn $name:ident($house:ident: $type:ty) $body:block)+) => {$(
        $(#[$doc])*
        #[tokio::test(start_paused = true)]
        async fn $name() {
            for model in $crate::house::MODELS {
                let $house = <$type>::new(model);
                let test = async $body;
                test.await;
            }
        }
    )+};
}
pub(crate) use every_format;

struct Clock(FakeClock);

impl tine_fork::host::Clock for Clock {
    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }
}

struct Counted(FakeIds);

impl Ids for Counted {
    fn random(&self) -> [u8; 16] {
        self.0.next_bytes()
    }
}

/// Tools: `Echo` says its name, its arguments and who called; `Fail` fails; `Stuck` never ends and does not listen; `Wait`
/// ends when it is stopped; `Gated` waits at a gate; `Begin` begins something that goes on. There is no other tool.
#[derive(Default)]
pub(crate) struct Tools {
    pub(crate) gate: Gate,
    pub(crate) called: Mutex<Vec<String>>,
    /// The tokens that stop whatever calls of `Begin` have begun.
    pub(crate) begun: Mutex<Vec<CancellationToken>>,
}

#[async_trait]
impl ToolDispatcher for Tools {
    fn is_read_only(&self, tool: &str) -> bool {
        tool == "Echo"
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        self.called.lock().unwrap().push(call.name.clone());
        match call.name.as_str() {
            "Echo" => {
                let text = format!("{} by {}", call.input, context.agent);
                ToolAnswer::ok(text)
            }
            "Fail" => ToolAnswer::error("it broke"),
            "Stuck" => std::future::pending().await,
            "Wait" => {
                context.cancel.cancelled().await;
                ToolAnswer::error("stopped")
            }
            "Gated" => {
                self.gate.pass().await;
                ToolAnswer::ok("through")
            }
            "Begin" => {
                self.begun.lock().unwrap().push(context.cancel.child_token());
                ToolAnswer::ok("begun")
            }
            other => ToolAnswer::error(format!("There is no tool `{other}`.")),
        }
    }
}

/// One parent, and what its forks meet.
#[derive(Clone)]
pub(crate) struct House {
    pub(crate) forks: DefaultForkSubagent,
    pub(crate) tools: Arc<Tools>,
    pub(crate) parent: ParentContext,
    pub(crate) request: ParentRequest,
}

impl House {
    pub(crate) fn new(model: &str) -> Self {
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
        let tools = ["Wait", "Echo"].map(tool).to_vec();
        let request = ParentRequest {
            head: HeadParts::new(settings, "Be brief.".to_owned(), tools),
            headers: Vec::new(),
            lifetimes: Lifetimes::default(),
            messages: vec![
                Message::user("What is here?"),
                replies::text("The parent's words."),
                Message::user("And there?"),
            ],
        };
        let (clock, ids) = (Arc::new(Clock(FakeClock::new(1))), Arc::new(Counted(FakeIds::new())));
        Self {
            forks: DefaultForkSubagent::new().with_host(clock, ids),
            tools: Arc::default(),
            parent: ParentContext::new("parent"),
            request,
        }
    }

    pub(crate) fn inherited(&self) -> CacheSafeParams {
        CacheSafeParams::from_parent_request(&self.request)
    }

    /// A fork that is asked `go`.
    pub(crate) fn params(&self, model: &Arc<ScriptedModel>) -> ForkParams {
        let llm = Arc::clone(model) as Arc<dyn LlmClient>;
        let tools = Arc::clone(&self.tools) as Arc<dyn ToolDispatcher>;
        ForkParams::new(self.parent.clone(), (llm, tools), self.inherited(), "go")
    }

    pub(crate) async fn fork(&self, params: ForkParams) -> ForkHandle {
        self.forks.fork(params).await.unwrap()
    }

    /// The end of a fork that is asked `go` and answered so.
    pub(crate) async fn done(&self, answers: impl IntoIterator<Item = Answer>) -> ForkResult {
        self.fork(self.params(&model(answers))).await.join().await.unwrap()
    }
}

pub(crate) fn model(answers: impl IntoIterator<Item = Answer>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::new(answers))
}

/// The results in a message, one a line: call, whether it is an error, text.
pub(crate) fn results(message: &Message) -> Vec<String> {
    let result = |block: &Block| match block {
        Block::ToolResult { call, content, is_error } => {
            let text = content.first().and_then(Block::as_text).unwrap_or_default();
            Some(format!("{call} {is_error} {text}"))
        }
        _ => None,
    };
    message.blocks().iter().filter_map(result).collect()
}
