//! Hosts that speak HTTP/2 without TLS.

use futures_util::StreamExt;
use reqwest::{Client, Response};
use tine_gateway::{Format, Gateway};

use crate::wire::{Provider, Wire};

fn client() -> Client {
    // An error means that another test was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().http2_prior_knowledge().no_proxy().tls_certs_only([]).build().unwrap()
}

/// A post of `body`, and the first event of its answer.
async fn streaming(client: &Client, provider: &Provider, gateway: &Gateway) -> (Response, Wire) {
    let url = format!("{}/v1/messages?beta=true", gateway.base_url(Format::Anthropic));
    let post = client.post(url).header("x-api-key", "k").body("{}").send();
    let answer = async {
        let mut upstream = provider.accept().await;
        let head = upstream.head().await;
        let expected = format!(
            "POST /v1/messages?beta=true HTTP/1.1\nhost: {}\nx-api-key: k\naccept: */*\ncontent-length: 2",
            provider.host()
        );
        assert_eq!(head, expected);
        assert_eq!(upstream.bytes(2).await, b"{}");
        upstream.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        upstream.send_chunk(b"event").await;
        upstream
    };
    let (reply, upstream) = tokio::join!(post, answer);
    (reply.unwrap(), upstream)
}

#[tokio::test]
async fn streams_of_one_connection_run_side_by_side() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let client = client();
    let mut streams = Vec::new();
    for _ in 0..20 {
        let (reply, upstream) = streaming(&client, &provider, &gateway).await;
        assert_eq!(reply.version(), reqwest::Version::HTTP_2);
        streams.push((reply.bytes_stream(), upstream));
    }
    for (reply, upstream) in streams.iter_mut().rev() {
        assert_eq!(&*reply.next().await.unwrap().unwrap(), b"event");
        upstream.send_chunk(b"last").await;
        assert_eq!(&*reply.next().await.unwrap().unwrap(), b"last");
        upstream.send("0\r\n\r\n").await;
        while let Some(end) = reply.next().await {
            assert!(end.unwrap().is_empty());
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_upstream_is_an_error() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let client = client();
    let (reply, upstream) = streaming(&client, &provider, &gateway).await;
    let mut events = reply.bytes_stream();
    assert_eq!(&*events.next().await.unwrap().unwrap(), b"event");
    upstream.reset();
    assert!(events.next().await.unwrap().is_err());
}

#[tokio::test]
async fn a_stream_that_the_host_gives_up_ends_upstream() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let client = client();
    let (reply, upstream) = streaming(&client, &provider, &gateway).await;
    let (other, _upstream) = streaming(&client, &provider, &gateway).await;
    drop(reply);
    assert_eq!(upstream.closed().await, b"");
    drop(other);
}
