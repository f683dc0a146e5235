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

use std::collections::{HashSet, VecDeque};

use tine_model::Block;

use super::Evidence;
use super::terms::{words, words_as_written};
use crate::report::Report;

/// Words of a shingle: with fewer, phrases that everybody uses count; with more, one changed word spoils too many.
pub const SHINGLE_WORDS: usize = 4;

/// Share of a report's shingles in one inherited text from which on it is an echo. One changed word spoils four shingles, so a
/// report of sixty words with three words changed still counts.
pub const ECHO_SHARE_MIN: f64 = 0.75;

/// Fewest shingles that are compared: what is shorter, such as `Done, all tests pass.`, is often said twice in good faith.
pub const ECHO_SHINGLES_MIN: usize = 8;

/// Most inherited text that is compared, in bytes, the latest first: a quarter of the longest histories that models take, so that
/// the end of a worker costs milliseconds. What forks repeat are the latest reports.
pub const ECHO_BYTES_MAX: usize = 1 << 20;

/// Longest answer of an inherited call that is compared, in bytes: reports are short, and what is longer is a file or a log, which
/// would take the place of hundreds of reports.
pub const ECHO_RESULT_BYTES_MAX: usize = 16 << 10;

/// Words of a task that asks for an echo.
const ASKED_FOR: [&str; 4] = ["quote", "repeat", "restate", "verbatim"];

pub(super) fn echo(evidence: &Evidence<'_>) -> Option<String> {
    if words(&evidence.task()).any(|word| ASKED_FOR.contains(&word.as_str())) {
        return None;
    }
    let parts = parts(evidence.report.as_deref()?);
    let mut own: HashSet<u64> = parts.iter().flat_map(|part| shingles(part)).collect();
    let expected = evidence.acts.iter().map(|act| &*act.answer).chain([&*evidence.directive]);
    for shingle in expected.flat_map(shingles) {
        own.remove(&shingle);
    }
    if own.len() < ECHO_SHINGLES_MIN {
        return None;
    }
    let (mut most, mut at, mut left) = (0, 0, ECHO_BYTES_MAX);
    for (index, message) in evidence.inherited.iter().enumerate().rev() {
        for text in message.blocks().iter().rev().flat_map(texts) {
            let text = end_of(text, left);
            left -= text.len();
            let found: HashSet<u64> = shingles(text).filter(|one| own.contains(one)).collect();
            if found.len() > most {
                (most, at) = (found.len(), index + 1);
            }
        }
        if left == 0 {
            break;
        }
    }
    let share = most as f64 / own.len() as f64;
    (share >= ECHO_SHARE_MIN).then(|| {
        let percent = (share * 100.0).floor();
        format!("{percent}% of the report stands in inherited message {at}")
    })
}

/// The end of a text: at most so many bytes, of whole characters.
fn end_of(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    let from = (from..text.len()).find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(text.len())..]
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
        Block::ToolResult { content, .. } => {
            let texts = content.iter().filter_map(Block::as_text);
            texts.filter(|text| text.len() <= ECHO_RESULT_BYTES_MAX).collect()
        }
        Block::Thinking { .. }
        | Block::RedactedThinking(_)
        | Block::ToolUse { .. }
        | Block::Image(_)
        | Block::Document(_)
        | Block::Unknown(_) => Vec::new(),
    }
}

/// The shingles of a text, in order, as hashes: histories are long, and two that collide among millions do no harm.
pub(super) fn shingles(text: &str) -> impl Iterator<Item = u64> {
    let mut last = VecDeque::with_capacity(SHINGLE_WORDS);
    words_as_written(text).filter_map(move |word| {
        if last.len() == SHINGLE_WORDS {
            last.pop_front();
        }
        last.push_back(hash(word.chars().flat_map(char::to_lowercase).map(u64::from)));
        (last.len() == SHINGLE_WORDS).then(|| hash(last.iter().copied()))
    })
}

/// FNV-1a over whole numbers: nobody gains by a collision, and a hash that withstands attacks takes several times as long.
fn hash(parts: impl Iterator<Item = u64>) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    parts.fold(BASIS, |hash, part| (hash ^ part).wrapping_mul(PRIME))
}
