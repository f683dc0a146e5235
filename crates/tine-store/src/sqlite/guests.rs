//! Guests: found by the other program's session or by their first message.

use async_trait::async_trait;
use tine_model::AgentId;

use super::SqliteStore;
use super::agents::{drop_unused_heads, store_head};
use super::column::Columns;
use super::leases::check_fence;
use super::requests::put_cache_row;
use crate::guest::GUESTS_MAX;
use crate::{CacheRow, Fence, GuestFilter, GuestRow, GuestStore, Head, Result};

#[async_trait]
impl GuestStore for SqliteStore {
    async fn note_guest(&self, row: GuestRow) -> Result<()> {
        let mut write = self.connections.write().await?;
        let sql = sqlx::query(
            "INSERT INTO guests (agent, host, session, first, upstream, account, gateway, used_ms) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent) DO UPDATE SET \
             upstream = excluded.upstream, account = excluded.account, \
             gateway = excluded.gateway, used_ms = excluded.used_ms",
        );
        let sql = sql.bind(row.agent.as_bytes().as_slice()).bind(row.host).bind(row.session);
        let sql = sql.bind(row.first.as_slice()).bind(row.upstream).bind(row.account);
        write.run("guest", sql.bind(row.gateway).bind(row.used_ms)).await?;
        write.commit().await
    }

    async fn guests(&self, filter: GuestFilter) -> Result<Vec<GuestRow>> {
        let sql = match filter {
            GuestFilter::Session { host, session } => {
                let sql = "SELECT agent, host, session, first, upstream, account, gateway, used_ms \
                     FROM guests WHERE host = ? AND session = ? \
                     ORDER BY used_ms DESC, agent LIMIT ?";
                sqlx::query(sql).bind(host).bind(session)
            }
            GuestFilter::Host(host) => {
                let sql = "SELECT agent, host, session, first, upstream, account, gateway, used_ms \
                     FROM guests WHERE host = ? ORDER BY used_ms DESC, agent LIMIT ?";
                sqlx::query(sql).bind(host)
            }
            GuestFilter::First(first) => {
                let sql = "SELECT agent, host, session, first, upstream, account, gateway, used_ms \
                     FROM guests WHERE first = ? ORDER BY used_ms DESC, agent LIMIT ?";
                sqlx::query(sql).bind(first.to_vec())
            }
            GuestFilter::Agent(agent) => {
                let sql = "SELECT agent, host, session, first, upstream, account, gateway, used_ms \
                     FROM guests WHERE agent = ? ORDER BY used_ms DESC, agent LIMIT ?";
                sqlx::query(sql).bind(agent.as_bytes().to_vec())
            }
        };
        let decode = |row: &Columns<'_>| {
            Ok(GuestRow {
                agent: row.agent(0)?,
                host: row.get(1)?,
                session: row.get(2)?,
                first: row.bytes(3)?,
                upstream: row.get(4)?,
                account: row.get(5)?,
                gateway: row.get(6)?,
                used_ms: row.get(7)?,
            })
        };
        self.connections.read_all(sql.bind(GUESTS_MAX as i64)).await?.iter().map(decode).collect()
    }

    async fn keep_guest_request(
        &self,
        agent: AgentId,
        body: Vec<u8>,
        cache: &[CacheRow],
    ) -> Result<()> {
        let mut write = self.connections.write().await?;
        let sql = sqlx::query(
            "INSERT INTO guest_requests (agent, body) VALUES (?, ?) \
             ON CONFLICT (agent) DO UPDATE SET body = excluded.body",
        );
        let sql = sql.bind(agent.as_bytes().as_slice()).bind(body);
        write.run("request of the guest", sql).await?;
        for row in cache {
            put_cache_row(&mut write, row).await?;
        }
        write.commit().await
    }

    async fn guest_request(&self, agent: AgentId) -> Result<Option<Vec<u8>>> {
        let sql = sqlx::query("SELECT body FROM guest_requests WHERE agent = ?");
        let sql = sql.bind(agent.as_bytes().as_slice());
        let mut read = self.connections.read().await?;
        read.one(sql).await?.map(|row| row.get(0)).transpose()
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
