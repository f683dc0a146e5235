//! Workers that a run's model starts, as the person who started the run sees them: a line when one begins, one for each of its calls,
//! one when it ends.

use std::sync::Arc;

use tine_fork::run::RunEvent;
use tine_model::{AgentId, TaskRecord, TaskStatus, TaskWorktree};
use tine_runtime::{AgentEvent, EventKind};

use crate::render::screen::Screen;
use crate::render::task::flagged;
use crate::render::worktree::work_line;
use tine_tui::figures::{plural, span, tokens};
use tine_tui::words::{
    BOLD, CYAN, DIM, GREEN, RED, YELLOW, call_line, cut, first_line, one_line, styled,
};

/// Shows workers among the lines of a screen.
pub(crate) struct CrewLines(Arc<Screen>);

impl CrewLines {
    pub(crate) fn on(screen: Arc<Screen>) -> Self {
        Self(screen)
    }

    /// Shows what happens to a worker.
    pub(crate) fn event(&self, event: &AgentEvent) {
        match &event.kind {
            EventKind::TaskBegan(task) => self.began(event.agent, task),
            EventKind::TaskEnded(task) => self.ended(task),
            EventKind::Run(RunEvent::ToolStarted { call }) => {
                let (name, what) = call_line(call, &event.directory);
                self.say(&styled(DIM, &format!("  {} {name} {what}", event.agent.short())));
            }
            _ => {}
        }
    }

    fn say(&self, line: &str) {
        self.0.say(&cut(line, self.0.columns()));
    }

    fn began(&self, worker: AgentId, task: &TaskRecord) {
        let how = if task.resumes > 0 { "resumed" } else { "started" };
        let id = styled(BOLD, &worker.short().to_string());
        self.say(&format!("{} worker {id} {how}: {}", styled(CYAN, "▸"), title(task)));
    }

    fn ended(&self, task: &TaskRecord) {
        let (style, sign) = match task.status {
            TaskStatus::Completed => (GREEN, "✓"),
            TaskStatus::Failed | TaskStatus::TimedOut => (RED, "✗"),
            TaskStatus::Cancelled
            | TaskStatus::Interrupted
            | TaskStatus::Lost
            | TaskStatus::Queued
            | TaskStatus::Running => (YELLOW, "■"),
        };
        let took =
            task.ended_ms.map_or(0, |ended| u64::try_from(ended - task.created_ms).unwrap_or(0));
        let mut line = format!(
            "{} worker {} {} · {} · {} · {} · {}",
            styled(style, sign),
            styled(BOLD, &task.agent.short().to_string()),
            task.status.as_str().replace('_', " "),
            plural(u64::from(task.turns), "turn"),
            plural(u64::from(task.tool_uses), "tool call"),
            tokens(task.usage.prompt() + task.usage.output),
            span(took),
        );
        if let Some(error) = &task.error {
            line.push_str(&format!(" · {}", one_line(error)));
        }
        if !task.flags.is_empty() {
            line.push_str(&styled(YELLOW, &format!(" · look at it: {}", flagged(&task.flags))));
        }
        self.say(&line);
        // One in which nothing was done is about to go.
        let is_changed = |worktree: &&TaskWorktree| (worktree.files, worktree.commits) != (0, 0);
        if let Some(worktree) = task.worktree.as_ref().filter(is_changed) {
            self.say(&styled(DIM, &format!("  {}", work_line(worktree))));
        }
    }
}

/// Says how much of what happened was not shown.
pub(crate) fn missed_line(missed: u64) -> String {
    let steps = plural(missed, "step");
    styled(
        YELLOW,
        &format!("{steps} came too fast to be shown; `tine logs` has what was said and done"),
    )
}

fn title(task: &TaskRecord) -> String {
    match &task.description {
        Some(description) => one_line(description),
        None => first_line(&task.directive),
    }
}
