//! A question to an agent's own model that is none of its conversation: for a summary of it.
//!
//! The request goes on from the conversation as it was sent, so that the cache serves it, and is recorded and paid for like every
//! other. Nothing is written into the agent's log.

use std::sync::Arc;

use tine_fork::run::{Conversation, Permit, RequestRecord, Resends};
use tine_llm::{LlmClient, LlmError, Progress};
use tine_model::{AgentRecord, EntryId, Message, RequestId, StopReason, Usage};
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
    /// for all the same. One that breaks off, or that says nothing, is asked for again.
    pub(crate) async fn ask_aside(
        &self,
        conversation: &mut Conversation,
        llm: &dyn LlmClient,
        aside: Aside<'_>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Reply, RuntimeError> {
        let mut asking = conversation.fork();
        asking.push(EntryId(0), Arc::new(aside.question.clone()));
        let mut resends = Resends::new(llm);
        let reply = loop {
            let mut begun = false;
            let mut noted = |step: Progress<'_>| {
                begun |= matches!(&step, Progress::Event(event) if event.is_of_the_reply());
                progress(step);
            };
            let error = match self.try_aside(&mut asking, llm, &aside, &mut noted).await? {
                Ok(reply) => break reply,
                Err(error) => error,
            };
            let wait = if begun || matches!(error, LlmError::NoAnswer { .. }) {
                resends.next(&error, aside.owner)
            } else {
                None
            };
            let Some(wait) = wait else { return Err(error.into()) };
            progress(Progress::Retry { attempt: resends.count(), wait, cause: &error });
            if aside.cancel.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return Err(RuntimeError::NoAnswer { why: STOPPED });
            }
        };
        match wordless(&reply) {
            None => Ok(reply),
            Some(why) => Err(RuntimeError::NoAnswer { why }),
        }
    }

    /// Sends it once, and records what it cost, whatever becomes of it.
    async fn try_aside(
        &self,
        asking: &mut Conversation,
        llm: &dyn LlmClient,
        aside: &Aside<'_>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Result<Reply, LlmError>, RuntimeError> {
        let Aside { record, owner, stop_word, caching, cancel, .. } = *aside;
        let model = &record.settings.model;
        let lane = self.lane_of_agent(record, model, caching).await?;
        let (request, assembled) = asking.request(false);
        let purse = self.purse_of(record, owner, OnBudget::End);
        let why = match purse.reserve(assembled.body.len(), &|_| {}, cancel).await? {
            Permit::Granted => None,
            Permit::Refused(_) => Some(SPENT),
            Permit::Cancelled => Some(STOPPED),
        };
        if let Some(why) = why {
            return Err(RuntimeError::NoAnswer { why });
        }
        let started_ms = self.now_ms();
        let watched = lane.begin(&assembled.boundaries, None, started_ms);
        let result = llm.send(&request, progress, cancel).await.and_then(LlmError::answered);
        let (usage, stop) = match &result {
            Ok(reply) => (reply.usage, stop_word),
            Err(error) => (error.partial().map(|part| part.usage).unwrap_or_default(), "broken"),
        };
        let is_unseen = !matches!(result, Err(LlmError::NoAnswer { .. }));
        if result.is_err() && is_unseen && usage == Usage::default() {
            purse.release().await?;
            return Ok(result);
        }
        let answered = RequestRecord {
            // Not a reply of the conversation: nothing is compared with it.
            reply: None,
            model: result.as_ref().ok().and_then(|reply| reply.model.clone()),
            usage,
            stop: StopReason::Other(stop.to_owned()),
            items: assembled.items,
            body_bytes: assembled.body.len(),
            started_ms,
            cache: Some(watched.answered(&usage, None, &assembled.boundaries)),
        };
        let settled = purse.settled();
        let id = settled.unwrap_or_else(|| RequestId::from_random(self.ports().ids.random()));
        let priced = (&*self.ports().facts, &*model.to_string());
        let (row, entries) = request_row((id, record.id), priced, &answered);
        self.store().record_request(row, &entries).await?;
        Ok(result)
    }
}

/// Why there is no answer, where somebody stopped it.
const STOPPED: &str = "it was stopped";

/// Why there is no answer, where nothing may be spent.
const SPENT: &str = "the budget of its tree is used up";

/// Returns true where nothing else may take the answer's place either.
pub(crate) fn is_final(why: &str) -> bool {
    [STOPPED, SPENT].contains(&why)
}

/// Why there is no answer in a reply; half of one would lose what it does not tell.
fn wordless(reply: &Reply) -> Option<&'static str> {
    if reply.no_answer().is_some() {
        return Some("it ended for a reason that tine does not know");
    }
    Some(match &reply.stop {
        StopReason::MaxTokens => "it was cut at the token limit",
        StopReason::ContextExceeded => "it was cut at the end of the model's window",
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
