//! What an imported conversation has read: the files that its results show whole, as they are now.

use std::collections::HashMap;
use std::path::Path;

use tine_model::{Block, Message, ToolCallId, ToolInput};
use tine_tools::{ShownFile, files_shown_whole};

/// Names of the argument with which programs name the file of a call.
const PATH_ARGUMENTS: [&str; 3] = ["file_path", "path", "filePath"];

/// The messages, each with the files that its results show.
pub(crate) async fn with_seen_files(messages: Vec<Message>, directory: &Path) -> Vec<Message> {
    let paths: HashMap<&ToolCallId, String> =
        messages.iter().flat_map(Message::blocks).filter_map(path_of_call).collect();
    let mut shown = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        for block in message.blocks() {
            let Block::ToolResult { call, content, is_error: false } = block else { continue };
            let Some(path) = paths.get(call).cloned() else { continue };
            let text: String = content.iter().filter_map(Block::as_text).collect();
            shown.push((index, ShownFile { path, text }));
        }
    }
    let (indexes, shown): (Vec<usize>, Vec<ShownFile>) = shown.into_iter().unzip();
    let mut seen = vec![Vec::new(); messages.len()];
    let found = files_shown_whole(directory.to_owned(), shown).await;
    for (index, file) in indexes.into_iter().zip(found) {
        seen[index].extend(file);
    }
    messages.into_iter().zip(seen).map(|(message, seen)| message.with_seen(seen)).collect()
}

fn path_of_call(block: &Block) -> Option<(&ToolCallId, String)> {
    let Block::ToolUse { id, input: ToolInput::Valid(input), .. } = block else { return None };
    let input: serde_json::Value = serde_json::from_str(input.as_str()).ok()?;
    let path = PATH_ARGUMENTS.iter().find_map(|name| input.get(name)?.as_str())?;
    Some((id, path.to_owned()))
}
