//! `Bash`: a shell command in a process group of its own.

mod background;
pub(crate) mod excerpt;
mod git;
mod output;
mod process;
mod strays;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::PoisonError;
use std::time::Duration;

use async_trait::async_trait;
use tine_guard::shows_machine;
use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use crate::arguments::Arguments;
use crate::place::{Limits, Place};
use crate::tool::{Effect, Failure, Tool, ToolOutput, ToolSpec};
use crate::wall::{Enclosure, Refusals, SetAside};
pub use background::Background;
use excerpt::Excerpt;
pub use output::BashOutput;
pub use process::is_withheld_variable;
use process::{Ending, Process, SHELLS, StartError};
pub(crate) use strays::Mark;

static SPEC: ToolSpec = ToolSpec {
    name: "Bash",
    description: "Runs a command with `bash -c` in the working directory and returns what it prints \
        (standard output and standard error together, in order) and its exit code. Nothing can be \
        typed into it. The time limit is 120,000 ms unless `timeout_ms` says otherwise, at most \
        600,000. Processes that it leaves behind end with it; what is to go on, such as a server, runs \
        with `run_in_background`. Output beyond 30,000 characters loses its middle. Variables that hold \
        keys are not passed on.",
    schema: include_str!("schemas/Bash.json"),
    effect: Effect::Runs,
};

/// The longest command: the longest single argument Linux passes to a program (`MAX_ARG_STRLEN`),
/// with its final NUL.
const COMMAND_BYTES_MAX: usize = 128 * 1024 - 1;

/// The system's words about a file that the wall keeps as it is, and the note that explains them to the model.
const KEPT: &str = "Device or resource busy";
const KEPT_NOTE: &str = "\n[what other programs read and start, such as .git/config, .git/hooks and .vscode, stays as it is here; for one command, \
    git takes a setting by `git -c NAME=VALUE`, and the rest is left to the user]";

/// The system's words about a port that somebody listens at.
const IN_USE: [&str; 2] = ["Address already in use", "EADDRINUSE"];

/// New files that start programs later that a result names.
const STARTERS_NAMED_MAX: usize = 20;

/// Runs a shell command.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bash;

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    /// Cancelling or dropping ends every process of the command, and so does its end: those that have made themselves a session of
    /// their own are found below the watchdog, or without one by their mark.
    async fn run(&self, place: &Place, input: &RawJson, cancel: &CancellationToken) -> ToolOutput {
        match Order::parse(input, place.limits()) {
            Ok(order) => execute(place, &order, cancel).await,
            Err(failure) => failure.into(),
        }
    }
}

struct Order {
    command: String,
    /// The time limit; the usual one if the call named none.
    limit: Duration,
    /// The time limit that the call named.
    named_limit: Option<Duration>,
    /// It goes on in the background, by this name if the call names one.
    background: Option<Option<String>>,
}

impl Order {
    fn parse(input: &RawJson, limits: Limits) -> Result<Self, Failure> {
        // `description` is for whoever reads the transcript, `timeout` another host's spelling.
        let known =
            ["command", "timeout_ms", "description", "timeout", "run_in_background", "name"];
        let arguments = Arguments::parse(SPEC.name, &known, input)?;
        arguments.text("description")?;
        let command = arguments.required_text("command")?;
        if command.trim().is_empty() {
            return Err(Failure::new("`command` must not be empty"));
        }
        if command.contains('\0') {
            return Err(Failure::new("`command` must not contain a NUL character"));
        }
        if command.len() > COMMAND_BYTES_MAX {
            return Err(Failure::new(format!(
                "`command` is longer than {COMMAND_BYTES_MAX} bytes; write a script with FileWrite \
                 and run that"
            )));
        }
        let limit = match arguments.count("timeout_ms", 1)? {
            Some(limit_ms) => Some(limit_ms),
            None => arguments.count("timeout", 1)?,
        };
        let named_limit = limit.map(Duration::from_millis);
        let limit = named_limit.unwrap_or(limits.command_default);
        if limit > limits.command_max {
            let max = limits.command_max.as_millis();
            return Err(Failure::new(format!("`timeout_ms` must be at most {max}")));
        }
        let name = arguments.text("name")?.map(str::to_owned);
        let background = match (arguments.flag("run_in_background", false)?, name) {
            (true, name) => Some(name),
            (false, None) => None,
            (false, Some(_)) => {
                return Err(Failure::new("`name` is for commands with `run_in_background`"));
            }
        };
        Ok(Self { command: command.to_owned(), limit, named_limit, background })
    }

    /// In the background there is no limit but one that was named.
    fn limit_in_background(&self) -> Duration {
        self.named_limit.unwrap_or(Duration::MAX)
    }
}

/// Sees to it that the wall of the place covers what earlier commands have moved.
async fn refresh(place: &Place) -> io::Result<()> {
    match place.enclosure() {
        Some(enclosure) if !enclosure.is_current() => {
            let enclosure = enclosure.clone();
            tokio::task::spawn_blocking(move || enclosure.refresh()).await?
        }
        Some(_) | None => Ok(()),
    }
}

/// Renames what the command has made for git to run. Returns also what a checkout has left behind.
async fn set_aside(place: &Place) -> (SetAside, Vec<PathBuf>) {
    let Some(enclosure) = place.enclosure().cloned() else { return Default::default() };
    // A thread that fails leaves the look to the end of the wall.
    let look = move || (enclosure.set_aside(), enclosure.left_behind());
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

async fn execute(place: &Place, order: &Order, cancel: &CancellationToken) -> ToolOutput {
    if cancel.is_cancelled() {
        return Failure::cancelled().into();
    }
    if let Some(refusal) = place.enclosure().and_then(Enclosure::refusal) {
        return Failure::new(refusal).into();
    }
    let name = match order.background.as_ref().map(|name| (place.background(), name)) {
        None => None,
        Some((None, _)) => return Failure::no_background().into(),
        Some((Some(background), name)) => match background.name(name.as_deref()) {
            Ok(name) => Some((background, name)),
            Err(failure) => return failure.into(),
        },
    };
    let limits = place.limits();
    if let Err(error) = refresh(place).await {
        return start_failure(place, &StartError::System(error)).into();
    }
    if let Some(enclosure) = place.enclosure() {
        enclosure.begin();
    }
    let process = match Process::start(&SHELLS, &order.command, place) {
        Ok(process) => process,
        Err(error) => return start_failure(place, &error).into(),
    };
    if let Some((background, name)) = name {
        return background.keep(&name, (place.beyond_its_call(), order), process, cancel).await;
    }
    let refusals = process.refusals();
    let mut excerpt = Excerpt::new(limits.command_output_characters);
    let watcher = place.output_watcher();
    watcher.into_iter().for_each(|watcher| watcher.started());
    let printed = |bytes: &[u8]| {
        excerpt.push(bytes);
        watcher.into_iter().for_each(|watcher| watcher.printed(bytes));
    };
    let ending = process.run(order.limit, limits.command_grace, cancel, printed).await;
    let output = excerpt.finish();
    let (note, is_error) =
        conclude(place, (&ending, order.limit), &refusals, (&order.command, &output)).await;
    let news = place.background().map(|background| background.news()).unwrap_or_default();
    let break_line = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
    ToolOutput { text: format!("{output}{break_line}{note}{news}"), is_error }
}

/// Looks after a command that has ended. The last lines of what it printed, and whether the model should take the call as failed.
async fn conclude(
    place: &Place,
    (ending, limit): (&Ending, Duration),
    refusals: &Refusals,
    (command, output): (&str, &str),
) -> (String, bool) {
    let (set_aside, left_behind) = set_aside(place).await;
    let (note, is_error) = note(ending, limit);
    // Who meets the wall is told where it stands, so that it can go on another way.
    let told = |enclosure: &&Enclosure| {
        is_error && enclosure.may_have_refused(output) || enclosure.has_refused(output)
    };
    let mut wall = match place.enclosure().filter(told) {
        Some(enclosure) => format!("\n[{}]", enclosure.line()),
        None => String::new(),
    };
    if output.contains(KEPT) && place.enclosure().is_some_and(|wall| !wall.only_reads()) {
        wall.push_str(KEPT_NOTE);
    }
    if let Some(enclosure) = place.enclosure() {
        wall.push_str(&hints((enclosure, place.real_directory()), command, output));
    }
    if let Ending::Exceeded(limit) = ending
        && place.enclosure().is_some_and(|enclosure| !enclosure.only_reads())
    {
        let setting = limit.setting();
        wall.push_str(&format!("\n[a person changes it: `{setting}` below [confine]]"));
    }
    let refused = std::mem::take(&mut *refusals.lock().unwrap_or_else(PoisonError::into_inner));
    if !refused.is_empty() {
        // The programs themselves often say no more than "403".
        let hosts = refused.into_iter().collect::<Vec<_>>().join(", ");
        wall.push_str(&format!(
            "\n[the network was refused: {hosts}; a person allows hosts with `--network HOST:PORT`]"
        ));
    }
    if !left_behind.is_empty() {
        let paths = listed(&left_behind);
        wall.push_str(&format!(
            "\n[git went to another commit, but these start programs and stay as they are here: {paths}; a commit of them would undo \
            what that commit holds, so leave them out of yours]"
        ));
    }
    if !set_aside.renamed.is_empty() {
        let paths = listed(&set_aside.renamed);
        wall.push_str(&format!(
            "\n[git could have run programs by these, so they were renamed: {paths}]"
        ));
    }
    if !set_aside.starters.is_empty() {
        let paths = set_aside.starters.iter().take(STARTERS_NAMED_MAX);
        let paths: Vec<String> = paths.map(|path| path.display().to_string()).collect();
        let more = set_aside.starters.len() - paths.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        wall.push_str(&format!(
            "\n[new here, and started by other programs later, outside of this wall: {}{more}]",
            paths.join(", ")
        ));
    }
    if set_aside.is_cut_short {
        wall.push_str(
            "\n[so many files are here now that not all repositories were looked at: a new one may have git run a program]",
        );
    }
    (format!("{note}{wall}"), is_error)
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Lines for a command that may take what it sees behind the wall for the whole.
fn hints((enclosure, directory): (&Enclosure, &Path), command: &str, output: &str) -> String {
    let mut text = String::new();
    let shown = shows_machine(command).join(", ");
    if !shown.is_empty() {
        text.push_str(&format!(
            "\n[behind this wall {shown} sees this command's own processes, network, mounts and limits, not the machine's]"
        ));
    }
    let kept_back = listed(&enclosure.kept_back(directory, output));
    if !kept_back.is_empty() {
        text.push_str(&format!(
            "\n[kept back here as secrets, so that they seem empty, gone or changed: {kept_back}]"
        ));
    }
    let dropped = enclosure.dropped(command, output).join(", ");
    if !dropped.is_empty() {
        text.push_str(&format!(
            "\n[set outside, and not passed to commands here: {dropped}; a person passes more by `confine.variables`]"
        ));
    }
    let taken = enclosure.proxy().map(|proxy| proxy.taken_ports()).unwrap_or_default();
    if !taken.is_empty() && IN_USE.iter().any(|words| output.contains(words)) {
        text.push_str(&format!(
            "\n[port {taken} of localhost is tine's here and leads to the machine or its network: a server of the command's own needs another one]"
        ));
    }
    text
}

fn start_failure(place: &Place, error: &StartError) -> Failure {
    Failure::new(match error {
        StartError::Directory => {
            format!("the working directory `{}` does not exist", place.directory().display())
        }
        StartError::NoShell => {
            "neither bash nor sh was found in PATH; commands cannot be run here".to_owned()
        }
        StartError::System(error) => format!("the command could not be started: {error}"),
    })
}

/// The last line of the output, and whether the model should take the call as failed.
fn note(ending: &Ending, limit: Duration) -> (String, bool) {
    match ending {
        Ending::Exited { status, left_behind, stay } => {
            let stopped = match (*left_behind, stay.is_empty()) {
                (false, _) => String::new(),
                (true, true) => "; processes left in the background were stopped".to_owned(),
                (true, false) => format!(
                    "; processes left in the background were stopped, but for those of another user: {}",
                    stay.join(", ")
                ),
            };
            (format!("[{}{stopped}]", outcome(*status)), !status.success())
        }
        Ending::TimedOut => {
            let limit_ms = limit.as_millis();
            (format!("[timed out after {limit_ms} ms; the command was stopped]"), true)
        }
        Ending::Exceeded(limit) => (
            format!("[stopped: its processes used more than {limit}, the limit of a command]"),
            true,
        ),
        Ending::Cancelled => ("[cancelled; the command was stopped]".to_owned(), true),
        Ending::Lost(error) => (format!("[the command's end was not seen: {error}]"), true),
    }
}

fn outcome(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

#[cfg(test)]
mod background_tests;
#[cfg(test)]
mod tests;
