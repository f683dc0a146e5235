//! From log entries to effective messages.
//!
//! The effective history of an agent is its ancestors' entries up to each fork point, then its own. Clear, rewind and compact
//! are entries that change which of them count.

use tine_history::{History, Item};
use tine_model::{AgentId, DialectChange, Entry, EntryBody, EntryId};
use tine_wire::{Dialect, LeftOut};

/// An entry, and whether its message still counts.
#[derive(Debug, Clone)]
pub struct FoldedEntry {
    /// The entry.
    pub entry: Entry,
    /// Whether it is part of the effective history: a message, or the preface of the compaction that stands. Other events and
    /// notices never are.
    pub effective: bool,
}

/// All entries of a lineage, ancestors first, folded over clear, rewind and compact.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    entries: Vec<FoldedEntry>,
    /// The compaction that stands, by its position.
    compact: Option<usize>,
}

impl Fold {
    /// Folds entries, which must be in log order: ancestors' first, each up to its fork point.
    pub fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut fold = Self::default();
        for entry in entries {
            match &entry.body {
                EntryBody::Clear => fold.forget(None),
                EntryBody::Rewind { to } => fold.forget(*to),
                EntryBody::Message(_)
                | EntryBody::Fork { .. }
                | EntryBody::Mark { .. }
                | EntryBody::Notice(_)
                | EntryBody::Dialect(_)
                | EntryBody::Compact { .. } => {}
            }
            let effective = matches!(entry.body, EntryBody::Message(_) | EntryBody::Compact { .. });
            fold.entries.push(FoldedEntry { entry, effective });
        }
        fold.compact = fold.entries.iter().rposition(FoldedEntry::is_standing_compact);
        fold.shorten();
        fold
    }

    /// Messages after `to` no longer count. Ids grow over the whole store, so this holds across agents too.
    fn forget(&mut self, to: Option<EntryId>) {
        for folded in self.entries.iter_mut().rev() {
            if to.is_some_and(|to| folded.entry.id <= to) {
                break;
            }
            folded.effective = false;
        }
    }

    /// Takes out what the standing compactions leave out. Last of all: one that a rewind has undone leaves nothing out, and an
    /// earlier one still does when a later one stands.
    fn shorten(&mut self) {
        let mut first_kept = EntryId(i64::MIN);
        for (position, folded) in self.entries.iter_mut().enumerate().rev() {
            match &folded.entry.body {
                EntryBody::Compact { keep, .. } if folded.effective => {
                    first_kept = first_kept.max(keep.unwrap_or(folded.entry.id));
                    folded.effective = self.compact == Some(position);
                }
                _ => folded.effective &= folded.entry.id >= first_kept,
            }
        }
    }

    /// Every entry, whether its message counts or not.
    pub fn entries(&self) -> &[FoldedEntry] {
        &self.entries
    }

    /// The compaction whose preface begins the history.
    pub(crate) fn compact(&self) -> Option<&FoldedEntry> {
        self.entries.get(self.compact?)
    }

    /// The parts that requests leave out, as the logs of these agents say. A rewind does not undo it: the server would refuse them again.
    pub(crate) fn dialect(&self, is_of_head: impl Fn(AgentId) -> bool) -> Dialect {
        let changes = self.changes().filter(|(entry, _)| is_of_head(entry.agent));
        let left_out = changes.flat_map(|(_, change)| &change.left_out);
        Dialect::without(left_out.filter_map(|text| LeftOut::parse(text)))
    }

    /// The last change for which bytes that had been sent were rendered anew.
    pub(crate) fn rewritten(&self) -> Option<EntryId> {
        let rewriting = self.changes().filter(|(_, change)| change.rewrites);
        rewriting.last().map(|(entry, _)| entry.id)
    }

    fn changes(&self) -> impl Iterator<Item = (&Entry, &DialectChange)> {
        self.entries.iter().filter_map(|folded| match &folded.entry.body {
            EntryBody::Dialect(change) => Some((&folded.entry, &**change)),
            _ => None,
        })
    }

    /// The entries whose messages count, in the order in which they do: a preface first.
    pub(crate) fn effective(&self) -> impl Iterator<Item = (&Entry, Item)> {
        let messages = self.entries.iter().filter(|folded| folded.effective);
        let messages = messages.filter(|folded| matches!(folded.entry.body, EntryBody::Message(_)));
        self.compact().into_iter().chain(messages).filter_map(|folded| {
            let message = match &folded.entry.body {
                EntryBody::Message(message) | EntryBody::Compact { preface: message, .. } => {
                    message
                }
                EntryBody::Fork { .. }
                | EntryBody::Clear
                | EntryBody::Mark { .. }
                | EntryBody::Rewind { .. }
                | EntryBody::Notice(_)
                | EntryBody::Dialect(_) => return None,
            };
            Some((&folded.entry, Item { entry: folded.entry.id, message: message.clone() }))
        })
    }

    /// The effective messages.
    pub fn items(&self) -> impl Iterator<Item = Item> {
        self.effective().map(|(_, item)| item)
    }

    /// The effective messages as a history of one node.
    pub fn history(&self) -> History {
        History::from_items(self.items().collect())
    }
}

impl FoldedEntry {
    fn is_standing_compact(&self) -> bool {
        self.effective && matches!(self.entry.body, EntryBody::Compact { .. })
    }
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
