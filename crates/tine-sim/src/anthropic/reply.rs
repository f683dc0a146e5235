//! A reply in the Messages format: one JSON body, or the events of a stream.

use serde_json::{Value, json};

use crate::answer::{Answer, Call, Stop};
use crate::cache::PromptUsage;
use crate::limits::tokens_of;
use crate::refusal::Refusal;
use crate::stream::{Dialect, Frame, pieces};

/// What a reply says beside its content.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) model: String,
    /// Absent: the reply does not report its usage.
    pub(crate) usage: Option<PromptUsage>,
    /// The outcome of a comparison; absent when none was asked for.
    pub(crate) diagnostics: Option<Value>,
    /// Thinking that was left out of the input.
    pub(crate) transformations: Vec<Value>,
    /// Of the thinking block, if there is one.
    pub(crate) signature: String,
    /// One id for each tool call.
    pub(crate) call_ids: Vec<String>,
    /// Whether to put in events and blocks that no client knows.
    pub(crate) unknown_events: bool,
}

fn stop_reason(answer: &Answer) -> &str {
    match &answer.stop {
        Stop::EndTurn => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::Given(reason) => reason,
    }
}

fn usage(prompt: &PromptUsage, output_tokens: u64) -> Value {
    json!({
        "input_tokens": prompt.input,
        "cache_creation_input_tokens": prompt.written(),
        "cache_read_input_tokens": prompt.read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": prompt.write_short,
            "ephemeral_1h_input_tokens": prompt.write_long,
        },
        "output_tokens": output_tokens,
        "service_tier": "standard",
    })
}

fn final_usage(head: &Head, answer: &Answer) -> Option<Value> {
    let mut usage = usage(head.usage.as_ref()?, answer.output_tokens);
    if answer.thinking.is_some() {
        usage["output_tokens_details"] = json!({"thinking_tokens": answer.thinking_tokens});
    }
    Some(usage)
}

/// A block that no client knows yet. It must be kept and sent back like any other.
fn unknown_block() -> Value {
    json!({"type": "sim_unknown_block", "note": "a block type from the future"})
}

/// The JSON body of a reply that is not streamed. A tool input that is not JSON appears as a JSON string, because the
/// body itself has to be JSON.
pub(crate) fn json_body(head: &Head, answer: &Answer) -> Frame {
    let mut content = Vec::new();
    if head.unknown_events {
        content.push(unknown_block());
    }
    if let Some(thinking) = &answer.thinking {
        content
            .push(json!({"type": "thinking", "thinking": thinking, "signature": head.signature}));
    }
    if let Some(text) = answer.text.as_deref().filter(|text| !text.is_empty()) {
        content.push(json!({"type": "text", "text": text}));
    }
    for (call, id) in answer.calls.iter().zip(&head.call_ids) {
        let input: Value =
            serde_json::from_str(&call.input).unwrap_or_else(|_| call.input.clone().into());
        content.push(json!({"type": "tool_use", "id": id, "name": call.name, "input": input}));
    }
    let mut body = json!({
        "id": head.id,
        "type": "message",
        "role": "assistant",
        "model": head.model,
        "content": content,
        "stop_reason": stop_reason(answer),
        "stop_sequence": null,
    });
    if let Some(usage) = final_usage(head, answer) {
        body["usage"] = usage;
    }
    say_about_input(head, &mut body);
    Frame::content(body.to_string(), answer.output_tokens)
}

/// What is said about the request and not about the answer.
fn say_about_input(head: &Head, message: &mut Value) {
    if let Some(diagnostics) = &head.diagnostics {
        message["diagnostics"] = diagnostics.clone();
    }
    if !head.transformations.is_empty() {
        message["input_transformations"] = json!(head.transformations);
    }
}

/// One server-sent event; its name is the data's `type`.
fn event(data: &Value) -> String {
    let name = data.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// The events of a streamed reply.
pub(crate) fn frames(head: &Head, answer: &Answer) -> Vec<Frame> {
    let mut frames = vec![start(head)];
    if head.unknown_events {
        frames.push(Frame::new(event(
            &json!({"type": "sim_unknown_event", "note": "not in any client"}),
        )));
    }
    let mut blocks = Blocks { frames, index: 0 };
    if head.unknown_events {
        blocks.push(unknown_block(), &[]);
    }
    if let Some(thinking) = &answer.thinking {
        let mut deltas: Vec<(Value, u64)> = pieces(thinking)
            .map(|piece| {
                (json!({"type": "thinking_delta", "thinking": piece}), tokens_of(piece.len()))
            })
            .collect();
        deltas.push((json!({"type": "signature_delta", "signature": head.signature}), 0));
        blocks.push(json!({"type": "thinking", "thinking": "", "signature": ""}), &deltas);
    }
    if let Some(text) = answer.text.as_deref().filter(|text| !text.is_empty()) {
        let deltas: Vec<(Value, u64)> = pieces(text)
            .map(|piece| (json!({"type": "text_delta", "text": piece}), tokens_of(piece.len())))
            .collect();
        blocks.push(json!({"type": "text", "text": ""}), &deltas);
    }
    for (call, id) in answer.calls.iter().zip(&head.call_ids) {
        blocks.call(call, id);
    }
    let mut frames = blocks.frames;
    let mut delta = json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(answer), "stop_sequence": null},
    });
    if let Some(usage) = final_usage(head, answer) {
        delta["usage"] = usage;
    }
    frames.push(Frame::new(event(&delta)));
    frames.push(Frame::new(event(&json!({"type": "message_stop"}))));
    frames
}

fn start(head: &Head) -> Frame {
    let mut message = json!({
        "id": head.id,
        "type": "message",
        "role": "assistant",
        "model": head.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    });
    if let Some(prompt) = &head.usage {
        message["usage"] = usage(prompt, 1);
    }
    say_about_input(head, &mut message);
    Frame::new(event(&json!({"type": "message_start", "message": message})))
}

struct Blocks {
    frames: Vec<Frame>,
    index: usize,
}

impl Blocks {
    fn push(&mut self, start: Value, deltas: &[(Value, u64)]) {
        let index = self.index;
        self.index += 1;
        let start = json!({"type": "content_block_start", "index": index, "content_block": start});
        self.frames.push(Frame::content(event(&start), 0));
        for (delta, tokens) in deltas {
            let delta = json!({"type": "content_block_delta", "index": index, "delta": delta});
            self.frames.push(Frame::content(event(&delta), *tokens));
        }
        let stop = json!({"type": "content_block_stop", "index": index});
        self.frames.push(Frame::content(event(&stop), 0));
    }

    /// The first delta of a tool's input is empty, as the vendor's often is.
    fn call(&mut self, call: &Call, id: &str) {
        let deltas: Vec<(Value, u64)> = std::iter::once("")
            .chain(pieces(&call.input))
            .map(|piece| {
                (json!({"type": "input_json_delta", "partial_json": piece}), tokens_of(piece.len()))
            })
            .collect();
        let start = json!({"type": "tool_use", "id": id, "name": call.name, "input": {}});
        self.push(start, &deltas);
    }
}

fn kind_of(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500..=599 => "api_error",
        _ => "invalid_request_error",
    }
}

/// The body of a refusal.
pub(crate) fn error_body(refusal: &Refusal, request_id: &str) -> String {
    let mut error = json!({"type": kind_of(refusal.status), "message": refusal.message});
    if let Some(code) = refusal.code {
        error["details"] = json!({"error_code": code});
    }
    json!({"type": "error", "error": error, "request_id": request_id}).to_string()
}

/// Keep-alives and errors inside a stream.
pub(crate) fn dialect() -> Dialect {
    Dialect {
        name: "messages",
        ping: Frame::new(event(&json!({"type": "ping"}))),
        error: |kind, _| {
            let error = json!({"type": kind, "message": "the stream failed (simulated)"});
            Frame::new(event(&json!({"type": "error", "error": error})))
        },
    }
}
