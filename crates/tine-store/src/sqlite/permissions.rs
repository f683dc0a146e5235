//! Requests for permission: one queue for each tree. Every change of a request asks that it still waits, so that the first
//! answer wins and a deadline counts once, whoever looks.

use async_trait::async_trait;
use tine_model::{AgentId, AgentPrefix, Decision, PermissionId, PermissionScope, PermissionState};

use super::SqliteStore;
use super::agents::{prefix_range, require_living};
use super::column::Columns;
use super::connection::Writing;
use crate::{
    AnswerPermission, AskPermission, PermissionFilter, PermissionRow, PermissionStore, Result,
    StoreError,
};

/// Candidates named for an ambiguous prefix: as many as fit under an error message.
const CANDIDATES_MAX: i64 = 8;

/// The requests for which the condition holds.
macro_rules! permissions_where {
    ($($condition:expr),+) => {
        concat!(
            "SELECT id, agent, root, owner, call, tool, what, input, directory, why, warning, \
             rule, widest, created_ms, deadline_ms, fallback, state, scope, answered_by, \
             answered_ms, reason, taken_ms FROM permissions WHERE ",
            $($condition),+
        )
    };
}

/// The topmost ancestor of the agent in `?1`.
macro_rules! root_of {
    () => {
        "(WITH RECURSIVE line (id, parent) AS (SELECT id, parent FROM agents WHERE id = ?1 \
         UNION ALL SELECT a.id, a.parent FROM line JOIN agents a ON a.id = line.parent) \
         SELECT id FROM line WHERE parent IS NULL)"
    };
}
pub(super) use root_of;

/// A request that its asker may still act on: it waits, or a person's answer was not used.
macro_rules! is_open {
    () => {
        "(state = 'pending' OR (state IN ('allowed', 'denied') AND taken_ms IS NULL))"
    };
}

/// An answer that reaches beyond its one call.
macro_rules! is_standing {
    () => {
        "scope <> 'once' AND state IN ('allowed', 'denied')"
    };
}

#[async_trait]
impl PermissionStore for SqliteStore {
    async fn ask_permission(&self, ask: AskPermission) -> Result<PermissionRow> {
        let mut write = self.connections.write().await?;
        require_living(&mut write, ask.agent).await?;
        let sql = permissions_where!(
            "agent = ? AND call = ? AND tool = ? AND input = ? AND ",
            is_open!(),
            " ORDER BY seq DESC LIMIT 1"
        );
        let sql = sqlx::query(sql)
            .bind(ask.agent.as_bytes().as_slice())
            .bind(ask.call.as_str())
            .bind(ask.tool.as_str())
            .bind(ask.input.as_str());
        let before = write.one("asked before", sql).await?;
        let before = before.as_ref().map(permission_row).transpose()?;
        let id = match before {
            None => {
                insert_permission(&mut write, &ask).await?;
                ask.id
            }
            Some(before) => {
                let sql = "UPDATE permissions SET owner = ?, deadline_ms = ?, fallback = ? \
                     WHERE id = ? AND state = 'pending'";
                let sql = sqlx::query(sql)
                    .bind(ask.owner.as_str())
                    .bind(ask.deadline_ms)
                    .bind(ask.fallback.as_str())
                    .bind(before.id.as_bytes().as_slice());
                write.run("asked again", sql).await?;
                before.id
            }
        };
        let row = read_back(&mut write, id).await?;
        write.commit().await?;
        Ok(row)
    }

    async fn permission(&self, id: PermissionId) -> Result<PermissionRow> {
        let sql = permissions_where!("id = ?");
        let sql = sqlx::query(sql).bind(id.as_bytes().as_slice());
        let row = self.connections.read_one(sql).await?;
        permission_row(&row.ok_or_else(|| unknown(&id.to_string()))?)
    }

    async fn resolve_permission(&self, text: &str) -> Result<PermissionId> {
        let prefix = AgentPrefix::parse(text).map_err(|_| unknown(text))?;
        let (low, high) = prefix_range(&prefix);
        let sql = "SELECT id FROM permissions WHERE id BETWEEN ? AND ? ORDER BY seq LIMIT ?";
        let sql = sqlx::query(sql).bind(low.as_slice()).bind(high.as_slice()).bind(CANDIDATES_MAX);
        let rows = self.connections.read_all(sql).await?;
        let candidates: Vec<PermissionId> =
            rows.iter().map(|row| row.permission(0)).collect::<Result<_>>()?;
        match candidates[..] {
            [] => Err(unknown(text)),
            [id] => Ok(id),
            [..] => Err(StoreError::AmbiguousPermission { prefix: text.to_owned(), candidates }),
        }
    }

    async fn permissions(
        &self,
        root: Option<AgentId>,
        filter: PermissionFilter,
    ) -> Result<Vec<PermissionRow>> {
        macro_rules! select {
            ($which:expr) => {
                permissions_where!("(?1 IS NULL OR root = ?1) AND ", $which, " ORDER BY seq")
            };
        }
        let sql = match filter {
            PermissionFilter::Pending => select!("state = 'pending'"),
            PermissionFilter::Standing => select!(is_standing!()),
            PermissionFilter::All => select!("TRUE"),
        };
        let sql = sqlx::query(sql).bind(root.as_ref().map(|root| root.as_bytes().as_slice()));
        self.connections.read_all(sql).await?.iter().map(permission_row).collect()
    }

    async fn open_permission(&self, agent: AgentId, call: &str) -> Result<Option<PermissionRow>> {
        let sql = permissions_where!(
            "agent = ? AND call = ? AND ",
            is_open!(),
            " ORDER BY seq DESC LIMIT 1"
        );
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice()).bind(call);
        self.connections.read_one(sql).await?.as_ref().map(permission_row).transpose()
    }

    async fn standing_permissions(&self, agent: AgentId) -> Result<Vec<PermissionRow>> {
        let sql = permissions_where!(
            "root = ",
            root_of!(),
            " AND ",
            is_standing!(),
            " AND (scope <> 'agent' OR agent = ?1) ORDER BY seq"
        );
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        self.connections.read_all(sql).await?.iter().map(permission_row).collect()
    }

    async fn answer_permission(&self, answer: AnswerPermission) -> Result<PermissionRow> {
        let mut write = self.connections.write().await?;
        let row = read_back(&mut write, answer.id).await?;
        if row.state != PermissionState::Pending {
            return Err(StoreError::Settled { permission: Box::new(row) });
        }
        let widest = row.widest_for(answer.decision);
        if !answer.scope.is_within(widest) {
            return Err(StoreError::TooWide { asked: answer.scope, widest });
        }
        let state = match answer.decision {
            Decision::Allow => PermissionState::Allowed,
            Decision::Deny => PermissionState::Denied,
        };
        let sql = "UPDATE permissions SET state = ?, scope = ?, answered_by = ?, answered_ms = ?, \
             reason = ?, rule = COALESCE(?, rule) WHERE id = ? AND state = 'pending'";
        let sql = sqlx::query(sql)
            .bind(state.as_str())
            .bind(answer.scope.as_str())
            .bind(answer.by.as_str())
            .bind(answer.now_ms)
            .bind(answer.reason.as_deref())
            .bind(answer.rule.as_deref())
            .bind(answer.id.as_bytes().as_slice());
        write.run("permission answer", sql).await?;
        let row = read_back(&mut write, answer.id).await?;
        write.commit().await?;
        Ok(row)
    }

    async fn default_permission(
        &self,
        id: PermissionId,
        by: &str,
        now_ms: i64,
    ) -> Result<PermissionRow> {
        let mut write = self.connections.write().await?;
        let sql = "UPDATE permissions SET state = 'expired', answered_by = ?, answered_ms = ? \
             WHERE id = ? AND state = 'pending'";
        let sql = sqlx::query(sql).bind(by).bind(now_ms).bind(id.as_bytes().as_slice());
        write.run("permission default", sql).await?;
        let row = read_back(&mut write, id).await?;
        write.commit().await?;
        Ok(row)
    }

    async fn take_permission(&self, id: PermissionId, now_ms: i64) -> Result<bool> {
        let mut write = self.connections.write().await?;
        let sql = "UPDATE permissions SET taken_ms = ? WHERE id = ? AND taken_ms IS NULL \
             AND state IN ('allowed', 'denied', 'expired')";
        let sql = sqlx::query(sql).bind(now_ms).bind(id.as_bytes().as_slice());
        let taken = write.execute("permission taken", sql).await?.rows_affected() == 1;
        write.commit().await?;
        Ok(taken)
    }

    async fn withdraw_permissions(&self, agent: AgentId, now_ms: i64) -> Result<u64> {
        // Asked first, outside the transaction: nearly every run ends with nothing open.
        let sql = "SELECT 1 FROM permissions WHERE agent = ? AND state = 'pending' LIMIT 1";
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        let waiting = self.connections.read_one(sql).await?;
        if waiting.is_none() {
            return Ok(0);
        }
        let mut write = self.connections.write().await?;
        let sql = "UPDATE permissions SET state = 'withdrawn', answered_ms = ? \
             WHERE agent = ? AND state = 'pending'";
        let sql = sqlx::query(sql).bind(now_ms).bind(agent.as_bytes().as_slice());
        let withdrawn = write.execute("permissions withdrawn", sql).await?.rows_affected();
        write.commit().await?;
        Ok(withdrawn)
    }

    async fn revoke_permission(&self, id: PermissionId, now_ms: i64) -> Result<PermissionRow> {
        let mut write = self.connections.write().await?;
        let sql = concat!(
            "UPDATE permissions SET state = 'withdrawn', answered_ms = ? WHERE id = ? AND ",
            is_standing!()
        );
        let sql = sqlx::query(sql).bind(now_ms).bind(id.as_bytes().as_slice());
        let revoked = write.execute("permission revoked", sql).await?.rows_affected() == 1;
        let row = read_back(&mut write, id).await?;
        match revoked {
            true => write.commit().await.map(|()| row),
            false => Err(StoreError::NotStanding { permission: Box::new(row) }),
        }
    }
}

/// Withdraws what the dead have asked for. Part of their killing.
pub(super) async fn withdraw_of_the_dead(write: &mut Writing<'_>, now_ms: i64) -> Result<()> {
    let sql = "UPDATE permissions SET state = 'withdrawn', answered_ms = ? WHERE state = 'pending' \
         AND agent IN (SELECT id FROM agents WHERE state = 'dead')";
    write.run("requests of the dead", sqlx::query(sql).bind(now_ms)).await
}

async fn insert_permission(write: &mut Writing<'_>, ask: &AskPermission) -> Result<()> {
    let sql = concat!(
        "INSERT INTO permissions (agent, root, id, owner, call, tool, what, input, directory, \
         why, warning, rule, widest, created_ms, deadline_ms, fallback, state) VALUES (?1, ",
        root_of!(),
        ", ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 'pending')"
    );
    let sql = sqlx::query(sql)
        .bind(ask.agent.as_bytes().as_slice())
        .bind(ask.id.as_bytes().as_slice())
        .bind(ask.owner.as_str())
        .bind(ask.call.as_str())
        .bind(ask.tool.as_str())
        .bind(ask.what.as_str())
        .bind(ask.input.as_str())
        .bind(ask.directory.as_str())
        .bind(ask.why.as_str())
        .bind(ask.warning.as_deref())
        .bind(ask.rule.as_deref())
        .bind(ask.widest.as_str())
        .bind(ask.now_ms)
        .bind(ask.deadline_ms)
        .bind(ask.fallback.as_str());
    write.run("permission row", sql).await
}

async fn read_back(write: &mut Writing<'_>, id: PermissionId) -> Result<PermissionRow> {
    let sql = permissions_where!("id = ?");
    let row = write.one("permission", sqlx::query(sql).bind(id.as_bytes().as_slice())).await?;
    permission_row(&row.ok_or_else(|| unknown(&id.to_string()))?)
}

fn unknown(name: &str) -> StoreError {
    StoreError::UnknownPermission { name: name.to_owned() }
}

fn permission_row(row: &Columns<'_>) -> Result<PermissionRow> {
    Ok(PermissionRow {
        id: row.permission(0)?,
        agent: row.agent(1)?,
        root: row.agent(2)?,
        owner: row.get(3)?,
        call: row.get(4)?,
        tool: row.get(5)?,
        what: row.get(6)?,
        input: row.get(7)?,
        directory: row.get(8)?,
        why: row.get(9)?,
        warning: row.get(10)?,
        rule: row.get(11)?,
        widest: row.word(12, PermissionScope::from_name)?,
        created_ms: row.get(13)?,
        deadline_ms: row.get(14)?,
        fallback: row.word(15, Decision::from_name)?,
        state: row.word(16, PermissionState::from_name)?,
        scope: row.word_or_null(17, PermissionScope::from_name)?,
        answered_by: row.get(18)?,
        answered_ms: row.get(19)?,
        reason: row.get(20)?,
        taken_ms: row.get(21)?,
    })
}
