//! The command line as data. Help, completions and the manual come from these types.

mod away;
mod bring;
mod budget;
mod cluster;
mod compact;
mod dream;
mod estimate;
mod eval;
mod files;
mod front;
mod gateway;
mod groups;
mod guard;
mod inherit;
mod login;
mod mcp;
mod merge_back;
mod permission;
mod pick;
mod place;
mod reach;
mod rewind;
mod running;
mod task;
mod trust;
mod worktree;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

pub(crate) use self::away::AwayArgs;
pub(crate) use self::bring::{ApplyArgs, CherryPickArgs, DiffArgs, MergeArgs, OntoArgs};
pub(crate) use self::budget::{BudgetArgs, Changes, MICRO, TreeCaps, micro_usd, milliseconds};
pub(crate) use self::cluster::{ClusterCommand, On, WorkerCommandArgs};
pub(crate) use self::compact::CompactArgs;
pub(crate) use self::dream::{DreamArgs, DreamCommand, UndoDreamArgs};
pub(crate) use self::estimate::{EstimateArgs, PlanArg, SpreadArgs};
pub(crate) use self::eval::EvalArgs;
pub(crate) use self::files::{
    DigestArgs, DigestFormat, ExportArgs, ExportFormat, ImportArgs, ImportFormat, ImportWith,
};
pub(crate) use self::front::{Refused, hint, parse};
pub(crate) use self::gateway::{
    GatewayArgs, GatewayCommand, GatewayFormat, GatewayServeArgs, HookChangeArgs, HookHost,
    WithArgs,
};
#[cfg(test)]
pub(crate) use self::groups::GROUPS;
pub(crate) use self::guard::{GuardCommand, GuardFilterArgs, GuardShellArgs};
pub(crate) use self::inherit::{InheritArgs, WorkerArgs};
pub(crate) use self::login::{LoginArgs, LogoutArgs, ModelsArgs};
pub(crate) use self::mcp::{Host, McpArgs, McpChangeArgs, McpCommand};
pub(crate) use self::merge_back::MergeBackArgs;
pub(crate) use self::permission::{
    AllowArgs, DenyArgs, ListPermissionsArgs, PermissionCommand, RevokeArgs, RulesArgs, ScopeArg,
    WhyArgs,
};
pub(crate) use self::pick::PickArgs;
pub(crate) use self::place::PlaceArgs;
pub(crate) use self::rewind::{ClearArgs, MarkArgs, RewindArgs};
pub(crate) use self::running::{
    ConfineArg, ConfineArgs, LimitArgs, ModelArgs, OutputArgs, OutputFormat,
};
pub(crate) use self::task::{
    CancelTaskArgs, HideTasksArgs, ListTasksArgs, OutputTaskArgs, ResumeTaskArgs, SendTaskArgs,
    StartTaskArgs, StopArgs, TaskCommand, WorkArgs,
};
pub(crate) use self::trust::TrustArgs;
pub(crate) use self::worktree::{
    CollectWorktreesArgs, ListWorktreesArgs, PurgeWorktreesArgs, RecoverArgs, RemoveWorktreeArgs,
    RepairWorktreesArgs, WorktreeCommand, WorktreePathArgs,
};
use crate::fail::{self, Failure};
use crate::manual::examples;
use crate::prompt::sendable;

/// A coding agent for the terminal, with a fork() for conversations.
///
/// At any point a conversation can be forked: the copy knows everything that was said, starts at once, and the provider
/// bills the shared part at its cache price. `tine demo` shows it, without a key and without a network.
#[derive(Debug, Parser)]
#[command(name = "tine", version, after_help = fail::exit_codes(), max_term_width = 100)]
pub(crate) struct Cli {
    /// Work in this directory instead of the current one
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,

    /// Trust the directory's own settings, for this command only
    #[arg(long, global = true)]
    pub(crate) trust: bool,

    /// Run in the background, in a session of its own; errors went to this file from the start
    #[arg(long, global = true, hide = true, value_name = "LOG")]
    pub(crate) detached: Option<PathBuf>,

    /// What to do; without it, talk in the terminal
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

/// The command line, with what clap's derive cannot say.
pub(crate) fn command() -> clap::Command {
    groups::grouped(with_arguments(Cli::command()))
}

/// Says of arguments what their types do not: that `-1` is a value, which an option then refuses by its own name.
fn with_arguments(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let is_option = !argument.is_positional() && argument.get_action().takes_values();
        if is_option { argument.allow_negative_numbers(true) } else { argument }
    });
    command.mut_subcommands(with_arguments)
}

/// `tine` alone
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TalkArgs {
    /// Open the terminal and say this; where there is no terminal, answer as `tine run` does
    #[arg(value_parser = sendable)]
    pub(crate) prompt: Vec<String>,
    /// Answer on standard output and leave: the same as `tine run`, with its options
    #[arg(short, long)]
    pub(crate) print: bool,
    /// The model of new agents, as provider/name
    #[arg(short, long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Go on with the agent that was last used in this directory
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub(crate) continue_last: bool,
    /// Go on with this agent, by its name or the first characters of its id; alone, find one in a list
    #[arg(short, long, value_name = "AGENT", num_args = 0..=1)]
    pub(crate) resume: Option<Option<String>>,
    /// Talk in lines, without a screen: for screen readers, serial lines and pipes
    #[arg(long)]
    pub(crate) plain: bool,
    /// Begin in this permission mode: default, accept-edits, plan or bypass; Shift+Tab changes it
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,
    #[command(flatten)]
    pub(crate) confine: ConfineArgs,
}

impl TalkArgs {
    /// Whether anything of it was said.
    pub(crate) fn is_given(&self) -> bool {
        self.continue_last
            || !self.prompt.is_empty()
            || self.model.is_some()
            || self.resume.is_some()
            || self.plain
            || self.permission_mode.is_some()
            || self.confine.is_given()
    }
}

impl TalkArgs {
    /// The same for a command that answers where there is no terminal.
    pub(crate) fn in_a_pipe(self) -> Result<RunArgs, Failure> {
        let resume = match self.resume {
            Some(None) => {
                return Err(Failure::usage("there is no terminal to choose a conversation in")
                    .hint("`tine ps` lists them; `tine run --resume AGENT \"PROMPT\"` names one"));
            }
            other => other.flatten(),
        };
        let limits = LimitArgs {
            permission_mode: self.permission_mode,
            confine: self.confine,
            ..LimitArgs::default()
        };
        Ok(RunArgs {
            prompt: self.prompt.into_iter().next(),
            continue_last: self.continue_last,
            resume,
            name: None,
            model: ModelArgs { model: self.model, ..ModelArgs::default() },
            limits,
            output: OutputArgs::default(),
        })
    }
}

/// `--trust` for a command that reads no settings of the directory: taken, and not shown in its help.
fn trusts_nothing() -> Arg {
    Arg::new("trust").long("trust").action(ArgAction::SetTrue).global(true).hide(true)
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Talk to an agent: a new one, the last one, or any
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Fork an agent; with a prompt, run the fork
    #[command(after_help = examples::FORK)]
    Fork(ForkArgs),
    /// Fork an agent into several workers, and collect their reports
    #[command(after_help = examples::FAN)]
    Fan(FanArgs),
    /// List agents
    #[command(
        aliases = ["ls", "list", "sessions", "history", "agents"], after_help = examples::PS, arg = trusts_nothing(),
    )]
    Ps(ListArgs),
    /// Draw the tree of agents
    #[command(after_help = examples::TREE, arg = trusts_nothing())]
    Tree(TreeArgs),
    /// Show an agent and its conversation
    #[command(after_help = examples::SHOW, arg = trusts_nothing())]
    Show(ShowArgs),
    /// Print an agent's log
    #[command(after_help = examples::LOGS, arg = trusts_nothing())]
    Logs(LogsArgs),
    /// Wait until agents have nothing left to do
    #[command(after_help = examples::WAIT, arg = trusts_nothing())]
    Wait(WaitArgs),
    /// Leave a message that an agent reads at its next turn
    #[command(after_help = examples::SEND, arg = trusts_nothing())]
    Send(SendArgs),
    /// Replace the older part of a conversation by a summary
    #[command(after_help = examples::COMPACT)]
    Compact(CompactArgs),
    /// Mark a place of a conversation to come back to
    #[command(after_help = examples::MARK, arg = trusts_nothing())]
    Mark(MarkArgs),
    /// Take a conversation back: to a mark, or before the last prompt
    #[command(after_help = examples::REWIND, arg = trusts_nothing())]
    Rewind(RewindArgs),
    /// Begin an agent's conversation anew
    #[command(after_help = examples::CLEAR, arg = trusts_nothing())]
    Clear(ClearArgs),
    /// Append a summary of a fork to its parent's conversation
    #[command(after_help = examples::MERGE_BACK)]
    MergeBack(MergeBackArgs),
    /// Start workers, and look after them
    #[command(subcommand)]
    Task(TaskCommand),
    /// Stop an agent and all that works for it; it can be resumed
    #[command(after_help = examples::STOP, arg = trusts_nothing())]
    Stop(StopArgs),
    /// Kill an agent and all its forks, for good
    #[command(after_help = examples::KILL, arg = trusts_nothing())]
    Kill(KillArgs),
    /// Take dead agents off the lists
    #[command(alias = "reap", after_help = examples::HIDE, arg = trusts_nothing())]
    Hide(HideArgs),
    /// Delete conversations for good; forks keep what they inherited
    #[command(name = "rm", aliases = ["remove", "delete"], after_help = examples::REMOVE, arg = trusts_nothing())]
    Remove(RemoveArgs),
    /// Show what an agent has changed in its worktree
    #[command(after_help = examples::DIFF)]
    Diff(DiffArgs),
    /// Bring the files that an agent has changed into your checkout
    #[command(after_help = examples::APPLY)]
    Apply(ApplyArgs),
    /// Merge the commits that an agent has made in its worktree
    #[command(after_help = examples::MERGE)]
    Merge(MergeArgs),
    /// Pick commits that an agent has made in its worktree
    #[command(after_help = examples::CHERRY_PICK)]
    CherryPick(CherryPickArgs),
    /// Give several forks one task, check their work, take the best
    #[command(after_help = examples::PICK)]
    Pick(PickArgs),
    /// List, remove and recover the worktrees of agents
    #[command(subcommand)]
    Worktree(WorktreeCommand),
    /// Answer permission requests, and list rules
    #[command(subcommand)]
    Permission(PermissionCommand),
    /// Show what the directory's .tine folder contains, and trust it
    #[command(after_help = examples::TRUST, arg = trusts_nothing())]
    Trust(TrustArgs),
    /// Store the key of a provider
    #[command(after_help = examples::LOGIN, arg = trusts_nothing())]
    Login(LoginArgs),
    /// Remove the stored key of a provider
    #[command(after_help = examples::LOGOUT, arg = trusts_nothing())]
    Logout(LogoutArgs),
    /// List the models that you can use, with their prices
    #[command(after_help = examples::MODELS)]
    Models(ModelsArgs),
    /// Give an agent a name
    #[command(after_help = examples::RENAME, arg = trusts_nothing())]
    Rename(RenameArgs),
    /// Make an agent of a conversation in a file
    #[command(after_help = examples::IMPORT)]
    Import(ImportArgs),
    /// Write an agent's conversation as provider messages
    #[command(after_help = examples::EXPORT, arg = trusts_nothing())]
    Export(ExportArgs),
    /// Print another program's conversation as one text
    #[command(after_help = examples::DIGEST, arg = trusts_nothing())]
    Digest(DigestArgs),
    /// Offer forks to another program's agent, as an MCP server
    #[command(after_help = examples::MCP)]
    Mcp(McpArgs),
    /// Start Claude Code, Codex or another agent behind a gateway
    #[command(after_help = examples::WITH, arg = trusts_nothing())]
    With(WithArgs),
    /// Pass on what other programs send to their providers
    #[command(subcommand, arg = trusts_nothing())]
    Gateway(GatewayCommand),
    /// Run forks that come from other machines
    #[command(after_help = examples::WORKER, arg = trusts_nothing())]
    Worker(WorkerCommandArgs),
    /// Look at the servers and workers of the cluster
    #[command(subcommand, arg = trusts_nothing())]
    Cluster(ClusterCommand),
    /// Show what happened since you were last there
    #[command(after_help = examples::AWAY, arg = trusts_nothing())]
    Away(AwayArgs),
    /// Write notes on the sessions of this project for later agents
    #[command(after_help = examples::DREAM)]
    Dream(DreamArgs),
    /// Do what is due in all projects, once: for cron or a timer
    #[command(after_help = examples::TICK, arg = trusts_nothing())]
    Tick(JsonArgs),
    /// Show what agents cost
    #[command(after_help = examples::COST, arg = trusts_nothing())]
    Cost(CostArgs),
    /// Show or change what a tree of agents may use
    #[command(after_help = examples::BUDGET, arg = trusts_nothing())]
    Budget(BudgetArgs),
    /// Explain what providers' caches served
    #[command(subcommand, arg = trusts_nothing())]
    Cache(CacheCommand),
    /// Judge a command or a tool call without running it
    #[command(subcommand, arg = trusts_nothing())]
    Guard(GuardCommand),
    /// Run the simulator of providers as a server
    #[command(subcommand, arg = trusts_nothing())]
    Sim(SimCommand),
    /// Run scripted prompts through forks, and check the results
    #[command(after_help = examples::EVAL)]
    Eval(EvalArgs),
    /// See forks at work on this directory: no key, no network
    #[command(after_help = examples::DEMO, arg = trusts_nothing())]
    Demo(DemoArgs),
    /// Check that everything tine needs is there
    #[command(after_help = examples::DOCTOR)]
    Doctor(JsonArgs),
    /// Print shell completions
    #[command(after_help = examples::COMPLETIONS, arg = trusts_nothing())]
    Completions(CompletionsArgs),
    /// Print the manual as a man page
    #[command(after_help = examples::MAN, arg = trusts_nothing())]
    Man,
}

/// `tine run`
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to say; read from standard input when it is `-` or not given. `/fork` and `/fork "prompt"` fork the agent
    #[arg(value_parser = sendable)]
    pub(crate) prompt: Option<String>,
    /// Go on with the agent that was last used in this directory
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub(crate) continue_last: bool,
    /// Go on with this agent: its name, or the first characters of its id
    #[arg(short, long, value_name = "AGENT")]
    pub(crate) resume: Option<String>,
    /// Name the new agent
    #[arg(short, long, value_name = "NAME", conflicts_with_all = ["continue_last", "resume"])]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `tine fork`
#[derive(Debug, Args)]
pub(crate) struct ForkArgs {
    /// The agent to fork: its name, or the first characters of its id; AGENT@ENTRY is the same as --at ENTRY
    pub(crate) agent: String,
    /// What to say to the fork, `-` for standard input; without it nothing is sent
    #[arg(value_parser = sendable)]
    pub(crate) prompt: Option<String>,
    /// Inherit up to this entry only (see `tine show`)
    #[arg(long, value_name = "ENTRY")]
    pub(crate) at: Option<i64>,
    /// Wait for calls that run in the agent, for 10 minutes or --timeout; Ctrl+C gives it up
    #[arg(long, conflicts_with = "at")]
    pub(crate) wait: bool,
    /// Name the fork
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Make it a hidden run that reads, and writes nothing but notes in this directory; the agent does not know of it
    #[arg(long, value_name = "DIR", requires = "prompt", conflicts_with_all = ["at", "worktree", "clean", "estimate", "on"])]
    pub(crate) notes: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) inherit: InheritArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    #[command(flatten)]
    pub(crate) estimate: EstimateArgs,
    #[command(flatten)]
    pub(crate) limits: LimitArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `tine fan`
#[derive(Debug, Args)]
pub(crate) struct FanArgs {
    /// The agent to fork: its name, or the first characters of its id; AGENT@ENTRY inherits up to this entry only
    pub(crate) agent: String,
    /// One worker's task, `-` for standard input; repeat it for each worker
    #[arg(short, long = "directive", value_name = "TEXT", required = true, value_parser = sendable)]
    pub(crate) directives: Vec<String>,
    /// Say why they start as they do
    #[arg(long)]
    pub(crate) explain: bool,
    /// Keep the parent's part of the cache alive while the workers run, as long as that is cheaper than losing it
    #[arg(long)]
    pub(crate) keep_warm: bool,
    #[command(flatten)]
    pub(crate) worker: WorkerArgs,
    #[command(flatten)]
    pub(crate) spread: SpreadArgs,
}

/// `tine ps`
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Dead and hidden agents too
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine tree`
#[derive(Debug, Args)]
pub(crate) struct TreeArgs {
    /// Only the tree below this agent
    pub(crate) agent: Option<String>,
    /// Dead and hidden agents too
    #[arg(short, long)]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine show`
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The agent: its name, or the first characters of its id; AGENT@ENTRY shows it up to this entry
    pub(crate) agent: String,
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

/// `tine logs`
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// Go on printing as the log grows, until the agent stops running
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Leave keys and passwords in
    #[arg(long)]
    pub(crate) raw: bool,
    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine wait`
#[derive(Debug, Args)]
pub(crate) struct WaitArgs {
    /// The agents: names, or first characters of ids
    #[arg(required = true)]
    pub(crate) agents: Vec<String>,
    /// Give up after this time, with code 124: seconds, or with a unit, such as 90s, 30m or 1h
    #[arg(long, value_name = "TIME", value_parser = budget::time_limit)]
    pub(crate) timeout: Option<Duration>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine send`
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Who gets it: a name, or the first characters of an id
    pub(crate) agent: String,
    /// The message; read from standard input when it is `-` or not given
    #[arg(value_parser = sendable)]
    pub(crate) text: Option<String>,
    /// Keep it until the agent is done with what it does; one message at a time
    #[arg(long)]
    pub(crate) next: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine kill`
#[derive(Debug, Args)]
pub(crate) struct KillArgs {
    /// The agents: names, or first characters of ids
    #[arg(required = true)]
    pub(crate) agents: Vec<String>,
    /// Kill the root of a tree too, with everything in it
    #[arg(long)]
    pub(crate) root: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine hide`
#[derive(Debug, Args)]
pub(crate) struct HideArgs {
    /// Only these, each with all below it: names, or first characters of ids
    pub(crate) agents: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine rm`
#[derive(Debug, Args)]
pub(crate) struct RemoveArgs {
    /// The agents: names, or first characters of ids
    #[arg(required_unless_present = "older_than")]
    pub(crate) agents: Vec<String>,
    /// And all below them
    #[arg(long)]
    pub(crate) tree: bool,
    /// All trees in which nothing has happened for so long: a number and s, m, h or d (90d)
    #[arg(long, value_name = "AGE", conflicts_with_all = ["agents", "tree"])]
    pub(crate) older_than: Option<String>,
    /// Say what would go, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine rename`
#[derive(Debug, Args)]
pub(crate) struct RenameArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// The new name
    #[arg(required_unless_present = "clear")]
    pub(crate) name: Option<String>,
    /// Take its name away
    #[arg(long, conflicts_with = "name")]
    pub(crate) clear: bool,
}

/// `tine cost`
#[derive(Debug, Args)]
pub(crate) struct CostArgs {
    /// The agent; without it, all trees
    pub(crate) agent: Option<String>,
    /// Count only requests since midnight (UTC)
    #[arg(long)]
    pub(crate) today: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine cache`
#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Show, part by part, what an agent's requests should have read from the cache, what they read, and why not more
    #[command(after_help = examples::CACHE_EXPLAIN)]
    Explain(CacheExplainArgs),
}

/// `tine cache explain`
#[derive(Debug, Args)]
pub(crate) struct CacheExplainArgs {
    /// The agent: its name, or the first characters of its id
    pub(crate) agent: String,
    /// Explain this request [default: the last]
    #[arg(long, value_name = "N")]
    pub(crate) request: Option<usize>,
    /// Explain every request
    #[arg(short, long, conflicts_with = "request")]
    pub(crate) all: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine sim`
#[derive(Debug, Subcommand)]
pub(crate) enum SimCommand {
    /// Serve a scenario on loopback until interrupted; prints the URLs as JSON
    #[command(after_help = examples::SIM_SERVE)]
    Serve(SimServeArgs),
}

/// The simulator's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ClockArg {
    #[default]
    System,
    Manual,
}

/// `tine sim serve`
#[derive(Debug, Args)]
pub(crate) struct SimServeArgs {
    /// A built-in scenario or a TOML file
    #[arg(long, default_value = "echo", value_name = "SCENARIO")]
    pub(crate) scenario: String,
    /// Port on loopback; 0 takes a free one
    #[arg(short, long, default_value_t = 0)]
    pub(crate) port: u16,
    /// The clock that cache lifetimes go by; a manual one stands still until POST /sim/clock {"advance_ms": N}
    #[arg(long, value_enum, default_value_t)]
    pub(crate) clock: ClockArg,
    /// Write each request's body, verbatim, into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) log_bodies: Option<PathBuf>,
}

/// `tine demo`
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Let four workers change files in worktrees of a copy of this repository, pick the best work and apply it
    #[arg(long)]
    pub(crate) worktrees: bool,
    /// Keep the demo's agents in your own database instead of a temporary one
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Only `--json`.
#[derive(Debug, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `tine completions`
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }
}
