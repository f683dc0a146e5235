//! Conversations of agents as files for others.

use std::collections::HashMap;

use tine_model::{AgentId, EntryId, Role, WireFormat};
use tine_wire::{ExportHead, ExportMessage};

use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// The files of other tools that are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportShape {
    /// A transcript of Claude Code.
    ClaudeCode,
    /// A rollout of Codex.
    Codex,
}

/// How a conversation is written.
#[derive(Debug, Clone, Copy)]
pub struct ExportSpec {
    /// The shape.
    pub shape: ExportShape,
    /// The version of the program that writes.
    pub version: &'static str,
    /// A time in milliseconds since the Unix epoch as RFC 3339.
    pub time: fn(i64) -> String,
}

impl Runtime {
    /// The effective history as a JSON array of messages in a provider's shape, one message a line: what would be sent,
    /// without cache marks. `None` is the agent's own provider.
    pub async fn export_messages(
        &self,
        agent: AgentId,
        format: Option<WireFormat>,
    ) -> Result<String, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let fold = self.fold(agent, None).await?;
        let items: Vec<_> = fold.items().collect();
        let format = format.unwrap_or_else(|| record.settings.model.format());
        Ok(to_messages(items.iter().map(|item| &*item.message), format))
    }

    /// The effective history as another tool's file: what would be sent in the tool's format, without cache marks.
    pub async fn export(&self, agent: AgentId, spec: ExportSpec) -> Result<String, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let fold = self.fold(agent, None).await?;
        let head = ExportHead {
            agent,
            model: record.settings.model.name.clone(),
            directory: record.directory.clone(),
            version: spec.version.to_owned(),
        };
        let times: HashMap<EntryId, i64> =
            fold.entries().iter().map(|folded| (folded.entry.id, folded.entry.at_ms)).collect();
        let items: Vec<_> = fold.items().collect();
        let said: Vec<ExportMessage<'_>> = items
            .iter()
            .map(|item| {
                let at_ms = times.get(&item.entry).copied().unwrap_or(record.created_ms);
                ExportMessage { message: &item.message, at: (spec.time)(at_ms) }
            })
            .collect();
        Ok(match spec.shape {
            ExportShape::ClaudeCode => tine_wire::to_claude_code(&head, &said),
            ExportShape::Codex => tine_wire::to_codex(&head, &said),
        })
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
        // Requests of tine's say it in words of the person; another program has said it so.
        let own =
            message.raw().filter(|raw| raw.format == format && message.role() == Role::System);
        if let Some(raw) = own {
            lines.push(raw.json.as_str().to_owned());
        } else if !frame.bytes.is_empty() {
            lines.push(String::from_utf8_lossy(&frame.bytes).into_owned());
        }
        before = Some(message);
    }
    format!("[\n{}\n]\n", lines.join(",\n"))
}
