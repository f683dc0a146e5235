//! Table tests of the breakpoint cache: sections B.1, B.2 and the profile openai-5.6 of the reference.

use super::*;
use crate::cache::{Position, PromptUsage};
use crate::limits::MACHINE_REQUESTS_MAX;

/// Every place of these prompts stands so many tokens behind the one before it.
const STEP_TOKENS: u64 = 1_024;

fn cache() -> BreakpointCache {
    BreakpointCache::new(false, false)
}

/// An explicit-mode prompt of so many places; those up to `shared` are the same in all prompts.
fn prompt(places: usize, shared: usize, branch: u8, marks: &[usize]) -> Prompt {
    let positions = (0..places)
        .map(|index| {
            let mut digest = [if index < shared { 0 } else { branch }; 32];
            digest[..8].copy_from_slice(&(index as u64).to_le_bytes());
            Position {
                digest,
                tokens_through: (index as u64 + 1) * STEP_TOKENS,
                mark: marks.contains(&index).then_some(Ttl::Short),
                is_eligible_end: false,
            }
        })
        .collect();
    Prompt { scope: [7; 32], positions, min_tokens: STEP_TOKENS, ..Prompt::default() }
}

fn with_ends(mut prompt: Prompt, ends: &[usize]) -> Prompt {
    ends.iter().for_each(|index| prompt.positions[*index].is_eligible_end = true);
    Prompt { implicit: Some(Ttl::Short), ..prompt }
}

fn send(cache: &mut BreakpointCache, prompt: &Prompt, now_ms: u64) -> PromptUsage {
    let charge = cache.lookup(prompt, now_ms);
    cache.begun(prompt, &charge);
    charge.usage
}

/// In steps: read, written short, written long; the rest is plain.
fn steps(usage: PromptUsage) -> [u64; 3] {
    [usage.read, usage.write_short, usage.write_long].map(|tokens| tokens / STEP_TOKENS)
}

#[test]
fn explicit_mode_without_breakpoints_caches_nothing() {
    let mut cache = cache();
    for at_ms in [0, 1] {
        assert_eq!(steps(send(&mut cache, &prompt(9, 9, 0, &[]), at_ms)), [0, 0, 0]);
    }
}

#[test]
fn there_is_no_search_for_the_longest_unmarked_prefix() {
    let mut cache = cache();
    send(&mut cache, &prompt(9, 9, 0, &[5]), 0);
    assert_eq!(steps(send(&mut cache, &prompt(9, 9, 0, &[8]), 1)), [0, 9, 0]);
    assert_eq!(steps(send(&mut cache, &prompt(9, 6, 1, &[5, 8]), 2)), [6, 3, 0]);
}

#[test]
fn at_most_the_latest_four_breakpoints_are_written() {
    let mut cache = cache();
    let five = [0, 1, 2, 3, 4];
    assert_eq!(steps(send(&mut cache, &prompt(6, 6, 0, &five), 0)), [0, 5, 0]);
    assert_eq!(steps(send(&mut cache, &prompt(6, 1, 1, &[0]), 1)), [0, 1, 0], "the first is not");
    assert_eq!(steps(send(&mut cache, &prompt(6, 2, 2, &[1]), 2)), [2, 0, 0], "the second is");
}

#[test]
fn implicit_mode_writes_one_of_its_own_and_the_latest_three() {
    let mut cache = cache();
    let asked = with_ends(prompt(6, 6, 0, &[0, 1, 2, 3]), &[5]);
    assert_eq!(steps(send(&mut cache, &asked, 0)), [0, 6, 0]);
    assert_eq!(steps(send(&mut cache, &prompt(6, 1, 1, &[0]), 1)), [0, 1, 0], "the first is not");
    assert_eq!(steps(send(&mut cache, &prompt(6, 2, 2, &[1]), 2)), [2, 0, 0], "the second is");
    // The next turn appends; the former end is still looked up, because it is an eligible end.
    let next = with_ends(prompt(9, 6, 3, &[]), &[5, 8]);
    assert_eq!(steps(send(&mut cache, &next, 3)), [6, 3, 0]);
    assert_eq!(steps(send(&mut cache, &prompt(9, 6, 4, &[8]), 4)), [0, 9, 0], "explicit mode");
}

#[test]
fn only_the_latest_eighty_boundaries_are_looked_up() {
    for (later, read) in [(79, 1), (80, 0)] {
        let mut cache = cache();
        send(&mut cache, &prompt(1, 1, 0, &[0]), 0);
        let marks: Vec<usize> = (0..=later).collect();
        let found = steps(send(&mut cache, &prompt(later + 1, 1, 1, &marks), 1))[0];
        assert_eq!(found, read, "{later} later boundaries");
    }
}

#[test]
fn below_the_minimum_nothing_is_written() {
    let mut cache = cache();
    let short = |prompt| Prompt { min_tokens: STEP_TOKENS + 1, ..prompt };
    let asked = short(prompt(2, 2, 0, &[0]));
    for at_ms in [0, 1] {
        assert_eq!(steps(send(&mut cache, &asked, at_ms)), [0, 0, 0]);
    }
    assert_eq!(steps(send(&mut cache, &short(prompt(2, 2, 0, &[1])), 2)), [0, 2, 0]);
}

#[test]
fn counts_are_exact() {
    let mut cache = cache();
    let mut asked = prompt(2, 2, 0, &[0]);
    asked.positions[0].tokens_through = 1_501;
    send(&mut cache, &asked, 0);
    let usage = send(&mut cache, &asked, 1);
    assert_eq!((usage.read, usage.input), (1_501, 547));
}

#[test]
fn lifetimes_run_from_the_last_use() {
    let asked = prompt(2, 2, 0, &[1]);
    let mut cache = cache();
    send(&mut cache, &asked, 0);
    let (almost, over) = (SHORT_BREAKPOINT_TTL_MS - 1, SHORT_BREAKPOINT_TTL_MS);
    assert_eq!(steps(send(&mut cache, &asked, almost))[0], 2);
    assert_eq!(steps(send(&mut cache, &asked, almost + almost))[0], 2);
    assert_eq!(steps(send(&mut cache, &asked, almost + almost + over))[0], 0);
}

#[test]
fn a_deep_read_refreshes_the_shallow_entry_only_where_the_scenario_says_so() {
    for (knob, read) in [(false, 0), (true, 1)] {
        let mut cache = BreakpointCache::new(false, knob);
        let half = SHORT_BREAKPOINT_TTL_MS / 2;
        for at_ms in [0, half] {
            send(&mut cache, &prompt(2, 2, 0, &[0, 1]), at_ms);
        }
        let shallow = prompt(1, 1, 0, &[0]);
        assert_eq!(steps(send(&mut cache, &shallow, SHORT_BREAKPOINT_TTL_MS))[0], read, "{knob}");
    }
}

#[test]
fn lifetimes_are_billed_apart() {
    let mut cache = cache();
    let mut asked = prompt(5, 5, 0, &[0, 2, 4]);
    asked.positions[2].mark = Some(Ttl::Long);
    assert_eq!(
        steps(send(&mut cache, &asked, 0)),
        [0, 2, 3],
        "up to the last long one, then short"
    );
    let later = SHORT_BREAKPOINT_TTL_MS;
    assert_eq!(steps(send(&mut cache, &asked, later)), [3, 2, 0]);
    assert_eq!(steps(send(&mut cache, &asked, later + LONG_BREAKPOINT_TTL_MS))[0], 0);
}

#[test]
fn requests_that_look_up_before_a_response_begins_all_write() {
    let asked = prompt(2, 2, 0, &[1]);
    let mut cache = cache();
    let first = cache.lookup(&asked, 0);
    assert_eq!(steps(cache.lookup(&asked, 1).usage), [0, 2, 0]);
    cache.begun(&asked, &first);
    assert_eq!(steps(cache.lookup(&asked, 2).usage), [2, 0, 0]);
}

#[test]
fn each_machine_has_a_cache_of_its_own() {
    let asked = prompt(2, 2, 0, &[1]);
    for (has_machines, cold) in [(true, 2), (false, 1)] {
        let mut cache = BreakpointCache::new(has_machines, false);
        let requests = 0..=MACHINE_REQUESTS_MAX as u64 + 1;
        let writes = requests.map(|at_ms| send(&mut cache, &asked, at_ms).written());
        assert_eq!(writes.filter(|tokens| *tokens > 0).count(), cold);
    }
}
