//! One agent on the screen: its conversation, where the person has scrolled to, and what is being written to it.

use std::collections::HashSet;
use std::path::PathBuf;

use tine_model::{AgentRecord, EntryBody, EntryId};
use tine_runtime::{BudgetRow, FoldedEntry};

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

/// A piece that keeps its place when the conversation is read anew: its entry, and the how manieth of that entry it is.
pub(crate) type Place = (EntryId, usize);

/// Tokens of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastRequest {
    /// Those that the cache served, where the provider says it.
    pub(crate) read: Option<u64>,
    /// All of its prompt.
    pub(crate) prompt: u64,
    /// True where the cache would have served more a while ago.
    pub(crate) is_expired: bool,
}

/// Money, in USD; `None` where a price is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cost {
    /// What an agent's own requests cost so far.
    pub(crate) own: Option<f64>,
    /// What they cost with those of its tree.
    pub(crate) tree: Option<f64>,
    /// How much more its own would have cost without any cache.
    pub(crate) saved: Option<f64>,
}

/// An agent on the screen.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    /// Who it is.
    pub(crate) record: AgentRecord,
    /// The conversation as it is written down.
    pub(crate) pieces: Vec<Piece>,
    /// Counts how often the pieces were made anew, so that what was laid out of them is laid out anew.
    pub(crate) revision: u64,
    /// All entries that were read, in their order, those that have no piece among them; of a conversation that was begun anew,
    /// from there on.
    entries: Vec<EntryId>,
    /// The last entry that was read.
    pub(crate) last: Option<EntryId>,
    /// Whether the log may hold more.
    pub(crate) is_stale: bool,
    /// How many readings of it are under way.
    reads: u32,
    /// The prompt of its run, while it is not in its log yet.
    pub(crate) sent: Option<String>,
    /// Messages that wait for its next turn.
    pub(crate) queued: Vec<String>,
    /// What is being written to it.
    pub(crate) input: Input,
    /// Where the person has scrolled to.
    pub(crate) scroll: Scroll,
    /// The piece that the person points at.
    pub(crate) pointed: Option<usize>,
    /// Whether that piece is to be brought into view.
    pub(crate) seeks: bool,
    /// Pieces that are shown the other way than all others: whole, or folded.
    pub(crate) toggled: HashSet<Place>,
    /// Whether all calls and all reasoning are shown whole.
    pub(crate) is_open: bool,
    /// Tokens of the last request.
    pub(crate) last_request: Option<LastRequest>,
    /// What it cost so far, and its tree, in USD.
    pub(crate) cost: Option<Cost>,
    /// The budget of its tree, where there is one.
    pub(crate) budget: Option<BudgetRow>,
    /// Most tokens that its model reads at once, where that is known.
    pub(crate) window: Option<u64>,
}

impl Room {
    /// A room whose conversation is not read yet.
    pub(crate) fn new(record: AgentRecord) -> Self {
        Self {
            record,
            pieces: Vec::new(),
            revision: 0,
            entries: Vec::new(),
            last: None,
            is_stale: true,
            reads: 0,
            sent: None,
            queued: Vec::new(),
            input: Input::default(),
            scroll: Scroll::Bottom,
            pointed: None,
            seeks: false,
            toggled: HashSet::new(),
            is_open: false,
            last_request: None,
            cost: None,
            budget: None,
            window: None,
        }
    }

    /// Takes in the whole conversation, as far as it counts, and all that happened in it.
    pub(crate) fn fill(&mut self, entries: &[FoldedEntry]) {
        let directory = PathBuf::from(&self.record.directory);
        let pointed = self.pointed.take().map(|index| self.place(index));
        let top = match self.scroll {
            Scroll::Bottom => None,
            Scroll::At { piece, line } => Some((self.place(piece), line)),
        };
        let is_first = self.last.is_none();
        let asides = std::mem::take(&mut self.pieces);
        let entries = begun_anew(entries);
        for folded in entries {
            if folded.effective || is_event(folded) {
                add_entry(&mut self.pieces, &folded.entry, &directory);
            }
        }
        // What the terminal said stays where it was said, as far as that is still there.
        let last = entries.last().map(|folded| folded.entry.id);
        let anew = entries.first().filter(|folded| matches!(folded.entry.body, EntryBody::Clear));
        let anew = anew.map(|folded| folded.entry.id);
        let stays =
            |piece: &Piece| matches!(piece.body, Body::Aside(..)) && Some(piece.entry) >= anew;
        for mut aside in asides.into_iter().filter(stays) {
            aside.entry = last.map_or(aside.entry, |last| aside.entry.min(last));
            let at = self.pieces.iter().rposition(|piece| piece.entry <= aside.entry);
            self.pieces.insert(at.map_or(0, |at| at + 1), aside);
        }
        self.entries = entries.iter().map(|folded| folded.entry.id).collect();
        self.last = last;
        self.revision += 1;
        self.pointed = pointed.and_then(|place| self.find(place));
        let top = top.and_then(|(place, line)| Some((self.find(place)?, line)));
        self.scroll = top.map_or(Scroll::Bottom, |(piece, line)| Scroll::At { piece, line });
        let Self { pieces, input, .. } = self;
        for piece in pieces.iter().filter(|_| is_first) {
            if let Body::User(text) = &piece.body {
                input.add_said(text);
            }
        }
    }

    /// Takes in what was written since.
    pub(crate) fn extend(&mut self, entries: &[FoldedEntry]) {
        let directory = PathBuf::from(&self.record.directory);
        let last = self.last;
        for folded in entries.iter().filter(|folded| Some(folded.entry.id) > last) {
            add_entry(&mut self.pieces, &folded.entry, &directory);
            self.entries.push(folded.entry.id);
            self.last = Some(folded.entry.id);
        }
    }

    /// The log is to be read; since when.
    pub(crate) fn reads(&mut self) -> Option<EntryId> {
        self.reads += 1;
        self.last
    }

    /// It was read. What was written since the last reading began is not there yet where another one is under way.
    pub(crate) fn was_read(&mut self) {
        self.reads = self.reads.saturating_sub(1);
        self.is_stale = self.reads > 0;
    }

    /// Whether a reply is missing, so that the agent can go on without a word; of a conversation that was not read, it may be.
    pub(crate) fn lacks_reply(&self) -> bool {
        let last = self.pieces.iter().rev().find_map(|piece| match &piece.body {
            Body::User(_) | Body::Call(_) => Some(true),
            Body::Model(_) | Body::Thinking(_) => Some(false),
            Body::Event(_) | Body::Aside(..) => None,
        });
        last.unwrap_or(self.is_stale)
    }

    /// Says something to the person, here.
    pub(crate) fn say(&mut self, tone: Tone, text: String) {
        // What is read later stands above it.
        let entry = self.last.unwrap_or(EntryId(i64::MAX));
        self.pieces.push(Piece { entry, body: Body::Aside(tone, text) });
    }

    /// The entry before one, if there is any.
    pub(crate) fn before(&self, entry: EntryId) -> Option<EntryId> {
        let at = self.entries.partition_point(|known| *known < entry);
        self.entries.get(at.checked_sub(1)?).copied()
    }

    /// Whether a piece is shown whole.
    pub(crate) fn is_open(&self, piece: usize) -> bool {
        self.is_open != (!self.toggled.is_empty() && self.toggled.contains(&self.place(piece)))
    }

    /// The place of a piece.
    pub(crate) fn place(&self, index: usize) -> Place {
        let entry = self.pieces.get(index).map_or(EntryId(i64::MAX), |piece| piece.entry);
        let before = self.pieces.iter().take(index).rev();
        (entry, before.take_while(|piece| piece.entry == entry).count())
    }

    /// The piece at a place.
    fn find(&self, (entry, part): Place) -> Option<usize> {
        let index = self.pieces.partition_point(|piece| piece.entry < entry) + part;
        self.pieces.get(index).is_some_and(|piece| piece.entry == entry).then_some(index)
    }

    /// How people call it.
    pub(crate) fn called(&self) -> String {
        called(&self.record)
    }
}

/// How people call an agent: by its name, else by the beginning of its id.
pub(crate) fn called(record: &AgentRecord) -> String {
    record.name.clone().unwrap_or_else(|| record.id.short())
}

/// The entries since the conversation was last begun anew, where none from before counts: a rewind may have brought some back.
fn begun_anew(entries: &[FoldedEntry]) -> &[FoldedEntry] {
    let cleared = entries.iter().rposition(|folded| matches!(folded.entry.body, EntryBody::Clear));
    let (before, since) = entries.split_at(cleared.unwrap_or_default());
    if before.iter().any(|folded| folded.effective) { entries } else { since }
}

/// Whether it is something that happened, and no message.
fn is_event(folded: &FoldedEntry) -> bool {
    match folded.entry.body {
        EntryBody::Message(_) | EntryBody::Compact { .. } => false,
        EntryBody::Fork { .. }
        | EntryBody::Clear
        | EntryBody::Mark { .. }
        | EntryBody::Rewind { .. }
        | EntryBody::Notice(_)
        | EntryBody::Dialect(_) => true,
    }
}
