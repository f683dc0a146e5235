//! Going back in a conversation, and what that leaves as it is.

use std::path::Path;

use tine_guard::{Call, Width};
use tine_model::{AgentId, EntryId, RawJson};

use super::piece::{Body, CallPiece};
use super::room::Room;
use super::{App, Effect};
use crate::figures::plural;

/// How changes of files are taken back, which no rewind does.
pub(super) const FILES_BACK: &str = "`git diff` shows what differs from the last commit, and `git restore FILE` takes it back; \
    `/apply --undo AGENT` takes back what was applied";

impl App {
    /// Without a label, back to before the last words of the person, which come back into the line.
    pub(super) fn rewind(&mut self, agent: AgentId, label: Option<&str>) -> Vec<Effect> {
        let Some(room) = self.rooms.get_mut(&agent) else { return Vec::new() };
        if let Some(label) = label {
            let mark = room.pieces.iter().rev().find_map(|piece| match &piece.body {
                Body::Event(text) if *text == format!("Mark: {label}") => Some(piece.entry),
                _ => None,
            });
            return match mark {
                Some(mark) => vec![back(room, Some(mark))],
                None => self.refuse(&format!("Mark not found: {label}")),
            };
        }
        let last = room.pieces.iter().rev().find_map(|piece| match &piece.body {
            Body::User(text) => Some((piece.entry, text.clone())),
            _ => None,
        });
        let Some((entry, text)) = last else {
            return self.refuse("there is nothing to go back to");
        };
        room.input.set(&text);
        vec![back(room, room.before(entry))]
    }
}

/// Back to an entry, or to before all; with what is said of the files.
pub(super) fn back(room: &Room, to: Option<EntryId>) -> Effect {
    Effect::Rewind(room.record.id, to, files_stay(room, to))
}

/// What a person is told who goes back behind calls that changed files.
fn files_stay(room: &Room, to: Option<EntryId>) -> Option<String> {
    let behind = room.pieces.iter().filter(|piece| Some(piece.entry) > to);
    let calls = behind.filter_map(|piece| match &piece.body {
        Body::Call(call) if call.answer.as_ref().is_some_and(|answer| !answer.is_error) => {
            Some(call)
        }
        _ => None,
    });
    let (mut changes, mut commands) = (0, 0);
    for call in calls {
        match call.tool.as_str() {
            "FileEdit" | "FileWrite" => changes += 1,
            "Bash" if !only_reads(call, &room.record.directory) => commands += 1,
            _ => {}
        }
    }
    let commands = (commands > 0).then(|| format!("{} that may have", plural(commands, "command")));
    let changes = (changes > 0).then(|| format!("{} that changed some", plural(changes, "call")));
    let parts: Vec<String> = changes.into_iter().chain(commands).collect();
    (!parts.is_empty()).then(|| {
        format!(
            "Files stay as they are; behind this place stood {}. {FILES_BACK}.",
            parts.join(" and ")
        )
    })
}

fn only_reads(call: &CallPiece, directory: &str) -> bool {
    let Ok(input) = RawJson::parse(&call.input) else { return false };
    let call = Call::new(&call.tool, &input, Path::new(directory));
    call.shell_text().is_some_and(|text| text.verdict(Width::Strict).read_only)
}
