//! A stand-in for the messages that a compaction leaves out: a summary by the agent's model, of as much as fits into one request, or a
//! digest where the model cannot be asked.

use std::sync::Arc;

use tine_fork::digest::Digest;
use tine_history::{History, Item};
use tine_llm::{LlmClient, LlmError};
use tine_model::{Block, EntryId, Message, Role, Usage, in_full};
use tine_store::Lease;
use tine_wire::FailureKind;

use super::room::Room;
use super::{CompactOptions, cut, preface};
use crate::aside::Aside;
use crate::error::RuntimeError;
use crate::inherit::begins_turn;
use crate::load::{Loaded, without_thinking};
use crate::runtime::Runtime;
use crate::stop_words::COMPACTION;

/// The text that stands in a question for a summary in the place of the oldest messages.
const UNSEEN: &str = "[The oldest messages of this conversation do not fit into this request and are left out here.]";

/// The fallback where the model gives no summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// Nothing: the conversation stays as it is.
    Fail,
    /// A digest, where the model cannot take the question or says nothing of use. Other failures are told.
    DigestIfTooLong,
    /// A digest, whatever went wrong.
    Digest,
    /// A digest at once; the model is not asked.
    DigestAtOnce,
}

/// The way in which the messages that were left out are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactedBy {
    /// By a summary of the whole conversation.
    Summary,
    /// By a summary that the oldest messages are not in, because they did not fit into one request.
    Part {
        /// The number of those messages.
        unseen: usize,
    },
    /// By a digest: the newest of them, shortened.
    Digest {
        /// Why there is no summary.
        why: String,
    },
}

/// The text that stands for what was left out.
pub(super) struct Told {
    pub(super) by: CompactedBy,
    pub(super) text: String,
    pub(super) usage: Usage,
}

impl Runtime {
    /// The text that stands for the messages before `start`.
    pub(super) async fn stand_in(
        &self,
        lease: &Lease,
        loaded: &mut Loaded,
        (start, mut room, otherwise): (usize, Room, Otherwise),
        (llm, options): (&dyn LlmClient, &CompactOptions),
    ) -> Result<Told, RuntimeError> {
        let items = super::items(&loaded.conversation);
        let asked = match otherwise {
            Otherwise::DigestAtOnce => {
                Err(RuntimeError::NoAnswer { why: "there is no room for the question" })
            }
            Otherwise::Fail | Otherwise::DigestIfTooLong | Otherwise::Digest => {
                self.summary(lease, loaded, (&items, &mut room), (llm, options)).await
            }
        };
        let error = match asked {
            Ok(told) => return Ok(told),
            Err(error) => error,
        };
        let helps = match (otherwise, &error) {
            (Otherwise::Fail, _) | (_, RuntimeError::Store(_)) => false,
            (_, RuntimeError::NoAnswer { why }) => !crate::aside::is_final(why),
            (Otherwise::Digest | Otherwise::DigestAtOnce, _) => !options.cancel.is_cancelled(),
            (Otherwise::DigestIfTooLong, RuntimeError::Llm(error)) => cannot_be_asked(error),
            (Otherwise::DigestIfTooLong, _) => false,
        };
        if !helps {
            return Err(error);
        }
        let why = in_full(&error);
        let text = digest(&items[..start], &items[start..], room);
        Ok(Told { by: CompactedBy::Digest { why }, text, usage: Usage::default() })
    }

    /// Asks the model for a summary of the conversation. The oldest messages leave the question until it fits.
    async fn summary(
        &self,
        lease: &Lease,
        loaded: &mut Loaded,
        (items, room): (&[Item], &mut Room),
        (llm, options): (&dyn LlmClient, &CompactOptions),
    ) -> Result<Told, RuntimeError> {
        let question = Message::user(preface::question(options.instructions.as_deref()));
        let Loaded { record, conversation } = loaded;
        let mut start = first_asked(items, *room);
        loop {
            let mut reduced = match start {
                0 => conversation.fork(),
                start => conversation.with_history(without_oldest(items, start)),
            };
            let aside = Aside {
                record,
                owner: &lease.owner,
                question: question.clone(),
                stop_word: COMPACTION,
                caching: options.caching,
                cancel: &options.cancel,
            };
            let error = match self.ask_aside(&mut reduced, llm, aside, &mut |_| {}).await {
                Ok(reply) => {
                    let by = match start {
                        0 => CompactedBy::Summary,
                        unseen => {
                            CompactedBy::Part { unseen: unseen - usize::from(has_lead(items)) }
                        }
                    };
                    return Ok(Told { by, text: reply.message.text(), usage: reply.usage });
                }
                Err(error) => error,
            };
            let overflow = match &error {
                RuntimeError::Llm(error) => error.overflow(),
                _ => None,
            };
            let Some(overflow) = overflow else { return Err(error) };
            if let Some(window) = self.learn_window(&record.settings.model, &overflow).await? {
                *room = Room::of(Some(window), conversation);
            }
            let Some(later) = later(items, start) else { return Err(error) };
            start = later.max(first_asked(items, *room));
        }
    }
}

/// Returns true where the question for a summary came to nothing for a reason that lies in the conversation.
fn cannot_be_asked(error: &LlmError) -> bool {
    let is_refused = match error {
        LlmError::Refused { failure, .. } => {
            matches!(failure.kind, FailureKind::InvalidRequest | FailureKind::TooLarge)
        }
        _ => false,
    };
    is_refused || error.overflow().is_some() || matches!(error, LlmError::NoAnswer { .. })
}

/// Returns true when the conversation begins with what an earlier compaction wrote. That stays in every question.
fn has_lead(items: &[Item]) -> bool {
    items.first().is_some_and(|item| preface::is_preface(&item.message))
}

/// The index of the first message that fits into the question; 0 when all do, or nobody knows.
fn first_asked(items: &[Item], room: Room) -> usize {
    let Some(most) = room.question() else { return 0 };
    let lead = usize::from(has_lead(items));
    let sizes: Vec<u64> = items.iter().map(|item| cut::tokens_of(&item.message)).collect();
    let lead_tokens: u64 = sizes[..lead].iter().sum();
    let mut left = most.saturating_sub(lead_tokens);
    let mut start = items.len();
    for index in (lead..items.len()).rev() {
        match left.checked_sub(sizes[index]) {
            Some(rest) => (left, start) = (rest, index),
            None => return place_from(items, start).unwrap_or_else(|| last_place(items)),
        }
    }
    0
}

/// A later beginning, behind half of what the question still holds. None when nothing more can leave it.
fn later(items: &[Item], start: usize) -> Option<usize> {
    let begin = start.max(usize::from(has_lead(items)));
    let sizes: Vec<u64> = items.iter().map(|item| cut::tokens_of(&item.message)).collect();
    let half = sizes[begin..].iter().sum::<u64>() / 2;
    let mut gone = 0;
    let behind = (begin..items.len()).find(|index| {
        gone += sizes[*index];
        gone >= half
    })?;
    place_from(items, behind + 1).or_else(|| Some(last_place(items))).filter(|place| *place > start)
}

/// The first place from `index` on at which a question may begin: not between a call and its answer.
fn place_from(items: &[Item], index: usize) -> Option<usize> {
    (index..items.len()).find(|index| !cut::answers_calls(&items[*index].message))
}

/// The last such place.
fn last_place(items: &[Item]) -> usize {
    (0..items.len()).rfind(|index| !cut::answers_calls(&items[*index].message)).unwrap_or(0)
}

/// The messages from `start` on, behind the words of an earlier compaction and a note of what is not there.
fn without_oldest(items: &[Item], start: usize) -> History {
    let lead = items.first().filter(|_| has_lead(items));
    let mut blocks = lead.map(|item| item.message.blocks().to_vec()).unwrap_or_default();
    blocks.push(Block::Text(UNSEEN.to_owned()));
    let mut rest = &items[start..];
    // Many templates want the roles to take turns.
    if let [first, others @ ..] = rest
        && first.message.role() == Role::User
        && !cut::answers_calls(&first.message)
    {
        blocks.extend_from_slice(first.message.blocks());
        rest = others;
    }
    let first = Item { entry: EntryId(0), message: Arc::new(Message::new(Role::User, blocks)) };
    // Reasoning is bound to the words that stood before it.
    let rest = rest.iter().cloned().map(without_thinking);
    History::from_items(std::iter::once(first).chain(rest).collect())
}

/// A digest of what is left out. What an earlier compaction wrote gets half of it.
fn digest(left_out: &[Item], kept: &[Item], room: Room) -> String {
    let (lead, rest) = left_out.split_at(usize::from(has_lead(left_out)));
    let mut tokens = room.digest();
    let mut text = String::new();
    if let Some(earlier) = lead.first().and_then(|item| preface::summary_of(&item.message)) {
        tokens /= 2;
        text.push_str("Before that, this was known:\n");
        text.push_str(beginning(earlier, tokens));
        text.push_str("\n\n");
    }
    let messages: Vec<&Message> = rest.iter().map(|item| &*item.message).collect();
    text.push_str(&Digest::fitting(&messages, tokens).text);
    // What the user asked for is the one thing that must not be half.
    let asks = rest.iter().rfind(|item| begins_turn(&item.message)).map(|item| item.message.text());
    if let Some(asks) = asks.filter(|_| !kept.iter().any(|item| begins_turn(&item.message))) {
        text.push_str("\n\nThe user's last words:\n");
        text.push_str(&tine_fork::envelope::escape_frame_tags(beginning(&asks, room.digest())));
    }
    text
}

/// The beginning of a text of about so many tokens.
fn beginning(text: &str, tokens: u64) -> &str {
    let bytes = usize::try_from(tokens.saturating_mul(tine_cache::BYTES_PER_TOKEN));
    &text[..text.floor_char_boundary(bytes.unwrap_or(usize::MAX).min(text.len()))]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `u` and `a` speak, `c` calls and `r` answers, ten tokens each; `p` is an earlier compaction.
    fn items(roles: &str) -> Vec<Item> {
        cut::tests::items(roles)
    }

    #[test]
    fn the_oldest_messages_leave_the_question_first() {
        let room = |tokens| Room::for_messages(tokens);
        assert_eq!(first_asked(&items("uauaua"), Room::for_messages(None)), 0);
        assert_eq!(first_asked(&items("uauaua"), room(Some(100))), 0);
        assert_eq!(first_asked(&items("uauaua"), room(Some(50))), 3);
        // A call stays with its answer, and the last place stays whatever its size.
        assert_eq!(first_asked(&items("uacrcr"), room(Some(30))), 4);
        assert_eq!(first_asked(&items("uacrcr"), room(Some(1))), 4);
    }

    #[test]
    fn half_of_the_question_leaves_at_each_refusal_until_nothing_can() {
        let steps = |roles: &str| {
            let items = items(roles);
            let mut start = Some(0);
            let steps = std::iter::from_fn(|| {
                start = later(&items, start?);
                start
            });
            steps.collect::<Vec<_>>()
        };
        assert_eq!(steps("uauauaua"), [4, 6, 7]);
        assert_eq!(steps("ucrcrcr"), [5]);
        assert!(steps("u").is_empty());
        assert!(steps("").is_empty());
    }
}
