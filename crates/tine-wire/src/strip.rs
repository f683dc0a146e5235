//! Cuts cache marks out of a message that somebody else wrote, and touches no other byte.
//!
//! A mark belongs to a request, not to a message: left in, it would count against the provider's limit and make
//! two equal messages differ. Marks are looked for on the message (or on each item of a list of them) and on its content
//! blocks (also on those inside a tool result or a document), never inside the arguments of a tool call, which are the
//! model's words.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields that are cache marks: Anthropic's (also accepted by several chat endpoints) and OpenAI's.
pub(crate) const MARKS: [&str; 2] = ["\"cache_control\"", "\"prompt_cache_breakpoint\""];

/// Content may hold content (a tool result, a document in it). No provider nests deeper than three; what lies
/// deeper than this is left as it is.
const NESTING_MAX: usize = 8;

/// `message` without cache marks; borrowed when there are none.
pub(crate) fn without_marks(message: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    let text = message.get();
    if !MARKS.iter().any(|mark| text.contains(mark)) {
        return Ok(Cow::Borrowed(text));
    }
    let mut cuts = Vec::new();
    if text.starts_with('[') {
        for item in serde_json::from_str::<Vec<&RawValue>>(text)? {
            find(text, item, 0, &mut cuts)?;
        }
    } else {
        find(text, message, 0, &mut cuts)?;
    }
    cuts.sort_by_key(|cut| cut.start);
    Ok(Cow::Owned(remaining(text, &cuts)))
}

/// The text without the cuts, which are in order.
pub(crate) fn remaining(text: &str, cuts: &[Range<usize>]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut position = 0;
    for cut in cuts {
        kept.push_str(text.get(position..cut.start).unwrap_or_default());
        position = position.max(cut.end);
    }
    kept.push_str(text.get(position..).unwrap_or_default());
    kept
}

/// Collects what to cut from one object and from the content under it.
fn find(
    text: &str,
    object: &RawValue,
    depth: usize,
    cuts: &mut Vec<Range<usize>>,
) -> Result<(), serde_json::Error> {
    if depth > NESTING_MAX || !object.get().starts_with('{') {
        return Ok(());
    }
    let members = members(object)?;
    cut_members(text, &members, is_mark, cuts);
    for (key, value) in &members {
        match (key.get(), value.get().as_bytes().first()) {
            // `output` holds the parts of a tool's result in OpenAI's Responses.
            ("\"content\"" | "\"output\"", Some(b'[')) => {
                for element in serde_json::from_str::<Vec<&RawValue>>(value.get())? {
                    find(text, element, depth + 1, cuts)?;
                }
            }
            ("\"source\"", Some(b'{')) => find(text, value, depth + 1, cuts)?,
            _ => {}
        }
    }
    Ok(())
}

/// Cuts the members of an object whose key `is_cut`. Each goes with the comma behind it, or, when it is the last member, with the comma
/// before it.
pub(crate) fn cut_members(
    text: &str,
    members: &[(&RawValue, &RawValue)],
    is_cut: impl Fn(&RawValue) -> bool,
    cuts: &mut Vec<Range<usize>>,
) {
    let start = |part: &RawValue| part.get().as_ptr() as usize - text.as_ptr() as usize;
    let end = |part: &RawValue| start(part) + part.get().len();
    for (position, (key, value)) in members.iter().enumerate() {
        if !is_cut(key) {
            continue;
        }
        let last_kept = members[..position].iter().rev().find(|(key, _)| !is_cut(key));
        cuts.push(match (members.get(position + 1), last_kept) {
            (Some((next, _)), _) => start(key)..start(next),
            (None, Some((_, kept))) => end(kept)..end(value),
            (None, None) => start(key)..end(value),
        });
    }
}

/// Whether a member is a cache mark.
pub(crate) fn is_mark(key: &RawValue) -> bool {
    MARKS.contains(&key.get())
}

/// The members of an object, each in its place within the text.
pub(crate) fn members(object: &RawValue) -> Result<Vec<(&RawValue, &RawValue)>, serde_json::Error> {
    serde_json::from_str::<Members<'_>>(object.get()).map(|members| members.0)
}

struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Vec<(&'de RawValue, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(MembersVisitor).map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, expected: &str) {
        let raw: &RawValue = serde_json::from_str(input).unwrap();
        let stripped = without_marks(raw).unwrap();
        assert_eq!(stripped, expected);
        serde_json::from_str::<&RawValue>(&stripped).unwrap();
    }

    #[test]
    fn a_mark_goes_with_one_comma_wherever_it_stands() {
        check(r#"{"cache_control":{"a":1}, "x":1}"#, r#"{"x":1}"#);
        check(r#"{"x":1 , "cache_control": null , "y" : 2}"#, r#"{"x":1 , "y" : 2}"#);
        check(r#"{"x":1,"cache_control":{} }"#, r#"{"x":1 }"#);
        check(r#"{ "cache_control":{} }"#, r#"{  }"#);
        check(r#"{"x":1,"prompt_cache_breakpoint":{},"cache_control":{}}"#, r#"{"x":1}"#);
        check(r#"{"cache_control":1,"prompt_cache_breakpoint":2}"#, "{}");
    }

    #[test]
    fn blocks_and_nested_blocks_are_cleaned_and_arguments_are_not() {
        check(
            r#"{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"\"cache_control\"","cache_control":{}}],"cache_control":{}},{"type":"tool_use","input":{"cache_control":1}}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"\"cache_control\""}]},{"type":"tool_use","input":{"cache_control":1}}]}"#,
        );
    }

    #[test]
    fn items_and_the_parts_of_outputs_are_cleaned() {
        check(
            r#"[ {"role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]}, {"type":"function_call_output","output":[{"text":"b","prompt_cache_breakpoint":{}}]},{"type":"function_call","arguments":"{\"cache_control\":1}"}]"#,
            r#"[ {"role":"user","content":[{"type":"input_text","text":"a"}]}, {"type":"function_call_output","output":[{"text":"b"}]},{"type":"function_call","arguments":"{\"cache_control\":1}"}]"#,
        );
    }

    #[test]
    fn without_marks_nothing_is_copied() {
        let raw: &RawValue = serde_json::from_str(r#"{"role":"user"}"#).unwrap();
        assert!(matches!(without_marks(raw), Ok(Cow::Borrowed(_))));
    }
}
