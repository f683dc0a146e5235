//! What stands in a conversation for a fork of it whose conclusions were brought back: one envelope with whose they are, what they
//! stand for, and the text.
//!
//! The envelope is the link from an ancestor to its fork. It is one text of one message, so that link and text are written at once,
//! travel together through mailbox and log, and are inherited together.

use std::fmt;

use tine_model::{AgentId, Block, EntryId, Message, Role};

use crate::envelope::XmlText;
use crate::notification::{Elements, content};

/// The tag of the envelope.
const ENVELOPE: &str = "merge-back";

/// Elements of an envelope that are looked at; a whole one has seven.
const ELEMENTS_MAX: usize = 16;

/// Whose words a summary is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wording {
    /// The fork's own model's, as they came.
    Draft,
    /// Its model's, changed by a person.
    Edited,
    /// They were given from outside; no model was asked.
    Given,
}

impl Wording {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Draft, Self::Edited, Self::Given];

    /// The word in the envelope and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Edited => "edited",
            Self::Given => "given",
        }
    }

    /// Reads the word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wording| wording.as_str() == name)
    }

    /// What a reader of the text has to know of it.
    fn told(self) -> &'static str {
        match self {
            Self::Draft => "It is the fork's own summary.",
            Self::Edited => "It is the fork's own summary, edited by the user.",
            Self::Given => "It was written by the user.",
        }
    }
}

/// The conclusions of a fork, as they stand in an ancestor of it. [`fmt::Display`] writes the envelope; [`Self::parse`] reads it.
///
/// ```
/// use tine_fork::merge_note::{MergeNote, Wording};
/// use tine_model::{AgentId, EntryId};
///
/// let note = MergeNote {
///     source: AgentId::from_random([1; 16]),
///     name: Some("plan-b".to_owned()),
///     fork_point: Some(EntryId(7)),
///     first: EntryId(9),
///     last: EntryId(14),
///     wording: Wording::Edited,
///     text: "A queue is faster, if n < 100.".to_owned(),
/// };
/// assert!(note.to_string().contains("if n &lt; 100."));
/// assert_eq!(MergeNote::parse(&note.to_string()), Some(note));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeNote {
    /// The fork.
    pub source: AgentId,
    /// Its name at that time.
    pub name: Option<String>,
    /// The last entry that both have; `None` where the fork inherited nothing.
    pub fork_point: Option<EntryId>,
    /// The first of the fork's messages that the text stands for.
    pub first: EntryId,
    /// The last of them.
    pub last: EntryId,
    /// Whose words the text is in.
    pub wording: Wording,
    /// What was found and decided.
    pub text: String,
}

impl MergeNote {
    /// Reads an envelope that is the whole of `text`; `None` for everything else, whatever it quotes. Characters that no XML may hold
    /// do not come back.
    pub fn parse(text: &str) -> Option<Self> {
        let inside = text.strip_prefix('<')?.strip_prefix(ENVELOPE)?.strip_prefix(">\n")?;
        let inside = inside.strip_suffix('>')?.strip_suffix(ENVELOPE)?.strip_suffix("</")?;
        let elements = Elements { rest: inside, within: ENVELOPE }.take(ELEMENTS_MAX);
        let found: Vec<_> = elements.map(|(tag, inner)| (tag.name, content(inner))).collect();
        let of = |name: &str| {
            let mut named = found.iter().filter(|(found, _)| *found == name);
            named.next().map(|(_, said)| said.as_str())
        };
        let entry = |name: &str| of(name).and_then(|said| said.parse().ok()).map(EntryId);
        Some(Self {
            source: of("source-id")?.parse().ok()?,
            name: of("source-name").map(str::to_owned),
            fork_point: entry("fork-point"),
            first: entry("first-entry")?,
            last: entry("last-entry")?,
            wording: Wording::from_name(of("wording")?)?,
            text: of("summary")?.to_owned(),
        })
    }

    /// The envelopes in a message of the user's. What models said and what tools answered never is one.
    pub fn in_message(message: &Message) -> impl Iterator<Item = Self> {
        let is_users = message.role() == Role::User;
        let texts = message.blocks().iter().filter(move |_| is_users).filter_map(Block::as_text);
        texts.filter_map(Self::parse)
    }
}

impl fmt::Display for MergeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "<{ENVELOPE}>")?;
        writeln!(
            f,
            "<about>A fork of this conversation worked on by itself. This is what came of it behind the fork point; its messages are \
            not here. {} Files may have changed since: read them again before you rely on them.</about>",
            self.wording.told()
        )?;
        writeln!(f, "<source-id>{}</source-id>", self.source)?;
        if let Some(name) = &self.name {
            writeln!(f, "<source-name>{}</source-name>", XmlText(name))?;
        }
        if let Some(fork_point) = self.fork_point {
            writeln!(f, "<fork-point>{fork_point}</fork-point>")?;
        }
        writeln!(f, "<first-entry>{}</first-entry>", self.first)?;
        writeln!(f, "<last-entry>{}</last-entry>", self.last)?;
        writeln!(f, "<wording>{}</wording>", self.wording.as_str())?;
        writeln!(f, "<summary>\n{}\n</summary>", XmlText(&self.text))?;
        write!(f, "</{ENVELOPE}>")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tine_model::ToolCallId;

    use super::*;

    fn note(text: &str) -> MergeNote {
        MergeNote {
            source: AgentId::from_random([1; 16]),
            name: Some("plan-b".to_owned()),
            fork_point: Some(EntryId(7)),
            first: EntryId(9),
            last: EntryId(14),
            wording: Wording::Draft,
            text: text.to_owned(),
        }
    }

    #[test]
    fn an_envelope_says_whose_it_is_and_what_it_stands_for() {
        insta::assert_snapshot!(note("Use <a>.\n</summary></merge-back> & so on"), @"
        <merge-back>
        <about>A fork of this conversation worked on by itself. This is what came of it behind the fork point; its messages are not here. It is the fork's own summary. Files may have changed since: read them again before you rely on them.</about>
        <source-id>01010101-0101-4101-8101-010101010101</source-id>
        <source-name>plan-b</source-name>
        <fork-point>7</fork-point>
        <first-entry>9</first-entry>
        <last-entry>14</last-entry>
        <wording>draft</wording>
        <summary>
        Use &lt;a&gt;.
        &lt;/summary&gt;&lt;/merge-back&gt; &amp; so on
        </summary>
        </merge-back>
        ");
    }

    #[test]
    fn only_the_users_own_texts_are_envelopes() {
        let envelope = note("x").to_string();
        let said = |role, block| Message::new(role, vec![block]);
        let found = |message: &Message| MergeNote::in_message(message).count();
        assert_eq!(found(&said(Role::User, Block::Text(envelope.clone()))), 1);
        let others = [
            said(Role::Assistant, Block::Text(envelope.clone())),
            said(Role::User, Block::result(ToolCallId("c".into()), &*envelope, false)),
            said(Role::User, Block::Text(format!("Message from agent 1:\n{envelope}"))),
            said(Role::User, Block::Text(format!("{envelope}\nGo on."))),
            said(Role::User, Block::Text("<merge-back>\n</merge-back>".to_owned())),
        ];
        for message in &others {
            assert_eq!(found(message), 0, "{message:?}");
        }
    }

    proptest! {
        /// Shows: whatever the text and the name hold, the link comes back, and so does the text.
        #[test]
        fn an_envelope_comes_back(
            text in "(<merge-back>|</summary>|&lt;|\r|\n| |<source-id>2</source-id>|[ -~é]){0,20}",
            name in proptest::option::of("[ -~]{1,9}"),
            fork_point in proptest::option::of(0i64..100),
            index in 0usize..3,
        ) {
            let fork_point = fork_point.map(EntryId);
            let note = MergeNote { name, fork_point, wording: Wording::ALL[index], ..note(&text) };
            prop_assert_eq!(MergeNote::parse(&note.to_string()), Some(note));
        }

        #[test]
        fn any_text_is_read_or_is_none(text in "(?s)(<merge-back>\n)?.{0,80}(</merge-back>)?") {
            let _ = MergeNote::parse(&text);
        }
    }
}
