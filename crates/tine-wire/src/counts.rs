//! Token counts of which one includes the others → the normal form.
//!
//! Where a provider's count of the prompt includes what was read from the cache and written to it, the normal form does not,
//! so both are taken off. A count that cannot be true beside the others is not reported: never zero, and never cut to fit.

use serde_json::Value;
use tine_model::Usage;

use crate::lenient;
use crate::reply::TOKENS_MAX;

/// A count at a place of a usage object; `None` when it is missing, no whole number, or larger than any.
pub(crate) fn count(usage: &Value, path: &str) -> Option<u64> {
    let count = usage.pointer(path).and_then(lenient::count);
    count.filter(|count| *count <= TOKENS_MAX)
}

/// A part that is larger than its whole, or whose whole is not known, says nothing.
pub(crate) fn within(part: Option<u64>, whole: Option<u64>) -> Option<u64> {
    part.filter(|part| whole.is_some_and(|whole| *part <= whole))
}

/// The counts as they were reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Inclusive {
    /// The whole prompt.
    pub(crate) prompt: Option<u64>,
    /// Of the prompt: read from the cache.
    pub(crate) read: Option<u64>,
    /// Of the prompt: written to the cache, at any lifetime.
    pub(crate) written: Option<u64>,
    /// Of what was written: at the short lifetime.
    pub(crate) written_short: Option<u64>,
    /// Of what was written: at the long lifetime.
    pub(crate) written_long: Option<u64>,
    /// The whole answer.
    pub(crate) output: Option<u64>,
    /// Of the answer: reasoning.
    pub(crate) reasoning: Option<u64>,
}

impl Inclusive {
    /// The normal form.
    pub(crate) fn normal(&self) -> Usage {
        let read = within(self.read, self.prompt);
        let rest = self.prompt.map(|prompt| prompt - read.unwrap_or(0));
        let (write_short, write_long) = self.writes(rest);
        let written = write_short.unwrap_or(0) + write_long.unwrap_or(0);
        Usage {
            uncached: rest.unwrap_or(0) - written,
            write_short,
            write_long,
            read,
            output: self.output.unwrap_or(0),
            reasoning: within(self.reasoning, self.output),
        }
    }

    /// What was written for either lifetime, of what was not read. What the lifetimes do not account for was written at the
    /// short one, which is the default; lifetimes that account for more than the sum, or than the prompt, are not believed.
    fn writes(&self, rest: Option<u64>) -> (Option<u64>, Option<u64>) {
        let (short, long) = (self.written_short, self.written_long);
        let told = short.unwrap_or(0) + long.unwrap_or(0);
        match within(self.written, rest) {
            None if within(Some(told), rest).is_some() => (short, long),
            None => (None, None),
            Some(sum) if told > sum => (Some(sum), None),
            Some(sum) if sum == told && short.is_none() && long.is_some() => (None, long),
            Some(sum) => (Some(sum - long.unwrap_or(0)), long),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is reported: the parts of the prompt never make more than the prompt.
        #[test]
        fn the_parts_make_the_whole(counts in prop::array::uniform7(prop::option::of(0u64..50))) {
            let [prompt, read, written, written_short, written_long, output, reasoning] = counts;
            let reported = Inclusive {
                prompt,
                read,
                written,
                written_short,
                written_long,
                output,
                reasoning,
            };
            let normal = reported.normal();
            prop_assert_eq!(normal.prompt(), prompt.unwrap_or(0));
            prop_assert!(normal.reasoning.is_none_or(|part| part <= normal.output));
            // Nothing is made up, and nothing is cut to fit.
            prop_assert!(normal.read.is_none() || normal.read == read);
            prop_assert!(normal.reasoning.is_none() || normal.reasoning == reasoning);
        }
    }
}
