//! Running the git program.
//!
//! Every command runs as [`GitCall`] has it, so that nothing but the repository and the user's settings decides what it does. What a
//! checkout holds is only looked at through an index of one's own ([`Git::with_index`]).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tine_tools::{GitCall, GitCallError};

use crate::error::WorktreeError;
use crate::fault;
use crate::filters::ProgramSettings;

/// The oldest git that has all that is used: `merge-tree --write-tree`. `xtask/src/git_version.rs` says the same to developers.
pub const OLDEST_GIT: &str = "2.38";

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
    settings: Arc<ProgramSettings>,
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

    /// The same with these settings.
    pub(crate) fn with_settings(&self, settings: Arc<ProgramSettings>) -> Self {
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
        if output.status.success() { Ok(output.stdout) } else { Err(failure(&arguments, &output)) }
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
        let refused = || {
            let said = self.settings.failure()?;
            Some(WorktreeError::Git { command: named(arguments), said })
        };
        if let Some(error) = refused() {
            return Err(error);
        }
        let call = GitCall {
            directory: &self.directory,
            arguments,
            settings: &self.settings.settings,
            variables: &self.variables,
            input,
            held: self.held.as_deref(),
            time_max: self.time_max,
        };
        let mut output = call.run(fault::started).map_err(|error| match error {
            GitCallError::Start(source) => WorktreeError::NoGit(source),
            GitCallError::TooLong(time) => {
                WorktreeError::TooLong { command: named(arguments), seconds: time.as_secs() }
            }
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            output.stderr = self.settings.plainly(&said).into_bytes();
        }
        // Git may have gone on without a program.
        refused().map_or(Ok(output), Err)
    }
}

/// Reads what `git version` says.
fn new_enough(said: &str) -> Result<String, WorktreeError> {
    let found = said.trim().trim_start_matches("git version ").to_owned();
    if numbers(&found) >= numbers(OLDEST_GIT) {
        Ok(found)
    } else {
        Err(WorktreeError::OldGit { found, oldest: OLDEST_GIT })
    }
}

/// The first two numbers of a version.
fn numbers(version: &str) -> [u32; 2] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    [parts.next(), parts.next()].map(Option::unwrap_or_default)
}

#[expect(clippy::disallowed_methods, reason = "it says what git would find (invariant 3)")]
fn shell() -> Command {
    Command::new("sh")
}

fn owned<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Vec<OsString> {
    arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect()
}

fn failure(arguments: &[OsString], output: &Output) -> WorktreeError {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("fatal: ").trim_start_matches("error: ");
    let said = if said.is_empty() {
        format!("{} without a word", output.status)
    } else {
        said.chars().take(SAID_CHARACTERS_MAX).collect()
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

/// Paths as git reads them, each with a zero byte behind it.
pub(crate) fn joined<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Vec<u8> {
    let ended = |path: P| [path.as_ref().as_os_str().as_encoded_bytes(), b"\0"].concat();
    paths.into_iter().flat_map(ended).collect()
}

/// A line for `git update-index --index-info`: the file at this path is this object from now on.
pub(crate) fn index_line(mode: &str, object: &str, path: &Path) -> Vec<u8> {
    let head = format!("{mode} {object} 0\t");
    [head.as_bytes(), path.as_os_str().as_encoded_bytes(), b"\0"].concat()
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
