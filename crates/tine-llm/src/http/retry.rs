//! When a request is sent again, and after which wait. Pure: headers in, decision out.
//!
//! The clock is not read here. A date in `retry-after` is compared with the answer's own `date`, which is right even when this
//! machine's clock is wrong.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use tine_wire::{Failure, FailureKind};

use crate::RetryLimits;
use crate::error::is_passing;

/// Up to this share is added at random to a wait that a provider asked for: siblings that were refused at one moment
/// must not come back at one moment.
const ASKED_SPREAD: f64 = 0.1;

/// Stands for the whole in a random share; see [`Waits::asked`].
const UNIT: Duration = Duration::from_secs(1);

/// Whether a failed try is followed by another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    /// It is final.
    Never,
    /// After a wait of ours.
    Backoff,
    /// After the wait that the provider asked for.
    After(Duration),
}

impl Retry {
    /// After an answer that is a failure.
    pub(crate) fn after_answer(failure: &Failure, headers: &HeaderMap) -> Self {
        let told = word(headers, "x-should-retry");
        let retried = match failure.kind {
            // Whatever a header says: a header on a page is the page's.
            FailureKind::NotTheApi => is_passing(failure),
            // OpenRouter asks to wait so while other requests of the account hold what is left of its money.
            FailureKind::SpendLimit | FailureKind::NoCredit => {
                failure.status == Some(402) && asked_wait(headers).is_some()
            }
            _ => match told {
                Some("true") => true,
                Some("false") => false,
                _ => is_passing(failure),
            },
        };
        match (retried, asked_wait(headers)) {
            (false, _) => Self::Never,
            (true, None) => Self::Backoff,
            (true, Some(wait)) => Self::After(wait),
        }
    }

    /// After a failure that came inside the answer.
    pub(crate) fn after_event(failure: &Failure) -> Self {
        if is_passing(failure) { Self::Backoff } else { Self::Never }
    }
}

/// The wait that the provider asks for: `retry-after-ms`, else `retry-after` in seconds or as a date.
fn asked_wait(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| word(headers, name)?.parse::<f64>().ok();
    let duration = |seconds: f64| Duration::try_from_secs_f64(seconds).ok();
    number("retry-after-ms")
        .and_then(|milliseconds| duration(milliseconds / 1000.0))
        .or_else(|| number(RETRY_AFTER.as_str()).and_then(duration))
        .or_else(|| {
            let date = |name: &str| httpdate::parse_http_date(word(headers, name)?).ok();
            let (then, now) = (date(RETRY_AFTER.as_str())?, date(DATE.as_str())?);
            Some(then.duration_since(now).unwrap_or_default())
        })
}

/// A header's value as text.
pub(crate) fn word<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// The waits of one request.
#[derive(Debug)]
pub(crate) struct Waits {
    backoff: ExponentialBackoff,
    share: ExponentialBackoff,
}

impl Waits {
    /// `stream` tells the requests of one client apart, so that they do not wait in step under one seed.
    pub(crate) fn new(limits: &RetryLimits, stream: u64) -> Self {
        let build = |first: Duration, max: Duration| {
            let builder = ExponentialBuilder::new()
                .with_min_delay(first)
                .with_max_delay(max)
                .without_max_times()
                .with_jitter();
            match limits.jitter_seed {
                Some(seed) => builder.with_jitter_seed(seed.wrapping_add(stream)).build(),
                None => builder.build(),
            }
        };
        Self { backoff: build(limits.backoff_first, limits.backoff_max), share: build(UNIT, UNIT) }
    }

    /// The next wait of ours.
    pub(crate) fn backoff(&mut self) -> Duration {
        self.backoff.next().unwrap_or_default()
    }

    /// The wait that was asked for, and a little more.
    pub(crate) fn asked(&mut self, wait: Duration) -> Duration {
        // Drawn from one to two units.
        let drawn = self.share.next().unwrap_or(UNIT).saturating_sub(UNIT);
        let more = wait.as_secs_f64() * ASKED_SPREAD * drawn.as_secs_f64();
        wait.saturating_add(Duration::try_from_secs_f64(more).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        lines.iter().map(pair).collect()
    }

    fn failure(kind: FailureKind, status: u16) -> Failure {
        let message = String::new();
        Failure { status: Some(status), kind, message, code: None, request_id: None }
    }

    #[test]
    fn the_most_exact_wait_counts() {
        let check = |lines: &[(&'static str, &'static str)], expected: Option<u64>| {
            assert_eq!(asked_wait(&headers(lines)), expected.map(Duration::from_millis));
        };
        check(&[], None);
        check(&[("retry-after", "3")], Some(3_000));
        check(&[("retry-after", " 1.5 ")], Some(1_500));
        check(&[("retry-after", "3"), ("retry-after-ms", "20")], Some(20));
        check(&[("retry-after", "3"), ("retry-after-ms", "soon")], Some(3_000));
        for nonsense in ["-1", "NaN", "inf", "1e300", "", "soon"] {
            check(&[("retry-after", nonsense)], None);
        }
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        check(&[date, ("retry-after", "Sun, 06 Nov 1994 08:49:44 GMT")], Some(7_000));
        check(&[date, ("retry-after", "Sun, 06 Nov 1994 08:49:30 GMT")], Some(0));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:44 GMT")], None);
    }

    #[test]
    fn the_provider_may_say_yes_or_no_but_not_to_an_empty_purse() {
        let check = |kind, status, lines: &[(&'static str, &'static str)], expected| {
            assert_eq!(Retry::after_answer(&failure(kind, status), &headers(lines)), expected);
        };
        let (yes, no) = (("x-should-retry", "true"), ("x-should-retry", "false"));
        check(FailureKind::RateLimited, 429, &[], Retry::Backoff);
        check(FailureKind::RateLimited, 429, &[no, ("retry-after", "1")], Retry::Never);
        check(FailureKind::InvalidRequest, 400, &[], Retry::Never);
        check(FailureKind::InvalidRequest, 400, &[yes], Retry::Backoff);
        check(FailureKind::SpendLimit, 429, &[yes], Retry::Never);
        check(FailureKind::NotTheApi, 200, &[yes], Retry::Never);
        check(FailureKind::NotTheApi, 503, &[], Retry::Backoff);
        let wait = Retry::After(Duration::from_secs(2));
        check(FailureKind::NoCredit, 402, &[("retry-after", "2")], wait);
        check(FailureKind::NoCredit, 402, &[yes], Retry::Never);
        check(FailureKind::SpendLimit, 429, &[("retry-after", "2")], Retry::Never);
        check(FailureKind::Overloaded, 529, &[("retry-after", "2")], wait);
    }

    #[test]
    fn waits_double_up_to_the_limit_and_differ_between_requests() {
        let limits = RetryLimits { jitter_seed: Some(7), ..RetryLimits::default() };
        let draw = |stream| {
            let mut waits = Waits::new(&limits, stream);
            std::array::from_fn::<_, 7, _>(|_| waits.backoff())
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        for (wait, nominal) in draw(1).into_iter().zip([500, 1000, 2000, 4000, 8000, 8000, 8000]) {
            let nominal = Duration::from_millis(nominal);
            assert!(nominal <= wait && wait <= 2 * nominal, "{wait:?}");
        }
    }

    #[test]
    fn an_asked_wait_is_never_shortened() {
        let mut waits = Waits::new(&RetryLimits::default(), 0);
        let asked = Duration::from_secs(3);
        for _ in 0..20 {
            let wait = waits.asked(asked);
            assert!(asked <= wait && wait <= asked.mul_f64(1.0 + ASKED_SPREAD), "{wait:?}");
        }
        assert_eq!(waits.asked(Duration::MAX), Duration::MAX);
    }
}
