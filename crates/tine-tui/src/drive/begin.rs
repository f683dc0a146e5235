//! The beginning of agents, and of runs that nobody has said anything for.

use std::sync::{Arc, PoisonError};

use tine_model::{AgentId, AgentState, Standing};
use tine_runtime::{ForkWords, RuntimeError};

use super::hands::Hands;
use crate::app::{Event, Tone};
use crate::host::Told;

impl Hands {
    /// Makes an agent for the first words, and runs it.
    pub(super) async fn begin(self: &Arc<Self>, prompt: String) {
        match self.make_root().await {
            Ok(agent) => self.run(agent, Some(prompt)).await,
            Err(told) => {
                self.inbox.push(Event::Written(prompt));
                self.tell(None, Tone::Error, told.0);
            }
        }
    }

    /// Makes an agent to be forked, and forks it.
    pub(super) async fn begin_fork(self: &Arc<Self>, words: ForkWords) {
        match self.make_root().await {
            Ok(agent) => self.fork(agent, words, false).await,
            Err(told) => self.tell(None, Tone::Error, told.0),
        }
    }

    /// Makes an agent, to which the person goes.
    pub(super) async fn make_root(&self) -> Result<AgentId, Told> {
        let made = async {
            let new = self.host.new_root()?;
            let connected = self.runtime().ports().models.connect(&new.settings.model).await;
            connected.map_err(|error| {
                let Told(text) = self.host.told(error.into());
                Told(format!("{text}\nhint: /model lists the models that can be used now"))
            })?;
            let told = |error| self.host.told(error);
            let agent = self.runtime().create_root(new).await.map_err(told)?;
            let untold = {
                let mut untold = self.untold.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *untold)
            };
            for command in &untold {
                self.runtime().tell_of_command(agent, command).await.map_err(told)?;
            }
            let record = self.runtime().agent(agent).await;
            record.map_err(|error| self.host.told(error))
        };
        let record = made.await?;
        let agent = record.id;
        self.inbox.push(Event::Made(Box::new(record)));
        Ok(agent)
    }

    /// Lets an agent read its mail, now or at its next turn. That of a guest waits for its program.
    pub(super) async fn wake(self: &Arc<Self>, agent: AgentId) -> Result<(), RuntimeError> {
        let record = self.runtime().agent(agent).await?;
        if record.standing == Standing::Guest {
            return Ok(());
        }
        let runs_elsewhere = record.state == AgentState::Running;
        if !self.runs.write_to(agent) && !runs_elsewhere && self.has_mail(agent).await {
            self.run(agent, None).await;
        }
        Ok(())
    }

    pub(super) async fn has_mail(&self, agent: AgentId) -> bool {
        self.runtime().has_mail(agent).await.is_ok_and(|has| has)
    }
}
