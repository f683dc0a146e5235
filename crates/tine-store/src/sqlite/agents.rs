//! The registry: who exists, whose child, under which name, in which state.

use async_trait::async_trait;
use tine_model::{
    AgentId, AgentPrefix, AgentRecord, AgentState, Effort, EntryId, IdError, Reach, TaskStatus,
};

use super::SqliteStore;
use super::agent_cells::{agent_cells, read_agent, read_agents};
use super::budgets::drop_places_of_the_dead;
use super::column::{Columns, reach_from_text, reach_to_text, thinking_to_text};
use super::connection::Writing;
use super::entries::{append_entries, insert_entry};
use super::fork::fork;
use super::leases::check_fence;
use super::permissions::withdraw_of_the_dead;
use super::tasks::{cut_tasks, task_columns};
use crate::{
    AgentFilter, AgentStore, Candidate, CreateAgent, EntryKind, ForkRequest, Forked, Kill,
    NewAgent, NewEntry, Reap, Remove, RemovedAgent, Rename, Result, SetReach, SetState, StoreError,
};

/// Candidates named for an ambiguous prefix: as many as fit under an error message.
const CANDIDATES_MAX: i64 = 8;

#[async_trait]
impl AgentStore for SqliteStore {
    async fn create_agent(&self, create: CreateAgent) -> Result<Vec<EntryId>> {
        let mut write = self.connections.write().await?;
        let place = Place { parent: None, fork_point: None, now_ms: create.now_ms };
        insert_agent(&mut write, &create.agent, place).await?;
        let entries = append_entries(&mut write, create.agent.id, &create.entries).await?;
        write.commit().await?;
        Ok(entries)
    }

    async fn fork(&self, request: ForkRequest) -> Result<Vec<Forked>> {
        fork(self, request).await
    }

    async fn remove(&self, remove: Remove) -> Result<Vec<RemovedAgent>> {
        super::remove::remove(self, remove).await
    }

    async fn agent(&self, agent: AgentId) -> Result<AgentRecord> {
        let sql = concat!("SELECT ", agent_cells!(), " FROM agents a WHERE a.id = ?");
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        let row = self.connections.read_one(sql).await?;
        read_agent(&row.ok_or_else(|| StoreError::no_agent(agent))?)
    }

    /// Finds the agent that a word means, by the rules of [`tine_model::meant`].
    async fn resolve(&self, text: &str) -> Result<AgentId> {
        // A whole id first: no name may stand in for another agent.
        if let Ok(id) = text.parse::<AgentId>() {
            let sql =
                sqlx::query("SELECT id FROM agents WHERE id = ?").bind(id.as_bytes().as_slice());
            let row = self.connections.read_one(sql).await?;
            return row.map(|_| id).ok_or(StoreError::NotFound { name: text.to_owned() });
        }
        let mut read = self.connections.read().await?;
        // The name of a dead agent counts where no living agent has it.
        let sql =
            "SELECT id, name FROM agents WHERE name = ? ORDER BY state = 'dead', seq DESC LIMIT 1";
        let bearer = read.one(sqlx::query(sql).bind(text)).await?;
        let prefix = AgentPrefix::parse(text);
        let rows = match &prefix {
            Err(_) => Vec::new(),
            Ok(prefix) => {
                let sql =
                    "SELECT id, name FROM agents WHERE id BETWEEN ? AND ? ORDER BY seq LIMIT ?";
                let (low, high) = prefix_range(prefix);
                let sql = sqlx::query(sql).bind(low.as_slice()).bind(high.as_slice());
                read.all(sql.bind(CANDIDATES_MAX)).await?
            }
        };
        read.finish().await?;
        let candidate = |row: &Columns<'_>| Ok(Candidate { id: row.agent(0)?, name: row.get(1)? });
        let mut found: Vec<Candidate> = rows.iter().map(candidate).collect::<Result<_>>()?;
        if let Some(bearer) = bearer.as_ref().map(candidate).transpose()? {
            found.retain(|other| other.id != bearer.id);
            found.push(bearer);
        }
        match (&found[..], prefix) {
            ([agent], _) => Ok(agent.id),
            ([_, _, ..], _) => {
                Err(StoreError::Ambiguous { word: text.to_owned(), candidates: found })
            }
            ([], Err(error @ IdError::TooShort(_))) => Err(error.into()),
            ([], Ok(_) | Err(IdError::NotHex(_))) => {
                Err(StoreError::NotFound { name: text.to_owned() })
            }
        }
    }

    async fn agents(&self, filter: AgentFilter) -> Result<Vec<AgentRecord>> {
        let mut read = self.connections.read_snapshot().await?;
        let agents = read_agents(&mut read, filter).await?;
        read.finish().await?;
        Ok(agents)
    }

    async fn ancestry(&self, agent: AgentId) -> Result<Vec<AgentRecord>> {
        let sql = concat!(
            "WITH RECURSIVE line (id, up) AS (VALUES (?, 0) UNION ALL \
             SELECT a.parent, line.up + 1 FROM line JOIN agents a ON a.id = line.id \
             WHERE a.parent IS NOT NULL) SELECT ",
            agent_cells!(),
            " FROM line JOIN agents a ON a.id = line.id ORDER BY line.up DESC"
        );
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        let rows = self.connections.read_all(sql).await?;
        match rows.is_empty() {
            true => Err(StoreError::no_agent(agent)),
            false => rows.iter().map(read_agent).collect(),
        }
    }

    async fn rename(&self, rename: Rename) -> Result<()> {
        let mut write = self.connections.write().await?;
        require_living(&mut write, rename.agent).await?;
        if let Some(name) = &rename.name {
            require_free_name(&mut write, rename.agent, name).await?;
        }
        let sql = sqlx::query("UPDATE agents SET name = ?, updated_ms = ? WHERE id = ?")
            .bind(rename.name)
            .bind(rename.now_ms)
            .bind(rename.agent.as_bytes().as_slice());
        write.run("rename", sql).await?;
        write.commit().await
    }

    async fn set_state(&self, change: SetState) -> Result<()> {
        if change.state == AgentState::Dead {
            return Err(StoreError::OnlyByKill { agent: change.agent });
        }
        let mut write = self.connections.write().await?;
        require_living(&mut write, change.agent).await?;
        if let Some(fence) = change.fence {
            check_fence(&mut write, change.agent, fence).await?;
        }
        write_state(&mut write, change.agent, change.state, change.now_ms).await?;
        if let Some(failure) = change.failure {
            let sql = sqlx::query("UPDATE agents SET failure = ? WHERE id = ?");
            let sql = sql.bind(failure).bind(change.agent.as_bytes().as_slice());
            write.run("failure", sql).await?;
        }
        write.commit().await
    }

    async fn set_reach(&self, change: SetReach) -> Result<()> {
        let mut write = self.connections.write().await?;
        require_living(&mut write, change.agent).await?;
        if let Some(fence) = change.fence {
            check_fence(&mut write, change.agent, fence).await?;
        }
        let sql = "UPDATE agents SET reach = ?, updated_ms = max(updated_ms, ?) WHERE id = ?";
        let sql = sqlx::query(sql)
            .bind(reach_to_text(&change.reach))
            .bind(change.now_ms)
            .bind(change.agent.as_bytes().as_slice());
        write.run("reach", sql).await?;
        write.commit().await
    }

    async fn kill(&self, kill: Kill<'_>) -> Result<Vec<AgentId>> {
        let mut write = self.connections.write().await?;
        let sql = "WITH RECURSIVE tree (id, seq) AS (\
             SELECT id, seq FROM agents WHERE id = ? UNION ALL \
             SELECT a.id, a.seq FROM tree JOIN agents a ON a.parent = tree.id) \
             SELECT a.id, a.state, a.parent FROM tree JOIN agents a ON a.id = tree.id ORDER BY tree.seq";
        let sql = sqlx::query(sql).bind(kill.agent.as_bytes().as_slice());
        let tree = write.all("subtree", sql).await?;
        if tree.is_empty() {
            return Err(StoreError::no_agent(kill.agent));
        }
        let parent = tree.first().map_or(Ok(None), |top| top.agent_or_null(2))?;
        let mut killed = Vec::new();
        for row in &tree {
            if row.word(1, AgentState::from_name)? != AgentState::Dead {
                killed.push(row.agent(0)?);
            }
        }
        for agent in &killed {
            write_state(&mut write, *agent, AgentState::Dead, kill.now_ms).await?;
            let event = kill_event("Killed".to_owned(), kill.now_ms);
            insert_entry(&mut write, "kill event", *agent, &event).await?;
        }
        if killed.first() == Some(&kill.agent)
            && let Some(parent) = parent
        {
            let event = kill_event(format!("Killed fork {}", kill.agent.short()), kill.now_ms);
            insert_entry(&mut write, "parent's kill event", parent, &event).await?;
        }
        withdraw_of_the_dead(&mut write, kill.now_ms).await?;
        drop_places_of_the_dead(&mut write).await?;
        // After all the deaths: a spawner that died too is not told.
        for agent in &killed {
            let unfinished = concat!(
                "SELECT ",
                task_columns!(),
                " FROM tasks WHERE agent = ? AND status IN ('queued', 'running')"
            );
            let sql = sqlx::query(unfinished).bind(agent.as_bytes().as_slice());
            let (used, notice) = (kill.used, kill.notice);
            cut_tasks(&mut write, sql, TaskStatus::Cancelled, used, notice, kill.now_ms).await?;
        }
        write.commit().await?;
        Ok(killed)
    }

    async fn reap(&self, reap: Reap) -> Result<Vec<AgentId>> {
        let mut write = self.connections.write().await?;
        if let Some(agent) = reap.agent
            && agent_state(&mut write, agent).await? != AgentState::Dead
        {
            return Err(StoreError::NotDead { agent });
        }
        // Whoever is below a dead agent died with it.
        let sql = "WITH RECURSIVE tree (id) AS (\
             SELECT id FROM agents WHERE id = ?1 OR ?1 IS NULL UNION \
             SELECT a.id FROM tree JOIN agents a ON a.parent = tree.id) \
             UPDATE agents SET reaped_ms = ?2 WHERE id IN (SELECT id FROM tree) \
             AND state = 'dead' AND reaped_ms IS NULL RETURNING id";
        let sql = sqlx::query(sql)
            .bind(reap.agent.as_ref().map(|agent| agent.as_bytes().as_slice()))
            .bind(reap.now_ms);
        let rows = write.all("reap", sql).await?;
        let reaped = rows.iter().map(|row| row.agent(0)).collect::<Result<_>>()?;
        write.commit().await?;
        Ok(reaped)
    }

    async fn head(&self, hash: &[u8; 32]) -> Result<Option<String>> {
        let sql = sqlx::query("SELECT body FROM heads WHERE hash = ?").bind(hash.as_slice());
        let row = self.connections.read_one(sql).await?;
        row.map(|row| row.get(0)).transpose()
    }
}

/// Where a new agent stands in the tree.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) parent: Option<AgentId>,
    pub(super) fork_point: Option<EntryId>,
    pub(super) now_ms: i64,
}

/// A line in a log that says who was killed. No model reads it.
fn kill_event(body: String, at_ms: i64) -> NewEntry {
    NewEntry { kind: EntryKind::Notice, body, at_ms, title: None }
}

pub(super) async fn insert_agent(
    write: &mut Writing<'_>,
    new: &NewAgent,
    place: Place,
) -> Result<()> {
    require_new_id(write, new.id).await?;
    if let Some(name) = &new.name {
        require_free_name(write, new.id, name).await?;
    }
    store_head(write, new.id, &new.head).await?;
    let settings = &new.settings;
    let sql = "INSERT INTO agents (id, name, parent, fork_point, standing, state, context, model, \
         max_tokens, thinking, effort, head, directory, reach, depth, created_ms, updated_ms) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    let sql = sqlx::query(sql)
        .bind(new.id.as_bytes().as_slice())
        .bind(new.name.as_deref())
        .bind(place.parent.as_ref().map(|parent| parent.as_bytes().as_slice()))
        .bind(place.fork_point.map(|entry| entry.0))
        .bind(new.standing.as_str())
        .bind(AgentState::Idle.as_str())
        .bind(new.context.as_str())
        .bind(settings.model.to_string())
        .bind(settings.max_tokens)
        .bind(settings.thinking.map(thinking_to_text))
        .bind(settings.effort.map(Effort::as_str))
        .bind(new.head.hash.as_slice())
        .bind(new.directory.as_str())
        .bind(reach_to_text(&new.reach))
        .bind(new.depth)
        .bind(place.now_ms)
        .bind(place.now_ms);
    write.run("agent row", sql).await
}

/// The reach of an agent that must exist.
pub(super) async fn agent_reach(write: &mut Writing<'_>, agent: AgentId) -> Result<Reach> {
    let sql = sqlx::query("SELECT reach FROM agents WHERE id = ?");
    let row = write.one("agent reach", sql.bind(agent.as_bytes().as_slice())).await?;
    let row = row.ok_or_else(|| StoreError::no_agent(agent))?;
    row.word(0, reach_from_text)
}

/// The state of an agent that must exist.
pub(super) async fn agent_state(write: &mut Writing<'_>, agent: AgentId) -> Result<AgentState> {
    let sql = sqlx::query("SELECT state FROM agents WHERE id = ?");
    let row = write.one("agent state", sql.bind(agent.as_bytes().as_slice())).await?;
    let row = row.ok_or_else(|| StoreError::no_agent(agent))?;
    row.word(0, AgentState::from_name)
}

pub(super) async fn require_living(write: &mut Writing<'_>, agent: AgentId) -> Result<()> {
    match agent_state(write, agent).await? {
        AgentState::Dead => Err(StoreError::Dead { agent }),
        AgentState::Idle | AgentState::Running | AgentState::Interrupted => Ok(()),
    }
}

pub(super) async fn write_state(
    write: &mut Writing<'_>,
    agent: AgentId,
    state: AgentState,
    now_ms: i64,
) -> Result<()> {
    // What was asked of a run ends with it.
    let sql = "UPDATE agents SET state = ?1, updated_ms = max(updated_ms, ?2), failure = NULL, \
         stop = CASE ?1 WHEN 'running' THEN stop END WHERE id = ?3";
    let sql = sqlx::query(sql).bind(state.as_str()).bind(now_ms).bind(agent.as_bytes().as_slice());
    write.run("state", sql).await
}

async fn require_new_id(write: &mut Writing<'_>, agent: AgentId) -> Result<()> {
    let sql = sqlx::query("SELECT 1 FROM agents WHERE id = ?");
    match write.one("id in use", sql.bind(agent.as_bytes().as_slice())).await? {
        Some(_) => Err(StoreError::Exists { agent }),
        None => Ok(()),
    }
}

async fn require_free_name(write: &mut Writing<'_>, agent: AgentId, name: &str) -> Result<()> {
    let sql = "SELECT 1 FROM agents WHERE name = ? AND state <> 'dead' AND id <> ?";
    let sql = sqlx::query(sql).bind(name).bind(agent.as_bytes().as_slice());
    match write.one("name in use", sql).await? {
        Some(_) => Err(StoreError::NameTaken { name: name.to_owned() }),
        None => Ok(()),
    }
}

pub(super) async fn store_head(
    write: &mut Writing<'_>,
    agent: AgentId,
    head: &crate::Head,
) -> Result<()> {
    let hash = head.hash.as_slice();
    match &head.body {
        Some(body) => {
            let sql = "INSERT INTO heads (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING";
            write.run("head row", sqlx::query(sql).bind(hash).bind(body.as_str())).await
        }
        None => {
            let sql = sqlx::query("SELECT 1 FROM heads WHERE hash = ?").bind(hash);
            let known = write.one("head known", sql).await?;
            known.map(|_| ()).ok_or(StoreError::UnknownHead { agent })
        }
    }
}

/// Heads that no agent has any more.
pub(super) async fn drop_unused_heads(write: &mut Writing<'_>) -> Result<()> {
    let sql = "DELETE FROM heads WHERE hash NOT IN (SELECT head FROM agents)";
    write.run("heads", sqlx::query(sql)).await
}

/// The lowest and the highest 16 bytes that begin with the prefix.
pub(super) fn prefix_range(prefix: &AgentPrefix) -> ([u8; 16], [u8; 16]) {
    let (mut low, mut high) = ([0x00; 16], [0xff; 16]);
    for (index, digit) in prefix.as_hex().chars().enumerate().take(32) {
        let digit = digit.to_digit(16).unwrap_or(0) as u8;
        let shift = if index % 2 == 0 { 4 } else { 0 };
        low[index / 2] |= digit << shift;
        high[index / 2] &= !((0x0f ^ digit) << shift);
    }
    (low, high)
}
