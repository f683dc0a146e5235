//! Checks of runs that another machine has.

use tine_model::{AgentId, AgentState, TaskStatus};

use super::sample::{agent_id, cache_row, create, fork_of, heard, lease, message, plain_notice};
use super::{Fixture, refused};
use crate::{Fence, ForkFrom, NewTask, Recover, RemoteRun, Result, SetState, StoreError, TakeIn};

/// A run with the name `r1` that has just begun.
pub fn remote_run_of(agent: AgentId) -> RemoteRun {
    let (run, detail) = ("r1".to_owned(), "{}".to_owned());
    RemoteRun { agent, run, position: 0, detail, begun_ms: 5, ended_ms: None }
}

/// One event brings its entries once, and none comes behind the end.
pub async fn what_comes_back_of_a_remote_run_is_taken_in_once(fixture: &dyn Fixture) -> Result<()> {
    let (store, other) = (fixture.open().await?, fixture.open().await?);
    let agent = create(&*store, 1).await?;
    let fence = lease(&*store, agent, "host:1").await?.fence;
    assert_eq!(store.remote_run(agent).await?, None);
    store.begin_remote(&remote_run_of(agent), fence).await?;
    let entries = [message("a"), message("b")];
    let take = |run, position| TakeIn { agent, fence, run, position, entries: &entries };
    assert!(store.take_in(take("r1", 2)).await?);
    assert!(!other.take_in(take("r1", 2)).await? && !store.take_in(take("r1", 1)).await?);
    assert!(!store.take_in(take("r0", 9)).await?);
    refused!(
        store.take_in(TakeIn { fence: Fence(9), ..take("r1", 3) }).await,
        StoreError::Fenced { .. }
    );
    assert_eq!(heard(&*other, agent).await?, ["a", "b"]);
    let open = other.open_remotes().await?;
    assert_eq!(open, [RemoteRun { position: 2, ..remote_run_of(agent) }]);
    other.end_remote(agent, "r1", 9).await?;
    store.end_remote(agent, "r1", 10).await?;
    assert!(!store.take_in(take("r1", 3)).await? && store.open_remotes().await?.is_empty());
    assert_eq!(store.remote_run(agent).await?.and_then(|run| run.ended_ms), Some(9));
    Ok(())
}

/// The later use of an entry counts, wherever it was.
pub async fn cache_entries_of_another_machine_are_noted(fixture: &dyn Fixture) -> Result<()> {
    let (store, other) = (fixture.open().await?, fixture.open().await?);
    let [early, late] = [cache_row(1, 100, 5_000), cache_row(1, 100, 9_000)];
    let scope = early.scope;
    store.note_cache(&[late.clone(), cache_row(2, 7, 6_000)]).await?;
    other.note_cache(&[early]).await?;
    assert_eq!(other.cache_entries(scope, 0).await?, [cache_row(2, 7, 6_000), late]);
    Ok(())
}

/// Neither the end of a lease nor the death of its owner interrupts what goes on elsewhere; once that has ended, both do again.
pub async fn a_remote_run_outlives_its_lease_and_its_owner(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, worker) = (create(&*store, 1).await?, agent_id(2));
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    request.children[0].task =
        Some(NewTask { directive: "look".to_owned(), description: None, definition: None });
    store.fork(request).await?;
    store.start_task(worker).await?;
    let held = lease(&*store, worker, "host:1").await?;
    let (state, fence) = (AgentState::Running, Some(held.fence));
    let running = SetState { agent: worker, state, failure: None, fence, now_ms: 6 };
    store.set_state(running.clone()).await?;
    store.begin_remote(&remote_run_of(worker), held.fence).await?;
    let recover = Recover { is_alive: &|_| false, notice: &plain_notice, used: &[], now_ms: 7 };
    let is = async |state, status| {
        let found = (store.agent(worker).await?.state, store.task(worker).await?);
        assert_eq!((found.0, found.1.map(|task| task.status)), (state, Some(status)));
        Ok::<_, StoreError>(())
    };

    // Its own lease and that of its spawner.
    lease(&*store, root, "host:1").await?;
    let recovered = store.recover(recover).await?;
    assert!(recovered.iter().all(|one| !one.interrupted && one.tasks.is_empty()));
    is(AgentState::Running, TaskStatus::Running).await?;
    let held = lease(&*store, worker, "host:2").await?;
    store.release(&held).await?;
    is(AgentState::Running, TaskStatus::Running).await?;

    let held = lease(&*store, worker, "host:3").await?;
    store.end_remote(worker, "r1", 8).await?;
    store.set_state(SetState { fence: Some(held.fence), ..running }).await?;
    store.recover(recover).await?;
    is(AgentState::Interrupted, TaskStatus::Interrupted).await
}
