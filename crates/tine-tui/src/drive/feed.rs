//! The runtime's events, as events for the screen.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use tine_cache::Verdict;
use tine_fork::neighbour::Neighbour;
use tine_fork::run::RunEvent;
use tine_model::{AgentRecord, AgentState};
use tine_runtime::{AgentFilter, EventFilter, EventKind, Heard, NotKept};
use tine_wire::Event as StreamEvent;
use tokio::sync::{mpsc, oneshot};

use super::hands::Hands;
use crate::app::{Event, Happening, Tone, last_lines};
use crate::words::{STORE_WAITS, call_line, left_behind, one_line};

/// Dropped once all that had happened before is on its way to the screen.
pub(super) type CaughtUp = oneshot::Sender<Infallible>;

impl Hands {
    /// Hands everything that runs of this process do to the screen, in the order in which it happens.
    pub(super) fn read_events(self: &Arc<Self>, mut asked: mpsc::UnboundedReceiver<CaughtUp>) {
        let mut stream = self.runtime().subscribe(EventFilter::All);
        let hands = Arc::clone(self);
        self.standing.spawn(async move {
            loop {
                // All branches are cancel-safe.
                tokio::select! {
                    biased;
                    Some(heard) = stream.next() => hands.heard(heard).await,
                    Some(caught_up) = asked.recv() => drop(caught_up),
                    () = hands.end.cancelled() => return,
                }
            }
        });
    }

    /// Returns when all that has happened until now is on its way to the screen.
    pub(super) async fn catch_up(&self) {
        let (caught_up, is_done) = oneshot::channel();
        // Who reads no more has nothing to catch up with.
        drop(self.catching_up.send(caught_up));
        drop(is_done.await);
    }

    async fn heard(&self, heard: Heard) {
        let event = match heard {
            Heard::Event(event) => event,
            Heard::Lagged(_) => return self.read_again().await,
        };
        let happening = match &event.kind {
            EventKind::Run(step) => happening(step, &event.directory),
            EventKind::TaskBegan(_) => Some(Happening::Began),
            EventKind::TaskEnded(_) => Some(Happening::Ended),
            EventKind::Fanned { .. } => None,
            EventKind::Asked(request) => return self.asked(request).await,
            EventKind::Settled(row) => return self.settled(row).await,
        };
        if let Some(happening) = happening {
            self.inbox.push(Event::Happened(event.agent, happening));
        }
    }

    /// Events were missed: what they were about stands in the store.
    async fn read_again(&self) {
        let running = |record: &AgentRecord| record.state == AgentState::Running;
        let agents = self.runtime().agents(AgentFilter::Kept).await.unwrap_or_default();
        for record in agents.iter().filter(|record| running(record)) {
            self.inbox.push(Event::Happened(record.id, Happening::Written));
        }
        if let Err(error) = self.registry().await {
            self.tell(None, Tone::Error, self.host.told(error).0);
        }
    }
}

fn happening(event: &RunEvent, directory: &Path) -> Option<Happening> {
    Some(match event {
        RunEvent::Waiting => Happening::Waiting,
        RunEvent::Request { .. } => Happening::Request,
        RunEvent::Stream(StreamEvent::Text { delta }) => Happening::Text(delta.clone()),
        RunEvent::Stream(StreamEvent::Thinking { delta }) => Happening::Thinking(delta.clone()),
        RunEvent::Stream(StreamEvent::ToolCall { name, .. }) => Happening::Calling(one_line(name)),
        RunEvent::Stream(_) => return None,
        RunEvent::Retry { wait, cause, .. } => {
            Happening::Held(format!("retrying: {}", one_line(cause)), Some(*wait))
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
            Happening::ToolProgress { id: id.clone(), printed: last_lines(tail) }
        }
        RunEvent::ToolFinished { id, .. } => Happening::ToolFinished(id.clone()),
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
