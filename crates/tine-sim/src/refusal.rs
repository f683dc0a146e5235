//! Why a request is not answered, before a format has put it into words of its own.

use serde_json::Value;

/// A refused request: the status and what the body says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// OpenAI's `error.code` and Anthropic's `error.details.error_code`, where the vendor gives one.
    pub(crate) code: Option<&'static str>,
    /// OpenAI's `error.param`, where the vendor gives one.
    pub(crate) param: Option<String>,
    /// Seconds after which to come back, where the vendor says so.
    pub(crate) retry_after: Option<u64>,
    /// The words that the vendor's own form cannot say. In a box, because every function of the simulator returns a refusal.
    pub(crate) own: Option<Box<OwnWords>>,
}

/// An error that is not in the form of the vendor whose format is spoken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OwnWords {
    /// An engine's, which differs from OpenAI's in a few members.
    Engine {
        /// OpenAI's `error.type`.
        kind: &'static str,
        /// llama.cpp's figures of a conversation that is too long: the prompt and the window, in tokens.
        figures: Option<(u64, u64)>,
    },
    /// A strict host's whole body.
    Body(Value),
}

impl Refusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            code: None,
            param: None,
            retry_after: None,
            own: None,
        }
    }

    /// A request that breaks the format.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    pub(crate) fn with_code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    /// Speaks as an engine does.
    pub(crate) fn of_engine(self, kind: &'static str, figures: Option<(u64, u64)>) -> Self {
        self.in_words(OwnWords::Engine { kind, figures })
    }

    /// Speaks in words of its own.
    pub(crate) fn in_words(self, words: OwnWords) -> Self {
        Self { own: Some(Box::new(words)), ..self }
    }

    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after: Some(seconds), ..self }
    }

    /// Names the field that is wrong.
    pub(crate) fn at(self, param: impl Into<String>) -> Self {
        Self { param: Some(param.into()), ..self }
    }
}

/// Says what a status means when a scenario gives no message of its own.
pub(crate) fn message_of(status: u16) -> &'static str {
    match status {
        400 => "the simulator was told to refuse this request",
        401 => "invalid API key (simulated)",
        402 => "the account has no credit (simulated)",
        403 => "the key may not do this (simulated)",
        404 => "not found (simulated)",
        413 => "request exceeds the maximum size (simulated)",
        429 => "rate limit exceeded (simulated)",
        503 => "service unavailable (simulated)",
        504 => "the request timed out (simulated)",
        529 => "Overloaded (simulated)",
        _ => "internal server error (simulated)",
    }
}
