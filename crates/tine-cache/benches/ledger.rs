//! What the cache engine costs per request, printed. Run with `cargo xtask bench ledger`.
//!
//! Each line is the median over many rounds. Nothing here asserts a time: machines differ.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use tine_cache::{Facts, Ledger, LiveEntry, Models, Scope, Situation, judge, plan};
use tine_model::{Boundary, BoundaryKind, Lifetime, Usage};

/// Rounds of an operation.
const ROUNDS: u64 = 5_000;

/// Live entries while it is measured.
const ENTRIES: u64 = 10_000;

/// Places of the request: the four marks, and as many ends of messages as a lookup reaches before each of three.
const MESSAGES_PER_MARK: u64 = 19;

const SCOPE: Scope = Scope([1; 32]);

fn main() {
    let models = Models::bundled();
    let facts = models.facts("anthropic/claude-opus-5-5");
    let mut ledger = Ledger::default();
    ledger.load(SCOPE, (0..ENTRIES).map(entry));
    println!("one request with {ENTRIES} live entries");
    let request = request(0);
    println!("  places of the request: {}", request.len());
    shown("expect", || ledger.expect(&SCOPE, &facts, &request, 1));
    let mut others = ledger.clone();
    let mut round = 0;
    shown("expect, started, begun, answered, judge", || {
        round += 1;
        whole(&mut others, &facts, round)
    });
    println!("  entries afterwards: {}", others.len());
    println!("one plan");
    let situation = Situation {
        siblings: 64,
        prefix_tokens: 100_000,
        gap_tokens: 4_000,
        directive_tokens: 500,
        value_per_second: 0.01,
        ..Situation::default()
    };
    shown("plan for 64 siblings", || plan(&situation, &facts));
    println!("one look at the table of models");
    shown("facts of a model", || models.facts("sim/demo@openai"));
}

/// Everything that happens around one request.
fn whole(ledger: &mut Ledger, facts: &Facts, round: u64) -> tine_cache::Judgement {
    let request = request(round);
    let usage = Usage { write_short: Some(1_100), read: Some(10_000), ..Usage::default() };
    let expected = ledger.expect(&SCOPE, facts, &request, 1);
    let mut flight = ledger.started(&SCOPE, &request, 1);
    ledger.begun(&SCOPE, facts, &mut flight);
    black_box(ledger.answered(&SCOPE, facts, flight, &usage, 2));
    judge(&expected, &usage, facts, None)
}

fn hash(number: u64) -> [u8; 32] {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&number.to_le_bytes());
    hash
}

fn entry(number: u64) -> LiveEntry {
    LiveEntry {
        hash: hash(number),
        tokens: 10_000,
        exact: true,
        bytes: 40_000,
        lifetime: Lifetime::Short,
        used_ms: 0,
    }
}

/// A fork's request: its anchor is one of the live entries, everything behind it is its own.
fn request(round: u64) -> Vec<Boundary> {
    let own = |index: u64| hash((round + 1) * 1_000_000 + index);
    let place = |kind, hash, bytes, mark| Boundary { kind, hash, bytes, items: 0, back: 0, mark };
    let short = Some(Lifetime::Short);
    let mut places = vec![place(BoundaryKind::Head, own(0), 8_000, short)];
    let marks = [BoundaryKind::Anchor, BoundaryKind::ForkPoint, BoundaryKind::Tail];
    for (step, kind) in (1_u64..).zip(marks) {
        let end = 40_000 + (step - 1) * 2_000;
        for message in 0..MESSAGES_PER_MARK {
            let index = step * 100 + message;
            let bytes = end - (MESSAGES_PER_MARK - message) * 10;
            places.push(place(BoundaryKind::Message, own(index), bytes, None));
        }
        let hash = if step == 1 { hash(round % ENTRIES) } else { own(step) };
        places.push(place(kind, hash, end, short));
    }
    places
}

fn shown<T>(name: &str, mut operation: impl FnMut() -> T) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let result = black_box(operation());
            let time = start.elapsed();
            drop(result);
            time
        })
        .collect();
    times.sort();
    let time = times[times.len() / 2];
    println!("  {name}: {:.3} µs", time.as_secs_f64() * 1e6);
}
