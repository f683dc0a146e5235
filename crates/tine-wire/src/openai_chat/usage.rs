//! Chat token counts → the normal form.
//!
//! `prompt_tokens` includes what was read from and written to the cache; the normal form does not, so both are
//! taken off. Servers report the cached part in different places or not at all; what is not reported stays
//! `None`.

use serde_json::Value;
use serde_json::value::RawValue;
use tine_model::Usage;

use crate::counts::{Inclusive, count};

/// Where the cached part may stand: OpenAI and most others, DeepSeek, Moonshot, LiteLLM.
const READ: [&str; 4] = [
    "/prompt_tokens_details/cached_tokens",
    "/prompt_cache_hit_tokens",
    "/cached_tokens",
    "/cache_read_input_tokens",
];

/// Where the written part may stand: OpenAI, vLLM, LiteLLM.
const WRITTEN: [&str; 3] = [
    "/prompt_tokens_details/cache_write_tokens",
    "/prompt_tokens_details/created_cache_tokens",
    "/cache_creation_input_tokens",
];

/// The counts reported so far. Some servers repeat them with every chunk; the last one given counts.
#[derive(Debug, Default)]
pub(crate) struct Counts(Inclusive);

impl Counts {
    /// Takes a `usage` object; what is not a count is taken as not reported.
    pub(crate) fn take(&mut self, usage: &RawValue) {
        let Ok(usage) = serde_json::from_str::<Value>(usage.get()) else { return };
        let take = |field: &mut Option<u64>, paths: &[&str]| {
            *field = paths.iter().find_map(|path| count(&usage, path)).or(*field);
        };
        let lifetimes = "/prompt_tokens_details/cache_write_tokens_details";
        let counts = &mut self.0;
        take(&mut counts.prompt, &["/prompt_tokens"]);
        take(&mut counts.read, &READ);
        take(&mut counts.written, &WRITTEN);
        take(&mut counts.written_short, &[&format!("{lifetimes}/ttl_30m_tokens")]);
        take(&mut counts.written_long, &[&format!("{lifetimes}/ttl_12h_tokens")]);
        take(&mut counts.output, &["/completion_tokens"]);
        take(&mut counts.reasoning, &["/completion_tokens_details/reasoning_tokens"]);
    }

    /// Takes llama.cpp's `timings`, which may be all there is; `usage` knows better where it speaks.
    pub(crate) fn take_timings(&mut self, timings: &RawValue) {
        let Ok(timings) = serde_json::from_str::<Value>(timings.get()) else { return };
        let cached = count(&timings, "/cache_n");
        let fresh = count(&timings, "/prompt_n");
        let counts = &mut self.0;
        counts.read = counts.read.or(cached);
        counts.prompt = counts.prompt.or(fresh.map(|fresh| fresh + cached.unwrap_or(0)));
        counts.output = counts.output.or(count(&timings, "/predicted_n"));
    }

    /// The normal form.
    pub(crate) fn normal(&self) -> Usage {
        self.0.normal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(usage: &str, expected: Usage) {
        let mut counts = Counts::default();
        counts.take(serde_json::from_str(usage).unwrap());
        assert_eq!(counts.normal(), expected, "{usage}");
    }

    #[test]
    fn inclusive_counts_become_additive() {
        check(
            r#"{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30,"cache_write_tokens_details":{"ttl_30m_tokens":10,"ttl_12h_tokens":20}},"completion_tokens":9,"completion_tokens_details":{"reasoning_tokens":4}}"#,
            Usage {
                uncached: 10,
                write_short: Some(10),
                write_long: Some(20),
                read: Some(60),
                output: 9,
                reasoning: Some(4),
            },
        );
    }

    #[test]
    fn the_cached_part_is_found_where_servers_put_it() {
        let expected = Usage { uncached: 40, read: Some(960), output: 5, ..Usage::default() };
        for cached in [
            r#""prompt_tokens_details":{"cached_tokens":960}"#,
            r#""prompt_cache_hit_tokens":960,"prompt_cache_miss_tokens":40"#,
            r#""prompt_tokens_details":null,"cached_tokens":960"#,
        ] {
            let usage = format!(r#"{{"prompt_tokens":1000,"completion_tokens":5,{cached}}}"#);
            check(&usage, expected);
        }
    }

    #[test]
    fn an_unreported_cache_is_unknown_and_not_zero() {
        check(
            r#"{"prompt_tokens":50,"completion_tokens":2}"#,
            Usage { uncached: 50, output: 2, ..Usage::default() },
        );
        for nonsense in ["9", "-1", "1.5", "\"5\"", "null", "18446744073709551615"] {
            let details =
                format!(r#"{{"cached_tokens":{nonsense},"cache_write_tokens":{nonsense}}}"#);
            check(
                &format!(r#"{{"prompt_tokens":5,"prompt_tokens_details":{details}}}"#),
                Usage { uncached: 5, ..Usage::default() },
            );
        }
        // A part of nothing known.
        check(r#"{"prompt_tokens":-5,"prompt_cache_hit_tokens":3}"#, Usage::default());
    }

    #[test]
    fn timings_stand_in_for_usage() {
        let mut counts = Counts::default();
        let timings = r#"{"cache_n":1008,"prompt_n":16,"predicted_n":5,"prompt_ms":1.5}"#;
        counts.take_timings(serde_json::from_str(timings).unwrap());
        let expected = Usage { uncached: 16, read: Some(1008), output: 5, ..Usage::default() };
        assert_eq!(counts.normal(), expected);
    }
}
