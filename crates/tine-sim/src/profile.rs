//! Whose cache rules and usage fields apply to a request. The format does not say it: one endpoint serves the models of
//! several vendors.
//!
//! To add a profile: a variant, its names in [`NAMES`], its models in [`of_model`], and an arm each in [`Profile::cache`]
//! and, for the Chat format, in `chat/usage.rs`.

use serde::Deserialize;

use crate::automatic::chance::ChanceCache;
use crate::automatic::chunks::{KimiCache, VllmCache};
use crate::automatic::radix::RadixCache;
use crate::automatic::slots::SlotCache;
use crate::automatic::units::UnitCache;
use crate::block_cache::BlockCache;
use crate::breakpoint_cache::BreakpointCache;
use crate::cache::Cache;
use crate::endpoint::Endpoint;
use crate::gemini;
use crate::limits::{
    BREAKPOINT_MIN_TOKENS, CACHE_MIN_TOKENS, CHAT_MIN_TOKENS, DEEPSEEK_MIN_TOKENS,
    MINIMAX_MIN_TOKENS,
};
use crate::passive::PassiveCache;
use crate::prefix_cache::PrefixCache;
use crate::scenario::Scenario;

/// Names of profiles: behind the last `@` of a model, and as a scenario's `profile`.
const NAMES: &[(&str, Profile)] = &[
    ("anthropic", Profile::Anthropic),
    ("minimax", Profile::MiniMax),
    ("openai", Profile::OpenAi),
    ("openai-chat", Profile::OpenAi),
    ("openai-legacy", Profile::OpenAiLegacy),
    ("openai-compat", Profile::OpenAiLegacy),
    ("deepseek", Profile::DeepSeek),
    ("kimi", Profile::Kimi),
    ("vllm", Profile::Vllm),
    ("sglang", Profile::Sglang),
    ("llamacpp", Profile::LlamaCpp),
    ("ollama", Profile::Ollama),
    ("gemini", Profile::Gemini),
];

/// The first version of OpenAI's models whose cache knows breakpoints.
const BREAKPOINTS_SINCE: (u32, u32) = (5, 6);

/// A vendor's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Profile {
    /// Marked blocks.
    Anthropic,
    /// Breakpoints, on several machines.
    OpenAi,
    /// Automatic prefixes, as before GPT-5.6 and on many compatible servers.
    OpenAiLegacy,
    /// Marked blocks, and automatic ones for requests without a mark where a scenario says so.
    MiniMax,
    /// Saved units.
    DeepSeek,
    /// Chunks of prompts.
    Kimi,
    /// Blocks of prompts and answers.
    Vllm,
    /// Prompts and answers, token by token.
    Sglang,
    /// One conversation a slot.
    LlamaCpp,
    /// Slots, one unless the scenario says more, chosen by the longest common prefix.
    Ollama,
    /// Prefixes, by chance. Cached contents are no cache of this kind: `gemini/resources.rs` has them.
    Gemini,
}

/// A scenario's `profile` that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("unknown profile `{0}`, expected one of {names}", names = names())]
pub(crate) struct UnknownProfile(String);

fn names() -> String {
    NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

impl TryFrom<String> for Profile {
    type Error = UnknownProfile;

    fn try_from(name: String) -> Result<Self, UnknownProfile> {
        Self::named(&name).ok_or(UnknownProfile(name))
    }
}

impl Profile {
    fn named(name: &str) -> Option<Self> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, profile)| *profile)
    }

    /// The profile of a request: what the scenario says, else what the model's name says, else the endpoint's own vendor.
    pub(crate) fn of(fixed: Option<Self>, model: &str, endpoint: Endpoint) -> Self {
        let suffix = model.rsplit_once('@').and_then(|(_, name)| Self::named(name));
        fixed.or(suffix).or_else(|| of_model(model)).unwrap_or(match endpoint {
            Endpoint::Messages | Endpoint::CountTokens | Endpoint::Unknown => Self::Anthropic,
            Endpoint::Chat => Self::OpenAiLegacy,
            Endpoint::Responses => Self::OpenAi,
            Endpoint::Gemini | Endpoint::CachedContents => Self::Gemini,
        })
    }

    /// An empty cache with this profile's rules.
    pub(crate) fn cache(self, scenario: &Scenario) -> Box<dyn Cache> {
        let deep = scenario.deep_read_refreshes_shallow;
        match self {
            Self::Anthropic => Box::new(BlockCache::new(deep)),
            Self::OpenAi => Box::new(BreakpointCache::new(scenario.machines, deep)),
            Self::OpenAiLegacy => Box::new(PrefixCache::default()),
            Self::MiniMax => Box::new(PassiveCache::new(scenario.minimax_passive)),
            Self::DeepSeek => Box::new(UnitCache::new(scenario.unit_interval())),
            Self::Kimi => Box::new(KimiCache::new()),
            Self::Vllm => Box::new(VllmCache::new(scenario.capacity_tokens())),
            Self::Sglang => Box::new(RadixCache::new(scenario.capacity_tokens())),
            Self::LlamaCpp => Box::new(SlotCache::new(scenario.slots(self))),
            Self::Ollama => Box::new(SlotCache::of_ollama(scenario.slots(self))),
            Self::Gemini => Box::new(ChanceCache::new(scenario.hit_rate(), scenario.seed)),
        }
    }

    /// Tokens below which a model caches nothing.
    pub(crate) fn min_tokens(self, model: &str) -> u64 {
        match self {
            Self::Anthropic => anthropic_minimum(model),
            Self::OpenAi => BREAKPOINT_MIN_TOKENS,
            Self::OpenAiLegacy => CHAT_MIN_TOKENS,
            Self::MiniMax => MINIMAX_MIN_TOKENS,
            Self::DeepSeek => DEEPSEEK_MIN_TOKENS,
            Self::Kimi | Self::Vllm | Self::Sglang | Self::LlamaCpp | Self::Ollama => 0,
            Self::Gemini => gemini::min_tokens(model),
        }
    }

    /// Whether writing to the cache costs something, so that it is reported.
    pub(crate) fn bills_writes(self) -> bool {
        match self {
            Self::Anthropic | Self::OpenAi | Self::MiniMax => true,
            Self::OpenAiLegacy | Self::Gemini => false,
            Self::DeepSeek | Self::Kimi => false,
            Self::Vllm | Self::Sglang | Self::LlamaCpp | Self::Ollama => false,
        }
    }

    /// Whether what the cache served counts toward the limit of tokens per minute.
    pub(crate) fn limits_reads(self) -> bool {
        !matches!(self, Self::Anthropic | Self::MiniMax)
    }

    /// Whether Chat prompts are rendered as an engine's template does, and cached without the client's doing.
    pub(crate) fn is_engine(self) -> bool {
        matches!(self, Self::DeepSeek | Self::Kimi) || self.is_own_server()
    }

    /// Whether it is a server of one's own: it asks for no key, and keeps nobody apart.
    pub(crate) fn is_own_server(self) -> bool {
        matches!(self, Self::Vllm | Self::Sglang | Self::LlamaCpp | Self::Ollama)
    }
}

/// What the name of a real model says.
fn of_model(model: &str) -> Option<Profile> {
    let model = model.to_ascii_lowercase();
    const FAMILIES: &[(&str, Profile)] = &[
        ("claude-", Profile::Anthropic),
        ("minimax-", Profile::MiniMax),
        ("deepseek-", Profile::DeepSeek),
        ("kimi-", Profile::Kimi),
        ("gemini-", Profile::Gemini),
    ];
    if let Some((_, profile)) = FAMILIES.iter().find(|(family, _)| model.starts_with(family)) {
        return Some(*profile);
    }
    let version = version(model.strip_prefix("gpt-")?);
    if version.is_some_and(|version| version >= BREAKPOINTS_SINCE) {
        Some(Profile::OpenAi)
    } else {
        Some(Profile::OpenAiLegacy)
    }
}

/// `6.1-sol` is version 6.1, `6-luna` is 6.0, `4o` is 4.0.
fn version(name: &str) -> Option<(u32, u32)> {
    let (major, rest) = number(name)?;
    let minor = rest.strip_prefix('.').and_then(number).map_or(0, |(minor, _)| minor);
    Some((major, minor))
}

/// The number that a text begins with, and what follows.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// The vendor's table. Names that are not in it have the minimum of the current generation.
fn anthropic_minimum(model: &str) -> u64 {
    const TABLE: &[(&str, u64)] = &[
        ("claude-opus-4-8", 1_024),
        ("claude-opus-4-7", 2_048),
        ("claude-opus-4-6", 4_096),
        ("claude-opus-4-5", 4_096),
        ("claude-opus-4", 1_024),
        ("claude-sonnet-5-5", CACHE_MIN_TOKENS),
        ("claude-sonnet-5", 1_024),
        ("claude-sonnet-4", 1_024),
        ("claude-haiku-4-5", 4_096),
        ("claude-haiku-3-5", 2_048),
        ("claude-mythos-preview", 2_048),
    ];
    let known = TABLE.iter().find(|(name, _)| model.starts_with(name));
    known.map_or(CACHE_MIN_TOKENS, |(_, tokens)| *tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_comes_from_the_scenario_then_the_suffix_then_the_name_then_the_endpoint() {
        let cases = [
            ("echo", Endpoint::Messages, Profile::Anthropic),
            ("echo", Endpoint::Chat, Profile::OpenAiLegacy),
            ("echo", Endpoint::Responses, Profile::OpenAi),
            ("echo@openai", Endpoint::Chat, Profile::OpenAi),
            ("echo@openai-compat", Endpoint::Responses, Profile::OpenAiLegacy),
            ("gpt-6.1-sol@anthropic", Endpoint::Chat, Profile::Anthropic),
            ("echo@nobody", Endpoint::Messages, Profile::Anthropic),
            ("claude-opus-5-5", Endpoint::Chat, Profile::Anthropic),
            ("MiniMax-M3", Endpoint::Messages, Profile::MiniMax),
            ("deepseek-v4-flash", Endpoint::Chat, Profile::DeepSeek),
            ("deepseek-v4-flash@vllm", Endpoint::Chat, Profile::Vllm),
            ("kimi-k3", Endpoint::Chat, Profile::Kimi),
            ("echo", Endpoint::Gemini, Profile::Gemini),
            ("gpt-5.6-luna", Endpoint::Chat, Profile::OpenAi),
            ("gpt-6-astra", Endpoint::Responses, Profile::OpenAi),
            ("gpt-5.5", Endpoint::Responses, Profile::OpenAiLegacy),
            ("gpt-5", Endpoint::Chat, Profile::OpenAiLegacy),
            ("gpt-4o", Endpoint::Responses, Profile::OpenAiLegacy),
            ("gpt-oss-120b", Endpoint::Chat, Profile::OpenAiLegacy),
            ("gpt-99999999999999", Endpoint::Chat, Profile::OpenAiLegacy),
        ];
        for (model, endpoint, profile) in cases {
            assert_eq!(Profile::of(None, model, endpoint), profile, "{model} at {endpoint:?}");
            let fixed = Some(Profile::OpenAi);
            assert_eq!(Profile::of(fixed, model, endpoint), Profile::OpenAi);
        }
    }

    #[test]
    fn minimum_lengths_are_the_vendors() {
        let cases = [
            ("claude-opus-5-5", 512),
            ("claude-sonnet-5", 1_024),
            ("claude-sonnet-5-5", 512),
            ("claude-opus-4-8", 1_024),
            ("claude-opus-4-7-20260101", 2_048),
            ("claude-haiku-4-5", 4_096),
            ("echo", 512),
        ];
        for (model, tokens) in cases {
            assert_eq!(Profile::Anthropic.min_tokens(model), tokens, "{model}");
        }
    }
}
