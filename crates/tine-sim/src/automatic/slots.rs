//! llama.cpp's and Ollama's cache: each slot holds the tokens of one conversation and serves the next prompt as far as the two agree.
//! Slots share nothing. With llama.cpp a conversation that has to make room is put into the host's memory, and a prompt that it fits takes
//! it out again: it moves, so of several children only one benefits.
//!
//! Pure, like [`crate::cache`]. A server whose slots are all busy makes a request wait; here such a request finds
//! no slot, is computed whole, and takes the slot that was not used for longest when it ends.

use std::collections::HashMap;

use super::charge;
use super::tokens::{Token, common, of};
use crate::cache::{Cache, Charge, Prompt};

/// Share of the prompt that a slot must agree with to be chosen for it: the server's `-sps` default, in hundredths.
const SIMILARITY_MIN_PERCENT: usize = 10;

/// Tokens that the host's memory holds. The server's default is 8 GiB of state; at about 32 KiB a token that is this many.
const HOST_TOKENS_MAX: usize = 262_144;

#[derive(Debug, Clone, Default)]
struct Slot {
    tokens: Vec<Token>,
    is_busy: bool,
    turn: u64,
}

/// Whose slots they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    LlamaCpp,
    /// Takes the idle slot with the longest common prefix, however short that is, and keeps nothing in the host's memory.
    Ollama,
}

/// The slots of one server, and its host memory (the oldest first).
#[derive(Debug)]
pub(crate) struct SlotCache {
    server: Server,
    slots: Vec<Slot>,
    host: Vec<Vec<Token>>,
    turn: u64,
    /// Where the requests sit that have not ended.
    seats: HashMap<u64, Seat>,
    tickets: u64,
}

/// What a request found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seat {
    /// Tokens of the prompt that are not computed again.
    cached: usize,
    /// The slot; `None` when all were busy.
    slot: Option<usize>,
}

impl Cache for SlotCache {
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge {
        let tokens = of(&prompt.lines);
        let seat = self.take(&tokens, prompt.slot);
        self.tickets += 1;
        self.seats.insert(self.tickets, seat);
        Charge { ticket: self.tickets, ..charge(tokens.len(), seat.cached, now_ms) }
    }

    fn begun(&mut self, _: &Prompt, _: &Charge) {}

    fn ended(&mut self, prompt: &Prompt, charge: &Charge, answer: &[String], _: u64) {
        if let Some(seat) = self.seats.remove(&charge.ticket) {
            self.release(seat, Some([of(&prompt.lines), of(answer)].concat()));
        }
    }

    fn abandoned(&mut self, ticket: u64) {
        if let Some(seat) = self.seats.remove(&ticket) {
            self.release(seat, None);
        }
    }

    fn busy_slots(&self) -> Vec<bool> {
        self.slots.iter().map(|slot| slot.is_busy).collect()
    }
}

impl SlotCache {
    /// A llama.cpp server with so many slots.
    pub(crate) fn new(slots: usize) -> Self {
        Self::of(Server::LlamaCpp, slots)
    }

    /// An Ollama runner with so many slots.
    pub(crate) fn of_ollama(slots: usize) -> Self {
        Self::of(Server::Ollama, slots)
    }

    fn of(server: Server, slots: usize) -> Self {
        let slots = vec![Slot::default(); slots.max(1)];
        Self { server, slots, host: Vec::new(), turn: 0, seats: HashMap::new(), tickets: 0 }
    }

    /// Takes a slot: the one asked for if it is idle, else the idle one that agrees most, else the one not used for longest.
    fn take(&mut self, prompt: &[Token], asked: Option<usize>) -> Seat {
        let idle = |index: &usize| self.slots.get(*index).is_some_and(|slot| !slot.is_busy);
        let chosen = match asked {
            Some(asked) => Some(asked).filter(idle),
            None => self.most_similar(prompt).or_else(|| self.least_used(true)),
        };
        let Some(index) = chosen else { return Seat { cached: 0, slot: None } };
        if self.server == Server::LlamaCpp {
            self.restore(prompt, index);
        }
        self.turn += 1;
        let slot = &mut self.slots[index];
        (slot.is_busy, slot.turn) = (true, self.turn);
        // The last token is computed in any case: the answer begins from it.
        let cached = common(&slot.tokens, prompt).min(prompt.len().saturating_sub(1));
        // What does not agree leaves the slot at once, whatever becomes of the request.
        slot.tokens.truncate(cached);
        Seat { cached, slot: Some(index) }
    }

    /// Ends a request: its slot holds prompt and answer now, or when it was broken off no more than what it had read.
    fn release(&mut self, seat: Seat, tokens: Option<Vec<Token>>) {
        let index = match (seat.slot, &tokens) {
            (Some(index), _) => index,
            (None, None) => return,
            (None, Some(_)) => match self.least_used(false) {
                Some(index) => index,
                None => return,
            },
        };
        self.turn += 1;
        let slot = &mut self.slots[index];
        slot.turn = self.turn;
        slot.is_busy &= seat.slot.is_none();
        if let Some(tokens) = tokens {
            slot.tokens = tokens;
        }
    }

    fn most_similar(&self, prompt: &[Token]) -> Option<usize> {
        let idle = self.slots.iter().enumerate().filter(|(_, slot)| !slot.is_busy);
        idle.map(|(index, slot)| (common(&slot.tokens, prompt), std::cmp::Reverse(index)))
            .max()
            .filter(|(shared, _)| match self.server {
                Server::LlamaCpp => shared * 100 > prompt.len() * SIMILARITY_MIN_PERCENT,
                Server::Ollama => true,
            })
            .map(|(_, index)| index.0)
    }

    fn least_used(&self, only_idle: bool) -> Option<usize> {
        let slots = self.slots.iter().enumerate();
        let usable = slots.filter(|(_, slot)| !(only_idle && slot.is_busy));
        usable.min_by_key(|(index, slot)| (slot.turn, *index)).map(|(index, _)| index)
    }

    /// Saves what a slot holds when the prompt takes little of it, and takes out of the host's memory what fits better.
    fn restore(&mut self, prompt: &[Token], index: usize) {
        let held = common(&self.slots[index].tokens, prompt);
        let better = self.host.iter().enumerate().map(|(at, saved)| (common(saved, prompt), at));
        let better = better.max().filter(|(shared, _)| *shared > held).map(|(_, at)| at);
        let is_kept = held * 2 > self.slots[index].tokens.len();
        if is_kept && better.is_none() {
            return;
        }
        let restored = better.map(|at| self.host.remove(at));
        let leaving = match restored {
            Some(restored) => std::mem::replace(&mut self.slots[index].tokens, restored),
            None => self.slots[index].tokens.clone(),
        };
        if !leaving.is_empty() {
            self.host.push(leaving);
        }
        while self.host.iter().map(Vec::len).sum::<usize>() > HOST_TOKENS_MAX {
            self.host.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(cache: &mut SlotCache, prompt: &[Token], output: &[Token]) -> usize {
        let seat = cache.take(prompt, None);
        cache.release(seat, Some([prompt, output].concat()));
        seat.cached
    }

    #[test]
    fn a_slot_serves_prompt_and_answer_of_its_own_conversation() {
        let mut cache = SlotCache::new(2);
        assert_eq!(run(&mut cache, &[1; 100], &[2; 10]), 0);
        let grown = [vec![1; 100], vec![2; 10], vec![3; 5]].concat();
        assert_eq!(run(&mut cache, &grown, &[]), 110);
        assert_eq!(run(&mut cache, &grown, &[]), 114, "the last token is computed");
    }

    #[test]
    fn children_at_once_do_not_share_a_slot() {
        let mut cache = SlotCache::new(3);
        run(&mut cache, &[1; 100], &[]);
        let child = |branch: Token| [vec![1; 100], vec![branch; 4]].concat();
        let seats = [2, 3, 4, 5].map(|branch| cache.take(&child(branch), None));
        assert_eq!(seats.map(|seat| seat.cached), [100, 0, 0, 0]);
        assert_eq!(seats.map(|seat| seat.slot), [Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn what_comes_out_of_the_hosts_memory_is_gone_from_it() {
        let mut cache = SlotCache::new(2);
        run(&mut cache, &[1; 100], &[]);
        run(&mut cache, &[2; 100], &[]);
        run(&mut cache, &[3; 100], &[]);
        // Slot 0 holds the third conversation; the first is in the host's memory.
        let first = cache.take(&[1; 120], None);
        let second = cache.take(&[1; 120], None);
        assert_eq!((first.cached, second.cached), (100, 0));
    }

    #[test]
    fn a_broken_request_frees_its_slot() {
        let mut cache = SlotCache::new(1);
        let seat = cache.take(&[1; 10], None);
        assert_eq!(cache.take(&[1; 10], None).slot, None);
        cache.release(seat, None);
        assert_eq!(cache.take(&[1; 10], Some(0)).slot, Some(0));
    }

    #[test]
    fn a_broken_request_has_cost_the_slot_what_it_did_not_share() {
        let mut cache = SlotCache::new(1);
        run(&mut cache, &[1; 100], &[2; 10]);
        let seat = cache.take(&[[1; 60], [3; 60]].concat(), None);
        cache.release(seat, None);
        assert_eq!(run(&mut cache, &[1; 100], &[]), 60);
    }

    #[test]
    fn turns_of_two_conversations_that_overlap_do_not_find_their_slot() {
        let mut cache = SlotCache::new(2);
        run(&mut cache, &[1; 100], &[]);
        let child = |branch: Token, length| [vec![1; 100], vec![branch; length]].concat();
        let first = cache.take(&child(2, 4), None);
        let second = cache.take(&child(3, 4), None);
        assert_eq!((first.cached, second.cached), (100, 0));
    }

    #[test]
    fn ollama_takes_the_idle_slot_that_agrees_most_and_moves_nothing() {
        let mut cache = SlotCache::of_ollama(2);
        run(&mut cache, &[1; 100], &[]);
        // Llama.cpp would take the other slot, and keep what this one holds.
        assert_eq!(run(&mut cache, &[[1; 5], [2; 5]].concat(), &[]), 5);
        assert_eq!(run(&mut cache, &[1; 100], &[]), 5);
    }
}
