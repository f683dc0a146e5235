//! The texts that were sent before, of all agents and earlier sessions.

use std::mem;

use crate::host::HistoryEntry;

/// Most texts that a session keeps in memory. As many as the file holds; see the host.
const ENTRIES_MAX: usize = 1_000;

/// Texts that can be recalled and searched.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// The directory of the session.
    directory: String,
    /// All texts, the newest last, each once for a directory.
    entries: Vec<HistoryEntry>,
    /// Those that the host has not written down yet.
    unwritten: Vec<HistoryEntry>,
}

impl History {
    /// The texts of earlier sessions, the newest last.
    pub(crate) fn of(directory: String, entries: Vec<HistoryEntry>) -> Self {
        let mut history = Self { directory, ..Self::default() };
        entries.into_iter().for_each(|entry| history.push(entry));
        history
    }

    /// Keeps a text that was sent, here and in the file. One that begins with a blank is not kept, as in a shell.
    pub(super) fn remember(&mut self, text: &str) {
        if text.starts_with(char::is_whitespace) {
            return;
        }
        if let Some(entry) = self.keep(text) {
            self.unwritten.push(entry);
        }
    }

    /// Keeps a text for this session only.
    pub(super) fn keep(&mut self, text: &str) -> Option<HistoryEntry> {
        if text.trim().is_empty() {
            return None;
        }
        let entry = HistoryEntry { directory: self.directory.clone(), text: text.to_owned() };
        self.push(entry.clone());
        Some(entry)
    }

    /// Takes the texts that are to be written down.
    pub(crate) fn take_unwritten(&mut self) -> Vec<HistoryEntry> {
        mem::take(&mut self.unwritten)
    }

    /// The texts of this directory, the newest last.
    pub(super) fn here(&self) -> impl Iterator<Item = &str> {
        let is_here = |entry: &&HistoryEntry| entry.directory == self.directory;
        self.entries.iter().filter(is_here).map(|entry| entry.text.as_str())
    }

    /// Finds the newest text before a place that holds some words, in whatever case where these have no capital letter.
    pub(super) fn find(&self, words: &str, before: usize) -> Option<(usize, &str)> {
        let entries = self.entries.iter().enumerate().take(before).rev();
        let texts = entries.map(|(place, entry)| (place, entry.text.as_str()));
        texts.into_iter().find(|(_, text)| position(text, words).is_some())
    }

    /// The number of texts: the place behind the newest one.
    pub(super) fn end(&self) -> usize {
        self.entries.len()
    }

    fn push(&mut self, entry: HistoryEntry) {
        self.entries.retain(|known| *known != entry);
        if self.entries.len() == ENTRIES_MAX {
            self.entries.remove(0);
        }
        self.entries.push(entry);
    }
}

/// The place of some words in a text, in bytes.
pub(super) fn position(text: &str, words: &str) -> Option<usize> {
    if words.chars().any(char::is_uppercase) {
        return text.find(words);
    }
    let begins = |at: usize| {
        let mut rest = text[at..].chars().flat_map(char::to_lowercase);
        words.chars().all(|wanted| rest.next() == Some(wanted))
    };
    text.char_indices().map(|(at, _)| at).find(|at| begins(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(directory: &str, text: &str) -> HistoryEntry {
        HistoryEntry { directory: directory.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn each_text_is_kept_once_for_its_directory_and_only_new_ones_are_written() {
        let old = [entry("/a", "one"), entry("/b", "two"), entry("/a", "three")];
        let mut history = History::of("/a".to_owned(), old.to_vec());
        for text in ["one", " a secret", "", "two"] {
            history.remember(text);
        }
        history.keep("a draft");
        assert_eq!(history.here().collect::<Vec<_>>(), ["three", "one", "two", "a draft"]);
        assert_eq!(history.take_unwritten(), [entry("/a", "one"), entry("/a", "two")]);
        assert_eq!(history.take_unwritten(), []);
    }

    #[test]
    fn capital_letters_are_sought_as_they_stand() {
        assert_eq!(position("Mend README", "read"), Some(5));
        assert_eq!(position("Mend readme", "READ"), None);
        assert_eq!(position("Straße, ÜBER", "über"), Some("Straße, ".len()));
        assert_eq!(position("a", ""), Some(0));
    }
}
