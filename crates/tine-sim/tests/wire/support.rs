//! What the socket tests share: a server, a client, requests.
#![expect(clippy::expect_used, reason = "a failure here is a failure of the test that called")]

use std::path::Path;
use std::sync::{Arc, Once};

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

pub(crate) async fn post(server: &SimServer, path: &str, body: &Value) -> Reply {
    post_text(server, path, &body.to_string()).await
}

pub(crate) async fn post_text(server: &SimServer, path: &str, body: &str) -> Reply {
    try_post(server, path, body).await.expect("a response")
}

pub(crate) async fn try_post(server: &SimServer, path: &str, body: &str) -> reqwest::Result<Reply> {
    let request = client().post(format!("{}{path}", server.base_url()));
    let request = request.bearer_auth("key").header("anthropic-version", "2026-10-21");
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
