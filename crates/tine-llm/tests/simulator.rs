//! The client against the simulator: an independent reading of both formats, streamed and in one piece.

use std::sync::Arc;

use tine_history::History;
use tine_llm::{HttpClient, HttpOptions, HttpOverrides, LlmClient as _, Progress, Request, Secret};
use tine_model::{EntryId, Message, ModelSettings};
use tine_sim::{Scenario, SimOptions, SimServer};
use tine_wire::{Event, Head, HeadParts, MarkPoints, assemble};
use tokio_util::sync::CancellationToken;

#[tokio::test]
async fn the_simulator_echoes_in_both_formats_streamed_and_whole() {
    let scenario = Scenario::built_in("echo").unwrap();
    let server = SimServer::start(SimOptions::new(scenario)).await.unwrap();
    for (model, version) in [("anthropic/echo", ""), ("openai-compat/echo", "/v1")] {
        for stream in [true, false] {
            let settings = ModelSettings {
                model: model.parse().unwrap(),
                max_tokens: 1_000,
                thinking: None,
                effort: None,
            };
            let provider = settings.model.provider;
            let base_url = Some(format!("{}{version}", server.base_url()));
            let key = Some(Secret::new("sk-sim"));
            let overrides = HttpOverrides { base_url, key, limits: None };
            let options = HttpOptions::from_environment(provider, &|_| None, overrides).unwrap();
            let client = HttpClient::new(options).unwrap();
            let (system, tools) = ("Be brief.".to_owned(), Vec::new());
            let head = Head::render(HeadParts { settings, system, tools, stream });
            let mut history = History::new();
            history.push(EntryId(1), Arc::new(Message::user("Good morning")));
            let assembled = assemble(&head, &mut history, MarkPoints::default());
            let request = Request::new(head.format(), &assembled);

            let mut text = String::new();
            let mut on_progress = |progress: Progress<'_>| {
                if let Progress::Event(Event::Text { delta }) = progress {
                    text += delta;
                }
            };
            let cancel = CancellationToken::new();
            let reply = client.send(&request, &mut on_progress, &cancel).await.unwrap();
            assert!(text.starts_with("Good morning\n"), "{model} {stream}: {text}");
            assert_eq!(reply.message.text(), text, "{model} {stream}");
            assert!(reply.usage.prompt() > 0, "{model} {stream}: {:?}", reply.usage);
            let sent = server.requests();
            assert!(sent.last().unwrap().body == assembled.body.to_vec(), "the bytes differ");
        }
    }
    server.shutdown().await;
}
