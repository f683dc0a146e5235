//! Imported answers to the calls of one turn: one message here, whatever the source made of them.

use tine_history::close_calls;
use tine_model::WireFormat;
use tine_wire::{framer, import_messages};

/// Imports one object a line and frames it again, one frame a line.
fn check(format: WireFormat, lines: &str, expected: &str) {
    let imported = import_messages(lines, format).unwrap();
    let mut before = None;
    let mut out = Vec::new();
    for message in &imported.messages {
        let frame = framer(format).frame(&close_calls(before, message));
        out.push(String::from_utf8(frame.bytes.to_vec()).unwrap());
        before = Some(message);
    }
    assert_eq!(out.join("\n"), expected);
}

#[test]
fn parallel_chat_answers_keep_their_calls() {
    let call = |id: &str| {
        format!(r#"{{"id":"{id}","type":"function","function":{{"name":"A","arguments":"{{}}"}}}}"#)
    };
    let assistant = format!(
        r#"{{"role":"assistant","content":null,"tool_calls":[{},{}]}}"#,
        call("a"),
        call("b")
    );
    let answer = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"ok"}}"#);
    let (a, b) = (answer("a"), answer("b"));
    let user = r#"{"role":"user","content":"go"}"#;
    check(
        WireFormat::OpenAiChat,
        &format!("{user}\n{assistant}\n{a}\n{b}"),
        &format!("{user}\n{assistant}\n{a},{b}"),
    );
}

#[test]
fn anthropic_answers_in_several_messages_become_one_word_for_word() {
    let user = r#"{"role":"user","content":[{"type":"text","text":"go"}]}"#;
    let call = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"A","input":{{}}}}"#);
    let assistant = format!(r#"{{"role":"assistant","content":[{},{}]}}"#, call("a"), call("b"));
    let answer = |id: &str| {
        format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"ok","zz":1.0}}"#)
    };
    let message = |content: &str| format!(r#"{{"role":"user","content":[{content}]}}"#);
    let (a, b) = (answer("a"), answer("b"));
    check(
        WireFormat::Anthropic,
        &format!("{user}\n{assistant}\n{}\n{}", message(&a), message(&b)),
        &format!("{user}\n{assistant}\n{}", message(&format!("{a},{b}"))),
    );
}
