//! Forks with a client and tools of its own, and nothing but `tine-fork`.

use std::sync::Arc;

use tine_fork::client::{Event, LlmClient, LlmError, Progress, Reply, Request, StopReason, Usage};
use tine_fork::message::{Block, Message, RawJson, Role, ToolCallId, ToolInput};
use tine_fork::request::{HeadParts, Lifetimes, ModelSettings, ToolDeclaration};
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{
    CacheSafeParams, CancellationToken, DefaultForkSubagent, ForkParams, ForkSubagent,
    ParentContext, ParentRequest, ToolDispatcher, async_trait, tokio,
};

/// A model that asks for the tide, and then says what it was told.
struct Oracle;

#[async_trait]
impl LlmClient for Oracle {
    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        _cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        let body = String::from_utf8_lossy(&request.body.to_vec()).into_owned();
        let (block, stop) = match body.contains("2.4 m") {
            true => (Block::Text("It is rising.".to_owned()), StopReason::EndTurn),
            false => {
                let (id, input) = (ToolCallId("c1".to_owned()), RawJson::empty_object());
                let name = "Tide".to_owned();
                (Block::ToolUse { id, name, input: ToolInput::Valid(input) }, StopReason::ToolUse)
            }
        };
        on_progress(Progress::Event(&Event::Other));
        let message = Message::new(Role::Assistant, vec![block]);
        let usage = Usage { uncached: request.body.len() / 4, ..Usage::default() };
        Ok(Reply { id: None, model: None, message, stop, usage, diagnosis: None, dropped: vec![] })
    }
}

/// One tool.
struct Gauge;

#[async_trait]
impl ToolDispatcher for Gauge {
    fn is_read_only(&self, _tool: &str) -> bool {
        true
    }

    async fn dispatch(&self, call: &ToolCall, _context: &CallContext) -> ToolAnswer {
        match call.name.as_str() {
            "Tide" => ToolAnswer::ok("2.4 m"),
            other => ToolAnswer::error(format!("There is no tool `{other}`.")),
        }
    }
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Forks once, and returns what came of it.
pub(crate) async fn run() -> Result<String, Failed> {
    let model = "openai-compat/oracle".parse()?;
    let settings = ModelSettings { model, max_tokens: 100, thinking: None, effort: None };
    let tide = ToolDeclaration {
        name: "Tide".to_owned(),
        description: "Reads the tide gauge.".to_owned(),
        schema: RawJson::parse(r#"{"type":"object","properties":{}}"#)?,
    };
    let request = ParentRequest {
        head: HeadParts::new(settings, "You keep a harbour.".to_owned(), vec![tide]),
        headers: vec![],
        lifetimes: Lifetimes::default(),
        messages: vec![Message::user("Good morning.")],
    };
    let inherited = CacheSafeParams::from_parent_request(&request);
    let (llm, tools) = (Arc::new(Oracle), Arc::new(Gauge));
    let params =
        ForkParams::new(ParentContext::new("harbour"), (llm, tools), inherited, "And the tide?");
    let result = DefaultForkSubagent::new().fork(params).await?.join().await?;
    let calls = result.tool_uses;
    Ok(format!("{} ({calls} call)", result.into_text()?))
}

#[expect(clippy::print_stdout, reason = "what the program says")]
fn main() -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    println!("{}", runtime.block_on(run())?);
    Ok(())
}
