//! Limits in the vendors' words: refusals, and the headers that say what is left.

use super::{Left, Over, Remaining};
use crate::endpoint::Endpoint;
use crate::refusal::Refusal;
use crate::timestamp::{rfc3339, short_duration};

/// Requests per minute that the headers speak of where a scenario does not limit them.
const REQUESTS_UNLIMITED: u64 = 4_000;

/// A vendor's way to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vendor {
    Anthropic,
    OpenAi,
    Google,
}

impl Vendor {
    fn of(endpoint: Endpoint) -> Self {
        match endpoint {
            Endpoint::Messages | Endpoint::CountTokens | Endpoint::Unknown => Self::Anthropic,
            Endpoint::Chat | Endpoint::Responses => Self::OpenAi,
            Endpoint::Gemini | Endpoint::CachedContents => Self::Google,
        }
    }
}

/// Why a request was refused. Only the cap says no time after which to come back.
pub(crate) fn refusal(over: Over, endpoint: Endpoint) -> Refusal {
    let vendor = Vendor::of(endpoint);
    let wait = |wait_ms: u64| wait_ms.div_ceil(1_000);
    match over {
        Over::Requests { wait_ms } => limited(vendor, "requests").retry_after(wait(wait_ms)),
        Over::Tokens { wait_ms } => limited(vendor, "input tokens").retry_after(wait(wait_ms)),
        Over::Ramp { wait_ms } => match vendor {
            Vendor::OpenAi => Refusal::new(
                503,
                "Slow down: the rate of requests grew too fast. Go back to the earlier rate, hold it for 15 minutes, then raise it slowly (simulated).",
            )
            .with_code("slow_down"),
            Vendor::Anthropic | Vendor::Google => Refusal::new(
                429,
                "The rate of requests grew too fast: acceleration is limited even within the minute's limits (simulated).",
            ),
        }
        .retry_after(wait(wait_ms)),
        Over::Spent => spent(vendor),
    }
}

fn limited(vendor: Vendor, what: &str) -> Refusal {
    let message = format!("Rate limit reached for {what} per minute (simulated).");
    match vendor {
        Vendor::OpenAi => Refusal::new(429, message).with_code("rate_limit_exceeded"),
        Vendor::Anthropic | Vendor::Google => Refusal::new(429, message),
    }
}

fn spent(vendor: Vendor) -> Refusal {
    let refusal = Refusal::new(
        429,
        "The spending limit is reached: nothing is answered until it is raised (simulated).",
    );
    match vendor {
        Vendor::Anthropic => refusal.with_code("enforced_spend_limit_reached"),
        Vendor::OpenAi => refusal.with_code("organization_spend_limit_exceeded"),
        Vendor::Google => refusal,
    }
}

/// Names and values of the headers of a reply at `now_ms`. Google sends none.
pub(crate) fn headers(endpoint: Endpoint, left: Remaining, now_ms: u64) -> Vec<(String, String)> {
    match Vendor::of(endpoint) {
        Vendor::Google => Vec::new(),
        vendor => {
            let requests = of_kind(vendor, "requests", left.requests, now_ms);
            let tokens: Vec<&str> = match vendor {
                Vendor::Anthropic => vec!["input-tokens", "tokens"],
                Vendor::OpenAi | Vendor::Google => vec!["tokens"],
            };
            let tokens = tokens.into_iter().filter(|_| left.tokens.is_some());
            let tokens = tokens.flat_map(|kind| of_kind(vendor, kind, left.tokens, now_ms));
            requests.into_iter().chain(tokens).collect()
        }
    }
}

fn of_kind(vendor: Vendor, kind: &str, left: Option<Left>, now_ms: u64) -> Vec<(String, String)> {
    let name = |field: &str| match vendor {
        Vendor::Anthropic => format!("anthropic-ratelimit-{kind}-{field}"),
        Vendor::OpenAi | Vendor::Google => format!("x-ratelimit-{field}-{kind}"),
    };
    let unlimited =
        Left { limit: REQUESTS_UNLIMITED, remaining: REQUESTS_UNLIMITED, full_in_ms: 0 };
    let Left { limit, remaining, full_in_ms } = left.unwrap_or(unlimited);
    let reset = match vendor {
        Vendor::Anthropic => rfc3339(now_ms.saturating_add(full_in_ms)),
        Vendor::OpenAi | Vendor::Google => short_duration(full_in_ms),
    };
    vec![
        (name("limit"), limit.to_string()),
        (name("remaining"), remaining.to_string()),
        (name("reset"), reset),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_the_vendors() {
        let left = Left { limit: 10, remaining: 4, full_in_ms: 90_000 };
        let left = Remaining { requests: Some(left), tokens: Some(left) };
        let show = |endpoint| {
            let headers = headers(endpoint, left, 0);
            headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect::<String>()
        };
        insta::assert_snapshot!(show(Endpoint::Messages), @"
        anthropic-ratelimit-requests-limit: 10
        anthropic-ratelimit-requests-remaining: 4
        anthropic-ratelimit-requests-reset: 1970-01-01T00:01:30Z
        anthropic-ratelimit-input-tokens-limit: 10
        anthropic-ratelimit-input-tokens-remaining: 4
        anthropic-ratelimit-input-tokens-reset: 1970-01-01T00:01:30Z
        anthropic-ratelimit-tokens-limit: 10
        anthropic-ratelimit-tokens-remaining: 4
        anthropic-ratelimit-tokens-reset: 1970-01-01T00:01:30Z
        ");
        insta::assert_snapshot!(show(Endpoint::Chat), @"
        x-ratelimit-limit-requests: 10
        x-ratelimit-remaining-requests: 4
        x-ratelimit-reset-requests: 1m30s
        x-ratelimit-limit-tokens: 10
        x-ratelimit-remaining-tokens: 4
        x-ratelimit-reset-tokens: 1m30s
        ");
        assert_eq!(show(Endpoint::Gemini), "");
    }

    #[test]
    fn only_the_cap_names_no_time_to_come_back() {
        let check = |over, endpoint, expected: (u16, Option<&str>, Option<u64>)| {
            let refusal = refusal(over, endpoint);
            assert_eq!((refusal.status, refusal.code, refusal.retry_after), expected);
        };
        let requests = Over::Requests { wait_ms: 1_001 };
        check(requests, Endpoint::Messages, (429, None, Some(2)));
        check(requests, Endpoint::Chat, (429, Some("rate_limit_exceeded"), Some(2)));
        let ramp = Over::Ramp { wait_ms: 1 };
        check(ramp, Endpoint::Messages, (429, None, Some(1)));
        check(ramp, Endpoint::Responses, (503, Some("slow_down"), Some(1)));
        check(Over::Spent, Endpoint::Messages, (429, Some("enforced_spend_limit_reached"), None));
        check(Over::Spent, Endpoint::Chat, (429, Some("organization_spend_limit_exceeded"), None));
    }
}
