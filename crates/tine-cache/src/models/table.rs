//! The rows of a file of models, and how one is laid over another.

use serde::{Deserialize, Deserializer};
use tine_model::CacheScheme;

use crate::facts::{Facts, SharesAt};
use crate::price::{Price, Rates, Tier};

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
    #[serde(default, deserialize_with = "number")]
    storage_per_hour: Option<f64>,
    key_requests_per_minute: Option<u32>,
    thinking: Option<ThinkingWord>,
    strips_reasoning: Option<bool>,
    reliable: Option<bool>,
    #[serde(default, deserialize_with = "number")]
    input: Option<f64>,
    #[serde(default, deserialize_with = "number")]
    write_short: Option<f64>,
    #[serde(default, deserialize_with = "number")]
    write_long: Option<f64>,
    #[serde(default, deserialize_with = "number")]
    read: Option<f64>,
    #[serde(default, deserialize_with = "number")]
    output: Option<f64>,
    tier_above_tokens: Option<u64>,
    #[serde(default, deserialize_with = "number")]
    tier_prompt: Option<f64>,
    #[serde(default, deserialize_with = "number")]
    tier_output: Option<f64>,
}

/// A price or a factor: finite, not negative, not absurd.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let number = f64::deserialize(deserializer)?;
    if (0.0..=NUMBER_MAX).contains(&number) {
        Ok(Some(number))
    } else {
        Err(serde::de::Error::custom(format!("{number} is not between 0 and {NUMBER_MAX}")))
    }
}

/// Takes each of the fields that `$from` has.
macro_rules! take {
    ($into:ident, $from:ident: $($field:ident),+) => {
        $(if $from.$field.is_some() { $into.$field = $from.$field; })+
    };
}

impl Row {
    /// Lays a row over this one. Its name, model to be like and source are not taken.
    pub(super) fn lay_over(&mut self, row: &Self) {
        if row.unpriced {
            (self.input, self.write_short, self.write_long) = (None, None, None);
            (self.read, self.output) = (None, None);
            (self.tier_above_tokens, self.tier_prompt, self.tier_output) = (None, None, None);
        }
        take!(self, row: scheme, min_tokens, short_minutes, long_minutes, lookback_blocks, step_tokens, caches_output,
            whole_requests, shares_at, slots, diagnoses, context_tokens, storage_per_hour, key_requests_per_minute, thinking,
            strips_reasoning, reliable,
            input, write_short, write_long, read, output, tier_above_tokens, tier_prompt, tier_output);
    }

    /// Whether the row says anything about prices.
    pub(super) fn has_prices(&self) -> bool {
        let prices = [self.input, self.write_short, self.write_long, self.read, self.output];
        prices.iter().any(Option::is_some)
    }

    fn price(&self) -> Option<Price> {
        let input = self.input?;
        let write_short = self.write_short.unwrap_or(input);
        let base = Rates {
            input,
            write_short,
            write_long: self.write_long.unwrap_or(write_short),
            read: self.read.unwrap_or(input),
            output: self.output?,
        };
        let tier = self.tier_above_tokens.map(|above_tokens| {
            let (prompt, output) = (self.tier_prompt.unwrap_or(1.0), self.tier_output);
            Tier { above_tokens, rates: base.scaled(prompt, output.unwrap_or(1.0)) }
        });
        Some(Price { base, tier })
    }

    pub(super) fn facts(&self) -> Facts {
        let lifetime = |minutes: u32| i64::from(minutes) * MINUTE_MS;
        Facts {
            scheme: match self.scheme {
                Some(SchemeWord::Marks) => CacheScheme::Marks,
                Some(SchemeWord::Breakpoints) => CacheScheme::Breakpoints,
                Some(SchemeWord::Automatic) | None => CacheScheme::Automatic,
            },
            price: self.price(),
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
            storage_per_hour: self.storage_per_hour,
            key_requests_per_minute: self.key_requests_per_minute.filter(|most| *most > 0),
            thinks_adaptively: matches!(self.thinking, Some(ThinkingWord::Adaptive)),
            strips_reasoning: self.strips_reasoning.unwrap_or(false),
            reliable: self.reliable.unwrap_or(true),
        }
    }
}
