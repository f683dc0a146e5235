//! Runs, workers and requests for permission as events for the screen.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use tine_cache::{Plan, Verdict};
use tine_fork::neighbour::Neighbour;
use tine_fork::run::{Observer, RunEvent};
use tine_model::{AgentId, PermissionId, TaskRecord, in_full};
use tine_runtime::{
    Answer, Asker, CrewWatcher, FanTask, FanWatcher, NotKept, PermissionRequest, PermissionRow,
};
use tine_wire::Event as StreamEvent;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::inbox::Inbox;
use super::queue::how;
use crate::app::{Event, Happening, Tone, last_lines};
use crate::words::{STORE_WAITS, call_line, left_behind, one_line};

/// Sees one agent's run.
pub(super) struct Feed {
    pub(super) agent: AgentId,
    pub(super) directory: PathBuf,
    pub(super) inbox: Arc<Inbox>,
}

impl Observer for Feed {
    fn on_event(&self, event: &RunEvent<'_>) {
        if let Some(happening) = happening(event, &self.directory) {
            self.inbox.push(Event::Happened(self.agent, happening));
        }
    }
}

/// Sees the workers that runs start.
pub(super) struct CrewFeed {
    pub(super) directory: PathBuf,
    pub(super) inbox: Arc<Inbox>,
    /// True once a worker has begun.
    pub(super) has_begun: AtomicBool,
}

/// Sees the workers of a fan.
pub(super) struct FanFeed {
    pub(super) crew: Arc<CrewFeed>,
    pub(super) workers: Mutex<Vec<AgentId>>,
}

impl FanFeed {
    fn push(&self, index: usize, happening: Option<Happening>) {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(worker), Some(happening)) = (workers.get(index), happening) {
            self.crew.inbox.push(Event::Happened(*worker, happening));
        }
    }
}

impl FanWatcher for FanFeed {
    fn on_start(&self, workers: &[AgentId], _plan: &Plan) {
        self.crew.has_begun.store(true, Ordering::Relaxed);
        *self.workers.lock().unwrap_or_else(PoisonError::into_inner) = workers.to_vec();
        (0..workers.len()).for_each(|index| self.push(index, Some(Happening::Began)));
    }

    fn on_event(&self, index: usize, event: &RunEvent<'_>) {
        self.push(index, happening(event, &self.crew.directory));
    }

    fn on_end(&self, index: usize, _task: &FanTask) {
        self.push(index, Some(Happening::Ended));
    }
}

impl CrewWatcher for CrewFeed {
    fn on_start(&self, worker: AgentId, _task: &TaskRecord) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.inbox.push(Event::Happened(worker, Happening::Began));
    }

    fn on_event(&self, worker: AgentId, event: &RunEvent<'_>) {
        if let Some(happening) = happening(event, &self.directory) {
            self.inbox.push(Event::Happened(worker, happening));
        }
    }

    fn on_end(&self, task: &TaskRecord) {
        self.inbox.push(Event::Happened(task.agent, Happening::Ended));
    }
}

fn happening(event: &RunEvent<'_>, directory: &std::path::Path) -> Option<Happening> {
    Some(match event {
        RunEvent::Waiting => Happening::Waiting,
        RunEvent::Request { .. } => Happening::Request,
        RunEvent::Stream(StreamEvent::Text { delta }) => Happening::Text(delta.clone()),
        RunEvent::Stream(StreamEvent::Thinking { delta }) => Happening::Thinking(delta.clone()),
        RunEvent::Stream(StreamEvent::ToolCall { name, .. }) => Happening::Calling(one_line(name)),
        RunEvent::Stream(_) => return None,
        RunEvent::Retry { wait, cause, .. } => {
            Happening::Held(format!("retrying: {}", one_line(&in_full(*cause))), Some(*wait))
        }
        RunEvent::Held { wait, reason } => Happening::Held(reason.as_str().to_owned(), *wait),
        RunEvent::Paused(_) => Happening::Held("waiting at a cap of the budget".to_owned(), None),
        RunEvent::StoreWaits => Happening::Held(STORE_WAITS.to_owned(), None),
        RunEvent::Unkept(what) => Happening::Warning((*what).to_owned()),
        RunEvent::LeftBehind(left) => Happening::Warning(left_behind(left)),
        RunEvent::Shared(neighbours) => Happening::Warning(one_line(&Neighbour::note(neighbours))),
        RunEvent::Dialect(change) => Happening::Warning(one_line(&change.to_string())),
        RunEvent::Answered(record) => Happening::Answered {
            usage: record.usage,
            is_expired: record
                .cache
                .as_ref()
                .is_some_and(|cache| cache.judgement.verdict == Verdict::Expired),
        },
        RunEvent::Message(_) => Happening::Written,
        RunEvent::ToolStarted { call } => {
            let (tool, line) = call_line(call, directory);
            Happening::ToolStarted { id: call.id.clone(), tool, line }
        }
        RunEvent::ToolProgress { id, tail } => {
            Happening::ToolProgress { id: (*id).clone(), printed: last_lines(tail) }
        }
        RunEvent::ToolFinished { id, .. } => Happening::ToolFinished((*id).clone()),
    })
}

/// Tells of a rule that was kept, or could not be.
pub(super) fn rule_kept(kept: Result<String, NotKept>) -> Event {
    match kept {
        Ok(told) => Event::Told(None, Tone::Plain, told),
        Err(NotKept { why, hint }) => {
            let text = format!("Error: {why}\nhint: {hint}\nhint: the answer stands for this tree");
            Event::Told(None, Tone::Error, text)
        }
    }
}

/// Puts requests on the screen, and waits for what the person says.
pub(super) struct ScreenAsker {
    pub(super) inbox: Arc<Inbox>,
    pub(super) waiting: Mutex<HashMap<PermissionId, oneshot::Sender<Answer>>>,
    /// All that was ever asked here: what is answered waits in the store for a moment more.
    pub(super) asked: Mutex<HashSet<PermissionId>>,
}

impl ScreenAsker {
    /// The person's word; `false` where no run of this process waits for it.
    pub(super) fn answer(&self, id: PermissionId, answer: Answer) -> bool {
        let asked = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        // Whoever asked may have gone meanwhile.
        asked.is_some_and(|asked| asked.send(answer).is_ok())
    }

    /// Whether a run of this process has asked this.
    pub(super) fn has(&self, id: PermissionId) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).contains(&id)
    }
}

#[async_trait]
impl Asker for ScreenAsker {
    async fn ask(&self, request: &PermissionRequest, cancel: &CancellationToken) -> Answer {
        let (send, answered) = oneshot::channel();
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(request.id);
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(request.id, send);
        self.inbox.push(Event::Asked(Box::new(request.clone())));
        // Both branches are cancel-safe.
        let answer = tokio::select! {
            answer = answered => answer.ok(),
            () = cancel.cancelled() => None,
        };
        if answer.is_none() {
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.id);
            self.inbox.push(Event::Settled(request.id, None));
        }
        answer.unwrap_or(Answer::Nobody)
    }

    fn settled(&self, request: &PermissionRequest, row: &PermissionRow) {
        let text = how(row);
        self.inbox.push(Event::Settled(request.id, Some(text)));
    }

    fn kept(&self, kept: Result<String, NotKept>) {
        self.inbox.push(rule_kept(kept));
    }
}
