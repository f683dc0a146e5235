//! A whole request as somebody else sent it → the parts of its head, and its messages.
//!
//! For whoever forks a conversation that another program holds. Messages are kept word for word, cache marks left out; a
//! setting without a field of its own becomes a further one. Nothing that the model sees is dropped in silence: what a head
//! cannot say is an error.

use tine_model::{Message, WireFormat};

use crate::anthropic;
use crate::head_parts::{HeadParts, HeadPartsError};
use crate::read::ReadError;

/// Why a request cannot be taken over.
#[derive(Debug, thiserror::Error)]
pub enum ReadRequestError {
    /// Requests of this format are not read.
    #[error("requests in the format {} cannot be taken over", .0.as_str())]
    Format(WireFormat),
    /// The request, or a setting of it, has not the shape that the provider wants.
    #[error(transparent)]
    Shape(#[from] ReadError),
    /// A part of it has something that a head cannot say.
    #[error("{at} has `{name}`, which cannot be taken over")]
    Unsayable {
        /// Which part.
        at: String,
        /// What it has.
        name: String,
    },
    /// One of its messages cannot be read. They count from 0, as the provider counts them.
    #[error("message {index} cannot be read")]
    Message {
        /// Which one.
        index: usize,
        /// What is wrong with it.
        source: ReadError,
    },
    /// The parts contradict each other.
    #[error("the request contradicts itself")]
    Parts(#[from] HeadPartsError),
}

/// Reads the body of a request. Anthropic's format only. The parts pass [`HeadParts::check`], and rendered again they say what the
/// request said, tools in the same order; only marks among the messages, and one that the provider was to place by itself, are
/// left out, because they belong to one request.
///
/// Memory and time are linear in the body.
pub fn read_request(
    format: WireFormat,
    body: &[u8],
) -> Result<(HeadParts, Vec<Message>), ReadRequestError> {
    let (parts, messages) = match format {
        WireFormat::Anthropic => anthropic::read_request(body)?,
        WireFormat::OpenAiChat
        | WireFormat::OpenAiChatParts
        | WireFormat::OpenAiResponses
        | WireFormat::Gemini => return Err(ReadRequestError::Format(format)),
    };
    parts.check()?;
    Ok((parts, messages))
}
