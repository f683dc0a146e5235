//! Why there is no reply.
//!
//! No text here contains a key, and none repeats its source.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use tine_model::{Provider, WireFormat};
use tine_wire::{DecodeError, Failure, FailureKind, NoAnswer, Overflow, Partial, Reply};

/// Why a request has no reply, or why a client cannot be made. The same type with and without HTTP, so that a match over it means the
/// same in both.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    /// The provider wants a key and none is configured.
    #[error("no API key: {variable} is not set")]
    MissingKey {
        /// The environment variable that would hold it.
        variable: String,
    },
    /// The provider has no address of its own and none is configured.
    #[error("no base URL for provider `{}`{}", provider.as_str(), not_set(*variable))]
    MissingBaseUrl {
        /// The provider.
        provider: Provider,
        /// The environment variable that would hold it; `None` for a provider that has no such variable.
        variable: Option<&'static str>,
    },
    /// The base URL cannot be used.
    #[error("the base URL `{url}` cannot be used: {reason}")]
    BadBaseUrl {
        /// The address, without a name and password if it had them.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The key holds characters that no header can carry.
    #[error("the API key holds characters that cannot be sent")]
    BadKey,
    /// The HTTP client cannot be set up on this machine.
    #[error("the HTTP client cannot be set up")]
    Setup {
        /// Why.
        source: TransportError,
    },
    /// The request is written in a format that the provider does not speak.
    #[error("provider `{}` does not take requests in the format {}", provider.as_str(), request.as_str())]
    WrongFormat {
        /// Format of the request.
        request: WireFormat,
        /// The provider.
        provider: Provider,
    },
    /// The client, or the provider behind it, has no such thing.
    #[error("this model's client has no {what}")]
    Unsupported {
        /// What was asked for.
        what: &'static str,
    },
    /// A header of the request that cannot be sent, or that the client writes itself. Nothing was sent.
    #[error("the header `{name}` cannot be sent with a request")]
    BadHeader {
        /// Its name.
        name: String,
    },
    /// A text that names no cached content. Nothing was sent.
    #[error("`{name}` does not name cached content")]
    BadCachedName {
        /// The text.
        name: String,
    },
    /// No connection: refused, unknown host, or a failed TLS handshake. The provider did not see the request.
    #[error("cannot reach {url}{}", after(*attempts))]
    Unreachable {
        /// Where the request was to go.
        url: String,
        /// How often it was tried.
        attempts: u32,
        /// Why not.
        source: TransportError,
    },
    /// The provider (or something before it) answered with a failure, and trying again does not help or did not.
    #[error("{failure}{}{}", after(*attempts), asked(*asked_wait))]
    Refused {
        /// The failure.
        failure: Failure,
        /// How often it was tried.
        attempts: u32,
        /// The wait that the provider asked for, when that was longer than the limit allows.
        asked_wait: Option<Duration>,
    },
    /// The answer broke off. What had arrived is kept.
    #[error("the reply broke off")]
    Broken {
        /// What had arrived.
        partial: Box<Partial>,
        /// What broke it.
        #[source]
        cause: BrokenCause,
    },
    /// The provider did not keep to its own format, or sent more than any honest reply has.
    #[error("the reply is not what the format says")]
    Protocol {
        /// What had arrived before.
        partial: Box<Partial>,
        /// What is wrong.
        source: DecodeError,
    },
    /// The reply came whole, and is no answer. Clients return such a reply; whoever wants an answer makes this error of it
    /// ([`answered`](Self::answered)).
    #[error("the model gave no answer: {reason}")]
    NoAnswer {
        /// The reply that came.
        partial: Box<Partial>,
        /// Why it is none.
        reason: NoAnswer,
    },
    /// A time limit of this client struck.
    #[error("the limit of {} {} passed", seconds(*allowed), limit.as_str())]
    Timeout {
        /// Which limit.
        limit: TimeLimit,
        /// How long it is.
        allowed: Duration,
        /// What had arrived.
        partial: Box<Partial>,
    },
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled {
        /// What had arrived.
        partial: Box<Partial>,
    },
}

impl LlmError {
    /// Returns the reply when it may pass for an answer, else the error. A reply with words that ended for an unknown reason
    /// passes: its words are worth keeping, and whoever keeps them asks [`Reply::no_answer`] again.
    pub fn answered(reply: Reply) -> Result<Reply, Self> {
        match reply.no_answer() {
            None | Some(NoAnswer::UnknownEnd(_)) => Ok(reply),
            Some(reason) => Err(Self::no_answer(reply, reason)),
        }
    }

    /// Makes the error of a reply that is no answer.
    pub fn no_answer(reply: Reply, reason: NoAnswer) -> Self {
        let Reply { id, message, usage, .. } = reply;
        let message = (!message.blocks().is_empty()).then_some(message);
        Self::NoAnswer { partial: Box::new(Partial { message, usage, id }), reason }
    }

    /// Returns the figures of a conversation that is too long for the model, as far as they are known. None for other errors.
    pub fn overflow(&self) -> Option<Overflow> {
        match self {
            Self::Refused { failure, .. }
            | Self::Broken { cause: BrokenCause::Provider(failure), .. } => match failure.kind {
                FailureKind::TooLarge => Some(Overflow::default()),
                _ => failure.overflow(),
            },
            Self::NoAnswer { reason: NoAnswer::WindowFull, .. } => Some(Overflow::default()),
            _ => None,
        }
    }

    /// What had arrived before the error; `None` where nothing can have arrived.
    pub fn partial(&self) -> Option<&Partial> {
        match self {
            Self::Broken { partial, .. }
            | Self::Protocol { partial, .. }
            | Self::NoAnswer { partial, .. }
            | Self::Timeout { partial, .. }
            | Self::Cancelled { partial } => Some(partial),
            Self::MissingKey { .. }
            | Self::MissingBaseUrl { .. }
            | Self::BadBaseUrl { .. }
            | Self::BadKey
            | Self::Setup { .. }
            | Self::WrongFormat { .. }
            | Self::Unsupported { .. }
            | Self::BadCachedName { .. }
            | Self::BadHeader { .. }
            | Self::Unreachable { .. }
            | Self::Refused { .. } => None,
        }
    }

    /// Whether the provider's own word for what went wrong is of the kind that passes by itself; `false` where it said nothing.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Refused { failure, .. }
            | Self::Broken { cause: BrokenCause::Provider(failure), .. } => is_passing(failure),
            _ => false,
        }
    }

    /// Whether the same request may succeed later, so that offering to try again makes sense. The client itself is more careful: it sends again
    /// only while nothing of the reply has been reported.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Broken { .. } | Self::Timeout { .. } => true,
            Self::NoAnswer { reason, .. } => reason.is_passing(),
            Self::Refused { failure, .. } => is_passing(failure),
            Self::MissingKey { .. }
            | Self::MissingBaseUrl { .. }
            | Self::BadBaseUrl { .. }
            | Self::BadKey
            | Self::Setup { .. }
            | Self::WrongFormat { .. }
            | Self::Unsupported { .. }
            | Self::BadCachedName { .. }
            | Self::BadHeader { .. }
            | Self::Protocol { .. }
            | Self::Cancelled { .. } => false,
        }
    }
}

/// Statuses that pass: too many requests, conflict, overload, a provider's own trouble. 529 is Anthropic's overload.
const PASSING_STATUSES: [u16; 8] = [408, 409, TOO_MANY_REQUESTS, 500, 502, 503, 504, OVERLOADED];

/// The status of a refusal for the rate, which a gateway may give with a page of its own.
pub(crate) const TOO_MANY_REQUESTS: u16 = 429;

/// The status of an overloaded provider, which none of the standards names.
pub(crate) const OVERLOADED: u16 = 529;

/// Statuses of a gateway in front of the provider: they pass too, whatever page comes with them. Some of them use 529 for overload.
pub(crate) const GATEWAY_STATUSES: [u16; 5] = [TOO_MANY_REQUESTS, 502, 503, 504, OVERLOADED];

/// Whether a failure is of the kind that passes by itself.
pub(crate) fn is_passing(failure: &Failure) -> bool {
    match failure.kind {
        FailureKind::SpendLimit
        | FailureKind::NoCredit
        | FailureKind::TooLarge
        | FailureKind::Overflow => false,
        FailureKind::NotTheApi => {
            failure.status.is_some_and(|status| GATEWAY_STATUSES.contains(&status))
        }
        FailureKind::RateLimited
        | FailureKind::Overloaded
        | FailureKind::Server
        | FailureKind::Timeout
        | FailureKind::Authentication
        | FailureKind::Permission
        | FailureKind::NotFound
        | FailureKind::InvalidRequest
        | FailureKind::Other => match failure.status {
            // An error inside an answer that began with 200 is known by its kind alone.
            None | Some(200..=299) => matches!(
                failure.kind,
                FailureKind::RateLimited
                    | FailureKind::Overloaded
                    | FailureKind::Server
                    | FailureKind::Timeout
            ),
            Some(status) => PASSING_STATUSES.contains(&status),
        },
    }
}

/// What broke a reply off.
#[derive(Debug, thiserror::Error)]
pub enum BrokenCause {
    /// The answer ended too early, without an error.
    #[error("the connection ended before the reply was complete")]
    Ended,
    /// The connection broke.
    #[error("the connection was lost: {0}")]
    Connection(TransportError),
    /// The provider said inside the stream that it failed.
    #[error("{0}")]
    Provider(Failure),
}

/// Which limit of the client struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeLimit {
    /// For the connection, TLS included.
    Connect,
    /// For the first part of the reply.
    FirstEvent,
    /// Between two pieces of the answer.
    Idle,
    /// For one reply, from sending to its end.
    Reply,
    /// For everything, retries and waits included.
    Whole,
}

impl TimeLimit {
    /// What the time was allowed for.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "for the connection",
            Self::FirstEvent => "for the first part of the reply",
            Self::Idle => "between two parts of the reply",
            Self::Reply => "for one reply",
            Self::Whole => "for the whole request",
        }
    }
}

/// What went wrong below HTTP, in the words of the innermost cause (`Connection refused (os error 111)`): the layers between
/// say the same less exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportError(String);

impl TransportError {
    /// The innermost cause of `error`. An address that only the outer layers name is left out: whoever wraps this tells it. A client
    /// of another transport makes its errors with this too; it must not pass one whose innermost text holds a key.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let mut innermost = error;
        while let Some(source) = innermost.source() {
            innermost = source;
        }
        Self(innermost.to_string())
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for TransportError {}

fn not_set(variable: Option<&str>) -> String {
    variable.map(|variable| format!(": {variable} is not set")).unwrap_or_default()
}

fn after(attempts: u32) -> String {
    if attempts > 1 { format!(" (tried {attempts} times)") } else { String::new() }
}

fn asked(wait: Option<Duration>) -> String {
    wait.map(|wait| format!("; it asked for a wait of {}", seconds(wait))).unwrap_or_default()
}

fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tine_model::Usage;

    fn failure(kind: FailureKind, status: Option<u16>) -> Failure {
        Failure { status, kind, message: "words".into(), code: None, request_id: None }
    }

    #[test]
    fn texts_name_the_variable_the_limit_and_the_tries() {
        let refused = failure(FailureKind::RateLimited, Some(429));
        let texts = [
            LlmError::MissingKey { variable: "ANTHROPIC_API_KEY".into() },
            LlmError::MissingBaseUrl { provider: Provider::OpenAiCompat, variable: Some("X_URL") },
            LlmError::MissingBaseUrl { provider: Provider::Sim, variable: None },
            LlmError::Refused { failure: refused.clone(), attempts: 1, asked_wait: None },
            LlmError::Refused {
                failure: refused,
                attempts: 4,
                asked_wait: Some(Duration::from_secs(90)),
            },
            LlmError::Timeout {
                limit: TimeLimit::Idle,
                allowed: Duration::from_millis(1500),
                partial: Box::new(Partial { message: None, usage: Usage::default(), id: None }),
            },
        ]
        .map(|error| error.to_string());
        insta::assert_snapshot!(texts.join("\n"), @r#"
        no API key: ANTHROPIC_API_KEY is not set
        no base URL for provider `openai-compat`: X_URL is not set
        no base URL for provider `sim`
        rate limited (status 429): words
        rate limited (status 429): words (tried 4 times); it asked for a wait of 90 s
        the limit of 1.5 s between two parts of the reply passed
        "#);
    }

    #[test]
    fn only_what_passes_by_itself_is_retryable() {
        use FailureKind::*;
        let check = |kind, status, expected| {
            let failure = failure(kind, status);
            assert_eq!(is_passing(&failure), expected, "{failure:?}");
        };
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            check(Other, Some(status), true);
        }
        for status in [400, 401, 402, 403, 404, 413, 422, 301, 307] {
            check(Other, Some(status), false);
        }
        check(SpendLimit, Some(429), false);
        check(TooLarge, Some(429), false);
        check(Overflow, Some(500), false);
        check(NotTheApi, Some(200), false);
        check(NotTheApi, Some(500), false);
        check(NotTheApi, Some(502), true);
        check(Overloaded, None, true);
        check(InvalidRequest, None, false);
        check(Overloaded, Some(200), true);
    }

    #[test]
    fn the_innermost_cause_speaks() {
        #[derive(Debug, thiserror::Error)]
        #[error("request to https://host/x failed")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("connection refused"));
        assert_eq!(TransportError::of(&error).to_string(), "connection refused");
    }
}
