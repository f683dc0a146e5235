//! Requests that say what their format or version has no place for: members that are foreign to it, settings that a version has no
//! longer, budgets out of their bounds, and hosts of the Chat format that are stricter than the format.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tine_sim::SimServer;

use crate::support::{Reply, post, start, with_beta, with_version};

const PLAIN: &str = "name = \"strict\"\n[[turn]]\nthinking = \"I look.\"\ntext = \"Done.\"\n";

/// The status and the words of an answer.
fn told(reply: &Reply) -> String {
    let words = match reply.status {
        200 => "accepted".to_owned(),
        _ => reply.json()["error"]["message"].as_str().unwrap_or("no message").to_owned(),
    };
    format!("{} {words}", reply.status)
}

async fn table(server: &SimServer, path: &str, rows: Vec<Value>) -> String {
    let mut lines = Vec::new();
    for body in rows {
        lines.push(told(&post(server, path, &body).await));
    }
    lines.join("\n")
}

/// A valid request with a change.
fn with(mut body: Value, change: impl FnOnce(&mut Value)) -> Value {
    change(&mut body);
    body
}

fn messages() -> Value {
    json!({
        "model": "claude-sonnet-4-5", "max_tokens": 4000, "system": [{"type": "text", "text": "s"}],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "a"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "b"}]},
            {"role": "user", "content": "c"},
        ],
    })
}

#[tokio::test]
async fn messages_have_no_members_of_others() {
    let server = start(PLAIN).await;
    let rows = vec![
        messages(),
        with(messages(), |body| body["frequency_penalty"] = json!(1)),
        with(messages(), |body| body["system"][0]["name"] = json!("x")),
        with(messages(), |body| body["tools"][0]["parameters"] = json!({})),
        with(messages(), |body| body["messages"][1]["tool_calls"] = json!([])),
        with(messages(), |body| body["messages"][1]["content"][0]["id"] = json!("x")),
        with(messages(), |body| {
            body["thinking"] = json!({"type": "adaptive", "budget_tokens": 2000})
        }),
        with(messages(), |body| {
            body["messages"][1]["content"][0] = json!({"type": "later", "id": "x"})
        }),
    ];
    assert_snapshot!(table(&server, "/v1/messages", rows).await, @"
    200 accepted
    400 frequency_penalty: Extra inputs are not permitted
    400 system.0.name: Extra inputs are not permitted
    400 tools.0.custom.parameters: Extra inputs are not permitted
    400 messages.1.tool_calls: Extra inputs are not permitted
    400 messages.1.content.0.text.id: Extra inputs are not permitted
    400 thinking.adaptive.budget_tokens: Extra inputs are not permitted
    200 accepted
    ");
}

#[tokio::test]
async fn a_version_of_messages_takes_what_it_has() {
    let server = start(PLAIN).await;
    let document = json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}});
    let citation = json!([{"type": "char_location", "cited_text": "d", "document_index": 0}]);
    let rows = [
        ("temperature", with(messages(), |body| body["temperature"] = json!(1.0))),
        ("top_p", with(messages(), |body| body["top_p"] = json!(0.9))),
        ("top_k", with(messages(), |body| body["top_k"] = json!(5))),
        (
            "document of the model",
            with(messages(), |body| body["messages"][1]["content"][0] = document.clone()),
        ),
        (
            "document of the user",
            with(messages(), |body| body["messages"][0]["content"][0] = document.clone()),
        ),
        (
            "citation of the user",
            with(messages(), |body| {
                body["messages"][0]["content"][0]["citations"] = citation.clone()
            }),
        ),
        (
            "no citation of the user",
            with(messages(), |body| body["messages"][0]["content"][0]["citations"] = json!([])),
        ),
        (
            "citation of the model",
            with(messages(), |body| {
                body["messages"][1]["content"][0]["citations"] = citation.clone()
            }),
        ),
    ];
    let mut lines = Vec::new();
    for (what, body) in rows {
        let before = with_version(&server, "2023-06-01", &body).await;
        let now = with_version(&server, "2026-10-21", &body).await;
        lines.push(format!("{what} | {} | {}", before.status, told(&now)));
    }
    assert_snapshot!(lines.join("\n"), @"
    temperature | 200 | 400 temperature: Extra inputs are not permitted
    top_p | 200 | 400 top_p: Extra inputs are not permitted
    top_k | 200 | 400 top_k: Extra inputs are not permitted
    document of the model | 200 | 400 messages.1.content.0: `document` blocks are not permitted in assistant messages
    document of the user | 200 | 200 accepted
    citation of the user | 200 | 400 messages.0.content.0.text.citations: Extra inputs are not permitted
    no citation of the user | 200 | 200 accepted
    citation of the model | 200 | 200 accepted
    ");
    let other = with(messages(), |body| {
        body["model"] = json!("MiniMax-M3");
        body["temperature"] = json!(0.5);
    });
    assert_eq!(post(&server, "/v1/messages", &other).await.status, 200);
}

#[tokio::test]
async fn budgets_for_thinking_have_bounds() {
    let server = start(PLAIN).await;
    let thinking = |model: &str, tokens: Value, more: Value| {
        with(messages(), |body| {
            body["model"] = json!(model);
            body["thinking"] = json!({"type": "enabled", "budget_tokens": tokens});
            for (name, value) in more.as_object().into_iter().flatten() {
                body[name] = value.clone();
            }
        })
    };
    let old = "claude-sonnet-4-5";
    let rows = vec![
        thinking(old, json!(1024), json!({})),
        thinking(old, json!(1023), json!({})),
        thinking(old, json!(4000), json!({})),
        thinking(old, json!("2000"), json!({})),
        thinking("claude-opus-5-5", json!(2000), json!({})),
        thinking(old, json!(2000), json!({"tool_choice": {"type": "any"}})),
    ];
    assert_snapshot!(table(&server, "/v1/messages", rows).await, @r#"
    200 accepted
    400 thinking.enabled.budget_tokens: Input should be greater than or equal to 1024
    400 `max_tokens` must be greater than `thinking.budget_tokens`.
    400 thinking.enabled.budget_tokens: Input should be a valid integer
    400 "thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.
    400 Thinking may not be enabled when tool_choice forces tool use.
    "#);
    let cool = thinking(old, json!(2000), json!({"temperature": 0.5}));
    assert_snapshot!(told(&with_version(&server, "2023-06-01", &cool).await), @"400 `temperature` may only be set to 1 when thinking is enabled.");
    let long = thinking(old, json!(9000), json!({}));
    let long = with_beta(&server, "interleaved-thinking-2025-05-14", &long).await;
    assert_eq!(told(&long), "200 accepted");
}

#[tokio::test]
async fn responses_have_no_parameters_of_others() {
    let server = start(PLAIN).await;
    let body = || {
        json!({"model": "gpt-6.1-sol", "tools": [{"type": "function", "name": "f", "parameters": {}}], "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"role": "assistant", "content": [{"type": "output_text", "text": "b"}]},
            {"role": "user", "content": "c"},
        ]})
    };
    let rows = vec![
        body(),
        with(body(), |body| body["max_tokens"] = json!(1)),
        with(body(), |body| body["tools"][0]["input_schema"] = json!({})),
        with(body(), |body| body["reasoning"] = json!({"budget_tokens": 1})),
        with(body(), |body| body["input"][1]["reasoning"] = json!("x")),
        with(body(), |body| body["input"][0]["content"][0]["cache_control"] = json!({})),
        with(body(), |body| body["input"][1] = json!({"type": "later", "x": 1})),
    ];
    assert_snapshot!(table(&server, "/v1/responses", rows).await, @"
    200 accepted
    400 Unknown parameter: 'max_tokens'.
    400 Unknown parameter: 'tools[0].input_schema'.
    400 Unknown parameter: 'reasoning.budget_tokens'.
    400 Unknown parameter: 'input[1].reasoning'.
    400 Unknown parameter: 'input[0].content[0].cache_control'.
    200 accepted
    ");
}

#[tokio::test]
async fn gemini_has_no_fields_of_others() {
    let server = start(PLAIN).await;
    let body = || json!({"contents": [{"role": "user", "parts": [{"text": "a"}]}], "tools": [{"functionDeclarations": [{"name": "f"}]}]});
    let rows = vec![
        body(),
        with(body(), |body| {
            body["generation_config"] =
                json!({"top_p": 0.5, "thinkingConfig": {"thinking_budget": 1}})
        }),
        with(body(), |body| body["stream"] = json!(true)),
        with(body(), |body| body["generationConfig"] = json!({"maxTokens": 1})),
        with(body(), |body| body["contents"][0]["parts"][0]["id"] = json!("x")),
        with(body(), |body| body["tools"][0]["functionDeclarations"][0]["strict"] = json!(true)),
    ];
    let path = "/v1beta/models/gemini-3.8-flash:generateContent?key=k";
    assert_snapshot!(table(&server, path, rows).await, @r#"
    200 accepted
    200 accepted
    400 Invalid JSON payload received. Unknown name "stream": Cannot find field.
    400 Invalid JSON payload received. Unknown name "maxTokens" at 'generation_config': Cannot find field.
    400 Invalid JSON payload received. Unknown name "id" at 'contents[0].parts[0]': Cannot find field.
    400 Invalid JSON payload received. Unknown name "strict" at 'tools[0].function_declarations[0]': Cannot find field.
    "#);
    let stored = json!({"model": "models/gemini-3.8-flash", "contents": body()["contents"], "generationConfig": {}});
    assert_snapshot!(told(&post(&server, "/v1beta/cachedContents?key=k", &stored).await), @r#"400 Invalid JSON payload received. Unknown name "generationConfig": Cannot find field."#);
}

/// The words of a strict host, and its answer when they come back to it.
async fn taken_back(host: &str) -> String {
    let server = start(&format!("host = \"{host}\"\n{PLAIN}")).await;
    let ask = |turns: Value| json!({"model": "m", "messages": turns});
    let user = json!({"role": "user", "content": "a"});
    let first = post(&server, "/v1/chat/completions", &ask(json!([user]))).await.json();
    let said = first["choices"][0]["message"].clone();
    let second = post(&server, "/v1/chat/completions", &ask(json!([user, said, user]))).await;
    let words = if second.status == 200 { "accepted".to_owned() } else { second.text() };
    format!("{said}\n{} {words}", second.status)
}

#[tokio::test]
async fn strict_hosts_refuse_in_words_of_their_own() {
    assert_snapshot!(taken_back("groq").await, @r#"
    {"role":"assistant","content":"Done.","reasoning":"I look."}
    400 {"error":{"message":"'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning' is unsupported)]","type":"invalid_request_error","param":null,"code":null}}
    "#);
    assert_snapshot!(taken_back("cerebras").await, @r#"
    {"role":"assistant","content":"Done.","reasoning":"I look."}
    200 accepted
    "#);
    assert_snapshot!(taken_back("mistral").await, @r#"
    {"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"I look."}]},{"type":"text","text":"Done."}]}
    200 accepted
    "#);
    assert_snapshot!(taken_back("openai").await, @r#"
    {"role":"assistant","content":"Done."}
    200 accepted
    "#);
}
