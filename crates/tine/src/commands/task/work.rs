//! A worker's run in this process, for a person who has started it.

use std::path::Path;
use std::sync::Arc;

use tine_model::{AgentId, TaskStatus};
use tine_runtime::{Confinement, EventFilter, EventKind, Heard, RunOptions, TaskView};

use crate::ask::{Reader, Refusal};
use crate::cli::WorkArgs;
use crate::commands::task::background::Begun;
use crate::confine::warn_of_gaps;
use crate::context::Context;
use crate::ending::{Tally, completed, warn_of_refusals};
use crate::fail::{FAILED, Failure, INTERRUPTED, PERMISSION, TIMED_OUT};
use crate::interrupt::interruptible;
use crate::limits::Guarded;
use crate::output;
use crate::render::crew::{CrewLines, missed_line};
use crate::render::screen::Screen;
use crate::render::task::TaskShape;
use crate::run_options::RunSetup;
use crate::talk::STOPPING;
use tine_tui::words::harmless;

/// What a worker's run needs. Making it checks all that can be checked without doing anything.
pub(super) struct Work<'a> {
    context: &'a Context,
    how: &'a WorkArgs,
    screen: Arc<Screen>,
    guarded: Guarded,
    reader: Reader,
    pub(super) options: RunOptions,
}

impl<'a> Work<'a> {
    /// For a worker with this confinement, of an agent in this directory.
    pub(super) fn new(
        context: &'a Context,
        how: &'a WorkArgs,
        (confinement, directory): (Confinement, &Path),
    ) -> Result<Self, Failure> {
        let (config, limits) = (&context.config, &how.limits);
        let screen = Arc::new(Screen::of(context));
        let guarded = Guarded::new(context, limits, &screen, true)?;
        warn_of_gaps(&confinement, directory);
        let terminal = context.terminal.as_ref().map(|terminal| &terminal.seams);
        let setup = RunSetup {
            args: limits,
            directory,
            turns: None,
            permissions: guarded.permissions.clone(),
            confinement,
            keep_warm: false,
            cancel: terminal.map(|seams| seams.cancel.clone()).unwrap_or_default(),
            elsewhere: None,
        };
        let options = setup.options(config)?;
        let reader = guarded.asked.reader(&context.runtime, EventFilter::All);
        Ok(Self { context, how, screen, guarded, reader, options })
    }

    /// Stays with a worker that runs here until it has ended; in the background its caller is told what was begun, otherwise the
    /// report is printed.
    pub(super) async fn stay(self, task: AgentId, begun: &Begun) -> Result<u8, Failure> {
        let in_background = self.context.detached.is_some();
        // Who sees the worker on the screen reads its report in the conversation that it is for.
        let prints = !in_background && (self.context.terminal.is_none() || self.how.prints());
        match &self.context.terminal {
            Some(_) => {
                self.screen.say(&begun.words());
                begun.say_where();
            }
            None if in_background => begun.tell(true)?,
            None => begun.say_where(),
        }
        let Self { context, how, screen, guarded, reader, options } = self;
        let lines = CrewLines::on(Arc::clone(&screen));
        let mut tally = Tally::default();
        let read = |heard: &Heard| match heard {
            Heard::Event(event) => {
                if let EventKind::Run(step) = &event.kind {
                    tally.note(step);
                }
                if context.terminal.is_none() {
                    lines.event(event);
                }
            }
            Heard::Lagged(missed) => screen.say(&missed_line(*missed)),
        };
        let settled = reader.during(context.runtime.settled(task), read);
        interruptible(settled, &options.cancel, || screen.say(STOPPING)).await?;
        let refused = guarded.asked.refused(&context.runtime, task).await?;
        let view = context.runtime.task_view(task).await?;
        if prints {
            if how.json {
                let now_ms = context.runtime.ports().clock.now_ms();
                output::json(&TaskShape::of(&view, now_ms))?;
            } else if let Some(report) = &view.task.report {
                output::line(harmless(report).trim_end())?;
            }
        }
        match context.terminal {
            Some(_) => {
                warn_of_refusals(&refused);
                Ok(0)
            }
            None => {
                let failed =
                    if how.limits.fail_on_tool_error { tally.failed() } else { Vec::new() };
                verdict(&view, &refused, &failed)
            }
        }
    }
}

/// The exit code: 0 only for a task that was completed, and of which no call was refused for want of an answer.
fn verdict(view: &TaskView, refused: &[Refusal], failed_calls: &[String]) -> Result<u8, Failure> {
    let task = &view.task;
    let short = task.agent.short();
    let failed = |code, what: &str| {
        // Some errors begin with the word that is said already.
        let said = what.trim_start_matches("was ");
        let why = task.error.as_deref().map_or(String::new(), |why| match why.strip_prefix(said) {
            Some(rest) => rest.to_owned(),
            None => format!(": {why}"),
        });
        Err(Failure::coded(code, format!("task {short} {what}{why}"))
            .hint(format!("`tine task resume {short} \"Go on.\"` takes it up again")))
    };
    if task.status != TaskStatus::Completed {
        warn_of_refusals(refused);
    }
    match task.status {
        TaskStatus::Completed => {}
        TaskStatus::TimedOut => return failed(TIMED_OUT, "timed out"),
        TaskStatus::Cancelled => return failed(INTERRUPTED, "was cancelled"),
        TaskStatus::Interrupted => return failed(INTERRUPTED, "was interrupted"),
        TaskStatus::Failed if refused.iter().any(|refusal| refusal.agent == task.agent) => {
            return failed(PERMISSION, "failed");
        }
        TaskStatus::Failed | TaskStatus::Lost => return failed(FAILED, "failed"),
        TaskStatus::Queued | TaskStatus::Running => return failed(FAILED, "has not ended"),
    }
    completed(refused, failed_calls).map_or(Ok(0), Err)
}
