//! A task as lists and results print it.

use anstyle::Style;
use serde::Serialize;
use tine_fork::stray::Check;
use tine_model::{TaskStatus, TaskWorktree};
use tine_runtime::TaskView;

use crate::render::json::UsageShape;
use crate::render::table::{Align, Cell, Table};
use crate::render::worktree::{WorkShape, progress, work_line};
use tine_tui::age::rfc3339;
use tine_tui::figures::{plural, span, tokens};
use tine_tui::words::{BOLD, CYAN, GREEN, RED, YELLOW, one_line, styled};

/// The JSON shape of a task. Others rely on it: fields are only ever added.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TaskShape {
    /// The worker, whose id is the task's.
    agent: String,
    /// The same; `agent` is its name in all JSON.
    id: String,
    name: Option<String>,
    /// Who is told when it ends.
    spawner: String,
    status: &'static str,
    description: Option<String>,
    directive: String,
    /// The name that the worker was defined under.
    definition: Option<String>,
    /// Whether the worker knows what its spawner knew.
    forked: bool,
    context: &'static str,
    resumes: u32,
    report: Option<String>,
    error: Option<String>,
    /// What the checks of its end have seen.
    flags: Vec<String>,
    usage: UsageShape,
    turns: u32,
    tool_uses: u32,
    created_at: String,
    ended_at: Option<String>,
    duration_ms: i64,
    /// Whether it was taken off its spawner's list.
    cleared: bool,
    /// The worker's own worktree; `null` where it has none, or left nothing behind.
    worktree: Option<WorkShape>,
}

impl TaskShape {
    /// The JSON shape, at this time.
    pub(crate) fn of(view: &TaskView, now_ms: i64) -> Self {
        let task = view.task.clone();
        Self {
            agent: task.agent.to_string(),
            id: task.agent.to_string(),
            name: view.name.clone(),
            spawner: task.spawner.to_string(),
            status: task.status.as_str(),
            description: task.description,
            directive: task.directive,
            definition: task.definition,
            forked: view.is_forked(),
            context: view.context.as_str(),
            resumes: task.resumes,
            report: task.report,
            error: task.error,
            flags: task.flags,
            usage: task.usage.into(),
            turns: task.turns,
            tool_uses: task.tool_uses,
            created_at: rfc3339(task.created_ms),
            ended_at: task.ended_ms.map(rfc3339),
            duration_ms: view.duration_ms(now_ms),
            cleared: task.cleared_ms.is_some(),
            worktree: task.worktree.as_ref().map(WorkShape::from),
        }
    }
}

/// The colour of a status.
pub(crate) fn status_style(status: TaskStatus) -> Style {
    match status {
        TaskStatus::Queued => Style::new(),
        TaskStatus::Running => CYAN,
        TaskStatus::Completed => GREEN,
        TaskStatus::Failed | TaskStatus::TimedOut => RED,
        TaskStatus::Cancelled | TaskStatus::Interrupted | TaskStatus::Lost => YELLOW,
    }
}

/// Tasks as a table, in the order given.
pub(crate) fn table(views: &[TaskView], now_ms: i64) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("TASK", Left),
        ("STATUS", Left),
        ("TIME", Right),
        ("CALLS", Right),
        ("NAME", Left),
        ("OF", Left),
        ("WORKTREE", Left),
        ("DESCRIPTION", Left),
        ("FLAGS", Left),
    ]);
    for view in views {
        let task = &view.task;
        table.row([
            format!("{}{}", task.agent.short(), view.marks()).into(),
            Cell::styled(task.status.as_str(), status_style(task.status)),
            time(view, now_ms).into(),
            task.tool_uses.to_string().into(),
            one_line(view.name.as_deref().unwrap_or_default()).into(),
            task.spawner.short().into(),
            task.worktree.as_ref().map_or_else(String::new, work).into(),
            one_line(&view.title()).into(),
            Cell::styled(one_line(&task.flags.join(", ")), YELLOW),
        ]);
    }
    table.without_empty(&["WORKTREE"])
}

fn work(worktree: &TaskWorktree) -> String {
    progress(worktree.files, worktree.commits)
}

/// How many there are of each status, and what all of them used.
pub(crate) fn totals(views: &[TaskView]) -> String {
    let count = |status| views.iter().filter(|view| view.task.status == status).count();
    let mut parts: Vec<String> = TaskStatus::ALL
        .iter()
        .map(|status| (count(*status), status.as_str()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let calls = views.iter().map(|view| u64::from(view.task.tool_uses)).sum();
    let used = views.iter().map(|view| view.task.usage.prompt() + view.task.usage.output).sum();
    parts = vec![parts.join(", "), plural(calls, "tool call"), format!("{} tokens", tokens(used))];
    parts.join(" · ")
}

/// A task on a line, above what its worker says.
pub(crate) fn head(view: &TaskView, now_ms: i64) -> String {
    let task = &view.task;
    let mut line = format!(
        "{}{}  {}  {} · {} · {}",
        styled(BOLD, &task.agent.short()),
        view.marks(),
        styled(status_style(task.status), task.status.as_str()),
        time(view, now_ms),
        plural(u64::from(task.tool_uses), "tool call"),
        one_line(&view.title()),
    );
    if !task.flags.is_empty() {
        let flags = format!(" · look at it: {}", flagged(&task.flags));
        line.push_str(&styled(YELLOW, &flags));
    }
    if let Some(worktree) = &task.worktree {
        line.push_str(&format!("\nworktree {}", work_line(worktree)));
    }
    line
}

fn time(view: &TaskView, now_ms: i64) -> String {
    span(u64::try_from(view.duration_ms(now_ms)).unwrap_or(0))
}

/// The findings of the checks at a task's end, in words.
pub(crate) fn flagged(flags: &[String]) -> String {
    let words = |flag: &String| match flag.parse::<Check>() {
        Ok(check) => check.words().to_owned(),
        Err(_) => one_line(flag),
    };
    flags.iter().map(words).collect::<Vec<_>>().join(", ")
}
