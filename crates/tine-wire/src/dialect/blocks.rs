//! Blocks that a server does not take: reasoning that somebody else has signed, pictures and documents that it cannot read.

use std::fmt;

use tine_model::{Block, EntryId, Message, WireFormat};

/// A kind of block that a conversation can go on without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockKind {
    /// Reasoning, and the signatures that bind calls to it.
    Reasoning,
    /// A picture.
    Picture,
    /// A document, such as a PDF.
    Document,
}

impl BlockKind {
    const ALL: [Self; 3] = [Self::Reasoning, Self::Picture, Self::Document];

    fn as_str(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::Picture => "pictures",
            Self::Document => "documents",
        }
    }

    /// The text in the place of one that is left out; none for reasoning, which nobody misses.
    fn stand_in(self) -> Option<Block> {
        let text = match self {
            Self::Reasoning => return None,
            Self::Picture => "(A picture was here. The provider does not take it.)",
            Self::Document => "(A document was here. The provider does not take it.)",
        };
        Some(Block::Text(text.to_owned()))
    }
}

/// The messages from which blocks are left out. Later ones keep theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Within {
    /// This one.
    Entry(EntryId),
    /// All up to this one.
    UpTo(EntryId),
}

/// Blocks that requests leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeftBlocks {
    /// Of which kind.
    pub kind: BlockKind,
    /// Of which messages.
    pub within: Within,
}

impl LeftBlocks {
    /// Reads the text form, such as `pictures in entry 7` or `reasoning up to entry 57`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (name, rest) = text.split_once(' ')?;
        let kind = BlockKind::ALL.into_iter().find(|kind| kind.as_str() == name)?;
        let entry = |number: &str| number.parse().ok().map(EntryId);
        let within = match rest.strip_prefix("in entry ") {
            Some(number) => Within::Entry(entry(number)?),
            None => Within::UpTo(entry(rest.strip_prefix("up to entry ")?)?),
        };
        Some(Self { kind, within })
    }

    /// The message without these blocks; `None` where it has none of them.
    pub(super) fn message(self, entry: EntryId, message: &Message) -> Option<Message> {
        let is_reached = match self.within {
            Within::Entry(at) => entry == at,
            Within::UpTo(last) => entry <= last,
        };
        if !is_reached || !self.has(message) {
            return None;
        }
        let blocks = self.without(message.blocks());
        Some(Message::new(message.role(), blocks).with_seen(message.seen().to_vec()))
    }

    fn has(self, message: &Message) -> bool {
        // Gemini signs its calls, and no block says so.
        let is_signed = self.kind == BlockKind::Reasoning
            && message.raw().is_some_and(|raw| {
                raw.format == WireFormat::Gemini && raw.json.as_str().contains("thoughtSignature")
            });
        is_signed || self.is_in(message.blocks())
    }

    fn is_in(self, blocks: &[Block]) -> bool {
        blocks.iter().any(|block| match block {
            Block::ToolResult { content, .. } => self.is_in(content),
            other => kind_of(other) == Some(self.kind),
        })
    }

    fn without(self, blocks: &[Block]) -> Vec<Block> {
        let kept = |block: &Block| match block {
            Block::ToolResult { call, content, is_error } => Some(Block::ToolResult {
                call: call.clone(),
                content: self.without(content),
                is_error: *is_error,
            }),
            other if kind_of(other) == Some(self.kind) => self.kind.stand_in(),
            other => Some(other.clone()),
        };
        blocks.iter().filter_map(kept).collect()
    }
}

impl fmt::Display for LeftBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.as_str();
        match self.within {
            Within::Entry(entry) => write!(f, "{kind} in entry {}", entry.0),
            Within::UpTo(entry) => write!(f, "{kind} up to entry {}", entry.0),
        }
    }
}

fn kind_of(block: &Block) -> Option<BlockKind> {
    match block {
        Block::Thinking { .. } | Block::RedactedThinking(_) => Some(BlockKind::Reasoning),
        Block::Image(_) => Some(BlockKind::Picture),
        Block::Document(_) => Some(BlockKind::Document),
        Block::Text(_) | Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Unknown(_) => {
            None
        }
    }
}

/// Words of a refusal and the kind of block that it is about, the more exact ones first. In small letters.
///
/// Sources, by provider: Anthropic (`Invalid `signature` in `thinking` block`, `thinking.signature: Field required`, `thinking blocks
/// in the latest assistant message cannot be modified`, `Could not process image`, `image exceeds 5 MB maximum`, `The PDF specified was
/// not valid`: claude-code#66204, #21726, #56016, #15478), OpenAI (`The encrypted content … could not be verified`, `Item 'rs_…' of type
/// 'reasoning' was provided without its required following item`, `You uploaded an unsupported image`, `invalid_image_format`), Google
/// (`Thought signature is not valid`, `Corrupted thought signature`, `Unable to process input image`), DeepSeek (``unknown variant
/// `image_url`, expected `text` ``), OpenRouter (`No endpoints found that support image input`), Mistral and others (`Image input is not
/// supported`).
const WORDS: [(&str, BlockKind); 15] = [
    ("signature", BlockKind::Reasoning),
    ("thinking block", BlockKind::Reasoning),
    ("`thinking` or `redacted_thinking`", BlockKind::Reasoning),
    ("encrypted content", BlockKind::Reasoning),
    ("encrypted_content", BlockKind::Reasoning),
    ("of type 'reasoning'", BlockKind::Reasoning),
    ("item with id 'rs_", BlockKind::Reasoning),
    ("image", BlockKind::Picture),
    ("picture", BlockKind::Picture),
    ("multimodal", BlockKind::Picture),
    (" vision", BlockKind::Picture),
    ("pdf", BlockKind::Document),
    ("document", BlockKind::Document),
    ("input_file", BlockKind::Document),
    ("file_data", BlockKind::Document),
];

/// Reads which block of a message a server's words refuse: its kind, and the number of the message in the request's list
/// where they name it. `None` where they are about something else.
pub fn refused_block(words: &str) -> Option<(BlockKind, Option<usize>)> {
    // Many refusals end with where the documentation is.
    let folded = words.to_lowercase().replace("documentation", "");
    let (_, kind) = WORDS.iter().find(|(word, _)| folded.contains(word))?;
    Some((*kind, named_message(words)))
}

/// The number in `messages.3.content` or `messages[3]`, of a list of any format.
fn named_message(words: &str) -> Option<usize> {
    super::refusal::LISTS.iter().find_map(|list| {
        words.match_indices(list).find_map(|(at, _)| {
            let rest = words[at + list.len()..].strip_prefix(['.', '['])?;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
    })
}
