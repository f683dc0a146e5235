//! Facts about servers of models, as their own answers told them.

use async_trait::async_trait;

use super::SqliteStore;
use super::column::Columns;
use crate::{Result, ServerNote, ServerStore};

#[async_trait]
impl ServerStore for SqliteStore {
    async fn note_server(&self, note: ServerNote) -> Result<()> {
        let mut write = self.connections.write().await?;
        let sql = sqlx::query(
            "INSERT INTO server_notes (host, model, name, value, at_ms) VALUES (?, ?, ?, ?, ?) \
             ON CONFLICT (host, model, name) DO UPDATE SET value = excluded.value, at_ms = excluded.at_ms",
        );
        let sql = sql.bind(note.host).bind(note.model).bind(note.name).bind(note.value);
        write.run("server note", sql.bind(note.at_ms)).await?;
        write.commit().await
    }

    async fn server_notes(&self, host: &str) -> Result<Vec<ServerNote>> {
        let sql = sqlx::query(
            "SELECT host, model, name, value, at_ms FROM server_notes WHERE host = ? \
             ORDER BY model, name",
        );
        let rows = self.connections.read_all(sql.bind(host)).await?;
        let decode = |row: &Columns<'_>| {
            let (host, model, name) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(ServerNote { host, model, name, value: row.get(3)?, at_ms: row.get(4)? })
        };
        rows.iter().map(decode).collect()
    }
}
