//! One agent on the screen: its conversation, where the person has scrolled to, and what is being written to it.

use std::collections::HashSet;
use std::path::PathBuf;

use tine_model::{AgentRecord, EntryId, ToolCallId};
use tine_runtime::FoldedEntry;

use super::input::Input;
use super::piece::{Body, Piece, Tone, add_entry};

/// What is at the top of the part of the conversation that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Scroll {
    /// The end is shown, and stays shown as it grows.
    #[default]
    Bottom,
    /// This line of this piece is the first.
    At {
        /// Which piece.
        piece: usize,
        /// Which of its lines.
        line: usize,
    },
}

/// An agent on the screen.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    /// Who it is.
    pub(crate) record: AgentRecord,
    /// The conversation as it is written down.
    pub(crate) pieces: Vec<Piece>,
    /// Counts changes of pieces that were there before, so that what was laid out of them is laid out anew.
    pub(crate) revision: u64,
    /// The last entry that was read.
    pub(crate) last: Option<EntryId>,
    /// Whether the log may hold more.
    pub(crate) is_stale: bool,
    /// What was said to it and is not in its log yet.
    pub(crate) sent: Option<String>,
    /// What is being written to it.
    pub(crate) input: Input,
    /// Where the person has scrolled to.
    pub(crate) scroll: Scroll,
    /// Calls that are shown whole.
    pub(crate) opened: HashSet<ToolCallId>,
    /// Whether all calls and all reasoning are shown whole.
    pub(crate) is_open: bool,
    /// Tokens of the last request: those that the cache served, and all of its prompt.
    pub(crate) last_request: Option<(Option<u64>, u64)>,
    /// What it cost so far, and its tree, in USD.
    pub(crate) cost: Option<(Option<f64>, Option<f64>)>,
}

impl Room {
    /// A room whose conversation is not read yet.
    pub(crate) fn new(record: AgentRecord) -> Self {
        Self {
            record,
            pieces: Vec::new(),
            revision: 0,
            last: None,
            is_stale: true,
            sent: None,
            input: Input::default(),
            scroll: Scroll::Bottom,
            opened: HashSet::new(),
            is_open: false,
            last_request: None,
            cost: None,
        }
    }

    /// Takes in the whole conversation, as far as it counts, and all that happened in it.
    pub(crate) fn fill(&mut self, entries: &[FoldedEntry]) {
        let directory = PathBuf::from(&self.record.directory);
        let asides = std::mem::take(&mut self.pieces);
        for folded in entries {
            if folded.effective || is_event(folded) {
                add_entry(&mut self.pieces, &folded.entry, &directory);
            }
        }
        // What the terminal said stays where it was said, as far as that is still there.
        for aside in asides.into_iter().filter(|piece| matches!(piece.body, Body::Aside(..))) {
            let at = self.pieces.iter().rposition(|piece| piece.entry <= aside.entry);
            self.pieces.insert(at.map_or(0, |at| at + 1), aside);
        }
        self.last = entries.last().map(|folded| folded.entry.id);
        self.revision += 1;
        self.is_stale = false;
        self.scroll = Scroll::Bottom;
        let Self { pieces, input, .. } = self;
        for piece in pieces.iter() {
            if let Body::User(text) = &piece.body {
                input.remember(text);
            }
        }
    }

    /// Takes in what was written since.
    pub(crate) fn extend(&mut self, entries: &[FoldedEntry]) {
        let directory = PathBuf::from(&self.record.directory);
        let last = self.last;
        for folded in entries.iter().filter(|folded| Some(folded.entry.id) > last) {
            add_entry(&mut self.pieces, &folded.entry, &directory);
            self.last = Some(folded.entry.id);
        }
        // A call that was there may have its answer now.
        self.revision += 1;
        self.is_stale = false;
    }

    /// Says something to the person, here.
    pub(crate) fn say(&mut self, tone: Tone, text: String) {
        let entry = self.last.unwrap_or(EntryId(0));
        self.pieces.push(Piece { entry, body: Body::Aside(tone, text) });
    }

    /// How people call it.
    pub(crate) fn title(&self) -> String {
        title(&self.record)
    }
}

/// How people call an agent: by its name, else by the beginning of its id.
pub(crate) fn title(record: &AgentRecord) -> String {
    record.name.clone().unwrap_or_else(|| record.id.short())
}

/// Whether it is something that happened, and no message.
fn is_event(folded: &FoldedEntry) -> bool {
    use tine_model::EntryBody;
    match folded.entry.body {
        EntryBody::Message(_) | EntryBody::Compact { .. } => false,
        EntryBody::Fork { .. }
        | EntryBody::Clear
        | EntryBody::Mark { .. }
        | EntryBody::Rewind { .. }
        | EntryBody::Notice(_) => true,
    }
}
