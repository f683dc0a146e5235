//! A worker's run in this process, for a person who has started it.

use std::path::Path;
use std::sync::Arc;

use tine_fork::AllowAllFilter;
use tine_fork::run::{Observer, RunEvent};
use tine_model::{AgentId, TaskRecord, TaskStatus};
use tine_runtime::{Confinement, CrewWatcher, RunOptions, TaskView};

use crate::ask::Refusal;
use crate::budget::on_budget;
use crate::caching::policy;
use crate::cli::WorkArgs;
use crate::commands::task::background::Begun;
use crate::confine::warn_of_gaps;
use crate::context::Context;
use crate::crew::crew;
use crate::ending::{Tally, completed, warn_of_refusals};
use crate::fail::{FAILED, Failure, INTERRUPTED, PERMISSION, TIMED_OUT};
use crate::interrupt::interruptible;
use crate::limits::{Guarded, run_limits};
use crate::output;
use crate::render::crew::CrewLines;
use crate::render::screen::Screen;
use crate::render::task::TaskShape;
use crate::talk::STOPPING;
use tine_tui::words::harmless;

/// What a worker's run needs. Making it checks all that can be checked without doing anything.
pub(super) struct Work<'a> {
    context: &'a Context,
    how: &'a WorkArgs,
    screen: Arc<Screen>,
    guarded: Guarded,
    seen: Arc<Seen>,
    pub(super) options: RunOptions,
}

/// Shows the worker, and keeps which of its calls failed.
struct Seen {
    workers: Arc<dyn CrewWatcher>,
    tally: Tally,
}

impl CrewWatcher for Seen {
    fn on_start(&self, worker: AgentId, task: &TaskRecord) {
        self.workers.on_start(worker, task);
    }

    fn on_event(&self, worker: AgentId, event: &RunEvent<'_>) {
        self.tally.note(event);
        self.workers.on_event(worker, event);
    }

    fn on_end(&self, task: &TaskRecord) {
        self.workers.on_end(task);
    }
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
        let nobody: Arc<dyn Observer> = Arc::new(|_: &RunEvent<'_>| {});
        let terminal = context.terminal.as_ref().map(|terminal| &terminal.seams);
        let seen = Arc::new(Seen {
            workers: match terminal {
                Some(seams) => Arc::clone(&seams.watcher),
                None => Arc::new(CrewLines::on(Arc::clone(&screen), directory.to_owned())),
            },
            tally: Tally::new(Arc::clone(&nobody)),
        });
        let watcher = Arc::clone(&seen) as Arc<dyn CrewWatcher>;
        let mut crew = crew(config, limits, directory, watcher)?;
        crew.limits = run_limits(limits, crew.limits.turns);
        let options = RunOptions {
            limits: crew.limits,
            permissions: guarded.permissions.clone(),
            observer: nobody,
            cancel: terminal.map(|seams| seams.cancel.clone()).unwrap_or_default(),
            caching: policy(config, false)?,
            filter: Arc::new(AllowAllFilter),
            confinement,
            crew,
            on_budget: on_budget(&limits.tree),
        };
        Ok(Self { context, how, screen, guarded, seen, options })
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
        let settled = self.context.runtime.settled(task);
        interruptible(settled, &self.options.cancel, || self.screen.say(STOPPING)).await?;
        let refused = self.guarded.nobody.refused();
        let view = self.context.runtime.task_view(task).await?;
        if prints {
            if self.how.json {
                let now_ms = self.context.runtime.ports().clock.now_ms();
                output::json(&TaskShape::of(&view, now_ms))?;
            } else if let Some(report) = &view.task.report {
                output::line(harmless(report).trim_end())?;
            }
        }
        match self.context.terminal {
            Some(_) => {
                warn_of_refusals(&refused);
                Ok(0)
            }
            None => self.verdict(&view, &refused),
        }
    }

    /// The exit code: 0 only for a task that was completed, and of which no call was refused for want of an answer.
    fn verdict(&self, view: &TaskView, refused: &[Refusal]) -> Result<u8, Failure> {
        let task = &view.task;
        let short = task.agent.short();
        let failed = |code, what: &str| {
            // Some errors begin with the word that is said already.
            let said = what.trim_start_matches("was ");
            let why =
                task.error.as_deref().map_or(String::new(), |why| match why.strip_prefix(said) {
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
        let minded = self.how.limits.fail_on_tool_error;
        let failed_calls = if minded { self.seen.tally.failed() } else { Vec::new() };
        completed(refused, &failed_calls).map_or(Ok(0), Err)
    }
}
