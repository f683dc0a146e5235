//! Table tests of the marked-block cache: section A.3, A.6 and A.10 of the reference.

use super::*;
use crate::cache::{Position, PromptUsage};

/// Every block of these prompts weighs this much.
const BLOCK_TOKENS: u64 = 100;

fn cache() -> BlockCache {
    BlockCache::new(false)
}

/// A prompt of `blocks` blocks. Blocks up to `shared` are the same in all prompts, later ones belong to `branch`.
fn prompt(blocks: usize, shared: usize, branch: u8, marks: &[(usize, Ttl)]) -> Prompt {
    let positions = (0..blocks)
        .map(|index| {
            let branch = if index < shared { 0 } else { branch };
            let mut digest = [branch; 32];
            digest[..8].copy_from_slice(&(index as u64).to_le_bytes());
            Position {
                digest,
                tokens_through: (index as u64 + 1) * BLOCK_TOKENS,
                mark: marks.iter().find(|(at, _)| *at == index).map(|(_, ttl)| *ttl),
                is_eligible_end: false,
            }
        })
        .collect();
    Prompt { scope: [7; 32], positions, min_tokens: 100, ..Prompt::default() }
}

fn send(cache: &mut BlockCache, prompt: &Prompt, now_ms: u64) -> PromptUsage {
    let charge = cache.lookup(prompt, now_ms);
    cache.begun(prompt, &charge);
    charge.usage
}

fn usage(input: u64, read: u64, write_short: u64, write_long: u64) -> PromptUsage {
    PromptUsage { input, read, write_short, write_long }
}

#[test]
fn a_gap_of_19_positions_is_found_and_of_20_is_not() {
    for (gap, read) in [(19, 1_000), (20, 0)] {
        let mut cache = cache();
        send(&mut cache, &prompt(10, 10, 0, &[(9, Ttl::Short)]), 0);
        let grown = prompt(10 + gap, 10, 0, &[(9 + gap, Ttl::Short)]);
        let written = (10 + gap as u64) * BLOCK_TOKENS - read;
        assert_eq!(send(&mut cache, &grown, 1), usage(0, read, written, 0), "gap of {gap}");
    }
}

#[test]
fn an_anchor_mark_makes_the_gap_irrelevant() {
    for gap in [19, 20, 200] {
        let mut cache = cache();
        send(&mut cache, &prompt(10, 10, 0, &[(9, Ttl::Short)]), 0);
        let grown = prompt(10 + gap, 10, 0, &[(9, Ttl::Short), (9 + gap, Ttl::Short)]);
        let read = send(&mut cache, &grown, 1);
        assert_eq!(read, usage(0, 1_000, gap as u64 * BLOCK_TOKENS, 0), "gap of {gap}");
    }
}

#[test]
fn only_marked_positions_of_earlier_requests_can_be_found() {
    let mut cache = cache();
    send(&mut cache, &prompt(10, 10, 0, &[(9, Ttl::Short)]), 0);
    let earlier = prompt(5, 5, 0, &[(4, Ttl::Short)]);
    assert_eq!(send(&mut cache, &earlier, 1), usage(0, 0, 500, 0));
}

#[test]
fn tokens_after_the_last_mark_are_plain_input() {
    let mut cache = cache();
    let marked = prompt(10, 10, 0, &[(6, Ttl::Short)]);
    assert_eq!(send(&mut cache, &marked, 0), usage(300, 0, 700, 0));
    assert_eq!(send(&mut cache, &marked, 1), usage(300, 700, 0, 0));
}

#[test]
fn an_entry_is_written_at_each_mark_beyond_the_hit() {
    let mut cache = cache();
    send(&mut cache, &prompt(10, 10, 0, &[(3, Ttl::Short), (9, Ttl::Short)]), 0);
    let sibling = prompt(10, 6, 1, &[(5, Ttl::Short), (9, Ttl::Short)]);
    assert_eq!(send(&mut cache, &sibling, 1), usage(0, 400, 600, 0));
    let other = prompt(10, 6, 2, &[(9, Ttl::Short)]);
    assert_eq!(send(&mut cache, &other, 2), usage(0, 600, 400, 0), "the shared mark was written");
}

#[test]
fn below_the_minimum_nothing_is_cached_and_nothing_is_refused() {
    let mut cache = cache();
    let least = |prompt| Prompt { min_tokens: 501, ..prompt };
    let short = least(prompt(5, 5, 0, &[(4, Ttl::Short)]));
    assert_eq!(send(&mut cache, &short, 0), usage(500, 0, 0, 0));
    assert_eq!(send(&mut cache, &short, 1), usage(500, 0, 0, 0));
    let enough = least(prompt(6, 6, 0, &[(4, Ttl::Short), (5, Ttl::Short)]));
    assert_eq!(send(&mut cache, &enough, 2), usage(0, 0, 600, 0));
}

#[test]
fn lifetime_runs_from_the_start_of_the_writing_request() {
    let asked = prompt(10, 10, 0, &[(9, Ttl::Short)]);
    for (later_ms, read) in [(SHORT_TTL_MS - 1, 1_000), (SHORT_TTL_MS, 0), (301_000, 0)] {
        let mut cache = cache();
        let charge = cache.lookup(&asked, 0);
        // The answer began after 4:50; that leaves ten seconds, not five minutes.
        cache.begun(&asked, &charge);
        assert_eq!(cache.lookup(&asked, later_ms).usage.read, read, "after {later_ms} ms");
    }
}

#[test]
fn a_read_refreshes_the_entry_that_served_it() {
    let mut cache = cache();
    let asked = prompt(10, 10, 0, &[(9, Ttl::Short)]);
    send(&mut cache, &asked, 0);
    assert_eq!(send(&mut cache, &asked, 200_000).read, 1_000);
    assert_eq!(send(&mut cache, &asked, 499_999).read, 1_000);
    assert_eq!(send(&mut cache, &asked, 499_999 + SHORT_TTL_MS).read, 0);
}

#[test]
fn a_deep_read_refreshes_the_shallow_entry_only_where_the_profile_says_so() {
    for (knob, read) in [(false, 0), (true, 500)] {
        let mut cache = BlockCache::new(knob);
        let both = prompt(10, 10, 0, &[(4, Ttl::Short), (9, Ttl::Short)]);
        send(&mut cache, &both, 0);
        send(&mut cache, &both, 200_000);
        let shallow = prompt(5, 5, 0, &[(4, Ttl::Short)]);
        assert_eq!(send(&mut cache, &shallow, 400_000).read, read, "knob {knob}");
    }
}

#[test]
fn mixed_lifetimes_are_billed_by_the_positions_of_hit_and_marks() {
    let marks = [(3, Ttl::Long), (9, Ttl::Short)];
    let mut cache = cache();
    assert_eq!(send(&mut cache, &prompt(12, 12, 0, &marks), 0), usage(200, 0, 600, 400));
    // Ten minutes later only the one-hour entry lives.
    assert_eq!(send(&mut cache, &prompt(12, 12, 0, &marks), 600_000), usage(200, 400, 600, 0));
    let deeper = [(3, Ttl::Long), (5, Ttl::Long), (9, Ttl::Short)];
    let at = 600_000 + SHORT_TTL_MS;
    assert_eq!(send(&mut cache, &prompt(12, 12, 0, &deeper), at), usage(200, 400, 400, 200));
}

#[test]
fn scopes_do_not_see_each_other() {
    let mut cache = cache();
    let mine = prompt(10, 10, 0, &[(9, Ttl::Short)]);
    send(&mut cache, &mine, 0);
    let theirs = Prompt { scope: [8; 32], ..mine };
    assert_eq!(send(&mut cache, &theirs, 1), usage(0, 0, 1_000, 0));
}

#[test]
fn requests_that_look_up_before_a_response_begins_all_write() {
    let asked = prompt(10, 10, 0, &[(9, Ttl::Short)]);
    let mut cache = cache();
    let first = cache.lookup(&asked, 0);
    let second = cache.lookup(&asked, 1);
    assert_eq!((first.usage, second.usage), (usage(0, 0, 1_000, 0), usage(0, 0, 1_000, 0)));
    cache.begun(&asked, &first);
    assert_eq!(cache.lookup(&asked, 2).usage, usage(0, 1_000, 0, 0));
}
