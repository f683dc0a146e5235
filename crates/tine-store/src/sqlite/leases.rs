//! Leases: one writer per agent, told from its predecessors by a fence, and what happens when it dies.

use async_trait::async_trait;
use tine_model::{AgentId, AgentState, TaskStatus};

use super::SqliteStore;
use super::agents::{agent_state, require_living, write_state};
use super::budgets::{drop_of_agent, drop_of_owner};
use super::column::Columns;
use super::connection::Writing;
use super::tasks::{cut_tasks, task_columns};
use super::writers::drop_writer;
use crate::{Acquire, Fence, IsAlive, Lease, LeaseStore, Recover, Recovered, Result, StoreError};

/// The lease on an agent, if somebody holds it.
const LEASE: &str =
    "SELECT owner, fence, taken_ms FROM leases WHERE agent = ? AND owner IS NOT NULL";

/// Returns a row where a run of the agent is under way elsewhere.
const IS_REMOTE: &str = "SELECT 1 FROM remote_runs WHERE agent = ? AND ended_ms IS NULL";

/// Tasks that die with their process: the agent's own, and those it spawned that no process has taken up.
const ORPHANED: &str = concat!(
    "SELECT ",
    task_columns!(),
    " FROM tasks WHERE status IN ('queued', 'running') AND (agent = ?1 OR (spawner = ?1 \
     AND agent NOT IN (SELECT agent FROM leases WHERE owner IS NOT NULL))) \
     AND agent NOT IN (SELECT agent FROM remote_runs WHERE ended_ms IS NULL) ORDER BY seq"
);

#[async_trait]
impl LeaseStore for SqliteStore {
    async fn acquire(&self, acquire: Acquire<'_>) -> Result<Lease> {
        let agent = acquire.agent;
        let mut write = self.connections.write().await?;
        require_living(&mut write, agent).await?;
        if let Some(owner) = lease_of(&mut write, agent).await?.map(|lease| lease.owner) {
            if (acquire.is_alive)(&owner) {
                return Err(StoreError::Held { agent, owner });
            }
            let Acquire { is_alive, notice, now_ms, .. } = acquire;
            let recover = Recover { is_alive, notice, used: &[], now_ms };
            take_from_dead(&mut write, (agent, owner), recover).await?;
        }
        forget_stop(&mut write, agent).await?;
        let lease = insert_lease(&mut write, agent, acquire.owner, acquire.now_ms).await?;
        write.commit().await?;
        Ok(lease)
    }

    async fn release(&self, lease: &Lease) -> Result<()> {
        let mut write = self.connections.write().await?;
        let sql = sqlx::query("UPDATE leases SET owner = NULL WHERE agent = ? AND fence = ?")
            .bind(lease.agent.as_bytes().as_slice())
            .bind(lease.fence.0);
        let released = write.execute("release", sql).await?.rows_affected() > 0;
        if released {
            drop_of_agent(&mut write, lease.agent).await?;
            drop_writer(&mut write, lease.agent).await?;
            forget_stop(&mut write, lease.agent).await?;
        }
        // Whoever gives a lease back in the middle of a run could not say how it ended.
        if released && is_cut(&mut write, lease.agent).await? {
            write_state(&mut write, lease.agent, AgentState::Interrupted, lease.taken_ms).await?;
        }
        write.commit().await
    }

    async fn lease(&self, agent: AgentId) -> Result<Option<Lease>> {
        let sql = sqlx::query(LEASE).bind(agent.as_bytes().as_slice());
        let row = self.connections.read_one(sql).await?;
        row.map(|row| lease_record(agent, &row)).transpose()
    }

    async fn recover(&self, recover: Recover<'_>) -> Result<Vec<Recovered>> {
        if !self.has_dead_owner(recover).await? {
            return Ok(Vec::new());
        }
        let mut write = self.connections.write().await?;
        let sql = "SELECT l.agent, l.owner FROM leases l JOIN agents a ON a.id = l.agent \
             WHERE l.owner IS NOT NULL ORDER BY a.seq";
        let rows = write.all("leases", sqlx::query(sql)).await?;
        let mut dead = Vec::new();
        for row in &rows {
            let (agent, owner) = (row.agent(0)?, row.get::<String>(1)?);
            if !(recover.is_alive)(&owner) {
                dead.push((agent, owner));
            }
        }
        let sql = sqlx::query("SELECT DISTINCT owner FROM reservations");
        for row in &write.all("reserving owners", sql).await? {
            let owner: String = row.get(0)?;
            if !(recover.is_alive)(&owner) {
                drop_of_owner(&mut write, &owner).await?;
            }
        }
        let mut recovered = Vec::with_capacity(dead.len());
        for (agent, owner) in dead {
            recovered.push(take_from_dead(&mut write, (agent, owner), recover).await?);
        }
        write.commit().await?;
        Ok(recovered)
    }

    async fn held_by_dead(&self, is_alive: IsAlive<'_>) -> Result<Vec<AgentId>> {
        let sql = "SELECT agent, owner FROM leases WHERE owner IS NOT NULL";
        let rows = self.connections.read_all(sqlx::query(sql)).await?;
        let mut dead = Vec::new();
        for row in &rows {
            if !is_alive(&row.get::<String>(1)?) {
                dead.push(row.agent(0)?);
            }
        }
        Ok(dead)
    }
}

impl SqliteStore {
    /// Asked first, outside the transaction: nearly always there is nothing to recover, and then nothing is written.
    async fn has_dead_owner(&self, recover: Recover<'_>) -> Result<bool> {
        let sql = "SELECT owner FROM leases WHERE owner IS NOT NULL \
             UNION SELECT owner FROM reservations";
        let rows = self.connections.read_all(sqlx::query(sql)).await?;
        for row in &rows {
            let owner: String = row.get(0)?;
            if !(recover.is_alive)(&owner) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A wish to stop is for who runs the agent when it is made, and for nobody after.
async fn forget_stop(write: &mut Writing<'_>, agent: AgentId) -> Result<()> {
    let sql = sqlx::query("UPDATE agents SET stop = NULL WHERE id = ? AND stop IS NOT NULL");
    write.run("stop forgotten", sql.bind(agent.as_bytes().as_slice())).await
}

/// Takes a lease that nobody holds.
pub(super) async fn insert_lease(
    write: &mut Writing<'_>,
    agent: AgentId,
    owner: &str,
    now_ms: i64,
) -> Result<Lease> {
    let sql = "INSERT INTO leases (agent, owner, fence, taken_ms) VALUES (?, ?, 1, ?) \
         ON CONFLICT (agent) DO UPDATE SET owner = excluded.owner, fence = fence + 1, \
         taken_ms = excluded.taken_ms RETURNING fence";
    let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice()).bind(owner).bind(now_ms);
    let row = write.one("lease row", sql).await?.ok_or(StoreError::Fenced { agent })?;
    let fence = Fence(row.get(0)?);
    Ok(Lease { agent, owner: owner.to_owned(), fence, taken_ms: now_ms })
}

/// Refuses a write under a lease that is no longer the agent's current one.
pub(super) async fn check_fence(
    write: &mut Writing<'_>,
    agent: AgentId,
    fence: Fence,
) -> Result<()> {
    match lease_of(write, agent).await? {
        Some(lease) if lease.fence == fence => Ok(()),
        Some(_) | None => Err(StoreError::Fenced { agent }),
    }
}

async fn lease_of(write: &mut Writing<'_>, agent: AgentId) -> Result<Option<Lease>> {
    let sql = sqlx::query(LEASE).bind(agent.as_bytes().as_slice());
    write.one("lease", sql).await?.map(|row| lease_record(agent, &row)).transpose()
}

fn lease_record(agent: AgentId, row: &Columns<'_>) -> Result<Lease> {
    let fence = Fence(row.get(1)?);
    Ok(Lease { agent, owner: row.get(0)?, fence, taken_ms: row.get(2)? })
}

/// Returns true if an agent is marked as running, and nobody runs it any more, here or elsewhere.
async fn is_cut(write: &mut Writing<'_>, agent: AgentId) -> Result<bool> {
    if agent_state(write, agent).await? != AgentState::Running {
        return Ok(false);
    }
    let sql = sqlx::query(IS_REMOTE).bind(agent.as_bytes().as_slice());
    Ok(write.one("remote run", sql).await?.is_none())
}

async fn take_from_dead(
    write: &mut Writing<'_>,
    (agent, owner): (AgentId, String),
    recover: Recover<'_>,
) -> Result<Recovered> {
    let Recover { notice, used, now_ms, .. } = recover;
    let sql = sqlx::query("UPDATE leases SET owner = NULL WHERE agent = ?");
    write.run("lease taken", sql.bind(agent.as_bytes().as_slice())).await?;
    forget_stop(write, agent).await?;
    drop_of_agent(write, agent).await?;
    drop_writer(write, agent).await?;
    let interrupted = is_cut(write, agent).await?;
    if interrupted {
        write_state(write, agent, AgentState::Interrupted, now_ms).await?;
    }
    let sql = sqlx::query(ORPHANED).bind(agent.as_bytes().as_slice());
    let tasks = cut_tasks(write, sql, TaskStatus::Interrupted, used, notice, now_ms).await?;
    Ok(Recovered { agent, owner, interrupted, tasks })
}
