//! The cache engine as agents see it: which cache a model's requests meet, and what this machine remembers of it.
//!
//! Each answered request stores its verdict and its live cache entries in one transaction (`journal.rs`, `cache_note.rs`). A
//! later process starts with these entries.

use std::sync::PoisonError;
use std::time::Duration;

use tine_cache::{Facts, Keep, LiveEntry, Scope, keep};
use tine_fork::cache::{CacheLane, SlotWait, VALUE_PER_SECOND_DEFAULT, cache_scope};
use tine_fork::run::LastSent;
use tine_model::{AgentId, AgentRecord, Lifetime, ModelRef};
use tine_store::{CacheRow, RequestRow};
use tine_wire::Lifetimes;

use crate::cache_note::CacheNote;
use crate::error::RuntimeError;
use crate::runtime::Runtime;
use crate::stop_words;

/// Requests that tell how an agent is used: enough to see an afternoon's pauses.
const RECENT_REQUESTS: usize = 9;

/// Longest time from a request's start until it is recorded, in milliseconds; longer ones are found when the process starts anew.
const REQUEST_MS_MAX: i64 = 15 * 60 * 1000;
/// Requests to look through for the last one of a conversation: more than one fan makes to keep the cache.
const UPKEEP_MAX: usize = 512;

/// How long cache entries are asked to live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LifetimeChoice {
    /// By the pauses that the agent's user makes.
    #[default]
    Auto,
    /// Always this.
    Fixed(Lifetime),
}

/// How the cache is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CachePolicy {
    /// How long entries are asked to live.
    pub lifetime: LifetimeChoice,
    /// Whether a parent's entries are kept alive while its workers run.
    pub keep_warm: bool,
    /// What a second of waiting for a leader is worth, in USD.
    pub value_per_second: f64,
    /// Longest wait for a leader; `None` for the usual one of the provider.
    pub leader_wait_max: Option<Duration>,
    /// The wait of requests for the slot that holds their prefix, where a server has slots.
    pub slot_wait: SlotWait,
}

impl Default for CachePolicy {
    fn default() -> Self {
        Self {
            lifetime: LifetimeChoice::Auto,
            keep_warm: false,
            value_per_second: VALUE_PER_SECOND_DEFAULT,
            leader_wait_max: None,
            slot_wait: SlotWait::default(),
        }
    }
}

impl Runtime {
    /// Returns the facts about a model: its prices and the rules of its cache, which may be those of the server that serves it.
    pub fn facts(&self, model: &ModelRef) -> Facts {
        let served = self.ports().models.served(model);
        self.ports().facts.facts_served(&model.to_string(), served.as_ref())
    }

    /// The cache that requests to a model meet, with what the store remembers of it.
    pub(crate) async fn lane(
        &self,
        model: &ModelRef,
        policy: CachePolicy,
    ) -> Result<CacheLane, RuntimeError> {
        self.ports().models.ask_server(model).await;
        let account = self.ports().models.account(model);
        self.lane_of(model, &account, policy).await
    }

    /// Opens the cache of an account of somebody else, with what the store remembers of it.
    pub(crate) async fn lane_of(
        &self,
        model: &ModelRef,
        account: &str,
        policy: CachePolicy,
    ) -> Result<CacheLane, RuntimeError> {
        let facts = self.facts(model);
        let scope = cache_scope(model, account);
        let now_ms = self.now_ms();
        let seen_ms = {
            let mut seen = self.caches_seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.insert(scope, now_ms)
        };
        // All at first, the dead too: they tell an expired entry from one that never was. Later what was used since, by this
        // process or another; entries carry the start of their request.
        let since_ms = seen_ms.map_or(i64::MIN, |seen_ms| seen_ms.saturating_sub(REQUEST_MS_MAX));
        let mut rows = self.store().cache_entries(scope.0, since_ms).await?;
        // From before the clock was set back: nobody knows how old they are.
        rows.retain(|row| row.used_ms <= now_ms);
        let entries: Vec<LiveEntry> = rows.into_iter().map(live_entry).collect();
        self.cache_engine().load_slots(scope, &facts, &entries);
        self.cache_engine().load(scope, entries);
        let lane = CacheLane::new(self.cache_engine().clone(), model, account, facts);
        Ok(CacheLane {
            value_per_second: policy.value_per_second,
            leader_wait_max: policy.leader_wait_max.unwrap_or(lane.leader_wait_max),
            slot_wait: policy.slot_wait,
            ..lane
        })
    }

    /// What an agent's lineage sent last, as far as the store knows: its own last request, or the last that an ancestor sent
    /// before it was forked.
    pub(crate) async fn last_sent(&self, agent: AgentId) -> Result<LastSent, RuntimeError> {
        let line = self.store().ancestry(agent).await?;
        let mut until_ms = i64::MAX;
        for ancestor in line.iter().rev() {
            if let Some(row) = self.last_request(ancestor.id, until_ms).await? {
                let note = row.note.as_deref().and_then(CacheNote::parse);
                let boundaries = note.map_or_else(Vec::new, |note| note.boundaries());
                return Ok(LastSent { reply: row.reply, boundaries });
            }
            // What an ancestor sent after it was forked is no part of this lineage.
            until_ms = until_ms.min(ancestor.created_ms);
        }
        Ok(LastSent::default())
    }

    /// An agent's last request that was one of its conversation, and none that only kept its cache.
    async fn last_request(
        &self,
        agent: AgentId,
        until_ms: i64,
    ) -> Result<Option<RequestRow>, RuntimeError> {
        let last = self.store().recent_requests(agent, until_ms, 1).await?;
        match last.first() {
            Some(row) if !is_of_the_conversation(row) => {}
            _ => return Ok(last.into_iter().next()),
        }
        let rows = self.store().recent_requests(agent, until_ms, UPKEEP_MAX).await?;
        Ok(rows.into_iter().find(is_of_the_conversation))
    }

    /// How long the entries of an agent's next requests should live.
    pub(crate) async fn lifetimes(
        &self,
        record: &AgentRecord,
        policy: CachePolicy,
    ) -> Result<Lifetimes, RuntimeError> {
        let facts = self.facts(&record.settings.model);
        let lifetime = match policy.lifetime {
            LifetimeChoice::Fixed(Lifetime::Long) if facts.long_ms.is_none() => Lifetime::Short,
            LifetimeChoice::Fixed(lifetime) => lifetime,
            LifetimeChoice::Auto => {
                let pause_ms = self.longest_pause_ms(record.id, &facts).await?;
                match keep(pause_ms, &facts, self.now_ms()) {
                    Keep::Short => Lifetime::Short,
                    // Nobody would ping between two commands.
                    Keep::Pings { .. } | Keep::Long => Lifetime::Long,
                }
            }
        };
        Ok(Lifetimes::new(lifetime, lifetime))
    }

    /// The longest recent pause that a long-lived entry would have survived, in milliseconds; 0 without one.
    async fn longest_pause_ms(&self, agent: AgentId, facts: &Facts) -> Result<i64, RuntimeError> {
        let Some(long_ms) = facts.long_ms else { return Ok(0) };
        let mut rows = self.store().recent_requests(agent, i64::MAX, RECENT_REQUESTS).await?;
        rows.retain(is_of_the_conversation);
        let now_ms = self.now_ms();
        let later = std::iter::once(now_ms).chain(rows.iter().map(|row| row.started_ms));
        let pauses = later.zip(&rows).map(|(later, row)| later - row.started_ms);
        Ok(pauses.filter(|pause| (0..long_ms).contains(pause)).max().unwrap_or(0))
    }
}

/// Whether a request was one of the conversation, and none that only kept its cache.
fn is_of_the_conversation(row: &RequestRow) -> bool {
    let stop = row.stop.as_deref().unwrap_or_default();
    !stop_words::ALL.contains(&stop)
}

fn live_entry(row: CacheRow) -> LiveEntry {
    let CacheRow { hash, tokens, exact, bytes, lifetime, used_ms, scope: _ } = row;
    LiveEntry { hash, tokens, exact, bytes, lifetime, used_ms }
}

pub(crate) fn cache_row(scope: Scope, entry: &LiveEntry) -> CacheRow {
    CacheRow {
        scope: scope.0,
        hash: entry.hash,
        tokens: entry.tokens,
        exact: entry.exact,
        bytes: entry.bytes,
        lifetime: entry.lifetime,
        used_ms: entry.used_ms,
    }
}
