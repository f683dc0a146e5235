//! What lies over the conversation.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation as _;

use super::App;
use super::side::SidePage;
use super::tree::Tree;

/// What lies over the conversation.
#[derive(Debug, Clone)]
pub(crate) enum Overlay {
    /// All agents.
    Tree(Box<Tree>),
    /// Commands and keys.
    Help(Help),
    /// What a command of the command line printed.
    Page(Page),
    /// A question beside the conversation.
    Side(SidePage),
}

impl Overlay {
    /// Whether nothing of it is still to come.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::Tree(_) | Self::Help(_) | Self::Page(_) => true,
            Self::Side(page) => page.whole.is_some() || page.error.is_some(),
        }
    }
}

/// The page of all commands and keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Help {
    /// The first line that is shown.
    pub(crate) from: usize,
    /// Only what has this is shown.
    pub(crate) wanted: String,
    /// True while that is being written.
    pub(crate) is_asking: bool,
}

impl Help {
    /// The page of what has a text; of all, where that is empty.
    pub(super) fn of(wanted: &str) -> Self {
        Self { wanted: wanted.to_owned(), ..Self::default() }
    }

    /// A key for what is looked for; false where the key is for the page.
    pub(super) fn key(&mut self, key: KeyEvent) -> bool {
        let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Char('/') if is_plain && !self.is_asking => self.is_asking = true,
            KeyCode::Esc if self.is_asking || !self.wanted.is_empty() => *self = Self::default(),
            KeyCode::Enter if self.is_asking => self.is_asking = false,
            KeyCode::Backspace if self.is_asking => {
                let last = self.wanted.grapheme_indices(true).next_back();
                self.wanted.truncate(last.map_or(0, |(at, _)| at));
            }
            KeyCode::Char(letter) if self.is_asking && is_plain && !letter.is_control() => {
                self.wanted.push(letter);
            }
            _ => return false,
        }
        self.from = 0;
        true
    }
}

/// A text with its colours.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    /// What it is.
    pub(crate) title: String,
    /// The text.
    pub(crate) text: String,
    /// The first line that is shown.
    pub(crate) from: usize,
    /// Which page of this screen it is.
    pub(crate) number: u64,
}

impl App {
    /// Shows a text with its colours over the conversation.
    pub(super) fn show_page(&mut self, title: String, text: String) {
        self.pages += 1;
        if let Some(Overlay::Tree(tree)) = self.overlay.take() {
            self.beneath = Some(tree);
        }
        self.overlay = Some(Overlay::Page(Page { title, text, from: 0, number: self.pages }));
    }
}
