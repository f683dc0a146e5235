//! Small faults of replies, mended before anything is done with them: halves of characters, and calls without a name of their
//! own. What is mended is what is kept and sent back: nobody takes the fault back.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;
use tine_model::{Message, WireFormat};

use crate::openai_chat::missing_id;
use crate::read::read_message;
use crate::{Event, call_places};

/// A character outside the basic plane is written in JSON as two escapes, and some servers cut a stream between them. Each half
/// alone is no text. It travels as one of the 2,048 private characters from here on until it meets the other.
const HALVES: u32 = 0x10_F800;

/// The first of the codes that stand for halves of characters (Unicode: surrogates).
const SURROGATES: u32 = 0xD800;

/// The private character of a half, by its code.
fn half(code: u32) -> char {
    char::from_u32(HALVES + (code - SURROGATES)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The code of a half.
fn code(c: char) -> Option<u32> {
    Some((c as u32).checked_sub(HALVES)? + SURROGATES)
}

fn is_first(code: u32) -> bool {
    (0xD800..0xDC00).contains(&code)
}

/// JSON text in which every half that stands alone is a private character; borrowed when there is none.
pub(crate) fn halves_marked(text: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let (mut position, mut copied) = (0, 0);
    while let Some(found) = text[position..].find('\\').map(|found| position + found) {
        let escape = |at: usize| -> Option<u32> {
            let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
            let code = u32::from_str_radix(digits, 16).ok()?;
            (SURROGATES..0xE000).contains(&code).then_some(code)
        };
        position = match escape(found) {
            Some(first) if is_first(first) && escape(found + 6).is_some_and(|c| !is_first(c)) => {
                found + 12
            }
            Some(alone) => {
                kept.push_str(&text[copied..found]);
                kept.push(half(alone));
                copied = found + 6;
                copied
            }
            // A backslash and what it escapes, which may be a backslash.
            None => text
                .len()
                .min(found + 1 + text[found + 1..].chars().next().map_or(0, char::len_utf8)),
        };
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    kept.push_str(&text[copied..]);
    Cow::Owned(kept)
}

/// Joins halves that have met, and replaces those that stay alone.
pub(crate) fn halves_joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let Some(first) = code(c) else {
            joined.push(c);
            continue;
        };
        let second = chars.peek().copied().and_then(code).filter(|second| !is_first(*second));
        joined.push(match second.filter(|_| is_first(first)) {
            Some(second) => {
                chars.next();
                let whole = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                char::from_u32(whole).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            None => char::REPLACEMENT_CHARACTER,
        });
    }
    joined
}

/// Joins halves in what is shown while a stream comes in: a half at the end of one part waits for the next.
#[derive(Debug, Default)]
pub(crate) struct ShownHalves {
    /// A stream without halves is left alone: its private characters are its own.
    pub(crate) seen: bool,
    waiting: Option<char>,
}

impl ShownHalves {
    /// A message of this stream, with all halves joined or replaced.
    pub(crate) fn whole(&self, message: Message) -> Message {
        let Some(raw) = message.raw().filter(|_| self.seen) else { return message };
        // What is joined within texts leaves the JSON around them as it was.
        read_message(raw.format, &halves_joined(raw.json.as_str())).unwrap_or(message)
    }

    /// What is shown of these events.
    pub(crate) fn mend(&mut self, events: &mut [Event]) {
        if !self.seen {
            return;
        }
        for event in events {
            let (Event::Text { delta } | Event::Thinking { delta } | Event::ToolInput { delta }) =
                event
            else {
                continue;
            };
            let mut text = String::from_iter(self.waiting.take());
            text.push_str(delta);
            if let Some(last) = text.chars().next_back().filter(|c| code(*c).is_some_and(is_first))
            {
                text.pop();
                self.waiting = Some(last);
            }
            *delta = halves_joined(&text);
        }
    }
}

/// The text of a message whose calls all have a name of their own, as a text. An empty one is made from the place of its call; of several
/// calls with one name the later ones get a number behind it.
pub(crate) fn calls_named(format: WireFormat, message: &str) -> Cow<'_, str> {
    edits(format, message).map_or(Cow::Borrowed(message), Cow::Owned)
}

/// `None` where there is nothing to change, and where the text is no message: its reading says so.
fn edits(format: WireFormat, message: &str) -> Option<String> {
    let places = call_places::places(format, message)?;
    let calls = places.iter().filter(|place| place.is_call);
    let given: Vec<(Option<&RawValue>, String)> =
        calls.map(|place| Some((place.written, place.id()?))).collect::<Option<_>>()?;
    let all: HashSet<&str> = given.iter().map(|(_, id)| id.as_str()).collect();
    let mut taken: HashSet<String> = HashSet::new();
    let mut new = Vec::new();
    for (position, (written, id)) in given.iter().enumerate() {
        let is_own = !id.is_empty() && taken.insert(id.clone());
        // A number as a name becomes a text: the answers name it so.
        let is_text = written.is_some_and(|raw| raw.get().starts_with('"'));
        new.push(if is_own {
            (!is_text).then(|| id.clone())
        } else {
            let base = if id.is_empty() { missing_id(position) } else { id.clone() };
            let numbered = (2..).map(|number| format!("{base}_{number}"));
            let mut candidates = std::iter::once(base.clone()).chain(numbered);
            let is_free = |new: &String| !taken.contains(new) && !all.contains(new.as_str());
            let free = candidates.find(is_free)?;
            taken.insert(free.clone());
            Some(free)
        });
    }
    let mut new = new.into_iter();
    call_places::replaced(format, message, &mut |place| {
        place.is_call.then(|| new.next()).flatten().flatten().map(Cow::Owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_half_waits_for_the_other_and_alone_is_replaced() {
        let parts = [r#"a\ud83d"#, r#"\ude00b"#, r#"\ud83d\ude00"#, r#"\\ud83d"#, r#"\ude00"#];
        let marked: Vec<String> =
            parts.iter().map(|part| halves_marked(part).into_owned()).collect();
        assert_eq!(halves_joined(&marked.concat()), "a😀b\\ud83d\\ude00\\\\ud83d\u{fffd}");
        assert!(matches!(halves_marked(r#"\ud83d\ude00 é \\ \n"#), Cow::Borrowed(_)));
    }

    #[test]
    fn what_is_shown_is_whole() {
        let mut shown = ShownHalves { seen: true, waiting: None };
        let text = |part: &str| Event::Text { delta: halves_marked(part).into_owned() };
        let mut events = [text(r#"a\ud83d"#), Event::Other, text(r#"\ude00"#), text(r#"\ude00"#)];
        shown.mend(&mut events);
        let text = |text: &str| Event::Text { delta: text.to_owned() };
        assert_eq!(events, [text("a"), Event::Other, text("😀"), text("\u{fffd}")]);
    }

    #[test]
    fn every_call_has_a_name_of_its_own() {
        let check = |format, before: &str, after: &str| {
            assert_eq!(calls_named(format, before), after);
            assert!(matches!(calls_named(format, after), Cow::Borrowed(_)));
        };
        check(
            WireFormat::OpenAiChat,
            r#"{"tool_calls":[{"id": "" ,"x":1},{"id":"a"},{"id":"a"},{"id":null},{}]}"#,
            r#"{"tool_calls":[{"id": "call_0" ,"x":1},{"id":"a"},{"id":"a_2"},{"id":"call_3"},{"id":"call_4"}]}"#,
        );
        check(
            WireFormat::OpenAiChat,
            r#"{"tool_calls":[{"id":7},{"id":"7"}]}"#,
            r#"{"tool_calls":[{"id":"7"},{"id":"7_2"}]}"#,
        );
        check(
            WireFormat::Anthropic,
            r#"{"content":[{"type":"tool_use","id":"a"},{"type":"text","id":"a"},{"type":"tool_use","id":"a"},{"type":"tool_use","id":"a_2"}]}"#,
            r#"{"content":[{"type":"tool_use","id":"a"},{"type":"text","id":"a"},{"type":"tool_use","id":"a_3"},{"type":"tool_use","id":"a_2"}]}"#,
        );
        check(
            WireFormat::OpenAiResponses,
            r#"[{"type":"function_call","id":"x","call_id":"a"},{"type":"function_call","id":"x","call_id":"a"}]"#,
            r#"[{"type":"function_call","id":"x","call_id":"a"},{"type":"function_call","id":"x","call_id":"a_2"}]"#,
        );
    }

    proptest! {
        /// Whatever is written: marking and joining never panic, and leave text without escapes alone.
        #[test]
        fn any_text_can_be_mended(text in r#"(\\u[dD][89a-f]3d|\\u|\\|é|😀|[a-z"{}:])*"#) {
            let marked = halves_marked(&text);
            let joined = halves_joined(&marked);
            prop_assert!(joined.chars().all(|c| code(c).is_none()));
            if !text.contains('\\') {
                prop_assert_eq!(joined, text);
            }
        }
    }
}
