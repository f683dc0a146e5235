//! Whether siblings start together or wait for a leader.

/// How long an entry of the short lifetime lives at least, from the start of the request that wrote or read it.
/// Source: Anthropic, "Prompt caching".
pub const SHORT_LIFETIME_MS: i64 = 5 * 60 * 1000;

/// A gap of fewer tokens than this is not worth a wait: it costs less than a cent for eight siblings on the dearest model,
/// and below a provider's minimum nothing is cached at all.
const GAP_TOKENS_MIN: u64 = 1024;

/// What is known of the prefix that siblings will share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// Tokens of the whole prefix, estimated.
    pub tokens: u64,
    /// Tokens of it that the lineage's last request did not hold, estimated.
    pub gap_tokens: u64,
    /// When the lineage's last request started; `None` when there was none.
    pub last_request_ms: Option<i64>,
}

/// How siblings start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launch {
    /// All at once: the prefix is warm, or there is nothing to share.
    Together,
    /// One first, the rest on its first event: the prefix is cold.
    LeaderFirst,
}

/// Chooses for `siblings` siblings that start at `now_ms`.
pub fn plan(prefix: Prefix, siblings: usize, now_ms: i64) -> Launch {
    let warm = prefix.last_request_ms.is_some_and(|start| now_ms - start < SHORT_LIFETIME_MS);
    let gap = if warm { prefix.gap_tokens } else { prefix.tokens };
    if siblings < 2 || gap < GAP_TOKENS_MIN { Launch::Together } else { Launch::LeaderFirst }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(last: Option<i64>, gap: u64, siblings: usize, expected: Launch) {
        let prefix = Prefix { tokens: 50_000, gap_tokens: gap, last_request_ms: last };
        assert_eq!(plan(prefix, siblings, 1_000_000), expected);
    }

    #[test]
    fn a_cold_prefix_has_a_leader_and_a_warm_one_has_none() {
        check(None, 0, 8, Launch::LeaderFirst);
        check(Some(1_000_000 - SHORT_LIFETIME_MS), 0, 8, Launch::LeaderFirst);
        check(Some(1_000_001 - SHORT_LIFETIME_MS), 0, 8, Launch::Together);
        check(Some(999_000), GAP_TOKENS_MIN, 8, Launch::LeaderFirst);
        check(None, 0, 1, Launch::Together);
    }
}
