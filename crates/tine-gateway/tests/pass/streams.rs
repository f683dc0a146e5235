//! Streams: their ends, their breaks, and what is in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tine_gateway::{Format, Gateway};
use tine_testkit::until_some_async;

use crate::wire::{CHUNKED, Provider, Wire, path};

/// Bytes of a long body.
const LONG: usize = 100 << 20;

/// Bytes that two kernels' buffers and the gateway may hold of a body: 6 MiB that Linux lets a socket receive, 4 that it lets it send,
/// and less than one here.
const IN_FLIGHT_MAX: usize = 16 << 20;

/// Looks at a count after which nothing moves any more.
const LOOKS: usize = 25;

/// A request that has arrived, at both ends.
async fn begun(provider: &Provider, gateway: &Gateway) -> (Wire, Wire) {
    let mut host = Wire::host(gateway).await;
    let base = path(gateway, Format::Anthropic);
    host.send(format!("GET {base}/x HTTP/1.1\r\nhost: x\r\n\r\n")).await;
    let mut upstream = provider.accept().await;
    upstream.head().await;
    (host, upstream)
}

/// A stream of which the first event has arrived.
async fn streaming(provider: &Provider, gateway: &Gateway) -> (Wire, Wire) {
    let (mut host, mut upstream) = begun(provider, gateway).await;
    upstream.send(CHUNKED).await;
    upstream.send_chunk(b"event").await;
    host.head().await;
    assert_eq!(host.chunk().await, b"event");
    (host, upstream)
}

#[tokio::test]
async fn a_stream_that_breaks_upstream_breaks_for_the_host() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let (host, upstream) = streaming(&provider, &gateway).await;
    upstream.reset();
    assert_eq!(host.closed().await, b"", "no last chunk");
    let (host, upstream) = streaming(&provider, &gateway).await;
    drop(upstream);
    assert_eq!(host.closed().await, b"", "no last chunk");

    let (mut host, mut upstream) = begun(&provider, &gateway).await;
    upstream.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nfive!").await;
    host.head().await;
    assert_eq!(host.bytes(5).await, b"five!");
    drop(upstream);
    assert_eq!(host.closed().await, b"");
}

#[tokio::test]
async fn a_host_that_hangs_up_ends_the_request_upstream() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let (host, upstream) = begun(&provider, &gateway).await;
    drop(host);
    assert_eq!(upstream.closed().await, b"");
    let (host, upstream) = streaming(&provider, &gateway).await;
    drop(host);
    assert_eq!(upstream.closed().await, b"");
}

#[tokio::test]
async fn stopping_gives_up_streams_and_frees_the_port() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let (host, upstream) = streaming(&provider, &gateway).await;
    let url = gateway.base_url(Format::Anthropic);
    gateway.stop().await;
    assert_eq!(host.closed().await, b"", "no last chunk");
    assert_eq!(upstream.closed().await, b"");
    let address = url.split('/').nth(2).unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn redirects_and_refusals_are_the_hosts_to_read() {
    for status in ["307 Temporary Redirect", "429 Too Many Requests", "529 Overloaded"] {
        let provider = Provider::new();
        let gateway = provider.gateway().await;
        let (mut host, mut upstream) = begun(&provider, &gateway).await;
        let head = format!("HTTP/1.1 {status}\nlocation: /y\nretry-after: 3\ncontent-length: 2");
        upstream.send(format!("{}\r\n\r\n{{}}", head.replace('\n', "\r\n"))).await;
        assert_eq!(host.head().await, head);
        assert_eq!(host.bytes(2).await, b"{}");
    }
}

/// Sends `LONG` bytes in a task and counts them.
fn send_long(mut from: Wire) -> (Arc<AtomicUsize>, tokio::task::JoinHandle<Wire>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    #[expect(clippy::disallowed_methods, reason = "a test's own task, which it joins")]
    let task = tokio::spawn(async move {
        let bytes = vec![b'x'; 1 << 20];
        while counted.load(Ordering::SeqCst) < LONG {
            let left = LONG - counted.load(Ordering::SeqCst);
            let count = from.try_send(&bytes[..left.min(bytes.len())]).await.unwrap();
            counted.fetch_add(count, Ordering::SeqCst);
        }
        from
    });
    (sent, task)
}

/// Waits until no more is sent, because nobody reads, and returns how much was.
async fn held_up(sent: &AtomicUsize) -> usize {
    let (mut last, mut same) = (0, 0);
    until_some_async("a sender that waits", async || {
        let now = sent.load(Ordering::SeqCst);
        assert!(now < LONG, "all was sent, and nothing read");
        same = if now == last && now > 0 { same + 1 } else { 0 };
        last = now;
        (same == LOOKS).then_some(now)
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_reply_waits_for_a_host_that_does_not_read() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let (mut host, mut upstream) = begun(&provider, &gateway).await;
    upstream.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {LONG}\r\n\r\n")).await;
    host.head().await;
    let (sent, task) = send_long(upstream);
    let in_flight = held_up(&sent).await;
    assert!(in_flight < IN_FLIGHT_MAX, "{in_flight} bytes in flight");
    let mut read = 0;
    while read < LONG {
        read += host.bytes((LONG - read).min(1 << 20)).await.len();
        let in_flight = sent.load(Ordering::SeqCst).saturating_sub(read);
        assert!(in_flight < IN_FLIGHT_MAX, "{in_flight} bytes in flight");
    }
    drop(task.await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_request_waits_for_an_upstream_that_does_not_read() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let mut host = Wire::host(&gateway).await;
    let base = path(&gateway, Format::OpenAi);
    let head = format!("POST {base}/files HTTP/1.1\r\nhost: x\r\ncontent-length: {LONG}\r\n\r\n");
    host.send(head).await;
    let mut upstream = provider.accept().await;
    upstream.head().await;
    let (sent, task) = send_long(host);
    let in_flight = held_up(&sent).await;
    assert!(in_flight < IN_FLIGHT_MAX, "{in_flight} bytes in flight");
    let mut read = 0;
    while read < LONG {
        read += upstream.bytes((LONG - read).min(1 << 20)).await.len();
    }
    let mut host = task.await.unwrap();
    upstream.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(host.head().await, "HTTP/1.1 200 OK\ncontent-length: 0");
}

#[tokio::test]
async fn two_hundred_streams_run_side_by_side() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let mut streams = Vec::new();
    for _ in 0..200 {
        streams.push(streaming(&provider, &gateway).await);
    }
    for (number, (host, upstream)) in streams.iter_mut().enumerate().rev() {
        let event = format!("event {number}");
        upstream.send_chunk(event.as_bytes()).await;
        assert_eq!(host.chunk().await, event.as_bytes());
    }
}
