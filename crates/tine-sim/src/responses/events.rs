//! The events of a streamed Responses reply, numbered from 0.

use serde_json::{Map, Value, json};

use super::reply::{CUSTOM_CALL, Head, Outcome, begun, finished, items, outcome, text_part};
use crate::answer::Answer;
use crate::limits::tokens_of;
use crate::stream::{Dialect, Frame, pieces};

#[derive(Default)]
struct Events {
    frames: Vec<Frame>,
}

fn event(kind: &str, number: usize, fields: Value) -> String {
    let mut data = Map::new();
    data.insert("type".to_owned(), kind.into());
    data.insert("sequence_number".to_owned(), number.into());
    if let Value::Object(fields) = fields {
        data.extend(fields);
    }
    format!("event: {kind}\ndata: {}\n\n", Value::Object(data))
}

impl Events {
    fn push(&mut self, kind: &str, fields: Value) {
        let text = event(kind, self.frames.len(), fields);
        self.frames.push(Frame::new(text));
    }

    fn content(&mut self, kind: &str, tokens: u64, fields: Value) {
        let text = event(kind, self.frames.len(), fields);
        self.frames.push(Frame::content(text, tokens));
    }

    /// One `KIND.delta` per piece of a text, then `KIND.done` with all of it under `key`. `place` says where it stands.
    fn text(&mut self, kind: &str, key: &str, text: &str, place: &Value) {
        let with = |key: &str, value: &str| {
            let mut fields = place.clone();
            fields[key] = json!(value);
            fields
        };
        for piece in pieces(text) {
            self.content(&format!("{kind}.delta"), tokens_of(piece.len()), with("delta", piece));
        }
        self.content(&format!("{kind}.done"), 0, with(key, text));
    }

    fn item(&mut self, index: usize, item: &Value) {
        let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let mut empty = item.clone();
        match text("type") {
            "reasoning" => {
                empty["summary"] = json!([]);
                if item.get("encrypted_content").is_some() {
                    empty["encrypted_content"] = json!("");
                }
            }
            "message" => {
                (empty["content"], empty["status"]) = (json!([]), json!("in_progress"));
            }
            "function_call" => {
                (empty["arguments"], empty["status"]) = (json!(""), json!("in_progress"));
            }
            CUSTOM_CALL => {
                (empty["input"], empty["status"]) = (json!(""), json!("in_progress"));
            }
            _ => {}
        }
        let place = json!({"item_id": text("id"), "output_index": index});
        self.content(
            "response.output_item.added",
            0,
            json!({"output_index": index, "item": empty}),
        );
        match text("type") {
            "reasoning" => self.summary(item, &place),
            "message" => self.message(item, &place),
            "function_call" => {
                let kind = "response.function_call_arguments";
                self.text(kind, "arguments", text("arguments"), &place);
            }
            CUSTOM_CALL => {
                self.text("response.custom_tool_call_input", "input", text("input"), &place);
            }
            _ => {}
        }
        self.content("response.output_item.done", 0, json!({"output_index": index, "item": item}));
    }

    fn summary(&mut self, item: &Value, place: &Value) {
        let parts = item.get("summary").and_then(Value::as_array).into_iter().flatten();
        for (index, part) in parts.enumerate() {
            let mut place = place.clone();
            place["summary_index"] = json!(index);
            let with_part = |part: Value| {
                let mut fields = place.clone();
                fields["part"] = part;
                fields
            };
            let added = with_part(json!({"type": "summary_text", "text": ""}));
            self.content("response.reasoning_summary_part.added", 0, added);
            let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
            self.text("response.reasoning_summary_text", "text", text, &place);
            self.content("response.reasoning_summary_part.done", 0, with_part(part.clone()));
        }
    }

    fn message(&mut self, item: &Value, place: &Value) {
        let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
        for (index, part) in parts.enumerate() {
            let mut place = place.clone();
            place["content_index"] = json!(index);
            let with_part = |part: Value| {
                let mut fields = place.clone();
                fields["part"] = part;
                fields
            };
            self.content("response.content_part.added", 0, with_part(text_part("")));
            let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
            let mut logged = place.clone();
            logged["logprobs"] = json!([]);
            self.text("response.output_text", "text", text, &logged);
            self.content("response.content_part.done", 0, with_part(part.clone()));
        }
    }
}

/// The events of a streamed reply.
pub(crate) fn frames(head: &Head, answer: &Answer) -> Vec<Frame> {
    let mut events = Events::default();
    events.push("response.created", json!({"response": begun(head)}));
    events.push("response.in_progress", json!({"response": begun(head)}));
    if head.unknown_events {
        events.push("response.sim_unknown_event", json!({"note": "not in any client"}));
    }
    for (index, item) in items(head, answer).iter().enumerate() {
        events.item(index, item);
    }
    let last = match outcome(answer) {
        Outcome::Completed => "response.completed",
        Outcome::Incomplete(_) => "response.incomplete",
        Outcome::Failed => "response.failed",
    };
    events.push(last, json!({"response": finished(head, answer)}));
    events.frames
}

/// Keep-alives and errors inside a stream. The format has no ping event; gateways send comments.
pub(crate) fn dialect() -> Dialect {
    Dialect {
        name: "responses",
        ping: Frame::new(": ping\n\n"),
        error: |kind, events| {
            let fields =
                json!({"code": kind, "message": "the stream failed (simulated)", "param": null});
            Frame::new(event("error", events, fields))
        },
    }
}
