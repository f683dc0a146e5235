//! The automatic prefix cache of OpenAI's models before GPT-5.6: the longest common prefix with any earlier request, in
//! steps of 128 tokens from 1,024 on. No marks, no write fee.

use std::collections::HashMap;

use crate::cache::{Cache, Charge, Digest, Prompt, PromptUsage};
use crate::limits::{
    BYTES_PER_TOKEN, CHAT_MIN_TOKENS, CHAT_RETAINED_TTL_MS, CHAT_STEP_TOKENS, CHAT_TTL_MS,
    ENTRIES_MAX,
};

/// The prefixes seen so far: when each dies.
#[derive(Debug, Default)]
pub struct PrefixCache(HashMap<Digest, u64>);

impl Cache for PrefixCache {
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge {
        let steps = steps(prompt);
        let live = |digest: &Digest| self.0.get(digest).is_some_and(|dies_ms| now_ms < *dies_ms);
        let hit = steps.iter().take_while(|digest| live(digest)).count();
        let read = Some(hit as u64 * CHAT_STEP_TOKENS).filter(|read| *read >= CHAT_MIN_TOKENS);
        if read.is_some() {
            self.touch(&steps[..hit], now_ms + lifetime_ms(prompt));
        }
        let read = read.unwrap_or(0);
        let usage = PromptUsage { input: prompt.tokens() - read, read, ..PromptUsage::default() };
        Charge { usage, writes: Vec::new(), born_ms: now_ms, ..Charge::default() }
    }

    fn begun(&mut self, prompt: &Prompt, charge: &Charge) {
        let (steps, dies_ms) = (steps(prompt), charge.born_ms + lifetime_ms(prompt));
        self.touch(&steps, dies_ms);
        if self.0.len() > ENTRIES_MAX {
            self.0.retain(|_, dies_ms| charge.born_ms < *dies_ms);
        }
        if self.0.len() > ENTRIES_MAX {
            self.0.clear();
            self.touch(&steps, dies_ms);
        }
    }
}

impl PrefixCache {
    fn touch(&mut self, steps: &[Digest], until_ms: u64) {
        for digest in steps {
            let dies_ms = self.0.entry(*digest).or_insert(until_ms);
            *dies_ms = (*dies_ms).max(until_ms);
        }
    }
}

fn lifetime_ms(prompt: &Prompt) -> u64 {
    if prompt.is_retained { CHAT_RETAINED_TTL_MS } else { CHAT_TTL_MS }
}

/// One chained hash per step of the prompt's bytes.
fn steps(prompt: &Prompt) -> Vec<Digest> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&prompt.scope);
    prompt
        .lines
        .concat()
        .as_bytes()
        .chunks_exact((CHAT_STEP_TOKENS * BYTES_PER_TOKEN) as usize)
        .map(|chunk| {
            hasher.update(chunk);
            *hasher.finalize().as_bytes()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Position;
    use crate::limits::tokens_of;

    fn prompt(text: &[u8]) -> Prompt {
        let line = String::from_utf8_lossy(text).into_owned();
        let end = Position {
            digest: [0; 32],
            tokens_through: tokens_of(text.len()),
            mark: None,
            is_eligible_end: false,
        };
        Prompt { positions: vec![end], lines: vec![line], ..Prompt::default() }
    }

    fn check(first: usize, second: &[u8], at_ms: u64, cached: u64) {
        let mut cache = PrefixCache::default();
        let writer = prompt(&vec![b'a'; first]);
        let charge = cache.lookup(&writer, 0);
        assert_eq!(charge.usage.read, 0);
        cache.begun(&writer, &charge);
        assert_eq!(cache.lookup(&prompt(second), at_ms).usage.read, cached);
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
    fn a_retained_prefix_lives_a_day() {
        for (after_ms, read) in [(CHAT_RETAINED_TTL_MS - 1, 1_024), (CHAT_RETAINED_TTL_MS, 0)] {
            let mut cache = PrefixCache::default();
            let asked = Prompt { is_retained: true, ..prompt(&[b'a'; 4_096]) };
            let charge = cache.lookup(&asked, 0);
            cache.begun(&asked, &charge);
            assert_eq!(cache.lookup(&asked, after_ms).usage.read, read);
        }
    }

    #[test]
    fn another_scope_shares_nothing() {
        let mut cache = PrefixCache::default();
        let mine = prompt(&[b'a'; 8_192]);
        let charge = cache.lookup(&mine, 0);
        cache.begun(&mine, &charge);
        assert_eq!(cache.lookup(&Prompt { scope: [1; 32], ..mine }, 1).usage.read, 0);
    }
}
