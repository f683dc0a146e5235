//! The HTTP server: routes, start and shutdown. What an exchange consists of is in `exchange.rs`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::{any, get, post};
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock::{Clock, SystemClock};
use crate::control;
use crate::endpoint::Endpoint;
use crate::exchange::Shared;
use crate::limits::CAPTURED_BYTES_MAX;
use crate::log::{BodyLog, Captured, CapturedRequest};
use crate::own_server;
use crate::scenario::Scenario;

/// How a server is started.
pub struct SimOptions {
    /// What it answers.
    pub scenario: Scenario,
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// A directory for the verbatim bodies (`0001.json`, …) and `index.jsonl`. It must not hold a log yet.
    pub log_bodies: Option<PathBuf>,
    /// Bytes of requests that are kept for [`SimServer::requests`], of which the oldest go first. 0 where nobody asks for them.
    pub requests_bytes_max: usize,
    /// What cache lifetimes and rate limits are measured by. A [`crate::ManualClock`] can be moved from outside, at
    /// `POST /sim/clock`.
    pub clock: Arc<dyn Clock>,
    /// A file that keeps the entries of caches with marks (Anthropic's, OpenAI's from GPT-5.6 on, MiniMax's) beyond the server, for as
    /// long as they live. Servers may share it. `None`: every cache ends with the server, as all others do.
    pub kept_entries: Option<PathBuf>,
}

impl SimOptions {
    /// A free port on loopback, the machine's clock, no log, and requests kept for a test.
    pub fn new(scenario: Scenario) -> Self {
        Self {
            scenario,
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            log_bodies: None,
            requests_bytes_max: CAPTURED_BYTES_MAX,
            clock: Arc::new(SystemClock),
            kept_entries: None,
        }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The directory for bodies cannot be used.
    #[error("cannot start a body log in {directory} (it must be writable and hold no index.jsonl)")]
    Log {
        /// The directory.
        directory: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// A running simulator. Dropping it stops it without waiting; [`SimServer::shutdown`] waits.
pub struct SimServer {
    address: SocketAddr,
    base_url: String,
    shared: Arc<Shared>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl SimServer {
    /// Starts a server; it accepts connections when this returns. Any number may run in one process.
    pub async fn start(options: SimOptions) -> Result<Self, SimError> {
        let SimOptions { scenario, address, log_bodies, requests_bytes_max, clock, kept_entries } =
            options;
        let log = match log_bodies {
            None => None,
            Some(directory) => match BodyLog::create(&directory) {
                Ok(log) => Some(Arc::new(log)),
                Err(source) => return Err(SimError::Log { directory, source }),
            },
        };
        let failed = |source| SimError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        // Small events must leave at once; a socket that cannot be told so is merely slower.
        let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let captured = (Captured::new(requests_bytes_max), kept_entries);
        let (tasks, ends) = (tracker.clone(), stop.clone());
        let shared = Arc::new(Shared::new(scenario, clock, captured, log, tasks, ends));
        let serve = axum::serve(listener, router(Arc::clone(&shared)))
            .with_graceful_shutdown(stop.clone().cancelled_owned());
        // axum's accept loop retries by itself and ends only by the token.
        tracker.spawn(async move { drop(serve.await) });
        let base_url = format!("http://{address}");
        Ok(Self { address, base_url, shared, tracker, stop })
    }

    /// The URL without a path: `/v1/messages`, `/v1/chat/completions` and `/v1/responses` are below it.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The requests so far, in the order of their arrival. When very much was received the oldest are missing; their
    /// numbers show it.
    pub fn requests(&self) -> Vec<CapturedRequest> {
        self.shared.requests()
    }

    /// What storing Gemini's cached contents has cost so far, in tokens times milliseconds by the server's clock.
    pub fn cached_content_token_ms(&self) -> u128 {
        self.shared.storage_token_ms()
    }

    /// Stops accepting, breaks off waits and stalls, and waits for the open exchanges to end.
    pub async fn shutdown(self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

impl Drop for SimServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl std::fmt::Debug for SimServer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SimServer").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

fn router(shared: Arc<Shared>) -> Router {
    let answer = |endpoint: Endpoint| {
        move |State(shared): State<Arc<Shared>>, request: Request| shared.answer(endpoint, request)
    };
    Router::new()
        .route("/", get(about))
        .route("/v1/messages", post(answer(Endpoint::Messages)))
        .route("/v1/messages/count_tokens", post(answer(Endpoint::CountTokens)))
        .route("/v1/chat/completions", post(answer(Endpoint::Chat)))
        .route("/chat/completions", post(answer(Endpoint::Chat)))
        .route("/v1/responses", post(answer(Endpoint::Responses)))
        .route("/responses", post(answer(Endpoint::Responses)))
        .route("/v1beta/models/{target}", post(answer(Endpoint::Gemini)))
        .route("/v1beta/cachedContents", any(answer(Endpoint::CachedContents)))
        .route("/v1beta/cachedContents/{name}", any(answer(Endpoint::CachedContents)))
        .route("/v1/models", get(own_server::models))
        .route("/models", get(own_server::models))
        .route("/props", get(own_server::props))
        .route("/slots", get(own_server::slots))
        .route("/version", get(own_server::version))
        .route("/api/version", get(own_server::version))
        .route("/sim/clock", get(control::clock).post(control::advance))
        .route("/sim/usage", get(control::usage))
        .fallback(answer(Endpoint::Unknown))
        .with_state(shared)
}

async fn about(State(shared): State<Arc<Shared>>) -> String {
    shared.about()
}
