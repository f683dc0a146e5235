//! Rollouts of Codex → messages.
//!
//! A rollout is a log: items of Responses, which are what the model saw, among events that tell an interface what to show. A
//! compaction replaces the items so far, and a rollback takes back the last turns. Items are kept word for word, but for the calls
//! of kinds that only OpenAI knows: they become plain function calls, so that they can be answered, closed and sent
//! anywhere. Source: openai/codex, `protocol` and the reconstruction of rollouts, 2026.

mod history;
mod item;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::WireFormat;

use self::history::History;
use self::item::Item;
use super::error::ImportError;
use super::lines::{Line, member, records, text};
use super::{Carries, ConversationFormat, ImportedConversation};

/// One line.
#[derive(Debug, Clone, Copy, Deserialize)]
struct Shape<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a RawValue>,
    payload: Option<&'a RawValue>,
    record_type: Option<&'a RawValue>,
}

/// Reads a rollout.
pub(super) fn read(text: &str, target: WireFormat) -> Result<ImportedConversation, ImportError> {
    let mut into = ImportedConversation::new(ConversationFormat::Codex);
    let lines: Vec<Line<'_, Shape<'_>>> = records(text, &mut into);
    let mut history = History::default();
    for line in &lines {
        take(line, &mut history, &mut into)?;
    }
    into.messages = history.into_messages()?;
    let sealed = into.messages.iter().any(item::is_sealed_summary);
    if sealed && target != WireFormat::OpenAiResponses {
        let reason = "its earlier part was compacted into a form that only OpenAI can open";
        into.carries = Carries::Digest { reason: reason.to_owned() };
    }
    Ok(into)
}

fn take<'a>(
    line: &Line<'a, Shape<'a>>,
    history: &mut History<'a>,
    into: &mut ImportedConversation,
) -> Result<(), ImportError> {
    let kind = text(line.record.kind);
    match (kind.as_deref(), line.record.payload) {
        (Some("response_item"), Some(payload)) => {
            history.push(Item::of(line.number, payload.get()), into)
        }
        (Some("compacted"), Some(payload)) => history.compact(line.number, payload, into),
        (Some("event_msg"), Some(payload)) => {
            let turns = rolled_back(payload);
            if turns == 0 {
                into.left_out.add("event_msg");
            }
            into.left_out.add_many("rolled back", history.roll_back(turns));
            Ok(())
        }
        (Some("session_meta"), Some(payload)) => {
            // A fork's file goes on with a copy of its parent's, whose session is not this one.
            into.system = into.system.take().or_else(|| instructions(payload));
            into.left_out.add("session_meta");
            Ok(())
        }
        (Some("turn_context"), Some(payload)) => {
            into.model = text(member(payload, "model")).or(into.model.take());
            into.left_out.add("turn_context");
            Ok(())
        }
        // The first versions wrote items without a wrapper around them.
        (Some(kind), None) if item::is_native(kind) => {
            history.push(Item::of(line.number, line.text), into)
        }
        (kind, _) => {
            let state = line.record.record_type.map_or("session_meta", |_| "state");
            into.left_out.add(kind.unwrap_or(state));
            Ok(())
        }
    }
}

/// How many turns an event takes back.
fn rolled_back(payload: &RawValue) -> usize {
    match text(member(payload, "type")).as_deref() {
        Some("thread_rolled_back") => {
            member(payload, "num_turns").and_then(|turns| turns.get().parse().ok()).unwrap_or(0)
        }
        _ => 0,
    }
}

fn instructions(payload: &RawValue) -> Option<String> {
    let instructions = member(payload, "base_instructions")?;
    text(member(instructions, "text")).filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests;
