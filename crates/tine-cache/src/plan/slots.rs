//! The start of siblings at a server that has slots, each with a cache of its own.
//!
//! Whoever gets a slot that does not hold the prefix computes all of it, and while it does so the others are computed more slowly,
//! too. So as many go at a time as there are slots with the prefix: usually one, because each sibling takes the place of the one
//! before it in the same slot.

use super::{Asked, Launch, Plan, Situation, costs, warmth};
use crate::facts::Facts;
use crate::forms::{Course, Forms, Shape, bill, closed_forms};
use crate::tokens::counted;

pub(super) fn plan(situation: &Situation, shape: &Shape, slots: u32, facts: &Facts) -> Plan {
    let siblings = situation.siblings;
    let holding = situation.slots_holding.clamp(1, slots as usize);
    // Each slot is like a machine of its own: the first ones hold the prefix, and whoever lands on another one is alone there.
    let alone = siblings.saturating_sub(holding);
    let apart = std::iter::once(holding.min(siblings)).chain(std::iter::repeat_n(1, alone));
    let apart: Vec<usize> = apart.filter(|members| *members > 0).collect();
    let together = bill(Course { waves: &apart, leaders: 0, led: false }, shape, facts);
    let forms = Forms { together, ..closed_forms(shape, facts) };
    let costs = facts.prices.at(situation.now_ms).map(|price| costs(&forms, &price));
    let saved = costs.map_or(0.0, |costs| (costs.together - costs.leader_first).max(0.0));
    let (launch, reason) = choose(situation, shape, (slots, holding), facts);
    let in_turn = launch != Launch::Together;
    Plan {
        launch,
        at_once: in_turn.then_some(holding),
        warmth: warmth(shape),
        leaders: usize::from(in_turn && shape.gap_tokens > 0),
        waves: if in_turn { vec![siblings] } else { apart },
        // Requests wait for slots and not for stages.
        stages: Vec::new(),
        costs,
        saved_by_waiting: saved,
        price_of_waiting: 0.0,
        reason,
    }
}

fn choose(
    situation: &Situation,
    shape: &Shape,
    (slots, holding): (u32, usize),
    facts: &Facts,
) -> (Launch, String) {
    let Shape { siblings, prefix_tokens, gap_tokens, .. } = *shape;
    if siblings < 2 {
        return (Launch::Together, "there is nobody to share the prefix with".to_owned());
    }
    let apart = match slots {
        1 => "the server computes one request at a time".to_owned(),
        _ => format!("each of the server's {slots} slots has a cache of its own"),
    };
    if situation.asked == Asked::Together {
        return (Launch::Together, format!("all start together, as asked, though {apart}"));
    }
    if prefix_tokens < facts.min_tokens.max(1) {
        return (Launch::Together, "there is no prefix to share".to_owned());
    }
    let (prefix, gap) = (counted(prefix_tokens), counted(gap_tokens));
    if gap_tokens > 0 {
        let cold = format!("{gap} of {prefix} tokens are not in the cache");
        let why = format!("{cold}, and {apart}: in turn, only the first computes them");
        return (Launch::InTurn, why);
    }
    let warm = format!("all {prefix} tokens of the prefix are in the cache");
    match holding {
        holding if holding as u64 >= siblings => {
            (Launch::Together, format!("{warm}, in a slot for each"))
        }
        1 if slots == 1 => {
            (Launch::InTurn, format!("{warm}, and {apart}: in turn, each reads them"))
        }
        1 => (
            Launch::InTurn,
            format!("{warm}, but {apart}, and one holds them: in turn, each reads them"),
        ),
        _ => (
            Launch::InTurn,
            format!(
                "{warm}, but {apart}, and {holding} hold them: {holding} at a time, each reads them"
            ),
        ),
    }
}
