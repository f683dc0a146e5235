//! Which cache entries live, by what our own requests wrote and read.
//!
//! What the vendors leave open is assumed so that less is promised: a read refreshes only the entry that served it, not
//! the shorter ones before it, and an entry keeps the lifetime that it was written for.

mod answer;
mod expectation;
mod shelf;
mod slots;
mod view;

use std::collections::HashMap;

use tine_model::{Boundary, CacheScheme, Lifetime, Usage};

pub use expectation::{Expectation, Missing, Place, PlaceState};
pub use slots::{SlotPass, SlotReach};

use crate::facts::{Facts, SharesAt};
use shelf::{Entry, Shelf};
use view::{Known, View, life_left_ms};

type Hash = [u8; 32];

/// An entry is remembered for so long after its life has ended, so that a miss can be called expired and not cold.
const EXPIRED_KEPT_MS: i64 = 2 * 24 * 60 * 60 * 1000;

/// Whose cache it is: provider, workspace and model key. Entries of one scope are never seen by another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope(pub [u8; 32]);

/// A cache entry, as far as it can be known from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveEntry {
    /// Identity of the bytes that it holds.
    pub hash: [u8; 32],
    /// How many tokens they are.
    pub tokens: u64,
    /// Whether that is a count of the provider's and not an estimate.
    pub exact: bool,
    /// How many bytes they are.
    pub bytes: u64,
    /// The lifetime that it was written for.
    pub lifetime: Lifetime,
    /// Start of the request that wrote it or read it last, in Unix milliseconds.
    pub used_ms: i64,
}

/// A request on its way. Must come back through [`Ledger::answered`] or [`Ledger::failed`]: until then what it is about to
/// write counts as in flight (for an hour at most).
#[derive(Debug)]
pub struct InFlight {
    id: u64,
    started_ms: i64,
    request: Vec<Boundary>,
    /// What was known of each boundary when the request started: what it can have read.
    known: Vec<Known>,
    begun: bool,
}

impl InFlight {
    /// When the request started, in Unix milliseconds.
    pub fn started_ms(&self) -> i64 {
        self.started_ms
    }

    /// The places that the request asks to be kept; all of them where there is nothing to ask.
    fn writes(&self) -> Vec<Hash> {
        let marked = self.request.iter().any(|boundary| boundary.mark.is_some());
        let asked = self.request.iter().filter(|boundary| !marked || boundary.mark.is_some());
        asked.map(|boundary| boundary.hash).collect()
    }
}

/// The entries of every scope.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    shelves: HashMap<Scope, Shelf>,
    flights: u64,
}

impl Ledger {
    /// Takes up entries that were persisted. Of two for the same bytes, the one that was used later stays.
    pub fn load(&mut self, scope: Scope, entries: impl IntoIterator<Item = LiveEntry>) {
        let shelf = self.shelves.entry(scope).or_default();
        for live in entries {
            let entry = Entry { live, kept: true };
            let held = shelf.entries.entry(live.hash).or_insert(entry);
            if (held.live.used_ms, held.live.exact) < (live.used_ms, live.exact) {
                *held = entry;
            }
        }
    }

    /// What a request should read if it is sent at `now_ms`.
    pub fn expect(
        &self,
        scope: &Scope,
        facts: &Facts,
        request: &[Boundary],
        now_ms: i64,
    ) -> Expectation {
        self.expect_in(None, scope, facts, request, now_ms)
    }

    /// Returns what a request should read that has taken a slot of its server.
    pub fn expect_in(
        &self,
        pass: Option<SlotPass>,
        scope: &Scope,
        facts: &Facts,
        request: &[Boundary],
        now_ms: i64,
    ) -> Expectation {
        let shelf = self.shelves.get(scope);
        let held = match (facts.slots, shelf) {
            (None, _) | (_, None) => Vec::new(),
            (Some(_), Some(shelf)) => shelf.slots.held(request, pass),
        };
        let known = request.iter().enumerate().map(|(index, boundary)| Known {
            held: held.get(index).copied(),
            ..shelf.map(|shelf| shelf.known(boundary, now_ms)).unwrap_or_default()
        });
        View::new(facts, request, known, now_ms).expectation()
    }

    /// Takes up what other processes left in the slots of a scope's server, beside [`Self::load`].
    pub fn learn_slots(&mut self, scope: Scope, facts: &Facts, entries: &[LiveEntry]) {
        if let Some(count) = facts.slots {
            let slots = &mut self.shelves.entry(scope).or_default().slots;
            slots.resize(count);
            slots.learn(entries);
        }
    }

    /// Returns the part of a request that the slots of its server hold; nothing where it has none.
    pub fn slot_reach(&self, scope: &Scope, facts: &Facts, request: &[Boundary]) -> SlotReach {
        match (facts.slots, self.shelves.get(scope)) {
            (None, _) | (_, None) => SlotReach::default(),
            (Some(_), Some(shelf)) => shelf.slots.reach(request),
        }
    }

    /// Takes the slot that the server will compute a request in; `None` where it has no slots. Must come back through
    /// [`Self::free_slot`].
    pub fn take_slot(
        &mut self,
        scope: &Scope,
        facts: &Facts,
        request: &[Boundary],
    ) -> Option<SlotPass> {
        let count = facts.slots?;
        let slots = &mut self.shelves.entry(*scope).or_default().slots;
        slots.resize(count);
        Some(slots.take(request))
    }

    /// Frees the slot of a request, which holds all of it when it was answered.
    pub fn free_slot(&mut self, scope: &Scope, pass: SlotPass, answered: bool) {
        if let Some(shelf) = self.shelves.get_mut(scope) {
            shelf.slots.free(pass, answered);
        }
    }

    /// A request is being sent: what it is about to write is in flight for all others.
    pub fn started(&mut self, scope: &Scope, request: &[Boundary], now_ms: i64) -> InFlight {
        let shelf = self.shelves.entry(*scope).or_default();
        self.flights += 1;
        let flight = InFlight {
            id: self.flights,
            started_ms: now_ms,
            request: request.to_vec(),
            known: request.iter().map(|boundary| shelf.known(boundary, now_ms)).collect(),
            begun: false,
        };
        shelf.announce(flight.id, &flight.writes(), now_ms);
        flight
    }

    /// The first event of the answer has arrived: where siblings share from then on, what the request writes is live,
    /// with estimated counts until [`Self::answered`] knows better. Returns these entries, for other processes.
    pub fn begun(&mut self, scope: &Scope, facts: &Facts, flight: &mut InFlight) -> Vec<LiveEntry> {
        if facts.shares_at != SharesAt::FirstEvent || flight.begun {
            return Vec::new();
        }
        flight.begun = true;
        let shelf = self.shelves.entry(*scope).or_default();
        shelf.withdraw(flight.id, &flight.writes());
        answer::assume(shelf, facts, flight)
    }

    /// The request was answered in full. Returns the entries to persist: those that it wrote, and the one that it read.
    ///
    /// Read and written tokens together are the tokens up to the last mark, and what was read is the size of exactly one
    /// entry, so that both become exact. Usage that says nothing, or that cannot be true, leaves estimates.
    pub fn answered(
        &mut self,
        scope: &Scope,
        facts: &Facts,
        flight: InFlight,
        usage: &Usage,
        now_ms: i64,
    ) -> Vec<LiveEntry> {
        let shelf = self.shelves.entry(*scope).or_default();
        shelf.withdraw(flight.id, &flight.writes());
        shelf.slots.noted(flight.started_ms);
        let rows = match facts.scheme {
            CacheScheme::Marks | CacheScheme::Breakpoints => {
                answer::marked(shelf, facts, &flight, usage)
            }
            CacheScheme::Automatic => answer::automatic(shelf, facts, &flight, usage),
        };
        shelf.bound(facts, now_ms);
        rows
    }

    /// The request failed or was given up. What it had begun to write stays.
    pub fn failed(&mut self, scope: &Scope, flight: InFlight) {
        if let Some(shelf) = self.shelves.get_mut(scope) {
            shelf.withdraw(flight.id, &flight.writes());
        }
    }

    /// The entries that live, the one used last first.
    pub fn live(&self, scope: &Scope, facts: &Facts, now_ms: i64) -> Vec<LiveEntry> {
        let entries = self.shelves.get(scope).into_iter().flat_map(|shelf| shelf.entries.values());
        let live = entries.filter(|entry| {
            entry.kept
                && entry.live.tokens >= facts.min_tokens
                && life_left_ms(facts, entry, now_ms) > 0
        });
        let mut live: Vec<LiveEntry> = live.map(|entry| entry.live).collect();
        live.sort_unstable_by_key(|entry| {
            (std::cmp::Reverse((entry.used_ms, entry.tokens)), entry.hash)
        });
        live
    }

    /// Forgets a scope's entries of which the life ended more than a day ago, and requests that never came back. Returns
    /// how many entries went.
    pub fn prune(&mut self, scope: &Scope, facts: &Facts, now_ms: i64) -> usize {
        self.shelves.get_mut(scope).map_or(0, |shelf| shelf.prune(facts, now_ms))
    }

    /// Forgets a scope's entries that were last used before `since_ms`: the cache behind them began anew then.
    pub fn forget_before(&mut self, scope: &Scope, since_ms: i64) {
        if let Some(shelf) = self.shelves.get_mut(scope) {
            shelf.entries.retain(|_, entry| entry.live.used_ms >= since_ms);
        }
    }

    /// How many entries are remembered, over all scopes, dead ones included.
    pub fn len(&self) -> usize {
        self.shelves.values().map(|shelf| shelf.entries.len()).sum()
    }

    /// Whether nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
