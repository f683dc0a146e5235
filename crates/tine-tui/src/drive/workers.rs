//! Commands of the command line that start workers: run beside the conversation, seen and asked about on this screen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tine_model::{AgentId, AgentState};
use tine_runtime::RuntimeError;

use super::feed::{CrewFeed, FanFeed};
use super::hands::{COLUMNS_USUAL, Hands};
use crate::app::{Event, Tone, WorkerLine};
use crate::host::{Told, WorkerSeams};

impl Hands {
    /// Runs a command that starts workers. Where it fails before one has begun, the line comes back; once they have ended, the agent
    /// that they report to goes on.
    pub(super) async fn start_workers(self: &Arc<Self>, line: WorkerLine) {
        let crew = Arc::new(CrewFeed {
            directory: self.host.directory(),
            inbox: Arc::clone(&self.inbox),
            has_begun: AtomicBool::new(false),
        });
        let ended = self.run_workers(&line, &crew).await;
        let agent = match ended {
            Ok((agent, text)) => {
                let text = text.trim_end();
                if !text.is_empty() {
                    self.tell(Some(agent), Tone::Plain, text.to_owned());
                }
                Some(agent)
            }
            Err((agent, told)) => {
                if !crew.has_begun.load(Ordering::Relaxed) {
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
        crew: &Arc<CrewFeed>,
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
        let seams = WorkerSeams {
            watcher: Arc::clone(crew) as Arc<dyn tine_runtime::CrewWatcher>,
            fan: Arc::new(FanFeed { crew: Arc::clone(crew), workers: Mutex::default() }),
            asker: Arc::clone(&self.asker) as Arc<dyn tine_runtime::Asker>,
            cancel: self.end.child_token(),
            say: Arc::new(say),
        };
        let columns = crossterm::terminal::size().map_or(COLUMNS_USUAL, |(columns, _)| columns);
        let ran = self.host.start_workers(&line.words(agent), usize::from(columns), seams).await;
        ran.map(|text| (agent, text)).map_err(|told| (Some(agent), told))
    }
}
