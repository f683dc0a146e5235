//! Conversations from elsewhere → messages: plain provider messages, and what other tools write about their sessions.
//!
//! Every reader is a pure function over a file's text. What a tool keeps in a provider's own shape is kept verbatim; what
//! it keeps in a shape of its own is written anew, and counted. Records that are no part of the conversation are left out, and
//! counted by kind. No reader follows a path to another file, and none mends what a model said.

mod claude_code;
mod codex;
mod counts;
mod detect;
mod error;
mod lines;
mod messages;
mod opencode;
#[cfg(test)]
mod shown;

use tine_model::{Block, Message, ModelRef, Provider, WireFormat};

pub use claude_code::{RecordedRequest, Unrebuilt};
pub use counts::Counts;
pub use detect::conversation_format;
pub use error::{IMPORT_MESSAGES_MAX, ImportError};
pub use messages::{Imported, import_messages};
pub(crate) use messages::{goes_on, joined};
pub use opencode::{CLEARED_RESULT, SessionOutline, read_opencode_outline};

/// The shapes of files that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConversationFormat {
    /// A JSON array, or JSON Lines, of messages in a provider's shape.
    Messages,
    /// A transcript of Claude Code: JSON Lines, a tree of records.
    ClaudeCode,
    /// A rollout of Codex: JSON Lines, items of Responses among events.
    Codex,
    /// An export of OpenCode: one JSON object.
    OpenCode,
}

impl ConversationFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Messages, Self::ClaudeCode, Self::Codex, Self::OpenCode];

    /// The name under which it is given and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
        }
    }
}

/// How much of the file the messages can stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carries {
    /// The messages are what its model saw, and can be replayed as such.
    Full,
    /// They tell what was said, but cannot be replayed; only a digest of them can be gone on from.
    Digest {
        /// Why, as the rest of a sentence.
        reason: String,
    },
}

/// A conversation that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedConversation {
    /// The shape of the file.
    pub format: ConversationFormat,
    /// The system prompt, where the file has one.
    pub system: Option<String>,
    /// The messages in their order, one for each message of a provider.
    pub messages: Vec<Message>,
    /// The model that spoke last, in the tool's own word.
    pub model: Option<String>,
    /// Whether the messages can be replayed.
    pub carries: Carries,
    /// Records and parts that are not among the messages, by kind.
    pub left_out: Counts,
    /// What had to be written anew or joined, by kind.
    pub rewritten: Counts,
    /// The first lines that are no JSON, counted from 1; only the first few are named.
    pub damaged_lines: Vec<usize>,
    /// The request behind the last answer, where the file records it and its digest says that it is right; else why it is not here.
    pub request: Result<RecordedRequest, Unrebuilt>,
}

impl ImportedConversation {
    fn new(format: ConversationFormat) -> Self {
        Self {
            format,
            system: None,
            messages: Vec::new(),
            model: None,
            carries: Carries::Full,
            left_out: Counts::default(),
            rewritten: Counts::default(),
            damaged_lines: Vec::new(),
            request: Err(Unrebuilt::NotRecorded),
        }
    }

    /// The model that spoke last, with the provider that the file's tool asks: what goes on with it unless told otherwise. `None`
    /// where the file names none, or one that no provider of ours has.
    pub fn model_ref(&self) -> Option<ModelRef> {
        let name = self.model.as_ref()?;
        match self.format {
            ConversationFormat::ClaudeCode => {
                Some(ModelRef { provider: Provider::Anthropic, name: name.clone() })
            }
            ConversationFormat::Codex => {
                Some(ModelRef { provider: Provider::OpenAi, name: name.clone() })
            }
            ConversationFormat::OpenCode => name.parse().ok(),
            ConversationFormat::Messages => None,
        }
    }

    /// Gives the conversation back if it is one.
    fn checked(self) -> Result<Self, ImportError> {
        match self.messages.len() {
            0 => Err(ImportError::Empty),
            count if count > IMPORT_MESSAGES_MAX => Err(ImportError::TooMany),
            _ => Ok(self),
        }
    }
}

/// Reads a conversation in this format. `target` is the format of the model that will go on with it: it decides what plain
/// messages are taken for, and whether what only one provider can open can be replayed.
pub fn read_conversation(
    format: ConversationFormat,
    text: &str,
    target: WireFormat,
) -> Result<ImportedConversation, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    match format {
        ConversationFormat::Messages => {
            let imported = import_messages(text, target)?;
            let read = ImportedConversation {
                system: imported.system,
                messages: imported.messages,
                ..ImportedConversation::new(format)
            };
            read.checked()
        }
        ConversationFormat::ClaudeCode => claude_code::read(text)?.checked(),
        ConversationFormat::Codex => codex::read(text, target)?.checked(),
        ConversationFormat::OpenCode => opencode::read(text)?.checked(),
    }
}

/// Blocks that a request in the format `target` will not show, by kind: reasoning and media are bound to the shape of the
/// provider that they came from.
pub fn unsent_blocks(messages: &[Message], target: WireFormat) -> Counts {
    let mut counts = Counts::default();
    for message in messages {
        // What has no provider's text here was written in Anthropic's shapes.
        let native = message.raw().map_or(WireFormat::Anthropic, |raw| raw.format);
        if native == target.of_messages() {
            continue;
        }
        for block in message.blocks() {
            count_unsent(block, &mut counts);
        }
    }
    counts
}

fn count_unsent(block: &Block, counts: &mut Counts) {
    match block {
        Block::Thinking { .. } | Block::RedactedThinking(_) => counts.add("thinking"),
        Block::Image(_) => counts.add("image"),
        Block::Document(_) => counts.add("document"),
        Block::Unknown(_) => counts.add("block of an unknown kind"),
        Block::ToolResult { content, .. } => {
            // A result holds no result that could be sent.
            for inner in content.iter().filter(|inner| !matches!(inner, Block::ToolResult { .. })) {
                count_unsent(inner, counts);
            }
        }
        Block::Text(_) | Block::ToolUse { .. } => {}
    }
}
