//! Looking through the whole file for damage.

use super::SqliteStore;
use crate::Result;

/// Most findings: the first ones say enough.
const FINDINGS_MAX: usize = 20;

impl SqliteStore {
    /// Reads every page and index of the file, and every reference between rows.
    pub(super) async fn damage(&self) -> Result<Vec<String>> {
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
}
