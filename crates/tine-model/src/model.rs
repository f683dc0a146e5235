//! Which model, in which format, with which settings.

use std::fmt;
use std::str::FromStr;

use crate::agent::words;

words! {
    /// The layout of the bytes for a provider. Only `tine-wire` knows what stands behind the names.
    #[derive(PartialOrd, Ord)]
    WireFormat[5] {
        /// Anthropic Messages, also spoken by MiniMax.
        Anthropic = "anthropic",
        /// OpenAI Chat Completions with content as plain strings, as compatible servers speak it.
        OpenAiChat = "openai-chat",
        /// OpenAI Chat Completions with every content as a list of parts, where OpenAI's newer models take breakpoints.
        OpenAiChatParts = "openai-chat-parts",
        /// OpenAI Responses.
        OpenAiResponses = "openai-responses",
        /// Google Gemini `generateContent`.
        Gemini = "gemini",
    }
}

impl WireFormat {
    /// Position in [`Self::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The format whose shape a kept message has: the two kinds of chat read the same messages.
    pub fn of_messages(self) -> Self {
        match self {
            Self::OpenAiChatParts => Self::OpenAiChat,
            other => other,
        }
    }
}

words! {
    /// The provider that serves the model. The word stands in front of the slash.
    Provider[8] {
        /// The simulator inside the process; the model's name is a scenario.
        Sim = "sim",
        /// Anthropic, or any endpoint that speaks its format (`ANTHROPIC_BASE_URL`).
        Anthropic = "anthropic",
        /// OpenAI, through Responses.
        OpenAi = "openai",
        /// OpenAI, through Chat Completions.
        OpenAiChat = "openai-chat",
        /// Any server that speaks OpenAI's chat format (Ollama, llama-server, vLLM).
        OpenAiCompat = "openai-compat",
        /// Google's Gemini API.
        Gemini = "gemini",
        /// DeepSeek, through its chat endpoint.
        DeepSeek = "deepseek",
        /// MiniMax, through its Anthropic-compatible endpoint.
        MiniMax = "minimax",
    }
}

impl Provider {
    /// The wire format in which new conversations with this provider are held.
    pub fn format(self) -> WireFormat {
        match self {
            Self::Sim | Self::Anthropic | Self::MiniMax => WireFormat::Anthropic,
            Self::OpenAi => WireFormat::OpenAiResponses,
            Self::OpenAiChat => WireFormat::OpenAiChatParts,
            Self::OpenAiCompat | Self::DeepSeek => WireFormat::OpenAiChat,
            Self::Gemini => WireFormat::Gemini,
        }
    }
}

/// Why a text names no model.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ModelError {
    /// No slash, or nothing on one side of it.
    #[error("`{0}` is not a model: models are written provider/name")]
    Shape(String),
    /// The part before the slash is not a provider of this version.
    #[error("unknown provider `{0}`")]
    Provider(String),
}

/// `provider/name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelRef {
    /// Who serves it.
    pub provider: Provider,
    /// The provider's name for it, or the scenario of the simulator.
    pub name: String,
}

impl ModelRef {
    /// The provider whose format and cache rules serve this model. For the simulator it is the one named behind the last
    /// `@` of the scenario (`sim/echo@gemini`), and Anthropic when there is none.
    pub fn served_as(&self) -> Provider {
        match self.provider {
            Provider::Sim => self.scenario().1,
            other => other,
        }
    }

    /// The scenario of a simulator's model and the provider that it plays.
    pub fn scenario(&self) -> (&str, Provider) {
        let played = self.name.rsplit_once('@').and_then(|(scenario, provider)| {
            let provider = Provider::from_name(provider).filter(|p| *p != Provider::Sim)?;
            (!scenario.is_empty()).then_some((scenario, provider))
        });
        played.unwrap_or((&self.name, Provider::Anthropic))
    }

    /// The wire format in which new conversations with this model are held.
    pub fn format(&self) -> WireFormat {
        match self.claude() {
            Some(_) => WireFormat::OpenAiChatParts,
            None => self.served_as().format(),
        }
    }

    /// Anthropic's name of a Claude model behind a gateway that speaks OpenAI's chat format, such as LiteLLM or OpenRouter. Its cache
    /// is told what to keep by marks on the parts of contents.
    pub fn claude(&self) -> Option<String> {
        if self.provider != Provider::OpenAiCompat {
            return None;
        }
        let name = self.name.to_ascii_lowercase();
        let name = &name[name.find("claude")?..];
        // OpenRouter writes versions with dots, and variants behind a colon, as Bedrock does revisions.
        let name = name.split(':').next().unwrap_or(name);
        Some(name.replace('.', "-"))
    }
}

impl FromStr for ModelRef {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        let shape = || ModelError::Shape(text.to_owned());
        let (provider, name) = text.trim().split_once('/').ok_or_else(shape)?;
        if provider.is_empty() || name.is_empty() {
            return Err(shape());
        }
        let found = Provider::from_name(provider);
        let provider = found.ok_or_else(|| ModelError::Provider(provider.to_owned()))?;
        Ok(Self { provider, name: name.to_owned() })
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider.as_str(), self.name)
    }
}

/// How the model is asked to reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// The model decides how much.
    Adaptive,
    /// At most this many tokens.
    Budget(u32),
}

words! {
    /// The levels of work that the model is asked to put in, the least first. No provider takes all of them. The words are those of all wire
    /// formats.
    #[derive(PartialOrd, Ord)]
    Effort[7] {
        /// No reasoning at all.
        None = "none",
        /// Hardly any.
        Minimal = "minimal",
        /// Little.
        Low = "low",
        /// Middle.
        Medium = "medium",
        /// Much.
        High = "high",
        /// More than that.
        XHigh = "xhigh",
        /// All that the model has.
        Max = "max",
    }
}

/// Which of the declared tools the model may or must call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum ToolChoice {
    /// The model decides. What every provider does when nothing is said, so nothing is.
    #[default]
    Auto,
    /// None of them; they stay declared.
    None,
    /// At least one, whichever.
    Required,
    /// This one, by its canonical name.
    Tool(String),
}

/// Everything about the model that stands before the first message. A fork in `full` context keeps all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// Which model.
    pub model: ModelRef,
    /// Most tokens of one reply.
    pub max_tokens: u32,
    /// `None` leaves it to the provider.
    pub thinking: Option<Thinking>,
    /// `None` leaves it to the provider.
    pub effort: Option<Effort>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_name_may_contain_slashes() {
        let model: ModelRef = "sim/dir/scenario.toml".parse().unwrap();
        assert_eq!((model.provider, model.name.as_str()), (Provider::Sim, "dir/scenario.toml"));
        assert_eq!(model.to_string(), "sim/dir/scenario.toml");
    }

    #[test]
    fn the_simulator_plays_the_provider_behind_the_at_sign() {
        let played = |text: &str| {
            let model: ModelRef = text.parse().unwrap();
            let (scenario, provider) = model.scenario();
            (scenario.to_owned(), provider, model.format())
        };
        assert_eq!(
            played("sim/echo@gemini"),
            ("echo".into(), Provider::Gemini, WireFormat::Gemini)
        );
        for whole in ["echo", "dir@home/a.toml", "@gemini", "echo@sim"] {
            let expected = (whole.to_owned(), Provider::Anthropic, WireFormat::Anthropic);
            assert_eq!(played(&format!("sim/{whole}")), expected);
        }
    }

    #[test]
    fn claude_is_known_behind_a_gateway() {
        let check = |text: &str, name: Option<&str>| {
            let model: ModelRef = text.parse().unwrap();
            assert_eq!(model.claude().as_deref(), name, "{text}");
            let is_in_parts = model.format() == WireFormat::OpenAiChatParts;
            assert_eq!(is_in_parts, name.is_some(), "{text}");
        };
        check("openai-compat/anthropic/claude-opus-4.6:beta", Some("claude-opus-4-6"));
        check("openai-compat/claude-opus-5-5", Some("claude-opus-5-5"));
        check(
            "openai-compat/us.anthropic.claude-haiku-4-5-20251001-v1:0",
            Some("claude-haiku-4-5-20251001-v1"),
        );
        check("openai-compat/qwen3", None);
        check("sim/claude@openai-compat", None);
        check("anthropic/claude-opus-5-5", None);
    }

    #[test]
    fn bad_names_say_what_is_wrong() {
        assert_eq!("gpt".parse::<ModelRef>(), Err(ModelError::Shape("gpt".into())));
        assert_eq!("anthropic/".parse::<ModelRef>(), Err(ModelError::Shape("anthropic/".into())));
        assert_eq!("acme/x".parse::<ModelRef>(), Err(ModelError::Provider("acme".into())));
    }
}
