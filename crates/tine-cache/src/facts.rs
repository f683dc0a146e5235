//! What is known of one model's cache.

use tine_model::CacheScheme;

use crate::price::Rates;
use crate::prices::Prices;

/// When siblings can read what a request writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharesAt {
    /// From the first event of its answer on.
    FirstEvent,
    /// Once its answer is complete.
    End,
}

/// One model's cache rules and prices.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// How the cache is told what to keep.
    pub scheme: CacheScheme,
    /// What tokens cost, and when.
    pub prices: Prices,
    /// Prefixes of fewer tokens are not cached.
    pub min_tokens: u64,
    /// Least life of a short-lived entry, in milliseconds from the start of the request that wrote it or read it last.
    pub short_ms: i64,
    /// Least life of a long-lived entry; `None` where none is sold.
    pub long_ms: Option<i64>,
    /// How many positions a lookup probes for one mark, the marked one included; `None`: no limit.
    pub lookback_blocks: Option<u32>,
    /// Read counts are multiples of this; 1 where they are exact. Never 0.
    pub step_tokens: u64,
    /// Whether generated tokens are kept too.
    pub caches_output: bool,
    /// Whether only whole earlier prompts (with or without their answer) serve, and a shared beginning from the third
    /// request on: DeepSeek.
    pub whole_requests: bool,
    /// When siblings can read what a request writes.
    pub shares_at: SharesAt,
    /// The number of slots of a server whose cache is one conversation a slot; `None` where requests share what is kept.
    pub slots: Option<u32>,
    /// Whether the provider says why a cache missed, when asked.
    pub diagnoses: bool,
    /// Longest prompt.
    pub context_tokens: Option<u64>,
    /// What keeping an explicit resource costs, in USD per million tokens and hour.
    pub storage_per_hour: Option<f64>,
    /// Above this many requests a minute for one prefix and key, the provider turns to machines that are cold.
    pub key_requests_per_minute: Option<u32>,
    /// Whether the model forgets its earlier reasoning when somebody speaks to it, as opposed to tools answering: then words that
    /// stand behind open calls change what stands before them.
    pub strips_reasoning: bool,
    /// True if the model decides itself how much it thinks, and a request that gives it a budget is refused.
    pub thinks_adaptively: bool,
    /// `false` where the provider promises nothing, and a miss is no fault.
    pub reliable: bool,
}

impl Facts {
    /// The rates of a prompt of this size that is sent then; `None` without a price.
    pub(crate) fn rates(&self, prompt_tokens: u64, at_ms: i64) -> Option<Rates> {
        self.prices.at(at_ms).map(|price| *price.rates_for(prompt_tokens))
    }

    /// Whether a write is a count of its own in usage: where nothing is marked, what is written is reported as plain input.
    pub fn reports_writes(&self) -> bool {
        match self.scheme {
            CacheScheme::Marks | CacheScheme::Breakpoints => true,
            CacheScheme::Automatic => false,
        }
    }

    /// The part of a common prefix that a read covers.
    pub(crate) fn readable(&self, tokens: u64) -> u64 {
        match self.scheme {
            CacheScheme::Marks | CacheScheme::Breakpoints => tokens,
            CacheScheme::Automatic => tokens - tokens % self.step_tokens.max(1),
        }
    }
}
