//! OpenAI Responses → events and a reply.
//!
//! The kept text of a streamed message is the list of its items, each exactly as it stood in the event that ended it. The
//! pieces before that event are only shown; of an item that was never ended, the text of a message alone is kept.
//!
//! The reply is complete with its terminal event. What servers leave out of the pieces is shown from the whole.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tine_model::{Block, Role, ToolCallId, ToolInput, Usage, WireFormat};

use super::encode::said;
use super::read;
use super::terminal::Terminal;
use crate::reply::{self, DecodeError, Partial, Reply, missing, parse};
use crate::sse::Record;
use crate::{Event, failure, json, lenient, names};

/// The input of a custom call is shown as the object that its block has: these stand around its text.
const CUSTOM_INPUT: (&str, &str) = (r#"{"input":""#, r#""}"#);

/// The reply of a stream while it grows.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    id: Option<String>,
    model: Option<String>,
    started: bool,
    items: BTreeMap<usize, GrowingItem>,
    terminal: Option<Terminal>,
    done: bool,
}

#[derive(Debug, Default)]
struct GrowingItem {
    /// The text of a message so far, by the parts of its content.
    texts: BTreeMap<usize, String>,
    /// Whether a call was announced.
    called: bool,
    /// Whether any of its content was shown.
    shown: bool,
    /// True once the input of a custom call was begun to be shown; its end closes it.
    is_text_open: bool,
    ended: Option<EndedItem>,
}

#[derive(Debug)]
struct EndedItem {
    json: String,
    blocks: Vec<Block>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default, deserialize_with = "lenient::place")]
    output_index: Option<usize>,
    #[serde(default, deserialize_with = "lenient::place")]
    content_index: Option<usize>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    item: Option<&'a RawValue>,
    response: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    fn index(&self, at: &str) -> Result<usize, DecodeError> {
        self.output_index.ok_or_else(|| missing(at, "output_index"))
    }

    fn delta(&self, at: &str) -> Result<String, DecodeError> {
        parse(self.delta.ok_or_else(|| missing(at, "delta"))?.get(), at)
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
        // Some servers end the stream as chat does.
        if record.data.trim_start().starts_with("[DONE]") {
            events.push(Event::Other);
            return Ok(());
        }
        let name = record.name.as_deref().unwrap_or("an event");
        let event: Envelope<'_> = parse(&record.data, name)?;
        let kind = event.kind.as_deref().or(record.name.as_deref()).unwrap_or_default();
        let before = events.len();
        if is_output(kind) {
            self.start(events);
        }
        match kind {
            // Accepted, and no more: nothing is computed yet, and nothing is in a cache.
            "response.created" | "response.queued" | "response.in_progress" => {
                self.accepted(&event, kind)?;
            }
            "response.output_item.added" => self.add(&event, kind, events)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                let delta = event.delta(kind)?;
                let item = self.item(&event, kind)?;
                item.shown = true;
                let part = event.content_index.unwrap_or_default();
                item.texts.entry(part).or_default().push_str(&delta);
                events.push(Event::Text { delta });
            }
            "response.reasoning_summary_part.added" => {
                let shown = self.item(&event, kind)?.shown;
                // Between the parts of a summary, as in the whole.
                events.extend(shown.then(|| Event::Thinking { delta: "\n\n".to_owned() }));
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.item(&event, kind)?.shown = true;
                events.push(Event::Thinking { delta: event.delta(kind)? });
            }
            "response.function_call_arguments.delta" => {
                let item = self.item(&event, kind)?;
                if item.called {
                    item.shown = true;
                    events.push(Event::ToolInput { delta: event.delta(kind)? });
                }
            }
            "response.custom_tool_call_input.delta" => {
                let item = self.item(&event, kind)?;
                if item.called {
                    let begins = !std::mem::replace(&mut item.shown, true);
                    item.is_text_open = true;
                    let begin = if begins { CUSTOM_INPUT.0 } else { "" };
                    let delta = json::string(&event.delta(kind)?);
                    // Without its quotes: the text goes on.
                    let delta = format!("{begin}{}", &delta[1..delta.len() - 1]);
                    events.push(Event::ToolInput { delta });
                }
            }
            "response.output_item.done" => self.end_item(&event, kind, events)?,
            "response.completed" | "response.incomplete" | "response.failed" => {
                let response = event.response.ok_or_else(|| missing(kind, "response"))?;
                self.end(Terminal::read(response, kind)?)?;
            }
            "error" => return Err(provider(&record.data, kind)?),
            _ if event.error.is_some() => return Err(provider(&record.data, "an error")?),
            "keepalive" | "ping" => events.push(Event::Ping),
            _ => {}
        }
        if events.len() == before {
            events.push(Event::Other);
        }
        Ok(())
    }

    fn item(&mut self, event: &Envelope<'_>, at: &str) -> Result<&mut GrowingItem, DecodeError> {
        Ok(self.items.entry(event.index(at)?).or_default())
    }

    fn accepted(&mut self, event: &Envelope<'_>, at: &str) -> Result<(), DecodeError> {
        #[derive(Deserialize)]
        struct Start {
            #[serde(default, deserialize_with = "lenient::text")]
            id: Option<String>,
            #[serde(default, deserialize_with = "lenient::text")]
            model: Option<String>,
        }
        let response = event.response.ok_or_else(|| missing(at, "response"))?;
        let Start { id, model } = parse(response.get(), at)?;
        (self.id, self.model) = (id.or(self.id.take()), model.or(self.model.take()));
        Ok(())
    }

    /// The reply begins with its first output.
    fn start(&mut self, events: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.started, true) {
            let (id, model) = (self.id.clone(), self.model.clone());
            // What the prompt cost is told at the end.
            events.push(Event::Started { id, model, usage: Usage::default() });
        }
    }

    fn add(
        &mut self,
        event: &Envelope<'_>,
        at: &str,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        #[derive(Deserialize)]
        struct Added {
            #[serde(rename = "type")]
            kind: Option<String>,
            call_id: Option<String>,
            name: Option<String>,
        }
        let raw = event.item.ok_or_else(|| missing(at, "item"))?;
        let Added { kind, call_id, name } = parse(raw.get(), at)?;
        let item = self.item(event, at)?;
        if matches!(kind.as_deref(), Some("function_call" | read::CUSTOM_CALL))
            && let (Some(id), Some(name), false) = (call_id, name, item.called)
        {
            item.called = true;
            let name = names::from_wire(&name).into_owned();
            events.push(Event::ToolCall { id: ToolCallId(id), name });
        }
        Ok(())
    }

    fn end_item(
        &mut self,
        event: &Envelope<'_>,
        at: &str,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let raw = event.item.ok_or_else(|| missing(at, "item"))?;
        let index = event.index(at)?;
        let before: usize = self
            .items
            .range(..index)
            .filter_map(|(_, item)| item.ended.as_ref())
            .map(|ended| ended.blocks.len())
            .sum();
        let read = read::item(raw, index).map_err(|error| DecodeError::unreadable(&error))?;
        let item = self.items.entry(index).or_default();
        if item.ended.is_some() {
            return Err(DecodeError::protocol(at, format!("item {index} ends twice")));
        }
        for block in &read.blocks {
            item.show_rest(block, events);
        }
        if std::mem::take(&mut item.is_text_open) {
            events.push(Event::ToolInput { delta: CUSTOM_INPUT.1.to_owned() });
        }
        let ended = EndedItem { json: raw.get().to_owned(), blocks: read.blocks };
        events.extend((0..ended.blocks.len()).map(|n| Event::BlockDone { index: before + n }));
        item.ended = Some(ended);
        Ok(())
    }

    fn end(&mut self, terminal: Terminal) -> Result<(), DecodeError> {
        let failure = terminal.failure.clone();
        self.id = self.id.take().or_else(|| terminal.id.clone());
        self.model = self.model.take().or_else(|| terminal.model.clone());
        self.terminal = Some(terminal);
        match failure {
            Some(failure) => Err(failure.into()),
            None => {
                self.done = true;
                Ok(())
            }
        }
    }

    /// Leaves what arrived in place when the end came too early.
    pub(crate) fn finish(&mut self) -> Result<Reply, DecodeError> {
        if !self.done {
            return Err(DecodeError::Truncated);
        }
        let whole = std::mem::take(self);
        let ended = whole.items.into_values().filter_map(|item| item.ended);
        let items: Vec<String> = ended.map(|ended| ended.json).collect();
        let terminal = whole.terminal.unwrap_or_default();
        replied(Terminal { id: whole.id, model: whole.model, ..terminal }, items)
    }

    pub(crate) fn partial(self) -> Partial {
        let Self { id, items, terminal, .. } = self;
        let Terminal { usage, output, .. } = terminal.unwrap_or_default();
        let has_ended = items.values().any(|item| item.ended.is_some());
        let mut usable: Vec<EndedItem> =
            items.into_values().filter_map(GrowingItem::usable).collect();
        if !has_ended && !output.is_empty() {
            usable = output.into_iter().filter_map(EndedItem::read).collect();
            usable.retain(EndedItem::is_usable);
        }
        while usable.last().is_some_and(EndedItem::is_reasoning) {
            usable.pop();
        }
        let items: Vec<String> = usable.into_iter().map(|ended| ended.json).collect();
        let message = reply::message(WireFormat::OpenAiResponses, &list(&items)).ok();
        let told = |message: &tine_model::Message| {
            message.role() == Role::Assistant && message.raw().is_some()
        };
        Partial { message: message.filter(told), usage, id }
    }
}

impl GrowingItem {
    /// Shows what did not come in pieces.
    fn show_rest(&mut self, block: &Block, events: &mut Vec<Event>) {
        if let (Block::ToolUse { id, name, .. }, false) = (block, self.called) {
            self.called = true;
            events.push(Event::ToolCall { id: id.clone(), name: name.clone() });
        }
        let told = match block {
            _ if self.shown => return,
            Block::Text(text) if !text.is_empty() => Event::Text { delta: text.clone() },
            Block::Thinking { text, .. } if !text.is_empty() => {
                Event::Thinking { delta: text.clone() }
            }
            Block::ToolUse { input: ToolInput::Valid(json), .. } => {
                Event::ToolInput { delta: json.as_str().to_owned() }
            }
            Block::ToolUse { input: ToolInput::Invalid(text), .. } => {
                Event::ToolInput { delta: text.clone() }
            }
            Block::Text(_)
            | Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::ToolResult { .. }
            | Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_) => return,
        };
        events.push(told);
    }

    /// What of a broken stream's item can be replayed.
    fn usable(self) -> Option<EndedItem> {
        if let Some(ended) = self.ended {
            return Some(ended).filter(EndedItem::is_usable);
        }
        let texts = self.texts.values().map(String::as_str);
        let texts: Vec<&str> = texts.filter(|text| !text.trim().is_empty()).collect();
        if texts.is_empty() { None } else { EndedItem::read(said(&texts)) }
    }
}

impl EndedItem {
    fn read(json: String) -> Option<Self> {
        let blocks = read::item(serde_json::from_str(&json).ok()?, 0).ok()?.blocks;
        Some(Self { json, blocks })
    }

    fn is_reasoning(&self) -> bool {
        matches!(self.blocks[..], [Block::Thinking { .. } | Block::RedactedThinking(_)])
    }

    /// A call whose arguments are no object was cut.
    fn is_usable(&self) -> bool {
        !matches!(self.blocks[..], [Block::ToolUse { input: ToolInput::Invalid(_), .. }])
    }
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// The reply of these items, or of the terminal event's own where no item came by itself.
fn replied(terminal: Terminal, items: Vec<String>) -> Result<Reply, DecodeError> {
    let items = if items.is_empty() { &terminal.output } else { &items };
    let message = reply::message(WireFormat::OpenAiResponses, &list(items))?;
    if message.role() != Role::Assistant {
        return Err(DecodeError::protocol("the reply", "it is not the model that speaks"));
    }
    let refused = items.iter().any(|item| read::is_refusal(item));
    let stop = terminal.stop(&message, refused);
    let Terminal { id, model, usage, diagnosis, dropped, .. } = terminal;
    Ok(Reply { id, model, message, stop, usage, diagnosis, dropped })
}

fn provider(body: &str, at: &str) -> Result<DecodeError, DecodeError> {
    Ok(failure::from_value(None, &parse::<Value>(body, at)?).into())
}

/// Whether an event is part of the reply, and not only of its handling.
fn is_output(kind: &str) -> bool {
    let parts =
        ["output", "content_part", "reasoning", "refusal", "function_call", "custom_tool_call"];
    let part = kind.strip_prefix("response.").unwrap_or_default();
    parts.iter().any(|known| part.starts_with(known))
}

/// Reads a reply that was not streamed. Its items are kept as they came.
pub(crate) fn whole(body: &RawValue) -> Result<Reply, DecodeError> {
    let at = "the reply";
    let terminal = Terminal::read(body, at)?;
    match terminal.failure.clone() {
        Some(failure) => Err(failure.into()),
        None if !terminal.has_output => Err(missing(at, "output")),
        None => replied(terminal, Vec::new()),
    }
}
