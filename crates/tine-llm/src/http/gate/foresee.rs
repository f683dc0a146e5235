//! What a provider's headers say of its rate limits before it refuses anything. Pure: headers in, a wait out.
//!
//! Both vendors fill their limits up all the time, and name the moment at which one is full again. So the wait is not until
//! then, but until enough is likely to be there; the gate's waves find out the rest. Sources: Anthropic, "Rate limits: response
//! headers"; OpenAI, "Rate limits: rate limits in headers".

use std::time::{Duration, SystemTime};

use reqwest::header::{DATE, HeaderMap};

use crate::http::retry::word;

/// Longest wait that is foreseen. The headers know nothing of how much the next request needs, and a refusal names its wait exactly.
const FORESEEN_MAX: Duration = Duration::from_secs(30);

/// The share of a full token limit that is waited for. A quarter of a minute's tokens lets a long prompt through.
const TOKENS_SHARE: u32 = 4;

const MINUTE_SECONDS: u64 = 60;
const HOUR_SECONDS: u64 = 60 * MINUTE_SECONDS;
const DAY_SECONDS: u64 = 24 * HOUR_SECONDS;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Requests,
    Tokens,
}

/// The headers of one limit.
struct Limit {
    counted: Counted,
    remaining: &'static str,
    reset: &'static str,
    limit: &'static str,
}

/// Every limit that is looked at. Anthropic's `tokens` is left out: it repeats the strictest of the others.
const LIMITS: [Limit; 5] = [
    Limit {
        counted: Counted::Requests,
        remaining: "anthropic-ratelimit-requests-remaining",
        reset: "anthropic-ratelimit-requests-reset",
        limit: "anthropic-ratelimit-requests-limit",
    },
    Limit {
        counted: Counted::Tokens,
        remaining: "anthropic-ratelimit-input-tokens-remaining",
        reset: "anthropic-ratelimit-input-tokens-reset",
        limit: "anthropic-ratelimit-input-tokens-limit",
    },
    Limit {
        counted: Counted::Tokens,
        remaining: "anthropic-ratelimit-output-tokens-remaining",
        reset: "anthropic-ratelimit-output-tokens-reset",
        limit: "anthropic-ratelimit-output-tokens-limit",
    },
    Limit {
        counted: Counted::Requests,
        remaining: "x-ratelimit-remaining-requests",
        reset: "x-ratelimit-reset-requests",
        limit: "x-ratelimit-limit-requests",
    },
    Limit {
        counted: Counted::Tokens,
        remaining: "x-ratelimit-remaining-tokens",
        reset: "x-ratelimit-reset-tokens",
        limit: "x-ratelimit-limit-tokens",
    },
];

/// How long nothing more should be sent; `None` when something is left of every limit.
pub(crate) fn foreseen(headers: &HeaderMap) -> Option<Duration> {
    LIMITS.iter().filter_map(|limit| limit.wait(headers)).max()
}

impl Limit {
    fn wait(&self, headers: &HeaderMap) -> Option<Duration> {
        let count = |name: &str| word(headers, name)?.parse::<u32>().ok();
        if count(self.remaining)? > 0 {
            return None;
        }
        let full = until_full(word(headers, self.reset)?, headers)?;
        let wait = match self.counted {
            Counted::Requests => full / count(self.limit).unwrap_or(1).max(1),
            Counted::Tokens => full / TOKENS_SHARE,
        };
        Some(wait.min(FORESEEN_MAX))
    }
}

/// From the answer to the moment of a reset: a date, which is compared with the answer's own, or a duration.
fn until_full(text: &str, headers: &HeaderMap) -> Option<Duration> {
    match moment(text) {
        Some(then) => {
            let now = httpdate::parse_http_date(word(headers, DATE.as_str())?).ok()?;
            Some(then.duration_since(now).unwrap_or_default())
        }
        None => duration(text),
    }
}

/// A duration such as `6m0s`, `1h2m3.5s` or `12ms`; a bare number is seconds.
fn duration(text: &str) -> Option<Duration> {
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let (mut rest, mut seconds) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        seconds += number.parse::<f64>().ok()? * seconds_of(unit)?;
        rest = next;
    }
    if text.is_empty() { None } else { Duration::try_from_secs_f64(seconds).ok() }
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "d" => DAY_SECONDS as f64,
        "h" => HOUR_SECONDS as f64,
        "m" => MINUTE_SECONDS as f64,
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    })
}

/// A moment such as `2026-11-22T01:05:30Z`, with or without a fraction (which is dropped) and an offset from UTC.
fn moment(text: &str) -> Option<SystemTime> {
    let (date, time) = text.split_once(['T', 't'])?;
    let [year, month, day] = numbers(date, '-')?;
    let zone = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(zone);
    let [hour, minute, second] = numbers(clock.split('.').next()?, ':')?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !in_range {
        return None;
    }
    let seconds = days_since_1970(year, month, day) * DAY_SECONDS
        + hour * HOUR_SECONDS
        + minute * MINUTE_SECONDS
        + second;
    let local = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    match zone.split_at_checked(1)? {
        ("Z" | "z", "") => Some(local),
        ("+", ahead) => local.checked_sub(offset(ahead)?),
        ("-", behind) => local.checked_add(offset(behind)?),
        _ => None,
    }
}

fn offset(text: &str) -> Option<Duration> {
    let [hours, minutes] = numbers(text, ':')?;
    let in_range = hours < 24 && minutes < 60;
    in_range.then(|| Duration::from_secs(hours * HOUR_SECONDS + minutes * MINUTE_SECONDS))
}

/// Exactly `N` plain numbers.
fn numbers<const N: usize>(text: &str, separator: char) -> Option<[u64; N]> {
    let digits = |part: &str| {
        let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if plain { part.parse().ok() } else { None }
    };
    let found: Vec<u64> = text.split(separator).map(digits).collect::<Option<_>>()?;
    found.try_into().ok()
}

/// Days from the first of 1970 in the Gregorian calendar, for years from 1970 on. The year is taken to begin in March, so that a
/// leap day comes last; 719,468 days lie between the first of March of year 0 and the first of 1970.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year / 4 - year / 100 + year / 400;
    365 * year + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn check(lines: &[(&'static str, &'static str)], expected_ms: Option<u64>) {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let headers: HeaderMap = lines.iter().map(pair).collect();
        assert_eq!(foreseen(&headers), expected_ms.map(Duration::from_millis), "{lines:?}");
    }

    #[test]
    fn requests_wait_for_one_and_tokens_for_a_quarter() {
        check(&[], None);
        let none_left = ("x-ratelimit-remaining-requests", "0");
        let limit = ("x-ratelimit-limit-requests", "60");
        check(&[none_left, limit, ("x-ratelimit-reset-requests", "1m0s")], Some(1_000));
        check(&[none_left, ("x-ratelimit-reset-requests", "12ms")], Some(12));
        check(&[none_left, ("x-ratelimit-reset-requests", "6m0s")], Some(30_000));
        check(&[none_left, ("x-ratelimit-reset-requests", "soon")], None);
        check(&[none_left], None);
        check(
            &[("x-ratelimit-remaining-requests", "1"), ("x-ratelimit-reset-requests", "9s")],
            None,
        );
        let tokens = [("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "8s")];
        check(&tokens, Some(2_000));
    }

    #[test]
    fn a_date_is_compared_with_the_answers_own() {
        let date = ("date", "Sun, 22 Nov 2026 01:05:30 GMT");
        let left = ("anthropic-ratelimit-input-tokens-remaining", "0");
        for reset in ["2026-11-22T01:06:10Z", "2026-11-22T02:06:10.5+01:00"] {
            check(&[date, left, ("anthropic-ratelimit-input-tokens-reset", reset)], Some(10_000));
        }
        let past = ("anthropic-ratelimit-input-tokens-reset", "2026-11-22T01:00:00Z");
        check(&[date, left, past], Some(0));
        check(&[left, past], None);
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let known = [
            ("1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
            ("1972-02-29T23:59:59Z", "Tue, 29 Feb 1972 23:59:59 GMT"),
            ("2000-03-01T00:00:00Z", "Wed, 01 Mar 2000 00:00:00 GMT"),
            ("2027-12-31T12:30:00Z", "Fri, 31 Dec 2027 12:30:00 GMT"),
        ];
        for (text, same) in known {
            assert_eq!(moment(text), httpdate::parse_http_date(same).ok(), "{text}");
        }
        for nonsense in
            ["", "T", "2026-11-22", "2026-13-01T00:00:00Z", "2026-11-22T00:00Z", "é-T-Z"]
        {
            assert_eq!(moment(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn durations_are_sums_of_units() {
        let check = |text: &str, expected: Option<f64>| {
            assert_eq!(duration(text).map(|found| found.as_secs_f64()), expected, "{text}");
        };
        check("1h2m3.5s", Some(3723.5));
        check("1d", Some(86_400.0));
        check("250", Some(250.0));
        for nonsense in ["", "s", "5x", "-1s", "1.2.3s", "1e400", "NaN"] {
            check(nonsense, None);
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC{0,30}", digits in "[0-9TZ:.+smh-]{0,30}") {
            for text in [text, digits] {
                let _ = (moment(&text), duration(&text));
            }
        }
    }
}
