//! Lengths of time as people write them.

use std::time::Duration;

/// Longest time, in seconds: a year. Whoever wants more wants none.
const DEADLINE_SECONDS_MAX: u64 = 366 * 86_400;

/// A length of time, as [`seconds`] reads it. Not nothing, and at most a year.
pub(crate) fn duration(text: &str) -> Option<Duration> {
    let seconds = seconds(text)?;
    (1..=DEADLINE_SECONDS_MAX).contains(&seconds).then(|| Duration::from_secs(seconds))
}

/// A number and its unit (s, m, h or d), in seconds. A number alone is one of seconds.
pub(crate) fn seconds(text: &str) -> Option<u64> {
    let (number, unit) = match text.char_indices().next_back()? {
        (_, '0'..='9') => (text, 1),
        (end, 's') => (&text[..end], 1),
        (end, 'm') => (&text[..end], 60),
        (end, 'h') => (&text[..end], 3_600),
        (end, 'd') => (&text[..end], 86_400),
        _ => return None,
    };
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse::<u64>().ok().filter(|_| digits)?.checked_mul(unit)
}

/// An age with its unit, in seconds. A number alone is none: `30` that is meant as days must not delete what is half a minute old.
pub(crate) fn age_seconds(text: &str) -> Option<u64> {
    seconds(text).filter(|_| !text.ends_with(|last: char| last.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_number_and_a_unit_or_a_number_of_seconds() {
        let seconds = |text| duration(text).map(|length| length.as_secs());
        assert_eq!(seconds("90s"), Some(90));
        assert_eq!(seconds("30m"), Some(1_800));
        assert_eq!(seconds("1h"), Some(3_600));
        assert_eq!(seconds("2d"), Some(172_800));
        assert_eq!(seconds("90"), Some(90));
        assert_eq!((age_seconds("30d"), age_seconds("30")), (Some(2_592_000), None));
        for text in
            ["", "0", "-1", "+1", "h", "0s", "-1h", "+1h", "1 h", "1.5h", "1w", "9999d", "ä", "1ä"]
        {
            assert_eq!(seconds(text), None, "{text:?}");
        }
    }
}
