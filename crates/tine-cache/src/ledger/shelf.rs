//! The entries of one scope, and the requests that are writing to it.

use std::collections::HashMap;
use std::collections::hash_map;

use tine_model::{Boundary, Lifetime};

use super::slots::Slots;
use super::view::{Known, life_left_ms};
use super::{EXPIRED_KEPT_MS, Hash, LiveEntry};
use crate::facts::Facts;

/// Most entries that a scope keeps (about 150 bytes each); beyond it those that were used longest ago go. Ten times what a
/// day of hard work leaves behind.
const ENTRIES_MAX: usize = 100_000;

/// A request that has neither ended nor failed after this time never will: no provider generates for an hour.
const FLIGHT_MS_MAX: i64 = 60 * 60 * 1000;

/// What is kept of one place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) live: LiveEntry,
    /// `false`: one request had this place, and the provider keeps it only when a second one has it too.
    pub(super) kept: bool,
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    flight: u64,
    started_ms: i64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Shelf {
    pub(super) entries: HashMap<Hash, Entry>,
    pending: HashMap<Hash, Vec<Pending>>,
    /// Empty where the provider has none.
    pub(super) slots: Slots,
}

impl Shelf {
    pub(super) fn known(&self, boundary: &Boundary, now_ms: i64) -> Known {
        let recent = |pending: &Pending| now_ms.saturating_sub(pending.started_ms) < FLIGHT_MS_MAX;
        let in_flight =
            self.pending.get(&boundary.hash).is_some_and(|flights| flights.iter().any(recent));
        Known { entry: self.entries.get(&boundary.hash).copied(), in_flight, held: None }
    }

    pub(super) fn announce(&mut self, flight: u64, hashes: &[Hash], started_ms: i64) {
        for hash in hashes {
            self.pending.entry(*hash).or_default().push(Pending { flight, started_ms });
        }
    }

    pub(super) fn withdraw(&mut self, flight: u64, hashes: &[Hash]) {
        for hash in hashes {
            if let hash_map::Entry::Occupied(mut slot) = self.pending.entry(*hash) {
                slot.get_mut().retain(|pending| pending.flight != flight);
                if slot.get().is_empty() {
                    slot.remove();
                }
            }
        }
    }

    /// Puts an entry down, joined with what is there: the later use, the longer of two lives that overlap, the exact count.
    pub(super) fn put(&mut self, facts: &Facts, new: Entry) -> LiveEntry {
        let joined = match self.entries.get(&new.live.hash) {
            None => new,
            Some(old) => {
                let overlap = old.kept && life_left_ms(facts, old, new.live.used_ms) > 0;
                let lifetime = if overlap {
                    old.live.lifetime.max(new.live.lifetime)
                } else {
                    new.live.lifetime
                };
                let measured = old.live.exact && !new.live.exact;
                let count = if measured { old.live } else { new.live };
                Entry {
                    live: LiveEntry {
                        tokens: count.tokens,
                        exact: count.exact,
                        lifetime,
                        used_ms: old.live.used_ms.max(new.live.used_ms),
                        ..new.live
                    },
                    kept: old.kept || new.kept,
                }
            }
        };
        self.entries.insert(joined.live.hash, joined);
        joined.live
    }

    /// Marks an entry as read by a request that started at `started_ms`, and corrects its count.
    pub(super) fn refresh(
        &mut self,
        hash: &Hash,
        started_ms: i64,
        tokens: Option<u64>,
    ) -> Option<LiveEntry> {
        let entry = self.entries.get_mut(hash)?;
        entry.live.used_ms = entry.live.used_ms.max(started_ms);
        if let Some(tokens) = tokens {
            (entry.live.tokens, entry.live.exact) = (tokens, true);
        }
        Some(entry.live)
    }

    /// Takes entries out of which nothing more can be learnt.
    pub(super) fn prune(&mut self, facts: &Facts, now_ms: i64) -> usize {
        let before = self.entries.len();
        self.entries.retain(|_, entry| {
            life_left_ms(facts, entry, now_ms) > EXPIRED_KEPT_MS.saturating_neg()
        });
        self.pending.retain(|_, flights| {
            flights.retain(|flight| now_ms.saturating_sub(flight.started_ms) < FLIGHT_MS_MAX);
            !flights.is_empty()
        });
        before - self.entries.len()
    }

    /// Keeps the shelf within its limit.
    pub(super) fn bound(&mut self, facts: &Facts, now_ms: i64) {
        if self.entries.len() <= ENTRIES_MAX {
            return;
        }
        self.prune(facts, now_ms);
        if self.entries.len() <= ENTRIES_MAX {
            return;
        }
        let mut uses: Vec<i64> = self.entries.values().map(|entry| entry.live.used_ms).collect();
        uses.sort_unstable();
        let middle = uses[uses.len() / 2];
        let mut most = ENTRIES_MAX / 2;
        self.entries.retain(|_, entry| {
            let stays = entry.live.used_ms >= middle && most > 0;
            most -= usize::from(stays);
            stays
        });
    }
}

/// The entry that a request leaves at a boundary.
pub(super) fn written(
    boundary: &Boundary,
    tokens: u64,
    exact: bool,
    started_ms: i64,
    kept: bool,
) -> Entry {
    Entry {
        live: LiveEntry {
            hash: boundary.hash,
            tokens,
            exact,
            bytes: boundary.bytes,
            lifetime: boundary.mark.unwrap_or(Lifetime::Short),
            used_ms: started_ms,
        },
        kept,
    }
}
