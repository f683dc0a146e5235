//! From log entries to effective messages.

use tine_history::{History, Item};
use tine_model::{Entry, EntryBody, EntryId};

/// An entry, and whether its message still counts.
#[derive(Debug, Clone)]
pub struct FoldedEntry {
    /// The entry.
    pub entry: Entry,
    /// Whether it is part of the effective history. Events and notices never are.
    pub effective: bool,
}

/// All entries of a lineage, ancestors first, folded over clear and rewind.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    entries: Vec<FoldedEntry>,
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
                | EntryBody::Notice(_) => {}
            }
            let effective = matches!(entry.body, EntryBody::Message(_));
            fold.entries.push(FoldedEntry { entry, effective });
        }
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

    /// Every entry, whether its message counts or not.
    pub fn entries(&self) -> &[FoldedEntry] {
        &self.entries
    }

    /// The effective messages.
    pub fn items(&self) -> impl Iterator<Item = Item> {
        self.entries.iter().filter_map(|folded| match &folded.entry.body {
            EntryBody::Message(message) if folded.effective => {
                Some(Item { entry: folded.entry.id, message: message.clone() })
            }
            _ => None,
        })
    }

    /// The effective messages as a history of one node.
    pub fn history(&self) -> History {
        History::from_items(self.items().collect())
    }
}
