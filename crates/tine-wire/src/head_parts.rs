//! What a head is made of: everything of a request that stands before its first message and that a fork inherits.
//!
//! Plain values. How each format writes them is in the formats' own modules; what a format cannot say is told by
//! [`HeadParts::unsupported`], and what no request may hold by [`HeadParts::check`].

use std::sync::Arc;

use tine_model::{
    CacheScheme, Effort, Lifetime, ModelSettings, Provider, RawJson, Thinking, ToolChoice,
    WireFormat,
};

use crate::extra;
use crate::splice::SentRequest;

/// Fewest tokens that Anthropic takes as a budget for thinking (its SDKs, `budget_tokens`).
pub const THINKING_BUDGET_MIN: u32 = 1_024;

/// The efforts that a format can say. Sources: the types for requests of `anthropic` 2.12.0 and `openai` 3.54.0, and Gemini's
/// `ThinkingLevel` in `google-genai` 3.4.0. Which of them a model takes, its provider knows.
pub fn efforts(format: WireFormat) -> &'static [Effort] {
    match format {
        WireFormat::Anthropic => {
            &[Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max]
        }
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses => {
            &Effort::ALL
        }
        WireFormat::Gemini => &[Effort::Minimal, Effort::Low, Effort::Medium, Effort::High],
    }
}

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDeclaration {
    /// Canonical name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON schema of its arguments, in its source key order.
    pub schema: RawJson,
}

/// One block of a system prompt that comes in several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemBlock {
    /// Its words. A block of blanks alone is left out of the request, because providers refuse it.
    pub text: String,
    /// Whether its end gets a mark of its own, and for how long. `None` marks nothing, except that the end of the last block is
    /// marked in any case.
    pub cache: Option<Lifetime>,
}

/// What a head is made of.
///
/// A request carries at most four marks. They go, in this order, to the fork point, the anchor, the tail and the end of the
/// system prompt; a long turn then takes one for its middle. What is left goes to the marks asked for here
/// ([`Self::system_blocks`], [`Self::cache_tools`]), to the last of them first. A mark lives at least as long as those behind
/// it, since providers refuse a long lifetime behind a short one; that costs nothing, because what stands before a long mark is
/// written for the long lifetime in any case.
#[derive(Debug, Clone, PartialEq)]
pub struct HeadParts {
    /// Model and settings.
    pub settings: ModelSettings,
    /// System prompt; may be empty. Not sent when there are [`Self::system_blocks`].
    pub system: String,
    /// The system prompt in blocks. When there are any, they are the system prompt, and [`Self::system`] is not sent. Anthropic:
    /// one text block each; OpenAI Responses and Chat in parts: one part each; Gemini: one part each; Chat with plain strings:
    /// joined by an empty line.
    pub system_blocks: Vec<SystemBlock>,
    /// Tools.
    pub tools: Vec<ToolDeclaration>,
    /// In which order they are sent.
    pub tool_order: ToolOrder,
    /// Whether the end of the tools gets a mark of its own. Anthropic only.
    pub cache_tools: bool,
    /// Which tools the model may or must call. Not sent without tools.
    pub tool_choice: ToolChoice,
    /// Sampling temperature, in the provider's scale; `None` leaves it to the provider. Must be finite.
    pub temperature: Option<f64>,
    /// Texts at which the reply ends.
    pub stop_sequences: Vec<String>,
    /// Further settings: a name and its value, sent as it was written, in this order, behind the settings that have a field
    /// here and before the tools (Gemini: before the system instruction). A name with a dot (`output_config.format`) goes into the
    /// object before the dot: `output_config`, `thinking` and `tool_choice` at Anthropic, `reasoning` in Responses,
    /// `stream_options` in Chat, `generationConfig` at Gemini.
    ///
    /// What [`Self::check`] refuses is left out.
    pub extra: Vec<(String, RawJson)>,
    /// Whether the reply is to be streamed. In Gemini's format the address says it, not the head.
    pub stream: bool,
    /// How the provider's cache is told what to keep.
    pub scheme: CacheScheme,
    /// What tells this lineage's cache from others' (`prompt_cache_key`), the same for all descendants; sent only with
    /// [`CacheScheme::Breakpoints`].
    pub cache_key: Option<String>,
    /// Whether reasoning that is bound to another head is to be left out instead of refused: for lineages whose history was
    /// imported from elsewhere. Only Anthropic's format can say it, and only together with `settings.thinking`, of which it is
    /// a part: a caller that imports signed reasoning sets both. What was left out is told in
    /// [`Reply::dropped`](crate::Reply::dropped); the cached bytes change from there on.
    pub drop_foreign_thinking: bool,
    /// The request that these parts were read of ([`read_request`](crate::read_request)). As long as they say what it said, its own
    /// bytes are sent; `None` for a head of one's own.
    pub sent: Option<Arc<SentRequest>>,
}

/// In which order tools are sent. A cache that holds them in one order serves no request with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolOrder {
    /// By name, so that it does not matter in which order they were registered.
    #[default]
    ByName,
    /// As they stand: for whoever takes over a request that another program has sent.
    AsGiven,
}

/// Why no request can be made of some parts, or why it would not be the one that was meant.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum HeadPartsError {
    /// A budget for thinking that the provider refuses.
    #[error("a thinking budget of {0} tokens is refused: the least is {THINKING_BUDGET_MIN}")]
    ThinkingBudget(u32),
    /// A temperature that no JSON can say.
    #[error("the temperature {0} is not a finite number")]
    Temperature(f64),
    /// The choice names a tool that is not declared.
    #[error("the tool choice names `{0}`, which is not among the tools")]
    ToolChoice(String),
    /// A further setting that the head writes itself, from a field of its own.
    #[error("`{0}` cannot be a further setting: the head writes it itself")]
    Written(String),
    /// A further setting that is given twice.
    #[error("the further setting `{0}` is given twice")]
    Twice(String),
    /// More further settings than any provider has.
    #[error("there are more than {most} further settings")]
    TooMany {
        /// How many there may be.
        most: usize,
    },
    /// Parts that were read of a request and then changed, where its own bytes say what no part does.
    #[error("the request was taken over with {}, which no other one could say; only temperature, token limit, stop sequences and \
             streaming can be changed", .0.join(", "))]
    Unsaid(Vec<String>),
    /// A further setting without a name, or inside an object that the format does not have.
    #[error("`{0}` names no setting of this format")]
    Name(String),
}

impl HeadParts {
    /// A streamed conversation with the scheme that the model's format usually has, no key, and everything else left to the
    /// provider.
    pub fn new(settings: ModelSettings, system: String, tools: Vec<ToolDeclaration>) -> Self {
        let scheme = match settings.model.format() {
            WireFormat::Anthropic => CacheScheme::Marks,
            WireFormat::OpenAiChatParts if settings.model.claude().is_some() => CacheScheme::Marks,
            WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses => CacheScheme::Breakpoints,
            WireFormat::OpenAiChat | WireFormat::Gemini => CacheScheme::Automatic,
        };
        Self {
            settings,
            system,
            system_blocks: Vec::new(),
            tools,
            tool_order: ToolOrder::ByName,
            cache_tools: false,
            tool_choice: ToolChoice::Auto,
            temperature: None,
            stop_sequences: Vec::new(),
            extra: Vec::new(),
            stream: true,
            scheme,
            cache_key: None,
            drop_foreign_thinking: false,
            sent: None,
        }
    }

    /// Whether [`Head::render`](crate::Head::render) writes everything that these parts ask for and the format can say. What is
    /// refused here is left out there; a caller that takes settings from elsewhere checks first.
    pub fn check(&self) -> Result<(), HeadPartsError> {
        if let Some(temperature) = self.temperature.filter(|it| !it.is_finite()) {
            return Err(HeadPartsError::Temperature(temperature));
        }
        if let Some(Thinking::Budget(tokens)) = self.settings.thinking
            && self.settings.model.provider == Provider::Anthropic
            && tokens < THINKING_BUDGET_MIN
        {
            return Err(HeadPartsError::ThinkingBudget(tokens));
        }
        if let Some(sent) = &self.sent
            && !sent.unsaid().is_empty()
            && !sent.is_said_by(self)
        {
            return Err(HeadPartsError::Unsaid(sent.unsaid().to_vec()));
        }
        if let ToolChoice::Tool(name) = &self.tool_choice
            && !self.tools.iter().any(|tool| tool.name == *name)
        {
            return Err(HeadPartsError::ToolChoice(name.clone()));
        }
        let refused = (0..self.extra.len()).find_map(|index| extra::refused(self, index));
        refused.map_or(Ok(()), Err)
    }

    /// Returns the same parts, streamed. A request that was taken over ([`Self::sent`]) says so from here on.
    #[must_use]
    pub fn streamed(mut self) -> Self {
        let was_said = self.sent.as_ref().is_some_and(|sent| sent.is_said_by(&self));
        self.stream = true;
        if was_said {
            self.sent = self.sent.map(|sent| sent.streamed());
        }
        self
    }

    /// What is asked for and left out because the model's format, or its way of marking, has no place for it: names of the fields
    /// of this type, `system_blocks.cache` for the marks of blocks. Empty when everything is sent.
    pub fn unsupported(&self) -> Vec<&'static str> {
        let format = self.settings.model.format();
        let marked = self.scheme != CacheScheme::Automatic;
        let (marks_blocks, marks_tools) = match format {
            WireFormat::Anthropic => (marked, marked),
            WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses => (marked, false),
            WireFormat::OpenAiChat | WireFormat::Gemini => (false, false),
        };
        let thinks = match (format, self.settings.thinking) {
            (_, None) | (WireFormat::Anthropic, Some(Thinking::Adaptive | Thinking::Budget(_))) => {
                true
            }
            // The effort stands in the same place and goes first.
            (WireFormat::Gemini, Some(_)) => self.sent_effort().is_none(),
            (
                WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses,
                Some(_),
            ) => false,
        };
        let binds = format == WireFormat::Anthropic && self.settings.thinking.is_some();
        let asked = [
            ("settings.thinking", !thinks),
            ("settings.effort", self.settings.effort.is_some() && self.sent_effort().is_none()),
            ("tool_choice", self.tool_choice != ToolChoice::Auto && self.tools.is_empty()),
            (
                "stop_sequences",
                format == WireFormat::OpenAiResponses && !self.stop_sequences.is_empty(),
            ),
            (
                "system_blocks.cache",
                !marks_blocks && self.system_blocks.iter().any(|block| block.cache.is_some()),
            ),
            ("cache_tools", !marks_tools && self.cache_tools),
            ("drop_foreign_thinking", !binds && self.drop_foreign_thinking),
        ];
        asked.into_iter().filter_map(|(name, missing)| missing.then_some(name)).collect()
    }

    /// The effort, where the format can say it.
    pub(crate) fn sent_effort(&self) -> Option<Effort> {
        let known = efforts(self.settings.model.format());
        self.settings.effort.filter(|effort| known.contains(effort))
    }

    /// The tools in the order in which they are sent.
    pub(crate) fn sent_tools(&self) -> Vec<&ToolDeclaration> {
        let mut tools: Vec<_> = self.tools.iter().collect();
        match self.tool_order {
            ToolOrder::ByName => tools.sort_by_key(|tool| &tool.name),
            ToolOrder::AsGiven => {}
        }
        tools
    }

    /// The system prompt as it is sent: its blocks, or the one text. Nothing of blanks alone among the blocks.
    pub(crate) fn system_prompt(&self) -> Vec<(&str, Option<Lifetime>)> {
        if self.system_blocks.is_empty() {
            let whole = (!self.system.trim().is_empty()).then_some((self.system.as_str(), None));
            return whole.into_iter().collect();
        }
        let shown = self.system_blocks.iter().filter(|block| !block.text.trim().is_empty());
        shown.map(|block| (block.text.as_str(), block.cache)).collect()
    }

    /// The temperature as it is written: the shortest digits that are read back as the same number.
    pub(crate) fn temperature_text(&self) -> Option<String> {
        self.temperature.filter(|it| it.is_finite()).map(|it| format!("{it}"))
    }

    /// The tool choice where it says something.
    pub(crate) fn chosen_tools(&self) -> Option<&ToolChoice> {
        let says = self.tool_choice != ToolChoice::Auto && !self.tools.is_empty();
        says.then_some(&self.tool_choice)
    }
}
