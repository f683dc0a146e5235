//! What was asked for, and how each format puts what is not an answer: errors, ids, rate headers.

use crate::anthropic;
use crate::gemini;
use crate::openai;
use crate::refusal::Refusal;

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Anthropic Messages.
    Messages,
    /// Anthropic's token counter.
    CountTokens,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
    /// Gemini's `generateContent`, streamed or not, and its token counter.
    Gemini,
    /// Gemini's cached contents.
    CachedContents,
    /// A path that is not served.
    Unknown,
}

impl Endpoint {
    /// Name of the header that carries a reply's id; Google sends none.
    pub(crate) fn request_id_header(self) -> Option<&'static str> {
        match self {
            Self::Messages | Self::CountTokens | Self::Unknown => Some("request-id"),
            Self::Chat | Self::Responses => Some("x-request-id"),
            Self::Gemini | Self::CachedContents => None,
        }
    }

    /// The body of a refusal.
    pub(crate) fn error_body(self, refusal: &Refusal, request_id: &str) -> String {
        match self {
            Self::Messages | Self::CountTokens | Self::Unknown => {
                anthropic::error_body(refusal, request_id)
            }
            Self::Chat | Self::Responses => openai::error_body(refusal),
            Self::Gemini | Self::CachedContents => gemini::error_body(refusal),
        }
    }

    /// The status of an error that has no stream to stand in.
    pub(crate) fn status_of(self, kind: &str) -> u16 {
        match (kind, self) {
            ("rate_limit_error", _) => 429,
            ("overloaded_error", Self::Chat | Self::Responses | Self::Gemini) => 503,
            ("overloaded_error", _) => 529,
            _ => 500,
        }
    }
}
