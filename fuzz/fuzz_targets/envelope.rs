//! Frames of tine around any text: the text opens and closes none, and what programs read back is the text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tine_fork::digest::{Digest, DigestProfile};
use tine_fork::envelope::{escape_frame_line, escape_frame_tags, frame_tags, unescape_frame_tags};
use tine_fork::merge_note::{MergeNote, Wording};
use tine_fork::notification::{NotificationStatus, TaskNotification};
use tine_fork::worker::{Inherits, directive_task, worker_directive};
use tine_model::{AgentId, EntryId, Message};

fuzz_target!(|text: &str| {
    let escaped = escape_frame_tags(text);
    assert!(frame_tags(&escaped).is_empty());
    assert_eq!(unescape_frame_tags(&escaped), text);
    let line = escape_frame_line(text);
    assert!(frame_tags(&line).is_empty() && !line.contains(['\n', '\r']));

    let directive = worker_directive(text, &Inherits::default());
    assert_eq!(directive_task(&directive).as_deref(), Some(text));
    for (frame, plain) in frames(text).iter().zip(frames("plain")) {
        assert_eq!(frame_tags(frame), frame_tags(&plain), "{frame}");
    }
});

fn frames(text: &str) -> Vec<String> {
    let own = || text.to_owned();
    let notice = TaskNotification {
        task_id: own(),
        status: NotificationStatus::Killed,
        summary: own(),
        result: Some(own()),
        worktree: Some(own()),
        usage: None,
    };
    let note = MergeNote {
        source: AgentId::from_random([1; 16]),
        name: Some(own()),
        fork_point: None,
        first: EntryId(1),
        last: EntryId(2),
        wording: Wording::Given,
        text: own(),
    };
    let said = Message::user(own());
    let digest = Digest::of(&[&said, &said], DigestProfile::Fixed).text;
    vec![notice.to_string(), note.to_string(), worker_directive(text, &Inherits::default()), digest]
}
