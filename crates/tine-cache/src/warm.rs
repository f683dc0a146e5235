//! Keeping a prefix warm while its owner waits.

use crate::facts::Facts;
use crate::price::Rates;

/// Most pings that are ever worth a prefix: a day of five-minute lifetimes. Bounds models whose reads cost nothing.
const PINGS_MAX: u32 = 288;

/// A ping is sent when this part of the lifetime is left, because a request takes time to arrive.
const PING_MARGIN: i64 = 10;

/// A quotient that is this near below a whole number is meant to be it: prices have few digits.
const ROUNDING: f64 = 1e-9;

/// How many pings, each of which reads the prefix, cost less than writing it once more: `(w − r) / r`, rounded down.
pub fn pings_worth(rates: &Rates) -> u32 {
    let saved = rates.write_short - rates.read;
    if saved <= 0.0 {
        return 0;
    }
    if rates.read <= 0.0 {
        return PINGS_MAX;
    }
    let pings = (saved / rates.read * (1.0 + ROUNDING)).floor();
    if pings >= f64::from(PINGS_MAX) { PINGS_MAX } else { pings as u32 }
}

/// How a prefix outlives the time until it is needed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The short lifetime and nothing else: it lasts, or writing again costs less than keeping.
    Short,
    /// The short lifetime, and a request that reads the prefix from time to time.
    Pings {
        /// How long after the start of the last request the next ping starts, in milliseconds.
        every_ms: i64,
        /// After so many pings writing again would have cost less: they end.
        at_most: u32,
    },
    /// The long lifetime.
    Long,
}

/// Chooses for a prefix that is needed again `expected_gap_ms` after the start of its last request. Without a price nothing
/// is spent on keeping it.
pub fn keep(expected_gap_ms: i64, facts: &Facts, now_ms: i64) -> Keep {
    let price = facts.prices.at(now_ms);
    let Some(price) = price.filter(|_| facts.reliable && facts.short_ms > 0) else {
        return Keep::Short;
    };
    if expected_gap_ms < facts.short_ms {
        return Keep::Short;
    }
    let rates = price.base;
    let every_ms = (facts.short_ms - facts.short_ms / PING_MARGIN).max(1);
    // The last ping must leave a lifetime that reaches to the end.
    let uncovered_ms = (expected_gap_ms - facts.short_ms).saturating_add(1);
    let pings = uncovered_ms / every_ms + i64::from(uncovered_ms % every_ms > 0);
    let at_most = pings_worth(&rates);
    let rewritten = rates.write_short - rates.read;
    let pinged = pings as f64 * rates.read;
    let long = facts.long_ms.filter(|long_ms| expected_gap_ms < *long_ms);
    let long = long.map_or(f64::INFINITY, |_| rates.write_long - rates.write_short);
    let by_pings = pings <= i64::from(at_most) && pinged < rewritten;
    if by_pings && pinged < long {
        Keep::Pings { every_ms, at_most }
    } else if long < rewritten {
        Keep::Long
    } else {
        Keep::Short
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Models;

    const MINUTE_MS: i64 = 60_000;

    fn facts(model: &str) -> Facts {
        Models::bundled().facts(model)
    }

    #[test]
    fn so_many_pings_cost_less_than_one_write() {
        let check = |model: &str, expected: u32| {
            let price = facts(model).prices.at(0).unwrap();
            assert_eq!(pings_worth(&price.base), expected, "{model}");
        };
        check("anthropic/claude-opus-5", 11);
        check("anthropic/claude-opus-5-5", 24);
        check("anthropic/claude-sonnet-5-5", 24);
        check("anthropic/claude-fable-5-1", 49);
        let free = Rates { input: 1.0, write_short: 1.0, write_long: 1.0, read: 0.0, output: 1.0 };
        assert_eq!(pings_worth(&free), PINGS_MAX);
        assert_eq!(pings_worth(&Rates { read: 1.0, ..free }), 0);
    }

    fn check(model: &str, minutes: i64, expected: &str) {
        let kept = match keep(minutes * MINUTE_MS, &facts(model), 0) {
            Keep::Short => "short",
            Keep::Pings { .. } => "pings",
            Keep::Long => "long",
        };
        assert_eq!(kept, expected, "{model}, {minutes} min");
    }

    #[test]
    fn the_expected_gap_chooses_how_a_prefix_is_kept() {
        for model in ["anthropic/claude-opus-5", "anthropic/claude-opus-5-5"] {
            check(model, 4, "short");
            check(model, 5, "pings");
            check(model, 34, "pings");
        }
        check("anthropic/claude-opus-5", 45, "long");
        check("anthropic/claude-opus-5-5", 59, "pings");
        // Nothing lasts: when it comes back, it is written again.
        check("anthropic/claude-opus-5", 300, "short");
        check("gemini/gemini-3.8-flash", 30, "short");
        check("openai-compat/llama", 30, "short");
        check("openai/gpt-6.1-sol", 29, "short");
        check("openai/gpt-6.1-sol", 300, "pings");
    }

    #[test]
    fn a_ping_starts_before_the_entry_dies() {
        let kept = keep(10 * MINUTE_MS, &facts("anthropic/claude-opus-5-5"), 0);
        assert_eq!(kept, Keep::Pings { every_ms: 270_000, at_most: 24 });
    }
}
