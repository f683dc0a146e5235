//! The marked-block cache of the Messages format: which tokens of a prompt are read, written or plain.
//!
//! Pure: time comes in as milliseconds, nothing is sent and nothing sleeps. [`BlockCache::lookup`] answers for a
//! request when it arrives; [`BlockCache::publish`] makes what it wrote readable, and is called when the response
//! begins. Two requests that both look up before either publishes therefore both write, as they do at the vendor.

use std::collections::HashMap;

use crate::profile::{
    CACHE_MIN_TOKENS, ENTRIES_MAX, LONG_TTL_MS, LOOKBACK_POSITIONS, SHORT_TTL_MS,
};

/// A chained hash: equal for two positions exactly when everything up to and including them is equal.
pub type Digest = [u8; 32];

/// Lifetime that a mark asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ttl {
    /// `"5m"`, and the default.
    Short,
    /// `"1h"`.
    Long,
}

impl Ttl {
    fn as_ms(self) -> u64 {
        match self {
            Self::Short => SHORT_TTL_MS,
            Self::Long => LONG_TTL_MS,
        }
    }
}

/// One block of a flattened prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// Chained hash of everything up to here.
    pub digest: Digest,
    /// Tokens of everything up to here.
    pub tokens_through: u64,
    /// The mark on this block, if it has one.
    pub mark: Option<Ttl>,
}

/// A flattened prompt: tools, then system, then messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Whose cache this is; entries of one scope are never seen by another.
    pub scope: Digest,
    /// The blocks in order.
    pub positions: Vec<Position>,
}

impl Prompt {
    /// Tokens of the whole prompt.
    pub fn tokens(&self) -> u64 {
        self.positions.last().map_or(0, |position| position.tokens_through)
    }
}

/// How the prompt of one request is billed. The parts do not overlap and add up to the whole prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PromptUsage {
    /// Tokens after the last mark that took part.
    pub input: u64,
    /// Tokens served from an entry.
    pub read: u64,
    /// Tokens written at the five-minute lifetime.
    pub write_5m: u64,
    /// Tokens written at the one-hour lifetime.
    pub write_1h: u64,
}

/// The outcome of a lookup, and what it is going to write.
#[derive(Debug, Clone)]
pub struct Lookup {
    /// What the request is billed.
    pub usage: PromptUsage,
    scope: Digest,
    writes: Vec<(Digest, Ttl)>,
    born_ms: u64,
}

/// What the vendor's documentation leaves open, or varies by model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheProfile {
    /// Entries shorter than this are not written, without an error.
    pub min_tokens: u64,
    /// Whether a read also refreshes the live entries at the earlier positions of the same prompt.
    pub deep_read_refreshes_shallow: bool,
}

impl Default for CacheProfile {
    fn default() -> Self {
        Self { min_tokens: CACHE_MIN_TOKENS, deep_read_refreshes_shallow: false }
    }
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    ttl: Ttl,
    last_used_ms: u64,
}

impl Entry {
    fn is_live(&self, now_ms: u64) -> bool {
        now_ms < self.last_used_ms.saturating_add(self.ttl.as_ms())
    }
}

/// The live entries of all scopes.
#[derive(Debug)]
pub struct BlockCache {
    profile: CacheProfile,
    entries: HashMap<(Digest, Digest), Entry>,
}

impl BlockCache {
    /// An empty cache.
    pub fn new(profile: CacheProfile) -> Self {
        Self { profile, entries: HashMap::new() }
    }

    /// Bills a prompt that arrived at `now_ms`, and refreshes the entry that serves it. What the request writes is
    /// not readable before [`BlockCache::publish`].
    pub fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Lookup {
        let marks = self.effective_marks(prompt);
        let hit = self.deepest_hit(prompt, &marks, now_ms);
        if let Some(hit) = hit {
            self.refresh(prompt, hit, now_ms);
        }
        let usage = bill(prompt, &marks, hit);
        let writes = marks
            .iter()
            .filter(|(index, _)| hit.is_none_or(|hit| *index > hit))
            .map(|(index, ttl)| (prompt.positions[*index].digest, *ttl))
            .collect();
        Lookup { usage, scope: prompt.scope, writes, born_ms: now_ms }
    }

    /// Makes the entries of a lookup readable: the writer's response has begun. Their lifetime runs from the start of
    /// the writing request, so a slow answer uses it up.
    pub fn publish(&mut self, lookup: &Lookup) {
        for (digest, ttl) in &lookup.writes {
            let fresh = Entry { ttl: *ttl, last_used_ms: lookup.born_ms };
            self.entries
                .entry((lookup.scope, *digest))
                .and_modify(|entry| {
                    entry.ttl = entry.ttl.max(fresh.ttl);
                    entry.last_used_ms = entry.last_used_ms.max(fresh.last_used_ms);
                })
                .or_insert(fresh);
        }
        self.evict(lookup.born_ms);
    }

    /// Marks that can hold an entry: those at or above the minimum length.
    fn effective_marks(&self, prompt: &Prompt) -> Vec<(usize, Ttl)> {
        prompt
            .positions
            .iter()
            .enumerate()
            .filter(|(_, position)| position.tokens_through >= self.profile.min_tokens)
            .filter_map(|(index, position)| position.mark.map(|ttl| (index, ttl)))
            .collect()
    }

    /// From the latest mark backwards: the first live entry within the window of a mark, then the mark before it.
    fn deepest_hit(&self, prompt: &Prompt, marks: &[(usize, Ttl)], now_ms: u64) -> Option<usize> {
        marks.iter().rev().find_map(|(marked, _)| {
            let first = (marked + 1).saturating_sub(LOOKBACK_POSITIONS);
            (first..=*marked).rev().find(|index| {
                let key = (prompt.scope, prompt.positions[*index].digest);
                self.entries.get(&key).is_some_and(|entry| entry.is_live(now_ms))
            })
        })
    }

    fn refresh(&mut self, prompt: &Prompt, hit: usize, now_ms: u64) {
        let first = if self.profile.deep_read_refreshes_shallow { 0 } else { hit };
        for position in &prompt.positions[first..=hit] {
            if let Some(entry) = self.entries.get_mut(&(prompt.scope, position.digest))
                && entry.is_live(now_ms)
            {
                entry.last_used_ms = entry.last_used_ms.max(now_ms);
            }
        }
    }

    fn evict(&mut self, now_ms: u64) {
        if self.entries.len() <= ENTRIES_MAX {
            return;
        }
        self.entries.retain(|_, entry| entry.is_live(now_ms));
        if self.entries.len() <= ENTRIES_MAX {
            return;
        }
        let mut uses: Vec<u64> = self.entries.values().map(|entry| entry.last_used_ms).collect();
        uses.sort_unstable();
        let median = uses[uses.len() / 2];
        self.entries.retain(|_, entry| entry.last_used_ms > median);
    }
}

/// A = the hit, B = the last one-hour mark at or after A (else A), C = the last mark: read up to A, one-hour write up to
/// B, five-minute write up to C, plain input behind C.
fn bill(prompt: &Prompt, marks: &[(usize, Ttl)], hit: Option<usize>) -> PromptUsage {
    let tokens_at = |index: usize| prompt.positions[index].tokens_through;
    let a = hit.map_or(0, tokens_at);
    let b = marks
        .iter()
        .rev()
        .find(|(index, ttl)| *ttl == Ttl::Long && hit.is_none_or(|hit| *index >= hit))
        .map_or(a, |(index, _)| tokens_at(*index));
    let c = marks.last().map_or(a, |(index, _)| tokens_at(*index));
    PromptUsage { input: prompt.tokens() - c, read: a, write_5m: c - b, write_1h: b - a }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
