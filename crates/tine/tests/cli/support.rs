//! Whole commands in a home of their own: no keys, no settings, no other agents.

use std::path::PathBuf;
use std::time::Duration;

use assert_cmd::Command;
use tine_testkit::WIRE_BODIES;

/// A scenario that answers `prompt N` with `answer N`, calls a tool when told to look, and reports when it is a worker.
pub(crate) const SCENARIO: &str = r#"
name = "case"

[[turn]]
when = { user_contains = "look", tool_results = 0 }
thinking = "I should look first.\nThen speak."
text = "I look."
tool_calls = [{ name = "Glob", input = { pattern = "*.txt" } }]

[[turn]]
when = { user_contains = "look" }
text = "I have looked."

[[turn]]
text = "You said: {{user}}"
"#;

/// Only a command that hangs takes longer.
const TIME_MAX: Duration = Duration::from_secs(120);

/// A home directory with a working directory in it.
pub(crate) struct Home {
    directory: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { directory: tine_testkit::scratch() };
        std::fs::create_dir(home.work()).unwrap();
        home
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    /// Leaves the home where it is, for whoever wants to look into it.
    pub(crate) fn keep(self) -> PathBuf {
        self.directory.keep()
    }

    /// Where commands work.
    pub(crate) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// A file in the home.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Trusts what the working directory brings along, as it is now.
    pub(crate) fn trust(&self) {
        self.done(&["trust", "--yes"]);
    }

    /// Its workers are not asked to mend what they report, so that a scenario may answer as it likes.
    pub(crate) fn without_nudges(self) -> Self {
        self.write("config.toml", "[workers]\nnudge = false\n");
        self
    }

    /// A model that answers from a scenario.
    pub(crate) fn model(&self, scenario: &str) -> String {
        format!("sim/{}", self.write("case.toml", scenario).display())
    }

    /// The same, named from the working directory: its length is the same in every home.
    pub(crate) fn near_model(&self, scenario: &str) -> String {
        self.write("case.toml", scenario);
        "sim/../case.toml".to_owned()
    }

    /// The command, with nothing of the surroundings but what a program needs.
    pub(crate) fn tine(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tine"));
        command.env_clear();
        for kept in ["PATH", "TMPDIR", "LLVM_PROFILE_FILE", WIRE_BODIES] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        command.env("TINE_HOME", self.path()).env("HOME", self.path());
        command.current_dir(self.work()).args(arguments).timeout(TIME_MAX);
        command
    }

    /// Runs a command.
    pub(crate) fn ran(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.tine(arguments))
    }

    /// Runs a command that must not fail; its result.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let ran = self.ran(arguments);
        assert_eq!(ran.code, 0, "tine {arguments:?}: {}", ran.stderr);
        ran.stdout
    }

    /// Runs a command that must not fail; its result as JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> serde_json::Value {
        serde_json::from_str(&self.done(arguments)).unwrap()
    }

    /// Imports a conversation of so many messages; the new agent's id.
    pub(crate) fn import(&self, model: &str, name: &str, messages: usize) -> String {
        let lines: Vec<String> = (0..messages)
            .map(|at| {
                let role = if at % 2 == 0 { "user" } else { "assistant" };
                format!(r#"{{"role":"{role}","content":"message {at}"}}"#)
            })
            .collect();
        let file = self.write("import.jsonl", &lines.join("\n"));
        let file = file.to_str().unwrap();
        let made = self.json(&["import", file, "--model", model, "--name", name, "--json"]);
        made["agent"].as_str().unwrap().to_owned()
    }

    /// What a command did as a text that is the same in every home.
    pub(crate) fn shown(&self, ran: &Ran) -> String {
        let text =
            format!("code: {}\n--- stdout\n{}--- stderr\n{}", ran.code, ran.stdout, ran.stderr);
        self.masked(&text)
    }

    /// A text without this home's path.
    pub(crate) fn masked(&self, text: &str) -> String {
        text.replace(self.path().to_str().unwrap(), "[HOME]")
    }
}

impl Ran {
    /// Runs a command.
    pub(crate) fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Filters for what differs from run to run.
pub(crate) fn filters() -> Vec<(&'static str, &'static str)> {
    vec![
        (r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "[AGENT-ID]"),
        (r"\b[0-9a-f]{8}\b", "[AGENT8]"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "[TIME]"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "[TIME]"),
        // An age, alone and in a column: there it is as wide as the oldest one.
        (r"(  +)\dm\b", "${1}0s"),
        (r"  \d\ds\b", "   0s"),
        (r"\b\d+s\b", "0s"),
        (r"\b\d+ s since\b", "0 s since"),
        (r"\bauto-denied in (\d+m|1h)\b", "auto-denied in 59m"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[PORT]"),
        (r#""signature":"sim1[^"]*""#, r#""signature":"[SIGNATURE]""#),
        (r"retrying in \d+\.\d s", "retrying in 0.5 s"),
    ]
}

/// The same text with every figure a `#`, and runs of blanks one blank: figures depend on the length of tine's own prompt and of the
/// path of the home. The short form of an id is no figure, even where chance made it of digits alone.
pub(crate) fn without_figures(text: &str) -> String {
    let is_id = |word: &str| word.len() == 8 && word.chars().all(|c| c.is_ascii_hexdigit());
    let is_figure = |word: &str| {
        !is_id(word)
            && word.chars().all(|c| c.is_ascii_digit() || "$%.,:;()~kM".contains(c))
            && word.contains(char::is_numeric)
    };
    let line = |line: &str| -> String {
        let words = line.split_whitespace().map(|word| if is_figure(word) { "#" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
