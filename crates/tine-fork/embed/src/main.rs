//! Forks with a client and tools of its own, here and elsewhere, and nothing but `tine-fork`.

mod remote;

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
        cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        let body = String::from_utf8_lossy(&request.body.to_vec()).into_owned();
        if body.contains("Wait for the tide") {
            cancel.cancelled().await;
        }
        let (block, stop) = if body.contains("2.4 m") { (Block::Text("It is rising.".to_owned()), StopReason::EndTurn) } else {
                let (id, input) = (ToolCallId("c1".to_owned()), RawJson::empty_object());
                let name = "Tide".to_owned();
                (Block::ToolUse { id, name, input: ToolInput::Valid(input) }, StopReason::ToolUse)
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
    let params = || {
        let ports = (Arc::clone(&llm) as _, Arc::clone(&tools) as _);
        ForkParams::new(ParentContext::new("harbour"), ports, inherited.clone(), "And the tide?")
    };
    let here = DefaultForkSubagent::new();
    let elsewhere = remote::connected(Arc::clone(&llm) as _, Arc::clone(&tools) as _);
    let mut said = Vec::new();
    for forks in [&here as &dyn ForkSubagent, &elsewhere] {
        let result = forks.fork(params()).await?.join().await?;
        let (calls, messages) = (result.tool_uses, result.messages.len());
        said.push(format!("{} ({calls} call, {messages} messages)", result.into_text()?));
    }
    // What is dropped here stops there.
    let waiting =
        ForkParams { prompt_messages: vec![Message::user("Wait for the tide.")], ..params() };
    let mut dropped = elsewhere.fork(waiting).await?;
    let end = dropped.take_completion().ok_or("the completion")?;
    dropped.cancel();
    let stopped = end.await?;
    said.push(stopped.outcome.as_str().to_owned());
    // A fork that the other side refuses is lost, and nobody waits for it.
    let nothing =
        ForkParams { prompt_messages: vec![Message::new(Role::Assistant, vec![])], ..params() };
    let refused = elsewhere.fork(nothing).await?.join().await;
    said.push(refused.map_or("lost", |_| "answered").to_owned());
    said.dedup();
    Ok(said.join(", "))
}

#[expect(clippy::print_stdout, reason = "what the program says")]
fn main() -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    println!("{}", runtime.block_on(run())?);
    Ok(())
}
