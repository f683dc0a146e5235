//! JSON Lines as tools leave them behind: a crash may have cut the last line, or glued the next one to it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ImportedConversation;
use crate::strip;

/// Most damaged lines that are named; the others are only counted.
pub(super) const DAMAGED_NAMED_MAX: usize = 8;

/// One record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a, T> {
    /// Where it stands, counted from 1.
    pub(super) number: usize,
    /// What it says.
    pub(super) record: T,
    /// Its text.
    pub(super) text: &'a str,
}

/// The records of a text. Lines that are none are noted in `into`.
pub(super) fn records<'a, T: Deserialize<'a>>(
    text: &'a str,
    into: &mut ImportedConversation,
) -> Vec<Line<'a, T>> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (number, text) = (index + 1, line.trim());
        if text.is_empty() {
            continue;
        }
        match object(text) {
            Some(record) => found.push(Line { number, record, text }),
            None => {
                into.left_out.add("damaged line");
                if into.damaged_lines.len() < DAMAGED_NAMED_MAX {
                    into.damaged_lines.push(number);
                }
            }
        }
    }
    found
}

/// Reads an object; a list that could be taken for one is none.
pub(super) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
    text.starts_with('{').then(|| serde_json::from_str(text).ok()).flatten()
}

/// The member of an object, whatever it holds; `None` where it is missing or `null`, and where it is there twice.
pub(super) fn member<'a>(object: &'a RawValue, name: &str) -> Option<&'a RawValue> {
    let members = strip::members(object).ok()?.into_iter();
    let mut named = members.filter(|(key, _)| text(Some(key)).as_deref() == Some(name));
    let (_, value) = named.next()?;
    (named.next().is_none() && value.get() != "null").then_some(value)
}

/// The text in a field that may hold anything.
pub(super) fn text(field: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(field?.get()).ok()
}

/// Whether a field that may hold anything is `true`.
pub(super) fn flag(field: Option<&RawValue>) -> bool {
    field.is_some_and(|field| field.get() == "true")
}
