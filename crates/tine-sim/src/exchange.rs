//! One exchange: read, capture, decide, log, wait, respond. Formats are asked for their part of it; the order of things is
//! decided here. No lock is held across a wait.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use axum::body::Body;
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use tine_model::Usage;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::cache::{Cache, Digest};
use crate::clock::Clock;
use crate::collect::{CollectedBody, collect};
use crate::decide::{Decision, Ids, Reply, Written};
use crate::endpoint::Endpoint;
use crate::fault::{ErrorBody, FaultUse};
use crate::gemini::CachedContents;
use crate::limits::{BODY_BYTES_MAX, DRAIN_BYTES_MAX};
use crate::log::{Answered, BodyLog, Captured, CapturedRequest};
use crate::memory::Memory;
use crate::profile::Profile;
use crate::quota::{self, Meter, Remaining};
use crate::refusal::Refusal;
use crate::scenario::Scenario;
use crate::stream::{self, Moment};
use crate::totals::Totals;

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
    caches: BTreeMap<Profile, Box<dyn Cache>>,
    /// The file that keeps entries of caches beyond the process.
    kept: Option<PathBuf>,
    pub(crate) memory: Memory,
    pub(crate) cached_contents: CachedContents,
    pub(crate) quota: Meter,
    pub(crate) totals: Totals,
    pub(crate) ids: Ids,
    /// Uses of each rule's fault.
    pub(crate) faults_used: Vec<FaultUse>,
}

impl ServerState {
    /// The cache of a profile, made when it is first needed.
    pub(crate) fn cache(&mut self, profile: Profile, scenario: &Scenario) -> &mut dyn Cache {
        let kept = self.kept.as_deref();
        let made = || {
            let mut cache = profile.cache(scenario);
            kept.into_iter().for_each(|file| cache.keep_in(file));
            cache
        };
        self.caches.entry(profile).or_insert_with(made).as_mut()
    }
}

/// A request that was read and noted.
pub(crate) struct Arrival {
    pub(crate) number: u64,
    pub(crate) at_ms: u64,
    pub(crate) method: Method,
    pub(crate) path: String,
    query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The model that is asked, once that is known.
    pub(crate) model: OnceLock<String>,
}

impl Arrival {
    /// A field of the URL's query, as it stands there.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let fields = self.query.split('&').filter_map(|field| field.split_once('='));
        fields.into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Whose cache the request uses: entries belong to the key.
    pub(crate) fn scope(&self) -> Option<Digest> {
        let text = |name: HeaderName| self.headers.get(name).and_then(|value| value.to_str().ok());
        let bearer = || text(header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let own = ["x-api-key", "x-goog-api-key"].map(|name| text(HeaderName::from_static(name)));
        let in_url = || self.query("key").filter(|_| self.path.starts_with("/v1beta/"));
        let key = own.into_iter().flatten().next().or_else(bearer).or_else(in_url)?.trim();
        (!key.is_empty()).then(|| *blake3::hash(key.as_bytes()).as_bytes())
    }

    /// The betas that the headers ask for.
    pub(crate) fn betas(&self) -> Vec<&str> {
        let headers = self.headers.get_all("anthropic-beta").into_iter();
        let lists = headers.filter_map(|value| value.to_str().ok());
        lists.flat_map(|list| list.split(',').map(str::trim)).collect()
    }

    fn request_id(&self) -> String {
        format!("req_sim_{:06}", self.number)
    }
}

impl Shared {
    pub(crate) fn new(
        scenario: Scenario,
        clock: Arc<dyn Clock>,
        (captured, kept): (Captured, Option<PathBuf>),
        log: Option<Arc<BodyLog>>,
        tracker: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let state = Mutex::new(ServerState {
            captured,
            caches: BTreeMap::new(),
            kept,
            memory: Memory::default(),
            cached_contents: CachedContents::default(),
            quota: Meter::new(scenario.limits.clone()),
            totals: Totals::default(),
            ids: Ids::default(),
            faults_used: vec![FaultUse::default(); scenario.rules.len()],
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
        let arrival = self.capture(parts, body);
        let decision = match refusal {
            Some(refusal) => Decision::refuse(refusal),
            None => self.decide(endpoint, &arrival),
        };
        let (status, usage) = (decision.status(), decision.usage());
        let open = decision.open().map(|open| Open::new(Arc::clone(&self), open));
        self.account(&arrival, status, usage);
        let decision = match self.write_log(&arrival, status, usage).await {
            Ok(()) => decision,
            Err(error) => {
                Decision::refuse(Refusal::new(500, format!("cannot write the body log: {error}")))
            }
        };
        if !stream::wait(decision.first_byte_ms, &self.stop).await {
            return closed();
        }
        self.respond(endpoint, &arrival, decision, open)
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
        if seen > BODY_BYTES_MAX {
            Err(Refusal::new(413, "Request exceeds the maximum size of 32 MB"))
        } else {
            Ok(bytes.freeze())
        }
    }

    fn capture(&self, parts: Parts, body: Bytes) -> Arrival {
        let Parts { method, uri, headers, .. } = parts;
        let (path, query) = (uri.path().to_owned(), uri.query().unwrap_or_default().to_owned());
        let sent: Vec<(&str, &str)> = headers
            .iter()
            .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
            .collect();
        collect(CollectedBody { path: &path, headers: &sent, body: &body });
        let mut state = self.state();
        let at_ms = self.clock.now_ms();
        let number = state.captured.push(&path, headers.clone(), body.clone(), at_ms);
        let model = OnceLock::new();
        Arrival { number, at_ms, method, path, query, headers, body, model }
    }

    /// Notes how a request was answered, and what it cost.
    fn account(&self, arrival: &Arrival, status: Option<u16>, usage: Option<Usage>) {
        let mut state = self.state();
        state.captured.answered(arrival.number, status, usage);
        if let Some(model) = arrival.model.get() {
            state.totals.count(model, usage);
        }
        if let (Some(scope), Some(usage)) = (arrival.scope(), usage) {
            state.quota.spend(&scope, usage.prompt() + usage.output);
        }
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
        open: Option<Open>,
    ) -> Response {
        let mut response = match decision.reply {
            Reply::Close => return closed(),
            Reply::Json { body, .. } => response(200, "application/json", Body::from(body)),
            Reply::Error { refusal, body } => {
                let (kind, text) = match body {
                    ErrorBody::Html => ("text/html", PROXY_PAGE.to_owned()),
                    ErrorBody::Vendor(_) => {
                        ("application/json", endpoint.error_body(&refusal, &arrival.request_id()))
                    }
                };
                let mut response = response(refusal.status, kind, Body::from(text));
                if let Some(seconds) = refusal.retry_after {
                    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
                }
                response
            }
            Reply::Body { steps, is_stream, written, .. } => {
                let kind =
                    if is_stream { "text/event-stream; charset=utf-8" } else { "application/json" };
                let (shared, stop) = (Arc::clone(&self), self.stop.clone());
                let mut open = open;
                let notify = move |moment| {
                    shared.note(moment, &written);
                    if moment == Moment::Ended
                        && let Some(open) = open.take()
                    {
                        open.end();
                    }
                };
                let mut response = response(200, kind, stream::into_body(steps, notify, stop));
                if is_stream {
                    let headers = response.headers_mut();
                    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
                }
                response
            }
        };
        self.add_headers(endpoint, arrival, response.headers_mut());
        response
    }

    /// The headers that every reply of the vendor carries: its id, and what is left of the limits.
    fn add_headers(&self, endpoint: Endpoint, arrival: &Arrival, headers: &mut HeaderMap) {
        let id = endpoint.request_id_header().map(|name| (name.to_owned(), arrival.request_id()));
        let left = match (arrival.model.get(), arrival.scope()) {
            (Some(model), Some(scope)) => {
                self.state().quota.remaining(&scope, model, arrival.at_ms)
            }
            _ => Remaining::default(),
        };
        for (name, value) in id.into_iter().chain(quota::headers(endpoint, left, arrival.at_ms)) {
            let pair = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value));
            if let (Ok(name), Ok(value)) = pair {
                headers.insert(name, value);
            }
        }
    }

    /// Tells the cache how far an answer has come.
    fn note(&self, moment: Moment, written: &Written) {
        let now_ms = self.clock.now_ms();
        let mut state = self.state();
        let cache = state.cache(written.profile, &self.scenario);
        match moment {
            Moment::Begun => cache.begun(&written.prompt, &written.charge),
            Moment::Ended => {
                cache.ended(&written.prompt, &written.charge, &written.answer, now_ms);
            }
        }
    }
}

/// A request that a cache model holds something for. Whatever becomes of the exchange, the model hears of its end: a
/// connection may close at any wait.
struct Open {
    shared: Arc<Shared>,
    profile: Profile,
    ticket: u64,
}

impl Open {
    fn new(shared: Arc<Shared>, (profile, ticket): (Profile, u64)) -> Self {
        Self { shared, profile, ticket }
    }

    /// The answer came to its end, which the model was told of.
    fn end(mut self) {
        self.ticket = 0;
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.ticket != 0 {
            let mut state = self.shared.state();
            state.cache(self.profile, &self.shared.scenario).abandoned(self.ticket);
        }
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
