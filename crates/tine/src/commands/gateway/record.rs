//! Writing down what passes a gateway, beside its way: whatever fails here, the program notices nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use tine_fork::host::{Clock as _, SystemClock};
use tine_gateway::{Format, Observer, Passed, decoded};
use tine_model::{AgentId, Provider};
use tine_runtime::{GuestReply, GuestSent, Guests, host_session};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::lend::Vault;
use crate::context::Context;
use crate::fail::Failure;
use crate::open::Surroundings;

/// Bytes that may wait to be written down, and bytes of requests that may wait for the head of their reply. What passes beyond that is not
/// recorded.
const WAITING_BYTES_MAX: usize = 256 << 20;

/// Bytes of a body without its compression.
const BODY_BYTES_MAX: usize = 64 << 20;

/// Longest wait at the end for what is still to be written: the store may be locked, or its disk gone.
const FINISH_WAIT: Duration = Duration::from_secs(5);

/// Headers without which a request is another one: with another version, or other beta features, a provider reads it otherwise.
const OF_REQUEST: [&str; 3] = ["anthropic-version", "anthropic-beta", "openai-beta"];

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Is told of the first thing that is not recorded, with the reason.
pub(super) type OnTrouble = Arc<dyn Fn(&Failure) + Send + Sync>;

/// Records what passes a gateway.
pub(super) struct Recorder {
    sender: UnboundedSender<Step>,
    waiting: Arc<Waiting>,
    task: JoinHandle<()>,
    written: Arc<Mutex<Written>>,
}

/// The part that was recorded.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    /// True if any request has passed that can hold a conversation.
    pub(super) has_passed: bool,
    /// True where the store did not take all of it in time.
    pub(super) is_late: bool,
    /// Requests that were answered.
    pub(super) requests: u64,
    /// Guests that they belong to, in the order in which they appeared.
    pub(super) guests: Vec<AgentId>,
}

/// A step of an exchange, with its time and its size.
struct Step {
    passed: Passed,
    at_ms: i64,
    bytes: usize,
}

#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    lost: AtomicU64,
}

/// The way of requests, and of those of forks.
#[derive(Clone)]
pub(super) struct Upstreams {
    /// Addresses of the providers.
    pub(super) anthropic: String,
    pub(super) openai: String,
    /// Path of the socket for forks; `None` where there is none.
    pub(super) socket: Option<String>,
    pub(super) vault: Vault,
}

impl Recorder {
    /// Opens the store beside everything else.
    pub(super) fn start(
        surroundings: Surroundings,
        upstreams: Upstreams,
        keep_days: u32,
        on_trouble: OnTrouble,
    ) -> Self {
        let (sender, receiver) = unbounded_channel();
        let (waiting, written) = (Arc::<Waiting>::default(), Arc::default());
        let writing = Writing {
            upstreams,
            keep_days,
            on_trouble: Some(on_trouble),
            waiting: Arc::clone(&waiting),
            written: Arc::clone(&written),
            unanswered: HashMap::new(),
            headers: HashMap::new(),
        };
        let task = TaskTracker::new().spawn(writing.run(surroundings, receiver));
        Self { sender, waiting, task, written }
    }

    /// Takes what passes, and returns at once.
    pub(super) fn observer(&self) -> Observer {
        let (sender, waiting) = (self.sender.clone(), Arc::clone(&self.waiting));
        Arc::new(move |passed| {
            let bytes = length(&passed);
            let before = waiting.bytes.fetch_add(bytes, Ordering::Relaxed);
            let passed = match passed {
                passed if before + bytes <= WAITING_BYTES_MAX => passed,
                Passed::Ended { exchange, .. } => {
                    Passed::Ended { exchange, body: None, is_complete: false }
                }
                Passed::Request { .. } | Passed::Begun { .. } => {
                    waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
                    waiting.lost.fetch_add(1, Ordering::Relaxed);
                    return;
                }
            };
            let at_ms = SystemClock.now_ms();
            // Nobody takes it any more once the recorder has ended.
            let _ = sender.send(Step { passed, at_ms, bytes });
        })
    }

    /// Waits until all is written down, for a while. The gateway must have ended: it holds the observer.
    pub(super) async fn finish(self) -> Written {
        drop(self.sender);
        let is_late = timeout(FINISH_WAIT, self.task).await.is_err();
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Written { is_late, ..written }
    }
}

/// Bytes that a step holds.
fn length(passed: &Passed) -> usize {
    match passed {
        Passed::Request { body, .. } => body.len(),
        Passed::Begun { .. } => 0,
        Passed::Ended { body, .. } => body.iter().flatten().map(|part| part.len()).sum(),
    }
}

/// The task that writes.
struct Writing {
    upstreams: Upstreams,
    keep_days: u32,
    /// Taken by the first trouble.
    on_trouble: Option<OnTrouble>,
    waiting: Arc<Waiting>,
    written: Arc<Mutex<Written>>,
    /// Bytes of requests whose replies have not begun.
    unanswered: HashMap<u64, usize>,
    /// Headers of replies that have begun.
    headers: HashMap<u64, HeaderMap>,
}

impl Writing {
    async fn run(mut self, surroundings: Surroundings, mut steps: UnboundedReceiver<Step>) {
        let context = match Context::open(surroundings).await {
            Ok(context) => context,
            Err(failure) => {
                self.trouble(&failure);
                return;
            }
        };
        let mut guests = Guests::new(Arc::clone(&context.runtime), context.directory.clone());
        let before_ms = SystemClock.now_ms() - i64::from(self.keep_days) * DAY_MS;
        if let Err(error) = guests.remove_older(before_ms).await {
            self.trouble(&error.into());
        }
        while let Some(Step { passed, at_ms, bytes }) = steps.recv().await {
            let taken = self.step(&mut guests, passed, at_ms).await;
            self.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
            if let Err(failure) = taken {
                self.trouble(&failure);
            }
            if self.waiting.lost.load(Ordering::Relaxed) > 0 {
                self.trouble(&Failure::failed("the store is slower than the requests come"));
            }
        }
        if let Err(error) = guests.finish().await {
            self.trouble(&error.into());
        }
        // Folds the database's log in; without it nothing is lost.
        let _ = context.runtime.close().await;
    }

    async fn step(
        &mut self,
        guests: &mut Guests,
        passed: Passed,
        at_ms: i64,
    ) -> Result<(), Failure> {
        match passed {
            Passed::Request { exchange, format, path, headers, body } => {
                let Some(provider) = provider(format, &path) else { return Ok(()) };
                let body = decoded(&headers, &[body], BODY_BYTES_MAX)
                    .ok_or_else(|| Failure::input("a request's compression cannot be read"))?;
                let bytes = self.unanswered.values().sum::<usize>() + body.len();
                if bytes > WAITING_BYTES_MAX {
                    return Err(Failure::failed("too many long requests wait for their replies"));
                }
                self.unanswered.insert(exchange, body.len());
                let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
                let session = host_session(header, &body);
                let Upstreams { anthropic, openai, socket, vault } = &self.upstreams;
                let upstream = match format {
                    Format::Anthropic => anthropic,
                    Format::OpenAi => openai,
                };
                let kept = OF_REQUEST.iter().filter_map(|name| {
                    Some(((*name).to_owned(), headers.get(*name)?.to_str().ok()?.to_owned()))
                });
                let sent = GuestSent {
                    exchange,
                    provider,
                    account: vault.note(&session.host, upstream, &headers),
                    upstream: upstream.clone(),
                    gateway: socket.clone(),
                    headers: kept.collect(),
                    session,
                    body,
                    at_ms,
                };
                Ok(guests.sent(sent).await?)
            }
            Passed::Begun { exchange, status, headers } => {
                self.unanswered.remove(&exchange);
                let is_success = (200..300).contains(&status);
                let guest = guests.begun(exchange, is_success).await?;
                if is_success {
                    self.headers.insert(exchange, headers);
                }
                let mut written = self.written();
                written.has_passed = true;
                if let Some(guest) = guest.filter(|guest| !written.guests.contains(guest)) {
                    written.guests.push(guest);
                }
                Ok(())
            }
            Passed::Ended { exchange, body, is_complete } => {
                self.unanswered.remove(&exchange);
                let headers = self.headers.remove(&exchange).unwrap_or_default();
                let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                let is_stream = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
                let body = body.and_then(|parts| decoded(&headers, &parts, BODY_BYTES_MAX));
                let reply = body.map(|body| GuestReply { body, is_stream, is_complete });
                if guests.ended(exchange, reply).await? {
                    self.written().requests += 1;
                }
                Ok(())
            }
        }
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn trouble(&mut self, failure: &Failure) {
        if let Some(on_trouble) = self.on_trouble.take() {
            on_trouble(failure);
        }
    }
}

/// The API of a request that holds a conversation; `None` for any other.
fn provider(format: Format, path: &str) -> Option<Provider> {
    match format {
        Format::Anthropic => path.ends_with("/v1/messages").then_some(Provider::Anthropic),
        Format::OpenAi if path.ends_with("/responses") => Some(Provider::OpenAi),
        Format::OpenAi if path.ends_with("/chat/completions") => Some(Provider::OpenAiChat),
        Format::OpenAi => None,
    }
}
