//! What tokens of one model cost, and when.
//!
//! The price depends on a request's size and time. So the cost of several requests is the sum of their prices, and never the
//! price of the sum of their tokens.

use std::ops::Range;

use tine_model::Spent;

use crate::price::Price;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const MINUTE_MS: i64 = 60_000;

pub(crate) const DAY_MINUTES: u16 = 24 * 60;
pub(crate) const WEEK_MINUTES: u16 = 7 * DAY_MINUTES;

/// The Unix epoch was a Thursday; weeks begin on Monday.
const EPOCH_WEEKDAY: i64 = 3;

/// A time in which one price holds: days, and minutes of the week, both in UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    /// Days since the Unix epoch.
    pub(crate) days: Range<i64>,
    /// Minutes since Monday, 00:00.
    pub(crate) minutes: Vec<Range<u16>>,
}

impl Span {
    /// All times.
    #[expect(clippy::single_range_in_vec_init, reason = "one range of minutes is the whole week")]
    pub(crate) fn always() -> Self {
        Self { days: i64::MIN..i64::MAX, minutes: vec![0..WEEK_MINUTES] }
    }

    fn contains(&self, at_ms: i64) -> bool {
        let day = at_ms.div_euclid(DAY_MS);
        let weekday = (day + EPOCH_WEEKDAY).rem_euclid(7);
        let of_day = at_ms.rem_euclid(DAY_MS) / MINUTE_MS;
        let minute = weekday * i64::from(DAY_MINUTES) + of_day;
        self.days.contains(&day)
            && self
                .minutes
                .iter()
                .any(|range| (i64::from(range.start)..i64::from(range.end)).contains(&minute))
    }
}

/// The prices of one model: one at each time, or none at all.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prices {
    /// Every time is in exactly one of the spans, where there are any.
    periods: Vec<(Span, Price)>,
}

impl Prices {
    /// The same price at all times.
    pub fn always(price: Price) -> Self {
        Self { periods: vec![(Span::always(), price)] }
    }

    pub(crate) fn of(periods: Vec<(Span, Price)>) -> Self {
        Self { periods }
    }

    /// True unless nothing is known.
    pub fn is_known(&self) -> bool {
        !self.periods.is_empty()
    }

    /// The price of a request that starts then, in milliseconds since the Unix epoch; `None` where no price is known.
    pub fn at(&self, at_ms: i64) -> Option<Price> {
        self.periods.iter().find(|(span, _)| span.contains(at_ms)).map(|(_, price)| *price)
    }

    /// What requests cost in USD, each at the price of its own time and size; `None` where no price is known.
    pub fn cost(&self, requests: &[Spent]) -> Option<f64> {
        let priced = |spent: &Spent| Some(self.at(spent.started_ms)?.cost(&spent.usage));
        // The sum of no floats is minus zero.
        let sum = || requests.iter().try_fold(0.0, |sum, spent| Some(sum + priced(spent)?));
        self.is_known().then(sum).flatten()
    }
}
