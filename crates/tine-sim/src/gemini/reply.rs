//! A reply in the Gemini format: one response object, or a stream of them.

use serde_json::{Map, Value, json};

use crate::answer::{Answer, Call, Stop};
use crate::limits::tokens_of;
use crate::refusal::Refusal;
use crate::stream::{Dialect, Frame, pieces};

/// What a reply says beside its content.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) model: String,
    /// Absent: the reply does not report its usage.
    pub(crate) usage: Option<PromptCount>,
    /// Of the first call.
    pub(crate) signature: String,
    pub(crate) call_ids: Vec<String>,
    pub(crate) includes_thoughts: bool,
    /// Whether to put in fields that no client knows.
    pub(crate) unknown_events: bool,
}

/// The prompt's tokens; `cached` is a part of `prompt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PromptCount {
    pub(crate) prompt: u64,
    pub(crate) cached: u64,
}

/// Tokens that were generated so far.
#[derive(Debug, Clone, Copy, Default)]
struct Generated {
    thoughts: u64,
    candidates: u64,
}

/// A call whose input is an object; another cannot be put into this format.
fn args(call: &Call) -> Option<Value> {
    serde_json::from_str(&call.input).ok().filter(Value::is_object)
}

fn finish_reason(answer: &Answer) -> &str {
    if answer.calls.iter().any(|call| args(call).is_none()) {
        return "MALFORMED_FUNCTION_CALL";
    }
    match &answer.stop {
        Stop::EndTurn | Stop::ToolUse => "STOP",
        Stop::MaxTokens => "MAX_TOKENS",
        Stop::Given(reason) => reason,
    }
}

/// Counts that are zero are left out, as the vendor leaves them out.
fn usage(prompt: &PromptCount, generated: Generated) -> Value {
    let total = prompt.prompt + generated.thoughts + generated.candidates;
    let mut usage = Map::new();
    let mut put = |key: &str, count: u64| {
        if count > 0 {
            usage.insert(key.to_owned(), json!(count));
        }
    };
    put("promptTokenCount", prompt.prompt);
    put("cachedContentTokenCount", prompt.cached);
    put("candidatesTokenCount", generated.candidates);
    put("thoughtsTokenCount", generated.thoughts);
    put("totalTokenCount", total);
    let text = |count: u64| json!([{"modality": "TEXT", "tokenCount": count}]);
    usage.insert("promptTokensDetails".to_owned(), text(prompt.prompt));
    if prompt.cached > 0 {
        usage.insert("cacheTokensDetails".to_owned(), text(prompt.cached));
    }
    Value::Object(usage)
}

fn response(head: &Head, parts: &[Value], finish: Option<&str>, generated: Generated) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    candidate["index"] = json!(0);
    let mut response = json!({"candidates": [candidate]});
    if let Some(prompt) = &head.usage {
        response["usageMetadata"] = usage(prompt, generated);
    }
    response["modelVersion"] = json!(head.model);
    response["responseId"] = json!(head.id);
    if head.unknown_events {
        response["simUnknownField"] = json!("a field from the future");
    }
    response
}

/// The calls, the first of them signed.
fn call_parts(head: &Head, answer: &Answer) -> Vec<Value> {
    let calls = answer.calls.iter().zip(&head.call_ids);
    let calls = calls.filter_map(|(call, id)| Some((id, call, args(call)?)));
    let parts = calls.enumerate().map(|(index, (id, call, args))| {
        let mut part = json!({"functionCall": {"id": id, "name": call.name, "args": args}});
        if index == 0 {
            part["thoughtSignature"] = json!(head.signature);
        }
        part
    });
    parts.collect()
}

fn whole(answer: &Answer) -> Generated {
    let thoughts = answer.thinking_tokens;
    Generated { thoughts, candidates: answer.output_tokens - thoughts }
}

fn shown<'a>(head: &Head, answer: &'a Answer) -> &'a str {
    let thinking = answer.thinking.as_deref().filter(|_| head.includes_thoughts);
    thinking.unwrap_or_default()
}

/// The response object of a reply that is not streamed.
pub(crate) fn json_body(head: &Head, answer: &Answer) -> Frame {
    let mut parts = Vec::new();
    let thinking = shown(head, answer);
    if !thinking.is_empty() {
        parts.push(json!({"text": thinking, "thought": true}));
    }
    if let Some(text) = answer.text.as_deref().filter(|text| !text.is_empty()) {
        parts.push(json!({"text": text}));
    }
    parts.extend(call_parts(head, answer));
    let body = response(head, &parts, Some(finish_reason(answer)), whole(answer));
    Frame::content(body.to_string(), answer.output_tokens)
}

/// The events of a streamed reply. The first shows that the response has begun and holds no content yet.
pub(crate) fn frames(head: &Head, answer: &Answer) -> Vec<Frame> {
    let mut generated = Generated::default();
    let first = response(head, &[json!({"text": ""})], None, generated);
    let mut frames = vec![Frame::new(event(&first))];
    // Thoughts that are not shown take their time all the same.
    let mut unseen = 0;
    match shown(head, answer) {
        "" => (generated.thoughts, unseen) = (answer.thinking_tokens, answer.thinking_tokens),
        thinking => {
            for piece in pieces(thinking) {
                let tokens = tokens_of(piece.len());
                generated.thoughts += tokens;
                let part = json!({"text": piece, "thought": true});
                frames
                    .push(Frame::content(event(&response(head, &[part], None, generated)), tokens));
            }
            generated.thoughts = answer.thinking_tokens;
        }
    }
    for piece in pieces(answer.text.as_deref().unwrap_or_default()) {
        let tokens = tokens_of(piece.len());
        generated.candidates += tokens;
        let part = json!({"text": piece});
        let body = response(head, &[part], None, generated);
        frames.push(Frame::content(event(&body), tokens + std::mem::take(&mut unseen)));
    }
    let calls = call_parts(head, answer);
    if !calls.is_empty() {
        let tokens = answer.calls.iter().map(|call| tokens_of(call.name.len() + call.input.len()));
        let tokens = tokens.sum::<u64>() + unseen;
        frames.push(Frame::content(event(&response(head, &calls, None, whole(answer))), tokens));
    }
    let empty = [json!({"text": ""})];
    let last = response(head, &empty, Some(finish_reason(answer)), whole(answer));
    frames.push(Frame::new(event(&last)));
    frames
}

/// The same stream as a JSON array, for a client that did not ask for events.
pub(crate) fn as_array(frames: Vec<Frame>) -> Vec<Frame> {
    let last = frames.len().saturating_sub(1);
    let bare = frames.into_iter().enumerate().map(|(index, frame)| {
        let text = String::from_utf8_lossy(&frame.bytes).into_owned();
        let text = text.trim_start_matches("data: ").trim_end();
        let open = if index == 0 { "[" } else { ",\n" };
        let close = if index == last { "]" } else { "" };
        Frame { bytes: format!("{open}{text}{close}").into(), ..frame }
    });
    bare.collect()
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn status_of(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500..=599 => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}

/// The body of a refusal; one that says when to come back says so in its details too.
pub(crate) fn error_body(refusal: &Refusal) -> String {
    let mut error = json!({
        "code": refusal.status,
        "message": refusal.message,
        "status": status_of(refusal.status),
    });
    if let Some(seconds) = refusal.retry_after {
        let kind = "type.googleapis.com/google.rpc.RetryInfo";
        error["details"] = json!([{"@type": kind, "retryDelay": format!("{seconds}s")}]);
    }
    json!({"error": error}).to_string()
}

/// Keep-alives and errors inside a stream. The format has no ping; proxies send comments.
pub(crate) fn dialect() -> Dialect {
    Dialect {
        name: "gemini",
        ping: Frame::new(": ping\n\n"),
        error: |kind, _| {
            let code = match kind {
                "rate_limit_error" => 429,
                "overloaded_error" => 503,
                _ => 500,
            };
            let message = "the stream failed (simulated)";
            let error = json!({"code": code, "message": message, "status": status_of(code)});
            Frame::new(event(&json!({"error": error})))
        },
    }
}
