//! What the socket tests share: a server, a client, requests.
#![expect(clippy::expect_used, reason = "a failure here is a failure of the test that called")]

use std::path::Path;
use std::sync::{Arc, Once};

use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use tine_sim::{ManualClock, Scenario, SimOptions, SimServer};

/// A reply, read as far as it went.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// Whether the body ended as it should.
    pub(crate) is_complete: bool,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

pub(crate) fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Fails only when another test was first.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

pub(crate) fn options(scenario: &str) -> SimOptions {
    SimOptions::new(Scenario::parse(scenario, "test").expect("a scenario"))
}

pub(crate) async fn start(scenario: &str) -> SimServer {
    SimServer::start(options(scenario)).await.expect("a server")
}

pub(crate) async fn manual(scenario: &str) -> (SimServer, Arc<ManualClock>) {
    let clock = Arc::new(ManualClock::new(1_000_000));
    let options = SimOptions { clock: clock.clone(), ..options(scenario) };
    (SimServer::start(options).await.expect("a server"), clock)
}

pub(crate) async fn logged(scenario: &str, directory: &Path) -> SimServer {
    let clock = Arc::new(ManualClock::new(1_000_000));
    let log_bodies = Some(directory.to_owned());
    let options = SimOptions { clock, log_bodies, ..options(scenario) };
    SimServer::start(options).await.expect("a server")
}

pub(crate) fn ephemeral() -> Value {
    json!({"type": "ephemeral"})
}

pub(crate) fn ask(content: Value) -> Value {
    json!({"model": "m", "max_tokens": 500, "messages": [{"role": "user", "content": content}]})
}

pub(crate) fn chat_ask(content: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": content}]})
}

/// A request of any method with Google's header for the key; gives the status and the JSON body.
pub(crate) async fn send_as(
    server: &SimServer,
    method: Method,
    path: &str,
    body: Value,
) -> (u16, Value) {
    let request = client().request(method, format!("{}{path}", server.base_url()));
    let request = request.header("x-goog-api-key", "key").body(body.to_string());
    let response = request.send().await.expect("a response");
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (status, serde_json::from_str(&text).expect("a JSON body"))
}

/// A Responses request whose input parts are marked where `marked` says, in explicit mode.
pub(crate) fn input(parts: &[(&str, bool)]) -> Value {
    let part = |(text, marked): &(&str, bool)| match marked {
        false => json!({"type": "input_text", "text": text}),
        true => {
            json!({"type": "input_text", "text": text, "prompt_cache_breakpoint": {"mode": "explicit"}})
        }
    };
    let parts: Vec<Value> = parts.iter().map(part).collect();
    json!({
        "model": "gpt-6.1-sol",
        "prompt_cache_options": {"mode": "explicit"},
        "input": [{"role": "user", "content": parts}],
    })
}

/// Read and written tokens of a Responses or Chat reply.
pub(crate) fn read_and_written(reply: &Reply) -> (u64, u64) {
    let usage = &reply.json()["usage"];
    let details = match usage.get("input_tokens_details") {
        Some(details) => details,
        None => &usage["prompt_tokens_details"],
    };
    let of = |key: &str| details[key].as_u64().expect("a count");
    (of("cached_tokens"), of("cache_write_tokens"))
}

/// What a Messages request is billed: input, read, written short, written long.
pub(crate) async fn billed(server: &SimServer, body: &Value) -> [u64; 4] {
    let usage = post(server, "/v1/messages", body).await.json()["usage"].clone();
    let written = &usage["cache_creation"];
    [
        &usage["input_tokens"],
        &usage["cache_read_input_tokens"],
        &written["ephemeral_5m_input_tokens"],
        &written["ephemeral_1h_input_tokens"],
    ]
    .map(|tokens| tokens.as_u64().expect("a count"))
}

/// The `event:` lines of a stream.
pub(crate) fn events(reply: &Reply) -> Vec<String> {
    let text = reply.text();
    text.lines().filter_map(|line| line.strip_prefix("event: ")).map(str::to_owned).collect()
}

pub(crate) async fn post(server: &SimServer, path: &str, body: &Value) -> Reply {
    post_text(server, path, &body.to_string()).await
}

pub(crate) async fn post_text(server: &SimServer, path: &str, body: &str) -> Reply {
    try_post(server, path, body).await.expect("a response")
}

/// A Messages request that asks for a beta, among others.
pub(crate) async fn with_beta(server: &SimServer, beta: &str, body: &Value) -> Reply {
    let request = request(server, "/v1/messages").header("anthropic-beta", format!("x-1, {beta}"));
    send(request, &body.to_string()).await.expect("a response")
}

/// A Messages request of another version of the API.
pub(crate) async fn with_version(server: &SimServer, version: &str, body: &Value) -> Reply {
    let request = client().post(format!("{}/v1/messages", server.base_url()));
    let request = request.bearer_auth("key").header("anthropic-version", version);
    send(request, &body.to_string()).await.expect("a response")
}

pub(crate) async fn try_post(server: &SimServer, path: &str, body: &str) -> reqwest::Result<Reply> {
    send(request(server, path), body).await
}

fn request(server: &SimServer, path: &str) -> reqwest::RequestBuilder {
    let request = client().post(format!("{}{path}", server.base_url()));
    request.bearer_auth("key").header("anthropic-version", "2026-10-21")
}

async fn send(request: reqwest::RequestBuilder, body: &str) -> reqwest::Result<Reply> {
    let mut response = request.body(body.to_owned()).send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    let is_complete = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    Ok(Reply { status, headers, body, is_complete })
}
