//! Bodies of hosts without what differs from run to run.

use serde_json::Value;

/// Words before a date, a time or a random number that is too short to be known by itself.
const MARKS: &[&str] =
    &["Today's date is ", "<current_date>", "<duration_ms>", "Chunk ID: ", "Wall time: "];

/// An id, and a time since 1970, have at least so many digits.
const DIGITS_MIN: usize = 10;

/// A body in which times are `[TIME]`, and ids are numbered by their first places: equal ids stay equal.
pub(super) fn masked(body: &[u8]) -> String {
    let text = in_order(std::str::from_utf8(body).unwrap());
    let (mut masked, mut ids) = (String::new(), Vec::new());
    let mut rest = text.as_str();
    while let Some(next) = rest.chars().next() {
        let is_marked = MARKS.iter().any(|mark| masked.ends_with(mark));
        let is_in = |c: char| matches!(c, '0'..='9' | 'a'..='f' | '-') || is_marked && c == '.';
        let length = rest.find(|c| !is_in(c)).unwrap_or(rest.len());
        let run;
        (run, rest) = rest.split_at(length.max(next.len_utf8()));
        let decimals = run.chars().filter(char::is_ascii_digit).count();
        if is_marked || decimals == run.len() && decimals >= DIGITS_MIN {
            masked.push_str("[TIME]");
            rest = after_fraction(rest);
        } else if decimals > 0 && run.replace('-', "").len() >= DIGITS_MIN {
            let known = ids.iter().position(|id| *id == run);
            let number = known.unwrap_or_else(|| {
                ids.push(run);
                ids.len() - 1
            });
            masked.push_str(&format!("[ID {number}]"));
        } else {
            masked.push_str(run);
        }
    }
    masked
}

/// What follows the fraction of a number.
fn after_fraction(text: &str) -> &str {
    match text.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => text,
    }
}

/// A body with the members of `client_metadata` sorted: Codex writes them in any order.
fn in_order(text: &str) -> String {
    let mut body: Value = serde_json::from_str(text).unwrap();
    let Some(Value::Object(metadata)) = body.get_mut("client_metadata") else {
        return text.to_owned();
    };
    let any = serde_json::to_string(metadata).unwrap();
    metadata.sort_keys();
    text.replace(&any, &serde_json::to_string(metadata).unwrap())
}

#[test]
fn ids_stay_equal_and_times_go() {
    let body = r#"{"a":"0a1b2c3d-0000-4000","b":"0a1b2c3d-0000-4000 1234567890123.5,<duration_ms>12</duration_ms> a12b34c56d","client_metadata":{"z":1,"a":2}}"#;
    let masked = masked(body.as_bytes());
    insta::assert_snapshot!(masked, @r#"{"a":"[ID 0]","b":"[ID 0] [TIME],<duration_ms>[TIME]</duration_ms> [ID 1]","client_metadata":{"a":2,"z":1}}"#);
}
