//! SGLang's cache: every token of every prompt and answer, as long as there is room. A request that would be computed almost
//! whole, while one that shares its beginning is about to be, waits for that one: the engine sends a leader first by
//! itself. The wait takes no time here, only its effect is simulated.

use super::charge;
use super::tokens::{Token, common, of};
use super::tree::{Keep, PrefixTree};
use crate::cache::{Cache, Charge, Digest, Prompt};
use crate::limits::SGLANG_BATCH_TOKENS;

/// Prompts that may wait; the oldest is forgotten first.
const WAITING_MAX: usize = 1_024;

/// The tokens of one server.
#[derive(Debug)]
pub(crate) struct RadixCache {
    tree: PrefixTree,
    /// Prompts whose responses have not begun.
    waiting: Vec<(u64, Digest, Vec<Token>)>,
    tickets: u64,
}

impl RadixCache {
    /// A server whose memory holds so many tokens.
    pub(crate) fn new(tokens_max: usize) -> Self {
        let keep = Keep { ttl_ms: u64::MAX, tokens_max };
        Self { tree: PrefixTree::new(keep), waiting: Vec::new(), tickets: 0 }
    }

    fn forget(&mut self, ticket: u64) {
        self.waiting.retain(|(waiting, ..)| *waiting != ticket);
    }
}

impl Cache for RadixCache {
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge {
        let tokens = of(&prompt.lines);
        // The last token is computed in any case: the answer begins from it.
        let usable = &tokens[..tokens.len().saturating_sub(1)];
        let known = self.tree.longest(&prompt.scope, usable, now_ms);
        self.tree.insert(&prompt.scope, &usable[..known], now_ms);
        let mut hit = known;
        if known <= SGLANG_BATCH_TOKENS {
            let waiting = self.waiting.iter().filter(|(_, scope, _)| *scope == prompt.scope);
            let shared = waiting.map(|(.., waiting)| common(waiting, usable)).max();
            hit = shared.filter(|shared| *shared >= SGLANG_BATCH_TOKENS).unwrap_or(0).max(known);
        }
        self.tickets += 1;
        let charge = Charge { ticket: self.tickets, ..charge(tokens.len(), hit, now_ms) };
        self.waiting.push((self.tickets, prompt.scope, tokens));
        if self.waiting.len() > WAITING_MAX {
            self.waiting.remove(0);
        }
        charge
    }

    fn begun(&mut self, prompt: &Prompt, charge: &Charge) {
        self.forget(charge.ticket);
        self.tree.insert(&prompt.scope, &of(&prompt.lines), charge.born_ms);
    }

    fn ended(&mut self, prompt: &Prompt, charge: &Charge, answer: &[String], _: u64) {
        let whole = [of(&prompt.lines), of(answer)].concat();
        self.tree.insert(&prompt.scope, &whole, charge.born_ms);
    }

    fn abandoned(&mut self, ticket: u64) {
        self.forget(ticket);
    }
}
