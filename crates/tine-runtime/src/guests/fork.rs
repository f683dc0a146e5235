//! Forks of guests: the request that they go on from, and the way of their requests.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use tine_fork::cache::CacheLane;
use tine_llm::LlmClient;
use tine_model::{
    AgentId, AgentRecord, AgentState, Block, ContextMode, EntryId, Message, ModelRef, Role,
    Standing, WireFormat,
};
use tine_store::{ForkFrom, GuestFilter, GuestRow, NewEntry, StoreError};
use tine_wire::{GuestRequest, Head};

use crate::cache::CachePolicy;
use crate::codec;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// Most bytes of a request that was kept.
const BODY_BYTES_MAX: u64 = 64 << 20;

impl Runtime {
    /// The head of forks of a guest: its last request as it was sent, messages included, so that a fork's first request has its very
    /// bytes. The guest's own head, without messages, where none was kept.
    pub(crate) async fn guest_head(&self, guest: &AgentRecord) -> Result<Head, RuntimeError> {
        let head = self.frozen_head(guest).await?;
        let Some(kept) = self.store().guest_request(guest.id).await? else { return Ok(head) };
        let Some(body) = unpacked(&kept) else { return Ok(head) };
        let provider = guest.settings.model.provider;
        GuestRequest::whole_head(provider, &body, head.headers())
            .map_err(|source| RuntimeError::GuestRequest { source: Box::new(source) })
    }

    /// The guest of a program that was used last in a directory: its conversation, and no worker of it. `None` where none has passed a
    /// gateway.
    pub async fn last_guest(
        &self,
        host: &str,
        directory: &Path,
    ) -> Result<Option<AgentId>, RuntimeError> {
        let rows = self.store().guests(GuestFilter::Host(host.to_owned())).await?;
        for row in rows {
            let record = match self.store().agent(row.agent).await {
                // Removed, and its forks are there.
                Err(StoreError::NotFound { .. }) => continue,
                record => record?,
            };
            let is_own = record.context != ContextMode::Fresh && record.state != AgentState::Dead;
            if is_own && Path::new(&record.directory) == directory {
                return Ok(Some(row.agent));
            }
        }
        Ok(None)
    }

    /// The other program's side of the guest that an agent is, or goes on from in the format of its provider; `None` for all others.
    pub async fn guest_above(
        &self,
        record: &AgentRecord,
        model: &ModelRef,
    ) -> Result<Option<GuestRow>, RuntimeError> {
        if record.parent.is_none() && record.standing != Standing::Guest {
            return Ok(None);
        }
        let line = self.store().ancestry(record.id).await?;
        let Some(guest) = line.iter().rev().find(|one| one.standing == Standing::Guest) else {
            return Ok(None);
        };
        if guest.settings.model.provider != model.provider {
            return Ok(None);
        }
        Ok(self.store().guests(GuestFilter::Agent(guest.id)).await?.pop())
    }

    /// A client for an agent's requests to a model: the one that answers the other program, where the agent goes on from a guest.
    pub async fn client_of(
        &self,
        record: &AgentRecord,
        model: &ModelRef,
    ) -> Result<Arc<dyn LlmClient>, RuntimeError> {
        let models = &self.ports().models;
        Ok(match self.guest_above(record, model).await? {
            Some(guest) => models.connect_guest(model, &guest).await?,
            None => models.connect(model).await?,
        })
    }

    /// The cache that an agent's requests to a model meet, with what the store remembers of it.
    pub(crate) async fn lane_of_agent(
        &self,
        record: &AgentRecord,
        model: &ModelRef,
        policy: CachePolicy,
    ) -> Result<CacheLane, RuntimeError> {
        match self.guest_above(record, model).await? {
            Some(guest) => {
                let account = self.ports().models.guest_account(model, &guest);
                self.lane_of(model, &account, policy).await
            }
            None => self.lane(model, policy).await,
        }
    }
}

/// Stands for a reply that a fork does not have. The same for all forks, and without a time.
const OPEN_REPLY: &str = "This reply was still being written when the conversation went on from here; it is not part of this conversation.";

impl Runtime {
    /// The fork point of a whole history of a guest, and the first entries of a fork behind it. Anthropic takes a message of the system
    /// only before a reply or at the end, so where the last message is one, a reply stands between it and what the fork is told.
    pub(crate) async fn guest_fork_point(
        &self,
        guest: &AgentRecord,
        at: Option<EntryId>,
    ) -> Result<(ForkFrom, Vec<NewEntry>), RuntimeError> {
        let fold = self.fold(guest.id, at).await?;
        let from = fold
            .entries()
            .last()
            .map_or(ForkFrom::LastEntry, |last| ForkFrom::Entry(last.entry.id));
        let is_open = guest.settings.model.format() == WireFormat::Anthropic
            && fold.items().last().is_some_and(|item| item.message.role() == Role::System);
        let reply = Message::new(Role::Assistant, vec![Block::Text(OPEN_REPLY.to_owned())]);
        let reply = is_open.then(|| codec::message_row(&reply, self.now_ms()));
        Ok((from, reply.into_iter().collect()))
    }
}

/// Refuses a guest: its program runs it, and nobody else.
pub(crate) fn refuse_guest(record: &AgentRecord) -> Result<(), RuntimeError> {
    match record.standing {
        Standing::Guest => Err(RuntimeError::Guest(record.id)),
        Standing::Root | Standing::Peer | Standing::Worker | Standing::Hidden => Ok(()),
    }
}

/// A request as it is kept.
pub(super) fn packed(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    // Nothing that is written to memory fails.
    encoder.write_all(body).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// `None` for what is no request that was kept.
fn unpacked(kept: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let read = ZlibDecoder::new(kept).take(BODY_BYTES_MAX).read_to_end(&mut body);
    read.ok().filter(|bytes| *bytes > 0).map(|_| body)
}
