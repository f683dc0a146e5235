//! Gemini's token counts → the normal form.
//!
//! `promptTokenCount` includes what the cache served; the normal form does not, so it is taken off. Thoughts are counted
//! beside the candidates, not in them. Gemini leaves `cachedContentTokenCount` out both when nothing was cached and when
//! it does not say, so its absence is "not reported" (`None`) and never zero.

use serde_json::Value;
use serde_json::value::RawValue;
use tine_model::Usage;

use crate::counts::{count, within};

/// The counts reported so far. They may come with every chunk; the last one given counts.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    prompt: Option<u64>,
    read: Option<u64>,
    tool_use: Option<u64>,
    candidates: Option<u64>,
    thoughts: Option<u64>,
}

impl Counts {
    /// Takes a `usageMetadata` object; what is not a count, or larger than any, is taken as not reported.
    pub(crate) fn take(&mut self, usage: &RawValue) {
        let Ok(usage) = serde_json::from_str::<Value>(usage.get()) else { return };
        let take = |field: &mut Option<u64>, path: &str| *field = count(&usage, path).or(*field);
        take(&mut self.prompt, "/promptTokenCount");
        take(&mut self.read, "/cachedContentTokenCount");
        take(&mut self.tool_use, "/toolUsePromptTokenCount");
        take(&mut self.candidates, "/candidatesTokenCount");
        take(&mut self.thoughts, "/thoughtsTokenCount");
    }

    /// The normal form. What the provider's own tools fed to the model is prompt too, and stands beside the prompt's count.
    pub(crate) fn normal(&self) -> Usage {
        let read = within(self.read, self.prompt);
        Usage {
            uncached: self.prompt.unwrap_or(0) - read.unwrap_or(0) + self.tool_use.unwrap_or(0),
            read,
            output: self.candidates.unwrap_or(0) + self.thoughts.unwrap_or(0),
            reasoning: self.thoughts,
            ..Usage::default()
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
    fn inclusive_counts_become_additive_and_the_last_ones_count() {
        check(
            &[
                r#"{"promptTokenCount":100,"totalTokenCount":100}"#,
                r#"{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":3,"thoughtsTokenCount":5}"#,
                r#"{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":9,"thoughtsTokenCount":5,"toolUsePromptTokenCount":7,"totalTokenCount":121,"cacheTokensDetails":[{"modality":"TEXT","tokenCount":60}]}"#,
            ],
            Usage {
                uncached: 47,
                read: Some(60),
                output: 14,
                reasoning: Some(5),
                ..Usage::default()
            },
        );
    }

    #[test]
    fn what_is_not_reported_is_unknown_and_not_zero() {
        let expected = Usage { uncached: 50, output: 2, ..Usage::default() };
        check(&[r#"{"promptTokenCount":50,"candidatesTokenCount":2}"#], expected);
        for nonsense in ["-4", "1.5", "\"9\"", "null", "18446744073709551615", "1e300"] {
            let usage = format!(
                r#"{{"promptTokenCount":50,"candidatesTokenCount":2,"cachedContentTokenCount":{nonsense},"thoughtsTokenCount":{nonsense}}}"#
            );
            check(&[&usage], expected);
        }
        // More than the prompt, and a part of nothing known.
        check(
            &[r#"{"promptTokenCount":50,"candidatesTokenCount":2,"cachedContentTokenCount":51}"#],
            expected,
        );
        check(&[r#"{"cachedContentTokenCount":5}"#], Usage::default());
        check(&["[]", "7"], Usage::default());
    }
}
