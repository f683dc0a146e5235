//! Removing agents for good.

use tine_model::{AgentId, AgentState, EntryId};

use super::sample::{agent_id, ask_of, create, fork, fork_of, lease, message, request_of};
use super::{Fixture, refused};
use crate::{
    AgentFilter, ForkFrom, NewMail, NewTask, PermissionFilter, Remove, RemovedAgent, Result, Store,
    StoreError, UsageScope,
};

async fn remove(store: &dyn Store, agents: &[AgentId]) -> Result<Vec<RemovedAgent>> {
    store.remove(Remove { agents: agents.to_vec(), dry_run: false, now_ms: 9 }).await
}

/// A root with messages, requests, questions and mail, and a fork of its first message.
async fn family(store: &dyn Store) -> Result<(AgentId, AgentId, EntryId)> {
    let root = create(store, 1).await?;
    let fence = lease(store, root, "me").await?.fence;
    let ids = store.append(root, fence, &[message("a"), message("b"), message("c")]).await?;
    let child = fork(store, root, 2, ForkFrom::Entry(ids[0])).await?.child;
    store.record_request(request_of(root, 1, "sim/x"), &[]).await?;
    store.ask_permission(ask_of(root, 1)).await?;
    for (recipient, sender) in [(root, Some(child)), (child, Some(root))] {
        let mail = NewMail { recipient, sender, body: "m".to_owned(), now_ms: 1 };
        store.send_mail(mail).await?;
    }
    Ok((root, child, ids[0]))
}

/// All of it goes, and what others were sent by it stays with them.
pub async fn a_removed_agent_is_gone_with_all_it_said(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, child, _) = family(&*store).await?;
    let other = create(&*store, 3).await?;
    let mail = NewMail { recipient: other, sender: Some(child), body: "x".to_owned(), now_ms: 1 };
    store.send_mail(mail).await?;
    let removed = remove(&*store, &[child, root]).await?;
    let shown: Vec<_> =
        removed.iter().map(|one| (one.agent, one.inherited, one.is_whole)).collect();
    assert_eq!(shown, [(root, 0, true), (child, 0, true)]);
    assert_eq!(
        removed.iter().map(|one| one.entries).sum::<u64>(),
        5,
        "with both events of the fork"
    );
    for agent in [root, child] {
        refused!(store.agent(agent).await, StoreError::NotFound { .. });
    }
    assert_eq!(store.agents(AgentFilter::All).await?.len(), 1);
    assert_eq!(store.permissions(None, PermissionFilter::All).await?, []);
    let mail = store.unread_mail(other).await?;
    assert_eq!((mail[0].sender, mail[0].body.as_str()), (None, "x"));
    assert!(store.head(&[9; 32]).await?.is_some(), "the other has it, too");
    remove(&*store, &[other]).await?;
    assert_eq!(store.head(&[9; 32]).await?, None);
    refused!(remove(&*store, &[other]).await, StoreError::NotFound { .. });
    Ok(())
}

/// No more of it stays than the others have inherited.
pub async fn what_others_inherit_stays(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, child, first) = family(&*store).await?;
    let grandchild = fork(&*store, child, 4, ForkFrom::LastEntry).await?.child;
    let before = store.lineage(grandchild, None).await?;
    let removed = remove(&*store, &[child, root]).await?;
    let shown: Vec<_> =
        removed.iter().map(|one| (one.agent, one.inherited, one.is_whole)).collect();
    assert_eq!(shown, [(root, 1, false), (child, 1, false)]);
    assert_eq!(store.lineage(grandchild, None).await?, before);
    let own: Vec<EntryId> = store.own_entries(root, None).await?.iter().map(|row| row.id).collect();
    assert_eq!(own, [first]);
    let record = store.agent(root).await?;
    assert_eq!((record.state, record.name), (AgentState::Dead, None));
    assert_eq!(store.agents(AgentFilter::Kept).await?.len(), 1);
    assert_eq!(store.requests(root, UsageScope::Own).await?.len(), 0);
    assert_eq!(store.unread_mail(root).await?.len(), 0);
    // What was needed by it alone goes with it.
    let last = remove(&*store, &[grandchild]).await?;
    assert_eq!(last.iter().map(|one| one.agent).collect::<Vec<_>>(), [root, child, grandchild]);
    assert_eq!(store.agents(AgentFilter::All).await?.len(), 0);
    Ok(())
}

/// Where several in a line go, each keeps as little as the ones below it need.
pub async fn no_more_stays_than_is_inherited_through_others(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let fence = lease(&*store, root, "me").await?.fence;
    let ids = store.append(root, fence, &[message("a"), message("secret")]).await?;
    let middle = fork(&*store, root, 2, ForkFrom::LastEntry).await?.child;
    let kept = fork(&*store, middle, 3, ForkFrom::Entry(ids[0])).await?.child;
    let fresh = fork(&*store, middle, 4, ForkFrom::Nothing).await?.child;
    let before = store.lineage(kept, None).await?;
    let removed = remove(&*store, &[root, middle]).await?;
    assert_eq!(removed.iter().map(|one| one.inherited).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(store.lineage(kept, None).await?, before);
    let last = remove(&*store, &[kept]).await?;
    assert_eq!(last.iter().map(|one| one.agent).collect::<Vec<_>>(), [kept], "the fresh one stays");
    assert_eq!(store.own_entries(root, None).await?, []);
    assert_eq!(store.lineage(fresh, None).await?.len(), 1, "the event of its fork");
    Ok(())
}

/// Neither who runs nor a worker that is about to; and nobody else goes then.
pub async fn who_runs_is_not_removed(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    request.children[0].task =
        Some(NewTask { directive: "look".to_owned(), description: None, definition: None });
    store.fork(request).await?;
    refused!(remove(&*store, &[root, agent_id(2)]).await, StoreError::Held { .. });
    assert_eq!(store.agents(AgentFilter::All).await?.len(), 2);
    store.start_task(agent_id(2)).await?;
    refused!(remove(&*store, &[agent_id(2)]).await, StoreError::Held { .. });
    Ok(())
}

/// It says the same as the removal, and does nothing.
pub async fn a_dry_run_removes_nothing(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, child, _) = family(&*store).await?;
    let before = (store.agents(AgentFilter::All).await?, store.lineage(child, None).await?);
    let dry = Remove { agents: vec![root], dry_run: true, now_ms: 9 };
    let said = store.remove(dry).await?;
    let after = (store.agents(AgentFilter::All).await?, store.lineage(child, None).await?);
    assert_eq!(before, after);
    assert_eq!(said, remove(&*store, &[root]).await?);
    Ok(())
}
