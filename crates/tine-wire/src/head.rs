//! The head of a request: model, settings, tools and system prompt, up to the first message.

use bytes::Bytes;
use tine_history::Hash;
use tine_model::{CacheScheme, ModelSettings, Provider, RawJson, WireFormat};

use crate::{anthropic, gemini, json, openai_chat, openai_responses};

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

/// What a head is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadParts {
    /// Model and settings.
    pub settings: ModelSettings,
    /// System prompt; may be empty.
    pub system: String,
    /// Tools; they are sorted by name here, once.
    pub tools: Vec<ToolDeclaration>,
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
}

impl HeadParts {
    /// A streamed conversation with the scheme that the model's format usually has, and no key.
    pub fn new(settings: ModelSettings, system: String, tools: Vec<ToolDeclaration>) -> Self {
        let scheme = match settings.model.format() {
            WireFormat::Anthropic => CacheScheme::Marks,
            WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses => CacheScheme::Breakpoints,
            WireFormat::OpenAiChat | WireFormat::Gemini => CacheScheme::Automatic,
        };
        Self {
            settings,
            system,
            tools,
            stream: true,
            scheme,
            cache_key: None,
            drop_foreign_thinking: false,
        }
    }
}

/// Why a stored head cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum HeadError {
    /// The first line is not one that this version writes.
    #[error("the stored head has an unknown form: `{0}`")]
    Form(String),
}

/// A rendered head. Frozen: a lineage keeps the bytes it began with, whatever later versions would render.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub(crate) format: WireFormat,
    pub(crate) bytes: Bytes,
    /// Where the mark at the end of the system prompt (or of the tools, without one) may go.
    pub(crate) slot: Option<usize>,
    /// Whether the list of messages already has an element, so that the first frame keeps its comma.
    pub(crate) continued: bool,
    pub(crate) scheme: CacheScheme,
    pub(crate) hash: Hash,
    /// The model, where the request's address names it and its bytes do not.
    pub(crate) model: Option<String>,
}

impl Head {
    /// Renders a head.
    pub fn render(mut parts: HeadParts) -> Self {
        parts.tools.sort_by(|a, b| a.name.cmp(&b.name));
        let head = match parts.settings.model.format() {
            WireFormat::Anthropic => anthropic::render_head(&parts),
            WireFormat::OpenAiChat => openai_chat::render_head(&parts, WireFormat::OpenAiChat),
            WireFormat::OpenAiChatParts => {
                openai_chat::render_head(&parts, WireFormat::OpenAiChatParts)
            }
            WireFormat::OpenAiResponses => openai_responses::render_head(&parts),
            WireFormat::Gemini => gemini::render_head(&parts),
        };
        Self { scheme: parts.scheme, ..head }
    }

    /// A head without a scheme of its own; [`Self::render`] sets the one that was asked for.
    pub(crate) fn new(
        format: WireFormat,
        text: String,
        slot: Option<usize>,
        continued: bool,
    ) -> Self {
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        let scheme = CacheScheme::Automatic;
        Self { format, bytes: text.into(), slot, continued, scheme, hash, model: None }
    }

    /// The same head for a format whose requests name the model in their address. The name becomes part of the identity:
    /// heads of two models may have equal bytes, but no cache serves both.
    pub(crate) fn addressed(self, model: String) -> Self {
        let mut hasher = blake3::Hasher::new();
        // No name contains the separator's line end unescaped.
        hasher.update(json::string(&model).as_bytes()).update(b"\n").update(&self.bytes);
        Self { hash: *hasher.finalize().as_bytes(), model: Some(model), ..self }
    }

    /// The wire format.
    pub fn format(&self) -> WireFormat {
        self.format
    }

    /// The bytes that every request of the lineage begins with.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Identity of the head: over its bytes, and over the model where only the address names it ([`Self::model`]).
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// How the provider's cache is told what to keep.
    pub fn scheme(&self) -> CacheScheme {
        self.scheme
    }

    /// The model's name for the request's address; `None` in formats whose bytes name it.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// The head as text for the store: one line that says its form, then the bytes. The line ends with the model's name as a
    /// JSON string where the bytes do not hold it.
    pub fn to_stored(&self) -> String {
        let slot = self.slot.map_or_else(|| "-".to_owned(), |slot| slot.to_string());
        let (format, continued) = (self.format.as_str(), u8::from(self.continued));
        let text = String::from_utf8_lossy(&self.bytes);
        let model = self.model.iter().map(|model| format!(" {}", json::string(model)));
        let model: String = model.collect();
        format!("head2 {format} {slot} {continued} {}{model}\n{text}", self.scheme.as_str())
    }

    /// Restores a stored head, byte for byte. Heads of the first form, which named no scheme, were written when Anthropic's
    /// was the only one.
    pub fn from_stored(stored: &str) -> Result<Self, HeadError> {
        let (line, text) = stored.split_once('\n').unwrap_or((stored, ""));
        let error = || HeadError::Form(line.chars().take(80).collect());
        // The model's name may contain blanks.
        let words: Vec<&str> = line.splitn(6, ' ').collect();
        let (format, slot, continued, scheme, model) = match words[..] {
            ["head1", "anthropic", slot, continued] => {
                ("anthropic", slot, continued, "marks", None)
            }
            ["head1", format, slot, continued] => (format, slot, continued, "automatic", None),
            ["head2", format, slot, continued, scheme] => (format, slot, continued, scheme, None),
            ["head2", format, slot, continued, scheme, model] => {
                (format, slot, continued, scheme, Some(model))
            }
            _ => return Err(error()),
        };
        let format = WireFormat::from_name(format).ok_or_else(error)?;
        let scheme = CacheScheme::from_name(scheme).ok_or_else(error)?;
        let slot = match slot {
            "-" => None,
            number => Some(number.parse().map_err(|_| error())?),
        };
        if slot.is_some_and(|slot| !text.is_char_boundary(slot)) {
            return Err(error());
        }
        let head = Self { scheme, ..Self::new(format, text.to_owned(), slot, continued == "1") };
        match (format, model) {
            (WireFormat::Gemini, Some(model)) => {
                Ok(head.addressed(serde_json::from_str(model).map_err(|_| error())?))
            }
            (WireFormat::Gemini, None) | (_, Some(_)) => Err(error()),
            (_, None) => Ok(head),
        }
    }
}

/// The name of the field that limits a reply's length. OpenAI's own models refuse the old name; compatible servers
/// often know only the old one.
pub(crate) fn chat_max_tokens_field(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi | Provider::OpenAiChat => "max_completion_tokens",
        Provider::OpenAiCompat
        | Provider::DeepSeek
        | Provider::Sim
        | Provider::Anthropic
        | Provider::Gemini
        | Provider::MiniMax => "max_tokens",
    }
}
