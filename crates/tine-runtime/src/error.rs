//! What a face may have to explain.

use tine_model::{AgentId, NameError};
use tine_store::StoreError;
use tine_wire::{HeadError, ImportError, ReadError};

use crate::ports::ConnectError;

/// Why an operation of the runtime failed. What it says has happened has; nothing else has.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model cannot be reached at all.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Another fork of this process is under way.
    #[error("Fork already in progress")]
    ForkInProgress,
    /// Calls of the agent that is to be forked ran for too long.
    #[error("the tools did not complete; nothing was forked")]
    ToolsRun(AgentId),
    /// Whoever waited for the calls of an agent that is to be forked gave it up.
    #[error("the fork is given up; nothing has changed")]
    ForkGivenUp,
    /// No worker, or one without a task.
    #[error("each worker of a fan needs a directive")]
    NoDirective,
    /// Too many workers at once.
    #[error("{asked} workers are more than the limit of {most}")]
    TooMany {
        /// How many were asked for.
        asked: usize,
        /// The limit.
        most: usize,
    },
    /// There is nothing to send: no prompt, and the model has the last word.
    #[error("agent {0} waits for a prompt")]
    NothingToSend(AgentId),
    /// A log entry cannot be read.
    #[error("entry {entry} of the log cannot be read: {what}")]
    Entry {
        /// Which one.
        entry: tine_model::EntryId,
        /// What is wrong with it.
        what: String,
    },
    /// The agent's frozen head cannot be read.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// The agent's frozen head is gone.
    #[error("the head of agent {0} is not in the store")]
    NoHead(AgentId),
    /// Another program holds the conversation.
    #[error("agent {0} is a guest: another program holds its conversation")]
    Guest(AgentId),
    /// A request of another program cannot be read.
    #[error("a request of another program cannot be read")]
    GuestRequest {
        /// The reason why.
        source: Box<tine_wire::ReadRequestError>,
    },
    /// This process cannot hold leases.
    #[error(transparent)]
    Owner(#[from] crate::owner::OwnerError),
    /// A worktree cannot be made, looked at or removed.
    #[error(transparent)]
    Worktree(#[from] tine_worktree::WorktreeError),
    /// A memory cannot be kept, or looked at.
    #[error(transparent)]
    Notes(#[from] tine_worktree::NotesError),
    /// A consolidation changed nothing, or did not complete.
    #[error("run {} has changed nothing that could be taken back", .0.short())]
    NothingToUndo(AgentId),
    /// A consolidation was taken back before.
    #[error("run {} was taken back before", .0.short())]
    UndoneBefore(AgentId),
    /// The user's command that makes a worktree ready failed; there is no worktree.
    #[error("the setup command of the worktree failed: {said}")]
    Setup {
        /// The end of what it printed, and how it ended.
        said: String,
    },
    /// The user wants none, or nobody said where they go.
    #[error("worktrees are turned off")]
    NoWorktrees,
    /// The agent was never given one.
    #[error("agent {0} has no worktree of its own")]
    NoWorktree(AgentId),
    /// The agent's worktree was removed.
    #[error("the worktree of agent {0} is removed already")]
    WorktreeRemoved(AgentId),
    /// The agent's worktree was removed, and what was kept of it was purged.
    #[error("what was kept of the worktree of agent {0} was purged")]
    WorktreePurged(AgentId),
    /// Somebody removed the files of the agent's worktree without tine, and nothing of them was kept.
    #[error("the files of the worktree of agent {agent} are gone, and nothing of them was kept: {}", .path.display())]
    WorktreeLost {
        /// The agent.
        agent: AgentId,
        /// The path that they had.
        path: std::path::PathBuf,
    },
    /// The repository of the agent's worktree is not where it was.
    #[error("the repository of the worktree of agent {agent} is no longer at {}", .path.display())]
    RepositoryMoved {
        /// The agent.
        agent: AgentId,
        /// The path that git's folder of it had.
        path: std::path::PathBuf,
    },
    /// The agent's worktree needs no recovery.
    #[error("the worktree of agent {agent} is there: {}", .path.display())]
    WorktreeThere {
        /// The agent.
        agent: AgentId,
        /// Where its files are.
        path: std::path::PathBuf,
    },
    /// The directory is gone that the agent's worktree was forked from.
    #[error("the directory that the worktree of agent {agent} was forked from is gone: {}", .path.display())]
    NoOrigin {
        /// The agent.
        agent: AgentId,
        /// Where it was.
        path: std::path::PathBuf,
        /// Whose worktree that was, if it was one.
        owner: Option<AgentId>,
    },
    /// The work is of another repository.
    #[error("`{}` is in another repository than the work", .0.display())]
    OtherRepository(std::path::PathBuf),
    /// A commit was named that the agent has not made, or several by one name.
    #[error("`{text}` names no commit that agent {agent} has made")]
    UnknownCommit {
        /// The agent.
        agent: AgentId,
        /// What was given.
        text: String,
    },
    /// Other living agents work in the agent's worktree.
    #[error("other agents work in the worktree of agent {0}")]
    WorktreeShared(AgentId),
    /// The state of a worktree does not go to another machine, or does not come from one.
    #[error(transparent)]
    Travel(#[from] crate::worktrees::TravelRefusal),
    /// The filter of a worktree cannot be made.
    #[error(transparent)]
    Filter(#[from] tine_guard::filter::FilterError),
    /// The agent's directory cannot be worked in.
    #[error(transparent)]
    Place(#[from] tine_tools::PlaceError),
    /// The commands of the run cannot be confined as asked, and so it did not begin.
    #[error(transparent)]
    Wall(#[from] tine_tools::WallError),
    /// A directory that a confined run may write to cannot be opened.
    #[error(transparent)]
    WriteRoot(#[from] tine_tools::RootError),
    /// The wall around the commands was not finished.
    #[error("the wall around the commands could not be raised")]
    Confinement,
    /// The import is not a conversation.
    #[error(transparent)]
    Import(#[from] ImportError),
    /// A message is not one.
    #[error(transparent)]
    Message(#[from] ReadError),
    /// The imported conversation begins with the assistant, which the model's provider refuses.
    #[error(
        "the conversation begins with an assistant message; its provider wants a user message first"
    )]
    AssistantFirst,
    /// The text cannot be the name of an agent.
    #[error("`{}` cannot be a name: {why}", .name.escape_debug())]
    Name {
        /// The text.
        name: String,
        /// What is wrong with it.
        why: NameError,
    },
    /// The agent is nobody's worker.
    #[error("agent {0} has no task")]
    NoTask(AgentId),
    /// A worker was started as an agent that is not defined any more.
    #[error("the agent `{0}` is not defined here any more")]
    NoDefinition(String),
    /// The worker has nothing to do any more, so it will not read what is for later.
    #[error("the task of agent {0} has ended")]
    TaskEnded(AgentId),
    /// The worker runs, and one thing waits for its end already.
    #[error("agent {0} is told something else already when it is done")]
    FollowUpWaits(AgentId),
    /// The cluster of other machines failed.
    #[error(transparent)]
    Cluster(#[from] tine_nats::ClusterError),
    /// A run cannot travel, or what came back of it cannot be read.
    #[error("a run on another machine is in a form that cannot be read")]
    RemoteForm(#[source] serde_json::Error),
    /// The rules that came with a run of another machine cannot be read.
    #[error("the rules of a run of another machine cannot be read")]
    RemoteRules(#[source] tine_guard::RuleError),
    /// A run of the agent is under way on another machine.
    #[error("a run of agent {0} is under way on another machine")]
    RunsElsewhere(AgentId),
    /// A bug.
    #[error("{0}")]
    Panicked(&'static str),
    /// Another model would have to be sent everything anew.
    #[error("no cache of {model} has this conversation: {} would be sent anew{}", tokens_of(*.tokens), price_of(*.dollars))]
    CacheLoss {
        /// The other model, as `provider/name`.
        model: String,
        /// Tokens of the inherited part, as known or estimated.
        tokens: u64,
        /// What they cost there, in USD; `None` for a model without a known price.
        dollars: Option<f64>,
    },
    /// A request of the runtime's own failed, such as one for a summary.
    #[error(transparent)]
    Llm(#[from] tine_llm::LlmError),
    /// All of the conversation would stay: it is shorter than what is to be kept.
    #[error("the conversation of agent {0} has nothing that could be left out")]
    NothingToCompact(AgentId),
    /// The model did not answer a question beside the conversation, which stays as it was.
    #[error("the model gave no answer in words: {why}")]
    NoAnswer {
        /// What went wrong.
        why: &'static str,
    },
    /// The agent is no fork, so that there is nobody to bring anything back to.
    #[error("agent {0} was not forked from another")]
    NoParent(AgentId),
    /// Conclusions only go up.
    #[error("agent {into} is no ancestor of agent {source_agent}")]
    NoAncestor {
        /// The fork.
        source_agent: AgentId,
        /// Who was named.
        into: AgentId,
    },
    /// There are no conclusions that are not there already.
    #[error("agent {source_agent} has said nothing {}", since(*.already))]
    NothingToBringBack {
        /// The fork.
        source_agent: AgentId,
        /// The last entry that was brought back before.
        already: Option<tine_model::EntryId>,
    },
    /// What the fork says is not its last word yet.
    #[error("agent {0} still runs")]
    SourceRuns(AgentId),
    /// The conversation was asked for in full, and what the file holds cannot be replayed.
    #[error("the conversation can only be taken as a digest: {reason}")]
    DigestNeeded {
        /// Why, as the rest of a sentence.
        reason: String,
    },
    /// The last request of a file was asked for as it was sent, and the file does not hold it so.
    #[error("the last request cannot be taken over as it was sent: {reason}")]
    NotAsSent {
        /// Why, as the rest of a sentence.
        reason: String,
    },
    /// A root is killed only where that is asked for: everything below it dies with it.
    #[error("{} is the root of a tree{}", agent.short(), dies_with(*below))]
    KillsRoot {
        /// The root.
        agent: AgentId,
        /// The living below it.
        below: usize,
    },
    /// No mark has this label, or it was rewound.
    #[error("Mark not found: {label}")]
    NoMark {
        /// The agent.
        agent: AgentId,
        /// The label.
        label: String,
    },
    /// Nobody has said anything to the agent yet.
    #[error("there is nothing to go back to")]
    NothingToRewind(AgentId),
    /// A rule was named for an answer to one call.
    #[error("an answer to one call covers no rule")]
    RuleForOnce,
    /// A rule was named that an answer to this request may not cover.
    #[error("`{rule}` is not offered for {}", request.short())]
    NotOffered {
        /// The request.
        request: tine_model::PermissionId,
        /// The rule, as it was named.
        rule: String,
        /// One that is offered.
        offered: Option<String>,
    },
    /// There is nothing in the message.
    #[error("the message is empty")]
    EmptyMail,
    /// More than a mailbox takes in one message.
    #[error("the message has {bytes} bytes, more than {most}")]
    MailTooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        most: usize,
    },
}

fn dies_with(below: usize) -> String {
    match below {
        0 => String::new(),
        1 => ", and 1 agent below it would die with it".to_owned(),
        below => format!(", and {below} agents below it would die with it"),
    }
}

fn since(already: Option<tine_model::EntryId>) -> String {
    match already {
        Some(entry) => format!("since entry {entry}, up to which it was brought back before"),
        None => "since it was forked".to_owned(),
    }
}

fn tokens_of(tokens: u64) -> String {
    match tokens {
        1 => "1 token".to_owned(),
        tokens => format!("about {tokens} tokens"),
    }
}

fn price_of(dollars: Option<f64>) -> String {
    dollars.map_or_else(String::new, |dollars| format!(", for ${dollars:.4}"))
}
