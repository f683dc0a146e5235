//! The client against the simulator: an independent reading of every format, streamed and in one piece, at base URLs with and
//! without a version.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::sync::Arc;

use tine_history::History;
use tine_llm::{
    HttpClient, HttpOptions, HttpOverrides, LlmClient as _, Progress, RateGates, Request, Secret,
};
use tine_model::{EntryId, Message, ModelSettings, WireFormat};
use tine_sim::{CapturedRequest, Scenario, SimOptions, SimServer};
use tine_wire::{Event, Head, HeadParts, RequestOptions, assemble};
use tokio_util::sync::CancellationToken;

/// A model of each format, and the base URLs below the server's address that lead to it.
const MODELS: [(&str, WireFormat, &[&str]); 7] = [
    ("anthropic/echo", WireFormat::Anthropic, &["", "/", "/v1", "/v1/"]),
    ("minimax/echo", WireFormat::Anthropic, &["", "/v1"]),
    ("openai/echo", WireFormat::OpenAiResponses, &["", "/v1", "/v1/"]),
    ("openai-chat/echo", WireFormat::OpenAiChatParts, &["", "/v1"]),
    ("openai-compat/echo", WireFormat::OpenAiChat, &["", "/v1", "/v1/"]),
    ("deepseek/echo", WireFormat::OpenAiChat, &["", "/v1"]),
    ("gemini/echo", WireFormat::Gemini, &["", "/", "/v1beta", "/v1beta/"]),
];

/// One exchange; returns the head of what the server got.
async fn exchange(server: &SimServer, base_url: String, model: &str, stream: bool) -> String {
    let what = format!("{model} {stream} {base_url}");
    let settings = ModelSettings {
        model: model.parse().unwrap(),
        max_tokens: 1_000,
        thinking: None,
        effort: None,
    };
    let key = Some(Secret::new("sk-sim"));
    let overrides = HttpOverrides { base_url: Some(base_url), key, limits: None };
    let options = HttpOptions::from_environment(&settings.model, &|_| None, overrides).unwrap();
    let client = HttpClient::new(options, &RateGates::new()).unwrap();
    let (system, tools) = ("Be brief.".to_owned(), Vec::new());
    let head = Head::render(HeadParts { stream, ..HeadParts::new(settings, system, tools) });
    let mut history = History::new();
    history.push(EntryId(1), Arc::new(Message::user("Good morning")));
    let assembled = assemble(&head, &mut history, &RequestOptions::default());
    let request = Request { stream, ..Request::new(head.format(), &assembled) };

    let (mut text, mut pieces) = (String::new(), 0);
    let mut on_progress = |progress: Progress<'_>| {
        if let Progress::Event(Event::Text { delta }) = progress {
            text += delta;
            pieces += 1;
        }
    };
    let cancel = CancellationToken::new();
    let reply = client.send(&request, &mut on_progress, &cancel).await.unwrap();
    assert!(text.starts_with("Good morning\n"), "{what}: {text}");
    assert_eq!(reply.message.text(), text, "{what}");
    assert_eq!(pieces > 1, stream, "{what}: {pieces} pieces");
    assert!(reply.usage.prompt() > 0 && reply.usage.output > 0, "{what}: {:?}", reply.usage);
    assert!(reply.dropped.is_empty(), "{what}");
    let sent: CapturedRequest = server.requests().pop().unwrap();
    assert!(sent.body == assembled.body.to_vec(), "{what}: the bytes differ");
    sent.path
}

#[tokio::test]
async fn the_simulator_echoes_in_every_format_streamed_and_whole() {
    let scenario = Scenario::built_in("echo").unwrap();
    let server = SimServer::start(SimOptions::new(scenario)).await.unwrap();
    let mut paths = Vec::new();
    for (model, format, bases) in MODELS {
        assert_eq!(model.parse::<tine_model::ModelRef>().unwrap().format(), format);
        for base in bases {
            for stream in [true, false] {
                let base_url = format!("{}{base}", server.base_url());
                paths.push(format!("{model} {}", exchange(&server, base_url, model, stream).await));
            }
        }
    }
    assert!(WireFormat::ALL.iter().all(|format| MODELS.iter().any(|model| model.1 == *format)));
    paths.sort();
    paths.dedup();
    insta::assert_snapshot!(paths.join("\n"), @"
    anthropic/echo /v1/messages
    deepseek/echo /chat/completions
    deepseek/echo /v1/chat/completions
    gemini/echo /v1beta/models/echo:generateContent
    gemini/echo /v1beta/models/echo:streamGenerateContent
    minimax/echo /v1/messages
    openai-chat/echo /chat/completions
    openai-chat/echo /v1/chat/completions
    openai-compat/echo /chat/completions
    openai-compat/echo /v1/chat/completions
    openai/echo /responses
    openai/echo /v1/responses
    ");
    server.shutdown().await;
}
