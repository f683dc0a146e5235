//! Closing tool calls that have no result.
//!
//! The log keeps what happened, open calls included. A provider accepts no request with an open call, so they are closed
//! when a request is built: by this one pure function, for the main loop and for forks alike.
//!
//! There is one placeholder for each open call, in call order. It is the same for all siblings, so they still share every byte.

use tine_model::{Block, Message, Role, ToolCallId};

/// What stands on the wire for one message, once the calls that the message before it left open are closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed<'a> {
    /// The message.
    pub message: &'a Message,
    /// The message before it, whose calls it answers.
    pub before: Option<&'a Message>,
    /// All calls of the message before, in call order.
    pub open: Vec<&'a ToolCallId>,
    /// Calls that get a placeholder result, in call order.
    pub placeholders: Vec<&'a ToolCallId>,
}

impl<'a> Closed<'a> {
    /// The tool that a call of the message before asked for; `None` for a call that it does not make.
    pub fn tool_of(&self, call: &ToolCallId) -> Option<&'a str> {
        self.before?.blocks().iter().find_map(|block| match block {
            Block::ToolUse { id, name, .. } if id == call => Some(name.as_str()),
            _ => None,
        })
    }

    /// Whether the placeholders need a user message of their own, because `message` is not one.
    pub fn apart(&self) -> bool {
        !self.placeholders.is_empty() && self.message.role() != Role::User
    }

    /// How many of the placeholders stand before the first result of the message's own, in call order: all of them where it
    /// has none. These are what siblings share that answer a later call themselves.
    pub fn leading(&self) -> usize {
        let of_its_own = |call: &&&ToolCallId| !self.placeholders.contains(*call);
        let Some(first) = self.open.iter().find(of_its_own) else { return self.placeholders.len() };
        let before = self.open.iter().take_while(|call| *call != first);
        self.placeholders.iter().filter(|call| before.clone().any(|open| open == *call)).count()
    }

    /// Whether block number `index` answers a call that nobody made, or that an earlier block has answered; such a result
    /// cannot be sent as one.
    pub fn is_orphan(&self, index: usize) -> bool {
        let call_of = |block: &'_ Block| match block {
            Block::ToolResult { call, .. } => Some(call.clone()),
            _ => None,
        };
        let blocks = self.message.blocks();
        let Some(call) = blocks.get(index).and_then(call_of) else { return false };
        let before = || blocks[..index].iter().any(|block| call_of(block).as_ref() == Some(&call));
        self.message.role() == Role::User && (!self.open.contains(&&call) || before())
    }

    /// Whether the message's own blocks can be sent as they were kept: there is no orphan, and results come first.
    pub fn is_sound(&self) -> bool {
        let mut results_over = false;
        self.message.blocks().iter().enumerate().all(|(index, block)| match block {
            Block::ToolResult { .. } => !results_over && !self.is_orphan(index),
            _ => {
                results_over = true;
                true
            }
        })
    }
}

/// Closes the calls that `before` leaves open before or in `next`. The outcome depends on these two messages alone: siblings
/// that share the calls get the same placeholders, in call order.
pub fn close_calls<'a>(before: Option<&'a Message>, next: &'a Message) -> Closed<'a> {
    let open: Vec<&ToolCallId> = before.into_iter().flat_map(Message::tool_calls).collect();
    let answered = |call: &ToolCallId| {
        next.role() == Role::User
            && next.blocks().iter().any(|block| match block {
                Block::ToolResult { call: other, .. } => other == call,
                _ => false,
            })
    };
    let first = |(index, call): &(usize, &&ToolCallId)| !open[..*index].contains(call);
    let distinct = open.iter().enumerate().filter(first).map(|(_, call)| *call);
    let placeholders = distinct.filter(|call| !answered(call)).collect();
    Closed { message: next, before, open, placeholders }
}

#[cfg(test)]
mod tests {
    use tine_model::{RawJson, ToolInput};

    use super::*;

    fn calls(names: &[&str]) -> Message {
        let block = |name: &&str| Block::ToolUse {
            id: ToolCallId((*name).into()),
            name: format!("tool-{name}"),
            input: ToolInput::Valid(RawJson::empty_object()),
        };
        Message::new(Role::Assistant, names.iter().map(block).collect())
    }

    fn names<'a>(calls: &[&'a ToolCallId]) -> Vec<&'a str> {
        calls.iter().map(|call| call.0.as_str()).collect()
    }

    fn results(names: &[&str]) -> Message {
        let block = |name: &&str| Block::result(ToolCallId((*name).into()), "ok", false);
        Message::new(Role::User, names.iter().map(block).collect())
    }

    #[test]
    fn missing_results_are_closed_in_call_order() {
        let open = calls(&["a", "b", "c"]);
        let next = results(&["b"]);
        let closed = close_calls(Some(&open), &next);
        assert_eq!(names(&closed.placeholders), ["a", "c"]);
        assert_eq!(closed.tool_of(&ToolCallId("c".into())), Some("tool-c"));
        assert!(!closed.apart());
        assert!(closed.is_sound());
    }

    #[test]
    fn placeholders_of_calls_before_the_first_answered_one_lead() {
        let open = calls(&["a", "b", "c"]);
        for (answered, leading) in
            [(&[][..], 3), (&["c"], 2), (&["b"], 1), (&["a"], 0), (&["b", "c"], 1), (&["z"], 3)]
        {
            let next = results(answered);
            assert_eq!(close_calls(Some(&open), &next).leading(), leading, "{answered:?}");
        }
    }

    #[test]
    fn answered_calls_leave_the_message_as_it_is() {
        let open = calls(&["a", "b"]);
        let next = results(&["b", "a"]);
        let closed = close_calls(Some(&open), &next);
        assert!(closed.is_sound() && closed.placeholders.is_empty());
    }

    #[test]
    fn an_assistant_message_gets_the_placeholders_before_it() {
        let open = calls(&["a"]);
        let next = Message::new(Role::Assistant, vec![Block::Text("on".into())]);
        let closed = close_calls(Some(&open), &next);
        assert!(closed.apart());
        assert!(closed.is_sound());
    }

    #[test]
    fn a_result_without_its_call_is_an_orphan() {
        let next = results(&["z"]);
        let closed = close_calls(None, &next);
        assert!(closed.is_orphan(0));
        assert!(!closed.is_sound());
    }

    #[test]
    fn a_second_result_for_one_call_is_an_orphan() {
        let open = calls(&["a", "a"]);
        let next = results(&["a", "a"]);
        let closed = close_calls(Some(&open), &next);
        assert!(!closed.is_orphan(0) && closed.is_orphan(1));
        let silence = Message::user("no result");
        assert_eq!(names(&close_calls(Some(&open), &silence).placeholders), ["a"]);
    }

    #[test]
    fn text_before_a_result_is_not_sent_as_it_is() {
        let open = calls(&["a"]);
        let blocks =
            vec![Block::Text("first".into()), Block::result(ToolCallId("a".into()), "ok", false)];
        let next = Message::new(Role::User, blocks);
        assert!(!close_calls(Some(&open), &next).is_sound());
    }
}
