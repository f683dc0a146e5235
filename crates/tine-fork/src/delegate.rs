//! The delegation tool: a model hands a task to another agent and waits for the answer.
//!
//! The answer comes from a fork of that agent's last request, so the agent itself goes on undisturbed and its provider's cache
//! serves what it knows. The tool never decides who the agents are: its embedder says so, and an allow list says who may be asked.
//!
//! The number of delegations above a call is part of the call's context, so no prompt can change it.

mod arguments;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tine_guard::filter::{AllowAllFilter, ToolFilter};
use tine_llm::LlmClient;
use tine_model::{Message, Outcome, RawJson};
use tine_wire::ToolDeclaration;

use crate::cache_safe::CacheSafeParams;
use crate::envelope::escape_frame_tags;
use crate::outcome::{ForkError, ForkResult};
use crate::params::{ForkOverrides, ForkParams, ParentContext, QuerySource};
use crate::run::TURNS_DEFAULT;
use crate::subagent::ForkSubagent;
use crate::tools::{CallContext, OpenCall, ToolAnswer, ToolCall, ToolDispatcher};
use arguments::Arguments;

pub use arguments::{
    DELEGATE_CONTEXT_BYTES_MAX, DELEGATE_ID_CHARS_MAX, DELEGATE_TASK_BYTES_MAX,
    DELEGATE_TIMEOUT_DEFAULT, DELEGATE_TIMEOUT_MAX,
};

/// The tool's canonical name.
pub const DELEGATE_TOOL: &str = "delegate";

/// Delegations that may stand above a delegation unless the embedder says otherwise: none.
const DEPTH_DEFAULT: u32 = 1;

/// Shown to models as it is: a change of it costs every running conversation its cached prefix.
const DESCRIPTION: &str = "Hands one task to another agent and waits for its answer. The agent sees its own conversation, the \
task and the context that you give, and nothing else of yours; it cannot ask back. Use it for what that agent knows or may do \
better than you.";

/// As frozen as the description.
const SCHEMA: &str = r#"{"type":"object","properties":{"agent_id":{"type":"string","description":"Id of the agent that is asked."},"task":{"type":"string","description":"What it should do or answer, complete in itself."},"context":{"type":"string","description":"What it needs to know beyond its own conversation."},"timeout_ms":{"type":"integer","description":"Longest time to wait, in milliseconds.","default":30000}},"required":["agent_id","task"]}"#;

/// An agent that tasks may be handed to, as it stands now.
#[derive(Clone)]
pub struct Peer {
    /// Its last request, which the fork that does the task inherits.
    pub cache_safe: CacheSafeParams,
    /// Answers the fork's requests.
    pub llm: Arc<dyn LlmClient>,
    /// Answers the fork's tool calls.
    pub tool_dispatcher: Arc<dyn ToolDispatcher>,
    /// Refuses the fork's tool calls.
    pub tool_filter: Arc<dyn ToolFilter>,
    /// Whose account pays; see [`ParentContext::account`].
    pub account: Arc<str>,
    /// Most requests for one task.
    pub max_turns: u32,
}

impl Peer {
    /// A peer that may call all of its tools, at most [`TURNS_DEFAULT`] turns a task.
    pub fn new(
        cache_safe: CacheSafeParams,
        (llm, tool_dispatcher): (Arc<dyn LlmClient>, Arc<dyn ToolDispatcher>),
    ) -> Self {
        Self {
            cache_safe,
            llm,
            tool_dispatcher,
            tool_filter: Arc::new(AllowAllFilter),
            account: Arc::default(),
            max_turns: TURNS_DEFAULT,
        }
    }
}

/// Knows the agents that tasks may be handed to. A closure is one.
///
/// ```
/// # use std::sync::Arc;
/// # use tine_fork::{CacheSafeSlot, ToolDispatcher};
/// # use tine_fork::delegate::{Peer, Peers};
/// # use tine_llm::LlmClient;
/// fn of_slot(
///     slot: CacheSafeSlot,
///     llm: Arc<dyn LlmClient>,
///     tools: Arc<dyn ToolDispatcher>,
/// ) -> impl Peers {
///     move |id: &str| {
///         let last_request = slot.read(id)?;
///         Some(Peer::new(last_request, (Arc::clone(&llm), Arc::clone(&tools))))
///     }
/// }
/// ```
pub trait Peers: Send + Sync {
    /// The agent of this id; `None` where there is none now. Asked only for ids that the allow list allows.
    fn peer(&self, id: &str) -> Option<Peer>;
}

impl<F: Fn(&str) -> Option<Peer> + Send + Sync> Peers for F {
    fn peer(&self, id: &str) -> Option<Peer> {
        self(id)
    }
}

/// Adds the tool `delegate` to other tools: give it to a run in their place, and [`Self::declaration`] to the model.
///
/// Nobody may be asked until [`Self::allowing`] says who. The call waits for the answer; the caller's abort ends the task, and
/// neither the task's end nor its time limit touches the caller. What is refused, fails or is not finished is an error answer
/// that the model can go on from.
///
/// ```
/// # use std::sync::Arc;
/// # use tine_fork::{DefaultForkSubagent, ToolDispatcher};
/// # use tine_fork::delegate::{DelegateTool, Peers};
/// fn tools(own: Arc<dyn ToolDispatcher>, peers: Arc<dyn Peers>) -> DelegateTool {
///     let forks = Arc::new(DefaultForkSubagent::new());
///     DelegateTool::new(forks, peers, own).allowing(["librarian", "review-*"])
/// }
/// ```
pub struct DelegateTool {
    forks: Arc<dyn ForkSubagent>,
    peers: Arc<dyn Peers>,
    rest: Arc<dyn ToolDispatcher>,
    allowed: Vec<String>,
    depth_max: u32,
}

impl DelegateTool {
    /// The tool, in front of `rest`, which answers all other calls.
    pub fn new(
        forks: Arc<dyn ForkSubagent>,
        peers: Arc<dyn Peers>,
        rest: Arc<dyn ToolDispatcher>,
    ) -> Self {
        Self { forks, peers, rest, allowed: Vec::new(), depth_max: DEPTH_DEFAULT }
    }

    /// These may be asked, and no others: ids, or beginnings of ids with `*` behind them.
    #[must_use]
    pub fn allowing<P: Into<String>>(self, allowed: impl IntoIterator<Item = P>) -> Self {
        Self { allowed: allowed.into_iter().map(Into::into).collect(), ..self }
    }

    /// So many delegations may stand inside each other; 1 unless this is said, so that who is asked cannot ask on. With 0
    /// every delegation is refused.
    #[must_use]
    pub fn nested(self, depth_max: u32) -> Self {
        Self { depth_max, ..self }
    }

    /// The tool as the model sees it. Frozen: the same in every process, so that it does not break a cache.
    pub fn declaration() -> ToolDeclaration {
        #[expect(clippy::expect_used, reason = "a constant; a test parses it")]
        let schema = RawJson::parse(SCHEMA).expect("the schema is JSON");
        let (name, description) = (DELEGATE_TOOL.to_owned(), DESCRIPTION.to_owned());
        ToolDeclaration { name, description, schema }
    }

    async fn delegate(&self, input: &RawJson, context: &CallContext) -> ToolAnswer {
        if context.delegation_depth >= self.depth_max {
            return ToolAnswer::error(
                "This task was itself delegated to you, so you cannot delegate it on. Do what you can of it and say what is left.",
            );
        }
        let arguments = match Arguments::parse(input) {
            Ok(arguments) => arguments,
            Err(refusal) => return ToolAnswer::error(refusal),
        };
        let id = &arguments.agent_id;
        if !self.allowed.iter().any(|pattern| matches(pattern, id)) {
            let refusal = format!("You may not delegate to `{id}`. {}", self.who_is_allowed());
            return ToolAnswer::error(refusal);
        }
        let Some(peer) = self.peers.peer(id) else {
            let refusal = format!("There is no agent `{id}` now. {}", self.who_is_allowed());
            return ToolAnswer::error(refusal);
        };
        let done = match self.forks.fork(params(peer, &arguments, context)).await {
            Ok(fork) => fork.join().await,
            Err(error) => Err(error),
        };
        match done {
            Ok(result) => answer(id, result, arguments.timeout),
            Err(error) => ToolAnswer::error(not_started(id, &error)),
        }
    }

    fn who_is_allowed(&self) -> String {
        if self.allowed.is_empty() {
            return "You may delegate to nobody.".to_owned();
        }
        let patterns: Vec<String> =
            self.allowed.iter().map(|pattern| format!("`{pattern}`")).collect();
        let wildcard = if self.allowed.iter().any(|pattern| pattern.ends_with('*')) {
            " (`*` stands for any end)"
        } else {
            ""
        };
        format!("Allowed: {}{wildcard}.", patterns.join(", "))
    }
}

#[async_trait]
impl ToolDispatcher for DelegateTool {
    fn own_call(&self, call: &ToolCall) -> Result<ToolCall, ToolAnswer> {
        if call.name == DELEGATE_TOOL { Ok(call.clone()) } else { self.rest.own_call(call) }
    }

    fn told(&self, asked: &ToolCall, own: &ToolCall, answer: ToolAnswer) -> ToolAnswer {
        if own.name == DELEGATE_TOOL { answer } else { self.rest.told(asked, own, answer) }
    }

    fn only_calls(&self, tool: &str) -> bool {
        tool != DELEGATE_TOOL && self.rest.only_calls(tool)
    }

    /// A delegation is not: what the other agent does with its tools is not known beforehand.
    fn is_read_only(&self, tool: &str) -> bool {
        tool != DELEGATE_TOOL && self.rest.is_read_only(tool)
    }

    fn forks(&self, tool: &str) -> bool {
        tool != DELEGATE_TOOL && self.rest.forks(tool)
    }

    async fn open_call(&self, call: &ToolCall) -> OpenCall {
        if call.name == DELEGATE_TOOL { OpenCall::Unknown } else { self.rest.open_call(call).await }
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        if call.name == DELEGATE_TOOL {
            self.delegate(&call.input, context).await
        } else {
            self.rest.dispatch(call, context).await
        }
    }
}

/// Whether an entry of the allow list means this id.
fn matches(pattern: &str, id: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => id.starts_with(beginning),
        None => pattern == id,
    }
}

/// The fork that does the task: it knows what the peer knows, and belongs to the caller.
fn params(peer: Peer, arguments: &Arguments, context: &CallContext) -> ForkParams {
    let Peer { cache_safe, llm, tool_dispatcher, tool_filter, account, max_turns } = peer;
    let parent_ctx = ParentContext {
        abort: context.cancel.clone(),
        account,
        delegation_depth: context.delegation_depth + 1,
        traceparent: context.traceparent.clone(),
        ..ParentContext::new(Arc::clone(&context.agent))
    };
    let prompt = prompt(&context.agent, arguments);
    ForkParams {
        prompt_messages: vec![Message::user(prompt)],
        tool_filter,
        query_source: QuerySource::Delegation,
        fork_label: format!("delegate to {}", arguments.agent_id),
        overrides: Some(ForkOverrides {
            agent_id: Some(arguments.agent_id.clone()),
            ..ForkOverrides::default()
        }),
        max_turns,
        timeout: Some(arguments.timeout),
        ..ForkParams::new(parent_ctx, (llm, tool_dispatcher), cache_safe, "")
    }
}

/// What the peer is asked.
fn prompt(caller: &str, arguments: &Arguments) -> String {
    let mut text = format!(
        "Another agent, `{caller}`, hands you a task. Do it with what you know and your tools. Your last words are the answer \
         that it gets; it cannot answer questions.\n\nTask:\n{}",
        escape_frame_tags(&arguments.task)
    );
    if let Some(context) = &arguments.context {
        let context = escape_frame_tags(context);
        text.push_str(&format!("\n\nContext from `{caller}`:\n{context}"));
    }
    text
}

/// What the caller is told.
fn answer(id: &str, result: ForkResult, timeout: Duration) -> ToolAnswer {
    let text = result.final_text.filter(|text| !text.trim().is_empty());
    if result.outcome == Outcome::Completed {
        let text = text.unwrap_or_else(|| format!("`{id}` did the task and said nothing."));
        return ToolAnswer::ok(text);
    }
    let why = match &result.outcome {
        Outcome::TimedOut => format!(" (after {} ms)", timeout.as_millis()),
        Outcome::Failed(why) => format!(" ({why})"),
        _ => String::new(),
    };
    let mut told = format!(
        "`{id}` did not complete the task.\noutcome: {}{why}\nturns: {}\ntool calls: {}\npartial answer:",
        result.outcome.as_str(),
        result.turns,
        result.tool_uses,
    );
    match text {
        Some(text) => told.push_str(&format!("\n{text}")),
        None => told.push_str(" none"),
    }
    ToolAnswer::error(told)
}

fn not_started(id: &str, error: &ForkError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    format!("The task could not be handed to `{id}`: {error}{}.", cause.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_is_frozen() {
        let ToolDeclaration { name, description, schema } = DelegateTool::declaration();
        let text = format!("{name}\n{description}\n{schema}");
        // A new hash here means that every running conversation with this tool loses its cached prefix.
        insta::assert_snapshot!(&blake3::hash(text.as_bytes()).to_hex()[..12], @"a4b788c0874f");
        let default = DELEGATE_TIMEOUT_DEFAULT.as_millis();
        assert!(schema.as_str().contains(&format!(r#""default":{default}"#)));
    }

    #[test]
    fn only_a_trailing_star_stands_for_any_end() {
        for (pattern, id, expected) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "a", true),
            ("a*", "ab", true),
            ("a*", "ba", false),
            ("*", "any", true),
            ("a*b", "axb", false),
            ("*b", "ab", false),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, id), expected, "{pattern} {id}");
        }
    }
}
