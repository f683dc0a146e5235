//! Budgets of whole trees: where a run ends or waits, what a fan may spend, and who waits in line.

use std::sync::Arc;

use tine_cache::Asked;
use tine_fork::run::{RunEvent, RunReport};
use tine_llm::LlmError;
use tine_model::{AgentId, AgentState, Cap, CapReached, Outcome, RequestId, TaskStatus};
use tine_runtime::{
    AgentEvent, EventKind, FanSpec, ForkSpec, OnBudget, RunOptions, Runtime, RuntimeError,
};
use tine_store::{
    BudgetRow, BudgetStore, OpenOptions, Reserve, Reserved, SetBudget, SqliteStore, StoreError,
};
use tine_testkit::{Answer, Gate, ScriptedModel};
use tokio_util::sync::CancellationToken;

use super::fixture::{House, options};
use super::{hearing, seen};

/// A turn that asks for another one.
fn look(call: &'static str) -> Answer {
    Answer::calls([(call, "Glob", r#"{"pattern":"*.txt"}"#)])
}

async fn budget(house: &House, agent: AgentId) -> BudgetRow {
    house.runtime.budget(agent).await.unwrap().unwrap()
}

async fn cap(runtime: &Runtime, agent: AgentId, cap: Cap, most: u64) {
    runtime.set_budget(agent, vec![(cap, Some(most))]).await.unwrap();
}

async fn run(house: &House, agent: AgentId, options: &RunOptions) -> RunReport {
    house.runtime.run(agent, Some("Look.".into()), options).await.unwrap().report
}

/// Runs an agent that waits at its caps, and does something else once it waits; what it told of its waits.
async fn pausing(
    house: &House,
    agent: AgentId,
    then: impl AsyncFnOnce(CancellationToken),
) -> (RunReport, Vec<CapReached>) {
    let options = RunOptions { on_budget: OnBudget::Pause, ..options() };
    let (paused, mut told) = (Gate::new(), Vec::new());
    let other = async {
        paused.pass().await;
        then(options.cancel.clone()).await;
    };
    let work = async { tokio::join!(run(house, agent, &options), other).0 };
    let read = |event: Arc<AgentEvent>| {
        if let EventKind::Run(RunEvent::Paused(reached)) = event.kind {
            told.push(reached);
            paused.open();
        }
    };
    (hearing(&house.runtime, work, read).await, told)
}

#[tokio::test]
async fn at_the_cap_a_run_ends_with_what_it_has() {
    let house = House::new(ScriptedModel::new([look("c1"), Answer::text("never")])).await;
    let root = house.root().await;
    cap(&house.runtime, root, Cap::Tokens, 1).await;
    let report = run(&house, root, &options()).await;
    assert_eq!((&report.outcome, report.turns), (&Outcome::BudgetExhausted, 1));
    let row = budget(&house, root).await;
    let reached = CapReached { cap: Cap::Tokens, used: row.tokens, most: 1 };
    assert_eq!(report.reached, Some(reached));
    assert_eq!(row.tokens, report.usage.prompt() + report.usage.output);
    assert_eq!((row.tokens_reserved, row.requests), (0, 0));
    // The call has its result: the run goes on from there.
    let fold = house.runtime.fold(root, None).await.unwrap();
    assert_eq!(fold.items().count(), 3);
    let record = house.runtime.store().agent(root).await.unwrap();
    assert_eq!(record.state, AgentState::Idle);
    house.runtime.set_budget(root, vec![(Cap::Tokens, None)]).await.unwrap();
    let again = house.runtime.run(root, None, &options()).await.unwrap().report;
    assert_eq!(again.outcome, Outcome::Completed);
}

#[tokio::test]
async fn a_paused_run_goes_on_when_somebody_else_raises_the_cap() {
    let house = House::new(ScriptedModel::new([look("c1"), Answer::text("done")])).await;
    let root = house.root().await;
    cap(&house.runtime, root, Cap::Tokens, 1).await;
    let raise = async |_| {
        assert_eq!(house.model.requests().len(), 1);
        // As another process would.
        let path = house.home.path().join("tine.db");
        let other = SqliteStore::open(path, OpenOptions::default()).await.unwrap();
        let caps = vec![(Cap::Tokens, Some(1_000_000))];
        other.set_budget(SetBudget { agent: root, caps, now_ms: 1 }).await.unwrap();
    };
    let (report, told) = pausing(&house, root, raise).await;
    assert_eq!((report.outcome, report.turns), (Outcome::Completed, 2));
    assert_eq!(told.len(), 1);
}

#[tokio::test]
async fn a_paused_run_can_be_stopped() {
    let house = House::new(ScriptedModel::new([])).await;
    let root = house.root().await;
    cap(&house.runtime, root, Cap::Time, 0).await;
    let stop = async |cancel: CancellationToken| cancel.cancel();
    let (report, told) = pausing(&house, root, stop).await;
    assert_eq!((report.outcome, report.reached), (Outcome::Aborted, None));
    assert_eq!(told[0].cap, Cap::Time);
    assert!(house.model.requests().is_empty());
}

#[tokio::test]
async fn a_request_that_comes_to_nothing_frees_what_was_reserved() {
    let refused = |kind| Answer::refused(kind, "no");
    let house = House::new(ScriptedModel::new([
        refused(tine_wire::FailureKind::Overloaded),
        Answer::error(LlmError::BadKey),
        Answer::text("done"),
    ]))
    .await;
    let root = house.root().await;
    cap(&house.runtime, root, Cap::Tokens, 1_000_000).await;
    for _ in 0..2 {
        let report = run(&house, root, &options()).await;
        assert!(matches!(report.outcome, Outcome::Failed(_)));
        let row = budget(&house, root).await;
        assert_eq!((row.tokens, row.tokens_reserved, row.requests), (0, 0, 0));
    }
    assert_eq!(run(&house, root, &options()).await.outcome, Outcome::Completed);
}

#[tokio::test]
async fn what_a_dead_process_had_reserved_does_not_hold_others_back_for_ever() {
    let house = House::new(ScriptedModel::new([Answer::text("done")])).await;
    let root = house.root().await;
    cap(&house.runtime, root, Cap::Tokens, 1_000).await;
    let dead = Reserve {
        id: RequestId::from_random([9; 16]),
        agent: root,
        owner: "process 1-dead".to_owned(),
        tokens: 1_000,
        micro_usd: 0,
        now_ms: 1,
    };
    assert_eq!(house.runtime.store().reserve(dead).await.unwrap(), Reserved::Granted);
    let child = house.runtime.fork(ForkSpec::of(root)).await.unwrap();
    assert_eq!(run(&house, child.child, &options()).await.outcome, Outcome::Completed);
}

fn fan_of(parent: AgentId, directives: &[&str]) -> FanSpec {
    let directives = directives.iter().map(|text| (*text).to_owned()).collect();
    FanSpec { fork: ForkSpec::of(parent), directives, plan: Asked::Auto }
}

#[tokio::test]
async fn workers_wait_in_line_and_the_leader_stands_first() {
    let house = House::new(ScriptedModel::new(
        [1, 2, 3, 4].map(|_| Answer::text("Scope: all of it\nResult: ok")),
    ))
    .await;
    let root = house.root().await;
    cap(&house.runtime, root, Cap::Running, 1).await;
    let spec = fan_of(root, &["the first", "the second", "third", "the fourth"]);
    let (report, events) = seen(&house.runtime, house.runtime.fan(spec, &options())).await;
    assert!(report.unwrap().tasks.iter().all(|task| task.status == TaskStatus::Completed));
    let (mut workers, mut begun) = (Vec::new(), Vec::new());
    let (mut ended, mut most) = (0, 0);
    for event in events {
        match &event.kind {
            EventKind::Fanned { workers: made, .. } => workers.clone_from(made),
            EventKind::Run(RunEvent::Message(_)) if !begun.contains(&event.agent) => {
                begun.push(event.agent);
                most = most.max(begun.len() - ended);
            }
            EventKind::TaskEnded(_) => ended += 1,
            _ => {}
        }
    }
    assert_eq!(begun, [2, 0, 1, 3].map(|index| workers[index]));
    assert_eq!(most, 1, "at the same time");
    let row = budget(&house, root).await;
    assert_eq!((row.agents, row.running, row.waiting), (4, 0, 0));
}

#[tokio::test]
async fn a_fan_of_more_workers_than_the_tree_may_have_is_refused_whole() {
    let house = House::new(ScriptedModel::new([1, 2].map(|_| Answer::text("ok")))).await;
    let root = house.root().await;
    cap(&house.runtime, root, Cap::Agents, 2).await;
    let fan = |directives: &[&str]| {
        let spec = fan_of(root, directives);
        let house = &house;
        async move { house.runtime.fan(spec, &options()).await }
    };
    let refused = fan(&["a", "b", "c"]).await;
    assert!(matches!(refused, Err(RuntimeError::Store(StoreError::OverBudget { asked: 3, .. }))));
    assert_eq!(fan(&["a", "b"]).await.unwrap().tasks.len(), 2);
    assert!(fan(&["c"]).await.is_err());
}

#[tokio::test]
async fn a_worker_that_gives_its_place_back_lets_the_next_one_run() {
    let house = House::new(ScriptedModel::new([])).await;
    let root = house.root().await;
    cap(&house.runtime, root, Cap::Running, 1).await;
    let (store, cancel) = (house.runtime.store(), options().cancel);
    let lease = |agent: AgentId| {
        let (store, owner) = (Arc::clone(store), format!("owner of {agent}"));
        async move {
            let (is_alive, notice) = (|_: &str| true, |_: &tine_model::TaskRecord| String::new());
            let acquire = tine_store::Acquire {
                agent,
                owner: &owner,
                is_alive: &is_alive,
                notice: &notice,
                now_ms: 1,
            };
            store.acquire(acquire).await.unwrap()
        }
    };
    let other = house.runtime.fork(ForkSpec::of(root));
    let (first, second) = (lease(root).await, lease(other.await.unwrap().child).await);
    let quiet = |_: CapReached| {};
    assert!(house.runtime.take_slot(&first, &quiet, &cancel).await.unwrap());
    let gate = Gate::new();
    let open = |_: CapReached| gate.open();
    let second_runs = house.runtime.take_slot(&second, &open, &cancel);
    let first_waits = async {
        gate.pass().await;
        house.runtime.give_slot(&first).await.unwrap();
    };
    let (runs, ()) = tokio::join!(second_runs, first_waits);
    assert!(runs.unwrap());
    cancel.cancel();
    assert!(!house.runtime.take_slot(&first, &quiet, &cancel).await.unwrap());
}
