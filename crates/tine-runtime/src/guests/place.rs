//! The place of a request among the conversations that are known.

use tine_model::{AgentId, ContextMode, Role};
use tine_store::GuestFilter;
use tine_wire::GuestRequest;

use super::Guests;
use super::host::HostSession;
use crate::error::RuntimeError;

/// The place at which a request's messages go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A guest whose first `keep` messages the request has.
    Behind { agent: AgentId, keep: usize },
    /// A fork of a guest behind its first `keep` messages: another session has begun with them, or the program has changed what
    /// comes then.
    Fork { agent: AgentId, keep: usize },
    /// A new guest, below another one of the same conversation where there is one.
    Anew(Option<(AgentId, ContextMode)>),
}

/// A guest that a request may belong to.
struct Candidate {
    agent: AgentId,
    shared: usize,
    used_ms: i64,
    is_whole: bool,
}

impl Guests {
    /// Finds the place of a request: within its own session where that is known, and else at the longest beginning that some guest
    /// and the request have in common, if a model has spoken in it. Two conversations that begin with the same prompt are two.
    pub(super) async fn place(
        &mut self,
        host: &HostSession,
        request: &GuestRequest,
    ) -> Result<Place, RuntimeError> {
        let of_session = self.of_session(host).await?;
        let own = self.candidates(&of_session, request).await?;
        let best = own.iter().max_by_key(|one| (one.shared, one.is_whole, one.used_ms));
        if let Some(best) = best.filter(|best| best.shared > 0) {
            return Ok(Place::Behind { agent: best.agent, keep: best.shared });
        }
        if !own.is_empty() {
            return self.below(host, own, request).await;
        }
        let Some(first) = request.messages.first() else { return Ok(Place::Anew(None)) };
        let others = self.runtime.store().guests(GuestFilter::First(first.identity)).await?;
        let others: Vec<AgentId> = others.into_iter().map(|row| row.agent).collect();
        let mut best: Option<Candidate> = None;
        for one in self.candidates(&others, request).await? {
            let is_longer = best.as_ref().is_none_or(|best| one.shared > best.shared);
            let line = self.lines.get(&one.agent);
            if is_longer && line.is_some_and(|line| line.has_reply_within(one.shared)) {
                best = Some(one);
            }
        }
        Ok(match best {
            Some(Candidate { agent, shared: keep, .. }) if host.session.is_some() => {
                Place::Fork { agent, keep }
            }
            Some(Candidate { agent, shared: keep, .. }) => Place::Behind { agent, keep },
            None => Place::Anew(None),
        })
    }

    /// Guests of a session, the one used last first; none where the host names no sessions.
    pub(super) async fn of_session(
        &self,
        host: &HostSession,
    ) -> Result<Vec<AgentId>, RuntimeError> {
        let Some(session) = host.session.clone() else { return Ok(Vec::new()) };
        let filter = GuestFilter::Session { host: host.host.clone(), session };
        let rows = self.runtime.store().guests(filter).await?;
        Ok(rows.into_iter().map(|row| row.agent).collect())
    }

    async fn candidates(
        &mut self,
        agents: &[AgentId],
        request: &GuestRequest,
    ) -> Result<Vec<Candidate>, RuntimeError> {
        let mut found = Vec::new();
        for agent in agents {
            let Some(line) = self.line(*agent).await? else { continue };
            let shared = line.shared(&request.messages);
            let rest = &line.messages[shared..];
            // A reply that the program writes in other words is not a way of its own.
            let is_whole = rest.is_empty() || rest.len() == 1 && rest[0].is_reply;
            let used_ms = line.used_ms;
            found.push(Candidate { agent: *agent, shared, used_ms, is_whole });
        }
        Ok(found)
    }

    /// The place of a request that begins anew in a session: below the guest with the same head that was used last, whose conversation
    /// it goes on with in fewer words; else below the one used last of all.
    async fn below(
        &mut self,
        host: &HostSession,
        mut candidates: Vec<Candidate>,
        request: &GuestRequest,
    ) -> Result<Place, RuntimeError> {
        candidates.sort_by_key(|one| std::cmp::Reverse(one.used_ms));
        for one in &candidates {
            let Some(line) = self.line(one.agent).await? else { continue };
            if line.is_changed_in(&request.messages) {
                return Ok(Place::Fork { agent: one.agent, keep: 0 });
            }
            if !host.is_worker && request.has_tools_of(&line.settings) && is_over(line, request) {
                return Ok(Place::Anew(Some((one.agent, ContextMode::Digest))));
            }
        }
        let above = candidates.first().map(|one| (one.agent, ContextMode::Fresh));
        Ok(Place::Anew(above))
    }
}

/// Returns true if a request may go on with a conversation in fewer words: that has had a reply.
fn is_over(line: &super::line::Line, request: &GuestRequest) -> bool {
    let begins = request.messages.first().is_some_and(|one| one.message.role() != Role::Assistant);
    begins && line.messages.iter().any(|said| said.is_reply)
}
