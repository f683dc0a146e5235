//! Times as texts: RFC 3339 in UTC, and durations in seconds, as rate headers and resources have them.

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A time as `2026-11-22T01:02:03Z`, with milliseconds where there are any.
pub(crate) fn rfc3339(at_ms: u64) -> String {
    let (year, month, day) = civil(at_ms / DAY_MS);
    let in_day = at_ms % DAY_MS;
    let (hour, minute) = (in_day / 3_600_000, in_day / 60_000 % 60);
    let (second, milli) = (in_day / 1_000 % 60, in_day % 1_000);
    let fraction = if milli == 0 { String::new() } else { format!(".{milli:03}") };
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// Reads what [`rfc3339`] writes, with any number of decimals; other zones than `Z` are not read.
pub(crate) fn parse_rfc3339(text: &str) -> Option<u64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.len() <= 4);
    let mut date = date.split('-').map(number);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.split(':').map(number);
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    if hour > 23 || minute > 59 || second > 60 || date.next().is_some() || time.next().is_some() {
        return None;
    }
    let milli = fraction.chars().chain("000".chars()).take(3).collect::<String>().parse::<u64>();
    let day = days(year, month, day)?;
    Some(day * DAY_MS + (hour * 60 + minute) * 60_000 + second * 1_000 + milli.ok()?)
}

/// Reads seconds such as `3600s` or `2.5s`; gives milliseconds.
pub(crate) fn parse_seconds(text: &str) -> Option<u64> {
    let number = text.strip_suffix('s')?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole = whole.parse::<u64>().ok()?;
    let milli = fraction.chars().chain("000".chars()).take(3).collect::<String>().parse::<u64>();
    whole.checked_mul(1_000)?.checked_add(milli.ok()?)
}

/// A duration as `6m0s` or `1.5s`.
pub(crate) fn short_duration(duration_ms: u64) -> String {
    let (minutes, rest_ms) = (duration_ms / 60_000, duration_ms % 60_000);
    let seconds = match rest_ms % 1_000 {
        0 => (rest_ms / 1_000).to_string(),
        milli => format!("{}.{milli:03}", rest_ms / 1_000),
    };
    if minutes == 0 { format!("{seconds}s") } else { format!("{minutes}m{seconds}s") }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> u64 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u64::from(is_leap(year)),
        _ => 31,
    }
}

/// Days before a year, from 1970 on.
fn days_before(year: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
}

fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_date = year >= 1970 && (1..=12).contains(&month);
    if !is_date || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    Some(days_before(year) + (1..month).map(|month| days_in(year, month)).sum::<u64>() + day - 1)
}

fn civil(day: u64) -> (u64, u64, u64) {
    let mut year = 1970 + day / 366;
    while days_before(year + 1) <= day {
        year += 1;
    }
    let mut left = day - days_before(year);
    let mut month = 1;
    while left >= days_in(year, month) {
        left -= days_in(year, month);
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_written_as_in_a_calendar() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_795_309_323_004), "2026-11-22T01:02:03.004Z");
        assert_eq!(rfc3339(4_107_542_400_000), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn what_is_no_time_is_not_read() {
        for text in [
            "",
            "2026-02-30T00:00:00Z",
            "2026-01-01",
            "1969-01-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "a-b-cTd:e:fZ",
            "2026-01-01T00:00:00+01:00",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
        assert_eq!((parse_seconds("3600s"), parse_seconds("0.25s")), (Some(3_600_000), Some(250)));
        assert_eq!((parse_seconds("1h"), parse_seconds("-1s")), (None, None));
        assert_eq!(short_duration(360_000) + " " + &short_duration(1_500), "6m0s 1.500s");
    }

    proptest! {
        #[test]
        fn a_time_that_was_written_is_read_back(at_ms in 0_u64..250_000_000_000_000) {
            prop_assert_eq!(parse_rfc3339(&rfc3339(at_ms)), Some(at_ms));
        }
    }
}
