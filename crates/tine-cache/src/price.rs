//! What tokens cost.

use tine_model::{Lifetime, Usage};

use crate::tokens::prompt_of;

/// Prices are per this many tokens.
pub(crate) const UNIT_TOKENS: f64 = 1_000_000.0;

/// USD per million tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// Prompt tokens that the cache had no part in.
    pub input: f64,
    /// Prompt tokens written at the short lifetime. What input costs, where a write has no fee.
    pub write_short: f64,
    /// Prompt tokens written at the long lifetime. What the short one costs, where no long one is sold.
    pub write_long: f64,
    /// Prompt tokens read.
    pub read: f64,
    /// Generated tokens.
    pub output: f64,
}

impl Rates {
    /// The price of a write.
    pub fn write(&self, lifetime: Lifetime) -> f64 {
        match lifetime {
            Lifetime::Short => self.write_short,
            Lifetime::Long => self.write_long,
        }
    }

    /// What usage costs at these rates, in USD. Parts that were not reported cost nothing here.
    pub(crate) fn cost(&self, usage: &Usage) -> f64 {
        let parts = [
            (usage.uncached, self.input),
            (usage.write_short.unwrap_or(0), self.write_short),
            (usage.write_long.unwrap_or(0), self.write_long),
            (usage.read.unwrap_or(0), self.read),
            (usage.output, self.output),
        ];
        parts.iter().map(|(tokens, price)| *tokens as f64 * price).sum::<f64>() / UNIT_TOKENS
    }

    pub(crate) fn scaled(&self, prompt: f64, output: f64) -> Self {
        Self {
            input: self.input * prompt,
            write_short: self.write_short * prompt,
            write_long: self.write_long * prompt,
            read: self.read * prompt,
            output: self.output * output,
        }
    }
}

/// Rates that take the place of the usual ones for a long prompt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tier {
    /// A prompt of more tokens than this, cached ones included, is priced by [`Self::rates`]: all of it, and its output.
    pub above_tokens: u64,
    /// The rates up there.
    pub rates: Rates,
}

/// The prices of one model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// The usual rates.
    pub base: Rates,
    /// The rates of long prompts, where there are any.
    pub tier: Option<Tier>,
}

impl Price {
    /// The same rates for every prompt.
    pub fn flat(base: Rates) -> Self {
        Self { base, tier: None }
    }

    /// The rates of a request whose whole prompt has this many tokens.
    pub fn rates_for(&self, prompt_tokens: u64) -> &Rates {
        match &self.tier {
            Some(tier) if prompt_tokens > tier.above_tokens => &tier.rates,
            _ => &self.base,
        }
    }

    /// What one request costs, in USD. Parts that were not reported cost nothing here. A sum over requests must not be
    /// priced: the tier goes by the size of each prompt.
    pub fn cost(&self, usage: &Usage) -> f64 {
        self.rates_for(prompt_of(usage)).cost(usage)
    }

    /// What one request would cost if nothing were ever cached, in USD.
    pub fn cost_uncached(&self, usage: &Usage) -> f64 {
        let prompt = prompt_of(usage);
        let rates = self.rates_for(prompt);
        (prompt as f64 * rates.input + usage.output as f64 * rates.output) / UNIT_TOKENS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATES: Rates =
        Rates { input: 1.0, write_short: 2.0, write_long: 3.0, read: 4.0, output: 5.0 };

    #[test]
    fn every_kind_of_token_has_its_price() {
        let million = Some(1_000_000);
        let usage = Usage {
            uncached: 1_000_000,
            write_short: million,
            write_long: million,
            read: million,
            output: 1_000_000,
            reasoning: None,
        };
        assert_eq!(Price::flat(RATES).cost(&usage), 15.0);
        assert_eq!(Price::flat(RATES).cost_uncached(&usage), 9.0);
    }

    #[test]
    fn a_prompt_above_the_threshold_is_dearer_as_a_whole() {
        let tier = Tier { above_tokens: 100, rates: RATES.scaled(2.0, 10.0) };
        let price = Price { base: RATES, tier: Some(tier) };
        let usage = |read| Usage { uncached: 50, read: Some(read), output: 1, ..Usage::default() };
        let check = |cost: f64, millionths: f64| assert!((cost * 1e6 - millionths).abs() < 1e-6);
        check(price.cost(&usage(50)), 50.0 + 200.0 + 5.0);
        check(price.cost(&usage(51)), 100.0 + 408.0 + 50.0);
        check(price.cost_uncached(&usage(51)), 202.0 + 50.0);
    }

    #[test]
    fn absurd_counts_have_a_price_and_no_overflow() {
        let most = Some(u64::MAX);
        let usage = Usage { uncached: u64::MAX, read: most, write_short: most, ..Usage::default() };
        assert!(Price::flat(RATES).cost(&usage).is_finite());
    }
}
