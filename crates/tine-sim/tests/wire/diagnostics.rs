//! Comparisons with earlier requests, dropped thinking, and what is refused by name, over real sockets.

use crate::support::{ask, client, input, post, start, with_beta};
use insta::assert_snapshot;
use serde_json::{Value, json};

const PLAIN: &str =
    "name = \"plain\"\ncache_min_tokens = 10\n[[turn]]\nthinking = \"hm\"\ntext = \"ok\"\n";

fn compared(text: &str, earlier: Value) -> Value {
    let mut body = ask(json!(text));
    body["diagnostics"] = json!({"previous_message_id": earlier});
    body
}

#[tokio::test]
async fn a_message_is_compared_with_the_one_it_names() {
    let server = start(PLAIN).await;
    let send = async |body: Value| post(&server, "/v1/messages", &body).await.json();
    let first = send(compared("hi", Value::Null)).await;
    assert_eq!((&first["diagnostics"], &first["id"]), (&Value::Null, &json!("msg_sim_000001")));
    assert!(first.as_object().is_some_and(|body| body.contains_key("diagnostics")));
    let same = send(compared("hi", first["id"].clone())).await;
    assert_eq!(same["diagnostics"], Value::Null);
    let other = send(compared("ho", first["id"].clone())).await;
    assert_snapshot!(other["diagnostics"], @r#"{"cache_miss_reason":{"type":"messages_changed","cache_missed_input_tokens":7}}"#);
    let unkept = send(ask(json!("hi"))).await;
    assert_eq!(unkept.get("diagnostics"), None, "not asked for");
    let lost = send(compared("hi", unkept["id"].clone())).await;
    assert_snapshot!(lost["diagnostics"], @r#"{"cache_miss_reason":{"type":"previous_message_not_found"}}"#);
    let mut streamed = compared("ho", first["id"].clone());
    streamed["stream"] = json!(true);
    let text = post(&server, "/v1/messages", &streamed).await.text();
    let start = text.split("\n\n").next().unwrap_or_default();
    assert!(start.contains(r#""diagnostics":{"cache_miss_reason""#), "{start}");
}

#[tokio::test]
async fn a_response_is_compared_with_the_one_it_names() {
    let server = start(PLAIN).await;
    let send = async |changes: Value| {
        let mut body = input(&[("shared by all of them", true), ("mine", false)]);
        for (key, value) in changes.as_object().expect("an object") {
            body[key] = value.clone();
        }
        post(&server, "/v1/responses", &body).await.json()
    };
    let first = send(json!({})).await;
    assert_eq!(first.get("prompt_cache_diagnostics"), None);
    let options = json!({"mode": "explicit", "comparison_response_id": first["id"]});
    let same = send(json!({"prompt_cache_options": options})).await;
    assert_eq!(same["prompt_cache_diagnostics"], json!({"type": "cache_hit"}));
    let key = send(json!({"prompt_cache_options": options, "prompt_cache_key": "other"})).await;
    assert_snapshot!(key["prompt_cache_diagnostics"], @r#"{"type":"cache_miss","reason":"prompt_cache_key_changed","cache_missed_tokens":15,"comparison_reusable_tokens":0}"#);
    let options = json!({"comparison_response_id": "resp_nobody"});
    let lost = send(json!({"prompt_cache_options": options})).await;
    assert_eq!(lost["prompt_cache_diagnostics"], json!({"type": "comparison_response_not_found"}));
}

#[tokio::test]
async fn mismatching_thinking_is_dropped_only_with_the_beta() {
    let server = start(PLAIN).await;
    let first = post(&server, "/v1/messages", &ask(json!("hi"))).await.json();
    let mut body = ask(json!("hi"));
    body["messages"] = json!([
        {"role": "user", "content": "hey"},
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": "more"},
    ]);
    let refused = post(&server, "/v1/messages", &body).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("bound to a different conversation"));
    body["thinking"] =
        json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
    assert_eq!(post(&server, "/v1/messages", &body).await.status, 400);
    let beta = "thinking-binding-controls-2026-08-01";
    let reply = with_beta(&server, beta, &body).await.json();
    assert_snapshot!(reply["input_transformations"], @r#"[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"prefix_binding_mismatch"}]"#);
}

#[tokio::test]
async fn a_thread_cannot_be_continued() {
    let server = start(PLAIN).await;
    let mut body = ask(json!("hi"));
    body["thread"] = json!({"type": "continue", "previous_message_id": "msg_1"});
    let reply = with_beta(&server, "message-threads-2026-08-12", &body).await;
    assert_eq!(reply.status, 404);
    assert_snapshot!(reply.text(), @r#"{"type":"error","error":{"type":"not_found_error","message":"thread: no thread ends in the message `msg_1`; send the conversation in full","details":{"error_code":"thread_not_found"}},"request_id":"req_sim_000001"}"#);
}

#[tokio::test]
async fn a_request_names_its_version() {
    let server = start(PLAIN).await;
    let request = client().post(format!("{}/v1/messages", server.base_url()));
    let reply = request.header("x-api-key", "key").body(ask(json!("hi")).to_string()).send().await;
    let reply = reply.expect("a response");
    assert_eq!(reply.status(), 400);
    assert_snapshot!(reply.text().await.expect("text"), @r#"{"type":"error","error":{"type":"invalid_request_error","message":"anthropic-version: header is required"},"request_id":"req_sim_000001"}"#);
}
