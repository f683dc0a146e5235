//! `Agent`: a worker is started.

use std::time::Duration;

use tine_fork::{CallContext, RunLimits};
use tine_guard::Reason;
use tine_model::RawJson;

use super::arguments::{
    AgentArguments, Isolation, StartArguments, Turns, bounded, description, read,
};
use super::{CrewTool, CrewTools, Told};
use crate::crew::{FORK, Spawn, SpawnKind, Spawner};
use crate::inherit::Inherit;
use crate::tasks::OUTPUT_WAIT_MAX;
use crate::worktrees::{Placement, Start};

impl CrewTools {
    /// Why a call that starts a worker from this conversation has to be asked about; `None` where it has not, and where no price is
    /// known.
    pub(crate) async fn price_to_confirm(&self, tool: CrewTool, input: &RawJson) -> Option<Reason> {
        let threshold = self.options.crew.confirm_above?;
        let prompt = match tool {
            CrewTool::Agent => {
                let arguments: AgentArguments = read(input).ok()?;
                let turns = arguments.fork_turns.as_ref().map(|turns| turns.read());
                let turns = turns.transpose().ok()?;
                match self.kind(arguments.subagent_type.as_deref(), turns).ok()? {
                    SpawnKind::Fork(_) => arguments.prompt,
                    SpawnKind::Fresh | SpawnKind::Named(_) => return None,
                }
            }
            CrewTool::TaskStart => {
                let arguments: StartArguments = read(input).ok()?;
                (arguments.fork == Some(true)).then_some(arguments.prompt)?
            }
            CrewTool::TaskList
            | CrewTool::TaskOutput
            | CrewTool::TaskSend
            | CrewTool::TaskCancel
            | CrewTool::TaskClear
            | CrewTool::TaskWait => return None,
        };
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
        let turns = arguments.fork_turns.as_ref().map(|turns| turns.read()).transpose()?;
        let kind = self.kind(arguments.subagent_type.as_deref(), turns)?;
        let limits = self.options.crew.limits;
        let time = arguments.timeout.map(Duration::from_secs);
        let spawn = Spawn {
            prompt: bounded("prompt", arguments.prompt)?,
            description: description(arguments.description),
            name: arguments.name.filter(|name| !name.is_empty()),
            kind,
            limits: RunLimits { time: shorter(limits.time, time), ..limits },
            place: match arguments.isolation {
                Some(Isolation::Worktree) => Placement::Worktree(Start::State),
                Some(Isolation::Shared) | None => Placement::Shared,
            },
        };
        let waits = !policy.forks() && background != Some(true);
        self.start(spawn, waits, context).await
    }

    /// What a worker of this type starts from.
    fn kind(&self, subagent_type: Option<&str>, turns: Option<Turns>) -> Result<SpawnKind, Told> {
        let crew = &self.options.crew;
        let forks = match subagent_type {
            Some(name) => name == FORK,
            None => {
                crew.policy.forks_by_itself() || matches!(turns, Some(Turns::All | Turns::Last(_)))
            }
        };
        if forks && turns != Some(Turns::None) {
            if let Some(refusal) = crew.policy.fork_refusal() {
                return Err(Told(refusal.to_owned()));
            }
            return Ok(SpawnKind::Fork(match turns {
                Some(Turns::Last(turns)) => Inherit::Turns(turns),
                Some(Turns::All | Turns::None) | None => Inherit::Full,
            }));
        }
        match subagent_type.filter(|_| !forks) {
            None => Ok(SpawnKind::Fresh),
            Some(name) => self.named(name),
        }
    }

    /// The defined agent of this name.
    pub(super) fn named(&self, name: &str) -> Result<SpawnKind, Told> {
        let definitions = &self.options.crew.definitions;
        let found = definitions.get(name).cloned().map(SpawnKind::Named);
        found.ok_or_else(|| {
            let names: Vec<String> =
                definitions.iter().map(|one| format!("`{}`", one.name)).collect();
            let defined = match names.is_empty() {
                true => "none is defined here".to_owned(),
                false => format!("defined are {}", names.join(", ")),
            };
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
        let how = match spawn.kind {
            SpawnKind::Fork(Inherit::Turns(_)) => "forked from the last turns of this conversation",
            SpawnKind::Fork(_) => "forked from this conversation",
            SpawnKind::Fresh => "fresh",
            SpawnKind::Named(_) => "as the agent that you named",
        };
        let (record, snapshot) = (&self.record, context.snapshot.as_ref());
        let spawner = Spawner { record, snapshot, top: Some(self.top) };
        let worker = self.runtime.spawn(spawner, spawn, &self.options).await?;
        if waits {
            return self.report_of(worker, OUTPUT_WAIT_MAX, context).await;
        }
        let wakes = match self.options.crew.policy.wakes {
            true => {
                "Its report comes by itself, as a message with a <task-notification>. Go on with what does not depend on it; \
                     when there is nothing like that, end your turn, and you are called again when it reports."
            }
            false => {
                "Its report comes by itself, as a message with a <task-notification>, at a later turn. Use TaskOutput with \
                      `block` where you cannot go on without it."
            }
        };
        Ok(format!("Started worker {worker} ({how}), in the background. {wakes}"))
    }
}

/// The shorter of two time limits.
fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
