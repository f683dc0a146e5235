//! `lineage` against a model that copies whole histories.

use std::collections::HashSet;

use tine_model::{AgentId, EntryId, ForkRole};

use super::Fixture;
use super::sample::{agent_id, create, fork_of, lease};
use crate::{
    EntryKind, EntryRow, Fence, ForkEvent, ForkFrom, NewEntry, Remove, Result, Store, StoreError,
};

/// One step of a random life of a tree. Numbers are taken modulo what exists.
#[derive(Debug, Clone)]
pub enum Operation {
    /// An agent writes rows of these kinds (forks are left out).
    Append {
        /// Which agent.
        agent: usize,
        /// What the rows are.
        kinds: Vec<EntryKind>,
    },
    /// An agent is forked.
    Fork {
        /// Which agent.
        parent: usize,
        /// What its children inherit.
        inherit: Inherit,
        /// How many of them, less one.
        more_children: usize,
    },
    /// A new root.
    Root,
    /// An agent is removed, and what is below it stays. The last agent stays, too.
    Remove(usize),
    /// The store is closed and opened again.
    Reopen,
}

/// What a fork inherits.
#[derive(Debug, Clone)]
pub enum Inherit {
    /// All.
    LastEntry,
    /// Up to some entry of the history.
    Entry(usize),
    /// Nothing.
    Nothing,
}

struct Copied {
    id: AgentId,
    fence: Fence,
    history: Vec<EntryRow>,
    /// Where its own rows begin.
    inherited: usize,
}

/// Lives the life in a store and in the model, and compares the two in the end.
pub async fn lineage_equals_the_naive_model(
    fixture: &dyn Fixture,
    operations: &[Operation],
) -> Result<()> {
    let mut store = fixture.open().await?;
    let mut agents = vec![grow(&*store, 0, Vec::new()).await?];
    // Ids are used once.
    let mut made = 1;
    let mut removed = Vec::new();
    for operation in operations {
        match operation {
            Operation::Append { agent, kinds } => {
                let index = agent % agents.len();
                append(&*store, &mut agents[index], kinds).await?;
            }
            Operation::Fork { parent, inherit, more_children } => {
                let index = parent % agents.len();
                let children = (made, 1 + more_children);
                fork(&*store, &mut agents, index, inherit, children).await?;
                made += children.1 as u64;
            }
            Operation::Root => {
                agents.push(grow(&*store, made, Vec::new()).await?);
                made += 1;
            }
            Operation::Remove(agent) if agents.len() > 1 => {
                let one = agents.swap_remove(agent % agents.len()).id;
                removed.push(one);
                store.remove(Remove { agents: vec![one], dry_run: false, now_ms: 1 }).await?;
            }
            Operation::Remove(_) => {}
            Operation::Reopen => {
                store.close().await?;
                store = fixture.open().await?;
            }
        }
    }
    // Of who was removed stays what the others have inherited, and no entry more.
    let inherited: HashSet<EntryId> =
        agents.iter().flat_map(|agent| &agent.history).map(|row| row.id).collect();
    for agent in removed {
        match store.own_entries(agent, None).await {
            Ok(left) => assert!(left.iter().all(|row| inherited.contains(&row.id)), "{left:?}"),
            Err(StoreError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    for agent in &agents {
        assert_eq!(store.lineage(agent.id, None).await?, agent.history);
        assert_eq!(store.own_entries(agent.id, None).await?, agent.history[agent.inherited..]);
        let middle = agent.history.len() / 2;
        if let Some(row) = agent.history.get(middle) {
            assert_eq!(store.lineage(agent.id, Some(row.id)).await?, agent.history[..=middle]);
        }
    }
    Ok(())
}

async fn grow(store: &dyn Store, number: u64, history: Vec<EntryRow>) -> Result<Copied> {
    let id = agent_id(number);
    if history.is_empty() {
        create(store, number).await?;
    }
    let fence = lease(store, id, "model").await?.fence;
    Ok(Copied { id, fence, inherited: history.len(), history })
}

async fn append(store: &dyn Store, agent: &mut Copied, kinds: &[EntryKind]) -> Result<()> {
    let kinds = kinds.iter().copied().filter(|kind| *kind != EntryKind::Fork);
    let new = |(index, kind): (usize, EntryKind)| {
        let body = format!(r#"{{"of":"{}","number":{index}}}"#, agent.id);
        NewEntry { kind, body, at_ms: index as i64, title: None }
    };
    let entries: Vec<NewEntry> = kinds.enumerate().map(new).collect();
    let ids = store.append(agent.id, agent.fence, &entries).await?;
    let owner = agent.id;
    agent.history.extend(ids.into_iter().zip(entries).map(|(id, new)| EntryRow {
        id,
        agent: owner,
        kind: new.kind,
        body: new.body,
        at_ms: new.at_ms,
    }));
    Ok(())
}

async fn fork(
    store: &dyn Store,
    agents: &mut Vec<Copied>,
    parent: usize,
    inherit: &Inherit,
    (first, children): (u64, usize),
) -> Result<()> {
    let (parent_id, history) = (agents[parent].id, agents[parent].history.clone());
    let own = &history[agents[parent].inherited..];
    let (from, inherited) = match inherit {
        Inherit::Entry(index) if !history.is_empty() => {
            let index = index % history.len();
            (ForkFrom::Entry(history[index].id), index + 1)
        }
        Inherit::LastEntry | Inherit::Entry(_) => (ForkFrom::LastEntry, history.len()),
        Inherit::Nothing => (ForkFrom::Nothing, 0),
    };
    let fork_point: Option<EntryId> = match from {
        ForkFrom::LastEntry => own.last().map(|row| row.id),
        ForkFrom::Entry(entry) => Some(entry),
        ForkFrom::Nothing => None,
    };
    let mut request = fork_of(parent_id, first, from);
    for number in first + 1..first + children as u64 {
        let another = fork_of(parent_id, number, from).children;
        request.children.extend(another);
    }
    let now_ms = request.now_ms;
    for (number, forked) in (first..).zip(store.fork(request).await?) {
        assert_eq!(forked.fork_point, fork_point);
        let event = |id, agent, role, other| EntryRow {
            id,
            agent,
            kind: EntryKind::Fork,
            body: ForkEvent { role, other, fork_point }.to_body(),
            at_ms: now_ms,
        };
        let child = agent_id(number);
        let told = forked.parent_event.map(|id| event(id, parent_id, ForkRole::Parent, child));
        agents[parent].history.extend(told);
        let mut copy = history[..inherited].to_vec();
        copy.push(event(forked.child_event, child, ForkRole::Child, parent_id));
        let mut copied = grow(store, number, copy).await?;
        copied.inherited = inherited;
        agents.push(copied);
    }
    Ok(())
}
