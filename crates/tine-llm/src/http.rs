//! The client for providers behind an address: it sends, and sends again where that is right.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use tine_model::WireFormat;
use tine_wire::{Body, Endpoint, Reply};
use tokio_util::sync::CancellationToken;

use crate::body::ChainBody;
use crate::error::{TimeLimit, TransportError, nothing};
use crate::exchange::{Exchange, Failed};
use crate::incoming::Report;
use crate::options::is_loopback;
use crate::retry::{Retry, Waits};
use crate::watch::Watch;
use crate::{
    HttpLimits, HttpOptions, LlmClient, LlmError, Progress, Request, Secret, ensure_crypto,
};

/// How tine introduces itself.
const USER_AGENT: &str = concat!("tine/", env!("CARGO_PKG_VERSION"));

/// A model behind an address. One is enough for any number of agents: requests run side by side and share connections.
///
/// Proxies come from the usual environment variables, except for loopback addresses. Redirects are not followed, because
/// that would send a paid request twice, and its key to another place. Answers are not asked for in compressed form,
/// because compression would hold back the events of a stream.
pub struct HttpClient {
    format: WireFormat,
    url: Url,
    headers: HeaderMap,
    key: Secret,
    limits: HttpLimits,
    client: Client,
    /// Number of requests so far; see [`Waits::new`].
    requests: AtomicU64,
}

impl HttpClient {
    /// A client for one endpoint. Connects to nothing yet.
    pub fn new(options: HttpOptions) -> Result<Self, LlmError> {
        ensure_crypto();
        let url = options.url()?;
        let HttpOptions { format, key, limits, .. } = options;
        let headers = headers(format, key.as_ref())?;
        let mut builder = Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(limits.connect)
            .redirect(Policy::none())
            .referer(false)
            .retry(reqwest::retry::never());
        if is_loopback(&url) {
            builder = builder.no_proxy();
            if url.scheme() == "http" {
                // Without TLS there is nothing to verify, and a container without certificates is no obstacle.
                builder = builder.tls_certs_only([]);
            }
        }
        let client = builder
            .build()
            .map_err(|error| LlmError::Setup { source: TransportError::of(error) })?;
        let key = key.unwrap_or_else(|| Secret::new(""));
        Ok(Self { format, url, headers, key, limits, client, requests: AtomicU64::new(0) })
    }

    async fn post(&self, body: &Body) -> Result<Response, reqwest::Error> {
        let body = reqwest::Body::wrap(ChainBody::new(body.slices()));
        self.client.post(self.url.clone()).headers(self.headers.clone()).body(body).send().await
    }

    async fn attempt(
        &self,
        request: &Request,
        watch: &Watch<'_>,
        report: &mut Report<'_>,
    ) -> Result<Reply, Failed> {
        let (format, url, first) = (self.format, self.url.as_str(), watch.first_event());
        let tried =
            Exchange { format, url, watch, first }.run(self.post(&request.body), report).await;
        tried.map_err(|Failed { error, retry }| Failed { error: error.redacted(&self.key), retry })
    }

    /// The wait before the next try, or the error when there is none.
    fn next_wait(
        &self,
        failed: Failed,
        attempt: u32,
        watch: &Watch<'_>,
        waits: &mut Waits,
    ) -> Result<(Duration, LlmError), LlmError> {
        let Failed { error, retry } = failed;
        let limits = &self.limits.retry;
        let tries = match error {
            LlmError::Unreachable { .. } | LlmError::Timeout { limit: TimeLimit::Connect, .. } => {
                limits.tries.min(limits.tries_unreachable)
            }
            _ => limits.tries,
        };
        let wait = match retry {
            Retry::Never => return Err(error.after(attempt, None)),
            Retry::After(asked) if asked > limits.asked_wait_max => {
                return Err(error.after(attempt, Some(asked)));
            }
            Retry::After(asked) => waits.asked(asked),
            Retry::Backoff => waits.backoff(),
        };
        let error = error.after(attempt, None);
        // A wait that the limit of the whole request would cut short only hides what went wrong.
        if attempt < tries && watch.allows(wait) { Ok((wait, error)) } else { Err(error) }
    }
}

#[async_trait]
impl LlmClient for HttpClient {
    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        if request.format != self.format {
            return Err(LlmError::WrongFormat { request: request.format, endpoint: self.format });
        }
        let watch = Watch::new(&self.limits, cancel);
        let mut waits =
            Waits::new(&self.limits.retry, self.requests.fetch_add(1, Ordering::Relaxed));
        let mut attempt = 1;
        loop {
            let failed = match self.attempt(request, &watch, on_progress).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => failed,
            };
            let (wait, cause) = self.next_wait(failed, attempt, &watch, &mut waits)?;
            tracing::info!(attempt, ?wait, %cause, "trying again");
            on_progress(Progress::Retry { attempt, wait, cause: &cause });
            watch.pause(wait).await.map_err(|stop| stop.with(nothing()))?;
            attempt += 1;
        }
    }
}

/// The headers of every request. The key's header is marked so that no log prints it.
fn headers(format: WireFormat, key: Option<&Secret>) -> Result<HeaderMap, LlmError> {
    let key = key.map(Secret::expose);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, text) in Endpoint::headers(format, key) {
        let mut value = HeaderValue::from_str(&text).map_err(|_| LlmError::BadKey)?;
        value.set_sensitive(key.is_some_and(|key| text.contains(key)));
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("format", &self.format)
            .field("url", &self.url.as_str())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
