//! Records on the way → messages: the blocks of one answer together, the answers to its calls right behind it.

use std::collections::{BTreeSet, HashSet};

use super::record::{Kind, Piece, Record};
use super::tree::Tree;

/// One message. Records are in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Turn {
    /// An answer of the model.
    Answer(Vec<usize>),
    /// The answers to its calls; the calls are given.
    Results(Vec<usize>, Vec<String>),
    /// Anything else that was said to it.
    Words(usize),
}

/// The messages of a way.
pub(super) fn of(tree: &Tree<'_>, way: &[usize]) -> Vec<Turn> {
    let said: Vec<usize> = way.iter().copied().filter(|at| tree.records()[*at].speaks()).collect();
    let on_way: HashSet<usize> = said.iter().copied().collect();
    let mut turns = Vec::new();
    let mut rest = said.as_slice();
    while let Some((first, behind)) = rest.split_first() {
        if tree.records()[*first].kind == Kind::User {
            turns.push(Turn::Words(*first));
            rest = behind;
            continue;
        }
        let mut answer = Answer::begin(tree, *first);
        let length = behind.iter().take_while(|at| answer.takes(**at)).count();
        answer.take_beside(&on_way);
        answer.finish(&mut turns);
        rest = &behind[length..];
    }
    turns
}

/// An answer that is being put together.
struct Answer<'t, 'a> {
    tree: &'t Tree<'a>,
    first: usize,
    members: BTreeSet<usize>,
    results: BTreeSet<usize>,
    words: Vec<usize>,
    /// Calls without an answer so far.
    open: HashSet<String>,
    calls: Vec<String>,
}

impl<'t, 'a> Answer<'t, 'a> {
    fn begin(tree: &'t Tree<'a>, first: usize) -> Self {
        let mut answer = Self {
            tree,
            first,
            members: BTreeSet::new(),
            results: BTreeSet::new(),
            words: Vec::new(),
            open: HashSet::new(),
            calls: Vec::new(),
        };
        answer.add(first);
        answer
    }

    fn record(&self, at: usize) -> &'t Record<'a> {
        &self.tree.records()[at]
    }

    fn add(&mut self, at: usize) {
        self.members.insert(at);
        for call in self.record(at).pieces.iter().filter_map(|piece| piece.makes.as_ref()) {
            if !self.calls.contains(call) {
                self.calls.push(call.clone());
                self.open.insert(call.clone());
            }
        }
    }

    fn add_results(&mut self, at: usize) {
        self.results.insert(at);
        for call in self.record(at).pieces.iter().filter_map(|piece| piece.answers.as_ref()) {
            self.open.remove(call);
        }
    }

    /// Takes the next record of the way, if it still belongs to this answer. Words among results are kept for behind them.
    fn takes(&mut self, at: usize) -> bool {
        let record = self.record(at);
        let answers_ours = record.pieces.iter().filter_map(|piece| piece.answers.as_ref());
        match record.kind {
            Kind::Assistant if self.is_same_message(at) => self.add(at),
            Kind::User if answers_ours.clone().any(|call| self.calls.contains(call)) => {
                self.add_results(at);
            }
            Kind::User if !record.answers() && !self.open.is_empty() => self.words.push(at),
            Kind::User | Kind::Assistant | Kind::Other(_) => return false,
        }
        true
    }

    /// Some servers give every answer the same id, so words end an answer too.
    fn is_same_message(&self, at: usize) -> bool {
        let message = &self.record(at).message;
        message.is_some() && *message == self.record(self.first).message && self.words.is_empty()
    }

    /// Calls that ran at the same time, and their results, stand on branches of their own: each hangs on a record of this answer.
    fn take_beside(&mut self, on_way: &HashSet<usize>) {
        for at in self.tree.same_message(self.first) {
            if !on_way.contains(at) && self.hangs_here(*at) {
                self.add(*at);
            }
        }
        for call in self.calls.clone() {
            for at in self.tree.answering(&call, self.first) {
                let is_free = self.open.contains(&call) && !on_way.contains(at);
                if is_free && self.hangs_here(*at) {
                    self.add_results(*at);
                }
            }
        }
    }

    /// Whether a record's nearest ancestor that speaks is part of this answer.
    fn hangs_here(&self, at: usize) -> bool {
        let mut next = self.tree.parent(at);
        for _ in 0..STEPS_MAX {
            let Some(above) = next else { return false };
            if self.members.contains(&above) || self.results.contains(&above) {
                return true;
            }
            if self.record(above).speaks() && !self.record(above).answers() {
                return false;
            }
            next = self.tree.parent(above);
        }
        false
    }

    fn finish(self, turns: &mut Vec<Turn>) {
        turns.push(Turn::Answer(self.members.into_iter().collect()));
        if !self.results.is_empty() {
            turns.push(Turn::Results(self.results.into_iter().collect(), self.calls));
        }
        turns.extend(self.words.into_iter().map(Turn::Words));
    }
}

/// Records between a result that stands beside the way and its call: notes about progress, and results of other calls.
const STEPS_MAX: usize = 256;

impl Turn {
    /// The record that names the turn in errors.
    pub(super) fn first(&self) -> usize {
        match self {
            Self::Answer(records) | Self::Results(records, _) => {
                records.first().copied().unwrap_or_default()
            }
            Self::Words(record) => *record,
        }
    }

    /// Every record that it is made of.
    pub(super) fn records(&self) -> Vec<usize> {
        match self {
            Self::Answer(records) | Self::Results(records, _) => records.clone(),
            Self::Words(record) => vec![*record],
        }
    }

    /// The message in the provider's shape; `None` when nothing is said in it.
    pub(super) fn to_json(&self, tree: &Tree<'_>) -> Option<String> {
        let (role, contents) = match self {
            Self::Answer(records) => ("assistant", answer(tree, records)),
            Self::Results(records, calls) if records.len() > 1 => {
                ("user", list(&results(tree, records, calls)))
            }
            Self::Results(records, _) => ("user", content(tree, *records.first()?)),
            Self::Words(record) => ("user", content(tree, *record)),
        };
        Some(format!(r#"{{"role":"{role}","content":{}}}"#, contents?))
    }
}

fn content(tree: &Tree<'_>, record: usize) -> Option<String> {
    tree.records()[record].content.map(str::to_owned)
}

fn list(pieces: &[&str]) -> Option<String> {
    (!pieces.is_empty()).then(|| format!("[{}]", pieces.join(",")))
}

/// The blocks of an answer, each once: a call that was written twice would be refused, and a record may repeat what the ones
/// before it said.
fn answer(tree: &Tree<'_>, records: &[usize]) -> Option<String> {
    if let [only] = records {
        return content(tree, *only);
    }
    let mut blocks: Vec<&str> = Vec::new();
    let mut calls = HashSet::new();
    for record in records {
        let pieces = &tree.records()[*record].pieces;
        let repeats = pieces.len() >= blocks.len()
            && pieces.iter().zip(&blocks).all(|(piece, block)| piece.json == *block);
        let skipped = if repeats { blocks.len() } else { 0 };
        for Piece { json, makes, .. } in pieces.iter().skip(skipped) {
            if makes.as_ref().is_none_or(|call| calls.insert(call)) {
                blocks.push(json);
            }
        }
    }
    list(&blocks)
}

/// The answers to the calls, each once, and behind them what else stood beside them.
fn results<'t>(tree: &'t Tree<'_>, records: &[usize], calls: &[String]) -> Vec<&'t str> {
    let (mut answers, mut others) = (Vec::new(), Vec::new());
    let mut answered = HashSet::new();
    for Piece { json, answers: call, .. } in
        records.iter().flat_map(|record| &tree.records()[*record].pieces)
    {
        match call {
            Some(call) if calls.contains(call) => {
                if answered.insert(call) {
                    answers.push(json.as_ref());
                }
            }
            Some(_) | None => others.push(json.as_ref()),
        }
    }
    answers.extend(others);
    answers
}
