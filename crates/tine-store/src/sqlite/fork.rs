//! The fork: three rows a child that inherits everything, one transaction, whatever the length of the conversation. A hidden run
//! leaves its parent's log as it is.

use tine_model::{AgentId, AgentRecord, AgentState, EntryId, ForkRole, Standing};

use super::SqliteStore;
use super::agents::{Place, agent_reach, insert_agent};
use super::budgets::check_workers;
use super::connection::Writing;
use super::entries::{append_entries, insert_entry, require_inherited};
use super::leases::{check_fence, insert_lease};
use super::tasks::insert_task;
use super::worktrees::insert_worktree;
use crate::{
    EntryKind, ForkEvent, ForkFrom, ForkRequest, Forked, NewChild, NewEntry, Result, StoreError,
};

pub(super) async fn fork(store: &SqliteStore, request: ForkRequest) -> Result<Vec<Forked>> {
    let mut write = store.connections.write().await?;
    let last = last_entry_of_living(&mut write, request.parent).await?;
    if let Some(fence) = request.parent_fence {
        check_fence(&mut write, request.parent, fence).await?;
    }
    check_workers(&mut write, request.parent, &request.children).await?;
    let fork_point = match request.from {
        ForkFrom::LastEntry => last,
        ForkFrom::Nothing => None,
        ForkFrom::Entry(entry) => {
            require_inherited(&mut write, request.parent, entry).await?;
            Some(entry)
        }
    };
    let place = Place { parent: Some(request.parent), fork_point, now_ms: request.now_ms };
    let mut forked = Vec::with_capacity(request.children.len());
    for child in &request.children {
        let mut made = fork_child(&mut write, request.parent, child, place).await?;
        if let Some(owner) = &request.owner {
            made.lease = Some(insert_lease(&mut write, made.child, owner, place.now_ms).await?);
        }
        forked.push(made);
    }
    write.commit().await?;
    Ok(forked)
}

/// The parent's own last entry, read before any event of this fork is written.
async fn last_entry_of_living(write: &mut Writing<'_>, parent: AgentId) -> Result<Option<EntryId>> {
    let sql = "SELECT a.state, (SELECT max(e.id) FROM entries e WHERE e.agent = a.id) \
         FROM agents a WHERE a.id = ?";
    let sql = sqlx::query(sql).bind(parent.as_bytes().as_slice());
    let row = write.one("fork point", sql).await?.ok_or_else(|| StoreError::no_agent(parent))?;
    match row.word(0, AgentState::from_name)? {
        AgentState::Dead => Err(StoreError::Dead { agent: parent }),
        AgentState::Idle | AgentState::Running | AgentState::Interrupted => row.entry_or_null(1),
    }
}

async fn fork_child(
    write: &mut Writing<'_>,
    parent: AgentId,
    child: &NewChild,
    place: Place,
) -> Result<Forked> {
    let id = child.agent.id;
    let mut agent = child.agent.clone();
    if !child.by_person {
        // The parent's reach may have changed since the caller read it.
        agent.reach = agent_reach(write, parent).await?.narrowed(&agent.reach);
    }
    insert_agent(write, &agent, place).await?;
    let event = |role, other| NewEntry {
        kind: EntryKind::Fork,
        body: ForkEvent { role, other, fork_point: place.fork_point }.to_body(),
        at_ms: place.now_ms,
        title: None,
    };
    let parent_event = match agent.standing {
        Standing::Hidden => None,
        Standing::Root | Standing::Peer | Standing::Worker | Standing::Guest => {
            let told = event(ForkRole::Parent, id);
            Some(insert_entry(write, "parent event", parent, &told).await?)
        }
    };
    let told = event(ForkRole::Child, parent);
    let child_event = insert_entry(write, "child event", id, &told).await?;
    append_entries(write, id, &child.entries).await?;
    if let Some(worktree) = &child.worktree {
        insert_worktree(write, id, worktree, place.now_ms).await?;
    }
    if let Some(task) = &child.task {
        insert_task(write, id, parent, task, place.now_ms).await?;
    }
    let fork_point = place.fork_point;
    let record = AgentRecord {
        id,
        name: agent.name,
        title: child.entries.iter().find_map(|entry| entry.title.clone()),
        parent: Some(parent),
        fork_point,
        standing: agent.standing,
        state: AgentState::Idle,
        failure: None,
        context: agent.context,
        settings: agent.settings,
        head: agent.head.hash,
        directory: agent.directory,
        reach: agent.reach,
        depth: agent.depth,
        stop: None,
        created_ms: place.now_ms,
        updated_ms: place.now_ms,
    };
    Ok(Forked { child: id, fork_point, parent_event, child_event, lease: None, record })
}
