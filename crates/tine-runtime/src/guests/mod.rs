//! Guests: conversations that other programs hold, written down as their requests pass a gateway.
//!
//! A request holds its whole conversation, so nothing but requests has to be seen. Each conversation is an agent of standing
//! `guest`; its messages are in its log word for word, each once. A request that leaves the path of an earlier one is a fork from
//! where they part. A request whose messages begin anew in a conversation that is known is a new line below it: shorter words for the
//! same ([`ContextMode::Digest`]) where its head is that of the conversation, and else a worker of the program's own
//! ([`ContextMode::Fresh`]).
//!
//! The ledger of `tine-cache` judges each request, as for agents that tine runs.

mod dialect;
mod exchange;
mod fork;
mod host;
mod line;
mod mail;
mod place;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use tine_model::{AgentId, Provider, Standing};
use tine_store::{AgentFilter, GuestFilter, GuestRow};

pub use self::dialect::HostDialect;
pub(crate) use self::dialect::carry_out_patch;
use self::exchange::Under;
pub(crate) use self::fork::refuse_guest;
pub use self::host::{HostSession, host_session};
use self::line::Line;
pub use self::mail::TakenMail;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// Lines that are kept in memory; others are read from the store once they go on.
const LINES_MAX: usize = 64;

/// Requests without a conversation that are kept until theirs is known.
const ASIDES_MAX: usize = 64;

/// A request of another program, before it is answered.
#[derive(Debug, Clone)]
pub struct GuestSent {
    /// Number of the exchange, which its later steps name.
    pub exchange: u64,
    /// The API that it is for.
    pub provider: Provider,
    /// Tells the caches of two accounts or servers apart: never a key.
    pub account: String,
    /// Base URL that it goes on to.
    pub upstream: String,
    /// Path of the socket by which forks reach the gateway; `None` where it has none.
    pub gateway: Option<String>,
    /// HTTP headers without which it is another request, such as a provider's beta headers.
    pub headers: Vec<(String, String)>,
    /// The program, and its own id of the conversation.
    pub session: HostSession,
    /// The body, decompressed.
    pub body: Vec<u8>,
    /// Time at which it was sent, in milliseconds since the Unix epoch.
    pub at_ms: i64,
}

/// A reply to another program.
#[derive(Debug, Clone)]
pub struct GuestReply {
    /// The body, decompressed.
    pub body: Vec<u8>,
    /// True for server-sent events.
    pub is_stream: bool,
    /// False where it broke off.
    pub is_complete: bool,
}

impl Runtime {
    /// The program that holds a guest's conversation, and its own id of it; `None` for any other agent.
    pub async fn guest(&self, agent: AgentId) -> Result<Option<GuestRow>, RuntimeError> {
        Ok(self.store().guests(GuestFilter::Agent(agent)).await?.pop())
    }
}

/// Writes the conversations of other programs down. One for a gateway; steps are taken in their order, one at a time.
pub struct Guests {
    runtime: Arc<Runtime>,
    /// The directory of guests that begin.
    directory: PathBuf,
    lines: HashMap<AgentId, Line>,
    exchanges: HashMap<u64, Under>,
    /// Requests beside a conversation of which no line has begun yet.
    asides: Vec<exchange::Aside>,
}

impl Guests {
    /// Nothing has been seen yet.
    pub fn new(runtime: Arc<Runtime>, directory: PathBuf) -> Self {
        let (lines, exchanges) = (HashMap::new(), HashMap::new());
        Self { runtime, directory, lines, exchanges, asides: Vec::new() }
    }

    /// A request is sent. Nothing is written yet: a provider may refuse it.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::GuestRequest`] where it cannot be read, and what the store says. The later steps of the exchange do nothing then.
    pub async fn sent(&mut self, sent: GuestSent) -> Result<(), RuntimeError> {
        let exchange = sent.exchange;
        let under = self.read(sent).await?;
        self.exchanges.insert(exchange, under);
        Ok(())
    }

    /// The head of the reply is there. Where it is one of success, the request's messages are written down. Returns the guest, unless the
    /// request is beside any conversation.
    pub async fn begun(
        &mut self,
        exchange: u64,
        is_success: bool,
    ) -> Result<Option<AgentId>, RuntimeError> {
        let Some(mut under) = self.exchanges.remove(&exchange) else { return Ok(None) };
        if !is_success {
            return Ok(None);
        }
        self.write_request(&mut under).await?;
        let agent = under.agent();
        self.exchanges.insert(exchange, under);
        Ok(agent)
    }

    /// The reply is over: it is written down with what it cost. `None` for one that cannot be told. Returns true if the request was
    /// recorded.
    pub async fn ended(
        &mut self,
        exchange: u64,
        reply: Option<GuestReply>,
    ) -> Result<bool, RuntimeError> {
        let (Some(under), Some(reply)) = (self.exchanges.remove(&exchange), reply) else {
            return Ok(false);
        };
        self.write_reply(under, reply).await?;
        Ok(true)
    }

    /// Writes down what is left when nothing more comes: questions of which no conversation has come.
    pub async fn finish(&mut self) -> Result<(), RuntimeError> {
        for aside in std::mem::take(&mut self.asides) {
            self.write_aside(aside).await?;
        }
        Ok(())
    }

    /// Removes guests without a name for good that were last used before a time, in milliseconds since the Unix epoch, with all that was forked from them
    /// unless some of it is younger. Returns the number of those that went.
    pub async fn remove_older(&mut self, before_ms: i64) -> Result<usize, RuntimeError> {
        let agents = self.runtime.store().agents(AgentFilter::All).await?;
        let mut stay: HashSet<AgentId> = HashSet::new();
        // Children are younger than their parents.
        for agent in agents.iter().rev() {
            // One with a name is one that somebody wants to find again.
            let is_old = agent.standing == Standing::Guest
                && agent.updated_ms < before_ms
                && agent.name.is_none();
            if !is_old || stay.contains(&agent.id) {
                stay.insert(agent.id);
                stay.extend(agent.parent);
            }
        }
        let goes: Vec<AgentId> =
            agents.iter().map(|agent| agent.id).filter(|id| !stay.contains(id)).collect();
        if !goes.is_empty() {
            self.runtime.remove_agents(&goes).await?;
        }
        goes.iter().for_each(|agent| drop(self.lines.remove(agent)));
        Ok(goes.len())
    }

    /// Forgets the lines that were not used for the longest time.
    fn forget(&mut self) {
        while self.lines.len() > LINES_MAX {
            let oldest = self.lines.iter().min_by_key(|(_, line)| line.used_ms);
            let Some(agent) = oldest.map(|(agent, _)| *agent) else { return };
            self.lines.remove(&agent);
        }
    }
}
