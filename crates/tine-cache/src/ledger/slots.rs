//! The slots of a server whose cache is one conversation a slot, as our own requests leave them.
//!
//! The server's choice is followed: the idle slot that agrees most with the prompt, when that is more than a tenth of it, else the
//! idle slot that was not used for longest. What other programs send is not known, nor what the server moves to the host's
//! memory: then more is read than was expected here.

use tine_model::Boundary;

use super::{Hash, LiveEntry};

/// llama-server chooses a slot by its content when that agrees with more than this part of the prompt, in percent (its
/// option `--slot-prompt-similarity`).
const SIMILARITY_MIN_PERCENT: u64 = 10;

/// A slot that a request has taken. Freed by [`Ledger::free_slot`](super::Ledger::free_slot).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotPass(u64);

/// The part of a request that slots hold, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SlotReach {
    /// The most that an idle slot holds.
    pub idle_bytes: u64,
    /// The most that any slot holds, or will hold when the request in it is answered.
    pub any_bytes: u64,
    /// The number of slots that hold that much.
    pub holding: usize,
}

/// The kind of slot in which a place of a request is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// In an idle slot, or in the one that the request itself has taken.
    Idle,
    /// Only in slots in which other requests are computed.
    Busy,
    /// In none.
    Nowhere,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    hash: Hash,
    bytes: u64,
}

#[derive(Debug, Clone, Default)]
struct Slot {
    /// The places of the conversation in it, in order.
    chain: Vec<Link>,
    /// The number of them that it held when the request in it began.
    kept: usize,
    busy: Option<SlotPass>,
    turn: u64,
}

impl Slot {
    /// The number of the request's places that it holds.
    fn common(&self, request: &[Boundary], own: Option<SlotPass>) -> usize {
        let is_own = self.busy.is_some() && self.busy == own;
        let held = if is_own { &self.chain[..self.kept] } else { &self.chain[..] };
        let holds = |place: &Boundary| holds(held, place.hash, place.bytes);
        // What an earlier process left may be the end of a conversation of which a later one has the beginning.
        match request.first() {
            Some(first) if holds(first) => request.iter().rposition(holds).map_or(0, |at| at + 1),
            _ => 0,
        }
    }

    fn is_idle(&self, own: Option<SlotPass>) -> bool {
        self.busy.is_none() || self.busy == own
    }
}

/// The slots of one server.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    turn: u64,
    passes: u64,
    /// Start of the latest request that is known to have used a slot, in Unix milliseconds.
    latest_ms: Option<i64>,
}

impl Slots {
    /// Makes as many as the server has. Of too many, those used last stay.
    pub(super) fn resize(&mut self, count: u32) {
        let count = count.max(1) as usize;
        while self.slots.len() > count {
            let oldest = self.slots.iter().enumerate().min_by_key(|(_, slot)| slot.turn);
            let Some((oldest, _)) = oldest else { return };
            self.slots.remove(oldest);
        }
        self.slots.resize_with(count, Slot::default);
    }

    /// Takes the slot that the server will compute a request in. When all are busy the request waits at the server, and
    /// nothing is known of its slot.
    pub(super) fn take(&mut self, request: &[Boundary]) -> SlotPass {
        self.passes += 1;
        let pass = SlotPass(self.passes);
        if let Some(chosen) = self.choose(request) {
            self.turn += 1;
            let turn = self.turn;
            let slot = &mut self.slots[chosen];
            let kept = slot.common(request, None);
            *slot = Slot { chain: chain(request), kept, busy: Some(pass), turn };
        }
        pass
    }

    /// Frees a slot. An answered request stays in it; of another one no more is certain than what it had read.
    pub(super) fn free(&mut self, pass: SlotPass, answered: bool) {
        self.turn += 1;
        for slot in self.slots.iter_mut().filter(|slot| slot.busy == Some(pass)) {
            (slot.busy, slot.turn) = (None, self.turn);
            if !answered {
                slot.chain.truncate(slot.kept);
            }
        }
    }

    /// Returns the part of a request that its server's slots hold.
    pub(super) fn reach(&self, request: &[Boundary]) -> SlotReach {
        let bytes = |places: usize| {
            places.checked_sub(1).and_then(|last| request.get(last)).map_or(0, |place| place.bytes)
        };
        let (idle, any) = self.depths(request, None);
        let holding = self.slots.iter().filter(|slot| slot.common(request, None) == any).count();
        SlotReach {
            idle_bytes: bytes(idle),
            any_bytes: bytes(any),
            holding: if any == 0 { 0 } else { holding },
        }
    }

    /// Maps each place of a request, in order, to the kind of slot that holds it. `own` is the pass of the request itself.
    pub(super) fn held(&self, request: &[Boundary], own: Option<SlotPass>) -> Vec<Held> {
        let (idle, any) = self.depths(request, own);
        let held = |index: usize| match index {
            index if index < idle => Held::Idle,
            index if index < any => Held::Busy,
            _ => Held::Nowhere,
        };
        (0..request.len()).map(held).collect()
    }

    /// Notes that a request of this process was answered, so that its own entries teach nothing when they come back.
    pub(super) fn noted(&mut self, started_ms: i64) {
        self.latest_ms = self.latest_ms.max(Some(started_ms));
    }

    /// Takes up what other processes left: entries that were used by the same request are one conversation.
    pub(super) fn learn(&mut self, entries: &[LiveEntry]) {
        let is_new =
            |entry: &&LiveEntry| self.latest_ms.is_none_or(|latest| entry.used_ms > latest);
        let mut new: Vec<&LiveEntry> = entries.iter().filter(is_new).collect();
        new.sort_unstable_by_key(|entry| (entry.used_ms, entry.bytes));
        for request in new.chunk_by(|one, other| one.used_ms == other.used_ms) {
            let places: Vec<Link> =
                request.iter().map(|entry| Link { hash: entry.hash, bytes: entry.bytes }).collect();
            let total = places.last().map_or(0, |link| link.bytes);
            let agreed = |slot: &Slot| {
                let common =
                    places.iter().rev().find(|link| holds(&slot.chain, link.hash, link.bytes));
                common.map_or(0, |link| link.bytes)
            };
            if let Some(chosen) = self.chosen(total, agreed) {
                self.turn += 1;
                self.slots[chosen] = Slot { chain: places, turn: self.turn, ..Slot::default() };
            }
            self.noted(request[0].used_ms);
        }
    }

    fn choose(&self, request: &[Boundary]) -> Option<usize> {
        let total = request.last().map_or(0, |place| place.bytes);
        self.chosen(total, |slot| {
            let common = slot.common(request, None);
            common.checked_sub(1).map_or(0, |last| request[last].bytes)
        })
    }

    /// The server's choice among its idle slots.
    fn chosen(&self, total: u64, agreed: impl Fn(&Slot) -> u64) -> Option<usize> {
        let idle = || self.slots.iter().enumerate().filter(|(_, slot)| slot.busy.is_none());
        let similar = idle().map(|(index, slot)| (agreed(slot), std::cmp::Reverse(index))).max();
        let similar = similar.filter(|(agreed, _)| {
            u128::from(*agreed) * 100 > u128::from(total) * u128::from(SIMILARITY_MIN_PERCENT)
        });
        let oldest = || idle().min_by_key(|(index, slot)| (slot.turn, *index));
        similar.map(|(_, index)| index.0).or_else(|| oldest().map(|(index, _)| index))
    }

    /// The most places that an idle slot holds, and that any does.
    fn depths(&self, request: &[Boundary], own: Option<SlotPass>) -> (usize, usize) {
        self.slots.iter().fold((0, 0), |(idle, any), slot| {
            let common = slot.common(request, own);
            (if slot.is_idle(own) { idle.max(common) } else { idle }, any.max(common))
        })
    }
}

/// Returns true if a conversation has this place. Hashes are of everything up to a place, so what stands before it is equal then, too.
fn holds(chain: &[Link], hash: Hash, bytes: u64) -> bool {
    let at = chain.partition_point(|link| link.bytes < bytes);
    chain[at..].iter().take_while(|link| link.bytes == bytes).any(|link| link.hash == hash)
}

fn chain(request: &[Boundary]) -> Vec<Link> {
    request.iter().map(|place| Link { hash: place.hash, bytes: place.bytes }).collect()
}

#[cfg(test)]
mod tests {
    use tine_model::{BoundaryKind, Lifetime};

    use super::*;

    /// Places of ten bytes each, named by letters: two requests share as far as their letters agree.
    fn request(letters: &str) -> Vec<Boundary> {
        let place = |end: usize| {
            let mut hash = [0; 32];
            hash[..end].copy_from_slice(&letters.as_bytes()[..end]);
            let (bytes, kind) = (end as u64 * 10, BoundaryKind::Message);
            Boundary { kind, hash, bytes, items: end, back: 0, mark: None }
        };
        (1..=letters.len()).map(place).collect()
    }

    fn slots(count: u32) -> Slots {
        let mut slots = Slots::default();
        slots.resize(count);
        slots
    }

    fn run(slots: &mut Slots, letters: &str) -> u64 {
        let reach = slots.reach(&request(letters));
        let pass = slots.take(&request(letters));
        slots.free(pass, true);
        reach.idle_bytes
    }

    #[test]
    fn one_after_the_other_reads_what_they_share() {
        let mut slots = slots(4);
        assert_eq!(run(&mut slots, "ppp"), 0);
        assert_eq!(["pppa", "pppb", "pppc"].map(|child| run(&mut slots, child)), [30, 30, 30]);
        // The children took the parent's slot one after another: only the last one is still there.
        assert_eq!(run(&mut slots, "pppcx"), 40);
        assert_eq!(run(&mut slots, "pppax"), 30);
    }

    #[test]
    fn what_a_busy_slot_holds_is_held_for_nobody_else() {
        let mut slots = slots(2);
        run(&mut slots, "ppp");
        let first = slots.take(&request("pppa"));
        let second = request("pppb");
        let reach = slots.reach(&second);
        assert_eq!(reach, SlotReach { idle_bytes: 0, any_bytes: 30, holding: 1 });
        assert_eq!(slots.held(&second, None)[..3], [Held::Busy; 3]);
        let own = slots.held(&request("pppa"), Some(first));
        assert_eq!(own, [Held::Idle, Held::Idle, Held::Idle, Held::Nowhere]);
        // Computed again in the other slot, so that two hold it from then on.
        let pass = slots.take(&second);
        slots.free(pass, true);
        slots.free(first, true);
        assert_eq!(slots.reach(&request("pppc")).holding, 2);
    }

    #[test]
    fn a_request_that_broke_off_leaves_what_it_had_read() {
        let mut slots = slots(1);
        run(&mut slots, "ppp");
        let pass = slots.take(&request("pqq"));
        assert_eq!(slots.reach(&request("pqq")).any_bytes, 30);
        slots.free(pass, false);
        assert_eq!(slots.reach(&request("ppp")).any_bytes, 10);
    }

    #[test]
    fn another_conversation_takes_the_slot_that_was_not_used_for_longest() {
        let mut slots = slots(2);
        run(&mut slots, "aaa");
        run(&mut slots, "bbb");
        run(&mut slots, "ccc");
        let held = ["aaa", "bbb", "ccc"].map(|letters| slots.reach(&request(letters)).any_bytes);
        assert_eq!(held, [0, 30, 30]);
        slots.resize(1);
        let held = ["bbb", "ccc"].map(|letters| slots.reach(&request(letters)).any_bytes);
        assert_eq!(held, [0, 30]);
    }

    fn left(letters: &str, from: usize, used_ms: i64) -> Vec<LiveEntry> {
        let entry = |place: &Boundary| LiveEntry {
            hash: place.hash,
            tokens: 1,
            exact: false,
            bytes: place.bytes,
            lifetime: Lifetime::Short,
            used_ms,
        };
        request(letters)[from..].iter().map(entry).collect()
    }

    #[test]
    fn what_earlier_processes_left_is_one_conversation_a_request() {
        let mut slots = slots(2);
        // The second one used the beginning later, so the first one's row says that no more.
        let rows = [left("pppa", 3, 5), left("pppb", 0, 6), left("zz", 0, 7)].concat();
        slots.learn(&rows);
        let held = |slots: &Slots, letters: &str| slots.reach(&request(letters)).idle_bytes;
        let all = |slots: &Slots| ["pppa", "pppb", "zz"].map(|letters| held(slots, letters));
        assert_eq!(all(&slots), [30, 40, 20]);
        // Known already.
        slots.learn(&rows);
        assert_eq!(all(&slots), [30, 40, 20]);
        slots.learn(&left("yyyy", 0, 8));
        assert_eq!(all(&slots), [0, 0, 20]);
    }
}
