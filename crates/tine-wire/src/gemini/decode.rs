//! Google Gemini `generateContent` → events and a reply.
//!
//! The kept text of a streamed message is `{"role":"model","parts":[…]}`. Texts of one kind that follow each other become
//! one part, but a part with a thought signature stays as it came: Google asks that it is sent back apart. Every other part is
//! kept as it came, fields in their order. Only the first candidate is read: tine never asks for more.
//!
//! A stream has no last record. It is complete once there was a finish reason, or the word that the prompt was blocked;
//! whatever follows can only add the usage.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tine_model::{Message, Role, StopReason, ToolCallId, WireFormat};

use super::part::{Kind, Names, Part};
use super::read::Content;
use super::usage::Counts;
use crate::growing::GrowingObject;
use crate::names::from_wire;
use crate::reply::{self, DecodeError, Partial, Reply, parse};
use crate::sse::Record;
use crate::{Event, failure, lenient, strip};

/// The reply of a stream while it grows.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    id: Option<String>,
    model: Option<String>,
    started: bool,
    parts: Vec<GrowingPart>,
    /// Names calls; has seen the first `named` parts, which grow no more.
    names: Names,
    named: usize,
    /// How many blocks have begun, and whether the last one's end was told.
    blocks: usize,
    told: bool,
    counts: Counts,
    finish: Option<String>,
    blocked: bool,
}

#[derive(Debug)]
struct GrowingPart {
    kind: Kind,
    signed: bool,
    fields: GrowingObject,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a response object")]
struct Chunk<'a> {
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient::text")]
    model_version: Option<String>,
    #[serde(default, deserialize_with = "lenient::text")]
    response_id: Option<String>,
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a candidate")]
struct Candidate<'a> {
    #[serde(default, deserialize_with = "lenient::index")]
    index: Option<i64>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient::text")]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Feedback {
    block_reason: Option<String>,
}

impl<'a> Chunk<'a> {
    fn read(text: &'a str, at: &str) -> Result<Self, DecodeError> {
        let chunk: Self = parse(text, at)?;
        match chunk.error {
            None => Ok(chunk),
            Some(_) => Err(failure::from_value(None, &parse::<Value>(text, at)?).into()),
        }
    }

    fn candidate(&self) -> Option<&Candidate<'a>> {
        let candidates = self.candidates.as_deref().unwrap_or_default();
        candidates.iter().find(|candidate| candidate.index.is_none_or(|index| index <= 0))
    }

    fn is_blocked(&self) -> bool {
        self.prompt_feedback.as_ref().is_some_and(|feedback| feedback.block_reason.is_some())
    }
}

impl Candidate<'_> {
    /// The parts; a candidate that was stopped before its first word has none.
    fn parts(&self) -> Result<Vec<&RawValue>, DecodeError> {
        #[derive(Deserialize)]
        #[serde(expecting = "a content object")]
        struct Parts<'a> {
            #[serde(borrow)]
            parts: Option<Vec<&'a RawValue>>,
        }
        let Some(content) = self.content else { return Ok(Vec::new()) };
        let content: Parts<'_> = parse(content.get(), "a candidate's content")?;
        Ok(content.parts.unwrap_or_default())
    }

    fn finish(&self) -> Option<&str> {
        self.finish_reason.as_deref().filter(|reason| *reason != "FINISH_REASON_UNSPECIFIED")
    }
}

impl Assembly {
    /// Never: the usage may still come.
    pub(crate) fn is_done(&self) -> bool {
        false
    }

    pub(crate) fn accept(
        &mut self,
        record: &Record,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let data = record.data.trim();
        // Gateways end the stream as OpenAI does.
        if data.starts_with("[DONE]") {
            events.push(Event::Other);
            return Ok(());
        }
        if !data.starts_with('[') {
            return self.take_chunk(data, events);
        }
        // Errors may come in a list.
        let chunks: Vec<&RawValue> = parse(data, "a chunk")?;
        chunks.into_iter().try_for_each(|chunk| self.take_chunk(chunk.get(), events))
    }

    fn take_chunk(&mut self, text: &str, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let chunk = Chunk::read(text, "a chunk")?;
        let before = events.len();
        if let Some(usage) = chunk.usage_metadata {
            self.counts.take(usage);
        }
        if !self.started {
            self.started = true;
            (self.id, self.model) = (chunk.response_id.clone(), chunk.model_version.clone());
            let (id, model) = (self.id.clone(), self.model.clone());
            events.push(Event::Started { id, model, usage: self.counts.normal() });
        }
        self.blocked |= chunk.is_blocked();
        if let Some(candidate) = chunk.candidate() {
            for part in candidate.parts()? {
                self.take_part(part, events)?;
            }
            if let Some(reason) = candidate.finish() {
                self.finish = Some(reason.to_owned());
                self.end_block(events);
            }
        }
        if events.len() == before {
            events.push(Event::Other);
        }
        Ok(())
    }

    fn take_part(&mut self, raw: &RawValue, events: &mut Vec<Event>) -> Result<(), DecodeError> {
        let at = "a part";
        let index = self.parts.len();
        let fields = GrowingObject::parse(raw).map_err(|e| DecodeError::protocol(at, e))?;
        let part = Part::read(raw, index).map_err(|error| DecodeError::unreadable(&error))?;
        let (kind, signed) = (part.kind(), part.is_signed());
        match kind {
            Kind::Text | Kind::Thought => self.take_text(raw, fields, &part, events),
            Kind::Call => {
                let id = part.given_id().map(str::to_owned);
                let (name, arguments) = part.call().unwrap_or_default();
                let (name, delta) = (from_wire(name).into_owned(), arguments.to_owned());
                self.begin_block(events);
                self.parts.push(GrowingPart { kind, signed, fields });
                let id = id.map_or_else(|| self.name_call(index), ToolCallId);
                events.extend([Event::ToolCall { id, name }, Event::ToolInput { delta }]);
                self.end_block(events);
                Ok(())
            }
            Kind::Other => {
                // A part without anything in it says nothing and is refused when it is sent back.
                if !strip::members(raw).is_ok_and(|members| members.is_empty()) {
                    self.begin_block(events);
                    self.parts.push(GrowingPart { kind, signed, fields });
                    self.end_block(events);
                }
                events.push(Event::Other);
                Ok(())
            }
        }
    }

    fn take_text(
        &mut self,
        raw: &RawValue,
        fields: GrowingObject,
        part: &Part<'_>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let at = "a part";
        let (kind, signed, delta) = (part.kind(), part.is_signed(), part.text().to_owned());
        let members = strip::members(raw).map_err(|error| DecodeError::protocol(at, error))?;
        let is_known = |key: &RawValue| matches!(key.get(), "\"text\"" | "\"thought\"");
        if delta.is_empty() && members.iter().all(|(key, _)| is_known(key)) {
            events.push(Event::Other);
            return Ok(());
        }
        let open = self.parts.last_mut().filter(|last| last.kind == kind && !last.signed);
        match open {
            Some(last) if !signed => {
                last.fields.append_text("text", &delta);
                for (key, value) in members.into_iter().filter(|(key, _)| !is_known(key)) {
                    last.fields.set(&parse::<String>(key.get(), at)?, value);
                }
            }
            open => {
                if open.is_none() {
                    self.begin_block(events);
                }
                self.parts.push(GrowingPart { kind, signed, fields });
            }
        }
        events.push(match kind {
            _ if delta.is_empty() => Event::Other,
            Kind::Thought => Event::Thinking { delta },
            Kind::Text | Kind::Call | Kind::Other => Event::Text { delta },
        });
        if signed {
            self.end_block(events);
        }
        Ok(())
    }

    /// The name of the call that is the last part.
    fn name_call(&mut self, index: usize) -> ToolCallId {
        for part in self.parts.iter().skip(self.named) {
            self.names.see(&part.fields.to_json());
        }
        self.named = self.parts.len();
        self.names.call(index)
    }

    fn begin_block(&mut self, events: &mut Vec<Event>) {
        self.end_block(events);
        self.blocks += 1;
        self.told = false;
    }

    fn end_block(&mut self, events: &mut Vec<Event>) {
        if let Some(index) = self.blocks.checked_sub(1).filter(|_| !self.told) {
            self.told = true;
            events.push(Event::BlockDone { index });
        }
    }

    /// Leaves what arrived in place when the end came too early.
    pub(crate) fn finish(&mut self) -> Result<Reply, DecodeError> {
        if self.finish.is_none() && !self.blocked {
            return Err(DecodeError::Truncated);
        }
        let whole = std::mem::take(self);
        let message = assembled(&whole.parts)?;
        let stop = stop_reason(whole.finish.as_deref(), whole.blocked, &message);
        let usage = whole.counts.normal();
        Ok(Reply { id: whole.id, model: whole.model, ..Reply::of(message, stop, usage) })
    }

    /// A call at the end of a stream that broke may lack its signature, which can come in a later part.
    pub(crate) fn partial(mut self) -> Partial {
        let usage = self.counts.normal();
        let finished = self.finish.is_some();
        while let Some(last) = self.parts.last() {
            let words = last.fields.text("text");
            let silent = words.is_none_or(|words| words.trim().is_empty());
            let loose = match last.kind {
                Kind::Thought => true,
                Kind::Call => !finished,
                Kind::Text => silent && !self.ends_a_text(),
                Kind::Other => false,
            };
            if !loose {
                break;
            }
            self.parts.pop();
        }
        let message = if self.parts.is_empty() { None } else { assembled(&self.parts).ok() };
        Partial { message, usage, id: self.id }
    }

    /// Whether the last part is the signature of a text before it.
    fn ends_a_text(&self) -> bool {
        match self.parts.as_slice() {
            [.., text, last] => last.signed && text.kind == Kind::Text && !text.signed,
            _ => false,
        }
    }
}

fn assembled(parts: &[GrowingPart]) -> Result<Message, DecodeError> {
    let parts: Vec<String> = parts.iter().map(|part| part.fields.to_json()).collect();
    let json = format!(r#"{{"role":"model","parts":[{}]}}"#, parts.join(","));
    reply::message(WireFormat::Gemini, &json)
}

/// Gemini says `STOP` also when it calls tools; the calls tell.
fn stop_reason(reason: Option<&str>, blocked: bool, message: &Message) -> StopReason {
    let calls = message.tool_calls().next().is_some();
    match reason {
        Some("STOP") | None if calls => StopReason::ToolUse,
        None if blocked => StopReason::Refusal,
        Some("STOP") | None => StopReason::EndTurn,
        Some("MAX_TOKENS") => StopReason::MaxTokens,
        Some(
            "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "LANGUAGE"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION",
        ) => StopReason::Refusal,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

/// Reads a reply that was not streamed, or one that was streamed as a list. The content of the former is kept as it came.
pub(crate) fn whole(body: &RawValue) -> Result<Reply, DecodeError> {
    let at = "the reply";
    if body.get().starts_with('[') {
        let mut reply = Assembly::default();
        for chunk in parse::<Vec<&RawValue>>(body.get(), at)? {
            reply.take_chunk(chunk.get(), &mut Vec::new())?;
        }
        return reply.finish();
    }
    let chunk = Chunk::read(body.get(), at)?;
    let candidate = chunk.candidate();
    if candidate.is_none() && !chunk.is_blocked() {
        return Err(DecodeError::protocol(at, "it holds no candidate"));
    }
    let message = match candidate.filter(|candidate| candidate.content.is_some()) {
        Some(candidate) => candidate_message(candidate)?,
        None => Message::new(Role::Assistant, Vec::new()),
    };
    let mut counts = Counts::default();
    if let Some(usage) = chunk.usage_metadata {
        counts.take(usage);
    }
    let finish = candidate.and_then(Candidate::finish);
    let stop = stop_reason(finish, chunk.is_blocked(), &message);
    let (id, model) = (chunk.response_id, chunk.model_version);
    Ok(Reply { id, model, ..Reply::of(message, stop, counts.normal()) })
}

/// The content object itself, unless it lacks its role or its parts.
fn candidate_message(candidate: &Candidate<'_>) -> Result<Message, DecodeError> {
    let content = candidate.content.map_or("{}", RawValue::get);
    if let Ok(Content { role: Some(role), .. }) = Content::read(content)
        && role == "model"
    {
        return reply::message(WireFormat::Gemini, content);
    }
    let parts: Vec<&str> = candidate.parts()?.into_iter().map(RawValue::get).collect();
    let json = format!(r#"{{"role":"model","parts":[{}]}}"#, parts.join(","));
    reply::message(WireFormat::Gemini, &json)
}
