//! Running forks: the one turn loop, the fan-out of siblings over one prefix, and the worker's protocol.
//!
//! This crate needs neither a terminal nor a store. Messages are handed to a [`Journal`] as soon as they exist, tool
//! calls to a [`ToolDispatcher`], requests to an [`LlmClient`](tine_llm::LlmClient). Abort runs downwards only: a
//! run is cancelled by its token, and never cancels its caller's.

mod cache;
mod conversation;
mod exchange;
mod flight;
mod inner;
mod journal;
mod report;
mod run;
mod tools;
mod worker;

pub use cache::{CacheEngine, CacheLane, CacheRecord, Watched};
pub use conversation::{Conversation, Held, LastSent, ToHold};
pub use flight::{Flight, LEADER_WAIT_MAX, REPLY_WAIT_MAX, Seat, Ticket, leader_wait_max};
pub use inner::InnerCalls;
pub use journal::{Journal, JournalError, MemoryJournal, RequestRecord};
pub use report::Report;
pub use run::{Observer, Run, RunError, RunEvent, RunLimits, RunReport, TURNS_DEFAULT};
pub use tine_guard::filter::{AllowAllFilter, AutoMemFilter, ToolFilter};
pub use tools::{CallContext, ToolAnswer, ToolCall, ToolDispatcher};
pub use worker::{BOILERPLATE_TAG, REPORT_WORDS_MAX, WORKER_TURNS_DEFAULT, worker_directive};
