//! The client for providers behind an address: it sends, and sends again where that is right.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Url};
use tine_model::{Provider, WireFormat};
use tine_wire::{Body, Endpoint, Reply};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::client::CACHED_CONTENT;
use crate::http::address::Address;
use crate::http::body::ChainBody;
use crate::http::cached;
use crate::http::exchange::Exchange;
use crate::http::failing::transport;
use crate::http::gate::{Permit, RateGate, RateGates};
use crate::http::options::speaks;
use crate::http::retry::{Retry, Waits};
use crate::http::tries::Tries;
use crate::http::watch::Watch;
use crate::{
    HttpLimits, HttpOptions, LlmClient, LlmError, Progress, Request, Secret, ensure_crypto,
};

/// How tine introduces itself.
pub(crate) const USER_AGENT: &str = concat!("tine/", env!("CARGO_PKG_VERSION"));

/// A model behind an address. One is enough for any number of agents: requests run side by side and share connections. It takes
/// requests in every format of its provider.
///
/// Proxies come from the usual environment variables, except for loopback addresses. Redirects are not followed, because
/// that would send a paid request twice, and its key to another place. Answers are not asked for in compressed form,
/// because compression would hold back the events of a stream.
pub struct HttpClient {
    provider: Provider,
    /// The provider's name for the model.
    model: String,
    address: Address,
    /// For each format, by its index.
    headers: Vec<HeaderMap>,
    key: Secret,
    limits: HttpLimits,
    client: Client,
    gate: Arc<RateGate>,
    /// Number of requests so far; see [`Waits::new`].
    requests: AtomicU64,
}

impl HttpClient {
    /// A client for one model. Connects to nothing yet. All clients of a process should get the same `gates`, so that those of one
    /// account and model share a gate.
    pub fn new(options: HttpOptions, gates: &RateGates) -> Result<Self, LlmError> {
        Self::through(options, gates, None)
    }

    /// A client whose connections are made to a Unix socket, where one is given. The base URL must be one of plain HTTP then, and its host
    /// means nothing.
    pub fn through(
        options: HttpOptions,
        gates: &RateGates,
        socket: Option<&Path>,
    ) -> Result<Self, LlmError> {
        ensure_crypto();
        let HttpOptions { model, base_url, key, limits } = options;
        let address = Address::parse(&base_url)?;
        let formats = WireFormat::ALL.into_iter();
        let headers = formats.map(|format| headers(format, key.as_ref())).collect::<Result<_, _>>();
        let headers = headers?;
        let mut builder = Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(limits.connect)
            .redirect(Policy::none())
            .referer(false)
            .retry(reqwest::retry::never());
        if address.is_loopback() {
            builder = builder.no_proxy();
            if address.base().scheme() == "http" {
                // Without TLS there is nothing to verify, and a container without certificates is no obstacle.
                builder = builder.tls_certs_only([]);
            }
        }
        if let Some(socket) = socket {
            builder = builder.unix_socket(socket.to_owned());
        }
        let client =
            builder.build().map_err(|error| LlmError::Setup { source: transport(error) })?;
        let key = key.unwrap_or_else(|| Secret::new(""));
        let gate = gates.gate(address.base(), &key, &model.name);
        let (provider, model, requests) = (model.provider, model.name, AtomicU64::new(0));
        Ok(Self { provider, model, address, headers, key, limits, client, gate, requests })
    }

    fn tries<'a>(&'a self, watch: &'a Watch<'a>) -> Tries<'a> {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        Tries::new(watch, &self.gate, Waits::new(&self.limits.retry, number))
    }

    fn request(&self, method: Method, url: &Url, format: WireFormat) -> RequestBuilder {
        let headers = self.headers.get(format.index()).cloned().unwrap_or_default();
        self.client.request(method, url.clone()).headers(headers)
    }

    /// A call that is no request to the model, in Gemini's format.
    async fn call(
        &self,
        method: Method,
        url: Url,
        body: Option<&Body>,
    ) -> Result<Vec<u8>, LlmError> {
        let format = WireFormat::Gemini;
        if !speaks(self.provider, format) {
            return Err(LlmError::Unsupported { what: CACHED_CONTENT });
        }
        let cancel = CancellationToken::new();
        let watch = Watch::new(&self.limits, &cancel);
        let mut tries = self.tries(&watch);
        loop {
            let permit = tries.enter(&mut |_| {}).await?;
            let mut request = self.request(method.clone(), &url, format);
            if let Some(body) = body {
                request = request.body(chain(body));
            }
            let exchange = exchange(format, &url, &watch, &permit);
            match exchange.call(request.send()).await {
                Ok(bytes) => return Ok(bytes),
                Err(mut failed) => {
                    if body.is_some() && matches!(failed.error, LlmError::Broken { .. }) {
                        // The content may exist already, and a second one would be paid for without anybody knowing its name.
                        failed.retry = Retry::Never;
                    }
                    tries.after(failed.redacted(&self.key), permit, &mut |_| {}).await?;
                }
            }
        }
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
        let format = request.format;
        if !speaks(self.provider, format) {
            return Err(LlmError::WrongFormat { request: format, provider: self.provider });
        }
        let usual = self.headers.get(format.index()).cloned().unwrap_or_default();
        let headers = with_own(&usual, &request.headers)?;
        let url = self.address.of_requests(format, &self.model, request.stream);
        let watch = Watch::new(&self.limits, cancel);
        let mut tries = self.tries(&watch);
        loop {
            let permit = tries.enter(on_progress).await?;
            let posted = self.request(Method::POST, &url, format).headers(headers.clone());
            let sending = posted.body(chain(&request.body)).send();
            let exchange = exchange(format, &url, &watch, &permit);
            match exchange.run(sending, on_progress).await {
                Ok(reply) => return Ok(reply),
                Err(failed) => {
                    tries.after(failed.redacted(&self.key), permit, on_progress).await?;
                }
            }
        }
    }

    fn patience(&self) -> Duration {
        self.limits.retry.patience
    }

    fn backoff(&self) -> Duration {
        self.limits.retry.backoff_first
    }

    async fn create_cached_content(&self, body: Body) -> Result<Vec<u8>, LlmError> {
        self.call(Method::POST, self.address.below(cached::CREATE_PATH), Some(&body)).await
    }

    async fn delete_cached_content(&self, name: &str) -> Result<(), LlmError> {
        let path = cached::path_of(name)?;
        self.call(Method::DELETE, self.address.below(&path), None).await.map(|_| ())
    }
}

/// A try that is sent now.
fn exchange<'a>(
    format: WireFormat,
    url: &'a Url,
    watch: &'a Watch<'a>,
    permit: &'a Permit,
) -> Exchange<'a> {
    let (url, sent) = (url.as_str(), Instant::now());
    Exchange { format, url, watch, sent, first: watch.first_event(), end: watch.reply(), permit }
}

fn chain(body: &Body) -> reqwest::Body {
    reqwest::Body::wrap(ChainBody::new(body.slices()))
}

/// The headers of every request in a format. The key's header is marked so that no log prints it.
pub(crate) fn headers(format: WireFormat, key: Option<&Secret>) -> Result<HeaderMap, LlmError> {
    let is_token = key.is_some_and(Secret::is_token);
    let key = key.map(Secret::expose);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, text) in Endpoint::headers(format, key, is_token) {
        let mut value = HeaderValue::from_str(&text).map_err(|_| LlmError::BadKey)?;
        value.set_sensitive(key.is_some_and(|key| text.contains(key)));
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

/// The usual headers and those of one request. A header that takes a list (`anthropic-beta`) may stand in both; the key, and what
/// describes the body, are not the request's to say.
fn with_own(usual: &HeaderMap, asked: &[(String, String)]) -> Result<HeaderMap, LlmError> {
    let mut headers = usual.clone();
    for (name, value) in asked {
        let bad =
            || LlmError::BadHeader { name: name.chars().filter(|c| !c.is_control()).collect() };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let is_key = usual.get(&name).is_some_and(HeaderValue::is_sensitive);
        if is_key || [CONTENT_TYPE, CONTENT_LENGTH, HOST].contains(&name) {
            return Err(bad());
        }
        let value = HeaderValue::from_str(value).map_err(|_| bad())?;
        if Endpoint::is_single(name.as_str()) {
            headers.insert(name, value);
        } else {
            headers.append(name, value);
        }
    }
    Ok(headers)
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("base_url", &self.address.base().as_str())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
