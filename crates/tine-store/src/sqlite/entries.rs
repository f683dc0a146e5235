//! Logs and the effective history.

use async_trait::async_trait;
use tine_model::{AgentId, EntryId};

use super::SqliteStore;
use super::agents::require_living;
use super::connection::Writing;
use super::leases::check_fence;
use super::packed::read_own;
use crate::{EntryKind, EntryRow, EntryStore, Fence, NewEntry, Result, StoreError};

/// An agent and the last of its rows that counts, from a descendant's point of view, nearest first. The walk ends at an
/// agent that inherits nothing.
macro_rules! line {
    () => {
        "WITH RECURSIVE line (id, parent, fork_point, upto) AS (\
         SELECT id, parent, fork_point, ?2 FROM agents WHERE id = ?1 UNION ALL \
         SELECT a.id, a.parent, a.fork_point, min(line.upto, line.fork_point) \
         FROM line JOIN agents a ON a.id = line.parent WHERE line.fork_point IS NOT NULL) "
    };
}

/// The segments of an agent's effective history.
const SEGMENTS: &str = concat!(line!(), "SELECT id, upto FROM line");

/// Whether an entry is part of an agent's effective history.
const IS_INHERITED: &str = concat!(
    line!(),
    "SELECT 1 FROM entries e JOIN line ON line.id = e.agent WHERE e.id = ?2 AND e.id <= line.upto"
);

#[async_trait]
impl EntryStore for SqliteStore {
    async fn append(
        &self,
        agent: AgentId,
        fence: Fence,
        entries: &[NewEntry],
    ) -> Result<Vec<EntryId>> {
        let Some(last) = entries.last() else { return Ok(Vec::new()) };
        let mut write = self.connections.write().await?;
        require_living(&mut write, agent).await?;
        check_fence(&mut write, agent, fence).await?;
        let ids = append_entries(&mut write, agent, entries).await?;
        let sql = sqlx::query("UPDATE agents SET updated_ms = ? WHERE id = ?")
            .bind(last.at_ms)
            .bind(agent.as_bytes().as_slice());
        write.run("agent updated", sql).await?;
        write.commit().await?;
        Ok(ids)
    }

    async fn lineage(&self, agent: AgentId, at: Option<EntryId>) -> Result<Vec<EntryRow>> {
        let mut read = self.connections.read_snapshot().await?;
        let upto = at.map_or(i64::MAX, |entry| entry.0);
        let sql = sqlx::query(SEGMENTS).bind(agent.as_bytes().as_slice()).bind(upto);
        let segments = read.all(sql).await?;
        if segments.is_empty() {
            return Err(StoreError::no_agent(agent));
        }
        let mut entries = Vec::new();
        // Segment by segment, not in one statement: each one comes out of the index in order, so that nothing is sorted.
        for segment in segments.iter().rev() {
            let (owner, upto) = (segment.agent(0)?, segment.get::<i64>(1)?);
            read_own(&mut read, owner, i64::MIN, upto, &mut entries).await?;
        }
        read.finish().await?;
        Ok(entries)
    }

    async fn own_entries(&self, agent: AgentId, after: Option<EntryId>) -> Result<Vec<EntryRow>> {
        let mut read = self.connections.read_snapshot().await?;
        let exists = sqlx::query("SELECT 1 FROM agents WHERE id = ?");
        if read.one(exists.bind(agent.as_bytes().as_slice())).await?.is_none() {
            return Err(StoreError::no_agent(agent));
        }
        let mut entries = Vec::new();
        let after = after.map_or(i64::MIN, |entry| entry.0);
        read_own(&mut read, agent, after, i64::MAX, &mut entries).await?;
        read.finish().await?;
        Ok(entries)
    }
}

/// Writes rows of every kind but forks.
pub(super) async fn append_entries(
    write: &mut Writing<'_>,
    agent: AgentId,
    entries: &[NewEntry],
) -> Result<Vec<EntryId>> {
    let mut ids = Vec::with_capacity(entries.len());
    for entry in entries {
        if entry.kind == EntryKind::Fork {
            return Err(StoreError::ReservedKind { kind: entry.kind });
        }
        ids.push(insert_entry(write, "entry", agent, entry).await?);
    }
    Ok(ids)
}

pub(super) async fn insert_entry(
    write: &mut Writing<'_>,
    step: &'static str,
    agent: AgentId,
    entry: &NewEntry,
) -> Result<EntryId> {
    let sql = sqlx::query("INSERT INTO entries (agent, kind, at_ms, body) VALUES (?, ?, ?, ?)")
        .bind(agent.as_bytes().as_slice())
        .bind(entry.kind.as_str())
        .bind(entry.at_ms)
        .bind(entry.body.as_str());
    let id = EntryId(write.execute(step, sql).await?.last_insert_rowid());
    if let Some(title) = &entry.title {
        let sql = sqlx::query("UPDATE agents SET title = ? WHERE id = ? AND title IS NULL");
        let sql = sql.bind(title.as_str()).bind(agent.as_bytes().as_slice());
        write.run("title", sql).await?;
    }
    Ok(id)
}

pub(super) async fn require_inherited(
    write: &mut Writing<'_>,
    agent: AgentId,
    entry: EntryId,
) -> Result<()> {
    let sql = sqlx::query(IS_INHERITED).bind(agent.as_bytes().as_slice()).bind(entry.0);
    let found = write.one("fork point known", sql).await?;
    found.map(|_| ()).ok_or(StoreError::UnknownEntry { agent, entry })
}
