//! A conversation as pieces that can be shown, one after the other. What is read from the log and what was seen live gives the same.

use std::path::Path;

use tine_fork::merge_note::MergeNote;
use tine_fork::notification::TaskNotification;
use tine_fork::worker::directive_task;
use tine_guard::{Call, describe};
use tine_model::{
    Block, Entry, EntryBody, EntryId, ForkRole, Message, Role, TaskStatus, ToolCallId, ToolInput,
};
use tine_runtime::{AttachedFile, UserCommand};

use super::media;
use crate::figures::plural;
use crate::words::one_line;

/// What is told to agents about their surroundings stands in these; people know it.
const FRAMES: [(&str, &str); 3] = [
    ("environment", "its working directory"),
    ("worktree", "its worktree"),
    ("side-question", "to answer beside the conversation"),
];

/// Something of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The entry that it is part of.
    pub(crate) entry: EntryId,
    /// What it is.
    pub(crate) body: Body,
}

/// What a piece is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    /// Words to the model.
    User(String),
    /// Words of the model.
    Model(String),
    /// Visible reasoning.
    Thinking(String),
    /// A tool call.
    Call(CallPiece),
    /// Something that happened, in one line.
    Event(String),
    /// Words of the terminal to the person, of this session alone.
    Aside(Tone, String),
}

/// How words of the terminal are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It is so.
    Plain,
    /// Something needs attention.
    Warning,
    /// Something went wrong.
    Error,
}

/// A tool call and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallPiece {
    /// Which call.
    pub(crate) id: ToolCallId,
    /// The tool.
    pub(crate) tool: String,
    /// The call in one line, without the tool.
    pub(crate) line: String,
    /// Its arguments, as JSON where they are.
    pub(crate) input: String,
    /// What came of it.
    pub(crate) answer: Option<AnswerText>,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnswerText {
    /// The entry in which it stands.
    pub(crate) entry: EntryId,
    /// Its text.
    pub(crate) text: String,
    /// Whether it failed or was refused.
    pub(crate) is_error: bool,
}

/// Makes pieces of entries.
pub(crate) fn add_entry(pieces: &mut Vec<Piece>, entry: &Entry, directory: &Path) {
    let mut add = |body| pieces.push(Piece { entry: entry.id, body });
    match &entry.body {
        EntryBody::Message(message) => add_message(pieces, entry.id, message, directory),
        EntryBody::Fork { role: ForkRole::Parent, other, .. } => {
            add(Body::Event(format!("Forked child {}", other.short())));
        }
        EntryBody::Fork { role: ForkRole::Child, other, .. } => {
            add(Body::Event(format!("Forked from {other}")));
        }
        EntryBody::Clear => add(Body::Event("The conversation starts anew".to_owned())),
        EntryBody::Mark { label } => add(Body::Event(match label {
            Some(label) => format!("Mark: {}", one_line(label)),
            None => "Mark".to_owned(),
        })),
        EntryBody::Rewind { .. } => add(Body::Event("Rewound to here".to_owned())),
        EntryBody::Notice(text) => add(Body::Event(one_line(text))),
        EntryBody::Dialect(change) => add(Body::Event(one_line(&change.to_string()))),
        EntryBody::Compact { preface, .. } => {
            add(Body::Event("Compacted: what stands above is summed up".to_owned()));
            add(Body::Thinking(preface.text()));
        }
    }
}

fn add_message(pieces: &mut Vec<Piece>, entry: EntryId, message: &Message, directory: &Path) {
    for block in message.blocks() {
        let body = match block {
            Block::Text(text) => match message.role() {
                Role::User if UserCommand::parse(text).is_some() => command(entry, text),
                Role::User | Role::System => user_text(text),
                Role::Assistant => Body::Model(text.clone()),
            },
            Block::Thinking { text, .. } if text.trim().is_empty() => continue,
            Block::Thinking { text, .. } => Body::Thinking(text.clone()),
            Block::RedactedThinking(_) => Body::Event("(reasoning, sealed by the provider)".into()),
            Block::ToolUse { id, name, input } => Body::Call(call(id, name, input, directory)),
            Block::ToolResult { call, content, is_error } => {
                answer(pieces, entry, (call, content, *is_error));
                continue;
            }
            Block::Image(image) => Body::Event(media::told("an image", image)),
            Block::Document(document) => Body::Event(media::told("a document", document)),
            Block::Unknown(json) => {
                Body::Event(format!("(a block of unknown kind) {}", one_line(json.as_str())))
            }
        };
        pieces.push(Piece { entry, body });
    }
}

/// A user's text, or what a program said in the user's place.
fn user_text(text: &str) -> Body {
    for (tag, words) in FRAMES {
        let is_frame = text.starts_with(&format!("<{tag}>"))
            && text.trim_end().ends_with(&format!("</{tag}>"));
        if is_frame {
            return Body::Event(format!("(the agent is told {words})"));
        }
    }
    if let Some(file) = AttachedFile::parse(text) {
        let lines = plural(file.text.lines().count() as u64, "line");
        return Body::Event(format!("(with {}, {lines})", one_line(&file.path)));
    }
    if let Some(task) = directive_task(text) {
        return Body::User(task.into_owned());
    }
    if let Some(note) = MergeNote::parse(text) {
        return Body::User(format!("From fork {}:\n\n{}", note.source.short(), note.text));
    }
    match TaskNotification::parse(text) {
        Some(notice) => Body::Event(format!("Task {}", ended(&notice))),
        None => Body::User(text.to_owned()),
    }
}

/// How a task has ended. The envelope has no word for an interruption, which models are told as a failure whose cause begins with it.
fn ended(notice: &TaskNotification) -> String {
    let cause = one_line(&notice.summary);
    if cause.starts_with(TaskStatus::Interrupted.as_str()) {
        cause
    } else {
        format!("{}: {cause}", notice.status.as_str())
    }
}

fn call(id: &ToolCallId, name: &str, input: &ToolInput, directory: &Path) -> CallPiece {
    let (line, input) = match input {
        ToolInput::Valid(input) => {
            let line = describe(&Call::new(name, input, directory));
            let line = line.split_once(": ").map_or(String::new(), |(_, rest)| rest.to_owned());
            (line, input.as_str().to_owned())
        }
        ToolInput::Invalid(text) => ("(its arguments are no JSON object)".to_owned(), text.clone()),
    };
    CallPiece { id: id.clone(), tool: one_line(name), line, input, answer: None }
}

/// The tool of a command of the person's own.
pub(crate) const OWN_COMMAND: &str = "!";

/// A command of the person's own, as a call of theirs.
fn command(entry: EntryId, text: &str) -> Body {
    let ran = UserCommand::parse(text);
    let UserCommand { command, output } =
        ran.unwrap_or_else(|| UserCommand { command: String::new(), output: text.to_owned() });
    let last = output.lines().last().unwrap_or_default();
    let is_error = last.starts_with('[') && last != "[exit code 0]";
    Body::Call(CallPiece {
        id: ToolCallId(String::new()),
        tool: OWN_COMMAND.to_owned(),
        line: one_line(&command),
        input: command,
        answer: Some(AnswerText { entry, is_error, text: output }),
    })
}

/// Gives the answer to its call.
fn answer(
    pieces: &mut [Piece],
    entry: EntryId,
    (call, content, is_error): (&ToolCallId, &[Block], bool),
) {
    let part = |block: &Block| match block {
        Block::Image(image) => media::told("an image", image),
        Block::Document(document) => media::told("a document", document),
        other => other.as_text().unwrap_or_default().to_owned(),
    };
    let text = content.iter().map(part).collect::<Vec<_>>().join("\n");
    let asked = pieces.iter_mut().rev().find_map(|piece| match &mut piece.body {
        Body::Call(asked) if asked.id == *call => Some(asked),
        _ => None,
    });
    if let Some(asked) = asked {
        asked.answer = Some(AnswerText { entry, text, is_error });
    }
}

#[cfg(test)]
mod tests {
    use tine_fork::notification::NotificationStatus;
    use tine_model::{AgentId, RawJson};

    use super::*;

    fn entry(id: i64, body: EntryBody) -> Entry {
        Entry { id: EntryId(id), agent: AgentId::from_random([1; 16]), at_ms: 0, body }
    }

    #[test]
    fn a_command_of_ones_own_that_failed_is_an_error() {
        for (output, is_error) in
            [("a\n[exit code 0]", false), ("[exit code 1]", true), ("[ended by signal 9]", true)]
        {
            let command = UserCommand { command: "x".into(), output: output.into() };
            let Body::Call(call) = super::command(EntryId(1), &command.to_string()) else {
                panic!()
            };
            assert_eq!(call.answer.map(|answer| answer.is_error), Some(is_error), "{output}");
        }
    }

    #[test]
    fn an_interruption_is_called_so_and_other_ends_by_their_status() {
        let told = |status, summary: &str| {
            ended(&TaskNotification {
                task_id: "t".to_owned(),
                status,
                summary: summary.to_owned(),
                result: None,
                worktree: None,
                usage: None,
            })
        };
        let failed = NotificationStatus::Failed;
        let cut_off = told(failed, "interrupted; the task can be resumed");
        assert_eq!(cut_off, "interrupted; the task can be resumed");
        assert_eq!(told(failed, "the turn limit"), "failed: the turn limit");
        assert_eq!(told(NotificationStatus::Completed, "3 files"), "completed: 3 files");
    }

    #[test]
    fn an_answer_comes_to_its_call_and_frames_are_folded() {
        let id = ToolCallId("t1".to_owned());
        let asks = Message::new(
            Role::Assistant,
            vec![Block::ToolUse {
                id: id.clone(),
                name: "Bash".into(),
                input: ToolInput::Valid(RawJson::parse(r#"{"command":"ls"}"#).unwrap()),
            }],
        );
        let answers = Message::new(Role::User, vec![Block::result(id, "a.txt\n", false)]);
        let told = Message::user("<environment>\nWorking directory: /srv\n</environment>");
        let mut pieces = Vec::new();
        for (number, message) in
            [told, Message::user("look"), asks, answers].into_iter().enumerate()
        {
            let entry = entry(number as i64, EntryBody::Message(message.into()));
            add_entry(&mut pieces, &entry, Path::new("/srv"));
        }
        let shown: Vec<String> = pieces.iter().map(|piece| format!("{:?}", piece.body)).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        Event("(the agent is told its working directory)")
        User("look")
        Call(CallPiece { id: ToolCallId("t1"), tool: "Bash", line: "ls", input: "{\"command\":\"ls\"}", answer: Some(AnswerText { entry: EntryId(3), text: "a.txt\n", is_error: false }) })
        "#);
    }

    #[test]
    fn both_sides_of_a_fork_are_told() {
        let other = AgentId::from_random([2; 16]);
        let mut pieces = Vec::new();
        for role in [ForkRole::Parent, ForkRole::Child] {
            let body = EntryBody::Fork { role, other, fork_point: None };
            add_entry(&mut pieces, &entry(1, body), Path::new("/"));
        }
        let shown: Vec<String> = pieces.iter().map(|piece| format!("{:?}", piece.body)).collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        Event("Forked child 02020202")
        Event("Forked from 02020202-0202-4202-8202-020202020202")
        "#);
    }
}
