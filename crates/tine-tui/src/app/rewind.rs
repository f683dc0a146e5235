//! Going back in a conversation, and what that leaves as it is.

use tine_model::AgentId;
use tine_runtime::Rewound;

use super::App;
use super::piece::Tone;
use crate::figures::plural;

/// How changes of files are taken back, which no rewind does.
pub(super) const FILES_BACK: &str = "`git diff` shows what differs from the last commit, and `git restore FILE` takes it back; \
    `/apply --undo AGENT` takes back what was applied";

impl App {
    /// A conversation went back: a prompt that it no longer has comes back into the line.
    pub(super) fn rewound(&mut self, agent: AgentId, rewound: &Rewound) {
        if let (Some(prompt), Some(room)) = (&rewound.prompt, self.rooms.get_mut(&agent))
            && room.input.is_empty()
        {
            room.input.set(prompt);
        }
        if let Some(text) = files_stay(rewound) {
            self.say(Some(agent), Tone::Plain, text);
        }
    }
}

/// The words for a person who goes back behind calls that changed files.
fn files_stay(rewound: &Rewound) -> Option<String> {
    let Rewound { changes, commands, .. } = *rewound;
    let counted = |count: usize, what| (count > 0).then(|| plural(count as u64, what));
    let commands = counted(commands, "command").map(|count| format!("{count} that may have"));
    let changes = counted(changes, "call").map(|count| format!("{count} that changed some"));
    let parts: Vec<String> = changes.into_iter().chain(commands).collect();
    (!parts.is_empty()).then(|| {
        format!(
            "Files stay as they are; behind this place stood {}. {FILES_BACK}.",
            parts.join(" and ")
        )
    })
}
