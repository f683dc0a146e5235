//! Every fault, as a client meets it.

use crate::support::{Reply, ask, chat_ask, events, input, manual, post, start, try_post};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tine_sim::SimServer;

async fn with_fault(fault: &str) -> SimServer {
    let call = "tool_calls = [{ name = \"bash\", input = { command = \"ls\" } }]";
    start(&format!("name = \"bad\"\n[[turn]]\ntext = \"ok\"\n{call}\nfault = {{ {fault} }}\n"))
        .await
}

fn streamed() -> Value {
    let mut body = ask(json!("hi"));
    body["stream"] = json!(true);
    body
}

async fn stream(fault: &str) -> Reply {
    post(&with_fault(fault).await, "/v1/messages", &streamed()).await
}

#[tokio::test]
async fn an_error_status_comes_with_the_vendors_body() {
    let server = with_fault("status = 529, retry_after = 2, times = 1").await;
    let reply = post(&server, "/v1/messages", &streamed()).await;
    assert_eq!((reply.status, reply.header("retry-after")), (529, "2"));
    assert_snapshot!(reply.text(), @r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded (simulated)"},"request_id":"req_sim_000001"}"#);
    assert_eq!(post(&server, "/v1/messages", &streamed()).await.status, 200, "only once");
    let server = with_fault("status = 429, message = \"slow down\"").await;
    let reply = post(&server, "/v1/chat/completions", &chat_ask("hi")).await;
    assert_snapshot!(reply.text(), @r#"{"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":null}}"#);
}

#[tokio::test]
async fn a_rule_that_is_only_a_fault_steps_aside_when_used_up() {
    let scenario =
        "name = \"x\"\n[[turn]]\nfault = { status = 503, times = 2 }\n[[turn]]\ntext = \"ok\"\n";
    let server = start(scenario).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(post(&server, "/v1/messages", &ask(json!("hi"))).await.status);
    }
    assert_eq!(statuses, [503, 503, 200]);
}

#[tokio::test]
async fn a_share_of_requests_meets_a_fault_and_the_same_ones_each_time() {
    let mut seen = Vec::new();
    for _ in 0..2 {
        let server = with_fault("status = 529, percent = 25").await;
        let mut statuses = Vec::new();
        for _ in 0..40 {
            statuses.push(post(&server, "/v1/messages", &ask(json!("hi"))).await.status);
        }
        seen.push(statuses);
    }
    assert_eq!(seen[0], seen[1]);
    let met = seen[0].iter().filter(|status| **status == 529).count();
    assert!((4..=16).contains(&met), "{met} of 40");
}

#[tokio::test]
async fn an_outage_is_over_after_its_time() {
    let outage = "fault = { status = 503, within_ms = 30_000 }";
    let (server, clock) =
        manual(&format!("name = \"x\"\n[[turn]]\ntext = \"ok\"\n{outage}\n")).await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(post(&server, "/v1/messages", &ask(json!("hi"))).await.status);
        clock.advance(15_000);
    }
    assert_eq!(statuses, [503, 503, 200]);
}

#[tokio::test]
async fn a_proxy_answers_in_html() {
    let reply = stream("status = 502, html = true").await;
    assert_eq!((reply.status, reply.header("content-type")), (502, "text/html"));
    assert!(reply.text().starts_with("<html>"));
}

#[tokio::test]
async fn a_connection_can_close_before_the_first_byte() {
    let server = with_fault("close_before_first_byte = true").await;
    let reply = try_post(&server, "/v1/messages", &streamed().to_string()).await;
    assert!(reply.is_err_and(|error| error.is_request()), "no response at all");
    assert_eq!(server.requests()[0].status, None);
}

#[tokio::test]
async fn a_stream_can_be_cut_between_events_and_inside_one() {
    let reply = stream("cut_after_events = 2").await;
    assert!(!reply.is_complete && reply.text().ends_with("\n\n"));
    assert_eq!(events(&reply), ["message_start", "content_block_start"]);
    let reply = stream("cut_after_events = 2, cut_mid_line = true").await;
    assert!(!reply.is_complete);
    let text = reply.text();
    assert_eq!(
        text.rsplit("\n\n").next(),
        Some("event: content_block_delta\ndata: {\"type\":\"content_block_de")
    );
}

#[tokio::test]
async fn an_error_can_come_inside_a_stream() {
    let reply = stream("error_event_after = 1").await;
    assert_eq!(events(&reply), ["message_start", "error"]);
    assert!(reply.is_complete);
    let server = with_fault("error_event_after = 1").await;
    assert_eq!(post(&server, "/v1/messages", &ask(json!("hi"))).await.status, 529);
}

#[tokio::test]
async fn a_stall_lasts_until_the_server_stops() {
    let server = with_fault("stall_after_events = 1").await;
    let (body, url) = (streamed().to_string(), format!("{}/v1/messages", server.base_url()));
    let request = crate::support::client().post(url).bearer_auth("key");
    let request = request.header("anthropic-version", "2026-10-21").body(body);
    let mut response = request.send().await.expect("a response");
    let first = response.chunk().await.expect("a chunk").expect("an event");
    assert!(first.starts_with(b"event: message_start"));
    let (next, ()) = tokio::join!(response.chunk(), server.shutdown());
    assert!(next.is_err(), "the connection broke");
}

#[tokio::test]
async fn pings_and_unknown_events_surround_the_answer() {
    let reply = stream("pings = 2, unknown_events = true").await;
    assert_snapshot!(events(&reply).join(" "), @"message_start ping ping sim_unknown_event content_block_start content_block_stop content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_delta content_block_stop message_delta message_stop");
    assert!(reply.text().contains(r#""content_block":{"type":"sim_unknown_block""#));
}

#[tokio::test]
async fn a_tool_input_can_be_broken() {
    let text = stream("broken_tool_input = true").await.text();
    assert!(text.contains(r#""partial_json":"{\"comman"}"#), "{text}");
}

#[tokio::test]
async fn usage_can_be_missing() {
    let server = with_fault("no_usage = true").await;
    assert!(!post(&server, "/v1/messages", &streamed()).await.text().contains("usage"));
    assert!(!post(&server, "/v1/chat/completions", &chat_ask("hi")).await.text().contains("usage"));
    assert!(server.requests().iter().all(|request| request.usage.is_some()), "the capture knows");
}

#[tokio::test]
async fn responses_meet_the_same_faults() {
    let mut body = input(&[("hi", false)]);
    body["stream"] = json!(true);
    let server = with_fault("error_event_after = 3, pings = 1").await;
    let text = post(&server, "/v1/responses", &body).await.text();
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default().to_owned();
    assert_snapshot!(last, @r#"
    event: error
    data: {"type":"error","sequence_number":2,"code":"overloaded_error","message":"the stream failed (simulated)","param":null}
    "#);
    let server = with_fault("error_event_after = 1").await;
    assert_eq!(post(&server, "/v1/responses", &input(&[("hi", false)])).await.status, 503);
    let server = with_fault("unknown_events = true, no_usage = true").await;
    let reply = post(&server, "/v1/responses", &body).await;
    assert!(reply.is_complete && !reply.text().contains("usage"));
    assert!(events(&reply).contains(&"response.sim_unknown_event".to_owned()));
    let server = with_fault("status = 429, retry_after = 3").await;
    let reply = post(&server, "/v1/responses", &body).await;
    assert_eq!((reply.status, reply.header("retry-after")), (429, "3"));
    assert_snapshot!(reply.text(), @r#"{"error":{"message":"rate limit exceeded (simulated)","type":"rate_limit_error","param":null,"code":null}}"#);
}
