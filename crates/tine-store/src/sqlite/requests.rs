//! Requests to providers and what they used. Keyed by the request, so that nothing is counted twice.

use std::path::Path;

use sqlx::sqlite::SqliteRow;
use tine_model::AgentId;

use super::SqliteStore;
use super::agents::agent_state;
use super::column::{Columns, usage_columns};
use crate::{ModelUsage, RequestRow, Result, UsageScope};

macro_rules! request_columns {
    () => {
        "id, agent, started_ms, model, uncached, write_short, write_long, read, output, \
         reasoning, stop, prompt_bytes"
    };
}

macro_rules! usage_sums {
    () => {
        "SELECT model, count(*), sum(uncached), sum(write_short), sum(write_long), sum(read), \
         sum(output), sum(reasoning) FROM requests "
    };
}

impl SqliteStore {
    pub(super) async fn record_request_row(&self, request: RequestRow) -> Result<bool> {
        let mut write = self.connections.write().await?;
        agent_state(&mut write, request.agent).await?;
        let sql = concat!(
            "INSERT INTO requests (",
            request_columns!(),
            ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        );
        let mut sql = sqlx::query(sql)
            .bind(request.id.as_bytes().as_slice())
            .bind(request.agent.as_bytes().as_slice())
            .bind(request.started_ms)
            .bind(request.model.as_str());
        for part in usage_columns(request.usage.as_ref()) {
            sql = sql.bind(part);
        }
        let prompt_bytes =
            request.prompt_bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
        let sql = sql.bind(request.stop.as_deref()).bind(prompt_bytes);
        let recorded = write.run("request row", sql).await?.rows_affected() == 1;
        write.commit().await?;
        Ok(recorded)
    }

    pub(super) async fn request_rows(&self, agent: AgentId) -> Result<Vec<RequestRow>> {
        let sql =
            concat!("SELECT ", request_columns!(), " FROM requests WHERE agent = ? ORDER BY seq");
        let mut read = self.connections.read().await?;
        let rows = read.all(sqlx::query(sql).bind(agent.as_bytes().as_slice())).await?;
        read.finish().await?;
        rows.iter().map(|row| request_row(self.connections.path(), row)).collect()
    }

    pub(super) async fn usage_rows(
        &self,
        agent: AgentId,
        scope: UsageScope,
    ) -> Result<Vec<ModelUsage>> {
        let own = concat!(usage_sums!(), "WHERE agent = ? GROUP BY model ORDER BY model");
        let subtree = concat!(
            "WITH RECURSIVE tree (id) AS (VALUES (?) UNION ALL \
             SELECT a.id FROM tree JOIN agents a ON a.parent = tree.id) ",
            usage_sums!(),
            "JOIN tree ON tree.id = requests.agent GROUP BY model ORDER BY model"
        );
        let sql = match scope {
            UsageScope::Own => own,
            UsageScope::Subtree => subtree,
        };
        let mut read = self.connections.read().await?;
        let rows = read.all(sqlx::query(sql).bind(agent.as_bytes().as_slice())).await?;
        read.finish().await?;
        let decode = |row| {
            let row = Columns::new(self.connections.path(), row);
            let (model, requests) = (row.get(0)?, row.unsigned(1)?);
            Ok(ModelUsage { model, requests, usage: row.usage(2)? })
        };
        rows.iter().map(decode).collect()
    }
}

fn request_row(path: &Path, row: &SqliteRow) -> Result<RequestRow> {
    let row = Columns::new(path, row);
    let reported = row.get::<Option<i64>>(4)?.is_some();
    Ok(RequestRow {
        id: row.request(0)?,
        agent: row.agent(1)?,
        started_ms: row.get(2)?,
        model: row.get(3)?,
        usage: reported.then(|| row.usage(4)).transpose()?,
        stop: row.get(10)?,
        prompt_bytes: row.unsigned_or_null(11)?,
    })
}
