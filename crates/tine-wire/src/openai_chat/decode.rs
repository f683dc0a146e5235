//! Chat Completions → events and a reply.
//!
//! The kept text of a streamed message is one assistant message object: `role`, `content`, then every other
//! field that came with a delta, then `tool_calls` without their stream index. Of such fields strings and lists
//! grow, `null` says nothing, and of anything else the last one wins; `obfuscation` is padding and is dropped.
//! Only the first choice is read: tine never asks for more. A call in the format's old place, `function_call`, is kept as the one
//! element of `tool_calls`: only there can it be answered.
//!
//! The reply is complete with its finish reason: whatever follows can only add the usage. It is also complete with
//! `[DONE]`, for servers that give no reason.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tine_model::{Message, StopReason, WireFormat};

use super::calls::GrowingCalls;
use super::read::REASONING;
use super::usage::Counts;
use crate::growing::GrowingObject;
use crate::no_answer::is_failure;
use crate::reply::{self, DecodeError, Partial, Reply, missing, parse};
use crate::sse::Record;
use crate::{Event, failure, json, lenient, strip};

/// The reply of a stream while it grows.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    id: Option<String>,
    model: Option<String>,
    started: bool,
    /// Whether there was a choice at all.
    chosen: bool,
    fields: GrowingObject,
    calls: GrowingCalls,
    counts: Counts,
    finish: Option<String>,
    done: bool,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(default, deserialize_with = "lenient::text")]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    model: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    object: Option<String>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<&'a RawValue>,
    timings: Option<&'a RawValue>,
    x_groq: Option<Nested<'a>>,
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Nested<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(default, deserialize_with = "lenient::index")]
    index: Option<i64>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient::text")]
    finish_reason: Option<String>,
    usage: Option<&'a RawValue>,
}

impl Choice<'_> {
    /// Returns true for the choice that is read. Some servers count from -1, or not at all.
    fn is_first(&self) -> bool {
        self.index.is_none_or(|index| index <= 0)
    }
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
        if record.data.trim_start().starts_with("[DONE]") {
            self.done = true;
            if self.finish.is_none() {
                self.close_blocks(events);
            }
            events.push(Event::Other);
            return Ok(());
        }
        let chunk: Chunk<'_> = parse(&record.data, "a chunk")?;
        if is_error(&chunk) || record.name.as_deref() == Some("error") {
            let body = parse::<Value>(&record.data, "an error")?;
            return Err(failure::from_value(None, &body).into());
        }
        let before = events.len();
        if !self.started {
            self.started = true;
            (self.id, self.model) = (chunk.id.clone(), chunk.model.clone());
            let (id, model) = (chunk.id.clone(), chunk.model.clone());
            events.push(Event::Started { id, model, usage: self.counts.normal() });
        }
        let choices = chunk.choices.as_deref().unwrap_or_default();
        for choice in choices.iter().filter(|choice| choice.is_first()) {
            self.take_choice(choice, events)?;
        }
        self.take_usage(&chunk, choices.first());
        if events.len() == before {
            events.push(Event::Other);
        }
        Ok(())
    }

    fn take_usage(&mut self, chunk: &Chunk<'_>, choice: Option<&Choice<'_>>) {
        let nested = chunk.x_groq.as_ref().and_then(|nested| nested.usage);
        let places = [choice.and_then(|choice| choice.usage), nested, chunk.usage];
        places.into_iter().flatten().for_each(|usage| self.counts.take(usage));
        if let Some(timings) = chunk.timings {
            self.counts.take_timings(timings);
        }
    }

    fn take_choice(
        &mut self,
        choice: &Choice<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        self.chosen = true;
        if let Some(delta) = choice.delta {
            self.take_delta(delta, events)?;
        }
        if let (Some(reason), None) = (&choice.finish_reason, &self.finish) {
            self.finish = Some(reason.clone());
            self.close_blocks(events);
        }
        Ok(())
    }

    fn take_delta(&mut self, delta: &RawValue, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let at = "a delta";
        let members = strip::members(delta).map_err(|error| DecodeError::protocol(at, error))?;
        let mut reasoned = false;
        let has_calls =
            members.iter().any(|(key, calls)| key.get() == "\"tool_calls\"" && !is_null(calls));
        for (key, value) in members {
            let key: String = parse(key.get(), at)?;
            match key.as_str() {
                "role" | "obfuscation" => continue,
                "tool_calls" => {
                    self.calls.take(value, events)?;
                    continue;
                }
                "function_call" if !is_null(value) => {
                    if !has_calls {
                        self.calls.take_legacy(value, events)?;
                    }
                    continue;
                }
                _ => {}
            }
            self.fields.merge(&key, value).map_err(|error| DecodeError::protocol(at, error))?;
            let Some(delta) = words(value) else { continue };
            if key == "content" || key == "refusal" {
                events.push(Event::Text { delta });
            } else if REASONING.contains(&key.as_str()) && !reasoned {
                reasoned = true;
                events.push(Event::Thinking { delta });
            }
        }
        Ok(())
    }

    /// The format tells the end of no block, only that of the reply.
    fn close_blocks(&mut self, events: &mut Vec<Event>) {
        self.calls.announce_all(events);
        let blocks = self.message().map_or(0, |message| message.blocks().len());
        events.extend((0..blocks).map(|index| Event::BlockDone { index }));
    }

    fn message(&self) -> Result<Message, DecodeError> {
        let calls = self.calls.to_json();
        let mut object = GrowingObject::default();
        object.append_text("role", "assistant");
        object.reserve("content");
        object.extend(&self.fields);
        match calls {
            Some(calls) => object.set_json("tool_calls", &calls),
            // Without calls, `null` is refused.
            None if object.is_null("content") => object.append_text("content", ""),
            None => {}
        }
        reply::message(WireFormat::OpenAiChat, &object.to_json())
    }

    /// Leaves what arrived in place when the end came too early.
    pub(crate) fn finish(&mut self) -> Result<Reply, DecodeError> {
        if !self.done && self.finish.is_none() {
            return Err(DecodeError::Truncated);
        }
        if !self.chosen {
            return Err(DecodeError::protocol("the stream", "it holds no choice"));
        }
        let mut whole = std::mem::take(self);
        whole.calls.announce_all(&mut Vec::new());
        let message = whole.message()?;
        let refused = whole.fields.text("refusal").is_some_and(|refusal| !refusal.is_empty());
        let stop = stop_reason(whole.finish.as_deref(), &message, refused);
        let usage = whole.counts.normal();
        Ok(Reply { id: whole.id, model: whole.model, ..Reply::of(message, stop, usage) })
    }

    /// Text, and the calls that are known to be complete. Nothing says whether reasoning is complete, so none
    /// of it is kept, nor any field that tine does not know.
    pub(crate) fn partial(mut self) -> Partial {
        let usage = self.counts.normal();
        self.calls.announce_all(&mut Vec::new());
        if self.finish.is_none() && !self.done {
            self.calls.drop_unfinished();
        }
        let text = [self.fields.text("content"), self.fields.text("refusal")];
        let text: String = text.into_iter().flatten().collect();
        let calls = self.calls.to_json();
        let content = match text.trim() {
            "" if calls.is_some() => "null".to_owned(),
            "" => return Partial { message: None, usage, id: self.id },
            _ => json::string(&text),
        };
        let object = json::Object::new().string("role", "assistant").raw("content", &content);
        let object = match calls {
            Some(calls) => object.raw("tool_calls", &calls),
            None => object,
        };
        let message = reply::message(WireFormat::OpenAiChat, &object.end()).ok();
        Partial { message, usage, id: self.id }
    }
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

/// OpenAI gives an `error` member, vLLM an object of that kind.
fn is_error(chunk: &Chunk<'_>) -> bool {
    chunk.error.is_some() || chunk.object.as_deref() == Some("error")
}

/// A string with something in it, or the texts of a list of parts.
fn words(value: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Part {
        #[serde(default)]
        text: String,
    }
    let words = match value.get().as_bytes().first() {
        Some(b'"') => serde_json::from_str(value.get()).ok()?,
        Some(b'[') => {
            let parts: Vec<Part> = serde_json::from_str(value.get()).ok()?;
            parts.into_iter().map(|part| part.text).collect()
        }
        _ => String::new(),
    };
    (!words.is_empty()).then_some(words)
}

/// Some servers say `stop` although they call tools, or say nothing; the calls tell.
fn stop_reason(reason: Option<&str>, message: &Message, refused: bool) -> StopReason {
    let end = || match message.tool_calls().next() {
        Some(_) => StopReason::ToolUse,
        None if refused => StopReason::Refusal,
        None => StopReason::EndTurn,
    };
    match reason {
        Some(reason) if is_failure(reason) => StopReason::Other(reason.to_owned()),
        Some("length" | "max_tokens" | "MAX_TOKENS" | "model_length") => StopReason::MaxTokens,
        Some("content_filter" | "SAFETY" | "refusal" | "sensitive") => StopReason::Refusal,
        Some("model_context_window_exceeded") => StopReason::ContextExceeded,
        None => end(),
        Some(reason) if ENDS.contains(&reason) => end(),
        Some("tool_calls" | "function_call" | "tool_use") => StopReason::ToolUse,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

/// Words for the usual end. OpenAI's is the first; gateways and engines pass on those of what stands behind them.
const ENDS: [&str; 7] =
    ["stop", "STOP", "end_turn", "eos", "eos_token", "stop_sequence", "COMPLETE"];

/// Reads a reply that was not streamed. The message is kept as it came.
pub(crate) fn whole(body: &RawValue) -> Result<Reply, DecodeError> {
    let at = "the reply";
    let chunk: Chunk<'_> = parse(body.get(), at)?;
    if is_error(&chunk) {
        return Err(failure::from_value(None, &parse::<Value>(body.get(), at)?).into());
    }
    let choices = chunk.choices.as_deref().unwrap_or_default();
    let choice = choices.iter().find(|choice| choice.is_first());
    let choice = choice.ok_or_else(|| DecodeError::protocol(at, "it holds no choice"))?;
    let raw = choice.message.ok_or_else(|| missing(at, "message"))?;
    let mut fields = GrowingObject::parse(raw).map_err(|error| DecodeError::protocol(at, error))?;
    let has_role = fields.text("role").is_some();
    let is_changed = fields.move_legacy_call() || !has_role;
    let message = if is_changed {
        let mut named = GrowingObject::default();
        named.append_text("role", "assistant");
        named.extend(&fields);
        reply::message(WireFormat::OpenAiChat, &named.to_json())?
    } else {
        reply::message(WireFormat::OpenAiChat, raw.get())?
    };
    let mut counted = Assembly::default();
    counted.take_usage(&chunk, choices.first());
    let refused = fields.text("refusal").is_some_and(|refusal| !refusal.is_empty());
    let stop = stop_reason(choice.finish_reason.as_deref(), &message, refused);
    let usage = counted.counts.normal();
    Ok(Reply { id: chunk.id, model: chunk.model, ..Reply::of(message, stop, usage) })
}
