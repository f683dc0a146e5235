//! Ids of calls, as requests have them.
//!
//! Some servers number their calls anew in each reply, and a conversation that came from elsewhere has the ids of another provider.
//! A strict provider refuses an id of a form that is not its own, and one that stands twice. The log keeps every id as it was said;
//! requests have others where that is needed, the same for a call and its result. Which, is a function of the messages before alone,
//! so that the bytes are the same in every process, and forks share them.

use std::borrow::Cow;
use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, Message, Role, ToolCallId, WireFormat};

use crate::dialect::IdForm;
use crate::read::read_message;
use crate::{json, lenient, strip};

/// The ids of a conversation's calls, as far as it goes.
#[derive(Debug, Clone, Default)]
pub struct CallIds {
    /// All that are right for the format.
    taken: HashSet<String>,
    /// All that requests have where a server takes no others than those of a form.
    formed: HashSet<String>,
    /// The calls of the last message of the model's.
    open: Vec<Open>,
}

#[derive(Debug, Clone)]
struct Open {
    said: String,
    sent: String,
    answered: bool,
}

impl CallIds {
    /// Adds the next message as it is, whatever its ids.
    pub fn note(&mut self, message: &Message) {
        if message.role() != Role::Assistant {
            return;
        }
        self.open.clear();
        for said in message.tool_calls() {
            self.taken.insert(said.0.clone());
            self.formed.insert(said.0.clone());
            let (said, sent) = (said.0.clone(), said.0.clone());
            self.open.push(Open { said, sent, answered: false });
        }
    }

    /// Adds the next message. Returns it with other ids; `None` where requests of the format can have its own.
    pub fn place(
        &mut self,
        message: &Message,
        format: WireFormat,
        form: IdForm,
    ) -> Option<Message> {
        // Calls are told apart by their places; names are optional.
        if format.of_messages() == WireFormat::Gemini {
            return None;
        }
        if message.role() == Role::Assistant {
            self.open.clear();
        }
        let mut sent = Vec::new();
        for block in message.blocks() {
            match block {
                Block::ToolUse { id, .. } => {
                    let new = self.own(&id.0, format, form);
                    self.open.push(Open { said: id.0.clone(), sent: new.clone(), answered: false });
                    sent.push(new);
                }
                Block::ToolResult { call, .. } => sent.push(self.answered(&call.0)),
                Block::Text(_)
                | Block::Thinking { .. }
                | Block::RedactedThinking(_)
                | Block::Image(_)
                | Block::Document(_)
                | Block::Unknown(_) => {}
            }
        }
        let said = message.blocks().iter().filter_map(id_of);
        match said.eq(sent.iter().map(String::as_str)) {
            true => None,
            false => Some(renamed(message, format, &sent).with_seen(message.seen().to_vec())),
        }
    }

    /// The id that a result has. It is told in the log's words or, where a request was gone on from, in the request's.
    fn answered(&mut self, call: &str) -> String {
        let open = self.open.iter_mut().filter(|open| !open.answered);
        let mut open: Vec<&mut Open> = open.collect();
        let at = open.iter().position(|open| open.said == call);
        let at = at.or_else(|| open.iter().position(|open| open.sent == call));
        let Some(at) = at else { return call.to_owned() };
        open[at].answered = true;
        open[at].sent.clone()
    }

    /// The id of a new call: right for the format, and from that one of the form. So it is the same whether the form was known when the
    /// call was made, or learnt later.
    fn own(&mut self, said: &str, format: WireFormat, form: IdForm) -> String {
        let right = free(&self.taken, said, IdForm::of(format));
        self.taken.insert(right.clone());
        let own = match form == IdForm::default() {
            true => right,
            false => free(&self.formed, &right, form),
        };
        self.formed.insert(own.clone());
        own
    }
}

/// The id itself where it can be had, else the first like it that can.
fn free(taken: &HashSet<String>, said: &str, form: IdForm) -> String {
    let ids = std::iter::once(form.fitted(said, None))
        .chain((2..).map(|number| form.fitted(said, Some(number))));
    // There are more numbers than calls.
    ids.into_iter().find(|id| !taken.contains(id)).unwrap_or_default()
}

fn id_of(block: &Block) -> Option<&str> {
    match block {
        Block::ToolUse { id, .. } | Block::ToolResult { call: id, .. } => Some(&id.0),
        _ => None,
    }
}

/// The message with these ids, one for each call and result.
fn renamed(message: &Message, format: WireFormat, ids: &[String]) -> Message {
    let raw = message.raw().filter(|raw| raw.format == format.of_messages());
    let text = raw.and_then(|raw| {
        let mut ids = ids.iter();
        let mut next = |_: &Place<'_>| ids.next().map(|id| Cow::Borrowed(id.as_str()));
        replaced(raw.format, raw.json.as_str(), &mut next)
    });
    let read = raw.zip(text).and_then(|(raw, text)| read_message(raw.format, &text).ok());
    // A text that is read in another way than it was written is not trusted.
    let read = read
        .filter(|read| read.blocks().iter().filter_map(id_of).eq(ids.iter().map(String::as_str)));
    read.unwrap_or_else(|| {
        let mut ids = ids.iter().map(|id| ToolCallId(id.clone()));
        let mut blocks = message.blocks().to_vec();
        for block in &mut blocks {
            if let Block::ToolUse { id, .. } | Block::ToolResult { call: id, .. } = block
                && let Some(new) = ids.next()
            {
                *id = new;
            }
        }
        Message::new(message.role(), blocks)
    })
}

/// An object of a message that has a call's id: the call or its result.
pub(crate) struct Place<'a> {
    object: &'a RawValue,
    field: &'static str,
    /// The id as it is written; `None` where there is none.
    pub(crate) written: Option<&'a RawValue>,
    pub(crate) is_call: bool,
}

impl Place<'_> {
    /// The id; empty where there is none.
    pub(crate) fn id(&self) -> Option<String> {
        self.written.map_or(Some(String::new()), |raw| {
            lenient::text(raw).ok().map(Option::unwrap_or_default)
        })
    }
}

/// The calls and results of a message's text, in order. `None` where it is no message: its reading says so.
pub(crate) fn places(format: WireFormat, message: &str) -> Option<Vec<Place<'_>>> {
    #[derive(Deserialize)]
    struct Holder<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        tool_calls: Option<&'a RawValue>,
        tool_call_id: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type")]
        kind: Option<Cow<'a, str>>,
    }
    /// Names of kinds, each with its field and whether it is a call.
    type Kinds = [(&'static str, &'static str, bool); 2];
    const ANTHROPIC: Kinds = [("tool_use", "id", true), ("tool_result", "tool_use_id", false)];
    const RESPONSES: Kinds =
        [("function_call", "call_id", true), ("function_call_output", "call_id", false)];
    fn place<'a>(object: &'a RawValue, field: &'static str, is_call: bool) -> Option<Place<'a>> {
        let quoted = format!("\"{field}\"");
        let members = strip::members(object).ok()?;
        let written = members.iter().find(|(key, _)| key.get() == quoted).map(|(_, value)| *value);
        Some(Place { object, field, written, is_call })
    }
    fn listed<'a>(list: &'a str, kinds: &Kinds) -> Option<Vec<Place<'a>>> {
        let all: Vec<&RawValue> = match list.starts_with('[') {
            true => serde_json::from_str(list).ok()?,
            // An item alone, or a content that is one text.
            false if list.starts_with('{') => vec![serde_json::from_str(list).ok()?],
            false => Vec::new(),
        };
        let mut found = Vec::new();
        for object in all {
            let kind = serde_json::from_str::<Kind<'_>>(object.get()).ok().and_then(|it| it.kind);
            let known = kinds.iter().find(|(name, ..)| kind.as_deref() == Some(*name));
            if let Some((_, field, is_call)) = known {
                found.push(place(object, field, *is_call)?);
            }
        }
        Some(found)
    }
    match format {
        WireFormat::Anthropic => {
            let holder: Holder<'_> = serde_json::from_str(message).ok()?;
            listed(holder.content?.get(), &ANTHROPIC)
        }
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => {
            let holder: Holder<'_> = serde_json::from_str(message).ok()?;
            if holder.tool_call_id.is_some() {
                let whole: &RawValue = serde_json::from_str(message).ok()?;
                return Some(vec![place(whole, "tool_call_id", false)?]);
            }
            let Some(calls) = holder.tool_calls else { return Some(Vec::new()) };
            let calls: Vec<&RawValue> = serde_json::from_str(calls.get()).ok()?;
            calls.into_iter().map(|call| place(call, "id", true)).collect()
        }
        WireFormat::OpenAiResponses => listed(message, &RESPONSES),
        WireFormat::Gemini => None,
    }
}

/// The text of a message in which some of its [`places`] have another id; `None` where none has.
pub(crate) fn replaced<'n>(
    format: WireFormat,
    message: &str,
    new: &mut dyn FnMut(&Place<'_>) -> Option<Cow<'n, str>>,
) -> Option<String> {
    let start = |part: &str| part.as_ptr() as usize - message.as_ptr() as usize;
    let mut changed = String::with_capacity(message.len());
    let mut copied = 0;
    for place in places(format, message)? {
        let Some(id) = new(&place) else { continue };
        let (from, to, text) = match place.written {
            Some(raw) => {
                let at = start(raw.get());
                (at, at + raw.get().len(), json::string(&id))
            }
            None => {
                let object = place.object.get();
                let at = start(object) + 1;
                let comma = if object[1..].trim_start().starts_with('}') { "" } else { "," };
                (at, at, format!("\"{}\":{}{comma}", place.field, json::string(&id)))
            }
        };
        changed.push_str(message.get(copied..from)?);
        changed.push_str(&text);
        copied = to;
    }
    if copied == 0 {
        return None;
    }
    changed.push_str(message.get(copied..)?);
    Some(changed)
}

#[cfg(test)]
#[path = "call_ids_tests.rs"]
mod tests;
