//! Agents and tasks as the registry knows them.

use crate::{AgentId, EntryId, ModelSettings, Reach, Usage};

/// Makes an enum whose values each have a word. With a number behind its name, `ALL` is an array of so many.
macro_rules! words {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        words! { @of &'static [Self], &[$(Self::$variant,)+];
            $(#[$meta])* $name { $($(#[$doc])* $variant = $word,)+ } }
    };
    ($(#[$meta:meta])* $name:ident[$count:literal] { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        words! { @of [Self; $count], [$(Self::$variant,)+];
            $(#[$meta])* $name { $($(#[$doc])* $variant = $word,)+ } }
    };
    (@of $list:ty, $all:expr; $(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every value, in their order.
            pub const ALL: $list = $all;

            /// The word used in files, in the store and in `--json`.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Reads the word.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

pub(crate) use words;

words! {
    /// What an agent is to its parent.
    Standing {
        /// Begins a tree.
        Root = "root",
        /// Of the same standing as its parent: what `/fork` and `tine fork` make.
        Peer = "peer",
        /// Reports back to its parent and is depth-limited.
        Worker = "worker",
        /// A maintenance fork, listed only with `--all`.
        Hidden = "hidden",
        /// A conversation that another program holds; tine sees its requests and makes none of them.
        Guest = "guest",
    }
}

words! {
    /// How much of the parent a child inherits, and in which form.
    ContextMode {
        /// Native and byte-identical; the cache is shared.
        Full = "full",
        /// The last turns alone, native. The cache is shared where nothing was left out, and else up to the first message.
        Turns = "turns",
        /// As text, shortened, for any model; no cache is shared.
        Digest = "digest",
        /// Nothing.
        Fresh = "fresh",
    }
}

words! {
    /// What an agent does now.
    AgentState {
        /// Waits for a prompt.
        Idle = "idle",
        /// A process holds its lease and runs it.
        Running = "running",
        /// Its process died in the middle of a run; it can be resumed.
        Interrupted = "interrupted",
        /// Killed; its rows stay.
        Dead = "dead",
    }
}

words! {
    /// What became of a worker's task.
    TaskStatus {
        /// Made, not yet started.
        Queued = "queued",
        /// Under way.
        Running = "running",
        /// The worker ended its turn.
        Completed = "completed",
        /// A limit, a refusal or an error ended it.
        Failed = "failed",
        /// Somebody stopped it.
        Cancelled = "cancelled",
        /// Its time was up.
        TimedOut = "timed_out",
        /// It was interrupted while it was under way, also by the end of its process; it can be resumed.
        Interrupted = "interrupted",
        /// Its process died before it began; it can be resumed.
        Lost = "lost",
    }
}

words! {
    /// How an agent is to stop. Whatever is stopped can be resumed.
    StopKind {
        /// This turn ends now. What it has started goes on.
        Interrupt = "interrupt",
        /// This turn is finished, and then it reports, without tools.
        Soft = "soft",
        /// Everything ends now.
        Hard = "hard",
    }
}

impl TaskStatus {
    /// Whether nothing more will happen by itself.
    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// One agent's registry row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRecord {
    /// Who it is.
    pub id: AgentId,
    /// What a user called it; unique among the living.
    pub name: Option<String>,
    /// The first words to it, in a line, keys and passwords left out; `None` before there are any.
    pub title: Option<String>,
    /// Whose fork it is.
    pub parent: Option<AgentId>,
    /// The last inherited entry; `None` when nothing is inherited.
    pub fork_point: Option<EntryId>,
    /// What it is to its parent.
    pub standing: Standing,
    /// What it does now.
    pub state: AgentState,
    /// Why its last run failed, in a line; `None` where it did not, and while one is under way.
    pub failure: Option<String>,
    /// How it inherits.
    pub context: ContextMode,
    /// Model and settings, fixed for its life.
    pub settings: ModelSettings,
    /// Hash of the frozen head (system prompt and tool declarations), stored once for a whole lineage.
    pub head: [u8; 32],
    /// The directory it works in.
    pub directory: String,
    /// What its commands and file tools may touch, whoever runs it.
    pub reach: Reach,
    /// Number of model-made forks above it; user forks do not count.
    pub depth: u32,
    /// What somebody has asked of whoever runs it, and is not done yet.
    pub stop: Option<StopKind>,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// When it last changed, in milliseconds since the Unix epoch.
    pub updated_ms: i64,
}

/// A worker seen from the agent that spawned it. Keyed by the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// The worker.
    pub agent: AgentId,
    /// Who is told when it ends.
    pub spawner: AgentId,
    /// What it was told to do.
    pub directive: String,
    /// The same in a few words.
    pub description: Option<String>,
    /// The name of the definition that the worker was started by.
    pub definition: Option<String>,
    /// What became of it.
    pub status: TaskStatus,
    /// How often it was taken up again.
    pub resumes: u32,
    /// What the checks of its end have seen, in their words.
    pub flags: Vec<String>,
    /// Its last words, raw; `None` until it has ended, and when it said nothing.
    pub report: Option<String>,
    /// Why it did not complete.
    pub error: Option<String>,
    /// Tokens of all its requests.
    pub usage: Usage,
    /// Requests to the model.
    pub turns: u32,
    /// Tool calls that it made.
    pub tool_uses: u32,
    /// When it was made, in milliseconds since the Unix epoch.
    pub created_ms: i64,
    /// When it ended, in milliseconds since the Unix epoch.
    pub ended_ms: Option<i64>,
    /// When its spawner took it off the list, in milliseconds since the Unix epoch.
    pub cleared_ms: Option<i64>,
    /// The worktree that it works in, where it was given one and that is still there.
    pub worktree: Option<TaskWorktree>,
}

/// The worktree of a worker, seen from its spawner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskWorktree {
    /// Where its files are.
    pub path: String,
    /// How many files differed from what it started with, when it was last looked at.
    pub files: u32,
    /// How many commits had been made in it then.
    pub commits: u32,
}

/// The worktree that was made for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeRecord {
    /// Whose it is.
    pub agent: AgentId,
    /// Where its files are, or were.
    pub path: String,
    /// The directory that it was forked from.
    pub origin: String,
    /// What all checkouts of the repository share.
    pub repository: String,
    /// How many files differed from what it started with, when it was last looked at.
    pub files: u32,
    /// How many commits had been made in it then.
    pub commits: u32,
    /// When it was made, in milliseconds since the Unix epoch.
    pub made_ms: i64,
    /// When it was removed, in milliseconds since the Unix epoch.
    pub removed_ms: Option<i64>,
}
