//! Messages as on the wire: a role and content blocks, and the provider's own text where there is one.

use crate::{RawJson, SeenFile, ToolCallId, WireFormat};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person, the harness, and every tool result.
    User,
    /// The model.
    Assistant,
    /// An operator instruction in the middle of a conversation (never the system prompt, which is part of the head).
    System,
}

/// The arguments of a call, as the model gave them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolInput {
    /// A JSON object, in the exact text that the model streamed.
    Valid(RawJson),
    /// Text that is not a JSON object. The call is answered with an error; on the wire it stands as `{}`.
    Invalid(String),
}

impl ToolInput {
    /// The text of the object, as it stands on the wire.
    pub fn as_object(&self) -> &str {
        match self {
            Self::Valid(input) => input.as_str(),
            Self::Invalid(_) => "{}",
        }
    }
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// Plain text.
    Text(String),
    /// Visible reasoning, with the signature that binds it to its prefix where the provider gives one.
    Thinking {
        /// The reasoning; may be empty although a signature is present.
        text: String,
        /// Opaque; replayed unchanged.
        signature: Option<String>,
    },
    /// Reasoning that the provider returns only in sealed form.
    RedactedThinking(String),
    /// A tool call.
    ToolUse {
        /// The provider's id of the call.
        id: ToolCallId,
        /// The tool.
        name: String,
        /// Its arguments.
        input: ToolInput,
    },
    /// The answer to a tool call.
    ToolResult {
        /// The call that is answered.
        call: ToolCallId,
        /// Text and images; usually one text.
        content: Vec<Block>,
        /// Whether the tool failed or was refused. The model sees this; the run goes on.
        is_error: bool,
    },
    /// An image, in the provider's own shape.
    Image(RawJson),
    /// A document, in the provider's own shape.
    Document(RawJson),
    /// A block of a kind that tine does not know; kept and replayed.
    Unknown(RawJson),
}

/// A whole message in the provider's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawMessage {
    /// The wire format in which the text is a message.
    pub format: WireFormat,
    /// The message object: role, content and every field that came with it, minus cache marks.
    pub json: RawJson,
}

/// One message. Immutable: a message with a provider's text can only be made together with the blocks read from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    role: Role,
    blocks: Vec<Block>,
    raw: Option<RawMessage>,
    seen: Vec<SeenFile>,
}

impl Message {
    /// A message that we wrote.
    pub fn new(role: Role, blocks: Vec<Block>) -> Self {
        Self { role, blocks, raw: None, seen: Vec::new() }
    }

    /// A user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Block::Text(text.into())])
    }

    /// A message that a provider sent (or that was imported in a provider's shape). `blocks` is the reading of `raw`;
    /// only `tine-wire` makes that reading.
    pub fn received(role: Role, blocks: Vec<Block>, raw: RawMessage) -> Self {
        Self { role, blocks, raw: Some(raw), seen: Vec::new() }
    }

    /// The same message, whose tool results show these files.
    pub fn with_seen(self, seen: Vec<SeenFile>) -> Self {
        Self { seen, ..self }
    }

    /// The files that its tool results show or tell to be written, in call order.
    pub fn seen(&self) -> &[SeenFile] {
        &self.seen
    }

    /// Who speaks.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The content, in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The provider's own text, if there is one.
    pub fn raw(&self) -> Option<&RawMessage> {
        self.raw.as_ref()
    }

    /// All text blocks, joined by an empty line. Providers cut one text into several blocks where a part of it has citations or a
    /// signature: in a model's reply, blocks that follow each other directly are one text. Mistral puts the references between them.
    pub fn text(&self) -> String {
        let format =
            self.raw.as_ref().filter(|_| self.role == Role::Assistant).map(|raw| raw.format);
        let (is_cut, has_references) = match format {
            Some(WireFormat::Anthropic | WireFormat::Gemini) => (true, false),
            Some(WireFormat::OpenAiChat | WireFormat::OpenAiChatParts) => (true, true),
            // Each item is a message of its own.
            Some(WireFormat::OpenAiResponses) | None => (false, false),
        };
        let mut joined = String::new();
        let mut goes_on = false;
        for block in &self.blocks {
            let text = block.as_text();
            if let Some(text) = text {
                if !joined.is_empty() && !goes_on {
                    joined.push_str("\n\n");
                }
                joined.push_str(text);
            }
            let is_reference = has_references && matches!(block, Block::Unknown(_));
            goes_on = is_cut && (text.is_some() || goes_on && is_reference);
        }
        joined
    }

    /// The tool calls of this message, in call order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCallId> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolUse { id, .. } => Some(id),
            _ => None,
        })
    }
}

impl Block {
    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A tool result of one text.
    pub fn result(call: ToolCallId, text: impl Into<String>, is_error: bool) -> Self {
        Self::ToolResult { call, content: vec![Self::Text(text.into())], is_error }
    }
}
