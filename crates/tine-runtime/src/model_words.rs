//! A model as people name it behind a command: `provider/name`, with a level of reasoning where one is named too.

use std::fmt;

use tine_cache::{Models, Named};
use tine_model::{Effort, ModelRef, ModelSettings, Provider, Thinking};

use crate::slash_error::SlashError;

/// How much a model is asked to reason, in the words of the commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingLevel {
    /// Nothing is asked for.
    None,
    /// Least.
    Low,
    /// Middle.
    Med,
    /// Most.
    High,
}

impl ThinkingLevel {
    /// Every level, the least first.
    pub const ALL: [Self; 4] = [Self::None, Self::Low, Self::Med, Self::High];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::Med => "med",
            Self::High => "high",
        }
    }

    /// Reads the word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == name)
    }

    /// The effort that is asked for.
    pub fn effort(self) -> Option<Effort> {
        match self {
            Self::None => None,
            Self::Low => Some(Effort::Low),
            Self::Med => Some(Effort::Medium),
            Self::High => Some(Effort::High),
        }
    }
}

/// A model, and how much it is to reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelWords {
    /// Which model.
    pub model: ModelRef,
    /// Its level; without one, what was set stays.
    pub level: Option<ThinkingLevel>,
}

impl ModelWords {
    /// Reads `provider/name` or `provider/name/level`. A last part that is a level is one. Names of servers of one's own and of
    /// scenarios may hold slashes, so that any other last part belongs to the name there; with the other providers it is refused.
    pub fn parse(text: &str) -> Result<Self, SlashError> {
        if let Some((before, last)) = text.rsplit_once('/')
            && let Some(level) = ThinkingLevel::from_name(last)
            && let Ok(model) = model_of(before)
        {
            return Ok(Self { model, level: Some(level) });
        }
        let model = model_of(text)?;
        let level = match model.provider {
            Provider::Sim | Provider::OpenAiCompat => None,
            Provider::Anthropic
            | Provider::OpenAi
            | Provider::OpenAiChat
            | Provider::Gemini
            | Provider::DeepSeek
            | Provider::MiniMax => model.name.split_once('/').map(|(_, level)| level),
        };
        match level {
            Some(level) => Err(SlashError::InvalidLevel(level.to_owned())),
            None => Ok(Self { model, level: None }),
        }
    }

    /// These settings with this model and level in them. Thinking and effort are said in each provider's own terms: with another
    /// provider they are what this level says.
    pub fn settings(&self, before: &ModelSettings) -> ModelSettings {
        let model = self.model.clone();
        let is_same = model.served_as() == before.model.served_as();
        let before = if is_same {
            before.clone()
        } else {
            ModelSettings { thinking: None, effort: None, ..before.clone() }
        };
        let (thinking, effort) = match self.level {
            None => (before.thinking, before.effort),
            Some(ThinkingLevel::None) => (None, None),
            // Without being told to think, such a model only works harder.
            Some(level) if model.served_as() == Provider::Anthropic => {
                (before.thinking.or(Some(Thinking::Adaptive)), level.effort())
            }
            Some(level) => (before.thinking, level.effort()),
        };
        ModelSettings { model, thinking, effort, ..before }
    }
}

/// The model of this name. The provider may be left out where one alone has a model of this name.
fn model_of(text: &str) -> Result<ModelRef, SlashError> {
    let unknown = || SlashError::UnknownModel(text.to_owned());
    match Models::bundled().named(text) {
        Named::Model(model) => Ok(model),
        Named::Other(near) if near.is_empty() => Err(unknown()),
        Named::Other(near) => Err(SlashError::NearModel { name: text.to_owned(), near }),
    }
}

impl fmt::Display for ModelWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            None => write!(f, "{}", self.model),
            Some(level) => write!(f, "{}/{}", self.model, level.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_told_from_a_name_with_slashes() {
        let read = |text: &str| match ModelWords::parse(text) {
            Ok(words) => format!("{} {:?}", words.model, words.level),
            Err(error) => error.to_string(),
        };
        let read = [
            "anthropic/claude",
            "anthropic/claude/high",
            "anthropic/claude/none",
            "anthropic/claude/huge",
            "anthropic/claude/",
            "openai-compat/qwen/qwen3-8b",
            "openai-compat/qwen/qwen3-8b/med",
            "sim/../case.toml/low",
            "anthropic/high",
            "high",
            "acme/x/low",
            "gpt-5",
            "gpt-5/high",
        ]
        .map(read);
        insta::assert_snapshot!(read.join("\n"), @"
        anthropic/claude None
        anthropic/claude Some(High)
        anthropic/claude Some(None)
        Invalid thinking level 'huge' (must be: none, low, med, high)
        Invalid thinking level '' (must be: none, low, med, high)
        openai-compat/qwen/qwen3-8b None
        openai-compat/qwen/qwen3-8b Some(Med)
        sim/../case.toml Some(Low)
        anthropic/high None
        Unknown model 'high' (it is provider/name)
        Unknown model 'acme/x/low' (it is provider/name)
        openai/gpt-5 None
        openai/gpt-5 Some(High)
        ");
        let several = ModelWords::parse("gpt").unwrap_err().to_string();
        assert!(several.starts_with("Unknown model 'gpt' (did you mean openai/gpt-"), "{several}");
    }

    #[test]
    fn a_level_becomes_what_the_provider_understands() {
        let before = ModelSettings {
            model: "anthropic/a".parse().unwrap(),
            max_tokens: 9,
            thinking: Some(Thinking::Budget(4)),
            effort: Some(Effort::Low),
        };
        let after = |text: &str| {
            let after = ModelWords::parse(text).unwrap().settings(&before);
            (after.max_tokens, after.thinking, after.effort)
        };
        assert_eq!(after("anthropic/b"), (9, before.thinking, before.effort));
        assert_eq!(after("anthropic/b/none"), (9, None, None));
        assert_eq!(after("anthropic/b/high"), (9, before.thinking, Some(Effort::High)));
        assert_eq!(after("openai/b"), (9, None, None));
        assert_eq!(after("openai/b/high"), (9, None, Some(Effort::High)));
        let plain = ModelSettings { thinking: None, effort: None, ..before };
        let thinks = ModelWords::parse("anthropic/b/med").unwrap().settings(&plain);
        assert_eq!(
            (thinks.thinking, thinks.effort),
            (Some(Thinking::Adaptive), Some(Effort::Medium))
        );
    }
}
