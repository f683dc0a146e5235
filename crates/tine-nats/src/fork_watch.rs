//! The eyes of a worker on a fork that runs, which write into its record: between the turn loop and its client, tools and log.
//!
//! A request goes out once its event stands on the server, a tool runs once its call and its beginning do, and the loop goes on once
//! a message does. So whoever takes the run over knows what was paid for, and which calls may have run.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tine_cache::SharesAt;
use tine_fork::client::{Event, LlmClient, LlmError, Partial, Progress, Reply, Request, Usage};
use tine_fork::host::Clock;
use tine_fork::message::{Block, EntryId, Message, ToolCallId};
use tine_fork::run::{Journal, JournalError, RequestRecord};
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall, ToolDispatcher};
use tine_fork::{CancellationToken, ForkEntry, ForkRegistry, ForkResult};
use tokio::time::Instant;

use crate::connect::Cluster;
use crate::event::{Cost, Entry, Happened, RequestSent, Text, Tool, ToolState};
use crate::flight::{Leader, Seat};
use crate::fork_events::CostDetail;
use crate::fork_job::message_text;
use crate::writer::{RecordLost, Writer};

/// A piece of what the model says covers at least so much time.
const TEXT_PIECE: Duration = Duration::from_secs(1);

/// Longest wait for another machine that writes the same prefix.
const LEADER_WAIT_MAX: Duration = Duration::from_secs(30);

/// Left by a leader for those behind it. There is nothing to say but that it has written.
const WRITTEN: &[u8] = b"written";

/// The answer to a call that was not run because the worker may not run it any more. No model sees it: the run is lost.
const NOT_RUN: &str = "This call was not run.";

/// Writes down a fork.
pub(crate) struct Watch {
    pub(crate) writer: Writer,
    pub(crate) clock: Arc<dyn Clock>,
    /// The number of this worker among those that have had the run.
    attempt: u32,
    /// Messages of the fork that stand in its record already: the loop tells of them again.
    known: usize,
    /// Messages that the fork inherits.
    inherited: usize,
    counts: Counts,
    /// Calls that have no result yet, with their tools.
    open: Mutex<HashMap<ToolCallId, String>>,
}

#[derive(Default)]
struct Counts {
    messages: AtomicUsize,
    requests: AtomicU32,
    answered: AtomicI64,
}

impl Watch {
    pub(crate) fn new(writer: Writer, clock: Arc<dyn Clock>, attempt: u32) -> Self {
        let (counts, open) = (Counts::default(), Mutex::default());
        Self { writer, clock, attempt, known: 0, inherited: 0, counts, open }
    }

    /// Returns the watch of a fork that inherits so many messages, of which so many of its own stand in its record already, and which has
    /// sent so many requests.
    pub(crate) fn behind(self, (inherited, known): (usize, usize), requests: u32) -> Self {
        self.counts.requests.store(requests, Ordering::Relaxed);
        Self { inherited, known, ..self }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<ToolCallId, String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finished(&self, call: &ToolCallId, is_error: bool) {
        let Some(tool) = self.open().remove(call) else { return };
        let (call, state) = (call.to_string(), ToolState::Finished);
        self.writer.note(Happened::Tool(Tool { call, tool, state, is_error }));
    }
}

/// The fork's log.
pub(crate) struct RecordJournal(pub(crate) Arc<Watch>);

fn lost(error: impl std::error::Error + Send + Sync + 'static) -> JournalError {
    JournalError(Box::new(error))
}

#[async_trait]
impl Journal for RecordJournal {
    async fn message(&self, message: &Arc<Message>) -> Result<EntryId, JournalError> {
        let watch = &self.0;
        let number = watch.counts.messages.fetch_add(1, Ordering::Relaxed) + 1;
        for block in message.blocks() {
            match block {
                Block::ToolUse { id, name, .. } => {
                    watch.open().insert(id.clone(), name.clone());
                }
                Block::ToolResult { call, .. } if number <= watch.known => {
                    watch.open().remove(call);
                }
                // Of those that were refused, or cut off, nobody else tells.
                Block::ToolResult { call, is_error, .. } => watch.finished(call, *is_error),
                _ => {}
            }
        }
        if number > watch.known {
            let entry = message_text(message).map_err(lost)?.into();
            watch.writer.write(Happened::Entry(Entry { entry })).await.map_err(lost)?;
        }
        Ok(EntryId((watch.inherited + number) as i64))
    }

    fn now_ms(&self) -> i64 {
        self.0.clock.now_ms()
    }

    async fn request_answered(&self, record: &RequestRecord) -> Result<(), JournalError> {
        let watch = &self.0;
        let number = watch.counts.answered.fetch_add(1, Ordering::Relaxed) + 1;
        let detail = serde_json::to_value(CostDetail::from(record)).map_err(lost)?;
        let (request, tokens) = (format!("{}.{number}", watch.attempt), record.usage.into());
        let cost = Happened::Cost(Cost { request, tokens, detail });
        watch.writer.write(cost).await.map_err(lost)
    }

    /// The part of a reply that broke off stands in the record as text already.
    async fn notice(&self, _text: &str) -> Result<(), JournalError> {
        Ok(())
    }
}

/// Hands out the one log of one fork.
pub(crate) struct OneLog(pub(crate) Arc<Watch>);

#[async_trait]
impl ForkRegistry for OneLog {
    async fn register(
        &self,
        _fork: ForkEntry<'_>,
    ) -> Result<Arc<dyn Journal>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Arc::new(RecordJournal(Arc::clone(&self.0))))
    }

    async fn finished(
        &self,
        _result: &ForkResult,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        Ok(())
    }
}

/// The fork's tools.
pub(crate) struct WatchedTools {
    pub(crate) tools: Arc<dyn ToolDispatcher>,
    pub(crate) watch: Arc<Watch>,
}

/// Calls that the parent left open are the parent's, and no worker knows of them.
#[async_trait]
impl ToolDispatcher for WatchedTools {
    fn is_read_only(&self, tool: &str) -> bool {
        self.tools.is_read_only(tool)
    }

    fn forks(&self, tool: &str) -> bool {
        self.tools.forks(tool)
    }

    fn own_call(&self, call: &ToolCall) -> Result<ToolCall, ToolAnswer> {
        self.tools.own_call(call)
    }

    fn told(&self, asked: &ToolCall, own: &ToolCall, answer: ToolAnswer) -> ToolAnswer {
        self.tools.told(asked, own, answer)
    }

    fn only_calls(&self, tool: &str) -> bool {
        self.tools.only_calls(tool)
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        let (id, tool) = (call.id.clone(), call.name.clone());
        self.watch.open().insert(id.clone(), tool.clone());
        let (call_id, state) = (id.to_string(), ToolState::Started);
        let begins = Happened::Tool(Tool { call: call_id, tool, state, is_error: false });
        if let Err(RecordLost) = self.watch.writer.write(begins).await {
            return ToolAnswer::error(NOT_RUN);
        }
        let answer = self.tools.dispatch(call, context).await;
        self.watch.finished(&id, answer.is_error);
        answer
    }
}

/// The fork's client. Its first request waits for whoever writes the same prefix on another machine.
pub(crate) struct WatchedClient {
    pub(crate) llm: Arc<dyn LlmClient>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) cluster: Cluster,
    /// Names the prefix among all machines.
    pub(crate) prefix: String,
    pub(crate) shares_at: SharesAt,
    pub(crate) has_boarded: AtomicBool,
}

/// The words of a model, in pieces.
struct Pieces<'a> {
    writer: &'a Writer,
    text: String,
    since: Instant,
}

impl Pieces<'_> {
    fn add(&mut self, delta: &str) {
        if self.text.is_empty() {
            self.since = Instant::now();
        }
        self.text.push_str(delta);
        if self.since.elapsed() >= TEXT_PIECE {
            self.tell();
        }
    }

    fn tell(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.writer.note(Happened::Text(Text { text }));
        }
    }
}

impl WatchedClient {
    /// Takes the fork's place in the flight of its prefix. `None` for one who writes nothing that others wait for.
    async fn board(&self, cancel: &CancellationToken) -> Option<Leader> {
        if self.has_boarded.swap(true, Ordering::Relaxed) {
            return None;
        }
        let boarding = self.cluster.board(&self.prefix, LEADER_WAIT_MAX);
        match cancel.run_until_cancelled(boarding).await? {
            Ok(Seat::Leader(leader)) => Some(leader),
            Ok(Seat::Written(_) | Seat::Alone) => None,
            Err(error) => {
                tracing::debug!(%error, "a fork goes without the flight of its prefix");
                None
            }
        }
    }
}

/// Tells those behind a leader, who may go.
async fn tell(leader: Leader, has_written: bool) {
    let told = match has_written {
        true => leader.wrote(Bytes::from_static(WRITTEN)).await,
        false => leader.give_up().await,
    };
    if let Err(error) = told {
        tracing::debug!(%error, "those who wait for a prefix are not told of it");
    }
}

#[async_trait]
impl LlmClient for WatchedClient {
    fn patience(&self) -> Duration {
        self.llm.patience()
    }

    fn backoff(&self) -> Duration {
        self.llm.backoff()
    }

    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        let mut leader = self.board(cancel).await;
        let turn = self.watch.counts.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let goes_out = Happened::Request(RequestSent { turn });
        if let Err(RecordLost) = self.watch.writer.write(goes_out).await {
            let partial = Partial { message: None, usage: Usage::default(), id: None };
            return Err(LlmError::Cancelled { partial: Box::new(partial) });
        }
        let writer = &self.watch.writer;
        let mut pieces = Pieces { writer, text: String::new(), since: Instant::now() };
        let begun = CancellationToken::new();
        let mut progress = |progress: Progress<'_>| {
            if let Progress::Event(event) = &progress {
                if self.shares_at == SharesAt::FirstEvent && event.is_of_the_reply() {
                    begun.cancel();
                }
                if let Event::Text { delta } = event {
                    pieces.add(delta);
                }
            }
            on_progress(progress);
        };
        let mut sending = self.llm.send(request, &mut progress, cancel);
        let result = loop {
            let Some(holding) = &mut leader else { break (&mut sending).await };
            // All branches are cancel-safe: the first is only polled, and a leader can be cut off in a renewal.
            tokio::select! {
                biased;
                result = &mut sending => break result,
                () = begun.cancelled() => {}
                () = holding.hold() => {}
            }
            if let Some(leader) = leader.take() {
                tell(leader, true).await;
            }
        };
        drop(sending);
        pieces.tell();
        if let Some(leader) = leader {
            tell(leader, result.is_ok() || begun.is_cancelled()).await;
        }
        result
    }
}
