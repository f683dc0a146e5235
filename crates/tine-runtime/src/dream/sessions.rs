//! The sessions of a project, and what a consolidation is told of them.

use std::path::Path;

use tine_fork::cache::child_places;
use tine_fork::digest::Digest;
use tine_fork::dream::ToldSession;
use tine_model::{AgentId, AgentRecord, Standing};
use tine_store::AgentFilter;

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
    pub(crate) async fn is_warm(
        &self,
        session: &AgentRecord,
        caching: CachePolicy,
    ) -> Result<bool, RuntimeError> {
        let mut conversation = self.load(session.id, caching).await?.conversation;
        if conversation.history().is_empty() {
            return Ok(false);
        }
        let lane = self.lane_of_agent(session, &session.settings.model, caching).await?;
        let expected = lane.expect(&child_places(&mut conversation, ""), self.now_ms());
        Ok(expected.read > 0 && expected.read >= expected.prefix / 2)
    }

    /// The sessions as text, within the limits of the settings. Of `native` there is none: the run goes on from it.
    pub(super) async fn told_sessions(
        &self,
        sessions: &[AgentRecord],
        native: Option<AgentId>,
        settings: &DreamSettings,
    ) -> Result<Vec<(AgentId, ToldSession)>, RuntimeError> {
        let mut told = Vec::new();
        for session in sessions.iter().take(settings.sessions_max) {
            let name =
                session.name.as_deref().map_or_else(String::new, |name| format!(" ({name})"));
            let label = format!("{}{name}", session.id.short());
            let text = if native == Some(session.id) {
                None
            } else {
                Some(self.digest_of(session, settings.session_tokens).await?)
            };
            if text.as_ref().is_none_or(|text| !text.is_empty()) {
                told.push((session.id, ToldSession { label, text }));
            }
        }
        match settings.order {
            SessionOrder::Newest => {}
            SessionOrder::Oldest => told.reverse(),
        }
        Ok(told)
    }

    /// A text of at most so many tokens of what was said in a conversation. What a fork inherited is not in it: that is its parent's
    /// to tell.
    pub(crate) async fn digest_of(
        &self,
        session: &AgentRecord,
        tokens: u64,
    ) -> Result<String, RuntimeError> {
        let fold = self.fold(session.id, None).await?;
        let is_own = |agent: AgentId| session.standing == Standing::Root || agent == session.id;
        let own = fold.effective().filter(|(entry, _)| is_own(entry.agent));
        let items: Vec<_> = own.map(|(_, item)| item).collect();
        let messages: Vec<_> = items.iter().map(|item| &*item.message).collect();
        Ok(Digest::fitting(&messages, tokens).text)
    }
}
