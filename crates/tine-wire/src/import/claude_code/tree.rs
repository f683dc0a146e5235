//! The tree of a transcript, and the way through it that counts.

use std::collections::{HashMap, HashSet};

use super::record::{Kept, Kind, Parent, Record};
use crate::import::Counts;

/// All records, each found by its id.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    records: Vec<Record<'a>>,
    by_id: HashMap<String, usize>,
    by_message: HashMap<String, Vec<usize>>,
    by_answer: HashMap<String, Vec<usize>>,
    /// Whether the file is a subagent's, whose records are all beside the main conversation.
    is_sidechain: bool,
}

impl<'a> Tree<'a> {
    /// Of two records with one id the first counts: later compactions write copies of what they replace.
    pub(super) fn of(records: Vec<Record<'a>>) -> Self {
        let is_sidechain = !records.iter().any(|record| record.speaks() && !record.is_sidechain);
        let mut tree = Self {
            records,
            by_id: HashMap::new(),
            by_message: HashMap::new(),
            by_answer: HashMap::new(),
            is_sidechain,
        };
        for (at, record) in tree.records.iter_mut().enumerate() {
            if let Some(id) = &record.id {
                record.is_copy = tree.by_id.contains_key(id);
                tree.by_id.entry(id.clone()).or_insert(at);
            }
            if record.is_copy || !record.speaks() {
                continue;
            }
            if let (Some(message), Kind::Assistant) = (&record.message, &record.kind) {
                tree.by_message.entry(message.clone()).or_default().push(at);
            }
            for call in record.pieces.iter().filter_map(|piece| piece.answers.as_ref()) {
                tree.by_answer.entry(call.clone()).or_default().push(at);
            }
        }
        tree
    }

    pub(super) fn records(&self) -> &[Record<'a>] {
        &self.records
    }

    /// Whether a record belongs to the conversation of the file, and not to one that ran beside it.
    pub(super) fn is_main(&self, record: &Record<'_>) -> bool {
        record.is_sidechain == self.is_sidechain
            || !matches!(record.kind, Kind::User | Kind::Assistant)
    }

    fn is_usable(&self, record: &Record<'_>) -> bool {
        self.is_main(record) && !record.is_copy
    }

    /// Records of the message that `at` is part of, from there on, in the order of the file.
    pub(super) fn same_message(&self, at: usize) -> &[usize] {
        let message = self.records[at].message.as_ref();
        near(message.and_then(|message| self.by_message.get(message)), at)
    }

    /// Records behind `at` that answer a call, in the order of the file.
    pub(super) fn answering(&self, call: &str, at: usize) -> &[usize] {
        near(self.by_answer.get(call), at)
    }

    /// The record before this one.
    pub(super) fn parent(&self, at: usize) -> Option<usize> {
        match &self.records[at].parent {
            Parent::None => None,
            Parent::Of(id) => self.by_id.get(id).copied(),
            Parent::Preceding => self.preceding(at),
        }
    }

    /// The nearest record above in the file that is part of the conversation.
    fn preceding(&self, at: usize) -> Option<usize> {
        let is_part = |record: &Record<'_>| self.is_usable(record) && record.speaks();
        self.records[..at].iter().rposition(is_part)
    }

    /// The records from the root to the last message. A parent that was never written is replaced by the record before in the
    /// file, which is told in `rewritten`.
    pub(super) fn way(&self, rewritten: &mut Counts) -> Vec<usize> {
        let is_last = |record: &Record<'_>| self.is_usable(record) && record.speaks();
        let Some(leaf) = self.records.iter().rposition(is_last) else { return Vec::new() };
        let mut way = self.upwards(leaf, rewritten);
        way.reverse();
        self.insert_kept(&mut way);
        way
    }

    fn upwards(&self, leaf: usize, rewritten: &mut Counts) -> Vec<usize> {
        let (mut way, mut seen) = (Vec::new(), HashSet::new());
        let mut next = Some(leaf);
        // A record that names a later one as its parent makes a ring.
        while let Some(at) = next.filter(|at| seen.insert(*at)) {
            way.push(at);
            next = self.parent(at);
            if next.is_none() && matches!(self.records[at].parent, Parent::Of(_)) {
                next = self.preceding(at);
                if next.is_some() {
                    rewritten.add("missing parent");
                }
            }
        }
        way
    }

    /// Puts the messages that the last compaction kept behind its summary.
    fn insert_kept(&self, way: &mut Vec<usize>) {
        let records = way.iter().rev().map(|at| &self.records[*at]);
        let Some(kept) = records.filter_map(|record| record.compaction.as_ref()).next() else {
            return;
        };
        let Some(kept) = kept else { return };
        let anchor = self.by_id.get(&kept.anchor);
        let Some(place) = way.iter().position(|at| Some(at) == anchor) else { return };
        let known: HashSet<usize> = way.iter().copied().collect();
        let kept = self.kept(kept).into_iter().filter(|at| !known.contains(at));
        way.splice(place + 1..place + 1, kept);
    }

    fn kept(&self, kept: &Kept) -> Vec<usize> {
        let Some((head, tail)) = &kept.ends else {
            return kept.ids.iter().filter_map(|id| self.by_id.get(id).copied()).collect();
        };
        let head = self.by_id.get(head).copied();
        let (mut found, mut seen) = (Vec::new(), HashSet::new());
        let mut next = self.by_id.get(tail).copied();
        while let Some(at) = next.filter(|at| seen.insert(*at)) {
            found.push(at);
            next = self.parent(at).filter(|_| Some(at) != head);
        }
        found.reverse();
        // Without its head the run would reach to the root: better none than all that was summed up.
        if found.first().copied() == head { found } else { Vec::new() }
    }
}

/// Records that may belong together by one id. An answer has a few dozen blocks; servers that give every message the same id
/// must not make the reading slow.
const NEAR_MAX: usize = 128;

/// The first of the records from `at` on.
fn near(records: Option<&Vec<usize>>, at: usize) -> &[usize] {
    let records = records.map_or(&[][..], Vec::as_slice);
    let records = &records[records.partition_point(|other| *other < at)..];
    &records[..records.len().min(NEAR_MAX)]
}
