//! Answers that are not streams, and streams that do not end as they should.

use tine_llm::LlmError;

use crate::breaks::send_and_hear_no_more;
use crate::server::{
    BLOCK, BLOCK_STOP, DELTA, OVERLOADED, PING, START, STOP, Server, Step, TEXT, answer, hello,
    stream,
};
use crate::{limits, send_to};

#[tokio::test]
async fn a_reply_in_one_piece_is_reported_like_a_stream() {
    let body = r#"{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello"},{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":3}}"#;
    let headers = ["content-type: application/json; charset=utf-8"];
    let outcome = send_to(&Server::answering([answer("200 OK", &headers, body)])).await;
    assert_eq!(outcome.text(), "Hello");
    insta::assert_snapshot!(outcome.log.join("\n"), @r#"
    Started { id: Some("msg_2"), model: Some("m"), usage: Usage { uncached: 7, write_short: None, write_long: None, read: None, output: 3, reasoning: None } }
    Text { delta: "Hello" }
    BlockDone { index: 0 }
    ToolCall { id: ToolCallId("toolu_1"), name: "read" }
    ToolInput { delta: "{\"path\":\"a\"}" }
    BlockDone { index: 1 }
    "#);
}

#[tokio::test]
async fn a_page_instead_of_a_reply_is_not_tried_again() {
    let page = "<html><head><title>Log in to the hotel</title></head></html>";
    let server = Server::answering([answer("200 OK", &["content-type: text/html"], page)]);
    let outcome = send_to(&server).await;
    assert_eq!(outcome.retries(), 0);
    assert!(!outcome.error().is_retryable());
    insta::assert_snapshot!(outcome.words(), @"not the API's answer (status 200): a web page answered instead of the Messages API: “Log in to the hotel”");
}

#[tokio::test]
async fn a_page_of_a_gateway_is_tried_again() {
    let page = answer("502 Bad Gateway", &["content-type: text/html"], "<h1>Bad gateway</h1>");
    let outcome = send_to(&Server::answering([page, hello()])).await;
    assert_eq!(outcome.text(), "Hello");
    insta::assert_snapshot!(outcome.log[0], @"retry after try 1: not the API's answer (status 502): a web page answered instead of the Messages API: “Bad gateway”");
}

#[tokio::test]
async fn json_that_is_no_reply_is_a_protocol_error() {
    let answer = answer("200 OK", &["content-type: application/json"], r#"{"hello":1}"#);
    let outcome = send_to(&Server::answering([answer])).await;
    assert!(matches!(outcome.error(), LlmError::Protocol { .. }), "{:?}", outcome.result);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let there =
        answer("307 Temporary Redirect", &["location: https://a.example/v1/messages?token=1"], "");
    let outcome = send_to(&Server::answering([there])).await;
    insta::assert_snapshot!(outcome.words(), @"request failed (status 307): it redirects to https://a.example/v1/messages, and redirects are not followed");
}

#[tokio::test]
async fn an_error_event_before_any_content_is_tried_again() {
    for records in [&[OVERLOADED][..], &[PING, OVERLOADED], &[START, OVERLOADED]] {
        let outcome = send_to(&Server::answering([stream(records), hello()])).await;
        assert_eq!((outcome.retries(), outcome.text().as_str()), (1, "Hello"));
    }
}

#[tokio::test]
async fn an_error_event_after_content_keeps_the_content() {
    for held in [false, true] {
        let mut script = vec![Step::Send(stream(&[START, BLOCK, TEXT, OVERLOADED]))];
        script.extend(held.then_some(Step::Hold));
        let outcome = send_to(&Server::start(vec![script])).await;
        assert_eq!(outcome.retries(), 0);
        assert_eq!(outcome.partial_text().as_deref(), Some("Hello"));
        insta::allow_duplicates! { insta::assert_snapshot!(outcome.words(), @"the reply broke off: overloaded (overloaded_error): too busy"); }
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_keeps_what_came() {
    let outcome = send_to(&Server::answering([stream(&[START, BLOCK, TEXT])])).await;
    assert_eq!(outcome.retries(), 0);
    assert_eq!(outcome.partial_text().as_deref(), Some("Hello"));
    assert_eq!(outcome.error().partial().unwrap().id.as_deref(), Some("msg_1"));
    insta::assert_snapshot!(outcome.words(), @"the reply broke off: the connection ended before the reply was complete");
}

#[tokio::test]
async fn a_stream_that_is_cut_behind_its_beginning_is_not_sent_again() {
    let outcome = send_to(&Server::answering([stream(&[START]), hello()])).await;
    assert_eq!(outcome.retries(), 0);
    assert_eq!(outcome.error().partial().unwrap().id.as_deref(), Some("msg_1"));
    insta::assert_snapshot!(outcome.words(), @"the reply broke off: the connection ended before the reply was complete");
}

#[tokio::test]
async fn a_stream_that_never_began_is_tried_again() {
    let outcome = send_to(&Server::answering([stream(&[]), stream(&[PING]), hello()])).await;
    assert_eq!((outcome.retries(), outcome.text().as_str()), (2, "Hello"));
}

#[tokio::test]
async fn a_reply_is_complete_although_its_connection_stays_open() {
    let whole = [START, BLOCK, TEXT, BLOCK_STOP, DELTA, STOP];
    let outcome = send_and_hear_no_more(limits(), &whole).await;
    assert_eq!(outcome.text(), "Hello");
}

#[tokio::test]
async fn bytes_that_are_no_events_are_a_protocol_error_with_what_came_before() {
    let outcome = send_to(&Server::answering([stream(&[START, BLOCK, TEXT, "{nonsense"])])).await;
    assert!(matches!(outcome.error(), LlmError::Protocol { .. }), "{:?}", outcome.result);
    assert_eq!(outcome.partial_text().as_deref(), Some("Hello"));
}
