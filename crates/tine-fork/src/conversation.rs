//! What an agent carries from request to request.

use std::sync::Arc;

use tine_history::History;
use tine_llm::Request;
use tine_model::{EntryId, Message};
use tine_wire::{Assembled, Head, MarkPoints, assemble, framer};

/// A head, a history, and where the lineage's last request ended.
#[derive(Debug)]
pub struct Conversation {
    head: Arc<Head>,
    history: History,
    points: MarkPoints,
}

impl Conversation {
    /// A conversation over messages that exist already. `sent` is the number of messages in the lineage's last
    /// request, where it is known.
    pub fn new(head: Arc<Head>, history: History, points: MarkPoints) -> Self {
        Self { head, history, points }
    }

    /// A child that inherits everything. Constant time; the head and all bytes are shared.
    pub fn fork(&mut self) -> Self {
        let history = self.history.fork();
        let points = MarkPoints { sent: self.points.sent, inherited: Some(history.len()) };
        Self { head: Arc::clone(&self.head), history, points }
    }

    /// Appends a message that the log already holds.
    pub fn push(&mut self, entry: EntryId, message: Arc<Message>) {
        self.history.push(entry, message);
    }

    /// The messages.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The request for all messages so far.
    pub fn request(&mut self) -> (Request, Assembled) {
        let assembled = assemble(&self.head, &mut self.history, self.points);
        let request = Request {
            format: self.head.format(),
            body: assembled.body.clone(),
            prefix: assembled.prefix.clone(),
        };
        (request, assembled)
    }

    /// Notes that a request of `items` messages was answered, so that an entry exists at its end.
    pub fn answered(&mut self, items: usize) {
        self.points.sent = Some(items);
    }

    /// Bytes of messages that the lineage's last answered request did not hold.
    pub fn unsent_bytes(&mut self) -> u64 {
        let layout = self.history.layout(framer(self.head.format()));
        let unsent = self.points.sent.unwrap_or(0)..layout.items();
        let lengths = unsent.map(|item| {
            let (_, frame) = layout.frame(item);
            (frame.end - frame.begin) as u64
        });
        lengths.sum()
    }
}
