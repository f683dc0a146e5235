//! What an answered request left in the cache.

use tine_model::Usage;

use super::shelf::{Shelf, written};
use super::view::View;
use super::{InFlight, LiveEntry};
use crate::facts::Facts;
use crate::tokens::{Counts, Point, Ruler};

/// An estimate and a count that differ by less than this part of the estimate are taken for the same place.
const ESTIMATE_SLACK: u64 = 8;

fn view<'a>(facts: &'a Facts, flight: &'a InFlight) -> View<'a> {
    View::new(facts, &flight.request, flight.known.iter().copied(), flight.started_ms)
}

/// Nothing was reported (yet): the provider is taken to have done what it documents.
pub(super) fn assume(shelf: &mut Shelf, facts: &Facts, flight: &InFlight) -> Vec<LiveEntry> {
    let view = view(facts, flight);
    let served = view.served();
    let mut rows = Vec::new();
    if let Some(served) = served {
        rows.extend(shelf.refresh(&flight.request[served].hash, flight.started_ms, None));
    }
    let first = served.map_or(0, |served| served + 1);
    let marked = facts.reports_writes();
    let last = flight.request.len().saturating_sub(1);
    for (index, boundary) in flight.request.iter().enumerate() {
        let place = &view.places[index];
        let asked = if marked { boundary.mark.is_some() && index >= first } else { true };
        if asked && place.tokens >= facts.min_tokens {
            let kept = marked || keeps(facts, flight, index, last);
            let entry = written(boundary, place.tokens, false, flight.started_ms, kept);
            rows.extend(Some(shelf.put(facts, entry)).filter(|_| kept));
        }
    }
    rows
}

/// Whether an automatic cache keeps this place: whole requests where only those are kept, and shared beginnings that were
/// seen before.
fn keeps(facts: &Facts, flight: &InFlight, index: usize, last: usize) -> bool {
    !facts.whole_requests || index == last || flight.known[index].entry.is_some()
}

/// Where nothing is marked: every place is kept that the provider's rule keeps.
pub(super) fn automatic(
    shelf: &mut Shelf,
    facts: &Facts,
    flight: &InFlight,
    usage: &Usage,
) -> Vec<LiveEntry> {
    let view = view(facts, flight);
    let Some(last) = view.places.len().checked_sub(1) else { return Vec::new() };
    let Ok(counts) = Counts::of(usage, view.places[last].tokens) else {
        return assume(shelf, facts, flight);
    };
    let whole = Point { bytes: view.places[last].bytes, tokens: counts.prompt, exact: true };
    let ruler = measured(&view, [whole]);
    let mut rows = Vec::new();
    for (index, boundary) in flight.request.iter().enumerate() {
        let tokens = ruler.tokens(boundary.bytes);
        if tokens < facts.min_tokens {
            continue;
        }
        // Another request may have been seen since this one started.
        let seen = shelf.entries.contains_key(&boundary.hash);
        let kept = seen || keeps(facts, flight, index, last);
        let entry = written(boundary, tokens, index == last, flight.started_ms, kept);
        rows.extend(Some(shelf.put(facts, entry)).filter(|_| kept));
    }
    rows
}

/// Where places are marked: what was read is one entry, and every mark behind it became one.
pub(super) fn marked(
    shelf: &mut Shelf,
    facts: &Facts,
    flight: &InFlight,
    usage: &Usage,
) -> Vec<LiveEntry> {
    let view = view(facts, flight);
    let marks: Vec<usize> =
        (0..flight.request.len()).filter(|index| flight.request[*index].mark.is_some()).collect();
    let estimated = view.places.last().map_or(0, |place| place.tokens);
    let (Some(last), Ok(counts)) = (marks.last().copied(), Counts::of(usage, estimated)) else {
        return assume(shelf, facts, flight);
    };
    let Some(written_tokens) = counts.written else { return assume(shelf, facts, flight) };
    let served = served_by(&view, counts.read);
    let mut rows = Vec::new();
    if let Some(served) = served {
        let hash = &flight.request[served].hash;
        rows.extend(shelf.refresh(hash, flight.started_ms, Some(counts.read)));
    }
    if written_tokens == 0 {
        retract(shelf, flight, served);
        return rows;
    }
    let through = counts.read + written_tokens;
    let point =
        |index: usize, tokens| Point { bytes: view.places[index].bytes, tokens, exact: true };
    let long = marks
        .iter()
        .rev()
        .find(|index| flight.request[**index].mark == Some(tine_model::Lifetime::Long));
    let mut known = vec![point(last, through)];
    known.extend(served.map(|served| point(served, counts.read)));
    if let Some(long) = long.filter(|long| counts.written_long > 0 && **long < last) {
        known.push(point(*long, counts.read + counts.written_long));
    }
    let exact: Vec<u64> = known.iter().map(|point| point.bytes).collect();
    let ruler = measured(&view, known);
    for index in marks {
        let boundary = &flight.request[index];
        let tokens = ruler.tokens(boundary.bytes);
        let behind = served.map_or(tokens > counts.read, |served| index > served);
        if behind && tokens >= facts.min_tokens {
            let exact = exact.contains(&boundary.bytes);
            let entry = written(boundary, tokens, exact, flight.started_ms, true);
            rows.push(shelf.put(facts, entry));
        }
    }
    rows
}

/// The entry of which the size is what was read: one that is known to be so long; else the one that should have served,
/// when its estimate is near; else the live one with the nearest estimate.
fn served_by(view: &View<'_>, read: u64) -> Option<usize> {
    if read == 0 {
        return None;
    }
    let places = || view.places.iter().enumerate().rev();
    if let Some((index, _)) = places().find(|(_, place)| place.exact && place.tokens == read) {
        return Some(index);
    }
    let off = |index: usize| view.places[index].tokens.abs_diff(read);
    let near = |index: &usize| {
        let place = &view.places[*index];
        !place.exact && off(*index) <= place.tokens / ESTIMATE_SLACK
    };
    let nearest = || {
        let live = places().filter(|(_, place)| place.state == super::PlaceState::Live);
        live.map(|(index, _)| index).filter(near).min_by_key(|index| off(*index))
    };
    view.served().filter(near).or_else(nearest)
}

/// Takes back what was assumed when the answer began: nothing was written.
fn retract(shelf: &mut Shelf, flight: &InFlight, served: Option<usize>) {
    if !flight.begun {
        return;
    }
    for (index, boundary) in flight.request.iter().enumerate() {
        let own = shelf
            .entries
            .get(&boundary.hash)
            .is_some_and(|entry| !entry.live.exact && entry.live.used_ms == flight.started_ms);
        if own && boundary.mark.is_some() && served.is_none_or(|served| index > served) {
            match flight.known[index].entry {
                Some(before) => shelf.entries.insert(boundary.hash, before),
                None => shelf.entries.remove(&boundary.hash),
            };
        }
    }
}

/// A ruler through what was known before and what was learnt now, which wins.
fn measured(view: &View<'_>, learnt: impl IntoIterator<Item = Point>) -> Ruler {
    let mut learnt: Vec<Point> = learnt.into_iter().collect();
    let old = view.places.iter().filter(|place| place.exact).map(|place| Point {
        bytes: place.bytes,
        tokens: place.tokens,
        exact: false,
    });
    let old = old.filter(|old| learnt.iter().all(|point| point.bytes != old.bytes));
    let old: Vec<Point> = old.collect();
    learnt.extend(old);
    learnt.sort_by_key(|point| (point.bytes, point.tokens));
    Ruler::new(learnt)
}
