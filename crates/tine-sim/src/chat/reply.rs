//! A reply in the Chat Completions format: one JSON body, or the chunks of a stream.

use serde_json::{Value, json};

use super::host::{Host, Reasoning};
use super::usage::{add_timings, usage};
use crate::answer::{Answer, Stop};
use crate::cache::PromptUsage;
use crate::limits::tokens_of;
use crate::profile::Profile;
use crate::stream::{Dialect, Frame, pieces};

/// What a reply says beside its content.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) model: String,
    /// Absent: the reply does not report its usage.
    pub(crate) usage: Option<PromptUsage>,
    /// Whose usage fields are reported.
    pub(crate) profile: Profile,
    /// The strict host that says this, if one does.
    pub(crate) host: Option<Host>,
    /// Whether a server of one's own was told to say what was cached.
    pub(crate) reports_cache: bool,
    /// Whether a streamed reply ends with a usage chunk.
    pub(crate) include_usage: bool,
    /// One id for each tool call.
    pub(crate) call_ids: Vec<String>,
    /// Whether to put in fields and chunks that no client knows.
    pub(crate) unknown_events: bool,
}

fn finish_reason(answer: &Answer) -> &str {
    match &answer.stop {
        Stop::EndTurn => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
        // Scenarios have one word for it in all formats.
        Stop::Given(reason) if reason == "max_tokens" => "length",
        Stop::Given(reason) => reason,
    }
}

/// The place in which reasoning is said.
fn reasoning(head: &Head) -> Reasoning {
    head.host.map_or(Reasoning::Member("reasoning_content"), Host::reasoning)
}

/// A thought as a part of a content.
fn thought(text: &str) -> Value {
    json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]})
}

fn tool_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// The answer as it stands in the next prompt: a line of its own, without reasoning that is not part of the content.
pub(crate) fn lines(head: &Head, answer: &Answer) -> Vec<String> {
    vec![format!("{}\n", message(head, answer))]
}

fn message(head: &Head, answer: &Answer) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.text});
    if let (Some(thinking), Reasoning::Part) = (&answer.thinking, reasoning(head)) {
        let text = answer.text.iter().map(|text| json!({"type": "text", "text": text}));
        message["content"] = std::iter::once(thought(thinking)).chain(text).collect();
    }
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().zip(&head.call_ids);
        message["tool_calls"] =
            calls.map(|(call, id)| tool_call(id, &call.name, &call.input)).collect();
    }
    message
}

/// The JSON body of a reply that is not streamed.
pub(crate) fn json_body(head: &Head, answer: &Answer) -> Frame {
    let mut message = message(head, answer);
    if let (Some(thinking), Reasoning::Member(member)) = (&answer.thinking, reasoning(head)) {
        message[member] = json!(thinking);
    }
    if head.unknown_events {
        message["sim_unknown_field"] = json!("a field from the future");
    }
    let mut body = json!({
        "id": head.id,
        "object": "chat.completion",
        "created": head.created,
        "model": head.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(answer)}],
    });
    if let Some(prompt) = &head.usage {
        body["usage"] = usage(head, prompt, answer);
        add_timings(&mut body, head, answer);
    }
    Frame::content(body.to_string(), answer.output_tokens)
}

/// The chunks of a streamed reply.
pub(crate) fn frames(head: &Head, answer: &Answer) -> Vec<Frame> {
    let delta = |delta: Value, finish: Option<&str>| {
        event(&data(head, json!([{"index": 0, "delta": delta, "finish_reason": finish}])))
    };
    let mut frames = vec![Frame::new(delta(json!({"role": "assistant", "content": ""}), None))];
    if head.unknown_events {
        frames
            .push(Frame::new(delta(json!({"sim_unknown_field": "a field from the future"}), None)));
    }
    let content = |key: &str, text: &str| -> Vec<Frame> {
        pieces(text)
            .map(|piece| Frame::content(delta(json!({key: piece}), None), tokens_of(piece.len())))
            .collect()
    };
    let thinking = answer.thinking.as_deref().unwrap_or_default();
    match reasoning(head) {
        Reasoning::Member(member) => frames.extend(content(member, thinking)),
        Reasoning::Part => frames.extend(pieces(thinking).map(|piece| {
            let parts = json!({"content": [thought(piece)]});
            Frame::content(delta(parts, None), tokens_of(piece.len()))
        })),
        Reasoning::Hidden => {}
    }
    frames.extend(content("content", answer.text.as_deref().unwrap_or_default()));
    for (index, (call, id)) in answer.calls.iter().zip(&head.call_ids).enumerate() {
        let mut first = json!({"index": index});
        if let (Some(first), Value::Object(call)) =
            (first.as_object_mut(), tool_call(id, &call.name, ""))
        {
            first.extend(call);
        }
        frames.push(Frame::content(delta(json!({"tool_calls": [first]}), None), 0));
        frames.extend(pieces(&call.input).map(|piece| {
            let part = json!([{"index": index, "function": {"arguments": piece}}]);
            Frame::content(delta(json!({"tool_calls": part}), None), tokens_of(piece.len()))
        }));
    }
    let finish = json!([{"index": 0, "delta": {}, "finish_reason": finish_reason(answer)}]);
    let mut last = data(head, finish);
    if let (Some(prompt), true) = (&head.usage, head.include_usage) {
        frames.push(Frame::new(event(&last)));
        last = data(head, json!([]));
        last["usage"] = usage(head, prompt, answer);
    }
    add_timings(&mut last, head, answer);
    frames.push(Frame::new(event(&last)));
    frames.push(Frame::new("data: [DONE]\n\n"));
    frames
}

fn data(head: &Head, choices: Value) -> Value {
    json!({
        "id": head.id,
        "object": "chat.completion.chunk",
        "created": head.created,
        "model": head.model,
        "choices": choices,
    })
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

/// Keep-alives and errors inside a stream. The format has no ping event; gateways send comments.
pub(crate) fn dialect() -> Dialect {
    Dialect {
        name: "chat",
        ping: Frame::new(": ping\n\n"),
        error: |kind, _| {
            let error = json!({"message": "the stream failed (simulated)", "type": kind, "param": null, "code": null});
            Frame::new(format!("data: {}\n\n", json!({"error": error})))
        },
    }
}
