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
//! use tine_fork::client::{LlmError, Progress, Reply, Request, StopReason, Usage};
//! use tine_fork::message::{Block, Message, Role};
//! use tine_fork::{CancellationToken, async_trait};
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
//! | a client of your provider | [`LlmClient`](client::LlmClient); the crate `tine-llm` has one over HTTP for five wire formats |
//! | your tools | [`ToolDispatcher`], or [`NoTools`](tools::NoTools); a [`ToolFilter`] refuses calls without changing what the model was told of |
//! | what the parent sent last | [`ParentRequest`], kept for each agent in a [`CacheSafeSlot`] |
//!
//! [`ForkParams`] says what a fork is asked, may do and for how long; [`DelegateMode`] whether its caller waits. A [`ForkHandle`]
//! is joined, detached or cancelled; dropped, it cancels its fork. Whatever happens to a fork is an [`Outcome`] of its
//! [`ForkResult`], with the messages and tokens so far. [`DefaultForkSubagent::fan_out`] starts many at once, one writer a prefix.
//! [`OnMessage`] sees every message, a [`ForkRegistry`] keeps them. [`stray`] looks whether a fork stayed with its task. [`dream`] and
//! [`away`] have the words for two forks that nobody types.
//!
//! This crate needs neither a terminal nor a store, and brings no HTTP. Below the forks stands the turn loop that tine's own agents
//! run on too: a [`Run`](run::Run) over a [`Conversation`](run::Conversation), which hands messages to a [`Journal`](run::Journal) as soon as they exist.
//!
//! The examples run against tine's provider simulator: `quick_fork`, `dream`, `eight_siblings`, `delegation`, `custom_tools`,
//! `custom_client`.

pub mod away;
pub mod cache;
mod cache_safe;
pub mod client;
mod compactor;
mod conversation;
pub mod delegate;
pub mod digest;
pub mod dream;
pub mod envelope;
mod exchange;
mod fitting;
mod flight;
mod handle;
pub mod host;
mod inner;
mod journal;
mod live_output;
pub mod merge_note;
pub mod message;
pub mod neighbour;
pub mod notification;
mod on_message;
mod outcome;
mod params;
mod placed;
pub mod prelude;
mod registry;
mod report;
pub mod request;
mod resend;
pub mod run;
mod slots;
mod snapshot;
mod speaking;
mod stopping;
pub mod stray;
mod subagent;
pub mod telemetry;
pub mod tools;
mod work;
pub mod worker;

pub use cache_safe::{
    CacheSafeParams, CacheSafeSlot, ContextMessages, ParentRequest, SLOT_AGENTS_MAX,
};
pub use handle::{ForkCompletion, ForkEnd, ForkHandle};
pub use on_message::{FilesTouched, ForkMessage, LogMessages, OnMessage, OnMessageChain};
pub use outcome::{ForkError, ForkResult, ForkRunId};
pub use params::{DelegateMode, ForkOverrides, ForkParams, ParentContext, QuerySource};
pub use registry::{ForkEntry, ForkRegistry};
pub use subagent::{DefaultForkSubagent, FanOut, ForkSubagent, SIBLINGS_MAX, Sibling};
pub use tine_guard::filter::{self as tool_filter, AllowAllFilter, AutoMemFilter, ToolFilter};
pub use tine_model::Outcome;
pub use tools::ToolDispatcher;

pub use async_trait::async_trait;
pub use tokio_util::sync::CancellationToken;

/// The runtime that forks run on.
pub use tokio;
