//! The items so far, as compactions and rollbacks leave them.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, Message, Role, ToolCallId, WireFormat};

use super::item::{Item, is_prompt};
use crate::import::ImportedConversation;
use crate::import::error::{IMPORT_MESSAGES_MAX, ImportError};
use crate::import::lines::{object, text};
use crate::import::messages::{is_results, joined_items};
use crate::read::read_message;

const FORMAT: WireFormat = WireFormat::OpenAiResponses;

/// Items that were read.
#[derive(Debug, Default)]
pub(super) struct History<'a> {
    items: Vec<Read<'a>>,
}

#[derive(Debug)]
struct Read<'a> {
    item: Item<'a>,
    message: Message,
}

impl<'a> History<'a> {
    /// Adds an item, unless the model never saw it.
    pub(super) fn push(
        &mut self,
        item: Item<'a>,
        into: &mut ImportedConversation,
    ) -> Result<(), ImportError> {
        let Some(json) = &item.json else {
            into.left_out.add(&item.kind);
            return Ok(());
        };
        let message = read_message(FORMAT, json).map_err(|source| ImportError::Record {
            kind: item.kind.clone(),
            line: item.line,
            source,
        })?;
        if item.is_rewritten() {
            into.rewritten.add(&item.kind);
        }
        self.items.push(Read { item, message });
        // Items of one answer are joined, and no answer has as many as this allows on the average.
        if self.items.len() > ITEMS_MAX { Err(ImportError::TooMany) } else { Ok(()) }
    }

    /// Puts what a compaction left in the place of the items so far. Old ones wrote a summary only, and what the user had
    /// said stayed beside it.
    pub(super) fn compact(
        &mut self,
        line: usize,
        payload: &'a RawValue,
        into: &mut ImportedConversation,
    ) -> Result<(), ImportError> {
        #[derive(Deserialize)]
        struct Compacted<'a> {
            #[serde(borrow)]
            message: Option<&'a RawValue>,
            replacement_history: Option<&'a RawValue>,
        }
        let Some(compacted) = object::<Compacted<'a>>(payload.get()) else {
            into.left_out.add("compacted");
            return Ok(());
        };
        let replacement: Option<Vec<&'a RawValue>> =
            compacted.replacement_history.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let before = self.items.len();
        match replacement {
            Some(items) => {
                self.items.clear();
                for raw in items {
                    self.push(Item::of(line, raw.get()), into)?;
                }
                into.left_out.add_many("before a compaction", before as u64);
            }
            None => {
                self.items
                    .retain(|read| read.message.role() == Role::User && !is_results(&read.message));
                into.left_out.add_many("before a compaction", (before - self.items.len()) as u64);
                if let Some(summary) = text(compacted.message).filter(|text| !text.is_empty()) {
                    let message = Message::user(summary);
                    let item = Item { line, kind: "compacted".to_owned(), json: None };
                    self.items.push(Read { item, message });
                }
            }
        }
        Ok(())
    }

    /// Takes back the last turns of the user, and returns how many items that were.
    pub(super) fn roll_back(&mut self, turns: usize) -> u64 {
        if turns == 0 {
            return 0;
        }
        let begins = |read: &Read<'_>| {
            let message = &read.message;
            message.role() == Role::User && !is_results(message) && is_prompt(&message.text())
        };
        let mut begun = self.items.iter().enumerate().rev().filter(|(_, read)| begins(read));
        let start = match begun.nth(turns - 1) {
            Some((at, _)) => at,
            // More than there are: all of them.
            None => self.items.iter().position(begins).unwrap_or(self.items.len()),
        };
        let taken = self.items.len() - start;
        self.items.truncate(start);
        taken as u64
    }

    /// The items as messages: those of one answer together, and results behind their calls.
    pub(super) fn into_messages(self) -> Result<Vec<Message>, ImportError> {
        let mut turns = Turns::default();
        for read in self.items {
            turns.add(read);
        }
        turns.list.into_iter().map(Turn::joined).collect()
    }
}

/// Most items that are kept at a time, in proportion to the messages that they make.
const ITEMS_MAX: usize = 10 * IMPORT_MESSAGES_MAX;

/// Messages that are being put together.
#[derive(Default)]
struct Turns<'a> {
    list: Vec<Turn<'a>>,
    /// The last answer of the model, and the calls that it makes.
    last_answer: Option<usize>,
    calls: HashSet<ToolCallId>,
}

/// What is one message.
struct Turn<'a> {
    /// Never empty.
    reads: Vec<Read<'a>>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Answer,
    /// Nothing but results.
    Results,
    Words,
}

impl<'a> Turns<'a> {
    fn add(&mut self, read: Read<'a>) {
        let kind = match read.message.role() {
            Role::Assistant => Kind::Answer,
            Role::User if is_results(&read.message) => Kind::Results,
            Role::User | Role::System => Kind::Words,
        };
        let place = match kind {
            Kind::Results => self.place_of_results(&read.message),
            Kind::Answer | Kind::Words => self.list.len(),
        };
        let before = place.checked_sub(1).and_then(|at| self.list.get(at));
        let goes_on = before.is_some_and(|turn| turn.kind == kind) && kind != Kind::Words;
        if kind == Kind::Answer {
            if !goes_on {
                self.last_answer = Some(place);
                self.calls.clear();
            }
            self.calls.extend(read.message.tool_calls().cloned());
        }
        match place.checked_sub(1).and_then(|at| self.list.get_mut(at)).filter(|_| goes_on) {
            Some(turn) => turn.reads.push(read),
            None => self.list.insert(place, Turn { reads: vec![read], kind }),
        }
    }

    /// Where results belong: behind the last answer if it made the call, whatever the user has said since, else at the end.
    fn place_of_results(&self, results: &Message) -> usize {
        let end = self.list.len();
        let Some(Block::ToolResult { call, .. }) = results.blocks().first() else { return end };
        match self.last_answer.filter(|_| self.calls.contains(call)) {
            Some(answer) => {
                let behind = self.list.get(answer + 1);
                answer + 1 + usize::from(behind.is_some_and(|turn| turn.kind == Kind::Results))
            }
            None => end,
        }
    }
}

impl Turn<'_> {
    fn joined(mut self) -> Result<Message, ImportError> {
        if self.reads.len() == 1
            && let Some(read) = self.reads.pop()
        {
            return Ok(read.message);
        }
        let (kind, line) = match self.reads.first() {
            Some(read) => (read.item.kind.clone(), read.item.line),
            None => return Err(ImportError::Empty),
        };
        let texts = self.reads.iter().map(|read| Some(read.message.raw()?.json.as_str()));
        let json = joined_items(texts).unwrap_or_default();
        read_message(FORMAT, &json).map_err(|source| ImportError::Record { kind, line, source })
    }
}
