//! Tokens out of bytes, and whether reported counts can be true.

use tine_model::Usage;

/// Bytes of a request that make about one token, where nothing better is known. English prose has a little more, code and
/// JSON a little less; an estimate by it is good to about a third.
pub const BYTES_PER_TOKEN: u64 = 4;

/// No prompt has more tokens than this: a hundred times the longest context window there is.
const PROMPT_TOKENS_MAX: u64 = 100_000_000;

/// Tokens that a prompt may have beyond one for each byte sent: pictures that are named by an address, and what a provider
/// adds of its own.
const UNSENT_TOKENS_MAX: u64 = 100_000;

/// A prompt that is reported with less than this share of its estimate was not counted as a whole.
const COUNTED_SHARE_MIN: u64 = 16;

/// Tokens of the whole prompt. Absurd counts saturate.
pub(crate) fn prompt_of(usage: &Usage) -> u64 {
    let parts = [usage.write_short, usage.write_long, usage.read];
    parts.iter().flatten().fold(usage.uncached, |sum, part| sum.saturating_add(*part))
}

/// A count as people read it: `12,345`.
pub(crate) fn counted(count: u64) -> String {
    let digits = count.to_string();
    let mut shown = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// What a provider said about its cache, when it said something that can be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tokens of the whole prompt, more than 0.
    pub(crate) prompt: u64,
    /// Tokens read.
    pub(crate) read: u64,
    /// Tokens written; `None` when writes were not reported.
    pub(crate) written: Option<u64>,
    /// Those of them written at the long lifetime.
    pub(crate) written_long: u64,
}

/// Why reported counts say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoCounts {
    /// Reads were not reported.
    Unreported,
    /// The prompt is said to be empty.
    Empty,
    /// They fit no request of this size.
    Absurd,
}

impl Counts {
    /// Reads usage of a request that is estimated at `estimated_tokens`.
    pub(crate) fn of(usage: &Usage, estimated_tokens: u64) -> Result<Self, NoCounts> {
        let prompt = prompt_of(usage);
        let bytes = estimated_tokens.saturating_mul(BYTES_PER_TOKEN);
        let most = bytes.saturating_add(UNSENT_TOKENS_MAX).min(PROMPT_TOKENS_MAX);
        let Some(read) = usage.read else { return Err(NoCounts::Unreported) };
        if prompt == 0 {
            return Err(NoCounts::Empty);
        }
        if prompt > most || prompt < estimated_tokens / COUNTED_SHARE_MIN {
            return Err(NoCounts::Absurd);
        }
        let reported = usage.write_short.is_some() || usage.write_long.is_some();
        let written = reported.then(|| usage.written());
        Ok(Self { prompt, read, written, written_long: usage.write_long.unwrap_or(0) })
    }
}

/// A place of which the size is known both in bytes and in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) bytes: u64,
    pub(crate) tokens: u64,
    pub(crate) exact: bool,
}

/// Turns bytes of one request into tokens: between known points by proportion, behind the last one by
/// [`BYTES_PER_TOKEN`]. Longer is never fewer.
#[derive(Debug, Default)]
pub(crate) struct Ruler {
    points: Vec<Point>,
}

impl Ruler {
    /// Takes points in the order of their bytes. One that contradicts an exact one before it is left out, and gives way to
    /// an exact one behind it.
    pub(crate) fn new(points: impl IntoIterator<Item = Point>) -> Self {
        let mut ruler = Self::default();
        for point in points {
            ruler.push(point);
        }
        ruler
    }

    fn push(&mut self, point: Point) {
        while let Some(last) = self.points.last() {
            let same = last.bytes == point.bytes;
            if !same && last.tokens <= point.tokens {
                break;
            }
            if last.exact && !(same && point.exact) {
                return;
            }
            self.points.pop();
        }
        self.points.push(point);
    }

    /// Tokens of the first `bytes` bytes.
    pub(crate) fn tokens(&self, bytes: u64) -> u64 {
        let behind = self.points.partition_point(|point| point.bytes <= bytes);
        let (from_bytes, from_tokens) = match behind.checked_sub(1) {
            Some(index) => (self.points[index].bytes, self.points[index].tokens),
            None => (0, 0),
        };
        match self.points.get(behind) {
            None => from_tokens.saturating_add((bytes - from_bytes).div_ceil(BYTES_PER_TOKEN)),
            Some(next) => {
                let (span, part) = (next.bytes - from_bytes, bytes - from_bytes);
                let tokens = u128::from(next.tokens - from_tokens) * u128::from(part)
                    / u128::from(span.max(1));
                from_tokens + u64::try_from(tokens).unwrap_or(u64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(bytes: u64, tokens: u64, exact: bool) -> Point {
        Point { bytes, tokens, exact }
    }

    #[test]
    fn thousands_are_apart() {
        let shown = [0, 999, 1_000, 12_345, 1_234_567].map(counted);
        assert_eq!(shown, ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn a_ruler_interpolates_between_known_points_and_guesses_behind_them() {
        let ruler = Ruler::new([point(1_000, 300, true), point(2_000, 500, true)]);
        let tokens = [0, 500, 1_000, 1_500, 2_000, 2_400].map(|bytes| ruler.tokens(bytes));
        assert_eq!(tokens, [0, 150, 300, 400, 500, 600]);
        assert_eq!(Ruler::default().tokens(401), 101);
    }

    #[test]
    fn a_guess_gives_way_to_what_is_known() {
        let ruler = Ruler::new([point(1_000, 900, false), point(2_000, 500, true)]);
        assert_eq!(ruler.tokens(1_000), 250);
        let ruler = Ruler::new([point(1_000, 300, true), point(2_000, 200, false)]);
        assert_eq!(ruler.tokens(2_000), 550);
    }

    #[test]
    fn counts_that_cannot_be_true_are_told_apart() {
        let usage = |uncached, read| Usage { uncached, read, ..Usage::default() };
        let check = |usage: Usage, expected| assert_eq!(Counts::of(&usage, 1_000).err(), expected);
        check(usage(1_000, None), Some(NoCounts::Unreported));
        check(usage(0, Some(0)), Some(NoCounts::Empty));
        check(usage(0, Some(u64::MAX)), Some(NoCounts::Absurd));
        check(usage(u64::MAX, Some(u64::MAX)), Some(NoCounts::Absurd));
        check(usage(3, Some(0)), Some(NoCounts::Absurd));
        check(usage(0, Some(1_300)), None);
    }
}
