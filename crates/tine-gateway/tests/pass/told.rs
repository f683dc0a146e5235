//! Steps that an observer is told of.

use std::sync::{Arc, Mutex};

use tine_gateway::{Format, Gateway, Passed, Threads};
use tine_testkit::until_some_async;

use crate::wire::{CHUNKED, Provider, Wire, path};

/// Steps that were told of, each in a line.
#[derive(Default, Clone)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    async fn gateway(&self, provider: &Provider, threads: Threads) -> Gateway {
        let told = Arc::clone(&self.0);
        provider
            .observed(threads, Arc::new(move |passed| told.lock().unwrap().push(line(&passed))))
            .await
    }

    /// The steps, once there are so many.
    async fn steps(&self, count: usize) -> Vec<String> {
        until_some_async("steps", async || {
            let told = self.0.lock().unwrap();
            (told.len() >= count).then(|| told.clone())
        })
        .await
    }
}

fn line(passed: &Passed) -> String {
    match passed {
        Passed::Request { exchange, format, path, headers, body } => {
            let key = headers.get("x-api-key").map_or("-", |key| key.to_str().unwrap());
            format!("{exchange} {format:?} {path} {key} {}", String::from_utf8_lossy(body))
        }
        Passed::Begun { exchange, status, .. } => format!("{exchange} {status}"),
        Passed::Ended { exchange, body, is_complete } => {
            let body = body.as_ref().map(|parts| parts.concat());
            let body = body.map(|body| String::from_utf8(body).unwrap());
            format!("{exchange} {body:?} {is_complete}")
        }
    }
}

/// A host that has sent this, and the provider's end of it.
async fn posted(provider: &Provider, gateway: &Gateway, body: &str) -> (Wire, Wire) {
    let mut host = Wire::host(gateway).await;
    let base = path(gateway, Format::Anthropic);
    let length = body.len();
    host.send(format!(
        "POST {base}/v1/messages?beta=true HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
    .await;
    let mut upstream = provider.accept().await;
    upstream.head().await;
    assert_eq!(upstream.bytes(length).await, body.as_bytes());
    (host, upstream)
}

#[tokio::test]
async fn a_request_is_told_of_before_it_is_answered_and_its_reply_at_its_end() {
    let (provider, told) = (Provider::new(), Told::default());
    let gateway = told.gateway(&provider, Threads::Refused).await;
    let (mut host, mut upstream) = posted(&provider, &gateway, "{}").await;
    assert_eq!(told.steps(1).await, ["0 Anthropic /v1/messages k {}"]);
    upstream.send(CHUNKED).await;
    upstream.send_chunk(b"one").await;
    host.head().await;
    assert_eq!(host.chunk().await, b"one");
    assert_eq!(told.steps(2).await[1..], ["0 200"]);
    upstream.send_chunk(b"two").await;
    upstream.send("0\r\n\r\n").await;
    assert_eq!(told.steps(3).await[2..], [r#"0 Some("onetwo") true"#]);
}

#[tokio::test]
async fn a_reply_without_a_body_ends_with_its_head() {
    let (provider, told) = (Provider::new(), Told::default());
    let gateway = told.gateway(&provider, Threads::Refused).await;
    let (_host, mut upstream) = posted(&provider, &gateway, "{}").await;
    upstream.send("HTTP/1.1 429 x\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(told.steps(3).await[1..], ["0 429", r#"0 Some("") true"#]);
}

#[tokio::test]
async fn an_exchange_that_breaks_ends_all_the_same() {
    let (provider, told) = (Provider::new(), Told::default());
    let gateway = told.gateway(&provider, Threads::Refused).await;
    let (host, upstream) = posted(&provider, &gateway, "a").await;
    upstream.reset();
    assert_eq!(told.steps(2).await[1..], [r#"0 Some("") false"#]);
    drop(host);
    let (host, mut upstream) = posted(&provider, &gateway, "b").await;
    upstream.send(CHUNKED).await;
    upstream.send_chunk(b"one").await;
    told.steps(4).await;
    drop(host);
    assert_eq!(told.steps(5).await[4..], [r#"1 Some("one") false"#]);
}

#[tokio::test]
async fn a_long_reply_passes_and_is_not_told() {
    const PARTS: usize = 40;
    let (provider, told) = (Provider::new(), Told::default());
    let gateway = told.gateway(&provider, Threads::Refused).await;
    let (mut host, mut upstream) = posted(&provider, &gateway, "a").await;
    let part = vec![b'x'; 1 << 20];
    let length = PARTS << 20;
    let sending = async {
        upstream.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n")).await;
        for _ in 0..PARTS {
            upstream.send(part.clone()).await;
        }
    };
    let reading = async {
        host.head().await;
        host.bytes(length).await
    };
    let ((), read) = tokio::join!(sending, reading);
    assert!(read.iter().all(|byte| *byte == b'x'));
    assert_eq!(told.steps(3).await[2..], ["0 None true"]);
}

#[tokio::test]
async fn a_thread_that_is_passed_on_is_not_told_of() {
    let (provider, told) = (Provider::new(), Told::default());
    let gateway = told.gateway(&provider, Threads::PassedOn).await;
    let thread = r#"{"messages":[],"thread":{"type":"continue"}}"#;
    drop(posted(&provider, &gateway, thread).await);
    drop(posted(&provider, &gateway, "whole").await);
    assert_eq!(told.steps(1).await[0], "0 Anthropic /v1/messages k whole");
}
