//! What was said in a session, for a text that tells of it: one message for each of OpenCode's.
//!
//! The messages are for no provider. A call has its result behind it in the same message, reasoning needs no signature, and a file is
//! only named.

use tine_model::{Block, Message, RawJson, Role, ToolCallId, ToolInput};

use super::part::Part;
use super::session::{self, Said, Speaker};
use super::{messages, whole};
use crate::import::{Counts, IMPORT_MESSAGES_MAX, ImportError};
use crate::json::Object;

/// What stands around a tool's name before its arguments, where OpenCode read a file that a prompt names (1.18.33). The text of the
/// file is the next part.
const READING: (&str, &str) = ("Called the ", " tool with the following input: ");

/// What was said in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOutline {
    /// What counts, one message for each of OpenCode's, oldest first.
    pub messages: Vec<Message>,
    /// Messages before the last summary, which stands first in `messages`; `None` where nothing was summed up.
    pub before_summary: Option<usize>,
    /// Messages and parts that no model was sent, by kind.
    pub left_out: Counts,
}

/// Reads the answer of OpenCode's `GET /session/{id}/message`, or an export. A session in which nothing was said has no messages.
pub fn read_opencode_outline(text: &str) -> Result<SessionOutline, ImportError> {
    let mut left_out = Counts::default();
    let mut said = messages(&whole(text.trim_start_matches('\u{feff}')), &mut left_out)?;
    if said.len() > IMPORT_MESSAGES_MAX {
        return Err(ImportError::TooMany);
    }
    let before_summary = session::start_at_summary(&mut said);
    let messages = said.into_iter().filter_map(|said| outlined(said, &mut left_out)).collect();
    Ok(SessionOutline { messages, before_summary, left_out })
}

/// `None` for a message of which nothing was sent.
fn outlined(said: Said, left_out: &mut Counts) -> Option<Message> {
    let role = match said.speaker {
        Speaker::User => Role::User,
        Speaker::Assistant { failed, .. } if session::is_sent(failed, &said.parts) => {
            Role::Assistant
        }
        Speaker::Assistant { .. } => {
            left_out.add("failed answer");
            return None;
        }
    };
    let mut blocks = Vec::new();
    // The file itself follows its reading.
    let mut is_read = false;
    let mut parts = said.parts.into_iter().peekable();
    while let Some(part) = parts.next() {
        match part {
            Part::Text { text, is_synthetic: true } => {
                let content = match parts.peek() {
                    Some(Part::Text { text, is_synthetic: true }) => Some(text.as_str()),
                    _ => None,
                };
                match content.and_then(|content| reading(&text, content, blocks.len())) {
                    Some(read) => {
                        blocks.extend(read);
                        is_read = true;
                        parts.next();
                    }
                    None => blocks.push(Block::Text(text)),
                }
            }
            Part::Text { text, .. } => blocks.push(Block::Text(text)),
            Part::Reasoning { text, signature } if !text.trim().is_empty() => {
                blocks.push(Block::Thinking { text, signature });
            }
            Part::Tool(tool) => {
                let id = ToolCallId(tool.id.unwrap_or_else(|| format!("call-{}", blocks.len())));
                let input = tool.input.unwrap_or_else(|| ToolInput::Valid(RawJson::empty_object()));
                blocks.push(Block::ToolUse { id: id.clone(), name: tool.name, input });
                if let Some(result) = tool.result {
                    left_out.add_many("attachment", result.missing);
                    let (content, is_error) = (result.content, result.is_error);
                    blocks.push(Block::ToolResult { call: id, content, is_error });
                }
            }
            Part::File { .. } if std::mem::take(&mut is_read) => {}
            Part::File { name, .. } => blocks.extend(named(name)),
            Part::Reasoning { .. } | Part::Step | Part::Compaction => {}
            Part::Other(kind) => left_out.add(&kind),
        }
    }
    (!blocks.is_empty()).then(|| Message::new(role, blocks))
}

/// The reading of a file as the call that it was, so that its text is shortened as a result is.
fn reading(call: &str, content: &str, place: usize) -> Option<[Block; 2]> {
    let (name, input) = call.strip_prefix(READING.0)?.split_once(READING.1)?;
    let input = RawJson::parse(input).ok().filter(RawJson::is_object)?;
    let id = ToolCallId(format!("file-{place}"));
    let result = Block::result(id.clone(), content, false);
    Some([Block::ToolUse { id, name: name.to_owned(), input: ToolInput::Valid(input) }, result])
}

fn named(name: Option<String>) -> Option<Block> {
    let file = Object::new().string("type", "file");
    let file = match name {
        Some(name) => file.string("filename", &name),
        None => file,
    };
    RawJson::parse(&file.end()).ok().map(Block::Unknown)
}
