//! What a child has of its parent: everything, the last turns, a digest, or nothing. What was asked for is what is made, or the
//! fork fails: no form is ever taken in the place of another.
//!
//! Whatever a child does not inherit natively stands in its own log as one `compact` entry: a preface, and the first of the
//! parent's messages that still count. The fork transaction writes the entry. A fork for another model has a head of its own
//! that says the same (`tine-wire/src/restate.rs`).

use std::str::FromStr;

use tine_fork::cache::child_places;
use tine_fork::digest::{Digest, DigestProfile, DigestStats};
use tine_fork::worker::workers_directive;
use tine_history::Item;
use tine_model::{
    AgentId, AgentRecord, Block, ContextMode, EntryId, Message, ModelSettings, Role, Standing,
    Usage,
};
use tine_store::{ForkFrom, Head as StoredHead, NewEntry};
use tine_wire::{Head, HeadParts};

use crate::cache::CachePolicy;
use crate::codec;
use crate::crew::definition::Definitions;
use crate::error::RuntimeError;
use crate::fold::Fold;
use crate::prompt::environment_note;
use crate::runtime::Runtime;

/// How much a child inherits, and in which form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Inherit {
    /// All of it, native: three rows, and the cache is shared.
    #[default]
    Full,
    /// The last so many turns, native. A turn begins with what the user says and goes on to the next of it.
    Turns(u32),
    /// All of it as text, shortened by a profile.
    Digest(DigestProfile),
    /// Nothing.
    Fresh,
}

/// A text that says no context.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is none of `full`, `digest`, `graduated`, `last N` and `fresh`", .0.escape_debug())]
pub struct ContextError(String);

impl FromStr for Inherit {
    type Err = ContextError;

    /// Reads `full`, `digest` (with fixed limits), `graduated`, `fresh`, and `last N` or `last:N` for so many turns: the words of the
    /// command line and of the models' tools.
    fn from_str(text: &str) -> Result<Self, ContextError> {
        let unknown = || ContextError(text.to_owned());
        Ok(match text.trim() {
            "full" => Self::Full,
            "digest" => Self::Digest(DigestProfile::Fixed),
            "graduated" => Self::Digest(DigestProfile::Graduated),
            "fresh" => Self::Fresh,
            words => {
                let rest = words.strip_prefix("last").ok_or_else(unknown)?;
                let number = rest.strip_prefix([':', ' ']).ok_or_else(unknown)?.trim();
                let turns = number.parse().ok().filter(|turns| *turns > 0);
                Self::Turns(turns.ok_or_else(unknown)?)
            }
        })
    }
}

impl Inherit {
    /// The word for it in the registry.
    pub fn context(self) -> ContextMode {
        match self {
            Self::Full => ContextMode::Full,
            Self::Turns(_) => ContextMode::Turns,
            Self::Digest(_) => ContextMode::Digest,
            Self::Fresh => ContextMode::Fresh,
        }
    }

    /// Whether any model can take it: no provider's own words are in it.
    fn is_for_any_model(self) -> bool {
        match self {
            Self::Full | Self::Turns(_) => false,
            Self::Digest(_) | Self::Fresh => true,
        }
    }
}

/// What a child has of its parent, ready for the fork transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inherited {
    /// Where the child begins.
    pub from: ForkFrom,
    /// What the registry says.
    pub context: ContextMode,
    /// What stands in the child's log in the place of what it does not inherit.
    pub entries: Vec<NewEntry>,
    /// What became of the messages, of a digest.
    pub digest: Option<DigestStats>,
}

impl Runtime {
    /// What a child of `parent` has of it behind entry `at`; `None` for its last one. Reads the parent's log, but for
    /// [`Inherit::Full`]; a log or a head that cannot be read is an error.
    pub async fn inherited(
        &self,
        parent: &AgentRecord,
        at: Option<EntryId>,
        inherit: Inherit,
    ) -> Result<Inherited, RuntimeError> {
        let native = at.map_or(ForkFrom::LastEntry, ForkFrom::Entry);
        let context = inherit.context();
        let with = |from| Inherited { from, context, entries: Vec::new(), digest: None };
        match inherit {
            Inherit::Full if parent.standing == Standing::Guest => {
                let (from, entries) = self.guest_fork_point(parent, at).await?;
                return Ok(Inherited { entries, ..with(from) });
            }
            Inherit::Full => return Ok(with(native)),
            Inherit::Fresh => {
                self.frozen_head(parent).await?;
                return Ok(with(ForkFrom::Nothing));
            }
            Inherit::Turns(_) | Inherit::Digest(_) => {}
        }
        self.frozen_head(parent).await?;
        let fold = self.fold(parent.id, at).await?;
        // The parent may go on meanwhile: the child begins behind what was read.
        let last = fold.entries().last().map(|last| ForkFrom::Entry(last.entry.id));
        let made = with(last.unwrap_or(native));
        let preface = |words: String| {
            let note = environment_note(parent.directory.as_ref(), &Definitions::default());
            Message::new(Role::User, vec![Block::Text(note), Block::Text(words)])
        };
        let items: Vec<Item> = fold.items().collect();
        if items.is_empty() {
            return Ok(made);
        }
        let (keep, words, digest) = match inherit {
            Inherit::Digest(profile) => {
                let messages: Vec<&Message> = items.iter().map(|item| &*item.message).collect();
                let Digest { text, stats } = Digest::of(&messages, profile);
                (None, text, Some(stats))
            }
            Inherit::Turns(turns) => match start_of_turns(&fold, &items, turns) {
                // Nothing is left out: the cache serves all of it.
                0 => return Ok(made),
                start => (items.get(start).map(|item| item.entry), left_out(start, turns), None),
            },
            Inherit::Full | Inherit::Fresh => return Ok(made),
        };
        let mut preface = preface(words);
        // Of an imported worker the frame is all that tells what it is, so it comes along.
        let root = matches!(parent.standing, Standing::Root | Standing::Peer);
        let brief = workers_directive(items.iter().map(|item| &*item.message)).filter(|_| root);
        if let Some(brief) = brief {
            let mut blocks = preface.blocks().to_vec();
            blocks.push(Block::Text(brief.to_owned()));
            preface = Message::new(Role::User, blocks);
        }
        let row = codec::compact_row(keep, &preface, self.now_ms());
        Ok(Inherited { entries: vec![row], digest, ..made })
    }

    /// The head that tells another model what the parent's tells its own.
    pub async fn restated_head(
        &self,
        parent: &AgentRecord,
        child: AgentId,
        settings: &ModelSettings,
    ) -> Result<StoredHead, RuntimeError> {
        let parts = self.frozen_head(parent).await?.restated(settings.clone())?;
        let head = Head::render(HeadParts {
            scheme: self.facts(&settings.model).scheme,
            cache_key: Some(format!("tine-{child}")),
            ..parts
        });
        Ok(StoredHead { hash: head.hash(), body: Some(head.to_stored()) })
    }

    /// Refuses what would lose the cache that a native history has, unless that is accepted.
    pub(crate) async fn refuse_cache_loss(
        &self,
        parent: &AgentRecord,
        at: Option<EntryId>,
        inherit: Inherit,
        settings: &ModelSettings,
    ) -> Result<(), RuntimeError> {
        if inherit.is_for_any_model() {
            return Ok(());
        }
        let loaded = self.load_at(parent.id, at, CachePolicy::default()).await?;
        let lane =
            self.lane_of_agent(parent, &parent.settings.model, CachePolicy::default()).await?;
        let mut conversation = loaded.conversation;
        let places = child_places(&mut conversation, "");
        let tokens = lane.expect(&places, self.now_ms()).prefix;
        let facts = self.facts(&settings.model);
        let usage = if facts.reports_writes() {
            Usage { write_short: Some(tokens), ..Usage::default() }
        } else {
            Usage { uncached: tokens, ..Usage::default() }
        };
        Err(RuntimeError::CacheLoss {
            model: settings.model.to_string(),
            tokens,
            dollars: facts.prices.at(self.now_ms()).map(|price| price.cost(&usage)),
        })
    }
}

/// Where the last turns begin, as an index into the effective messages; their number when there are to be none. A turn begins with
/// a message of the user's that is not only results of calls; one that holds results too stays behind its calls.
fn start_of_turns(fold: &Fold, items: &[Item], turns: u32) -> usize {
    // A preface stands for turns that are gone already.
    let first = usize::from(fold.compact().is_some());
    let starts = (first..items.len()).rev().filter(|index| begins_turn(&items[*index].message));
    let Some(nth) = (turns as usize).checked_sub(1) else { return items.len() };
    let Some(start) = starts.clone().nth(nth) else { return 0 };
    // The oldest turn there is: what stands before it, if anything, is no turn and comes along.
    if starts.clone().nth(nth + 1).is_none() {
        return 0;
    }
    let answers = items[start].message.blocks().iter().any(is_result);
    start - usize::from(answers)
}

/// Whether the user speaks in this message.
pub(crate) fn begins_turn(message: &Message) -> bool {
    message.role() == Role::User && message.blocks().iter().any(|block| !is_result(block))
}

fn is_result(block: &Block) -> bool {
    matches!(block, Block::ToolResult { .. })
}

/// What stands for the turns that are not there.
fn left_out(messages: usize, turns: u32) -> String {
    let rest = match turns {
        0 => "Nothing of it is here.".to_owned(),
        1 => "Its last turn follows, word for word.".to_owned(),
        turns => format!("Its last {turns} turns follow, word for word."),
    };
    format!(
        "This conversation began earlier: {messages} messages are left out here. {rest} What was said before you do not know: \
        look it up in the files instead of guessing."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_said_in_one_way_at_every_door() {
        let read = |text: &str| match text.parse::<Inherit>() {
            Ok(inherit) => format!("{inherit:?}"),
            Err(error) => error.to_string(),
        };
        let texts = [
            "full",
            "digest",
            "graduated",
            " fresh ",
            "last 3",
            "last:3",
            "last: 12",
            "last",
            "last 0",
            "last3",
            "last -1",
            "",
            "all\n",
        ];
        insta::assert_snapshot!(texts.map(read).join("\n"), @r#"
        Full
        Digest(Fixed)
        Digest(Graduated)
        Fresh
        Turns(3)
        Turns(3)
        Turns(12)
        `last` is none of `full`, `digest`, `graduated`, `last N` and `fresh`
        `last 0` is none of `full`, `digest`, `graduated`, `last N` and `fresh`
        `last3` is none of `full`, `digest`, `graduated`, `last N` and `fresh`
        `last -1` is none of `full`, `digest`, `graduated`, `last N` and `fresh`
        `` is none of `full`, `digest`, `graduated`, `last N` and `fresh`
        `all\n` is none of `full`, `digest`, `graduated`, `last N` and `fresh`
        "#);
    }
}
