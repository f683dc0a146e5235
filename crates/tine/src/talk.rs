//! One run of one agent: shown, guarded, interruptible, and ended with the right exit code. Behind `tine run` and
//! `tine fork`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_fork::run::TURNS_DEFAULT;
use tine_fork::{AllowAllFilter, AutoMemFilter, ToolFilter};
use tine_guard::PermissionMode;
use tine_model::{
    AgentId, AgentRecord, AgentState, Message, ModelRef, Outcome, Reach, TaskStatus, Writes,
};
use tine_runtime::{
    BackgroundCommand, Elsewhere, EventFilter, EventKind, ForkMade, ForkSpec, Heard, Hidden,
    HiddenSpec, Permissions, ReachWish, RunOptions, RuntimeError,
};
use tokio_util::sync::CancellationToken;

use crate::away::{before_prompt, with_written};
use crate::borrow;
use crate::cli::{LimitArgs, OutputArgs, OutputFormat};
use crate::confine::{line, of_agent, tell_widened, warn_of_gaps};
use crate::context::Context;
use crate::ending::{Circumstances, Ended, Tally};
use crate::fail::Failure;
use crate::interrupt::interruptible;
use crate::limits::Guarded;
use crate::output;
use crate::render::crew::{CrewLines, missed_line};
use crate::render::json::RunResult;
use crate::render::receipt::stopped_line;
use crate::render::screen::Screen;
use crate::render::stream_json::StreamView;
use crate::render::task::TaskShape;
use crate::render::text::TextView;
use crate::render::worktree::PlaceShape;
use crate::run_options::RunSetup;
use tine_tui::words::{DIM, styled};

/// What is said on the first Ctrl-C.
pub(crate) const STOPPING: &str = "stopping; Ctrl-C again quits at once";

/// A run that has not begun. Making it checks everything that can be checked without doing anything.
pub(crate) struct Talk<'a> {
    context: &'a Context,
    limits: &'a LimitArgs,
    format: OutputFormat,
    quiet: bool,
    screen: Arc<Screen>,
    guarded: Guarded,
    elsewhere: Option<Elsewhere>,
}

/// Who sees the run.
enum View {
    Text(Arc<TextView>),
    Json,
    Stream,
}

/// Whose run it is.
enum Whose<'m> {
    /// A person's; `made` is the fork that the command has made for it.
    Person { made: Option<&'m ForkMade>, prompt: Option<String> },
    /// Nobody's: its parent does not know of it.
    Nobody { hidden: Box<Hidden>, filter: Arc<dyn ToolFilter>, prompt: Message },
}

impl<'m> Whose<'m> {
    fn made(&self) -> Option<&'m ForkMade> {
        match self {
            Self::Person { made, .. } => *made,
            Self::Nobody { .. } => None,
        }
    }

    /// The filter for the run's events: a hidden agent is seen by those who name it.
    fn events(&self) -> EventFilter {
        match self {
            Self::Person { .. } => EventFilter::All,
            Self::Nobody { hidden, .. } => EventFilter::Agent(hidden.agent()),
        }
    }

    fn filter(&self) -> Arc<dyn ToolFilter> {
        match self {
            Self::Person { .. } => Arc::new(AllowAllFilter),
            Self::Nobody { filter, .. } => Arc::clone(filter),
        }
    }
}

impl<'a> Talk<'a> {
    /// A run with these limits and this output.
    pub(crate) fn new(
        context: &'a Context,
        limits: &'a LimitArgs,
        output: &OutputArgs,
        stdin_is_free: bool,
    ) -> Result<Self, Failure> {
        let screen = Arc::new(Screen::of(context));
        let guarded = Guarded::new(context, limits, &screen, stdin_is_free)?;
        let format = if output.json { OutputFormat::Json } else { output.output_format };
        let (quiet, elsewhere) = (output.quiet, None);
        Ok(Self { context, limits, format, quiet, screen, guarded, elsewhere })
    }

    /// Returns the run, which another machine makes where one is given.
    pub(crate) fn on(self, elsewhere: Option<Elsewhere>) -> Self {
        Self { elsewhere, ..self }
    }

    /// Finds out whether an agent's requests to a model can be sent at all, before something is made for them.
    pub(crate) async fn reach(
        &self,
        record: &AgentRecord,
        model: &ModelRef,
    ) -> Result<(), Failure> {
        borrow::reach(self.context, record, model).await
    }

    /// Finds out whether the model can be reached at all, before an agent is made for it.
    pub(crate) async fn connect(&self, model: &ModelRef) -> Result<(), Failure> {
        let connected = self.context.runtime.ports().models.connect(model).await;
        connected.map(drop).map_err(|error| RuntimeError::from(error).into())
    }

    /// Runs the agent and prints the run. `made` is the fork that made it, if this command did.
    pub(crate) async fn run(
        self,
        agent: AgentId,
        made: Option<&ForkMade>,
        prompt: Option<String>,
    ) -> Result<u8, Failure> {
        let record = self.context.runtime.agent(agent).await?;
        self.run_as(record, Whose::Person { made, prompt }).await
    }

    /// Makes a hidden run that writes nothing but notes, tells it this, and prints the run.
    pub(crate) async fn run_hidden(
        self,
        fork: ForkSpec,
        (notes, told): (PathBuf, &str),
    ) -> Result<u8, Failure> {
        let filter = AutoMemFilter::new(&notes).map_err(|error| {
            Failure::input(format!("no notes can be kept in {}", notes.display())).because(&error)
        })?;
        let fork = ForkSpec { reach: ReachWish::Person(Reach::notes(notes)), ..fork };
        let spec = HiddenSpec { fork, steady: false };
        let hidden = self.context.runtime.hidden(spec).await?;
        let record = hidden.record.clone();
        let filter = Arc::new(filter.in_directory(Path::new(&record.directory)));
        let prompt = Message::user(told);
        self.run_as(record, Whose::Nobody { hidden: Box::new(hidden), filter, prompt }).await
    }

    async fn run_as(self, record: AgentRecord, whose: Whose<'_>) -> Result<u8, Failure> {
        let runtime = &self.context.runtime;
        let (agent, made) = (record.id, whose.made());
        let (config, directory) = (&self.context.config, Path::new(&record.directory));
        let confinement = of_agent(self.context, self.limits, &record)?;
        let reach = confinement.reach.within(&record.reach);
        tell_widened(&confinement.reach, (&record.reach, &agent.short()));
        warn_of_gaps(&confinement.around(&record.reach), directory);
        let view = self.view(&record);
        view.begin(&record);
        if let (View::Text(_), false, Some(line)) = (&view, self.quiet, line(&reach)) {
            self.screen.say(&styled(DIM, &line));
        }
        let crew_lines = CrewLines::on(Arc::clone(&self.screen));
        let mut tally = Tally::default();
        let mut workers: Vec<AgentId> = Vec::new();
        let cancel = CancellationToken::new();
        let away_ends = cancel.child_token();
        let setup = RunSetup {
            args: self.limits,
            directory,
            turns: Some(TURNS_DEFAULT),
            permissions: self.permissions(&reach),
            confinement,
            keep_warm: false,
            cancel: cancel.clone(),
            elsewhere: self.elsewhere.clone(),
        };
        let options = RunOptions { filter: whose.filter(), ..setup.options(config)? };
        let reader = self.guarded.asked.reader(runtime, whose.events());
        let read = |heard: &Heard| {
            view.heard(agent, heard, &crew_lines);
            let Heard::Event(event) = heard else { return };
            match &event.kind {
                EventKind::Run(step) if event.agent == agent => tally.note(step),
                EventKind::TaskBegan(task) if !workers.contains(&task.agent) => {
                    workers.push(task.agent);
                }
                _ => {}
            }
        };
        let run = async {
            match whose {
                Whose::Person { prompt, .. } => {
                    let written = match &prompt {
                        Some(_) => {
                            let show = |text: &str| self.tell_away(&view, text);
                            before_prompt(self.context, agent, show, &away_ends).await
                        }
                        None => None,
                    };
                    let prompt = prompt.map(|prompt| self.context.words(prompt));
                    let run = runtime.run(agent, prompt, &options);
                    let (ran, text) = with_written(run, written, &away_ends).await;
                    if let Some(text) = text {
                        self.tell_away(&view, &text);
                    }
                    ran
                }
                Whose::Nobody { hidden, prompt, .. } => {
                    runtime.run_hidden(*hidden, prompt, &options).await
                }
            }
        };
        let run = Box::pin(reader.during(Box::pin(run), read));
        let ran = interruptible(run, &cancel, || view.note(&self.screen, STOPPING)).await?;
        let mut requests = Vec::new();
        let ended = match ran {
            Err(error) => Ended::without_report(error.into()),
            Ok(outcome) => {
                let aborted = outcome.report.outcome == Outcome::Aborted;
                let failed_calls =
                    if self.limits.fail_on_tool_error { tally.failed() } else { Vec::new() };
                let circumstances = Circumstances {
                    agent,
                    killed: aborted && self.is_dead(agent).await?,
                    refused: self.guarded.asked.refused(runtime, agent).await?,
                    failed_calls,
                };
                requests = outcome.report.requests.clone();
                Ended::of(&outcome.report, circumstances)
            }
        };
        let model = record.settings.model.to_string();
        let tasks = self.tasks(&workers).await?;
        let worktree = runtime.worktree_record(agent).await?.as_ref().map(PlaceShape::from);
        let ended =
            Ended { tasks, worktree, ..ended.priced(&runtime.ports().facts, &model, &requests) };
        if cancel.is_cancelled() {
            self.tell_stopped(&view, &workers).await?;
        }
        for command in runtime.background_commands() {
            let BackgroundCommand { name, command, .. } = command;
            view.note(
                &self.screen,
                &format!("`{name}` in the background ends with the run: {command}"),
            );
        }
        runtime.end_all_background().await;
        view.end(&record, made, &ended)?;
        ended.failure.map_or(Ok(0), Err)
    }

    /// The permissions of the run. One that may write nothing asks for nothing that writes, unless somebody has said what it may.
    fn permissions(&self, reach: &Reach) -> Permissions {
        let permissions = self.guarded.permissions.clone();
        if reach.writes == Writes::Nowhere && self.limits.permission_mode.is_none() {
            Permissions { mode: PermissionMode::ReadOnly.into(), ..permissions }
        } else {
            permissions
        }
    }

    /// Tells a person who reads along what happened while they were away; whether there is one.
    fn tell_away(&self, view: &View, text: &str) -> bool {
        let is_read = matches!(view, View::Text(_)) && !self.quiet;
        if is_read {
            self.screen.say(&styled(DIM, text));
        }
        is_read
    }

    /// What became of the workers that the run has started.
    async fn tasks(&self, workers: &[AgentId]) -> Result<Vec<TaskShape>, Failure> {
        let runtime = &self.context.runtime;
        let now_ms = runtime.ports().clock.now_ms();
        let mut tasks = Vec::with_capacity(workers.len());
        for worker in workers {
            tasks.push(TaskShape::of(&runtime.task_view(*worker).await?, now_ms));
        }
        Ok(tasks)
    }

    /// Tells who was stopped together with the run, and what they had done.
    async fn tell_stopped(&self, view: &View, workers: &[AgentId]) -> Result<(), Failure> {
        for worker in workers {
            let receipt = self.context.runtime.receipt(*worker).await?;
            match receipt.task {
                Some(TaskStatus::Cancelled | TaskStatus::Interrupted) => {
                    view.note(&self.screen, &stopped_line(&receipt));
                }
                Some(
                    TaskStatus::Queued
                    | TaskStatus::Running
                    | TaskStatus::Completed
                    | TaskStatus::Failed
                    | TaskStatus::TimedOut
                    | TaskStatus::Lost,
                )
                | None => {}
            }
        }
        Ok(())
    }

    async fn is_dead(&self, agent: AgentId) -> Result<bool, Failure> {
        Ok(self.context.runtime.agent(agent).await?.state == AgentState::Dead)
    }

    fn view(&self, record: &AgentRecord) -> View {
        match self.format {
            OutputFormat::Json => View::Json,
            OutputFormat::StreamJson => View::Stream,
            OutputFormat::Text => {
                let directory = record.directory.clone().into();
                View::Text(Arc::new(TextView::new(Arc::clone(&self.screen), directory, self.quiet)))
            }
        }
    }
}

impl View {
    fn begin(&self, record: &AgentRecord) {
        match self {
            Self::Text(view) => view.begin(record),
            Self::Json => {}
            Self::Stream => StreamView::begin(record),
        }
    }

    /// Shows what happens to the agent, and to the workers that its model starts.
    fn heard(&self, agent: AgentId, heard: &Heard, workers: &CrewLines) {
        match (self, heard) {
            (Self::Stream, heard) => StreamView::heard(agent, heard),
            (Self::Text(view), Heard::Event(event)) => match &event.kind {
                EventKind::Run(step) if event.agent == agent => view.step(step),
                _ if event.agent != agent && view.talks() => workers.event(event),
                _ => {}
            },
            (Self::Text(view), Heard::Lagged(missed)) => view.note(&missed_line(*missed)),
            (Self::Json, _) => {}
        }
    }

    /// A word for the person at the terminal.
    fn note(&self, screen: &Screen, text: &str) {
        match self {
            Self::Text(view) => view.note(text),
            Self::Json | Self::Stream => screen.say(text),
        }
    }

    fn end(
        &self,
        record: &AgentRecord,
        made: Option<&ForkMade>,
        ended: &Ended,
    ) -> Result<(), Failure> {
        match self {
            // What never began has nothing to say but its error.
            Self::Text(_) if ended.outcome.is_none() => Ok(()),
            Self::Text(view) => view.end(record, ended),
            Self::Json => output::json(&RunResult::new(record, made, ended)),
            Self::Stream => output::json(&RunResult::new(record, made, ended).into_record()),
        }
    }
}
