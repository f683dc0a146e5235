//! Why a request is not answered, before either format has put it into words of its own.

/// A refused request: the status and what the body says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) message: String,
    /// The Chat format's `error.code`, where the vendor gives one.
    pub(crate) code: Option<&'static str>,
}

impl Refusal {
    pub(crate) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), code: None }
    }

    /// A request that breaks the format.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    pub(crate) fn with_code(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
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
