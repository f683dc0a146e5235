//! Words of a text, for comparisons that do not depend on spelling, case and punctuation.

use std::collections::BTreeSet;

/// Words too common to tell one task from another.
const COMMON: [&str; 68] = [
    "about", "above", "after", "again", "agent", "agents", "also", "always", "and", "another",
    "any", "are", "been", "before", "below", "both", "but", "can", "could", "does", "done", "each",
    "every", "first", "for", "from", "have", "here", "into", "just", "last", "let", "like", "made",
    "make", "more", "must", "need", "next", "none", "not", "now", "one", "only", "other", "our",
    "please", "report", "same", "shall", "should", "some", "still", "task", "than", "that", "the",
    "their", "them", "then", "there", "these", "this", "what", "which", "will", "with", "your",
];

/// Shortest word that tells something.
const CHARS_MIN: usize = 3;

/// Words in small letters.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    words_as_written(text).map(str::to_lowercase)
}

/// Words: runs of letters and digits, and of what joins them in names of files.
pub(super) fn words_as_written(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let words = text.split(move |c: char| !is_part(c));
    let trimmed = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    trimmed.filter(|word| !word.is_empty())
}

/// Whether a word names a file: it has a directory or an ending.
pub(super) fn is_path(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let ending = word.rsplit_once('.').is_some_and(|(stem, ending)| {
        let plain = ending.chars().all(|c| c.is_ascii_alphanumeric());
        let letter = ending.starts_with(|c: char| c.is_ascii_alphabetic());
        !stem.is_empty() && plain && letter && (1..=5).contains(&ending.len())
    });
    // `and/or` is no file.
    ending || word.matches('/').count() > 1
}

/// The words that tell one task from another, each reduced to its stem as far as a plural or a verb's ending goes.
pub(super) fn terms(text: &str) -> BTreeSet<String> {
    let telling = |word: &String| {
        word.chars().count() >= CHARS_MIN
            && !COMMON.contains(&word.as_str())
            && !word.chars().all(|c| c.is_ascii_digit())
    };
    words(text).filter(telling).map(|word| stem(&word)).collect()
}

/// Cuts the commonest endings: `tests`, `tested` and `testing` are one word here. Names of files stay.
fn stem(word: &str) -> String {
    const STEM_CHARS_MIN: usize = 4;
    if is_path(word) {
        return word.to_owned();
    }
    let cut = ["ing", "ed", "es", "s", "e"].iter().find_map(|ending| {
        word.strip_suffix(ending).filter(|stem| stem.chars().count() >= STEM_CHARS_MIN)
    });
    cut.unwrap_or(word).to_owned()
}
