//! Anthropic Messages → events and a reply.
//!
//! The kept text of a streamed message is `{"role":"assistant","content":[…]}`. Each block is the object of its
//! start event, fields in their order, with the deltas folded in. Tool arguments keep the exact text that was
//! streamed. A delta of an unknown kind is folded in field by field: strings and lists grow, of anything else
//! the last one wins.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tine_model::{Block, Message, Role, StopReason, ToolCallId, ToolInput, WireFormat};

use super::read;
use super::remarks::Remarks;
use super::usage::Counts;
use crate::growing::GrowingObject;
use crate::read::input_from_text;
use crate::reply::{self, DecodeError, Partial, Reply, missing, parse};
use crate::sse::Record;
use crate::{Event, failure, lenient, names, strip};

/// The reply of a stream while it grows.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    id: Option<String>,
    model: Option<String>,
    blocks: BTreeMap<usize, GrowingBlock>,
    counts: Counts,
    remarks: Remarks,
    stop: Option<String>,
    done: bool,
}

#[derive(Debug)]
struct GrowingBlock {
    kind: String,
    fields: GrowingObject,
    /// The pieces of the arguments, joined.
    input: String,
    stopped: bool,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient::place")]
    index: Option<usize>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    content_block: Option<&'a RawValue>,
    delta: Option<&'a RawValue>,
    usage: Option<&'a RawValue>,
    diagnostics: Option<&'a RawValue>,
    input_transformations: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Start<'a> {
    #[serde(default, deserialize_with = "lenient::text")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    model: Option<String>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    diagnostics: Option<&'a RawValue>,
    input_transformations: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Stop<'a> {
    #[serde(default, deserialize_with = "lenient::text")]
    stop_reason: Option<String>,
    #[serde(borrow)]
    diagnostics: Option<&'a RawValue>,
    input_transformations: Option<&'a RawValue>,
}

impl Assembly {
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    pub(crate) fn accept(
        &mut self,
        record: &Record,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let name = record.name.as_deref().unwrap_or("an event");
        if name == "ping" {
            events.push(Event::Ping);
            return Ok(());
        }
        // Gateways end the stream as OpenAI does. The vendor's own library reads no event whose name it does not know.
        if record.data.trim_start().starts_with("[DONE]") {
            events.push(Event::Other);
            return Ok(());
        }
        let envelope: Envelope<'_> = parse(&record.data, name)?;
        let kind = envelope.kind.as_deref().or(record.name.as_deref()).unwrap_or_default();
        match kind {
            "message_start" => self.start(&envelope, events)?,
            "content_block_start" => self.start_block(&envelope, events)?,
            "content_block_delta" => self.grow_block(&envelope, events)?,
            "content_block_stop" => {
                let index = envelope.index.unwrap_or_default();
                if let Some(block) = self.blocks.get_mut(&index) {
                    block.stopped = true;
                    events.push(Event::BlockDone { index });
                }
            }
            "message_delta" => {
                if let Some(delta) = envelope.delta {
                    let stop: Stop<'_> = parse(delta.get(), kind)?;
                    self.stop = stop.stop_reason.or(self.stop.take());
                    self.remarks.take(stop.diagnostics, stop.input_transformations);
                }
                self.remarks.take(envelope.diagnostics, envelope.input_transformations);
                if let Some(usage) = envelope.usage {
                    self.counts.take(usage);
                }
                events.push(Event::Other);
            }
            "message_stop" => {
                self.done = true;
                events.push(Event::Other);
            }
            "ping" => events.push(Event::Ping),
            "error" => {
                let body = parse::<Value>(&record.data, kind)?;
                return Err(failure::from_value(None, &body).into());
            }
            _ => events.push(Event::Other),
        }
        Ok(())
    }

    fn start(&mut self, event: &Envelope<'_>, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let at = "message_start";
        let message = event.message.ok_or_else(|| missing(at, "message"))?;
        let start: Start<'_> = parse(message.get(), at)?;
        self.remarks.take(start.diagnostics, start.input_transformations);
        let Start { id, model, usage, .. } = start;
        if let Some(usage) = usage {
            self.counts.take(usage);
        }
        (self.id, self.model) = (id.clone(), model.clone());
        events.push(Event::Started { id, model, usage: self.counts.normal() });
        Ok(())
    }

    fn start_block(
        &mut self,
        event: &Envelope<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let at = "content_block_start";
        let raw = event.content_block.ok_or_else(|| missing(at, "content_block"))?;
        let index = event.index.ok_or_else(|| missing(at, "index"))?;
        let fields = GrowingObject::parse(raw).map_err(|e| DecodeError::protocol(at, e))?;
        let kind = fields.text("type").ok_or_else(|| missing(at, "type"))?;
        let text = |key: &str| fields.text(key).unwrap_or_default();
        events.push(match kind.as_str() {
            "text" if !text("text").is_empty() => Event::Text { delta: text("text") },
            "thinking" if !text("thinking").is_empty() => {
                Event::Thinking { delta: text("thinking") }
            }
            "tool_use" => Event::ToolCall {
                id: ToolCallId(text("id")),
                name: names::from_wire(&text("name")).into_owned(),
            },
            _ => Event::Other,
        });
        let block = GrowingBlock { kind, fields, input: String::new(), stopped: false };
        match self.blocks.insert(index, block) {
            None => Ok(()),
            Some(_) => Err(DecodeError::protocol(at, format!("block {index} begins twice"))),
        }
    }

    fn grow_block(
        &mut self,
        event: &Envelope<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let at = "content_block_delta";
        let delta = event.delta.ok_or_else(|| missing(at, "delta"))?;
        let index = event.index.ok_or_else(|| missing(at, "index"))?;
        let block = self
            .blocks
            .get_mut(&index)
            .ok_or_else(|| DecodeError::protocol(at, format!("block {index} has not begun")))?;
        events.push(block.grow(delta)?);
        Ok(())
    }

    /// Leaves what arrived in place when the end came too early.
    pub(crate) fn finish(&mut self) -> Result<Reply, DecodeError> {
        if !self.done {
            return Err(DecodeError::Truncated);
        }
        let whole = std::mem::take(self);
        let usage = whole.counts.normal();
        let blocks: Vec<(String, Option<String>)> =
            whole.blocks.into_values().map(GrowingBlock::close).collect();
        let message = assembled(blocks)?;
        let stop = stop_reason(whole.stop.as_deref(), &message);
        Ok(Reply {
            id: whole.id,
            model: whole.model,
            message,
            stop,
            usage,
            diagnosis: whole.remarks.diagnosis,
            dropped: whole.remarks.dropped,
        })
    }

    pub(crate) fn partial(self) -> Partial {
        let usage = self.counts.normal();
        let mut usable: Vec<((String, Option<String>), Block)> = Vec::new();
        for block in self.blocks.into_values() {
            let stopped = block.stopped;
            let closed = block.close();
            let Some(read) = read_block(&closed) else { continue };
            let keep = match &read {
                Block::Text(text) => !text.trim().is_empty(),
                Block::Thinking { signature, .. } => stopped && signature.is_some(),
                Block::RedactedThinking(_)
                | Block::ToolUse { .. }
                | Block::ToolResult { .. }
                | Block::Image(_)
                | Block::Document(_)
                | Block::Unknown(_) => stopped,
            };
            if keep {
                usable.push((closed, read));
            }
        }
        while let Some((_, Block::Thinking { .. } | Block::RedactedThinking(_))) = usable.last() {
            usable.pop();
        }
        let blocks: Vec<_> = usable.into_iter().map(|(closed, _)| closed).collect();
        let message = if blocks.is_empty() { None } else { assembled(blocks).ok() };
        Partial { message, usage, id: self.id }
    }
}

impl GrowingBlock {
    fn grow(&mut self, delta: &RawValue) -> Result<Event, DecodeError> {
        let at = "content_block_delta";
        let members = strip::members(delta).map_err(|e| DecodeError::protocol(at, e))?;
        let find = |key: &str| {
            let quoted = format!("\"{key}\"");
            members.iter().find(|(name, _)| name.get() == quoted).map(|(_, value)| *value)
        };
        let text = |key: &str| -> Result<String, DecodeError> {
            find(key).map_or_else(|| Err(missing(at, key)), |raw| parse(raw.get(), at))
        };
        match text("type")?.as_str() {
            "text_delta" => {
                let delta = text("text")?;
                self.fields.append_text("text", &delta);
                Ok(Event::Text { delta })
            }
            "thinking_delta" => {
                let delta = text("thinking")?;
                self.fields.append_text("thinking", &delta);
                Ok(Event::Thinking { delta })
            }
            "signature_delta" => {
                self.fields.append_text("signature", &text("signature")?);
                Ok(Event::Other)
            }
            "input_json_delta" => {
                let delta = text("partial_json")?;
                self.input.push_str(&delta);
                Ok(match self.kind.as_str() {
                    "tool_use" => Event::ToolInput { delta },
                    _ => Event::Other,
                })
            }
            "citations_delta" => {
                if let Some(citation) = find("citation") {
                    self.fields.append_element("citations", citation);
                }
                Ok(Event::Other)
            }
            _ => {
                for (key, value) in &members {
                    let key: String = parse(key.get(), at)?;
                    if key != "type" {
                        self.fields.merge(&key, value).map_err(|e| DecodeError::protocol(at, e))?;
                    }
                }
                Ok(Event::Other)
            }
        }
    }

    /// The block as JSON, and the arguments of a call when they are no JSON object (the block then has `{}`).
    fn close(mut self) -> (String, Option<String>) {
        let mut invalid = None;
        // Without any piece the arguments stand in the start event: `{}`, or all of them from servers that do
        // not stream them.
        if !self.input.is_empty() {
            match input_from_text(&self.input) {
                ToolInput::Valid(json) => self.fields.set_json("input", json.as_str()),
                ToolInput::Invalid(text) => {
                    self.fields.set_json("input", "{}");
                    invalid = Some(text);
                }
            }
        } else if self.kind == "tool_use" && !self.fields.has_members("input") {
            self.fields.set_json("input", "{}");
        }
        (self.fields.to_json(), invalid)
    }
}

fn read_block((json, _): &(String, Option<String>)) -> Option<Block> {
    read::block(serde_json::from_str(json).ok()?, 0).ok()
}

/// A message of closed blocks. Arguments that were no object are put into the blocks; the kept text cannot hold
/// them.
fn assembled(closed: Vec<(String, Option<String>)>) -> Result<Message, DecodeError> {
    let (texts, invalid): (Vec<String>, Vec<Option<String>>) = closed.into_iter().unzip();
    let json = format!(r#"{{"role":"assistant","content":[{}]}}"#, texts.join(","));
    let message = reply::message(WireFormat::Anthropic, &json)?;
    let Some(raw) = message.raw().filter(|_| invalid.iter().any(Option::is_some)) else {
        return Ok(message);
    };
    let repaired = message.blocks().iter().zip(invalid).map(|pair| match pair {
        (Block::ToolUse { id, name, .. }, Some(text)) => {
            Block::ToolUse { id: id.clone(), name: name.clone(), input: ToolInput::Invalid(text) }
        }
        (block, _) => block.clone(),
    });
    Ok(Message::received(Role::Assistant, repaired.collect(), raw.clone()))
}

fn stop_reason(reason: Option<&str>, message: &Message) -> StopReason {
    match reason {
        Some("end_turn") => StopReason::EndTurn,
        Some("tool_use") => StopReason::ToolUse,
        Some("max_tokens") => StopReason::MaxTokens,
        Some("stop_sequence") => StopReason::StopSequence,
        Some("pause_turn") => StopReason::Pause,
        Some("refusal") => StopReason::Refusal,
        Some("model_context_window_exceeded") => StopReason::ContextExceeded,
        Some(other) => StopReason::Other(other.to_owned()),
        None if message.tool_calls().next().is_some() => StopReason::ToolUse,
        None => StopReason::EndTurn,
    }
}

/// Reads a reply that was not streamed. The content is kept as it came.
pub(crate) fn whole(body: &RawValue) -> Result<Reply, DecodeError> {
    #[derive(Deserialize)]
    struct Whole<'a> {
        #[serde(rename = "type")]
        kind: Option<String>,
        #[serde(default, deserialize_with = "lenient::text")]
        id: Option<String>,
        #[serde(default, deserialize_with = "lenient::text")]
        model: Option<String>,
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        stop_reason: Option<String>,
        usage: Option<&'a RawValue>,
        diagnostics: Option<&'a RawValue>,
        input_transformations: Option<&'a RawValue>,
    }
    let at = "the reply";
    let whole: Whole<'_> = parse(body.get(), at)?;
    if whole.kind.as_deref() == Some("error") {
        return Err(failure::from_value(None, &parse::<Value>(body.get(), at)?).into());
    }
    let content = whole.content.ok_or_else(|| missing(at, "content"))?;
    let json = format!(r#"{{"role":"assistant","content":{}}}"#, content.get());
    let message = reply::message(WireFormat::Anthropic, &json)?;
    let mut counts = Counts::default();
    if let Some(usage) = whole.usage {
        counts.take(usage);
    }
    let mut remarks = Remarks::default();
    remarks.take(whole.diagnostics, whole.input_transformations);
    let stop = stop_reason(whole.stop_reason.as_deref(), &message);
    Ok(Reply {
        id: whole.id,
        model: whole.model,
        message,
        stop,
        usage: counts.normal(),
        diagnosis: remarks.diagnosis,
        dropped: remarks.dropped,
    })
}
