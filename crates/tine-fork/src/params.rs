//! What a fork is made of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tine_guard::filter::{AllowAllFilter, ToolFilter};
use tine_llm::LlmClient;
use tine_model::{Message, Role};
use tokio_util::sync::CancellationToken;

use crate::cache_safe::CacheSafeParams;
use crate::on_message::OnMessage;
use crate::outcome::ForkError;
use crate::run::{RunLimits, TURNS_DEFAULT};
use crate::tools::ToolDispatcher;

/// Who forks.
#[derive(Debug, Clone, Default)]
pub struct ParentContext {
    /// The parent's id or name, as it stands in events, spans and registry rows.
    pub agent: Arc<str>,
    /// Stops every fork of the parent. No fork ever cancels it.
    pub abort: CancellationToken,
    /// Whose account pays, in any words that tell accounts apart and no secret: requests share a provider's cache only within
    /// one.
    pub account: Arc<str>,
    /// Delegations that this parent stands below: 0 unless it is itself doing a task that was delegated to it. A tool that forks
    /// hands on what it was told ([`CallContext::delegation_depth`](crate::tools::CallContext::delegation_depth)).
    pub delegation_depth: u32,
    /// The parent's place in a trace, as in the variable `TRACEPARENT` or the header of that name (W3C Trace Context). One that
    /// cannot be read is ignored with a warning.
    pub traceparent: Option<String>,
}

impl ParentContext {
    /// A parent of this id or name, which nobody has stopped.
    pub fn new(agent: impl Into<Arc<str>>) -> Self {
        Self { agent: agent.into(), ..Self::default() }
    }
}

/// When the caller of a fork goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DelegateMode {
    /// When the fork has ended. Giving up the wait cancels the fork.
    #[default]
    Sync,
    /// At once; the fork runs in the background.
    ForkAndForget,
}

impl DelegateMode {
    /// The word in spans.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::ForkAndForget => "fork_and_forget",
        }
    }
}

/// What a fork is for, as it stands on every event of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum QuerySource {
    /// Memory consolidation by itself.
    AutoDream,
    /// A summary for somebody who was away.
    AwayDigest,
    /// Notes of one session.
    SessionMemory,
    /// Work done ahead, in case it is asked for.
    Speculation,
    /// A scripted prompt of an evaluation.
    Eval,
    /// A task that another agent handed on.
    Delegation,
    /// Anything else, in the caller's word: one of few, as in `Custom("docs_example")`. What differs from fork to fork is the
    /// [label](ForkParams::fork_label).
    Custom(&'static str),
}

impl QuerySource {
    /// The word in events and spans.
    pub fn as_str(&self) -> &str {
        match self {
            Self::AutoDream => "auto_dream",
            Self::AwayDigest => "away_digest",
            Self::SessionMemory => "session_memory",
            Self::Speculation => "speculation",
            Self::Eval => "eval",
            Self::Delegation => "delegation",
            Self::Custom(word) => word,
        }
    }
}

impl fmt::Display for QuerySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// In what a fork differs from its parent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ForkOverrides {
    /// Who the fork is, for its tools ([`CallContext::agent`](crate::tools::CallContext::agent)) and events; its run id where `None`.
    pub agent_id: Option<String>,
    /// Said again on every turn, behind the shared prefix: before the prompt's own words, and after the results of each turn's
    /// tools. Never in the system prompt, so it costs no cache.
    pub critical_reminder: Option<String>,
}

/// One fork: what it inherits, what it is asked, what it may do, and for how long.
///
/// Make one with [`ForkParams::new`] and change what differs, with `..` for the rest.
#[derive(Clone)]
pub struct ForkParams {
    /// Who forks.
    pub parent_ctx: ParentContext,
    /// Answers requests. Sends to the provider that the parent talks to, or no cache is shared.
    pub llm: Arc<dyn LlmClient>,
    /// Answers tool calls.
    pub tool_dispatcher: Arc<dyn ToolDispatcher>,
    /// What the fork is asked, behind everything that it inherits. The last one is the user's.
    pub prompt_messages: Vec<Message>,
    /// What it inherits.
    pub cache_safe: CacheSafeParams,
    /// Refuses calls. The declarations stay the parent's: another list would be another prefix.
    pub tool_filter: Arc<dyn ToolFilter>,
    /// What it is for.
    pub query_source: QuerySource,
    /// A few words for people, such as `quick question`.
    pub fork_label: String,
    /// In what it differs; `None` for in nothing.
    pub overrides: Option<ForkOverrides>,
    /// Most requests to the model; with 0 nothing is sent.
    pub max_turns: u32,
    /// Sees every message that the fork adds.
    pub on_message: Option<Arc<dyn OnMessage>>,
    /// Whether nothing of it is kept. `false` writes rows and messages where there is a
    /// [`ForkRegistry`](crate::ForkRegistry).
    pub skip_transcript: bool,
    /// When the caller goes on.
    pub mode: DelegateMode,
    /// Longest time for the whole fork; `None` for no limit. A client or a tool that ignores its token holds the end up for 10
    /// seconds more; the same goes for an abort.
    pub timeout: Option<Duration>,
    /// Stops this fork beside its parent's token. The fork never cancels it.
    pub external_abort: Option<CancellationToken>,
}

impl ForkParams {
    /// A fork that asks this of the model, waits for the answer, may call every tool, and keeps a transcript where there is a
    /// [`ForkRegistry`](crate::ForkRegistry); at most [`TURNS_DEFAULT`] turns, and no limit of time.
    pub fn new(
        parent_ctx: ParentContext,
        (llm, tool_dispatcher): (Arc<dyn LlmClient>, Arc<dyn ToolDispatcher>),
        cache_safe: CacheSafeParams,
        prompt: impl Into<String>,
    ) -> Self {
        Self {
            parent_ctx,
            llm,
            tool_dispatcher,
            prompt_messages: vec![Message::user(prompt)],
            cache_safe,
            tool_filter: Arc::new(AllowAllFilter),
            query_source: QuerySource::Custom("fork"),
            fork_label: "fork".to_owned(),
            overrides: None,
            max_turns: TURNS_DEFAULT,
            on_message: None,
            skip_transcript: false,
            mode: DelegateMode::Sync,
            timeout: None,
            external_abort: None,
        }
    }

    pub(crate) fn limits(&self) -> RunLimits {
        RunLimits { turns: self.max_turns, time: self.timeout, ..RunLimits::default() }
    }

    /// What the fork is asked, as text.
    pub(crate) fn told(&self) -> String {
        let texts: Vec<String> = self.prompt_messages.iter().map(Message::text).collect();
        texts.join("\n\n")
    }

    /// Whether there is something to answer, and a request for it can be made.
    pub(crate) fn check(&self) -> Result<(), ForkError> {
        self.cache_safe.head().check()?;
        let last = self.prompt_messages.last().map(Message::role);
        match last.or_else(|| self.cache_safe.fork_context_messages.last_role()) {
            Some(Role::User) => Ok(()),
            Some(Role::Assistant | Role::System) | None => Err(ForkError::NothingToAnswer),
        }
    }
}

impl fmt::Debug for ForkParams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForkParams")
            .field("parent_ctx", &self.parent_ctx)
            .field("query_source", &self.query_source)
            .field("fork_label", &self.fork_label)
            .field("prompt_messages", &self.prompt_messages.len())
            .field("max_turns", &self.max_turns)
            .field("skip_transcript", &self.skip_transcript)
            .field("mode", &self.mode)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
