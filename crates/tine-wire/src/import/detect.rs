//! Which tool wrote a file, by looking at its beginning.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::ConversationFormat;
use super::lines::{object, text};

/// Lines that are looked at. Every tool shows itself in its first record that is part of a conversation; a session may begin
/// with a run of snapshots.
const LINES_MAX: usize = 200;

/// The fields that tell tools from one another.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<&'a RawValue>,
    role: Option<&'a RawValue>,
    payload: Option<&'a RawValue>,
    parent_uuid: Option<&'a RawValue>,
    uuid: Option<&'a RawValue>,
    session_id: Option<&'a RawValue>,
    leaf_uuid: Option<&'a RawValue>,
    message: Option<&'a RawValue>,
    #[serde(rename = "record_type")]
    record_type: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    timestamp: Option<&'a RawValue>,
}

/// The format of a text. What shows no other tool's marks is taken for plain messages, whose reader says what is wrong.
pub fn conversation_format(text: &str) -> ConversationFormat {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if is_export(text) {
        return ConversationFormat::OpenCode;
    }
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES_MAX);
    let shapes = lines.filter_map(object::<Shape<'_>>);
    shapes.filter_map(|shape| shape.format()).next().unwrap_or(ConversationFormat::Messages)
}

/// One object with a session and its messages.
fn is_export(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Export<'a> {
        #[serde(borrow)]
        info: &'a RawValue,
        messages: &'a RawValue,
    }
    let export: Option<Export<'_>> = object(text);
    export.is_some_and(|export| {
        export.info.get().starts_with('{') && export.messages.get().starts_with('[')
    })
}

impl Shape<'_> {
    /// The tool that writes such records; `None` when several could.
    fn format(&self) -> Option<ConversationFormat> {
        let kind = text(self.kind);
        let rollout = ["session_meta", "response_item", "turn_context", "event_msg", "compacted"];
        if self.payload.is_some() && kind.as_deref().is_some_and(|kind| rollout.contains(&kind)) {
            return Some(ConversationFormat::Codex);
        }
        // The first versions wrote the session without a kind, and its state between bare items.
        let is_session = kind.is_none() && self.id.is_some() && self.timestamp.is_some();
        if self.record_type.is_some() || (is_session && self.role.is_none()) {
            return Some(ConversationFormat::Codex);
        }
        let speaks = matches!(kind.as_deref(), Some("user" | "assistant" | "system"));
        let in_tree = self.uuid.is_some() || self.parent_uuid.is_some() || self.leaf_uuid.is_some();
        let is_record = kind.is_some() && (in_tree || self.session_id.is_some());
        if is_record || (speaks && self.message.is_some() && self.role.is_none()) {
            return Some(ConversationFormat::ClaudeCode);
        }
        self.role.is_some().then_some(ConversationFormat::Messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: ConversationFormat) {
        assert_eq!(conversation_format(text), expected, "{text}");
    }

    #[test]
    fn a_tool_is_known_by_its_records() {
        use ConversationFormat::{ClaudeCode, Codex, Messages, OpenCode};
        check(r#"{"type":"summary","summary":"s","leafUuid":"u"}"#, ClaudeCode);
        check(
            "{\"type\":\"queue\"}\n{\"type\":\"user\",\"parentUuid\":null,\"uuid\":\"u\"}",
            ClaudeCode,
        );
        check(
            "{\"type\":\"queue\"}\n{\"type\":\"user\",\"sessionId\":\"s\",\"uuid\":\"u\"}",
            ClaudeCode,
        );
        check(r#"{"type":"assistant","message":{"role":"assistant"}}"#, ClaudeCode);
        check(r#"{"timestamp":"t","type":"session_meta","payload":{}}"#, Codex);
        check("{\"id\":\"i\",\"timestamp\":\"t\"}\n{\"record_type\":\"state\"}", Codex);
        check("\u{feff}\n { \"info\" : {}, \"messages\" : [ ] }", OpenCode);
        check(r#"{"info":1,"messages":[]}"#, Messages);
        check(r#"{"role":"user","content":"a"}"#, Messages);
        check(r#"[{"info":{},"parts":[]}]"#, Messages);
        check(r#"{"type":"function_call","call_id":"c","id":"i"}"#, Messages);
        check("", Messages);
    }
}
