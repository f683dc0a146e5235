//! `tine` alone: the terminal. Settings become options here; what is on the screen is `tine-tui`'s.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use clap::ArgMatches;
use clap::builder::StyledStr;
use clap::error::ErrorKind;
use tine_fork::run::TURNS_DEFAULT;
use tine_model::{AgentId, AgentRecord};
use tine_runtime::{
    NewRoot, OnBudget, Permissions, RunOptions, Runtime, RuntimeError, SharedMode, SpawnPolicy,
};
use tine_tui::words::{DIM, first_line, styled};
use tine_tui::{
    CommandWords, HistoryEntry, Host, Look, ModelChoice, Offer, Start, Told, WorkerSeams, Written,
};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::away;
use crate::cli::{self, Command, LimitArgs, ModelArgs, TalkArgs};
use crate::commands::in_context;
use crate::commands::run::{Worktrees, last_in, refuse_model};
use crate::commands::setup::Chosen;
use crate::confine::{of_agent, of_root, widened};
use crate::context::{Context, InTerminal};
use crate::crew::crew;
use crate::editor::Editor;
use crate::environment::variable;
use crate::fail::Failure;
use crate::history;
use crate::limits::{mode, permissions};
use crate::local::{look, places};
use crate::memory;
use crate::model::default_model;
use crate::output::{self, caught};
use crate::run_options::RunSetup;

/// The settings of a session were read at its start; agents' files are read for each run.
const TRUST_LATER: &str =
    "note: agents' files count from the next run on, settings from the next start of tine";

/// The command line has no rules for a terminal: those of the settings count.
pub(super) struct SettingsHost {
    pub(super) context: Arc<Context>,
    /// What was typed: for new agents, for the one that is gone on with, and for workers.
    limits: LimitArgs,
    /// The agent that is gone on with.
    resumed: Option<AgentId>,
    /// The model that the person has chosen for new agents.
    pub(super) chosen: Mutex<Option<Chosen>>,
    /// The permission mode of the session.
    pub(super) mode: SharedMode,
}

/// Talks to a person at a terminal until they leave.
pub(crate) async fn terminal(context: Arc<Context>, args: TalkArgs) -> Result<u8, Failure> {
    let agent = match (&args.resume, args.continue_last) {
        (Some(Some(text)), _) => Some(context.agent(text).await?),
        (None, true) => Some(last_in(&context, Worktrees::Counted).await?),
        (Some(None), _) | (None, false) => None,
    };
    if agent.is_some() {
        refuse_model(&ModelArgs { model: args.model.clone(), ..ModelArgs::default() })?;
    }
    let picks = args.resume == Some(None);
    let keys = context.config.key_bindings()?;
    let notify = context.config.notify()?;
    let mouse = context.config.terminal.mouse.unwrap_or(false);
    let mut notes = context.untrusted();
    let TalkArgs { permission_mode, confine, prompt, model, .. } = args;
    let limits = LimitArgs { permission_mode, confine, ..LimitArgs::default() };
    let mode = mode(&context.config, &limits)?.into();
    match agent {
        // What is wrong with it is said before anything is drawn.
        None => drop(of_root(&context, &limits)?),
        Some(agent) => {
            let record = context.runtime.agent(agent).await?;
            let reach = of_agent(&context, &limits, &record)?.reach;
            notes.extend(widened(&reach, (&record.reach, &agent.short())));
        }
    }
    let usual = default_model(&context.config).map(|setting| setting.value);
    let chosen = Mutex::default();
    let host = SettingsHost { context, limits, resumed: agent, chosen, mode };
    let model = match model {
        Some(model) => Some(host.choose(&ModelChoice { model, ..ModelChoice::default() }).await?),
        None => usual,
    };
    let prompt = prompt.into_iter().next();
    let runtime = Arc::clone(&host.context.runtime);
    let look = Look::of_variables(&variable);
    let start = Start { agent, picks, model, look, keys, mouse, notify, notes, prompt };
    let talked = if args.plain || variable("TERM").as_deref() == Some("dumb") {
        tine_tui::run_plain(Arc::new(host), start).await
    } else {
        output::set_screen_drawn(true);
        let talked = tine_tui::run(Arc::new(host), start).await;
        output::set_screen_drawn(false);
        talked
    };
    let last = talked.map_err(|error| {
        Failure::failed("the terminal failed")
            .because(&error)
            .hint("everything that agents said is kept: `tine ps` lists them")
    })?;
    if let Some(agent) = last {
        let record = runtime.agent(agent).await?;
        let name = record.name.unwrap_or_else(|| agent.short());
        output::say(&styled(DIM, &format!("`tine -r {name}` goes on here")));
    }
    Ok(0)
}

pub(super) fn told(failure: &Failure) -> Told {
    Told(failure.text())
}

/// A command of the command line, from its words.
fn command(arguments: &[String]) -> Result<Command, Told> {
    let words = std::iter::once("tine").chain(arguments.iter().map(String::as_str));
    let cli = cli::parse(words.map(OsString::from).collect()).map_err(|refused| match refused {
        cli::Refused::Clap(error) => {
            let hint = cli::hint(&error).map(|hint| format!("\nhint: {hint}"));
            Told(format!("{}{}", error.render(), hint.unwrap_or_default()))
        }
        cli::Refused::Word(failure) => told(&failure),
    })?;
    cli.command.ok_or_else(|| Told("there is no command".to_owned()))
}

/// The words of a command that is about one agent: this one, where they name none.
fn about(agent: AgentId, command: &[String], rest: &[String]) -> Vec<String> {
    let as_typed = [command, rest].concat();
    let with_agent = [command, &[agent.to_string()], rest].concat();
    let read = |words: &[String]| {
        let words = std::iter::once("tine").chain(words.iter().map(String::as_str));
        cli::command().try_get_matches_from(words)
    };
    match read(&as_typed) {
        Ok(typed) if names_agent(&typed) || read(&with_agent).is_err() => as_typed,
        Err(error) if error.kind() != ErrorKind::MissingRequiredArgument => as_typed,
        _ => with_agent,
    }
}

/// Whether an agent is named, by the first of the words that are no options.
fn names_agent(typed: &ArgMatches) -> bool {
    let tine = cli::command();
    let (mut command, mut typed) = (&tine, typed);
    while let Some((name, below)) = typed.subcommand() {
        let Some(found) = command.find_subcommand(name) else { break };
        (command, typed) = (found, below);
    }
    let first = command.get_positionals().next();
    first.is_some_and(|first| typed.value_source(first.get_id().as_str()).is_some())
}

/// A mistake in a command of the command line, told to whom types it here: without the agent, which is the one on the screen.
fn as_typed_here(error: String) -> String {
    let error = error.replace("Usage: tine ", "Usage: /");
    error.replace("\n  <AGENT>", "").replace(" <AGENT>", "")
}

/// Runs a command whose output is shown elsewhere, on a thread where waiting is allowed: commands need not be able to move from one
/// to another.
async fn run_caught(
    context: Arc<Context>,
    command: Command,
    columns: usize,
) -> Result<String, Told> {
    let handle = Handle::current();
    let say = context.terminal.as_ref().map(|terminal| Arc::clone(&terminal.seams.say));
    let work = move || handle.block_on(caught(columns, say, in_context(&context, command)));
    match tokio::task::spawn_blocking(work).await {
        Ok((Ok(_), text)) => Ok(text),
        // An error has no colours.
        Ok((Err(failure), text)) => {
            let text = anstream::adapter::strip_str(&text);
            Err(Told(format!("{text}{}", failure.text())))
        }
        Err(_) => Err(Told("error: the command failed in a way that it should not".to_owned())),
    }
}

/// The options of a command, or its own commands.
fn words_of(command: &clap::Command) -> Vec<(String, String)> {
    let help =
        |text: Option<&StyledStr>| first_line(&text.map(ToString::to_string).unwrap_or_default());
    let commands = command.get_subcommands().filter(|command| command.get_name() != "help");
    let commands =
        commands.map(|command| (command.get_name().to_owned(), help(command.get_about())));
    let options = command.get_arguments().filter(|option| !option.is_hide_set());
    let options = options.filter(|option| !option.is_global_set());
    let options = options
        .filter_map(|option| Some((format!("--{}", option.get_long()?), help(option.get_help()))));
    commands.chain(options).collect()
}

impl SettingsHost {
    fn run_options(
        &self,
        agent: &AgentRecord,
        cancel: CancellationToken,
    ) -> Result<RunOptions, Failure> {
        let (config, typed) = (&self.context.config, &self.limits);
        let args = match self.resumed == Some(agent.id) {
            true => typed.clone(),
            // What was typed is stored with it from its beginning, or is not for it.
            false => LimitArgs::default(),
        };
        let permissions = permissions(config, &args, self.mode.clone())?;
        let setup = RunSetup {
            args: &args,
            directory: Path::new(&agent.directory),
            turns: Some(TURNS_DEFAULT),
            permissions: Permissions { asks: true, ..permissions },
            confinement: of_agent(&self.context, &args, agent)?,
            keep_warm: false,
            cancel,
            elsewhere: None,
        };
        let options = setup.options(config)?;
        let crew = crew(config, typed, Path::new(&agent.directory))?;
        Ok(RunOptions { crew, on_budget: OnBudget::Pause, ..options })
    }
}

#[async_trait]
impl Host for SettingsHost {
    fn runtime(&self) -> &Arc<Runtime> {
        &self.context.runtime
    }

    fn new_root(&self) -> Result<NewRoot, Told> {
        let args = ModelArgs { model: self.chosen_model(), ..ModelArgs::default() };
        let new = || -> Result<NewRoot, Failure> {
            let reach = of_root(&self.context, &self.limits)?;
            Ok(NewRoot { reach, ..self.context.new_root(&args, None)? })
        };
        let new = new().map_err(|failure| told(&failure))?;
        Ok(NewRoot { settings: self.chosen_settings(new.settings), ..new })
    }

    fn offer(&self) -> Offer {
        self.known_models()
    }

    async fn find_local(&self, found: &(dyn Fn(Vec<ModelChoice>) + Send + Sync)) {
        look(&places(&variable), found).await;
    }

    async fn use_model(&self, choice: &ModelChoice) -> Result<String, Told> {
        self.choose(choice).await.map_err(|failure| told(&failure))
    }

    fn keep_model(&self) -> Told {
        self.keep().map_or_else(|failure| told(&failure), Told)
    }

    fn options(&self, agent: &AgentRecord, cancel: CancellationToken) -> Result<RunOptions, Told> {
        self.run_options(agent, cancel).map_err(|failure| told(&failure))
    }

    fn mode(&self) -> SharedMode {
        self.mode.clone()
    }

    fn told(&self, error: RuntimeError) -> Told {
        match error {
            RuntimeError::CacheLoss { .. } => told(&Failure::input(error.to_string()).hint(
                "with --accept-cache-loss behind it, /model NAME and /fork --model NAME send all of it",
            )),
            error => told(&Failure::from(error)),
        }
    }

    async fn edit(&self, text: &str) -> Result<String, Told> {
        let edited = async { Editor::find()?.edit_text("tine-prompt", text).await };
        edited.await.map_err(|failure| told(&failure))
    }

    async fn history(&self) -> Vec<HistoryEntry> {
        let file = self.context.history.clone();
        tokio::task::spawn_blocking(move || history::read(&file)).await.unwrap_or_default()
    }

    async fn keep_in_history(&self, entry: HistoryEntry) {
        let file = self.context.history.clone();
        // A directory that cannot be written costs the history, and nothing else.
        let _ = tokio::task::spawn_blocking(move || history::append(&file, &entry)).await;
    }

    fn directory(&self) -> PathBuf {
        self.context.directory.clone()
    }

    async fn lend(&self, arguments: &[String]) {
        let (context, handle) = (Arc::clone(&self.context), Handle::current());
        let words = arguments.to_vec();
        // As in `report`; the person's Enter is waited for there, too.
        let work = move || {
            output::say(&styled(DIM, &format!("$ tine {}", words.join(" "))));
            match command(&words) {
                Ok(command) => {
                    let is_trust = matches!(command, Command::Trust(_));
                    match handle.block_on(in_context(&context, command)) {
                        Ok(_) if is_trust => output::say(TRUST_LATER),
                        Ok(_) => {}
                        Err(failure) => failure.print(),
                    }
                }
                Err(told) => output::say(&told.0),
            }
            output::prompt(&styled(DIM, "Enter goes back to the conversation"));
            // Whatever is typed, or that nothing can be any more: back it goes.
            let _ = io::stdin().read_line(&mut String::new());
        };
        let _ = tokio::task::spawn_blocking(work).await;
    }

    async fn report(&self, arguments: &[String], columns: usize) -> Result<String, Told> {
        run_caught(Arc::clone(&self.context), command(arguments)?, columns).await
    }

    fn worker_words(&self) -> Vec<CommandWords> {
        let tine = cli::command();
        let of = |command: &str| {
            let mut found = Some(&tine);
            for word in command.split(' ') {
                found = found.and_then(|found| found.find_subcommand(word));
            }
            let words = found.map(words_of).unwrap_or_default();
            CommandWords { command: command.to_owned(), words }
        };
        let tasks =
            tine.find_subcommand("task").into_iter().flat_map(clap::Command::get_subcommands);
        let tasks = tasks.map(|command| format!("task {}", command.get_name()));
        ["fan", "task"].map(str::to_owned).into_iter().chain(tasks).map(|name| of(&name)).collect()
    }

    fn about(&self, agent: AgentId, command: &[String], rest: &[String]) -> Vec<String> {
        about(agent, command, rest)
    }

    fn check(&self, arguments: &[String]) -> Result<(), Told> {
        command(arguments).map(drop).map_err(|Told(error)| Told(as_typed_here(error)))
    }

    async fn start_workers(
        &self,
        arguments: &[String],
        columns: usize,
        seams: WorkerSeams,
    ) -> Result<String, Told> {
        let terminal = Some(InTerminal { seams, mode: self.mode.clone() });
        let context = Context { terminal, ..Context::clone(&self.context) };
        let command = command(arguments)?.confined_as(&self.limits.confine);
        let text = run_caught(Arc::new(context), command, columns).await?;
        Ok(anstream::adapter::strip_str(&text).to_string())
    }

    async fn before_prompt(
        &self,
        agent: AgentId,
        show: &(dyn for<'t> Fn(&'t str) + Send + Sync),
        cancel: CancellationToken,
    ) -> Option<Written> {
        let shown = |text: &str| {
            show(text);
            true
        };
        away::before_prompt(&self.context, agent, shown, &cancel).await
    }

    async fn turn_ended(&self, agent: AgentId) {
        memory::after_turn(&self.context, agent).await;
    }

    fn wakes(&self) -> bool {
        self.context.config.workers.wake.unwrap_or(SpawnPolicy::default().wakes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        as_typed_here(command(&words).map(drop).unwrap_err().0)
    }

    #[test]
    fn the_agent_on_the_screen_stands_for_none_only_where_no_other_is_named() {
        let agent: AgentId = "01010101-0101-4101-8101-010101010101".parse().unwrap();
        let lines = [
            "diff",
            "diff --stat",
            "diff --stat regex",
            "diff regex --stat",
            "apply --undo b775",
            "apply --undo",
            "apply --dry-run regex",
            "apply --to dir --dry-run",
            "merge --dry-run regex",
            "merge-back --into main",
            "merge-back --into main regex",
            "pick -d text -n 2",
            "pick --among regex hand --check ./run_tests.sh",
            "cost --json",
            "budget --usd 5",
            "budget --usd 5 regex",
            "worktree rm",
            "task list --all regex",
            "cache explain --request 2",
            "diff --bogus",
        ];
        let filled = lines.map(|line| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let of_two = matches!(words[0].as_str(), "worktree" | "task" | "cache");
            let (command, rest) = words.split_at(1 + usize::from(of_two));
            about(agent, command, rest).join(" ").replace(&agent.to_string(), "IT")
        });
        insta::assert_snapshot!(filled.join("\n"), @"
        diff IT
        diff IT --stat
        diff --stat regex
        diff regex --stat
        apply --undo b775
        apply IT --undo
        apply --dry-run regex
        apply IT --to dir --dry-run
        merge --dry-run regex
        merge-back IT --into main
        merge-back --into main regex
        pick IT -d text -n 2
        pick --among regex hand --check ./run_tests.sh
        cost IT --json
        budget IT --usd 5
        budget --usd 5 regex
        worktree rm IT
        task list --all regex
        cache explain IT --request 2
        diff --bogus
        ");
    }

    #[test]
    fn mistakes_are_told_as_one_types_here() {
        insta::assert_snapshot!(wrong("fan"), @"
        error: the following required arguments were not provided:
          --directive <TEXT>

        Usage: /fan --directive <TEXT>

        For more information, try '--help'.
        ");
        insta::assert_snapshot!(wrong("tree a b"), @"
        error: unexpected argument 'b' found

        Usage: /tree [OPTIONS] [AGENT]

        For more information, try '--help'.
        ");
        insta::assert_snapshot!(wrong("fork a --yolo"), @"
        error: unexpected argument '--yolo' found

          tip: to pass '--yolo' as a value, use '-- --yolo'

        Usage: /fork [PROMPT]

        For more information, try '--help'.

        hint: `--permission-mode bypass` asks nothing; rules and protected files still hold
        ");
        insta::assert_snapshot!(wrong("pick IT -d a -d b"), @"
        error: the argument '--directive <TEXT>' cannot be used multiple times

        Usage: /pick [OPTIONS] [AGENT]

        For more information, try '--help'.

        hint: every fork of pick gets the same task: one -d, and -n 3 for how many; `tine fan` gives each its own
        ");
        insta::assert_snapshot!(wrong("task start IT hello there"), @"
        error: unexpected argument 'there' found

        Usage: /task start [OPTIONS] <PROMPT>

        For more information, try '--help'.

        hint: a text of several words stands in quotes
        ");
    }
}
