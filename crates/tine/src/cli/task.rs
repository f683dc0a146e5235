//! The command line of `tine task` and `tine stop`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::budget::time_limit;
use super::{LimitArgs, PlaceArgs, WorkerArgs};
use crate::manual::examples;
use crate::prompt::sendable;

/// Longest wait for the end of a task, as for models: longer waits are `tine wait`'s.
const BLOCK_TIME_MAX: Duration = Duration::from_secs(600);

/// `tine task`
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// Start a worker, which reports to the agent that you name
    #[command(after_help = examples::TASK_START)]
    Start(StartTaskArgs),
    /// Let the worker of a task go on, whatever has ended it
    #[command(after_help = examples::TASK_RESUME)]
    Resume(ResumeTaskArgs),
    /// List tasks, the newest first
    #[command(after_help = examples::TASK_LIST)]
    List(ListTasksArgs),
    /// Show what a task's worker has said and done so far
    #[command(after_help = examples::TASK_OUTPUT)]
    Output(OutputTaskArgs),
    /// Stop a task; it can be resumed
    #[command(after_help = examples::TASK_CANCEL)]
    Cancel(CancelTaskArgs),
    /// Stop an agent's tasks that run, and take all of them off the list
    #[command(alias = "clear", after_help = examples::TASK_HIDE)]
    Hide(HideTasksArgs),
    /// Tell a task's worker something
    #[command(after_help = examples::TASK_SEND)]
    Send(SendTaskArgs),
}

/// `tine task start`
#[derive(Debug, Args)]
pub(crate) struct StartTaskArgs {
    /// Who gets the report: a name, or the first characters of an id
    #[arg(value_name = "AGENT")]
    pub(crate) spawner: String,
    /// What the worker is to do; `-` for standard input
    #[arg(value_parser = sendable)]
    pub(crate) prompt: String,
    /// Start from AGENT's conversation, not from the prompt alone: the same as --context full
    #[arg(long, conflicts_with = "context")]
    pub(crate) fork: bool,
    #[command(flatten)]
    pub(crate) worker: WorkerArgs,
    /// The task in a few words, for lists
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
    /// Name the worker
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Let the worker of this task of AGENT go on with the prompt, instead of starting one
    #[arg(long, value_name = "TASK", conflicts_with_all = ["context", "definition", "model", "description", "name", "worktree", "clean", "base"])]
    pub(crate) resume: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) how: WorkArgs,
}

/// How a worker runs that a person starts.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WorkArgs {
    /// Run here, and print the report; without it the worker runs in the background
    #[arg(short, long)]
    pub(crate) wait: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

impl WorkArgs {
    /// Returns true where the worker's end is to be printed.
    pub(crate) fn prints(&self) -> bool {
        self.wait || self.json
    }
}

/// `tine task resume`
#[derive(Debug, Args)]
pub(crate) struct ResumeTaskArgs {
    /// The task: its worker's name, or the first characters of its id
    pub(crate) task: String,
    /// What the worker is told, `-` for standard input; one that still runs is told when it is done
    #[arg(value_parser = sendable)]
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) how: WorkArgs,
}

/// `tine task list`
#[derive(Debug, Args)]
pub(crate) struct ListTasksArgs {
    /// The agent that has started them; without it, all that work in this directory
    pub(crate) agent: Option<String>,
    /// Only those with this status
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    /// Those that were taken off the list too
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine task output`
#[derive(Debug, Args)]
pub(crate) struct OutputTaskArgs {
    /// The task: its worker's name, or the first characters of its id
    pub(crate) task: String,
    /// Wait for its end first
    #[arg(short, long)]
    pub(crate) block: bool,
    /// How long to wait, with code 124 when it takes longer [default: 30]
    #[arg(long, value_name = "TIME", requires = "block", value_parser = block_time)]
    pub(crate) timeout: Option<Duration>,
    /// Only what was written after this entry
    #[arg(long, value_name = "ENTRY")]
    pub(crate) since: Option<i64>,
    /// Everything, at full length
    #[arg(long)]
    pub(crate) full: bool,
    /// Leave keys and passwords in
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine task cancel`
#[derive(Debug, Args)]
pub(crate) struct CancelTaskArgs {
    /// The task: its worker's name, or the first characters of its id
    pub(crate) task: String,
    /// Let it finish its turn and report
    #[arg(long)]
    pub(crate) soft: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine task hide`
#[derive(Debug, Args)]
pub(crate) struct HideTasksArgs {
    /// The agent that has started them
    pub(crate) agent: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine task send`
#[derive(Debug, Args)]
pub(crate) struct SendTaskArgs {
    /// The task: its worker's name, or the first characters of its id
    pub(crate) task: String,
    /// The message; read from standard input when it is `-` or not given
    #[arg(value_parser = sendable)]
    pub(crate) text: Option<String>,
    /// Keep it until the worker has reported: its next task. One message at a time
    #[arg(long)]
    pub(crate) next: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How long to wait for the end of a task.
fn block_time(text: &str) -> Result<Duration, String> {
    let time = time_limit(text)?;
    if time <= BLOCK_TIME_MAX {
        Ok(time)
    } else {
        Err("it is 600 seconds at most; `tine wait` waits longer".to_owned())
    }
}

/// `tine stop`
#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// End its turn only; the workers that it has started go on
    #[arg(long, conflicts_with_all = ["soft", "hard"])]
    pub(crate) interrupt: bool,
    /// Let everybody finish the turn and report
    #[arg(long, conflicts_with = "hard")]
    pub(crate) soft: bool,
    /// End everything now; this is what happens when nothing is said
    #[arg(long)]
    pub(crate) hard: bool,
    /// The agent alone, not those below it
    #[arg(long)]
    pub(crate) only: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
