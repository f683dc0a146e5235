//! Requests to providers, what they used, and what should be alive in the providers' caches because of them. Keyed by the
//! request, so that nothing is counted twice.

use async_trait::async_trait;
use tine_model::{AgentId, Lifetime};

use super::SqliteStore;
use super::agents::agent_state;
use super::budgets::{AMOUNT_MAX, settle};
use super::column::{Columns, signed, usage_columns};
use super::connection::Writing;
use crate::{CacheRow, RequestRow, RequestStore, Result, UsageScope, UsageSum};

/// How long a cache entry is remembered after its last use, in milliseconds: until tomorrow's evening, so that a miss of then can be called
/// expired. The longest lifetime that a provider sells is OpenAI's of 12 hours; those that promise none (DeepSeek) keep theirs for hours.
const CACHE_KEPT_MS: i64 = 2 * 24 * 60 * 60 * 1000;

macro_rules! request_columns {
    () => {
        "id, agent, started_ms, model, uncached, write_short, write_long, read, output, reasoning, \
         stop, prompt_bytes, reply, verdict, note, micro_usd"
    };
}

#[async_trait]
impl RequestStore for SqliteStore {
    async fn record_request(&self, request: RequestRow, cache: &[CacheRow]) -> Result<bool> {
        let mut write = self.connections.write().await?;
        agent_state(&mut write, request.agent).await?;
        let sql = concat!(
            "INSERT INTO requests (",
            request_columns!(),
            ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        );
        let mut sql = sqlx::query(sql)
            .bind(request.id.as_bytes().as_slice())
            .bind(request.agent.as_bytes().as_slice())
            .bind(request.started_ms)
            .bind(request.model.as_str());
        for part in usage_columns(request.usage.as_ref()) {
            sql = sql.bind(part);
        }
        let sql = sql
            .bind(request.stop.as_deref())
            .bind(request.prompt_bytes.map(signed))
            .bind(request.reply.as_deref())
            .bind(request.verdict.as_deref())
            .bind(request.note.as_deref())
            .bind(request.micro_usd.map(|cost| signed(cost.min(AMOUNT_MAX))));
        let recorded = write.execute("request row", sql).await?.rows_affected() == 1;
        if recorded {
            for row in cache {
                put_cache_row(&mut write, row).await?;
            }
            let before = request.started_ms.saturating_sub(CACHE_KEPT_MS);
            let sql = sqlx::query("DELETE FROM cache_entries WHERE used_ms < ?").bind(before);
            write.run("old cache rows", sql).await?;
            settle(&mut write, request.agent, request.id).await?;
        }
        write.commit().await?;
        Ok(recorded)
    }

    async fn requests(&self, agent: AgentId, scope: UsageScope) -> Result<Vec<RequestRow>> {
        let own =
            concat!("SELECT ", request_columns!(), " FROM requests WHERE agent = ? ORDER BY seq");
        let subtree = concat!(
            "WITH RECURSIVE tree (id) AS (VALUES (?) UNION ALL \
             SELECT a.id FROM tree JOIN agents a ON a.parent = tree.id) SELECT ",
            request_columns!(),
            " FROM requests WHERE agent IN (SELECT id FROM tree) ORDER BY seq"
        );
        let sql = match scope {
            UsageScope::Own => own,
            UsageScope::Subtree => subtree,
        };
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        self.connections.read_all(sql).await?.iter().map(request_row).collect()
    }

    async fn recent_requests(
        &self,
        agent: AgentId,
        until_ms: i64,
        most: usize,
    ) -> Result<Vec<RequestRow>> {
        let sql = sqlx::query(concat!(
            "SELECT ",
            request_columns!(),
            " FROM requests WHERE agent = ? AND started_ms <= ? ORDER BY seq DESC LIMIT ?"
        ));
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let sql = sql.bind(agent.as_bytes().as_slice()).bind(until_ms).bind(most);
        self.connections.read_all(sql).await?.iter().map(request_row).collect()
    }

    async fn usage_since(&self, after: i64) -> Result<(i64, Vec<UsageSum>)> {
        let sql = sqlx::query(
            "SELECT agent, count(*), \
             sum(CASE WHEN uncached IS NOT NULL AND micro_usd IS NULL THEN 1 ELSE 0 END), \
             coalesce(sum(micro_usd), 0), \
             coalesce(sum(CASE WHEN read IS NULL THEN 0 ELSE uncached + read \
                 + coalesce(write_short, 0) + coalesce(write_long, 0) END), 0), \
             coalesce(sum(read), 0), max(seq) \
             FROM requests WHERE seq > ? GROUP BY agent ORDER BY max(seq)",
        );
        let rows = self.connections.read_all(sql.bind(after)).await?;
        let mut last = after;
        let mut sums = Vec::with_capacity(rows.len());
        for row in &rows {
            last = last.max(row.get(6)?);
            sums.push(UsageSum {
                agent: row.agent(0)?,
                requests: row.unsigned(1)?,
                unpriced: row.unsigned(2)?,
                micro_usd: row.unsigned(3)?,
                prompt: row.unsigned(4)?,
                read: row.unsigned(5)?,
            });
        }
        Ok((last, sums))
    }

    async fn cache_entries(&self, scope: [u8; 32], since_ms: i64) -> Result<Vec<CacheRow>> {
        let sql = sqlx::query(
            "SELECT scope, hash, tokens, exact, bytes, lifetime, used_ms FROM cache_entries \
             WHERE scope = ? AND used_ms >= ? ORDER BY used_ms, hash",
        );
        self.connections
            .read_all(sql.bind(scope.to_vec()).bind(since_ms))
            .await?
            .iter()
            .map(cache_row)
            .collect()
    }
}

/// The later use wins; what a provider has said is not replaced by an estimate.
pub(super) async fn put_cache_row(write: &mut Writing<'_>, row: &CacheRow) -> Result<()> {
    let sql = sqlx::query(
        "INSERT INTO cache_entries (scope, hash, tokens, exact, bytes, lifetime, used_ms) \
         VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (scope, hash) DO UPDATE SET \
         tokens = CASE WHEN excluded.exact >= exact THEN excluded.tokens ELSE tokens END, \
         exact = max(exact, excluded.exact), \
         lifetime = CASE WHEN excluded.used_ms >= used_ms THEN excluded.lifetime ELSE lifetime END, \
         used_ms = max(used_ms, excluded.used_ms)",
    );
    let sql = sql
        .bind(row.scope.to_vec())
        .bind(row.hash.to_vec())
        .bind(signed(row.tokens))
        .bind(i64::from(row.exact))
        .bind(signed(row.bytes))
        .bind(row.lifetime.as_str())
        .bind(row.used_ms);
    write.run("cache row", sql).await
}

fn request_row(row: &Columns<'_>) -> Result<RequestRow> {
    let reported = row.get::<Option<i64>>(4)?.is_some();
    Ok(RequestRow {
        id: row.request(0)?,
        agent: row.agent(1)?,
        started_ms: row.get(2)?,
        model: row.get(3)?,
        usage: reported.then(|| row.usage(4)).transpose()?,
        stop: row.get(10)?,
        prompt_bytes: row.unsigned_or_null(11)?,
        reply: row.get(12)?,
        verdict: row.get(13)?,
        note: row.get(14)?,
        micro_usd: row.unsigned_or_null(15)?,
    })
}

fn cache_row(row: &Columns<'_>) -> Result<CacheRow> {
    Ok(CacheRow {
        scope: row.bytes(0)?,
        hash: row.bytes(1)?,
        tokens: row.unsigned(2)?,
        exact: row.get::<i64>(3)? != 0,
        bytes: row.unsigned(4)?,
        lifetime: row.word(5, Lifetime::from_name)?,
        used_ms: row.get(6)?,
    })
}
