//! The shares of a window: for the messages that stay, for the question for a summary, for a digest.

use tine_cache::BYTES_PER_TOKEN;
use tine_fork::run::Conversation;

use crate::window::REPLY_MIN;

/// A question for a summary takes at most this share of the room for messages, in percent: sizes are estimated.
const QUESTION_SHARE_PERCENT: u64 = 70;

/// The messages that stay word for word, and a digest, take at most one part of so many of the room for messages.
const KEPT_PART: u64 = 3;

/// Least room for messages that is counted with. A window that the head alone fills is told by the model's refusal.
const MESSAGES_MIN: u64 = 512;

/// Tokens of a digest where nobody knows the window: a part of the smallest window that is common.
const DIGEST_DEFAULT: u64 = 4_000;

/// A shorter digest would be its own frame and nothing else.
const DIGEST_MIN: u64 = 800;

/// The room that a conversation has, in tokens by the usual estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    /// For messages; None where nobody knows the window.
    messages: Option<u64>,
}

impl Room {
    /// A room of so many tokens for messages.
    #[cfg(test)]
    pub(super) fn for_messages(messages: Option<u64>) -> Self {
        Self { messages }
    }

    /// The room that a window leaves beside the head and a reply.
    pub(super) fn of(window: Option<u64>, conversation: &Conversation) -> Self {
        let head = (conversation.head().bytes().len() as u64).div_ceil(BYTES_PER_TOKEN);
        let reply = u64::from(conversation.reply_limit().unwrap_or_default()).max(REPLY_MIN);
        let messages = window.map(|window| {
            let behind_head = window.saturating_sub(head);
            behind_head.saturating_sub(reply.min(behind_head / 2)).max(MESSAGES_MIN)
        });
        Self { messages }
    }

    /// Returns the part of what was wished for that may stay word for word.
    pub(super) fn kept(self, wished: u64) -> u64 {
        self.messages.map_or(wished, |messages| wished.min(messages / KEPT_PART))
    }

    /// The most of the conversation that fits into the question for a summary; None where nobody knows.
    pub(super) fn question(self) -> Option<u64> {
        self.messages.map(|messages| messages * QUESTION_SHARE_PERCENT / 100)
    }

    /// The greatest length of a digest.
    pub(super) fn digest(self) -> u64 {
        self.messages.map_or(DIGEST_DEFAULT, |messages| (messages / KEPT_PART).max(DIGEST_MIN))
    }
}
