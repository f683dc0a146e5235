//! Cutting members out of JSON text; every other byte stays.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::{json, strip};

/// The text without the members at these paths; `None` where it has none of them or is no JSON.
pub(crate) fn without<'a>(text: &str, paths: impl Iterator<Item = &'a [String]>) -> Option<String> {
    let mut kept: Option<String> = None;
    for path in paths {
        let text = kept.as_deref().unwrap_or(text);
        // Most messages have none of the members, and are not parsed for it.
        if path.last().is_none_or(|name| !text.contains(name.as_str())) {
            continue;
        }
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        let mut cuts = Vec::new();
        find(text, raw, path, &mut cuts)?;
        if !cuts.is_empty() {
            kept = Some(strip::remaining(text, &cuts));
        }
    }
    kept
}

/// Returns the cuts that leave the request of a head without these members. A head is the beginning of a request up to the list of
/// messages, so it is read with the end that every request has.
pub(super) fn cuts_of_head<'a>(
    text: &str,
    names: impl Iterator<Item = &'a str>,
) -> Vec<Range<usize>> {
    let names: Vec<String> = names.map(json::string).collect();
    if !names.iter().any(|name| text.contains(name.as_str())) {
        return Vec::new();
    }
    let whole = format!("{text}]}}");
    let mut cuts = Vec::new();
    if let Ok(raw) = serde_json::from_str::<&RawValue>(&whole)
        && let Ok(members) = strip::members(raw)
    {
        let is_cut = |key: &RawValue| names.iter().any(|name| name == key.get());
        strip::cut_members(&whole, &members, is_cut, &mut cuts);
    }
    cuts
}

/// Collects the members at the end of `path`, below `value` or below each element of a list.
fn find(text: &str, value: &RawValue, path: &[String], cuts: &mut Vec<Range<usize>>) -> Option<()> {
    let [name, inner @ ..] = path else { return Some(()) };
    match value.get().as_bytes().first() {
        Some(b'[') => {
            for element in serde_json::from_str::<Vec<&RawValue>>(value.get()).ok()? {
                find(text, element, path, cuts)?;
            }
        }
        Some(b'{') => {
            let members = strip::members(value).ok()?;
            let name = json::string(name);
            if inner.is_empty() {
                strip::cut_members(text, &members, |key| key.get() == name, cuts);
            } else {
                for (_, value) in members.iter().filter(|(key, _)| key.get() == name) {
                    find(text, value, inner, cuts)?;
                }
            }
        }
        _ => {}
    }
    Some(())
}

/// Returns the place that `offset` has once the cuts are made.
pub(super) fn shifted(offset: usize, cuts: &[Range<usize>]) -> usize {
    let before = cuts.iter().filter(|cut| cut.end <= offset);
    offset - before.map(|cut| cut.end - cut.start).sum::<usize>()
}
