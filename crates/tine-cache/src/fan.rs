//! What a fan-out cost, beside what it would have cost otherwise.

use tine_model::Usage;

use crate::prices::Price;

/// Money for one fan-out, in USD, output included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FanCost {
    /// As it was.
    pub actual: f64,
    /// Had every sibling written the prefix for itself: started together on a cold prefix, or lost the cache.
    pub naive: f64,
    /// Had the whole prefix been in the cache before the first sibling started.
    pub ideal: f64,
    /// Had nothing been cached at all.
    pub uncached: f64,
}

impl FanCost {
    /// Ideal by actual: 1 is perfect.
    pub fn efficiency(&self) -> f64 {
        if self.actual > 0.0 { self.ideal / self.actual } else { 1.0 }
    }
}

/// Prices a fan-out of siblings, each given as (usage of its first request, usage of all its requests).
///
/// The shared prefix is the most that any sibling read on its first request; when none read anything, it is the shortest
/// first prompt, which is longer than the prefix by one directive. Naive pays a write for every token that was read
/// there; ideal pays a read for every token of the prefix that was written there.
pub fn fan_cost(price: &Price, siblings: &[(Usage, Usage)]) -> FanCost {
    let read = siblings.iter().filter_map(|(first, _)| first.read).max().unwrap_or(0);
    let shortest = || siblings.iter().map(|(first, _)| first.prompt()).min().unwrap_or(0);
    let shared = if read > 0 { read } else { shortest() };
    let actual: f64 = siblings.iter().map(|(_, all)| price.cost(all)).sum();
    let uncached = siblings.iter().map(|(_, all)| price.cost_uncached(all)).sum();
    let (mut naive, mut ideal) = (actual, actual);
    for (first, _) in siblings {
        let read = first.read.unwrap_or(0);
        naive += price.write_over_read(read);
        ideal -= price.write_over_read(shared.saturating_sub(read).min(first.written()));
    }
    FanCost { actual, naive, ideal, uncached }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The closed forms of a cold fan-out, led: `wP + (N−1)rP + NwD`; naive: `N(wP + wD)`; ideal: `N(rP + wD)`.
    #[test]
    fn a_led_cold_fan_out_equals_the_closed_forms() {
        let price =
            Price { input: 4.0, write_short: 5.0, write_long: 8.0, read: 0.2, output: 20.0 };
        let (n, p, d) = (8_u64, 100_000_u64, 500_u64);
        let usage = |written: u64, read: u64| Usage {
            write_short: Some(written),
            read: Some(read),
            ..Usage::default()
        };
        let siblings: Vec<_> = (0..n)
            .map(|index| if index == 0 { usage(p + d, 0) } else { usage(d, p) })
            .map(|usage| (usage, usage))
            .collect();
        let cost = fan_cost(&price, &siblings);
        let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        close(cost.actual, dollars(p, 5.0) + dollars((n - 1) * p, 0.2) + dollars(n * d, 5.0));
        close(cost.naive, dollars(n * (p + d), 5.0));
        close(cost.ideal, dollars(n * p, 0.2) + dollars(n * d, 5.0));
        close(cost.uncached, dollars(n * (p + d), 4.0));
    }

    #[test]
    fn a_fan_out_that_lost_the_cache_is_not_called_efficient() {
        let price =
            Price { input: 4.0, write_short: 5.0, write_long: 8.0, read: 0.2, output: 20.0 };
        let missed = Usage { write_short: Some(100_000), read: Some(0), ..Usage::default() };
        let cost = fan_cost(&price, &[(missed, missed); 4]);
        assert_eq!(cost.naive, cost.actual);
        assert!(cost.efficiency() < 0.05, "{}", cost.efficiency());
    }
}
