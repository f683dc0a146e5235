//! The rows of a file of models, and how one is laid over another.

use serde::{Deserialize, Deserializer};
use tine_model::CacheScheme;

use super::times::{Day, Hours, Time, fault};
use crate::facts::{Facts, SharesAt};
use crate::price::{Price, Rates, Tier};
use crate::prices::Prices;

/// Without a row that says otherwise: the smallest common minimum of the hosted automatic caches.
const MIN_TOKENS: u64 = 1024;

/// Without a row that says otherwise: the shortest lifetime that any hosted cache documents.
const SHORT_MINUTES: u32 = 5;

const MINUTE_MS: i64 = 60_000;

/// The highest price or factor that is believed; more is a slip of the keyboard.
const NUMBER_MAX: f64 = 1e6;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    #[serde(default)]
    pub(super) date: Option<String>,
    #[serde(default)]
    pub(super) model: Vec<Row>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SchemeWord {
    Marks,
    Breakpoints,
    Automatic,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SharesWord {
    FirstEvent,
    End,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ThinkingWord {
    Adaptive,
    /// Either way, which a row says over a shorter name's.
    Any,
}

/// The row of a file, and the field-by-field sum of several.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) like: Option<String>,
    #[serde(default)]
    pub(super) unpriced: bool,
    pub(super) source: Option<String>,
    scheme: Option<SchemeWord>,
    min_tokens: Option<u64>,
    short_minutes: Option<u32>,
    long_minutes: Option<u32>,
    lookback_blocks: Option<u32>,
    step_tokens: Option<u64>,
    caches_output: Option<bool>,
    whole_requests: Option<bool>,
    shares_at: Option<SharesWord>,
    slots: Option<u32>,
    diagnoses: Option<bool>,
    context_tokens: Option<u64>,
    storage_per_hour: Option<Number>,
    key_requests_per_minute: Option<u32>,
    thinking: Option<ThinkingWord>,
    strips_reasoning: Option<bool>,
    reliable: Option<bool>,
    input: Option<Number>,
    write_short: Option<Number>,
    write_long: Option<Number>,
    read: Option<Number>,
    output: Option<Number>,
    tier_above_tokens: Option<u64>,
    tier_prompt: Option<Number>,
    tier_output: Option<Number>,
    /// What holds at some times only, in place of the same fields above.
    #[serde(default)]
    price: Vec<Terms>,
}

/// The prices of a time.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Terms {
    from: Option<Day>,
    until: Option<Day>,
    #[serde(default)]
    hours: Vec<Hours>,
    input: Option<Number>,
    write_short: Option<Number>,
    write_long: Option<Number>,
    read: Option<Number>,
    output: Option<Number>,
    tier_above_tokens: Option<u64>,
    tier_prompt: Option<Number>,
    tier_output: Option<Number>,
}

/// A price or a factor: finite, not negative, not absurd.
#[derive(Debug, Clone, Copy)]
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        if (0.0..=NUMBER_MAX).contains(&number) {
            Ok(Self(number))
        } else {
            Err(serde::de::Error::custom(format!("{number} is not between 0 and {NUMBER_MAX}")))
        }
    }
}

/// Takes each of the fields that `$from` has.
macro_rules! take {
    ($into:ident, $from:ident: $($field:ident),+) => {
        $(if $from.$field.is_some() { $into.$field = $from.$field; })+
    };
}

/// Takes each field of a price that `$from` has.
macro_rules! take_price {
    ($into:expr, $from:expr) => {
        let (into, from) = ($into, $from);
        take!(into, from: input, write_short, write_long, read, output, tier_above_tokens, tier_prompt, tier_output);
    };
}

impl Row {
    /// Lays a row over this one. Its name, model to be like and source are not taken. What it says of all times is said of each.
    pub(super) fn lay_over(&mut self, row: &Self) {
        if row.unpriced {
            (self.input, self.write_short, self.write_long) = (None, None, None);
            (self.read, self.output) = (None, None);
            (self.tier_above_tokens, self.tier_prompt, self.tier_output) = (None, None, None);
            self.price.clear();
        }
        take!(self, row: scheme, min_tokens, short_minutes, long_minutes, lookback_blocks, step_tokens, caches_output,
            whole_requests, shares_at, slots, diagnoses, context_tokens, storage_per_hour, key_requests_per_minute, thinking,
            strips_reasoning, reliable);
        take_price!(&mut *self, row);
        for terms in &mut self.price {
            take_price!(terms, row);
        }
        if !row.price.is_empty() {
            self.price = row.price.iter().map(|terms| self.at_all_times().with(terms)).collect();
        }
    }

    fn at_all_times(&self) -> Terms {
        let mut terms = Terms::default();
        take_price!(&mut terms, self);
        terms
    }

    /// Whether the row says anything about prices.
    pub(super) fn has_prices(&self) -> bool {
        let prices = [self.input, self.write_short, self.write_long, self.read, self.output];
        prices.iter().any(Option::is_some) || !self.price.is_empty()
    }

    /// What is wrong with the times of the row's prices.
    pub(super) fn fault_of_times(&self) -> Option<String> {
        let times: Vec<Time<'_>> = self.price.iter().map(Terms::time).collect();
        if times.is_empty() { None } else { fault(&times) }
    }

    /// The prices, where none is incomplete.
    fn prices(&self) -> Option<Prices> {
        if self.price.is_empty() {
            return self.at_all_times().price().map(Prices::always);
        }
        let periods = self.price.iter().map(|terms| Some((terms.time().span(), terms.price()?)));
        periods.collect::<Option<_>>().map(Prices::of)
    }

    pub(super) fn facts(&self) -> Facts {
        let lifetime = |minutes: u32| i64::from(minutes) * MINUTE_MS;
        Facts {
            scheme: match self.scheme {
                Some(SchemeWord::Marks) => CacheScheme::Marks,
                Some(SchemeWord::Breakpoints) => CacheScheme::Breakpoints,
                Some(SchemeWord::Automatic) | None => CacheScheme::Automatic,
            },
            prices: self.prices().unwrap_or_default(),
            min_tokens: self.min_tokens.unwrap_or(MIN_TOKENS),
            short_ms: lifetime(self.short_minutes.unwrap_or(SHORT_MINUTES)),
            long_ms: self.long_minutes.filter(|minutes| *minutes > 0).map(lifetime),
            lookback_blocks: self.lookback_blocks.filter(|blocks| *blocks > 0),
            step_tokens: self.step_tokens.unwrap_or(1).max(1),
            caches_output: self.caches_output.unwrap_or(false),
            whole_requests: self.whole_requests.unwrap_or(false),
            shares_at: match self.shares_at {
                Some(SharesWord::FirstEvent) | None => SharesAt::FirstEvent,
                Some(SharesWord::End) => SharesAt::End,
            },
            slots: self.slots.filter(|slots| *slots > 0),
            diagnoses: self.diagnoses.unwrap_or(false),
            context_tokens: self.context_tokens,
            storage_per_hour: self.storage_per_hour.map(|Number(price)| price),
            key_requests_per_minute: self.key_requests_per_minute.filter(|most| *most > 0),
            thinks_adaptively: matches!(self.thinking, Some(ThinkingWord::Adaptive)),
            strips_reasoning: self.strips_reasoning.unwrap_or(false),
            reliable: self.reliable.unwrap_or(true),
        }
    }
}

impl Terms {
    /// The same with what other terms say, at the time of those.
    fn with(self, terms: &Self) -> Self {
        let mut whole =
            Self { from: terms.from, until: terms.until, hours: terms.hours.clone(), ..self };
        take_price!(&mut whole, terms);
        whole
    }

    fn time(&self) -> Time<'_> {
        Time { from: self.from, until: self.until, hours: &self.hours }
    }

    fn price(&self) -> Option<Price> {
        let Number(input) = self.input?;
        let or = |number: Option<Number>, other: f64| number.map_or(other, |Number(number)| number);
        let write_short = or(self.write_short, input);
        let base = Rates {
            input,
            write_short,
            write_long: or(self.write_long, write_short),
            read: or(self.read, input),
            output: self.output?.0,
        };
        let tier = self.tier_above_tokens.map(|above_tokens| {
            let rates = base.scaled(or(self.tier_prompt, 1.0), or(self.tier_output, 1.0));
            Tier { above_tokens, rates }
        });
        Some(Price { base, tier })
    }
}
