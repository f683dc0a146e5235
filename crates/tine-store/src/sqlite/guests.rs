//! Guests: found by the other program's session or by their first message.

use async_trait::async_trait;
use tine_model::AgentId;

use super::SqliteStore;
use super::agents::{drop_unused_heads, store_head};
use super::column::Columns;
use super::leases::check_fence;
use crate::guest::GUESTS_MAX;
use crate::{Fence, GuestFilter, GuestRow, GuestStore, Head, Result};

#[async_trait]
impl GuestStore for SqliteStore {
    async fn note_guest(&self, row: GuestRow) -> Result<()> {
        let mut write = self.connections.write().await?;
        let sql = sqlx::query(
            "INSERT INTO guests (agent, host, session, first, used_ms) VALUES (?, ?, ?, ?, ?) \
             ON CONFLICT (agent) DO UPDATE SET used_ms = excluded.used_ms",
        );
        let sql = sql.bind(row.agent.as_bytes().as_slice()).bind(row.host).bind(row.session);
        write.run("guest", sql.bind(row.first.as_slice()).bind(row.used_ms)).await?;
        write.commit().await
    }

    async fn guests(&self, filter: GuestFilter) -> Result<Vec<GuestRow>> {
        let sql = match filter {
            GuestFilter::Session { host, session } => {
                let sql = "SELECT agent, host, session, first, used_ms FROM guests \
                     WHERE host = ? AND session = ? ORDER BY used_ms DESC, agent LIMIT ?";
                sqlx::query(sql).bind(host).bind(session)
            }
            GuestFilter::First(first) => {
                let sql = "SELECT agent, host, session, first, used_ms FROM guests \
                     WHERE first = ? ORDER BY used_ms DESC, agent LIMIT ?";
                sqlx::query(sql).bind(first.to_vec())
            }
            GuestFilter::Agent(agent) => {
                let sql = "SELECT agent, host, session, first, used_ms FROM guests \
                     WHERE agent = ? ORDER BY used_ms DESC, agent LIMIT ?";
                sqlx::query(sql).bind(agent.as_bytes().to_vec())
            }
        };
        let decode = |row: &Columns<'_>| {
            Ok(GuestRow {
                agent: row.agent(0)?,
                host: row.get(1)?,
                session: row.get(2)?,
                first: row.bytes(3)?,
                used_ms: row.get(4)?,
            })
        };
        self.connections.read_all(sql.bind(GUESTS_MAX as i64)).await?.iter().map(decode).collect()
    }

    async fn change_head(&self, agent: AgentId, fence: Fence, head: Head) -> Result<()> {
        let id = || agent.as_bytes().as_slice().to_vec();
        let mut write = self.connections.write().await?;
        check_fence(&mut write, agent, fence).await?;
        store_head(&mut write, agent, &head).await?;
        let sql = "UPDATE agents SET head = ?2 WHERE id = ?1";
        let sql = sqlx::query(sql).bind(id()).bind(head.hash.as_slice());
        write.run("head of the agent", sql).await?;
        drop_unused_heads(&mut write).await?;
        write.commit().await
    }
}
