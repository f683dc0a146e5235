//! The breakpoint cache of OpenAI's models from GPT-5.6 on: entries end at breakpoints and, in implicit mode, at the ends
//! of some messages. There is no search for the longest common prefix and no window of blocks.

use std::path::Path;

use crate::cache::{Cache, Charge, Digest, Entries, Prompt, Ttl, bill, link};
use crate::limits::{
    BREAKPOINTS_READ_MAX, BREAKPOINTS_WRITTEN_MAX, LONG_BREAKPOINT_TTL_MS, SHORT_BREAKPOINT_TTL_MS,
};
use crate::machines::Machines;

/// The entries of all machines.
#[derive(Debug)]
pub struct BreakpointCache {
    /// Absent: one machine serves everybody.
    machines: Option<Machines>,
    /// Whether a read also refreshes the entries at the request's earlier boundaries. The vendor does not say.
    deep_read_refreshes_shallow: bool,
    entries: Entries,
}

impl BreakpointCache {
    /// An empty cache, on one machine or on as many as the traffic needs.
    pub fn new(has_machines: bool, deep_read_refreshes_shallow: bool) -> Self {
        let machines = has_machines.then(Machines::default);
        Self { machines, deep_read_refreshes_shallow, entries: Entries::default() }
    }
}

impl Cache for BreakpointCache {
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge {
        self.entries.catch_up(now_ms);
        let machines = self.machines.as_mut();
        let machine = machines.map_or(0, |machines| machines.serve(prompt.route, now_ms));
        let key = |index: usize| key(prompt, index, machine);
        let read = readable(prompt);
        let live = |index: &&usize| self.entries.is_live(&key(**index), now_ms);
        let hit = read.iter().rev().find(live).copied();
        for index in read {
            if hit == Some(index) || (hit > Some(index) && self.deep_read_refreshes_shallow) {
                self.entries.refresh(&key(index), now_ms);
            }
        }
        let written = written(prompt);
        let beyond = written.iter().filter(|(index, _)| hit.is_none_or(|hit| *index > hit));
        let writes = beyond.map(|(index, ttl)| (key(*index), as_ms(*ttl))).collect();
        Charge { usage: bill(prompt, &written, hit), writes, born_ms: now_ms, ..Charge::default() }
    }

    fn begun(&mut self, _prompt: &Prompt, charge: &Charge) {
        self.entries.write(&charge.writes, charge.born_ms);
    }

    fn keep_in(&mut self, file: &Path) {
        self.entries.keep_in(file);
    }
}

fn as_ms(ttl: Ttl) -> u64 {
    match ttl {
        Ttl::Short => SHORT_BREAKPOINT_TTL_MS,
        Ttl::Long => LONG_BREAKPOINT_TTL_MS,
    }
}

fn key(prompt: &Prompt, index: usize, machine: usize) -> Digest {
    let machine = (machine as u64).to_le_bytes();
    link(&[&prompt.scope, &prompt.positions[index].digest, &machine])
}

/// Positions that may serve the prompt: its breakpoints, and in implicit mode the ends of eligible messages; the latest so
/// many of them, in order.
fn readable(prompt: &Prompt) -> Vec<usize> {
    let is_implicit = prompt.implicit.is_some();
    let positions = prompt.positions.iter().enumerate();
    let mut found: Vec<usize> = positions
        .filter(|(_, place)| place.mark.is_some() || (is_implicit && place.is_eligible_end))
        .map(|(index, _)| index)
        .collect();
    found.drain(..found.len().saturating_sub(BREAKPOINTS_READ_MAX));
    found.retain(|index| prompt.positions[*index].tokens_through >= prompt.min_tokens);
    found
}

/// Positions that are written: the latest explicit breakpoints, and in implicit mode one fewer of them and the end of the
/// latest eligible message.
fn written(prompt: &Prompt) -> Vec<(usize, Ttl)> {
    let positions = || prompt.positions.iter().enumerate().rev();
    let automatic = prompt.implicit.and_then(|ttl| {
        positions().find(|(_, place)| place.is_eligible_end).map(|(index, _)| (index, ttl))
    });
    let explicit = positions().filter_map(|(index, place)| Some((index, place.mark?)));
    let room = BREAKPOINTS_WRITTEN_MAX - usize::from(prompt.implicit.is_some());
    let mut written: Vec<(usize, Ttl)> = explicit.take(room).chain(automatic).collect();
    written.sort_unstable();
    written.retain(|(index, _)| prompt.positions[*index].tokens_through >= prompt.min_tokens);
    written
}

#[cfg(test)]
#[path = "breakpoint_cache_tests.rs"]
mod tests;
