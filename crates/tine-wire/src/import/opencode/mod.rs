//! Exports of OpenCode → messages.
//!
//! An export is one object: a session, and its messages, each a list of parts. One message of the assistant's holds several answers of
//! the model, told apart by steps, and each call holds its result. None of it is in a provider's shape, so all of it is
//! written anew: an answer, then the results of its calls, then the next answer. Reasoning keeps its signature where
//! Anthropic gave one. Source: sst/opencode, the schema of messages, 2026.

mod answer;
mod part;
mod session;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, Message, Role};

use self::part::Part;
use self::session::{Failed, Said, Speaker};
use super::error::ImportError;
use super::lines::object;
use super::{Carries, ConversationFormat, ImportedConversation};

/// The tool, in errors.
const TOOL: &str = "OpenCode";

/// Reads an export.
pub(super) fn read(text: &str) -> Result<ImportedConversation, ImportError> {
    #[derive(Deserialize)]
    struct Export<'a> {
        #[serde(borrow)]
        info: &'a RawValue,
        #[serde(borrow)]
        messages: Vec<&'a RawValue>,
    }
    let export: Export<'_> =
        serde_json::from_str(text.trim()).map_err(|source| match source.classify() {
            serde_json::error::Category::Data => {
                ImportError::Shape { tool: TOOL, what: source.to_string() }
            }
            _ => ImportError::Json { line: source.line(), source },
        })?;
    let mut into = ImportedConversation::new(ConversationFormat::OpenCode);
    let mut said = Vec::new();
    for (index, raw) in export.messages.iter().enumerate() {
        match object::<session::Shape<'_>>(raw.get()).and_then(|shape| Said::of(&shape)) {
            Some(message) => said.push(message),
            None => {
                let what = format!("message {} has no role or no parts", index + 1);
                return Err(ImportError::Shape { tool: TOOL, what });
            }
        }
    }
    session::take_back(export.info, &mut said, &mut into.left_out);
    session::start_at_summary(&mut said, &mut into.left_out);
    let mut nameless = 0;
    for message in said {
        take(message, &mut into, &mut nameless);
    }
    if nameless > 0 {
        let reason = format!("{nameless} of its tool calls have no id or no arguments");
        into.carries = Carries::Digest { reason };
    }
    Ok(into)
}

fn take(message: Said, into: &mut ImportedConversation, nameless: &mut u64) {
    match message.speaker {
        Speaker::User => {
            let mut blocks = Vec::new();
            for part in message.parts {
                take_user(part, &mut blocks, into);
            }
            if !blocks.is_empty() {
                into.messages.push(Message::new(Role::User, blocks));
            }
        }
        Speaker::Assistant { model, failed } => {
            let is_heard = |part: &Part| part.is_heard();
            match failed {
                Failed::No => {}
                // What was said before the user stopped it counts.
                Failed::Stopped if message.parts.iter().any(is_heard) => {}
                Failed::Stopped | Failed::Yes => {
                    into.left_out.add("failed answer");
                    return;
                }
            }
            into.model = model.or(into.model.take());
            answer::take(message.parts, into, nameless);
        }
    }
}

/// Words that OpenCode (1.18.33) puts in the place of its request for a summary when it goes on from one; the export does not hold them.
const COMPACTION_PROMPT: &str = "What did we do so far?";

fn take_user(part: Part, blocks: &mut Vec<Block>, into: &mut ImportedConversation) {
    match part {
        Part::Text(text) => blocks.push(Block::Text(text)),
        Part::Media(block) => blocks.push(block),
        Part::Compaction => blocks.push(Block::Text(COMPACTION_PROMPT.to_owned())),
        Part::Step => {}
        Part::Reasoning { .. } => into.left_out.add("reasoning"),
        Part::Tool(_) => into.left_out.add("tool"),
        Part::Other(kind) => into.left_out.add(&kind),
    }
}

#[cfg(test)]
mod tests;
