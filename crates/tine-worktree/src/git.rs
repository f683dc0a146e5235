//! Running the git program.
//!
//! Every command runs without the user's hooks, without prompts, without optional locks, in the C locale, and without any variable of
//! git's that this process was given, so that nothing but the repository and the user's settings decides what it does. What a
//! checkout holds is only looked at through an index of one's own ([`Git::with_index`]).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::WorktreeError;
use crate::fault;

/// The oldest git that has all that is used: `merge-tree --write-tree`. `xtask/src/git_version.rs` says the same to developers.
pub const OLDEST_GIT: &str = "2.38";

/// Settings of every command.
const SETTINGS: [&str; 14] = [
    // A daemon's word about what changed is not taken, and none is started.
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    // Throw-away indexes are whole files.
    "core.splitIndex=false",
    "core.hooksPath=/dev/null",
    // A snapshot never starts work on the shared objects.
    "gc.auto=0",
    "maintenance.auto=false",
    // Line ends that would not survive are kept as bytes.
    "core.safecrlf=false",
    "core.quotePath=false",
    "submodule.recurse=false",
    "diff.external=",
    "color.ui=false",
    "advice.addEmbeddedRepo=false",
    "advice.updateSparsePath=false",
    "merge.verbosity=0",
];

/// How long one command may take. A repository of a million files is scanned in seconds; a filter or a network that hangs is what
/// this is for.
const TIME_MAX: Duration = Duration::from_secs(600);

/// Most characters of what git said that a message repeats.
const SAID_CHARACTERS_MAX: usize = 600;

/// Who tine is in commits that nobody sees.
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "tine"),
    ("GIT_AUTHOR_EMAIL", "tine@localhost"),
    ("GIT_COMMITTER_NAME", "tine"),
    ("GIT_COMMITTER_EMAIL", "tine@localhost"),
];

/// Git in one directory.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    directory: PathBuf,
    variables: Vec<(&'static str, OsString)>,
    time_max: Duration,
    held: Option<Arc<File>>,
    /// Settings beside those of every command.
    settings: Arc<[String]>,
}

impl Git {
    /// Git in this directory. Runs nothing.
    pub(crate) fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            variables: Vec::new(),
            time_max: TIME_MAX,
            held: None,
            settings: Arc::default(),
        }
    }

    /// The same with these settings, each as `name=value`.
    pub(crate) fn with_settings(&self, settings: Arc<[String]>) -> Self {
        Self { settings, ..self.clone() }
    }

    /// Whether a shell in the directory would find this program, which is one word without signs. Where no shell says, it would.
    pub(crate) fn can_run(&self, program: &str) -> bool {
        let mut shell = shell();
        shell.args(["-c", "command -v -- \"$0\" >/dev/null 2>&1", program]);
        let asked = shell.current_dir(&self.directory).stdin(Stdio::null()).status();
        asked.map_or(true, |status| status.success())
    }

    /// The same with an index of its own.
    pub(crate) fn with_index(&self, index: &Path) -> Self {
        self.with("GIT_INDEX_FILE", index.as_os_str())
    }

    /// The same, as tine, at this time: for commits that nobody sees. In milliseconds since the Unix epoch.
    pub(crate) fn as_tine(&self, now_ms: i64) -> Self {
        // Git reads a small number as a time only behind this sign, and none before 1970.
        let date = OsString::from(format!("@{} +0000", now_ms.max(0) / 1000));
        let dated = self.with("GIT_AUTHOR_DATE", &date).with("GIT_COMMITTER_DATE", &date);
        IDENTITY.iter().fold(dated, |git, (name, value)| git.with(name, OsStr::new(value)))
    }

    /// The same with one more variable in its environment.
    pub(crate) fn with(&self, name: &'static str, value: &OsStr) -> Self {
        let mut variables = self.variables.clone();
        variables.retain(|(other, _)| *other != name);
        variables.push((name, value.to_owned()));
        Self { variables, ..self.clone() }
    }

    /// The same, with commands that are ended after this time.
    pub(crate) fn within(&self, time_max: Duration) -> Self {
        Self { time_max, ..self.clone() }
    }

    /// The same, with commands that read nothing sharing this file: a lock on it holds until they have ended, even if the process that
    /// started them was killed.
    pub(crate) fn holding(&self, file: &Arc<File>) -> Self {
        Self { held: Some(Arc::clone(file)), ..self.clone() }
    }

    /// Refuses a git that is too old.
    pub(crate) fn require_version(&self) -> Result<(), WorktreeError> {
        /// Programs are not replaced while a process runs often enough to ask again.
        static IS_NEW_ENOUGH: OnceLock<()> = OnceLock::new();
        if IS_NEW_ENOUGH.get().is_none() {
            self.version()?;
            IS_NEW_ENOUGH.get_or_init(|| ());
        }
        Ok(())
    }

    /// The version of the program, which is one that has all that is used.
    pub(crate) fn version(&self) -> Result<String, WorktreeError> {
        new_enough(&self.text(["version"])?)
    }

    /// What a command prints. A status other than zero is a failure.
    pub(crate) fn run<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, WorktreeError> {
        self.fed(arguments, &[])
    }

    /// The same for a command that reads `input`.
    pub(crate) fn fed<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<Vec<u8>, WorktreeError> {
        let arguments = owned(arguments);
        let output = self.output(&arguments, input)?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(failure(&arguments, &output)),
        }
    }

    /// What a command prints, as text. For what git promises to be one.
    pub(crate) fn text<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<String, WorktreeError> {
        Ok(String::from_utf8_lossy(&self.run(arguments)?).into_owned())
    }

    /// What a command prints where one of two statuses is an answer: `true` for zero, `false` for one.
    pub(crate) fn answer<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &[u8],
    ) -> Result<(bool, Vec<u8>), WorktreeError> {
        let arguments = owned(arguments);
        let output = self.output(&arguments, input)?;
        match output.status.code() {
            Some(0) => Ok((true, output.stdout)),
            Some(1) => Ok((false, output.stdout)),
            Some(_) | None => Err(failure(&arguments, &output)),
        }
    }

    fn input(&self, input: &[u8]) -> Result<Stdio, WorktreeError> {
        match self.held.as_ref().filter(|_| input.is_empty()) {
            Some(file) => Ok(file.try_clone().map_err(WorktreeError::NoGit)?.into()),
            None => Ok(Stdio::piped()),
        }
    }

    fn output(&self, arguments: &[OsString], input: &[u8]) -> Result<Output, WorktreeError> {
        fault::step().map_err(WorktreeError::NoGit)?;
        let output = self.run_to_its_end(arguments, input)?;
        fault::step().map_err(WorktreeError::NoGit)?;
        Ok(output)
    }

    fn run_to_its_end(
        &self,
        arguments: &[OsString],
        input: &[u8],
    ) -> Result<Output, WorktreeError> {
        use std::os::unix::process::CommandExt as _;
        let mut command = command();
        for (name, _) in std::env::vars_os() {
            // Such a variable could lead to another repository, index or configuration.
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        let own = self.settings.iter().map(String::as_str);
        for setting in SETTINGS.into_iter().chain(own) {
            command.args(["-c", setting]);
        }
        command
            .args(arguments)
            .current_dir(&self.directory)
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_ADVICE", "0")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(self.input(input)?)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Whatever it starts ends with it.
            .process_group(0);
        let mut child = command.spawn().map_err(WorktreeError::NoGit)?;
        fault::started();
        let group = Pid::from_child(&child);
        let (stdin, mut stdout, mut stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (over, waits) = mpsc::channel::<()>();
        let time_max = self.time_max;
        thread::scope(|scope| {
            let watchdog = scope.spawn(move || {
                let late = waits.recv_timeout(time_max) == Err(mpsc::RecvTimeoutError::Timeout);
                if late {
                    // It may be over by now.
                    kill_process_group(group, Signal::KILL).ok();
                }
                late
            });
            scope.spawn(move || {
                // A command that does not read all of it says itself what is wrong.
                drop(stdin.map(|mut stdin| stdin.write_all(input)));
            });
            let said = scope.spawn(move || read(stderr.as_mut()));
            let printed = read(stdout.as_mut());
            let said = said.join().unwrap_or_default();
            let status = child.wait();
            drop(over);
            if watchdog.join().unwrap_or(false) {
                let seconds = time_max.as_secs();
                return Err(WorktreeError::TooLong { command: named(arguments), seconds });
            }
            let status = status.map_err(WorktreeError::NoGit)?;
            Ok(Output { status, stdout: printed, stderr: said })
        })
    }
}

/// Reads what `git version` says.
fn new_enough(said: &str) -> Result<String, WorktreeError> {
    let found = said.trim().trim_start_matches("git version ").to_owned();
    match numbers(&found) >= numbers(OLDEST_GIT) {
        true => Ok(found),
        false => Err(WorktreeError::OldGit { found, oldest: OLDEST_GIT }),
    }
}

/// The first two numbers of a version.
fn numbers(version: &str) -> [u32; 2] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    [parts.next(), parts.next()].map(Option::unwrap_or_default)
}

#[expect(
    clippy::disallowed_methods,
    reason = "worktrees are made by the git program (invariant 3)"
)]
fn command() -> Command {
    Command::new("git")
}

#[expect(clippy::disallowed_methods, reason = "it says what git would find (invariant 3)")]
fn shell() -> Command {
    Command::new("sh")
}

fn read(stream: Option<&mut impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What came before an error is what there is; the status tells the rest.
        stream.read_to_end(&mut bytes).ok();
    }
    bytes
}

fn owned<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Vec<OsString> {
    arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect()
}

fn failure(arguments: &[OsString], output: &Output) -> WorktreeError {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("fatal: ").trim_start_matches("error: ");
    let said = match said.is_empty() {
        true => format!("{} without a word", output.status),
        false => said.chars().take(SAID_CHARACTERS_MAX).collect(),
    };
    WorktreeError::Git { command: named(arguments), said }
}

/// The subcommand and what follows it, shortened: what a person would look up.
fn named(arguments: &[OsString]) -> String {
    let words: Vec<_> =
        arguments.iter().take(2).map(|argument| argument.to_string_lossy()).collect();
    words.join(" ")
}

/// The parts of an output that ends each with a zero byte.
pub(crate) fn parts(output: &[u8]) -> impl Iterator<Item = &[u8]> {
    output.split(|byte| *byte == 0).filter(|part| !part.is_empty())
}

/// The bytes of a path as git prints them.
pub(crate) fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_git_said() {
        let directory = tempfile::tempdir().unwrap();
        let error = Git::at(directory.path()).run(["rev-parse", "HEAD"]).unwrap_err();
        let said = "`git rev-parse HEAD` failed: not a git repository (or any";
        assert!(error.to_string().starts_with(said), "{error}");
    }

    #[test]
    fn a_command_that_hangs_is_stopped_with_all_that_it_started() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git { time_max: Duration::from_millis(50), ..Git::at(directory.path()) };
        let error = git.run(["-c", "alias.hang=!sleep 1000 & wait", "hang"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`git -c alias.hang=!sleep 1000 & wait` took longer than 0 s and was stopped"
        );
    }

    #[test]
    fn old_versions_are_refused() {
        Git::at(Path::new("/")).require_version().unwrap();
        let found = |said: &str| new_enough(said).map_err(|error| error.to_string());
        let refused = |version: &str| {
            Err(format!("git {version} is too old: worktrees need {OLDEST_GIT} or later"))
        };
        assert_eq!(found("git version 2.38.0\n"), Ok("2.38.0".to_owned()));
        assert_eq!(
            found("git version 2.39.5 (Apple Git-154)\n").unwrap(),
            "2.39.5 (Apple Git-154)"
        );
        assert_eq!(found("git version 3.0.0\n"), Ok("3.0.0".to_owned()));
        assert_eq!(found("git version 2.37.0\n"), refused("2.37.0"));
        assert_eq!(found("git version 1.99\n"), refused("1.99"));
    }
}
