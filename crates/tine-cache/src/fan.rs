//! What a fan-out cost, beside what it would have cost otherwise.

use tine_model::{Spent, Usage};

use crate::price::{Price, Rates, UNIT_TOKENS};
use crate::prices::Prices;
use crate::tokens::prompt_of;

/// What one sibling used.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sibling {
    /// Tokens of its first request.
    pub first: Usage,
    /// How many requests it made.
    pub requests: u32,
    /// What all its requests cost, in USD; each priced by itself, because the tier goes by the size of a prompt.
    pub actual: f64,
    /// What requests after the first paid over reading what the sibling's request before had in the cache, in USD.
    pub lost: f64,
    /// What they would have cost without any cache, in USD.
    pub uncached: f64,
}

impl Sibling {
    /// Prices a sibling's requests, the first one first, each at the price of its time. `None` when there are none, and without a
    /// price.
    pub fn priced(prices: &Prices, requests: &[Spent]) -> Option<Self> {
        let first = requests.first()?.usage;
        let (mut lost, mut uncached) = (0.0, 0.0);
        for (index, spent) in requests.iter().enumerate() {
            let price = prices.at(spent.started_ms)?;
            uncached += price.cost_uncached(&spent.usage);
            let before = index.checked_sub(1).map(|before| &requests[before].usage);
            lost += before.map_or(0.0, |before| lost_between(&price, before, &spent.usage));
        }
        Some(Self {
            first,
            requests: u32::try_from(requests.len()).unwrap_or(u32::MAX),
            actual: prices.cost(requests)?,
            lost,
            uncached,
        })
    }
}

/// Money for a fan-out or for one fork of it, in USD, output included.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FanCost {
    /// As it was.
    pub actual: f64,
    /// Had every sibling written the prefix for itself: started together on a cold prefix, or lost the cache.
    pub naive: f64,
    /// Had one sibling written the prefix and every other read it.
    pub leader_first: f64,
    /// Had the whole prefix been in the cache before the first sibling started.
    pub warm: f64,
    /// And had no sibling that made a single request written what nobody reads, and no later request lost what the one
    /// before it had in the cache.
    pub ideal: f64,
    /// Had nothing been cached at all.
    pub uncached: f64,
}

impl FanCost {
    /// Ideal by actual: 1 is perfect.
    pub fn efficiency(&self) -> f64 {
        if self.actual > 0.0 { self.ideal / self.actual } else { 1.0 }
    }

    /// The cost of a fan-out out of that of each sibling, as [`fork_costs`] gives them.
    fn sum(forks: &[Self], lead: f64) -> Self {
        let mut sum = Self::default();
        for fork in forks {
            sum.actual += fork.actual;
            sum.naive += fork.naive;
            sum.warm += fork.warm;
            sum.ideal += fork.ideal;
            sum.uncached += fork.uncached;
        }
        Self { leader_first: sum.warm + lead, ..sum }
    }
}

/// Prices a fan-out of siblings.
///
/// The shared prefix is the most that any sibling read on its first request; when none read anything, it is the shortest
/// first prompt, which is longer than the prefix by one directive. Naive pays a write for every token that was read
/// there; warm pays a read for every token of the prefix that was not. A sibling whose reads were not reported is in every
/// column what it was.
pub fn fan_cost(price: &Price, siblings: &[Sibling]) -> FanCost {
    let shared = shared_tokens(siblings);
    let forks = fork_costs(price, siblings);
    let first = firsts(siblings);
    let largest = siblings.iter().max_by_key(|sibling| prompt_of(&sibling.first));
    let lead = largest.map_or(0.0, |leader| {
        let rates = price.rates_for(prompt_of(&leader.first));
        let reported = siblings.iter().any(|sibling| sibling.first.read.is_some());
        let led = if reported { shared } else { 0 };
        dollars(led, write_price(rates, &first) - rates.read)
    });
    FanCost::sum(&forks, lead)
}

/// Prices each sibling of a fan-out by itself, in order; the column for the leader is that of a sibling that is none.
pub fn fork_costs(price: &Price, siblings: &[Sibling]) -> Vec<FanCost> {
    let (shared, firsts) = (shared_tokens(siblings), firsts(siblings));
    let cost = |sibling: &Sibling| {
        let first = &sibling.first;
        let rates = price.rates_for(prompt_of(first));
        let write = write_price(rates, &firsts);
        let (mut naive, mut warm) = (sibling.actual, sibling.actual);
        if let Some(read) = first.read {
            naive += dollars(read, write - rates.read);
            // The part of the prefix that was not read was written, or else it was plain input.
            let missed = shared.saturating_sub(read);
            let written = missed.min(written(first));
            let plain = (missed - written).min(first.uncached);
            warm -= dollars(written, write - rates.read) + dollars(plain, rates.input - rates.read);
        }
        let own = written(first).saturating_sub(shared.saturating_sub(first.read.unwrap_or(0)));
        let wasted = if sibling.requests > 1 { 0 } else { own };
        FanCost {
            actual: sibling.actual,
            naive,
            leader_first: warm,
            warm,
            ideal: warm - dollars(wasted, write - rates.input) - sibling.lost,
            uncached: sibling.uncached,
        }
    };
    siblings.iter().map(cost).collect()
}

/// What the second of two requests in a row of one sibling paid over reading what the first one read or wrote. Where one of them
/// reports no reads, nothing is known to be lost.
fn lost_between(price: &Price, before: &Usage, after: &Usage) -> f64 {
    let (Some(had), Some(read)) = (before.read, after.read) else { return 0.0 };
    let rates = price.rates_for(prompt_of(after));
    let missed = had.saturating_add(written(before)).saturating_sub(read);
    let rewritten = missed.min(written(after));
    let plain = (missed - rewritten).min(after.uncached);
    let write = write_price(rates, &[*after]);
    dollars(rewritten, write - rates.read) + dollars(plain, rates.input - rates.read)
}

fn shared_tokens(siblings: &[Sibling]) -> u64 {
    let read = siblings.iter().filter_map(|sibling| sibling.first.read).max().unwrap_or(0);
    let shortest = || siblings.iter().map(|sibling| prompt_of(&sibling.first)).min().unwrap_or(0);
    if read > 0 { read } else { shortest() }
}

fn firsts(siblings: &[Sibling]) -> Vec<Usage> {
    siblings.iter().map(|sibling| sibling.first).collect()
}

fn written(usage: &Usage) -> u64 {
    usage.write_short.unwrap_or(0).saturating_add(usage.write_long.unwrap_or(0))
}

/// What requests paid for a written token: the price of its lifetime, or of the mixture of both.
fn write_price(rates: &Rates, requests: &[Usage]) -> f64 {
    let sum = |part: fn(&Usage) -> Option<u64>| {
        requests.iter().filter_map(part).map(|part| part as f64).sum()
    };
    let (short, long): (f64, f64) = (sum(|usage| usage.write_short), sum(|usage| usage.write_long));
    if long > 0.0 {
        (short * rates.write_short + long * rates.write_long) / (short + long)
    } else {
        rates.write_short
    }
}

fn dollars(tokens: u64, price: f64) -> f64 {
    tokens as f64 * price / UNIT_TOKENS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use crate::forms::{Shape, closed_forms};
    use crate::models::Models;
    use tine_model::Lifetime;

    const N: u64 = 8;
    const P: u64 = 100_000;
    const D: u64 = 500;

    fn facts() -> Facts {
        Models::bundled().facts("anthropic/claude-opus-5-5")
    }

    fn written_and_read(written: u64, read: u64) -> Usage {
        Usage { write_short: Some(written), read: Some(read), ..Usage::default() }
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    fn priced(price: &Price, requests: &[Usage]) -> Sibling {
        let spent = |usage: &Usage| Spent { started_ms: 0, usage: *usage };
        let requests: Vec<Spent> = requests.iter().map(spent).collect();
        Sibling::priced(&Prices::always(*price), &requests).unwrap()
    }

    /// A cold fan-out, led; each sibling makes `requests` requests, of which only the first costs anything.
    fn led(price: &Price, requests: u32) -> Vec<Sibling> {
        let first =
            |index| if index == 0 { written_and_read(P + D, 0) } else { written_and_read(D, P) };
        let sibling = |index| Sibling { requests, ..priced(price, &[first(index)]) };
        (0..N).map(sibling).collect()
    }

    #[test]
    fn a_later_miss_is_no_part_of_the_ideal() {
        let price = facts().prices.at(0).unwrap();
        let served = [written_and_read(D, P), written_and_read(D, P + D)];
        let lost = [written_and_read(D, P), written_and_read(P + 2 * D, 0)];
        let ideal = |requests: &[Usage]| fan_cost(&price, &[priced(&price, requests)]).ideal;
        close(ideal(&served), ideal(&lost));
        let unreported = [served[0], Usage { read: None, ..lost[1] }];
        close(priced(&price, &unreported).lost, 0.0);
    }

    #[test]
    fn a_led_cold_fan_out_equals_the_closed_forms() {
        let facts = facts();
        let price = facts.prices.at(0).unwrap();
        let shape = Shape {
            siblings: N,
            prefix_tokens: P,
            gap_tokens: P,
            directive_tokens: D,
            lifetime: Lifetime::Short,
            marks_tail: true,
        };
        let forms = closed_forms(&shape, &facts);
        let cost = fan_cost(&price, &led(&price, 1));
        close(cost.actual, forms.leader_first.dollars(&price));
        close(cost.naive, forms.naive.dollars(&price));
        close(cost.leader_first, forms.leader_first.dollars(&price));
        close(cost.warm, forms.warm.dollars(&price));
        close(cost.ideal, forms.ideal.dollars(&price));
        close(cost.uncached, forms.uncached.dollars(&price));
    }

    #[test]
    fn a_sibling_that_went_on_was_right_to_write_its_tail() {
        let price = facts().prices.at(0).unwrap();
        let cost = fan_cost(&price, &led(&price, 2));
        close(cost.ideal, cost.warm);
        close(cost.warm, dollars(N * P, 0.2) + dollars(N * D, 5.0));
    }

    #[test]
    fn a_fan_out_that_lost_the_cache_is_not_called_efficient() {
        let price = facts().prices.at(0).unwrap();
        let missed = priced(&price, &[written_and_read(100_000, 0)]);
        let cost = fan_cost(&price, &[missed; 4]);
        close(cost.naive, cost.actual);
        assert!(cost.efficiency() < 0.05, "{}", cost.efficiency());
    }

    #[test]
    fn each_fork_has_its_own_efficiency() {
        let price = facts().prices.at(0).unwrap();
        let forks = fork_costs(&price, &led(&price, 2));
        assert!(forks[0].efficiency() < 0.05, "{}", forks[0].efficiency());
        close(forks[1].efficiency(), 1.0);
        close(forks.iter().map(|fork| fork.actual).sum(), fan_cost(&price, &led(&price, 2)).actual);
    }

    #[test]
    fn an_automatic_cache_that_missed_paid_for_input() {
        let facts = Models::bundled().facts("openai/gpt-5.4");
        let price = facts.prices.at(0).unwrap();
        let plain = |uncached, read| Usage { uncached, read: Some(read), ..Usage::default() };
        let siblings = [plain(10_000, 0), plain(400, 9_600)];
        let siblings = siblings.map(|usage| priced(&price, &[usage]));
        let cost = fan_cost(&price, &siblings);
        close(cost.warm, 2.0 * (dollars(400, 2.5) + dollars(9_600, 0.25)));
        close(cost.leader_first, cost.actual);
        close(cost.naive, cost.uncached);
    }

    #[test]
    fn what_was_not_reported_is_not_called_a_miss() {
        let price = facts().prices.at(0).unwrap();
        let silent = Usage { uncached: 1_000, ..Usage::default() };
        let cost = fan_cost(&price, &[priced(&price, &[silent]); 3]);
        close(cost.ideal, cost.actual);
        close(cost.leader_first, cost.actual);
    }

    #[test]
    fn every_request_is_priced_by_its_own_size() {
        let price = Models::bundled().price("anthropic/claude-haiku-5-5", 0).unwrap();
        let short = written_and_read(0, 60_000);
        let sibling = priced(&price, &[short, short]);
        close(sibling.actual, 2.0 * dollars(60_000, 0.01));
    }
}
