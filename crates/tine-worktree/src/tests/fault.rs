//! What makes a step fail, and the test in which each one does.

use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::{Signal, getpid, kill_process};
use tine_testkit::share;

use super::death::{Act, Scene};

/// What happens at the steps of this thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Nothing; steps are counted.
    Count,
    /// The one step fails.
    Fail(usize),
    /// From that step on everything fails, what is done about it as well.
    FailFrom(usize),
    /// The one step panics.
    Panic(usize),
    /// The process ends there.
    Die(usize),
}

thread_local! {
    static PLAN: Cell<Plan> = const { Cell::new(Plan::Count) };
    static STEPS: Cell<usize> = const { Cell::new(0) };
    static EXCHANGES: Cell<bool> = const { Cell::new(true) };
}

/// The plan of this thread from its next step on.
pub(crate) fn plan(plan: Plan) {
    PLAN.set(plan);
    STEPS.set(0);
}

/// Steps since there was a plan.
pub(crate) fn steps() -> usize {
    STEPS.get()
}

pub(crate) fn step() -> io::Result<()> {
    let at = STEPS.get();
    STEPS.set(at + 1);
    match PLAN.get() {
        Plan::Fail(step) if step == at => Err(io::Error::other("this step fails")),
        Plan::FailFrom(step) if step <= at => {
            Err(io::Error::other("everything fails from here on"))
        }
        Plan::Panic(step) if step == at => panic!("this step panics"),
        Plan::Die(step) if step == at => {
            kill_process(getpid(), Signal::KILL).unwrap();
            loop {
                std::thread::park();
            }
        }
        Plan::Count | Plan::Fail(_) | Plan::FailFrom(_) | Plan::Panic(_) | Plan::Die(_) => Ok(()),
    }
}

/// A command that runs cannot fail here, but its process can die and leave it running.
pub(crate) fn started() {
    step().ok();
}

/// From now on this thread moves files as where the file system cannot exchange two.
pub(crate) fn without_exchange() {
    EXCHANGES.set(false);
}

pub(crate) fn exchanges() -> bool {
    EXCHANGES.get()
}

/// Steps of an act that nothing disturbs.
fn count(act: Act) -> usize {
    let scene = Scene::new(act);
    plan(Plan::Count);
    scene.perform().unwrap();
    steps()
}

/// The steps of an act of which one failure after the other is tried. The kinds of failures, and the death of the process, take
/// turns with other steps.
pub(crate) fn turn(act: Act, number: usize) -> Vec<usize> {
    match act {
        // Too few kinds are tried on these to take turns.
        Act::ForkClean | Act::RemoveUnchanged => (0..count(act)).collect(),
        Act::Fork | Act::Remove | Act::Recover | Act::Begin => {
            share(&format!("steps of {act:?}"), number, 0..count(act))
        }
    }
}

fn every_step(acts: &[Act], number: usize, of: impl Fn(usize) -> Plan) {
    for act in acts {
        for at in turn(*act, number) {
            let scene = Scene::new(*act);
            plan(of(at));
            let result = catch_unwind(AssertUnwindSafe(|| scene.perform()));
            plan(Plan::Count);
            // Who panics while git makes the worktree leaves it to be found.
            let may_leave = matches!(of(at), Plan::FailFrom(_) | Plan::Panic(_));
            scene.check(matches!(result, Ok(Ok(()))), may_leave, &format!("{act:?} {:?}", of(at)));
        }
    }
}

#[test]
fn a_step_of_a_fork_that_fails_leaves_nothing() {
    every_step(&[Act::Fork, Act::ForkClean], 0, Plan::Fail);
}

#[test]
fn a_step_of_a_removal_that_fails_loses_nothing() {
    every_step(&[Act::Remove, Act::RemoveUnchanged], 0, Plan::Fail);
}

#[test]
fn a_step_of_a_recovery_that_fails_loses_nothing() {
    every_step(&[Act::Recover], 0, Plan::Fail);
}

#[test]
fn a_step_of_a_beginning_that_fails_leaves_a_start() {
    every_step(&[Act::Begin], 0, Plan::Fail);
    every_step(&[Act::Begin], 1, Plan::FailFrom);
}

#[test]
fn a_fork_that_cannot_even_clean_up_leaves_what_is_found() {
    every_step(&[Act::Fork], 1, Plan::FailFrom);
}

#[test]
fn a_removal_or_a_recovery_that_cannot_even_clean_up_leaves_what_is_found() {
    every_step(&[Act::Remove, Act::Recover], 1, Plan::FailFrom);
}

#[test]
fn a_panic_leaves_the_parent_alone_and_what_is_found() {
    every_step(&[Act::Fork], 2, Plan::Panic);
}

#[test]
fn the_steps_are_many() {
    for act in Act::ALL {
        assert!(count(act) > 20, "{act:?}: {}", count(act));
    }
}
