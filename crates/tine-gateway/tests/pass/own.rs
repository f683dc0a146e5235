//! Answers of the gateway itself.

use tine_gateway::{Format, Gateway, GatewayError, Options, Threads};

use crate::wire::{Provider, Wire, path};

/// Sends a request to the gateway and returns the head and the body, which has a length.
async fn ask(gateway: &Gateway, request: &str) -> (String, String) {
    let mut host = Wire::host(gateway).await;
    host.send(request).await;
    let head = host.head().await;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    let body = host.bytes(length.parse().unwrap()).await;
    (head, String::from_utf8(body).unwrap())
}

#[tokio::test]
async fn any_other_path_is_not_found_and_names_no_upstream() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let base = path(&gateway, Format::Anthropic);
    let wrong = base.replace("07", "08");
    let other = [
        "/",
        "*",
        "/v1/messages",
        "/anthropic/v1/messages",
        &wrong,
        &format!("{base}x/v1/messages"),
        &base.replace("anthropic", "openai/models"),
        &base.replace("anthropic", ""),
        &base[..base.len() / 2],
        &format!("/{base}"),
    ];
    for target in other {
        let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\n\r\n");
        let (head, body) = ask(&gateway, &request).await;
        let expected = "HTTP/1.1 404 Not Found\ncontent-type: text/plain\ncontent-length: 10";
        assert_eq!((head.as_str(), body.as_str()), (expected, "not found\n"), "{target}");
    }
}

#[tokio::test]
async fn a_websocket_is_answered_with_426_at_once() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let base = path(&gateway, Format::OpenAi);
    let request = format!(
        "GET {base}/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: WebSocket\r\nsec-websocket-key: a\r\nsec-websocket-version: 13\r\n\r\n"
    );
    let (head, body) = ask(&gateway, &request).await;
    insta::assert_snapshot!(head, @r"
    HTTP/1.1 426 Upgrade Required
    content-type: text/plain
    connection: upgrade
    upgrade: HTTP/1.1
    content-length: 58
    ");
    insta::assert_snapshot!(body, @"tine's gateway passes on no WebSockets; use HTTP requests");
}

fn thread_request(gateway: &Gateway) -> String {
    let body = r#"{"messages":[],"thread":{"type":"continue","previous_message_id":"m"}}"#;
    let base = path(gateway, Format::Anthropic);
    let length = body.len();
    format!(
        "POST {base}/v1/messages?beta=true HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn a_continued_thread_is_refused_as_the_provider_refuses_it() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let (head, body) = ask(&gateway, &thread_request(&gateway)).await;
    assert!(head.starts_with("HTTP/1.1 400 Bad Request\ncontent-type: application/json\n"));
    insta::assert_snapshot!(body, @r#"{"type":"error","error":{"type":"invalid_request_error","message":"tine's gateway does not pass on message threads; send the conversation in full","details":{"error_code":"thread_unsupported_request"}}}"#);
}

#[tokio::test]
async fn a_continued_thread_is_passed_on_where_that_is_asked_for() {
    let provider = Provider::new();
    let gateway = provider.gateway_with(Threads::PassedOn).await;
    let mut host = Wire::host(&gateway).await;
    host.send(thread_request(&gateway)).await;
    let head = provider.accept().await.head().await;
    assert!(head.starts_with("POST /v1/messages?beta=true HTTP/1.1\n"), "{head}");
}

#[tokio::test]
async fn requests_for_messages_are_passed_on_whole_whatever_their_length() {
    // Looked into, beyond what is looked into with a length, and without one.
    for (length, is_chunked) in [(1 << 20, false), (33 << 20, false), (33 << 20, true), (0, true)] {
        let provider = Provider::new();
        let gateway = provider.gateway().await;
        let base = path(&gateway, Format::Anthropic);
        let framing = match is_chunked {
            true => "transfer-encoding: chunked".to_owned(),
            false => format!("content-length: {length}"),
        };
        let body: Vec<u8> = (0..length).map(|at: usize| (at % 251) as u8).collect();
        let mut host = Wire::host(&gateway).await;
        let send = async {
            host.send(format!("POST {base}/v1/messages HTTP/1.1\r\nhost: x\r\n{framing}\r\n\r\n"))
                .await;
            if !is_chunked {
                host.send(&body).await;
                return;
            }
            for chunk in body.chunks(1 << 20) {
                host.send_chunk(chunk).await;
            }
            host.send("0\r\n\r\n").await;
        };
        let read = async {
            let mut upstream = provider.accept().await;
            let head = upstream.head().await;
            if is_chunked && length > 0 {
                assert!(!head.contains("content-length"), "{head}");
                assert!(upstream.chunked(length).await == body);
                assert_eq!(upstream.chunk().await, b"");
            } else if !is_chunked {
                assert!(head.contains(&framing), "{head}");
                assert!(upstream.bytes(length).await == body);
            }
        };
        tokio::join!(send, read);
    }
}

#[tokio::test]
async fn an_upstream_that_is_not_reached_is_an_error_in_the_shape_of_the_format() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let address = provider.host();
    drop(provider);
    for format in Format::ALL {
        let request = format!("GET {}/x HTTP/1.1\r\nhost: x\r\n\r\n", path(&gateway, format));
        let (head, body) = ask(&gateway, &request).await;
        assert!(head.starts_with("HTTP/1.1 502 Bad Gateway\n"), "{head}");
        let body = body.replace(&address, "PROVIDER");
        match format {
            Format::Anthropic => {
                insta::assert_snapshot!(body, @r#"{"type":"error","error":{"type":"api_error","message":"tine's gateway got no answer from http://PROVIDER: tcp connect error: Connection refused (os error 111)"}}"#)
            }
            Format::OpenAi => {
                insta::assert_snapshot!(body, @r#"{"error":{"message":"tine's gateway got no answer from http://PROVIDER: tcp connect error: Connection refused (os error 111)","type":"server_error","param":null,"code":null}}"#)
            }
        }
    }
}

#[tokio::test]
async fn an_upstream_that_resets_before_it_answers_is_an_error_of_the_gateway() {
    let provider = Provider::new();
    let gateway = provider.gateway().await;
    let base = path(&gateway, Format::Anthropic);
    let request = format!("GET {base}/x HTTP/1.1\r\nhost: x\r\n\r\n");
    let break_off = async {
        let mut upstream = provider.accept().await;
        upstream.head().await;
        upstream.reset();
    };
    let ((head, body), ()) = tokio::join!(ask(&gateway, &request), break_off);
    assert!(head.starts_with("HTTP/1.1 502 Bad Gateway\n"), "{head}");
    insta::assert_snapshot!(body.replace(&provider.host(), "PROVIDER"), @r#"{"type":"error","error":{"type":"api_error","message":"tine's gateway got no answer from http://PROVIDER: connection error: Connection reset by peer (os error 104)"}}"#);
}

#[tokio::test]
async fn debug_shows_no_token() {
    let gateway = Gateway::start(Options::new([0xab; 16])).await.unwrap();
    assert!(gateway.base_url(Format::OpenAi).ends_with(&format!("/{}/openai/v1", "ab".repeat(16))));
    assert!(!format!("{gateway:?}").contains("abab"));
}

#[tokio::test]
async fn a_base_url_that_cannot_be_used_is_refused() {
    let check = async |url: &str, expected: &str| {
        let options = Options { anthropic: url.to_owned(), ..Options::new([1; 16]) };
        let error = Gateway::start(options).await.unwrap_err();
        assert!(matches!(error, GatewayError::BaseUrl { .. }));
        assert_eq!(error.to_string(), format!("cannot use the base URL for anthropic: {expected}"));
    };
    check("", "it is no URL").await;
    check("api.example", "it does not begin with http:// or https://").await;
    check("/v1", "it does not begin with http:// or https://").await;
    check("ftp://api.example", "it does not begin with http:// or https://").await;
    check("https://me:secret@api.example", "it holds a name or password").await;
    check("https://api.example/?a", "it holds a `?` or `#`").await;
}
