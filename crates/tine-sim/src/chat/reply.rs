//! A reply in the Chat Completions format: one JSON body, or the chunks of a stream.

use serde_json::{Value, json};

use crate::answer::{Answer, Stop};
use crate::profile::tokens_of;
use crate::refusal::Refusal;
use crate::stream::{Dialect, Frame, pieces};

/// What a reply says beside its content.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) created: u64,
    pub(crate) model: String,
    /// Absent: the reply does not report its usage.
    pub(crate) usage: Option<PrefixUsage>,
    /// Whether a streamed reply ends with a usage chunk.
    pub(crate) include_usage: bool,
    /// One id for each tool call.
    pub(crate) call_ids: Vec<String>,
    /// Whether to put in fields and chunks that no client knows.
    pub(crate) unknown_events: bool,
}

/// The prompt's tokens; `cached` is a part of `prompt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PrefixUsage {
    pub(crate) prompt: u64,
    pub(crate) cached: u64,
}

fn finish_reason(answer: &Answer) -> &str {
    match &answer.stop {
        Stop::EndTurn => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::Given(reason) => reason,
    }
}

fn usage(prompt: &PrefixUsage, answer: &Answer) -> Value {
    json!({
        "prompt_tokens": prompt.prompt,
        "completion_tokens": answer.output_tokens,
        "total_tokens": prompt.prompt + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": prompt.cached},
        "completion_tokens_details": {"reasoning_tokens": answer.thinking_tokens},
    })
}

fn tool_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// The JSON body of a reply that is not streamed.
pub(crate) fn json_body(head: &Head, answer: &Answer) -> Frame {
    let mut message = json!({"role": "assistant", "content": answer.text});
    if let Some(thinking) = &answer.thinking {
        message["reasoning_content"] = json!(thinking);
    }
    if !answer.calls.is_empty() {
        let calls = answer.calls.iter().zip(&head.call_ids);
        message["tool_calls"] =
            calls.map(|(call, id)| tool_call(id, &call.name, &call.input)).collect();
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
        body["usage"] = usage(prompt, answer);
    }
    Frame::content(body.to_string(), answer.output_tokens)
}

/// The chunks of a streamed reply.
pub(crate) fn frames(head: &Head, answer: &Answer) -> Vec<Frame> {
    let delta = |delta: Value, finish: Option<&str>| {
        chunk(head, json!([{"index": 0, "delta": delta, "finish_reason": finish}]), None)
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
    frames.extend(content("reasoning_content", answer.thinking.as_deref().unwrap_or_default()));
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
    frames.push(Frame::new(delta(json!({}), Some(finish_reason(answer)))));
    if let (Some(prompt), true) = (&head.usage, head.include_usage) {
        frames.push(Frame::new(chunk(head, json!([]), Some(usage(prompt, answer)))));
    }
    frames.push(Frame::new("data: [DONE]\n\n"));
    frames
}

fn chunk(head: &Head, choices: Value, usage: Option<Value>) -> String {
    let mut data = json!({
        "id": head.id,
        "object": "chat.completion.chunk",
        "created": head.created,
        "model": head.model,
        "choices": choices,
    });
    if let Some(usage) = usage {
        data["usage"] = usage;
    }
    format!("data: {data}\n\n")
}

fn kind_of(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500..=599 => "server_error",
        _ => "invalid_request_error",
    }
}

/// The body of a refusal.
pub(crate) fn error_body(refusal: &Refusal) -> String {
    let kind = kind_of(refusal.status);
    json!({"error": {"message": refusal.message, "type": kind, "param": null, "code": refusal.code}})
        .to_string()
}

/// Keep-alives and errors inside a stream. The format has no ping event; gateways send comments.
pub(crate) fn dialect() -> Dialect {
    Dialect {
        ping: Frame::new(": ping\n\n"),
        error: |kind| {
            let error = json!({"message": "the stream failed (simulated)", "type": kind, "param": null, "code": null});
            Frame::new(format!("data: {}\n\n", json!({"error": error})))
        },
    }
}
