//! Times as people and programs read them. Takes every time as a parameter; never reads a clock.

const MS_PER_SECOND: i64 = 1_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// A point in time as RFC 3339, in UTC, to the millisecond.
pub fn rfc3339(at_ms: i64) -> String {
    let (date, time) = date_and_time(at_ms);
    format!("{date}T{time}.{:03}Z", at_ms.rem_euclid(MS_PER_SECOND))
}

/// A point in time to the second, in UTC, for people.
pub fn moment(at_ms: i64) -> String {
    let (date, time) = date_and_time(at_ms);
    format!("{date} {time} UTC")
}

/// How long ago something was, in its largest unit. What lies ahead (clocks differ) counts as just now.
pub fn age(now_ms: i64, then_ms: i64) -> String {
    let seconds = (now_ms.saturating_sub(then_ms) / MS_PER_SECOND).max(0);
    let units = [("d", SECONDS_PER_DAY), ("h", 3_600), ("m", 60)];
    let unit = units.iter().find(|(_, length)| seconds >= *length);
    unit.map_or_else(
        || format!("{seconds}s"),
        |(name, length)| format!("{}{name}", seconds / length),
    )
}

fn date_and_time(at_ms: i64) -> (String, String) {
    let seconds = at_ms.div_euclid(MS_PER_SECOND);
    let (year, month, day) = civil(seconds.div_euclid(SECONDS_PER_DAY));
    let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    (format!("{year:04}-{month:02}-{day:02}"), format!("{hour:02}:{minute:02}:{second:02}"))
}

/// The Gregorian date of a day counted from 1970-01-01. Years are counted from March, so that the leap day is the last
/// of its year; 400 years always have the same number of days.
fn civil(day: i64) -> (i64, i64, i64) {
    const DAYS_TO_1970: i64 = 719_468;
    const DAYS_IN_400_YEARS: i64 = 146_097;
    let day = day + DAYS_TO_1970;
    let (era, of_era) = (day.div_euclid(DAYS_IN_400_YEARS), day.rem_euclid(DAYS_IN_400_YEARS));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_have_their_known_texts() {
        let check = |at_ms, expected: &str| assert_eq!(rfc3339(at_ms), expected);
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_399_999, "2000-02-28T23:59:59.999Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(1_709_251_199_000, "2024-02-29T23:59:59.000Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(-1, "1969-12-31T23:59:59.999Z");
        assert_eq!(moment(1_000_000_000_000), "2001-09-09 01:46:40 UTC");
    }

    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        let check = |seconds: i64, expected: &str| assert_eq!(age(seconds * 1_000, 0), expected);
        check(-5, "0s");
        check(59, "59s");
        check(60, "1m");
        check(7_199, "1h");
        check(172_800, "2d");
        assert_eq!(age(i64::MAX, i64::MIN), format!("{}d", i64::MAX / 86_400_000));
    }
}
