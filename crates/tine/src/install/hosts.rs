//! Servers in the settings of hosts: where these are, and what an entry says in them.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::json::Shape;
use super::{Entry, NAME, Outcome, Rest, toml};
use crate::cli::Host;
use crate::environment::{Variable, folder_of, home};
use crate::fail::Failure;

/// As `claude mcp add --scope user` of 2.1.330 writes it.
const CLAUDE_CODE: Shape = Shape { list: "mcpServers", schema: None };

/// OpenCode 1.18.33 writes the schema into a file that has none.
const OPENCODE: Shape = Shape { list: "mcp", schema: Some("https://opencode.ai/config.json") };

/// The arguments that a host starts tine with.
const ARGUMENTS: [&str; 1] = ["mcp"];

impl Host {
    /// Its name on the command line.
    fn id(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::OpenCode => "OpenCode",
        }
    }
}

impl Entry for Host {
    fn host_id(self) -> &'static str {
        self.id()
    }

    fn host(self) -> &'static str {
        self.name()
    }

    fn place(self) -> &'static str {
        match self {
            Self::ClaudeCode => "mcpServers.tine",
            Self::Codex => "mcp_servers.tine",
            Self::OpenCode => "mcp.tine",
        }
    }

    fn files(self, variable: Variable<'_>) -> Result<Vec<PathBuf>, Failure> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = |name: &str, usual: &str| folder_of(variable, name, usual);
        let files = match self {
            Self::ClaudeCode => match set("CLAUDE_CONFIG_DIR") {
                Some(folder) => vec![folder.join(".config.json"), folder.join(".claude.json")],
                None => vec![home()?.join(".claude/.config.json"), home()?.join(".claude.json")],
            },
            Self::Codex => {
                vec![folder("CODEX_HOME", ".codex")?.join("config.toml")]
            }
            Self::OpenCode => {
                let folder = folder("XDG_CONFIG_HOME", ".config")?.join("opencode");
                vec![folder.join("opencode.jsonc"), folder.join("opencode.json")]
            }
        };
        Ok(files)
    }

    fn new_file(self, program: &str) -> String {
        match self.form() {
            Form::Json(shape) => shape.new_file(&self.entry(program).into()),
            Form::Toml => toml::new_file(&toml_entry(program)),
        }
    }

    fn has(self, text: &str, program: &str) -> Result<bool, String> {
        match self.form() {
            Form::Json(shape) => {
                let found = shape.entry(text)?;
                Ok(found.is_some_and(|found| starts_same(&found, &self.entry(program))))
            }
            Form::Toml => Ok(toml::entry(text)?.is_some_and(|found| found == toml_entry(program))),
        }
    }

    fn with(self, text: &str, program: &str) -> Result<String, String> {
        match self.form() {
            Form::Json(shape) => shape.insert(text, self.entry(program)),
            Form::Toml => toml::insert(text, &toml_entry(program)),
        }
    }

    fn without(self, text: &str) -> Result<Option<Rest>, String> {
        match self.form() {
            Form::Json(shape) => shape.remove(text),
            Form::Toml => toml::remove(text),
        }
    }

    fn said(self, outcome: Outcome) -> String {
        let host = self.name();
        match outcome {
            Outcome::IsThere => format!("tine is in {host}'s settings already"),
            Outcome::IsNotThere => format!("there is no tine in {host}'s settings"),
            Outcome::Replaced => {
                format!("another entry `tine` was replaced; new sessions of {host} start this one")
            }
            Outcome::Installed => format!(
                "new sessions of {host} have tine's tools; `tine mcp remove {}` takes them out",
                self.id()
            ),
            Outcome::Removed => format!("new sessions of {host} have no tine any more"),
        }
    }
}

impl Host {
    fn form(self) -> Form {
        match self {
            Self::ClaudeCode => Form::Json(CLAUDE_CODE),
            Self::OpenCode => Form::Json(OPENCODE),
            Self::Codex => Form::Toml,
        }
    }

    /// An entry in JSON.
    fn entry(self, program: &str) -> Map<String, Value> {
        let entry = if self == Self::OpenCode {
            let command: Vec<&str> = std::iter::once(program).chain(ARGUMENTS).collect();
            json!({"type": "local", "command": command, "enabled": true})
        } else {
            json!({"type": "stdio", "command": program, "args": ARGUMENTS, "env": {}})
        };
        entry.as_object().cloned().unwrap_or_default()
    }
}

/// The format of a host's settings.
enum Form {
    Json(Shape),
    Toml,
}

fn toml_entry(program: &str) -> toml::Entry {
    let arguments = ARGUMENTS.map(str::to_owned).to_vec();
    toml::Entry { command: program.to_owned(), arguments, starts: true }
}

/// True where an entry starts what ours does. The person's own fields, such as a time limit or variables, are no difference, and a field
/// that ours has and hosts can do without may be missing.
fn starts_same(found: &Value, ours: &Map<String, Value>) -> bool {
    let differs = |(name, value): (&String, &Value)| match found.get(name) {
        None => matches!(name.as_str(), "command" | "args"),
        Some(_) if name == "env" => false,
        Some(found) => found != value,
    };
    found.is_object() && !ours.iter().any(differs)
}

/// The program that a host is to start: `tine` where that finds this very program, else its path.
pub(super) fn program() -> Result<String, Failure> {
    let failed = || Failure::failed("cannot find this program");
    let this = std::env::current_exe().map_err(|error| failed().because(&error))?;
    if is_found_by_name(&this, &std::env::var_os("PATH").unwrap_or_default()) {
        return Ok(NAME.to_owned());
    }
    this.into_os_string().into_string().map_err(|path| {
        failed().hint(format!("{} is not text, which settings are", path.display()))
    })
}

pub(super) fn is_found_by_name(program: &Path, path: &OsStr) -> bool {
    let is_program = |file: &PathBuf| {
        file.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let found = std::env::split_paths(path).map(|folder| folder.join(NAME)).find(is_program);
    // A folder relative to where one is means another one to the host.
    let found =
        found.filter(|found| found.is_absolute()).and_then(|found| found.canonicalize().ok());
    found.is_some() && found == program.canonicalize().ok()
}
