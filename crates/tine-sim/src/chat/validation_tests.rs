//! What the Chat Completions format refuses.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn why(messages: Value) -> String {
    parse(&json!({"model": "m", "messages": messages}).to_string())
}

fn parse(body: &str) -> String {
    Request::parse(body.as_bytes())
        .map_or_else(|refusal| refusal.message, |_| "accepted".to_owned())
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

proptest! {
    #[test]
    fn the_validator_never_panics_on_bytes(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(Request::parse(&body));
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
        if let Ok(request) = Request::parse(body.to_string().as_bytes()) {
            request.pieces().for_each(drop);
            drop(request.prompt([0; 32]));
        }
    }
}
