//! The search of the history: backwards, with each letter, as in a shell.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::TextArea;
use tine_model::AgentId;
use unicode_segmentation::UnicodeSegmentation as _;

use super::history::position;
use super::keys::Action;
use super::{App, Effect};

/// A search that is under way. What it has found stands in the line.
#[derive(Debug, Clone)]
pub(crate) struct Search {
    /// What is sought.
    pub(crate) wanted: String,
    /// True where nothing, or nothing older, has it.
    pub(crate) has_failed: bool,
    /// The place in the history of what was found.
    found: Option<usize>,
    /// What stood in the line before.
    draft: TextArea<'static>,
    /// The agent whose line it is.
    of: Option<AgentId>,
}

impl App {
    /// Returns true while the keys of the line are for the search.
    pub(crate) fn is_searching(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.of == self.focus)
    }

    /// Begins to search the texts that were sent before.
    pub(super) fn begin_search(&mut self) {
        self.offers = None;
        self.point_no_more();
        self.search = Some(Search {
            wanted: String::new(),
            has_failed: false,
            found: None,
            draft: self.input().area().clone(),
            of: self.focus,
        });
    }

    /// A key while the history is searched. One that edits takes what was found, and is done to it.
    pub(super) fn search_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let held = key.modifiers.difference(KeyModifiers::SHIFT);
        let gives_up = KeyEvent::new(KeyCode::Char('g'), KeyModifiers::CONTROL) == key;
        match (key.code, self.keys.action(key)) {
            (_, Some(Action::Search)) => {
                let found = self.search.as_ref().and_then(|search| search.found);
                let shown = found.map(|_| self.input().text());
                self.find_before(found.unwrap_or(self.history.end()), shown.as_deref());
            }
            (KeyCode::Esc, _) | (_, Some(Action::Interrupt | Action::Cancel)) => {
                self.leave_search()
            }
            _ if gives_up => self.leave_search(),
            (KeyCode::Char(letter), _) if held.is_empty() => {
                return self.search_more(letter.encode_utf8(&mut [0; 4]));
            }
            (KeyCode::Backspace, _) if held.is_empty() => {
                if let Some(search) = &mut self.search {
                    let last = search.wanted.grapheme_indices(true).next_back();
                    search.wanted.truncate(last.map_or(0, |(at, _)| at));
                }
                self.find_before(self.history.end(), None);
            }
            (KeyCode::Enter | KeyCode::Tab, _) => {
                self.search = None;
                let end = self.input().text().len();
                self.input().go_to(end);
            }
            (KeyCode::Up | KeyCode::Down | KeyCode::Left | KeyCode::Right, _)
                if held.is_empty() =>
            {
                self.search = None;
            }
            _ => {
                self.search = None;
                return self.key(key);
            }
        }
        Vec::new()
    }

    /// Searches for more words than before.
    pub(super) fn search_more(&mut self, text: &str) -> Vec<Effect> {
        let Some(search) = &mut self.search else { return Vec::new() };
        search.wanted.extend(text.chars().map(|c| if c.is_control() { ' ' } else { c }));
        // What was found may have these as well.
        let before = search.found.map_or(self.history.end(), |found| found + 1);
        self.find_before(before, None);
        Vec::new()
    }

    /// Puts the newest text before a place of the history into the line that has what is sought, and is another than this.
    fn find_before(&mut self, before: usize, shown: Option<&str>) {
        let Some(mut search) = self.search.take() else { return };
        if search.wanted.is_empty() {
            (search.found, search.has_failed) = (None, false);
            self.input().restore(search.draft.clone());
        } else {
            let mut found = self.history.find(&search.wanted, before);
            // The same text from another directory is nothing new.
            while let Some((place, _)) = found.filter(|(_, text)| Some(*text) == shown) {
                found = self.history.find(&search.wanted, place);
            }
            let found = found.map(|(place, text)| (place, text.to_owned()));
            search.has_failed = found.is_none();
            if let Some((place, text)) = found {
                search.found = Some(place);
                self.input().set(&text);
                let at = position(&self.input().text(), &search.wanted);
                self.input().go_to(at.unwrap_or_default());
            }
        }
        self.search = Some(search);
    }

    /// Gives the search up: what stood in the line stands there again.
    fn leave_search(&mut self) {
        if let Some(search) = self.search.take() {
            self.input().restore(search.draft);
        }
    }
}
