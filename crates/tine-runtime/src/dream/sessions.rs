//! The sessions of a project, and what a consolidation is told of them.

use std::path::Path;

use tine_fork::cache::child_places;
use tine_fork::digest::Digest;
use tine_model::{AgentId, AgentRecord, Standing};
use tine_store::AgentFilter;

use super::words::Told;
use super::{DreamSettings, SessionOrder};
use crate::cache::CachePolicy;
use crate::error::RuntimeError;
use crate::memory::Projects;
use crate::runtime::Runtime;

/// Whether an agent is a conversation that a person has, or had.
pub(super) fn is_session(agent: &AgentRecord) -> bool {
    matches!(agent.standing, Standing::Root | Standing::Peer)
}

impl Runtime {
    /// The conversations that people had in a project, the one that was used last first. Killed ones count: what was said was said.
    pub(super) async fn sessions_of(
        &self,
        project: &Path,
        current: Option<AgentId>,
    ) -> Result<Vec<AgentRecord>, RuntimeError> {
        let mut agents = self.store().agents(AgentFilter::All).await?;
        let projects = Projects::default();
        agents.retain(|agent| {
            is_session(agent)
                && Some(agent.id) != current
                && projects.of(&agent.directory) == project
        });
        agents.sort_by_key(|agent| std::cmp::Reverse(agent.updated_ms));
        Ok(agents)
    }

    /// Whether the provider's cache still has at least half of a session, by what is known of it.
    pub(super) async fn is_warm(
        &self,
        session: &AgentRecord,
        caching: CachePolicy,
    ) -> Result<bool, RuntimeError> {
        let mut conversation = self.load(session.id, caching).await?.conversation;
        if conversation.history().is_empty() {
            return Ok(false);
        }
        let lane = self.lane(&session.settings.model, caching).await?;
        let expected = lane.expect(&child_places(&mut conversation, ""), self.now_ms());
        Ok(expected.read > 0 && expected.read >= expected.prefix / 2)
    }

    /// The sessions as text, within the limits of the settings. Of `native` there is none: the run goes on from it.
    pub(super) async fn told_sessions(
        &self,
        sessions: &[AgentRecord],
        native: Option<AgentId>,
        settings: &DreamSettings,
    ) -> Result<Vec<Told>, RuntimeError> {
        let mut told = Vec::new();
        for session in sessions.iter().take(settings.sessions_max) {
            let digest = match native == Some(session.id) {
                true => String::new(),
                false => {
                    let fold = self.fold(session.id, None).await?;
                    // What a fork inherited is its parent's to tell.
                    let is_own =
                        |agent: AgentId| session.standing == Standing::Root || agent == session.id;
                    let own = fold.effective().filter(|(entry, _)| is_own(entry.agent));
                    let items: Vec<_> = own.map(|(_, item)| item).collect();
                    let messages: Vec<_> = items.iter().map(|item| &*item.message).collect();
                    Digest::fitting(&messages, settings.session_tokens).text
                }
            };
            if native == Some(session.id) || !digest.is_empty() {
                told.push(Told { agent: session.id, name: session.name.clone(), digest });
            }
        }
        match settings.order {
            SessionOrder::Newest => {}
            SessionOrder::Oldest => told.reverse(),
        }
        Ok(told)
    }
}
