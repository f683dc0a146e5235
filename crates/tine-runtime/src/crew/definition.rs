//! Agents that can be started by name: Markdown files with a head of settings (`agents/<name>.md`).
//!
//! The text below the head is the agent's system prompt. Reads no files: a face finds them and hands their texts in.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::model_words::ModelWords;
use serde::Deserialize;
use tine_guard::PermissionMode;

/// The type of a worker that starts from the conversation.
pub(crate) const FORK: &str = "fork";

/// Largest file, in bytes. What is longer is not a prompt.
pub const DEFINITION_BYTES_MAX: usize = 64 * 1024;

/// Most agents that can be started by name: a model has to choose among them.
const DEFINITIONS_MAX: usize = 256;

/// The line that begins and ends the head.
const FENCE: &str = "---";

/// An agent that can be started by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentDefinition {
    /// What it is started by.
    pub name: String,
    /// What it is for, in a sentence that models choose by.
    pub description: String,
    /// Its system prompt.
    pub prompt: String,
    /// The tools that it has; `None` for all.
    pub tools: Option<Vec<String>>,
    /// Tools that it does not have.
    pub disallowed: Vec<String>,
    /// Its model; `None` for that of the agent that starts it.
    pub model: Option<ModelWords>,
    /// How much it may do without a question. Never more than the agent that starts it.
    pub permission_mode: Option<PermissionMode>,
    /// Most turns.
    pub max_turns: Option<u32>,
    /// Where it was read from.
    pub origin: PathBuf,
}

/// Why a file defines no agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// The file has no head.
    #[error("it does not begin with a head: a line `---`, settings, and a line `---`")]
    NoHead,
    /// The head cannot be read.
    #[error("its head cannot be read: {0}")]
    Head(String),
    /// A setting has a value that it cannot have.
    #[error("`{field}` cannot be `{value}`: {why}")]
    Value {
        /// The setting.
        field: &'static str,
        /// What was written.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no prompt below the head.
    #[error("there is no prompt below its head")]
    NoPrompt,
    /// The file is too large.
    #[error("it has more than {DEFINITION_BYTES_MAX} bytes")]
    TooLarge,
}

/// The head as it is written. Settings of other tools that mean nothing here are passed over.
#[derive(Deserialize)]
struct Head {
    name: Option<String>,
    description: Option<String>,
    tools: Option<Names>,
    #[serde(rename = "disallowedTools")]
    disallowed: Option<Names>,
    model: Option<String>,
    #[serde(rename = "permissionMode")]
    permission_mode: Option<String>,
    #[serde(rename = "maxTurns")]
    max_turns: Option<u32>,
}

/// Names, as a list or as one text with commas.
#[derive(Deserialize)]
#[serde(untagged)]
enum Names {
    List(Vec<String>),
    Text(String),
}

impl Names {
    fn into_list(self) -> Vec<String> {
        let parts = match self {
            Self::List(list) => list,
            Self::Text(text) => text.split(',').map(str::to_owned).collect(),
        };
        let trimmed = parts.iter().map(|part| part.trim().to_owned());
        trimmed.filter(|part| !part.is_empty()).collect()
    }
}

impl AgentDefinition {
    /// Reads a file's text. `stem` is its name without the ending, and names the agent where the head does not.
    pub fn parse(stem: &str, text: &str, origin: PathBuf) -> Result<Self, DefinitionError> {
        if text.len() > DEFINITION_BYTES_MAX {
            return Err(DefinitionError::TooLarge);
        }
        let (head, prompt) = split(text).ok_or(DefinitionError::NoHead)?;
        // Behind an empty line, so that a fault has the number that its line has in the file.
        let head: Head = serde_saphyr::from_str(&format!("\n{head}"))
            .map_err(|error| DefinitionError::Head(first_line(&error.to_string())))?;
        let prompt = prompt.trim();
        if prompt.is_empty() {
            return Err(DefinitionError::NoPrompt);
        }
        let bad = |field, value: String, why: String| DefinitionError::Value { field, value, why };
        let name = head.name.unwrap_or_else(|| stem.to_owned());
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
            let why = "it is one word of at most 64 letters, digits, `-`, `_` and `.`".to_owned();
            return Err(bad("name", name, why));
        }
        if name == FORK {
            let why = "that word starts a worker from the conversation".to_owned();
            return Err(bad("name", name, why));
        }
        let model = match head.model.filter(|model| model != "inherit") {
            None => None,
            Some(text) => match ModelWords::parse(&text) {
                Ok(words) => Some(words),
                Err(error) => return Err(bad("model", text, format!("{error}; or `inherit`"))),
            },
        };
        let permission_mode = match head.permission_mode {
            None => None,
            Some(text) => match text.parse::<PermissionMode>() {
                Ok(mode) => Some(mode),
                Err(error) => return Err(bad("permissionMode", text, error.to_string())),
            },
        };
        Ok(Self {
            name,
            description: head.description.map(|text| first_line(&text)).unwrap_or_default(),
            prompt: prompt.to_owned(),
            tools: head.tools.map(Names::into_list),
            disallowed: head.disallowed.map(Names::into_list).unwrap_or_default(),
            model,
            permission_mode,
            max_turns: head.max_turns.filter(|turns| *turns > 0),
            origin,
        })
    }

    /// Whether it has a tool.
    pub fn has_tool(&self, tool: &str) -> bool {
        let given = self.tools.as_ref().is_none_or(|tools| tools.iter().any(|name| name == tool));
        given && !self.disallowed.iter().any(|name| name == tool)
    }
}

/// Head and body of a file.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (first, rest) = text.split_once('\n')?;
    if first.trim_end() != FENCE {
        return None;
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().to_owned()
}

/// All agents that can be started by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definitions {
    agents: BTreeMap<String, AgentDefinition>,
    /// Names whose files define no agent, and the file and its fault.
    broken: BTreeMap<String, String>,
}

impl Definitions {
    /// Adds one; a later one of the same name takes the place of an earlier one. `false`, and nothing done, when there are too
    /// many.
    pub fn add(&mut self, definition: AgentDefinition) -> bool {
        let fits =
            self.agents.len() < DEFINITIONS_MAX || self.agents.contains_key(&definition.name);
        if fits {
            self.agents.insert(definition.name.clone(), definition);
        }
        fits
    }

    /// Notes that the file which would define an agent has a fault. Whoever asks for the agent is told, and gets no other in its place.
    pub fn add_broken(&mut self, name: String, fault: String) {
        self.broken.insert(name, fault);
    }

    /// The agent of this name.
    pub fn get(&self, name: &str) -> Option<&AgentDefinition> {
        self.agents.get(name).filter(|_| !self.broken.contains_key(name))
    }

    /// Why there is no agent of this name, where a file should define it.
    pub fn fault(&self, name: &str) -> Option<&str> {
        self.broken.get(name).map(String::as_str)
    }

    /// The names whose files define no agent, and why.
    pub fn faults(&self) -> impl Iterator<Item = (&str, &str)> {
        self.broken.iter().map(|(name, fault)| (name.as_str(), fault.as_str()))
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &AgentDefinition> {
        self.agents.values().filter(|one| !self.broken.contains_key(&one.name))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<AgentDefinition, String> {
        AgentDefinition::parse("stem", text, "/a/stem.md".into()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_definition_is_a_head_and_a_prompt() {
        let text = "---\nname: reviewer\ndescription: Reads changes and says what is wrong.\ntools: FileRead, Grep\n\
            disallowedTools:\n  - Bash\nmodel: inherit\npermissionMode: read-only\nmaxTurns: 20\ncolor: red\n---\n\
            You review.\n\n---\nBe brief.\n";
        let found = parse(text).unwrap();
        assert_eq!(
            (found.name.as_str(), found.prompt.as_str()),
            ("reviewer", "You review.\n\n---\nBe brief.")
        );
        assert_eq!(found.permission_mode, Some(PermissionMode::ReadOnly));
        assert_eq!((found.model.clone(), found.max_turns), (None, Some(20)));
        assert!(found.has_tool("Grep") && !found.has_tool("Bash") && !found.has_tool("Glob"));
    }

    #[test]
    fn the_file_names_what_its_head_does_not() {
        let found = parse("---\r\nmodel: sim/echo\r\n---\r\nSpeak.").unwrap();
        assert_eq!((found.name.as_str(), found.tools.is_none()), ("stem", true));
        assert_eq!(found.model.map(|model| model.to_string()).as_deref(), Some("sim/echo"));
    }

    #[test]
    fn what_defines_no_agent_is_told_why() {
        let list: Vec<String> = [
            "You review.",
            "---\nname: x\n",
            "---\nname: [\n---\nx",
            "---\nname: x\n---\n \n",
            "---\nname: a b\n---\nx",
            "---\nname: fork\n---\nx",
            "---\nmodel: nowhere\n---\nx",
            "---\npermissionMode: yolo\n---\nx",
        ]
        .map(|text| parse(text).unwrap_err())
        .into();
        insta::assert_snapshot!(list.join("\n"), @"
        it does not begin with a head: a line `---`, settings, and a line `---`
        it does not begin with a head: a line `---`, settings, and a line `---`
        its head cannot be read: error: line 2 column 7: expected string scalar
        there is no prompt below its head
        `name` cannot be `a b`: it is one word of at most 64 letters, digits, `-`, `_` and `.`
        `name` cannot be `fork`: that word starts a worker from the conversation
        `model` cannot be `nowhere`: Unknown model 'nowhere' (it is provider/name); or `inherit`
        `permissionMode` cannot be `yolo`: unknown permission mode `yolo`, expected default, accept-edits, read-only or bypass
        ");
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(---\n)?(name: .{0,20}\n)?.{0,60}(\n---\n)?.{0,40}") {
            drop(parse(&text));
        }
    }
}
