//! Where a cache may hold a request, and which of those places are marked.
//!
//! Four places, in prompt order: the end of the system prompt; the *anchor*, the last block of the lineage's last sent
//! request, where an entry certainly exists; the *fork point*, the last block that all siblings share; and the tail.
//! The tail is marked on every request, so that an entry exists whenever the agent is forked. Where a provider takes no
//! marks the places are the same, and only serve the ledger.
//!
//! A turn of more than 15 blocks gets one more place in its middle. A request has at most four marks; marks that blocks of the
//! system prompt or tools ask for get what is left. Each place has the hash and the length of everything before it, without
//! marks. Equal hashes mean equal bytes: in two requests, two agents, two processes.

use tine_history::{FrameRef, Hash, Layout};
use tine_model::{Boundary, BoundaryKind, CacheScheme, Lifetime};

use crate::head::{Head, HeadSlot};

/// Most marks that a request may carry. A fifth is refused with status 400 (Anthropic, "Prompt caching"); OpenAI does not
/// write more than four ("Prompt caching", explicit breakpoints).
pub(crate) const MARKS_MAX: usize = 4;

/// A turn longer than this many blocks spends a mark in the middle: a lookup reaches back 20 positions only.
const TURN_BLOCKS_MAX: usize = 15;

/// Positions that a lookup probes for one mark, the marked one included. Source: Anthropic, "Prompt caching".
pub(crate) const LOOKBACK_BLOCKS: usize = 20;

/// What a call gets as its result when its real one is not part of this conversation. The same for every call and every
/// sibling: no index, no time. True in a fork and after a crash alike.
pub(crate) const PLACEHOLDER: &str = "This call was still open when the conversation went on from here; \
    its result is not part of this conversation.";

/// What the marks are placed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MarkPoints {
    /// Number of messages in the last request that this lineage sent; `None` before the first.
    pub sent: Option<usize>,
    /// Number of inherited messages; `None` for an agent that is no fork.
    pub inherited: Option<usize>,
}

/// The lifetimes that marks ask for. The head's is never the shorter one: providers refuse a long mark behind a short one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lifetimes {
    head: Lifetime,
    messages: Lifetime,
}

impl Lifetimes {
    /// Marks among the messages live for `messages`, the one in the head at least as long.
    pub fn new(head: Lifetime, messages: Lifetime) -> Self {
        Self { head: head.max(messages), messages }
    }

    /// Of the mark at the end of the system prompt.
    pub fn head(self) -> Lifetime {
        self.head
    }

    /// Of the marks among the messages.
    pub fn messages(self) -> Lifetime {
        self.messages
    }
}

/// The marks of a head, in order: where they go and how long they live. `most` is what the messages leave of the marks of a
/// request; what is beyond it is left out from the front, so that the end of the system prompt stays.
pub(crate) fn head_marks(head: &Head, lifetimes: Lifetimes, most: usize) -> Vec<HeadSlot> {
    if head.scheme == CacheScheme::Automatic {
        return Vec::new();
    }
    let mut marks = head.slots[head.slots.len().saturating_sub(most)..].to_vec();
    let mut behind = lifetimes.head;
    for mark in marks.iter_mut().rev() {
        behind = behind.max(mark.lifetime);
        mark.lifetime = behind;
    }
    marks
}

/// One mark among the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Index of the message.
    pub item: usize,
    /// Which block of its frame carries the mark.
    pub block: usize,
}

/// Which blocks count as places: only those that take a mark, or any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    layout: &'a Layout,
    marked: bool,
}

impl<'a> Places<'a> {
    pub(crate) fn new(layout: &'a Layout, scheme: CacheScheme) -> Self {
        let marked = match scheme {
            CacheScheme::Marks | CacheScheme::Breakpoints => true,
            CacheScheme::Automatic => false,
        };
        Self { layout, marked }
    }

    /// The places among the messages with what they are, in order; at most `most`.
    pub(crate) fn choose(self, points: MarkPoints, most: usize) -> Vec<(BoundaryKind, Mark)> {
        let items = self.layout.items();
        let Some(tail) = self.at_or_before(items) else { return Vec::new() };
        let anchor = points.sent.and_then(|sent| self.at_or_before(sent.min(items)));
        let fork_point =
            points.inherited.and_then(|inherited| self.fork_point(inherited.min(items)));
        let mut places: Vec<_> =
            anchor.into_iter().map(|mark| (BoundaryKind::Anchor, mark)).collect();
        // Once the child has sent a request of its own, its anchor lies behind the fork point.
        let ahead = |point: &Mark| anchor.is_none_or(|anchor| anchor < *point);
        places.extend(fork_point.filter(ahead).map(|mark| (BoundaryKind::ForkPoint, mark)));
        places.retain(|(_, mark)| *mark < tail);
        if self.marked
            && places.len() + 1 < most
            && let Some((_, last)) = places.last()
            && let Some(middle) = self.middle(*last, tail)
        {
            places.push((BoundaryKind::Middle, middle));
        }
        places.push((BoundaryKind::Tail, tail));
        places
    }

    /// The last block that all siblings share: the last placeholder of the first own message, or the end of what is
    /// inherited.
    fn fork_point(self, inherited: usize) -> Option<Mark> {
        if self.marked && inherited < self.layout.items() {
            let (_, frame) = self.layout.frame(inherited);
            if let Some(last) = frame.placeholders.checked_sub(1) {
                return Some(Mark { item: inherited, block: last });
            }
        }
        self.at_or_before(inherited)
    }

    /// The last place in the first `items` messages.
    fn at_or_before(self, items: usize) -> Option<Mark> {
        (0..items).rev().find_map(|item| {
            let (_, frame) = self.layout.frame(item);
            let block = if self.marked {
                frame.slots.last().map(|slot| slot.block)
            } else {
                frame.blocks.checked_sub(1)
            };
            block.map(|block| Mark { item, block })
        })
    }

    /// A mark [`TURN_BLOCKS_MAX`] blocks after `from`, when `to` is further away than that.
    fn middle(self, from: Mark, to: Mark) -> Option<Mark> {
        let mut distance = 0;
        let mut best = None;
        for item in from.item..=to.item {
            let (_, frame) = self.layout.frame(item);
            let begin = if item == from.item { from.block + 1 } else { 0 };
            let end = if item == to.item { to.block + 1 } else { frame.blocks };
            let within = |block: usize| distance + block + 1 - begin;
            let reachable =
                frame.slots.iter().filter(|slot| slot.block >= begin && slot.block < end);
            let last = reachable.take_while(|slot| within(slot.block) <= TURN_BLOCKS_MAX).last();
            best = last.map(|slot| Mark { item, block: slot.block }).or(best);
            distance += end.saturating_sub(begin);
        }
        best.filter(|mark| distance > TURN_BLOCKS_MAX && *mark < to)
    }
}

/// The places of a request as the ledger knows them: the head's, the chosen ones, and those at which an earlier request may
/// have left an entry that a lookup from one of these reaches. In order; no place twice.
///
/// `beginnings` are the identities of a conversation that another program has begun: its places are known by them, and not by bytes.
pub(crate) fn boundaries(
    head: &Head,
    (layout, beginnings): (&Layout, Option<&[Hash]>),
    places: &[(BoundaryKind, Mark)],
    lifetimes: Lifetimes,
) -> Vec<Boundary> {
    let marked = head.scheme != CacheScheme::Automatic;
    let mut found = vec![Boundary {
        kind: BoundaryKind::Head,
        hash: beginnings.map_or(head.hash, |beginnings| beginnings[0]),
        bytes: head_len(head),
        items: 0,
        back: 0,
        mark: head_marks(head, lifetimes, 1).last().map(|mark| mark.lifetime),
    }];
    let ends = Ends::new(head, (layout, beginnings));
    let mut before = None;
    for (kind, place) in places {
        found.extend(ends.within_reach(before, *place));
        found.push(Boundary {
            mark: marked.then_some(lifetimes.messages),
            ..ends.boundary(*kind, *place, 0)
        });
        before = Some(*place);
    }
    found
}

/// Length of everything but the messages: of a request that was taken over, also what stands behind them.
fn head_len(head: &Head) -> u64 {
    let behind = head.splice.as_ref().map_or(0, |splice| splice.behind().len());
    (head.bytes.len() + behind) as u64
}

/// Where messages end, in bytes and in hashes.
struct Ends<'a> {
    head: &'a Head,
    layout: &'a Layout,
    beginnings: Option<&'a [Hash]>,
    /// Length of everything before each run, as it is sent.
    before: Vec<u64>,
}

impl<'a> Ends<'a> {
    fn new(head: &'a Head, (layout, beginnings): (&'a Layout, Option<&'a [Hash]>)) -> Self {
        let mut length = head_len(head);
        // The first message of a list goes without the comma that stands before it in its run.
        let mut unsent = u64::from(!head.continued);
        let before = layout.runs().iter().map(|run| {
            let bytes = run.bytes().len() as u64;
            if bytes > 0 {
                length -= std::mem::take(&mut unsent);
            }
            let before = length;
            length += bytes;
            before
        });
        Self { head, layout, beginnings, before: before.collect() }
    }

    /// Places between `after` and `mark` that a lookup from `mark` can find: where the tail or the fork point of an earlier
    /// request was.
    fn within_reach(&self, after: Option<Mark>, mark: Mark) -> Vec<Boundary> {
        let first = after.map_or(0, |after| after.item);
        let (mut found, mut back) = (Vec::new(), 0);
        for item in (first..=mark.item).rev() {
            if back >= LOOKBACK_BLOCKS {
                break;
            }
            let (_, frame) = self.layout.frame(item);
            let last =
                if item == mark.item { Some(mark.block) } else { frame.blocks.checked_sub(1) };
            let Some(last) = last else { continue };
            for block in self.candidates(&frame) {
                let place = Mark { item, block };
                if place < mark && after.is_none_or(|after| after < place) && block <= last {
                    let back = back + last - block;
                    if back < LOOKBACK_BLOCKS {
                        found.push(self.boundary(BoundaryKind::Message, place, back));
                    }
                }
            }
            back += last + 1;
        }
        found.reverse();
        found
    }

    /// The blocks of a message at which a request can have ended or forked, last first.
    fn candidates(&self, frame: &FrameRef<'_>) -> impl Iterator<Item = usize> + use<> {
        let last = match self.head.scheme {
            CacheScheme::Marks | CacheScheme::Breakpoints => {
                frame.slots.last().map(|slot| slot.block)
            }
            CacheScheme::Automatic => frame.blocks.checked_sub(1),
        };
        let shared = frame.placeholders.checked_sub(1);
        let shared = shared.filter(|block| frame.slots.iter().any(|slot| slot.block == *block));
        last.into_iter().chain(shared.filter(|block| last.is_some_and(|last| *block < last)))
    }

    fn boundary(&self, kind: BoundaryKind, place: Mark, back: usize) -> Boundary {
        let (run, frame) = self.layout.frame(place.item);
        let (hash, within) = match cut(&frame, place.block) {
            None => (self.hash_at(place.item + 1), frame.end),
            Some(offset) => {
                let end = frame.begin + offset;
                let part = self.layout.runs()[run].bytes().slice(frame.begin..end);
                (self.hash_within(place.item, &part), end)
            }
        };
        let bytes = self.before[run] + within as u64;
        Boundary { kind, hash, bytes, items: place.item + 1, back, mark: None }
    }

    /// Identity of the head and the first `items` messages.
    fn hash_at(&self, items: usize) -> Hash {
        match self.beginnings {
            Some(beginnings) => beginnings[items],
            None => part_hash(&self.head.hash, &self.layout.hash_at(items)),
        }
    }

    /// Identity of the head, the first `items` messages and a part of the next one.
    fn hash_within(&self, items: usize, part: &[u8]) -> Hash {
        match self.beginnings {
            Some(beginnings) => part_hash(&beginnings[items], part),
            None => {
                let rolling = part_hash(&self.layout.hash_at(items), part);
                part_hash(&self.head.hash, &rolling)
            }
        }
    }
}

/// Where a block ends behind which its message goes on, as an offset in the frame; `None` for the last one. Behind the
/// last placeholder a sibling's message may go on even where this one does not.
fn cut(frame: &FrameRef<'_>, block: usize) -> Option<usize> {
    if block + 1 >= frame.blocks && block + 1 != frame.placeholders {
        return None;
    }
    frame.slots.iter().find(|slot| slot.block == block).map(|slot| slot.offset)
}

fn part_hash(before: &Hash, part: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new_keyed(before);
    hasher.update(part);
    *hasher.finalize().as_bytes()
}
