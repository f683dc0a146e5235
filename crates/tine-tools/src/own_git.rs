//! Git as tine itself runs it, for whatever it looks at or makes: the one place where it does.
//!
//! No hook, no prompt, no optional lock, no fetch of what is missing, the C locale, a time limit, and no variable of git's that this process
//! was given: nothing but the repository and the user's settings decides what a call does. The programs that settings name for filters
//! and merges run behind a wall ([`ProgramWall`](crate::ProgramWall)).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// Settings of every call.
const SETTINGS: [(&str, &str); 15] = [
    // A daemon's word about what changed is not taken, and none is started.
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    // Throw-away indexes are whole files.
    ("core.splitIndex", "false"),
    ("core.hooksPath", "/dev/null"),
    // A snapshot never starts work on the shared objects.
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    // Line ends that would not survive are kept as bytes.
    ("core.safecrlf", "false"),
    ("core.quotePath", "false"),
    ("submodule.recurse", "false"),
    ("diff.external", ""),
    ("color.ui", "false"),
    ("advice.addEmbeddedRepo", "false"),
    ("advice.updateSparsePath", "false"),
    ("merge.verbosity", "0"),
    // A repository that lacks objects may name any program to fetch them with. Git before 2.45 does not know GIT_NO_LAZY_FETCH.
    ("protocol.allow", "never"),
];

/// Variables of every call.
const VARIABLES: [(&str, &str); 5] = [
    ("LC_ALL", "C"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_ADVICE", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
];

/// The time limit of a short look: names, hashes, settings. A repository of a million files is looked at in a second or two.
pub const GIT_LOOK_TIME_MAX: Duration = Duration::from_secs(10);

/// One call of git.
#[derive(Clone, Copy, Debug)]
pub struct GitCall<'a> {
    /// The directory that it runs in.
    pub directory: &'a Path,
    /// The subcommand and what follows it.
    pub arguments: &'a [OsString],
    /// Settings beside those of every call: the name, and the value.
    pub settings: &'a [(String, String)],
    /// Variables beside those of every call.
    pub variables: &'a [(&'static str, OsString)],
    /// Its standard input.
    pub input: &'a [u8],
    /// A file that a call which reads nothing shares: a lock on it holds until the call has ended, even if this process was killed.
    pub held: Option<&'a File>,
    /// Its time limit, after which it is ended with all that it started.
    pub time_max: Duration,
}

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum GitCallError {
    /// Git could not be started.
    #[error("git could not be started: {0}")]
    Start(#[source] io::Error),
    /// It took longer than it may, and was ended.
    #[error("git took longer than {} s and was stopped", .0.as_secs())]
    TooLong(Duration),
}

impl<'a> GitCall<'a> {
    /// A call that reads nothing and has the time of a short look.
    pub fn look(directory: &'a Path, arguments: &'a [OsString]) -> Self {
        Self {
            directory,
            arguments,
            settings: &[],
            variables: &[],
            input: &[],
            held: None,
            time_max: GIT_LOOK_TIME_MAX,
        }
    }

    /// Runs it to its end. `started` is called once it runs. Blocks.
    pub fn run(&self, started: impl FnOnce()) -> Result<Output, GitCallError> {
        let mut child = self.command()?.spawn().map_err(GitCallError::Start)?;
        started();
        let group = Pid::from_child(&child);
        let (stdin, mut stdout, mut stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (over, waits) = mpsc::channel::<()>();
        let (time_max, input) = (self.time_max, self.input);
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
                return Err(GitCallError::TooLong(time_max));
            }
            let status = status.map_err(GitCallError::Start)?;
            Ok(Output { status, stdout: printed, stderr: said })
        })
    }

    fn command(&self) -> Result<Command, GitCallError> {
        use std::os::unix::process::CommandExt as _;
        let mut command = git();
        for (name, _) in std::env::vars_os() {
            // Such a variable could lead to another repository, index or configuration.
            if name.as_encoded_bytes().starts_with(b"GIT_") {
                command.env_remove(name);
            }
        }
        let own = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let settings: Vec<(&str, &str)> = SETTINGS.into_iter().chain(own).collect();
        // Not by `-c`, which takes the first sign of equality in a name for its end.
        command.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (number, (name, value)) in settings.into_iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        let held = self.held.filter(|_| self.input.is_empty());
        let stdin = match held {
            Some(file) => file.try_clone().map_err(GitCallError::Start)?.into(),
            None => Stdio::piped(),
        };
        command
            .args(self.arguments)
            .current_dir(self.directory)
            .envs(VARIABLES)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Whatever it starts ends with it.
            .process_group(0);
        Ok(command)
    }
}

/// The output of a short look; `None` if it fails.
pub(crate) fn looked(
    directory: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Option<Vec<u8>> {
    let arguments: Vec<OsString> =
        arguments.into_iter().map(|argument| argument.as_ref().to_owned()).collect();
    let output = GitCall::look(directory, &arguments).run(|| ()).ok()?;
    output.status.success().then_some(output.stdout)
}

#[expect(clippy::disallowed_methods, reason = "the one place where tine runs git itself")]
fn git() -> Command {
    Command::new("git")
}

fn read(stream: Option<&mut impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What came before an error is what there is; the status tells the rest.
        stream.read_to_end(&mut bytes).ok();
    }
    bytes
}
