//! Removes agents for good: their rows are overwritten, and the file is written anew without what was in its gaps.
//!
//! Entries that a descendant inherits stay, up to its fork point. The removed agent's row then stays too, dead and without a
//! name, and goes with the last such descendant.

use std::collections::{BTreeMap, HashMap, HashSet};

use tine_model::AgentId;

use super::SqliteStore;
use super::agents::drop_unused_heads;
use super::column::Columns;
use super::connection::Writing;
use crate::{Remove, RemovedAgent, Result, StoreError};

/// An agent at or below those that go.
struct Member {
    id: AgentId,
    parent: Option<AgentId>,
    fork_point: Option<i64>,
    /// Who runs it, or is about to.
    runner: Option<String>,
    /// It was removed before, and was still needed then.
    was_removed: bool,
}

/// The part of an agent that those who stay still need.
#[derive(Default)]
struct Needs {
    /// Its row stays.
    row: bool,
    /// The last entry that a descendant inherits; 0 for none.
    upto: i64,
}

/// Those at or below an agent of the list, and below what was removed before and stands above them; parents before their children.
const MEMBERS: &str = "WITH RECURSIVE above (id) AS (\
     SELECT id FROM agents WHERE hex(id) IN (SELECT value FROM json_each(?1)) UNION \
     SELECT p.id FROM above JOIN agents a ON a.id = above.id JOIN agents p ON p.id = a.parent \
     WHERE p.removed_ms IS NOT NULL), \
     below (id) AS (SELECT id FROM above UNION \
     SELECT a.id FROM below JOIN agents a ON a.parent = below.id) \
     SELECT a.id, a.parent, a.fork_point, CASE WHEN a.state = 'running' OR EXISTS (\
         SELECT 1 FROM tasks t WHERE t.agent = a.id AND t.status IN ('queued', 'running')) \
         THEN coalesce((SELECT owner FROM leases l WHERE l.agent = a.id), 'its parent') END, \
         a.removed_ms IS NOT NULL \
     FROM below JOIN agents a ON a.id = below.id ORDER BY a.seq";

/// All that an agent has said and heard, beside its entries.
const OF_AGENT: [(&str, &str); 9] = [
    ("permissions", "DELETE FROM permissions WHERE agent = ?1"),
    ("mail", "DELETE FROM mail WHERE recipient = ?1"),
    ("requests", "DELETE FROM requests WHERE agent = ?1"),
    ("task", "DELETE FROM tasks WHERE agent = ?1"),
    ("writers", "DELETE FROM writers WHERE agent = ?1"),
    ("request of the guest", "DELETE FROM guest_requests WHERE agent = ?1"),
    // One that is there is another agent's place as well, and stays for its sake.
    ("worktree", "DELETE FROM worktrees WHERE agent = ?1 AND removed_ms IS NOT NULL"),
    ("reservations", "DELETE FROM reservations WHERE agent = ?1"),
    ("remote run", "DELETE FROM remote_runs WHERE agent = ?1"),
];

/// All that leads to its row, and the row.
const WHOLE: [(&str, &str); 7] = [
    // Its forks go on at the server that it names.
    ("guest", "DELETE FROM guests WHERE agent = ?1"),
    ("sender", "UPDATE mail SET sender = NULL WHERE sender = ?1"),
    ("line", "DELETE FROM reservations WHERE root = ?1"),
    ("budget", "DELETE FROM budgets WHERE root = ?1"),
    ("worktree that is there", "DELETE FROM worktrees WHERE agent = ?1"),
    ("lease", "DELETE FROM leases WHERE agent = ?1"),
    ("agent", "DELETE FROM agents WHERE id = ?1"),
];

pub(super) async fn remove(store: &SqliteStore, remove: Remove) -> Result<Vec<RemovedAgent>> {
    let mut write = store.connections.write().await?;
    write.run("overwrite", sqlx::query("PRAGMA secure_delete = ON")).await?;
    let members = members(&mut write, &remove.agents).await?;
    let before = members.iter().filter(|one| one.was_removed).map(|one| one.id);
    let goes: HashSet<AgentId> = remove.agents.iter().copied().chain(before).collect();
    if let Some(agent) = goes.iter().find(|id| members.iter().all(|one| one.id != **id)) {
        return Err(StoreError::no_agent(*agent));
    }
    for member in members.iter().filter(|one| goes.contains(&one.id)) {
        if let Some(owner) = &member.runner {
            return Err(StoreError::Held { agent: member.id, owner: owner.clone() });
        }
    }
    let spawners = spawners_that_stay(&mut write, &goes).await?;
    let needs = needs(&members, &goes, &spawners);
    let mut removed = Vec::with_capacity(goes.len());
    // Children first: their rows lead to their parents'.
    for member in members.iter().rev().filter(|one| goes.contains(&one.id)) {
        let needs = needs.get(&member.id);
        let one = remove_one(&mut write, member.id, needs, remove.now_ms).await?;
        // Whoever was removed before is told of only where that is done at last.
        if !member.was_removed || one.is_whole {
            removed.push(one);
        }
    }
    removed.reverse();
    drop_unused_heads(&mut write).await?;
    match remove.dry_run {
        true => write.run("rollback", sqlx::query("ROLLBACK")).await?,
        false => write.commit().await?,
    }
    Ok(removed)
}

async fn members(write: &mut Writing<'_>, agents: &[AgentId]) -> Result<Vec<Member>> {
    let ids: Vec<String> = agents.iter().map(|agent| hex(*agent)).collect();
    let ids = format!("[{}]", ids.join(","));
    let rows = write.all("members", sqlx::query(MEMBERS).bind(ids)).await?;
    let member = |row: &Columns<'_>| {
        Ok(Member {
            id: row.agent(0)?,
            parent: row.agent_or_null(1)?,
            fork_point: row.get(2)?,
            runner: row.get(3)?,
            was_removed: row.get(4)?,
        })
    };
    rows.iter().map(member).collect()
}

/// The id as SQL's `hex` writes it, in quotes.
fn hex(agent: AgentId) -> String {
    let digits: String = agent.as_bytes().iter().map(|byte| format!("{byte:02X}")).collect();
    format!("\"{digits}\"")
}

/// Those that have started a worker which stays: its task says who is told of its end.
async fn spawners_that_stay(
    write: &mut Writing<'_>,
    goes: &HashSet<AgentId>,
) -> Result<HashSet<AgentId>> {
    let rows = write.all("spawners", sqlx::query("SELECT spawner, agent FROM tasks")).await?;
    let pair = |row: &Columns<'_>| Ok((row.agent(0)?, row.agent(1)?));
    let pairs = rows.iter().map(pair).collect::<Result<Vec<(AgentId, AgentId)>>>()?;
    let stays =
        |(spawner, worker): (AgentId, AgentId)| (!goes.contains(&worker)).then_some(spawner);
    Ok(pairs.into_iter().filter_map(stays).collect())
}

/// The needs of those who stay, by the agent that goes.
fn needs(
    members: &[Member],
    goes: &HashSet<AgentId>,
    spawners: &HashSet<AgentId>,
) -> BTreeMap<AgentId, Needs> {
    let mut needs: HashMap<AgentId, Needs> = HashMap::new();
    for spawner in spawners {
        needs.entry(*spawner).or_default().row = true;
    }
    for member in members.iter().rev() {
        let inherited = member.fork_point.unwrap_or(0);
        // Who goes hands on no more than is needed of it.
        let upto = match (goes.contains(&member.id), needs.get(&member.id)) {
            (false, _) => inherited,
            (true, Some(own)) if own.row => inherited.min(own.upto),
            (true, _) => continue,
        };
        if let Some(parent) = member.parent {
            let of_parent = needs.entry(parent).or_default();
            of_parent.row = true;
            of_parent.upto = of_parent.upto.max(upto);
        }
    }
    needs.into_iter().collect()
}

async fn remove_one(
    write: &mut Writing<'_>,
    agent: AgentId,
    needs: Option<&Needs>,
    now_ms: i64,
) -> Result<RemovedAgent> {
    let id = || agent.as_bytes().as_slice().to_vec();
    let upto = needs.map_or(0, |needs| needs.upto);
    let sql = "DELETE FROM entries WHERE agent = ?1 AND id > ?2";
    let gone = write.execute("entries", sqlx::query(sql).bind(id()).bind(upto)).await?;
    let sql = "SELECT count(*) FROM entries WHERE agent = ?1";
    let left = write.one("inherited", sqlx::query(sql).bind(id())).await?;
    let left: Option<i64> = left.map(|row| row.get(0)).transpose()?;
    for (step, sql) in OF_AGENT {
        write.run(step, sqlx::query(sql).bind(id())).await?;
    }
    let is_whole = needs.is_none_or(|needs| !needs.row);
    if is_whole {
        for (step, sql) in WHOLE {
            write.run(step, sqlx::query(sql).bind(id())).await?;
        }
    } else {
        let sql = "UPDATE agents SET name = NULL, title = NULL, failure = NULL, state = 'dead', reaped_ms = coalesce(reaped_ms, ?2), \
             removed_ms = coalesce(removed_ms, ?2), stop = NULL, follow_up = NULL WHERE id = ?1";
        write.run("what is inherited", sqlx::query(sql).bind(id()).bind(now_ms)).await?;
    }
    Ok(RemovedAgent {
        agent,
        entries: gone.rows_affected(),
        inherited: left.and_then(|count| u64::try_from(count).ok()).unwrap_or_default(),
        is_whole,
    })
}
