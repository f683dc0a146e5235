use tine_model::BoundaryKind;

use super::*;
use crate::models::Models;

const SCOPE: Scope = Scope([7; 32]);
const MINUTE_MS: i64 = 60_000;

fn opus() -> Facts {
    Models::bundled().facts("anthropic/claude-opus-5-5")
}

/// A marked place; `name` stands for its bytes.
fn mark(kind: BoundaryKind, name: u8, bytes: u64) -> Boundary {
    let hash = [name; 32];
    Boundary { kind, hash, bytes, items: usize::from(name), back: 0, mark: Some(Lifetime::Short) }
}

fn head(bytes: u64) -> Boundary {
    Boundary { items: 0, ..mark(BoundaryKind::Head, 1, bytes) }
}

fn usage(written: u64, read: u64) -> Usage {
    Usage { write_short: Some(written), read: Some(read), ..Usage::default() }
}

fn send(
    ledger: &mut Ledger,
    facts: &Facts,
    request: &[Boundary],
    usage: Usage,
    at_ms: i64,
) -> Vec<LiveEntry> {
    let flight = ledger.started(&SCOPE, request, at_ms);
    ledger.answered(&SCOPE, facts, flight, &usage, at_ms + 10)
}

/// The parent's first request: a head of 2,000 tokens, a tail at 10,000, both by the provider's own count of 3 bytes each.
fn parent() -> [Boundary; 2] {
    [head(6_000), mark(BoundaryKind::Tail, 2, 30_000)]
}

/// A fork of it: anchor at the parent's tail, fork point 1,000 tokens behind, a directive of 100.
fn child(tail: u8) -> [Boundary; 4] {
    [
        head(6_000),
        mark(BoundaryKind::Anchor, 2, 30_000),
        mark(BoundaryKind::ForkPoint, 3, 33_000),
        mark(BoundaryKind::Tail, tail, 33_300),
    ]
}

#[test]
fn a_first_request_expects_nothing_and_makes_its_tail_exact() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    let expected = ledger.expect(&SCOPE, &facts, &parent(), 0);
    assert_eq!((expected.read, expected.exact, expected.from), (0, true, None));
    assert_eq!((expected.missing, expected.gap), (Missing::NeverWritten, expected.prefix));
    let rows = send(&mut ledger, &facts, &parent(), usage(10_000, 0), 0);
    let counts: Vec<_> = rows.iter().map(|row| (row.tokens, row.exact)).collect();
    assert_eq!(counts, [(2_000, false), (10_000, true)]);
}

#[test]
fn a_fork_reads_its_parents_tail_and_misses_the_gap() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    send(&mut ledger, &facts, &parent(), usage(10_000, 0), 0);
    let expected = ledger.expect(&SCOPE, &facts, &child(4), MINUTE_MS);
    assert_eq!((expected.read, expected.exact), (10_000, true));
    assert_eq!(expected.from, Some(BoundaryKind::Anchor));
    assert_eq!((expected.prefix, expected.gap), (10_750, 750));
    assert_eq!(expected.missing, Missing::NeverWritten);
    let states: Vec<_> = expected.places.iter().map(|place| place.state).collect();
    use PlaceState::{Live, Unknown};
    assert_eq!(states, [Live, Live, Unknown, Unknown]);
}

#[test]
fn siblings_see_the_leaders_writes_in_flight_and_then_live() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    send(&mut ledger, &facts, &parent(), usage(10_000, 0), 0);
    let mut leader = ledger.started(&SCOPE, &child(4), 1_000);
    let before = ledger.expect(&SCOPE, &facts, &child(5), 1_001);
    assert_eq!((before.read, before.missing), (10_000, Missing::InFlight));
    ledger.begun(&SCOPE, &facts, &mut leader);
    let after = ledger.expect(&SCOPE, &facts, &child(5), 1_002);
    assert_eq!((after.from, after.exact), (Some(BoundaryKind::ForkPoint), false));
    assert_eq!((after.missing, after.gap), (Missing::Nothing, 0));
    ledger.answered(&SCOPE, &facts, leader, &usage(1_100, 10_000), 2_000);
    // The leader's tail is exact now, and the fork point is estimated between it and the anchor.
    let expected = ledger.expect(&SCOPE, &facts, &child(5), 2_001);
    assert_eq!((expected.read, expected.exact), (11_000, false));
    send(&mut ledger, &facts, &child(5), usage(100, 11_003), 2_002);
    let expected = ledger.expect(&SCOPE, &facts, &child(6), 2_003);
    assert_eq!((expected.read, expected.exact), (11_003, true));
}

#[test]
fn a_failed_leader_leaves_what_it_had_begun_to_write() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    let leader = ledger.started(&SCOPE, &child(4), 0);
    assert_eq!(ledger.expect(&SCOPE, &facts, &child(5), 1).missing, Missing::InFlight);
    ledger.failed(&SCOPE, leader);
    assert_eq!(ledger.expect(&SCOPE, &facts, &child(5), 1).missing, Missing::NeverWritten);
    let mut leader = ledger.started(&SCOPE, &child(4), 0);
    ledger.begun(&SCOPE, &facts, &mut leader);
    ledger.failed(&SCOPE, leader);
    assert_eq!(ledger.expect(&SCOPE, &facts, &child(5), 1).missing, Missing::Nothing);
}

#[test]
fn a_request_that_never_comes_back_is_forgotten() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    drop(ledger.started(&SCOPE, &child(4), 0));
    let missing =
        |ledger: &Ledger, now_ms| ledger.expect(&SCOPE, &facts, &child(5), now_ms).missing;
    assert_eq!(missing(&ledger, 59 * MINUTE_MS), Missing::InFlight);
    assert_eq!(missing(&ledger, 60 * MINUTE_MS), Missing::NeverWritten);
}

/// Life runs from the start of the request that wrote or read last, whatever it took to answer.
#[test]
fn an_entry_lives_from_the_start_of_its_last_request() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    send(&mut ledger, &facts, &parent(), usage(10_000, 0), 0);
    let at = |ledger: &Ledger, now_ms| ledger.expect(&SCOPE, &facts, &child(4), now_ms);
    assert_eq!(at(&ledger, 5 * MINUTE_MS - 1).read, 10_000);
    let late = at(&ledger, 6 * MINUTE_MS);
    assert_eq!((late.read, late.missing), (0, Missing::Expired { ago_ms: MINUTE_MS }));
    // Sizes outlive entries.
    assert_eq!(late.places[1].tokens, 10_000);
    send(&mut ledger, &facts, &child(5), usage(1_100, 10_000), 4 * MINUTE_MS);
    assert_eq!(at(&ledger, 8 * MINUTE_MS).from, Some(BoundaryKind::ForkPoint));
    // The head was not what served: it was not refreshed.
    assert_eq!(
        at(&ledger, 8 * MINUTE_MS).places[0].state,
        PlaceState::Expired { ago_ms: 3 * MINUTE_MS }
    );
}

#[test]
fn a_long_lived_head_outlives_the_messages() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    let long = Boundary { mark: Some(Lifetime::Long), ..head(6_000) };
    let request = [long, parent()[1]];
    let mixed = Usage {
        write_short: Some(7_900),
        write_long: Some(2_100),
        read: Some(0),
        ..Usage::default()
    };
    let rows = send(&mut ledger, &facts, &request, mixed, 0);
    assert_eq!((rows[0].tokens, rows[0].exact), (2_100, true), "the split names the head's size");
    let mut later = child(4);
    later[0] = long;
    let expected = ledger.expect(&SCOPE, &facts, &later, 30 * MINUTE_MS);
    assert_eq!((expected.read, expected.exact), (2_100, true));
    assert_eq!(expected.from, Some(BoundaryKind::Head));
    assert_eq!(expected.missing, Missing::Expired { ago_ms: 25 * MINUTE_MS });
}

#[test]
fn a_clock_that_goes_backwards_kills_nothing_and_keeps_nothing_alive() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    send(&mut ledger, &facts, &parent(), usage(10_000, 0), 100 * MINUTE_MS);
    let read = |ledger: &Ledger, now_ms| ledger.expect(&SCOPE, &facts, &child(4), now_ms).read;
    assert_eq!(read(&ledger, 0), 10_000);
    assert_eq!(read(&ledger, i64::MIN), 10_000);
    assert_eq!(read(&ledger, i64::MAX), 0);
    // A use in the past does not age an entry.
    send(&mut ledger, &facts, &child(4), usage(1_100, 10_000), 0);
    assert_eq!(read(&ledger, 104 * MINUTE_MS), 10_000);
}

#[test]
fn what_is_shorter_than_the_minimum_is_never_live() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    let request = [head(300), mark(BoundaryKind::Tail, 2, 1_500)];
    send(&mut ledger, &facts, &request, Usage { uncached: 500, read: Some(0), ..usage(0, 0) }, 0);
    assert!(ledger.is_empty());
    let expected = ledger.expect(&SCOPE, &facts, &request, 1);
    assert_eq!((expected.read, expected.missing), (0, Missing::BelowMinimum));
}

#[test]
fn an_entry_beyond_the_lookback_is_out_of_reach() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    send(&mut ledger, &facts, &parent(), usage(10_000, 0), 0);
    let far = |back| Boundary { back, mark: None, ..child(4)[1] };
    let expected = |back| {
        let request = [head(6_000), far(back), mark(BoundaryKind::Tail, 4, 60_000)];
        ledger.expect(&SCOPE, &facts, &request, 1)
    };
    assert_eq!(expected(19).read, 10_000);
    assert_eq!(expected(20).from, Some(BoundaryKind::Head));
    assert_eq!(expected(20).missing, Missing::OutOfReach);
}

#[test]
fn breakpoints_serve_only_where_one_is_set() {
    let facts = Models::bundled().facts("openai/gpt-6.1-sol");
    let mut ledger = Ledger::default();
    send(&mut ledger, &facts, &parent(), usage(10_000, 0), 0);
    let unmarked = Boundary { mark: None, kind: BoundaryKind::Message, ..parent()[1] };
    let request = [head(6_000), unmarked, mark(BoundaryKind::Tail, 4, 33_000)];
    assert_eq!(ledger.expect(&SCOPE, &facts, &request, 1).from, Some(BoundaryKind::Head));
}

#[test]
fn usage_that_says_nothing_leaves_estimates() {
    let facts = opus();
    let absurd = Usage { uncached: u64::MAX, ..usage(u64::MAX, u64::MAX) };
    for odd in [Usage::default(), usage(0, u64::MAX), absurd] {
        let mut ledger = Ledger::default();
        let rows = send(&mut ledger, &facts, &parent(), odd, 0);
        let counts: Vec<_> = rows.iter().map(|row| (row.tokens, row.exact)).collect();
        assert_eq!(counts, [(1_500, false), (7_500, false)], "{odd:?}");
    }
}

#[test]
fn nothing_written_is_nothing_kept() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    let mut flight = ledger.started(&SCOPE, &parent(), 0);
    ledger.begun(&SCOPE, &facts, &mut flight);
    assert_eq!(ledger.live(&SCOPE, &facts, 1).len(), 2);
    let plain = Usage { uncached: 10_000, ..usage(0, 0) };
    assert_eq!(ledger.answered(&SCOPE, &facts, flight, &plain, 1), []);
    assert_eq!(ledger.live(&SCOPE, &facts, 1), []);
}

/// Places of a request without marks: an anchor, the answer behind it, a tail.
fn automatic(names: [u8; 3]) -> [Boundary; 3] {
    let place =
        |kind, name: u8, bytes, items| Boundary { items, mark: None, ..mark(kind, name, bytes) };
    [
        place(BoundaryKind::Anchor, names[0], 20_000, 1),
        place(BoundaryKind::ForkPoint, names[1], 24_000, 2),
        place(BoundaryKind::Tail, names[2], 24_400, 3),
    ]
}

#[test]
fn an_automatic_cache_keeps_every_beginning_in_steps() {
    let facts = Models::bundled().facts("openai/gpt-5.4");
    let mut ledger = Ledger::default();
    let plain = Usage { uncached: 6_100, read: Some(0), ..Usage::default() };
    send(&mut ledger, &facts, &automatic([1, 2, 3]), plain, 0);
    let expected = ledger.expect(&SCOPE, &facts, &automatic([1, 2, 4]), 1);
    assert_eq!(expected.from, Some(BoundaryKind::ForkPoint));
    assert_eq!((expected.read, expected.exact), (6_000 - 6_000 % 128, false));
}

#[test]
fn deepseek_keeps_whole_requests_and_what_two_of_them_share() {
    let facts = Models::bundled().facts("deepseek/deepseek-v4-flash");
    let mut ledger = Ledger::default();
    let mut reads = Vec::new();
    for tail in [3, 4, 5] {
        let request = automatic([1, 2, tail]);
        reads.push(ledger.expect(&SCOPE, &facts, &request, 1).from);
        let plain = Usage { uncached: 6_100, read: Some(0), ..Usage::default() };
        send(&mut ledger, &facts, &request, plain, 0);
    }
    assert_eq!(reads, [None, None, Some(BoundaryKind::ForkPoint)]);
    // The end of a whole request serves at once.
    let again = ledger.expect(&SCOPE, &facts, &automatic([1, 2, 3]), 1);
    assert_eq!(again.from, Some(BoundaryKind::Tail));
}

#[test]
fn where_output_is_kept_the_answer_behind_the_anchor_is_no_gap() {
    let facts = Models::bundled().facts("deepseek/deepseek-v4-flash");
    let mut ledger = Ledger::default();
    let first = [Boundary { kind: BoundaryKind::Tail, ..automatic([1, 2, 3])[0] }];
    let plain = Usage { uncached: 5_000, read: Some(0), ..Usage::default() };
    send(&mut ledger, &facts, &first, plain, 0);
    let expected = ledger.expect(&SCOPE, &facts, &automatic([1, 2, 3]), 1);
    assert_eq!((expected.read, expected.gap, expected.missing), (5_000, 0, Missing::Nothing));
}

#[test]
fn a_ledger_is_taken_up_again_from_its_rows() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    let mut rows = send(&mut ledger, &facts, &parent(), usage(10_000, 0), 0);
    rows.extend(send(&mut ledger, &facts, &child(4), usage(1_100, 10_000), MINUTE_MS));
    let mut again = Ledger::default();
    // In whatever order they were kept.
    again.load(SCOPE, rows.iter().rev().copied());
    let at = |ledger: &Ledger| ledger.expect(&SCOPE, &facts, &child(5), 2 * MINUTE_MS);
    assert_eq!(at(&again), at(&ledger));
    assert_eq!(again.live(&SCOPE, &facts, 0), ledger.live(&SCOPE, &facts, 0));
    assert_eq!(at(&again).from, Some(BoundaryKind::ForkPoint));
    let other = Scope([8; 32]);
    assert_eq!(again.expect(&other, &facts, &child(5), 0).read, 0, "another scope shares nothing");
}

#[test]
fn what_died_long_ago_is_pruned() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    send(&mut ledger, &facts, &parent(), usage(10_000, 0), 0);
    let two_days_ms = 2 * 24 * 60 * MINUTE_MS;
    assert_eq!(ledger.prune(&SCOPE, &facts, two_days_ms), 0);
    assert_eq!(ledger.prune(&SCOPE, &facts, two_days_ms + 5 * MINUTE_MS), 2);
    assert_eq!(ledger.len(), 0);
    send(&mut ledger, &facts, &parent(), usage(10_000, 0), 100);
    ledger.forget_before(&SCOPE, 101);
    assert!(ledger.is_empty());
}

#[test]
fn a_request_without_places_is_no_request() {
    let (facts, mut ledger) = (opus(), Ledger::default());
    let expected = ledger.expect(&SCOPE, &facts, &[], 0);
    assert_eq!((expected.read, expected.total, expected.missing), (0, 0, Missing::Nothing));
    assert_eq!(send(&mut ledger, &facts, &[], usage(5, 5), 0), []);
}
