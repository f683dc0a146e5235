//! Which model, in which format, with which settings.

use std::fmt;
use std::str::FromStr;

/// How bytes for a provider are laid out. Only `tine-wire` knows what stands behind the names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WireFormat {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, also spoken by most compatible servers.
    OpenAiChat,
}

impl WireFormat {
    /// Every format, in index order.
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAiChat];

    /// Position in [`Self::ALL`].
    pub fn index(self) -> usize {
        match self {
            Self::Anthropic => 0,
            Self::OpenAiChat => 1,
        }
    }

    /// The name under which it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai-chat",
        }
    }

    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }
}

/// Who serves the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// The simulator inside the process; the model's name is a scenario.
    Sim,
    /// Anthropic, or any endpoint that speaks its format (`ANTHROPIC_BASE_URL`).
    Anthropic,
    /// OpenAI.
    OpenAi,
    /// Any server that speaks OpenAI's chat format (Ollama, llama-server, vLLM).
    OpenAiCompat,
}

impl Provider {
    const ALL: [Self; 4] = [Self::Sim, Self::Anthropic, Self::OpenAi, Self::OpenAiCompat];

    /// The name in front of the slash.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::OpenAiCompat => "openai-compat",
        }
    }

    /// The wire format that this provider's endpoint speaks.
    pub fn format(self) -> WireFormat {
        match self {
            Self::Sim | Self::Anthropic => WireFormat::Anthropic,
            Self::OpenAi | Self::OpenAiCompat => WireFormat::OpenAiChat,
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

impl FromStr for ModelRef {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, ModelError> {
        let shape = || ModelError::Shape(text.to_owned());
        let (provider, name) = text.trim().split_once('/').ok_or_else(shape)?;
        if provider.is_empty() || name.is_empty() {
            return Err(shape());
        }
        let found = Provider::ALL.into_iter().find(|p| p.as_str() == provider);
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

/// How much work the model is asked to put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Least.
    Low,
    /// Middle.
    Medium,
    /// Most.
    High,
}

impl Effort {
    /// The word of both wire formats.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }

    /// Reads the word.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Low, Self::Medium, Self::High].into_iter().find(|effort| effort.as_str() == name)
    }
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
    fn bad_names_say_what_is_wrong() {
        assert_eq!("gpt".parse::<ModelRef>(), Err(ModelError::Shape("gpt".into())));
        assert_eq!("anthropic/".parse::<ModelRef>(), Err(ModelError::Shape("anthropic/".into())));
        assert_eq!("acme/x".parse::<ModelRef>(), Err(ModelError::Provider("acme".into())));
    }
}
