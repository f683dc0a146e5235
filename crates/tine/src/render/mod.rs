//! What commands print: a run on a terminal, as one JSON object or as a stream of them; lists, logs and figures.
//! Decides nothing.

pub(crate) mod change;
pub(crate) mod crew;
pub(crate) mod entry;
pub(crate) mod fold;
pub(crate) mod json;
pub(crate) mod markdown;
pub(crate) mod place;
pub(crate) mod question;
pub(crate) mod receipt;
pub(crate) mod record;
pub(crate) mod screen;
pub(crate) mod stream_json;
pub(crate) mod table;
pub(crate) mod task;
pub(crate) mod text;
pub(crate) mod transcript;
pub(crate) mod workers;
pub(crate) mod worktree;

/// A word that can be copied into a command of a shell.
pub(crate) fn shell_quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+@".contains(letter);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
