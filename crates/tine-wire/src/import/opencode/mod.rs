//! Sessions of OpenCode → messages.
//!
//! An export is one object: a session, and its messages, each a list of parts. Its server's answer is the list of messages alone. One
//! message of the assistant's holds several answers of the model, told apart by steps, and each call holds its result. None of it is
//! in a provider's shape, so all of it is written anew: an answer, then the results of its calls, then the next answer. Reasoning
//! keeps its signature where Anthropic gave one. For a text that tells of a session, [`outline`] reads the same.
//! Source: sst/opencode, the schema of messages, 2026.

mod answer;
mod outline;
mod part;
mod session;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, Message, Role};

use self::part::Part;
use self::session::{Said, Speaker};
use super::error::ImportError;
use super::lines::object;
use super::{Carries, ConversationFormat, Counts, ImportedConversation};
use crate::mend::{halves_joined, halves_marked};

pub use self::outline::{SessionOutline, read_opencode_outline};
pub use self::part::CLEARED_RESULT;

/// The tool, in errors.
const TOOL: &str = "OpenCode";

/// Reads an export, or a list of messages.
pub(super) fn read(text: &str) -> Result<ImportedConversation, ImportError> {
    let mut into = ImportedConversation::new(ConversationFormat::OpenCode);
    let mut said = messages(&whole(text), &mut into.left_out)?;
    let start = session::start_at_summary(&mut said).unwrap_or_default();
    into.left_out.add_many("before a compaction", start as u64);
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

/// The text without halves of characters: OpenCode cuts what tools print wherever its limit falls, and writes a half as an escape.
fn whole(text: &str) -> Cow<'_, str> {
    match halves_marked(text) {
        Cow::Borrowed(text) => Cow::Borrowed(text),
        Cow::Owned(marked) => Cow::Owned(halves_joined(&marked)),
    }
}

/// The messages of an export but for those that were taken back, or those of a list.
fn messages(text: &str, left_out: &mut Counts) -> Result<Vec<Said>, ImportError> {
    #[derive(Deserialize)]
    struct Export<'a> {
        #[serde(borrow)]
        info: &'a RawValue,
        messages: Vec<&'a RawValue>,
    }
    let text = text.trim();
    let (info, messages) = if text.starts_with('[') {
        (None, serde_json::from_str(text).map_err(unreadable)?)
    } else {
        let Export { info, messages } = serde_json::from_str(text).map_err(unreadable)?;
        (Some(info), messages)
    };
    let mut said = Vec::new();
    for (index, raw) in messages.iter().enumerate() {
        match object::<session::Shape<'_>>(raw.get()).and_then(|shape| Said::of(&shape)) {
            Some(message) => said.push(message),
            None => {
                let what = format!("message {} has no role or no parts", index + 1);
                return Err(ImportError::Shape { tool: TOOL, what });
            }
        }
    }
    if let Some(info) = info {
        session::take_back(info, &mut said, left_out);
    }
    Ok(said)
}

fn unreadable(source: serde_json::Error) -> ImportError {
    match source.classify() {
        serde_json::error::Category::Data => {
            ImportError::Shape { tool: TOOL, what: source.to_string() }
        }
        _ => ImportError::Json { line: source.line(), source },
    }
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
            if !session::is_sent(failed, &message.parts) {
                into.left_out.add("failed answer");
                return;
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
        Part::Text { text, .. } => blocks.push(Block::Text(text)),
        Part::File { media: Some(media), .. } => blocks.push(media),
        Part::File { media: None, .. } => into.left_out.add("file"),
        Part::Compaction => blocks.push(Block::Text(COMPACTION_PROMPT.to_owned())),
        Part::Step => {}
        Part::Reasoning { .. } => into.left_out.add("reasoning"),
        Part::Tool(_) => into.left_out.add("tool"),
        Part::Other(kind) => into.left_out.add(&kind),
    }
}

#[cfg(test)]
mod tests;
