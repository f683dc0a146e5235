//! Frozen stretches of a history, linked to what came before.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tine_model::WireFormat;

use crate::close::close_calls;
use crate::frame::{Framer, Hash, Table, TableBuilder, seed};
use crate::history::Item;

/// Frames made so far, one table a message, for each format; they cover a prefix of the items.
pub(crate) type Made = [Vec<Arc<Table>>; WireFormat::ALL.len()];

/// A view of a chain: a node, and how many messages are seen through it.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) node: Arc<Node>,
    /// Messages from the very beginning up to the end of the view.
    pub(crate) len: usize,
}

/// Immutable once made, but for what is derived from it lazily.
#[derive(Debug)]
pub(crate) struct Node {
    parent: Option<Link>,
    /// A node further up, so that any message is found in logarithmic time (skew-binary skip pointers).
    jump: Option<Arc<Node>>,
    /// Number of nodes above.
    level: usize,
    /// Number of messages before.
    pub(crate) start: usize,
    pub(crate) items: Vec<Item>,
    tables: [OnceLock<Arc<Table>>; WireFormat::ALL.len()],
    /// Frames that existed when the tail was frozen; taken by the table that joins them.
    made: Mutex<Made>,
}

impl Node {
    pub(crate) fn new(parent: Option<Link>, items: Vec<Item>, made: Made) -> Self {
        let (jump, level, start) = match &parent {
            None => (None, 0, 0),
            Some(link) => (Some(jump_from(&link.node)), link.node.level + 1, link.len),
        };
        Self {
            parent,
            jump,
            level,
            start,
            items,
            tables: Default::default(),
            made: Mutex::new(made),
        }
    }

    pub(crate) fn parent(&self) -> Option<&Link> {
        self.parent.as_ref()
    }

    fn end(&self) -> usize {
        self.start + self.items.len()
    }

    /// The frames of this node as one run of bytes, made at most once per format.
    pub(crate) fn table(&self, framer: &dyn Framer) -> Arc<Table> {
        let index = framer.format().index();
        if self.tables[index].get().is_none() {
            // Oldest first, in a loop: a chain may be too long for recursion.
            let mut missing = vec![self];
            let mut above = self.parent();
            while let Some(link) = above.filter(|link| link.node.tables[index].get().is_none()) {
                missing.push(&link.node);
                above = link.node.parent();
            }
            for node in missing.into_iter().rev() {
                node.tables[index].get_or_init(|| Arc::new(node.make_table(framer)));
            }
        }
        self.tables[index].get_or_init(|| Arc::new(self.make_table(framer))).clone()
    }

    /// The parent's table must exist.
    fn make_table(&self, framer: &dyn Framer) -> Table {
        let index = framer.format().index();
        let made = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut made[index])
        };
        let before = self
            .parent
            .as_ref()
            .map_or_else(|| seed(framer.format()), |link| link.node.hash_at(framer, link.len));
        let mut builder = TableBuilder::new(before);
        made.iter().for_each(|table| builder.extend(table));
        for position in made.len()..self.items.len() {
            let before = match position.checked_sub(1) {
                Some(previous) => Some(&self.items[previous]),
                None => self.parent.as_ref().and_then(Link::last),
            };
            let before = before.map(|item| &*item.message);
            builder.push(&framer.frame(&close_calls(before, &self.items[position].message)));
        }
        builder.finish()
    }

    /// The rolling hash over the first `len` messages, the last of which is in this node.
    pub(crate) fn hash_at(&self, framer: &dyn Framer, len: usize) -> Hash {
        self.table(framer).rows[len - self.start - 1].hash
    }
}

impl Link {
    /// The last message in view.
    pub(crate) fn last(&self) -> Option<&Item> {
        self.node.items.get((self.len - self.node.start).checked_sub(1)?)
    }

    /// The node that holds message number `index`, which must be in view. Logarithmic in the number of nodes.
    pub(crate) fn node_at(&self, index: usize) -> &Arc<Node> {
        let mut node = &self.node;
        while node.start > index {
            node = match (&node.jump, &node.parent) {
                (Some(jump), _) if jump.start > index => jump,
                (_, Some(parent)) => &parent.node,
                (_, None) => break,
            };
        }
        debug_assert!(index < node.end(), "a link never ends beyond its node");
        node
    }

    /// The same chain, seen only up to its first `len` messages; `None` when nothing is left.
    pub(crate) fn shortened(&self, len: usize) -> Option<Self> {
        let last = len.checked_sub(1)?;
        Some(Self { node: Arc::clone(self.node_at(last)), len })
    }
}

fn jump_from(parent: &Arc<Node>) -> Arc<Node> {
    let Some(jump) = &parent.jump else { return Arc::clone(parent) };
    match &jump.jump {
        Some(far) if parent.level - jump.level == jump.level - far.level => Arc::clone(far),
        _ => Arc::clone(parent),
    }
}

impl Drop for Node {
    /// Unlinks the chain in a loop: dropping a long one link by link would overflow the stack.
    fn drop(&mut self) {
        let mut pending: Vec<Arc<Self>> = Vec::new();
        let unlink = |node: &mut Self, pending: &mut Vec<Arc<Self>>| {
            pending.extend(node.parent.take().map(|link| link.node));
            pending.extend(node.jump.take());
        };
        unlink(self, &mut pending);
        while let Some(next) = pending.pop() {
            if let Some(mut node) = Arc::into_inner(next) {
                unlink(&mut node, &mut pending);
            }
        }
    }
}
