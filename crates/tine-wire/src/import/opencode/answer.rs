//! The parts of an assistant's message → answers, each with the results of its calls behind it.

use tine_model::{Block, Message, RawJson, Role, ToolCallId, ToolInput};

use super::part::{Part, Tool};
use crate::import::ImportedConversation;

/// An answer that is being put together.
#[derive(Default)]
struct Answer {
    blocks: Vec<Block>,
    results: Vec<Block>,
}

impl Answer {
    fn finish(&mut self, into: &mut ImportedConversation) {
        let Self { blocks, results } = std::mem::take(self);
        if !blocks.is_empty() {
            into.messages.push(Message::new(Role::Assistant, blocks));
        }
        if !results.is_empty() {
            into.messages.push(Message::new(Role::User, results));
        }
    }
}

/// Adds the messages of these parts. `nameless` counts the calls that are no calls of a provider's.
pub(super) fn take(parts: Vec<Part>, into: &mut ImportedConversation, nameless: &mut u64) {
    let mut answer = Answer::default();
    for part in parts {
        match part {
            Part::Step => answer.finish(into),
            Part::Text { text, .. } => answer.blocks.push(Block::Text(text)),
            // Without a signature no provider takes it back.
            Part::Reasoning { signature: None, .. } => into.left_out.add("reasoning"),
            Part::Reasoning { text, signature } => {
                answer.blocks.push(Block::Thinking { text, signature });
            }
            Part::Tool(tool) => take_tool(tool, &mut answer, into, nameless),
            Part::File { media: Some(media), .. } => answer.blocks.push(media),
            Part::File { media: None, .. } => into.left_out.add("file"),
            Part::Compaction => {}
            Part::Other(kind) => into.left_out.add(&kind),
        }
    }
    answer.finish(into);
}

fn take_tool(tool: Tool, answer: &mut Answer, into: &mut ImportedConversation, nameless: &mut u64) {
    if tool.id.is_none() || tool.input.is_none() {
        *nameless += 1;
    }
    // Only a digest is made of it, in which no id stands.
    let id = tool.id.unwrap_or_else(|| format!("call-{nameless}"));
    let input = tool.input.unwrap_or_else(|| ToolInput::Valid(RawJson::empty_object()));
    let id = ToolCallId(id);
    if let Some(result) = tool.result {
        into.left_out.add_many("attachment", result.missing);
        let (content, is_error) = (result.content, result.is_error);
        answer.results.push(Block::ToolResult { call: id.clone(), content, is_error });
    }
    into.rewritten.add("tool call");
    answer.blocks.push(Block::ToolUse { id, name: tool.name, input });
}
