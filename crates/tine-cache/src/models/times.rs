//! When a price holds, as a file says it: dates, and hours of the week, all in UTC.

use std::ops::Range;

use serde::{Deserialize, Deserializer};
use toml::value::{Date, Datetime};

use crate::prices::{DAY_MINUTES, Span, WEEK_MINUTES};

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// A day of UTC, written as TOML writes dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day(Date);

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Datetime::deserialize(deserializer)? {
            Datetime { date: Some(date), time: None, offset: None } => Ok(Self(date)),
            other => Err(serde::de::Error::custom(format!("{other} is no date of a day"))),
        }
    }
}

impl Day {
    /// Days since the Unix epoch: Hinnant's `days_from_civil`, for years as TOML has them.
    fn number(self) -> i64 {
        let Date { year, month, day } = self.0;
        let (month, day) = (i64::from(month), i64::from(day));
        // Years begin in March, so that the leap day is their last.
        let year = i64::from(year) - i64::from(month <= 2);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
            - 719_468
    }
}

/// Hours of some days of the week, such as `Mon-Fri 01:00-04:00`; without days, of every day.
#[derive(Debug, Clone)]
pub(super) struct Hours(Vec<Range<u16>>);

impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wanted = "hours are written as `Mon-Fri 01:00-04:00` or `10:00-24:00`";
        hours(&text).ok_or_else(|| serde::de::Error::custom(format!("{wanted}, not `{text}`")))
    }
}

fn hours(text: &str) -> Option<Hours> {
    let (days, hours) = text.split_once(' ').unwrap_or(("Mon-Sun", text));
    let (first, last) = days.split_once('-').unwrap_or((days, days));
    let weekday = |word: &str| WEEKDAYS.iter().position(|day| *day == word);
    let (first, last) = (weekday(first)?, weekday(last)?);
    let (start, end) = hours.split_once('-')?;
    let (start, end) = (minute(start)?, minute(end)?);
    let of_day = |day: usize| {
        let midnight = day as u16 * DAY_MINUTES;
        midnight + start..midnight + end
    };
    (first <= last && start < end).then(|| Hours((first..=last).map(of_day).collect()))
}

/// A time of the day, up to 24:00.
fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':').filter(|_| text.len() == "00:00".len())?;
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    let sum = hour * 60 + minute;
    (minute < 60 && sum <= DAY_MINUTES).then_some(sum)
}

/// The time of one price: from a day on, until before another, in these hours; what is left out is no limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Time<'a> {
    pub(super) from: Option<Day>,
    pub(super) until: Option<Day>,
    pub(super) hours: &'a [Hours],
}

impl Time<'_> {
    pub(super) fn span(&self) -> Span {
        let days =
            self.from.map_or(i64::MIN, Day::number)..self.until.map_or(i64::MAX, Day::number);
        let minutes: Vec<Range<u16>> =
            self.hours.iter().flat_map(|hours| hours.0.clone()).collect();
        Span { days, minutes: if minutes.is_empty() { Span::always().minutes } else { minutes } }
    }

    fn holds_from(&self, start: Option<Day>) -> bool {
        let begun = self.from.is_none_or(|from| start.is_some_and(|start| from <= start));
        begun && self.until.is_none_or(|until| start.is_none_or(|start| start < until))
    }
}

/// Finds what is wrong with the times of a model's prices: each time has one price and no more. The answer reads after "its prices".
pub(super) fn fault(times: &[Time<'_>]) -> Option<String> {
    let backwards = times
        .iter()
        .find(|time| time.from.zip(time.until).is_some_and(|(from, until)| from >= until));
    if let Some(Time { from: Some(from), .. }) = backwards {
        return Some(format!("end before they begin, on {}", from.0));
    }
    // Nothing changes but on these days.
    let mut starts: Vec<Option<Day>> = vec![None];
    starts.extend(times.iter().flat_map(|time| [time.from, time.until]).flatten().map(Some));
    starts.sort_unstable();
    starts.dedup();
    starts.into_iter().find_map(|start| {
        let at = |minute: u16| {
            let (day, of_day) = (minute / DAY_MINUTES, minute % DAY_MINUTES);
            let since = start.map_or(String::new(), |day| format!(" from {} on", day.0));
            let weekday = WEEKDAYS[usize::from(day)];
            format!("{weekday} {:02}:{:02} UTC{since}", of_day / 60, of_day % 60)
        };
        let held = times.iter().filter(|time| time.holds_from(start));
        let mut minutes: Vec<Range<u16>> = held.flat_map(|time| time.span().minutes).collect();
        minutes.sort_unstable_by_key(|range| range.start);
        let mut covered = 0;
        for range in minutes {
            match range.start.cmp(&covered) {
                std::cmp::Ordering::Less => return Some(format!("overlap at {}", at(range.start))),
                std::cmp::Ordering::Greater => {
                    return Some(format!("have a gap at {}", at(covered)));
                }
                std::cmp::Ordering::Equal => covered = range.end,
            }
        }
        (covered < WEEK_MINUTES).then(|| format!("have a gap at {}", at(covered)))
    })
}
