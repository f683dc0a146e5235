//! Agents of others that run beside a test, which `cargo xtask hosts` has fetched. They find no provider but the one that they are given.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tine_testkit::until_some;

use crate::support::{Home, Ran};

/// The key of no provider.
pub(crate) const KEY: &str = "sk-nobody-0123456789abcdefghij";

/// Variables that keep hosts from asking anybody but the simulator: nobody listens at this proxy.
const ALONE: &[(&str, &str)] = &[
    ("HTTP_PROXY", "http://127.0.0.1:9"),
    ("HTTPS_PROXY", "http://127.0.0.1:9"),
    ("NO_PROXY", "127.0.0.1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
    ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
    ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
];

/// A program that `cargo xtask hosts` has fetched.
pub(crate) fn program(variable: &str) -> PathBuf {
    let set = std::env::var_os(variable);
    set.unwrap_or_else(|| panic!("{variable} is not set: run cargo xtask hosts")).into()
}

/// Variables of a host: Anthropic's API, and no other way out.
pub(crate) fn variables(anthropic: &str) -> Vec<(&'static str, String)> {
    let alone = ALONE.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let own = [("ANTHROPIC_BASE_URL", anthropic), ("ANTHROPIC_API_KEY", KEY)];
    alone.chain(own.map(|(name, value)| (name, value.to_owned()))).collect()
}

/// The home of a host's user.
pub(crate) fn user(home: &Home) -> PathBuf {
    home.path().join("user")
}

/// Starts a program in the working directory, as the host's user.
#[expect(clippy::disallowed_methods, reason = "a host runs beside the test")]
pub(crate) fn start(
    home: &Home,
    variables: &[(&str, String)],
    program: &Path,
    arguments: &[&str],
) -> Running {
    let mut command = Command::new(program);
    command.env_clear().envs(variables.iter().cloned()).env("HOME", user(home));
    // Claude Code keeps what its tasks print there, and leaves it.
    command.env("CLAUDE_CODE_TMPDIR", home.path());
    command.envs(["PATH", "TMPDIR"].map(|name| (name, std::env::var_os(name).unwrap_or_default())));
    let [printed, errors] = ["printed", "errors"].map(|name| home.path().join(name));
    let output = |path| File::create(path).unwrap();
    command.stdin(Stdio::null()).stdout(output(&printed)).stderr(output(&errors));
    command.current_dir(home.work()).args(arguments).process_group(0);
    let child = command.spawn().unwrap();
    Running { _group: Group::of(child.id()), child, printed, errors }
}

/// A host at work.
pub(crate) struct Running {
    child: Child,
    printed: PathBuf,
    errors: PathBuf,
    _group: Group,
}

impl Running {
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// All that is on its standard output by now.
    pub(crate) fn printed(&self) -> String {
        std::fs::read_to_string(&self.printed).unwrap()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ran {
        let code = until_some("the end of the host", || self.code());
        let stderr = std::fs::read_to_string(&self.errors).unwrap();
        Ran { code, stdout: self.printed(), stderr }
    }

    /// The exit code, once it has ended.
    pub(crate) fn code(&mut self) -> Option<i32> {
        self.child.try_wait().unwrap().map(|status| status.code().unwrap_or(-1))
    }
}

/// A process with all that it has started. They end with this value.
pub(crate) struct Group(Pid);

impl Group {
    pub(crate) fn of(process: u32) -> Self {
        Self(Pid::from_raw(process.cast_signed()).unwrap())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It may have ended.
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}
