//! A gateway's start, its addresses and its end.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use tine_model::{Provider, WireFormat};
use tine_wire::Endpoint;
use tokio::net::TcpListener;

use crate::lend::{Lending, Socket};
use crate::observe::Observer;
use crate::relay::Relay;
use crate::serve::{Listener, Tasks, accept};
use crate::upstream::Upstream;

/// The formats that are passed on. Each has a base URL of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI, both Responses and Chat Completions.
    OpenAi,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAi];

    /// The path behind the token. OpenAI's base URLs end in a version, Anthropic's do not.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai/v1",
        }
    }

    /// The format of a path behind the token, and what of it stands behind the format's own.
    pub(crate) fn of_path(path: &str) -> Option<(Self, &str)> {
        Self::ALL.into_iter().find_map(|format| {
            let rest = path.strip_prefix(format.path())?;
            (rest.is_empty() || rest.starts_with(['/', '?'])).then_some((format, rest))
        })
    }

    /// The shape of error bodies.
    pub(crate) fn wire(self) -> WireFormat {
        match self {
            Self::Anthropic => WireFormat::Anthropic,
            Self::OpenAi => WireFormat::OpenAiResponses,
        }
    }
}

/// Treatment of requests that continue one of Anthropic's message threads. They hold only the new messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// Refused as the provider refuses them, at which hosts send the whole conversation.
    Refused,
    /// Passed on like all others.
    PassedOn,
}

/// Settings of a gateway.
pub struct Options {
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// Stands in each path, so that only who was given a base URL can use the gateway. It must be random, and used once.
    pub token: [u8; 16],
    /// Base URL of the provider for [`Format::Anthropic`], without a version.
    pub anthropic: String,
    /// Base URL of the provider for [`Format::OpenAi`], with its version.
    pub openai: String,
    /// Treatment of message threads.
    pub threads: Threads,
    /// Is told of what passes.
    pub observer: Option<Observer>,
    /// The way of forks, where the credentials of hosts are lent to them.
    pub lending: Option<Lending>,
}

impl Options {
    /// A free port, the vendors' own addresses, and threads refused.
    pub fn new(token: [u8; 16]) -> Self {
        let base_url = |provider| {
            Endpoint::of(provider).and_then(|endpoint| endpoint.base_url).unwrap_or_default()
        };
        Self {
            port: 0,
            token,
            anthropic: base_url(Provider::Anthropic).to_owned(),
            openai: base_url(Provider::OpenAi).to_owned(),
            threads: Threads::Refused,
            observer: None,
            lending: None,
        }
    }
}

/// Reasons why a gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// A provider's base URL cannot be used.
    #[error("cannot use the base URL for {}: {reason}", format.path())]
    BaseUrl {
        /// The format that it is for.
        format: Format,
        /// Names the fault, and never the URL, which may hold a password.
        reason: &'static str,
    },
    /// The machine's certificates cannot be read.
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
    /// The port is taken, or not ours.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
}

/// A pass-through in front of providers, on loopback. Dropping it ends it without waiting.
pub struct Gateway {
    address: SocketAddr,
    relay: Arc<Relay>,
    tasks: Tasks,
    _socket: Option<Socket>,
}

impl Gateway {
    /// Begins to listen on 127.0.0.1. Connects to no provider yet. Proxies are read from the environment now.
    pub async fn start(options: Options) -> Result<Self, GatewayError> {
        let tasks = Tasks::default();
        let Options { port, token, anthropic, openai, threads, observer, lending } = options;
        let proxies = Matcher::from_system();
        let anthropic = Upstream::new(Format::Anthropic, &anthropic, &proxies, &tasks)?;
        let openai = Upstream::new(Format::OpenAi, &openai, &proxies, &tasks)?;
        let token = format!("{:032x}", u128::from_be_bytes(token));
        let relay = Arc::new(Relay::new(token, [anthropic, openai], threads, observer));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let failed = |source| GatewayError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        tasks.spawn(accept(Listener::Hosts(listener), Arc::clone(&relay), tasks.clone()));
        let mut socket = None;
        if let Some(Lending { socket: made, listener, lender }) = lending {
            let listener = Listener::Forks(listener, lender);
            tasks.spawn(accept(listener, Arc::clone(&relay), tasks.clone()));
            socket = Some(made);
        }
        Ok(Self { address, relay, tasks, _socket: socket })
    }

    /// The base URL that a host is given for a format. It holds the token: who knows it can use the gateway.
    pub fn base_url(&self, format: Format) -> String {
        format!("http://{}{}", self.address, self.relay.prefix(format))
    }

    /// Ends listening, gives up the streams that run, and waits until all connections are closed. Hosts see broken streams, not ended ones.
    pub async fn stop(self) {
        self.tasks.stop().await;
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.tasks.cancel();
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Gateway").field("address", &self.address).finish_non_exhaustive()
    }
}
