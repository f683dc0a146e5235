//! What of a fork its ancestor does not know.

use std::collections::HashSet;

use tine_fork::MergeNote;
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
        let told = self.told(into, below).await?;
        // What was told of others in between may lie before everything that is asked for.
        let already = told.filter(|told| said.iter().any(|(entry, _)| entry.id <= *told));
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

    /// Up to which entry of the line below it an ancestor has been told, or will be by its unread mail.
    async fn told(
        &self,
        into: AgentId,
        below: &[AgentRecord],
    ) -> Result<Option<EntryId>, RuntimeError> {
        let fold = all_said(self.entries(into, None).await?);
        let said = fold.items().flat_map(|item| {
            let notes: Vec<_> = MergeNote::in_message(&item.message).collect();
            notes
        });
        let mut notes: Vec<MergeNote> = said.collect();
        let mail = self.store().unread_mail(into).await?;
        let from_user = mail.iter().filter(|row| row.sender.is_none());
        notes.extend(from_user.filter_map(|row| MergeNote::parse(&row.body)));
        Ok(notes.iter().filter_map(|note| reach(note, below)).max())
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

/// Up to which of the last agent's entries a note tells of the line: of an agent in between it tells only what the next one inherited.
fn reach(note: &MergeNote, below: &[AgentRecord]) -> Option<EntryId> {
    let at = below.iter().position(|record| record.id == note.source)?;
    match below.get(at + 1) {
        None => Some(note.last),
        Some(child) => child.fork_point.map(|fork_point| fork_point.min(note.last)),
    }
}
