//! Echo: a report that was inherited.
//!
//! Two texts are compared by their *shingles*: every run of [`SHINGLE_WORDS`] words, in small letters and without punctuation. A
//! report is an echo of a text when at least [`ECHO_SHARE_MIN`] of the report's shingles stand in that text. So a report is
//! found that was copied whole, one with a word changed here and there, and a part of a longer text; one that is about
//! the same things in other words is not.
//!
//! The labels of a worker's report are no words of it: its parts are looked at one by one.
//!
//! What a report may well repeat does not count, on either side of the fraction: shingles of the directive (a scope says the task
//! again), and shingles of what the fork's own tools answered (then it was found again, and not repeated).

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use tine_fork::Report;
use tine_model::Block;

use super::Evidence;
use super::terms::words;

/// Words of a shingle: with fewer, phrases that everybody uses count; with more, one changed word spoils too many.
pub const SHINGLE_WORDS: usize = 4;

/// Share of a report's shingles in one inherited text from which on it is an echo. One changed word spoils four shingles, so a
/// report of sixty words with three words changed still counts.
pub const ECHO_SHARE_MIN: f64 = 0.75;

/// Fewest shingles that are compared: what is shorter, such as `Done, all tests pass.`, is often said twice in good faith.
pub const ECHO_SHINGLES_MIN: usize = 8;

/// Words of a task that asks for an echo.
const ASKED_FOR: [&str; 4] = ["quote", "repeat", "restate", "verbatim"];

pub(super) fn echo(evidence: &Evidence<'_>) -> Option<String> {
    if words(evidence.task()).any(|word| ASKED_FOR.contains(&word.as_str())) {
        return None;
    }
    let mut own: HashSet<u64> =
        parts(evidence.report?).iter().flat_map(|part| shingles(part)).collect();
    let mut expected = shingles(&evidence.directive);
    evidence.acts.iter().for_each(|act| expected.extend(shingles(&act.answer)));
    own.retain(|shingle| !expected.contains(shingle));
    if own.len() < ECHO_SHINGLES_MIN {
        return None;
    }
    let (mut most, mut at) = (0, 0);
    for (number, message) in (1..).zip(evidence.inherited) {
        for text in message.blocks().iter().flat_map(texts) {
            let inherited = shingles(text);
            let shared = own.iter().filter(|shingle| inherited.contains(shingle)).count();
            if shared > most {
                (most, at) = (shared, number);
            }
        }
    }
    let share = most as f64 / own.len() as f64;
    (share >= ECHO_SHARE_MIN).then(|| {
        let percent = (share * 100.0).floor();
        format!("{percent}% of the report stands in inherited message {at}")
    })
}

/// The parts of a report without their labels; all of it where it has none.
fn parts(report: &str) -> Vec<String> {
    let Report { scope, result, key_files, files_changed, issues, raw } = Report::parse(report);
    let parts: Vec<String> =
        [scope, result, key_files, files_changed, issues].into_iter().flatten().collect();
    if parts.is_empty() { vec![raw] } else { parts }
}

/// The texts of a block, those of a tool's answer too: a sibling's report comes as one.
fn texts(block: &Block) -> Vec<&str> {
    match block {
        Block::Text(text) => vec![text],
        Block::ToolResult { content, .. } => content.iter().filter_map(Block::as_text).collect(),
        Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::ToolUse { .. }
        | Block::Image(_)
        | Block::Document(_)
        | Block::Unknown(_) => Vec::new(),
    }
}

/// The shingles of a text, as hashes: histories are long, and two that collide among millions do no harm.
pub(super) fn shingles(text: &str) -> HashSet<u64> {
    let words: Vec<String> = words(text).collect();
    let hash = |shingle: &[String]| {
        let mut hasher = DefaultHasher::new();
        shingle.hash(&mut hasher);
        hasher.finish()
    };
    words.windows(SHINGLE_WORDS).map(hash).collect()
}
