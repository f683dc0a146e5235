//! Failures at every step of every transaction of a merge-back: what an ancestor was told and what it stands for come together or not
//! at all, and trying again tells nothing twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tine_store::{OpenOptions, StepHook, StoreError};
use tine_testkit::Gate;

use super::arrivals::other_process;
use super::*;
use crate::fixture::options;

/// Steps that no merge-back reaches.
const STEPS_MAX: usize = 200;

fn failing_at(step: usize, reached: &Arc<AtomicUsize>) -> OpenOptions {
    let reached = Arc::clone(reached);
    let hook: StepHook = Arc::new(move |_| match reached.fetch_add(1, Ordering::SeqCst) == step {
        true => Err(StoreError::Full { path: "injected".into() }),
        false => Ok(()),
    });
    OpenOptions { step_hook: Some(hook), ..OpenOptions::default() }
}

/// Envelopes of the root that are there or on their way.
async fn told(house: &House, root: AgentId) -> usize {
    let mail = house.runtime.store().unread_mail(root).await.unwrap();
    let waiting = mail.iter().filter(|row| MergeNote::parse(&row.body).is_some()).count();
    notes(house, root).await.len() + waiting
}

/// Tries it with a failure at each step in turn, each time for something new of the fork; how many steps there were.
async fn fail_at_every_step(house: &House, root: AgentId, child: AgentId) -> usize {
    for step in 0..STEPS_MAX {
        let before = told(house, root).await;
        let reached = Arc::new(AtomicUsize::new(0));
        let other = other_process(house, failing_at(step, &reached)).await;
        let failed = other.merge_back(given(child, "Use a queue.")).await;
        let had = told(house, root).await - before;
        if reached.load(Ordering::SeqCst) <= step {
            failed.unwrap();
            assert_eq!(had, 1);
            return step;
        }
        drop(other);
        match house.runtime.merge_back(given(child, "Use a queue.")).await {
            Ok(_) => assert_eq!(had, 0, "step {step}"),
            Err(RuntimeError::NothingToBringBack { .. }) => assert_eq!(had, 1, "step {step}"),
            Err(error) => panic!("step {step}: {error}"),
        }
        assert_eq!(told(house, root).await, before + 1, "step {step}");
        say(house, child, "more").await;
    }
    panic!("it never ends")
}

#[tokio::test]
async fn a_failure_at_any_step_tells_everything_or_nothing() {
    let house = House::new(ScriptedModel::answering(|_| Answer::text("reply"))).await;
    let root = house.root().await;
    say(&house, root, "prompt 1").await;
    let child = house.runtime.fork(fork_of(root)).await.unwrap().child;
    say(&house, child, "try a queue").await;
    // The lease, the entry, the lease again.
    assert!(fail_at_every_step(&house, root, child).await > 10);
}

#[tokio::test]
async fn the_same_holds_for_one_that_goes_through_the_mailbox() {
    let gate = Gate::new();
    let held = gate.clone();
    let house = House::new(ScriptedModel::answering(move |request| {
        match request.text().contains("wait for it") {
            true => Answer::text("done").behind(&held),
            false => Answer::text("reply"),
        }
    }))
    .await;
    let root = house.root().await;
    say(&house, root, "prompt 1").await;
    let child = house.runtime.fork(fork_of(root)).await.unwrap().child;
    say(&house, child, "try a queue").await;
    let options = options();
    let run = house.runtime.run(root, Some("wait for it".into()), &options);
    let others = async {
        house.model.requested(3).await;
        assert!(fail_at_every_step(&house, root, child).await > 2);
        gate.open();
    };
    let (run, ()) = tokio::join!(run, others);
    run.unwrap();
    let mail = house.runtime.store().unread_mail(root).await.unwrap();
    assert!(mail.is_empty(), "all of it was delivered");
}
