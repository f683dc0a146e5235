//! Frames: messages as the bytes that are sent.

use std::sync::Arc;

use bytes::Bytes;
use tine_model::WireFormat;

use crate::Closed;

/// A BLAKE3 hash.
pub type Hash = [u8; 32];

/// Serialises one message for one wire format. Must be a pure function: a frame's bytes never change once made.
pub trait Framer {
    /// The format of the frames.
    fn format(&self) -> WireFormat;

    /// The bytes of one message, without a separator before or after it. A message that has no form in this format
    /// gives an empty frame.
    fn frame(&self, closed: &Closed<'_>) -> Frame;
}

/// A place in a frame where a cache mark may be inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Byte offset from the start of the frame.
    pub offset: usize,
    /// Which block of the frame the slot ends, counted from 0 over all blocks, markable or not.
    pub block: usize,
}

/// One message as bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// The bytes that are sent.
    pub bytes: Bytes,
    /// Where marks may go, in order.
    pub slots: Vec<Slot>,
    /// Number of content blocks.
    pub blocks: usize,
    /// How many of the leading blocks are shared by all siblings: the placeholder results that closing added.
    pub placeholders: usize,
}

/// The frames of one node as one run of bytes: each non-empty frame preceded by a comma.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) bytes: Bytes,
    pub(crate) rows: Vec<Row>,
    pub(crate) slots: Vec<Slot>,
}

/// One message of a [`Table`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// Where its frame begins, after the comma.
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) slots_end: usize,
    pub(crate) blocks: usize,
    pub(crate) placeholders: usize,
    /// Over everything up to and including this message.
    pub(crate) hash: Hash,
}

impl Table {
    /// The table of one frame, continuing the rolling hash from `before`.
    pub(crate) fn single(frame: &Frame, before: Hash) -> Self {
        let mut builder = TableBuilder::new(before);
        builder.push(frame);
        builder.finish()
    }

    fn frame(&self, index: usize) -> FrameRef<'_> {
        let row = &self.rows[index];
        let slots_begin = index.checked_sub(1).map_or(0, |before| self.rows[before].slots_end);
        FrameRef {
            begin: row.begin,
            end: row.end,
            slots: &self.slots[slots_begin..row.slots_end],
            blocks: row.blocks,
            placeholders: row.placeholders,
        }
    }
}

/// Joins frames, in order, into one table.
pub(crate) struct TableBuilder {
    bytes: Vec<u8>,
    rows: Vec<Row>,
    slots: Vec<Slot>,
    hash: Hash,
}

impl TableBuilder {
    pub(crate) fn new(before: Hash) -> Self {
        Self { bytes: Vec::new(), rows: Vec::new(), slots: Vec::new(), hash: before }
    }

    pub(crate) fn push(&mut self, frame: &Frame) {
        if !frame.bytes.is_empty() {
            self.bytes.push(b',');
        }
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&frame.bytes);
        self.slots.extend_from_slice(&frame.slots);
        self.hash = roll(self.hash, &frame.bytes);
        self.rows.push(Row {
            begin,
            end: self.bytes.len(),
            slots_end: self.slots.len(),
            blocks: frame.blocks,
            placeholders: frame.placeholders,
            hash: self.hash,
        });
    }

    /// Appends rows that were made before; their hashes already continue from what stands here.
    pub(crate) fn extend(&mut self, table: &Table) {
        let (bytes, slots) = (self.bytes.len(), self.slots.len());
        self.bytes.extend_from_slice(&table.bytes);
        self.slots.extend_from_slice(&table.slots);
        for row in &table.rows {
            self.hash = row.hash;
            self.rows.push(Row {
                begin: row.begin + bytes,
                end: row.end + bytes,
                slots_end: row.slots_end + slots,
                ..*row
            });
        }
    }

    pub(crate) fn finish(self) -> Table {
        Table { bytes: self.bytes.into(), rows: self.rows, slots: self.slots }
    }
}

/// The hash before the first message.
pub(crate) fn seed(format: WireFormat) -> Hash {
    *blake3::hash(format.as_str().as_bytes()).as_bytes()
}

fn roll(before: Hash, bytes: &[u8]) -> Hash {
    let mut hasher = blake3::Hasher::new_keyed(&before);
    hasher.update(bytes);
    *hasher.finalize().as_bytes()
}

/// A stretch of consecutive messages whose bytes stand together.
#[derive(Debug, Clone)]
pub struct Run {
    /// Index of its first message in the history.
    pub first: usize,
    /// How many of its messages belong to this history.
    pub items: usize,
    pub(crate) table: Arc<Table>,
}

impl Run {
    /// The bytes of the messages that belong to this history, each preceded by a comma. Shares the node's copy.
    pub fn bytes(&self) -> Bytes {
        match self.items.checked_sub(1) {
            None => Bytes::new(),
            Some(last) => self.table.bytes.slice(..self.table.rows[last].end),
        }
    }
}

/// Where one message stands in its run.
#[derive(Debug, Clone, Copy)]
pub struct FrameRef<'a> {
    /// Byte offset in the run's bytes at which the frame begins, after its comma.
    pub begin: usize,
    /// Byte offset after its last byte.
    pub end: usize,
    /// Where marks may go, with offsets from `begin`.
    pub slots: &'a [Slot],
    /// Number of content blocks.
    pub blocks: usize,
    /// Leading blocks that are placeholder results.
    pub placeholders: usize,
}

/// The bytes of a whole history for one format, as shared runs. Cheap to make: one pointer a run.
#[derive(Debug, Clone)]
pub struct Layout {
    pub(crate) runs: Vec<Run>,
    pub(crate) seed: Hash,
}

impl Layout {
    /// The runs, oldest first.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Number of messages.
    pub fn items(&self) -> usize {
        self.runs.last().map_or(0, |run| run.first + run.items)
    }

    /// The run that holds message `item`, and the message's place in it.
    ///
    /// # Panics
    /// If there is no such message.
    pub fn frame(&self, item: usize) -> (usize, FrameRef<'_>) {
        let index = self.runs.partition_point(|run| run.first + run.items <= item);
        let run = &self.runs[index];
        (index, run.table.frame(item - run.first))
    }

    /// The rolling hash over the first `items` messages.
    pub fn hash_at(&self, items: usize) -> Hash {
        let Some(last) = items.checked_sub(1) else { return self.seed };
        let index = self.runs.partition_point(|run| run.first + run.items <= last);
        let run = &self.runs[index];
        run.table.rows[last - run.first].hash
    }

    /// Index of the first message in which two layouts of one format differ; `None` when neither has a message that the
    /// other contradicts (one may be longer). Takes a logarithmic number of hash comparisons.
    pub fn divergence(&self, other: &Self) -> Option<usize> {
        let common = self.items().min(other.items());
        let (mut same, mut limit) = (0, common);
        while same < limit {
            let middle = (same + limit).div_ceil(2);
            if self.hash_at(middle) == other.hash_at(middle) {
                same = middle;
            } else {
                limit = middle - 1;
            }
        }
        (same < common).then_some(same)
    }
}
