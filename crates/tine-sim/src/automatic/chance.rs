//! Gemini's implicit cache: any prefix that an earlier request had, from a minimum on, and then only perhaps. Chances come
//! from a seeded sequence, so that a run can be repeated.

use super::charge;
use super::tokens::of;
use super::tree::{HOSTED_TOKENS_MAX, Keep, PrefixTree};
use crate::cache::{Cache, Charge, Prompt};
use crate::draw::draw;
use crate::limits::GEMINI_IMPLICIT_TTL_MS;

/// The prompts that were seen.
#[derive(Debug)]
pub(crate) struct ChanceCache {
    tree: PrefixTree,
    hit_rate: f64,
    seed: u64,
    chances: u64,
}

impl ChanceCache {
    /// `hit_rate`: the share of possible hits that happen, 0 to 1.
    pub(crate) fn new(hit_rate: f64, seed: u64) -> Self {
        let keep = Keep { ttl_ms: GEMINI_IMPLICIT_TTL_MS, tokens_max: HOSTED_TOKENS_MAX };
        Self { tree: PrefixTree::new(keep), hit_rate, seed, chances: 0 }
    }

    /// Only what could be served draws a chance, so that misses for a reason do not move the sequence.
    fn is_lucky(&mut self) -> bool {
        self.chances += 1;
        draw(self.seed, self.chances) < self.hit_rate
    }
}

impl Cache for ChanceCache {
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge {
        let tokens = of(&prompt.lines);
        let found = self.tree.longest(&prompt.scope, &tokens, now_ms);
        let is_enough = found > 0 && found as u64 >= prompt.min_tokens;
        let hit = if is_enough && self.is_lucky() { found } else { 0 };
        self.tree.insert(&prompt.scope, &tokens[..hit], now_ms);
        charge(tokens.len(), hit, now_ms)
    }

    fn begun(&mut self, _: &Prompt, _: &Charge) {}

    fn ended(&mut self, prompt: &Prompt, charge: &Charge, _: &[String], _: u64) {
        self.tree.insert(&prompt.scope, &of(&prompt.lines), charge.born_ms);
    }
}
