//! Commands of the command line that start workers: run beside the conversation, seen and asked about on this screen.

use std::sync::Arc;

use tine_model::{AgentId, AgentState};
use tine_runtime::{EventFilter, EventKind, Heard, RuntimeError};

use super::hands::{COLUMNS_USUAL, Hands};
use crate::app::{Event, Tone, WorkerLine};
use crate::host::{Told, WorkerSeams};

impl Hands {
    /// Runs a command that starts workers. Where it fails before one has begun, the line comes back; once they have ended, the agent
    /// that they report to goes on.
    pub(super) async fn start_workers(self: &Arc<Self>, line: WorkerLine) {
        let mut begun = Vec::new();
        let stream = self.runtime().subscribe(EventFilter::All);
        let seen = |heard: Heard| match heard {
            Heard::Event(event) => match &event.kind {
                EventKind::TaskBegan(task) => begun.push(task.spawner),
                EventKind::Fanned { .. } => begun.push(event.agent),
                _ => {}
            },
            Heard::Lagged(_) => {}
        };
        let ended = stream.during(self.run_workers(&line), seen).await;
        self.catch_up().await;
        let agent = match ended {
            Ok((agent, text)) => {
                let text = text.trim_end();
                if !text.is_empty() {
                    self.tell(Some(agent), Tone::Plain, text.to_owned());
                }
                Some(agent)
            }
            Err((agent, told)) => {
                if agent.is_none_or(|agent| !begun.contains(&agent)) {
                    self.inbox.push(Event::GivenBack(agent, line.typed));
                }
                self.tell(agent, Tone::Error, told.0);
                agent
            }
        };
        // It may have changed a budget, and agents are there that were not.
        self.registry().await.ok();
        if let Some(agent) = agent.filter(|_| self.host.wakes() && !self.end.is_cancelled())
            && let Err(error) = self.go_on_with_reports(agent).await
        {
            self.tell(Some(agent), Tone::Error, self.host.told(error).0);
        }
    }

    /// Lets an agent read what its workers report, unless somebody has interrupted it.
    async fn go_on_with_reports(self: &Arc<Self>, agent: AgentId) -> Result<(), RuntimeError> {
        match self.runtime().agent(agent).await?.state {
            AgentState::Idle | AgentState::Running => self.wake(agent).await,
            AgentState::Interrupted | AgentState::Dead => Ok(()),
        }
    }

    async fn run_workers(
        self: &Arc<Self>,
        line: &WorkerLine,
    ) -> Result<(AgentId, String), (Option<AgentId>, Told)> {
        // Whose words are wrong must not leave an agent behind.
        let nobody = AgentId::from_random([0; 16]);
        let words = line.words(line.agent.unwrap_or(nobody));
        self.host.check(&words).map_err(|told| (line.agent, told))?;
        let agent = match line.agent {
            Some(agent) => agent,
            None => self.make_root().await.map_err(|told| (None, told))?,
        };
        let inbox = Arc::clone(&self.inbox);
        let say = move |text: &str| {
            inbox.push(Event::Told(Some(agent), Tone::Plain, text.to_owned()));
        };
        let seams = WorkerSeams { cancel: self.end.child_token(), say: Arc::new(say) };
        let columns = crossterm::terminal::size().map_or(COLUMNS_USUAL, |(columns, _)| columns);
        let ran = self.host.start_workers(&line.words(agent), usize::from(columns), seams).await;
        ran.map(|text| (agent, text)).map_err(|told| (Some(agent), told))
    }
}
