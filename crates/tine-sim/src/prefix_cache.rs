//! The automatic prefix cache of the Chat format: the longest common prefix with any earlier request, in steps of
//! 128 tokens from 1,024 on. No marks, no write fee.
//!
//! Pure, like [`crate::cache`]: look up when the request arrives, publish when its response begins.

use std::collections::HashMap;

use crate::cache::Digest;
use crate::profile::{
    BYTES_PER_TOKEN, CHAT_MIN_TOKENS, CHAT_STEP_TOKENS, CHAT_TTL_MS, ENTRIES_MAX, tokens_of,
};

/// A prompt as the prefix cache sees it: one chained hash per step of the byte stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrefixPrompt {
    steps: Vec<Digest>,
    tokens: u64,
}

impl PrefixPrompt {
    /// Cuts a prompt's bytes into steps. `seed` holds whatever must be equal for two prompts to share at all: the key's
    /// scope and the model.
    pub fn new(seed: &Digest, bytes: &[u8]) -> Self {
        let step = (CHAT_STEP_TOKENS * BYTES_PER_TOKEN) as usize;
        let mut hasher = blake3::Hasher::new();
        hasher.update(seed);
        let steps = bytes
            .chunks_exact(step)
            .map(|chunk| {
                hasher.update(chunk);
                *hasher.finalize().as_bytes()
            })
            .collect();
        Self { steps, tokens: tokens_of(bytes.len()) }
    }

    /// Tokens of the whole prompt.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }
}

/// The prefixes seen so far.
#[derive(Debug, Default)]
pub struct PrefixCache {
    last_used_ms: HashMap<Digest, u64>,
}

impl PrefixCache {
    /// Tokens of the prompt that the cache serves at `now_ms`; refreshes them.
    pub fn lookup(&mut self, prompt: &PrefixPrompt, now_ms: u64) -> u64 {
        let live = |digest: &Digest| {
            self.last_used_ms.get(digest).is_some_and(|used| now_ms < used + CHAT_TTL_MS)
        };
        let hit = prompt.steps.iter().take_while(|digest| live(digest)).count();
        let cached = hit as u64 * CHAT_STEP_TOKENS;
        if cached < CHAT_MIN_TOKENS {
            return 0;
        }
        self.touch(&prompt.steps[..hit], now_ms);
        cached
    }

    /// Makes a prompt that arrived at `born_ms` readable: its response has begun.
    pub fn publish(&mut self, prompt: &PrefixPrompt, born_ms: u64) {
        self.touch(&prompt.steps, born_ms);
        if self.last_used_ms.len() > ENTRIES_MAX {
            self.last_used_ms.retain(|_, used| born_ms < *used + CHAT_TTL_MS);
        }
        if self.last_used_ms.len() > ENTRIES_MAX {
            self.last_used_ms.clear();
            self.touch(&prompt.steps, born_ms);
        }
    }

    fn touch(&mut self, steps: &[Digest], now_ms: u64) {
        for digest in steps {
            let used = self.last_used_ms.entry(*digest).or_insert(now_ms);
            *used = (*used).max(now_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: Digest = [0; 32];

    fn check(first: usize, second: &[u8], at_ms: u64, cached: u64) {
        let mut cache = PrefixCache::default();
        let writer = PrefixPrompt::new(&SEED, &vec![b'a'; first]);
        assert_eq!(cache.lookup(&writer, 0), 0);
        cache.publish(&writer, 0);
        assert_eq!(cache.lookup(&PrefixPrompt::new(&SEED, second), at_ms), cached);
    }

    #[test]
    fn a_common_prefix_is_served_in_steps_of_128_tokens() {
        check(5_000, &[b'a'; 6_000], 1, 1_152);
        let mut differs = vec![b'a'; 6_000];
        differs[4_500] = b'b';
        check(5_000, &differs, 1, 1_024);
    }

    #[test]
    fn less_than_1024_tokens_is_not_served() {
        check(4_095, &[b'a'; 6_000], 1, 0);
        check(4_096, &[b'a'; 6_000], 1, 1_024);
    }

    #[test]
    fn an_unused_prefix_dies_after_its_lifetime() {
        check(4_096, &[b'a'; 4_096], CHAT_TTL_MS - 1, 1_024);
        check(4_096, &[b'a'; 4_096], CHAT_TTL_MS, 0);
    }

    #[test]
    fn another_seed_shares_nothing() {
        let mut cache = PrefixCache::default();
        cache.publish(&PrefixPrompt::new(&SEED, &[b'a'; 8_192]), 0);
        assert_eq!(cache.lookup(&PrefixPrompt::new(&[1; 32], &[b'a'; 8_192]), 1), 0);
    }
}
