//! A run's journal over the store.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tine_fork::{Clock, Ids, Journal, JournalError, RequestRecord};
use tine_model::{AgentId, EntryId, Message, RequestId, StopReason, Usage};
use tine_store::{CacheRow, Fence, MailId, NewEntry, RequestRow, Store, StoreError};

use crate::cache::cache_row;
use crate::cache_note::CacheNote;
use crate::codec;
use crate::ports::Ports;

/// Writes one agent's messages under its lease.
pub(crate) struct StoreJournal {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    agent: AgentId,
    fence: Fence,
    model: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Mail that the next messages deliver, each in one transaction with its message.
    delivering: VecDeque<MailId>,
}

impl StoreJournal {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        ports: &Ports,
        (agent, fence): (AgentId, Fence),
        model: String,
    ) -> Self {
        let (clock, ids) = (Arc::clone(&ports.clock), Arc::clone(&ports.ids));
        Self { store, clock, ids, agent, fence, model, state: Mutex::default() }
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn append(&self, row: NewEntry) -> Result<EntryId, JournalError> {
        let ids = self.store.append(self.agent, self.fence, &[row]).await.map_err(failed)?;
        ids.first().copied().ok_or_else(|| failed(StoreError::no_agent(self.agent)))
    }
}

fn failed(error: StoreError) -> JournalError {
    JournalError(Box::new(error))
}

#[async_trait]
impl Journal for StoreJournal {
    async fn message(&self, message: &Arc<Message>) -> Result<EntryId, JournalError> {
        let row = codec::message_row(message, self.clock.now_ms());
        match self.with_state(|state| state.delivering.pop_front()) {
            None => self.append(row).await,
            Some(mail) => {
                let delivered = self.store.deliver_mail(self.agent, self.fence, mail, row);
                delivered.await.map_err(failed)
            }
        }
    }

    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    async fn request_answered(&self, record: &RequestRecord) -> Result<(), JournalError> {
        let id = RequestId::from_random(self.ids.random());
        let (row, cache) = request_row((id, self.agent), &self.model, record);
        self.store.record_request(row, &cache).await.map_err(failed)?;
        Ok(())
    }

    async fn notice(&self, text: &str) -> Result<(), JournalError> {
        self.append(codec::notice_row(text, self.clock.now_ms())).await?;
        Ok(())
    }

    async fn mail(&self) -> Result<Vec<String>, JournalError> {
        let mail = self.store.unread_mail(self.agent).await.map_err(failed)?;
        self.with_state(|state| state.delivering = mail.iter().map(|row| row.id).collect());
        Ok(mail
            .into_iter()
            .map(|row| match row.sender {
                None => row.body,
                Some(sender) => format!("Message from agent {}:\n{}", sender.short(), row.body),
            })
            .collect())
    }
}

/// A request as the store keeps it, and the cache entries that it leaves behind.
pub(crate) fn request_row(
    (id, agent): (RequestId, AgentId),
    model: &str,
    record: &RequestRecord,
) -> (RequestRow, Vec<CacheRow>) {
    let cache = record.cache.as_ref();
    let entries = cache.map_or_else(Vec::new, |cache| {
        cache.entries.iter().map(|entry| cache_row(cache.scope, entry)).collect()
    });
    let row = RequestRow {
        id,
        agent,
        started_ms: record.started_ms,
        model: model.to_owned(),
        usage: (record.usage != Usage::default()).then_some(record.usage),
        stop: Some(stop_word(&record.stop).to_owned()),
        prompt_bytes: Some(record.body_bytes),
        reply: record.reply.clone(),
        verdict: cache.map(|cache| cache.judgement.verdict.as_str().to_owned()),
        note: cache.map(|cache| CacheNote::of(cache).to_text()),
    };
    (row, entries)
}

fn stop_word(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::StopSequence => "stop_sequence",
        StopReason::Pause => "pause",
        StopReason::Refusal => "refusal",
        StopReason::ContextExceeded => "context_exceeded",
        StopReason::Other(word) => word,
    }
}
