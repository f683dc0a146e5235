//! The fork transaction.

use tine_model::{AgentId, EntryId, ForkRole, TaskWorktree, WorktreeRecord};

use super::sample::{agent_id, create, fork, fork_of, heard, lease, plain_notice, say};
use super::{Fixture, refused};
use crate::{
    AgentFilter, EntryKind, EntryRow, Fence, ForkEvent, ForkFrom, Kill, NewChild, NewEntry,
    NewTask, NewWorktree, Relocation, Result, StoreError,
};

fn fork_events(rows: &[EntryRow]) -> Vec<ForkEvent> {
    let forks = rows.iter().filter(|row| row.kind == EntryKind::Fork);
    forks.filter_map(|row| ForkEvent::parse(&row.body)).collect()
}

/// The child has what the parent had, nothing that came later, and each log tells of the other.
pub async fn a_fork_inherits_up_to_its_fork_point(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let said = say(&*store, root, &["a", "b"]).await?;
    let forked = fork(&*store, root, 2, ForkFrom::LastEntry).await?;
    let fork_point = Some(EntryId(said[1]));
    assert_eq!((forked.child, forked.fork_point), (agent_id(2), fork_point));
    let record = store.agent(agent_id(2)).await?;
    assert_eq!((record.parent, record.fork_point), (Some(root), fork_point));
    assert_eq!(forked.record, record, "nobody has to read it again");
    say(&*store, root, &["parent only"]).await?;
    say(&*store, agent_id(2), &["child only"]).await?;
    assert_eq!(heard(&*store, root).await?, ["a", "b", "parent only"]);
    assert_eq!(heard(&*store, agent_id(2)).await?, ["a", "b", "child only"]);

    let told = fork_events(&store.own_entries(root, None).await?);
    assert_eq!(told, [ForkEvent { role: ForkRole::Parent, other: agent_id(2), fork_point }]);
    let own = store.own_entries(agent_id(2), None).await?;
    assert_eq!(own[0].id, forked.child_event);
    let told = fork_events(&own);
    assert_eq!(told, [ForkEvent { role: ForkRole::Child, other: root, fork_point }]);
    Ok(())
}

/// No sentinel number: an empty parent gives `None`, and its later entries stay its own.
pub async fn an_agent_without_entries_forks_without_fork_point(
    fixture: &dyn Fixture,
) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    assert_eq!(fork(&*store, root, 2, ForkFrom::LastEntry).await?.fork_point, None);
    say(&*store, root, &["later"]).await?;
    assert_eq!(fork(&*store, root, 3, ForkFrom::Nothing).await?.fork_point, None);
    for number in [2, 3] {
        let lineage = store.lineage(agent_id(number), None).await?;
        assert_eq!(lineage.len(), 1, "its own fork event alone");
        assert_eq!(store.agent(agent_id(number)).await?.fork_point, None);
    }
    // The event is an entry of the child's own, so a fork of it has a fork point again.
    let grandchild = fork(&*store, agent_id(2), 4, ForkFrom::LastEntry).await?;
    assert!(grandchild.fork_point.is_some());
    assert_eq!(store.lineage(agent_id(4), None).await?.len(), 2);
    Ok(())
}

/// Made together, they inherit the same, with their tasks; no sibling's event is among it.
pub async fn siblings_share_one_fork_point(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let said = say(&*store, root, &["a"]).await?;
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    for number in 3..=5 {
        let mut agent = request.children[0].agent.clone();
        agent.id = agent_id(number);
        let task = Some(NewTask {
            directive: format!("part {number}"),
            description: Some("a part".to_owned()),
            definition: None,
        });
        request.children.push(NewChild {
            agent,
            task,
            entries: Vec::new(),
            worktree: None,
            by_person: false,
        });
    }
    let forked = store.fork(request).await?;
    let children: Vec<AgentId> = forked.iter().map(|forked| forked.child).collect();
    assert_eq!(children, (2..=5).map(agent_id).collect::<Vec<_>>());
    for one in &forked {
        assert_eq!(one.fork_point, Some(EntryId(said[0])));
        assert_eq!(store.lineage(one.child, None).await?.len(), 2);
    }
    assert_eq!(store.own_entries(root, None).await?.len(), 5);
    let directives: Vec<String> =
        store.tasks(root).await?.into_iter().map(|task| task.directive).collect();
    assert_eq!(directives, ["part 3", "part 4", "part 5"]);
    assert_eq!(store.task(agent_id(2)).await?, None);
    // The next fork inherits the events of this one, as entries that say nothing to the model.
    let later = fork(&*store, root, 6, ForkFrom::LastEntry).await?;
    assert_eq!(later.fork_point, forked.last().and_then(|last| last.parent_event));
    assert_eq!(heard(&*store, agent_id(6)).await?, ["a"]);
    Ok(())
}

/// An explicit fork point cuts, also for the child's own forks.
pub async fn a_fork_at_an_earlier_entry_forgets_the_rest(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let said = say(&*store, root, &["a", "b", "c"]).await?;
    let at = EntryId(said[1]);
    let forked = fork(&*store, root, 2, ForkFrom::Entry(at)).await?;
    assert_eq!(forked.fork_point, Some(at));
    say(&*store, agent_id(2), &["d"]).await?;
    assert_eq!(heard(&*store, agent_id(2)).await?, ["a", "b", "d"]);
    fork(&*store, agent_id(2), 3, ForkFrom::LastEntry).await?;
    assert_eq!(heard(&*store, agent_id(3)).await?, ["a", "b", "d"]);
    Ok(())
}

/// A fork point before the parent's own fork point skips the parent's rows, and only those of the lineage qualify.
pub async fn a_fork_may_inherit_from_a_grandparent(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let said = say(&*store, root, &["a", "b"]).await?;
    fork(&*store, root, 2, ForkFrom::LastEntry).await?;
    let later = say(&*store, root, &["later"]).await?;
    let own = say(&*store, agent_id(2), &["c"]).await?;
    let forked = fork(&*store, agent_id(2), 3, ForkFrom::Entry(EntryId(said[0]))).await?;
    assert_eq!(store.agent(forked.child).await?.parent, Some(agent_id(2)));
    assert_eq!(heard(&*store, forked.child).await?, ["a"]);
    for (parent, entry) in [(2, later[0]), (1, own[0]), (3, own[0]), (1, 0), (1, i64::MAX)] {
        let foreign = fork(&*store, agent_id(parent), 4, ForkFrom::Entry(EntryId(entry))).await;
        refused!(foreign, StoreError::UnknownEntry { .. });
    }
    Ok(())
}

/// A worktree is written with its agent, is seen with its task, and stays known when it is removed.
pub async fn a_forks_worktree_is_known_with_it(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    let [path, origin, repository] = ["/w/2", "/o/src", "/o/.git"].map(str::to_owned);
    request.children[0].worktree = Some(NewWorktree { path, origin, repository });
    request.children[0].task =
        Some(NewTask { directive: "part".into(), description: None, definition: None });
    store.fork(request).await?;
    let store = fixture.open().await?;
    let Some(made) = store.worktree(agent_id(2)).await? else { panic!("there is one") };
    assert_eq!((made.path.as_str(), made.origin.as_str()), ("/w/2", "/o/src"));
    assert_eq!((made.files, made.commits, made.removed_ms), (0, 0, None));
    assert_eq!(store.worktree(root).await?, None);

    let worked = WorktreeRecord { files: 3, commits: 1, ..made };
    store.note_worktree(worked.clone()).await?;
    assert_eq!(store.worktrees().await?, std::slice::from_ref(&worked));
    let seen = store.task(agent_id(2)).await?.and_then(|task| task.worktree);
    assert_eq!(seen, Some(TaskWorktree { path: "/w/2".into(), files: 3, commits: 1 }));
    store.note_worktree(WorktreeRecord { removed_ms: Some(9), ..worked.clone() }).await?;
    assert_eq!(store.tasks(root).await?[0].worktree, None);
    assert_eq!(store.all_tasks().await?, store.tasks(root).await?);
    assert_eq!(store.worktrees().await?.len(), 1);
    let nobody = WorktreeRecord { agent: root, ..worked };
    refused!(store.note_worktree(nobody).await, StoreError::NotFound { .. });
    Ok(())
}

/// The new places of worktrees and directories are written at once; a row that is not there leaves all as it was.
pub async fn a_moved_worktree_is_written_with_its_agents(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    let [path, origin, repository] = ["/w/2", "/o/src", "/o/.git"].map(str::to_owned);
    request.children[0].worktree = Some(NewWorktree { path, origin, repository });
    store.fork(request).await?;
    let Some(made) = store.worktree(agent_id(2)).await? else { panic!("there is one") };
    let [path, origin, repository] = ["/v/2", "/n/src", "/n/.git"].map(str::to_owned);
    let moved = WorktreeRecord { path, origin, repository, ..made };
    let missing = Relocation {
        worktrees: vec![moved.clone()],
        directories: vec![(agent_id(8), "/n".to_owned())],
    };
    refused!(store.relocate(missing).await, StoreError::NotFound { .. });
    assert_ne!(store.worktree(agent_id(2)).await?, Some(moved.clone()));
    let directories = vec![(root, "/n/src".to_owned())];
    store.relocate(Relocation { worktrees: vec![moved.clone()], directories }).await?;
    let store = fixture.open().await?;
    assert_eq!(store.worktree(agent_id(2)).await?, Some(moved));
    assert_eq!(store.agent(root).await?.directory, "/n/src");
    Ok(())
}

/// A worktree is given to an agent that is there already, once, and is taken from it again.
pub async fn a_worktree_is_adopted_by_its_agent_and_disowned(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let [path, origin, repository] = ["/w/1", "/o", "/o/.git"].map(str::to_owned);
    let new = NewWorktree { path, origin, repository };
    let nobody = store.adopt_worktree(agent_id(8), new.clone(), "/w/8", 5).await;
    refused!(nobody, StoreError::NotFound { .. });
    store.adopt_worktree(root, new.clone(), "/w/1/sub", 5).await?;
    let again = store.adopt_worktree(root, new, "/elsewhere", 6).await;
    assert!(again.is_err(), "an agent has one worktree");
    let store = fixture.open().await?;
    let Some(found) = store.worktree(root).await? else { panic!("there is one") };
    assert_eq!((found.path.as_str(), found.origin.as_str()), ("/w/1", "/o"));
    assert_eq!((found.files, found.commits, found.made_ms, found.removed_ms), (0, 0, 5, None));
    assert_eq!(store.agent(root).await?.directory, "/w/1/sub");
    store.disown_worktree(root).await?;
    store.disown_worktree(root).await?;
    assert_eq!(store.worktree(root).await?, None);
    assert_eq!(store.agent(root).await?.directory, "/w/1/sub");
    Ok(())
}

/// Missing and dead parents, a stale fence, and a second child that cannot be: no agent, no event, no task.
pub async fn a_refused_fork_leaves_nothing(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    say(&*store, root, &["a"]).await?;
    let before = store.lineage(root, None).await?;
    let missing = store.fork(fork_of(agent_id(8), 2, ForkFrom::LastEntry)).await;
    refused!(missing, StoreError::NotFound { .. });
    let mut stale = fork_of(root, 2, ForkFrom::LastEntry);
    stale.parent_fence = Some(Fence(1));
    refused!(store.fork(stale).await, StoreError::Fenced { .. });
    let mut twins = fork_of(root, 2, ForkFrom::LastEntry);
    twins.children[0].task =
        Some(NewTask { directive: "x".to_owned(), description: None, definition: None });
    twins.children.push(twins.children[0].clone());
    refused!(store.fork(twins).await, StoreError::Exists { .. });
    assert_eq!(store.lineage(root, None).await?, before);
    assert_eq!(store.agents(AgentFilter::All).await?.len(), 1);
    assert!(store.tasks(root).await?.is_empty());

    store.kill(Kill { agent: root, used: &[], notice: &plain_notice, now_ms: 1 }).await?;
    let dead = store.fork(fork_of(root, 2, ForkFrom::LastEntry)).await;
    refused!(dead, StoreError::Dead { .. });
    // Behind what stood there is that it was killed.
    assert_eq!(store.lineage(root, None).await?[..before.len()], before);
    assert_eq!(store.lineage(root, None).await?.len(), before.len() + 1);
    Ok(())
}

/// What a child has in the place of what it does not inherit is there with it: for each its own, behind its event, and
/// inherited by its forks. A refused row leaves nothing.
pub async fn a_fork_is_made_with_its_first_entries(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    say(&*store, root, &["a"]).await?;
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    let compact =
        NewEntry { kind: EntryKind::Compact, body: "{}".to_owned(), at_ms: 7, title: None };
    request.children[0].entries = vec![compact.clone(), super::message("b")];
    request.children.extend(fork_of(root, 3, ForkFrom::LastEntry).children);
    store.fork(request).await?;
    let own = store.own_entries(agent_id(2), None).await?;
    let kinds: Vec<EntryKind> = own.iter().map(|row| row.kind).collect();
    assert_eq!(kinds, [EntryKind::Fork, EntryKind::Compact, EntryKind::Message]);
    assert_eq!((own[1].body.as_str(), own[1].at_ms), ("{}", 7));
    assert_eq!(store.own_entries(agent_id(3), None).await?.len(), 1);
    fork(&*store, agent_id(2), 4, ForkFrom::LastEntry).await?;
    assert_eq!(heard(&*store, agent_id(4)).await?, ["a", "b"]);

    let mut forged = fork_of(root, 5, ForkFrom::LastEntry);
    forged.children[0].entries = vec![NewEntry { kind: EntryKind::Fork, ..compact }];
    refused!(store.fork(forged).await, StoreError::ReservedKind { .. });
    refused!(store.agent(agent_id(5)).await, StoreError::NotFound { .. });
    Ok(())
}

/// A fork only appends an event, so the runner goes on under its lease.
pub async fn a_parent_run_by_somebody_else_can_be_forked(fixture: &dyn Fixture) -> Result<()> {
    let (runner, other) = (fixture.open().await?, fixture.open().await?);
    let root = create(&*runner, 1).await?;
    let held = lease(&*runner, root, "runner").await?;
    runner.append(root, held.fence, &[super::message("a")]).await?;
    fork(&*other, root, 2, ForkFrom::LastEntry).await?;
    runner.append(root, held.fence, &[super::message("b")]).await?;
    assert_eq!(heard(&*runner, root).await?, ["a", "b"]);
    assert_eq!(heard(&*runner, agent_id(2)).await?, ["a"]);
    Ok(())
}
