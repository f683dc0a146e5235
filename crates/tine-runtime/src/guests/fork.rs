//! Forks of guests: the request that they go on from, and the way of their requests.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use tine_fork::cache::CacheLane;
use tine_llm::LlmClient;
use tine_model::{AgentId, AgentRecord, AgentState, ContextMode, ModelRef, Standing};
use tine_store::{GuestFilter, GuestRow};
use tine_wire::{GuestRequest, Head};

use crate::cache::CachePolicy;
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
            let record = self.store().agent(row.agent).await?;
            let is_own = record.context != ContextMode::Fresh && record.state != AgentState::Dead;
            if is_own && Path::new(&record.directory) == directory {
                return Ok(Some(row.agent));
            }
        }
        Ok(None)
    }

    /// The other program's side of the guest that an agent is, or goes on from in the format of its provider; `None` for all others.
    pub(crate) async fn guest_above(
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
