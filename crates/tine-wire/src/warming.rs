//! The request that fills or refreshes a provider's cache without an answer: to be sent while nobody waits, so that a
//! fork, or an agent that comes back later, finds its prefix there.
//!
//! It has the bytes of the request that would be sent next, up to its last shared place, with the same marks. Only how the
//! reply is limited and delivered is different, which is no part of the prefix. This module never decides whether warming
//! pays.

use bytes::Bytes;
use serde_json::value::RawValue;
use tine_history::History;
use tine_model::{CacheScheme, EntryId, Message, Role, WireFormat};

use crate::assemble::{Assembled, RequestOptions, assemble};
use crate::head::Head;
use crate::strip;

/// What closes a head so that it can be read as JSON.
const CLOSING: &str = "]}";

/// The request that makes or refreshes the entries of a lineage's prefix and generates nothing. Its boundaries are those of
/// the ordinary request, so that a ledger may book it as one.
///
/// Calls that the last message leaves open are closed as they will be for every child of a fork at this place, and the last
/// placeholder is marked: what all siblings share is then warm, all of it.
///
/// `None` where no such request exists:
/// - Anthropic: when the head sets a budget for thinking, forces a tool, or fixes the output's format; the API refuses these
///   together with a limit of 0 tokens (Anthropic, "Prompt caching: pre-warming").
/// - OpenAI Responses without breakpoints, where the models have no such option.
/// - Chat Completions, in which not even models with breakpoints have it, and Gemini, whose cached contents are made by a
///   call of another kind.
/// - Requests that another program has sent, in any format.
pub fn warming(head: &Head, history: &mut History, options: &RequestOptions) -> Option<Assembled> {
    if head.splice.is_some() {
        // Another program's request may hold settings that need an answer.
        return None;
    }
    let changes: &[(&str, &str)] = match (head.format, head.scheme) {
        (WireFormat::Anthropic, _) => &[("max_tokens", "0"), ("stream", "false")],
        (WireFormat::OpenAiResponses, CacheScheme::Breakpoints) => &[("stream", "false")],
        (WireFormat::OpenAiResponses, CacheScheme::Marks | CacheScheme::Automatic)
        | (WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::Gemini, _) => {
            return None;
        }
    };
    let warmer = changed(head, changes)?;
    let options = RequestOptions { warm: true, ..options.clone() };
    let mut closed = history.fork();
    if history.has_open_calls() {
        closed.push(EntryId(0), Message::new(Role::User, Vec::new()).into());
    }
    // What was appended here is not part of the lineage: its next request counts from what the lineage has.
    let mut assembled =
        Assembled { items: history.len(), ..assemble(&warmer, &mut closed, &options) };
    for boundary in &mut assembled.boundaries {
        boundary.bytes = boundary.bytes + head.bytes.len() as u64 - warmer.bytes.len() as u64;
    }
    Some(assembled)
}

/// The head with other values for some of its members, every other byte untouched. Its identity stays that of the head it was
/// made from. `None` when it cannot be read, when it lacks one of the members that must be changed, or when it asks for
/// something that no answer can do without.
fn changed(head: &Head, changes: &[(&str, &str)]) -> Option<Head> {
    let text = [std::str::from_utf8(&head.bytes).ok()?, CLOSING].concat();
    let raw: &RawValue = serde_json::from_str(&text).ok()?;
    let members = strip::members(raw).ok()?;
    if members.iter().any(|(key, value)| needs_an_answer(key.get(), value)) {
        return None;
    }
    let (mut bytes, mut kept) = (String::with_capacity(text.len()), 0);
    let mut slots = head.slots.clone();
    let mut due: Vec<&str> = changes.iter().map(|(name, _)| *name).collect();
    for (key, value) in &members {
        let key = key.get().trim_matches('"');
        let Some((name, new)) = changes.iter().find(|(name, _)| *name == key) else { continue };
        due.retain(|other| other != name);
        let begin = value.get().as_ptr() as usize - text.as_ptr() as usize;
        let end = begin + value.get().len();
        bytes.push_str(text.get(kept..begin)?);
        bytes.push_str(new);
        kept = end;
        // The slots behind it are moved by as much as the text before them grows or shrinks.
        for (slot, _) in slots.iter_mut().zip(&head.slots).filter(|(_, old)| old.offset >= end) {
            slot.offset = slot.offset + new.len() - value.get().len();
        }
    }
    bytes.push_str(text.get(kept..text.len() - CLOSING.len())?);
    // A head that says nothing of streaming asks for none.
    due.retain(|name| *name != "stream");
    due.is_empty().then(|| Head { bytes: Bytes::from(bytes), slots, ..head.clone() })
}

/// Whether a setting makes the API refuse a request that generates nothing.
fn needs_an_answer(key: &str, value: &RawValue) -> bool {
    let word = |name: &str| -> Option<String> {
        let members = strip::members(value).ok()?;
        let found = members.into_iter().find(|(key, _)| key.get().trim_matches('"') == name);
        found.map(|(_, value)| serde_json::from_str(value.get()).unwrap_or_default())
    };
    match key {
        "\"thinking\"" => word("type").is_some_and(|kind| kind == "enabled"),
        "\"tool_choice\"" => word("type").is_some_and(|kind| kind == "any" || kind == "tool"),
        "\"output_config\"" => word("format").is_some(),
        _ => false,
    }
}
