//! What may happen next in a conversation.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::foreign::KINDS;

/// One thing that happens.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// The user says something.
    Say(&'static str),
    /// Some of the open calls are answered (a bit each), with a text before or behind the answers.
    Answer { share: u16, before: bool, behind: bool },
    /// The model is asked.
    Ask,
    /// The conversation goes on from an earlier message, as a fork.
    ForkAt(Index),
    /// The conversation goes on from where it is, as a fork: also in the middle of a turn.
    Fork,
    /// Somebody else's words, as an import brings them.
    Foreign(usize),
}

const SAID: [&str; 11] = [
    "both",
    "one",
    "many",
    "wrong",
    "think",
    "long",
    "cut early",
    "cut late",
    "héllo \"x\" \\ \n",
    " ",
    "",
];

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let answer = (any::<u16>(), any::<bool>(), any::<bool>())
        .prop_map(|(share, before, behind)| Step::Answer { share, before, behind });
    let all = (prop::bool::weighted(0.3), any::<bool>())
        .prop_map(|(before, behind)| Step::Answer { share: !0, before, behind });
    prop_oneof![
        4 => prop::sample::select(SAID.to_vec()).prop_map(Step::Say),
        1 => answer,
        3 => all,
        6 => Just(Step::Ask),
        1 => any::<Index>().prop_map(Step::ForkAt),
        2 => Just(Step::Fork),
        1 => (0..KINDS).prop_map(Step::Foreign),
    ]
}

/// One conversation in which everything happens that must; chance adds the rest.
pub(crate) fn everything() -> Vec<Step> {
    let all = || Step::Answer { share: !0, before: false, behind: false };
    let part = Step::Answer { share: 1, before: true, behind: true };
    let said = |text: &'static str| [Step::Say(text), Step::Ask];
    let mut steps = vec![Step::Ask, part, Step::Ask];
    steps.extend(said("many"));
    steps.push(Step::Fork);
    steps.extend(said("one"));
    steps.extend([all(), Step::Ask, Step::Fork]);
    steps.extend(said("wrong"));
    steps.extend([Step::Ask, Step::Say("")]);
    steps.extend(said("cut late"));
    steps.extend(said("cut early"));
    for kind in 0..KINDS {
        steps.extend([Step::Foreign(kind), Step::Ask]);
    }
    steps.extend(said("think"));
    steps
}
