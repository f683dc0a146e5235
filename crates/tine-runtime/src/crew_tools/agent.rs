//! `Agent`: a worker is started.

use std::path::Path;
use std::time::Duration;

use tine_fork::run::RunLimits;
use tine_fork::tools::CallContext;
use tine_guard::Reason;
use tine_model::RawJson;
use tine_worktree::programs_in_settings;

use super::arguments::{
    AgentArguments, ContextArgument, Isolation, StartArguments, bounded, description, read,
};
use super::specs::CrewTool;
use super::{CrewTools, Told};
use crate::crew::{AgentDefinition, FORK, Spawn, Spawner};
use crate::fork_spec::ForkSpec;
use crate::inherit::Inherit;
use crate::model_words::ModelWords;
use crate::tasks::OUTPUT_WAIT_MAX;
use crate::worktrees::{Placement, Start};

impl CrewTools {
    /// Why a call that starts a worker has to be asked about, beside what rules say of it; `None` where it has not. `directory` is the
    /// agent's.
    pub(crate) async fn reason_to_confirm(
        &self,
        tool: CrewTool,
        input: &RawJson,
        directory: &Path,
    ) -> Option<Reason> {
        match self.programs_to_confirm(tool, input, directory).await {
            None => self.price_to_confirm(tool, input).await,
            programs => programs,
        }
    }

    /// The programs that git would run to make the worktree which a call asks for.
    async fn programs_to_confirm(
        &self,
        tool: CrewTool,
        input: &RawJson,
        directory: &Path,
    ) -> Option<Reason> {
        if tool != CrewTool::Agent || self.options.crew.trusts_programs {
            return None;
        }
        let arguments: AgentArguments = read(input).ok()?;
        arguments.isolation.filter(|isolation| *isolation == Isolation::Worktree)?;
        let directory = directory.to_owned();
        let look = tokio::task::spawn_blocking(move || programs_in_settings(&directory));
        // Where git says nothing of the settings, no worktree comes of it, and the model is told why.
        let programs = look.await.ok()?.ok()?;
        let first = programs.first()?;
        let more = match programs.len() {
            1 => String::new(),
            all => format!(" and {} more", all - 1),
        };
        Some(Reason::new(format!(
            "the checkout's own git settings name a program that runs, behind a wall, when the worktree is made: {first}{more}"
        )))
    }

    /// The price of a worker that starts from this conversation, where one is known and above what is spent unasked.
    async fn price_to_confirm(&self, tool: CrewTool, input: &RawJson) -> Option<Reason> {
        let threshold = self.options.crew.confirm_above?;
        let (fork, prompt) = match tool {
            CrewTool::Agent => {
                let arguments: AgentArguments = read(input).ok()?;
                (self.agents_fork(&arguments).ok()?, arguments.prompt)
            }
            CrewTool::TaskStart => {
                let arguments: StartArguments = read(input).ok()?;
                (self.tasks_fork(&arguments).ok()?, arguments.prompt)
            }
            CrewTool::TaskList
            | CrewTool::TaskOutput
            | CrewTool::TaskSend
            | CrewTool::TaskCancel
            | CrewTool::TaskClear
            | CrewTool::TaskWait => return None,
        };
        if !matches!(fork.inherit, Inherit::Full | Inherit::Turns(_)) {
            return None;
        }
        let caching = self.options.caching;
        let dear = self.runtime.too_dear(self.record.id, &[prompt], threshold, caching).await;
        let dollars = dear.ok().flatten()?.estimate?.expected;
        Some(Reason::new(format!("the worker is estimated to cost ${dollars:.2}")))
    }

    pub(super) async fn agent(
        &self,
        input: &RawJson,
        context: &CallContext,
    ) -> Result<String, Told> {
        let arguments: AgentArguments = read(input)?;
        let policy = &self.options.crew.policy;
        let background = arguments.run_in_background;
        if let (Some(false), Some(refusal)) = (background, policy.foreground_refusal()) {
            return Err(Told(refusal.to_owned()));
        }
        let fork = self.agents_fork(&arguments)?;
        let place = match arguments.isolation {
            Some(Isolation::Worktree) => Placement::Worktree(Start::State),
            Some(Isolation::Shared) | None => Placement::Shared,
        };
        let limits = self.options.crew.limits;
        let time = arguments.timeout.map(Duration::from_secs);
        let spawn = Spawn {
            fork: ForkSpec { name: arguments.name.filter(|name| !name.is_empty()), place, ..fork },
            prompt: bounded("prompt", arguments.prompt)?,
            description: description(arguments.description),
            limits: RunLimits { time: shorter(limits.time, time), ..limits },
        };
        let waits = !policy.forks() && background != Some(true);
        self.start(spawn, waits, context).await
    }

    /// What a call of `Agent` says of the worker.
    fn agents_fork(&self, arguments: &AgentArguments) -> Result<ForkSpec, Told> {
        let (usual, agent) = match arguments.subagent_type.as_deref() {
            Some(FORK) => (Inherit::Full, None),
            None if self.options.crew.policy.forks_by_itself() => (Inherit::Full, None),
            agent => (Inherit::Fresh, agent),
        };
        let context = arguments.context.as_ref().map(ContextArgument::read).transpose()?;
        self.fork_as(context.unwrap_or(usual), agent, arguments.model.as_deref())
    }

    /// What a call of `TaskStart` says of the worker.
    pub(super) fn tasks_fork(&self, arguments: &StartArguments) -> Result<ForkSpec, Told> {
        let context = arguments.context.as_ref().map(ContextArgument::read).transpose()?;
        let context = match (arguments.fork, context) {
            (Some(true), Some(context)) if context != Inherit::Full => {
                return Err(Told(
                    "`fork` is the same as `context` `full`, so another `context` contradicts it. Leave one of them out. \
                     Nothing was started."
                        .to_owned(),
                ));
            }
            (Some(true), _) => Inherit::Full,
            (Some(false) | None, context) => context.unwrap_or(Inherit::Fresh),
        };
        self.fork_as(context, arguments.agent.as_deref(), arguments.model.as_deref())
    }

    fn fork_as(
        &self,
        inherit: Inherit,
        agent: Option<&str>,
        model: Option<&str>,
    ) -> Result<ForkSpec, Told> {
        let refusal = self.options.crew.policy.fork_refusal();
        if let Some(refusal) = refusal.filter(|_| inherit != Inherit::Fresh) {
            return Err(Told(refusal.to_owned()));
        }
        let agent =
            agent.filter(|name| !name.is_empty()).map(|name| self.named(name)).transpose()?;
        let model = model.filter(|model| !model.is_empty()).map(ModelWords::parse).transpose();
        let model = model.map_err(|error| Told(format!("`model`: {error}.")))?;
        Ok(ForkSpec { inherit, agent, model, ..ForkSpec::of(self.record.id) })
    }

    /// The defined agent of this name.
    fn named(&self, name: &str) -> Result<AgentDefinition, Told> {
        let definitions = &self.options.crew.definitions;
        definitions.get(name).cloned().ok_or_else(|| {
            if let Some(fault) = definitions.fault(name) {
                return Told(format!("The agent `{name}` cannot be started: {fault}"));
            }
            let names: Vec<String> =
                definitions.iter().map(|one| format!("`{}`", one.name)).collect();
            let defined = if names.is_empty() { "none is defined here".to_owned() } else { format!("defined are {}", names.join(", ")) };
            Told(format!(
                "There is no agent `{}`: {defined}. Take `{FORK}` to start from this conversation, or leave the type out for a \
                 fresh worker.",
                name.escape_debug()
            ))
        })
    }

    /// Starts a worker, and waits for it where that was asked for.
    pub(super) async fn start(
        &self,
        spawn: Spawn,
        waits: bool,
        context: &CallContext,
    ) -> Result<String, Told> {
        let inherits = match spawn.fork.inherit {
            Inherit::Full => "forked from this conversation",
            Inherit::Turns(_) => "forked from the last turns of this conversation",
            Inherit::Digest(_) => "with this conversation as a shorter text",
            Inherit::Fresh => "fresh",
        };
        let agent = if spawn.fork.agent.is_some() { ", as the agent that you named" } else { "" };
        let (record, snapshot) = (&self.record, context.snapshot.as_ref());
        let spawner = Spawner { record, snapshot, top: Some(self.top) };
        let worker = self.runtime.spawn(spawner, spawn, &self.options).await?;
        if waits {
            return self.report_of(worker, OUTPUT_WAIT_MAX, context).await;
        }
        let wakes = if self.options.crew.policy.wakes {
            "Its report comes by itself, as a message with a <task-notification>. Go on with what does not depend on it; \
                     when there is nothing like that, end your turn, and you are called again when it reports."
        } else {
            "Its report comes by itself, as a message with a <task-notification>, at a later turn. Use TaskOutput with \
                      `block` where you cannot go on without it."
        };
        Ok(format!("Started worker {worker} ({inherits}{agent}), in the background. {wakes}"))
    }
}

/// The shorter of two time limits.
fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
