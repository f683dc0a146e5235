//! OpenAI's machines: requests of one prefix and key go to one machine until it has had its share of a minute, and then to
//! the next, whose cache is its own.

use std::collections::{HashMap, VecDeque};

use crate::cache::Digest;
use crate::limits::{MACHINE_REQUESTS_MAX, MACHINE_WINDOW_MS};

/// Routes before idle ones are dropped; far above what one test or demo uses.
const ROUTES_MAX: usize = 10_000;

/// Who served what within the last minute.
#[derive(Debug, Default)]
pub(crate) struct Machines(HashMap<Digest, Vec<VecDeque<u64>>>);

impl Machines {
    /// The machine that serves a request of this route: the first with room. Counts the request.
    pub(crate) fn serve(&mut self, route: Digest, now_ms: u64) -> usize {
        let is_recent = |at_ms: &u64| now_ms < at_ms.saturating_add(MACHINE_WINDOW_MS);
        if self.0.len() > ROUTES_MAX {
            self.0.retain(|_, machines| machines.iter().flatten().any(is_recent));
        }
        let machines = self.0.entry(route).or_default();
        for served in machines.iter_mut() {
            while served.front().is_some_and(|at_ms| !is_recent(at_ms)) {
                served.pop_front();
            }
        }
        let has_room = |served: &VecDeque<u64>| served.len() < MACHINE_REQUESTS_MAX;
        let chosen = machines.iter().position(has_room).unwrap_or(machines.len());
        if chosen == machines.len() {
            machines.push(VecDeque::new());
        }
        machines[chosen].push_back(now_ms);
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixteenth_request_of_a_minute_goes_to_the_next_machine() {
        let mut machines = Machines::default();
        let served: Vec<usize> = (0..31).map(|second| machines.serve([0; 32], second)).collect();
        assert_eq!(served, [vec![0; 15], vec![1; 15], vec![2]].concat());
        assert_eq!(machines.serve([1; 32], 31), 0, "another route has machines of its own");
        assert_eq!(machines.serve([0; 32], MACHINE_WINDOW_MS - 1), 2);
        assert_eq!(
            machines.serve([0; 32], MACHINE_WINDOW_MS),
            0,
            "the first request is a minute old"
        );
    }
}
