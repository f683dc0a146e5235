//! Errors into words, hints and exit codes. The codes are in the manual.

use std::error::Error;

use anstyle::{AnsiColor, Style};
use tine_llm::LlmError;
use tine_model::{Cap, NameError, with_causes};
use tine_nats::ClusterError;
use tine_runtime::{
    AgentCandidate, ConnectError, ErrorKind, NotKept, NotesError, OLDEST_GIT, RuntimeError,
    SlashError, StoreError, WallError, WorktreeError, WorktreeRefusal,
};
use tine_wire::{FailureKind, ImportError, NoAnswer};

use crate::output;
use tine_tui::age::moment;
use tine_tui::words::{harmless, one_line};

/// Something went wrong while working.
pub(crate) const FAILED: u8 = 1;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 2;
/// What was given cannot be worked with: an agent, a file, a model, a setting.
pub(crate) const BAD_INPUT: u8 = 42;
/// The turn limit was reached.
pub(crate) const TURN_LIMIT: u8 = 53;
/// A tool failed, and the run was told to mind.
pub(crate) const TOOL_FAILED: u8 = 54;
/// The budget was spent.
pub(crate) const BUDGET: u8 = 55;
/// What is said where a user asked for commands without a wall's means.
const WALL_ADVICE: &str =
    "`tine doctor` says what is missing here; `--confine off` runs commands without a wall";

/// A tool call was refused because nobody could be asked.
pub(crate) const PERMISSION: u8 = 56;
/// The time limit was reached.
pub(crate) const TIMED_OUT: u8 = 124;
/// Interrupted from the keyboard.
pub(crate) const INTERRUPTED: u8 = 130;

/// An exit code: in a word for the help, and as the manual says it.
pub(crate) struct ExitCode {
    pub(crate) code: u8,
    pub(crate) word: &'static str,
    pub(crate) meaning: &'static str,
}

const fn exit_code(code: u8, word: &'static str, meaning: &'static str) -> ExitCode {
    ExitCode { code, word, meaning }
}

/// All of them.
pub(crate) const EXIT_CODES: &[ExitCode] = &[
    exit_code(0, "success", "success"),
    exit_code(
        FAILED,
        "failure",
        "failure; also a conflict, a `tine pick` without good work, or a permission request that is answered already",
    ),
    exit_code(USAGE, "usage", "the command line is wrong"),
    exit_code(
        BAD_INPUT,
        "bad input",
        "something that was given cannot be used: an agent, a file, a model, a setting, a permission request",
    ),
    exit_code(TURN_LIMIT, "turn limit", "the turn limit was reached"),
    exit_code(TOOL_FAILED, "tool failure", "a tool call failed, with `--fail-on-tool-error`"),
    exit_code(
        BUDGET,
        "budget",
        "the budget of the run or of its tree was spent, or nobody agreed to a price above `cache.confirm_above`",
    ),
    exit_code(
        PERMISSION,
        "permission denied",
        "a call was refused because nobody could be asked, or nobody answered in time; one that a rule or a mode refuses is no failure. Also `tine guard`: not allowed",
    ),
    exit_code(TIMED_OUT, "timed out", "the time limit was reached"),
    exit_code(INTERRUPTED, "interrupted", "interrupted, or cancelled by an empty text"),
];

/// The codes in a line.
pub(crate) fn exit_codes() -> String {
    let each = EXIT_CODES.iter().map(|code| format!("{} {}", code.code, code.word));
    format!("Exit codes: {}.", each.collect::<Vec<_>>().join(", "))
}

/// What a user is told when a command fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) code: u8,
    message: String,
    hints: Vec<String>,
}

impl Failure {
    /// A failure of the work itself.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { code: FAILED, message: message.into(), hints: Vec::new() }
    }

    /// Something was given that cannot be worked with.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self { code: BAD_INPUT, ..Self::failed(message) }
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, ..Self::failed(message) }
    }

    /// A failure with a code of its own.
    pub(crate) fn coded(code: u8, message: impl Into<String>) -> Self {
        Self { code, ..Self::failed(message) }
    }

    /// Adds the cause, and its causes.
    pub(crate) fn because(self, cause: &dyn Error) -> Self {
        Self { message: with_causes(self.message, cause), ..self }
    }

    /// Adds advice on a line of its own.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What went wrong, without advice.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The text, without colour.
    pub(crate) fn text(&self) -> String {
        let hints: String = self.hints.iter().map(|hint| format!("\nhint: {hint}")).collect();
        format!("error: {}{hints}", self.message)
    }

    pub(crate) fn print(&self) {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        output::say(&format!("{red}error:{red:#} {}", harmless(&self.message)));
        self.hints.iter().for_each(|hint| print_hint(hint));
    }

    /// An error of the runtime's: its kind says which code.
    fn known(error: &dyn Error, kind: ErrorKind) -> Self {
        let code = match kind {
            ErrorKind::BadInput => BAD_INPUT,
            ErrorKind::OverBudget => BUDGET,
            ErrorKind::Cancelled => INTERRUPTED,
            ErrorKind::TimedOut => TIMED_OUT,
            ErrorKind::Failed => FAILED,
        };
        Self::of(code, error)
    }

    fn of(code: u8, error: &dyn Error) -> Self {
        let mut failure = Self { code, message: error.to_string(), hints: Vec::new() };
        if let Some(source) = error.source() {
            failure = failure.because(source);
        }
        failure
    }
}

/// Prints advice on a line of its own.
pub(crate) fn print_hint(hint: &str) {
    let cyan = Style::new().bold().fg_color(Some(AnsiColor::Cyan.into()));
    output::say(&format!("{cyan}hint:{cyan:#} {}", harmless(hint)));
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let told = Self::known(&error, ErrorKind::from(&error));
        match &error {
            StoreError::Newer { .. } => told.hint(
                "a newer tine wrote this database; use that version, or set TINE_HOME to another directory",
            ),
            StoreError::ReadOnly { .. } => told.hint(
                "make the directory and the file writable, or set TINE_HOME to a directory that is",
            ),
            StoreError::Full { .. } => told.hint(
                "free some space and run the command again; everything acknowledged so far is kept",
            ),
            StoreError::Busy { .. } => {
                told.hint("another process writes for very long, or is paused; run the command again")
            }
            StoreError::Corrupt { .. } | StoreError::Foreign { .. } => told.hint(
                "move the file and those beside it away, and tine makes a new one; `sqlite3 FILE .recover` saves what can still be read",
            ),
            StoreError::Io { .. } | StoreError::Database { .. } => {
                told.hint("check the disk and the path, or set TINE_HOME to another directory")
            }
            StoreError::NotFound { .. } => told.hint("`tine ps --all` lists all agents"),
            StoreError::Ambiguous { candidates, .. } => {
                let shown: Vec<String> = candidates.iter().map(candidate).collect();
                told.hint(format!("give more characters of an id; it may be {}", shown.join(", ")))
            }
            StoreError::Id(_) => {
                told.hint("an agent is named by its name or by the first characters of its id")
            }
            StoreError::NameTaken { .. } => {
                told.hint("choose another name, or rename the other agent first")
            }
            StoreError::Dead { .. } => {
                told.hint("a dead agent stays dead; `tine ps --all` lists its relatives")
            }
            StoreError::NotDead { agent } => {
                let hint = format!("`tine kill {}` ends it and all below it", agent.short());
                told.hint(&hint)
            }
            StoreError::Held { .. } => told
                .hint("wait for it, `tine stop` it, or `tine fork` the agent and work in the fork"),
            StoreError::UnknownPermission { .. } => told.hint(
                "`tine permission list` lists what waits; a request is named by at least four characters of its id",
            ),
            StoreError::AmbiguousPermission { candidates, .. } => {
                let shown: Vec<String> = candidates.iter().map(ToString::to_string).collect();
                told.hint(format!("give more characters; it may be {}", shown.join(", ")))
            }
            StoreError::Settled { permission } => {
                let by = permission.answered_by.as_deref();
                let by = by.map_or(String::new(), |by| format!(" by {by}"));
                let at = permission.answered_ms.unwrap_or(permission.created_ms);
                let state = permission.state.as_str();
                told.hint(format!("it was {state}{by} at {}", moment(at)))
            }
            StoreError::TooWide { widest, .. } => told.hint(format!(
                "the widest scope that this answer may have is `{}`",
                widest.as_str()
            )),
            StoreError::NotStanding { .. } => {
                told.hint("`tine permission rules` lists the answers that stand")
            }
            StoreError::OverBudget { root, reached, .. } => told
                .hint(format!("{} raises it", raise(reached.cap, &root.short()))),
            StoreError::UnknownEntry { .. } => told.hint("`tine show AGENT` lists its entries"),
            StoreError::MailboxFull { .. } => told.hint("run the agent, so that it reads its mail"),
            _ => told,
        }
    }
}

/// The command that raises a cap.
pub(crate) fn raise(cap: Cap, agent: &str) -> String {
    let option = match cap {
        Cap::Tokens => "--tokens N",
        Cap::Money => "--usd USD",
        Cap::Time => "--time TIME",
        Cap::Agents => "--agents N",
        Cap::Running => "--running N",
    };
    format!("`tine budget {agent} {option}`")
}

/// One of the agents that a word could mean.
fn candidate(agent: &AgentCandidate) -> String {
    match &agent.name {
        Some(name) => format!("{} ({name})", agent.id),
        None => agent.id.to_string(),
    }
}

impl From<SlashError> for Failure {
    fn from(error: SlashError) -> Self {
        let unknown = |name: &str| Self::input(format!("unknown model `{}`", one_line(name)));
        match &error {
            SlashError::UnknownModel(name) => unknown(name).hint(
                "models are anthropic/NAME, openai/NAME, openai-chat/NAME, gemini/NAME, deepseek/NAME, minimax/NAME, openai-compat/NAME (any server that speaks OpenAI's format), and sim/SCENARIO",
            ),
            SlashError::NearModel { name, near } => {
                unknown(name).hint(format!("did you mean {}?", near.join(", ")))
            }
            SlashError::InvalidLevel(level) => {
                Self::input(format!("unknown level of reasoning `{}`", one_line(level)))
                    .hint("it is none, low, med or high")
            }
            SlashError::NotQuoted
            | SlashError::Unterminated
            | SlashError::Trailing(_)
            | SlashError::UnknownFlag(_)
            | SlashError::NoArgument(_)
            | SlashError::NoContext(_)
            | SlashError::NoEntry(_) => Self::of(BAD_INPUT, &error),
        }
    }
}

impl From<NotKept> for Failure {
    fn from(not_kept: NotKept) -> Self {
        Self::failed(not_kept.why)
            .hint(not_kept.hint)
            .hint("the answer itself stands, for this tree")
    }
}

impl From<RuntimeError> for Failure {
    fn from(error: RuntimeError) -> Self {
        let told = Self::known(&error, error.kind());
        match error {
            RuntimeError::Store(error) => error.into(),
            RuntimeError::Connect(ConnectError::Llm(error)) => (&error).into(),
            RuntimeError::Connect(ConnectError::Scenario { .. }) => told
                .hint("a simulator model is sim/NAME of a built-in scenario, or sim/PATH of a TOML file"),
            RuntimeError::Connect(ConnectError::Key { .. }) => told.hint(
                "try the command by hand; `tine login PROVIDER` stores another one, or a key",
            ),
            RuntimeError::Connect(ConnectError::NotLent(_)) => told
                .hint("`gateway.borrow_credentials = \"always\"` in your config.toml agrees; typed at a shell's prompt, `tine fork` and `tine fan` ask")
                .hint("`tine login PROVIDER` gives tine a key of its own"),
            RuntimeError::Connect(ConnectError::NeverLent(_)) => told
                .hint("gateway.borrow_credentials in your config.toml is \"never\"; \"ask\" and \"always\" let forks use them"),
            RuntimeError::Connect(ConnectError::NoGateway(_)) => told
                .hint("`tine with` starts one: go on with the program's conversation in it, and fork then")
                .hint("`tine login PROVIDER` gives tine a key of its own"),
            RuntimeError::Cluster(ClusterError::Unreachable { .. }) => told
                .hint("`nats-server -js` starts one; cluster.url or TINE_CLUSTER_URL says where it is"),
            RuntimeError::Cluster(ClusterError::Refused { .. }) => told
                .hint("cluster.credentials, cluster.nkey, or a user in cluster.url, says who you are"),
            RuntimeError::Cluster(ClusterError::NoJetStream(_)) => {
                told.hint("start it with JetStream: `nats-server -js`")
            }
            RuntimeError::Cluster(_) => told.hint("`tine cluster status` shows how it stands"),
            RuntimeError::RemoteForm(_) | RuntimeError::RemoteRules(_) => {
                told.hint("use the same version of tine on all machines")
            }
            RuntimeError::RunsElsewhere(agent) => told.hint(format!(
                "`tine send {0} TEXT` tells it something, `tine wait {0}` waits for its end",
                agent.short()
            )),
            RuntimeError::ToolsRun(agent) => told
                .hint(format!("`tine fork {} --at ENTRY` forks from before them", agent.short())),
            RuntimeError::NoDirective => Self { code: USAGE, ..told }.hint("give each worker a task with -d TEXT"),
            RuntimeError::TooMany { .. } => told.hint("split the work over several fans"),
            RuntimeError::NothingToSend(_) => {
                told.hint("give a prompt as an argument or on standard input")
            }
            RuntimeError::Entry { .. } | RuntimeError::Head(_) | RuntimeError::NoHead(_) => {
                told.hint("the database is damaged or of another version; the other agents still work")
            }
            RuntimeError::Import(ImportError::Record { .. }) => told
                .hint("without that line the rest can be imported; a line that is cut off is left out by itself"),
            RuntimeError::Import(ImportError::Shape { .. }) => told
                .hint("without --format tine finds out by itself what the file is"),
            RuntimeError::Import(_) | RuntimeError::AssistantFirst => told.hint(
                "the file is a JSON array, or one JSON object a line, of messages with `role` and `content`, or a session of Claude Code, Codex or OpenCode",
            ),
            RuntimeError::DigestNeeded { .. } => told
                .hint("without --context it is taken as a digest"),
            RuntimeError::GuestRequest { .. } => told
                .hint("the request itself was passed on; another version of the program may be needed"),
            RuntimeError::Guest(_) => told.hint(
                "`tine fork` and `tine fan` fork it; `tine show`, `tree`, `logs`, `cost`, `export` and `cache explain` read it",
            ),
            RuntimeError::NotAsSent { .. } => told
                .hint("without --as-sent its messages are taken behind a system prompt and tools of tine's own"),
            RuntimeError::Name { why: NameError::LikeId, ref name } => {
                let hint = format!("put a letter beyond f into it, as in `x-{name}`");
                told.hint(hint)
            }
            RuntimeError::Name { .. } => {
                told.hint("a name is one word of at most 64 characters")
            }
            RuntimeError::NoTask(_) => {
                told.hint("`tine ps` marks workers; `tine task list` lists their tasks")
            }
            RuntimeError::NoDefinition(_) => told
                .hint("put its file back into .tine/agents or the agents folder beside config.toml"),
            RuntimeError::TaskEnded(agent) => {
                let agent = agent.short();
                told.hint(format!("`tine task resume {agent} TEXT` lets it go on with your text"))
            }
            RuntimeError::FollowUpWaits(_) => {
                told.hint("wait for its report: `tine task output TASK --block`")
            }
            RuntimeError::CacheLoss { .. } => told
                .hint("without --model the fork keeps its parent's model, and with it the cache")
                .hint("--context digest tells the other model the conversation as a shorter text")
                .hint("--accept-cache-loss sends all of it anew"),
            RuntimeError::Llm(error) => (&error).into(),
            RuntimeError::NothingToCompact(_) => told
                .hint("--keep-tokens keeps less of it word for word"),
            RuntimeError::NoAnswer { .. } => told
                .hint("nothing has changed; run it again, or `tine fork --context digest` the agent"),
            RuntimeError::NoParent(_) => told
                .hint("`tine tree` shows who was forked from whom"),
            RuntimeError::NoAncestor { source_agent, .. } => told.hint(format!(
                "conclusions go to {}'s parent, or to an agent above it; `tine tree` shows them",
                source_agent.short()
            )),
            RuntimeError::NothingToBringBack { source_agent, .. } => told
                .hint(format!("`tine show {}` shows its conversation", source_agent.short())),
            RuntimeError::SourceRuns(agent) => told.hint(format!(
                "`tine wait {0}` waits for its end, `tine stop {0}` stops it",
                agent.short()
            )),
            RuntimeError::KillsRoot { agent, .. } => {
                let short = agent.short();
                told
                    .hint(format!("`tine stop {short}` ends what runs there; all of it can be resumed"))
                    .hint(format!("`tine kill --root {short}` kills it for good"))
            }
            RuntimeError::NoMark { agent, .. } => {
                let hint = format!("`tine mark {} --list` lists them", agent.short());
                told.hint(hint)
            }
            RuntimeError::RuleForOnce => told
                .hint("add --scope agent, --scope tree or --scope always"),
            RuntimeError::NotOffered { ref offered, .. } => told.hint(match offered {
                Some(rule) => format!("`{}` is", one_line(rule)),
                None => "no wider rule is; leave --rule out".to_owned(),
            }),
            RuntimeError::EmptyMail => {
                told.hint("give the message as an argument or on standard input")
            }
            RuntimeError::MailTooLong { .. } => told
                .hint("write it to a file, and send a message that names the file"),
            RuntimeError::Wall(WallError::Network) => told
                .hint("a run without --network, confine.network and worktree.setup_network needs none of this")
                .hint(WALL_ADVICE),
            RuntimeError::Wall(_) | RuntimeError::WriteRoot(_) | RuntimeError::Confinement => {
                told.hint(WALL_ADVICE)
            }
            RuntimeError::Owner(_) => told
                .hint("make the directory writable, or set TINE_HOME to a directory that is"),
            RuntimeError::Worktree(error) => error.into(),
            RuntimeError::Notes(NotesError::Conflict(_)) => told
                .hint("take the later runs back first, or edit the notes by hand"),
            RuntimeError::Notes(NotesError::Foreign(_)) => told
                .hint("name another directory for notes: `memory_dir` under [dream] in your config.toml"),
            RuntimeError::Notes(NotesError::Settings(_) | NotesError::Nested(_)) => {
                told.hint("take it out of the notes; `tine dream status` says where they are")
            }
            RuntimeError::Notes(_) => told
                .hint("`tine dream status` says where the notes are"),
            RuntimeError::NothingToUndo(_) | RuntimeError::UndoneBefore(_) => {
                told.hint("`tine dream log` lists the runs")
            }
            RuntimeError::Setup { .. } => told
                .hint("`[worktree] setup` in config.toml is the command; it runs behind the wall that workers have")
                .hint("setup_network = [\"HOST\"] beside it gives it hosts, true all public web servers, `[confine] writable` more directories"),
            RuntimeError::NoWorktrees => told
                .hint("`[worktree] enabled` in config.toml turns them on"),
            RuntimeError::NoWorktree(_) => {
                told.hint("`tine worktree list` lists those that have one")
            }
            RuntimeError::WorktreeRemoved(agent) => {
                let agent = agent.short();
                told.hint(format!("`tine worktree recover {agent}` brings it back"))
            }
            RuntimeError::WorktreePurged(agent) => {
                let agent = agent.short();
                told.hint(format!(
                    "its work is gone; `tine worktree recover {agent} --anew` makes a worktree as the checkout stands now"
                ))
            }
            RuntimeError::WorktreeLost { agent, .. } => {
                let agent = agent.short();
                told.hint(format!(
                    "`tine worktree recover {agent}` makes it again as it began, with the commits that git still has"
                ))
            }
            RuntimeError::RepositoryMoved { .. } => told
                .hint("`tine worktree repair`, in the place where it is now, finds it again; nothing is lost"),
            RuntimeError::NoOrigin { owner, .. } => {
                let other = "--to DIR names another checkout of the repository";
                told.hint(match owner {
                    Some(owner) => format!(
                        "it was the worktree of another agent: `tine worktree recover {}` brings it back; {other}",
                        owner.short()
                    ),
                    None => other.to_owned(),
                })
            }
            RuntimeError::OtherRepository(_) => told
                .hint("--to takes a checkout of the repository that the worktree is of"),
            RuntimeError::UnknownCommit { agent, .. } => {
                let agent = agent.short();
                told.hint(format!("`tine diff {agent} --json` lists its commits"))
            }
            RuntimeError::Travel(travel) => told.hint(travel.hint()),
            RuntimeError::WorktreeShared(_) => {
                told.hint("`tine ps` lists them; `tine kill` ends one")
            }
            RuntimeError::Filter(_) | RuntimeError::Place(_) => {
                told.hint("the directory of an agent must exist")
            }
            RuntimeError::ForkInProgress
            | RuntimeError::ForkGivenUp
            | RuntimeError::Panicked(_)
            | RuntimeError::Message(_)
            | RuntimeError::NothingToRewind(_)
            | RuntimeError::WorktreeThere { .. } => told,
        }
    }
}

impl From<WorktreeError> for Failure {
    fn from(error: WorktreeError) -> Self {
        let told = Self::known(&error, ErrorKind::from(&error));
        match &error {
            WorktreeError::Refused(refusal) => {
                let hint = match refusal {
                    WorktreeRefusal::NoRepository(_) => {
                        "`git init` and a first commit make one; without worktrees agents share the directory"
                    }
                    WorktreeRefusal::NoCheckout(_) => {
                        "work in one of its checkouts: `git worktree add`"
                    }
                    WorktreeRefusal::Unmerged { .. } => {
                        "settle the conflicts and `git add` the files, or take the last commit alone with --clean"
                    }
                    WorktreeRefusal::Embedded(_) => {
                        "add them to .gitignore, or make submodules of them"
                    }
                    WorktreeRefusal::HoldsRepositories(_) => {
                        "nothing was removed: move them elsewhere or delete them, and try again; what git does not track in a worktree nobody keeps"
                    }
                    WorktreeRefusal::NoCommit(_) => "--base takes a branch, a tag or a commit",
                    WorktreeRefusal::Name(_) => "letters, digits and `-`",
                    WorktreeRefusal::Taken(_) | WorktreeRefusal::Exists(_) => {
                        "`tine worktree list` lists all; `tine worktree rm` removes one and keeps what it holds"
                    }
                    WorktreeRefusal::Unknown(_) => "`tine worktree list` lists all",
                    WorktreeRefusal::NoPorts(_) => {
                        "`tine worktree gc` frees those of old worktrees; `[worktree] ports` says how many each gets"
                    }
                    WorktreeRefusal::Changing(_) => {
                        "wait until whatever writes there is done, or add the files to .gitignore"
                    }
                };
                told.hint(hint)
            }
            WorktreeError::Obstructed(obstacle) => {
                told.hint(obstacle.hint())
            }
            WorktreeError::Travel(travel) => told.hint(travel.hint()),
            WorktreeError::TakenBack { kept, .. } => {
                kept.iter().fold(told, |failure, kept| {
                    let path = kept.path.display();
                    failure.hint(match &kept.before {
                        Some(before) => {
                            format!("what stood at {path} before is in {}", before.display())
                        }
                        None => format!("nothing stood at {path} before"),
                    })
                })
            }
            WorktreeError::NoGit(_) => {
                told.hint(format!("install git {OLDEST_GIT} or later, and have it on the PATH"))
            }
            WorktreeError::OldGit { .. } => told.hint(
                "`command -v git` names the program; Debian 12, Ubuntu 24.04 and later releases have a later one",
            ),
            WorktreeError::Git { .. } => told.hint("nothing of the checkout has changed"),
            WorktreeError::TooLong { .. } => {
                told.hint("a filter or the network may hang; run the git command by hand to see")
            }
            WorktreeError::Output { .. } => told,
            WorktreeError::File { .. } => {
                told.hint("check the disk and the permissions; nothing of the checkout has changed")
            }
        }
    }
}

impl From<&LlmError> for Failure {
    fn from(error: &LlmError) -> Self {
        let told = Self::known(error, ErrorKind::from(error));
        match error {
            LlmError::MissingKey { variable } => told.hint(format!(
                "store the key with `tine login`, or set {variable}; `--model sim/echo` needs none"
            )),
            LlmError::MissingBaseUrl { variable, .. } => told.hint(format!(
                "set {}, or base_url in config.toml, to the server's address (for Ollama http://localhost:11434/v1)",
                variable.unwrap_or("the base URL")
            )),
            LlmError::BadBaseUrl { .. } => {
                told.hint("a base URL looks like https://host or http://localhost:11434/v1")
            }
            LlmError::BadKey => told.hint("copy the key again, without blanks and line ends"),
            LlmError::Setup { .. }
            | LlmError::WrongFormat { .. }
            | LlmError::Unsupported { .. }
            | LlmError::BadCachedName { .. }
            | LlmError::BadHeader { .. } => told,
            LlmError::Unreachable { .. } => told.hint(
                "check the network, the proxy settings and the base URL; nothing is lost, `tine run --continue` goes on",
            ),
            LlmError::Refused { failure, .. } if failure.kind == FailureKind::Overflow => {
                window_hints(told)
            }
            LlmError::Refused { failure, .. } => told.hint(refused_hint(failure.kind)),
            LlmError::NoAnswer { reason, .. } => match reason {
                NoAnswer::WindowFull => window_hints(told),
                NoAnswer::Failed(_) | NoAnswer::Empty => told.hint(
                    "nothing is lost; `tine run --continue` asks again, and another model may answer: --model",
                ),
                NoAnswer::UnknownEnd(_) => told.hint(
                    "its words are kept, and may not be all; `tine run --continue` with a message goes on from them",
                ),
            },
            LlmError::Broken { .. } | LlmError::Timeout { .. } => {
                told.hint("what arrived is kept; `tine run --continue` asks again")
            }
            LlmError::Protocol { .. } => told.hint(
                "does the base URL belong to this provider? A proxy on the way may change answers",
            ),
            LlmError::Cancelled { .. } => {
                told
            }
        }
    }
}

/// Adds hints for a conversation that has outgrown its model.
fn window_hints(failure: Failure) -> Failure {
    failure
        .hint("`tine compact AGENT` makes the conversation shorter; `tine run --continue` then goes on")
        .hint(
            "a server of your own takes more with a larger window: llama-server -c, vLLM --max-model-len, OLLAMA_CONTEXT_LENGTH",
        )
}

fn refused_hint(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Authentication => {
            "the key is not accepted; check it, and that it belongs to this provider"
        }
        FailureKind::Permission => "the key may not do this; check its rights with the provider",
        FailureKind::NotFound => {
            "the model or the address is unknown to the provider; check the model's name"
        }
        FailureKind::InvalidRequest => {
            "`tine compact AGENT` goes on from a text of it, without pictures and the like; `tine fork AGENT --at N` goes on from an earlier entry (`tine show AGENT` lists them)"
        }
        FailureKind::TooLarge => {
            "the server takes no request of this size; `tine compact AGENT` makes the conversation shorter"
        }
        FailureKind::Overflow => "`tine compact AGENT` makes the conversation shorter",
        FailureKind::RateLimited => "too many requests; wait a little, then `tine run --continue`",
        FailureKind::NoCredit => {
            "the account has no money left; add some with the provider, then `tine run --continue`"
        }
        FailureKind::SpendLimit => {
            "the account's spending limit is reached; raise it with the provider"
        }
        FailureKind::Overloaded | FailureKind::Server | FailureKind::Timeout => {
            "the provider has trouble; wait a little, then `tine run --continue`"
        }
        FailureKind::NotTheApi => {
            "something else answers at this address: a proxy, a login page, or a wrong base URL"
        }
        FailureKind::Other => "nothing is lost; `tine run --continue` asks again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_were_changed_while_a_change_was_taken_back_are_named() {
        let kept = vec![
            kept_file("a.txt", Some("/repository/.git/tine/kept/a.txt")),
            kept_file("new.txt", None),
        ];
        let why = Box::new(WorktreeError::Git { command: "update-ref".into(), said: "no".into() });
        let failure = Failure::from(WorktreeError::TakenBack { why, kept });
        insta::assert_snapshot!(failure.text(), @"
        error: `git update-ref` failed: no; changed while that was taken back, and left as they are: a.txt, new.txt
        hint: what stood at a.txt before is in /repository/.git/tine/kept/a.txt
        hint: nothing stood at new.txt before
        ");
    }

    fn kept_file(path: &str, before: Option<&str>) -> tine_runtime::KeptFile {
        tine_runtime::KeptFile { path: path.into(), before: before.map(Into::into) }
    }

    #[test]
    fn what_a_provider_refuses_comes_with_what_helps() {
        let told = |status: u16, body: &str| {
            let format = tine_model::WireFormat::OpenAiChat;
            let failure = tine_wire::decode_failure(format, status, None, body.as_bytes());
            let error = LlmError::Refused { failure, attempts: 1, asked_wait: None };
            Failure::from(&error).text()
        };
        insta::assert_snapshot!(told(400, r#"{"error":{"message":"This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.","code":"context_length_exceeded"}}"#), @"
        error: longer than the model's window (status 400, context_length_exceeded): This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens.
        hint: `tine compact AGENT` makes the conversation shorter; `tine run --continue` then goes on
        hint: a server of your own takes more with a larger window: llama-server -c, vLLM --max-model-len, OLLAMA_CONTEXT_LENGTH
        ");
        insta::assert_snapshot!(told(400, r#"{"error":{"message":"Your credit balance is too low to access the Anthropic API."}}"#), @"
        error: no credit left (status 400): Your credit balance is too low to access the Anthropic API.
        hint: the account has no money left; add some with the provider, then `tine run --continue`
        ");
        let partial =
            tine_wire::Partial { message: None, usage: tine_model::Usage::default(), id: None };
        let reason = NoAnswer::Failed("UNEXPECTED_TOOL_CALL".to_owned());
        let error = LlmError::NoAnswer { partial: Box::new(partial), reason };
        insta::assert_snapshot!(Failure::from(&error).text(), @"
        error: the model gave no answer: the provider ended the reply with `UNEXPECTED_TOOL_CALL`: the model called a tool that the provider did not expect
        hint: nothing is lost; `tine run --continue` asks again, and another model may answer: --model
        ");
    }

    #[test]
    fn hints_stand_on_their_own_lines() {
        let io = std::io::Error::other("disk on fire");
        let failure =
            Failure::failed("cannot write").because(&io).hint("pour water").hint("call help");
        insta::assert_snapshot!(failure.text(), @r"
        error: cannot write: disk on fire
        hint: pour water
        hint: call help
        ");
    }
}
