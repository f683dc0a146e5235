//! The head of a request: model, settings, tools and system prompt, up to the first message.

use bytes::Bytes;
use tine_history::Hash;
use tine_model::{ModelSettings, Provider, RawJson, WireFormat};

use crate::{anthropic, openai_chat};

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
    /// Whether the reply is to be streamed.
    pub stream: bool,
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
    pub(crate) hash: Hash,
}

impl Head {
    /// Renders a head.
    pub fn render(mut parts: HeadParts) -> Self {
        parts.tools.sort_by(|a, b| a.name.cmp(&b.name));
        match parts.settings.model.provider.format() {
            WireFormat::Anthropic => anthropic::render_head(&parts),
            WireFormat::OpenAiChat => openai_chat::render_head(&parts),
        }
    }

    pub(crate) fn new(
        format: WireFormat,
        text: String,
        slot: Option<usize>,
        continued: bool,
    ) -> Self {
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        Self { format, bytes: text.into(), slot, continued, hash }
    }

    /// The wire format.
    pub fn format(&self) -> WireFormat {
        self.format
    }

    /// The bytes that every request of the lineage begins with.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Identity of the head: over its bytes alone.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// The head as text for the store: one line that says its form, then the bytes.
    pub fn to_stored(&self) -> String {
        let slot = self.slot.map_or_else(|| "-".to_owned(), |slot| slot.to_string());
        let text = String::from_utf8_lossy(&self.bytes);
        format!("head1 {} {slot} {}\n{text}", self.format.as_str(), u8::from(self.continued))
    }

    /// Restores a stored head, byte for byte.
    pub fn from_stored(stored: &str) -> Result<Self, HeadError> {
        let (line, text) = stored.split_once('\n').unwrap_or((stored, ""));
        let error = || HeadError::Form(line.chars().take(80).collect());
        let words: Vec<&str> = line.split(' ').collect();
        let ["head1", format, slot, continued] = words[..] else { return Err(error()) };
        let format = WireFormat::from_name(format).ok_or_else(error)?;
        let slot = match slot {
            "-" => None,
            number => Some(number.parse().map_err(|_| error())?),
        };
        if slot.is_some_and(|slot| !text.is_char_boundary(slot)) {
            return Err(error());
        }
        Ok(Self::new(format, text.to_owned(), slot, continued == "1"))
    }
}

/// The name of the field that limits a reply's length. OpenAI's own models refuse the old name; compatible servers
/// often know only the old one.
pub(crate) fn chat_max_tokens_field(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi => "max_completion_tokens",
        Provider::OpenAiCompat | Provider::Sim | Provider::Anthropic => "max_tokens",
    }
}
