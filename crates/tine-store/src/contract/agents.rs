//! The registry.

use tine_model::{
    AgentId, AgentRecord, AgentState, IdError, Standing, TaskRecord, TaskStatus, Usage,
};

use super::sample::{agent_id, create, fork, fork_of, lease, message, new_agent, plain_notice};
use super::{Fixture, refused};
use crate::{
    AgentFilter, CreateAgent, ForkFrom, Kill, NewEntry, NewTask, Reap, Remove, Rename, Result,
    SetState, StoreError, TaskUsed,
};

fn ids(agents: &[AgentRecord]) -> Vec<AgentId> {
    agents.iter().map(|agent| agent.id).collect()
}

fn kill(agent: AgentId) -> Kill<'static> {
    Kill { agent, used: &[], notice: &plain_notice, now_ms: 9000 }
}

/// Only the dead are reaped, one with all below it; their rows stay, and whoever lives does too.
pub async fn reap_takes_the_dead_off_the_lists(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    for (parent, child) in [(1, 2), (2, 3), (1, 4), (1, 5)] {
        store.fork(fork_of(agent_id(parent), child, ForkFrom::LastEntry)).await?;
    }
    let [two, three, four, five] = [2, 3, 4, 5].map(agent_id);
    let reap = |agent| store.reap(Reap { agent, now_ms: 9001 });
    assert_eq!(reap(None).await?, []);
    refused!(reap(Some(two)).await, StoreError::NotDead { agent } if agent == two);
    refused!(reap(Some(agent_id(9))).await, StoreError::NotFound { .. });
    store.kill(kill(two)).await?;
    store.kill(kill(four)).await?;
    assert_eq!(reap(Some(two)).await?, [two, three]);
    assert_eq!(ids(&store.agents(AgentFilter::Kept).await?), [root, four, five]);
    assert_eq!(reap(None).await?, [four]);
    assert_eq!(reap(None).await?, []);
    let again = fixture.open().await?;
    assert_eq!(ids(&again.agents(AgentFilter::Kept).await?), [root, five]);
    assert_eq!(again.agents(AgentFilter::All).await?.len(), 5);
    assert_eq!(again.agent(three).await?.state, AgentState::Dead);
    Ok(())
}

/// Every field survives, in the process and out of it.
pub async fn an_agent_is_read_as_it_was_made(fixture: &dyn Fixture) -> Result<()> {
    let mut new = new_agent(1);
    new.name = Some("explorer".to_owned());
    let expected = AgentRecord {
        id: new.id,
        name: new.name.clone(),
        title: None,
        parent: None,
        fork_point: None,
        standing: new.standing,
        state: AgentState::Idle,
        failure: None,
        context: new.context,
        settings: new.settings.clone(),
        head: new.head.hash,
        directory: new.directory.clone(),
        reach: new.reach.clone(),
        depth: new.depth,
        stop: None,
        created_ms: 77,
        updated_ms: 77,
    };
    let store = fixture.open().await?;
    store.create_agent(CreateAgent { agent: new, entries: Vec::new(), now_ms: 77 }).await?;
    assert_eq!(store.agent(agent_id(1)).await?, expected);
    drop(store);
    let store = fixture.open().await?;
    assert_eq!(store.agent(agent_id(1)).await?, expected);
    refused!(store.agent(agent_id(2)).await, StoreError::NotFound { .. });
    Ok(())
}

/// An id in use is refused, and what holds it is untouched.
pub async fn an_id_is_used_once(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    refused!(create(&*store, 1).await, StoreError::Exists { agent: id } if id == agent);
    let again = store.fork(fork_of(agent, 1, ForkFrom::LastEntry)).await;
    refused!(again, StoreError::Exists { .. });
    assert!(store.own_entries(agent, None).await?.is_empty());
    Ok(())
}

/// The first body under a hash stays; a hash without body must be known.
pub async fn a_head_is_stored_once_and_must_be_known(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let mut new = new_agent(1);
    new.head.body = None;
    let unknown = CreateAgent { agent: new.clone(), entries: Vec::new(), now_ms: 1 };
    refused!(store.create_agent(unknown.clone()).await, StoreError::UnknownHead { .. });
    assert_eq!(store.head(&new.head.hash).await?, None);
    create(&*store, 2).await?;
    store.create_agent(unknown).await?;
    assert_eq!(store.head(&new.head.hash).await?.as_deref(), Some(r#"{"system":[]}"#));
    Ok(())
}

/// Whole ids, short prefixes, odd lengths, hyphens; too short, ambiguous and unknown ones are told apart.
pub async fn a_prefix_names_one_agent_or_is_refused(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let mut near = [0xab; 16];
    for (index, last) in [(0, 0x10), (1, 0x1f), (2, 0x20)] {
        near[2] = last;
        let mut new = new_agent(index);
        new.id = AgentId::from_random(near);
        store.create_agent(CreateAgent { agent: new, entries: Vec::new(), now_ms: 1 }).await?;
    }
    let third = AgentId::from_random(near);
    for text in ["abab2", "ABAB20", "abab20ab-ab", &third.to_string()] {
        assert_eq!(store.resolve(text).await?, third, "{text}");
    }
    for (text, count) in [("abab", 3), ("abab1", 2)] {
        refused!(store.resolve(text).await,
            StoreError::Ambiguous { candidates, .. } if candidates.len() == count);
    }
    refused!(store.resolve("aba").await, StoreError::Id(IdError::TooShort(_)));
    for text in ["abac", "nobody", "", "abab2000", "' OR 1=1 --"] {
        refused!(store.resolve(text).await, StoreError::NotFound { .. });
    }
    Ok(())
}

/// A name is refused while its bearer lives, and is free after a death. A name that another agent's id begins with means neither.
pub async fn names_are_unique_among_the_living(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (one, two) = (create(&*store, 1).await?, create(&*store, 2).await?);
    let name = || Some(one.to_string()[..6].to_owned());
    store.rename(Rename { agent: two, name: name(), now_ms: 5 }).await?;
    refused!(store.resolve(&one.to_string()[..6]).await,
        StoreError::Ambiguous { candidates, .. }
            if candidates.iter().map(|agent| (agent.id, agent.name.clone())).eq([(one, None), (two, name())]));
    assert_eq!(store.resolve(&two.to_string()[..6]).await?, two);
    assert_eq!(store.resolve(&one.to_string()).await?, one, "a whole id is nobody else's name");
    assert_eq!(store.agent(two).await?.updated_ms, 5);
    store.rename(Rename { agent: two, name: name(), now_ms: 6 }).await?;
    let taken = store.rename(Rename { agent: one, name: name(), now_ms: 6 }).await;
    refused!(taken, StoreError::NameTaken { .. });
    let mut request = fork_of(one, 3, ForkFrom::LastEntry);
    request.children[0].agent.name = name();
    refused!(store.fork(request.clone()).await, StoreError::NameTaken { .. });
    store.kill(kill(two)).await?;
    assert_eq!(store.resolve(&one.to_string()).await?, one);
    store.fork(request).await?;
    store.rename(Rename { agent: agent_id(3), name: Some("plan".into()), now_ms: 7 }).await?;
    assert_eq!(store.resolve("plan").await?, agent_id(3));
    store.rename(Rename { agent: agent_id(3), name: None, now_ms: 7 }).await?;
    assert_eq!(store.agent(agent_id(3)).await?.name, None);
    let dead = store.rename(Rename { agent: two, name: None, now_ms: 7 }).await;
    refused!(dead, StoreError::Dead { .. });
    Ok(())
}

/// A hidden run is in no list but `All`, and its parent's log does not know of it; its own log begins as every child's.
pub async fn a_hidden_run_leaves_its_parent_as_it_was(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let before = (store.agent(root).await?, store.own_entries(root, None).await?);
    let mut hidden = fork_of(root, 2, ForkFrom::LastEntry);
    hidden.children[0].agent.standing = Standing::Hidden;
    let made = store.fork(hidden).await?;
    assert_eq!(made[0].parent_event, None);
    assert_eq!((store.agent(root).await?, store.own_entries(root, None).await?), before);
    let own = store.own_entries(agent_id(2), None).await?;
    assert_eq!(own.iter().map(|row| row.id).collect::<Vec<_>>(), [made[0].child_event]);
    Ok(())
}

/// Lists are in the order of making; only `All` has everybody.
pub async fn hidden_and_dead_agents_are_not_listed(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let mut hidden = fork_of(root, 2, ForkFrom::LastEntry);
    hidden.children[0].agent.standing = Standing::Hidden;
    store.fork(hidden).await?;
    fork(&*store, root, 3, ForkFrom::LastEntry).await?;
    fork(&*store, root, 4, ForkFrom::LastEntry).await?;
    store.kill(kill(agent_id(3))).await?;
    let everybody: Vec<AgentId> = (1..=4).map(agent_id).collect();
    assert_eq!(ids(&store.agents(AgentFilter::All).await?), everybody);
    assert_eq!(ids(&store.agents(AgentFilter::Listed).await?), [agent_id(1), agent_id(4)]);
    Ok(())
}

/// From the root down to the agent.
pub async fn ancestry_runs_from_the_root(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    create(&*store, 1).await?;
    for number in 2..=5 {
        fork(&*store, agent_id(number - 1), number, ForkFrom::Nothing).await?;
    }
    let line: Vec<AgentId> = (1..=5).map(agent_id).collect();
    assert_eq!(ids(&store.ancestry(agent_id(5)).await?), line);
    assert_eq!(ids(&store.ancestry(agent_id(1)).await?), line[..1]);
    refused!(store.ancestry(agent_id(6)).await, StoreError::NotFound { .. });
    Ok(())
}

/// Other states change freely; death is final.
pub async fn only_kill_makes_dead(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    let set = |state| SetState { agent, state, failure: None, fence: None, now_ms: 5 };
    for state in [AgentState::Running, AgentState::Interrupted, AgentState::Idle] {
        store.set_state(set(state)).await?;
        assert_eq!(store.agent(agent).await?.state, state);
    }
    refused!(store.set_state(set(AgentState::Dead)).await, StoreError::OnlyByKill { .. });
    assert_eq!(store.kill(kill(agent)).await?, [agent]);
    refused!(store.set_state(set(AgentState::Idle)).await, StoreError::Dead { .. });
    assert_eq!(store.agent(agent).await?.state, AgentState::Dead);
    assert_eq!(store.kill(kill(agent)).await?, []);
    refused!(store.kill(kill(agent_id(2))).await, StoreError::NotFound { .. });
    Ok(())
}

/// A cascade downwards only; unfinished tasks are cancelled with what they had used; a spawner that lives is told, a dead one is not.
pub async fn kill_takes_all_descendants_and_tells_the_living(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    create(&*store, 1).await?;
    for (parent, number) in [(1, 2), (2, 3), (3, 4), (1, 5)] {
        let mut request = fork_of(agent_id(parent), number, ForkFrom::LastEntry);
        request.children[0].task =
            Some(NewTask { directive: "look".to_owned(), description: None, definition: None });
        store.fork(request).await?;
    }
    let usage = Usage { uncached: 3000, output: 300, ..Usage::default() };
    let used = TaskUsed { agent: agent_id(2), usage, turns: 2, tool_uses: 1 };
    let notice = |task: &TaskRecord| format!("{} after {}", plain_notice(task), task.tool_uses);
    let kill = Kill { used: &[used], notice: &notice, ..kill(agent_id(2)) };
    assert_eq!(store.kill(kill).await?, [agent_id(2), agent_id(3), agent_id(4)]);
    assert_eq!(store.kill(kill).await?, []);
    let told = async |number| {
        let entries = store.own_entries(agent_id(number), None).await?;
        let told = entries.into_iter().filter(|entry| entry.kind == crate::EntryKind::Notice);
        Ok::<_, StoreError>(told.map(|entry| entry.body).collect::<Vec<_>>())
    };
    assert_eq!(told(1).await?, [format!("Killed fork {}", agent_id(2).short())]);
    assert_eq!(
        (told(2).await?, told(3).await?),
        (vec!["Killed".to_owned()], vec!["Killed".to_owned()])
    );
    assert!(told(5).await?.is_empty());
    for (number, dead) in [(1, false), (2, true), (3, true), (4, true), (5, false)] {
        let state = store.agent(agent_id(number)).await?.state;
        assert_eq!(state == AgentState::Dead, dead, "{number}");
    }
    for number in 2..=4 {
        let task = store.task(agent_id(number)).await?.map(|task| (task.status, task.ended_ms));
        assert_eq!(task, Some((TaskStatus::Cancelled, Some(9000))), "{number}");
    }
    for (number, expected) in [(2, (usage, 2, 1)), (3, (Usage::default(), 0, 0))] {
        let task = store.task(agent_id(number)).await?;
        let used = task.map(|task| (task.usage, task.turns, task.tool_uses));
        assert_eq!(used, Some(expected), "{number}");
    }
    let mail = store.unread_mail(agent_id(1)).await?;
    assert_eq!(mail.len(), 1);
    assert_eq!(mail[0].body, format!("cancelled {} after 1", agent_id(2).short()));
    assert!(store.unread_mail(agent_id(2)).await?.is_empty());
    Ok(())
}

/// The first title that an entry gives stays, whichever way the entry comes; it is gone with the agent's words.
pub async fn an_agent_has_the_title_of_its_first_words(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let titled = |title: &str| NewEntry { title: Some(title.to_owned()), ..message(title) };
    let of = async |agent| Ok::<_, StoreError>(store.agent(agent).await?.title);
    let lease = lease(&*store, root, "owner").await?;
    store.append(root, lease.fence, &[message("a frame")]).await?;
    assert_eq!(of(root).await?, None);
    store.append(root, lease.fence, &[titled("first"), titled("second")]).await?;
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    request.children[0].entries.push(titled("its task"));
    store.fork(request).await?;
    store.fork(fork_of(root, 3, ForkFrom::LastEntry)).await?;
    let titles = [of(root).await?, of(agent_id(2)).await?, of(agent_id(3)).await?];
    assert_eq!(titles, [Some("first".to_owned()), Some("its task".to_owned()), None]);
    store.release(&lease).await?;
    store.remove(Remove { agents: vec![root], dry_run: false, now_ms: 9 }).await?;
    assert_eq!(of(root).await?, None, "its row is kept for its forks");
    Ok(())
}
