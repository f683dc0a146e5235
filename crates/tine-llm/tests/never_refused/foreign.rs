//! Messages that no provider of this test has made, as imports and older logs bring them.

use tine_model::{Block, Message, RawJson, Role, ToolCallId, ToolInput, WireFormat};
use tine_wire::import_messages;

/// Number of kinds for [`messages`].
pub(crate) const KINDS: usize = 11;

const ANTHROPIC: &str = r#"[{"role":"user","content":[{"type":"text","text":"Elsewhere.","cache_control":{"type":"ephemeral"}}]},
{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"Look","input":{"b":1,"a":2}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"seen"},{"type":"text","text":""}]},{"type":"text","text":""}]},
{"role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"Look","input":{}}]}]"#;

const CHAT: &str = r#"[{"role":"user","content":"Elsewhere."},
{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"Look","arguments":"{\"at\":1}"}},{"id":"call_2","type":"function","function":{"name":"Look","arguments":"{"}}]},
{"role":"tool","tool_call_id":"call_1","content":""},
{"role":"tool","tool_call_id":"call_2","content":[{"type":"text","text":"seen"}]},
{"role":"assistant","content":"Seen."},
{"role":"user","content":""}]"#;

const RESPONSES: &str = r#"[{"role":"user","content":[{"type":"input_text","text":"Elsewhere."}]},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
{"type":"function_call","call_id":"fc_1","name":"Look","arguments":"{}"},
{"type":"function_call","call_id":"fc_2","name":"Look","arguments":"not json"},
{"type":"function_call_output","call_id":"fc_1","output":"seen"}]"#;

const GEMINI: &str = r#"[{"role":"user","parts":[{"text":"Elsewhere."}]},
{"role":"model","parts":[{"text":"I look."},{"functionCall":{"name":"Look","args":{"at":"x"}}},{"functionCall":{"name":"Look","args":{}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"Look","response":{"output":"seen"}}}]}]"#;

/// Messages of a kind.
pub(crate) fn messages(kind: usize) -> Vec<Message> {
    let look = |id: &str, input: ToolInput| Block::ToolUse {
        id: ToolCallId(id.into()),
        name: "Look".into(),
        input,
    };
    let valid = |id: &str| look(id, ToolInput::Valid(RawJson::parse(r#"{"at":"z"}"#).unwrap()));
    let said = |blocks: Vec<Block>| vec![Message::new(Role::Assistant, blocks)];
    let result = |id: &str| Block::result(ToolCallId(id.into()), "nobody asked", false);
    match kind {
        0 => said(vec![Block::Text("Elsewhere I said this.".into())]),
        1 => said(vec![valid("x1"), valid("x1"), valid("x2")]),
        2 => vec![Message::new(Role::User, vec![result("nobody"), result("nobody")])],
        3 => said(vec![
            Block::Thinking { text: "unsigned".into(), signature: None },
            Block::Text("So.".into()),
        ]),
        4 => said(vec![look("bad", ToolInput::Invalid("{\"at\":".into()))]),
        5 => said(vec![Block::Text(String::new())]),
        6 => vec![Message::new(Role::System, vec![Block::Text("A note.".into())])],
        7 => imported(ANTHROPIC, WireFormat::Anthropic),
        8 => imported(CHAT, WireFormat::OpenAiChat),
        9 => imported(RESPONSES, WireFormat::OpenAiResponses),
        _ => imported(GEMINI, WireFormat::Gemini),
    }
}

fn imported(text: &str, format: WireFormat) -> Vec<Message> {
    let imported = import_messages(text, format).unwrap();
    assert_eq!(imported.format, format.of_messages());
    imported.messages
}
