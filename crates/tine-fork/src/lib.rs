//! A `fork()` for LLM agents, as a library.
//!
//! A fork inherits its parent's request byte for byte, so that the provider's prompt cache serves the inherited part. It runs
//! the same turn loop, under a filter of its own, and never touches its parent: abort runs downwards only.
//!
//! # A fork in five minutes
//!
//! ```
//! use std::error::Error;
//! use std::sync::Arc;
//!
//! use tine_fork::prelude::*;
//! use tine_fork::{
//!     Block, CancellationToken, LlmError, Message, Progress, Reply, Request, Role, StopReason, Usage, async_trait,
//! };
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn Error>> {
//!     // What your agent has sent last, in its own bytes.
//!     let body = br#"{"model":"claude-opus-5-5","max_tokens":1024,"system":"You keep the log of a harbour.",
//!         "messages":[{"role":"user","content":"Which ships came in today?"}]}"#;
//!     let request = ParentRequest::read(Provider::Anthropic, body)?;
//!     let inherited = CacheSafeParams::from_parent_request(&request);
//!
//!     // Who forks, with which client and which tools, and what is asked. Whatever else differs is a field.
//!     let parent = ParentContext::new("harbour");
//!     let ports = (Arc::new(Scripted) as _, Arc::new(NoTools) as _);
//!     let params = ForkParams {
//!         max_turns: 10,
//!         mode: DelegateMode::ForkAndForget,
//!         ..ForkParams::new(parent, ports, inherited, "How many were there?")
//!     };
//!
//!     // The fork runs by itself, and your agent goes on. The handle joins, cancels or detaches the fork.
//!     let fork: ForkHandle = DefaultForkSubagent::new().fork(params).await?;
//!     let result: ForkResult = fork.join().await?;
//!
//!     assert_eq!(result.outcome, Outcome::Completed);
//!     assert_eq!(result.usage.read, Some(50), "what the cache served of the inherited part");
//!     assert_eq!(result.into_text()?, "Three.");
//!     Ok(())
//! }
//!
//! /// The client. Yours sends the bytes of `request.body` to your provider, and reads its reply.
//! struct Scripted;
//!
//! #[async_trait]
//! impl LlmClient for Scripted {
//!     async fn send(
//!         &self,
//!         _request: &Request,
//!         _on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
//!         _cancel: &CancellationToken,
//!     ) -> Result<Reply, LlmError> {
//!         Ok(Reply {
//!             id: None,
//!             model: None,
//!             message: Message::new(Role::Assistant, vec![Block::Text("Three.".to_owned())]),
//!             stop: StopReason::EndTurn,
//!             usage: Usage { uncached: 10, read: Some(50), output: 2, ..Usage::default() },
//!             diagnosis: None,
//!             dropped: Vec::new(),
//!         })
//!     }
//! }
//! ```
//!
//! | you bring | as |
//! |---|---|
//! | a client of your provider | [`LlmClient`]; the crate `tine-llm` has one over HTTP for five wire formats |
//! | your tools | [`ToolDispatcher`], or [`NoTools`]; a [`ToolFilter`] refuses calls without changing what the model was told of |
//! | what the parent sent last | [`ParentRequest`], kept for each agent in a [`CacheSafeSlot`] |
//!
//! [`ForkParams`] says what a fork is asked, may do and for how long; [`DelegateMode`] whether its caller waits. A [`ForkHandle`]
//! is joined, detached or cancelled; dropped, it cancels its fork. Whatever happens to a fork is an [`Outcome`] of its
//! [`ForkResult`], with the messages and tokens so far. [`DefaultForkSubagent::fan_out`] starts many at once, one writer a prefix.
//! [`OnMessage`] sees every message, a [`ForkRegistry`] keeps them. [`stray`] looks whether a fork stayed with its task.
//!
//! This crate needs neither a terminal nor a store, and brings no HTTP. Below the forks stands the turn loop that tine's own agents
//! run on too: a [`Run`] over a [`Conversation`], which hands messages to a [`Journal`] as soon as they exist.
//!
//! The examples run against tine's provider simulator: `quick_fork`, `memory_fork`, `eight_siblings`, `delegation`, `custom_tools`,
//! `custom_client`.

mod cache;
mod cache_safe;
mod compactor;
mod conversation;
mod delegate;
mod digest;
mod envelope;
mod exchange;
mod fitting;
mod flight;
mod handle;
mod host;
mod inner;
mod journal;
mod merge_note;
mod neighbour;
mod notification;
mod on_message;
mod outcome;
mod params;
mod placed;
pub mod prelude;
mod registry;
mod report;
mod resend;
mod run;
mod slots;
mod snapshot;
mod speaking;
mod stopping;
pub mod stray;
mod subagent;
pub mod telemetry;
mod tools;
mod work;
mod worker;

pub use cache::{
    CacheEngine, CacheLane, CacheRecord, VALUE_PER_SECOND_DEFAULT, Watched, cache_scope,
    child_places,
};
pub use cache_safe::{
    CacheSafeParams, CacheSafeSlot, ContextMessages, ParentRequest, SLOT_AGENTS_MAX,
};
pub use compactor::Compactor;
pub use conversation::{Conversation, Held, LastSent, ToHold};
pub use delegate::{
    DELEGATE_CONTEXT_BYTES_MAX, DELEGATE_ID_CHARS_MAX, DELEGATE_TASK_BYTES_MAX,
    DELEGATE_TIMEOUT_DEFAULT, DELEGATE_TIMEOUT_MAX, DELEGATE_TOOL, DelegateTool, Peer, Peers,
};
pub use digest::{DIGEST_TAG, Digest, DigestProfile, DigestStats};
pub use envelope::{
    FRAME_TAGS, escape_frame_line, escape_frame_tags, frame_tags, unescape_frame_tags,
};
pub use flight::{Flight, LEADER_WAIT_MAX, REPLY_WAIT_MAX, Seat, Ticket, leader_wait_max};
pub use handle::{ForkCompletion, ForkHandle};
pub use host::{Clock, Ids, SystemClock, SystemIds};
pub use inner::InnerCalls;
pub use journal::{Journal, JournalError, MemoryJournal, Permit, RequestRecord, Rest};
pub use merge_note::{MergeNote, Wording};
pub use neighbour::{Neighbour, is_note_of_neighbours};
pub use notification::{
    EndedTask, NotificationStatus, NotificationUsage, SUMMARY_CHARS_MAX, TaskNotification,
};
pub use on_message::{FilesTouched, ForkMessage, LogMessages, OnMessage, OnMessageChain};
pub use outcome::{ForkError, ForkResult, ForkRunId};
pub use params::{DelegateMode, ForkOverrides, ForkParams, ParentContext, QuerySource};
pub use registry::{ForkEntry, ForkRegistry};
pub use report::Report;
pub use resend::Resends;
pub use run::{Observer, Run, RunError, RunEvent, RunLimits, RunReport, TURNS_DEFAULT};
pub use slots::{SLOT_WAIT_MAX, SlotWait};
pub use snapshot::Snapshot;
pub use speaking::ServerDialect;
pub use subagent::{DefaultForkSubagent, FanOut, ForkSubagent, SIBLINGS_MAX, Sibling};
pub use tine_guard::filter as tool_filter;
pub use tine_guard::filter::{
    All, AllowAllFilter, Any, AutoMemFilter, Denial, FilterError, Not, ReadOnlyFilter, ToolFilter,
    WorkerFilter, all, any, not,
};
pub use tools::{CallContext, Denials, NoTools, OpenCall, ToolAnswer, ToolCall, ToolDispatcher};
pub use worker::{
    BOILERPLATE_TAG, Inherits, REPORT_WORDS_MAX, WORKER_TURNS_DEFAULT, directive_task,
    fresh_directive, is_workers_history, worker_directive, workers_directive,
};

// What an embedder needs of the crates below, so that this one is enough.
pub use async_trait::async_trait;
pub use tine_cache::{Asked, Facts, Judgement, Launch, Models, Plan, Verdict};
pub use tine_llm::{LlmClient, LlmError, Progress, Request};
pub use tine_model::{
    AgentId, Block, CacheScheme, Effort, EntryId, Lifetime, Message, ModelRef, ModelSettings,
    Outcome, Provider, RawJson, Role, SeenFile, Segment, StopReason, Thinking, ToolCallId,
    ToolChoice, ToolInput, Usage, WireFormat,
};
pub use tine_wire::{
    Event, HeadParts, HeadPartsError, Lifetimes, ReadRequestError, Reply, SentRequest, SystemBlock,
    ToolDeclaration, ToolOrder,
};
pub use tokio_util::sync::CancellationToken;

/// The runtime that forks run on.
pub use tokio;
