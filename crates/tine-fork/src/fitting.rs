//! Conversations in windows: how long a reply may be, and requests that hold less than the conversation.

use std::sync::Arc;

use tine_history::History;
use tine_wire::MarkPoints;

use crate::conversation::Conversation;

impl Conversation {
    /// Returns the same conversation, whose replies are at most this long.
    pub fn replying(self, reply_max: Option<u32>) -> Self {
        Self { reply_max, ..self }
    }

    /// Limits the replies from here on.
    pub fn limit_reply(&mut self, reply_max: u32) {
        self.reply_max = Some(reply_max);
    }

    /// Returns the most tokens that a reply may have; None where the head names no limit.
    pub fn reply_limit(&self) -> Option<u32> {
        let asked = self.head.reply_limit()?;
        Some(self.reply_max.map_or(asked.tokens, |most| most.max(asked.least).min(asked.tokens)))
    }

    /// Returns true if the head allows replies to be limited to so many tokens.
    pub fn allows_reply_of(&self, tokens: u32) -> bool {
        self.head.reply_limit().is_some_and(|limit| limit.least <= tokens)
    }

    /// A conversation with the same head and other messages: for a request that is none of the lineage's own.
    pub fn with_history(&self, history: History) -> Self {
        let fresh = Self::new(Arc::clone(&self.head), history, MarkPoints::default());
        Self { headers: Arc::clone(&self.headers), reply_max: self.reply_max, ..fresh }
            .living(self.lifetimes())
            .speaking(Arc::clone(&self.dialect))
    }

    /// Returns true when it is known what the lineage's last request held.
    pub fn has_sent(&self) -> bool {
        self.points.sent.is_some()
    }
}
