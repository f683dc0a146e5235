//! The commands that agents keep in the background, in this process: they outlive the turn that started them, and no agent.

use std::sync::Arc;

use tine_model::{AgentId, AgentRecord};
use tine_tools::{Background, Limits};

use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// A command that an agent keeps running in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackgroundCommand {
    /// Whose it is.
    pub agent: AgentId,
    /// Its name, which no other command of the agent has.
    pub name: String,
    /// The command itself.
    pub command: String,
}

impl Runtime {
    /// The place of an agent's commands. Those of the agents above it are told to it as theirs.
    pub(crate) async fn background_of(
        &self,
        record: &AgentRecord,
    ) -> Result<Arc<Background>, RuntimeError> {
        if let Some(known) = self.backgrounds().lock().get(&record.id) {
            return Ok(Arc::clone(known));
        }
        let is_alone = self.backgrounds().lock().is_empty();
        let above = match record.parent {
            Some(parent) if !is_alone => self.store().ancestry(parent).await?,
            _ => Vec::new(),
        };
        let mut all = self.backgrounds().lock();
        let above = above.iter().filter_map(|ancestor| all.get(&ancestor.id).cloned());
        let made = Background::new(above, Limits::default().command_output_characters);
        Ok(Arc::clone(all.entry(record.id).or_insert(Arc::new(made))))
    }

    /// The commands that agents of this process keep running in the background, by agent and name.
    pub fn background_commands(&self) -> Vec<BackgroundCommand> {
        let all = self.backgrounds().lock();
        let commands = all.iter().flat_map(|(agent, background)| {
            let of_agent = background.running().into_iter();
            of_agent.map(|(name, command)| BackgroundCommand { agent: *agent, name, command })
        });
        let mut commands: Vec<_> = commands.collect();
        commands.sort_by(|a, b| (a.agent, &a.name).cmp(&(b.agent, &b.name)));
        commands
    }

    /// Stops one of them and waits for its end. Returns false if no command of that name runs.
    pub async fn stop_background_command(&self, agent: AgentId, name: &str) -> bool {
        let background = self.backgrounds().lock().get(&agent).cloned();
        match background {
            Some(background) => background.end_one(name).await,
            None => false,
        }
    }

    /// Ends what these agents keep in the background, and waits for it.
    pub async fn end_background(&self, agents: &[AgentId]) {
        let ended: Vec<_> = {
            let mut all = self.backgrounds().lock();
            agents.iter().filter_map(|agent| all.remove(agent)).collect()
        };
        for background in ended {
            background.end().await;
        }
    }

    /// The same for all agents, where this process is done.
    pub async fn end_all_background(&self) {
        let all: Vec<AgentId> = self.backgrounds().lock().keys().copied().collect();
        self.end_background(&all).await;
    }
}
