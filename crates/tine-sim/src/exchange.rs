//! One exchange: read, capture, decide, log, wait, respond. Formats are asked for their part of it; the order of things is
//! decided here. No lock is held across a wait.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use tine_model::Usage;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::anthropic;
use crate::cache::{BlockCache, CacheProfile, Digest};
use crate::chat;
use crate::clock::Clock;
use crate::decide::{Decision, Ids, Reply};
use crate::fault::ErrorBody;
use crate::log::{Answered, BodyLog, Captured, CapturedRequest};
use crate::prefix_cache::PrefixCache;
use crate::profile::{BODY_BYTES_MAX, CACHE_MIN_TOKENS, DRAIN_BYTES_MAX};
use crate::refusal::Refusal;
use crate::scenario::Scenario;
use crate::stream;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Messages,
    CountTokens,
    Chat,
    Unknown,
}

/// Requests per minute that the rate headers speak of. The simulator limits nothing by itself: a scenario's faults do.
const REQUESTS_LIMIT: &str = "4000";

/// The page of a proxy that could not reach the vendor.
const PROXY_PAGE: &str = "<html>\r\n<head><title>Bad gateway (simulated)</title></head>\r\n<body>\r\n<center><h1>Bad gateway</h1></center>\r\n<hr><center>a proxy, simulated by tine</center>\r\n</body>\r\n</html>\r\n";

/// Everything that the exchanges of one server share.
pub(crate) struct Shared {
    pub(crate) scenario: Scenario,
    pub(crate) clock: Arc<dyn Clock>,
    log: Option<Arc<BodyLog>>,
    tracker: TaskTracker,
    stop: CancellationToken,
    state: Mutex<ServerState>,
}

/// What changes from request to request.
pub(crate) struct ServerState {
    captured: Captured,
    pub(crate) blocks: BlockCache,
    pub(crate) prefixes: PrefixCache,
    pub(crate) ids: Ids,
    /// Uses of each rule's fault.
    pub(crate) faults_used: Vec<u32>,
}

/// A request that was read and noted.
pub(crate) struct Arrival {
    pub(crate) number: u64,
    pub(crate) at_ms: u64,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Arrival {
    /// Whose cache the request uses: entries belong to the key.
    pub(crate) fn scope(&self) -> Option<Digest> {
        let text = |name: HeaderName| self.headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = || text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let key = text(HeaderName::from_static("x-api-key")).or_else(bearer)?.trim();
        (!key.is_empty()).then(|| *blake3::hash(key.as_bytes()).as_bytes())
    }

    fn request_id(&self) -> String {
        format!("req_sim_{:06}", self.number)
    }
}

impl Shared {
    pub(crate) fn new(
        scenario: Scenario,
        clock: Arc<dyn Clock>,
        log: Option<Arc<BodyLog>>,
        tracker: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let profile = CacheProfile {
            min_tokens: scenario.cache_min_tokens.unwrap_or(CACHE_MIN_TOKENS),
            deep_read_refreshes_shallow: scenario.deep_read_refreshes_shallow,
        };
        let state = Mutex::new(ServerState {
            captured: Captured::default(),
            blocks: BlockCache::new(profile),
            prefixes: PrefixCache::default(),
            ids: Ids::default(),
            faults_used: vec![0; scenario.rules.len()],
        });
        Self { scenario, clock, log, tracker, stop, state }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn requests(&self) -> Vec<CapturedRequest> {
        self.state().captured.to_vec()
    }

    pub(crate) fn about(&self) -> String {
        let name = self.scenario.name();
        format!(
            "This is tine's simulator, scenario {name}. It speaks the formats of model providers and is none.\n"
        )
    }

    /// The whole exchange.
    pub(crate) async fn answer(self: Arc<Self>, endpoint: Endpoint, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let (body, refusal) = match self.read(body).await {
            Ok(body) => (body, None),
            Err(refusal) => (Bytes::new(), Some(refusal)),
        };
        let path = parts.uri.path().to_owned();
        let arrival = self.capture(path, parts.headers, body);
        let decision = match refusal {
            Some(refusal) => Decision::refuse(refusal),
            None => self.decide(endpoint, &arrival),
        };
        let (status, usage) = (decision.status(), decision.usage());
        self.state().captured.answered(arrival.number, status, usage);
        let decision = match self.write_log(&arrival, status, usage).await {
            Ok(()) => decision,
            Err(error) => {
                Decision::refuse(Refusal::new(500, format!("cannot write the body log: {error}")))
            }
        };
        if !stream::wait(decision.first_byte_ms, &self.stop).await {
            return closed();
        }
        self.respond(endpoint, &arrival, decision)
    }

    /// Reads a body of up to the vendor's limit; a longer one is drained for a while, so that the client gets to read.
    async fn read(&self, body: Body) -> Result<Bytes, Refusal> {
        let mut chunks = body.into_data_stream();
        let mut bytes = BytesMut::new();
        let mut seen = 0_usize;
        loop {
            // Cancel-safe: a chunk that was not yet taken stays in the stream, and shutdown gives the stream up.
            let chunk = tokio::select! {
                chunk = chunks.next() => chunk,
                () = self.stop.cancelled() => return Err(Refusal::new(503, "the simulator is shutting down")),
            };
            match chunk {
                None => break,
                Some(Err(error)) => {
                    return Err(Refusal::invalid(format!("the body broke off: {error}")));
                }
                Some(Ok(chunk)) => {
                    seen += chunk.len();
                    if seen <= BODY_BYTES_MAX {
                        bytes.extend_from_slice(&chunk);
                    } else if seen > DRAIN_BYTES_MAX {
                        break;
                    }
                }
            }
        }
        match seen > BODY_BYTES_MAX {
            true => Err(Refusal::new(413, "Request exceeds the maximum size of 32 MB")),
            false => Ok(bytes.freeze()),
        }
    }

    fn capture(&self, path: String, headers: HeaderMap, body: Bytes) -> Arrival {
        let mut state = self.state();
        let at_ms = self.clock.now_ms();
        let number = state.captured.push(&path, headers.clone(), body.clone(), at_ms);
        Arrival { number, at_ms, path, headers, body }
    }

    async fn write_log(
        &self,
        arrival: &Arrival,
        status: Option<u16>,
        usage: Option<Usage>,
    ) -> std::io::Result<()> {
        let Some(log) = self.log.clone() else { return Ok(()) };
        let (number, at_ms) = (arrival.number, arrival.at_ms);
        let (path, body) = (arrival.path.clone(), arrival.body.clone());
        let write = self.tracker.spawn_blocking(move || {
            log.write(&body, &Answered { number, path: &path, at_ms, status, usage })
        });
        write.await.map_err(std::io::Error::other)?
    }

    fn respond(
        self: Arc<Self>,
        endpoint: Endpoint,
        arrival: &Arrival,
        decision: Decision,
    ) -> Response {
        let mut response = match decision.reply {
            Reply::Close => return closed(),
            Reply::Json { body, .. } => response(200, "application/json", Body::from(body)),
            Reply::Error { refusal, retry_after, body } => {
                let (kind, text) = match (body, endpoint) {
                    (ErrorBody::Html, _) => ("text/html", PROXY_PAGE.to_owned()),
                    (ErrorBody::Vendor(_), Endpoint::Chat) => {
                        ("application/json", chat::error_body(&refusal))
                    }
                    (ErrorBody::Vendor(_), _) => {
                        ("application/json", anthropic::error_body(&refusal, &arrival.request_id()))
                    }
                };
                let mut response = response(refusal.status, kind, Body::from(text));
                if let Some(seconds) = retry_after {
                    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
                }
                response
            }
            Reply::Body { steps, is_stream, write, .. } => {
                let kind =
                    if is_stream { "text/event-stream; charset=utf-8" } else { "application/json" };
                let stop = self.stop.clone();
                let at_ms = arrival.at_ms;
                let publish = move || write.publish(&mut self.state(), at_ms);
                let mut response = response(200, kind, stream::into_body(steps, publish, stop));
                if is_stream {
                    let headers = response.headers_mut();
                    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                }
                response
            }
        };
        let (id, limit, remaining) = match endpoint {
            Endpoint::Chat => {
                ("x-request-id", "x-ratelimit-limit-requests", "x-ratelimit-remaining-requests")
            }
            Endpoint::Messages | Endpoint::CountTokens | Endpoint::Unknown => (
                "request-id",
                "anthropic-ratelimit-requests-limit",
                "anthropic-ratelimit-requests-remaining",
            ),
        };
        let headers = response.headers_mut();
        if let Ok(value) = HeaderValue::from_str(&arrival.request_id()) {
            headers.insert(HeaderName::from_static(id), value);
        }
        for name in [limit, remaining] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(REQUESTS_LIMIT));
        }
        response
    }
}

fn response(status: u16, kind: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// No response: the connection closes before a byte is written.
fn closed() -> Response {
    Response::new(stream::closed_body())
}
