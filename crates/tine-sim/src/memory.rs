//! Recent requests by the id of their reply, so that a later request can be compared with one of them. Only hashes and
//! token counts are kept.

use std::collections::VecDeque;

use crate::cache::Digest;
use crate::limits::REMEMBERED_MAX;

/// A setting, or a part of the prompt that is compared as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aspect {
    /// The vendor's word for a change of it.
    pub(crate) reason: &'static str,
    pub(crate) value: Digest,
    /// Tokens of the prompt that stay the same when this changes.
    pub(crate) kept_tokens: u64,
}

/// What is left of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Trace {
    /// In the order in which a change of them is reported.
    pub(crate) aspects: Vec<Aspect>,
    /// Chained identities of the content behind the aspects, each with the tokens of everything up to it.
    pub(crate) chain: Vec<(Digest, u64)>,
    pub(crate) tokens: u64,
    /// Items that stand for context which was summarised away.
    pub(crate) compactions: usize,
}

/// The first thing in which a request differs from an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Divergence {
    /// The aspect's word; absent when the content differs.
    pub(crate) reason: Option<&'static str>,
    /// Tokens that both requests have in common.
    pub(crate) common_tokens: u64,
    /// Tokens of the earlier request that can therefore not be reused.
    pub(crate) missed_tokens: u64,
}

impl Trace {
    /// Compares a request with an earlier one. A request that goes on where the earlier one ended, or ends before it
    /// does, does not differ from it.
    pub(crate) fn compare(&self, earlier: &Self) -> Option<Divergence> {
        let differs = |reason, common_tokens: u64| Divergence {
            reason,
            common_tokens,
            missed_tokens: earlier.tokens.saturating_sub(common_tokens),
        };
        let aspects = self.aspects.iter().zip(&earlier.aspects);
        if let Some((now, _)) = aspects.into_iter().find(|(now, then)| now.value != then.value) {
            return Some(differs(Some(now.reason), now.kept_tokens));
        }
        let pairs = || self.chain.iter().zip(&earlier.chain);
        let common = pairs().take_while(|(now, then)| now.0 == then.0).count();
        if common == pairs().count() {
            return None;
        }
        let before = self.aspects.last().map_or(0, |aspect| aspect.kept_tokens);
        let tokens = common.checked_sub(1).map_or(before, |last| self.chain[last].1);
        Some(differs(None, tokens))
    }
}

/// The requests that a server remembers.
#[derive(Debug, Default)]
pub(crate) struct Memory(VecDeque<(Digest, String, Trace)>);

impl Memory {
    /// Keeps an account's request under the id of its reply.
    pub(crate) fn remember(&mut self, account: Digest, id: &str, trace: Trace) {
        self.0.push_back((account, id.to_owned(), trace));
        if self.0.len() > REMEMBERED_MAX {
            self.0.pop_front();
        }
    }

    /// The request whose reply had this id, if it was the account's own.
    pub(crate) fn recall(&self, account: &Digest, id: &str) -> Option<&Trace> {
        let found = self.0.iter().rev().find(|(owner, known, _)| known == id && owner == account);
        found.map(|(_, _, trace)| trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(aspects: &[(&'static str, u8, u64)], chain: &[u8]) -> Trace {
        let aspect = |(reason, value, kept_tokens): &(&'static str, u8, u64)| Aspect {
            reason,
            value: [*value; 32],
            kept_tokens: *kept_tokens,
        };
        let chain: Vec<(Digest, u64)> =
            chain.iter().zip(3..).map(|(value, tokens)| ([*value; 32], tokens * 10)).collect();
        let tokens = chain.last().map_or(20, |(_, tokens)| *tokens);
        Trace { aspects: aspects.iter().map(aspect).collect(), chain, tokens, compactions: 0 }
    }

    #[test]
    fn the_first_difference_is_the_one_that_is_reported() {
        let of = |model, tools, chain: &[u8]| {
            trace(&[("model", model, 0), ("tools", tools, 0), ("system", 1, 20)], chain)
        };
        let earlier = of(1, 1, &[1, 2, 3]);
        let cases = [
            (of(1, 1, &[1, 2, 3, 4]), None),
            (of(1, 1, &[1, 2]), None),
            (of(1, 1, &[]), None),
            (of(2, 2, &[9]), Some((Some("model"), 0, 50))),
            (of(1, 2, &[1, 2, 3]), Some((Some("tools"), 0, 50))),
            (of(1, 1, &[1, 9, 9, 9]), Some((None, 30, 20))),
            (of(1, 1, &[9]), Some((None, 20, 30))),
        ];
        for (now, expected) in cases {
            let found = now.compare(&earlier);
            let found = found.map(|it| (it.reason, it.common_tokens, it.missed_tokens));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn memory_is_bounded_and_belongs_to_an_account() {
        let mut memory = Memory::default();
        for number in 0..=REMEMBERED_MAX {
            memory.remember([1; 32], &number.to_string(), Trace::default());
        }
        assert!(memory.recall(&[1; 32], "0").is_none(), "the oldest is forgotten");
        assert!(memory.recall(&[1; 32], "1").is_some());
        assert!(memory.recall(&[2; 32], "1").is_none(), "another account does not see it");
    }
}
