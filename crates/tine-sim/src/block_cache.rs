//! The marked-block cache of Anthropic's models: which tokens of a prompt are read, written or plain.

use std::path::Path;

use crate::cache::{Cache, Charge, Digest, Entries, Prompt, Ttl, bill, link};
use crate::limits::{LONG_TTL_MS, LOOKBACK_POSITIONS, SHORT_TTL_MS};

/// The entries of all scopes.
#[derive(Debug, Default)]
pub struct BlockCache {
    /// Whether a read also refreshes the live entries at the earlier positions of the same prompt. The vendor does
    /// not say.
    deep_read_refreshes_shallow: bool,
    entries: Entries,
}

impl BlockCache {
    /// An empty cache.
    pub fn new(deep_read_refreshes_shallow: bool) -> Self {
        Self { deep_read_refreshes_shallow, entries: Entries::default() }
    }

    /// From the latest mark backwards: the first live entry within the window of a mark, then the mark before it.
    fn deepest_hit(&self, prompt: &Prompt, marks: &[(usize, Ttl)], now_ms: u64) -> Option<usize> {
        marks.iter().rev().find_map(|(marked, _)| {
            let first = (marked + 1).saturating_sub(LOOKBACK_POSITIONS);
            (first..=*marked).rev().find(|index| self.entries.is_live(&key(prompt, *index), now_ms))
        })
    }

    fn refresh(&mut self, prompt: &Prompt, hit: usize, now_ms: u64) {
        let first = if self.deep_read_refreshes_shallow { 0 } else { hit };
        for index in first..=hit {
            self.entries.refresh(&key(prompt, index), now_ms);
        }
    }
}

impl Cache for BlockCache {
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge {
        self.entries.catch_up(now_ms);
        let marks = effective_marks(prompt);
        let hit = self.deepest_hit(prompt, &marks, now_ms);
        if let Some(hit) = hit {
            self.refresh(prompt, hit, now_ms);
        }
        let beyond = marks.iter().filter(|(index, _)| hit.is_none_or(|hit| *index > hit));
        let writes = beyond.map(|(index, ttl)| (key(prompt, *index), as_ms(*ttl))).collect();
        Charge { usage: bill(prompt, &marks, hit), writes, born_ms: now_ms, ..Charge::default() }
    }

    fn begun(&mut self, _prompt: &Prompt, charge: &Charge) {
        self.entries.write(&charge.writes, charge.born_ms);
    }

    fn keep_in(&mut self, file: &Path) {
        self.entries.keep_in(file);
    }
}

fn as_ms(ttl: Ttl) -> u64 {
    match ttl {
        Ttl::Short => SHORT_TTL_MS,
        Ttl::Long => LONG_TTL_MS,
    }
}

fn key(prompt: &Prompt, index: usize) -> Digest {
    link(&[&prompt.scope, &prompt.positions[index].digest])
}

/// Marks that can hold an entry: those at or above the minimum length.
fn effective_marks(prompt: &Prompt) -> Vec<(usize, Ttl)> {
    let positions = prompt.positions.iter().enumerate();
    positions
        .filter(|(_, position)| position.tokens_through >= prompt.min_tokens)
        .filter_map(|(index, position)| position.mark.map(|ttl| (index, ttl)))
        .collect()
}

#[cfg(test)]
#[path = "block_cache_tests.rs"]
mod tests;
