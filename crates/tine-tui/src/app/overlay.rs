//! What lies over the conversation.

use super::App;
use super::side::SidePage;
use super::tree::Tree;

/// What lies over the conversation.
#[derive(Debug, Clone)]
pub(crate) enum Overlay {
    /// All agents.
    Tree(Box<Tree>),
    /// Commands and keys, from this line on.
    Help(usize),
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
