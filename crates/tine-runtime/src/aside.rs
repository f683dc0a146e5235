//! A question to an agent's own model that is none of its conversation: for a summary of it.
//!
//! The request goes on from the conversation as it was sent, so that the cache serves it, and is recorded and paid for like every
//! other. Nothing is written into the agent's log.

use std::sync::Arc;

use tine_fork::{Conversation, Permit, RequestRecord};
use tine_llm::{LlmClient, Progress};
use tine_model::{AgentRecord, EntryId, Message, RequestId, StopReason};
use tine_wire::Reply;
use tokio_util::sync::CancellationToken;

use crate::budget::OnBudget;
use crate::cache::CachePolicy;
use crate::error::RuntimeError;
use crate::journal::request_row;
use crate::runtime::Runtime;

/// What is asked, and on whose account.
pub(crate) struct Aside<'a> {
    /// The agent.
    pub(crate) record: &'a AgentRecord,
    /// The process that asks, as it is named in leases: what it has reserved goes with it.
    pub(crate) owner: &'a str,
    /// The question.
    pub(crate) question: Message,
    /// Why the request stopped, in its record: tells it from the conversation's own.
    pub(crate) stop_word: &'static str,
    /// How the cache is used.
    pub(crate) caching: CachePolicy,
    /// Stops it.
    pub(crate) cancel: &'a CancellationToken,
}

impl Runtime {
    /// What the model says in words, seen by `progress` as it comes. An answer that is none, or half of one, is an error; it is paid
    /// for all the same.
    pub(crate) async fn ask_aside(
        &self,
        conversation: &mut Conversation,
        llm: &dyn LlmClient,
        aside: Aside<'_>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Reply, RuntimeError> {
        let Aside { record, owner, question, stop_word, caching, cancel } = aside;
        let model = &record.settings.model;
        let lane = self.lane(model, caching).await?;
        let mut asking = conversation.fork();
        asking.push(EntryId(0), Arc::new(question));
        let (request, assembled) = asking.request(false);
        let purse = self.purse_of(record, owner, OnBudget::End);
        let why = match purse.reserve(assembled.body.len(), &|_| {}, cancel).await? {
            Permit::Granted => None,
            Permit::Refused(_) => Some("the budget of its tree is used up"),
            Permit::Cancelled => Some("it was stopped"),
        };
        if let Some(why) = why {
            return Err(RuntimeError::NoAnswer { why });
        }
        let started_ms = self.now_ms();
        let watched = lane.begin(&assembled.boundaries, None, started_ms);
        let reply = match llm.send(&request, progress, cancel).await {
            Ok(reply) => reply,
            Err(error) => {
                purse.release().await?;
                return Err(error.into());
            }
        };
        let cache = watched.answered(&reply.usage, None, &assembled.boundaries);
        let answered = RequestRecord {
            // Not a reply of the conversation: nothing is compared with it.
            reply: None,
            model: reply.model.clone(),
            usage: reply.usage,
            stop: StopReason::Other(stop_word.to_owned()),
            items: assembled.items,
            body_bytes: assembled.body.len(),
            started_ms,
            cache: Some(cache),
        };
        let settled = purse.settled();
        let id = settled.unwrap_or_else(|| RequestId::from_random(self.ports().ids.random()));
        let priced = (&*self.ports().facts, &*model.to_string());
        let (row, entries) = request_row((id, record.id), priced, &answered);
        // Paid for, whatever becomes of it.
        self.store().record_request(row, &entries).await?;
        match wordless(&reply) {
            None => Ok(reply),
            Some(why) => Err(RuntimeError::NoAnswer { why }),
        }
    }
}

/// Why there is no answer in a reply; half of one would lose what it does not tell.
fn wordless(reply: &Reply) -> Option<&'static str> {
    Some(match &reply.stop {
        StopReason::MaxTokens | StopReason::ContextExceeded => "it was cut at the token limit",
        StopReason::Refusal => "the model refused",
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::Pause
        | StopReason::Other(_) => {
            if !reply.message.text().trim().is_empty() {
                return None;
            }
            "the model said nothing"
        }
    })
}
