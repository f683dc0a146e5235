//! What the HTTP client makes of its own errors: whom a failure concerns, how often it was tried, and no key in its words.

use std::time::Duration;

use tine_model::Usage;
use tine_wire::{DecodeError, FailureKind, Partial};

use crate::error::{
    BrokenCause, GATEWAY_STATUSES, LlmError, OVERLOADED, TOO_MANY_REQUESTS, TransportError,
};
use crate::http::secret::Secret;

impl LlmError {
    /// Whether the provider limits the rate of all requests like this one, or has no capacity for them: a reason for the others
    /// to wait too. An empty purse is none: it does not fill by waiting.
    pub(crate) fn limits_the_rate(&self) -> bool {
        let (Self::Refused { failure, .. }
        | Self::Broken { cause: BrokenCause::Provider(failure), .. }) = self
        else {
            return false;
        };
        match failure.kind {
            FailureKind::RateLimited | FailureKind::Overloaded => true,
            FailureKind::NotTheApi => {
                matches!(failure.status, Some(TOO_MANY_REQUESTS | OVERLOADED))
            }
            FailureKind::SpendLimit
            | FailureKind::NoCredit
            | FailureKind::Server
            | FailureKind::Timeout
            | FailureKind::Authentication
            | FailureKind::Permission
            | FailureKind::NotFound
            | FailureKind::InvalidRequest
            | FailureKind::TooLarge
            | FailureKind::Overflow
            | FailureKind::Other => false,
        }
    }

    /// Whether a failure that is tried again may be one that stays: a server's own error may come of the request.
    pub(crate) fn may_be_for_good(&self) -> bool {
        let Self::Refused { failure, .. } = self else { return false };
        let passes = failure.status.is_some_and(|status| GATEWAY_STATUSES.contains(&status));
        !passes && !self.limits_the_rate() && failure.kind != FailureKind::Timeout
    }

    /// Masks the key in everything that was quoted from the provider's answer.
    pub(crate) fn redacted(mut self, key: &Secret) -> Self {
        match &mut self {
            Self::Refused { failure, .. }
            | Self::Broken { cause: BrokenCause::Provider(failure), .. } => {
                failure.message = key.redact(&failure.message);
                failure.code = failure.code.as_deref().map(|code| key.redact(code));
            }
            Self::Protocol { source: DecodeError::Protocol { what, .. }, .. } => {
                *what = key.redact(what);
            }
            _ => {}
        }
        self
    }

    /// The same error after so many tries.
    pub(crate) fn after(mut self, tries: u32, wait: Option<Duration>) -> Self {
        match &mut self {
            Self::Refused { attempts, asked_wait, .. } => {
                *attempts = tries;
                *asked_wait = wait;
            }
            Self::Unreachable { attempts, .. } => *attempts = tries,
            _ => {}
        }
        self
    }
}

/// An error of the HTTP library, without the address that it names.
pub(crate) fn transport(error: reqwest::Error) -> TransportError {
    TransportError::of(&error.without_url())
}

/// What there is before anything arrived.
pub(crate) fn nothing() -> Box<Partial> {
    Box::new(Partial { message: None, usage: Usage::default(), id: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tine_wire::Failure;

    #[test]
    fn a_rate_limit_concerns_everybody_and_an_empty_purse_nobody() {
        use FailureKind::*;
        let check = |kind, status, expected| {
            let failure =
                Failure { status, kind, message: "words".into(), code: None, request_id: None };
            let error = LlmError::Refused { failure, attempts: 1, asked_wait: None };
            assert_eq!(error.limits_the_rate(), expected, "{error}");
        };
        check(RateLimited, Some(429), true);
        check(RateLimited, Some(503), true);
        check(Overloaded, Some(529), true);
        check(Overloaded, None, true);
        check(NotTheApi, Some(429), true);
        check(NotTheApi, Some(502), false);
        check(SpendLimit, Some(429), false);
        check(Server, Some(500), false);
    }

    #[test]
    fn the_tries_and_the_wait_are_told() {
        let failure = Failure {
            status: Some(429),
            kind: FailureKind::RateLimited,
            message: "words".into(),
            code: None,
            request_id: None,
        };
        let error = LlmError::Refused { failure, attempts: 1, asked_wait: None };
        insta::assert_snapshot!(
            error.after(4, Some(Duration::from_secs(90))),
            @"rate limited (status 429): words (tried 4 times); it asked for a wait of 90 s"
        );
    }
}
