//! Requests of other programs, taken over: what was read says again what was written.

use std::error::Error;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;
use tine_history::History;
use tine_model::{EntryId, Message, Provider, RawJson};
use tine_wire::{Head, HeadParts, MarkPoints, RequestOptions, assemble, read_request};

const REQUEST: &str = r#"{
  "model": "claude-opus-5-5", "max_tokens": 4096, "temperature": 0.30,
  "system": [
    {"type": "text", "text": "You are a reviewer.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
    {"type": "text", "text": "Be kind.", "cache_control": null, "citations": null}
  ],
  "messages": [
    {"role": "user", "content": "Look \u00e9."},
    {"role": "assistant", "content": [
      {"type": "thinking", "thinking": "hm", "signature": "sig=="},
      {"type": "tool_use", "id": "t1", "name": "Look", "input": {"b": 1.0, "a": 2}}]},
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "t1", "content": "seen", "cache_control": {"type": "ephemeral"}}]}
  ],
  "tools": [{"type": "custom", "name": "Look", "description": "Looks.",
    "input_schema": {"type":  "object"}, "cache_control": {"type": "ephemeral"}}],
  "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
  "thinking": {"type": "adaptive", "display": "summarized"},
  "output_config": {"effort": "max"},
  "metadata": { "user_id": "u-1" }, "service_tier": "auto", "stop_sequences": ["END"],
  "stream": true, "container": null
}"#;

fn rendered(parts: HeadParts, messages: Vec<Message>) -> String {
    let mut history = History::new();
    for message in messages {
        history.push(EntryId(history.len() as i64 + 1), Arc::new(message));
    }
    let options = RequestOptions::at(MarkPoints::default());
    let body = assemble(&Head::render(parts), &mut history, &options).body;
    String::from_utf8(body.to_vec()).unwrap()
}

fn refusal(body: &str) -> String {
    let error = read_request(Provider::Anthropic, None, body.as_bytes()).unwrap_err();
    let source = error.source().map(|source| format!(": {source}"));
    format!("{error}{}", source.unwrap_or_default())
}

/// The parts alone, without the request's own bytes.
fn read(body: &str) -> (HeadParts, Vec<Message>) {
    let (parts, messages) = read_request(Provider::Anthropic, None, body.as_bytes()).unwrap();
    (HeadParts { sent: None, ..parts }, messages)
}

/// Returns what no part of a request says.
fn unsaid(body: &str) -> Vec<String> {
    let (parts, _) = read_request(Provider::Anthropic, None, body.as_bytes()).unwrap();
    parts.sent.unwrap().unsaid().to_vec()
}

#[test]
fn the_parts_of_a_request_say_it_again() {
    let (parts, messages) = read(REQUEST);
    assert_eq!(parts.check(), Ok(()));
    assert!(unsaid(REQUEST).is_empty());
    let body = rendered(parts, messages);
    insta::assert_snapshot!(body.replace(",\"", "\n,\""), @r#"
    {"model":"claude-opus-5-5"
    ,"max_tokens":4096
    ,"temperature":0.3
    ,"stop_sequences":["END"]
    ,"thinking":{"type":"adaptive"
    ,"display":"summarized"}
    ,"output_config":{"effort":"max"}
    ,"tool_choice":{"type":"auto"
    ,"disable_parallel_tool_use":true}
    ,"stream":true
    ,"metadata":{ "user_id": "u-1" }
    ,"service_tier":"auto"
    ,"tools":[{"name":"Look"
    ,"description":"Looks."
    ,"input_schema":{"type":  "object"}
    ,"cache_control":{"type":"ephemeral"
    ,"ttl":"1h"}}]
    ,"system":[{"type":"text"
    ,"text":"You are a reviewer."
    ,"cache_control":{"type":"ephemeral"
    ,"ttl":"1h"}},{"type":"text"
    ,"text":"Be kind."
    ,"cache_control":{"type":"ephemeral"}}]
    ,"messages":[{"role":"user"
    ,"content":[{"type":"text"
    ,"text":"Look é."}]},{"role":"assistant"
    ,"content":[{"type": "thinking", "thinking": "hm", "signature": "sig=="},{"type": "tool_use", "id": "t1", "name": "Look", "input": {"b": 1.0, "a": 2}}]},{"role":"user"
    ,"content":[{"type": "tool_result", "tool_use_id": "t1", "content": "seen"
    ,"cache_control":{"type":"ephemeral"}}]}]}
    "#);
}

#[test]
fn what_is_no_request_is_an_error_that_says_why() {
    let with = |more: &str| format!(r#"{{"model":"m","max_tokens":9,"messages":[],{more}}}"#);
    let errors = [
        refusal("[]"),
        refusal("{"),
        refusal(r#"{"model":"m","messages":[]}"#),
        refusal(&with(r#""max_tokens":-1"#)),
        refusal(&with(r#""tool_choice":{"type":"some"}"#)),
        refusal(&with(r#""messages":[]"#)),
        refusal(r#"{"model":"m","max_tokens":9,"messages":{}}"#),
        refusal(r#"{"model":"m","max_tokens":9}"#),
        refusal(r#"{"max_tokens":9,"messages":[]}"#),
        refusal(r#"{"model":"m","max_tokens":9,"messages":[{"role":"bard","content":""}]}"#),
    ];
    insta::assert_snapshot!(errors.join("\n"), @r#"
    the request: invalid type: sequence, expected an object
    not valid JSON: EOF while parsing an object at line 1 column 1
    the request: missing field `max_tokens`
    max_tokens: invalid value: integer `-1`, expected u32
    tool_choice: neither auto, none, any nor a tool
    the request: `messages` is there more than once
    the request: `messages` is no list of messages
    the request: missing field `messages`
    the request names no model: in this format its address does
    message 0 cannot be read: the role `bard` is not known
    "#);
}

#[test]
fn what_no_part_says_is_listed_and_a_changed_head_is_refused() {
    let with = |more: &str| format!(r#"{{"model":"m","max_tokens":9,"messages":[],{more}}}"#);
    let all = with(
        r#""tools":[{"type":"web_search_20250305","name":"web_search"},{"name":"a","input_schema":{},"strict":true}],
        "system":[{"type":"text","text":"a","citations":[1]}],"tool_choice":{"type":"tool","name":"b"},
        "top_k":1,"top_k":2,"later.": 3"#,
    );
    let expected = [
        "type of a tool",
        "tool 0",
        "strict of a tool",
        "citations of a system block",
        "tool_choice",
        "top_k",
        "later.",
    ];
    assert_eq!(unsaid(&all), expected);
    let (mut parts, _) = read_request(Provider::Anthropic, None, all.as_bytes()).unwrap();
    (parts.temperature, parts.settings.max_tokens) = (Some(0.5), 7);
    assert_eq!(parts.check(), Ok(()));
    parts.tools.clear();
    let error = parts.check().unwrap_err().to_string();
    assert!(
        error.starts_with("the request was taken over with type of a tool, tool 0, "),
        "{error}"
    );
}

/// One way to write each setting, or to leave it out.
fn settings() -> impl Strategy<Value = Vec<&'static str>> {
    let one =
        |texts: &'static [&'static str]| prop::option::of(prop::sample::select(texts.to_vec()));
    let system = one(&[
        r#""system":"Be brief.""#,
        r#""system":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]"#,
    ]);
    let thinking = one(&[
        r#""thinking":{"type":"disabled"}"#,
        r#""thinking":{"type":"enabled","budget_tokens":2000}"#,
        r#""thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}"#,
    ]);
    let choice = one(&[
        r#""tool_choice":{"type":"any"}"#,
        r#""tool_choice":{"type":"tool","name":"B","disable_parallel_tool_use":true}"#,
    ]);
    let config = one(&[
        r#""output_config":{"effort":"low"}"#,
        r#""output_config":{"effort":"xhigh","format":{"type":"json_schema","schema":{}}}"#,
    ]);
    let rest = one(&[r#""top_k":5,"stop_sequences":["\n"]"#, r#""temperature":1e-3"#]);
    (system, thinking, choice, config, rest)
        .prop_map(|(a, b, c, d, e)| [a, b, c, d, e].into_iter().flatten().collect())
}

proptest! {
    /// Reading, writing and reading again gives the same parts, and the written request says what the read one said.
    #[test]
    fn what_was_read_is_written_and_read_again(settings in settings()) {
        let tools = r#""tools":[{"name":"A","description":"","input_schema":{}},{"name":"B","description":"b","input_schema":{}}]"#;
        let messages = r#""messages":[{"role":"user","content":[{"type":"text","text":"go"}]}]"#;
        let fixed = r#"{"model":"m","max_tokens":9,"stream":false"#;
        let body = [&[fixed][..], &settings, &[tools, messages]].concat().join(",") + "}";
        let (parts, messages) = read(&body);
        let written = rendered(parts.clone(), messages.clone());
        let (again, messages_again) = read(&written);
        prop_assert_eq!(messages, messages_again);
        // One text is written as one block, and the mark at the end of the system prompt is placed anew.
        prop_assert_eq!(plain(&body), plain(&written));
        prop_assert_eq!(parts.settings, again.settings);
        let sorted = |mut extra: Vec<(String, RawJson)>| {
            extra.sort_by(|(a, _), (b, _)| a.cmp(b));
            extra
        };
        prop_assert_eq!(sorted(parts.extra), sorted(again.extra));
    }
}

/// A body as a value, without marks, the system prompt as blocks.
fn plain(body: &str) -> Value {
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let body = body
        .replace(mark, "")
        .replace(r#""system":"Be brief.""#, r#""system":[{"type":"text","text":"Be brief."}]"#);
    serde_json::from_str(&body).unwrap()
}
