//! Transcripts of Claude Code → messages.
//!
//! A transcript is a tree: each record names the one before it, and whoever went back and asked again left a branch behind.
//! What counts is the way from the last message up to the root, or up to the last compaction, which begins a new root. One
//! answer of the model is one record for each block, on that way or beside it; its blocks are joined again, word for word,
//! and the answers to its calls stand behind it in one message. Source: records of sessions as users describe them, 2026.

mod record;
mod request;
mod tree;
mod turns;

use tine_model::WireFormat;

use self::record::{Kind, Record};
use self::request::Recorded;
pub use self::request::{RecordedRequest, Unrebuilt};
use self::tree::Tree;
use self::turns::Turn;
use super::error::ImportError;
use super::lines::{Line, records};
use super::{ConversationFormat, ImportedConversation};
use crate::read::read_message;

/// Reads a transcript.
pub(super) fn read(text: &str) -> Result<ImportedConversation, ImportError> {
    let mut into = ImportedConversation::new(ConversationFormat::ClaudeCode);
    let lines: Vec<Line<'_, record::Shape<'_>>> = records(text, &mut into);
    let mut recorded = Recorded::of(lines.iter().map(|line| line.text));
    let tree = Tree::of(lines.iter().map(Record::of).collect());
    let way = tree.way(&mut into.rewritten);
    let turns = turns::of(&tree, &way);
    let mut taken = vec![false; tree.records().len()];
    let mut last = None;
    for turn in &turns {
        for record in turn.records() {
            taken[record] = true;
        }
        let first = &tree.records()[turn.first()];
        let Some(json) = turn.to_json(&tree) else {
            into.left_out.add("empty message");
            continue;
        };
        let message = read_message(WireFormat::Anthropic, &json).map_err(|source| {
            ImportError::Record { kind: first.kind.as_str().to_owned(), line: first.line, source }
        })?;
        if message.blocks().is_empty() {
            into.left_out.add("empty message");
            continue;
        }
        recorded.add(&json);
        if let Turn::Answer(_) = turn {
            // Behind a gateway the answer may name another model than the one that was asked for.
            into.model = first.asked.clone().or_else(|| first.model.clone()).or(into.model);
            last = Some((first.request.clone(), into.messages.len()));
        }
        into.messages.push(message);
    }
    into.request = match last {
        Some((Some(id), at)) if recorded.has(&id) => recorded
            .rebuilt(&id)
            .map(|request| RecordedRequest { behind: into.messages.len() - at, ..request }),
        _ => Err(Unrebuilt::NotRecorded),
    };
    count_left_out(&tree, &way, &taken, &mut into);
    Ok(into)
}

/// Counts the records that are in no message, by what they are.
fn count_left_out(tree: &Tree<'_>, way: &[usize], taken: &[bool], into: &mut ImportedConversation) {
    let is_start = |record: &&Record<'_>| record.compaction.is_some() || record.is_summary;
    let start = way.iter().map(|at| &tree.records()[*at]).find(is_start);
    let compacted_before = start.map_or(0, |record| record.line);
    for (record, taken) in tree.records().iter().zip(taken) {
        let kind = match record.kind {
            Kind::User | Kind::Assistant if *taken => continue,
            _ if record.is_copy => "copy",
            _ if !tree.is_main(record) => "sidechain",
            Kind::User | Kind::Assistant if record.is_shown_only => "shown to the user only",
            Kind::User | Kind::Assistant if record.line < compacted_before => "before a compaction",
            Kind::User | Kind::Assistant => "other branch",
            Kind::Other(ref kind) => kind,
        };
        into.left_out.add(kind);
    }
}

#[cfg(test)]
mod tests;
