use proptest::prelude::*;
use tine_model::{AgentId, Message};

use super::*;

/// What a random log is made of; numbers choose among the entries before.
#[derive(Debug, Clone)]
enum Step {
    Say,
    Notice,
    Clear,
    Rewind(Option<usize>),
    Compact(Option<usize>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Say),
        1 => Just(Step::Notice),
        1 => Just(Step::Clear),
        2 => prop::option::weighted(0.9, any::<usize>()).prop_map(Step::Rewind),
        2 => prop::option::weighted(0.7, any::<usize>()).prop_map(Step::Compact),
    ]
}

/// An entry each; ids are those of a store that others write to as well.
fn log(steps: &[Step]) -> Vec<Entry> {
    let id = |index: usize| EntryId(10 + 3 * index as i64);
    let body = |(index, step): (usize, &Step)| match step {
        Step::Say => EntryBody::Message(Message::user(format!("m{index}")).into()),
        Step::Notice => EntryBody::Notice(String::new()),
        Step::Clear => EntryBody::Clear,
        Step::Rewind(to) => EntryBody::Rewind { to: to.map(|to| id(to % (index + 1))) },
        Step::Compact(keep) => EntryBody::Compact {
            keep: keep.map(|keep| id(keep % (index + 1))),
            preface: Message::user(format!("p{index}")).into(),
        },
    };
    let agent = AgentId::from_random([1; 16]);
    let entry = |(index, step)| Entry { id: id(index), agent, at_ms: 0, body: body((index, step)) };
    steps.iter().enumerate().map(entry).collect()
}

/// The state after each entry, kept as a whole: what is cleared stays cleared, and a rewind takes the state back to what it was,
/// less what a clear has taken since.
fn naive(log: &[Entry]) -> Vec<String> {
    type State = Vec<(EntryId, String)>;
    let mut states: Vec<(EntryId, State)> = Vec::new();
    let mut now: State = Vec::new();
    for entry in log {
        match &entry.body {
            EntryBody::Message(message) => now.push((entry.id, message.text())),
            EntryBody::Clear => {
                now.clear();
                states.iter_mut().for_each(|(_, state)| state.clear());
            }
            EntryBody::Rewind { to } => {
                let mut upto = states.iter().filter(|(id, _)| to.is_some_and(|to| *id <= to));
                now = upto.next_back().map(|(_, state)| state.clone()).unwrap_or_default();
                // What was said after it is gone for good, also for a rewind to a place behind.
                let gone = |(id, _): &(EntryId, String)| to.is_some_and(|to| *id <= to);
                states.iter_mut().for_each(|(id, state)| {
                    if to.is_none_or(|to| *id > to) {
                        state.clone_from(&now);
                    }
                    state.retain(gone);
                });
            }
            EntryBody::Compact { keep, preface } => {
                // A preface is older than whatever it stands before.
                now.retain(|(id, text)| {
                    keep.is_some_and(|keep| *id >= keep) && text.starts_with('m')
                });
                now.insert(0, (entry.id, preface.text()));
            }
            EntryBody::Fork { .. }
            | EntryBody::Mark { .. }
            | EntryBody::Notice(_)
            | EntryBody::Dialect(_) => {}
        }
        states.push((entry.id, now.clone()));
    }
    now.into_iter().map(|(_, text)| text).collect()
}

fn texts(fold: &Fold) -> Vec<String> {
    fold.items().map(|item| item.message.text()).collect()
}

fn check(steps: &[Step], expected: &[&str]) {
    assert_eq!(texts(&Fold::of(log(steps))), expected, "{steps:?}");
}

#[test]
fn a_compaction_keeps_its_end_and_a_rewind_before_it_undoes_it() {
    use Step::{Clear, Compact, Rewind, Say};
    let shortened = [Say, Say, Say, Compact(Some(2)), Say];
    check(&shortened, &["p3", "m2", "m4"]);
    check(&[Say, Say, Compact(None), Say], &["p2", "m3"]);
    let and = |last: Step| [shortened.as_slice(), &[last]].concat();
    check(&and(Rewind(Some(3))), &["p3", "m2"]);
    check(&and(Rewind(Some(2))), &["m0", "m1", "m2"]);
    check(&and(Rewind(Some(1))), &["m0", "m1"]);
    check(&and(Rewind(None)), &[]);
    check(&and(Clear), &[]);
    // The later one takes the place of the earlier one, and undone gives it back.
    check(&and(Compact(Some(4))), &["p5", "m4"]);
    check(&[and(Compact(Some(4))).as_slice(), &[Rewind(Some(4))]].concat(), &["p3", "m2", "m4"]);
    // What the earlier one left out does not come back because the later one would keep it.
    check(&and(Compact(Some(0))), &["p5", "m2", "m4"]);
}

#[test]
fn an_entry_says_whether_it_counts() {
    use Step::{Compact, Say};
    let fold = Fold::of(log(&[Say, Compact(None), Say, Compact(Some(2)), Say]));
    let counts: Vec<bool> = fold.entries().iter().map(|folded| folded.effective).collect();
    assert_eq!(counts, [false, false, true, true, true]);
}

proptest! {
    #[test]
    fn the_fold_is_what_a_naive_reader_makes_of_it(steps in prop::collection::vec(step(), 0..24)) {
        let log = log(&steps);
        prop_assert_eq!(texts(&Fold::of(log.clone())), naive(&log));
    }

    /// Reading a log up to an entry and going on is reading it to the end: what an ancestor writes later is nothing to a fork.
    #[test]
    fn every_beginning_of_a_log_is_a_history(steps in prop::collection::vec(step(), 0..24), at in 0..24usize) {
        let log = log(&steps);
        let part = &log[..at.min(log.len())];
        prop_assert_eq!(texts(&Fold::of(part.to_vec())), naive(part));
    }
}
