//! Tasks: a worker seen from its spawner. A task's end and the notice of it are one transaction.

use async_trait::async_trait;
use tine_model::{AgentId, AgentState, TaskRecord, TaskStatus, TaskWorktree, Usage};

use super::SqliteStore;
use super::agents::{agent_state, require_living};
use super::column::{Columns, usage_columns};
use super::connection::{Sql, Writing};
use super::leases::check_fence;
use super::mail::insert_mail;
use crate::{NewMail, NewTask, Result, StoreError, TaskEnd, TaskStore, TaskUsed, WordNotice};

macro_rules! task_columns {
    () => {
        "agent, spawner, directive, status, report, error, uncached, write_short, write_long, \
         read, output, reasoning, turns, tool_uses, created_ms, ended_ms, description, resumes, \
         flags, cleared_ms, definition, \
         (SELECT w.path FROM worktrees w WHERE w.agent = tasks.agent AND w.removed_ms IS NULL), \
         (SELECT w.files FROM worktrees w WHERE w.agent = tasks.agent), \
         (SELECT w.commits FROM worktrees w WHERE w.agent = tasks.agent)"
    };
}
pub(super) use task_columns;

#[async_trait]
impl TaskStore for SqliteStore {
    async fn task(&self, agent: AgentId) -> Result<Option<TaskRecord>> {
        let sql = concat!("SELECT ", task_columns!(), " FROM tasks WHERE agent = ?");
        let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
        self.connections.read_one(sql).await?.as_ref().map(task_record).transpose()
    }

    async fn tasks(&self, spawner: AgentId) -> Result<Vec<TaskRecord>> {
        let sql = concat!("SELECT ", task_columns!(), " FROM tasks WHERE spawner = ? ORDER BY seq");
        let sql = sqlx::query(sql).bind(spawner.as_bytes().as_slice());
        self.connections.read_all(sql).await?.iter().map(task_record).collect()
    }

    async fn all_tasks(&self) -> Result<Vec<TaskRecord>> {
        let sql = concat!("SELECT ", task_columns!(), " FROM tasks ORDER BY seq");
        self.connections.read_all(sqlx::query(sql)).await?.iter().map(task_record).collect()
    }

    async fn start_task(&self, agent: AgentId) -> Result<bool> {
        let mut write = self.connections.write().await?;
        let task = task_of(&mut write, agent).await?;
        require_living(&mut write, agent).await?;
        let starts = !matches!(task.status, TaskStatus::Running | TaskStatus::Completed);
        if starts {
            let sql = "UPDATE tasks SET status = ?, error = NULL, ended_ms = NULL WHERE agent = ?";
            let sql = sqlx::query(sql)
                .bind(TaskStatus::Running.as_str())
                .bind(agent.as_bytes().as_slice());
            write.run("task started", sql).await?;
        }
        write.commit().await?;
        Ok(starts)
    }

    async fn resume_task(&self, agent: AgentId) -> Result<bool> {
        let mut write = self.connections.write().await?;
        let resumes = resume(&mut write, agent).await?;
        write.commit().await?;
        Ok(resumes)
    }

    async fn clear_tasks(&self, spawner: AgentId, now_ms: i64) -> Result<Vec<AgentId>> {
        let mut write = self.connections.write().await?;
        let sql = "UPDATE tasks SET cleared_ms = ? WHERE spawner = ? AND cleared_ms IS NULL \
             AND status NOT IN ('queued', 'running') RETURNING agent, seq";
        let sql = sqlx::query(sql).bind(now_ms).bind(spawner.as_bytes().as_slice());
        let rows = write.all("tasks cleared", sql).await?;
        let in_order = |row: &Columns<'_>| Ok((row.get::<i64>(1)?, row.agent(0)?));
        let mut cleared = rows.iter().map(in_order).collect::<Result<Vec<_>>>()?;
        write.commit().await?;
        cleared.sort_unstable();
        Ok(cleared.into_iter().map(|(_, agent)| agent).collect())
    }

    async fn finish_task(&self, end: TaskEnd) -> Result<bool> {
        if !end.status.is_final() {
            return Err(StoreError::NotAnEnd { status: end.status });
        }
        let mut write = self.connections.write().await?;
        let task = task_of(&mut write, end.agent).await?;
        if let Some(fence) = end.fence {
            check_fence(&mut write, end.agent, fence).await?;
        }
        let ends = !task.status.is_final();
        if ends {
            end_task(&mut write, task.spawner, end).await?;
        }
        write.commit().await?;
        Ok(ends)
    }
}

pub(super) async fn insert_task(
    write: &mut Writing<'_>,
    agent: AgentId,
    spawner: AgentId,
    task: &NewTask,
    now_ms: i64,
) -> Result<()> {
    let sql = "INSERT INTO tasks (agent, spawner, directive, description, definition, status, created_ms) \
         VALUES (?, ?, ?, ?, ?, ?, ?)";
    let sql = sqlx::query(sql)
        .bind(agent.as_bytes().as_slice())
        .bind(spawner.as_bytes().as_slice())
        .bind(task.directive.as_str())
        .bind(task.description.as_deref())
        .bind(task.definition.as_deref())
        .bind(TaskStatus::Queued.as_str())
        .bind(now_ms);
    write.run("task row", sql).await
}

/// Marks a task that has ended as running again; `false`, and nothing done, when it has not.
pub(super) async fn resume(write: &mut Writing<'_>, agent: AgentId) -> Result<bool> {
    let task = task_of(write, agent).await?;
    require_living(write, agent).await?;
    let resumes = task.status.is_final();
    if resumes {
        let sql = "UPDATE tasks SET status = ?, error = NULL, ended_ms = NULL, flags = '', \
             cleared_ms = NULL, resumes = resumes + 1 WHERE agent = ?";
        let sql =
            sqlx::query(sql).bind(TaskStatus::Running.as_str()).bind(agent.as_bytes().as_slice());
        write.run("task resumed", sql).await?;
    }
    Ok(resumes)
}

/// Ends the unfinished tasks that `select` finds and tells their spawners; returns the workers. Of a task that is interrupted
/// before it began nothing was done: it is lost.
pub(super) async fn cut_tasks(
    write: &mut Writing<'_>,
    select: Sql<'_>,
    status: TaskStatus,
    used: &[TaskUsed],
    notice: WordNotice<'_>,
    now_ms: i64,
) -> Result<Vec<AgentId>> {
    let rows = write.all("unfinished tasks", select).await?;
    let mut workers = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut task = task_record(row)?;
        let status = match (status, task.status) {
            (TaskStatus::Interrupted, TaskStatus::Queued) => TaskStatus::Lost,
            (status, _) => status,
        };
        (task.status, task.ended_ms) = (status, Some(now_ms));
        if let Some(used) = used.iter().find(|used| used.agent == task.agent) {
            (task.usage, task.turns, task.tool_uses) = (used.usage, used.turns, used.tool_uses);
        }
        let end = TaskEnd {
            agent: task.agent,
            fence: None,
            status,
            notice: notice(&task),
            report: task.report,
            error: task.error,
            usage: task.usage,
            turns: task.turns,
            tool_uses: task.tool_uses,
            flags: task.flags,
            now_ms,
        };
        workers.push(task.agent);
        end_task(write, task.spawner, end).await?;
    }
    Ok(workers)
}

async fn end_task(write: &mut Writing<'_>, spawner: AgentId, end: TaskEnd) -> Result<()> {
    let sql = "UPDATE tasks SET status = ?, report = ?, error = ?, uncached = ?, write_short = ?, \
         write_long = ?, read = ?, output = ?, reasoning = ?, turns = ?, tool_uses = ?, \
         flags = ?, ended_ms = ? WHERE agent = ?";
    let mut sql = sqlx::query(sql).bind(end.status.as_str()).bind(end.report).bind(end.error);
    for part in usage_columns(Some(&end.usage)) {
        sql = sql.bind(part);
    }
    let sql = sql
        .bind(end.turns)
        .bind(end.tool_uses)
        .bind(end.flags.join(" "))
        .bind(end.now_ms)
        .bind(end.agent.as_bytes().as_slice());
    write.run("task end", sql).await?;
    match agent_state(write, spawner).await? {
        AgentState::Dead => {}
        AgentState::Idle | AgentState::Running | AgentState::Interrupted => {
            let (sender, now_ms) = (Some(end.agent), end.now_ms);
            let mail = NewMail { recipient: spawner, sender, body: end.notice, now_ms };
            insert_mail(write, &mail).await?;
        }
    }
    Ok(())
}

async fn task_of(write: &mut Writing<'_>, agent: AgentId) -> Result<TaskRecord> {
    let sql = concat!("SELECT ", task_columns!(), " FROM tasks WHERE agent = ?");
    let sql = sqlx::query(sql).bind(agent.as_bytes().as_slice());
    let row = write.one("task", sql).await?.ok_or(StoreError::NoTask { agent })?;
    task_record(&row)
}

fn task_record(row: &Columns<'_>) -> Result<TaskRecord> {
    let usage: Usage = row.usage(6)?;
    Ok(TaskRecord {
        agent: row.agent(0)?,
        spawner: row.agent(1)?,
        directive: row.get(2)?,
        status: row.word(3, TaskStatus::from_name)?,
        report: row.get(4)?,
        error: row.get(5)?,
        usage,
        turns: row.unsigned(12)?,
        tool_uses: row.unsigned(13)?,
        created_ms: row.get(14)?,
        ended_ms: row.get(15)?,
        description: row.get(16)?,
        resumes: row.unsigned(17)?,
        flags: row.get::<String>(18)?.split_whitespace().map(str::to_owned).collect(),
        cleared_ms: row.get(19)?,
        definition: row.get(20)?,
        worktree: match row.get::<Option<String>>(21)? {
            Some(path) => {
                Some(TaskWorktree { path, files: row.unsigned(22)?, commits: row.unsigned(23)? })
            }
            None => None,
        },
    })
}
