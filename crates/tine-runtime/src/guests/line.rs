//! A conversation as it stands: the messages of one guest, by identity.

use tine_history::{Hash, Item};
use tine_model::{AgentId, AgentState, Entry, EntryId, Role, Standing};
use tine_store::StoreError;
use tine_wire::{GuestMessage, identity};

use super::Guests;
use crate::error::RuntimeError;

/// A message of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    /// In whose log it is.
    pub(super) agent: AgentId,
    pub(super) entry: EntryId,
    pub(super) identity: Hash,
    pub(super) is_reply: bool,
}

/// A guest's conversation, as it is known.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) messages: Vec<Said>,
    /// Its last own entry, of whatever kind; `None` before the first.
    pub(super) last: Option<EntryId>,
    /// Its last request without the messages.
    pub(super) settings: Vec<u8>,
    /// The HTTP headers that belong to it.
    pub(super) headers: Vec<(String, String)>,
    pub(super) used_ms: i64,
}

impl Line {
    /// The number of messages that a request has in common with it.
    pub(super) fn shared(&self, request: &[GuestMessage]) -> usize {
        let pairs = self.messages.iter().zip(request);
        pairs.take_while(|(said, message)| said.identity == message.identity).count()
    }

    /// Messages of its last request: all but the reply.
    pub(super) fn sent(&self) -> usize {
        self.messages.len() - usize::from(self.messages.last().is_some_and(|said| said.is_reply))
    }

    /// Returns true if a request says again most of what was said here, behind another beginning: it was changed, and not made shorter.
    pub(super) fn is_changed_in(&self, request: &[GuestMessage]) -> bool {
        let pairs = self.messages.iter().zip(request);
        let same = pairs.filter(|(said, message)| said.identity == message.identity).count();
        request.len() >= self.messages.len() && 2 * same >= self.messages.len() && same > 0
    }

    /// Returns true if a model has spoken within the first `count` messages.
    pub(super) fn has_reply_within(&self, count: usize) -> bool {
        self.messages[..count].iter().any(|said| said.is_reply)
    }
}

impl Guests {
    /// The line of a guest; `None` where it is dead, or none.
    pub(super) async fn line(&mut self, agent: AgentId) -> Result<Option<&Line>, RuntimeError> {
        if !self.lines.contains_key(&agent) {
            let record = match self.runtime.store().agent(agent).await {
                Err(StoreError::NotFound { .. }) => return Ok(None),
                record => record?,
            };
            if record.standing != Standing::Guest || record.state == AgentState::Dead {
                return Ok(None);
            }
            let head = self.runtime.frozen_head(&record).await?;
            let (settings, headers) = (head.to_json(), head.headers().to_vec());
            let fold = self.runtime.fold(agent, None).await?;
            let own = fold.entries().iter().rev().find(|folded| folded.entry.agent == agent);
            let last = own.map(|folded| folded.entry.id);
            let said = |(entry, item): (&Entry, Item)| Said {
                agent: entry.agent,
                entry: item.entry,
                identity: identity(&item.message),
                is_reply: item.message.role() == Role::Assistant,
            };
            let messages = fold.effective().map(said).collect();
            let used_ms = record.updated_ms;
            let line = Line { messages, last, settings, headers, used_ms };
            self.lines.insert(agent, line);
        }
        Ok(self.lines.get(&agent))
    }
}
