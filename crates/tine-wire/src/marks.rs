//! Where cache marks go.
//!
//! Four places, in prompt order: the end of the system prompt; the *anchor*, the last block of the lineage's last sent
//! request, where an entry certainly exists; the *fork point*, the last block that all siblings share; and the tail.
//! The tail is marked on every request, so that an entry exists whenever the agent is forked.

use tine_history::Layout;

/// Most marks that a request may carry. A fifth is refused with status 400. Source: Anthropic, "Prompt caching".
pub(crate) const MARKS_MAX: usize = 4;

/// A turn longer than this many blocks spends a mark in the middle: a lookup reaches back 20 positions only.
const TURN_BLOCKS_MAX: usize = 15;

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

/// One mark among the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    /// Index of the message.
    pub item: usize,
    /// Which block of its frame carries the mark.
    pub block: usize,
}

/// Chooses the marks among the messages, in order; at most `most`. `layout` is everything that will be sent.
pub(crate) fn choose(layout: &Layout, points: MarkPoints, most: usize) -> Vec<Mark> {
    let Some(tail) = at_or_before(layout, layout.items()) else { return Vec::new() };
    let anchor = points.sent.and_then(|sent| at_or_before(layout, sent.min(layout.items())));
    let fork_point =
        points.inherited.and_then(|inherited| fork_point(layout, inherited.min(layout.items())));
    let mut marks: Vec<Mark> = anchor.into_iter().collect();
    // Once the child has sent a request of its own, its anchor lies behind the fork point.
    marks.extend(fork_point.filter(|point| anchor.is_none_or(|anchor| anchor < *point)));
    marks.retain(|mark| *mark < tail);
    if marks.len() + 1 < most
        && let Some(last) = marks.last()
        && let Some(middle) = middle(layout, *last, tail)
    {
        marks.push(middle);
    }
    marks.push(tail);
    marks
}

/// The last block that all siblings share: the last placeholder of the first own message, or the end of what is inherited.
fn fork_point(layout: &Layout, inherited: usize) -> Option<Mark> {
    if inherited < layout.items() {
        let (_, frame) = layout.frame(inherited);
        if let Some(last) = frame.placeholders.checked_sub(1) {
            return Some(Mark { item: inherited, block: last });
        }
    }
    at_or_before(layout, inherited)
}

/// The last markable block of the first `items` messages.
fn at_or_before(layout: &Layout, items: usize) -> Option<Mark> {
    (0..items).rev().find_map(|item| {
        let (_, frame) = layout.frame(item);
        frame.slots.last().map(|slot| Mark { item, block: slot.block })
    })
}

/// A mark [`TURN_BLOCKS_MAX`] blocks after `from`, when `to` is further away than that.
fn middle(layout: &Layout, from: Mark, to: Mark) -> Option<Mark> {
    let mut distance = 0;
    let mut best = None;
    for item in from.item..=to.item {
        let (_, frame) = layout.frame(item);
        let begin = if item == from.item { from.block + 1 } else { 0 };
        let end = if item == to.item { to.block + 1 } else { frame.blocks };
        let within = |block: usize| distance + block + 1 - begin;
        let reachable = frame.slots.iter().filter(|slot| slot.block >= begin && slot.block < end);
        let last = reachable.take_while(|slot| within(slot.block) <= TURN_BLOCKS_MAX).last();
        best = last.map(|slot| Mark { item, block: slot.block }).or(best);
        distance += end.saturating_sub(begin);
    }
    best.filter(|mark| distance > TURN_BLOCKS_MAX && *mark < to)
}
