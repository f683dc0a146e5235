//! Rate limits by the simulator's clock: token buckets that fill continuously, a limit on how fast requests may come, and a
//! cap on what may be spent. Decides and counts; how a refusal or a header reads is up to the formats.
//!
//! | key under `[limits]` | meaning |
//! |---|---|
//! | `requests_per_minute` | requests of one key for one model |
//! | `input_tokens_per_minute` | prompt tokens; where the vendor counts so, without those that the cache served |
//! | `requests_per_second` | more within any second is a ramp, and refused although the minute has room |
//! | `spend_tokens` | tokens of prompts and answers of one key, after which nothing is answered |

mod words;

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU64;

use serde::Deserialize;

pub(crate) use words::{headers, refusal};

use crate::cache::Digest;

const MINUTE_MS: u64 = 60_000;
const SECOND_MS: u64 = 1_000;

/// Limits of a scenario, as written under `[limits]`. What is absent does not limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) requests_per_minute: Option<NonZeroU64>,
    pub(crate) input_tokens_per_minute: Option<NonZeroU64>,
    pub(crate) requests_per_second: Option<NonZeroU64>,
    pub(crate) spend_tokens: Option<u64>,
}

/// Which limit was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// Requests per minute; there is room again after so many milliseconds.
    Requests { wait_ms: u64 },
    /// Tokens per minute.
    Tokens { wait_ms: u64 },
    /// Requests come too fast.
    Ramp { wait_ms: u64 },
    /// The cap: waiting does not help.
    Spent,
}

/// What is left of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    /// Until nothing is used any more.
    pub(crate) full_in_ms: u64,
}

/// What is left of the limits that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Remaining {
    pub(crate) requests: Option<Left>,
    pub(crate) tokens: Option<Left>,
}

/// A bucket. Amounts are in units of 1/60,000, of which one minute's limit brings in its number each millisecond, so that
/// nothing is ever rounded.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    per_minute: u64,
    level: u128,
    at_ms: u64,
}

impl Bucket {
    fn new(per_minute: NonZeroU64, now_ms: u64) -> Self {
        let per_minute = per_minute.get();
        Self { per_minute, level: u128::from(per_minute) * u128::from(MINUTE_MS), at_ms: now_ms }
    }

    fn capacity(&self) -> u128 {
        u128::from(self.per_minute) * u128::from(MINUTE_MS)
    }

    fn fill(&mut self, now_ms: u64) {
        let passed = now_ms.saturating_sub(self.at_ms);
        let brought = u128::from(self.per_minute) * u128::from(passed);
        self.level = self.capacity().min(self.level + brought);
        self.at_ms = self.at_ms.max(now_ms);
    }

    /// Takes an amount, or says how long until there is enough. More than the bucket holds is never there; the wait is
    /// then until it is full.
    fn take(&mut self, amount: u64, now_ms: u64) -> Result<(), u64> {
        self.fill(now_ms);
        let needed = u128::from(amount) * u128::from(MINUTE_MS);
        match self.level.checked_sub(needed) {
            Some(left) => {
                self.level = left;
                Ok(())
            }
            None => Err(self.until(needed.min(self.capacity())).max(1)),
        }
    }

    fn until(&self, level: u128) -> u64 {
        let missing = level.saturating_sub(self.level);
        u64::try_from(missing.div_ceil(u128::from(self.per_minute))).unwrap_or(u64::MAX)
    }

    fn left(&mut self, now_ms: u64) -> Left {
        self.fill(now_ms);
        let remaining = u64::try_from(self.level / u128::from(MINUTE_MS)).unwrap_or(u64::MAX);
        Left { limit: self.per_minute, remaining, full_in_ms: self.until(self.capacity()) }
    }
}

#[derive(Debug, Default)]
struct Account {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    recent_ms: VecDeque<u64>,
}

/// The use of all limits: by key and model, what is spent by key.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    accounts: HashMap<Digest, Account>,
    spent: HashMap<Digest, u64>,
}

impl Meter {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, accounts: HashMap::new(), spent: HashMap::new() }
    }

    /// Counts a request; a refused one does not count, except where the vendor counts failures too.
    pub(crate) fn request(
        &mut self,
        key: &Digest,
        model: &str,
        now_ms: u64,
        counts_failures: bool,
    ) -> Result<(), Over> {
        let spent = self.spent.get(key).copied().unwrap_or(0);
        let is_spent = self.limits.spend_tokens.is_some_and(|cap| spent >= cap);
        let per_second = self.limits.requests_per_second;
        let account = self.account(key, model, now_ms);
        if let Some(bucket) = &mut account.requests {
            bucket.take(1, now_ms).map_err(|wait_ms| Over::Requests { wait_ms })?;
        }
        let ramp = per_second.map_or(Ok(()), |limit| account.ramp(limit, now_ms));
        let refused = if is_spent { Err(Over::Spent) } else { ramp };
        if refused.is_err()
            && !counts_failures
            && let Some(bucket) = &mut account.requests
        {
            bucket.level = bucket.capacity().min(bucket.level + u128::from(MINUTE_MS));
        }
        refused
    }

    /// Counts the tokens of a prompt that limits count.
    pub(crate) fn tokens(
        &mut self,
        key: &Digest,
        model: &str,
        tokens: u64,
        now_ms: u64,
    ) -> Result<(), Over> {
        match &mut self.account(key, model, now_ms).tokens {
            Some(bucket) => bucket.take(tokens, now_ms).map_err(|wait_ms| Over::Tokens { wait_ms }),
            None => Ok(()),
        }
    }

    /// Notes what an answered request cost.
    pub(crate) fn spend(&mut self, key: &Digest, tokens: u64) {
        let spent = self.spent.entry(*key).or_default();
        *spent = spent.saturating_add(tokens);
    }

    /// What is left now.
    pub(crate) fn remaining(&mut self, key: &Digest, model: &str, now_ms: u64) -> Remaining {
        let account = self.account(key, model, now_ms);
        Remaining {
            requests: account.requests.as_mut().map(|bucket| bucket.left(now_ms)),
            tokens: account.tokens.as_mut().map(|bucket| bucket.left(now_ms)),
        }
    }

    fn account(&mut self, key: &Digest, model: &str, now_ms: u64) -> &mut Account {
        let name = blake3::Hasher::new().update(key).update(model.as_bytes()).finalize();
        let limits = &self.limits;
        self.accounts.entry(*name.as_bytes()).or_insert_with(|| Account {
            requests: limits.requests_per_minute.map(|limit| Bucket::new(limit, now_ms)),
            tokens: limits.input_tokens_per_minute.map(|limit| Bucket::new(limit, now_ms)),
            recent_ms: VecDeque::new(),
        })
    }
}

impl Account {
    fn ramp(&mut self, limit: NonZeroU64, now_ms: u64) -> Result<(), Over> {
        while self.recent_ms.front().is_some_and(|at_ms| at_ms + SECOND_MS <= now_ms) {
            self.recent_ms.pop_front();
        }
        match self.recent_ms.front() {
            Some(first) if self.recent_ms.len() as u64 >= limit.get() => {
                Err(Over::Ramp { wait_ms: first + SECOND_MS - now_ms.min(first + SECOND_MS) })
            }
            _ => {
                self.recent_ms.push_back(now_ms);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: Digest = [1; 32];

    fn meter(limits: &str) -> Meter {
        Meter::new(toml::from_str(limits).expect("limits"))
    }

    #[test]
    fn a_bucket_gives_its_minute_at_once_and_fills_evenly() {
        let mut meter = meter("input_tokens_per_minute = 6000");
        assert_eq!(meter.tokens(&KEY, "m", 6_000, 0), Ok(()));
        let wait = Err(Over::Tokens { wait_ms: 10_000 });
        assert_eq!(meter.tokens(&KEY, "m", 1_000, 0), wait);
        let left = meter.remaining(&KEY, "m", 5_000).tokens;
        assert_eq!(left, Some(Left { limit: 6_000, remaining: 500, full_in_ms: 55_000 }));
        assert_eq!(meter.tokens(&KEY, "m", 1_000, 10_000), Ok(()));
        assert_eq!(meter.tokens(&KEY, "other", 6_000, 10_000), Ok(()));
        assert_eq!(meter.tokens(&[2; 32], "m", 6_000, 10_000), Ok(()));
        assert_eq!(meter.tokens(&KEY, "m", 9_000, 10_000), Err(Over::Tokens { wait_ms: 60_000 }));
    }

    #[test]
    fn requests_are_counted_and_refused_ones_only_where_the_vendor_does() {
        for (counts_failures, wait_ms) in [(false, 60_000), (true, 30_000)] {
            let mut meter = meter("requests_per_minute = 2\nspend_tokens = 10");
            assert_eq!(meter.request(&KEY, "m", 0, counts_failures), Ok(()));
            meter.spend(&KEY, 10);
            assert_eq!(meter.request(&KEY, "m", 0, counts_failures), Err(Over::Spent));
            let left = meter.remaining(&KEY, "m", 0).requests.map(|left| left.full_in_ms);
            assert_eq!(left, Some(if counts_failures { 60_000 } else { 30_000 }));
            let third = meter.request(&KEY, "m", 0, counts_failures);
            let expected = Over::Requests { wait_ms };
            assert_eq!(third == Err(expected), counts_failures);
        }
    }

    #[test]
    fn a_ramp_is_refused_although_the_minute_has_room() {
        let mut meter = meter("requests_per_minute = 1000\nrequests_per_second = 2");
        assert_eq!(meter.request(&KEY, "m", 0, false), Ok(()));
        assert_eq!(meter.request(&KEY, "m", 400, false), Ok(()));
        assert_eq!(meter.request(&KEY, "m", 900, false), Err(Over::Ramp { wait_ms: 100 }));
        assert_eq!(meter.request(&KEY, "m", 1_000, false), Ok(()));
    }

    #[test]
    fn without_limits_nothing_is_refused() {
        let mut meter = meter("");
        assert_eq!(meter.request(&KEY, "m", 0, true), Ok(()));
        assert_eq!(meter.tokens(&KEY, "m", u64::MAX, 0), Ok(()));
        assert_eq!(meter.remaining(&KEY, "m", 0), Remaining::default());
    }
}
