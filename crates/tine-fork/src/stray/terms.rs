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

/// Verbs of tasks that change something: nobody can obey them without a tool.
pub(super) const DOING: [&str; 33] = [
    "add",
    "append",
    "apply",
    "build",
    "bump",
    "change",
    "clean",
    "commit",
    "convert",
    "copy",
    "create",
    "delete",
    "edit",
    "fix",
    "format",
    "generate",
    "implement",
    "insert",
    "install",
    "merge",
    "migrate",
    "move",
    "port",
    "refactor",
    "remove",
    "rename",
    "replace",
    "rewrite",
    "run",
    "set",
    "split",
    "update",
    "write",
];

/// Verbs of tasks that look something up.
pub(super) const LOOKING: [&str; 24] = [
    "analyse",
    "analyze",
    "audit",
    "check",
    "compare",
    "count",
    "examine",
    "extract",
    "find",
    "grep",
    "inspect",
    "investigate",
    "list",
    "locate",
    "look",
    "measure",
    "profile",
    "read",
    "review",
    "scan",
    "search",
    "test",
    "trace",
    "verify",
];

/// Verbs of other tasks, as they begin the items of plans.
pub(super) const TELLING: [&str; 16] = [
    "decide",
    "describe",
    "design",
    "document",
    "draft",
    "ensure",
    "explain",
    "make",
    "plan",
    "prepare",
    "propose",
    "report",
    "see",
    "summarise",
    "summarize",
    "tag",
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

/// Words that stand where an order begins: at the beginning of a sentence, and behind what joins two orders.
pub(super) fn orders(text: &str) -> Vec<String> {
    const JOINS: [&str; 7] = ["and", "then", "please", "also", "to", "or", "first"];
    let ends = |c: char| matches!(c, ':' | ';' | ',' | '!' | '?' | '\n' | '(' | '—');
    let sentences = text.split(ends).flat_map(|part| part.split(". "));
    let mut found = Vec::new();
    for sentence in sentences {
        let mut is_first = true;
        for word in words(sentence) {
            let joins = JOINS.contains(&word.as_str());
            if is_first && !joins {
                found.push(word);
            }
            is_first = joins;
        }
    }
    found
}

/// The names of files in a text, in small letters.
pub(super) fn paths(text: &str) -> impl Iterator<Item = String> {
    words(text).filter(|word| is_path(word))
}

/// Whether two names may be of one file: equal, or one of them with fewer of its directories.
pub(super) fn is_same_path(one: &str, other: &str) -> bool {
    let is_end = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    is_end(&one, &other) || is_end(&other, &one)
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
