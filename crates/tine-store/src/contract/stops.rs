//! Tasks that are taken up again, wishes to stop, and what waits for the end of a run.

use tine_model::{AgentId, AgentState, StopKind, TaskStatus};

use super::sample::{agent_id, create, end_of, fork_of, plain_notice};
use super::{Fixture, refused};
use crate::{ForkFrom, Kill, NewTask, Recover, RequestStop, Result, SetState, Store, StoreError};

async fn worker(store: &dyn Store, spawner: AgentId, number: u64) -> Result<AgentId> {
    let mut request = fork_of(spawner, number, ForkFrom::LastEntry);
    let description = Some("look around".to_owned());
    request.children[0].task = Some(NewTask {
        directive: "look".to_owned(),
        description,
        definition: Some("reader".to_owned()),
    });
    request.owner = Some("somebody".to_owned());
    store.fork(request).await?;
    Ok(agent_id(number))
}

async fn mark(store: &dyn Store, agent: AgentId, state: AgentState) -> Result<()> {
    store.set_state(SetState { agent, state, failure: None, fence: None, now_ms: 7000 }).await
}

/// Any end will do, every time counts, and the flags of the last end are gone.
pub async fn a_task_can_be_taken_up_again_after_any_end(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let agent = worker(&*store, root, 2).await?;
    assert!(!store.resume_task(agent).await?, "it waits to begin");
    store.start_task(agent).await?;
    assert!(!store.resume_task(agent).await?, "it runs");
    let ends = [TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Cancelled];
    for (count, status) in ends.into_iter().enumerate() {
        store.finish_task(crate::TaskEnd { status, ..end_of(agent) }).await?;
        let ended = store.task(agent).await?;
        assert_eq!(
            ended.map(|task| (task.flags, task.description)),
            Some((vec!["echo".to_owned()], Some("look around".to_owned())))
        );
        assert!(store.resume_task(agent).await?, "{status:?}");
        let again = store.task(agent).await?;
        let again = again.map(|task| (task.status, task.resumes, task.flags, task.ended_ms));
        assert_eq!(again, Some((TaskStatus::Running, count as u32 + 1, Vec::new(), None)));
    }
    assert_eq!(store.unread_mail(root).await?.len(), ends.len());
    refused!(store.resume_task(root).await, StoreError::NoTask { .. });
    Ok(())
}

/// What runs stays on the list, and what is taken up again comes back to it.
pub async fn ended_tasks_can_be_taken_off_the_list(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let (ended, running) = (worker(&*store, root, 2).await?, worker(&*store, root, 3).await?);
    store.finish_task(end_of(ended)).await?;
    assert_eq!(store.clear_tasks(root, 50).await?, [ended]);
    assert_eq!(store.clear_tasks(root, 60).await?, []);
    let cleared = |tasks: Vec<tine_model::TaskRecord>| {
        tasks.into_iter().map(|task| (task.agent, task.cleared_ms)).collect::<Vec<_>>()
    };
    assert_eq!(cleared(store.tasks(root).await?), [(ended, Some(50)), (running, None)]);
    store.resume_task(ended).await?;
    assert_eq!(cleared(store.tasks(root).await?), [(ended, None), (running, None)]);
    Ok(())
}

/// A task that no process had begun when it died is lost; one that was under way is interrupted.
pub async fn lost_is_told_from_interrupted(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let (begun, waiting) = (worker(&*store, root, 2).await?, worker(&*store, root, 3).await?);
    store.start_task(begun).await?;
    let nobody = |_: &str| false;
    store
        .recover(Recover { is_alive: &nobody, notice: &plain_notice, used: &[], now_ms: 1 })
        .await?;
    let status = |task: Option<tine_model::TaskRecord>| task.map(|task| task.status);
    assert_eq!(status(store.task(begun).await?), Some(TaskStatus::Interrupted));
    assert_eq!(status(store.task(waiting).await?), Some(TaskStatus::Lost));
    assert_eq!(store.unread_mail(root).await?.len(), 2);
    assert!(store.resume_task(waiting).await?);
    Ok(())
}

/// Only what runs or is about to; the stricter wish stands; the end of a run takes it away.
pub async fn a_wish_to_stop_reaches_what_runs(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let (running, idle) = (worker(&*store, root, 2).await?, create(&*store, 9).await?);
    let below = worker(&*store, running, 3).await?;
    for agent in [root, running] {
        mark(&*store, agent, AgentState::Running).await?;
    }
    let ask = |agent, how, cascade| store.request_stop(RequestStop { agent, how, cascade });
    assert_eq!(ask(idle, StopKind::Hard, true).await?, []);
    assert_eq!(ask(root, StopKind::Interrupt, false).await?, [root]);
    assert_eq!(ask(running, StopKind::Hard, true).await?, [running, below]);
    assert_eq!(ask(root, StopKind::Soft, true).await?, [root, running, below]);
    let other = fixture.open().await?;
    for (agent, stop) in [
        (root, Some(StopKind::Interrupt)),
        (running, Some(StopKind::Hard)),
        (below, Some(StopKind::Hard)),
        (idle, None),
    ] {
        assert_eq!(other.agent(agent).await?.stop, stop, "{agent}");
    }
    mark(&*store, running, AgentState::Running).await?;
    assert_eq!(store.agent(running).await?.stop, Some(StopKind::Hard), "it runs still");
    mark(&*store, running, AgentState::Idle).await?;
    assert_eq!(store.agent(running).await?.stop, None);
    store.kill(Kill { agent: root, used: &[], notice: &plain_notice, now_ms: 1 }).await?;
    assert_eq!(ask(root, StopKind::Hard, true).await?, [], "the dead do not run");
    refused!(ask(agent_id(7), StopKind::Hard, true).await, StoreError::NotFound { .. });
    Ok(())
}

/// One at a time, delivered once, by whichever process.
pub async fn one_follow_up_waits_for_the_end_of_a_run(fixture: &dyn Fixture) -> Result<()> {
    let (store, other) = (fixture.open().await?, fixture.open().await?);
    let agent = create(&*store, 1).await?;
    assert!(!store.has_follow_up(agent).await?);
    assert!(!store.deliver_follow_up(agent, 9).await?);
    assert!(store.keep_follow_up(agent, "and then?").await?);
    assert!(!other.keep_follow_up(agent, "and me?").await?);
    assert!(other.has_follow_up(agent).await?);
    assert!(other.deliver_follow_up(agent, 9).await?);
    assert!(!store.deliver_follow_up(agent, 9).await?);
    assert_eq!(said_to(&*store, agent).await?, [(None, "and then?".to_owned())]);
    assert!(other.keep_follow_up(agent, "and me?").await?);
    store.kill(Kill { agent, used: &[], notice: &plain_notice, now_ms: 1 }).await?;
    refused!(store.keep_follow_up(agent, "x").await, StoreError::Dead { .. });
    refused!(store.has_follow_up(agent_id(7)).await, StoreError::NotFound { .. });
    Ok(())
}

async fn said_to(store: &dyn Store, agent: AgentId) -> Result<Vec<(Option<AgentId>, String)>> {
    let mail = store.unread_mail(agent).await?;
    Ok(mail.into_iter().map(|mail| (mail.sender, mail.body)).collect())
}

/// Text, count and state are one; without a text nothing happens; a lost lease does nothing; the dead stay dead.
pub async fn a_follow_up_takes_a_task_up_again(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let agent = worker(&*store, root, 2).await?;
    let fence = store.lease(agent).await?.map(|lease| lease.fence).unwrap_or(crate::Fence(0));
    store.finish_task(end_of(agent)).await?;
    assert!(!store.resume_for_follow_up(agent, fence, 5).await?);
    store.keep_follow_up(agent, "go on").await?;
    let other = crate::Fence(fence.0 + 1);
    refused!(store.resume_for_follow_up(agent, other, 5).await, StoreError::Fenced { .. });
    assert!(store.resume_for_follow_up(agent, fence, 5).await?);
    let task = store.task(agent).await?.map(|task| (task.status, task.resumes));
    assert_eq!(task, Some((TaskStatus::Running, 1)));
    assert_eq!(said_to(&*store, agent).await?, [(None, "go on".to_owned())]);
    store.kill(Kill { agent, used: &[], notice: &plain_notice, now_ms: 1 }).await?;
    refused!(store.resume_task(agent).await, StoreError::Dead { .. });
    refused!(store.start_task(agent).await, StoreError::Dead { .. });
    let task = store.task(agent).await?.map(|task| task.status);
    assert_eq!(task, Some(TaskStatus::Cancelled));
    Ok(())
}

/// It is for who runs the agent, and for nobody after.
pub async fn a_wish_to_stop_does_not_outlive_its_run(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let (crashed, released) = (worker(&*store, root, 2).await?, worker(&*store, root, 3).await?);
    let cascade = RequestStop { agent: root, how: StopKind::Hard, cascade: true };
    assert_eq!(store.request_stop(cascade).await?, [crashed, released]);
    if let Some(lease) = store.lease(released).await? {
        store.release(&lease).await?;
    }
    let nobody = |_: &str| false;
    store
        .recover(Recover { is_alive: &nobody, notice: &plain_notice, used: &[], now_ms: 1 })
        .await?;
    for agent in [crashed, released] {
        assert_eq!(store.agent(agent).await?.stop, None);
    }
    Ok(())
}
