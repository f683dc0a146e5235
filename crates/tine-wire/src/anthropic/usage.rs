//! Anthropic's token counts → the normal form.
//!
//! The counts are additive: `input_tokens` is only what stands behind the last cache mark. In a stream every
//! count is cumulative and may be repeated or left out, so the last one that was given counts and nothing is
//! summed.

use serde_json::Value;
use serde_json::value::RawValue;
use tine_model::Usage;

use crate::counts::count;

/// The counts reported so far.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    input: Option<u64>,
    written: Option<u64>,
    written_short: Option<u64>,
    written_long: Option<u64>,
    read: Option<u64>,
    output: Option<u64>,
    thinking: Option<u64>,
}

impl Counts {
    /// Takes a `usage` object; what is no count, or one that no request can have, is taken as not reported. `iterations`, which
    /// lists parts of the sums and compactions beside them, is not read.
    pub(crate) fn take(&mut self, usage: &RawValue) {
        let Ok(usage) = serde_json::from_str::<Value>(usage.get()) else { return };
        let take = |field: &mut Option<u64>, path: &str| {
            *field = count(&usage, path).or(*field);
        };
        take(&mut self.input, "/input_tokens");
        take(&mut self.written, "/cache_creation_input_tokens");
        take(&mut self.written_short, "/cache_creation/ephemeral_5m_input_tokens");
        take(&mut self.written_long, "/cache_creation/ephemeral_1h_input_tokens");
        take(&mut self.read, "/cache_read_input_tokens");
        take(&mut self.output, "/output_tokens");
        take(&mut self.thinking, "/output_tokens_details/thinking_tokens");
    }

    /// The normal form. Some replies tell of writes only in the nested object, others only beside it; what the
    /// nested object does not account for was written at the short lifetime, which is the default.
    pub(crate) fn normal(&self) -> Usage {
        let nested = self.written_short.unwrap_or(0) + self.written_long.unwrap_or(0);
        let rest = self.written.map(|written| written.saturating_sub(nested));
        let write_short = match (self.written_short, rest) {
            (None, None | Some(0)) if self.written_long.is_some() => None,
            (None, rest) => rest,
            (Some(short), rest) => Some(short + rest.unwrap_or(0)),
        };
        Usage {
            uncached: self.input.unwrap_or(0),
            write_short,
            write_long: self.written_long,
            read: self.read,
            output: self.output.unwrap_or(0),
            reasoning: self.thinking,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(reports: &[&str], expected: Usage) {
        let mut counts = Counts::default();
        for report in reports {
            counts.take(serde_json::from_str(report).unwrap());
        }
        assert_eq!(counts.normal(), expected, "{reports:?}");
    }

    #[test]
    fn the_last_count_given_wins_and_nothing_is_summed() {
        check(
            &[
                r#"{"input_tokens":7,"cache_creation_input_tokens":61,"cache_read_input_tokens":900,"cache_creation":{"ephemeral_5m_input_tokens":61,"ephemeral_1h_input_tokens":0},"output_tokens":1}"#,
                r#"{"input_tokens":7,"cache_read_input_tokens":null,"output_tokens":20}"#,
                r#"{"output_tokens":218,"output_tokens_details":{"thinking_tokens":100}}"#,
            ],
            Usage {
                uncached: 7,
                write_short: Some(61),
                write_long: Some(0),
                read: Some(900),
                output: 218,
                reasoning: Some(100),
            },
        );
    }

    #[test]
    fn writes_are_found_on_either_level() {
        check(
            &[
                r#"{"input_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":3}}"#,
            ],
            Usage { uncached: 1, write_short: Some(2), write_long: Some(3), ..Usage::default() },
        );
        check(
            &[r#"{"input_tokens":1,"cache_creation_input_tokens":5,"cache_creation":null}"#],
            Usage { uncached: 1, write_short: Some(5), ..Usage::default() },
        );
    }

    #[test]
    fn nonsense_is_not_reported() {
        check(&["[]", r#"{"input_tokens":-4,"output_tokens":"many"}"#], Usage::default());
        check(
            &[
                r#"{"input_tokens":8,"cache_read_input_tokens":2.5}"#,
                r#"{"input_tokens":18446744073709551615,"cache_read_input_tokens":1e40,"cache_creation":{"ephemeral_5m_input_tokens":-1}}"#,
            ],
            Usage { uncached: 8, ..Usage::default() },
        );
    }

    #[test]
    fn parts_of_the_sums_are_not_added_to_them() {
        check(
            &[
                r#"{"input_tokens":8,"output_tokens":2,"iterations":[{"type":"message","input_tokens":8,"output_tokens":2},{"type":"compaction","input_tokens":90000,"output_tokens":700}]}"#,
            ],
            Usage { uncached: 8, output: 2, ..Usage::default() },
        );
    }
}
