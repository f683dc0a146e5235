//! What the runtime is given from outside: time, ids, and a way to reach models.

use std::sync::Arc;

use async_trait::async_trait;
use tine_fork::host::{Clock, Ids};
use tine_llm::{LlmClient, LlmError};
use tine_model::{ModelRef, Served};
use tine_store::GuestRow;

/// Credentials of another program that forks of its conversation could use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lent {
    /// The program.
    pub host: String,
    /// Base URL that it sends them to.
    pub upstream: String,
    /// Its account there, which tells nothing of them.
    pub account: String,
    /// Path of the socket of its gateway; empty where it has none.
    pub gateway: String,
}

/// Why a model cannot be reached at all.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The client cannot be made: no key, no base URL, a bad one.
    #[error(transparent)]
    Llm(#[from] LlmError),
    /// The stored key of a provider cannot be had.
    #[error("cannot get the key of {provider}")]
    Key {
        /// Whose key it is.
        provider: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The user has not agreed to use the credentials of another program.
    #[error("there is no key for {}, and nobody has agreed that forks use the credentials of {}", .0.upstream, .0.host)]
    NotLent(Lent),
    /// The user's settings forbid the credentials of other programs.
    #[error("there is no key for {}, and your settings forbid the credentials of {}", .0.upstream, .0.host)]
    NeverLent(Lent),
    /// The gateway that could lend the credentials of another program has ended.
    #[error("there is no key for {}, and no gateway that lends the credentials of {}", .0.upstream, .0.host)]
    NoGateway(Lent),
    /// The simulator's scenario cannot be used.
    #[error("cannot use the scenario `{name}`")]
    Scenario {
        /// What was asked for.
        name: String,
        /// Why not.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Makes clients for models.
#[async_trait]
pub trait Connector: Send + Sync {
    /// A client for a model; may be shared with other agents.
    async fn connect(&self, model: &ModelRef) -> Result<Arc<dyn LlmClient>, ConnectError>;

    /// Whose account requests to a model are billed to, as a text that tells nothing of the key: agents share a cache when it is
    /// the same. For a cache that ends with the process, a text that no other process gives.
    fn account(&self, model: &ModelRef) -> String;

    /// A client for forks of another program's conversation, which its own server has to answer: with a key of tine's for that server, or
    /// with the credentials that the program itself sends there.
    async fn connect_guest(
        &self,
        model: &ModelRef,
        guest: &GuestRow,
    ) -> Result<Arc<dyn LlmClient>, ConnectError> {
        let _ = guest;
        self.connect(model).await
    }

    /// The account that requests through [`Self::connect_guest`] are billed to, as [`Self::account`] tells it.
    fn guest_account(&self, model: &ModelRef, guest: &GuestRow) -> String {
        let _ = model;
        guest.account.clone()
    }

    /// The host that requests to a model go to, with its port where it is not the usual one: what is learnt of a server is kept under
    /// it. `None` where no later process would meet the same server under that name.
    fn host(&self, model: &ModelRef) -> Option<String> {
        let _ = model;
        None
    }

    /// Asks the server behind a model what it is, where it is one of the user's own and has not been asked lately. Takes a second
    /// or two at most; what is learnt is [`Self::served`] from then on.
    async fn ask_server(&self, model: &ModelRef) {
        let _ = model;
    }

    /// The facts that the server behind a model has told about itself, to this process or to an earlier one.
    fn served(&self, model: &ModelRef) -> Option<Served> {
        let _ = model;
        None
    }
}

/// Everything from outside.
#[derive(Clone)]
pub struct Ports {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Randomness.
    pub ids: Arc<dyn Ids>,
    /// Models.
    pub models: Arc<dyn Connector>,
    /// What is known of them.
    pub facts: Arc<tine_cache::Models>,
}
