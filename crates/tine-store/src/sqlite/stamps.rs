//! Stamps: compared and set in one transaction.

use async_trait::async_trait;

use super::SqliteStore;
use super::leases::check_fence;
use crate::{Result, SetStamp, Stamp, StampName, StampStore};

const READ: &str = "SELECT value, at_ms FROM stamps WHERE name = ?";

#[async_trait]
impl StampStore for SqliteStore {
    async fn stamp(&self, name: &StampName) -> Result<Option<Stamp>> {
        let row = self.connections.read_one(sqlx::query(READ).bind(name.as_str())).await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Stamp { value: row.get(0)?, at_ms: row.get(1)? }))
    }

    async fn set_stamp(&self, set: SetStamp) -> Result<bool> {
        let mut write = self.connections.write().await?;
        if let Some((agent, fence)) = set.fence {
            check_fence(&mut write, agent, fence).await?;
        }
        let row = write.one("stamp", sqlx::query(READ).bind(set.name.as_str())).await?;
        let known: Option<String> = row.map(|row| row.get(0)).transpose()?;
        let is_expected = known == set.expected;
        if is_expected {
            let sql = "INSERT INTO stamps (name, value, at_ms) VALUES (?, ?, ?) \
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value, at_ms = excluded.at_ms";
            let sql = sqlx::query(sql).bind(set.name.as_str()).bind(set.value).bind(set.now_ms);
            write.run("stamp set", sql).await?;
        }
        write.commit().await?;
        Ok(is_expected)
    }
}
