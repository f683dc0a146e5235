//! What a model says when it calls one of these tools, checked; every refusal says how to mend the call.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tine_model::RawJson;

use super::Told;

/// Largest prompt or message, in bytes. What is larger belongs into a file that the worker is told to read.
pub(super) const PROMPT_BYTES_MAX: usize = 64 * 1024;

/// Longest description, in characters: it stands in lists.
pub(super) const DESCRIPTION_CHARS_MAX: usize = 80;

/// Most tasks that one call waits for.
pub(super) const WAITED_MAX: usize = 256;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AgentArguments {
    pub(super) prompt: String,
    pub(super) description: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subagent_type: Option<String>,
    pub(super) fork_turns: Option<ForkTurns>,
    pub(super) isolation: Option<Isolation>,
    pub(super) run_in_background: Option<bool>,
    pub(super) timeout: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Isolation {
    Shared,
    Worktree,
}

/// A word or a number, which models write either way.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum ForkTurns {
    Number(u32),
    Word(String),
}

/// How much of the conversation a fork inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turns {
    All,
    None,
    Last(u32),
}

impl ForkTurns {
    pub(super) fn read(&self) -> Result<Turns, Told> {
        let number = match self {
            Self::Number(number) => Some(*number),
            Self::Word(word) if word == "all" => return Ok(Turns::All),
            Self::Word(word) if word == "none" => return Ok(Turns::None),
            Self::Word(word) => word.parse().ok(),
        };
        match number {
            Some(0) => Ok(Turns::None),
            Some(number) => Ok(Turns::Last(number)),
            None => Err(Told("`fork_turns` is `all`, `none` or a number of turns.".to_owned())),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartArguments {
    pub(super) prompt: String,
    pub(super) description: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) fork: Option<bool>,
    pub(super) resume: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListArguments {
    pub(super) status: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OutputArguments {
    pub(super) task_id: String,
    pub(super) block: Option<bool>,
    pub(super) timeout: Option<u64>,
    pub(super) since: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendArguments {
    pub(super) task_id: String,
    pub(super) message: String,
    pub(super) when: Option<When>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum When {
    #[default]
    Now,
    Next,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelArguments {
    pub(super) task_id: String,
    pub(super) how: Option<How>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    #[default]
    Hard,
    Soft,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitArguments {
    pub(super) task_ids: Option<Vec<String>>,
    pub(super) timeout: Option<u64>,
}

/// Reads a call's arguments.
pub(super) fn read<T: DeserializeOwned>(input: &RawJson) -> Result<T, Told> {
    serde_json::from_str(input.as_str())
        .map_err(|error| Told(format!("The arguments cannot be used: {error}.")))
}

/// A text that says something, and not too much.
pub(super) fn bounded(field: &str, text: String) -> Result<String, Told> {
    if text.trim().is_empty() {
        return Err(Told(format!("`{field}` is blank.")));
    }
    match text.len() {
        bytes if bytes > PROMPT_BYTES_MAX => Err(Told(format!(
            "`{field}` has {bytes} bytes, where {PROMPT_BYTES_MAX} are allowed. Put the material into a file and name that."
        ))),
        _ => Ok(text),
    }
}

/// A description that fits into a list; a longer one is cut.
pub(super) fn description(text: Option<String>) -> Option<String> {
    let text = text?.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| text.chars().take(DESCRIPTION_CHARS_MAX).collect())
}
