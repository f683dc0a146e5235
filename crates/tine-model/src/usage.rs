//! Token counts in one normal form.

use std::ops::AddAssign;

/// Tokens of one request, or a sum over requests. The parts of the prompt do not overlap: the whole prompt is
/// `uncached + write_short + write_long + read`. `None` means that the provider did not report the part; it is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Prompt tokens that were neither read from the cache nor written to it.
    pub uncached: u64,
    /// Prompt tokens written to the cache at the short lifetime (5 or 30 minutes).
    pub write_short: Option<u64>,
    /// Prompt tokens written to the cache at the long lifetime (1 or 12 hours).
    pub write_long: Option<u64>,
    /// Prompt tokens served by the cache.
    pub read: Option<u64>,
    /// Generated tokens, reasoning included.
    pub output: u64,
    /// Generated tokens that were reasoning.
    pub reasoning: Option<u64>,
}

/// The tokens of one answered request, whose price goes by their number and its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// When it was sent, in milliseconds since the Unix epoch.
    pub started_ms: i64,
    /// Its tokens.
    pub usage: Usage,
}

impl Usage {
    /// Tokens of the whole prompt.
    pub fn prompt(&self) -> u64 {
        self.uncached + self.written() + self.read.unwrap_or(0)
    }

    /// Tokens written to the cache, at any lifetime.
    pub fn written(&self) -> u64 {
        self.write_short.unwrap_or(0) + self.write_long.unwrap_or(0)
    }

    /// Share of the prompt that the cache served, 0 to 1; `None` when it was not reported or the prompt was empty.
    pub fn hit_ratio(&self) -> Option<f64> {
        let prompt = self.prompt();
        (prompt > 0).then(|| self.read.map(|read| read as f64 / prompt as f64)).flatten()
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let add = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
        self.uncached += other.uncached;
        self.write_short = add(self.write_short, other.write_short);
        self.write_long = add(self.write_long, other.write_long);
        self.read = add(self.read, other.read);
        self.output += other.output;
        self.reasoning = add(self.reasoning, other.reasoning);
    }
}
