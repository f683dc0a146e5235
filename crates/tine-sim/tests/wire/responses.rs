//! The Responses format as a client meets it.

use crate::support::{events, input, manual, post, read_and_written, start};
use insta::assert_snapshot;
use serde_json::{Value, json};

const TOOLS: &str = r#"
name = "tools"
cache_min_tokens = 5
[[turn]]
when = { tool_results = 0 }
thinking = "Look first."
text = "I look at {{user}}."
tool_calls = [{ name = "bash", input = { timeout = 5, command = "ls {{user}}" } }]
[[turn]]
when = { last_tool = "bash" }
text = "It holds {{tool_result.0 | count_lines}} files."
"#;

fn asked() -> Value {
    let mut body = input(&[("src", true)]);
    body["include"] = json!(["reasoning.encrypted_content"]);
    body["reasoning"] = json!({"effort": "low", "summary": "auto"});
    body["store"] = json!(false);
    body
}

#[tokio::test]
async fn a_streamed_response_has_the_vendors_events() {
    let server = manual(TOOLS).await.0;
    let mut body = asked();
    body["stream"] = json!(true);
    let reply = post(&server, "/v1/responses", &body).await;
    assert_eq!(reply.header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!(reply.header("x-request-id"), "req_sim_000001");
    assert_snapshot!(reply.text(), @r#"
    event: response.created
    data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_sim_000001","object":"response","created_at":1000,"status":"in_progress","error":null,"incomplete_details":null,"model":"sim/tools","output":[],"previous_response_id":null,"reasoning":{"effort":"low","summary":"auto"},"store":false,"parallel_tool_calls":true,"tool_choice":"auto","tools":[]}}

    event: response.in_progress
    data: {"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_sim_000001","object":"response","created_at":1000,"status":"in_progress","error":null,"incomplete_details":null,"model":"sim/tools","output":[],"previous_response_id":null,"reasoning":{"effort":"low","summary":"auto"},"store":false,"parallel_tool_calls":true,"tool_choice":"auto","tools":[]}}

    event: response.output_item.added
    data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"rs_sim_000001","type":"reasoning","summary":[],"encrypted_content":""}}

    event: response.reasoning_summary_part.added
    data: {"type":"response.reasoning_summary_part.added","sequence_number":3,"item_id":"rs_sim_000001","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}

    event: response.reasoning_summary_text.delta
    data: {"type":"response.reasoning_summary_text.delta","sequence_number":4,"item_id":"rs_sim_000001","output_index":0,"summary_index":0,"delta":"Look first."}

    event: response.reasoning_summary_text.done
    data: {"type":"response.reasoning_summary_text.done","sequence_number":5,"item_id":"rs_sim_000001","output_index":0,"summary_index":0,"text":"Look first."}

    event: response.reasoning_summary_part.done
    data: {"type":"response.reasoning_summary_part.done","sequence_number":6,"item_id":"rs_sim_000001","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"Look first."}}

    event: response.output_item.done
    data: {"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"rs_sim_000001","type":"reasoning","summary":[{"type":"summary_text","text":"Look first."}],"encrypted_content":"sim1.c591a2a298430fd8.49323f12bb03cc9976e75ce5becb3c01.80096344e72a80d6"}}

    event: response.output_item.added
    data: {"type":"response.output_item.added","sequence_number":8,"output_index":1,"item":{"id":"msg_sim_000002_rs000001","type":"message","status":"in_progress","role":"assistant","content":[]}}

    event: response.content_part.added
    data: {"type":"response.content_part.added","sequence_number":9,"item_id":"msg_sim_000002_rs000001","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}

    event: response.output_text.delta
    data: {"type":"response.output_text.delta","sequence_number":10,"item_id":"msg_sim_000002_rs000001","output_index":1,"content_index":0,"logprobs":[],"delta":"I look at src."}

    event: response.output_text.done
    data: {"type":"response.output_text.done","sequence_number":11,"item_id":"msg_sim_000002_rs000001","output_index":1,"content_index":0,"logprobs":[],"text":"I look at src."}

    event: response.content_part.done
    data: {"type":"response.content_part.done","sequence_number":12,"item_id":"msg_sim_000002_rs000001","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":"I look at src."}}

    event: response.output_item.done
    data: {"type":"response.output_item.done","sequence_number":13,"output_index":1,"item":{"id":"msg_sim_000002_rs000001","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"I look at src."}]}}

    event: response.output_item.added
    data: {"type":"response.output_item.added","sequence_number":14,"output_index":2,"item":{"id":"fc_sim_000003","type":"function_call","status":"in_progress","call_id":"call_sim_000001","name":"bash","arguments":""}}

    event: response.function_call_arguments.delta
    data: {"type":"response.function_call_arguments.delta","sequence_number":15,"item_id":"fc_sim_000003","output_index":2,"delta":"{\"timeout\":5,\"command\":\""}

    event: response.function_call_arguments.delta
    data: {"type":"response.function_call_arguments.delta","sequence_number":16,"item_id":"fc_sim_000003","output_index":2,"delta":"ls src\"}"}

    event: response.function_call_arguments.done
    data: {"type":"response.function_call_arguments.done","sequence_number":17,"item_id":"fc_sim_000003","output_index":2,"arguments":"{\"timeout\":5,\"command\":\"ls src\"}"}

    event: response.output_item.done
    data: {"type":"response.output_item.done","sequence_number":18,"output_index":2,"item":{"id":"fc_sim_000003","type":"function_call","status":"completed","call_id":"call_sim_000001","name":"bash","arguments":"{\"timeout\":5,\"command\":\"ls src\"}"}}

    event: response.completed
    data: {"type":"response.completed","sequence_number":19,"response":{"id":"resp_sim_000001","object":"response","created_at":1000,"status":"completed","error":null,"incomplete_details":null,"model":"sim/tools","output":[{"id":"rs_sim_000001","type":"reasoning","summary":[{"type":"summary_text","text":"Look first."}],"encrypted_content":"sim1.c591a2a298430fd8.49323f12bb03cc9976e75ce5becb3c01.80096344e72a80d6"},{"id":"msg_sim_000002_rs000001","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"I look at src."}]},{"id":"fc_sim_000003","type":"function_call","status":"completed","call_id":"call_sim_000001","name":"bash","arguments":"{\"timeout\":5,\"command\":\"ls src\"}"}],"previous_response_id":null,"reasoning":{"effort":"low","summary":"auto"},"store":false,"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":{"input_tokens":8,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":8,"cache_write_tokens_details":{"ttl_30m_tokens":8,"ttl_12h_tokens":0}},"output_tokens":16,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":24}}}
    "#);
}

const PATCHES: &str = r#"
name = "tools"
cache_min_tokens = 5
[[turn]]
when = { tool_results = 0 }
tool_calls = [{ name = "apply_patch", input = { input = "*** Begin\nx" } }]
[[turn]]
when = { last_tool = "apply_patch" }
text = "It says {{tool_result.0}}."
"#;

#[tokio::test]
async fn a_call_of_a_custom_tool_has_a_text_and_an_answer_of_its_kind() {
    let server = manual(PATCHES).await.0;
    let mut body = input(&[("go", true)]);
    body["tools"] = json!([{"type": "custom", "name": "apply_patch", "format": {"type": "text"}}]);
    let call = post(&server, "/v1/responses", &body).await.json()["output"][0].clone();
    assert_eq!(call["type"], "custom_tool_call");
    assert_eq!((&call["name"], &call["input"]), (&json!("apply_patch"), &json!("*** Begin\nx")));
    body["stream"] = json!(true);
    let streamed = post(&server, "/v1/responses", &body).await.text();
    let kinds = ["response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"];
    assert!(kinds.iter().all(|kind| streamed.contains(kind)), "{streamed}");
    body["stream"] = json!(false);
    let id = call["call_id"].clone();
    body["input"].as_array_mut().unwrap().push(call);
    let output = json!({"type": "custom_tool_call_output", "call_id": id, "output": "done"});
    body["input"].as_array_mut().unwrap().push(output);
    let reply = post(&server, "/v1/responses", &body).await.json();
    assert_eq!(reply["output"][0]["content"][0]["text"], "It says done.");
}

#[tokio::test]
async fn a_call_names_the_namespace_that_declares_the_tool() {
    let server = manual(TOOLS).await.0;
    let bash = json!({"type": "function", "name": "bash"});
    for (tool, expected) in [
        (
            json!({"type": "namespace", "name": "mcp__files", "description": "Files", "tools": [bash]}),
            json!("mcp__files"),
        ),
        (bash, Value::Null),
    ] {
        let mut body = input(&[("src", true)]);
        body["tools"] = json!([tool]);
        body["client_metadata"] = json!({"session_id": "as Codex sends it"});
        let reply: Value =
            serde_json::from_str(&post(&server, "/v1/responses", &body).await.text()).unwrap();
        let call = &reply["output"][2];
        assert_eq!((&call["name"], &call["namespace"]), (&json!("bash"), &expected));
    }
}

#[tokio::test]
async fn a_tool_turn_goes_on_with_its_output() {
    let server = manual(TOOLS).await.0;
    let first = post(&server, "/v1/responses", &asked()).await.json();
    assert_snapshot!(first, @r#"{"id":"resp_sim_000001","object":"response","created_at":1000,"status":"completed","error":null,"incomplete_details":null,"model":"sim/tools","output":[{"id":"rs_sim_000001","type":"reasoning","summary":[{"type":"summary_text","text":"Look first."}],"encrypted_content":"sim1.c591a2a298430fd8.49323f12bb03cc9976e75ce5becb3c01.80096344e72a80d6"},{"id":"msg_sim_000002_rs000001","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"I look at src."}]},{"id":"fc_sim_000003","type":"function_call","status":"completed","call_id":"call_sim_000001","name":"bash","arguments":"{\"timeout\":5,\"command\":\"ls src\"}"}],"previous_response_id":null,"reasoning":{"effort":"low","summary":"auto"},"store":false,"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":{"input_tokens":8,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":8,"cache_write_tokens_details":{"ttl_30m_tokens":8,"ttl_12h_tokens":0}},"output_tokens":16,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":24}}"#);
    let mut body = asked();
    let output = first["output"].as_array().expect("items");
    let call_id = &output[2]["call_id"];
    let items = body["input"].as_array_mut().expect("items");
    items.extend(output.clone());
    items.push(json!({"type": "function_call_output", "call_id": call_id, "output": "a\nb\nc"}));
    let second = post(&server, "/v1/responses", &body).await;
    assert_eq!(second.json()["output"][0]["content"][0]["text"], "It holds 3 files.");
    let read = first["usage"]["input_tokens_details"]["cache_write_tokens"].as_u64();
    assert!(read > Some(0));
    assert_eq!(Some(read_and_written(&second).0), read);
}

#[tokio::test]
async fn reasoning_is_checked_when_it_comes_back() {
    let server = manual(TOOLS).await.0;
    let first = post(&server, "/v1/responses", &asked()).await.json();
    let output = first["output"].as_array().expect("items");
    let send = async |question: &str, items: &[Value]| {
        let mut body = asked();
        body["input"][0]["content"][0]["text"] = json!(question);
        let input = body["input"].as_array_mut().expect("items");
        input.extend_from_slice(items);
        let call_id = &output[2]["call_id"];
        input.push(json!({"type": "function_call_output", "call_id": call_id, "output": "a"}));
        post(&server, "/v1/responses", &body).await
    };
    let mut changed = output.clone();
    let sealed = changed[0]["encrypted_content"].as_str().expect("text").replace('.', "-");
    changed[0]["encrypted_content"] = json!(sealed);
    let refused = send("src", &changed).await;
    assert_eq!(refused.status, 400);
    assert_snapshot!(refused.text(), @r#"{"error":{"message":"The encrypted content for item rs_sim_000001 could not be verified.","type":"invalid_request_error","param":"input[1].encrypted_content","code":"invalid_encrypted_content"}}"#);
    let refused = send("src", &output[1..]).await;
    assert_snapshot!(refused.text(), @r#"{"error":{"message":"Item 'msg_sim_000002_rs000001' of type 'message' was provided without its required 'reasoning' item: 'rs_sim_000001'.","type":"invalid_request_error","param":"input","code":null}}"#);
    let moved = send("lib", output).await.json();
    assert_snapshot!(moved["input_transformations"], @r#"[{"type":"reasoning","id":"rs_sim_000001","action":"removed","reason":"prefix_mismatch"}]"#);
}

#[tokio::test]
async fn a_prewarm_makes_entries_and_says_nothing() {
    let server = start(TOOLS).await;
    let mut body = asked();
    body["prompt_cache_options"]["prewarm"] = json!(true);
    let warm = post(&server, "/v1/responses", &body).await;
    let (read, written) = read_and_written(&warm);
    assert!(written > 0);
    assert_eq!((read, &warm.json()["output"]), (0, &json!([])));
    assert_eq!(
        (&warm.json()["status"], &warm.json()["usage"]["output_tokens"]),
        (&json!("completed"), &json!(0))
    );
    assert_eq!(read_and_written(&post(&server, "/v1/responses", &asked()).await), (written, 0));
    body["stream"] = json!(true);
    let reply = post(&server, "/v1/responses", &body).await;
    assert_eq!(events(&reply), ["response.created", "response.in_progress", "response.completed"]);
}

#[tokio::test]
async fn a_response_can_end_early() {
    let server = start(TOOLS).await;
    let mut body = asked();
    body["max_output_tokens"] = json!(5);
    body["stream"] = json!(true);
    let reply = post(&server, "/v1/responses", &body).await;
    assert_eq!(events(&reply).last().map(String::as_str), Some("response.incomplete"));
    assert!(reply.text().contains(r#""incomplete_details":{"reason":"max_output_tokens"}"#));
    for (reason, last) in [("failed", "response.failed"), ("content_filter", "response.incomplete")]
    {
        let rule = format!("name = \"x\"\n[[turn]]\ntext = \"no\"\nstop_reason = \"{reason}\"\n");
        let server = start(&rule).await;
        let reply = post(&server, "/v1/responses", &body).await;
        assert_eq!(events(&reply).last().map(String::as_str), Some(last));
    }
}

#[tokio::test]
async fn lifetimes_are_reported_apart() {
    let (server, clock) = manual(TOOLS).await;
    let mut body = input(&[("first", true), ("second", true)]);
    let mark = json!({"mode": "explicit", "ttl": "12h"});
    body["input"][0]["content"][0]["prompt_cache_breakpoint"] = mark;
    let first = post(&server, "/v1/responses", &body).await.json();
    assert_snapshot!(first["usage"]["input_tokens_details"], @r#"{"cached_tokens":0,"cache_write_tokens":11,"cache_write_tokens_details":{"ttl_30m_tokens":3,"ttl_12h_tokens":8}}"#);
    clock.advance(30 * 60 * 1_000);
    let later = post(&server, "/v1/responses", &body).await.json();
    assert_snapshot!(later["usage"]["input_tokens_details"], @r#"{"cached_tokens":8,"cache_write_tokens":3,"cache_write_tokens_details":{"ttl_30m_tokens":3,"ttl_12h_tokens":0}}"#);
    body["input"][0]["content"].as_array_mut().expect("parts").truncate(1);
    clock.advance(12 * 60 * 60 * 1_000);
    assert_eq!(read_and_written(&post(&server, "/v1/responses", &body).await).0, 0);
}

#[tokio::test]
async fn a_response_needs_a_key_and_a_known_model() {
    let server = start("name = \"strict\"\nmodels = [\"known\"]\n").await;
    let reply = post(&server, "/responses", &asked()).await;
    assert_eq!(reply.status, 404);
    assert_snapshot!(reply.text(), @r#"{"error":{"message":"The model `gpt-6.1-sol` does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#);
    let url = format!("{}/v1/responses", server.base_url());
    let reply = crate::support::client().post(url).body("{}").send().await.expect("a response");
    assert_eq!(reply.status(), 401);
}
