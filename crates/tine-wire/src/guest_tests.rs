use serde_json::{Value, json};
use tine_model::{Segment, WireFormat};

use super::*;
use crate::{Head, decode_reply, read_message};

/// A request of the shape that Claude Code sends.
fn claude_code(session: &str, tools: &[&str], messages: &Value) -> GuestRequest {
    let mark = json!({"type": "ephemeral"});
    let tool = |name: &&str| json!({"name": name, "input_schema": {}, "defer_loading": true});
    let tools: Vec<Value> = tools.iter().map(tool).collect();
    let body = json!({
        "model": "claude-opus-5-5", "messages": messages,
        "system": [{"type": "text", "text": "billing"}, {"type": "text", "text": "Be brief.", "cache_control": mark}],
        "tools": tools, "metadata": {"user_id": session}, "max_tokens": 100, "stream": true,
    });
    GuestRequest::read(Provider::Anthropic, body.to_string().as_bytes()).unwrap()
}

fn messages() -> Value {
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    json!([
        {"role": "user", "content": [{"type": "text", "text": "<system-reminder>"}, {"type": "text", "text": "hi"}]},
        {"role": "system", "content": "Surroundings"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "a", "cache_control": mark}]},
    ])
}

fn text(head: &Head) -> String {
    String::from_utf8(head.to_json()).unwrap()
}

#[test]
fn the_head_is_the_request_without_its_messages_byte_for_byte() {
    let request = claude_code("s", &["Bash"], &messages());
    let head = Head::render(request.head.clone());
    assert_eq!(head.to_json(), request.settings());
    let stored = Head::from_stored(&head.to_stored()).unwrap();
    assert_eq!((stored.hash(), text(&stored)), (head.hash(), text(&head)));
    assert!(text(&head).contains(r#""messages":[]"#) && text(&head).contains("defer_loading"));
    assert!(request.has_tools() && !claude_code("s", &[], &messages()).has_tools());
}

#[test]
fn labels_make_no_difference_and_tools_do() {
    let request = claude_code("s", &["Bash"], &messages());
    let other = claude_code("t", &["Bash"], &json!([]));
    assert_eq!(other.first_difference(request.settings()), None);
    assert_eq!(other.boundaries(0)[0].hash, request.boundaries(0)[0].hash);
    let other = claude_code("s", &["Bash", "Read"], &messages());
    let difference = other.first_difference(request.settings());
    assert_eq!(difference, Some(Segment::Tool("Read".to_owned())));
    assert_ne!(other.boundaries(0)[0].hash, request.boundaries(0)[0].hash);
    assert!(!other.has_tools_of(request.settings()));
}

#[test]
fn places_are_those_that_the_program_has_marked_and_those_within_reach_of_a_mark() {
    let places = |boundaries: Vec<Boundary>| -> Vec<String> {
        let place = |place: &Boundary| {
            let mark = place.mark.map_or("-", Lifetime::as_str);
            format!("{} {} {} {mark}", place.kind.as_str(), place.items, place.back)
        };
        boundaries.iter().map(place).collect()
    };
    let request = claude_code("s", &["Bash"], &messages());
    assert_eq!(
        places(request.boundaries(2)),
        ["head 0 0 short", "message 1 3 -", "anchor 2 2 -", "message 3 1 -", "tail 4 0 long"]
    );
    // Behind the last mark nothing is kept; without one, nothing of the messages.
    let mut all = messages();
    all.as_array_mut().unwrap().push(json!({"role": "user", "content": "more"}));
    assert_eq!(places(claude_code("s", &["Bash"], &all).boundaries(0)).len(), 5);
    let plain = json!([{"role": "user", "content": "hi"}]);
    assert_eq!(places(claude_code("s", &["Bash"], &plain).boundaries(0)), ["head 0 0 short"]);
    // A place out of reach is not one.
    let mut long: Vec<Value> = (0..30).map(|_| json!({"role": "user", "content": "x"})).collect();
    long.push(messages()[3].clone());
    let found = claude_code("s", &["Bash"], &json!(long)).boundaries(1);
    assert_eq!(places(found)[..3], ["head 0 0 short", "anchor 1 30 -", "message 12 19 -"]);
}

#[test]
fn a_message_is_known_by_what_it_says() {
    let identity_of = |json: &str| identity(&read_message(WireFormat::Anthropic, json).unwrap());
    let same = |one: &str, other: &str| assert_eq!(identity_of(one), identity_of(other));
    let differ = |one: &str, other: &str| assert_ne!(identity_of(one), identity_of(other));
    let hi = r#"{"role":"user","content":"hi"}"#;
    same(hi, r#"{"content":[{"text":"h\u0069","type":"text","cache_control":{}}],"role":"user"}"#);
    differ(hi, r#"{"role":"user","content":"hi "}"#);
    differ(
        hi,
        r#"{"role":"user","content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}"#,
    );
    differ(hi, r#"{"role":"assistant","content":"hi"}"#);
    let call = |input: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"n","input":{input}}}]}}"#
        )
    };
    same(&call(r#"{"a":[1]}"#), &call("{ \"a\" : [ 1 ] }"));
    differ(&call(r#"{"a":[1]}"#), &call(r#"{"a":["1"]}"#));
    let result = |content: &str, more: &str| {
        format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":{content}{more}}}]}}"#
        )
    };
    same(&result(r#""x""#, ""), &result(r#"[{"type":"text","text":"x"}]"#, r#","is_error":false"#));
    differ(&result(r#""x""#, ""), &result(r#""x""#, r#","is_error":true"#));
}

/// Codex sends its instructions among the messages, and each item of an answer by itself.
#[test]
fn a_request_of_codex_is_read_with_its_answers_as_they_came() {
    let passthrough = json!({"content_item_kinds": ["user.text"]});
    let reasoning = json!({"type": "reasoning", "summary": [], "encrypted_content": "e"});
    let call =
        json!({"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "c"});
    let body = json!({
        "model": "gpt-5.6", "stream": true, "store": false, "prompt_cache_key": "thread",
        "client_metadata": {"turn": "1"},
        "tools": [{"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}}],
        "input": [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}],
             "internal_chat_message_metadata_passthrough": passthrough},
            reasoning, call,
            {"type": "function_call_output", "call_id": "c", "output": "x"},
        ],
    });
    let request = GuestRequest::read(Provider::OpenAi, body.to_string().as_bytes()).unwrap();
    assert_eq!(request.messages.len(), 3);
    assert_eq!(request.messages[0].message.text(), "hi");
    let settings = String::from_utf8(request.settings().to_vec()).unwrap();
    assert!(settings.contains("Be brief.") && !settings.contains("hi"), "{settings}");
    // The answer as it came from the provider.
    let reply = json!({
        "id": "r", "object": "response", "status": "completed", "model": "gpt-5.6",
        "output": [
            {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"},
            {"type": "function_call", "id": "fc", "status": "completed", "name": "exec_command", "arguments": "{}", "call_id": "c"},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    });
    let reply = decode_reply(WireFormat::OpenAiResponses, reply.to_string().as_bytes()).unwrap();
    assert_eq!(identity(&reply.message), request.messages[1].identity);
    let mut later = body.clone();
    later["client_metadata"]["turn"] = json!("2");
    let later = GuestRequest::read(Provider::OpenAi, later.to_string().as_bytes()).unwrap();
    assert_eq!(later.first_difference(request.settings()), None);
}

#[test]
fn what_is_no_request_is_refused() {
    for body in ["", "[]", "{}", r#"{"model":"m","messages":"hi"}"#, r#"{"messages":[]}"#] {
        assert!(GuestRequest::read(Provider::Anthropic, body.as_bytes()).is_err(), "{body}");
    }
}
