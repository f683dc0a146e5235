//! The JSON shape of log entries, for `show` and `logs`. Others rely on it: fields are only ever added.

use serde::Serialize;
use serde_json::value::RawValue;
use tine_fork::merge_note::MergeNote;
use tine_model::{
    Block, DialectChange, Entry, EntryBody, ForkRole, Message, RawJson, Role, ToolInput,
};

use tine_tui::age::rfc3339;

/// One entry. What it says stands in the field that is named like its kind; `clear` says nothing more.
#[derive(Debug, Serialize)]
pub(crate) struct EntryJson<'a> {
    id: i64,
    agent: String,
    /// Whether it is in the agent's own log, not in an ancestor's.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<bool>,
    /// Whether it is a message, or the preface of a compaction, that still counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    effective: Option<bool>,
    at: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MessageJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fork: Option<ForkJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mark: Option<MarkJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rewind: Option<RewindJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<NoticeJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compact: Option<CompactJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dialect: Option<DialectJson<'a>>,
}

#[derive(Debug, Serialize)]
struct MessageJson<'a> {
    role: &'static str,
    blocks: Vec<BlockJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ForkJson {
    role: &'static str,
    other: String,
    fork_point: Option<i64>,
}

#[derive(Debug, Serialize)]
struct MarkJson<'a> {
    label: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct RewindJson {
    to: Option<i64>,
}

#[derive(Debug, Serialize)]
struct NoticeJson<'a> {
    text: &'a str,
}

#[derive(Debug, Serialize)]
struct CompactJson<'a> {
    /// The first earlier message that still counts; `null` for none.
    keep: Option<i64>,
    preface: MessageJson<'a>,
}

/// Requests leave out members that the server refuses.
#[derive(Debug, Serialize)]
struct DialectJson<'a> {
    host: &'a str,
    /// Such as `messages.reasoning`.
    left_out: &'a [String],
    /// The server's words; `null` where it was known before.
    refusal: Option<&'a str>,
    /// The first message that is rendered without; `null` where none has the members.
    from: Option<i64>,
    lost_tokens: u64,
    lost_usd: Option<f64>,
}

/// A fork whose conclusions were brought back, and what of it they stand for.
#[derive(Debug, Serialize)]
struct MergeBackLink {
    source: String,
    name: Option<String>,
    /// The last entry that both have; `null` where the fork inherited nothing.
    fork_point: Option<i64>,
    first: i64,
    last: i64,
    /// `draft`, `edited` or `given`.
    wording: &'static str,
}

impl<'a> DialectJson<'a> {
    fn of(change: &'a DialectChange) -> Self {
        Self {
            host: &change.host,
            left_out: &change.left_out,
            refusal: change.refusal.as_deref(),
            from: change.from.map(|entry| entry.0),
            lost_tokens: change.lost_tokens,
            lost_usd: change.lost_micro_usd.map(|price| price as f64 / 1e6),
        }
    }
}

impl MergeBackLink {
    fn of(note: MergeNote) -> Self {
        Self {
            source: note.source.to_string(),
            name: note.name,
            fork_point: note.fork_point.map(|entry| entry.0),
            first: note.first.0,
            last: note.last.0,
            wording: note.wording.as_str(),
        }
    }
}

/// One block. `raw` is in the provider's own shape.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockJson<'a> {
    Text {
        text: &'a str,
        /// The fork whose conclusions the text has.
        #[serde(skip_serializing_if = "Option::is_none")]
        merge_back: Option<MergeBackLink>,
    },
    Thinking {
        text: &'a str,
        signature: Option<&'a str>,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        /// `null` when the model did not write a JSON object; `invalid_input` is then what it wrote.
        input: Option<Box<RawValue>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        invalid_input: Option<&'a str>,
    },
    ToolResult {
        call: &'a str,
        is_error: bool,
        content: Vec<BlockJson<'a>>,
    },
    Image {
        raw: Option<Box<RawValue>>,
    },
    Document {
        raw: Option<Box<RawValue>>,
    },
    Unknown {
        raw: Option<Box<RawValue>>,
    },
}

impl<'a> EntryJson<'a> {
    /// An entry as it stands in its log.
    pub(crate) fn of(entry: &'a Entry) -> Self {
        let mut json = Self {
            id: entry.id.0,
            agent: entry.agent.to_string(),
            own: None,
            effective: None,
            at: rfc3339(entry.at_ms),
            kind: entry.body.kind(),
            message: None,
            fork: None,
            mark: None,
            rewind: None,
            notice: None,
            compact: None,
            dialect: None,
        };
        match &entry.body {
            EntryBody::Message(message) => json.message = Some(message_json(message)),
            EntryBody::Fork { role, other, fork_point } => {
                let (role, fork_point) = (fork_role(*role), fork_point.map(|entry| entry.0));
                json.fork = Some(ForkJson { role, other: other.to_string(), fork_point });
            }
            EntryBody::Clear => {}
            EntryBody::Mark { label } => json.mark = Some(MarkJson { label: label.as_deref() }),
            EntryBody::Rewind { to } => {
                json.rewind = Some(RewindJson { to: to.map(|entry| entry.0) });
            }
            EntryBody::Notice(text) => json.notice = Some(NoticeJson { text }),
            EntryBody::Compact { keep, preface } => {
                let (keep, preface) = (keep.map(|entry| entry.0), message_json(preface));
                json.compact = Some(CompactJson { keep, preface });
            }
            EntryBody::Dialect(change) => json.dialect = Some(DialectJson::of(change)),
        }
        json
    }

    /// An entry as part of an agent's history.
    pub(crate) fn in_history(entry: &'a Entry, own: bool, effective: bool) -> Self {
        Self { own: Some(own), effective: Some(effective), ..Self::of(entry) }
    }
}

/// The word for a role.
pub(crate) fn role_word(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
    }
}

fn fork_role(role: ForkRole) -> &'static str {
    match role {
        ForkRole::Parent => "parent",
        ForkRole::Child => "child",
    }
}

fn message_json(message: &Message) -> MessageJson<'_> {
    let is_users = message.role() == Role::User;
    let block = if is_users { users_block } else { block_json };
    let blocks = message.blocks().iter().map(block).collect();
    MessageJson { role: role_word(message.role()), blocks }
}

/// A block of the user's, which may bring a fork's conclusions.
fn users_block(block: &Block) -> BlockJson<'_> {
    match block {
        Block::Text(text) => {
            BlockJson::Text { text, merge_back: MergeNote::parse(text).map(MergeBackLink::of) }
        }
        block => block_json(block),
    }
}

fn block_json(block: &Block) -> BlockJson<'_> {
    match block {
        Block::Text(text) => BlockJson::Text { text, merge_back: None },
        Block::Thinking { text, signature } => {
            BlockJson::Thinking { text, signature: signature.as_deref() }
        }
        Block::RedactedThinking(data) => BlockJson::RedactedThinking { data },
        Block::ToolUse { id, name, input } => {
            let (input, invalid_input) = match input {
                ToolInput::Valid(json) => (on_one_line(json), None),
                ToolInput::Invalid(text) => (None, Some(text.as_str())),
            };
            BlockJson::ToolUse { id: &id.0, name, input, invalid_input }
        }
        Block::ToolResult { call, content, is_error } => BlockJson::ToolResult {
            call: &call.0,
            is_error: *is_error,
            content: content.iter().map(block_json).collect(),
        },
        Block::Image(json) => BlockJson::Image { raw: on_one_line(json) },
        Block::Document(json) => BlockJson::Document { raw: on_one_line(json) },
        Block::Unknown(json) => BlockJson::Unknown { raw: on_one_line(json) },
    }
}

/// The value as it was written, but on one line: in JSON a line break can only stand between tokens.
fn on_one_line(json: &RawJson) -> Option<Box<RawValue>> {
    RawValue::from_string(json.as_str().replace(['\n', '\r'], " ")).ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tine_model::{AgentId, EntryId, ToolCallId};

    use super::*;

    #[test]
    fn every_block_has_its_shape_and_stays_on_one_line() {
        let raw = |text: &str| RawJson::parse(text).unwrap();
        let call = || ToolCallId("c1".into());
        let tool_use = |input| Block::ToolUse { id: call(), name: "Bash".into(), input };
        let blocks = vec![
            Block::Text("hi".into()),
            Block::Thinking { text: "hm".into(), signature: None },
            Block::RedactedThinking("xx".into()),
            tool_use(ToolInput::Valid(raw("{\n \"b\": 1.0,\r\n \"a\": 2}"))),
            tool_use(ToolInput::Invalid("{\"b\"".into())),
            Block::result(call(), "3", true),
            Block::Image(raw("{\"x\":[]}")),
        ];
        let entry = Entry {
            id: EntryId(7),
            agent: AgentId::from_random([1; 16]),
            at_ms: 1,
            body: EntryBody::Message(Message::new(Role::Assistant, blocks).into()),
        };
        let text = serde_json::to_string(&EntryJson::in_history(&entry, true, false)).unwrap();
        assert_eq!(text.lines().count(), 1);
        let lines = text.replace("},{", "},\n{").replace("[{", "[\n{");
        insta::assert_snapshot!(lines, @r#"
        {"id":7,"agent":"01010101-0101-4101-8101-010101010101","own":true,"effective":false,"at":"1970-01-01T00:00:00.001Z","kind":"message","message":{"role":"assistant","blocks":[
        {"type":"text","text":"hi"},
        {"type":"thinking","text":"hm","signature":null},
        {"type":"redacted_thinking","data":"xx"},
        {"type":"tool_use","id":"c1","name":"Bash","input":{  "b": 1.0,   "a": 2}},
        {"type":"tool_use","id":"c1","name":"Bash","input":null,"invalid_input":"{\"b\""},
        {"type":"tool_result","call":"c1","is_error":true,"content":[
        {"type":"text","text":"3"}]},
        {"type":"image","raw":{"x":[]}}]}}
        "#);
    }

    #[test]
    fn every_event_has_a_field_of_its_own() {
        let id = AgentId::from_random([1; 16]);
        let bodies = [
            EntryBody::Fork { role: ForkRole::Child, other: id, fork_point: None },
            EntryBody::Clear,
            EntryBody::Mark { label: Some("here".into()) },
            EntryBody::Rewind { to: Some(EntryId(2)) },
            EntryBody::Notice("note".into()),
            EntryBody::Compact { keep: Some(EntryId(3)), preface: Message::user("so far").into() },
            EntryBody::Dialect(Arc::new(DialectChange {
                host: "api.example.com".into(),
                left_out: vec!["messages.reasoning".into()],
                refusal: Some("no".into()),
                from: Some(EntryId(4)),
                rewrites: true,
                lost_tokens: 1200,
                lost_micro_usd: Some(2500),
            })),
        ];
        let lines = bodies.map(|body| {
            let entry = Entry { id: EntryId(7), agent: id, at_ms: 1, body };
            serde_json::to_string(&EntryJson::of(&entry)).unwrap()
        });
        insta::assert_snapshot!(lines.join("\n"), @r#"
        {"id":7,"agent":"01010101-0101-4101-8101-010101010101","at":"1970-01-01T00:00:00.001Z","kind":"fork","fork":{"role":"child","other":"01010101-0101-4101-8101-010101010101","fork_point":null}}
        {"id":7,"agent":"01010101-0101-4101-8101-010101010101","at":"1970-01-01T00:00:00.001Z","kind":"clear"}
        {"id":7,"agent":"01010101-0101-4101-8101-010101010101","at":"1970-01-01T00:00:00.001Z","kind":"mark","mark":{"label":"here"}}
        {"id":7,"agent":"01010101-0101-4101-8101-010101010101","at":"1970-01-01T00:00:00.001Z","kind":"rewind","rewind":{"to":2}}
        {"id":7,"agent":"01010101-0101-4101-8101-010101010101","at":"1970-01-01T00:00:00.001Z","kind":"notice","notice":{"text":"note"}}
        {"id":7,"agent":"01010101-0101-4101-8101-010101010101","at":"1970-01-01T00:00:00.001Z","kind":"compact","compact":{"keep":3,"preface":{"role":"user","blocks":[{"type":"text","text":"so far"}]}}}
        {"id":7,"agent":"01010101-0101-4101-8101-010101010101","at":"1970-01-01T00:00:00.001Z","kind":"dialect","dialect":{"host":"api.example.com","left_out":["messages.reasoning"],"refusal":"no","from":4,"lost_tokens":1200,"lost_usd":0.0025}}
        "#);
    }
}
