//! Abort, drop, detach, time-out and completion, in every order: no task is left, the parent is never cancelled, and no
//! result is lost or had twice.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{DelegateMode, ForkError, ForkHandle, ForkParams, ParentContext, ToolDispatcher};
use tine_model::Outcome;
use tine_testkit::{Answer, Gate, ScriptedModel};

use crate::house::{House, model};

/// What can happen to a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Its reply comes.
    Reply,
    /// Its caller cancels it.
    Cancel,
    /// Its parent is cancelled.
    Parent,
    /// Its time is up.
    TimeOut,
    /// Its caller lets go of it without a word.
    Drop,
    /// Its caller lets it go on.
    Detach,
    /// Its caller takes the completion, and waits later.
    Take,
}

const STEPS: [Step; 7] =
    [Step::Reply, Step::Cancel, Step::Parent, Step::TimeOut, Step::Drop, Step::Detach, Step::Take];

const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Every order of up to `most` different steps.
fn orders(most: usize) -> Vec<Vec<Step>> {
    let mut all: Vec<Vec<Step>> = vec![vec![]];
    let mut longest = all.clone();
    for _ in 0..most {
        longest = longest
            .iter()
            .flat_map(|order| {
                let next = STEPS.into_iter().filter(|step| !order.contains(step));
                next.map(|step| [order.clone(), vec![step]].concat()).collect::<Vec<_>>()
            })
            .collect();
        all.extend(longest.clone());
    }
    all
}

/// Lets every task run until it waits for something.
async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

/// How the fork should end if these steps happen in this order: the first of them that ends it.
fn expected(order: &[Step]) -> Outcome {
    let mut watched = true;
    for step in order {
        match step {
            Step::Reply => return Outcome::Completed,
            Step::Cancel | Step::Parent => return Outcome::Aborted,
            Step::TimeOut => return Outcome::TimedOut,
            Step::Drop if watched => return Outcome::Aborted,
            // Whoever took the completion is responsible, and is still there.
            Step::Take | Step::Detach => watched = false,
            Step::Drop => {}
        }
    }
    Outcome::TimedOut
}

async fn play(order: &[Step]) {
    let house = House::new("anthropic/m");
    let gate = Gate::new();
    let model = model([Answer::text("ok").behind(&gate)]);
    let params = ForkParams {
        mode: DelegateMode::ForkAndForget,
        timeout: Some(TIME_LIMIT),
        ..house.params(&model)
    };
    let mut handle: Option<ForkHandle> = Some(house.fork(params).await);
    let mut completion = None;
    let token = handle.as_ref().unwrap().abort_token();
    model.requested(1).await;
    let mut parent_cancelled = false;
    for step in order {
        match step {
            Step::Reply => gate.open(),
            Step::Cancel => token.cancel(),
            Step::Parent => {
                house.parent.abort.cancel();
                parent_cancelled = true;
            }
            Step::TimeOut => tokio::time::advance(TIME_LIMIT * 2).await,
            Step::Drop => drop(handle.take()),
            Step::Detach => {
                if let Some(handle) = handle.take() {
                    handle.detach();
                }
            }
            Step::Take => {
                completion = handle.as_mut().and_then(ForkHandle::take_completion).or(completion)
            }
        }
        settle().await;
    }
    let expected = expected(order);
    assert_eq!(house.parent.abort.is_cancelled(), parent_cancelled, "{order:?}");
    let result = match (completion, handle) {
        (Some(completion), _) => Some(completion.await),
        (None, Some(handle)) => Some(handle.join().await),
        (None, None) => None,
    };
    if let Some(result) = result {
        assert_eq!(result.unwrap().outcome, expected, "{order:?}");
    }
    // Ends only when no task is left, whoever let go of it.
    house.forks.idle().await;
}

/// Shows: abort, drop, detach, time-out and completion may race in every order.
#[tokio::test(start_paused = true)]
async fn every_order_of_events_leaks_nothing_and_loses_nothing() {
    for order in orders(3) {
        play(&order).await;
    }
}

/// Shows: the completion can be taken once.
#[tokio::test(start_paused = true)]
async fn the_completion_is_had_once() {
    let house = House::new("anthropic/m");
    let model = model([Answer::text("ok")]);
    let mut handle = house.fork(house.params(&model)).await;
    let completion = handle.take_completion().unwrap();
    assert!(handle.take_completion().is_none());
    assert!(matches!(handle.join().await, Err(ForkError::Taken)));
    assert_eq!(completion.await.unwrap().final_text.as_deref(), Some("ok"));
}

/// Shows: dropping an unconsumed handle cancels the child and never the parent; detaching is real fire-and-forget.
#[tokio::test(start_paused = true)]
async fn a_dropped_handle_cancels_and_a_detached_one_does_not() {
    let house = House::new("anthropic/m");
    let gate = Gate::new();
    let model = model([
        Answer::hang(),
        Answer::calls([("c1", "Echo", "{}")]).behind(&gate),
        Answer::text("ok"),
    ]);
    let background = || ForkParams { mode: DelegateMode::ForkAndForget, ..house.params(&model) };
    let dropped = house.fork(background()).await;
    model.requested(1).await;
    drop(dropped);
    house.forks.idle().await;
    house.fork(background()).await.detach();
    gate.open();
    house.forks.idle().await;
    assert_eq!(*house.tools.called.lock().unwrap(), ["Echo"]);
    assert!(!house.parent.abort.is_cancelled());
}

/// Shows: giving up on a Sync fork cancels the fork.
#[tokio::test(start_paused = true)]
async fn giving_up_a_sync_fork_cancels_it() {
    let house = House::new("anthropic/m");
    let model = model([Answer::hang()]);
    let waiting = house.fork(house.params(&model));
    assert!(tokio::time::timeout(Duration::from_secs(1), waiting).await.is_err());
    house.forks.idle().await;
    assert!(!house.parent.abort.is_cancelled());
}

/// A tool that begins a fork below whoever calls it, and does not wait.
struct Below {
    house: House,
    model: Arc<ScriptedModel>,
    begun: Mutex<Option<ForkHandle>>,
}

#[async_trait]
impl ToolDispatcher for Below {
    fn is_read_only(&self, _tool: &str) -> bool {
        false
    }

    async fn dispatch(&self, _call: &ToolCall, context: &CallContext) -> ToolAnswer {
        let parent_ctx = ParentContext {
            abort: context.cancel.clone(),
            ..ParentContext::new(Arc::clone(&context.agent))
        };
        let mode = DelegateMode::ForkAndForget;
        let params = ForkParams { parent_ctx, mode, ..self.house.params(&self.model) };
        *self.begun.lock().unwrap() = Some(self.house.fork(params).await);
        ToolAnswer::ok("begun")
    }
}

/// Shows: what a fork began below it in the background goes on to its own end when the fork's result was read, and is stopped
/// with a fork whose handle was dropped.
#[tokio::test(start_paused = true)]
async fn work_below_a_fork_outlives_its_result_but_not_its_dropped_handle() {
    for (is_dropped, expected) in [(false, Outcome::Completed), (true, Outcome::Aborted)] {
        let house = House::new("anthropic/m");
        let gate = Gate::new();
        let below = Arc::new(Below {
            model: model([Answer::text("ok").behind(&gate)]),
            begun: Mutex::default(),
            house: house.clone(),
        });
        let last = if is_dropped { Answer::hang() } else { Answer::text("ok") };
        let model = model([Answer::calls([("c1", "Fork", "{}")]), last]);
        let fork = house
            .fork(ForkParams {
                tool_dispatcher: Arc::clone(&below) as _,
                mode: DelegateMode::ForkAndForget,
                ..house.params(&model)
            })
            .await;
        model.requested(2).await;
        below.model.requested(1).await;
        match is_dropped {
            true => drop(fork),
            false => assert_eq!(fork.join().await.unwrap().outcome, Outcome::Completed),
        }
        gate.open();
        let begun = below.begun.lock().unwrap().take().unwrap();
        assert_eq!(begun.join().await.unwrap().outcome, expected);
    }
}
