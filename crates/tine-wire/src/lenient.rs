//! Members that some servers write in another type than their format says: a number where a text belongs, digits where a number
//! belongs. The vendors' own libraries take them, so these readings do too. A value that says nothing here is read as missing.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a text. A number is read as its digits.
pub(crate) fn text<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    Ok(match Option::<Value>::deserialize(source)? {
        Some(Value::String(text)) => Some(text),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    })
}

/// Reads an index. Digits in a text and a whole number with a point are read as the number. Some servers count from -1.
pub(crate) fn index<'de, D: Deserializer<'de>>(source: D) -> Result<Option<i64>, D::Error> {
    Ok(match Option::<Value>::deserialize(source)? {
        Some(Value::Number(number)) => number.as_i64().or_else(|| whole(number.as_f64()?)),
        Some(Value::String(digits)) => digits.trim().parse().ok(),
        _ => None,
    })
}

/// Reads an index that cannot be below zero.
pub(crate) fn place<'de, D: Deserializer<'de>>(source: D) -> Result<Option<usize>, D::Error> {
    Ok(index(source)?.and_then(|index| usize::try_from(index).ok()))
}

/// Largest whole number that a floating-point number holds exactly.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// A floating-point number without a fraction, as an integer.
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then_some(number as i64)
}

/// A count of tokens. Some servers compute it with floating-point numbers, so that it reads `5.0`.
pub(crate) fn count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| u64::try_from(whole(value.as_f64()?)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Members {
        #[serde(default, deserialize_with = "text")]
        id: Option<String>,
        #[serde(default, deserialize_with = "index")]
        index: Option<i64>,
    }

    #[test]
    fn other_types_are_read_as_what_they_mean() {
        let check = |json: &str, id: Option<&str>, index: Option<i64>| {
            let read: Members = serde_json::from_str(json).unwrap();
            assert_eq!((read.id.as_deref(), read.index), (id, index), "{json}");
        };
        check(r#"{"id":"a","index":3}"#, Some("a"), Some(3));
        check(r#"{"id":12,"index":"3"}"#, Some("12"), Some(3));
        check(r#"{"id":null,"index":-1}"#, None, Some(-1));
        check(r#"{"id":[],"index":3.0}"#, None, Some(3));
        check(r#"{"id":{},"index":3.5}"#, None, None);
        check("{}", None, None);
    }

    #[test]
    fn counts_may_have_a_point_but_no_fraction() {
        let count = |json: &str| count(&serde_json::from_str(json).unwrap());
        assert_eq!(count("5.0"), Some(5));
        assert_eq!(count("5"), Some(5));
        for nonsense in ["5.5", "-5.0", "1e40", "\"5\"", "null"] {
            assert_eq!(count(nonsense), None, "{nonsense}");
        }
    }
}
