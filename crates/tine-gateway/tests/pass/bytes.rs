//! Bytes of heads and bodies, both ways.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tine_gateway::Format;

use crate::wire::{Provider, Wire, path};

type Headers = Vec<(Vec<u8>, Vec<u8>)>;

/// One exchange: what the host sends and what the provider answers.
#[derive(Debug, Clone)]
struct Exchange {
    method: &'static str,
    target: String,
    request_headers: Headers,
    request_body: Vec<u8>,
    is_request_chunked: bool,
    status: u16,
    reason: String,
    reply_headers: Headers,
    chunks: Vec<Vec<u8>>,
}

fn headers() -> impl Strategy<Value = Headers> {
    // Few first letters, so that names come twice.
    let name = "[aXx]-[a-c!#$%&'*+.^_`|~0-9]{0,2}".prop_map(String::into_bytes);
    let byte = prop_oneof![4 => 0x21_u8..=0x7e, 1 => 0x80_u8..=0xff];
    vec((name, vec(byte, 0..20)), 0..12)
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let target = r#"(/([!$&-;=@-_a-z|~"{}]|%[0-9a-fA-F]{2}|%2e|\.\.){0,8}){1,4}(\?([!$&-;=?@-_a-z|~]|%[0-9a-f]{2}){0,12})?"#;
    let request = (
        select(vec!["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"]),
        target,
        headers(),
        vec(any::<u8>(), 0..20_000),
        any::<bool>(),
    );
    let status =
        (200_u16..=599).prop_filter("has a body", |status| ![204, 205, 304].contains(status));
    let reply =
        (status, "[A-Za-z][A-Za-z ]{0,10}[a-z]", headers(), vec(vec(any::<u8>(), 1..9000), 0..5));
    (request, reply).prop_map(|(request, reply)| Exchange {
        method: request.0,
        target: request.1,
        request_headers: request.2,
        request_body: request.3,
        is_request_chunked: request.4,
        status: reply.0,
        reason: reply.1,
        reply_headers: reply.2,
        chunks: reply.3,
    })
}

fn head(first: &str, headers: &Headers, framing: &str) -> Vec<u8> {
    let mut head = format!("{first}\r\n").into_bytes();
    for (name, value) in headers {
        head.extend([name.as_slice(), b": ", value, b"\r\n"].concat());
    }
    head.extend(format!("{framing}\r\n\r\n").into_bytes());
    head
}

/// Values of a name stand together, in their order, where the first of them was.
fn grouped(headers: &Headers) -> Headers {
    let mut grouped: Vec<(Vec<u8>, Headers)> = Vec::new();
    for header in headers {
        let name = header.0.to_ascii_lowercase();
        match grouped.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of_name)) => of_name.push(header.clone()),
            None => grouped.push((name, vec![header.clone()])),
        }
    }
    grouped.into_iter().flat_map(|(_, of_name)| of_name).collect()
}

/// Headers without those that say how long the body is.
fn without_framing(headers: Headers) -> Headers {
    let is_framing = |name: &[u8]| {
        [&b"content-length"[..], b"transfer-encoding"].contains(&&*name.to_ascii_lowercase())
    };
    headers.into_iter().filter(|(name, _)| !is_framing(name)).collect()
}

async fn pass(exchange: &Exchange) {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let mut host = Wire::host(&gateway).await;
    let Exchange { method, target, request_body: body, .. } = exchange;
    let first = format!("{method} {}{target} HTTP/1.1", path(&gateway, Format::Anthropic));
    let framing = match exchange.is_request_chunked {
        true => "host: gateway\r\ntransfer-encoding: chunked".to_owned(),
        false => format!("host: gateway\r\ncontent-length: {}", body.len()),
    };
    host.send(head(&first, &exchange.request_headers, &framing)).await;
    if exchange.is_request_chunked {
        if !body.is_empty() {
            host.send_chunk(body).await;
        }
        host.send("0\r\n\r\n").await;
    } else {
        host.send(body).await;
    }

    let mut upstream = tokio::select! {
        upstream = provider.accept() => upstream,
        answer = host.head() => panic!("the gateway answers by itself: {answer}"),
    };
    let (first, headers) = upstream.head_bytes().await;
    assert_eq!(String::from_utf8(first).unwrap(), format!("{method} {target} HTTP/1.1"));
    let length = headers.iter().find(|(name, _)| name == b"content-length");
    let length = length.map(|(_, value)| String::from_utf8(value.clone()).unwrap());
    let mut expected = vec![(b"host".to_vec(), provider.host().into_bytes())];
    expected.extend(grouped(&exchange.request_headers));
    assert_eq!(without_framing(headers), expected);
    if exchange.is_request_chunked {
        assert_eq!(length, None);
        assert_eq!(upstream.chunked(body.len()).await, *body);
        assert_eq!(upstream.chunk().await, b"");
    } else {
        assert_eq!(length, Some(body.len().to_string()));
        assert_eq!(upstream.bytes(body.len()).await, *body);
    }

    let first = format!("HTTP/1.1 {} {}", exchange.status, exchange.reason);
    upstream.send(head(&first, &exchange.reply_headers, "transfer-encoding: chunked")).await;
    let (line, headers) = host.head_bytes().await;
    assert_eq!(String::from_utf8(line).unwrap(), first);
    assert_eq!(without_framing(headers), grouped(&exchange.reply_headers));
    for chunk in &exchange.chunks {
        // The next one is sent when this one has arrived.
        upstream.send_chunk(chunk).await;
        assert_eq!(host.chunked(chunk.len()).await, *chunk);
    }
    upstream.send("0\r\n\r\n").await;
    assert_eq!(host.chunk().await, b"");
    gateway.stop().await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_exchange_is_unchanged(exchange in exchange()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(pass(&exchange));
    }
}

/// Passes a request and a reply, and returns the heads that arrive.
async fn heads(format: Format, request: &str, reply: &str) -> (String, String) {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let mut host = Wire::host(&gateway).await;
    host.send(request.replace("BASE", &path(&gateway, format)).replace('\n', "\r\n")).await;
    let mut upstream = provider.accept().await;
    let sent = upstream.head().await.replace(&provider.host(), "PROVIDER");
    upstream.send(reply.replace('\n', "\r\n")).await;
    (sent, host.head().await)
}

#[tokio::test]
async fn headers_of_a_connection_are_left_out_and_none_are_added() {
    let request = "GET BASE/v1/models?a=%20+b HTTP/1.1\nHost: gateway\nX-Api-Key: k\nConnection: keep-alive, X-Mine\nKeep-Alive: 5\nProxy-Authorization: p\nProxy-Connection: x\nTE: trailers\nTrailer: t\nUpgrade: h2c\nx-mine: 1\nX-Other: 2\n\n";
    let reply = "HTTP/1.1 529 Overloaded a bit\nretry-after: 7\nConnection: X-Hop\nKeep-Alive: 5\nX-Hop: 1\nSet-Cookie: a=1\nContent-Length: 0\nset-cookie: b=2\n\n";
    let (sent, answered) = heads(Format::Anthropic, request, reply).await;
    insta::assert_snapshot!(sent, @r"
    GET /v1/models?a=%20+b HTTP/1.1
    Host: PROVIDER
    X-Api-Key: k
    X-Other: 2
    ");
    insta::assert_snapshot!(answered, @r"
    HTTP/1.1 529 Overloaded a bit
    retry-after: 7
    Set-Cookie: a=1
    set-cookie: b=2
    Content-Length: 0
    ");
}

#[tokio::test]
async fn the_path_of_a_base_url_stands_before_the_path() {
    let reply = "HTTP/1.1 200 OK\ncontent-length: 0\n\n";
    let first = async |target: &str| {
        let request = format!("GET BASE{target} HTTP/1.1\nhost: x\n\n");
        let (sent, _) = heads(Format::OpenAi, &request, reply).await;
        sent.lines().next().unwrap().to_owned()
    };
    assert_eq!(first("/responses").await, "GET /deep/v1/responses HTTP/1.1");
    assert_eq!(first("//a/../b/?").await, "GET /deep/v1//a/../b/? HTTP/1.1");
    assert_eq!(first("?x").await, "GET /deep/v1?x HTTP/1.1");
    assert_eq!(first("").await, "GET /deep/v1 HTTP/1.1");
}

#[tokio::test]
async fn a_reply_to_head_keeps_its_length() {
    let request = "HEAD BASE/ HTTP/1.1\nhost: x\n\n";
    let (_, answered) =
        heads(Format::Anthropic, request, "HTTP/1.1 200 OK\ncontent-length: 77\n\n").await;
    assert_eq!(answered, "HTTP/1.1 200 OK\ncontent-length: 77");
}

#[tokio::test]
async fn a_compressed_reply_stays_compressed() {
    // gzip of "hello"
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00";
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let mut host = Wire::host(&gateway).await;
    let base = path(&gateway, Format::Anthropic);
    host.send(format!("GET {base}/ HTTP/1.1\r\nhost: x\r\naccept-encoding: gzip\r\n\r\n")).await;
    let mut upstream = provider.accept().await;
    let sent = upstream.head().await;
    assert!(sent.ends_with("\naccept-encoding: gzip"), "{sent}");
    let head = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 25\r\n\r\n";
    upstream.send(head).await;
    upstream.send(gzip).await;
    let answered = host.head().await;
    assert_eq!(answered, head.trim_end().replace("\r\n", "\n"));
    assert_eq!(host.bytes(25).await, gzip);
}
