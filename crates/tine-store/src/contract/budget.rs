//! Budgets of trees, reservations, and the line of workers.

use tine_model::{AgentId, Cap, CapReached, RequestId, Standing, Usage};

use super::sample::{
    agent_id, caps_of, create, fork, fork_of, lease, plain_notice, request_of, reserve_of,
    three_deep,
};
use super::{Fixture, refused};
use crate::{
    BudgetRow, Caps, ForkFrom, ForkRequest, NewTask, Recover, RequestRow, Reserve, Reserved,
    Result, StandInLine, Store, StoreError,
};

/// Tokens of a request of [`request_of`].
const EACH: u64 = 105;

fn workers_of(parent: AgentId, numbers: std::ops::Range<u64>) -> ForkRequest {
    let mut request = fork_of(parent, numbers.start, ForkFrom::LastEntry);
    let pattern = request.children.remove(0);
    request.children = numbers
        .map(|number| {
            let mut child = pattern.clone();
            child.agent.id = agent_id(number);
            child.agent.standing = Standing::Worker;
            child.task =
                Some(NewTask { directive: "look".to_owned(), description: None, definition: None });
            child
        })
        .collect();
    request
}

async fn budget(store: &dyn Store, agent: AgentId) -> Result<BudgetRow> {
    store.budget(agent).await?.ok_or_else(|| StoreError::no_agent(agent))
}

fn spent(cap: Cap, used: u64, most: u64) -> Reserved {
    Reserved::Spent(CapReached { cap, used, most })
}

fn promised(cap: Cap, used: u64, most: u64) -> Reserved {
    Reserved::Promised(CapReached { cap, used, most })
}

/// Set and seen from anywhere in it; what is not named stays.
pub async fn a_budget_is_for_the_whole_tree(fixture: &dyn Fixture) -> Result<()> {
    let (store, other) = (fixture.open().await?, fixture.open().await?);
    let (root, child, grandchild) = three_deep(&*store).await?;
    let stranger = create(&*store, 9).await?;
    assert_eq!(store.budget(grandchild).await?, None);
    assert_eq!(store.reserve(reserve_of(child, 1, 1, 1)).await?, Reserved::Unbounded);
    let caps = [(Cap::Tokens, Some(500)), (Cap::Money, Some(7)), (Cap::Agents, Some(3))];
    let set = store.set_budget(caps_of(grandchild, &caps)).await?;
    assert_eq!((set.root, set.started_ms, set.updated_ms), (root, 4000, 4000));
    for agent in [root, child, grandchild] {
        assert_eq!(other.budget(agent).await?.as_ref(), Some(&set));
    }
    assert_eq!(store.budget(stranger).await?, None);
    let caps = [(Cap::Money, None), (Cap::Running, Some(2))];
    let set = other.set_budget(caps_of(root, &caps)).await?;
    let expected = Caps { tokens: Some(500), agents: Some(3), running: Some(2), ..Caps::default() };
    assert_eq!(set.caps, expected);
    refused!(store.budget(agent_id(7)).await, StoreError::NotFound { .. });
    refused!(store.set_budget(caps_of(agent_id(7), &[])).await, StoreError::NotFound { .. });
    Ok(())
}

/// All of the tree, each request once, and what has no price is counted.
pub async fn what_was_spent_before_a_budget_counts(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, _, grandchild) = three_deep(&*store).await?;
    let stranger = create(&*store, 9).await?;
    let unpriced = RequestRow { micro_usd: None, ..request_of(root, 2, "m") };
    for request in [request_of(root, 1, "m"), unpriced, request_of(grandchild, 3, "m")] {
        store.record_request(request.clone(), &[]).await?;
        store.record_request(request, &[]).await?;
    }
    store.record_request(request_of(stranger, 4, "m"), &[]).await?;
    let begun = store.set_budget(caps_of(root, &[(Cap::Tokens, Some(1000))])).await?;
    assert_eq!((begun.tokens, begun.micro_usd, begun.unpriced), (3 * EACH, 2000, 1));
    // Four bytes of the request for a token, where the provider says nothing.
    let silent = RequestRow { usage: None, micro_usd: None, ..request_of(grandchild, 5, "m") };
    store.record_request(silent.clone(), &[]).await?;
    store.record_request(silent, &[]).await?;
    let huge = Usage { uncached: u64::MAX, output: u64::MAX, ..Usage::default() };
    let now = budget(&*store, root).await?;
    assert_eq!((now.tokens, now.micro_usd, now.unpriced), (3 * EACH + 100, 2000, 2));
    let senseless =
        RequestRow { usage: Some(huge), micro_usd: Some(u64::MAX), ..request_of(root, 6, "m") };
    store.record_request(senseless, &[]).await?;
    assert!(budget(&*store, root).await?.tokens > now.tokens);
    let root = create(&*store, 11).await?;
    let begun = store.set_budget(caps_of(root, &[])).await?;
    assert_eq!((begun.tokens, begun.unpriced), (0, 0));
    Ok(())
}

/// Reserved by others it waits, spent it is refused, raised it goes on. At most one request is above the cap.
pub async fn a_cap_lets_through_until_it_is_used_up(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, child, grandchild) = three_deep(&*store).await?;
    let ask = |agent, number| store.reserve(reserve_of(agent, number, EACH, 600));
    store.set_budget(caps_of(root, &[(Cap::Tokens, Some(2 * EACH - 5))])).await?;
    assert_eq!(ask(root, 1).await?, Reserved::Granted);
    assert_eq!(ask(grandchild, 2).await?, Reserved::Granted);
    let held = promised(Cap::Tokens, 0, 2 * EACH - 5);
    assert_eq!(ask(child, 3).await?, held);
    store.release_reservation(RequestId::from_random([1; 16])).await?;
    store.record_request(request_of(grandchild, 2, "m"), &[]).await?;
    assert_eq!(ask(child, 3).await?, Reserved::Granted);
    store.record_request(request_of(child, 3, "m"), &[]).await?;
    let used_up = spent(Cap::Tokens, 2 * EACH, 2 * EACH - 5);
    assert_eq!(ask(root, 4).await?, used_up);
    let caps = [(Cap::Tokens, Some(1000)), (Cap::Money, Some(2500))];
    store.set_budget(caps_of(root, &caps)).await?;
    assert_eq!(ask(root, 4).await?, Reserved::Granted);
    assert_eq!(ask(root, 5).await?, promised(Cap::Money, 2000, 2500));
    store.record_request(request_of(root, 4, "m"), &[]).await?;
    assert_eq!(ask(root, 5).await?, spent(Cap::Money, 3000, 2500));
    store.set_budget(caps_of(root, &[(Cap::Money, None)])).await?;
    assert_eq!(ask(root, 5).await?, Reserved::Granted);
    let now = budget(&*store, child).await?;
    assert_eq!((now.tokens, now.tokens_reserved, now.requests), (3 * EACH, EACH, 1));
    assert_eq!((now.micro_usd, now.micro_usd_reserved), (3000, 600));
    Ok(())
}

/// And a later change keeps it running, unless the cap was gone in between.
pub async fn the_time_runs_from_the_first_time_cap(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, _, grandchild) = three_deep(&*store).await?;
    let set = |now_ms, most| {
        let set = caps_of(root, &[(Cap::Time, most)]);
        store.set_budget(crate::SetBudget { now_ms, ..set })
    };
    let ask = |now_ms| store.reserve(Reserve { now_ms, ..reserve_of(grandchild, 1, 1, 1) });
    store.set_budget(caps_of(root, &[(Cap::Agents, Some(9))])).await?;
    assert_eq!(set(10_000, Some(500)).await?.started_ms, 10_000);
    assert_eq!(ask(10_499).await?, Reserved::Granted);
    assert_eq!(ask(10_500).await?, spent(Cap::Time, 500, 500));
    assert_eq!(set(10_600, Some(900)).await?.started_ms, 10_000);
    assert_eq!(ask(10_899).await?, Reserved::Granted);
    assert_eq!(ask(11_000).await?, spent(Cap::Time, 1000, 900));
    set(11_000, None).await?;
    assert_eq!(set(12_000, Some(10)).await?.started_ms, 12_000);
    // A clock that was set back spends nothing.
    assert_eq!(ask(3).await?, Reserved::Granted);
    Ok(())
}

/// By the request, by its release, or by neither; never twice.
pub async fn a_reservation_is_settled_once(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, child, _) = three_deep(&*store).await?;
    store.set_budget(caps_of(root, &[(Cap::Tokens, Some(1000))])).await?;
    let reserved = || async { Result::Ok(budget(&*store, root).await?.tokens_reserved) };
    for number in [1, 1, 2] {
        let ask = reserve_of(child, number, 40, 0);
        assert_eq!(store.reserve(ask).await?, Reserved::Granted);
    }
    assert_eq!(reserved().await?, 80);
    for _ in 0..2 {
        store.record_request(request_of(child, 1, "m"), &[]).await?;
        assert_eq!(reserved().await?, 40);
    }
    for _ in 0..2 {
        store.release_reservation(RequestId::from_random([2; 16])).await?;
        assert_eq!(reserved().await?, 0);
    }
    assert_eq!(budget(&*store, root).await?.tokens, EACH);
    // One that nobody reserved, such as a ping, is counted too.
    store.record_request(request_of(child, 3, "m"), &[]).await?;
    assert_eq!(budget(&*store, root).await?.tokens, 2 * EACH);
    Ok(())
}

/// It goes with the lease, given back or taken from the dead, and with its owner.
pub async fn what_nobody_holds_is_not_reserved(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, child, grandchild) = three_deep(&*store).await?;
    store.set_budget(caps_of(root, &[(Cap::Tokens, Some(1000))])).await?;
    let reserved = || async { Result::Ok(budget(&*store, root).await?.tokens_reserved) };
    let ask = |agent, number, owner: &str| {
        let owner = owner.to_owned();
        store.reserve(Reserve { owner, ..reserve_of(agent, number, 1 << number, 0) })
    };
    let held = lease(&*store, child, "a").await?;
    ask(child, 1, "a").await?;
    ask(grandchild, 2, "b").await?;
    store.release(&held).await?;
    assert_eq!(reserved().await?, 1 << 2);
    lease(&*store, child, "dead").await?;
    ask(child, 3, "dead").await?;
    // Without a lease: such as a ping for a parent.
    ask(root, 4, "dead").await?;
    let alive = |owner: &str| owner != "dead";
    let recover = Recover { is_alive: &alive, notice: &plain_notice, used: &[], now_ms: 9000 };
    store.recover(recover).await?;
    assert_eq!(reserved().await?, 1 << 2);
    ask(root, 4, "dead").await?;
    assert!(store.recover(recover).await?.is_empty());
    assert_eq!(reserved().await?, 1 << 2);
    Ok(())
}

/// All that were ever made, dead ones too; peers are free, and a refused fork leaves nothing.
pub async fn workers_are_counted_where_they_are_made(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, child, _) = three_deep(&*store).await?;
    store.fork(workers_of(child, 10..12)).await?;
    store.set_budget(caps_of(root, &[(Cap::Agents, Some(4))])).await?;
    assert_eq!(budget(&*store, root).await?.agents, 2);
    store
        .kill(crate::Kill { agent: agent_id(10), used: &[], notice: &plain_notice, now_ms: 1 })
        .await?;
    refused!(
        store.fork(workers_of(agent_id(11), 20..23)).await,
        StoreError::OverBudget { asked: 3, reached, .. }
            if reached == CapReached { cap: Cap::Agents, used: 2, most: 4 }
    );
    refused!(store.agent(agent_id(20)).await, StoreError::NotFound { .. });
    store.fork(workers_of(agent_id(11), 20..22)).await?;
    fork(&*store, root, 30, ForkFrom::LastEntry).await?;
    refused!(store.fork(workers_of(root, 40..41)).await, StoreError::OverBudget { .. });
    store.set_budget(caps_of(root, &[(Cap::Agents, None)])).await?;
    store.fork(workers_of(root, 40..41)).await?;
    Ok(())
}

/// As many as may run at a time; whoever leaves lets the next one in, and whoever comes back stands at the end.
pub async fn workers_run_in_the_order_of_the_line(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    store.fork(workers_of(root, 2..6)).await?;
    let stand = |numbers: &[u64]| {
        let agents = numbers.iter().map(|number| agent_id(*number)).collect();
        store.stand_in_line(StandInLine { agents, owner: "a".to_owned(), now_ms: 1 })
    };
    stand(&[2, 3]).await?;
    assert_eq!(store.before_in_line(agent_id(3)).await?, None);
    store.set_budget(caps_of(root, &[(Cap::Running, Some(2))])).await?;
    stand(&[4, 2]).await?;
    stand(&[3, 5, 4]).await?;
    let line = || async {
        let mut line = Vec::new();
        for number in 2..6 {
            let before = store.before_in_line(agent_id(number)).await?;
            line.push(before.map(|reached| reached.used));
        }
        Result::Ok(line)
    };
    // In the order 4, 2, 3, 5.
    assert_eq!(line().await?, [None, Some(2), None, Some(3)]);
    let now = budget(&*store, root).await?;
    assert_eq!((now.running, now.waiting), (2, 2));
    store.leave_line(agent_id(4)).await?;
    stand(&[4]).await?;
    assert_eq!(line().await?, [None, None, Some(3), Some(2)]);
    // Raised, they all run; a lower cap stops none of those that stand in front.
    store.set_budget(caps_of(root, &[(Cap::Running, Some(3))])).await?;
    assert_eq!(line().await?, [None, None, Some(3), None]);
    store
        .kill(crate::Kill { agent: agent_id(3), used: &[], notice: &plain_notice, now_ms: 1 })
        .await?;
    assert_eq!(line().await?, [None, None, None, None]);
    store.set_budget(caps_of(root, &[(Cap::Running, Some(2))])).await?;
    assert_eq!(line().await?, [None, None, Some(2), None]);
    let held = lease(&*store, agent_id(2), "a").await?;
    store.release(&held).await?;
    assert_eq!(line().await?, [None, None, None, None]);
    assert_eq!(budget(&*store, root).await?.running, 2);
    Ok(())
}
