//! Everything that the vendors refuse and a client of forks can get wrong, item by item, as one table: the status and the words by
//! which it is recognised. What breaks off, stalls or fails in the middle of a stream is in `faults.rs`.

#![expect(clippy::expect_used, reason = "a failure here is a failure of the test that called")]

use insta::assert_snapshot;
use serde_json::{Value, json};
use tine_sim::SimServer;

use crate::support::{Reply, ask, ephemeral, post, start, with_beta};

const PLAIN: &str = r#"
name = "strict"
[[turn]]
when = { tool_results = 0 }
thinking = "Look first."
text = "I look."
tool_calls = [{ name = "bash", input = { command = "ls" } }]
[[turn]]
text = "Done."
"#;

/// A line of the table: what was sent, and what came of it.
fn line(what: &str, reply: &Reply) -> String {
    let message = match reply.status {
        200 => "accepted".to_owned(),
        _ => reply.json()["error"]["message"].as_str().unwrap_or("no message").to_owned(),
    };
    format!("{what} | {} | {message}", reply.status)
}

/// Sends each body to the path and shows what came of it.
async fn table(server: &SimServer, path: &str, rows: Vec<(&str, Value)>) -> String {
    let mut lines = Vec::new();
    for (what, body) in rows {
        lines.push(line(what, &post(server, path, &body).await));
    }
    lines.join("\n")
}

/// A body with other members.
fn with(mut body: Value, changes: Value) -> Value {
    for (key, value) in changes.as_object().expect("an object") {
        body[key] = value.clone();
    }
    body
}

fn user(content: Value) -> Value {
    json!({"role": "user", "content": content})
}

fn assistant(content: Value) -> Value {
    json!({"role": "assistant", "content": content})
}

fn messages(messages: Value) -> Value {
    json!({"model": "claude-opus-5-5", "max_tokens": 500, "messages": messages})
}

fn text(text: &str, ttl: &str) -> Value {
    json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}})
}

#[tokio::test]
async fn messages_with_wrong_marks_are_refused() {
    let server = start(PLAIN).await;
    let marks = |ttls: &[&str]| -> Value { ttls.iter().map(|ttl| text("x", ttl)).collect() };
    let automatic = |ttl: &str| json!({"cache_control": {"type": "ephemeral", "ttl": ttl}});
    let one = |content: Value| messages(json!([user(content)]));
    let mut five = one(marks(&["5m"; 5]));
    five["messages"][0]["content"][4] = json!({"type": "text", "text": "x"});
    let thinking =
        json!({"type": "thinking", "thinking": "", "signature": "s", "cache_control": ephemeral()});
    let rows = vec![
        ("four marks", one(marks(&["1h", "1h", "5m", "5m"]))),
        ("more than 4 marks", one(marks(&["5m"; 5]))),
        ("1h after 5m", one(marks(&["5m", "1h"]))),
        ("automatic + 4 explicit", with(five, automatic("5m"))),
        ("automatic with another ttl", with(one(marks(&["5m"])), automatic("1h"))),
        (
            "mark on thinking",
            messages(json!([user(json!("a")), assistant(json!([thinking])), user(json!("b"))])),
        ),
        ("mark on empty text", one(json!([text("", "5m")]))),
    ];
    assert_snapshot!(table(&server, "/v1/messages", rows).await, @"
    four marks | 200 | accepted
    more than 4 marks | 400 | A maximum of 4 blocks with cache_control may be provided. Found 5.
    1h after 5m | 400 | messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block; the order is `tools`, `system`, `messages`
    automatic + 4 explicit | 400 | cache_control: automatic caching needs one of the 4 cache_control blocks, and all are in use
    automatic with another ttl | 400 | cache_control: the last block carries a cache_control with another ttl than the automatic one
    mark on thinking | 400 | messages.1.content.0.thinking.cache_control: Extra inputs are not permitted
    mark on empty text | 400 | messages.0.content.0.cache_control: cache_control cannot be set for empty text blocks
    ");
}

#[tokio::test]
async fn messages_out_of_order_are_refused() {
    let server = start(PLAIN).await;
    let calls = || {
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "bash", "input": {}});
        assistant(json!([call("a"), call("b")]))
    };
    let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "done"});
    let said = || json!({"type": "text", "text": "t"});
    let go = || user(json!("go"));
    let system = || json!({"role": "system", "content": "be brief"});
    let rows = vec![
        ("dangling tool_use", messages(json!([go(), calls(), user(json!([result("a")]))]))),
        (
            "results one message late",
            messages(json!([go(), calls(), assistant(json!("x")), user(json!([result("a")]))])),
        ),
        ("tool_result without its call", messages(json!([user(json!([result("a")]))]))),
        (
            "tool_result twice",
            messages(json!([go(), calls(), user(json!([result("a"), result("a"), result("b")]))])),
        ),
        (
            "text before tool_result",
            messages(json!([go(), calls(), user(json!([said(), result("a"), result("b")]))])),
        ),
        ("first message not user", messages(json!([assistant(json!("x")), go()]))),
        ("no message", messages(json!([]))),
        ("prefill", messages(json!([go(), assistant(json!("I"))]))),
        ("empty text", messages(json!([user(json!(""))]))),
        ("system first", messages(json!([system(), go()]))),
        ("system before the user", messages(json!([go(), system(), go()]))),
        (
            "system between a call and its result",
            messages(json!([go(), calls(), system(), user(json!([result("a"), result("b")]))])),
        ),
        (
            "system where the model takes none",
            with(messages(json!([go(), system()])), json!({"model": "claude-sonnet-5"})),
        ),
    ];
    assert_snapshot!(table(&server, "/v1/messages", rows).await, @r#"
    dangling tool_use | 400 | messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. Each `tool_use` block needs its `tool_result` in the next message.
    results one message late | 400 | messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b. Each `tool_use` block needs its `tool_result` in the next message.
    tool_result without its call | 400 | messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a. Each `tool_result` block needs its `tool_use` block in the previous message, and answers it once.
    tool_result twice | 400 | messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: a. Each `tool_result` block needs its `tool_use` block in the previous message, and answers it once.
    text before tool_result | 400 | messages.2.content.1: `tool_result` blocks must come first in a message, before any other content
    first message not user | 400 | messages: first message must use the "user" role
    no message | 400 | messages: at least one message is required
    prefill | 400 | This model does not support assistant message prefill. The conversation must end with a user message.
    empty text | 400 | messages.0.content.0: text content blocks must be non-empty
    system first | 400 | messages: first message must use the "user" role
    system before the user | 400 | messages.1: a "system" message must follow a user message and stand before an assistant message or last
    system between a call and its result | 400 | messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a, b. Each `tool_use` block needs its `tool_result` in the next message.
    system where the model takes none | 400 | messages.1.role: this model does not support "system" messages; use the top-level `system`
    "#);
}

#[tokio::test]
async fn prewarms_that_want_an_answer_are_refused() {
    let server = start(PLAIN).await;
    let warm = |changes: Value| {
        let body = with(messages(json!([user(json!("go"))])), json!({"max_tokens": 0}));
        with(body, changes)
    };
    let tools = json!([{"name": "bash", "input_schema": {"type": "object"}}]);
    let format = json!({"format": {"type": "json_schema", "schema": {"type": "object"}}});
    let rows = vec![
        ("prewarm", warm(json!({}))),
        ("prewarm + stream", warm(json!({"stream": true}))),
        (
            "prewarm + enabled thinking",
            warm(json!({
                "model": "claude-opus-4-6",
                "thinking": {"type": "enabled", "budget_tokens": 1024},
            })),
        ),
        ("prewarm + format", warm(json!({"output_config": format}))),
        ("prewarm + any tool", warm(json!({"tools": tools, "tool_choice": {"type": "any"}}))),
        (
            "prewarm + one tool",
            warm(json!({"tools": tools, "tool_choice": {"type": "tool", "name": "bash"}})),
        ),
    ];
    assert_snapshot!(table(&server, "/v1/messages", rows).await, @"
    prewarm | 200 | accepted
    prewarm + stream | 400 | max_tokens: 0 cannot be combined with `stream: true`
    prewarm + enabled thinking | 400 | max_tokens: 0 cannot be combined with `thinking.type: enabled`
    prewarm + format | 400 | max_tokens: 0 cannot be combined with `output_config.format`
    prewarm + any tool | 400 | max_tokens: 0 cannot be combined with a forced `tool_choice`
    prewarm + one tool | 400 | max_tokens: 0 cannot be combined with a forced `tool_choice`
    ");
}

#[tokio::test]
async fn thinking_that_was_changed_or_moved_is_refused() {
    let server = start(PLAIN).await;
    let first = post(&server, "/v1/messages", &messages(json!([user(json!("hi"))]))).await.json();
    let result = |first: &Value| {
        let call = first["content"].as_array().and_then(|blocks| blocks.last()).expect("a call");
        user(json!([{"type": "tool_result", "tool_use_id": call["id"], "content": "a"}]))
    };
    let goes_on = |asked: &str, content: &Value| {
        messages(json!([user(json!(asked)), assistant(content.clone()), result(&first)]))
    };
    let mut changed = first["content"].clone();
    changed[0]["thinking"] = json!("Look twice.");
    let dropped = json!({"thinking": {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}});
    let rows = vec![
        ("as it came", goes_on("hi", &first["content"])),
        ("modified thinking", goes_on("hi", &changed)),
        ("bound thinking, other prefix", goes_on("hey", &first["content"])),
    ];
    assert_snapshot!(table(&server, "/v1/messages", rows).await, @"
    as it came | 200 | accepted
    modified thinking | 400 | messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified
    bound thinking, other prefix | 400 | messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation: what stands before it is not what it was made for.
    ");
    let body = with(goes_on("hey", &first["content"]), dropped);
    let reply = with_beta(&server, "thinking-binding-controls-2026-08-01", &body).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.json()["input_transformations"][0]["reason"], "prefix_binding_mismatch");
}

#[tokio::test]
async fn responses_with_half_a_pair_are_refused() {
    let server = start(PLAIN).await;
    let input = |items: Value| json!({"model": "gpt-6.1-sol", "store": false, "input": items});
    let call =
        || json!({"type": "function_call", "call_id": "a", "name": "bash", "arguments": "{}"});
    let output = || json!({"type": "function_call_output", "call_id": "a", "output": "x"});
    let asked = with(
        input(json!([user(json!("hi"))])),
        json!({"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"}}),
    );
    let first = post(&server, "/v1/responses", &asked).await.json();
    let came = &first["output"];
    let rows = vec![
        ("missing output", input(json!([user(json!("go")), call()]))),
        ("orphan output", input(json!([user(json!("go")), output()]))),
        ("output twice", input(json!([user(json!("go")), call(), output(), output()]))),
        ("reasoning without its item", input(json!([user(json!("hi")), came[0]]))),
        ("item without its reasoning", input(json!([user(json!("hi")), came[1]]))),
        (
            "unknown previous response",
            with(input(json!([user(json!("go"))])), json!({"previous_response_id": "resp_0"})),
        ),
    ];
    assert_snapshot!(table(&server, "/v1/responses", rows).await, @"
    missing output | 400 | No tool output found for function call a.
    orphan output | 400 | No tool call found for function call output with call_id a.
    output twice | 400 | No tool call found for function call output with call_id a.
    reasoning without its item | 400 | Item 'rs_sim_000001' of type 'reasoning' was provided without its required following item.
    item without its reasoning | 400 | Item 'msg_sim_000002_rs000001' of type 'message' was provided without its required 'reasoning' item: 'rs_sim_000001'.
    unknown previous response | 404 | Previous response with id 'resp_0' not found.
    ");
}

#[tokio::test]
async fn chats_with_half_a_pair_are_refused() {
    let server = start(PLAIN).await;
    let chat = |messages: Value| json!({"model": "gpt-6.1-sol", "messages": messages});
    let calls = |ids: &[&str]| {
        let call = |id: &&str| json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": "{}"}});
        let calls: Vec<Value> = ids.iter().map(call).collect();
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    };
    let tool = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "x"});
    let go = || user(json!("go"));
    let rows = vec![
        ("missing output", chat(json!([go(), calls(&["a", "b"]), tool("a")]))),
        ("late output", chat(json!([go(), calls(&["a"]), go(), tool("a")]))),
        ("orphan output", chat(json!([go(), tool("a")]))),
    ];
    assert_snapshot!(table(&server, "/v1/chat/completions", rows).await, @"
    missing output | 400 | An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: b
    late output | 400 | An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: a
    orphan output | 400 | Invalid parameter: messages[1] with role 'tool' must be a response to a preceding message with 'tool_calls'; 'a' answers none.
    ");
}

#[tokio::test]
async fn gemini_contents_without_what_belongs_to_them_are_refused() {
    let server = start(PLAIN).await;
    let go = || json!({"role": "user", "parts": [{"text": "go"}]});
    let called = |signature: Value| {
        let mut part = json!({"functionCall": {"name": "bash", "args": {}}});
        if !signature.is_null() {
            part["thoughtSignature"] = signature;
        }
        json!({"role": "model", "parts": [part]})
    };
    let answered = || json!({"role": "user", "parts": [{"functionResponse": {"name": "bash", "response": {"output": "x"}}}]});
    let signed = || json!("skip_thought_signature_validator");
    let contents = |contents: Value| json!({"contents": contents});
    let rows = vec![
        ("with the sentinel", contents(json!([go(), called(signed()), answered()]))),
        ("missing signature", contents(json!([go(), called(Value::Null), answered()]))),
        ("another's signature", contents(json!([go(), called(json!("c2ln")), answered()]))),
        ("missing response", contents(json!([go(), called(signed()), go()]))),
        ("orphan response", contents(json!([go(), answered()]))),
        (
            "cachedContent with tools",
            with(
                contents(json!([go()])),
                json!({"cachedContent": "cachedContents/x", "tools": [{"functionDeclarations": []}]}),
            ),
        ),
        (
            "cachedContent with system",
            with(
                contents(json!([go()])),
                json!({"cachedContent": "cachedContents/x", "systemInstruction": {"parts": [{"text": "s"}]}}),
            ),
        ),
        (
            "unknown cachedContent",
            with(contents(json!([go()])), json!({"cachedContent": "cachedContents/x"})),
        ),
    ];
    let path = "/v1beta/models/gemini-3.8-flash:generateContent?key=k";
    assert_snapshot!(table(&server, path, rows).await, @"
    with the sentinel | 200 | accepted
    missing signature | 400 | Function call is missing a thought_signature in functionCall parts. Function call `default_api:bash`, position 2.
    another's signature | 400 | Corrupted thought signature.
    missing response | 400 | Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn: 0 for 1.
    orphan response | 400 | Please ensure that function response turn comes immediately after a function call turn.
    cachedContent with tools | 400 | CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config. Move those values to CachedContent from GenerateContent request.
    cachedContent with system | 400 | CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config. Move those values to CachedContent from GenerateContent request.
    unknown cachedContent | 403 | CachedContent not found (or permission denied)
    ");
}

#[tokio::test]
async fn what_is_gone_too_large_or_too_much_is_refused() {
    let server = start(PLAIN).await;
    let thread = json!({"type": "continue", "previous_message_id": "msg_1"});
    let body = with(ask(json!("hi")), json!({"thread": thread}));
    let thread = with_beta(&server, "message-threads-2026-08-12", &body).await;
    let large = ask(json!("x".repeat(32 * 1024 * 1024)));
    let mut lines = vec![
        line("unknown thread", &thread),
        line("above 32 MB", &post(&server, "/v1/messages", &large).await),
    ];
    let limited = [
        ("too many requests", "requests_per_minute = 1", "/v1/messages"),
        ("too many tokens", "input_tokens_per_minute = 1", "/v1/messages"),
        ("spend cap", "spend_tokens = 1", "/v1/messages"),
        ("ramp", "requests_per_second = 1", "/v1/messages"),
        ("ramp (OpenAI)", "requests_per_second = 1", "/v1/responses"),
    ];
    for (what, limits, path) in limited {
        let scenario = format!("name = \"x\"\n[[turn]]\ntext = \"ok\"\n[limits]\n{limits}\n");
        let server = start(&scenario).await;
        let body = match path {
            "/v1/responses" => json!({"model": "gpt-6.1-sol", "input": "hi"}),
            _ => ask(json!("hi")),
        };
        post(&server, path, &body).await;
        let reply = post(&server, path, &body).await;
        let wait = match reply.header("retry-after") {
            "" => "no retry-after",
            _ => "retry-after",
        };
        lines.push(line(&format!("{what} | {wait}"), &reply));
    }
    let overloaded = "name = \"x\"\n[[turn]]\nfault = { status = 529 }\n";
    let reply = post(&start(overloaded).await, "/v1/messages", &ask(json!("hi"))).await;
    lines.push(line("overloaded", &reply));
    assert_snapshot!(lines.join("\n"), @"
    unknown thread | 404 | thread: no thread ends in the message `msg_1`; send the conversation in full
    above 32 MB | 413 | Request exceeds the maximum size of 32 MB
    too many requests | retry-after | 429 | Rate limit reached for requests per minute (simulated).
    too many tokens | retry-after | 429 | Rate limit reached for input tokens per minute (simulated).
    spend cap | no retry-after | 429 | The spending limit is reached: nothing is answered until it is raised (simulated).
    ramp | retry-after | 429 | The rate of requests grew too fast: acceleration is limited even within the minute's limits (simulated).
    ramp (OpenAI) | retry-after | 503 | Slow down: the rate of requests grew too fast. Go back to the earlier rate, hold it for 15 minutes, then raise it slowly (simulated).
    overloaded | 529 | Overloaded (simulated)
    ");
}
