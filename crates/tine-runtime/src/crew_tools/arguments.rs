//! What a model says when it calls one of these tools, checked; every refusal says how to mend the call.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tine_model::RawJson;

use super::Told;
use crate::inherit::Inherit;

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
    /// Lineages with an older declaration call it `fork_turns`.
    #[serde(alias = "fork_turns")]
    pub(super) context: Option<ContextArgument>,
    pub(super) model: Option<String>,
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

/// A word or a number of turns, which models write either way.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(super) enum ContextArgument {
    Number(u32),
    Word(String),
}

impl ContextArgument {
    pub(super) fn read(&self) -> Result<Inherit, Told> {
        let turns = match self {
            Self::Number(turns) => *turns,
            // These words and bare numbers are of older declarations.
            Self::Word(word) => match word.as_str() {
                "all" => return Ok(Inherit::Full),
                "none" => return Ok(Inherit::Fresh),
                word => match word.parse() {
                    Ok(turns) => turns,
                    Err(_) => {
                        return word.parse().map_err(|error| Told(format!("`context`: {error}.")));
                    }
                },
            },
        };
        Ok(if turns == 0 { Inherit::Fresh } else { Inherit::Turns(turns) })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartArguments {
    pub(super) prompt: String,
    pub(super) description: Option<String>,
    pub(super) agent: Option<String>,
    pub(super) fork: Option<bool>,
    pub(super) context: Option<ContextArgument>,
    pub(super) model: Option<String>,
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
