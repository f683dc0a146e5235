//! DeepSeek's cache: only whole saved units are found. A unit ends where an input or an answer ended, where two requests
//! turned out to part, and, if the server's owner says so, at every so many tokens. Two children of a prefix that ends at
//! no unit therefore both miss, and the third one hits.

use super::charge;
use super::tokens::of;
use super::tree::{HOSTED_TOKENS_MAX, Keep, PrefixTree};
use crate::cache::{Cache, Charge, Prompt};
use crate::limits::DEEPSEEK_TTL_MS;

/// The units of all prompts and answers.
#[derive(Debug)]
pub(crate) struct UnitCache {
    tree: PrefixTree,
    interval: Option<usize>,
}

impl UnitCache {
    /// `interval`: a unit is saved at every multiple of so many tokens. The vendor has one and does not publish it.
    pub(crate) fn new(interval: Option<usize>) -> Self {
        let keep = Keep { ttl_ms: DEEPSEEK_TTL_MS, tokens_max: HOSTED_TOKENS_MAX };
        Self { tree: PrefixTree::new(keep), interval: interval.filter(|interval| *interval > 0) }
    }
}

impl Cache for UnitCache {
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge {
        let tokens = of(&prompt.lines);
        let hit = self.tree.longest_unit(&prompt.scope, &tokens, now_ms);
        self.tree.insert_unit(&prompt.scope, &tokens[..hit], now_ms);
        charge(tokens.len(), hit, now_ms)
    }

    fn begun(&mut self, _: &Prompt, _: &Charge) {}

    fn ended(&mut self, prompt: &Prompt, charge: &Charge, answer: &[String], _: u64) {
        let (mut whole, input) = (of(&prompt.lines), of(&prompt.lines).len());
        whole.extend(of(answer));
        let shared = self.tree.longest(&prompt.scope, &whole, charge.born_ms);
        let mut ends = vec![shared, input, whole.len()];
        if let Some(interval) = self.interval {
            ends.extend((1..=whole.len() / interval).map(|count| count * interval));
        }
        for end in ends.into_iter().filter(|end| *end as u64 >= prompt.min_tokens) {
            self.tree.insert_unit(&prompt.scope, &whole[..end], charge.born_ms);
        }
    }
}
