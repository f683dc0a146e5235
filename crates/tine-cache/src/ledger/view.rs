//! One request, seen with what the ledger knows of each of its places.

use tine_model::{Boundary, BoundaryKind, CacheScheme, Lifetime};

use super::expectation::{Expectation, Missing, Place, PlaceState};
use super::shelf::Entry;
use super::slots::Held;
use crate::facts::Facts;
use crate::tokens::{Point, Ruler};

/// What is known of one boundary before it is judged by the model's rules.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known {
    pub(super) entry: Option<Entry>,
    /// Another request is writing it.
    pub(super) in_flight: bool,
    /// The kind of slot in which it is held; `None` where the provider has no slots.
    pub(super) held: Option<Held>,
}

/// A request and its places.
pub(super) struct View<'a> {
    facts: &'a Facts,
    request: &'a [Boundary],
    now_ms: i64,
    pub(super) places: Vec<Place>,
}

impl<'a> View<'a> {
    pub(super) fn new(
        facts: &'a Facts,
        request: &'a [Boundary],
        known: impl Iterator<Item = Known> + Clone,
        now_ms: i64,
    ) -> Self {
        let with_entry = request.iter().zip(known.clone());
        let points = with_entry.filter_map(|(boundary, known)| {
            known.entry.map(|entry| Point {
                bytes: boundary.bytes,
                tokens: entry.live.tokens,
                exact: entry.live.exact,
            })
        });
        let ruler = Ruler::new(points);
        let places = request.iter().zip(known).map(|(boundary, known)| {
            let tokens = ruler.tokens(boundary.bytes);
            let measured = known.entry.filter(|entry| entry.live.exact);
            Place {
                kind: boundary.kind,
                tokens,
                exact: measured.is_some_and(|entry| entry.live.tokens == tokens),
                bytes: boundary.bytes,
                state: state(facts, known, tokens, now_ms),
            }
        });
        Self { facts, request, now_ms, places: places.collect() }
    }

    /// The deepest place that an entry serves.
    pub(super) fn served(&self) -> Option<usize> {
        (0..self.places.len()).rev().find(|index| {
            self.places[*index].state == PlaceState::Live
                && reachable(self.facts, &self.request[*index])
        })
    }

    pub(super) fn expectation(self) -> Expectation {
        let served = self.served();
        let tokens = |index: usize| self.places.get(index).map_or(0, |place| place.tokens);
        let last = self.places.len().checked_sub(1);
        let shared = self.shared();
        let prefix = shared.map_or(0, tokens);
        let ever = shared.and_then(|shared| {
            (0..=shared).rev().find(|index| self.places[*index].state != PlaceState::Unknown)
        });
        let covered = served.map_or(0, |index| tokens(self.answer_behind(index).unwrap_or(index)));
        let found = served.map_or(0, |index| self.facts.readable(tokens(index)));
        let read = if found < self.facts.min_tokens { 0 } else { found };
        let exact = match self.facts.scheme {
            CacheScheme::Marks | CacheScheme::Breakpoints => {
                served.is_none_or(|index| self.places[index].exact)
            }
            CacheScheme::Automatic => read == 0,
        };
        Expectation {
            at_ms: self.now_ms,
            read,
            exact,
            from: served.filter(|_| read > 0).map(|index| self.places[index].kind),
            total: last.map_or(0, tokens),
            gap: prefix.saturating_sub(covered),
            prefix,
            known: ever.map_or(0, tokens),
            missing: self.missing(shared, served, prefix <= covered),
            places: self.listed(served),
        }
    }

    /// The place up to which others have, or will have, the same bytes.
    fn shared(&self) -> Option<usize> {
        let find = |kind| self.request.iter().rposition(|boundary| boundary.kind == kind);
        find(BoundaryKind::ForkPoint)
            .or_else(|| find(BoundaryKind::Anchor))
            .or_else(|| self.request.len().checked_sub(1))
    }

    /// Where generated tokens are kept, the message behind the anchor is the answer to the request that ended there, and
    /// is covered with it.
    fn answer_behind(&self, index: usize) -> Option<usize> {
        let (anchor, next) = (self.request.get(index)?, self.request.get(index + 1)?);
        let answer = anchor.kind == BoundaryKind::Anchor && next.items == anchor.items + 1;
        (answer && self.facts.caches_output).then_some(index + 1)
    }

    fn missing(&self, shared: Option<usize>, served: Option<usize>, covered: bool) -> Missing {
        let Some(shared) = shared.filter(|_| !covered) else { return Missing::Nothing };
        if self.places[shared].tokens < self.facts.min_tokens {
            return Missing::BelowMinimum;
        }
        let behind = served.map_or(0, |served| served + 1);
        let reasons = self.places.get(behind..=shared).unwrap_or_default().iter().rev();
        let found = reasons.filter_map(|place| match place.state {
            PlaceState::Live => Some(Missing::OutOfReach),
            PlaceState::Expired { ago_ms } => Some(Missing::Expired { ago_ms }),
            PlaceState::InFlight => Some(Missing::InFlight),
            PlaceState::Busy => Some(Missing::SlotBusy),
            PlaceState::Displaced => Some(Missing::Displaced),
            PlaceState::Unknown => None,
        });
        found.into_iter().next().unwrap_or(Missing::NeverWritten)
    }

    fn listed(self, served: Option<usize>) -> Vec<Place> {
        let marked = self.request.iter().any(|boundary| boundary.mark.is_some());
        let request = self.request;
        let is_listed = |index: usize| {
            let boundary = &request[index];
            let own = if marked {
                boundary.mark.is_some()
            } else {
                boundary.kind != BoundaryKind::Message
            };
            own || served == Some(index)
        };
        let places = self.places.into_iter().enumerate();
        places.filter(|(index, _)| is_listed(*index)).map(|(_, place)| place).collect()
    }
}

fn state(facts: &Facts, known: Known, tokens: u64, now_ms: i64) -> PlaceState {
    let entry = known.entry.filter(|entry| entry.kept && tokens >= facts.min_tokens);
    let left = entry.map(|entry| life_left_ms(facts, &entry, now_ms));
    match (left, known.held) {
        (_, Some(Held::Busy)) => return PlaceState::Busy,
        (Some(left_ms), Some(Held::Nowhere)) if left_ms > 0 => return PlaceState::Displaced,
        // In a slot that somebody filled and that no answer of ours tells of yet.
        (None, Some(Held::Idle)) if tokens >= facts.min_tokens => return PlaceState::Live,
        _ => {}
    }
    match left {
        Some(left_ms) if left_ms > 0 => PlaceState::Live,
        _ if known.in_flight => PlaceState::InFlight,
        Some(left_ms) => PlaceState::Expired { ago_ms: left_ms.saturating_neg() },
        None => PlaceState::Unknown,
    }
}

/// How much longer an entry lives; 0 or less when it is over. A clock that went backwards makes nobody younger than new.
pub(super) fn life_left_ms(facts: &Facts, entry: &Entry, now_ms: i64) -> i64 {
    let lifetime_ms = match entry.live.lifetime {
        Lifetime::Short => facts.short_ms,
        Lifetime::Long => facts.long_ms.unwrap_or(facts.short_ms),
    };
    let age_ms = now_ms.saturating_sub(entry.live.used_ms).max(0);
    lifetime_ms.saturating_sub(age_ms)
}

/// Whether a lookup of this request finds an entry at this place.
fn reachable(facts: &Facts, boundary: &Boundary) -> bool {
    match facts.scheme {
        CacheScheme::Marks => {
            facts.lookback_blocks.is_none_or(|most| boundary.back < most as usize)
        }
        CacheScheme::Breakpoints => boundary.mark.is_some(),
        CacheScheme::Automatic => true,
    }
}
