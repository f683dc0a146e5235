//! A suite as it stands in the file. What a value must be is checked here, so that errors know its line.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use tine_fork::stray::{Check, UnknownCheck};
use tine_model::ModelRef;
use toml::Spanned;

use crate::expect::RawExpect;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSuite {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    #[serde(default)]
    pub(super) defaults: RawCase,
    #[serde(default, rename = "tool")]
    pub(super) tools: Vec<Spanned<RawTool>>,
    #[serde(default, rename = "case")]
    pub(super) cases: Vec<Spanned<RawCase>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTool {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) schema: Option<Value>,
    pub(super) answer: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCase {
    pub(super) name: Option<String>,
    pub(super) prompt: Option<String>,
    pub(super) messages: Option<Vec<RawMessage>>,
    pub(super) system: Option<String>,
    pub(super) model: Option<Model>,
    pub(super) max_turns: Option<u32>,
    pub(super) timeout: Option<Seconds>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) repeat: Option<u32>,
    pub(super) filter: Option<FilterKind>,
    pub(super) directive: Option<Directive>,
    pub(super) tools: Option<Vec<String>>,
    pub(super) fixture: Option<String>,
    pub(super) stray: Option<CheckName>,
    pub(super) expect: Option<RawExpect>,
}

impl RawCase {
    /// This case, and `defaults` where it says nothing. Names are never inherited.
    pub(super) fn over(self, defaults: &Self) -> Self {
        let defaults = defaults.clone();
        Self {
            name: self.name,
            prompt: self.prompt.or(defaults.prompt),
            messages: self.messages.or(defaults.messages),
            system: self.system.or(defaults.system),
            model: self.model.or(defaults.model),
            max_turns: self.max_turns.or(defaults.max_turns),
            timeout: self.timeout.or(defaults.timeout),
            max_output_tokens: self.max_output_tokens.or(defaults.max_output_tokens),
            repeat: self.repeat.or(defaults.repeat),
            filter: self.filter.or(defaults.filter),
            directive: self.directive.or(defaults.directive),
            tools: self.tools.or(defaults.tools),
            fixture: self.fixture.or(defaults.fixture),
            stray: self.stray.or(defaults.stray),
            expect: self.expect.or(defaults.expect),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMessage {
    pub(super) role: Speaker,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) calls: Vec<RawCall>,
    #[serde(default)]
    pub(super) results: Vec<RawResult>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Speaker {
    User,
    Assistant,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCall {
    pub(super) id: String,
    pub(super) tool: String,
    #[serde(default)]
    pub(super) input: Map<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawResult {
    pub(super) call: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) is_error: bool,
}

/// Which calls of a fork are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterKind {
    /// None.
    All,
    /// Those that do more than read.
    ReadOnly,
    /// Those that do more than read, or write a note in `memory`.
    Memory,
}

/// The words that stand around a case's prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Directive {
    /// Nothing.
    #[default]
    Plain,
    /// A worker's rules: the prompt is its task.
    Worker,
    /// The consolidation of a memory, whose notes are in `memory`: the prompt is what was said in a session.
    Dream,
    /// A summary for a person who was away: the prompt is what happened meanwhile, a line each.
    Away,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Model(pub(super) ModelRef);

impl TryFrom<String> for Model {
    type Error = tine_model::ModelError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct CheckName(pub(super) Check);

impl TryFrom<String> for CheckName {
    type Error = UnknownCheck;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        word.parse().map(Self)
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Seconds(pub(super) Duration);

impl TryFrom<f64> for Seconds {
    type Error = &'static str;

    fn try_from(seconds: f64) -> Result<Self, Self::Error> {
        /// A day.
        const SECONDS_MAX: f64 = 86_400.0;
        if seconds > 0.0 && seconds <= SECONDS_MAX {
            Ok(Self(Duration::from_secs_f64(seconds)))
        } else {
            Err("`timeout` is a number of seconds, more than 0 and at most a day")
        }
    }
}
