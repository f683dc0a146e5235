//! The HTTP client against a server that writes raw bytes.

#![expect(
    clippy::unwrap_used,
    reason = "a test ends where its expectation ends, in its helpers too"
)]

mod answers;
mod breaks;
mod formats;
mod probes;
mod rates;
mod refusals;
mod requests;
mod server;
mod usage;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tine_history::History;
use tine_llm::{
    HttpClient, HttpLimits, HttpOptions, LlmClient, LlmError, Progress, RateGates, Request,
    RetryLimits, Secret,
};
use tine_model::{EntryId, Message, ModelSettings, WireFormat};
use tine_wire::{Head, HeadParts, Reply, RequestOptions, assemble};
use tokio_util::sync::CancellationToken;

const KEY: &str = "sk-secret-0123456789";

/// Limits that no test waits for, and waits that no test notices.
fn limits() -> HttpLimits {
    let retry = RetryLimits {
        tries: 4,
        tries_unreachable: 2,
        backoff_first: Duration::from_micros(10),
        backoff_max: Duration::from_micros(20),
        jitter_seed: Some(1),
        ..RetryLimits::default()
    };
    HttpLimits { retry, ..HttpLimits::default() }
}

fn client(base_url: &str, limits: HttpLimits) -> HttpClient {
    client_of("anthropic/claude-x", base_url, limits, &RateGates::new())
}

fn client_of(model: &str, base_url: &str, limits: HttpLimits, gates: &RateGates) -> HttpClient {
    let (model, base_url, key) = (model.parse().unwrap(), base_url.to_owned(), Secret::new(KEY));
    HttpClient::new(HttpOptions { model, base_url, key: Some(key), limits }, gates).unwrap()
}

/// A request of one user message.
fn request(text: &str) -> Request {
    request_in(WireFormat::Anthropic, text)
}

/// A request of one user message in any format.
fn request_in(format: WireFormat, text: &str) -> Request {
    let head = head(format);
    let body = assemble(&head, &mut history(text), &RequestOptions::default());
    Request::new(format, &body)
}

fn history(text: &str) -> History {
    let mut history = History::new();
    history.push(EntryId(1), Arc::new(Message::user(text)));
    history
}

fn head(format: WireFormat) -> Head {
    let model = match format {
        WireFormat::Anthropic => "anthropic/claude-x",
        WireFormat::OpenAiChat => "openai-compat/m",
        WireFormat::OpenAiChatParts => "openai-chat/gpt-6",
        WireFormat::OpenAiResponses => "openai/gpt-6",
        WireFormat::Gemini => "gemini/m",
    };
    let settings = ModelSettings {
        model: model.parse().unwrap(),
        max_tokens: 100,
        thinking: None,
        effort: None,
    };
    let head = Head::render(HeadParts::new(settings, "Be brief.".into(), Vec::new()));
    assert_eq!(head.format(), format);
    head
}

/// What a request led to: the result, and what was reported on the way, a line each.
struct Outcome {
    result: Result<Reply, LlmError>,
    log: Vec<String>,
    /// Length of the log at each report that a reply began.
    begun: Vec<usize>,
}

impl Outcome {
    fn text(&self) -> String {
        self.result.as_ref().unwrap().message.text()
    }

    fn error(&self) -> &LlmError {
        self.result.as_ref().unwrap_err()
    }

    /// The text that had arrived before the error.
    fn partial_text(&self) -> Option<String> {
        Some(self.error().partial()?.message.as_ref()?.text())
    }

    /// The error and its causes, as a person reads them.
    fn words(&self) -> String {
        let mut error: &dyn Error = self.error();
        let mut words = error.to_string();
        while let Some(source) = error.source() {
            words += &format!(": {source}");
            error = source;
        }
        words
    }

    fn retries(&self) -> usize {
        self.log.iter().filter(|line| line.starts_with("retry")).count()
    }
}

async fn send(client: &HttpClient, cancel: &CancellationToken) -> Outcome {
    send_and(client, cancel, |_| {}).await
}

/// Sends, and shows each line of the log to `watch`.
async fn send_and(
    client: &HttpClient,
    cancel: &CancellationToken,
    mut watch: impl FnMut(&str) + Send,
) -> Outcome {
    let (mut log, mut begun) = (Vec::new(), Vec::new());
    let mut on_progress = |progress: Progress<'_>| {
        let line = match progress {
            Progress::Event(event) => format!("{event:?}"),
            Progress::Begun { .. } => {
                begun.push(log.len());
                return;
            }
            Progress::Held { reason, .. } => format!("held: {}", reason.as_str()),
            Progress::Retry { attempt, cause, .. } => format!("retry after try {attempt}: {cause}"),
        };
        watch(&line);
        log.push(line);
    };
    let result = client.send(&request("Hi"), &mut on_progress, cancel).await;
    let outcome = Outcome { result, log, begun };
    let shown = format!("{:?} {:?} {:?}", outcome.result, outcome.log, client);
    assert!(!shown.contains(KEY), "the key is shown: {shown}");
    outcome
}

/// Sends to a server under the usual limits.
async fn send_to(server: &server::Server) -> Outcome {
    send(&client(&server.base_url, limits()), &CancellationToken::new()).await
}
