//! Why a conversation from elsewhere cannot be taken.

use tine_model::WireFormat;

use crate::read::ReadError;

/// Most messages of one conversation; the most that Anthropic accepts.
pub const IMPORT_MESSAGES_MAX: usize = 100_000;

/// Why a conversation cannot be imported. Indexes and lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// There is no message in it.
    #[error("there are no messages")]
    Empty,
    /// More than [`IMPORT_MESSAGES_MAX`] messages.
    #[error("there are more than {IMPORT_MESSAGES_MAX} messages")]
    TooMany,
    /// The text stops being JSON.
    #[error("line {line} is not valid JSON")]
    Json {
        /// Where.
        line: usize,
        /// What is wrong there.
        #[source]
        source: serde_json::Error,
    },
    /// Something in the list is no message.
    #[error("message {index} (line {line}) cannot be read")]
    Message {
        /// Which one.
        index: usize,
        /// Where it begins.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: ReadError,
    },
    /// The shapes of two providers in one conversation.
    #[error(
        "message {index} (line {line}) has the shape of {}, message {other} that of {}",
        .format.as_str(), .other_format.as_str()
    )]
    Mixed {
        /// The message that does not fit.
        index: usize,
        /// Where it begins.
        line: usize,
        /// Its format.
        format: WireFormat,
        /// The first message that showed a format.
        other: usize,
        /// That message's format.
        other_format: WireFormat,
    },
    /// A record of another tool holds what is no message.
    #[error("the {kind} record on line {line} cannot be read")]
    Record {
        /// Its kind, in the tool's own word.
        kind: String,
        /// Where it stands.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: ReadError,
    },
    /// The text is not what the tool writes.
    #[error("the text is no conversation of {tool}: {what}")]
    Shape {
        /// The tool.
        tool: &'static str,
        /// What is missing or wrong.
        what: String,
    },
}
