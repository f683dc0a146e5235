//! Starting a worker: rows first, in one transaction; then its run, on a task of this process.

use std::sync::Arc;

use tine_fork::{
    Conversation, Inherits, RunLimits, Snapshot, ToolFilter, escape_frame_tags, fresh_directive,
    worker_directive,
};
use tine_guard::PermissionMode;
use tine_model::{
    AgentId, AgentRecord, Block, ContextMode, Message, ModelSettings, RawJson, Role, Standing,
    StopKind,
};
use tine_store::{Head as StoredHead, Lease, NewAgent, NewChild, NewTask, StoreError};

use crate::confine::{Confinement, ReachWish};
use crate::crew::{AgentDefinition, Definitions};
use crate::error::RuntimeError;
use crate::inherit::{Inherit, Inherited};
use crate::permission::Permissions;
use crate::prompt::environment_note;
use crate::registry::check_name;
use crate::run::RunOptions;
use crate::runtime::{NewHead, Runtime};
use crate::worker::{Start, WorkerRun};
use crate::worktrees::{Cause, Placed, Placement};

/// Most workers that one run has at the same time, at any depth. More would overrun every provider's rate limits, and the machine's.
const WORKERS_LIVE_MAX: usize = 256;

/// The type of a worker that starts from the conversation.
pub(crate) const FORK: &str = "fork";

/// What a worker starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpawnKind {
    /// The conversation of the agent that starts it, or as much of it as this says.
    Fork(Inherit),
    /// Nothing but its prompt.
    Fresh,
    /// Nothing but its prompt, as this agent.
    Named(AgentDefinition),
}

/// A worker to be started.
#[derive(Debug, Clone, PartialEq)]
pub struct Spawn {
    /// What it is told to do.
    pub prompt: String,
    /// The same in a few words.
    pub description: Option<String>,
    /// A name that no living agent has.
    pub name: Option<String>,
    /// What it starts from.
    pub kind: SpawnKind,
    /// Where its run stops by itself.
    pub limits: RunLimits,
    /// Where it works.
    pub place: Placement,
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
        check_name(spawn.name.as_deref())?;
        if spawn.prompt.trim().is_empty() {
            return Err(RuntimeError::NoDirective);
        }
        let parent = spawner.record;
        let live = spawner.top.map_or(0, |top| self.live().below(top).len());
        if live >= WORKERS_LIVE_MAX {
            return Err(RuntimeError::TooMany { asked: live + 1, most: WORKERS_LIVE_MAX });
        }
        let child = self.worker_of(parent, &spawn, &options.crew.confinement.reach)?;
        let (agent, settings) = (child.id, child.settings.clone());
        let llm = self.ports().models.connect(&settings.model).await?;
        let task = NewTask {
            directive: spawn.prompt.clone(),
            description: spawn.description.clone(),
            definition: spawn.kind.definition().map(|definition| definition.name.clone()),
        };
        let at = spawner.snapshot.and_then(Snapshot::at);
        let inherit = spawn.kind.inherits();
        let Inherited { from, context, entries, .. } = self.inherited(parent, at, inherit).await?;
        let child = NewAgent { context, ..child };
        let owner = Some(self.owner()?.name().to_owned());
        let cause = if spawner.top.is_some() { Cause::Run } else { Cause::Command };
        let placed = self.place(agent, parent, (&spawn.place, cause)).await?;
        let child = placed.iter().fold(child, |child, placed| placed.moved(child));
        let directory = child.directory.clone();
        let worktree = placed.as_ref().map(Placed::row);
        let by_person = matches!(options.crew.confinement.reach, ReachWish::Person(_));
        let task = Some(task);
        let children = vec![NewChild { agent: child, task, entries, worktree, by_person }];
        let made = match self.commit(parent, from, children, owner).await {
            Ok(made) => made,
            Err(error) => {
                self.unplace(placed).await;
                return Err(error);
            }
        };
        let lease = made.into_iter().find_map(|made| made.lease);
        let lease = lease.ok_or(StoreError::Fenced { agent })?;
        let conversation = match self.first_conversation(&lease, &spawn, &spawner, options).await {
            Ok(conversation) => conversation,
            Err(error) => return Err(self.never_began(&lease, &spawn.prompt, error).await),
        };
        let strips = self.facts(&settings.model).strips_reasoning;
        let place = match self.told_place(agent, &directory, &spawn.kind).await {
            Ok(place) => place,
            Err(error) => return Err(self.never_began(&lease, &spawn.prompt, error).await),
        };
        let told = told(
            (&spawn.kind, &spawn.prompt),
            (&conversation, &place),
            (strips, &options.crew.inherits),
        );
        let entered = self.live().enter(agent, spawner.top.unwrap_or(agent), &options.cancel);
        // Whoever stops all below its spawner may have looked before this one was there.
        let stopped = self.live().asked(parent.id).filter(|how| *how == StopKind::Hard);
        stopped.into_iter().for_each(|how| entered.stop.ask(how));
        let run = WorkerRun {
            lease,
            directive: spawn.prompt.clone(),
            start: Start::first(told, spawn.prompt, conversation),
            entered,
            llm,
        };
        let options = worker_options(options, &spawn.kind, spawn.limits);
        self.start(run, options);
        Ok(agent)
    }

    async fn first_conversation(
        &self,
        lease: &Lease,
        spawn: &Spawn,
        spawner: &Spawner<'_>,
        options: &RunOptions,
    ) -> Result<Conversation, RuntimeError> {
        match (&spawn.kind, spawner.snapshot) {
            (SpawnKind::Fork(Inherit::Full), Some(snapshot)) => Ok(snapshot.fork()),
            (SpawnKind::Fork(_) | SpawnKind::Fresh | SpawnKind::Named(_), _) => {
                Ok(self.load(lease.agent, options.caching).await?.conversation)
            }
        }
    }

    /// What a worker is told of the place where it works.
    pub(crate) async fn told_place(
        &self,
        agent: AgentId,
        directory: &str,
        kind: &SpawnKind,
    ) -> Result<ToldPlace, RuntimeError> {
        let has_history = matches!(kind, SpawnKind::Fork(_));
        let notice = self.worktree_notice((agent, directory), has_history).await?;
        Ok(ToldPlace { directory: directory.to_owned(), notice })
    }

    /// Runs a worker on a task of this process, to the end of its task.
    pub(crate) fn start(&self, run: WorkerRun, options: RunOptions) {
        let runtime = self.clone();
        self.tasks().spawn(async move { runtime.work_alone(run, &options).await });
    }

    fn worker_of(
        &self,
        parent: &AgentRecord,
        spawn: &Spawn,
        wish: &ReachWish,
    ) -> Result<NewAgent, RuntimeError> {
        let child = self.child_of(parent, Standing::Worker, spawn.name.clone());
        let child = NewAgent { reach: wish.within(&parent.reach), ..child };
        Ok(match &spawn.kind {
            SpawnKind::Fork(_) | SpawnKind::Fresh => child,
            SpawnKind::Named(definition) => {
                let model = definition.model.clone();
                let settings = match model.filter(|model| *model != parent.settings.model) {
                    None => parent.settings.clone(),
                    // Thinking and effort are said in each provider's own terms.
                    Some(model) => ModelSettings {
                        model,
                        thinking: None,
                        effort: None,
                        ..parent.settings.clone()
                    },
                };
                let head = NewHead {
                    system: &escape_frame_tags(&definition.prompt),
                    tools: &|name| definition.has_tool(name),
                    stream: true,
                    drop_foreign_thinking: false,
                };
                let head = self.render_head((child.id, &settings), head);
                let head = StoredHead { hash: head.hash(), body: Some(head.to_stored()) };
                NewAgent { settings, head, ..child }
            }
        })
    }
}

impl SpawnKind {
    fn definition(&self) -> Option<&AgentDefinition> {
        match self {
            Self::Named(definition) => Some(definition),
            Self::Fork(_) | Self::Fresh => None,
        }
    }

    /// How much of the conversation a worker of this kind has.
    fn inherits(&self) -> Inherit {
        match self {
            Self::Fork(inherit) => *inherit,
            Self::Fresh | Self::Named(_) => Inherit::Fresh,
        }
    }

    /// The kind that a worker was started as, by the name that its task keeps.
    pub(crate) fn of_task(
        definition: Option<&str>,
        context: ContextMode,
        definitions: &Definitions,
    ) -> Result<Self, RuntimeError> {
        match (definition, context) {
            (Some(name), _) => definitions
                .get(name)
                .cloned()
                .map(Self::Named)
                .ok_or_else(|| RuntimeError::NoDefinition(name.to_owned())),
            (None, ContextMode::Fresh) => Ok(Self::Fresh),
            (None, ContextMode::Full | ContextMode::Turns | ContextMode::Digest) => {
                Ok(Self::Fork(Inherit::Full))
            }
        }
    }
}

/// The options of a worker's run: those of the run that starts it, and never more than it may itself.
pub(crate) fn worker_options(
    options: &RunOptions,
    kind: &SpawnKind,
    limits: RunLimits,
) -> RunOptions {
    let crew = &options.crew;
    let (mut permissions, mut filter) = (options.permissions.clone(), Arc::clone(&options.filter));
    let mut turns = limits.turns;
    if let Some(definition) = kind.definition() {
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
    (kind, prompt): (&SpawnKind, &str),
    (conversation, place): (&Conversation, &ToldPlace),
    (strips_reasoning, inherits): (bool, &Inherits),
) -> Message {
    let text = match kind {
        SpawnKind::Fork(_) => worker_directive(prompt, inherits),
        SpawnKind::Fresh | SpawnKind::Named(_) => {
            let note = environment_note(place.directory.as_ref(), &Definitions::default());
            let blocks = [note].into_iter().chain(place.notice.clone());
            let blocks = blocks.chain([fresh_directive(prompt)]).map(Block::Text);
            return Message::new(Role::User, blocks.collect());
        }
    };
    let last = conversation.history().last().map(|item| &item.message);
    let open = last.filter(|message| message.role() == Role::Assistant);
    match open.and_then(|message| message.tool_calls().last()) {
        Some(call) if strips_reasoning => {
            let texts = place.notice.clone().into_iter().chain([text]);
            let text = texts.collect::<Vec<_>>().join("\n\n");
            Message::new(Role::User, vec![Block::result(call.clone(), text, false)])
        }
        _ => {
            let blocks = place.notice.clone().into_iter().chain([text]).map(Block::Text);
            Message::new(Role::User, blocks.collect())
        }
    }
}
