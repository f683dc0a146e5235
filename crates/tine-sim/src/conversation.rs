//! What a scenario may look at: the last user text, and what has happened since. The same for both formats.

use std::borrow::Cow;

/// One thing in a conversation, in order. Each format translates its messages into these.
#[derive(Debug, Clone)]
pub(crate) enum Piece<'a> {
    /// Text that is neither the user's nor a tool's: system, assistant.
    Text(&'a str),
    /// A text block of a user message.
    UserText(&'a str),
    /// An assistant message begins.
    AssistantMessage,
    /// A tool call of the assistant.
    Call { id: &'a str, name: &'a str },
    /// A tool's answer.
    Result { id: &'a str, text: Cow<'a, str> },
}

/// Texts one after the other.
pub(crate) fn joined(texts: Vec<&str>) -> Cow<'_, str> {
    match texts.as_slice() {
        [one] => Cow::Borrowed(*one),
        _ => Cow::Owned(texts.concat()),
    }
}

/// The answer to one tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolOutput<'a> {
    pub(crate) tool: &'a str,
    pub(crate) text: Cow<'a, str>,
}

/// A conversation as scenarios see it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conversation<'a> {
    /// The last text block of the last user message that has one: a prompt, or a fork's directive.
    pub(crate) user: &'a str,
    /// Results that came after it, in the order of their calls.
    pub(crate) tool_results: Vec<ToolOutput<'a>>,
    /// The tool whose result stands last in the conversation, if it came after the last user text.
    pub(crate) last_tool: Option<&'a str>,
    /// Assistant messages after the last user text.
    pub(crate) turn: usize,
    /// Every text: system, messages and results.
    pub(crate) texts: Vec<Cow<'a, str>>,
}

impl<'a> Conversation<'a> {
    /// Folds the pieces. User texts that begin with one of `not_user` (reminders that a host adds by itself) are not taken
    /// for the user's words.
    pub(crate) fn read(pieces: impl IntoIterator<Item = Piece<'a>>, not_user: &[String]) -> Self {
        let mut seen = Self::default();
        let mut calls: Vec<(&str, &str)> = Vec::new();
        let mut results: Vec<(usize, Cow<'_, str>)> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => seen.texts.push(text.into()),
                Piece::UserText(text) => {
                    seen.texts.push(text.into());
                    if not_user.iter().any(|start| text.starts_with(start.as_str())) {
                        continue;
                    }
                    (seen.user, seen.turn, seen.last_tool) = (text, 0, None);
                    calls.clear();
                    results.clear();
                }
                Piece::AssistantMessage => seen.turn += 1,
                Piece::Call { id, name } => calls.push((id, name)),
                Piece::Result { id, text } => {
                    seen.texts.push(text.clone());
                    // The same id may be used again later; the latest call is the one that is answered.
                    if let Some(call) = calls.iter().rposition(|(called, _)| *called == id) {
                        seen.last_tool = Some(calls[call].1);
                        results.push((call, text));
                    }
                }
            }
        }
        results.sort_by_key(|(call, _)| *call);
        seen.tool_results = results
            .into_iter()
            .map(|(call, text)| ToolOutput { tool: calls[call].1, text })
            .collect();
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result<'a>(id: &'a str, text: &'a str) -> Piece<'a> {
        Piece::Result { id, text: text.into() }
    }

    #[test]
    fn results_in_the_message_of_the_directive_belong_to_the_past() {
        let seen = Conversation::read(
            [
                Piece::UserText("split the work"),
                Piece::AssistantMessage,
                Piece::Call { id: "a", name: "fork" },
                result("a", "forked"),
                Piece::UserText("you are worker 1"),
            ],
            &[],
        );
        assert_eq!((seen.user, seen.turn, seen.tool_results.len()), ("you are worker 1", 0, 0));
    }

    #[test]
    fn results_are_numbered_in_the_order_of_their_calls() {
        let seen = Conversation::read(
            [
                Piece::UserText("go"),
                Piece::AssistantMessage,
                Piece::Call { id: "a", name: "read" },
                Piece::Call { id: "b", name: "grep" },
                result("b", "second"),
                result("a", "first"),
            ],
            &[],
        );
        let texts: Vec<&str> = seen.tool_results.iter().map(|result| &*result.text).collect();
        assert_eq!((texts, seen.last_tool), (vec!["first", "second"], Some("read")));
    }

    #[test]
    fn a_reminder_is_not_the_users_word() {
        let seen = Conversation::read(
            [Piece::UserText("go"), Piece::AssistantMessage, Piece::UserText("<system-reminder>x")],
            &["<system-reminder".to_owned()],
        );
        assert_eq!((seen.user, seen.turn), ("go", 1));
    }
}
