//! The doings of a run, on their way into the record that is followed where the run comes from.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tine_fork::host::Clock;
use tine_fork::run::RunEvent;
use tine_model::AgentId;
use tine_nats::event::{
    Answer, Cost, Ended, Entry, Happened, Question, RequestSent, Text, Tool, ToolState,
};
use tine_nats::{ClusterError, Record};
use tine_store::{CacheRow, NewEntry, RequestRow, Store};
use tine_wire::Event;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::job::{EntryText, QuestionText, RequestText};
use super::mirror::{Failed, Mirror};
use crate::events::{EventKind, Heard, Subscription};

/// The shortest time between two pieces of a text.
const TEXT_EVERY: Duration = Duration::from_secs(1);

/// Most characters of a text that wait for it.
const TEXT_CHARS_MAX: usize = 8 * 1024;

/// The pause between two writes of what is heard, where nothing else is written.
const BEAT: Duration = Duration::from_millis(200);

/// Writes the record of one run, in order: what was heard of it before an entry stands before that.
pub(super) struct Writer {
    clock: Arc<dyn Clock>,
    store: Arc<dyn Store>,
    agent: AgentId,
    /// Cancelled when the record cannot be written any more.
    lost: CancellationToken,
    inner: Mutex<Inner>,
}

struct Inner {
    record: Record,
    heard: Subscription,
    text: String,
    /// When the last piece of a text was written.
    text_at: Instant,
    /// The tools of the calls that run.
    calls: Vec<(String, String)>,
}

impl Writer {
    pub(super) fn new(
        (record, heard): (Record, Subscription),
        (store, clock): (Arc<dyn Store>, Arc<dyn Clock>),
        agent: AgentId,
        lost: CancellationToken,
    ) -> Self {
        let (text, text_at, calls) = (String::new(), Instant::now(), Vec::new());
        let inner = Mutex::new(Inner { record, heard, text, text_at, calls });
        Self { clock, store, agent, lost, inner }
    }

    /// Writes what is heard until this is dropped.
    pub(super) async fn beat(&self) {
        loop {
            tokio::time::sleep(BEAT).await;
            let mut inner = self.inner.lock().await;
            if let Err(error) = self.drain(&mut inner, false).await {
                tracing::warn!(agent = %self.agent, %error, "a run elsewhere cannot be told of");
                self.lost.cancel();
                return;
            }
        }
    }

    /// Writes the last words and the end.
    pub(super) async fn end(
        &self,
        last_words: Option<String>,
        ended: Ended,
    ) -> Result<(), ClusterError> {
        let mut inner = self.inner.lock().await;
        self.drain(&mut inner, true).await?;
        if let Some(text) = last_words {
            self.put(&mut inner, &Happened::Report(Text { text })).await?;
        }
        self.put(&mut inner, &Happened::Ended(ended)).await
    }

    async fn put(&self, inner: &mut Inner, happened: &Happened) -> Result<(), ClusterError> {
        inner.record.write(happened, self.clock.now_ms()).await
    }

    /// Writes what was heard; of a text only what is due, unless it is to be written `now`.
    async fn drain(&self, inner: &mut Inner, now: bool) -> Result<(), ClusterError> {
        while let Some(heard) = inner.heard.try_next() {
            let Heard::Event(event) = heard else { continue };
            let happened = match &event.kind {
                EventKind::Run(RunEvent::Stream(Event::Text { delta })) => {
                    inner.text.push_str(delta);
                    continue;
                }
                EventKind::Run(RunEvent::Request { turn }) => {
                    Some(Happened::Request(RequestSent { turn: *turn }))
                }
                EventKind::Run(RunEvent::ToolStarted { call }) => {
                    inner.calls.push((call.id.0.clone(), call.name.clone()));
                    Some(tool(&call.id.0, &call.name, ToolState::Started, false))
                }
                EventKind::Run(RunEvent::ToolFinished { id, answer }) => {
                    let at = inner.calls.iter().position(|(call, _)| *call == id.0);
                    let name = at.map(|at| inner.calls.swap_remove(at).1).unwrap_or_default();
                    Some(tool(&id.0, &name, ToolState::Finished, answer.is_error))
                }
                EventKind::Asked(request) => self.question(request.id).await,
                EventKind::Settled(row) => Some(Happened::Answer(Answer {
                    question: row.id.to_string(),
                    decision: row.decision().map_or("withdrawn", |word| word.as_str()).to_owned(),
                })),
                EventKind::Run(_)
                | EventKind::TaskBegan(_)
                | EventKind::TaskEnded(_)
                | EventKind::Fanned { .. } => None,
            };
            if let Some(happened) = happened {
                self.text(inner).await?;
                self.put(inner, &happened).await?;
            }
        }
        let is_due = inner.text_at.elapsed() >= TEXT_EVERY || inner.text.len() > TEXT_CHARS_MAX;
        if now || is_due { self.text(inner).await } else { Ok(()) }
    }

    /// Writes the piece of a text that waits.
    async fn text(&self, inner: &mut Inner) -> Result<(), ClusterError> {
        if inner.text.is_empty() {
            return Ok(());
        }
        inner.text_at = Instant::now();
        let text = std::mem::take(&mut inner.text);
        self.put(inner, &Happened::Text(Text { text })).await
    }

    async fn question(&self, id: tine_model::PermissionId) -> Option<Happened> {
        let row = self.store.permission(id).await.ok()?;
        let detail = QuestionText::new(&row, self.clock.now_ms());
        Some(Happened::Question(Question {
            question: id.to_string(),
            call: row.call,
            tool: row.tool,
            what: row.what,
            detail: serde_json::to_value(detail).ok()?,
        }))
    }
}

fn tool(call: &str, tool: &str, state: ToolState, is_error: bool) -> Happened {
    Happened::Tool(Tool { call: call.to_owned(), tool: tool.to_owned(), state, is_error })
}

#[async_trait]
impl Mirror for Writer {
    async fn entry(&self, entry: &NewEntry) -> Result<(), Failed> {
        let mut inner = self.inner.lock().await;
        self.drain(&mut inner, true).await?;
        let entry = Entry { entry: serde_json::to_value(EntryText::from(entry))? };
        Ok(self.put(&mut inner, &Happened::Entry(entry)).await?)
    }

    async fn request(&self, row: &RequestRow, cache: &[CacheRow]) -> Result<(), Failed> {
        let mut inner = self.inner.lock().await;
        self.drain(&mut inner, true).await?;
        let cost = Cost {
            request: row.id.to_string(),
            tokens: row.usage.unwrap_or_default().into(),
            detail: serde_json::to_value(RequestText::new(row, cache))?,
        };
        Ok(self.put(&mut inner, &Happened::Cost(cost)).await?)
    }
}
