//! One client, every format of its provider: paths, headers, and the calls that are no requests to the model.

use tine_llm::{HttpLimits, LlmClient as _, LlmError, RateGates, Request};
use tine_model::WireFormat;
use tine_testkit::{Canned, CaptureServer, HttpRequest};
use tine_wire::{Body, FailureKind, cached_content};
use tokio_util::sync::CancellationToken;

use crate::{KEY, client_of, head, history, limits, request_in};

const NOT_FOUND: &str = r#"{"error":{"code":404,"message":"gone","status":"NOT_FOUND"}}"#;

/// What a client of `model` sends in a format: the request's line and the header that holds the key.
async fn sent(model: &str, base: &str, format: WireFormat, stream: bool) -> String {
    let server = CaptureServer::start([Canned::json(404, NOT_FOUND)]).await.unwrap();
    let base_url = server.base_url() + base;
    let client = client_of(model, &base_url, limits(), &RateGates::new());
    let request = Request { stream, ..request_in(format, "Hi") };
    let result = client.send(&request, &mut |_| {}, &CancellationToken::new()).await;
    assert!(matches!(result, Err(LlmError::Refused { .. })), "{result:?}");
    line(&server.requests()[0])
}

/// One message to be kept under a name.
fn content() -> Body {
    cached_content(&head(WireFormat::Gemini), &mut history("Hi"), 1, 300).unwrap()
}

fn line(request: &HttpRequest) -> String {
    let HttpRequest { method, path, headers, .. } = request;
    let key = headers.iter().find(|(_, value)| value.contains(KEY));
    format!("{method} {path} {}", key.map_or("no key", |(name, _)| name))
}

#[tokio::test]
async fn one_client_takes_every_format_at_a_bare_address() {
    let mut lines = Vec::new();
    for format in WireFormat::ALL {
        lines.push(sent("sim/echo@x", "", format, true).await);
    }
    lines.push(sent("sim/echo@x", "", WireFormat::Gemini, false).await);
    lines.push(sent("openai/m", "/v1", WireFormat::OpenAiChatParts, true).await);
    lines.push(sent("openai/m", "/v1", WireFormat::OpenAiResponses, true).await);
    lines.push(sent("minimax/m", "/anthropic", WireFormat::Anthropic, true).await);
    insta::assert_snapshot!(lines.join("\n"), @"
    POST /v1/messages x-api-key
    POST /chat/completions authorization
    POST /chat/completions authorization
    POST /responses authorization
    POST /v1beta/models/echo%40x:streamGenerateContent?alt=sse x-goog-api-key
    POST /v1beta/models/echo%40x:generateContent x-goog-api-key
    POST /v1/chat/completions authorization
    POST /v1/responses authorization
    POST /anthropic/v1/messages x-api-key
    ");
}

#[tokio::test]
async fn a_format_that_the_provider_does_not_speak_is_not_sent() {
    let client = client_of("anthropic/m", "http://127.0.0.1:1", limits(), &RateGates::new());
    let request = request_in(WireFormat::Gemini, "Hi");
    let error = client.send(&request, &mut |_| {}, &CancellationToken::new()).await.unwrap_err();
    insta::assert_snapshot!(error, @"provider `anthropic` does not take requests in the format gemini");
}

#[tokio::test]
async fn cached_content_is_made_and_deleted() {
    let made = r#"{"name":"cachedContents/abc"}"#;
    let answers = [
        Canned::json(429, NOT_FOUND),
        Canned::json(200, made),
        Canned::json(200, "{}"),
        Canned::new(204),
        Canned::json(404, NOT_FOUND),
    ];
    let server = CaptureServer::start(answers).await.unwrap();
    let client = client_of("gemini/m", &server.base_url(), limits(), &RateGates::new());
    let body = content();
    assert_eq!(client.create_cached_content(body.clone()).await.unwrap(), made.as_bytes());
    client.delete_cached_content("cachedContents/abc").await.unwrap();
    client.delete_cached_content("cachedContents/abc").await.unwrap();
    match client.delete_cached_content("cachedContents/abc").await {
        Err(LlmError::Refused { failure, .. }) => assert_eq!(failure.kind, FailureKind::NotFound),
        other => panic!("{other:?}"),
    }
    let bad = client.delete_cached_content("cachedContents/../x").await;
    assert!(matches!(bad, Err(LlmError::BadCachedName { .. })));
    let requests = server.requests();
    insta::assert_snapshot!(requests.iter().map(line).collect::<Vec<_>>().join("\n"), @"
    POST /v1beta/cachedContents x-goog-api-key
    POST /v1beta/cachedContents x-goog-api-key
    DELETE /v1beta/cachedContents/abc x-goog-api-key
    DELETE /v1beta/cachedContents/abc x-goog-api-key
    DELETE /v1beta/cachedContents/abc x-goog-api-key
    ");
    assert_eq!(requests[1].body, body.to_vec());
    assert!(requests[2].body.is_empty());
}

#[tokio::test]
async fn cached_content_that_may_exist_is_not_made_twice() {
    let cut = Canned::json(200, "{").break_off();
    let server = CaptureServer::start([cut, Canned::json(200, "{}")]).await.unwrap();
    let client = client_of("gemini/m", &server.base_url(), limits(), &RateGates::new());
    let made = client.create_cached_content(content()).await;
    assert!(matches!(made, Err(LlmError::Broken { .. })), "{made:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn other_providers_have_no_cached_content() {
    let (limits, gates) = (HttpLimits::default(), RateGates::new());
    let client = client_of("anthropic/m", "http://127.0.0.1:1", limits, &gates);
    let made = client.create_cached_content(content()).await.unwrap_err();
    insta::assert_snapshot!(made, @"this model's client has no cached content");
    let deleted = client.delete_cached_content("cachedContents/abc").await;
    assert!(matches!(deleted, Err(LlmError::Unsupported { .. })));
}
