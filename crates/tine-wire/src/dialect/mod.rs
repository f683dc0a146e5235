//! Dialects: what a server does not take, and requests without it.
//!
//! Some servers refuse, in a later request, members of messages that they have said themselves, and some refuse settings that others
//! of the same format take. What a server said is kept verbatim in any case. A [`Dialect`] lists the members that requests leave out;
//! it is known by the host ([`Dialect::of_host`]) or learnt from a refusal ([`refused_members`]). It lists blocks as well, of the
//! messages of one conversation ([`refused_block`]), and the form that ids of calls must have ([`IdForm`]). Leaving out is a pure function over
//! texts: nothing else of a message or a head changes, so the bytes are the same in every process.

mod blocks;
mod cut;
mod id_form;
mod member;
mod refusal;

use std::collections::BTreeSet;
use std::fmt;

use tine_model::{CacheScheme, EntryId, Message, WireFormat};

use crate::head::{Head, HeadSlot};
use crate::read::read_message;
use crate::strip;

pub use blocks::{BlockKind, LeftBlocks, Within, refused_block};
pub(crate) use cut::without;
pub use id_form::IdForm;
pub use member::Member;
pub(crate) use refusal::readable;
pub use refusal::refused_members;

/// All that a lineage's requests leave out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialect {
    left_out: BTreeSet<Member>,
    blocks: BTreeSet<LeftBlocks>,
    ids: IdForm,
}

/// Something that requests leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeftOut {
    /// A member, wherever it stands.
    Member(Member),
    /// Blocks of these messages.
    Blocks(LeftBlocks),
    /// Ids of calls that have another form.
    Ids(IdForm),
}

impl LeftOut {
    /// Reads the text form; `None` for a text that is none.
    pub fn parse(text: &str) -> Option<Self> {
        let blocks = || LeftBlocks::parse(text).map(Self::Blocks);
        let ids = || IdForm::parse(text).map(Self::Ids);
        blocks().or_else(ids).or_else(|| Member::parse(text).map(Self::Member))
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(member) => member.fmt(f),
            Self::Blocks(blocks) => blocks.fmt(f),
            Self::Ids(form) => form.fmt(f),
        }
    }
}

/// Hosts of which it is known that they refuse members that they say themselves, or that OpenAI's own types do not have. Whatever else
/// they refuse is learnt. What a host wants back is in no list: DeepSeek's `reasoning_content`, OpenRouter's `reasoning_details`,
/// Google's `extra_content`, Cerebras's `reasoning`.
///
/// Sources: Groq's "property 'reasoning' is unsupported" (gptel#774, jan#8136, vercel/ai#8057; `reasoning_content`: hermes-agent#11089);
/// Mistral's `extra_forbidden` (crush#1590, litellm#30835; `stream_options`, without which it says the usage as well: avante.nvim#2347,
/// tabby#4082); Cerebras's "property 'messages.2.assistant.reasoning_content' is
/// unsupported" (kilocode#10375). `index` and `annotations` are in none of the vendors' types for requests.
const HOSTS: [(&str, &[&str]); 4] = [
    (
        "api.groq.com",
        &[
            "messages.reasoning",
            "messages.reasoning_content",
            "messages.executed_tools",
            "messages.channel",
            "messages.annotations",
        ],
    ),
    (
        "api.mistral.ai",
        &[
            "stream_options",
            "messages.reasoning",
            "messages.reasoning_content",
            "messages.index",
            "messages.tool_calls.index",
        ],
    ),
    ("api.cerebras.ai", &["messages.reasoning_content"]),
    ("api.openai.com", &["messages.annotations"]),
];

impl Dialect {
    /// A dialect that leaves these members out.
    pub fn of(members: impl IntoIterator<Item = Member>) -> Self {
        Self { left_out: members.into_iter().collect(), ..Self::default() }
    }

    /// A dialect that leaves out all of this.
    pub fn without(left_out: impl IntoIterator<Item = LeftOut>) -> Self {
        let mut dialect = Self::default();
        for left_out in left_out {
            match left_out {
                LeftOut::Member(member) => drop(dialect.left_out.insert(member)),
                LeftOut::Blocks(blocks) => drop(dialect.blocks.insert(blocks)),
                // What was learnt last is what the server says now.
                LeftOut::Ids(form) => dialect.ids = form,
            }
        }
        dialect
    }

    /// Returns what is known of a host, by its name without port, for conversations in a format.
    pub fn of_host(host: &str, format: WireFormat) -> Self {
        let known = HOSTS.iter().find(|(name, _)| host.eq_ignore_ascii_case(name));
        let known = known.filter(|_| format.of_messages() == WireFormat::OpenAiChat);
        Self::of(
            known.into_iter().flat_map(|(_, members)| *members).filter_map(|m| Member::parse(m)),
        )
    }

    /// The members that are left out, in a fixed order.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.left_out.iter()
    }

    /// Returns true when nothing is left out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true when this dialect leaves out everything that `other` does.
    pub fn covers(&self, other: &Self) -> bool {
        let has_ids = other.ids == IdForm::default() || self.ids == other.ids;
        has_ids
            && self.left_out.is_superset(&other.left_out)
            && self.blocks.is_superset(&other.blocks)
    }

    /// A dialect that leaves out what either does.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            left_out: self.left_out.union(&other.left_out).cloned().collect(),
            blocks: self.blocks.union(&other.blocks).copied().collect(),
            ids: if other.ids == IdForm::default() { self.ids } else { other.ids },
        }
    }

    /// From how many messages, one by one, blocks of this kind are left out.
    pub fn entries_without(&self, kind: BlockKind) -> usize {
        let is_one =
            |blocks: &&LeftBlocks| blocks.kind == kind && matches!(blocks.within, Within::Entry(_));
        self.blocks.iter().filter(is_one).count()
    }

    /// The form that ids of calls have.
    pub fn ids(&self) -> IdForm {
        self.ids
    }

    /// The message without what is left out of it; `None` where it has nothing of that. `entry` is its place in the log.
    pub fn message(&self, entry: EntryId, message: &Message) -> Option<Message> {
        let mut cut: Option<Message> = None;
        for blocks in &self.blocks {
            cut = blocks.message(entry, cut.as_ref().unwrap_or(message)).or(cut);
        }
        self.without_members(cut.as_ref().unwrap_or(message)).or(cut)
    }

    /// `None` also for a message that is none of a provider's.
    fn without_members(&self, message: &Message) -> Option<Message> {
        let raw = message.raw()?;
        let paths = self.left_out.iter().filter_map(Member::of_messages);
        let text = cut::without(raw.json.as_str(), paths)?;
        // What cannot be read without them is sent as it is, and the server says what it thinks of it.
        read_message(raw.format, &text).ok().map(|read| read.with_seen(message.seen().to_vec()))
    }

    /// The head without the members; `None` where it has none of them.
    pub fn head(&self, head: &Head) -> Option<Head> {
        // A request that was taken over goes out in its own bytes.
        if head.splice.is_some() {
            return None;
        }
        let scheme = if self.refuses_marks() { CacheScheme::Automatic } else { head.scheme };
        let text = std::str::from_utf8(&head.bytes).ok()?;
        let names = self.left_out.iter().filter_map(Member::of_requests);
        let cuts = cut::cuts_of_head(text, names);
        if cuts.is_empty() && scheme == head.scheme {
            return None;
        }
        let shifted =
            |slot: &HeadSlot| HeadSlot { offset: cut::shifted(slot.offset, &cuts), ..*slot };
        let slots = head.slots.iter().map(shifted).collect();
        let new = Head::new(head.format, strip::remaining(text, &cuts), slots, head.continued);
        let new = Head { scheme, ..new };
        Some(match &head.model {
            Some(model) => new.addressed(model.clone()),
            None => new,
        })
    }

    /// Returns true when a request must not ask where it parts from an earlier one.
    pub fn refuses_comparison(&self) -> bool {
        self.left_out.iter().any(|member| member.of_requests() == Some("diagnostics"))
    }

    /// Returns true when cache marks are among what is refused.
    fn refuses_marks(&self) -> bool {
        let is_mark = |name: &str| ["cache_control", "prompt_cache_breakpoint"].contains(&name);
        self.left_out.iter().any(|member| match member {
            Member::OfMessages(path) => path.last().is_some_and(|name| is_mark(name)),
            Member::OfRequests(name) => name == "prompt_cache_options" || is_mark(name),
        })
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
