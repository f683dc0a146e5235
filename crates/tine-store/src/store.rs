//! The port: what every store can do. The suite in `contract` says it in code.

use async_trait::async_trait;
use tine_model::{
    AgentId, AgentRecord, CapReached, EntryId, PermissionId, RequestId, TaskRecord, WorktreeRecord,
};

use crate::{
    Acquire, AgentFilter, AnswerPermission, AskPermission, BudgetRow, CacheRow, CreateAgent,
    EntryRow, Fence, ForkRequest, Forked, GuestFilter, GuestRow, Head, IsAlive, Kill, Lease,
    Lineage, MailId, MailRow, NewEntry, NewMail, NewWorktree, NoteWriter, PermissionFilter,
    PermissionRow, Reap, Recover, Recovered, Relocation, RemoteRun, Remove, RemovedAgent, Rename,
    RequestRow, RequestStop, Reserve, Reserved, Result, Rows, ServerNote, SetBudget, SetReach,
    SetStamp, SetState, Stamp, StampName, StandInLine, TakeIn, TaskEnd, UsageScope, UsageSum,
    WriterRow,
};

/// Agents: made, forked, read, changed, and removed.
#[async_trait]
pub trait AgentStore: Send + Sync {
    /// Makes an agent without a parent; returns the ids of its first entries.
    async fn create_agent(&self, create: CreateAgent) -> Result<Vec<EntryId>>;

    /// Forks an agent. The fork point is read before any event of the fork is written; the children share it.
    /// Writes per child one agent, one event in each log (in its own alone, of a hidden one), the child's own first entries, and the
    /// task if there is one.
    async fn fork(&self, request: ForkRequest) -> Result<Vec<Forked>>;

    /// The registry row of an agent, dead or alive.
    async fn agent(&self, agent: AgentId) -> Result<AgentRecord>;

    /// Finds the agent that a user means by a word, as [`tine_model::meant`] does: by its whole id, its name, or the beginning of
    /// its id. A word that could mean two agents means none.
    async fn resolve(&self, text: &str) -> Result<AgentId>;

    /// Agents, newest last.
    async fn agents(&self, filter: AgentFilter) -> Result<Vec<AgentRecord>>;

    /// The line from the root down to the agent itself.
    async fn ancestry(&self, agent: AgentId) -> Result<Vec<AgentRecord>>;

    /// Gives an agent a name that is unique among the living.
    async fn rename(&self, rename: Rename) -> Result<()>;

    /// Changes what an agent does.
    async fn set_state(&self, change: SetState) -> Result<()>;

    /// Changes what an agent may touch. Runs that are under way keep the wall that they began with.
    async fn set_reach(&self, change: SetReach) -> Result<()>;

    /// Marks an agent and its descendants as dead, cancels their unfinished tasks, withdraws their unanswered permission
    /// requests, and tells the living spawners.
    /// Leases stay, so that a runner finds out at its next write. Returns those that were alive, ancestors first.
    async fn kill(&self, kill: Kill<'_>) -> Result<Vec<AgentId>>;

    /// Takes dead agents off the lists: all of them, or one with all below it. Their rows stay. Returns those that were on a list.
    async fn reap(&self, reap: Reap) -> Result<Vec<AgentId>>;

    /// Removes agents for good, with all that they have said and heard; agents that run, or are about to, are refused. What others have
    /// inherited of them stays, and so does their row then. Returns what went of each, ancestors first.
    async fn remove(&self, remove: Remove) -> Result<Vec<RemovedAgent>>;

    /// The body of a head; `None` when no agent has it.
    async fn head(&self, hash: &[u8; 32]) -> Result<Option<String>>;
}

/// The logs of agents.
#[async_trait]
pub trait EntryStore: Send + Sync {
    /// Appends to an agent's log under the current lease; refuses the dead.
    async fn append(
        &self,
        agent: AgentId,
        fence: Fence,
        entries: &[NewEntry],
    ) -> Result<Vec<EntryId>>;

    /// All rows that make up the effective history up to `at` (all of it for `None`), ancestors' rows first. Rows that an
    /// ancestor wrote after the fork point are not among them.
    async fn lineage(&self, agent: AgentId, at: Option<EntryId>) -> Result<Vec<EntryRow>>;

    /// The agent's own rows after `after` (from the first for `None`).
    async fn own_entries(&self, agent: AgentId, after: Option<EntryId>) -> Result<Vec<EntryRow>>;
}

/// The tasks of workers.
#[async_trait]
pub trait TaskStore: Send + Sync {
    /// The task of a worker; `None` for an agent that is not one.
    async fn task(&self, agent: AgentId) -> Result<Option<TaskRecord>>;

    /// The tasks that an agent has spawned, newest last.
    async fn tasks(&self, spawner: AgentId) -> Result<Vec<TaskRecord>>;

    /// The tasks of all workers, in the order in which they were made.
    async fn all_tasks(&self) -> Result<Vec<TaskRecord>>;

    /// Marks a task as running, for the first time or again; `false` when it is running or completed.
    async fn start_task(&self, agent: AgentId) -> Result<bool>;

    /// Marks a task that has ended, in whatever way, as running again, and counts that; `false`, and nothing done, when it has
    /// not ended.
    async fn resume_task(&self, agent: AgentId) -> Result<bool>;

    /// Takes the ended tasks of a spawner off its list; their rows stay. Returns the workers.
    async fn clear_tasks(&self, spawner: AgentId, now_ms: i64) -> Result<Vec<AgentId>>;

    /// Ends a task and puts the notice into the spawner's mailbox; `false`, and nothing done, when it has ended before.
    /// A dead spawner gets no notice.
    async fn finish_task(&self, end: TaskEnd) -> Result<bool>;
}

/// The worktrees that were made for agents.
#[async_trait]
pub trait WorktreeStore: Send + Sync {
    /// The worktree that was made for an agent; `None` where none was.
    async fn worktree(&self, agent: AgentId) -> Result<Option<WorktreeRecord>>;

    /// All worktrees that were made for agents, the removed among them, in the order in which they were made.
    async fn worktrees(&self) -> Result<Vec<WorktreeRecord>>;

    /// Changes what is known of the worktree of an agent that has one: its `files`, `commits` and `removed_ms`.
    async fn note_worktree(&self, record: WorktreeRecord) -> Result<()>;

    /// Writes that this worktree is an agent's from now on, who had none, and that the agent works in `directory`. The agent may have
    /// been made long before: its worktree came from another machine.
    async fn adopt_worktree(
        &self,
        agent: AgentId,
        worktree: NewWorktree,
        directory: &str,
        now_ms: i64,
    ) -> Result<()>;

    /// Forgets the worktree of an agent, who is as one that never had any. Its directory stays written. Without one nothing happens.
    async fn disown_worktree(&self, agent: AgentId) -> Result<()>;

    /// Writes where worktrees and agents' directories are by now, all or none.
    async fn relocate(&self, relocation: Relocation) -> Result<()>;
}

/// Stops, and what an agent is told when it has nothing left to do.
#[async_trait]
pub trait StopStore: Send + Sync {
    /// Asks whoever runs the agent (and, in a cascade, its descendants) to stop. Only what runs, or is about to, is asked:
    /// returns those, ancestors first. A stricter wish that stands already is kept.
    async fn request_stop(&self, request: RequestStop) -> Result<Vec<AgentId>>;

    /// Keeps what a living agent is to be told when it has nothing left to do; `false`, and nothing done, when something is
    /// kept already.
    async fn keep_follow_up(&self, agent: AgentId, text: &str) -> Result<bool>;

    /// Puts what was kept for the agent into its mailbox, as a word of the user; `false`, and nothing done, when there is nothing.
    async fn deliver_follow_up(&self, agent: AgentId, now_ms: i64) -> Result<bool>;

    /// The same for a worker whose task has ended: marks the task as running again, and counts that, in the same transaction.
    async fn resume_for_follow_up(&self, agent: AgentId, fence: Fence, now_ms: i64)
    -> Result<bool>;

    /// Whether something is kept for the agent.
    async fn has_follow_up(&self, agent: AgentId) -> Result<bool>;
}

/// The mailboxes of agents.
#[async_trait]
pub trait MailStore: Send + Sync {
    /// Puts a message into a living agent's mailbox.
    async fn send_mail(&self, mail: NewMail) -> Result<MailId>;

    /// Mail that was not yet delivered, oldest first.
    async fn unread_mail(&self, agent: AgentId) -> Result<Vec<MailRow>>;

    /// Appends the entry that delivers a piece of unread mail, and acknowledges the mail up to and with it: both or
    /// neither, so that a crash neither loses mail nor delivers it twice.
    async fn deliver_mail(
        &self,
        agent: AgentId,
        fence: Fence,
        mail: MailId,
        entry: NewEntry,
    ) -> Result<EntryId>;

    /// Removes unread mail from an agent's mailbox, for the holder of its lease: nobody else can be reading it. Returns what was
    /// removed, in order; mail that was delivered or sent to another agent stays.
    async fn withdraw_mail(
        &self,
        agent: AgentId,
        fence: Fence,
        mail: &[MailId],
    ) -> Result<Vec<MailId>>;
}

/// The queues of requests for permission.
#[async_trait]
pub trait PermissionStore: Send + Sync {
    /// Puts a request for permission into the queue of its agent's root. A request about the same call of the same agent that
    /// waits still, or whose answer nobody has acted on, is found again: the former gets the new owner, deadline
    /// and default; the latter is returned with its answer.
    async fn ask_permission(&self, ask: AskPermission) -> Result<PermissionRow>;

    /// A request for permission, whatever became of it.
    async fn permission(&self, id: PermissionId) -> Result<PermissionRow>;

    /// Which request a user means: a whole id or a unique prefix of at least four characters.
    async fn resolve_permission(&self, text: &str) -> Result<PermissionId>;

    /// Requests for permission, oldest first; of one tree, named by its root, or of all (`None`).
    async fn permissions(
        &self,
        root: Option<AgentId>,
        filter: PermissionFilter,
    ) -> Result<Vec<PermissionRow>>;

    /// The request about this call that waits still, or whose answer nobody has acted on.
    async fn open_permission(&self, agent: AgentId, call: &str) -> Result<Option<PermissionRow>>;

    /// Answers beyond one call that count for this agent: its own, and those for its tree.
    async fn standing_permissions(&self, agent: AgentId) -> Result<Vec<PermissionRow>>;

    /// Answers a request that waits; the first answer wins, every later one is refused with [`crate::StoreError::Settled`].
    /// An answer after the deadline is too late: the default counts.
    async fn answer_permission(&self, answer: AnswerPermission) -> Result<PermissionRow>;

    /// Lets the default of a request count now, if it waits still; the request as it stands then. Only the one who asked knows how
    /// long it has waited: clocks of processes differ, are set, and go on while a machine sleeps.
    async fn default_permission(
        &self,
        id: PermissionId,
        by: &str,
        now_ms: i64,
    ) -> Result<PermissionRow>;

    /// Notes that the one who asked acts on the answer now; `false`, and nothing done, when there is none or somebody
    /// acted on it before.
    async fn take_permission(&self, id: PermissionId, now_ms: i64) -> Result<bool>;

    /// Withdraws the unanswered requests of an agent: its run is over, and nobody wants to know any more. Returns how many.
    async fn withdraw_permissions(&self, agent: AgentId, now_ms: i64) -> Result<u64>;

    /// Takes a standing answer back; what was done under it stays done.
    async fn revoke_permission(&self, id: PermissionId, now_ms: i64) -> Result<PermissionRow>;
}

/// The budgets of trees, and the line of workers that wait for a place.
#[async_trait]
pub trait BudgetStore: Send + Sync {
    /// Changes caps of an agent's tree, and begins its budget where it had none; what the tree has spent before counts.
    async fn set_budget(&self, set: SetBudget) -> Result<BudgetRow>;

    /// The budget of an agent's tree; `None` where it has none.
    async fn budget(&self, agent: AgentId) -> Result<Option<BudgetRow>>;

    /// Reserves what a request may use, where no cap of its tree is used up yet, neither by what is spent nor by what other
    /// requests have reserved. So spending passes a cap by no more than the requests under way, and by less than one where no
    /// request uses more than it reserved. [`Self::record_request`] settles it in the same transaction.
    async fn reserve(&self, ask: Reserve) -> Result<Reserved>;

    /// Lets go of what was reserved for a request that will not be recorded. What nobody settles or releases goes with the
    /// agent's lease, or with its owner.
    async fn release_reservation(&self, id: RequestId) -> Result<()>;

    /// Puts workers of one tree into the line of those that run at the same time; does nothing where the tree has no budget.
    async fn stand_in_line(&self, stand: StandInLine) -> Result<()>;

    /// What holds a worker in line back: how many stand before it, and how many may run. `None` when it may run, or does
    /// not stand in line.
    async fn before_in_line(&self, agent: AgentId) -> Result<Option<CapReached>>;

    /// Leaves the line, whether it runs or waits. Giving a lease back does the same.
    async fn leave_line(&self, agent: AgentId) -> Result<()>;
}

/// Requests to providers, what they used, and the cache entries that they wrote.
#[async_trait]
pub trait RequestStore: Send + Sync {
    /// Records a request together with the cache entries that it wrote or refreshed, and adds it to what its tree has spent;
    /// `false`, and nothing done, when its id is recorded. Of an entry that is known the later use wins, and tokens that a provider has reported stay. Entries that
    /// nobody has used for two days are forgotten.
    async fn record_request(&self, request: RequestRow, cache: &[CacheRow]) -> Result<bool>;

    /// Requests in the order in which they were recorded.
    async fn requests(&self, agent: AgentId, scope: UsageScope) -> Result<Vec<RequestRow>>;

    /// The last `most` requests of an agent that started at or before `until_ms`, newest first.
    async fn recent_requests(
        &self,
        agent: AgentId,
        until_ms: i64,
        most: usize,
    ) -> Result<Vec<RequestRow>>;

    /// What was used since, by agent, and the number to ask with the next time; from the first request on with 0. Sums of answers that
    /// follow each other count each request once.
    async fn usage_since(&self, after: i64) -> Result<(i64, Vec<UsageSum>)>;

    /// Cache entries of one scope that were used at or after `since_ms`, the oldest use first.
    async fn cache_entries(&self, scope: [u8; 32], since_ms: i64) -> Result<Vec<CacheRow>>;
}

/// Leases: one writer per agent.
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// Takes the lease on an agent. Taken over from a dead owner, the agent is left in the state `interrupted`.
    async fn acquire(&self, acquire: Acquire<'_>) -> Result<Lease>;

    /// Gives a lease back; one that is lost already is no error. An agent that is still marked as running then becomes
    /// interrupted: nobody runs it.
    async fn release(&self, lease: &Lease) -> Result<()>;

    /// The lease on an agent, if somebody holds it.
    async fn lease(&self, agent: AgentId) -> Result<Option<Lease>>;

    /// The agents whose leases dead owners hold.
    async fn held_by_dead(&self, is_alive: IsAlive<'_>) -> Result<Vec<AgentId>>;

    /// Takes the leases of dead owners away. Their agents that were running become interrupted, and so do those agents' own
    /// unfinished tasks and the tasks they spawned that nobody runs; each spawner is told once. Nothing is run again.
    async fn recover(&self, recover: Recover<'_>) -> Result<Vec<Recovered>>;
}

/// The agents that change files, and their directories.
#[async_trait]
pub trait WriterStore: Send + Sync {
    /// Notes that an agent writes in a directory under its current lease, and finds the other agents that do, there or in a
    /// directory above or below it, the earliest first. Noted again, it is only a read. A note goes with the lease.
    async fn note_writer(&self, note: NoteWriter) -> Result<Vec<WriterRow>>;
}

/// Facts about servers of models, as their own answers told them.
#[async_trait]
pub trait ServerStore: Send + Sync {
    /// Keeps what a server said of itself; of the same host, model and name the later word counts.
    async fn note_server(&self, note: ServerNote) -> Result<()>;

    /// Returns what a host has said of itself, by model and name.
    async fn server_notes(&self, host: &str) -> Result<Vec<ServerNote>>;
}

/// Values that are compared and set.
#[async_trait]
pub trait StampStore: Send + Sync {
    /// Returns what a stamp was set to last; `None` where it never was.
    async fn stamp(&self, name: &StampName) -> Result<Option<Stamp>>;

    /// Sets a stamp; `false`, and nothing done, where it is not what was expected.
    async fn set_stamp(&self, set: SetStamp) -> Result<bool>;
}

/// Agents whose requests another program makes.
#[async_trait]
pub trait GuestStore: Send + Sync {
    /// Notes the other program's side of an agent, or that it has sent another request: of an agent that is known only the time and the
    /// way of its requests change.
    async fn note_guest(&self, row: GuestRow) -> Result<()>;

    /// Returns guests, the one used last first; at most [`GUESTS_MAX`](crate::GUESTS_MAX).
    async fn guests(&self, filter: GuestFilter) -> Result<Vec<GuestRow>>;

    /// Keeps the last request of a guest, in the place of the one before, together with the cache entries that it is about to write.
    async fn keep_guest_request(
        &self,
        agent: AgentId,
        body: Vec<u8>,
        cache: &[CacheRow],
    ) -> Result<()>;

    /// The last request of a guest, as it was kept; `None` where there is none.
    async fn guest_request(&self, agent: AgentId) -> Result<Option<Vec<u8>>>;

    /// Gives an agent another head, under its lease. One that no agent has any more is dropped.
    async fn change_head(&self, agent: AgentId, fence: Fence, head: Head) -> Result<()>;
}

/// Runs that another machine has, and the rows that it needs for them.
#[async_trait]
pub trait RemoteStore: Send + Sync {
    /// Notes that a run of an agent is given away, under its lease. From now on the agent stays what it is when its lease is given back
    /// or taken from a dead owner, and so does its task: the run goes on elsewhere.
    async fn begin_remote(&self, run: &RemoteRun, fence: Fence) -> Result<()>;

    /// Appends entries that have come back, and notes the event that brought them; `false`, and nothing done, where that event or a later
    /// one is noted already, or the run has ended.
    async fn take_in(&self, take: TakeIn<'_>) -> Result<bool>;

    /// Notes the end of a run; does nothing where it is noted already.
    async fn end_remote(&self, agent: AgentId, run: &str, now_ms: i64) -> Result<()>;

    /// The last run of an agent that was given away; `None` where none was.
    async fn remote_run(&self, agent: AgentId) -> Result<Option<RemoteRun>>;

    /// The runs that are under way elsewhere, the oldest first.
    async fn open_remotes(&self) -> Result<Vec<RemoteRun>>;

    /// Notes cache entries that another machine knows of, as if requests from here had used them.
    async fn note_cache(&self, cache: &[CacheRow]) -> Result<()>;

    /// The rows of an agent and of those that it inherits from.
    async fn lineage_rows(&self, agent: AgentId) -> Result<Lineage>;

    /// Puts rows of a store of the same version into this one, with their ids. Rows that are there stay. For a store that is nobody
    /// else's.
    async fn put_rows(&self, parts: &[&Rows]) -> Result<()>;
}

/// The durable agent tree. Every writing operation is one transaction: when it returns `Ok` it survives a power cut, and
/// when it fails, or its future is dropped before the end, it has done everything or nothing. May be shared by
/// any number of tasks, and its storage by any number of processes.
#[async_trait]
pub trait Store:
    AgentStore
    + EntryStore
    + TaskStore
    + WorktreeStore
    + StopStore
    + MailStore
    + PermissionStore
    + BudgetStore
    + RequestStore
    + LeaseStore
    + WriterStore
    + ServerStore
    + StampStore
    + GuestStore
    + RemoteStore
{
    /// Reads everything and follows every reference between rows. Returns the faults in the database's own words; none if all is
    /// well. Takes about a second for each gigabyte.
    async fn find_damage(&self) -> Result<Vec<String>>;

    /// Overwrites what is left on the disk of what was removed. Takes as long as writing the store anew. Returns false where a reader
    /// of another process holds a part of it: then that is overwritten later, when somebody calls this again.
    async fn overwrite_removed(&self) -> Result<bool>;

    /// A number that changes when anything in the store does, made by this process or another; cheap to ask often.
    /// Only two answers of the same handle can be compared.
    async fn data_version(&self) -> Result<i64>;

    /// Closes what is open. Later operations open it again; without it, nothing is lost either.
    async fn close(&self) -> Result<()>;
}
