//! Budgets of trees: caps, what is spent and what is reserved, and the line of workers that wait to run.
//!
//! A request's estimated use is reserved in one transaction with the check of all caps. It is settled in the transaction that
//! records the request. So spending passes a cap by at most the requests under way, however many processes run the tree.
//! Reservations go with the agent's lease, or when its owner is dead.

use async_trait::async_trait;
use tine_model::{AgentId, Cap, CapReached, RequestId, Standing};

use super::SqliteStore;
use super::column::{Columns, TOKENS_MAX, signed};
use super::connection::Writing;
use super::permissions::root_of;
use crate::{
    BudgetRow, BudgetStore, Caps, NewChild, Reserve, Reserved, Result, SetBudget, StandInLine,
    StoreError,
};

/// Most that is kept of one amount of money, in millionths of a USD, and of any cap: a billion dollars. Low enough that no sum
/// leaves 64 bits.
pub(super) const AMOUNT_MAX: u64 = 1_000_000_000_000_000;

/// Tokens of a request, in a query over `requests`. Where no usage was reported, a token for every four bytes that were sent.
macro_rules! tokens_of {
    () => {
        "coalesce(uncached + coalesce(write_short, 0) + coalesce(write_long, 0) + coalesce(read, 0) \
         + coalesce(output, 0), prompt_bytes / 4, 0)"
    };
}

/// The budget of the tree of the agent in `?1`; no row where there is none.
const BUDGET: &str = concat!(
    "SELECT b.root, b.tokens_max, b.micro_usd_max, b.time_max_ms, b.agents_max, b.running_max, \
     b.tokens, b.micro_usd, b.unpriced, b.started_ms, b.updated_ms, \
     (SELECT coalesce(sum(tokens), 0) FROM reservations WHERE root = b.root), \
     (SELECT coalesce(sum(micro_usd), 0) FROM reservations WHERE root = b.root), \
     (SELECT count(*) FROM reservations WHERE root = b.root AND kind = 'request'), \
     (SELECT count(*) FROM reservations WHERE root = b.root AND kind = 'run') \
     FROM budgets b WHERE b.root = ",
    root_of!()
);

/// Workers that were ever made in the tree below the agent in `?1`.
const WORKERS: &str = "WITH RECURSIVE tree (id) AS (VALUES (?1) UNION ALL \
     SELECT a.id FROM tree JOIN agents a ON a.parent = tree.id) \
     SELECT count(*) FROM tree JOIN agents a ON a.id = tree.id WHERE a.standing = ?2";

#[async_trait]
impl BudgetStore for SqliteStore {
    async fn set_budget(&self, set: SetBudget) -> Result<BudgetRow> {
        let mut write = self.connections.write().await?;
        let agent = set.agent;
        let sql = concat!(
            "INSERT INTO budgets (root, tokens, micro_usd, unpriced, started_ms, updated_ms) \
             WITH RECURSIVE tree (id) AS (VALUES (",
            root_of!(),
            ") UNION ALL SELECT a.id FROM tree JOIN agents a ON a.parent = tree.id) \
             SELECT (SELECT id FROM tree LIMIT 1), coalesce(sum(",
            tokens_of!(),
            "), 0), coalesce(sum(r.micro_usd), 0), count(*) FILTER (WHERE r.id IS NOT NULL AND \
             r.micro_usd IS NULL), ?2, ?2 FROM tree LEFT JOIN requests r ON r.agent = tree.id \
             WHERE true ON CONFLICT DO NOTHING"
        );
        super::agents::agent_state(&mut write, agent).await?;
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice()).bind(set.now_ms);
        write.run("budget row", sql).await?;
        let sql = sqlx::query(BUDGET).bind(agent.as_bytes().as_slice());
        let row = write.one("budget", sql).await?.ok_or_else(|| StoreError::no_agent(agent))?;
        let mut budget = budget_row(&row)?;
        // The clock starts when there is a time to keep.
        let had_time = budget.caps.time_ms.is_some();
        for (cap, most) in set.caps {
            budget.caps.set(cap, most.map(|most| most.min(AMOUNT_MAX)));
        }
        if !had_time && budget.caps.time_ms.is_some() {
            budget.started_ms = set.now_ms;
        }
        budget.updated_ms = set.now_ms;
        write_caps(&mut write, &budget).await?;
        count_workers(&mut write, &mut budget).await?;
        write.commit().await?;
        Ok(budget)
    }

    async fn budget(&self, agent: AgentId) -> Result<Option<BudgetRow>> {
        let mut read = self.connections.read_snapshot().await?;
        let sql = sqlx::query("SELECT 1 FROM agents WHERE id = ?");
        if read.one(sql.bind(agent.as_bytes().as_slice())).await?.is_none() {
            read.finish().await?;
            return Err(StoreError::no_agent(agent));
        }
        let sql = sqlx::query(BUDGET).bind(agent.as_bytes().as_slice());
        let row = read.one(sql).await?;
        let mut budget = row.as_ref().map(budget_row).transpose()?;
        if let Some(budget) = &mut budget {
            let sql = sqlx::query(WORKERS).bind(budget.root.as_bytes().as_slice());
            let row = read.one(sql.bind(Standing::Worker.as_str())).await?;
            budget.agents = counted(row)?;
        }
        read.finish().await?;
        Ok(budget)
    }

    async fn reserve(&self, ask: Reserve) -> Result<Reserved> {
        // Asked first, outside the transaction: most trees have no budget, and hundreds who wait at a cap and ask again whenever
        // anything changes must not keep those from writing who can let them go on.
        let sql = sqlx::query(BUDGET).bind(ask.agent.as_bytes().as_slice());
        let row = self.connections.read_one(sql).await?;
        let Some(row) = row else { return Ok(Reserved::Unbounded) };
        let budget = budget_row(&row)?;
        if let Some(refused) = refusal(&budget, ask.now_ms) {
            return Ok(refused);
        }
        let mut write = self.connections.write().await?;
        let sql = sqlx::query(BUDGET).bind(ask.agent.as_bytes().as_slice());
        let row = write.one("budget", sql).await?;
        let row = row.ok_or_else(|| StoreError::no_agent(ask.agent))?;
        let budget = budget_row(&row)?;
        let reserved = match refusal(&budget, ask.now_ms) {
            Some(refused) => refused,
            None => {
                insert_reservation(&mut write, &budget, &ask).await?;
                Reserved::Granted
            }
        };
        write.commit().await?;
        Ok(reserved)
    }

    async fn release_reservation(&self, id: RequestId) -> Result<()> {
        let mut write = self.connections.write().await?;
        drop_reservation(&mut write, id.as_bytes().as_slice()).await?;
        write.commit().await
    }

    async fn stand_in_line(&self, stand: StandInLine) -> Result<()> {
        let Some(first) = stand.agents.first() else { return Ok(()) };
        if !self.has_budget(*first).await? {
            return Ok(());
        }
        let sql = concat!(
            "INSERT INTO reservations (id, root, agent, owner, kind, tokens, micro_usd, at_ms) \
             SELECT ?1, root, ?1, ?2, 'run', 0, 0, ?3 FROM budgets WHERE root = ",
            root_of!(),
            " ON CONFLICT (id) DO NOTHING"
        );
        let mut write = self.connections.write().await?;
        for agent in &stand.agents {
            let sql = sqlx::query(sql)
                .bind(agent.as_bytes().as_slice())
                .bind(stand.owner.as_str())
                .bind(stand.now_ms);
            write.run("place in line", sql).await?;
        }
        write.commit().await
    }

    async fn before_in_line(&self, agent: AgentId) -> Result<Option<CapReached>> {
        let sql = "SELECT b.running_max, (SELECT count(*) FROM reservations r \
             WHERE r.root = own.root AND r.kind = 'run' AND r.seq < own.seq) \
             FROM reservations own JOIN budgets b ON b.root = own.root WHERE own.id = ?";
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        let row = self.connections.read_one(sql).await?;
        let Some(row) = row else { return Ok(None) };
        let (most, used) = (row.unsigned_or_null(0)?, row.unsigned(1)?);
        let waits = |most: &u64| used >= *most;
        Ok(most.filter(waits).map(|most| CapReached { cap: Cap::Running, used, most }))
    }

    async fn leave_line(&self, agent: AgentId) -> Result<()> {
        let mut write = self.connections.write().await?;
        drop_reservation(&mut write, agent.as_bytes().as_slice()).await?;
        write.commit().await
    }
}

impl SqliteStore {
    async fn has_budget(&self, agent: AgentId) -> Result<bool> {
        let sql = concat!("SELECT 1 FROM budgets WHERE root = ", root_of!());
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        Ok(self.connections.read_one(sql).await?.is_some())
    }
}

/// Why a request may not be sent now.
fn refusal(budget: &BudgetRow, now_ms: i64) -> Option<Reserved> {
    let spent = budget.spent(now_ms).map(Reserved::Spent);
    spent.or_else(|| budget.promised(now_ms).map(Reserved::Promised))
}

/// Refuses more workers than the tree may have.
pub(super) async fn check_workers(
    write: &mut Writing<'_>,
    parent: AgentId,
    children: &[NewChild],
) -> Result<()> {
    let asked = children.iter().filter(|child| child.agent.standing == Standing::Worker).count();
    if asked == 0 {
        return Ok(());
    }
    let sql = sqlx::query(BUDGET).bind(parent.as_bytes().as_slice());
    let Some(row) = write.one("budget", sql).await? else { return Ok(()) };
    let mut budget = budget_row(&row)?;
    let Some(most) = budget.caps.agents else { return Ok(()) };
    count_workers(write, &mut budget).await?;
    if budget.agents.saturating_add(asked as u64) > most {
        let reached = CapReached { cap: Cap::Agents, used: budget.agents, most };
        return Err(StoreError::OverBudget { root: budget.root, asked: asked as u64, reached });
    }
    Ok(())
}

/// Adds a request that was just recorded to what its tree has spent, and lets go of what was reserved for it.
pub(super) async fn settle(write: &mut Writing<'_>, agent: AgentId, id: RequestId) -> Result<()> {
    let sql = concat!(
        "UPDATE budgets SET (tokens, micro_usd, unpriced) = (SELECT budgets.tokens + ",
        tokens_of!(),
        ", budgets.micro_usd + coalesce(r.micro_usd, 0), budgets.unpriced + (r.micro_usd IS NULL) \
         FROM requests r WHERE r.id = ?2) WHERE root = ",
        root_of!()
    );
    let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice()).bind(id.as_bytes().as_slice());
    write.run("budget", sql).await?;
    drop_reservation(write, id.as_bytes().as_slice()).await
}

/// Lets go of everything that is reserved for an agent that nobody runs any more.
pub(super) async fn drop_of_agent(write: &mut Writing<'_>, agent: AgentId) -> Result<()> {
    let sql = sqlx::query("DELETE FROM reservations WHERE agent = ?");
    write.run("reservations", sql.bind(agent.as_bytes().as_slice())).await
}

/// Takes the dead out of the line. What their requests have reserved stays until they end.
pub(super) async fn drop_places_of_the_dead(write: &mut Writing<'_>) -> Result<()> {
    let sql = "DELETE FROM reservations WHERE kind = 'run' AND \
         agent IN (SELECT id FROM agents WHERE state = 'dead')";
    write.run("places of the dead", sqlx::query(sql)).await
}

/// Lets go of everything that a dead process had reserved.
pub(super) async fn drop_of_owner(write: &mut Writing<'_>, owner: &str) -> Result<()> {
    let sql = sqlx::query("DELETE FROM reservations WHERE owner = ?");
    write.run("reservations", sql.bind(owner.to_owned())).await
}

async fn drop_reservation(write: &mut Writing<'_>, id: &[u8]) -> Result<()> {
    let sql = sqlx::query("DELETE FROM reservations WHERE id = ?").bind(id.to_vec());
    write.run("reservation", sql).await
}

async fn insert_reservation(
    write: &mut Writing<'_>,
    budget: &BudgetRow,
    ask: &Reserve,
) -> Result<()> {
    let sql = "INSERT INTO reservations (id, root, agent, owner, kind, tokens, micro_usd, at_ms) \
         VALUES (?, ?, ?, ?, 'request', ?, ?, ?) ON CONFLICT (id) DO NOTHING";
    let sql = sqlx::query(sql)
        .bind(ask.id.as_bytes().as_slice())
        .bind(budget.root.as_bytes().as_slice())
        .bind(ask.agent.as_bytes().as_slice())
        .bind(ask.owner.as_str())
        .bind(signed(ask.tokens.min(TOKENS_MAX)))
        .bind(signed(ask.micro_usd.min(AMOUNT_MAX)))
        .bind(ask.now_ms);
    write.run("reservation", sql).await
}

async fn write_caps(write: &mut Writing<'_>, budget: &BudgetRow) -> Result<()> {
    let Caps { tokens, micro_usd, time_ms, agents, running } = budget.caps;
    let sql = "UPDATE budgets SET tokens_max = ?, micro_usd_max = ?, time_max_ms = ?, \
         agents_max = ?, running_max = ?, started_ms = ?, updated_ms = ? WHERE root = ?";
    let sql = sqlx::query(sql)
        .bind(tokens.map(signed))
        .bind(micro_usd.map(signed))
        .bind(time_ms.map(signed))
        .bind(agents.map(signed))
        .bind(running.map(signed))
        .bind(budget.started_ms)
        .bind(budget.updated_ms)
        .bind(budget.root.as_bytes().as_slice());
    write.run("caps", sql).await
}

async fn count_workers(write: &mut Writing<'_>, budget: &mut BudgetRow) -> Result<()> {
    let sql = sqlx::query(WORKERS).bind(budget.root.as_bytes().as_slice());
    let row = write.one("workers", sql.bind(Standing::Worker.as_str())).await?;
    budget.agents = counted(row)?;
    Ok(())
}

fn counted(row: Option<Columns<'_>>) -> Result<u64> {
    row.map_or(Ok(0), |row| row.unsigned(0))
}

/// Without the number of workers, which is counted only where it is needed.
fn budget_row(row: &Columns<'_>) -> Result<BudgetRow> {
    let caps = Caps {
        tokens: row.unsigned_or_null(1)?,
        micro_usd: row.unsigned_or_null(2)?,
        time_ms: row.unsigned_or_null(3)?,
        agents: row.unsigned_or_null(4)?,
        running: row.unsigned_or_null(5)?,
    };
    let in_line: u64 = row.unsigned(14)?;
    let running = in_line.min(caps.running.unwrap_or(u64::MAX));
    Ok(BudgetRow {
        root: row.agent(0)?,
        caps,
        tokens: row.unsigned(6)?,
        micro_usd: row.unsigned(7)?,
        unpriced: row.unsigned(8)?,
        started_ms: row.get(9)?,
        updated_ms: row.get(10)?,
        tokens_reserved: row.unsigned(11)?,
        micro_usd_reserved: row.unsigned(12)?,
        requests: row.unsigned(13)?,
        agents: 0,
        running,
        waiting: in_line - running,
    })
}
