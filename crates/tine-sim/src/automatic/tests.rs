//! Tables for each engine, and the laws that hold for every cache model, these and the marked ones.

use proptest::prelude::*;

use super::chance::ChanceCache;
use super::chunks::{KimiCache, VllmCache};
use super::radix::RadixCache;
use super::slots::SlotCache;
use super::tokens::{Token, common, of};
use super::units::UnitCache;
use crate::block_cache::BlockCache;
use crate::breakpoint_cache::BreakpointCache;
use crate::cache::{Cache, Position, Prompt, Ttl, link};
use crate::limits::tokens_of;
use crate::passive::PassiveCache;
use crate::prefix_cache::PrefixCache;

/// Lines of so many tokens, each of which repeats one letter.
fn lines(pieces: &[(usize, char)]) -> Vec<String> {
    pieces.iter().map(|(tokens, letter)| letter.to_string().repeat(tokens * 4)).collect()
}

/// Every third line is marked, so that the models which want marks find some.
fn prompt(pieces: &[(usize, char)]) -> Prompt {
    let lines = lines(pieces);
    let (mut digest, mut tokens_through) = ([0; 32], 0);
    let positions = lines.iter().enumerate().map(|(index, line)| {
        digest = link(&[&digest, line.as_bytes()]);
        tokens_through += tokens_of(line.len());
        let mark = (index % 3 == 1).then_some(if index == 1 { Ttl::Long } else { Ttl::Short });
        Position { digest, tokens_through, mark, is_eligible_end: index % 2 == 0 }
    });
    let positions = positions.collect();
    let implicit = Some(Ttl::Short);
    Prompt { lines, positions, implicit, min_tokens: 100, ..Prompt::default() }
}

/// Sends one request from arrival to end; gives what was read.
fn send(cache: &mut dyn Cache, asked: &[(usize, char)], answer: &[(usize, char)]) -> u64 {
    let asked = prompt(asked);
    let charge = cache.lookup(&asked, 0);
    cache.begun(&asked, &charge);
    cache.ended(&asked, &charge, &lines(answer), 0);
    charge.usage.read
}

#[test]
fn deepseek_siblings_miss_twice_before_they_share() {
    let mut cache = UnitCache::new(None);
    let mut child = |branch| send(&mut cache, &[(500, 'p'), (100, branch)], &[(10, 'x')]);
    assert_eq!([child('a'), child('b'), child('c'), child('d')], [0, 0, 500, 500]);
}

#[test]
fn deepseek_siblings_at_once_share_nothing_and_the_next_one_does() {
    let mut cache = UnitCache::new(None);
    let asked = ['a', 'b', 'c'].map(|branch| prompt(&[(500, 'p'), (100, branch)]));
    let charges = asked.each_ref().map(|asked| cache.lookup(asked, 0));
    assert_eq!(charges.each_ref().map(|charge| charge.usage.read), [0, 0, 0]);
    asked.iter().zip(&charges).for_each(|(asked, charge)| cache.ended(asked, charge, &[], 0));
    assert_eq!(send(&mut cache, &[(500, 'p'), (100, 'd')], &[]), 500);
}

#[test]
fn deepseek_children_of_a_whole_exchange_hit_at_once() {
    let mut cache = UnitCache::new(None);
    send(&mut cache, &[(500, 'p')], &[(80, 'x')]);
    assert_eq!(send(&mut cache, &[(500, 'p'), (80, 'x'), (100, 'a')], &[]), 580);
    assert_eq!(send(&mut cache, &[(500, 'p'), (100, 'b')], &[]), 500);
    assert_eq!(send(&mut cache, &[(400, 'p'), (100, 'c')], &[]), 0, "no unit ends there");
}

#[test]
fn deepseek_saves_every_interval_where_it_is_told_to() {
    let mut cache = UnitCache::new(Some(128));
    send(&mut cache, &[(500, 'p')], &[]);
    assert_eq!(send(&mut cache, &[(400, 'p'), (100, 'a')], &[]), 384);
}

#[test]
fn a_deepseek_request_that_breaks_off_saves_nothing() {
    let mut cache = UnitCache::new(None);
    let asked = prompt(&[(500, 'p')]);
    let charge = cache.lookup(&asked, 0);
    cache.begun(&asked, &charge);
    cache.abandoned(charge.ticket);
    assert_eq!(send(&mut cache, &[(500, 'p')], &[]), 0);
}

#[test]
fn kimi_reads_whole_chunks_once_the_writer_has_begun() {
    let mut cache = KimiCache::new();
    let asked = prompt(&[(1_000, 'p')]);
    let charges = [cache.lookup(&asked, 0), cache.lookup(&asked, 0)];
    assert_eq!(charges.each_ref().map(|charge| charge.usage.read), [0, 0]);
    charges.iter().for_each(|charge| cache.begun(&asked, charge));
    assert_eq!(send(&mut cache, &[(1_000, 'p'), (500, 'a')], &[]), 768);
    assert_eq!(cache.lookup(&asked, 300_000).usage.read, 0);
}

#[test]
fn vllm_shares_blocks_as_they_are_computed_and_keeps_answers() {
    let mut cache = VllmCache::new(100_000);
    let asked = prompt(&[(1_024, 'p')]);
    let (leader, sibling) = (cache.lookup(&asked, 0), cache.lookup(&asked, 0));
    assert_eq!((leader.usage.read, sibling.usage.read), (0, 1_008));
    cache.ended(&asked, &leader, &lines(&[(32, 'x')]), 0);
    assert_eq!(send(&mut cache, &[(1_024, 'p'), (32, 'x'), (5, 'a')], &[]), 1_056);
}

#[test]
fn vllm_forgets_what_does_not_fit() {
    let mut cache = VllmCache::new(160);
    send(&mut cache, &[(160, 'p')], &[]);
    send(&mut cache, &[(64, 'a')], &[]);
    assert_eq!(send(&mut cache, &[(160, 'p')], &[]), 96);
}

#[test]
fn sglang_holds_a_cold_sibling_back_until_its_leader_is_computed() {
    let mut cache = RadixCache::new(100_000);
    let asked = [(500, 'a'), (500, 'b'), (31, 'c')]
        .map(|(shared, branch)| prompt(&[(shared, 'p'), (100, branch)]));
    let charges = asked.each_ref().map(|asked| cache.lookup(asked, 0));
    assert_eq!(charges.each_ref().map(|charge| charge.usage.read), [0, 500, 0]);
    charges.iter().for_each(|charge| cache.abandoned(charge.ticket));
    assert_eq!(send(&mut cache, &[(500, 'p')], &[(10, 'x')]), 0, "none was computed");
    assert_eq!(send(&mut cache, &[(500, 'p'), (10, 'x')], &[]), 509);
}

#[test]
fn gemini_hits_as_often_as_it_is_told_to() {
    for (hit_rate, least, most) in [(0.0, 0, 0), (0.5, 400, 600), (1.0, 1_000, 1_000)] {
        let mut cache = ChanceCache::new(hit_rate, 7);
        assert_eq!(send(&mut cache, &[(100, 'p')], &[]), 0);
        let hits = (0..1_000).filter(|_| send(&mut cache, &[(100, 'p')], &[]) == 100).count();
        assert!((least..=most).contains(&hits), "{hits} at {hit_rate}");
        assert_eq!(send(&mut cache, &[(99, 'p')], &[]), 0, "below the minimum");
    }
}

/// One step of a random history.
#[derive(Debug, Clone)]
enum Event {
    Arrive(Vec<(usize, char)>),
    Begin(usize),
    End(usize, bool),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let letter = prop_oneof![Just('p'), Just('a'), Just('x')];
    let pieces = proptest::collection::vec((1_usize..400, letter), 1..8);
    let event = prop_oneof![
        pieces.prop_map(Event::Arrive),
        (0_usize..8).prop_map(Event::Begin),
        (0_usize..8, any::<bool>()).prop_map(|(at, is_whole)| Event::End(at, is_whole)),
    ];
    proptest::collection::vec(event, 1..40)
}

/// When an engine shows a prompt to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    OnArrival,
    AtBegin,
    AtEnd,
}

/// Name, model, when it shows prompts, and whether it keeps answers.
fn models() -> [(&'static str, Box<dyn Cache>, Shown, bool); 11] {
    [
        ("deepseek", Box::new(UnitCache::new(Some(100))), Shown::AtEnd, true),
        ("kimi", Box::new(KimiCache::new()), Shown::AtBegin, false),
        ("vllm", Box::new(VllmCache::new(4_000)), Shown::OnArrival, true),
        ("sglang", Box::new(RadixCache::new(4_000)), Shown::OnArrival, true),
        ("llamacpp", Box::new(SlotCache::new(2)), Shown::AtEnd, true),
        ("gemini", Box::new(ChanceCache::new(0.7, 1)), Shown::AtEnd, false),
        ("anthropic", Box::new(BlockCache::new(true)), Shown::AtBegin, false),
        ("minimax", Box::new(PassiveCache::new(true)), Shown::AtBegin, false),
        ("openai", Box::new(BreakpointCache::new(false, true)), Shown::AtBegin, false),
        ("openai on machines", Box::new(BreakpointCache::new(true, true)), Shown::AtBegin, false),
        ("openai-legacy", Box::new(PrefixCache::default()), Shown::AtBegin, false),
    ]
}

proptest! {
    // Eleven models see each history.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_read_was_in_an_earlier_prompt_or_answer(events in events()) {
        for (name, mut cache, when, keeps_answers) in models() {
            let mut open = Vec::new();
            let mut shown: Vec<Vec<Token>> = Vec::new();
            for event in &events {
                match event {
                    Event::Arrive(pieces) => {
                        let asked = prompt(pieces);
                        let tokens = of(&asked.lines);
                        let usage = cache.lookup(&asked, 0);
                        let most = shown.iter().map(|seen| common(seen, &tokens)).max();
                        prop_assert!(usage.usage.read <= most.unwrap_or(0) as u64, "{}", name);
                        prop_assert_eq!(usage.usage.total(), tokens.len() as u64, "{}", name);
                        if when == Shown::OnArrival {
                            shown.push(tokens);
                        }
                        open.push((asked, usage));
                    }
                    Event::Begin(at) => if let Some((asked, charge)) = open.get(*at) {
                        cache.begun(asked, charge);
                        if when == Shown::AtBegin {
                            shown.push(of(&asked.lines));
                        }
                    },
                    Event::End(at, is_whole) => if *at < open.len() {
                        let (asked, charge) = open.remove(*at);
                        match is_whole {
                            true => cache.ended(&asked, &charge, &lines(&[(40, 'x')]), 0),
                            false => cache.abandoned(charge.ticket),
                        }
                        if *is_whole && (keeps_answers || when == Shown::AtEnd) {
                            let answer = if keeps_answers { lines(&[(40, 'x')]) } else { Vec::new() };
                            shown.push([of(&asked.lines), of(&answer)].concat());
                        }
                    },
                }
            }
        }
    }
}
