//! The `traceparent` of W3C Trace Context (level 1, <https://www.w3.org/TR/trace-context/>): which span something belongs to, as
//! one line of text.

/// Characters of version 00; later versions may only append.
const CHARS: usize = 55;

/// The parts of a `traceparent`: trace id, span id and flags, in hexadecimal as they stand. `None` where it is not one.
pub(crate) fn parts(text: &str) -> Option<(&str, &str, &str)> {
    // Everything up to `CHARS` is ASCII in a valid one, so this cuts between characters.
    let (known, more) = text.split_at_checked(CHARS)?;
    let mut fields = known.split('-');
    let (version, trace, span, flags) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let lengths = [version.len(), trace.len(), span.len(), flags.len()];
    let is_hex = |field: &str| field.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let is_some = |field: &str| field.bytes().any(|b| b != b'0');
    let is_whole = match version {
        "00" => more.is_empty(),
        _ => more.is_empty() || more.starts_with('-'),
    };
    let is_valid = lengths == [2, 32, 16, 2]
        && [version, trace, span, flags].into_iter().all(is_hex)
        && version != "ff"
        && is_some(trace)
        && is_some(span)
        && is_whole;
    is_valid.then_some((trace, span, flags))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    fn check(text: &str, expected: bool) {
        assert_eq!(parts(text).is_some(), expected, "{text}");
    }

    #[test]
    fn only_what_the_format_allows_is_one() {
        let text = format!("00-{TRACE}-00f067aa0ba902b7-01");
        assert_eq!(parts(&text), Some((TRACE, "00f067aa0ba902b7", "01")));
        check(&format!("00-{TRACE}-00f067aa0ba902b7-00"), true);
        check(&format!("cc-{TRACE}-00f067aa0ba902b7-01"), true);
        check(&format!("cc-{TRACE}-00f067aa0ba902b7-01-more"), true);
        check(&format!("cc-{TRACE}-00f067aa0ba902b7-01more"), false);
        check(&format!("00-{TRACE}-00f067aa0ba902b7-01-more"), false);
        check(&format!("ff-{TRACE}-00f067aa0ba902b7-01"), false);
        check(&format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)), false);
        check(&format!("00-{TRACE}-0000000000000000-01"), false);
        check(&format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()), false);
        check(&format!(" 00-{TRACE}-00f067aa0ba902b7-01"), false);
        check(&format!("00-{TRACE}-00f067aa0ba902b7-0"), false);
        check(&format!("00-{TRACE}-00f067aa0ba902b7-é"), false);
        check("", false);
    }

    proptest! {
        #[test]
        fn any_text_is_judged_without_panic(text in "[0-9a-f-]{0,60}|.{0,60}") {
            let _ = parts(&text);
        }
    }
}
