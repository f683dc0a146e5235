//! What a request says about its own prefix: the parts that it is made of and the places where a cache may hold it.

use std::fmt;

use crate::agent::words;

words! {
    /// The way in which a provider's cache is told what to keep.
    CacheScheme[3] {
        /// Marks on blocks (`cache_control`): Anthropic and MiniMax.
        Marks = "marks",
        /// Breakpoints on parts and one key per lineage: OpenAI from GPT-5.6 on.
        Breakpoints = "breakpoints",
        /// There is nothing to say: the provider finds what it has seen before.
        Automatic = "automatic",
    }
}

words! {
    /// Which of a provider's two lifetimes a cache entry is asked for.
    #[derive(PartialOrd, Ord, Default)]
    Lifetime[2] {
        /// The usual one: 5 minutes at Anthropic, 30 at OpenAI.
        #[default]
        Short = "short",
        /// The one that costs more to write: 1 hour at Anthropic, 12 at OpenAI.
        Long = "long",
    }
}

/// One part of a request, for people who ask where two requests part.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Segment {
    /// A setting that stands before everything else; the provider's word for it.
    Setting(String),
    /// The declaration of a tool, by its name.
    Tool(String),
    /// The system prompt.
    System {
        /// Which block of it, counted from 0; `None` where it is one text.
        block: Option<usize>,
    },
    /// A block of a message; both count from 0 over what was sent.
    Block {
        /// Which message.
        message: usize,
        /// Which block in it.
        block: usize,
        /// What it is, in words: `user text`, `assistant text`, `thinking`, `thinking signature`, `tool call`, `tool result`,
        /// `image`, `document`, or the provider's own word.
        kind: String,
    },
    /// The end: one request goes on where the other is over.
    End,
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(name) => write!(f, "setting `{name}`"),
            Self::Tool(name) => write!(f, "tool `{name}`"),
            Self::System { block: None } => f.write_str("system prompt"),
            Self::System { block: Some(block) } => {
                write!(f, "block {} of the system prompt", block + 1)
            }
            // People count from one.
            Self::Block { message, block, kind } => {
                write!(f, "message {}, block {} ({kind})", message + 1, block + 1)
            }
            Self::End => f.write_str("end of the request"),
        }
    }
}

words! {
    /// The part of a request that a boundary closes.
    #[derive(PartialOrd, Ord)]
    BoundaryKind[6] {
        /// Tools and system prompt.
        Head = "head",
        /// The end of the lineage's last answered request: an entry certainly exists there.
        Anchor = "anchor",
        /// The last block that all siblings of a fork share.
        ForkPoint = "fork point",
        /// A mark in the middle of a long turn.
        Middle = "middle",
        /// The end of the request.
        Tail = "tail",
        /// The end of some other message within reach of a lookup.
        Message = "message",
    }
}

/// A place in a request up to which a cache may hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Boundary {
    /// What it closes.
    pub kind: BoundaryKind,
    /// Identity of everything up to here, cache marks left out. Equal only where the bytes up to here are, and equal wherever
    /// they were made from the same messages: requests that share a history agree. (Bytes that only happen to be the same,
    /// cut into messages in another way, have another identity.)
    pub hash: [u8; 32],
    /// Length in bytes of the request's body up to here, cache marks left out. For the head that is everything before the
    /// first message of the history; for the last block of a message, up to the end of the message; for any other block, and
    /// for the last placeholder of a message, up to the block's closing brace, where its mark goes.
    pub bytes: u64,
    /// Messages up to here; the one that holds the boundary is counted.
    pub items: usize,
    /// How many blocks this place lies before the mark whose lookup can find it; 0 at a mark.
    pub back: usize,
    /// The lifetime that the request asks for at this place; `None` where it asks for nothing.
    pub mark: Option<Lifetime>,
}
