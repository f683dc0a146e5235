//! Starting a worker: rows first, in one transaction; then its run, on a task of this process.

use std::sync::Arc;

use tine_fork::ToolFilter;
use tine_fork::run::{Conversation, RunLimits, Snapshot};
use tine_fork::worker::{Inherits, fresh_directive, worker_directive};
use tine_guard::PermissionMode;
use tine_model::{AgentId, AgentRecord, Block, Message, RawJson, Role, Standing, StopKind};
use tine_store::{Forked, NewTask, StoreError};

use crate::children::Births;
use crate::confine::Confinement;
use crate::crew::{AgentDefinition, Definitions, WorkerRole};
use crate::error::RuntimeError;
use crate::fork::ForkSpec;
use crate::inherit::Inherit;
use crate::names::check_name;
use crate::permission::Permissions;
use crate::prompt::environment_note;
use crate::run::RunOptions;
use crate::runtime::Runtime;
use crate::worker::{Start, WorkerRun};
use crate::worktrees::Cause;

/// Most workers that one run has at the same time, at any depth. More would overrun every provider's rate limits, and the machine's.
const WORKERS_LIVE_MAX: usize = 256;

/// The type of a worker that starts from the conversation.
pub(crate) const FORK: &str = "fork";

/// A worker to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct Spawn {
    /// Whose fork it is, and what it is made of.
    pub fork: ForkSpec,
    /// What it is told to do.
    pub prompt: String,
    /// The same in a few words.
    pub description: Option<String>,
    /// Where its run stops by itself.
    pub limits: RunLimits,
}

/// Who starts a worker.
pub(crate) struct Spawner<'a> {
    pub(crate) record: &'a AgentRecord,
    /// Its conversation when the call was made; `None` where nobody runs it here.
    pub(crate) snapshot: Option<&'a Snapshot>,
    /// The agent whose run holds this one in this process; `None` where the worker is nobody's but its own.
    pub(crate) top: Option<AgentId>,
}

impl Runtime {
    /// Makes a worker and starts it; returns its id, which is that of its task, when it is in the store. What it inherits is what the snapshot holds, or, without
    /// one, all that the log held when it was made.
    pub(crate) async fn spawn(
        &self,
        spawner: Spawner<'_>,
        spawn: Spawn,
        options: &RunOptions,
    ) -> Result<AgentId, RuntimeError> {
        let Spawn { fork, prompt, description, limits } = spawn;
        check_name(fork.name.as_deref())?;
        if prompt.trim().is_empty() {
            return Err(RuntimeError::NoDirective);
        }
        let parent = spawner.record;
        let live = spawner.top.map_or(0, |top| self.live().below(top).len());
        if live >= WORKERS_LIVE_MAX {
            return Err(RuntimeError::TooMany { asked: live + 1, most: WORKERS_LIVE_MAX });
        }
        let root = self.root_of(parent).await?;
        let role = WorkerRole::of(&fork);
        let at = fork.at.or_else(|| spawner.snapshot.and_then(Snapshot::at));
        let reach = options.crew.confinement.reach.clone();
        let fork = ForkSpec { at, reach, ..fork };
        let births = Births {
            parent,
            spec: &fork,
            standing: Standing::Worker,
            cause: if spawner.top.is_some() { Cause::Run } else { Cause::Command },
            held: true,
        };
        let definition = fork.agent.as_ref().map(|definition| definition.name.clone());
        let task = NewTask { directive: prompt.clone(), description, definition };
        let unborn = self.unborn(&births, vec![Some(task)]).await?;
        // All of the conversation that is in memory, behind the head that it has there.
        let is_in_memory = fork.inherit == Inherit::Full
            && unborn.iter().all(|child| child.agent.head.body.is_none());
        let snapshot = spawner.snapshot.filter(|_| is_in_memory);
        let model =
            unborn.first().map_or(&parent.settings.model, |child| &child.agent.settings.model);
        let llm = self.ports().models.connect(model).await?;
        let made = self.bear(&births, unborn).await?.forked.into_iter().next();
        let (lease, record) = match made {
            Some(Forked { lease: Some(lease), record, .. }) => (lease, record),
            Some(_) | None => return Err(StoreError::no_agent(parent.id).into()),
        };
        let agent = record.id;
        let conversation = match snapshot {
            Some(snapshot) => Ok(snapshot.fork()),
            None => self.load(agent, options.caching).await.map(|loaded| loaded.conversation),
        };
        let conversation = match conversation {
            Ok(conversation) => conversation,
            Err(error) => return Err(self.never_began(&lease, &prompt, error).await),
        };
        let strips = self.facts(&record.settings.model).strips_reasoning;
        let place = match self.told_place(agent, &record.directory, &role).await {
            Ok(place) => place,
            Err(error) => return Err(self.never_began(&lease, &prompt, error).await),
        };
        let told =
            told((&role, &prompt), (&conversation, &place), (strips, &options.crew.inherits));
        let teller = self.teller(&record, root, Some(&lease));
        let entered = self.live().enter(teller, spawner.top.unwrap_or(agent), &options.cancel);
        // Whoever stops all below its spawner may have looked before this one was there.
        let stopped = self.live().asked(parent.id).filter(|how| *how == StopKind::Hard);
        stopped.into_iter().for_each(|how| entered.stop.ask(how));
        let run = WorkerRun {
            lease,
            directive: prompt.clone(),
            start: Start::first(told, prompt, conversation),
            entered,
            llm,
        };
        let options = worker_options(options, &role, limits);
        self.start(run, options);
        Ok(agent)
    }

    /// What a worker is told of the place where it works.
    pub(crate) async fn told_place(
        &self,
        agent: AgentId,
        directory: &str,
        role: &WorkerRole,
    ) -> Result<ToldPlace, RuntimeError> {
        let notice = self.worktree_notice((agent, directory), role.has_history()).await?;
        Ok(ToldPlace { directory: directory.to_owned(), notice })
    }

    /// Runs a worker on a task of this process, to the end of its task.
    pub(crate) fn start(&self, run: WorkerRun, options: RunOptions) {
        let runtime = self.clone();
        self.tasks().spawn(async move { runtime.work_alone(run, &options).await });
    }
}

/// The options of a worker's run: those of the run that starts it, and never more than it may itself.
pub(crate) fn worker_options(
    options: &RunOptions,
    role: &WorkerRole,
    limits: RunLimits,
) -> RunOptions {
    let crew = &options.crew;
    let (mut permissions, mut filter) = (options.permissions.clone(), Arc::clone(&options.filter));
    let mut turns = limits.turns;
    if let Some(definition) = &role.agent {
        permissions = narrowed(permissions, definition.permission_mode);
        filter = Arc::new(OnlyItsTools { definition: definition.clone(), rest: filter });
        turns = definition.max_turns.map_or(turns, |most| most.min(turns));
    }
    RunOptions {
        limits: RunLimits { turns, ..limits },
        permissions,
        filter,
        // What is stored with the worker bounds it by itself; whoever takes it up again lends it no more than it has.
        confinement: Confinement {
            reach: options.confinement.reach.clone(),
            ..crew.confinement.clone()
        },
        ..options.clone()
    }
}

/// Permissions with the stricter of two modes.
fn narrowed(permissions: Permissions, mode: Option<PermissionMode>) -> Permissions {
    let mode = permissions.mode.narrowed(mode);
    Permissions { mode, ..permissions }
}

/// Refuses what the definition does not give.
struct OnlyItsTools {
    definition: AgentDefinition,
    rest: Arc<dyn ToolFilter>,
}

impl ToolFilter for OnlyItsTools {
    fn allows(&self, tool: &str, input: &RawJson) -> bool {
        self.definition.has_tool(tool) && self.rest.allows(tool, input)
    }

    fn denial_message(&self, tool: &str, input: &RawJson) -> String {
        match self.definition.has_tool(tool) {
            true => self.rest.denial_message(tool, input),
            false => {
                let name = &self.definition.name;
                format!("The agent `{name}` does not have the tool `{tool}`. Do without it.")
            }
        }
    }
}

/// What a worker is told of the place where it works.
pub(crate) struct ToldPlace {
    directory: String,
    /// Of the worktree, where that is its own.
    notice: Option<String>,
}

/// The first message of a worker. Where the model forgets its reasoning when somebody speaks, the directive is part of the last
/// open call's result, so that what stands before it stays what it was.
pub(crate) fn told(
    (role, prompt): (&WorkerRole, &str),
    (conversation, place): (&Conversation, &ToldPlace),
    (strips_reasoning, inherits): (bool, &Inherits),
) -> Message {
    if !role.has_history() {
        let note = environment_note(place.directory.as_ref(), &Definitions::default());
        let blocks = [note].into_iter().chain(place.notice.clone());
        let blocks = blocks.chain([fresh_directive(prompt)]).map(Block::Text);
        return Message::new(Role::User, blocks.collect());
    }
    let texts = place.notice.clone().into_iter().chain(role.instructions());
    let texts = texts.chain([worker_directive(prompt, inherits)]);
    let last = conversation.history().last().map(|item| &item.message);
    let open = last.filter(|message| message.role() == Role::Assistant);
    match open.and_then(|message| message.tool_calls().last()) {
        Some(call) if strips_reasoning => {
            let text = texts.collect::<Vec<_>>().join("\n\n");
            Message::new(Role::User, vec![Block::result(call.clone(), text, false)])
        }
        _ => Message::new(Role::User, texts.map(Block::Text).collect()),
    }
}
