//! Leases, fences and recovery.

use tine_model::{AgentId, AgentState, TaskStatus};

use super::sample::{agent_id, create, fork_of, is_fenced, lease, message, plain_notice};
use super::{Fixture, refused};
use crate::{
    Acquire, EntryKind, ForkFrom, Kill, NewTask, Recover, Result, SetState, Store, StoreError,
    TaskEnd,
};

fn only_living<'a>(living: &'a str) -> impl Fn(&str) -> bool + Send + Sync + 'a {
    move |owner| owner == living
}

async fn spawn_worker(store: &dyn Store, spawner: AgentId, number: u64) -> Result<AgentId> {
    let mut request = fork_of(spawner, number, ForkFrom::LastEntry);
    request.children[0].task =
        Some(NewTask { directive: "look".to_owned(), description: None, definition: None });
    store.fork(request).await?;
    Ok(agent_id(number))
}

async fn run(store: &dyn Store, agent: AgentId) -> Result<()> {
    let (state, fence) = (AgentState::Running, None);
    store.set_state(SetState { agent, state, failure: None, fence, now_ms: 7000 }).await
}

/// The second one is told who the first is, also when it has the same name.
pub async fn one_writer_at_a_time(fixture: &dyn Fixture) -> Result<()> {
    let (store, other) = (fixture.open().await?, fixture.open().await?);
    let agent = create(&*store, 1).await?;
    let held = lease(&*store, agent, "host:1").await?;
    for owner in ["host:2", "host:1"] {
        refused!(lease(&*other, agent, owner).await,
            StoreError::Held { owner, .. } if owner == "host:1");
    }
    assert_eq!(other.lease(agent).await?.as_ref(), Some(&held));
    store.release(&held).await?;
    assert_eq!(other.lease(agent).await?, None);
    lease(&*other, agent, "host:2").await?;
    refused!(lease(&*store, agent_id(2), "host:1").await, StoreError::NotFound { .. });
    other.kill(Kill { agent, used: &[], notice: &plain_notice, now_ms: 1 }).await?;
    refused!(lease(&*store, agent, "host:1").await, StoreError::Dead { .. });
    Ok(())
}

/// From its first moment, and its death before its first step interrupts its task.
pub async fn a_forked_worker_is_held_at_once(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, worker) = (create(&*store, 1).await?, agent_id(2));
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    request.children[0].task =
        Some(NewTask { directive: "look".to_owned(), description: None, definition: None });
    request.owner = Some("host:1".to_owned());
    let forked = store.fork(request).await?;
    assert_eq!(forked[0].lease, store.lease(worker).await?);
    refused!(lease(&*store, worker, "host:2").await, StoreError::Held { .. });
    let recover = Recover { is_alive: &|_| false, notice: &plain_notice, used: &[], now_ms: 9000 };
    let recovered = store.recover(recover).await?;
    assert_eq!(recovered[0].tasks, [worker]);
    assert_eq!(store.unread_mail(root).await?.len(), 1);
    Ok(())
}

/// Nobody runs it any more, and how its run ended is not known.
pub async fn a_lease_given_back_in_a_run_interrupts(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    let held = lease(&*store, agent, "host:1").await?;
    let (state, fence) = (AgentState::Running, Some(held.fence));
    store.set_state(SetState { agent, state, failure: None, fence, now_ms: 8000 }).await?;
    store.release(&held).await?;
    assert_eq!(store.agent(agent).await?.state, AgentState::Interrupted);
    Ok(())
}

/// No lease, a released one and that of another time are all refused; death comes before them.
pub async fn a_lost_lease_writes_nothing(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    assert!(is_fenced(&*store, agent, crate::Fence(1)).await);
    let first = lease(&*store, agent, "one").await?;
    store.release(&first).await?;
    assert!(is_fenced(&*store, agent, first.fence).await);
    let second = lease(&*store, agent, "two").await?;
    assert!(is_fenced(&*store, agent, first.fence).await);
    let (state, fence) = (AgentState::Running, Some(first.fence));
    let stale = store.set_state(SetState { agent, state, failure: None, fence, now_ms: 1 }).await;
    refused!(stale, StoreError::Fenced { .. });
    // Releasing what is lost takes nothing from the new holder.
    store.release(&first).await?;
    store.append(agent, second.fence, &[message("a")]).await?;
    store.kill(Kill { agent, used: &[], notice: &plain_notice, now_ms: 1 }).await?;
    let late = store.append(agent, second.fence, &[message("b")]).await;
    refused!(late, StoreError::Dead { .. });
    let kinds: Vec<_> =
        store.own_entries(agent, None).await?.into_iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [EntryKind::Message, EntryKind::Notice]);
    Ok(())
}

/// Released or recovered, the next lease is higher.
pub async fn the_fence_never_goes_back(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    let mut fences = Vec::new();
    for turn in 0..4 {
        let held = lease(&*store, agent, "somebody").await?;
        fences.push(held.fence);
        if turn % 2 == 0 {
            store.release(&held).await?;
        } else {
            let nobody = |_: &str| false;
            store
                .recover(Recover { is_alive: &nobody, notice: &plain_notice, used: &[], now_ms: 1 })
                .await?;
            assert!(is_fenced(&*store, agent, held.fence).await);
        }
    }
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
    Ok(())
}

/// Who ran is interrupted, with its task and the workers that nobody runs; spawners hear of it once; the living are left alone.
pub async fn a_dead_owner_is_recovered_once(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let idle = create(&*store, 2).await?;
    let crashed = spawn_worker(&*store, root, 3).await?;
    let queued = spawn_worker(&*store, crashed, 4).await?;
    let living = spawn_worker(&*store, crashed, 5).await?;
    for (agent, owner) in [(root, "alive"), (idle, "dead"), (crashed, "dead"), (living, "alive")] {
        lease(&*store, agent, owner).await?;
    }
    for agent in [root, crashed, living] {
        run(&*store, agent).await?;
    }
    store.start_task(crashed).await?;
    store.start_task(living).await?;

    let is_alive = only_living("alive");
    let recover = Recover { is_alive: &is_alive, notice: &plain_notice, used: &[], now_ms: 8000 };
    let recovered = store.recover(recover).await?;
    let brief: Vec<_> =
        recovered.iter().map(|one| (one.agent, one.interrupted, one.tasks.clone())).collect();
    assert_eq!(brief, [(idle, false, vec![]), (crashed, true, vec![crashed, queued])]);
    assert_eq!(store.agent(idle).await?.state, AgentState::Idle);
    assert_eq!(store.agent(crashed).await?.state, AgentState::Interrupted);
    assert_eq!(store.agent(living).await?.state, AgentState::Running);
    for (agent, status) in [
        (crashed, TaskStatus::Interrupted),
        (queued, TaskStatus::Lost),
        (living, TaskStatus::Running),
    ] {
        assert_eq!(store.task(agent).await?.map(|task| task.status), Some(status));
    }
    assert_eq!(store.recover(recover).await?, []);
    for (spawner, worker, word) in [(root, crashed, "interrupted"), (crashed, queued, "lost")] {
        let mail = store.unread_mail(spawner).await?;
        assert_eq!(mail.len(), 1);
        assert_eq!(mail[0].body, format!("{word} {}", worker.short()));
        assert_eq!(mail[0].sender, Some(worker));
    }
    Ok(())
}

/// Taking a dead owner's lease says the same as recovery, and recovery then has nothing to add.
pub async fn a_takeover_interrupts_like_a_recovery(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let worker = spawn_worker(&*store, root, 2).await?;
    let old = lease(&*store, worker, "dead").await?;
    run(&*store, worker).await?;
    store.start_task(worker).await?;
    let is_alive = only_living("heir");
    let (notice, now_ms) = (&plain_notice, 8000);
    let acquire = Acquire { agent: worker, owner: "heir", is_alive: &is_alive, notice, now_ms };
    let new = store.acquire(acquire).await?;
    assert!(new.fence > old.fence);
    assert!(is_fenced(&*store, worker, old.fence).await);
    assert_eq!(store.agent(worker).await?.state, AgentState::Interrupted);
    assert_eq!(store.unread_mail(root).await?.len(), 1);
    let recover = Recover { is_alive: &is_alive, notice, used: &[], now_ms };
    assert_eq!(store.recover(recover).await?, []);
    assert_eq!(store.unread_mail(root).await?.len(), 1);
    Ok(())
}

/// A process that was thought dead and replaced cannot end the task of its successor.
pub async fn a_zombie_cannot_end_a_task(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let worker = spawn_worker(&*store, root, 2).await?;
    let zombie = lease(&*store, worker, "zombie").await?;
    store.start_task(worker).await?;
    let is_alive = only_living("heir");
    store
        .recover(Recover { is_alive: &is_alive, notice: &plain_notice, used: &[], now_ms: 1 })
        .await?;
    let heir = lease(&*store, worker, "heir").await?;
    assert!(store.start_task(worker).await?);
    let end = |fence| TaskEnd { fence: Some(fence), ..super::end_of(worker) };
    refused!(store.finish_task(end(zombie.fence)).await, StoreError::Fenced { .. });
    assert!(store.finish_task(end(heir.fence)).await?);
    assert_eq!(store.unread_mail(root).await?.len(), 2, "interrupted once, completed once");
    Ok(())
}
