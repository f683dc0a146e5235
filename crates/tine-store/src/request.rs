//! What callers ask of a store: plain parameter structs. Ids and times are theirs to choose.

use tine_model::{
    AgentId, AgentRecord, AgentState, ContextMode, EntryId, ModelSettings, Reach, Standing,
    StopKind, TaskRecord, TaskStatus, Usage, WorktreeRecord,
};

use crate::{EntryKind, Fence, Lease};

/// System prompt and tool declarations of a lineage, stored once under their hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Identity of the body, computed by the caller.
    pub hash: [u8; 32],
    /// The text; `None` when the store has it already, as it has for every fork in `full` context.
    pub body: Option<String>,
}

/// An agent to be. It begins idle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewAgent {
    /// Its id, not yet in use.
    pub id: AgentId,
    /// A name that no living agent has.
    pub name: Option<String>,
    /// What it is to its parent.
    pub standing: Standing,
    /// How it inherits.
    pub context: ContextMode,
    /// Model and settings.
    pub settings: ModelSettings,
    /// What stands before its first message.
    pub head: Head,
    /// The directory it works in.
    pub directory: String,
    /// What its commands and file tools may touch. A child reaches no farther than its parent does when it is made, unless
    /// [`NewChild::by_person`] is set.
    pub reach: Reach,
    /// Number of model-made forks above it.
    pub depth: u32,
}

/// Makes an agent that has no parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateAgent {
    /// The agent.
    pub agent: NewAgent,
    /// What its log begins with; an import has its messages here, so that half an import never exists.
    pub entries: Vec<NewEntry>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// A row for an agent's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// What it is; never [`EntryKind::Fork`].
    pub kind: EntryKind,
    /// Its content; never looked into.
    pub body: String,
    /// When it happened, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// The title that it gives to an agent without one; `None` where it holds no words to the agent.
    pub title: Option<String>,
}

/// Which agents a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentFilter {
    /// All but the hidden and the dead.
    Listed,
    /// All but the reaped.
    Kept,
    /// All.
    All,
}

/// Takes dead agents off the lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reap {
    /// A dead agent, which goes with all its descendants; `None` for all that are dead.
    pub agent: Option<AgentId>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// Removes agents for good. Others keep all that they have inherited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remove {
    /// The agents that go. Those below them stay, unless they are named as well.
    pub agents: Vec<AgentId>,
    /// Says what would go, and does nothing.
    pub dry_run: bool,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// The parts of an agent that went, and those that stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedAgent {
    /// The agent.
    pub agent: AgentId,
    /// The number of its own entries that went.
    pub entries: u64,
    /// The number of its own entries that stay, because agents that stay have inherited them.
    pub inherited: u64,
    /// True if nothing of it is left. Else its row stays, dead and without a name, for the sake of those below it.
    pub is_whole: bool,
}

/// Gives an agent a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    /// The agent.
    pub agent: AgentId,
    /// The name; `None` takes it away.
    pub name: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// Changes what an agent does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetState {
    /// The agent; not a dead one.
    pub agent: AgentId,
    /// What it does now; not [`AgentState::Dead`].
    pub state: AgentState,
    /// Why its run failed, in a line; `None` where none has.
    pub failure: Option<String>,
    /// Where given, the change is refused unless this is the current lease.
    pub fence: Option<Fence>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// Changes what an agent's commands and file tools may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetReach {
    /// The agent; not a dead one.
    pub agent: AgentId,
    /// Its reach from now on, wider or narrower.
    pub reach: Reach,
    /// Where given, the change is refused unless this is the current lease.
    pub fence: Option<Fence>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// How much of the parent's history a child inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkFrom {
    /// All of it: the fork point is the parent's own last entry before this fork.
    LastEntry,
    /// Up to and with this entry of the parent's effective history.
    Entry(EntryId),
    /// None of it.
    Nothing,
}

/// A task that a fork works on; the spawner is the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTask {
    /// What the worker is told.
    pub directive: String,
    /// The same in a few words.
    pub description: Option<String>,
    /// The name of the definition that the worker was started by.
    pub definition: Option<String>,
}

/// One child of a fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChild {
    /// The child.
    pub agent: NewAgent,
    /// Its task, queued in the same transaction.
    pub task: Option<NewTask>,
    /// What its log holds behind the fork event: what a child that does not inherit everything has in its place.
    pub entries: Vec<NewEntry>,
    /// The worktree that was made for it.
    pub worktree: Option<NewWorktree>,
    /// Whether a person has given it its reach, which may then be wider than its parent's.
    pub by_person: bool,
}

/// A worktree that was made for an agent, as [`tine_model::WorktreeRecord`] has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorktree {
    /// Where its files are.
    pub path: String,
    /// The directory that it was forked from.
    pub origin: String,
    /// What all checkouts of the repository share.
    pub repository: String,
}

/// The new places of worktrees and directories of agents that were moved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Relocation {
    /// Worktrees; of each its `path`, `origin` and `repository` are written.
    pub worktrees: Vec<WorktreeRecord>,
    /// Agents, and the directories that they work in.
    pub directories: Vec<(AgentId, String)>,
}

/// Forks one agent into any number of children that share one fork point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkRequest {
    /// Whose fork it is. May be run by another process: its log only grows by an event.
    pub parent: AgentId,
    /// How much is inherited.
    pub from: ForkFrom,
    /// Where given, the fork is refused unless this is the parent's current lease.
    pub parent_fence: Option<Fence>,
    /// The children, in order; all of them are made or none is.
    pub children: Vec<NewChild>,
    /// Where given, the owner of a lease on each child from its first moment, so that none is ever without one who runs it
    /// or is known to be dead.
    pub owner: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// A child as it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forked {
    /// The child.
    pub child: AgentId,
    /// The last inherited entry.
    pub fork_point: Option<EntryId>,
    /// The event in the parent's log; `None` of a hidden run, of which the parent's log says nothing.
    pub parent_event: Option<EntryId>,
    /// The event in the child's log: its first own entry.
    pub child_event: EntryId,
    /// The lease on the child, where the request named an owner.
    pub lease: Option<Lease>,
    /// The child as it is stored.
    pub record: AgentRecord,
}

/// Ends a task and tells its spawner, at once or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEnd {
    /// The worker.
    pub agent: AgentId,
    /// Where given, the end is refused unless this is the worker's current lease.
    pub fence: Option<Fence>,
    /// A final status.
    pub status: TaskStatus,
    /// Its last words.
    pub report: Option<String>,
    /// Why it did not complete.
    pub error: Option<String>,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// Requests to the model.
    pub turns: u32,
    /// Tool calls that it made.
    pub tool_uses: u32,
    /// What the checks have seen, each a word without blanks.
    pub flags: Vec<String>,
    /// What the spawner finds in its mailbox.
    pub notice: String,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// A message for an agent's mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMail {
    /// Who gets it; not a dead agent.
    pub recipient: AgentId,
    /// Who sends it; `None` for the user.
    pub sender: Option<AgentId>,
    /// Its content; never looked into.
    pub body: String,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// Asks whoever runs an agent to stop it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestStop {
    /// The agent.
    pub agent: AgentId,
    /// How.
    pub how: StopKind,
    /// Its descendants too.
    pub cascade: bool,
}

/// Whose requests are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageScope {
    /// The agent's own.
    Own,
    /// Its own and those of all its descendants.
    Subtree,
}

/// Tells whether the process behind a lease's owner still exists. Called inside a transaction: must be quick.
pub type IsAlive<'a> = &'a (dyn Fn(&str) -> bool + Send + Sync);

/// Words the notice that a spawner gets of a task that the store itself ends. Called inside a transaction: must be quick.
pub type WordNotice<'a> = &'a (dyn Fn(&TaskRecord) -> String + Send + Sync);

/// Takes the lease on an agent.
#[derive(Clone, Copy)]
pub struct Acquire<'a> {
    /// The agent; not a dead one.
    pub agent: AgentId,
    /// Who takes it.
    pub owner: &'a str,
    /// Tells whether the present owner lives; if not, the lease is taken over as by `recover`.
    pub is_alive: IsAlive<'a>,
    /// Words the notices of tasks that the dead owner left behind.
    pub notice: WordNotice<'a>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// Takes the leases of all dead owners.
#[derive(Clone, Copy)]
pub struct Recover<'a> {
    /// Tells whether an owner lives.
    pub is_alive: IsAlive<'a>,
    /// Words the notices of tasks that the dead owners left behind.
    pub notice: WordNotice<'a>,
    /// The usage of the workers among [`Store::held_by_dead`](crate::Store::held_by_dead), for their tasks and for the notices.
    pub used: &'a [TaskUsed],
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}

/// A worker's usage so far, its earlier runs included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskUsed {
    /// The worker.
    pub agent: AgentId,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// Requests to the model.
    pub turns: u32,
    /// Tool calls that it made.
    pub tool_uses: u32,
}

/// Kills an agent and all its descendants.
#[derive(Clone, Copy)]
pub struct Kill<'a> {
    /// The agent.
    pub agent: AgentId,
    /// The usage of the workers among them, for their tasks and for the notices.
    pub used: &'a [TaskUsed],
    /// Words the notices of the cancelled tasks.
    pub notice: WordNotice<'a>,
    /// When, in milliseconds since the Unix epoch.
    pub now_ms: i64,
}
