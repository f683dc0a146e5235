//! A home with a working directory in it, a neighbourhood that nobody may touch, and tine with a model that does as it is told.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::{Value, json};

use crate::ground::Ground;

/// Stands in every secret. It looks like no key, so that nothing takes it out of what tine shows.
pub(crate) const SECRET: &str = "CANARYzebraWord";

/// Only a run that hangs takes longer.
const RUN_TIME_MAX: Duration = Duration::from_secs(300);

/// The time limit of one command; the whole of a group's attempts is one command.
const COMMAND_TIME_MS: u64 = 240_000;

/// The exit code of a run some of whose calls nobody has allowed.
pub(crate) const NOT_ALLOWED: i32 = 56;

/// The world of one test.
pub(crate) struct World {
    root: tempfile::TempDir,
    runs: AtomicUsize,
}

/// A call that the model makes.
pub(crate) struct Call {
    tool: String,
    input: Value,
}

impl Call {
    /// Of any tool.
    pub(crate) fn new(tool: &str, input: Value) -> Self {
        Self { tool: tool.to_owned(), input }
    }

    /// Of Bash.
    pub(crate) fn bash(command: impl Into<String>) -> Self {
        Self::new("Bash", json!({ "command": command.into(), "timeout_ms": COMMAND_TIME_MS }))
    }
}

/// How a run ended, and what its tools gave back.
#[derive(Debug)]
pub(crate) struct Played {
    pub(crate) code: i32,
    pub(crate) stderr: String,
    /// The result of each call, in order, as the model got it.
    pub(crate) results: Vec<String>,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self { root: tempfile::tempdir().unwrap(), runs: AtomicUsize::new(0) };
        for directory in [world.work(), world.outside(), world.own()] {
            std::fs::create_dir_all(directory).unwrap();
        }
        world
    }

    /// The user's home. Everything else lies in it.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap().join("home")
    }

    /// Where agents work.
    pub(crate) fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    /// Where nobody may write.
    pub(crate) fn outside(&self) -> PathBuf {
        self.home().join("outside")
    }

    /// tine's own directory.
    pub(crate) fn own(&self) -> PathBuf {
        self.home().join(".tine-home")
    }

    /// Writes a file of the home.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// tine on a ground, in the working directory.
    pub(crate) fn tine(&self, ground: Ground, arguments: &[&str]) -> Command {
        let mut command = ground.command(env!("CARGO_BIN_EXE_tine"));
        for kept in ["TMPDIR", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        command.env("HOME", self.home()).env("TINE_HOME", self.own()).current_dir(self.work());
        command.args(arguments).timeout(RUN_TIME_MAX);
        command
    }

    /// Runs a command that must not fail; what it prints.
    pub(crate) fn done(&self, ground: Ground, arguments: &[&str]) -> String {
        let ran = self.tine(ground, arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "tine {arguments:?}: {stderr}");
        String::from_utf8(ran.stdout).unwrap()
    }

    /// A new agent makes these calls in one turn. `options` are those of `tine run`.
    pub(crate) fn play(&self, ground: Ground, options: &[&str], calls: &[Call]) -> Played {
        self.play_with(ground, options, calls, &[])
    }

    /// The same, where tine has these variables.
    pub(crate) fn play_with(
        &self,
        ground: Ground,
        options: &[&str],
        calls: &[Call],
        variables: &[(&str, &str)],
    ) -> Played {
        let model = self.scenario("played", calls);
        let name = format!("agent{}", self.runs.fetch_add(1, Ordering::Relaxed));
        let arguments = ["run", "-q", "--name", &name, "--model", &model, "TRY"];
        let mut command = self.tine(ground, &arguments);
        let ran = command.args(options).envs(variables.iter().copied()).output().unwrap();
        let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
        let code = ran.status.code().unwrap_or(-1);
        let results = match code {
            0 | NOT_ALLOWED => self.results(ground, &name),
            _ => Vec::new(),
        };
        Played { code, stderr, results }
    }

    /// A model that answers TRY with these calls.
    pub(crate) fn scenario(&self, name: &str, calls: &[Call]) -> String {
        self.turns(name, &[("TRY", calls)])
    }

    /// A model that answers each word with its calls.
    pub(crate) fn turns(&self, name: &str, turns: &[(&str, &[Call])]) -> String {
        // JSON texts are TOML texts, too.
        let text = |value: &dyn ToString| serde_json::to_string(&value.to_string()).unwrap();
        let mut scenario = format!("name = \"{name}\"\n");
        for (word, calls) in turns {
            let when = format!("when = {{ user_contains = \"{word}\", turn = 0 }}");
            write!(scenario, "[[turn]]\n{when}\ntext = \"I try.\"\n").unwrap();
            for call in *calls {
                let (tool, input) = (text(&call.tool), text(&call.input));
                write!(scenario, "[[turn.tool_calls]]\nname = {tool}\ninput_raw = {input}\n")
                    .unwrap();
            }
        }
        scenario.push_str("[[turn]]\ntext = \"Scope: all\\nResult: done\"\n");
        format!("sim/{}", self.write(&format!(".tine-home/{name}.toml"), scenario).display())
    }

    /// The results of an agent's calls, in order.
    pub(crate) fn results(&self, ground: Ground, agent: &str) -> Vec<String> {
        let messages: Value =
            serde_json::from_str(&self.done(ground, &["export", agent, "--raw"])).unwrap();
        let blocks =
            messages.as_array().unwrap().iter().filter_map(|one| one["content"].as_array());
        blocks
            .flatten()
            .filter(|block| block["type"] == "tool_result")
            .map(|block| words_of(&block["content"]))
            .collect()
    }
}

/// The text of a result, which is a text or a list of blocks.
fn words_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// How an attempt names itself: `id017`.
pub(crate) fn id_word(id: usize) -> String {
    format!("id{id:03}")
}

/// All such names in a text.
pub(crate) fn ids_in(text: &str) -> BTreeSet<usize> {
    let digits = |at: &str| at.get(..3).and_then(|digits| digits.parse().ok());
    text.split("id").skip(1).filter_map(digits).collect()
}

/// The first part of a path below `root`, if the path lies there.
pub(crate) fn part_below<'a>(root: &Path, path: &'a Path) -> Option<&'a str> {
    path.strip_prefix(root).ok()?.components().next()?.as_os_str().to_str()
}
