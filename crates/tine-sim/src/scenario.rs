//! A scenario: what the simulator answers, written as TOML. Parsing and matching only; nothing is sent here.
//!
//! ```toml
//! name = "count"                     # the reply's model is sim/count
//! first_byte_ms = 50                 # optional pacing
//!
//! [[turn]]                           # rules are tried in order; the first that matches answers
//! when = { user_contains = "count", tool_results = 0 }
//! thinking = "I should look first."
//! tool_calls = [{ name = "bash", input = { command = "ls | wc -l" } }]
//!
//! [[turn]]
//! when = { last_tool = "bash" }
//! text = "There are {{tool_result.last | trim}} files."
//! ```
//!
//! | key | meaning |
//! |---|---|
//! | `description`, `prices_as` | for people, and for cost reports (a real model's name) |
//! | `models` | the only model names that are answered; others get 404 |
//! | `profile` | whose cache rules apply, whatever the model is called: `"anthropic"`, `"minimax"`, `"openai"`, `"openai-chat"`, `"openai-legacy"`, `"openai-compat"`, `"deepseek"`, `"kimi"`, `"vllm"`, `"sglang"`, `"llamacpp"`, `"ollama"`, `"gemini"` |
//! | `host` | a host of the Chat format that takes only what it knows, and refuses the rest in its own words: `"cerebras"`, `"groq"`, `"mistral"`, `"openai"` (models called `gpt-…` are at `"openai"`, others at a server that takes everything) |
//! | `cache_min_tokens` | minimum length of an entry of marked blocks or breakpoints (else the model's: 512 and 1,024 for names that are not known) |
//! | `machines` | whether OpenAI's requests of one prefix and key overflow to further machines above 15 a minute (true) |
//! | `window_tokens` | the model's window: what does not fit is refused in the words of the vendor or engine (else everything fits) |
//! | `implicit_hit_rate`, `seed` | Gemini: the share of possible implicit hits that happen (1.0), and what the sequences of chances begin from (0) |
//! | `unit_interval_tokens` | DeepSeek: a unit is saved at every multiple of so many tokens (none) |
//! | `minimax_passive` | MiniMax: requests without a mark are cached too, without a fee (false) |
//! | `capacity_tokens` | tokens that vLLM's and SGLang's memory holds (1,048,576) |
//! | `slots` | llama.cpp and Ollama: slots (4, and 1) |
//! | `report_cached_tokens` | vLLM and SGLang: whether usage says what was cached, as with their flags (false) |
//! | `limits` | `requests_per_minute`, `input_tokens_per_minute` (of one key and model), `requests_per_second` (more is a ramp), `spend_tokens` (of one key, for good) |
//! | `visible_at` | `"response_start"` or `"first_content"`: when a written entry becomes readable |
//! | `deep_read_refreshes_shallow` | whether a read refreshes the entries before it |
//! | `thinking_binding` | `"prefix"` or `"off"`: whether signed thinking must stand where it was made |
//! | `first_byte_ms`, `per_chunk_ms`, `tokens_per_second` | pacing |
//! | `not_user_text` | user texts that begin with one of these are not the user's words (`<system-reminder`) |
//! | `when` | `user_contains`, `user_equals`, `tool_results`, `turn`, `last_tool`, `any_contains`; all must hold |
//! | answer | `thinking`, `text`, `tool_calls`, `stop_reason` |
//! | holes | `{{user}}`, `{{tool_result.N}}`, `{{tool_result.last}}`; after `\|` the filters `lines N`, `skip N`, `skip_last N`, `first_line`, `count_lines`, `trim`, `indent N` |
//! | `fault` | `times`, `percent` (of the matching requests, drawn by `seed`), `within_ms` (of the first); one of `status` (with `retry_after`, `message`, `html`), `close_before_first_byte`, `cut_after_events` (with `cut_mid_line`), `error_event_after` (with `error_event`), `stall_after_events`; and `first_byte_ms`, `pings`, `unknown_events`, `broken_tool_input`, `no_usage` |
//!
//! `tool_results` and `turn` count results and assistant messages since the last user text. A rule that has only a fault
//! steps aside where the fault does not strike. A tool's `input` is a TOML table whose keys keep their order; the strings in it may be templates. `input_raw` is sent as
//! it stands, valid or not.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::chat::Host;
use crate::conversation::Conversation;
use crate::endpoint::Endpoint;
use crate::fault::{Ending, Fault};
use crate::limits::ENGINE_CAPACITY_TOKENS;
use crate::profile::Profile;
use crate::quota::Limits;
use crate::template::{Template, TemplateError};

/// The scenarios that are part of the program: name and text.
const BUILT_IN: &[(&str, &str)] = &[
    ("echo", include_str!("../scenarios/echo.toml")),
    ("demo", include_str!("../scenarios/demo.toml")),
    ("tour", include_str!("../scenarios/tour.toml")),
    ("worktrees", include_str!("../scenarios/worktrees.toml")),
];

/// A reminder that hosts put beside tool results; it is not taken for the user's words unless a scenario says so.
const REMINDER: &str = "<system-reminder";

/// Why there is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Neither a built-in scenario nor a file.
    #[error(
        "no scenario `{name}`: it is neither a file nor one of the built-in scenarios ({known})"
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in names.
        known: String,
    },
    /// The file is there but cannot be read.
    #[error("cannot read the scenario {path}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The text is not a scenario. The source says where.
    #[error("{origin} is not a scenario")]
    Parse {
        /// The file, or the built-in name.
        origin: String,
        /// Line, column and reason.
        source: Box<toml::de::Error>,
    },
}

/// A checked scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub(crate) name: ScenarioName,
    #[serde(default)]
    description: String,
    /// Model names that are answered; all others get 404. Absent: any name.
    models: Option<Vec<String>>,
    prices_as: Option<String>,
    pub(crate) profile: Option<Profile>,
    pub(crate) host: Option<Host>,
    pub(crate) cache_min_tokens: Option<u64>,
    window_tokens: Option<NonZeroUsize>,
    #[serde(default = "yes")]
    pub(crate) machines: bool,
    #[serde(default)]
    implicit_hit_rate: HitRate,
    #[serde(default)]
    pub(crate) seed: u64,
    unit_interval_tokens: Option<NonZeroUsize>,
    #[serde(default)]
    pub(crate) minimax_passive: bool,
    capacity_tokens: Option<NonZeroUsize>,
    slots: Option<NonZeroUsize>,
    #[serde(default)]
    pub(crate) report_cached_tokens: bool,
    #[serde(default)]
    pub(crate) limits: Limits,
    #[serde(default)]
    pub(crate) deep_read_refreshes_shallow: bool,
    #[serde(default)]
    pub(crate) visible_at: VisibleAt,
    #[serde(default)]
    pub(crate) thinking_binding: ThinkingBinding,
    #[serde(default)]
    pub(crate) first_byte_ms: u64,
    per_chunk_ms: Option<u64>,
    tokens_per_second: Option<NonZeroU32>,
    #[serde(default = "reminders")]
    pub(crate) not_user_text: Vec<String>,
    #[serde(default, rename = "turn")]
    pub(crate) rules: Vec<Rule>,
}

/// Slots of a llama.cpp server that is not told otherwise.
const SLOTS_DEFAULT: usize = 4;

/// A share, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
struct HitRate(f64);

impl Default for HitRate {
    fn default() -> Self {
        Self(1.0)
    }
}

impl TryFrom<f64> for HitRate {
    type Error = &'static str;

    fn try_from(rate: f64) -> Result<Self, &'static str> {
        if (0.0..=1.0).contains(&rate) {
            Ok(Self(rate))
        } else {
            Err("`implicit_hit_rate` is a share, 0.0 to 1.0")
        }
    }
}

fn yes() -> bool {
    true
}

fn reminders() -> Vec<String> {
    vec![REMINDER.to_owned()]
}

/// When what a request wrote becomes readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum VisibleAt {
    /// With the first byte of the response.
    #[default]
    ResponseStart,
    /// With the first block of content.
    FirstContent,
}

/// Whether signed thinking must stand behind the same prefix as when it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ThinkingBinding {
    /// Yes, as for current models.
    #[default]
    Prefix,
    /// No, as for older ones.
    Off,
}

/// A scenario's name: it appears in `sim/NAME`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ScenarioName(pub(crate) String);

/// One `[[turn]]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawRule")]
pub(crate) struct Rule {
    when: When,
    /// Absent when the rule is there for its fault alone.
    pub(crate) answer: Option<AnswerTemplate>,
    pub(crate) fault: Option<Fault>,
}

/// Conditions of a rule; all that are given must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct When {
    user_contains: Option<String>,
    user_equals: Option<String>,
    tool_results: Option<usize>,
    turn: Option<usize>,
    last_tool: Option<String>,
    any_contains: Option<String>,
}

impl When {
    fn matches(&self, seen: &Conversation<'_>) -> bool {
        let holds = |condition: &Option<String>, test: &dyn Fn(&str) -> bool| {
            condition.as_deref().is_none_or(test)
        };
        self.tool_results.is_none_or(|count| count == seen.tool_results.len())
            && self.turn.is_none_or(|turn| turn == seen.turn)
            && holds(&self.user_contains, &|text| seen.user.contains(text))
            && holds(&self.user_equals, &|text| seen.user == text)
            && holds(&self.last_tool, &|tool| seen.last_tool == Some(tool))
            && holds(&self.any_contains, &|text| seen.texts.iter().any(|seen| seen.contains(text)))
    }
}

impl Rule {
    /// Whether all conditions hold.
    pub(crate) fn matches(&self, seen: &Conversation<'_>) -> bool {
        self.when.matches(seen)
    }
}

/// What a rule answers, before its holes are filled.
#[derive(Debug, Clone, Default)]
pub(crate) struct AnswerTemplate {
    pub(crate) thinking: Option<Template>,
    pub(crate) text: Option<Template>,
    pub(crate) tool_calls: Vec<CallTemplate>,
    pub(crate) stop_reason: Option<String>,
}

/// One tool call of an answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "RawCall")]
pub(crate) struct CallTemplate {
    pub(crate) name: String,
    pub(crate) input: InputTemplate,
}

/// The input of a tool call.
#[derive(Debug, Clone)]
pub(crate) enum InputTemplate {
    Object(Map<String, Value>),
    Raw(String),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    #[serde(default)]
    when: When,
    thinking: Option<Template>,
    text: Option<Template>,
    #[serde(default)]
    tool_calls: Vec<CallTemplate>,
    stop_reason: Option<String>,
    fault: Option<Fault>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCall {
    name: String,
    input: Option<Map<String, Value>>,
    input_raw: Option<String>,
}

/// What is wrong with a rule; the TOML error around it says where.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RuleError {
    #[error("a turn needs `text`, `thinking`, `tool_calls` or a fault that takes their place")]
    NoAnswer,
    #[error("give either `input` or `input_raw`, not both")]
    TwoInputs,
    #[error("a tool's input cannot hold a date; write it as a string")]
    Date,
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("a name is made of a-z, 0-9, `-` and `_`, not `{0}`")]
    Name(String),
}

impl TryFrom<String> for ScenarioName {
    type Error = RuleError;

    fn try_from(name: String) -> Result<Self, RuleError> {
        let plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        if !name.is_empty() && name.bytes().all(plain) {
            Ok(Self(name))
        } else {
            Err(RuleError::Name(name))
        }
    }
}

impl TryFrom<RawRule> for Rule {
    type Error = RuleError;

    fn try_from(raw: RawRule) -> Result<Self, RuleError> {
        let RawRule { when, thinking, text, tool_calls, stop_reason, fault } = raw;
        let is_answer = thinking.is_some() || text.is_some() || !tool_calls.is_empty();
        let replaces = |fault: &Fault| {
            matches!(fault.ending, Some(Ending::Status { .. } | Ending::CloseBeforeFirstByte))
        };
        if !is_answer && (stop_reason.is_some() || !fault.as_ref().is_some_and(replaces)) {
            return Err(RuleError::NoAnswer);
        }
        let answer = AnswerTemplate { thinking, text, tool_calls, stop_reason };
        Ok(Self { when, answer: is_answer.then_some(answer), fault })
    }
}

impl TryFrom<RawCall> for CallTemplate {
    type Error = RuleError;

    fn try_from(raw: RawCall) -> Result<Self, RuleError> {
        let input = match (raw.input, raw.input_raw) {
            (Some(_), Some(_)) => return Err(RuleError::TwoInputs),
            (None, Some(text)) => InputTemplate::Raw(text),
            (input, None) => {
                let input = input.unwrap_or_default();
                input.iter().try_for_each(|(key, value)| check_input(key, value))?;
                InputTemplate::Object(input)
            }
        };
        Ok(Self { name: raw.name, input })
    }
}

/// Parses every string of an input once, so that a wrong template is found when the scenario is loaded.
fn check_input(key: &str, value: &Value) -> Result<(), RuleError> {
    // The TOML reader hands a date over as a table with this private key.
    if key.starts_with("$__toml_private") {
        return Err(RuleError::Date);
    }
    match value {
        Value::String(text) => Template::parse(text).map(|_| ()).map_err(RuleError::from),
        Value::Array(items) => items.iter().try_for_each(|item| check_input("", item)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| check_input(key, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

impl Scenario {
    /// Parses a scenario; `origin` is the name of the text in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ScenarioError> {
        toml::from_str(text).map_err(|source| ScenarioError::Parse {
            origin: origin.to_owned(),
            source: Box::new(source),
        })
    }

    /// A scenario that is part of the program.
    pub fn built_in(name: &str) -> Result<Self, ScenarioError> {
        match BUILT_IN.iter().find(|(known, _)| *known == name) {
            Some((name, text)) => Self::parse(text, &format!("built-in scenario {name}")),
            None => Err(ScenarioError::Unknown {
                name: name.to_owned(),
                known: Self::built_in_names().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// Names of the scenarios that are part of the program.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// A built-in scenario by its name, or one from a file. A built-in name wins over a file of that name; `./NAME` is
    /// always the file.
    pub fn load(name_or_path: &str) -> Result<Self, ScenarioError> {
        let unknown = match Self::built_in(name_or_path) {
            Err(error @ ScenarioError::Unknown { .. }) => error,
            other => return other,
        };
        match std::fs::read_to_string(Path::new(name_or_path)) {
            Ok(text) => Self::parse(&text, name_or_path),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => Err(unknown),
            Err(source) => Err(ScenarioError::Read { path: name_or_path.to_owned(), source }),
        }
    }

    /// The name; replies come from the model `sim/NAME`.
    pub fn name(&self) -> &str {
        &self.name.0
    }

    /// What the scenario shows, in a sentence. May be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The real model whose prices a cost report should use.
    pub fn prices_as(&self) -> Option<&str> {
        self.prices_as.as_deref()
    }

    /// What stands in `field` of every call of `tool`, where it is a text without holes: what a host that plays a built-in
    /// scenario may allow literally beforehand.
    pub fn literal_inputs(&self, tool: &str, field: &str) -> Vec<&str> {
        let answers = self.rules.iter().filter_map(|rule| rule.answer.as_ref());
        let calls = answers.flat_map(|answer| &answer.tool_calls).filter(|call| call.name == tool);
        let texts = calls.filter_map(|call| match &call.input {
            InputTemplate::Object(fields) => fields.get(field)?.as_str(),
            InputTemplate::Raw(_) => None,
        });
        texts.filter(|text| !text.contains("{{")).collect()
    }

    /// The model's window; None where every conversation fits.
    pub(crate) fn window_tokens(&self) -> Option<u64> {
        self.window_tokens.and_then(|tokens| u64::try_from(tokens.get()).ok())
    }

    /// Gemini: the share of possible implicit hits that happen.
    pub(crate) fn hit_rate(&self) -> f64 {
        self.implicit_hit_rate.0
    }

    /// DeepSeek: tokens between the units that are saved in any case.
    pub(crate) fn unit_interval(&self) -> Option<usize> {
        self.unit_interval_tokens.map(NonZeroUsize::get)
    }

    /// Tokens that the memory of a server of one's own holds.
    pub(crate) fn capacity_tokens(&self) -> usize {
        self.capacity_tokens.map_or(ENGINE_CAPACITY_TOKENS, NonZeroUsize::get)
    }

    /// Returns true where the cache that serves this model is one whose entries can be kept beyond the server.
    pub fn keeps_entries(&self, model: &str) -> bool {
        match Profile::of(self.profile, model, Endpoint::Messages) {
            Profile::Anthropic | Profile::OpenAi | Profile::MiniMax => true,
            Profile::OpenAiLegacy
            | Profile::DeepSeek
            | Profile::Kimi
            | Profile::Vllm
            | Profile::Sglang
            | Profile::LlamaCpp
            | Profile::Ollama
            | Profile::Gemini => false,
        }
    }

    /// llama.cpp and Ollama: how many slots there are.
    pub(crate) fn slots(&self, profile: Profile) -> usize {
        let usual = if profile == Profile::Ollama { 1 } else { SLOTS_DEFAULT };
        self.slots.map_or(usual, NonZeroUsize::get)
    }

    /// Whether a request for this model is answered.
    pub(crate) fn has_model(&self, model: &str) -> bool {
        self.models.as_ref().is_none_or(|models| models.iter().any(|known| known == model))
    }

    /// Wait before a delta of so many tokens. A fixed time per delta wins over a rate.
    pub(crate) fn delta_delay_ms(&self, tokens: u64) -> u64 {
        let rate = self.tokens_per_second.map(|rate| tokens * 1_000 / u64::from(rate.get()));
        self.per_chunk_ms.or(rate).unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "scenario_tests.rs"]
mod tests;
