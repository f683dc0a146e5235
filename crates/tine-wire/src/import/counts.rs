//! How many of what, by kind.

use std::collections::BTreeMap;

/// Most kinds that are told apart. No tool writes a third as many; more of them come from a file that is none.
const KINDS_MAX: usize = 64;

/// Longest name of a kind, in bytes.
const KIND_BYTES_MAX: usize = 48;

/// Counts by kind, in the order of their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<String, u64>);

impl Counts {
    /// One more of a kind. Names that no tool would give, and kinds beyond the limit, count as `other`.
    pub fn add(&mut self, kind: &str) {
        self.add_many(kind, 1);
    }

    /// So many more of a kind; none leaves no trace.
    pub fn add_many(&mut self, kind: &str, count: u64) {
        if count == 0 {
            return;
        }
        let fine = |c: char| c.is_ascii_alphanumeric() || "_-./: ".contains(c);
        let is_name = !kind.is_empty() && kind.len() <= KIND_BYTES_MAX && kind.chars().all(fine);
        let is_room = self.0.len() < KINDS_MAX || self.0.contains_key(kind);
        let kind = if is_name && is_room { kind } else { "other" };
        let counted = self.0.entry(kind.to_owned()).or_default();
        *counted = counted.saturating_add(count);
    }

    /// The same counts and those of `other`.
    pub fn extend(&mut self, other: &Self) {
        for (kind, count) in other.iter() {
            self.add_many(kind, count);
        }
    }

    /// Kinds and how many there are of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(kind, count)| (kind.as_str(), *count))
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_from_a_hostile_file_stay_few_and_harmless() {
        let mut counts = Counts::default();
        for kind in ["", "a\u{1b}[31m", &"long".repeat(20)] {
            counts.add(kind);
        }
        for number in 0..200 {
            counts.add(&format!("kind {number}"));
        }
        counts.add("kind 0");
        assert_eq!(counts.iter().count(), KINDS_MAX);
        assert_eq!(counts.0.get("kind 0"), Some(&2));
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 204);
    }
}
