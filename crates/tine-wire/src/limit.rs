//! The number in a head that limits the reply, and requests whose server has room for less.
//!
//! The number is exchanged in the body alone. The head's own bytes stay, and with them its cache places.

use std::ops::Range;

use bytes::Bytes;
use tine_model::WireFormat;

use crate::{Assembled, Head};

/// The number in a head that limits the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyLimit {
    /// Most tokens of the reply.
    pub tokens: u32,
    /// Least number that may stand there: Anthropic refuses a limit that does not exceed the budget for thinking.
    pub least: u32,
    /// The place of the digits in the head's bytes.
    place: Range<usize>,
}

impl Head {
    /// Returns the limit of the reply that the head asks for. None where it names none, and in Gemini's format.
    pub fn reply_limit(&self) -> Option<ReplyLimit> {
        let names: &[&str] = match self.format {
            WireFormat::Anthropic => &["\"max_tokens\":"],
            WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => {
                &["\"max_tokens\":", "\"max_completion_tokens\":"]
            }
            WireFormat::OpenAiResponses => &["\"max_output_tokens\":"],
            WireFormat::Gemini => &[],
        };
        let (tokens, place) = names.iter().find_map(|name| self.number(name))?;
        let budget = match self.format {
            WireFormat::Anthropic => self.number("\"budget_tokens\":").map(|(budget, _)| budget),
            WireFormat::OpenAiChat
            | WireFormat::OpenAiChatParts
            | WireFormat::OpenAiResponses
            | WireFormat::Gemini => None,
        };
        let least = budget.map_or(1, |budget| budget.saturating_add(1)).min(tokens);
        Some(ReplyLimit { tokens, least, place })
    }

    /// The first number behind a name, and its place. In a text the quotes of the name would be escaped, and a tool's parameter of that
    /// name has a schema and no number.
    fn number(&self, name: &str) -> Option<(u32, Range<usize>)> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        text.match_indices(name).find_map(|(at, found)| {
            let start = at + found.len();
            let digits = text[start..].find(|c: char| !c.is_ascii_digit())?;
            let place = start..start + digits;
            Some((text[place.clone()].parse().ok()?, place))
        })
    }
}

impl Assembled {
    /// Returns the same request with a reply of at most so many tokens where the head asks for more, and of the least that the head
    /// allows where that is still more. The number is no part of the prompt, so the places that a cache may hold stay what they are.
    /// Gemini's format ignores it.
    pub fn replying(mut self, head: &Head, most: Option<u32>) -> Self {
        let limit = head.reply_limit();
        if let (Some(limit), Some(most)) = (limit, most)
            && limit.tokens > most.max(limit.least)
        {
            let most = most.max(limit.least);
            // The limit stands among the first members, before every mark.
            let digits = &head.bytes[limit.place.clone()];
            self.body.replace_in_first(limit.place, digits, Bytes::from(most.to_string()));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use tine_history::History;
    use tine_model::{CacheScheme, EntryId, Message, ModelSettings, RawJson, Thinking};

    use super::*;
    use crate::{HeadParts, RequestOptions, ToolDeclaration, assemble};

    #[test]
    fn the_limit_is_exchanged_in_the_body_alone() {
        for (model, asked) in [
            ("anthropic/m", "\"max_tokens\":900"),
            ("openai-compat/m", "\"max_tokens\":900"),
            ("openai-chat/m", "\"max_completion_tokens\":900"),
            ("openai/m", "\"max_output_tokens\":900"),
        ] {
            let model = model.parse().unwrap_or_else(|error| panic!("{error}"));
            let settings = ModelSettings { model, max_tokens: 900, thinking: None, effort: None };
            let schema =
                r#"{"type":"object","properties":{"max_tokens":{"type":"integer","default":900}}}"#;
            let schema = RawJson::parse(schema).unwrap_or_else(|error| panic!("{error}"));
            let (name, description) = ("a".to_owned(), "\"max_tokens\":900".to_owned());
            let tool = ToolDeclaration { name, description, schema };
            let system = "\"max_tokens\":900 is no limit".to_owned();
            let parts = HeadParts::new(settings, system, vec![tool]);
            let head = Head::render(HeadParts { scheme: CacheScheme::Marks, ..parts });
            let mut history = History::new();
            history.push(EntryId(1), Message::user("hi").into());
            let whole = assemble(&head, &mut history, &RequestOptions::default());
            let text = |assembled: &Assembled| {
                String::from_utf8_lossy(&assembled.body.to_vec()).into_owned()
            };
            let before = text(&whole);
            let shorter = whole.clone().replying(&head, Some(77));
            let after = before.replacen(asked, &asked.replace("900", "77"), 1);
            assert_eq!(text(&shorter), after);
            assert_eq!(shorter.body.len(), after.len() as u64);
            assert_eq!(shorter.boundaries, whole.boundaries);
            assert_eq!(text(&whole.clone().replying(&head, Some(1_000))), before);
            assert_eq!(text(&whole.replying(&head, None)), before);
        }
    }
    #[test]
    fn the_limit_stays_above_the_budget_for_thinking() {
        let model = "anthropic/claude-sonnet-4-5".parse();
        let model = model.unwrap_or_else(|error| panic!("{error}"));
        let thinking = Some(Thinking::Budget(2_000));
        let settings = ModelSettings { model, max_tokens: 9_000, thinking, effort: None };
        let head = Head::render(HeadParts::new(settings, String::new(), Vec::new()));
        let limit = head.reply_limit().map(|limit| (limit.tokens, limit.least));
        assert_eq!(limit, Some((9_000, 2_001)));
        let mut history = History::new();
        history.push(EntryId(1), Message::user("hi").into());
        let whole = assemble(&head, &mut history, &RequestOptions::default());
        for (most, asked) in [(5_000, "5000"), (900, "2001")] {
            let shorter = whole.clone().replying(&head, Some(most)).body.to_vec();
            let text = String::from_utf8_lossy(&shorter).into_owned();
            assert!(text.contains(&format!("\"max_tokens\":{asked},")), "{text}");
        }
    }
}
