//! Runs that another machine has, and the rows that travel there.

use async_trait::async_trait;
use serde_json::Value;
use tine_model::AgentId;

use super::SqliteStore;
use super::agents::require_living;
use super::column::{Columns, from_hex};
use super::connection::{Reading, Writing};
use super::entries::append_entries;
use super::leases::check_fence;
use super::open::SCHEMA_VERSION;
use super::requests::put_cache_row;
use crate::remote::{Lineage, RemoteRun, Rows, TableRows, TakeIn};
use crate::{CacheRow, Fence, RemoteStore, Result, StoreError};

/// Tables whose rows travel, each behind those that it refers to.
const TABLES: [&str; 4] = ["heads", "agents", "entries", "requests"];

/// The columns of a run.
macro_rules! run {
    ($which:literal) => {
        concat!("SELECT agent, run, position, detail, begun_ms, ended_ms FROM remote_runs ", $which)
    };
}

/// The line of an agent: `?1` is the agent; `above` is 0 for itself, and counts its ancestors.
macro_rules! line {
    ($select:literal) => {
        concat!(
            "WITH RECURSIVE line (id, parent, fork_point, upto, above) AS (\
             SELECT id, parent, fork_point, 9223372036854775807, 0 FROM agents WHERE id = ?1 \
             UNION ALL SELECT a.id, a.parent, a.fork_point, \
             min(line.upto, coalesce(line.fork_point, 0)), line.above + 1 \
             FROM line JOIN agents a ON a.id = line.parent) ",
            $select
        )
    };
}

/// The rows of the ancestors. Those above one that inherits nothing have no entries.
const INHERITED: [(&str, &str); 3] = [
    (
        "heads",
        line!(
            "SELECT DISTINCT h.* FROM line JOIN agents a ON a.id = line.id \
             JOIN heads h ON h.hash = a.head WHERE above > 0"
        ),
    ),
    (
        "agents",
        line!(
            "SELECT a.* FROM line JOIN agents a ON a.id = line.id WHERE above > 0 \
             ORDER BY above DESC"
        ),
    ),
    (
        "entries",
        line!(
            "SELECT e.* FROM line JOIN entries e ON e.agent = line.id \
             WHERE above > 0 AND e.id <= line.upto ORDER BY e.id"
        ),
    ),
];

/// The agent's own rows, and the last request of each of the line: what was sent last tells what a cache holds.
const OWN: [(&str, &str); 4] = [
    (
        "heads",
        line!(
            "SELECT h.* FROM line JOIN agents a ON a.id = line.id JOIN heads h ON h.hash = a.head \
             WHERE above = 0 AND h.hash NOT IN (SELECT a.head FROM line l \
             JOIN agents a ON a.id = l.id WHERE l.above > 0)"
        ),
    ),
    ("agents", line!("SELECT a.* FROM line JOIN agents a ON a.id = line.id WHERE above = 0")),
    ("entries", "SELECT * FROM entries WHERE agent = ?1 ORDER BY id"),
    (
        "requests",
        line!(
            "SELECT r.* FROM line JOIN requests r ON r.agent = line.id \
             WHERE r.seq = (SELECT max(seq) FROM requests WHERE agent = line.id) ORDER BY r.seq"
        ),
    ),
];

#[async_trait]
impl RemoteStore for SqliteStore {
    async fn begin_remote(&self, run: &RemoteRun, fence: Fence) -> Result<()> {
        let mut write = self.connections.write().await?;
        require_living(&mut write, run.agent).await?;
        check_fence(&mut write, run.agent, fence).await?;
        let sql = "INSERT INTO remote_runs (agent, run, position, detail, begun_ms, ended_ms) \
             VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (agent) DO UPDATE SET run = excluded.run, \
             position = excluded.position, detail = excluded.detail, \
             begun_ms = excluded.begun_ms, ended_ms = excluded.ended_ms";
        let sql = sqlx::query(sql).bind(run.agent.as_bytes().as_slice()).bind(&run.run);
        let sql = sql.bind(run.position as i64).bind(&run.detail).bind(run.begun_ms);
        write.run("remote run", sql.bind(run.ended_ms)).await?;
        write.commit().await
    }

    async fn take_in(&self, take: TakeIn<'_>) -> Result<bool> {
        let TakeIn { agent, fence, run, position, entries } = take;
        let mut write = self.connections.write().await?;
        require_living(&mut write, agent).await?;
        check_fence(&mut write, agent, fence).await?;
        let sql = "UPDATE remote_runs SET position = ?3 \
             WHERE agent = ?1 AND run = ?2 AND ended_ms IS NULL AND position < ?3";
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice()).bind(run);
        let moved = write.execute("position", sql.bind(position as i64)).await?;
        let is_new = moved.rows_affected() > 0;
        if is_new {
            append_entries(&mut write, agent, entries).await?;
        }
        write.commit().await?;
        Ok(is_new)
    }

    async fn end_remote(&self, agent: AgentId, run: &str, now_ms: i64) -> Result<()> {
        let mut write = self.connections.write().await?;
        let sql = "UPDATE remote_runs SET ended_ms = ?3 \
             WHERE agent = ?1 AND run = ?2 AND ended_ms IS NULL";
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice()).bind(run).bind(now_ms);
        write.run("remote end", sql).await?;
        write.commit().await
    }

    async fn remote_run(&self, agent: AgentId) -> Result<Option<RemoteRun>> {
        let sql = sqlx::query(run!("WHERE agent = ?")).bind(agent.as_bytes().as_slice());
        self.connections.read_one(sql).await?.map(|row| run_of(&row)).transpose()
    }

    async fn open_remotes(&self) -> Result<Vec<RemoteRun>> {
        let sql = sqlx::query(run!("WHERE ended_ms IS NULL ORDER BY begun_ms, agent"));
        let rows = self.connections.read_all(sql).await?;
        rows.iter().map(run_of).collect()
    }

    async fn note_cache(&self, cache: &[CacheRow]) -> Result<()> {
        let mut write = self.connections.write().await?;
        for row in cache {
            put_cache_row(&mut write, row).await?;
        }
        write.commit().await
    }

    async fn lineage_rows(&self, agent: AgentId) -> Result<Lineage> {
        let mut read = self.connections.read_snapshot().await?;
        let inherited = rows_of(&mut read, agent, &INHERITED).await?;
        let own = rows_of(&mut read, agent, &OWN).await?;
        read.finish().await?;
        if own.tables.iter().all(|table| table.rows.is_empty()) {
            return Err(StoreError::no_agent(agent));
        }
        Ok(Lineage { inherited, own })
    }

    async fn put_rows(&self, parts: &[&Rows]) -> Result<()> {
        let mut write = self.connections.write().await?;
        let all = || parts.iter().flat_map(|rows| &rows.tables);
        if let Some(other) = parts.iter().find(|rows| rows.version != SCHEMA_VERSION) {
            let (found, known) = (other.version, SCHEMA_VERSION);
            return Err(StoreError::OtherVersion { found, known });
        }
        if let Some(unknown) = all().find(|rows| !TABLES.contains(&rows.table.as_str())) {
            return Err(StoreError::ForeignRows { table: unknown.table.clone() });
        }
        // Rows stand behind those that they refer to.
        for table in TABLES {
            for rows in all().filter(|rows| rows.table == table) {
                put_table(&mut write, table, rows).await?;
            }
        }
        write.commit().await
    }
}

fn run_of(row: &Columns<'_>) -> Result<RemoteRun> {
    Ok(RemoteRun {
        agent: row.agent(0)?,
        run: row.get(1)?,
        position: row.get::<i64>(2)?.max(0) as u64,
        detail: row.get(3)?,
        begun_ms: row.get(4)?,
        ended_ms: row.get(5)?,
    })
}

/// Reads rows with all their columns.
async fn rows_of(
    read: &mut Reading<'_>,
    agent: AgentId,
    tables: &[(&str, &'static str)],
) -> Result<Rows> {
    let mut found = Vec::with_capacity(tables.len());
    for (table, sql) in tables {
        let rows = read.all(sqlx::query(*sql).bind(agent.as_bytes().as_slice())).await?;
        let columns = rows.first().map(Columns::names).unwrap_or_default();
        let rows: Result<Vec<_>> = rows.iter().map(Columns::values).collect();
        found.push(TableRows { table: (*table).to_owned(), columns, rows: rows? });
    }
    Ok(Rows { version: SCHEMA_VERSION, tables: found })
}

/// Puts rows into a table that has these columns. No name of what came from elsewhere becomes part of a statement.
async fn put_table(
    write: &mut Writing<'_>,
    table: &'static str,
    TableRows { columns, rows, .. }: &TableRows,
) -> Result<()> {
    let foreign = || StoreError::ForeignRows { table: table.to_owned() };
    let names = sqlx::query("SELECT name FROM pragma_table_info(?) ORDER BY cid").bind(table);
    let names = write.all("columns", names).await?;
    let names: Result<Vec<String>> = names.iter().map(|row| row.get(0)).collect();
    if !rows.is_empty() && names? != *columns {
        return Err(foreign());
    }
    let places = vec!["?"; columns.len()].join(", ");
    let statement = format!("INSERT OR IGNORE INTO {table} VALUES ({places})");
    for row in rows {
        if row.len() != columns.len() {
            return Err(foreign());
        }
        let mut sql = sqlx::query(sqlx::AssertSqlSafe(statement.clone()));
        for value in row {
            sql = match value {
                Value::Null => sql.bind(None::<i64>),
                Value::String(text) => sql.bind(text.clone()),
                Value::Number(number) => sql.bind(number.as_i64().ok_or_else(foreign)?),
                Value::Object(bytes) => {
                    let hex = bytes.get("hex").and_then(Value::as_str);
                    sql.bind(hex.and_then(from_hex).ok_or_else(foreign)?)
                }
                Value::Bool(_) | Value::Array(_) => return Err(foreign()),
            };
        }
        write.run("row", sql).await?;
    }
    Ok(())
}
