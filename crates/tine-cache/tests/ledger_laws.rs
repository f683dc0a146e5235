//! Laws of the ledger, against a cache that is simulated entry by entry.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use tine_cache::{Facts, Ledger, Missing, Models, Scope, Verdict, judge};
use tine_model::{Boundary, BoundaryKind, Lifetime, Usage};

const SCOPE: Scope = Scope([3; 32]);

/// The tree of conversations that requests are taken from: nodes of a complete tree of this many branches.
const BRANCHES: u64 = 3;

/// How deep it is.
const DEPTH: usize = 4;

/// A node: the way to it from the root.
type Node = Vec<u64>;

/// The provider: entries by bytes, with the tokens that only it can count.
#[derive(Default)]
struct Oracle {
    entries: BTreeMap<[u8; 32], (Lifetime, i64)>,
}

/// Tokens of everything up to a node: not a multiple of its bytes, so that estimates are never right by chance.
fn tokens(node: &[u64]) -> u64 {
    600 + node.iter().map(|branch| 700 + branch * 37).sum::<u64>()
}

fn bytes(node: &[u64]) -> u64 {
    2_400 + node.iter().map(|branch| 2_500 + branch * 300).sum::<u64>()
}

fn hash(node: &[u64]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash[0] = node.len() as u8 + 1;
    for (slot, branch) in hash[1..].iter_mut().zip(node) {
        *slot = *branch as u8;
    }
    hash
}

/// A request for a node: head, and a mark on each of the last three nodes of its way.
fn request(node: &Node, long_head: bool) -> Vec<Boundary> {
    let depths = (1..=node.len()).rev().take(3);
    let mut depths: Vec<usize> = depths.collect();
    depths.reverse();
    let place = |depth: usize, kind, lifetime| Boundary {
        kind,
        hash: hash(&node[..depth]),
        bytes: bytes(&node[..depth]),
        items: depth,
        back: 0,
        mark: Some(lifetime),
    };
    let head = if long_head { Lifetime::Long } else { Lifetime::Short };
    let mut places = vec![place(0, BoundaryKind::Head, head)];
    let last = depths.len() - 1;
    for (index, depth) in depths.into_iter().enumerate() {
        let kind = match last - index {
            0 => BoundaryKind::Tail,
            1 => BoundaryKind::ForkPoint,
            _ => BoundaryKind::Anchor,
        };
        places.push(place(depth, kind, Lifetime::Short));
    }
    places
}

impl Oracle {
    fn live(&self, facts: &Facts, place: &Boundary, now_ms: i64) -> bool {
        self.entries.get(&place.hash).is_some_and(|(lifetime, used_ms)| {
            let life_ms = match lifetime {
                Lifetime::Short => facts.short_ms,
                Lifetime::Long => facts.long_ms.unwrap_or(0),
            };
            now_ms < used_ms + life_ms
        })
    }

    /// Serves a request and says what it used.
    fn answer(&mut self, facts: &Facts, node: &Node, request: &[Boundary], now_ms: i64) -> Usage {
        let size = |place: &Boundary| tokens(&node[..place.items]);
        let served = (0..request.len()).rev().find(|i| self.live(facts, &request[*i], now_ms));
        if let Some(entry) = served.and_then(|i| self.entries.get_mut(&request[i].hash)) {
            entry.1 = now_ms;
        }
        let read = served.map_or(0, |index| size(&request[index]));
        let first = served.map_or(0, |index| index + 1);
        for place in &request[first..] {
            let lifetime = place.mark.unwrap_or_default();
            self.entries.insert(place.hash, (lifetime, now_ms));
        }
        let long = request[first..].iter().rfind(|place| place.mark == Some(Lifetime::Long));
        let write_long = long.map_or(0, |place| size(place) - read);
        let all = request.last().map_or(0, size);
        Usage {
            write_short: Some(all - read - write_long),
            write_long: Some(write_long),
            read: Some(read),
            ..Usage::default()
        }
    }
}

/// Read once: it is the dearest part of a case.
static MODELS: LazyLock<Models> = LazyLock::new(Models::bundled);

fn facts() -> Facts {
    MODELS.facts("anthropic/claude-opus-5-5")
}

fn node() -> impl Strategy<Value = Node> {
    prop::collection::vec(0..BRANCHES, 1..=DEPTH)
}

proptest! {
    /// Requests one after another, with any pause between them: the place that serves is the one that the provider
    /// serves from, every exact expectation is met to the token, and no verdict is a miss that the ledger did not foresee.
    #[test]
    fn the_ledger_agrees_with_a_simulated_cache(
        steps in prop::collection::vec((node(), 0..900_000_i64, any::<bool>()), 1..40),
    ) {
        let (facts, mut ledger, mut oracle) = (facts(), Ledger::default(), Oracle::default());
        let (mut now_ms, mut written) = (1_000, 0_u64);
        for (node, pause_ms, long_head) in steps {
            now_ms += pause_ms;
            let request = request(&node, long_head);
            let expected = ledger.expect(&SCOPE, &facts, &request, now_ms);
            let served = (0..request.len()).rev().find(|i| oracle.live(&facts, &request[*i], now_ms));
            prop_assert_eq!(expected.from, served.map(|index| request[index].kind));
            let flight = ledger.started(&SCOPE, &request, now_ms);
            let usage = oracle.answer(&facts, &node, &request, now_ms);
            let rows = ledger.answered(&SCOPE, &facts, flight, &usage, now_ms + 1);
            if expected.exact {
                prop_assert_eq!(Some(expected.read), usage.read);
            }
            // Nothing is expected that was never written.
            prop_assert!(expected.exact || expected.read <= written.max(expected.total));
            prop_assert!(expected.read <= expected.total);
            prop_assert!(expected.gap <= expected.prefix);
            written += usage.written();
            let verdict = judge(&expected, &usage, &facts, None).verdict;
            let foreseen = matches!(expected.missing, Missing::Expired { .. });
            let ok = matches!(verdict, Verdict::Ok | Verdict::Cold);
            prop_assert!(ok || (foreseen && verdict == Verdict::Expired), "{:?}", verdict);
            for row in rows {
                prop_assert!(oracle.entries.contains_key(&row.hash));
            }
        }
    }

    /// Places further on never have fewer tokens, whatever was learnt from whatever usage.
    #[test]
    fn longer_is_never_fewer_tokens(
        steps in prop::collection::vec((node(), 0..20_000_u64, 0..20_000_u64), 1..30),
        last in node(),
    ) {
        let (facts, mut ledger) = (facts(), Ledger::default());
        for (now_ms, (node, written, read)) in (0_i64..).zip(steps) {
            let flight = ledger.started(&SCOPE, &request(&node, false), now_ms);
            let usage = Usage { write_short: Some(written), read: Some(read), ..Usage::default() };
            ledger.answered(&SCOPE, &facts, flight, &usage, now_ms);
        }
        let expected = ledger.expect(&SCOPE, &facts, &request(&last, false), 100);
        let sizes: Vec<u64> = expected.places.iter().map(|place| place.tokens).collect();
        prop_assert!(sizes.is_sorted(), "{:?}", sizes);
        prop_assert!(expected.read <= expected.total);
    }

    /// No usage, no clock and no order of events makes it panic, and what is in flight ends with its request.
    #[test]
    fn nothing_that_comes_in_panics(
        usages in prop::collection::vec(
            (any::<u64>(), any::<Option<u64>>(), any::<Option<u64>>(), any::<Option<u64>>()), 1..8,
        ),
        now_ms in any::<i64>(),
        model in prop::sample::select(vec![
            "anthropic/claude-opus-5-5", "openai/gpt-6.1-sol", "openai/gpt-5.4", "deepseek/deepseek-v4-pro",
            "gemini/x", "openai-compat/x", "acme",
        ]),
        node in node(),
    ) {
        let (facts, mut ledger) = (MODELS.facts(model), Ledger::default());
        let request = request(&node, true);
        for (index, (uncached, short, long, read)) in usages.into_iter().enumerate() {
            let usage = Usage { uncached, write_short: short, write_long: long, read, ..Usage::default() };
            let expected = ledger.expect(&SCOPE, &facts, &request, now_ms);
            let mut flight = ledger.started(&SCOPE, &request, now_ms);
            if index % 2 == 0 {
                ledger.begun(&SCOPE, &facts, &mut flight);
            }
            if index % 3 == 0 {
                ledger.failed(&SCOPE, flight);
            } else {
                ledger.answered(&SCOPE, &facts, flight, &usage, now_ms.wrapping_neg());
            }
            judge(&expected, &usage, &facts, None);
        }
        ledger.prune(&SCOPE, &facts, now_ms);
        let expected = ledger.expect(&SCOPE, &facts, &request, now_ms);
        prop_assert!(expected.missing != Missing::InFlight);
    }
}
