//! One agent's view of a conversation.

use std::sync::Arc;

use tine_model::{EntryId, Message};

use crate::close::close_calls;
use crate::frame::{Framer, Layout, Run, Table, seed};
use crate::node::{Link, Made, Node};

/// Most messages in a private tail. Reaching it freezes the tail, which moves pointers and copies nothing; it bounds
/// the number of small slices in a request's body.
pub const TAIL_ITEMS_MAX: usize = 64;

/// One message and the log entry that holds it.
#[derive(Debug, Clone)]
pub struct Item {
    /// Where it stands in the log.
    pub entry: EntryId,
    /// The message; shared by every history that contains it.
    pub message: Arc<Message>,
}

/// The effective messages of one agent. Cloning is forking: use [`History::fork`], which also shares the tail.
#[derive(Debug, Default)]
pub struct History {
    base: Option<Link>,
    tail: Vec<Item>,
    /// Frames of the first messages of the tail.
    made: Made,
}

impl History {
    /// An empty history.
    pub fn new() -> Self {
        Self::default()
    }

    /// A history of messages that were stored: one node, whatever their number.
    pub fn from_items(items: Vec<Item>) -> Self {
        let mut history = Self { base: None, tail: items, made: Made::default() };
        history.freeze();
        history
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.base.as_ref().map_or(0, |link| link.len) + self.tail.len()
    }

    /// Whether there is no message.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a message.
    pub fn push(&mut self, entry: EntryId, message: Arc<Message>) {
        if self.tail.len() >= TAIL_ITEMS_MAX {
            self.freeze();
        }
        self.tail.push(Item { entry, message });
    }

    /// A second history with the same messages. Constant time; nothing is copied, and neither side sees what the other
    /// appends, rewinds or drops later.
    pub fn fork(&mut self) -> Self {
        self.freeze();
        Self { base: self.base.clone(), tail: Vec::new(), made: Made::default() }
    }

    /// Keeps the first `len` messages only. More than there are is no change.
    pub fn rewind(&mut self, len: usize) {
        let shared = self.len() - self.tail.len();
        if len >= shared {
            self.tail.truncate(len - shared);
        } else {
            self.tail.clear();
            self.base = self.base.as_ref().and_then(|link| link.shortened(len));
        }
        for frames in &mut self.made {
            frames.truncate(self.tail.len());
        }
    }

    /// Message number `index`. Logarithmic in the number of nodes.
    pub fn get(&self, index: usize) -> Option<&Item> {
        let shared = self.len() - self.tail.len();
        if index >= shared {
            return self.tail.get(index - shared);
        }
        let node = self.base.as_ref()?.node_at(index);
        node.items.get(index - node.start)
    }

    /// The last message.
    pub fn last(&self) -> Option<&Item> {
        self.tail.last().or_else(|| self.base.as_ref().and_then(Link::last))
    }

    /// The messages, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Item> {
        let shared = self.chain().into_iter().rev();
        shared.flat_map(|link| &link.node.items[..link.len - link.node.start]).chain(&self.tail)
    }

    /// Whether the last message makes calls: open, for nothing has answered them yet.
    pub fn has_open_calls(&self) -> bool {
        self.last().is_some_and(|item| item.message.tool_calls().next().is_some())
    }

    /// The bytes of all messages in one format. Frames that exist are used again; missing ones are made now.
    pub fn layout(&mut self, framer: &dyn Framer) -> Layout {
        let links = self.chain();
        let mut runs = Vec::with_capacity(links.len() + self.tail.len());
        for link in links.into_iter().rev() {
            let table = link.node.table(framer);
            runs.push(Run { first: link.node.start, items: link.len - link.node.start, table });
        }
        let mut layout = Layout { runs, seed: seed(framer.format()) };
        self.frame_tail(framer, &mut layout);
        layout
    }

    /// The links of the chain, newest first.
    fn chain(&self) -> Vec<&Link> {
        std::iter::successors(self.base.as_ref(), |link| link.node.parent()).collect()
    }

    fn freeze(&mut self) {
        if !self.tail.is_empty() {
            let len = self.len();
            let items = std::mem::take(&mut self.tail);
            let made = std::mem::take(&mut self.made);
            let node = Arc::new(Node::new(self.base.take(), items, made));
            self.base = Some(Link { node, len });
        }
    }

    fn frame_tail(&mut self, framer: &dyn Framer, layout: &mut Layout) {
        let made = &mut self.made[framer.format().index()];
        for position in 0..self.tail.len() {
            let first = layout.items();
            if position == made.len() {
                let before = match position.checked_sub(1) {
                    Some(previous) => self.tail.get(previous),
                    None => self.base.as_ref().and_then(Link::last),
                };
                let before = before.map(|item| &*item.message);
                let frame = framer.frame(&close_calls(before, &self.tail[position].message));
                made.push(Arc::new(Table::single(&frame, layout.hash_at(first))));
            }
            layout.runs.push(Run { first, items: 1, table: Arc::clone(&made[position]) });
        }
    }
}
