//! What the Messages format refuses, and how its prompt becomes positions.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::cache::Ttl;
use crate::scenario::ThinkingBinding;

fn read(body: &Value) -> Result<Request, String> {
    Request::parse(body.to_string().as_bytes(), Purpose::Generate, &[]).map_err(|refusal| {
        assert_eq!(refusal.status, 400);
        refusal.message
    })
}

/// Why a body with these messages is refused.
fn why(messages: Value) -> String {
    with(json!({"messages": messages}))
}

fn with(changes: Value) -> String {
    let mut body =
        json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]});
    for (key, value) in changes.as_object().expect("an object") {
        body[key] = value.clone();
    }
    read(&body).map_or_else(|message| message, |_| "accepted".to_owned())
}

fn text(text: &str, ttl: Option<&str>) -> Value {
    match ttl {
        None => json!({"type": "text", "text": text}),
        Some(ttl) => {
            json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}})
        }
    }
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "bash", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "done"})
}

fn user(blocks: Value) -> Value {
    json!({"role": "user", "content": blocks})
}

fn assistant(blocks: Value) -> Value {
    json!({"role": "assistant", "content": blocks})
}

#[test]
fn marks_are_limited_in_number_order_and_place() {
    let five: Vec<Value> = (0..5).map(|_| text("x", Some("5m"))).collect();
    assert_snapshot!(why(json!([user(json!(five))])), @"A maximum of 4 blocks with cache_control may be provided. Found 5.");
    let wrong = json!([user(json!([text("a", Some("5m")), text("b", Some("1h"))]))]);
    assert_snapshot!(why(wrong), @"messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block; the order is `tools`, `system`, `messages`");
    assert_snapshot!(why(json!([user(json!([text("", Some("5m"))]))])), @"messages.0.content.0.cache_control: cache_control cannot be set for empty text blocks");
    let thinking = json!({"type": "thinking", "thinking": "", "signature": "s", "cache_control": {"type": "ephemeral"}});
    assert_snapshot!(why(json!([user(json!("a")), assistant(json!([thinking])), user(json!("b"))])), @"messages.1.content.0.thinking.cache_control: Extra inputs are not permitted");
    let inside =
        json!({"type": "tool_result", "tool_use_id": "a", "content": [text("x", Some("5m"))]});
    assert_snapshot!(why(json!([user(json!("a")), assistant(json!([call("a")])), user(json!([inside]))])), @"messages.2.content.0.content.0.cache_control: cache_control cannot be set inside a block, mark the block itself");
    assert_snapshot!(why(json!([user(json!([text("a", Some("2h"))]))])), @"messages.0.content.0.cache_control.ttl: Input should be '5m' or '1h'");
}

#[test]
fn automatic_caching_takes_one_of_the_four_marks() {
    let marks = |count: usize| -> Vec<Value> {
        (0..=count).map(|index| text("x", (index < count).then_some("5m"))).collect()
    };
    let with_marks = |count, ttl: &str| {
        let automatic = json!({"type": "ephemeral", "ttl": ttl});
        with(json!({"cache_control": automatic, "messages": [user(json!(marks(count)))]}))
    };
    assert_snapshot!(with_marks(3, "5m"), @"accepted");
    assert_snapshot!(with_marks(4, "5m"), @"cache_control: automatic caching needs one of the 4 cache_control blocks, and all are in use");
    assert_snapshot!(with_marks(3, "1h"), @"cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block");
    let conflict = json!({"cache_control": {"type": "ephemeral", "ttl": "1h"}, "messages": [user(json!([text("x", Some("5m"))]))]});
    assert_snapshot!(with(conflict), @"cache_control: the last block carries a cache_control with another ttl than the automatic one");
}

#[test]
fn tool_calls_and_results_must_pair_up() {
    let (ask, calls) = (user(json!("go")), assistant(json!([call("a"), call("b")])));
    assert_snapshot!(why(json!([ask, calls])), @"messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a, b. Each `tool_use` block needs its `tool_result` in the next message.");
    assert_snapshot!(why(json!([ask, calls, user(json!([result("a")]))])), @"messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. Each `tool_use` block needs its `tool_result` in the next message.");
    assert_snapshot!(why(json!([user(json!([result("x")]))])), @"messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: x. Each `tool_result` block needs its `tool_use` block in the previous message, and answers it once.");
    let late = json!([ask, calls, user(json!([result("a"), text("t", None), result("b")]))]);
    assert_snapshot!(why(late), @"messages.2.content.2: `tool_result` blocks must come first in a message, before any other content");
    let split = json!([
        ask,
        calls,
        user(json!([result("b")])),
        user(json!([result("a"), text("t", None)]))
    ]);
    assert_snapshot!(why(split), @"accepted");
}

#[test]
fn a_conversation_begins_and_ends_with_the_user() {
    assert_snapshot!(why(json!([])), @"messages: at least one message is required");
    assert_snapshot!(why(json!([assistant(json!("hi")), user(json!("hi"))])), @r#"messages: first message must use the "user" role"#);
    assert_snapshot!(why(json!([user(json!("hi")), assistant(json!("I"))])), @"This model does not support assistant message prefill. The conversation must end with a user message.");
    let system = json!({"role": "system", "content": "be brief"});
    assert_snapshot!(why(json!([user(json!("hi")), system])), @"accepted");
    assert_snapshot!(why(json!([user(json!("hi")), system, user(json!("hi"))])), @r#"messages.1: a "system" message must follow a user message and stand before an assistant message or last"#);
}

#[test]
fn fields_must_be_there_and_of_their_type() {
    let parse = |body: &str| match Request::parse(body.as_bytes(), Purpose::Generate, &[]) {
        Ok(_) => "accepted".to_owned(),
        Err(refusal) => refusal.message,
    };
    assert_snapshot!(parse("{\"model\":"), @"The request body is not valid JSON: EOF while parsing a value at line 1 column 9");
    assert_snapshot!(parse("[]"), @"The request body is not a JSON object");
    assert_snapshot!(parse("{}"), @"model: Field required");
    assert_snapshot!(parse(r#"{"model":"m"}"#), @"max_tokens: Field required");
    assert_snapshot!(parse(r#"{"model":"m","max_tokens":1}"#), @"messages: Field required");
    assert_snapshot!(with(json!({"max_tokens": "9"})), @"max_tokens: Input should be a valid integer");
    assert_snapshot!(with(json!({"max_tokens": 0, "stream": true})), @"max_tokens: 0 cannot be combined with `stream: true`");
    assert_snapshot!(with(json!({"tools": [{"name": "a"}, {"name": "a"}]})), @"tools: Tool names must be unique, `a` is not");
    assert_snapshot!(why(json!([user(json!(""))])), @"messages.0.content.0: text content blocks must be non-empty");
    assert_snapshot!(why(json!([user(json!(" \n"))])), @"messages.0.content.0: text content blocks must contain non-whitespace text");
    assert_snapshot!(why(json!([user(json!([]))])), @"messages.0: messages must have non-empty content");
    let effort = json!({"role": "system", "content": [], "output_config": {"effort": "low"}});
    assert_snapshot!(why(json!([user(json!("hi")), effort])), @"accepted");
}

fn flattened(body: &Value) -> Flattened {
    let request = read(body).expect("a valid request");
    Flattened::of(&request, [0; 32], ThinkingBinding::Prefix).expect("bound thinking")
}

fn base() -> Value {
    json!({
        "model": "m", "max_tokens": 9,
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
        "system": "be brief",
        "messages": [user(json!("hi"))],
    })
}

/// Positions of the base request that stay the same under a change: tool, system, message.
fn kept(change: impl FnOnce(&mut Value)) -> usize {
    let mut body = base();
    change(&mut body);
    let (before, after) = (flattened(&base()).prompt, flattened(&body).prompt);
    let pairs = before.positions.iter().zip(&after.positions);
    pairs.take_while(|(before, after)| before.digest == after.digest).count()
}

#[test]
fn settings_lose_the_levels_that_the_reference_says() {
    assert_eq!(kept(|body| body["model"] = json!("n")), 0);
    assert_eq!(kept(|body| body["tools"][0]["description"] = json!("d")), 0);
    assert_eq!(kept(|body| body["speed"] = json!("fast")), 1);
    assert_eq!(kept(|body| body["system"] = json!("be long")), 1);
    assert_eq!(kept(|body| body["thinking"] = json!({"type": "adaptive"})), 2);
    assert_eq!(kept(|body| body["output_config"] = json!({"effort": "low"})), 2);
    assert_eq!(kept(|body| body["tool_choice"] = json!({"type": "any"})), 2);
    let choice = json!({"type": "auto", "disable_parallel_tool_use": true});
    assert_eq!(kept(|body| body["tool_choice"] = choice.clone()), 2);
    let image = json!({"type": "image", "source": {}});
    assert_eq!(kept(|body| body["messages"] = json!([user(json!([text("hi", None), image]))])), 2);
}

#[test]
fn equal_requests_in_other_words_are_equal() {
    let same = 3;
    assert_eq!(kept(|body| body["tool_choice"] = json!({"type": "auto"})), same);
    assert_eq!(kept(|body| body["output_config"] = json!({"effort": "high"})), same);
    assert_eq!(kept(|body| body["max_tokens"] = json!(1)), same);
    let choice = json!({"type": "auto", "disable_parallel_tool_use": false});
    assert_eq!(kept(|body| body["tool_choice"] = choice.clone()), same);
    assert_eq!(kept(|body| body["system"] = json!([text("be brief", Some("1h"))])), same);
    assert_eq!(kept(|body| body["messages"] = json!([user(json!([text("hi", None)]))])), same);
    let ask = |blocks: Value| user(blocks);
    let (one, two) = (text("hi", None), text("ho", None));
    let mut body = base();
    body["messages"] = json!([ask(json!([one, two]))]);
    let merged = flattened(&body).prompt;
    body["messages"] = json!([ask(json!([one])), ask(json!([two]))]);
    assert_eq!(flattened(&body).prompt, merged);
}

#[test]
fn key_order_inside_tool_input_counts() {
    let with_input = |input: &str| {
        let input: Value = serde_json::from_str(input).expect("JSON");
        let call = json!({"type": "tool_use", "id": "a", "name": "bash", "input": input});
        let mut body = base();
        body["messages"] =
            json!([user(json!("hi")), assistant(json!([call])), user(json!([result("a")]))]);
        flattened(&body).prompt
    };
    assert_ne!(with_input(r#"{"a":1,"b":2}"#), with_input(r#"{"b":2,"a":1}"#));
    assert_eq!(with_input(r#"{"a":1,"b":2}"#), with_input(r#"{ "a" : 1, "b" : 2 }"#));
}

#[test]
fn automatic_caching_marks_the_last_block() {
    let mut body = base();
    body["cache_control"] = json!({"type": "ephemeral"});
    let marks: Vec<Option<Ttl>> =
        flattened(&body).prompt.positions.iter().map(|position| position.mark).collect();
    assert_eq!(marks, [None, None, Some(Ttl::Short)]);
}

#[test]
fn signed_thinking_is_bound_to_its_prefix() {
    let signature = flattened(&base()).sign("hm");
    let later = |system: &str, thinking: &str, last: Value| {
        let block = json!({"type": "thinking", "thinking": thinking, "signature": signature});
        let mut body = base();
        body["system"] = json!(system);
        body["messages"] =
            json!([user(json!("hi")), assistant(json!([block, text("ok", None)])), user(last)]);
        let request = read(&body).expect("a valid request");
        match Flattened::of(&request, [0; 32], ThinkingBinding::Prefix) {
            Ok(_) => "accepted".to_owned(),
            Err(refusal) => refusal.message,
        }
    };
    assert_snapshot!(later("be brief", "hm", json!("branch 1")), @"accepted");
    assert_snapshot!(later("be brief", "hm", json!("branch 2")), @"accepted");
    assert_snapshot!(later("be long", "hm", json!("branch 2")), @"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation: what stands before it is not what it was made for.");
    assert_snapshot!(later("be brief", "ha", json!("branch 2")), @"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified");
}

#[test]
fn what_a_model_takes_is_checked_by_its_name() {
    let with_model =
        |model: &str, messages: Value| with(json!({"model": model, "messages": messages}));
    let prefill = json!([user(json!("hi")), assistant(json!("I"))]);
    assert_snapshot!(with_model("claude-sonnet-4-5", prefill.clone()), @"accepted");
    assert_snapshot!(with_model("claude-opus-4-6", prefill), @"This model does not support assistant message prefill. The conversation must end with a user message.");
    let system = json!([user(json!("hi")), {"role": "system", "content": "be brief"}]);
    assert_snapshot!(with_model("claude-opus-5", system.clone()), @"accepted");
    assert_snapshot!(with_model("claude-sonnet-5", system), @r#"messages.1.role: this model does not support "system" messages; use the top-level `system`"#);
}

#[test]
fn a_system_message_stands_behind_the_user_and_before_the_answer() {
    let system = json!({"role": "system", "content": "be brief"});
    let (ask, calls) = (user(json!("go")), assistant(json!([call("a")])));
    let done = user(json!([result("a")]));
    assert_snapshot!(why(json!([ask, calls, done, system])), @"accepted");
    assert_snapshot!(why(json!([ask, system, assistant(json!("ok")), ask])), @"accepted");
    assert_snapshot!(why(json!([system, ask])), @r#"messages: first message must use the "user" role"#);
    assert_snapshot!(why(json!([ask, assistant(json!("ok")), system])), @r#"messages.2: a "system" message must follow a user message and stand before an assistant message or last"#);
    assert_snapshot!(why(json!([ask, calls, system, done])), @"messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a. Each `tool_use` block needs its `tool_result` in the next message.");
}

#[test]
fn a_prewarm_needs_no_answer() {
    let prewarm = |key: &str, value: Value| with(json!({"max_tokens": 0, key: value}));
    assert_snapshot!(prewarm("thinking", json!({"type": "adaptive"})), @"accepted");
    assert_snapshot!(prewarm("thinking", json!({"type": "enabled", "budget_tokens": 9})), @"max_tokens: 0 cannot be combined with `thinking.type: enabled`");
    assert_snapshot!(prewarm("output_config", json!({"format": {"type": "json_schema"}})), @"max_tokens: 0 cannot be combined with `output_config.format`");
    assert_snapshot!(prewarm("tool_choice", json!({"type": "any"})), @"max_tokens: 0 cannot be combined with a forced `tool_choice`");
    assert_snapshot!(prewarm("tool_choice", json!({"type": "tool", "name": "a"})), @"max_tokens: 0 cannot be combined with a forced `tool_choice`");
    assert_snapshot!(prewarm("tool_choice", json!({"type": "auto"})), @"accepted");
}

#[test]
fn betas_must_be_asked_for() {
    let check = |field: &str, value: Value, betas: &[&str]| {
        let mut body = base();
        body[field] = value;
        Request::parse(body.to_string().as_bytes(), Purpose::Generate, betas).map_or_else(
            |refusal| format!("{} {} {:?}", refusal.status, refusal.message, refusal.code),
            |_| "accepted".to_owned(),
        )
    };
    let binding =
        json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
    let beta = ["thinking-binding-controls-2026-08-01"];
    assert_snapshot!(check("thinking", binding.clone(), &beta), @"accepted");
    assert_snapshot!(check("thinking", binding, &["other"]), @"400 thinking.block_binding: Extra inputs are not permitted without the beta header `anthropic-beta: thinking-binding-controls-2026-08-01` None");
    let wrong = json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "x"}});
    assert_snapshot!(check("thinking", wrong, &beta), @"400 thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block' None");
    let beta = ["message-threads-2026-08-12"];
    let thread = json!({"type": "continue", "previous_message_id": "msg_1"});
    assert_snapshot!(check("thread", json!({"type": "create"}), &beta), @"accepted");
    assert_snapshot!(check("thread", thread.clone(), &beta), @r#"404 thread: no thread ends in the message `msg_1`; send the conversation in full Some("thread_not_found")"#);
    assert_snapshot!(check("thread", thread, &[]), @"400 thread: Extra inputs are not permitted without the beta header `anthropic-beta: message-threads-2026-08-12` None");
}

/// A conversation of two runs, each with thinking that was signed where it stands. `first` is the first user text.
fn two_runs(first: &str, behaviour: &str) -> Result<Flattened, String> {
    let sign = |messages: &[Value]| {
        let mut body = base();
        body["messages"] = json!(messages);
        let signature = flattened(&body).sign("hm");
        json!({"type": "thinking", "thinking": "hm", "signature": signature})
    };
    let mut messages = vec![user(json!("hi"))];
    messages.push(assistant(json!([sign(&messages), call("a")])));
    messages.push(user(json!([result("a")])));
    messages.push(assistant(json!([sign(&messages), text("ok", None)])));
    messages.push(user(json!("more")));
    messages[0] = user(json!(first));
    // What the model says after the change is signed for what it saw.
    let mut body = base();
    body["thinking"] =
        json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": behaviour}});
    let mut flatten = |messages: &[Value]| {
        body["messages"] = json!(messages);
        let betas = ["thinking-binding-controls-2026-08-01"];
        let request = Request::parse(body.to_string().as_bytes(), Purpose::Generate, &betas)
            .expect("a valid request");
        Flattened::of(&request, [0; 32], ThinkingBinding::Prefix).map_err(|refusal| refusal.message)
    };
    let seen = flatten(&messages)?;
    let thinking = json!({"type": "thinking", "thinking": "so", "signature": seen.sign("so")});
    messages.push(assistant(json!([thinking, text("done", None)])));
    messages.push(user(json!("thanks")));
    flatten(&messages)
}

#[test]
fn thinking_behind_another_prefix_is_dropped_where_that_is_asked_for() {
    let whole = two_runs("hi", "drop_block").expect("nothing to drop");
    assert_eq!(whole.transformations, Vec::<Value>::new());
    let dropped = two_runs("ho", "drop_block").expect("no refusal");
    assert_snapshot!(json!(dropped.transformations), @r#"[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"prefix_binding_mismatch"},{"type":"thinking_dropped","path":"messages.3.content.0","reason":"prefix_binding_mismatch"}]"#);
    assert_eq!(dropped.prompt.positions.len() + 2, whole.prompt.positions.len());
    assert_snapshot!(two_runs("ho", "error").expect_err("a refusal"), @"messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation: what stands before it is not what it was made for.");
}

#[test]
fn dropping_is_not_a_way_around_changed_thinking() {
    let signature = flattened(&base()).sign("hm");
    for (thinking, signature) in [("ha", signature.clone()), ("hm", format!("{signature}0"))] {
        let block = json!({"type": "thinking", "thinking": thinking, "signature": signature});
        let mut body = base();
        body["thinking"] = json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
        body["messages"] = json!([user(json!("hi")), assistant(json!([block])), user(json!("ho"))]);
        let betas = ["thinking-binding-controls-2026-08-01"];
        let request = Request::parse(body.to_string().as_bytes(), Purpose::Generate, &betas);
        let request = request.expect("a valid request");
        let refusal = Flattened::of(&request, [0; 32], ThinkingBinding::Prefix);
        let message = refusal.expect_err("changed").message;
        assert!(
            message.ends_with("in the latest assistant message cannot be modified"),
            "{message}"
        );
    }
}

#[test]
fn a_diagnosis_names_the_first_level_that_changed() {
    let earlier = flattened(&base()).trace;
    let after = |change: &dyn Fn(&mut Value)| {
        let mut body = base();
        body["messages"] = json!([user(json!("hi")), assistant(json!("ok")), user(json!("ho"))]);
        change(&mut body);
        diagnosis(&flattened(&body).trace, Some(&earlier)).to_string()
    };
    assert_snapshot!(after(&|_| {}), @"null");
    assert_snapshot!(after(&|body| body["model"] = json!("n")), @r#"{"cache_miss_reason":{"type":"model_changed","cache_missed_input_tokens":28}}"#);
    assert_snapshot!(after(&|body| body["speed"] = json!("fast")), @r#"{"cache_miss_reason":{"type":"model_changed","cache_missed_input_tokens":28}}"#);
    assert_snapshot!(after(&|body| body["tools"] = json!([])), @r#"{"cache_miss_reason":{"type":"tools_changed","cache_missed_input_tokens":28}}"#);
    assert_snapshot!(after(&|body| body["system"] = json!("be long")), @r#"{"cache_miss_reason":{"type":"system_changed","cache_missed_input_tokens":16}}"#);
    assert_snapshot!(after(&|body| body["tool_choice"] = json!({"type": "any"})), @r#"{"cache_miss_reason":{"type":"unavailable"}}"#);
    assert_snapshot!(after(&|body| body["messages"][0] = user(json!("hey"))), @r#"{"cache_miss_reason":{"type":"messages_changed","cache_missed_input_tokens":7}}"#);
    assert_snapshot!(diagnosis(&earlier, None), @r#"{"cache_miss_reason":{"type":"previous_message_not_found"}}"#);
}

proptest! {
    #[test]
    fn the_validator_never_panics_on_bytes(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(Request::parse(&body, Purpose::Generate, &[]));
    }

    #[test]
    fn the_validator_never_panics_on_near_misses(
        role in "user|assistant|system|x",
        kind in "text|thinking|tool_use|tool_result|image|x|",
        key in "text|content|id|input|cache_control|type",
        value in prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!({"type": "ephemeral"})), Just(json!([{}, "a"])), Just(json!("a"))],
    ) {
        let mut block = json!({"type": kind, "text": "a", "id": "a", "tool_use_id": "a"});
        block[key] = value.clone();
        let messages = [json!([{"role": role, "content": [block]}]), json!([block]), value.clone()];
        for messages in messages {
            let body = json!({"model": "m", "max_tokens": 1, "messages": messages, "system": value, "tools": value});
            if let Ok(request) = Request::parse(body.to_string().as_bytes(), Purpose::Generate, &[]) {
                drop(Flattened::of(&request, [0; 32], ThinkingBinding::Prefix));
                request.pieces().for_each(drop);
            }
        }
    }
}
