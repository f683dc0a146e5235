//! Conversations in and out, in providers' shapes.

use tine_model::{AgentId, Block, EntryBody, Message, WireFormat};

use crate::codec;
use crate::error::RuntimeError;
use crate::runtime::{NewRoot, Runtime};

/// An imported conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// The new agent.
    pub agent: AgentId,
    /// Number of log entries.
    pub entries: usize,
    /// Whether the file's system prompt took the place of the given one.
    pub has_system: bool,
}

impl Runtime {
    /// Makes an agent of a JSON array or JSONL of provider-shaped messages, all of it or nothing. A system prompt at the
    /// start of the file takes the place of `root.system`.
    pub async fn import_messages(
        &self,
        root: NewRoot,
        text: &str,
    ) -> Result<Imported, RuntimeError> {
        let preferred = root.settings.model.format();
        let imported = tine_wire::import_messages(text, preferred)?;
        if imported.messages.is_empty() {
            return Err(RuntimeError::EmptyImport);
        }
        let first = imported.messages.first().map(tine_model::Message::role);
        let wants_a_user = matches!(preferred, WireFormat::Anthropic | WireFormat::Gemini);
        if wants_a_user && first == Some(tine_model::Role::Assistant) {
            return Err(RuntimeError::AssistantFirst);
        }
        let now_ms = self.now_ms();
        let rows: Vec<_> =
            imported.messages.iter().map(|message| codec::message_row(message, now_ms)).collect();
        let entries = rows.len();
        let has_system = imported.system.is_some();
        let system = imported.system.unwrap_or(root.system);
        // Signed reasoning is bound to the head that it was made behind, which is not the one it gets here.
        let foreign_thinking = imported.messages.iter().flat_map(Message::blocks).any(|block| {
            matches!(block, Block::Thinking { signature: Some(_), .. } | Block::RedactedThinking(_))
        });
        let root = NewRoot { system, ..root };
        let agent = self.create_with(root, rows, foreign_thinking).await?;
        Ok(Imported { agent, entries, has_system })
    }

    /// The effective history as a JSON array of messages in a provider's shape, one message a line: what would be sent,
    /// without cache marks.
    pub async fn export_messages(
        &self,
        agent: AgentId,
        format: Option<WireFormat>,
    ) -> Result<String, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let fold = self.fold(agent, None).await?;
        let format = format.unwrap_or_else(|| record.settings.model.format());
        Ok(to_messages(
            fold.entries().iter().filter_map(|folded| match &folded.entry.body {
                EntryBody::Message(message) if folded.effective => Some(&**message),
                _ => None,
            }),
            format,
        ))
    }
}

/// Messages as a JSON array, one a line.
pub fn to_messages<'a>(
    messages: impl Iterator<Item = &'a tine_model::Message>,
    format: WireFormat,
) -> String {
    let mut lines = Vec::new();
    let mut before = None;
    for message in messages {
        let frame = tine_wire::framer(format).frame(&tine_history::close_calls(before, message));
        if !frame.bytes.is_empty() {
            lines.push(String::from_utf8_lossy(&frame.bytes).into_owned());
        }
        before = Some(message);
    }
    format!("[\n{}\n]\n", lines.join(",\n"))
}
