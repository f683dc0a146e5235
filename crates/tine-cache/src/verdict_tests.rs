use tine_model::{BoundaryKind, Lifetime};

use super::*;
use crate::models::Models;

const OPUS: &str = "anthropic/claude-opus-5-5";

fn place(kind: BoundaryKind, tokens: u64, state: PlaceState) -> Place {
    Place { kind, tokens, exact: true, bytes: tokens * 4, state }
}

/// A fork over a warm parent: head at 2,000, anchor at 10,000, fork point at 11,000, a directive of 100.
fn expectation(missing: Missing) -> Expectation {
    use PlaceState::{Live, Unknown};
    let warm = missing == Missing::Nothing;
    Expectation {
        at_ms: 0,
        read: if warm { 11_000 } else { 10_000 },
        exact: true,
        from: Some(if warm { BoundaryKind::ForkPoint } else { BoundaryKind::Anchor }),
        total: 11_100,
        gap: if warm { 0 } else { 1_000 },
        prefix: 11_000,
        known: 11_000,
        missing,
        places: vec![
            place(BoundaryKind::Head, 2_000, Live),
            place(BoundaryKind::Anchor, 10_000, Live),
            place(BoundaryKind::ForkPoint, 11_000, if warm { Live } else { Unknown }),
            place(BoundaryKind::Tail, 11_100, Unknown),
        ],
    }
}

fn cold(missing: Missing) -> Expectation {
    Expectation { read: 0, from: None, gap: 11_000, ..expectation(missing) }
}

fn split(written: u64, read: u64) -> Usage {
    Usage { write_short: Some(written), read: Some(read), ..Usage::default() }
}

fn judged(expected: &Expectation, usage: Usage) -> Judgement {
    judge(expected, &usage, &Models::bundled().facts(OPUS), None)
}

fn check(expected: &Expectation, usage: Usage, verdict: Verdict, missed: u64) {
    let judgement = judged(expected, usage);
    assert_eq!((judgement.verdict, judgement.missed), (verdict, missed), "{}", judgement.why);
}

#[test]
fn what_was_expected_is_ok() {
    check(&expectation(Missing::Nothing), split(100, 11_000), Verdict::Ok, 0);
    check(&expectation(Missing::NeverWritten), split(1_100, 10_000), Verdict::Ok, 0);
}

#[test]
fn more_than_was_expected_is_ok() {
    check(&expectation(Missing::NeverWritten), split(100, 11_000), Verdict::Ok, 0);
    check(&cold(Missing::NeverWritten), split(100, 11_000), Verdict::Ok, 0);
    check(&cold(Missing::Expired { ago_ms: 5 }), split(100, 11_000), Verdict::Ok, 0);
}

#[test]
fn a_read_of_an_earlier_entry_is_a_divergence_where_the_bytes_differ_and_a_race_where_they_agree() {
    check(&expectation(Missing::Nothing), split(1_100, 10_000), Verdict::Race, 1_000);
    check(&expectation(Missing::Nothing), split(9_100, 2_000), Verdict::Race, 9_000);
    let segment = Segment::Block { message: 3, block: 0, kind: "tool result".into() };
    let expected = expectation(Missing::NeverWritten);
    let facts = Models::bundled().facts(OPUS);
    let judgement = judge(&expected, &split(9_100, 2_000), &facts, Some(segment.clone()));
    assert_eq!(judgement.verdict, Verdict::Diverged(Some(segment)));
    assert_eq!(judgement.missed, 9_000);
}

#[test]
fn what_is_too_short_to_be_kept_is_so_even_where_nothing_is_reported() {
    let facts = Models::bundled().facts("gemini/gemini-3.8-flash");
    let short = Expectation { total: 900, ..cold(Missing::BelowMinimum) };
    let silent = |uncached| Usage { uncached, ..Usage::default() };
    let judged = |expected, uncached| judge(expected, &silent(uncached), &facts, None).verdict;
    assert_eq!(judged(&short, 950), Verdict::BelowMinimum);
    assert_eq!(judged(&short, 0), Verdict::Unknown, "nothing was counted");
    assert_eq!(judged(&cold(Missing::NeverWritten), 950), Verdict::Unknown, "too few for 11,100");
}

#[test]
fn a_prefix_of_which_most_was_never_written_is_cold() {
    let head = Expectation { read: 2_000, gap: 9_000, ..expectation(Missing::NeverWritten) };
    check(&head, split(9_100, 2_000), Verdict::Cold, 0);
    assert_eq!(
        judged(&head, split(9_100, 2_000)).why,
        "read 2,000 tokens; the other 9,000 of this prefix were in no cache yet"
    );
}

#[test]
fn a_known_difference_is_named_by_its_segment() {
    let block = Segment::Block { message: 0, block: 1, kind: "user text".into() };
    let named = |segment: Segment, expected: &Expectation, usage: Usage| {
        let facts = Models::bundled().facts(OPUS);
        judge(expected, &usage, &facts, Some(segment)).verdict
    };
    let cold = cold(Missing::NeverWritten);
    for segment in [Segment::Tool("read".into()), Segment::System { block: None }, block] {
        let verdict = named(segment.clone(), &cold, split(11_100, 0));
        assert_eq!(verdict, Verdict::Diverged(Some(segment)));
    }
    let setting = Segment::Setting("effort".into());
    let verdict = named(setting.clone(), &cold, split(11_100, 0));
    assert_eq!(verdict, Verdict::SettingsChanged(Some(setting.clone())));
    // A difference that costs nothing is none, and going on is no difference.
    let warm = expectation(Missing::Nothing);
    assert_eq!(named(setting, &warm, split(100, 11_000)), Verdict::Ok);
    assert_eq!(named(Segment::End, &cold, split(11_100, 0)), Verdict::Cold);
}

/// Other bytes, a byte before the end: the entry before is nearly as long as the prefix, and still it is a divergence.
#[test]
fn a_difference_near_the_end_is_no_rounding() {
    let segment = Segment::Block { message: 9, block: 0, kind: "user text".into() };
    let mut expected = expectation(Missing::NeverWritten);
    (expected.prefix, expected.gap) = (10_050, 50);
    let judgement = judge(
        &expected,
        &split(1_100, 10_000),
        &Models::bundled().facts(OPUS),
        Some(segment.clone()),
    );
    assert_eq!((judgement.verdict, judgement.missed), (Verdict::Diverged(Some(segment)), 50));
}

#[test]
fn nothing_read_of_a_live_entry_is_a_race() {
    check(&expectation(Missing::Nothing), split(11_100, 0), Verdict::Race, 11_000);
    check(&expectation(Missing::InFlight), split(1_100, 10_000), Verdict::Race, 1_000);
    check(&cold(Missing::InFlight), split(11_100, 0), Verdict::Race, 11_000);
}

#[test]
fn nothing_read_after_the_end_of_a_life_is_expiry() {
    let expired = cold(Missing::Expired { ago_ms: 6 * 60_000 });
    check(&expired, split(11_100, 0), Verdict::Expired, 11_000);
    assert_eq!(judged(&expired, split(11_100, 0)).why, "the entry's life ended 6 min before");
}

#[test]
fn nothing_read_of_what_nobody_wrote_is_cold() {
    check(&cold(Missing::NeverWritten), split(11_100, 0), Verdict::Cold, 0);
}

#[test]
fn neither_read_nor_written_is_below_the_minimum_or_unmarked() {
    let plain = |uncached| Usage { uncached, ..split(0, 0) };
    let short = Expectation { total: 400, prefix: 300, gap: 300, ..cold(Missing::BelowMinimum) };
    check(&short, plain(400), Verdict::BelowMinimum, 0);
    check(&cold(Missing::NeverWritten), plain(11_100), Verdict::MarkerMisplaced, 11_000);
    check(&expectation(Missing::Nothing), plain(11_100), Verdict::MarkerMisplaced, 11_000);
}

#[test]
fn plain_input_far_above_the_tail_is_a_misplaced_mark() {
    let usage = Usage { uncached: 9_000, ..split(100, 2_000) };
    check(&expectation(Missing::Nothing), usage, Verdict::MarkerMisplaced, 9_000);
    check(&expectation(Missing::OutOfReach), split(1_100, 10_000), Verdict::MarkerMisplaced, 1_000);
    // A directive behind the last mark is where it belongs.
    let tail = Usage { uncached: 400, ..split(0, 11_000) };
    check(&expectation(Missing::Nothing), tail, Verdict::Ok, 0);
}

#[test]
fn an_automatic_cache_that_does_not_serve_is_unreliable() {
    let plain = |uncached, read| Usage { uncached, read: Some(read), ..Usage::default() };
    let expected = Expectation { exact: false, ..expectation(Missing::Nothing) };
    for model in ["gemini/gemini-3.8-flash", "openai/gpt-5.4", "openai-compat/llama"] {
        let facts = Models::bundled().facts(model);
        let verdict = |usage| judge(&expected, &usage, &facts, None).verdict;
        assert_eq!(verdict(plain(11_100, 0)), Verdict::Unreliable, "{model}");
        assert_eq!(verdict(plain(220, 10_880)), Verdict::Ok, "{model}");
    }
}

#[test]
fn counts_that_say_nothing_are_unknown_and_never_zero() {
    let silent = Usage { read: None, ..split(11_100, 0) };
    let absurd = Usage { uncached: u64::MAX, ..split(u64::MAX, u64::MAX) };
    let beyond = split(100, 10_000_000);
    let few = Usage { uncached: 3, ..split(0, 0) };
    for usage in [silent, Usage::default(), split(0, 0), absurd, beyond, few] {
        let judgement = judged(&expectation(Missing::Nothing), usage);
        assert_eq!(judgement.verdict, Verdict::Unknown, "{usage:?}");
        assert_eq!((judgement.read, judgement.missed), (None, 0));
        assert_eq!(judgement.cost_of_miss, None);
    }
}

#[test]
fn an_estimate_is_corrected_by_what_the_request_turned_out_to_be() {
    let expected = Expectation { exact: false, ..expectation(Missing::Nothing) };
    // A third more tokens than bytes let expect, all in proportion.
    check(&expected, split(133, 14_666), Verdict::Ok, 0);
    let judgement = judged(&expected, split(6_800, 8_000));
    assert!(judgement.verdict.is_miss(), "{}", judgement.why);
}

#[test]
fn a_miss_costs_the_write_over_the_read() {
    let judgement = judged(&expectation(Missing::Nothing), split(11_100, 0));
    assert_eq!(format!("{:.4}", judgement.cost_of_miss.unwrap()), "0.0528");
    let long = Usage { write_long: Some(11_100), ..split(0, 0) };
    let judgement = judged(&expectation(Missing::Nothing), long);
    assert_eq!(format!("{:.4}", judgement.cost_of_miss.unwrap()), "0.0858");
    let facts = Models::bundled().facts("anthropic/unknown");
    let unpriced = judge(&expectation(Missing::Nothing), &split(11_100, 0), &facts, None);
    assert_eq!((unpriced.missed, unpriced.cost_of_miss), (11_000, None));
}

#[test]
fn words_are_read_back() {
    let words = [
        "ok",
        "cold",
        "diverged",
        "settings_changed",
        "race",
        "expired",
        "below_minimum",
        "marker_misplaced",
        "unreliable",
        "unknown",
    ];
    for word in words {
        assert_eq!(Verdict::from_name(word).map(|verdict| verdict.as_str()), Some(word));
    }
    assert_eq!(Verdict::from_name("fine"), None);
}

/// The ledger's own expectation of a mixed request, through to the verdict.
#[test]
fn a_ledger_and_a_judge_agree() {
    use crate::ledger::{Ledger, Scope};
    use tine_model::Boundary;
    let facts = Models::bundled().facts(OPUS);
    let (mut ledger, scope) = (Ledger::default(), Scope([0; 32]));
    let mark = |kind, name: u8, bytes| Boundary {
        kind,
        hash: [name; 32],
        bytes,
        items: 0,
        back: 0,
        mark: Some(Lifetime::Short),
    };
    let first = [mark(BoundaryKind::Head, 1, 8_000), mark(BoundaryKind::Tail, 2, 40_000)];
    let expected = ledger.expect(&scope, &facts, &first, 0);
    assert_eq!(judged(&expected, split(10_000, 0)).verdict, Verdict::Cold);
    let flight = ledger.started(&scope, &first, 0);
    ledger.answered(&scope, &facts, flight, &split(10_000, 0), 1);
    let next = [
        mark(BoundaryKind::Head, 1, 8_000),
        mark(BoundaryKind::Anchor, 2, 40_000),
        mark(BoundaryKind::Tail, 3, 44_000),
    ];
    let expected = ledger.expect(&scope, &facts, &next, 2);
    assert_eq!(judged(&expected, split(1_000, 10_000)).verdict, Verdict::Ok);
    assert_eq!(judged(&expected, split(9_000, 2_000)).verdict, Verdict::Race);
}

#[test]
fn the_sentences_read_well() {
    let facts = Models::bundled().facts(OPUS);
    let segment = Segment::Tool("read_file".into());
    let plain = Usage { uncached: 11_100, ..split(0, 0) };
    let automatic = Models::bundled().facts("openai/gpt-5.4");
    let sentences = [
        judged(&expectation(Missing::Nothing), split(100, 11_000)).why,
        judged(&expectation(Missing::NeverWritten), split(1_100, 10_000)).why,
        judged(&expectation(Missing::NeverWritten), split(100, 11_000)).why,
        judge(&cold(Missing::NeverWritten), &split(11_100, 0), &facts, Some(segment)).why,
        judged(&cold(Missing::NeverWritten), split(11_100, 0)).why,
        judged(&cold(Missing::InFlight), split(11_100, 0)).why,
        judged(&expectation(Missing::Nothing), split(11_100, 0)).why,
        judged(&expectation(Missing::Nothing), split(9_100, 2_000)).why,
        judged(&expectation(Missing::Nothing), split(1_100, 10_000)).why,
        judged(&expectation(Missing::Nothing), split(6_100, 5_000)).why,
        judged(&expectation(Missing::Nothing), plain).why,
        judge(
            &expectation(Missing::Nothing),
            &Usage { write_short: None, ..plain },
            &automatic,
            None,
        )
        .why,
        judged(&expectation(Missing::Nothing), Usage::default()).why,
    ];
    insta::assert_snapshot!(sentences.join("\n"), @r"
    read 11,000 tokens, as expected
    read 10,000 tokens, as expected; 1,000 more were new
    read 11,000 tokens, more than was expected
    tool `read_file` differs from the request before: nothing was read
    nothing of this prefix was in the cache yet
    another request was still writing the prefix when this one was sent
    nothing was read though an entry lives: a race, another workspace or another machine
    the read ends at the head, though our bytes agree beyond it: another machine, an early eviction, or a change on the way
    the read ends at the anchor, though our bytes agree beyond it: another machine, an early eviction, or a change on the way
    5,000 tokens were read, which is the size of no entry of ours
    11,100 tokens were neither read nor written: no mark covers them
    the cache served 0 of 11,000 tokens that it was shown before: routing, eviction or chance
    the provider did not report what it read from the cache
    ");
}

#[test]
fn bytes_that_differ_are_named_even_where_no_count_is_reported() {
    let silent = Usage { uncached: 11_100, ..Usage::default() };
    let facts = Models::bundled().facts(OPUS);
    let judged =
        |segment| judge(&expectation(Missing::NeverWritten), &silent, &facts, Some(segment));
    let changed = judged(Segment::System { block: None });
    assert_eq!(changed.verdict, Verdict::Diverged(Some(Segment::System { block: None })));
    assert_eq!((changed.read, changed.missed, changed.cost_of_miss), (None, 0, None));
    assert_eq!(judged(Segment::End).verdict, Verdict::Unknown, "a longer request is no change");
    let absurd = Usage { read: Some(1 << 40), ..silent };
    let absurd = judge(
        &expectation(Missing::NeverWritten),
        &absurd,
        &facts,
        Some(Segment::System { block: None }),
    );
    assert_eq!(absurd.verdict, Verdict::Unknown);
}

#[test]
fn a_short_gap_that_expired_is_not_taken_for_somebody_elses_write() {
    let nearly =
        Expectation { read: 10_990, gap: 10, ..expectation(Missing::Expired { ago_ms: 5 }) };
    // The prompt turned out shorter than estimated; what is known exactly does not shrink with it.
    let judgement = judged(&nearly, split(60, 10_990));
    assert_eq!(judgement.verdict, Verdict::Expired, "{}", judgement.why);
}
