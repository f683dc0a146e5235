//! Token counts of Responses → the normal form.
//!
//! `input_tokens` includes what was read from and written to the cache; the normal form does not, so both are taken
//! off. A count that is missing, is no whole number, or cannot be true beside the others is not reported: never zero.

use serde_json::Value;
use serde_json::value::RawValue;
use tine_model::Usage;

use crate::counts::{Inclusive, count};

/// Reads a `usage` object.
pub(crate) fn normal(usage: &RawValue) -> Usage {
    let Ok(usage) = serde_json::from_str::<Value>(usage.get()) else { return Usage::default() };
    let details = "/input_tokens_details";
    let lifetimes = format!("{details}/cache_write_tokens_details");
    let reported = Inclusive {
        prompt: count(&usage, "/input_tokens"),
        read: count(&usage, &format!("{details}/cached_tokens")),
        written: count(&usage, &format!("{details}/cache_write_tokens")),
        written_short: count(&usage, &format!("{lifetimes}/ttl_30m_tokens")),
        written_long: count(&usage, &format!("{lifetimes}/ttl_12h_tokens")),
        output: count(&usage, "/output_tokens"),
        reasoning: count(&usage, "/output_tokens_details/reasoning_tokens"),
    };
    reported.normal()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::TOKENS_MAX;

    fn check(usage: &str, expected: Usage) {
        assert_eq!(normal(serde_json::from_str(usage).unwrap()), expected, "{usage}");
    }

    #[test]
    fn inclusive_counts_become_additive() {
        check(
            r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30,"cache_write_tokens_details":{"ttl_30m_tokens":10,"ttl_12h_tokens":20}},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":109}"#,
            Usage {
                uncached: 10,
                write_short: Some(10),
                write_long: Some(20),
                read: Some(60),
                output: 9,
                reasoning: Some(4),
            },
        );
        check(
            r#"{"input_tokens":100,"input_tokens_details":{"cached_tokens":0,"cache_write_tokens":30},"output_tokens":9}"#,
            Usage {
                uncached: 70,
                write_short: Some(30),
                read: Some(0),
                output: 9,
                ..Usage::default()
            },
        );
    }

    #[test]
    fn nonsense_is_not_reported_and_never_zero() {
        let known = Usage { uncached: 50, output: 2, ..Usage::default() };
        for details in [
            "null",
            "{}",
            r#"{"cached_tokens":-1,"cache_write_tokens":1.5}"#,
            r#"{"cached_tokens":51,"cache_write_tokens":"5"}"#,
            r#"{"cached_tokens":18446744073709551615,"cache_write_tokens":60}"#,
            r#"{"cache_write_tokens_details":{"ttl_30m_tokens":30,"ttl_12h_tokens":30}}"#,
        ] {
            check(
                &format!(
                    r#"{{"input_tokens":50,"input_tokens_details":{details},"output_tokens":2,"output_tokens_details":{{"reasoning_tokens":3}}}}"#
                ),
                known,
            );
        }
        check("[]", Usage::default());
        check(
            r#"{"input_tokens":-5,"input_tokens_details":{"cached_tokens":3}}"#,
            Usage::default(),
        );
        check(&format!(r#"{{"input_tokens":{}}}"#, TOKENS_MAX + 1), Usage::default());
    }
}
