//! The file as a whole: its damage, what is left in it of removed rows, its version, its end.

use async_trait::async_trait;

use super::SqliteStore;
use crate::{Result, Store};

/// Most findings: the first ones say enough.
const FINDINGS_MAX: usize = 20;

#[async_trait]
impl Store for SqliteStore {
    async fn find_damage(&self) -> Result<Vec<String>> {
        let mut read = self.connections.read_snapshot().await?;
        let rows = read.all(sqlx::query("PRAGMA integrity_check(20)")).await?;
        let mut found = Vec::new();
        for row in &rows {
            found.push(row.get::<String>(0)?);
        }
        found.retain(|line| line != "ok");
        for row in &read.all(sqlx::query("PRAGMA foreign_key_check")).await? {
            let (table, parent) = (row.get::<String>(0)?, row.get::<String>(2)?);
            found.push(format!("a row of `{table}` names one of `{parent}` that is not there"));
        }
        read.finish().await?;
        found.truncate(FINDINGS_MAX);
        Ok(found)
    }

    async fn overwrite_removed(&self) -> Result<bool> {
        let mut read = self.connections.read().await?;
        // Written anew, nothing that was removed is left in its gaps; then the log in front of it is emptied.
        read.run(sqlx::query("VACUUM")).await?;
        let row = read.one(sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")).await?;
        read.finish().await?;
        let busy: Option<i64> = row.map(|row| row.get(0)).transpose()?;
        Ok(busy == Some(0))
    }

    async fn data_version(&self) -> Result<i64> {
        self.connections.data_version().await
    }

    async fn close(&self) -> Result<()> {
        self.connections.close().await
    }
}
