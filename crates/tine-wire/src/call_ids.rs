//! Ids of calls, as requests have them.
//!
//! Some servers number their calls anew in each reply, and a conversation that came from elsewhere has the ids of another provider.
//! A strict provider refuses an id of a form that is not its own, and one that stands twice. The log keeps every id as it was said;
//! requests have others where that is needed, the same for a call and its result. Which, is a function of the messages before alone,
//! so that the bytes are the same in every process, and forks share them.

use std::borrow::Cow;
use std::collections::HashSet;

use tine_model::{Block, Message, Role, ToolCallId, WireFormat};

use crate::call_places::{Place, replaced};
use crate::dialect::IdForm;
use crate::read::read_message;

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
        if said.eq(sent.iter().map(String::as_str)) {
            None
        } else {
            Some(renamed(message, format, &sent).with_seen(message.seen().to_vec()))
        }
    }

    /// The last message of the model's with the ids that its calls have in the log; `None` where they are its own.
    pub fn as_said(&self, message: &Message) -> Option<Message> {
        if self.open.iter().all(|open| open.said == open.sent) {
            return None;
        }
        let mut open = self.open.iter();
        let mut blocks = message.blocks().to_vec();
        for block in &mut blocks {
            if let Block::ToolUse { id, .. } = block {
                *id = ToolCallId(open.next()?.said.clone());
            }
        }
        Some(Message::new(message.role(), blocks))
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
        let own = if form == IdForm::default() { right } else { free(&self.formed, &right, form) };
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

#[cfg(test)]
#[path = "call_ids_tests.rs"]
mod tests;
