//! Whether an explicit cache resource pays: Gemini's `cachedContents`.

use crate::facts::Facts;

/// How many reads an explicit resource needs within `hours` to cost less than no cache at all:
/// `(1 + s·h/p) / (1 − r)`. `None` without a price, where no storage is sold, and where a read costs no less than input.
pub fn explicit_break_even(hours: f64, facts: &Facts, now_ms: i64) -> Option<f64> {
    let rates = facts.prices.at(now_ms)?.base;
    let storage = facts.storage_per_hour?;
    let saved = rates.input - rates.read;
    (saved > 0.0).then(|| (rates.input + storage * hours.max(0.0)) / saved)
}

/// Whether an explicit resource at the fork point pays for `children` children of `turns` requests each that are over
/// within `hours`. `None` where that cannot be known.
pub fn pays_explicit(
    children: usize,
    turns: u32,
    hours: f64,
    facts: &Facts,
    now_ms: i64,
) -> Option<bool> {
    let reads = children as f64 * f64::from(turns);
    explicit_break_even(hours, facts, now_ms).map(|least| reads > least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Models;

    #[test]
    fn an_explicit_resource_pays_from_so_many_reads_on() {
        let check = |model: &str, expected: &str| {
            let least = explicit_break_even(1.0, &Models::bundled().facts(model), 0);
            assert_eq!(format!("{:.1}", least.unwrap_or(f64::NAN)), expected, "{model}");
        };
        check("gemini/gemini-3.1-pro-preview", "3.6");
        check("gemini/gemini-3.8-flash", "2.6");
        check("anthropic/claude-opus-5", "NaN");
        let flash = Models::bundled().facts("gemini/gemini-3.8-flash");
        assert_eq!(pays_explicit(2, 1, 1.0, &flash, 0), Some(false));
        assert_eq!(pays_explicit(1, 3, 1.0, &flash, 0), Some(true));
        assert_eq!(pays_explicit(3, 1, 24.0, &flash, 0), Some(false));
    }
}
