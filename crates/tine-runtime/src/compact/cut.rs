//! Where a conversation may be cut in two.

use tine_cache::BYTES_PER_TOKEN;
use tine_history::Item;
use tine_model::{Block, Message, Role, ToolInput};

use crate::inherit::begins_turn;

/// A place to cut at, by an estimate of [`BYTES_PER_TOKEN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    /// The first message that stays; their number when none does.
    pub(super) start: usize,
    /// Tokens of all messages.
    pub(super) tokens: u64,
    /// Tokens of those that stay.
    pub(super) kept_tokens: u64,
}

/// The place that keeps the most within `keep_tokens`; `None` when there is nothing before it. Calls and their results stay together. The
/// beginning of a user's turn goes before a place within one. What waits for an answer always stays, however long it is.
pub(super) fn choose(items: &[Item], keep_tokens: u64) -> Option<Cut> {
    let mut kept = 0;
    let (mut turn, mut step, mut last) = (None, None, None);
    let mut fits = true;
    for (index, item) in items.iter().enumerate().rev() {
        kept += bytes_of(item.message.blocks());
        fits &= kept.div_ceil(BYTES_PER_TOKEN) <= keep_tokens;
        if answers_calls(&item.message) {
            continue;
        }
        let place = Some((index, kept));
        last = last.or(place);
        if fits {
            step = place;
            if begins_turn(&item.message) {
                turn = place;
            }
        }
    }
    let tokens = kept.div_ceil(BYTES_PER_TOKEN);
    let waits = items.last().is_some_and(|item| {
        item.message.role() == Role::User || item.message.tool_calls().next().is_some()
    });
    let at_least = if waits { last } else { Some((items.len(), 0)) };
    let (start, kept) = turn.or(step).or(at_least)?;
    let cut = Cut { start, tokens, kept_tokens: kept.div_ceil(BYTES_PER_TOKEN) };
    (start > 0).then_some(cut)
}

/// Estimated tokens of a message.
pub(super) fn tokens_of(message: &Message) -> u64 {
    bytes_of(message.blocks()).div_ceil(BYTES_PER_TOKEN)
}

/// Returns true for a message that holds the result of a call: nothing may come between it and the call.
pub(super) fn answers_calls(message: &Message) -> bool {
    message.blocks().iter().any(|block| matches!(block, Block::ToolResult { .. }))
}

fn bytes_of(blocks: &[Block]) -> u64 {
    let bytes = |block: &Block| match block {
        Block::Text(text) | Block::Thinking { text, .. } => text.len() as u64,
        Block::RedactedThinking(data) => data.len() as u64,
        Block::ToolUse { name, input, .. } => {
            let input = match input {
                ToolInput::Valid(json) => json.as_str().len(),
                ToolInput::Invalid(text) => text.len(),
            };
            (name.len() + input) as u64
        }
        Block::ToolResult { content, .. } => bytes_of(content),
        Block::Image(json) | Block::Document(json) | Block::Unknown(json) => {
            json.as_str().len() as u64
        }
    };
    blocks.iter().map(bytes).sum()
}

/// The place that leaves out all that may be left out. What the user has said last, and nobody has answered, stays; results of tools go,
/// however long they are. None when there is nothing to leave out.
pub(super) fn all(items: &[Item]) -> Option<Cut> {
    let asks = |item: &&Item| begins_turn(&item.message) && !answers_calls(&item.message);
    let kept = items.last().filter(asks).map_or(0, |item| bytes_of(item.message.blocks()));
    let start = items.len() - usize::from(items.last().filter(asks).is_some());
    let tokens = items.iter().map(|item| bytes_of(item.message.blocks())).sum::<u64>();
    let cut = Cut {
        start,
        tokens: tokens.div_ceil(BYTES_PER_TOKEN),
        kept_tokens: kept.div_ceil(BYTES_PER_TOKEN),
    };
    (start > 0).then_some(cut)
}

#[cfg(test)]
pub(super) mod tests {
    use tine_model::{EntryId, RawJson, ToolCallId};

    use super::*;

    /// `u` and `a` say 40 bytes, `c` calls with 40, `r` answers with 40: ten tokens each.
    pub(in crate::compact) fn items(roles: &str) -> Vec<Item> {
        let words = "x".repeat(40);
        let id = || ToolCallId("c".into());
        let message = |role: char| match role {
            'u' => Message::user(words.clone()),
            'a' => Message::new(Role::Assistant, vec![Block::Text(words.clone())]),
            'c' => {
                let input = ToolInput::Valid(RawJson::empty_object());
                let call = Block::ToolUse { id: id(), name: "x".repeat(38), input };
                Message::new(Role::Assistant, vec![call])
            }
            _ => Message::new(Role::User, vec![Block::result(id(), words.clone(), false)]),
        };
        let item =
            |(index, role)| Item { entry: EntryId(index as i64), message: message(role).into() };
        roles.chars().enumerate().map(item).collect()
    }

    fn check(roles: &str, keep: u64, start: Option<usize>) {
        let cut = choose(&items(roles), keep);
        assert_eq!(cut.map(|cut| cut.start), start, "{roles} keeping {keep}");
        if let Some(cut) = cut {
            let total = roles.len() as u64 * 10;
            assert_eq!(
                (cut.tokens, cut.kept_tokens),
                (total, (roles.len() - cut.start) as u64 * 10)
            );
        }
    }

    #[test]
    fn as_many_turns_stay_as_fit() {
        check("uauaua", 45, Some(2));
        check("uauaua", 20, Some(4));
        check("uacrau", 100, None);
    }

    #[test]
    fn a_turn_too_long_is_cut_between_its_steps() {
        check("uacrcrcra", 35, Some(6));
        check("ucrcrcr", 45, Some(3));
    }

    #[test]
    fn all_goes_but_the_words_that_wait_for_an_answer() {
        let start = |roles: &str| all(&items(roles)).map(|cut| cut.start);
        assert_eq!(start("uau"), Some(2));
        assert_eq!(start("uacr"), Some(4));
        assert_eq!(start("uaua"), Some(4));
        assert_eq!(start("u"), None);
        assert_eq!(start(""), None);
    }

    #[test]
    fn what_waits_for_an_answer_stays_and_calls_are_never_split() {
        check("uauacr", 5, Some(4));
        check("uauac", 5, Some(4));
        check("uauau", 5, Some(4));
        check("uauaua", 5, Some(6));
        check("cr", 5, None);
        check("", 5, None);
    }
}
