//! What of a fork its ancestor does not know.

use std::collections::HashSet;

use tine_fork::merge_note::MergeNote;
use tine_model::{AgentId, AgentRecord, AgentState, Entry, EntryBody, EntryId, Role};
use tine_store::StoreError;

use crate::codec;
use crate::error::RuntimeError;
use crate::fold::Fold;
use crate::runtime::Runtime;

/// The part of a fork's conversation that an ancestor does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForkPart {
    /// The fork.
    pub source: AgentId,
    /// The ancestor.
    pub into: AgentId,
    /// The last entry that both have; `None` where the fork inherited nothing.
    pub fork_point: Option<EntryId>,
    /// Its first message; not the first since the fork where something was brought back before.
    pub first: EntryId,
    /// Its last message.
    pub last: EntryId,
    /// How many messages it has.
    pub messages: usize,
    /// Up to where it was brought back before.
    pub already: Option<EntryId>,
}

/// The same with the messages themselves.
pub(super) struct SaidSince {
    pub(super) part: ForkPart,
    /// Their entries; also of those that a compaction has left out since.
    pub(super) entries: HashSet<EntryId>,
}

impl Runtime {
    /// What a merge-back of `source` into an ancestor (its parent for `None`) would stand for, up to an entry of the fork. An error where
    /// that is nothing, or where `into` is no living ancestor.
    pub async fn fork_part(
        &self,
        source: AgentId,
        into: Option<AgentId>,
        upto: Option<EntryId>,
    ) -> Result<ForkPart, RuntimeError> {
        Ok(self.said_since(source, into, upto).await?.part)
    }

    pub(super) async fn said_since(
        &self,
        source: AgentId,
        into: Option<AgentId>,
        upto: Option<EntryId>,
    ) -> Result<SaidSince, RuntimeError> {
        let line = self.store().ancestry(source).await?;
        let (ancestor, below) = below(&line, source, into)?;
        let into = ancestor.id;
        if ancestor.state == AgentState::Dead {
            return Err(StoreError::Dead { agent: into }.into());
        }
        let is_below = |agent: AgentId| below.iter().any(|record| record.id == agent);
        let entries = self.entries(source, upto).await?;
        let shared = entries.iter().rfind(|entry| !is_below(entry.agent)).map(|entry| entry.id);
        let fold = all_said(entries);
        let said: Vec<_> = fold.effective().filter(|(entry, _)| is_below(entry.agent)).collect();
        let spans = self.told(into, &line[line.len() - below.len() - 1..]).await?;
        let already =
            contiguous(&said.iter().map(|(entry, _)| entry.id).collect::<Vec<_>>(), spans);
        let new: Vec<_> = said
            .into_iter()
            .map(|(_, item)| item)
            .filter(|item| already.is_none_or(|told| item.entry > told))
            .collect();
        let speaks = new.iter().any(|item| {
            let is_reply = item.message.role() == Role::Assistant;
            is_reply || MergeNote::in_message(&item.message).next().is_some()
        });
        let (Some(first), Some(last), true) = (new.first(), new.last(), speaks) else {
            return Err(RuntimeError::NothingToBringBack { source_agent: source, already });
        };
        let part = ForkPart {
            source,
            into,
            fork_point: shared,
            first: first.entry,
            last: last.entry,
            messages: new.len(),
            already,
        };
        Ok(SaidSince { part, entries: new.iter().map(|item| item.entry).collect() })
    }

    /// What an ancestor has been told of a line that begins with it, or will be by its unread mail; by whomever.
    async fn told(&self, into: AgentId, line: &[AgentRecord]) -> Result<Vec<Span>, RuntimeError> {
        let fold = all_said(self.entries(into, None).await?);
        let mut notes: Vec<MergeNote> = Vec::new();
        for item in fold.items() {
            notes.extend(MergeNote::in_message(&item.message));
        }
        let mail = self.store().unread_mail(into).await?;
        let from_user = mail.iter().filter(|row| row.sender.is_none());
        notes.extend(from_user.filter_map(|row| MergeNote::parse(&row.body)));
        let mut spans = Vec::with_capacity(notes.len());
        for note in &notes {
            match self.store().ancestry(note.source).await {
                Ok(of_note) => spans.extend(span(note, &of_note, line)),
                // Imported with a conversation of another store.
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(spans)
    }

    async fn entries(
        &self,
        agent: AgentId,
        upto: Option<EntryId>,
    ) -> Result<Vec<Entry>, RuntimeError> {
        let rows = self.store().lineage(agent, upto).await?;
        rows.into_iter().map(codec::read_row).collect()
    }
}

/// The ancestor that is meant, and the agents from below it down to the source.
fn below(
    line: &[AgentRecord],
    source: AgentId,
    into: Option<AgentId>,
) -> Result<(&AgentRecord, &[AgentRecord]), RuntimeError> {
    let above = line.len().saturating_sub(1);
    let at = match into {
        None => above.checked_sub(1).ok_or(RuntimeError::NoParent(source))?,
        Some(into) => {
            let found = line[..above].iter().position(|record| record.id == into);
            found.ok_or(RuntimeError::NoAncestor { source_agent: source, into })?
        }
    };
    Ok((&line[at], &line[at + 1..]))
}

/// The messages that were not taken back. What a compaction leaves out was said all the same.
fn all_said(entries: Vec<Entry>) -> Fold {
    let is_compact = |entry: &Entry| matches!(entry.body, EntryBody::Compact { .. });
    Fold::of(entries.into_iter().filter(|entry| !is_compact(entry)))
}

/// Entries that an ancestor has been told of: all of a line between these two that it had not been told of before.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: EntryId,
    last: EntryId,
}

/// What a note tells of a line that begins with the ancestor that has it. Its source need not be in the line: whoever it shares an agent
/// with below that ancestor has told of that agent's entries too, as far as both have inherited them.
fn span(note: &MergeNote, of_note: &[AgentRecord], line: &[AgentRecord]) -> Option<Span> {
    let ancestor = line.first()?.id;
    let begin = of_note.iter().position(|record| record.id == ancestor)?;
    let pairs = of_note[begin..].iter().zip(line);
    let shared = pairs.take_while(|(one, other)| one.id == other.id).count();
    // The ancestor alone: they part at once.
    if shared < 2 {
        return None;
    }
    let mut last = note.last;
    for next in [of_note.get(begin + shared), line.get(shared)].into_iter().flatten() {
        last = last.min(next.fork_point?);
    }
    (note.first <= last).then_some(Span { first: note.first, last })
}

/// Up to which entry nothing is missing. What was told behind a gap (its beginning was taken back meanwhile) is told again.
fn contiguous(said: &[EntryId], mut spans: Vec<Span>) -> Option<EntryId> {
    spans.sort_by_key(|span| span.first);
    let mut told = None;
    for span in spans {
        let is_missing = |entry: &EntryId| *entry < span.first && told < Some(*entry);
        if !said.iter().any(is_missing) {
            told = told.max(Some(span.last));
        }
    }
    // What was told of others may lie before all that is asked for.
    told.filter(|told| said.iter().any(|entry| entry <= told))
}
