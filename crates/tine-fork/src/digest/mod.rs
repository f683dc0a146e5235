//! A conversation as text, for a fork that cannot inherit it natively: another model, another host, an imported session.
//!
//! Pure: messages in, text out. A digest shares no cache with its source and is never made in place of the messages themselves;
//! who asks for one gets one. Only what is kept is rendered, once, from the newest message back, so the cost is linear and
//! mostly that of the budget.
//!
//! What was said cannot forge the frame. The lines of ours are the only ones that begin in the first column: of a quoted text
//! every line after the first, which stands behind its label, is indented, whichever character ends a line. Tags that mean
//! something to tine are made plain text.

mod preamble;
mod profile;
mod quote;
mod render;
#[cfg(test)]
mod tests;

use tine_cache::BYTES_PER_TOKEN;
use tine_model::{Block, Message, ToolInput};

pub use profile::DigestProfile;
use render::{Rendered, Renderer};

/// The tag around a digest.
pub const DIGEST_TAG: &str = "inherited_context";

/// A message that does not fit is dropped when less than this is left, in the profile's unit: a shorter piece tells nothing.
const PIECE_MIN: usize = 400;

/// The end of a message's last line, and the blank line between two.
const LINE_ENDS: usize = 2;

/// What the frame takes at most, in the profile's unit: the tags and the preamble at its longest.
const FRAME_MAX: usize = 1_400;

/// What became of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DigestStats {
    /// Messages of the conversation.
    pub messages: usize,
    /// The oldest of them, which are not in the text.
    pub dropped: usize,
    /// What the dropped ones would have been to a model, in tokens by [`BYTES_PER_TOKEN`].
    pub dropped_tokens: u64,
    /// Whether the oldest message of the text is only the beginning of itself.
    pub is_cut: bool,
    /// Tool results in the text.
    pub results: usize,
    /// Those of them that are not whole.
    pub results_cut: usize,
    /// Tool results in the text that the conversation's own program had cleared to save room.
    pub results_cleared: usize,
    /// Tool calls in the text whose arguments are not whole.
    pub calls_cut: usize,
    /// Messages in the text whose reasoning is not there; it never is.
    pub thinking: usize,
    /// Images, documents and blocks of an unknown kind that are only named.
    pub pictures: usize,
    /// Messages before the summary that the conversation begins with; `None` where it begins with none.
    pub before_summary: Option<usize>,
    /// Tokens of the text by [`BYTES_PER_TOKEN`]: an estimate that is good to about a third.
    pub tokens: u64,
}

/// A conversation as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// The text, frame included: what becomes the first user message of the fork. Empty for a conversation without messages.
    pub text: String,
    /// What it holds and what not.
    pub stats: DigestStats,
}

impl Digest {
    /// The digest of messages, oldest first. The text never exceeds the profile's budget; the newest message is in it, cut where
    /// it alone is too long. Never fails.
    pub fn of(messages: &[&Message], profile: DigestProfile) -> Self {
        Self::within(messages, profile, profile.budget(), None)
    }

    /// The same of messages that begin with a summary, which stands for so many before it.
    pub fn behind_summary(
        messages: &[&Message],
        profile: DigestProfile,
        before_summary: Option<usize>,
    ) -> Self {
        Self::within(messages, profile, profile.budget(), before_summary)
    }

    /// The digest of messages for a window of one's own: about so many tokens with fixed limits.
    pub fn fitting(messages: &[&Message], tokens: u64) -> Self {
        let bytes = usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
        let profile = DigestProfile::Fixed;
        Self::within(messages, profile, bytes.min(profile.budget()), None)
    }

    /// The same with a budget of one's own, in the profile's unit; at least [`FRAME_MAX`].
    fn within(
        messages: &[&Message],
        profile: DigestProfile,
        budget: usize,
        before_summary: Option<usize>,
    ) -> Self {
        if messages.is_empty() {
            let stats = DigestStats { before_summary, ..DigestStats::default() };
            return Self { text: String::new(), stats };
        }
        let room = budget.saturating_sub(FRAME_MAX);
        let (parts, mut stats) = select(messages, profile, room);
        stats.before_summary = before_summary;
        let mut text = preamble::opening(&stats, profile);
        for part in parts.iter().rev().filter(|part| !part.is_empty()) {
            text.push('\n');
            text.push_str(part);
            text.push('\n');
        }
        text.push_str("</");
        text.push_str(DIGEST_TAG);
        text.push('>');
        stats.tokens = (text.len() as u64).div_ceil(BYTES_PER_TOKEN);
        Self { text, stats }
    }
}

/// The newest messages that fit, rendered, newest first.
fn select(
    messages: &[&Message],
    profile: DigestProfile,
    room: usize,
) -> (Vec<String>, DigestStats) {
    let mut renderer = Renderer::new(messages, profile);
    let mut stats = DigestStats { messages: messages.len(), ..DigestStats::default() };
    let (mut parts, mut left) = (Vec::new(), room);
    for (index, message) in messages.iter().enumerate().rev() {
        let mut rendered = renderer.message(message);
        let cost = profile.cost(&rendered.text) + LINE_ENDS;
        if cost > left {
            // Little is kept so far because this message is very long: its beginning is worth more than nothing.
            let is_worth_a_piece = room - left < profile.floor(room) && left >= PIECE_MIN;
            stats.is_cut = is_worth_a_piece;
            stats.dropped = index + usize::from(!is_worth_a_piece);
            if is_worth_a_piece {
                rendered.cut(left - LINE_ENDS, profile);
                stats.add(&rendered);
                parts.push(rendered.text);
            }
            break;
        }
        left -= cost;
        stats.add(&rendered);
        parts.push(rendered.text);
    }
    let bytes: u64 = messages[..stats.dropped].iter().map(|message| bytes_of(message)).sum();
    stats.dropped_tokens = bytes.div_ceil(BYTES_PER_TOKEN);
    (parts, stats)
}

impl DigestStats {
    fn add(&mut self, rendered: &Rendered) {
        self.results += rendered.results;
        self.results_cut += rendered.results_cut;
        self.results_cleared += rendered.results_cleared;
        self.calls_cut += rendered.calls_cut;
        self.thinking += usize::from(rendered.has_thinking);
        self.pictures += rendered.pictures;
    }
}

/// Bytes that a model reads of a message, arguments and results of tools included.
fn bytes_of(message: &Message) -> u64 {
    message.blocks().iter().map(block_bytes).sum()
}

fn block_bytes(block: &Block) -> u64 {
    let bytes = match block {
        Block::Text(text) | Block::Thinking { text, .. } => text.len(),
        Block::ToolUse { name, input, .. } => {
            let input = match input {
                ToolInput::Valid(json) => json.as_str().len(),
                ToolInput::Invalid(text) => text.len(),
            };
            name.len() + input
        }
        Block::ToolResult { content, .. } => return content.iter().map(block_bytes).sum(),
        // Their size in bytes says nothing of their tokens.
        Block::RedactedThinking(_) | Block::Image(_) | Block::Document(_) | Block::Unknown(_) => 0,
    };
    bytes as u64
}
