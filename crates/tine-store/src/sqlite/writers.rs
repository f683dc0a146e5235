//! Writers: who changes files in which directory, for as long as it holds its lease.

use async_trait::async_trait;
use tine_model::AgentId;

use super::SqliteStore;
use super::column::Columns;
use super::connection::{Sql, Writing};
use super::leases::check_fence;
use crate::{NoteWriter, Result, WriterRow, WriterStore};

/// Writers in the directory `?1`, in those above it and below it, the earliest first. Directories end with `/`.
const AROUND: &str = "SELECT w.agent, a.name, w.directory, l.owner, w.fence FROM writers w \
     JOIN leases l ON l.agent = w.agent AND l.fence = w.fence AND l.owner IS NOT NULL \
     JOIN agents a ON a.id = w.agent \
     WHERE substr(w.directory, 1, length(?1)) = ?1 OR substr(?1, 1, length(w.directory)) = w.directory \
     ORDER BY w.at_ms, a.seq";

#[async_trait]
impl WriterStore for SqliteStore {
    async fn note_writer(&self, note: NoteWriter) -> Result<Vec<WriterRow>> {
        let directory = with_slash(&note.directory);
        let rows = self.connections.read_all(around(&directory)).await?;
        let mut found = decoded(&rows)?;
        let is_noted = |(row, fence): &(WriterRow, i64)| {
            row.agent == note.agent
                && *fence == note.fence.0
                && with_slash(&row.directory) == directory
        };
        if !found.iter().any(is_noted) {
            let mut write = self.connections.write().await?;
            check_fence(&mut write, note.agent, note.fence).await?;
            let sql = "INSERT INTO writers (agent, directory, fence, at_ms) VALUES (?, ?, ?, ?) \
                 ON CONFLICT (agent) DO UPDATE SET directory = excluded.directory, \
                 fence = excluded.fence, at_ms = excluded.at_ms";
            let sql = sqlx::query(sql)
                .bind(note.agent.as_bytes().as_slice())
                .bind(directory.clone())
                .bind(note.fence.0)
                .bind(note.now_ms);
            write.run("writer", sql).await?;
            // Looked at again: of two that begin at the same time, the second one sees the first.
            let rows = write.all("writers around", around(&directory)).await?;
            found = decoded(&rows)?;
            write.commit().await?;
        }
        let others = found.into_iter().map(|(row, _)| row);
        Ok(others.filter(|row| row.agent != note.agent).collect())
    }
}

/// The writers, each with its fence.
fn decoded(rows: &[Columns<'_>]) -> Result<Vec<(WriterRow, i64)>> {
    let decode = |row: &Columns<'_>| {
        let directory = without_slash(row.get(2)?).to_owned();
        let (agent, name, owner) = (row.agent(0)?, row.get(1)?, row.get(3)?);
        Ok((WriterRow { agent, name, directory, owner }, row.get(4)?))
    };
    rows.iter().map(decode).collect()
}

/// An agent whose lease is gone writes no more.
pub(super) async fn drop_writer(write: &mut Writing<'_>, agent: AgentId) -> Result<()> {
    let sql = sqlx::query("DELETE FROM writers WHERE agent = ?");
    write.run("writer gone", sql.bind(agent.as_bytes().as_slice())).await
}

fn around(directory: &str) -> Sql<'_> {
    sqlx::query(AROUND).bind(directory)
}

fn with_slash(directory: &str) -> String {
    format!("{}/", directory.trim_end_matches('/'))
}

/// The root keeps its own.
fn without_slash(directory: &str) -> &str {
    match directory.trim_end_matches('/') {
        "" => "/",
        directory => directory,
    }
}
