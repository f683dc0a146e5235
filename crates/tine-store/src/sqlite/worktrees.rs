//! Worktrees that were made for agents.

use async_trait::async_trait;
use tine_model::{AgentId, WorktreeRecord};

use super::SqliteStore;
use super::column::Columns;
use super::connection::Writing;
use crate::{NewWorktree, Relocation, Result, StoreError, WorktreeStore};

macro_rules! worktree_columns {
    () => {
        "agent, path, origin, repository, files, commits, made_ms, removed_ms"
    };
}

#[async_trait]
impl WorktreeStore for SqliteStore {
    async fn worktree(&self, agent: AgentId) -> Result<Option<WorktreeRecord>> {
        let sql = concat!("SELECT ", worktree_columns!(), " FROM worktrees WHERE agent = ?");
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        self.connections.read_one(sql).await?.as_ref().map(worktree_record).transpose()
    }

    async fn worktrees(&self) -> Result<Vec<WorktreeRecord>> {
        let sql =
            concat!("SELECT ", worktree_columns!(), " FROM worktrees ORDER BY made_ms, agent");
        self.connections.read_all(sqlx::query(sql)).await?.iter().map(worktree_record).collect()
    }

    async fn note_worktree(&self, record: WorktreeRecord) -> Result<()> {
        let mut write = self.connections.write().await?;
        let sql = "UPDATE worktrees SET files = ?, commits = ?, removed_ms = ? WHERE agent = ? \
             RETURNING agent";
        let sql = sqlx::query(sql)
            .bind(record.files)
            .bind(record.commits)
            .bind(record.removed_ms)
            .bind(record.agent.as_bytes().as_slice());
        if write.one("worktree noted", sql).await?.is_none() {
            return Err(StoreError::no_agent(record.agent));
        }
        write.commit().await
    }

    async fn adopt_worktree(
        &self,
        agent: AgentId,
        worktree: NewWorktree,
        directory: &str,
        now_ms: i64,
    ) -> Result<()> {
        let mut write = self.connections.write().await?;
        let sql = "UPDATE agents SET directory = ? WHERE id = ? RETURNING id";
        let sql = sqlx::query(sql).bind(directory).bind(agent.as_bytes().as_slice());
        if write.one("agent moved", sql).await?.is_none() {
            return Err(StoreError::no_agent(agent));
        }
        insert_worktree(&mut write, agent, &worktree, now_ms).await?;
        write.commit().await
    }

    async fn disown_worktree(&self, agent: AgentId) -> Result<()> {
        let mut write = self.connections.write().await?;
        let sql = "DELETE FROM worktrees WHERE agent = ?";
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        write.run("worktree forgotten", sql).await?;
        write.commit().await
    }

    async fn relocate(&self, relocation: Relocation) -> Result<()> {
        let mut write = self.connections.write().await?;
        for record in relocation.worktrees {
            let sql = "UPDATE worktrees SET path = ?, origin = ?, repository = ? WHERE agent = ? \
                 RETURNING agent";
            let sql = sqlx::query(sql)
                .bind(record.path)
                .bind(record.origin)
                .bind(record.repository)
                .bind(record.agent.as_bytes().as_slice());
            if write.one("worktree moved", sql).await?.is_none() {
                return Err(StoreError::no_agent(record.agent));
            }
        }
        for (agent, directory) in relocation.directories {
            let sql = "UPDATE agents SET directory = ? WHERE id = ? RETURNING id";
            let sql = sqlx::query(sql).bind(directory).bind(agent.as_bytes().as_slice());
            if write.one("agent moved", sql).await?.is_none() {
                return Err(StoreError::no_agent(agent));
            }
        }
        write.commit().await
    }
}

pub(super) async fn insert_worktree(
    write: &mut Writing<'_>,
    agent: AgentId,
    worktree: &NewWorktree,
    now_ms: i64,
) -> Result<()> {
    let sql = "INSERT INTO worktrees (agent, path, origin, repository, made_ms) \
         VALUES (?, ?, ?, ?, ?)";
    let sql = sqlx::query(sql)
        .bind(agent.as_bytes().as_slice())
        .bind(worktree.path.as_str())
        .bind(worktree.origin.as_str())
        .bind(worktree.repository.as_str())
        .bind(now_ms);
    write.run("worktree", sql).await
}

fn worktree_record(row: &Columns<'_>) -> Result<WorktreeRecord> {
    Ok(WorktreeRecord {
        agent: row.agent(0)?,
        path: row.get(1)?,
        origin: row.get(2)?,
        repository: row.get(3)?,
        files: row.unsigned(4)?,
        commits: row.unsigned(5)?,
        made_ms: row.get(6)?,
        removed_ms: row.get(7)?,
    })
}
