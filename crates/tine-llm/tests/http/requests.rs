//! What goes out, and how a whole reply comes back.

use tine_llm::{LlmClient as _, Request};
use tokio_util::sync::CancellationToken;

use crate::server::{PING, Server, hello, stream};
use crate::{KEY, client, limits, request, send_to};

#[tokio::test]
async fn the_request_has_an_exact_length_and_exactly_the_bytes() {
    let server = Server::answering([hello()]);
    let large = request(&"x".repeat(300_000));
    let client = client(&server.base_url, limits());
    client.send(&large, &mut |_| {}, &CancellationToken::new()).await.unwrap();
    let sent = &server.requests()[0];
    assert!(sent.head.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{}", sent.head);
    assert_eq!(sent.header("content-length"), Some(large.body.len().to_string().as_str()));
    assert_eq!(sent.header("transfer-encoding"), None);
    assert_eq!(sent.header("accept-encoding"), None);
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert_eq!(sent.header("x-api-key"), Some(KEY));
    assert!(sent.body == large.body.to_vec(), "the bytes differ");
}

#[tokio::test]
async fn a_request_carries_its_own_headers_and_none_of_the_clients() {
    let server = Server::answering([hello()]);
    let with = |name: &str, value: &str| Request {
        headers: [(name.to_owned(), value.to_owned())].into(),
        ..request("hi")
    };
    let (client, cancel) = (client(&server.base_url, limits()), CancellationToken::new());
    client.send(&with("Anthropic-Beta", "x-1"), &mut |_| {}, &cancel).await.unwrap();
    for (name, value) in
        [("X-Api-Key", "other"), ("content-length", "1"), ("a b", "x"), ("a", "x\n")]
    {
        let error = client.send(&with(name, value), &mut |_| {}, &cancel).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the header `{name}` cannot be sent with a request"));
    }
    let sent = server.requests();
    assert_eq!(sent.len(), 1, "no bad one was sent");
    assert!(sent[0].head.to_lowercase().contains("anthropic-beta: x-1\r\n"), "{}", sent[0].head);
}

#[tokio::test]
async fn a_retry_sends_the_same_bytes_again() {
    let server = Server::answering([Vec::new(), hello()]);
    assert_eq!(send_to(&server).await.text(), "Hello");
    let sent = server.requests();
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0].body, sent[1].body);
}

#[tokio::test]
async fn a_streamed_reply_is_reported_as_it_comes() {
    let outcome = send_to(&Server::answering([hello()])).await;
    assert_eq!(outcome.text(), "Hello");
    insta::assert_snapshot!(outcome.log.join("\n"), @r#"
    Started { id: Some("msg_1"), model: Some("m"), usage: Usage { uncached: 7, write_short: None, write_long: None, read: None, output: 1, reasoning: None } }
    Ping
    Other
    Text { delta: "Hello" }
    BlockDone { index: 0 }
    Other
    Other
    "#);
}

#[tokio::test]
async fn the_beginning_of_the_reply_is_reported_once_and_first() {
    let outcome = send_to(&Server::answering([stream(&[PING]), hello()])).await;
    // The ping and the retry come before it, the event that begins the reply right behind it.
    assert_eq!(outcome.begun, [2]);
    assert!(outcome.log[2].starts_with("Started"), "{:?}", outcome.log);
}
