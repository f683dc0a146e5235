//! The agent tree: making, forking, running and reporting agents over a store.
//!
//! [`Runtime`] is the one door for every face. It owns the rules (fork transaction, leases, permissions, fan-out); a
//! face translates to and from it. It draws nothing and parses no command line.

mod aside;
mod attach;
mod away;
mod background;
mod backgrounds;
mod budget;
mod cache;
mod cache_note;
mod cached_content;
mod changes;
mod children;
mod codec;
mod compact;
mod confine;
mod cost;
mod crew;
mod crew_tools;
mod dispatch;
mod dream;
mod error;
mod error_kind;
mod estimate;
mod events;
mod explain;
mod export;
mod fan;
mod fan_report;
mod fold;
mod fork;
mod fork_guard;
mod fork_registry;
mod fork_spec;
mod guests;
mod hidden;
mod import;
mod import_seen;
mod inherit;
mod journal;
mod leftovers;
mod live;
mod load;
mod memory;
mod memory_places;
mod merge_back;
mod mode;
mod model_words;
mod names;
mod notice;
mod owner;
mod permission;
mod ports;
mod prepared;
mod prompt;
mod queue;
mod read_wall;
mod records;
mod registry;
mod remote;
mod removal;
mod request;
mod requests;
mod rest;
mod rewrite;
mod rule_book;
mod run;
mod run_options;
mod runtime;
mod servers;
mod settle_reach;
mod shell;
mod side;
mod slash;
mod slash_error;
mod stop;
mod stop_words;
mod store_waits;
mod swept;
mod tasks;
mod tell;
mod title;
mod warm;
mod window;
mod worker;
mod worktrees;
mod writers;

#[cfg(test)]
mod envelope_tests;

pub use attach::{ATTACHED_BYTES_MAX, AttachedFile, LeftOut, Prompt};
pub use away::{
    AWAY_AFTER_DEFAULT, AWAY_AFTER_MAX, AWAY_EVENTS_MAX, Away, AwayEvent, AwayKind, AwayWriter,
};
pub use background::BackgroundCommand;
pub use budget::OnBudget;
pub use cache::{CachePolicy, LifetimeChoice};
pub use cache_note::{CacheNote, PlaceNote, VendorNote};
pub use cached_content::HeldCost;
pub use changes::ChangeWatch;
pub use children::reach_of_forks;
pub use compact::{CompactOptions, Compacted, CompactedBy, KEEP_TOKENS_DEFAULT};
pub use confine::{Confinement, ReachWish};
pub use cost::{CauseLine, CostLine, CostReport};
pub use crew::{
    AgentDefinition, Crew, DEFINITION_BYTES_MAX, DefinitionError, Definitions, ForkChoice, Spawn,
    SpawnPolicy,
};
pub use dream::{
    DreamAsk, DreamContext, DreamOutcome, DreamRules, DreamRun, DreamSettings, DreamStatus,
    Dreamed, Gate, SessionOrder,
};
pub use error::RuntimeError;
pub use error_kind::ErrorKind;
pub use estimate::{EstimateSpec, ForkEstimate, KnownBy, Usual};
pub use events::{AgentEvent, EventFilter, EventKind, Heard, Subscription};
pub use explain::ExplainedRequest;
pub use export::{ExportShape, ExportSpec, to_messages};
pub use fan::{FAN_MAX, FanSpec};
pub use fan_report::{CacheReport, FanReport, FanTask};
pub use fold::{Fold, FoldedEntry};
pub use fork::{ForkMade, ForkWorktree, OpenCall, QuietWait, TOOLS_WAIT};
pub use fork_registry::StoreRegistry;
pub use fork_spec::ForkSpec;
pub use guests::{
    GuestReply, GuestSent, Guests, HostDialect, HostSession, TakenMail, host_session,
};
pub use hidden::{Hidden, HiddenSpec};
pub use import::{FirstFork, ImportContext, ImportSpec, Imported};
pub use inherit::{ContextError, Inherit, Inherited};
pub use leftovers::{KillSpec, is_living_root};
pub use memory::project_of;
pub use memory_places::MemoryPlaces;
pub use merge_back::{Arrival, Draft, DraftOptions, ForkPart, MergeBack, MergedBack};
pub use mode::SharedMode;
pub use model_words::{ModelWords, ThinkingLevel};
pub use owner::{Owner, OwnerError, sweep_owners};
pub use permission::Permissions;
pub use ports::{ConnectError, Connector, Lent, Ports};
pub use prompt::{environment_note, system_prompt};
pub use queue::{DEADLINE_DEFAULT, QueuePolicy};
pub use registry::{MAIL_BYTES_MAX, attributed};
pub use remote::{Elsewhere, RemoteWorker, WorkerNews};
pub use removal::Removal;
pub use request::{Answer, REASON_BYTES_MAX, Request as PermissionRequest, wider_rules};
pub use requests::{Answered, offers};
pub use rewrite::{RewindTo, Rewound};
pub use rule_book::{NotKept, RuleBook};
pub use run::{RunOutcome, Said};
pub use run_options::RunOptions;
pub use runtime::{NewRoot, Runtime};
pub use shell::UserCommand;
pub use side::Side;
pub use slash::{ForkWords, parse_fork};
pub use slash_error::SlashError;
pub use stop::{Receipt, StopSpec};
pub use store_waits::{Listening, StoreWaits, WaitListener};
pub use tasks::{
    OUTPUT_WAIT_DEFAULT, OUTPUT_WAIT_MAX, OutputSpec, Resumed, TaskFilter, TaskOutput, TaskView,
    WaitStatus, Waited, WaitedAgent,
};
pub use tine_fork::cache::VALUE_PER_SECOND_DEFAULT;
pub use tine_fork::host::{Clock, Ids};
pub use tine_fork::merge_note::{MergeNote, Wording};
pub use tine_store::{
    AgentFilter, BudgetRow, Candidate as AgentCandidate, Caps, GuestRow, MailId, MailRow,
    PermissionFilter, PermissionRow, RemovedAgent, StoreError, UsageSum,
};
pub use tine_tools::{AGENT_VARIABLE, CommandLimitsSet, Gap, Missing, Preview, Support, WallError};
pub use tine_worktree::NotesError;
pub use title::titled;
pub use worktrees::{
    Applied, AsOf, BringSpec, Brought, BroughtOutcome, CacheLimits, CameHome, Candidate,
    ChangeStatus, Changes, Check, Checked, CollectSpec, Collected, Conflict, ConflictKind,
    ConflictPlace, DuePurge, FastForward, Fate, FileChange, FileMode, HalfChanged, Holds, KeptFile,
    LeftOut as WorktreeLeftOut, LeftOutKind, Lines, MadeCommit, MayLose, Mended, MendedAs, Merged,
    OLDEST_GIT, Obstacle, OnConflict, Operation, PackedState, Placement, Progress, PurgePlan,
    PurgeSpec, Recovered, Repair, Repaired, Stage, Standing, Start, TravelError, TravelRefusal,
    Uncommitted, Unseen, Work, WorktreeError, WorktreePolicy, WorktreePorts, WorktreeRefusal,
    WorktreeState, WorktreeView, best, git_version, open_mirrors, shares_content, try_out,
    worktrees_being_made, worktrees_folder,
};
