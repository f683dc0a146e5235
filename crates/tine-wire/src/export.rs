//! Messages → the files of other tools, as those tools read them.
//!
//! What is written is what would be sent in the tool's format: open calls are closed, and what the format has no shape for
//! (another provider's reasoning and media) is missing. Ids are made of the agent's, so equal conversations make equal files.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_history::close_calls;
use tine_model::{AgentId, Message, WireFormat};

use crate::assemble::framer;
use crate::json::{self, Object};

/// Whose conversation it is, for the fields that tools want on every record.
#[derive(Debug, Clone)]
pub struct ExportHead {
    /// The agent; its id becomes the session's.
    pub agent: AgentId,
    /// The name of its model.
    pub model: String,
    /// Its directory.
    pub directory: String,
    /// The version of the program that writes.
    pub version: String,
}

/// A message and when it was written, as RFC 3339.
#[derive(Debug, Clone)]
pub struct ExportMessage<'a> {
    /// The message.
    pub message: &'a Message,
    /// When; the tools show it, and order by nothing but the place in the file.
    pub at: String,
}

/// A transcript of Claude Code: one record a message, each naming the one before it.
pub fn to_claude_code(head: &ExportHead, messages: &[ExportMessage<'_>]) -> String {
    let mut lines = String::new();
    let mut parent = "null".to_owned();
    for (number, (json, at)) in (1_u64..).zip(objects(messages, WireFormat::Anthropic)) {
        let Some(said) = Said::of(&json) else { continue };
        let id = json::string(&record_id(head.agent, number));
        let message = match said.role.as_str() {
            "assistant" => Object::new()
                .string("id", &format!("msg_{number}"))
                .string("type", "message")
                .string("role", "assistant")
                .string("model", &head.model)
                .raw("content", said.content.get())
                .raw("stop_reason", "null")
                .raw("stop_sequence", "null")
                .raw("usage", r#"{"input_tokens":0,"output_tokens":0}"#)
                .end(),
            _ => json.clone(),
        };
        let record = Object::new()
            .raw("parentUuid", &parent)
            .raw("isSidechain", "false")
            .string("userType", "external")
            .string("cwd", &head.directory)
            .string("sessionId", &head.agent.to_string())
            .string("version", &head.version)
            .string("type", &said.role)
            .raw("message", &message)
            .raw("uuid", &id)
            .string("timestamp", at);
        lines.push_str(&on_one_line(&record.end()));
        parent = id;
    }
    lines
}

/// A rollout of Codex: the session, then one line an item.
pub fn to_codex(head: &ExportHead, messages: &[ExportMessage<'_>]) -> String {
    let line = |at: &str, kind: &str, payload: &str| {
        let object = Object::new().string("timestamp", at).string("type", kind);
        on_one_line(&object.raw("payload", payload).end())
    };
    let begun = messages.first().map_or("", |message| &message.at);
    let session = Object::new()
        .string("id", &head.agent.to_string())
        .string("timestamp", begun)
        .string("cwd", &head.directory)
        .string("originator", "tine")
        .string("cli_version", &head.version);
    let mut lines = line(begun, "session_meta", &session.end());
    let context = Object::new().string("cwd", &head.directory).string("model", &head.model);
    lines.push_str(&line(begun, "turn_context", &context.end()));
    for (item, at) in objects(messages, WireFormat::OpenAiResponses) {
        lines.push_str(&line(at, "response_item", &item));
    }
    lines
}

/// JSON as one line of a file. A line break that stands in it is between its parts: within a text it would be written as an escape.
fn on_one_line(json: &str) -> String {
    format!("{}\n", json.replace(['\n', '\r'], " "))
}

/// The objects of which a request's messages consist, each with the time of the message that it belongs to.
fn objects<'a>(
    messages: &'a [ExportMessage<'_>],
    format: WireFormat,
) -> impl Iterator<Item = (String, &'a str)> {
    let before = std::iter::once(None).chain(messages.iter().map(|said| Some(said.message)));
    before.zip(messages).flat_map(move |(before, said)| {
        let frame = framer(format).frame(&close_calls(before, said.message));
        let list = format!("[{}]", String::from_utf8_lossy(&frame.bytes));
        let objects: Vec<Box<RawValue>> = serde_json::from_str(&list).unwrap_or_default();
        objects.into_iter().map(move |raw| (with_kind(raw.get(), format), said.at.as_str()))
    })
}

/// Responses takes a message without its kind, Codex does not.
fn with_kind(json: &str, format: WireFormat) -> String {
    let is_bare = json.starts_with(r#"{"role""#);
    match (format, is_bare) {
        (WireFormat::OpenAiResponses, true) => json.replacen('{', r#"{"type":"message","#, 1),
        _ => json.to_owned(),
    }
}

/// A message of Anthropic's.
#[derive(Deserialize)]
struct Said<'a> {
    role: String,
    #[serde(borrow)]
    content: &'a RawValue,
}

impl<'a> Said<'a> {
    fn of(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }
}

/// The id of a record: the agent's, with the number of the record in its last group.
fn record_id(agent: AgentId, number: u64) -> String {
    let id = agent.to_string();
    let stem = id.rsplit_once('-').map_or(id.as_str(), |(stem, _)| stem);
    format!("{stem}-{number:012x}")
}
