//! What the Chat Completions format refuses.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::profile::Profile;
use crate::refusal::Refusal;

fn read(body: &[u8]) -> Result<Request, Refusal> {
    Request::parse(body, |_| Profile::OpenAi, None)
}

fn why(messages: Value) -> String {
    parse(&json!({"model": "m", "messages": messages}).to_string())
}

fn parse(body: &str) -> String {
    read(body.as_bytes()).map_or_else(|refusal| refusal.message, |_| "accepted".to_owned())
}

fn call(id: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [{"id": id, "type": "function", "function": {"name": "bash", "arguments": "{}"}}]})
}

fn tool(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "done"})
}

#[test]
fn tool_calls_and_tool_messages_must_pair_up() {
    let user = json!({"role": "user", "content": "go"});
    assert_snapshot!(why(json!([user, call("a"), tool("a")])), @"accepted");
    let open = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: a";
    assert_eq!(why(json!([user, call("a")])), open);
    assert_eq!(why(json!([user, call("a"), user])), open);
    assert_snapshot!(why(json!([user, tool("a")])), @"Invalid parameter: messages[1] with role 'tool' must be a response to a preceding message with 'tool_calls'; 'a' answers none.");
    assert_snapshot!(why(json!([user, call("a"), tool("a"), user, tool("a")])), @"Invalid parameter: messages[4] with role 'tool' must be a response to a preceding message with 'tool_calls'; 'a' answers none.");
}

#[test]
fn fields_must_be_there_and_of_their_type() {
    assert_snapshot!(parse("{"), @"We could not parse the JSON body of your request: EOF while parsing an object at line 1 column 1");
    assert_snapshot!(parse("{}"), @"you must provide a model parameter");
    assert_snapshot!(parse(r#"{"model":"m"}"#), @"Missing required parameter: 'messages'.");
    assert_snapshot!(why(json!([])), @"Invalid 'messages': empty array, expected at least one message");
    assert_snapshot!(why(json!([{"role": "x", "content": ""}])), @"Invalid value for 'messages[0].role': expected one of 'system', 'developer', 'user', 'assistant', 'tool'");
    assert_snapshot!(why(json!([{"role": "user", "content": null}])), @"Invalid value for 'messages[0].content': expected a string or an array of parts, got null");
    assert_snapshot!(parse(r#"{"model":"m","messages":[],"max_tokens":0}"#), @"Invalid 'max_tokens': expected an integer of at least 1");
}

#[test]
fn breakpoints_stand_on_content_parts_only() {
    let mark = |ttl: Option<&str>| match ttl {
        None => json!({"mode": "explicit"}),
        Some(ttl) => json!({"mode": "explicit", "ttl": ttl}),
    };
    let part =
        |mark: Value| json!([{"type": "text", "text": "a", "prompt_cache_breakpoint": mark}]);
    assert_snapshot!(why(json!([{"role": "user", "content": part(mark(None))}])), @"accepted");
    assert_snapshot!(why(json!([{"role": "user", "content": part(mark(Some("12h")))}])), @r#"Invalid value: "12h". Supported values are: '30m'."#);
    assert_snapshot!(why(json!([{"role": "user", "content": "a", "prompt_cache_breakpoint": mark(None)}])), @"Unknown parameter: 'messages[0].prompt_cache_breakpoint'.");
    let tool = json!([{"type": "function", "prompt_cache_breakpoint": mark(None)}]);
    let body = json!({"model": "m", "tools": tool, "messages": [{"role": "user", "content": "a"}]});
    assert_snapshot!(parse(&body.to_string()), @"Unknown parameter: 'tools[0].prompt_cache_breakpoint'.");
}

#[test]
fn eligible_ends_are_users_last_results_and_the_first_instructions() {
    let role = |role: &str| json!({"role": role, "content": "x"});
    let calls =
        json!({"role": "assistant", "content": null, "tool_calls": [{"id": "a"}, {"id": "b"}]});
    let messages = json!([
        role("system"),
        role("developer"),
        role("user"),
        calls,
        tool("a"),
        tool("b"),
        role("system"),
        role("user")
    ]);
    let body = json!({"model": "m", "tools": [{"type": "function"}], "messages": messages});
    let request = read(body.to_string().as_bytes()).expect("a valid request");
    let positions = request.prompt(&[0; 32], Profile::OpenAi).positions;
    let ends: Vec<usize> =
        (0..positions.len()).filter(|index| positions[*index].is_eligible_end).collect();
    // The tool is 0, the messages follow.
    assert_eq!(ends, [2, 3, 6, 8]);
}

proptest! {
    #[test]
    fn the_validator_never_panics_on_bytes(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(read(&body));
    }

    #[test]
    fn the_validator_never_panics_on_near_misses(
        role in "user|assistant|tool|system|x",
        key in "content|tool_calls|tool_call_id|role",
        value in prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!([{}, "a", 1])), Just(json!("a"))],
    ) {
        let mut message = json!({"role": role, "content": "a"});
        message[key] = value.clone();
        let body = json!({"model": "m", "messages": [message, value], "tools": value, "stream_options": value});
        if let Ok(request) = read(body.to_string().as_bytes()) {
            request.pieces().for_each(drop);
            drop(request.prompt(&[0; 32], Profile::OpenAi));
        }
    }
}
