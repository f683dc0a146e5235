//! What every cache model shares: a prompt as caches see it, how it is billed, and the trait behind which the models stand.
//!
//! Pure: time comes in as milliseconds, nothing is sent and nothing sleeps. [`Cache::lookup`] answers for a request when
//! it arrives; [`Cache::begun`] makes what it wrote readable when its response begins. Two requests that both look up
//! before either begins therefore both write, as they do at the vendors.

use std::collections::HashMap;
use std::path::Path;

use crate::kept::{KeptFile, Use};
use crate::limits::{ENTRIES_MAX, tokens_of};

/// A chained hash: equal for two positions exactly when everything up to and including them is equal.
pub type Digest = [u8; 32];

/// Lifetime that a mark asks for. How long that is belongs to the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ttl {
    /// The default: five minutes on Anthropic, thirty on OpenAI.
    Short,
    /// One hour on Anthropic, twelve on OpenAI.
    Long,
}

/// One place of a flattened prompt at which an entry may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Chained hash of everything up to here, the settings that count included.
    pub digest: Digest,
    /// Tokens of everything up to here.
    pub tokens_through: u64,
    /// The mark on this place, if it has one.
    pub mark: Option<Ttl>,
    /// Whether a message ends here that OpenAI's implicit mode marks by itself.
    pub is_eligible_end: bool,
}

/// A prompt as the cache models see it. A model looks at the positions or at the lines, and ignores the rest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Prompt {
    /// Whose cache this is: key and model. Entries of one scope are never seen by another.
    pub scope: Digest,
    /// The places in order: tools, then system, then messages.
    pub positions: Vec<Position>,
    /// The rendered prompt, a tool, message or block per line, in the same order.
    pub lines: Vec<String>,
    /// Entries shorter than this are neither written nor read.
    pub min_tokens: u64,
    /// OpenAI's implicit mode: the lifetime of the mark that the server places by itself. Absent: explicit mode. Kimi: the
    /// lifetime that the request asks for.
    pub implicit: Option<Ttl>,
    /// What the vendor's front end sends requests to machines by.
    pub route: Digest,
    /// Whether automatic prefixes were asked to live long (`prompt_cache_retention: "24h"`).
    pub is_retained: bool,
    /// llama.cpp: the slot that the request asks for.
    pub slot: Option<usize>,
}

impl Prompt {
    /// A prompt of lines alone, with one position at its end.
    pub fn of_lines(scope: Digest, lines: Vec<String>) -> Self {
        let tokens_through = lines.iter().map(|line| tokens_of(line.len())).sum();
        let end = Position { digest: scope, tokens_through, mark: None, is_eligible_end: false };
        Self { scope, positions: vec![end], lines, route: scope, ..Self::default() }
    }

    /// Tokens of the whole prompt.
    pub fn tokens(&self) -> u64 {
        self.positions.last().map_or(0, |position| position.tokens_through)
    }
}

/// How the prompt of one request is billed. The parts do not overlap and add up to the whole prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromptUsage {
    /// Tokens that were neither read nor written.
    pub input: u64,
    /// Tokens served from an entry.
    pub read: u64,
    /// Tokens written at the short lifetime.
    pub write_short: u64,
    /// Tokens written at the long lifetime.
    pub write_long: u64,
}

impl PromptUsage {
    /// Tokens of the whole prompt.
    pub fn total(&self) -> u64 {
        self.input + self.read + self.written()
    }

    /// Tokens written at any lifetime.
    pub fn written(&self) -> u64 {
        self.write_short + self.write_long
    }
}

/// The outcome of a lookup, and the entries that the request is going to write.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Charge {
    /// What the request is billed.
    pub usage: PromptUsage,
    /// Keys and lifetimes (milliseconds) of the entries beyond the hit. Models that write whole lines leave it empty.
    pub writes: Vec<(Digest, u64)>,
    /// When the request arrived: lifetimes run from here, so a slow answer uses them up.
    pub born_ms: u64,
    /// By which a model knows the request again; 0 where it need not.
    pub ticket: u64,
}

/// One cache model with all its entries.
pub trait Cache: Send {
    /// Bills a prompt that arrived at `now_ms`, and refreshes what serves it. What the request writes is not readable yet.
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge;

    /// The response has begun: what the prompt wrote is readable from now on.
    fn begun(&mut self, prompt: &Prompt, charge: &Charge);

    /// The response is complete. `answer` holds its lines as they will stand in the next prompt; models that cache
    /// generated tokens keep them.
    fn ended(&mut self, prompt: &Prompt, charge: &Charge, answer: &[String], now_ms: u64) {
        let _ = (prompt, charge, answer, now_ms);
    }

    /// The request with this ticket broke off before its end. Models that hold something for the request let go of it.
    fn abandoned(&mut self, ticket: u64) {
        let _ = ticket;
    }

    /// Keeps entries in this file from now on, and reads what other servers keep there. Models without entries of their own, which know
    /// texts or slots, forget with the process.
    fn keep_in(&mut self, file: &Path) {
        let _ = file;
    }

    /// Which slots are at work, where the model has slots.
    fn busy_slots(&self) -> Vec<bool> {
        Vec::new()
    }
}

/// Hash of some parts, each preceded by its length so that borders count.
pub(crate) fn link(parts: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    *hasher.finalize().as_bytes()
}

/// A = the hit, B = the last long-lived mark at or after A (else A), C = the last mark: read up to A, long-lived write up
/// to B, short-lived write up to C, plain input behind C. `marks` are positions in order.
pub(crate) fn bill(prompt: &Prompt, marks: &[(usize, Ttl)], hit: Option<usize>) -> PromptUsage {
    let tokens_at = |index: usize| prompt.positions[index].tokens_through;
    let a = hit.map_or(0, tokens_at);
    let b = marks
        .iter()
        .rev()
        .find(|(index, ttl)| *ttl == Ttl::Long && hit.is_none_or(|hit| *index >= hit))
        .map_or(a, |(index, _)| tokens_at(*index));
    let c = marks.last().map_or(a, |(index, _)| tokens_at(*index)).max(a);
    PromptUsage { input: prompt.tokens() - c, read: a, write_short: c - b, write_long: b - a }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    ttl_ms: u64,
    last_used_ms: u64,
}

impl Entry {
    fn is_live(&self, now_ms: u64) -> bool {
        now_ms < self.last_used_ms.saturating_add(self.ttl_ms)
    }
}

/// Entries by key, each with a lifetime that starts again with every use.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    known: HashMap<Digest, Entry>,
    /// The file that keeps them beyond the process.
    kept: Option<KeptFile>,
}

impl Entries {
    pub(crate) fn keep_in(&mut self, file: &Path) {
        self.kept = Some(KeptFile::at(file));
    }

    /// Learns what other servers have written. Before a lookup.
    pub(crate) fn catch_up(&mut self, now_ms: u64) {
        let added = self.kept.as_mut().map(|kept| kept.added(now_ms)).unwrap_or_default();
        for one in added {
            self.used(one);
        }
        self.evict(now_ms);
    }

    pub(crate) fn is_live(&self, key: &Digest, now_ms: u64) -> bool {
        self.known.get(key).is_some_and(|entry| entry.is_live(now_ms))
    }

    /// Notes a use of a live entry.
    pub(crate) fn refresh(&mut self, key: &Digest, now_ms: u64) {
        if let Some(entry) = self.known.get_mut(key)
            && entry.is_live(now_ms)
        {
            entry.last_used_ms = entry.last_used_ms.max(now_ms);
            let now = Use { key: *key, ttl_ms: entry.ttl_ms, at_ms: entry.last_used_ms };
            self.kept.iter_mut().for_each(|kept| kept.add(&[now]));
        }
    }

    /// Keeps entries that were written by a request of `born_ms`; the longer lifetime of two writers wins.
    pub(crate) fn write(&mut self, writes: &[(Digest, u64)], born_ms: u64) {
        let uses: Vec<Use> = writes
            .iter()
            .map(|(key, ttl_ms)| Use { key: *key, ttl_ms: *ttl_ms, at_ms: born_ms })
            .collect();
        uses.iter().for_each(|one| self.used(*one));
        self.kept.iter_mut().for_each(|kept| kept.add(&uses));
        self.evict(born_ms);
    }

    fn used(&mut self, Use { key, ttl_ms, at_ms }: Use) {
        let entry = self.known.entry(key).or_insert(Entry { ttl_ms, last_used_ms: at_ms });
        entry.ttl_ms = entry.ttl_ms.max(ttl_ms);
        entry.last_used_ms = entry.last_used_ms.max(at_ms);
    }

    fn evict(&mut self, now_ms: u64) {
        if self.known.len() <= ENTRIES_MAX {
            return;
        }
        self.known.retain(|_, entry| entry.is_live(now_ms));
        if self.known.len() <= ENTRIES_MAX {
            return;
        }
        let mut uses: Vec<u64> = self.known.values().map(|entry| entry.last_used_ms).collect();
        uses.sort_unstable();
        let median = uses[uses.len() / 2];
        self.known.retain(|_, entry| entry.last_used_ms > median);
    }
}
