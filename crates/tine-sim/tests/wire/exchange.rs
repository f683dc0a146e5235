//! The simulator over real sockets: accounting, streams, faults, capture.

use crate::support::{ask, chat_ask, client, ephemeral, manual, post, start};
use futures_util::future::join_all;
use insta::assert_snapshot;
use serde_json::{Value, json};

const HOLD: &str = "name = \"hold\"\ncache_min_tokens = 10\nfirst_byte_ms = 3600000\n";
const PLAIN: &str = "name = \"plain\"\ncache_min_tokens = 10\n";

fn fan_out(count: usize) -> Vec<Value> {
    (0..count)
        .map(|child| {
            let shared = json!({"type": "text", "text": "p".repeat(400), "cache_control": {"type": "ephemeral"}});
            let directive = json!({"type": "text", "text": format!("You are worker {child}")});
            ask(json!([shared, directive]))
        })
        .collect()
}

fn totals(replies: &[Value]) -> (u64, u64) {
    let sum = |key: &str| replies.iter().filter_map(|reply| reply["usage"][key].as_u64()).sum();
    (sum("cache_creation_input_tokens"), sum("cache_read_input_tokens"))
}

/// Tokens of the shared block above: `{"type":"text","text":"pp…"}`.
const SHARED_TOKENS: u64 = 107;

#[tokio::test]
async fn concurrent_cold_requests_all_write() {
    let server = start(HOLD).await;
    let bodies = fan_out(8);
    let replies = join_all(bodies.iter().map(|body| post(&server, "/v1/messages", body)));
    let release = async {
        while server.requests().len() < 8 {
            tokio::task::yield_now().await;
        }
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_secs(3_601)).await;
        tokio::time::resume();
    };
    let (replies, ()) = tokio::join!(replies, release);
    let replies: Vec<Value> = replies.into_iter().map(|reply| reply.json()).collect();
    assert_eq!(totals(&replies), (8 * SHARED_TOKENS, 0));
    server.shutdown().await;
}

#[tokio::test]
async fn behind_a_leader_the_others_read() {
    let server = start(PLAIN).await;
    let bodies = fan_out(8);
    let mut replies = vec![post(&server, "/v1/messages", &bodies[0]).await.json()];
    let rest = join_all(bodies[1..].iter().map(|body| post(&server, "/v1/messages", body))).await;
    replies.extend(rest.into_iter().map(|reply| reply.json()));
    assert_eq!(totals(&replies), (SHARED_TOKENS, 7 * SHARED_TOKENS));
    let billed: u64 =
        server.requests().iter().filter_map(|request| request.usage?.write_short).sum();
    assert_eq!(billed, SHARED_TOKENS, "the capture agrees with the replies");
    server.shutdown().await;
}

#[tokio::test]
async fn another_key_shares_nothing() {
    let server = start(PLAIN).await;
    let body = &fan_out(1)[0];
    post(&server, "/v1/messages", body).await;
    let request = client().post(format!("{}/v1/messages", server.base_url()));
    let request = request.header("x-api-key", "other").header("anthropic-version", "2026-10-21");
    let reply = request.body(body.to_string()).send().await.expect("a reply");
    let reply: Value = serde_json::from_slice(&reply.bytes().await.expect("a body")).expect("JSON");
    assert_eq!(reply["usage"]["cache_read_input_tokens"], 0);
}

#[tokio::test]
async fn an_entry_dies_five_minutes_after_its_request_began() {
    let (server, clock) = manual(PLAIN).await;
    let body = &fan_out(1)[0];
    let read = async || -> Value {
        post(&server, "/v1/messages", body).await.json()["usage"]["cache_read_input_tokens"].clone()
    };
    assert_eq!(read().await, 0);
    clock.advance(299_999);
    assert_eq!(read().await, SHARED_TOKENS);
    clock.advance(301_000);
    assert_eq!(read().await, 0);
}

const TOOLS: &str = r#"
name = "tools"
cache_min_tokens = 10
[[turn]]
when = { tool_results = 0 }
thinking = "Look first."
text = "I look at {{user}}."
tool_calls = [{ name = "bash", input = { timeout = 5, command = "ls {{user}}" } }]
[[turn]]
when = { last_tool = "bash" }
text = "It holds {{tool_result.0 | count_lines}} files."
"#;

#[tokio::test]
async fn a_streamed_reply_has_the_vendors_events() {
    let server = start(TOOLS).await;
    let mut body = ask(json!([{"type": "text", "text": "src", "cache_control": ephemeral()}]));
    body["stream"] = json!(true);
    let reply = post(&server, "/v1/messages", &body).await;
    assert_eq!(reply.header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(reply.header("request-id"), "req_sim_000001");
    assert_snapshot!(reply.text(), @r#"
    event: message_start
    data: {"type":"message_start","message":{"id":"msg_sim_000001","type":"message","role":"assistant","model":"sim/tools","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":1,"service_tier":"standard"}}}

    event: content_block_start
    data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Look first."}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sim1.c591a2a298430fd8.e47f9d0b909fbd25b2ed58312391c694"}}

    event: content_block_stop
    data: {"type":"content_block_stop","index":0}

    event: content_block_start
    data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I look at src."}}

    event: content_block_stop
    data: {"type":"content_block_stop","index":1}

    event: content_block_start
    data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_sim_000001","name":"bash","input":{}}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"timeout\":5,\"command\":\""}}

    event: content_block_delta
    data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"ls src\"}"}}

    event: content_block_stop
    data: {"type":"content_block_stop","index":2}

    event: message_delta
    data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":7,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":16,"service_tier":"standard","output_tokens_details":{"thinking_tokens":3}}}

    event: message_stop
    data: {"type":"message_stop"}
    "#);
}

#[tokio::test]
async fn a_tool_turn_goes_on_with_its_result() {
    let server = start(TOOLS).await;
    let first = post(&server, "/v1/messages", &ask(json!("src"))).await.json();
    assert_eq!((&first["model"], &first["stop_reason"]), (&json!("sim/tools"), &json!("tool_use")));
    let call = &first["content"][2];
    assert_eq!(call["input"].to_string(), r#"{"timeout":5,"command":"ls src"}"#);
    let result = json!([{"type": "tool_result", "tool_use_id": call["id"], "content": "a\nb\nc"}]);
    let mut body = ask(json!("src"));
    body["messages"] = json!([
        {"role": "user", "content": "src"},
        {"role": "assistant", "content": first["content"]},
        {"role": "user", "content": result},
    ]);
    let second = post(&server, "/v1/messages", &body).await.json();
    assert_eq!(second["content"], json!([{"type": "text", "text": "It holds 3 files."}]));
    assert_eq!(second["stop_reason"], "end_turn");
}

#[tokio::test]
async fn max_tokens_cuts_an_answer_and_zero_only_prewarms() {
    let server = start(TOOLS).await;
    let mut body =
        ask(json!([{"type": "text", "text": "src".repeat(20), "cache_control": ephemeral()}]));
    body["max_tokens"] = json!(0);
    let warm = post(&server, "/v1/messages", &body).await.json();
    assert_eq!((&warm["content"], &warm["stop_reason"]), (&json!([]), &json!("max_tokens")));
    body["max_tokens"] = json!(5);
    let cut = post(&server, "/v1/messages", &body).await.json();
    assert_eq!(
        cut["usage"]["cache_read_input_tokens"],
        warm["usage"]["cache_creation_input_tokens"]
    );
    assert_eq!(
        (&cut["stop_reason"], &cut["usage"]["output_tokens"]),
        (&json!("max_tokens"), &json!(5))
    );
    assert_eq!(cut["content"][1]["text"], "I look a");
}

#[tokio::test]
async fn tokens_are_counted_without_an_answer() {
    let server = start(PLAIN).await;
    let counted = post(&server, "/v1/messages/count_tokens", &ask(json!("p"))).await.json();
    assert_eq!(counted, json!({"input_tokens": 7}));
}

#[tokio::test]
async fn no_matching_rule_is_said_so() {
    let server = start(PLAIN).await;
    let reply = post(&server, "/v1/messages", &ask(json!("hi"))).await.json();
    assert_snapshot!(reply["content"][0]["text"].as_str().unwrap_or_default(), @"This is tine's simulator, not a model. No rule of the scenario plain matches this request.");
}

#[tokio::test]
async fn refusals_have_the_vendors_shape() {
    let server = start("name = \"strict\"\nmodels = [\"known\"]\n").await;
    let reply = post(&server, "/v1/messages", &ask(json!("hi"))).await;
    assert_eq!(reply.status, 404);
    assert_snapshot!(reply.text(), @r#"{"type":"error","error":{"type":"not_found_error","message":"model: m"},"request_id":"req_sim_000001"}"#);
    let url = |path: &str| format!("{}{path}", server.base_url());
    let keyless = client().post(url("/v1/messages")).body("{}").send().await.expect("a reply");
    assert_eq!(keyless.status(), 401);
    assert_snapshot!(keyless.text().await.expect("text"), @r#"{"type":"error","error":{"type":"authentication_error","message":"x-api-key header is required"},"request_id":"req_sim_000002"}"#);
    let reply = post(&server, "/v1/chat/completions", &chat_ask("hi")).await;
    assert_eq!(reply.status, 404);
    assert_snapshot!(reply.text(), @r#"{"error":{"message":"The model `m` does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#);
    let reply = post(&server, "/v1/nothing", &json!({})).await;
    assert_eq!(reply.status, 404);
    let large = client().post(url("/v1/messages")).body(vec![b' '; 32 * 1024 * 1024 + 1]);
    assert_eq!(large.send().await.expect("a reply").status(), 413);
}

#[tokio::test]
async fn a_streamed_chat_reply_has_the_vendors_chunks() {
    let server = manual(TOOLS).await.0;
    let mut body = chat_ask("src");
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    assert_snapshot!(post(&server, "/v1/chat/completions", &body).await.text(), @r#"
    data: {"id":"chatcmpl_sim_000001","object":"chat.completion.chunk","created":1000,"model":"sim/tools","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

    data: {"id":"chatcmpl_sim_000001","object":"chat.completion.chunk","created":1000,"model":"sim/tools","choices":[{"index":0,"delta":{"reasoning_content":"Look first."},"finish_reason":null}]}

    data: {"id":"chatcmpl_sim_000001","object":"chat.completion.chunk","created":1000,"model":"sim/tools","choices":[{"index":0,"delta":{"content":"I look at src."},"finish_reason":null}]}

    data: {"id":"chatcmpl_sim_000001","object":"chat.completion.chunk","created":1000,"model":"sim/tools","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_sim_000001","type":"function","function":{"name":"bash","arguments":""}}]},"finish_reason":null}]}

    data: {"id":"chatcmpl_sim_000001","object":"chat.completion.chunk","created":1000,"model":"sim/tools","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"timeout\":5,\"command\":\""}}]},"finish_reason":null}]}

    data: {"id":"chatcmpl_sim_000001","object":"chat.completion.chunk","created":1000,"model":"sim/tools","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"ls src\"}"}}]},"finish_reason":null}]}

    data: {"id":"chatcmpl_sim_000001","object":"chat.completion.chunk","created":1000,"model":"sim/tools","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

    data: {"id":"chatcmpl_sim_000001","object":"chat.completion.chunk","created":1000,"model":"sim/tools","choices":[],"usage":{"prompt_tokens":8,"completion_tokens":16,"total_tokens":24,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":3}}}

    data: [DONE]
    "#);
}

#[tokio::test]
async fn chat_serves_long_prefixes_without_marks() {
    let server = start(PLAIN).await;
    let usage = async |tail: &str| {
        let prompt = format!("{}{tail}", "p".repeat(5_000));
        post(&server, "/v1/chat/completions", &chat_ask(&prompt)).await.json()["usage"].clone()
    };
    assert_eq!(usage("one").await["prompt_tokens_details"]["cached_tokens"], 0);
    let second = usage("two").await;
    assert_eq!(second["prompt_tokens_details"]["cached_tokens"], 1_152);
    assert_eq!(second["prompt_tokens"], 1_258);
}

#[tokio::test]
async fn bodies_are_kept_byte_for_byte() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let server = crate::support::logged(PLAIN, directory.path()).await;
    let body = "{ \"model\":\"m\", \"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"\\u0068i\"}]}";
    crate::support::post_text(&server, "/v1/messages", body).await;
    crate::support::post_text(&server, "/v1/messages", "not JSON").await;
    let captured: Vec<Vec<u8>> = server.requests().iter().map(|one| one.body.to_vec()).collect();
    assert_eq!(captured, [body.as_bytes(), b"not JSON"]);
    let file = |name: &str| std::fs::read_to_string(directory.path().join(name)).expect(name);
    assert_eq!((file("0001.json").as_str(), file("0002.json").as_str()), (body, "not JSON"));
    assert_snapshot!(file("index.jsonl"), @r#"
    {"n":1,"file":"0001.json","path":"/v1/messages","at_ms":1000000,"status":200,"usage":{"uncached":7,"write_short":0,"write_long":0,"read":0,"output":9}}
    {"n":2,"file":"0002.json","path":"/v1/messages","at_ms":1000000,"status":400,"usage":null}
    "#);
}

#[tokio::test]
async fn two_simulators_run_side_by_side() {
    let (one, two) = (start(PLAIN).await, start(TOOLS).await);
    assert_ne!(one.base_url(), two.base_url());
    assert_eq!(post(&one, "/v1/messages", &ask(json!("x"))).await.json()["model"], "sim/plain");
    assert_eq!(post(&two, "/v1/messages", &ask(json!("x"))).await.json()["model"], "sim/tools");
    one.shutdown().await;
    assert_eq!(post(&two, "/v1/messages", &ask(json!("x"))).await.status, 200);
}

#[tokio::test]
async fn the_echo_scenario_repeats_the_user() {
    let server = start(include_str!("../../scenarios/echo.toml")).await;
    let reply = post(&server, "/v1/messages", &ask(json!("hello"))).await.json();
    assert_snapshot!(reply["content"][0]["text"].as_str().unwrap_or_default(), @r"
    hello

    This is tine's simulator (scenario echo), not a model: it repeats what it was told.
    ");
}
