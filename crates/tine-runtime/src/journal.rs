//! A run's journal over the store.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tine_cache::Models;
use tine_fork::host::{Clock, Ids};
use tine_fork::run::{Journal, JournalError, Permit, RequestRecord, Rest, ServerDialect};
use tine_model::{
    AgentId, CapReached, DialectChange, EntryId, Message, RequestId, Spent, StopReason, Usage,
};
use tine_store::{CacheRow, Fence, MailId, MailRow, NewEntry, RequestRow, Store, StoreError};
use tokio_util::sync::CancellationToken;

use crate::budget::{Purse, micro_usd};
use crate::cache::cache_row;
use crate::cache_note::CacheNote;
use crate::codec;
use crate::ports::Ports;
use crate::registry::from_agent;
use crate::remote::mirror::Mirror;
use crate::rest::Resting;
use crate::servers::{Server, Servers};

/// Writes one agent's messages under its lease.
pub(crate) struct StoreJournal {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    agent: AgentId,
    fence: Fence,
    model: String,
    facts: Arc<Models>,
    purse: Option<Purse>,
    state: Mutex<State>,
    resting: Option<Resting>,
    server: Option<(Arc<Servers>, Server)>,
    mirror: Option<Arc<dyn Mirror>>,
}

#[derive(Default)]
struct State {
    /// The last piece of mail that the next message delivers, in one transaction with it.
    delivering: Option<MailId>,
    /// Turn boundaries since the agent was told to stop.
    told_to_stop: Option<u32>,
    /// The next look into the mailbox finds nothing: the prompt comes first.
    prompt_first: bool,
}

/// Most bytes of mail that one message delivers; what is left comes with the next. A model reads so much and still knows what it
/// was doing.
pub(crate) const DELIVERED_BYTES_MAX: usize = 128 * 1024;

/// Turns that an agent may take after it was told to stop. The first should be its last: it has no tools any more.
const SOFT_TURNS_MAX: u32 = 2;

/// How the notice of a task begins.
const NOTICE_BEGIN: &str = "<task-notification>";

/// What an agent is told when somebody wants it to stop.
const TOLD_TO_STOP: &str = "You are asked to stop. Call no more tools: they are refused from here on. Answer now with what you \
    have, in the form that was asked for, and say what is left undone.";

impl StoreJournal {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        ports: &Ports,
        (agent, fence): (AgentId, Fence),
        model: String,
    ) -> Self {
        let (clock, ids) = (Arc::clone(&ports.clock), Arc::clone(&ports.ids));
        let facts = Arc::clone(&ports.facts);
        Self {
            store,
            clock,
            ids,
            agent,
            fence,
            model,
            facts,
            purse: None,
            state: Mutex::default(),
            resting: None,
            server: None,
            mirror: None,
        }
    }

    /// Returns the journal, which tells a mirror of all that it writes.
    pub(crate) fn mirrored(self, mirror: Option<Arc<dyn Mirror>>) -> Self {
        Self { mirror, ..self }
    }

    /// Returns the journal with the server that answers its requests, and with what is known of servers.
    pub(crate) fn answered_by(self, server: (Arc<Servers>, Server)) -> Self {
        Self { server: Some(server), ..self }
    }

    /// The same, whose requests keep within the budget of the tree.
    pub(crate) fn spending(self, purse: Purse) -> Self {
        Self { purse: Some(purse), ..self }
    }

    /// The same journal, of a run that may have workers, and that others may ask to stop.
    pub(crate) fn at_rest(self, resting: Resting) -> Self {
        Self { resting: Some(resting), ..self }
    }

    /// The same journal, whose mail stands behind the prompt of the run: siblings share all that stands before theirs.
    pub(crate) fn behind_the_prompt(self) -> Self {
        self.with_state(|state| state.prompt_first = true);
        self
    }

    /// The last piece of mail that the next message delivers.
    pub(crate) fn delivering(&self) -> Option<MailId> {
        self.with_state(|state| state.delivering)
    }

    /// The next message delivers all mail up to and with this piece.
    pub(crate) fn deliver_with_next(&self, mail: MailId) {
        self.with_state(|state| state.delivering = state.delivering.max(Some(mail)));
    }

    /// Whether the agent was told to stop.
    pub(crate) fn has_told_to_stop(&self) -> bool {
        self.with_state(|state| state.told_to_stop.is_some())
    }

    /// What is to be said at a turn boundary because somebody wants the run to stop.
    fn stopping(&self) -> Option<String> {
        let stop = &self.resting.as_ref()?.stop;
        stop.asked()?;
        let boundaries = self.with_state(|state| {
            let boundaries = state.told_to_stop.map_or(0, |boundaries| boundaries + 1);
            state.told_to_stop = Some(boundaries);
            boundaries
        });
        if boundaries >= SOFT_TURNS_MAX {
            stop.cancel.cancel();
        }
        (boundaries == 0).then(|| TOLD_TO_STOP.to_owned())
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn append(&self, row: NewEntry) -> Result<EntryId, JournalError> {
        let ids = self.store.append(self.agent, self.fence, &[row]).await.map_err(failed)?;
        ids.first().copied().ok_or_else(|| failed(StoreError::no_agent(self.agent)))
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> JournalError {
    JournalError(Box::new(error))
}

#[async_trait]
impl Journal for StoreJournal {
    async fn message(&self, message: &Arc<Message>) -> Result<EntryId, JournalError> {
        let row = codec::message_row(message, self.clock.now_ms());
        let mirrored = self.mirror.as_ref().map(|mirror| (mirror, row.clone()));
        let written = match self.with_state(|state| state.delivering.take()) {
            None => self.append(row).await?,
            Some(mail) => {
                let delivered = self.store.deliver_mail(self.agent, self.fence, mail, row);
                delivered.await.map_err(failed)?
            }
        };
        if let Some((mirror, row)) = mirrored {
            mirror.entry(&row).await.map_err(JournalError)?;
        }
        Ok(written)
    }

    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    async fn request_answered(&self, record: &RequestRecord) -> Result<(), JournalError> {
        let reserved = self.purse.as_ref().and_then(Purse::settled);
        let id = reserved.unwrap_or_else(|| RequestId::from_random(self.ids.random()));
        let (row, cache) = request_row((id, self.agent), (&self.facts, &self.model), record);
        self.store.record_request(row.clone(), &cache).await.map_err(failed)?;
        match &self.mirror {
            Some(mirror) => mirror.request(&row, &cache).await.map_err(JournalError),
            None => Ok(()),
        }
    }

    async fn reserve(
        &self,
        body_bytes: u64,
        on_pause: &(dyn Fn(CapReached) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<Permit, JournalError> {
        match &self.purse {
            Some(purse) => purse.reserve(body_bytes, on_pause, cancel).await.map_err(failed),
            None => Ok(Permit::Granted),
        }
    }

    async fn release(&self) -> Result<(), JournalError> {
        match &self.purse {
            Some(purse) => purse.release().await.map_err(failed),
            None => Ok(()),
        }
    }

    fn server(&self) -> ServerDialect {
        let server = self.server.as_ref();
        server.map(|(servers, server)| servers.dialect(server)).unwrap_or_default()
    }

    async fn dialect_changed(&self, change: &DialectChange) -> Result<(), JournalError> {
        let now_ms = self.clock.now_ms();
        // The lineage first: without it a restart would render other bytes. What the host refuses can be learnt again.
        self.append(codec::dialect_row(change, now_ms)).await?;
        let Some((servers, server)) = &self.server else { return Ok(()) };
        servers.learn(&*self.store, server, (change, now_ms)).await.map_err(failed)
    }

    async fn notice(&self, text: &str) -> Result<(), JournalError> {
        let row = codec::notice_row(text, self.clock.now_ms());
        self.append(row.clone()).await?;
        match &self.mirror {
            Some(mirror) => mirror.entry(&row).await.map_err(JournalError),
            None => Ok(()),
        }
    }

    async fn mail(&self) -> Result<Vec<String>, JournalError> {
        if self.with_state(|state| std::mem::take(&mut state.prompt_first)) {
            return Ok(Vec::new());
        }
        let mail = self.store.unread_mail(self.agent).await.map_err(failed)?;
        let mut bytes = 0;
        let mut texts = Vec::with_capacity(mail.len());
        for row in mail {
            bytes += row.body.len();
            if !texts.is_empty() && bytes > DELIVERED_BYTES_MAX {
                break;
            }
            self.deliver_with_next(row.id);
            texts.push(mail_text(row));
        }
        texts.extend(self.stopping());
        Ok(texts)
    }

    async fn rest(&self, cancel: &CancellationToken) -> Result<Rest, JournalError> {
        let Some(resting) = &self.resting else { return Ok(Rest::Over) };
        resting.rest(self.agent, cancel).await.map_err(failed)
    }
}

/// Mail as its reader sees it: notices of tasks say by themselves whose they are.
pub(crate) fn mail_text(row: MailRow) -> String {
    match row.sender {
        Some(sender) if !row.body.starts_with(NOTICE_BEGIN) => from_agent(sender, &row.body),
        Some(_) | None => row.body,
    }
}

/// A request as the store keeps it, and the cache entries that it leaves behind.
pub(crate) fn request_row(
    (id, agent): (RequestId, AgentId),
    (facts, model): (&Models, &str),
    record: &RequestRecord,
) -> (RequestRow, Vec<CacheRow>) {
    let cache = record.cache.as_ref();
    let entries = cache.map_or_else(Vec::new, |cache| {
        cache.entries.iter().map(|entry| cache_row(cache.scope, entry)).collect()
    });
    let usage = (record.usage != Usage::default()).then_some(record.usage);
    let row = RequestRow {
        id,
        agent,
        started_ms: record.started_ms,
        model: model.to_owned(),
        usage,
        stop: Some(stop_word(&record.stop).to_owned()),
        prompt_bytes: Some(record.body_bytes),
        reply: record.reply.clone(),
        verdict: cache.map(|cache| cache.judgement.verdict.as_str().to_owned()),
        note: cache.map(|cache| CacheNote::of(cache).to_text()),
        micro_usd: usage.and_then(|usage| {
            micro_usd(facts, model, &Spent { started_ms: record.started_ms, usage })
        }),
    };
    (row, entries)
}

pub(crate) fn stop_word(stop: &StopReason) -> &str {
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
