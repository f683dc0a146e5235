//! Laws of the readers of other tools' files: nothing makes them panic, what they accept can be sent, and what was written comes
//! back.

use proptest::prelude::*;
use tine_history::close_calls;
use tine_model::{AgentId, Block, Message, RawJson, Role, ToolCallId, ToolInput, WireFormat};
use tine_wire::{
    ConversationFormat, ExportHead, ExportMessage, conversation_format, framer, read_conversation,
    read_opencode_outline, to_claude_code, to_codex,
};

/// What a request of these messages holds, one message a line.
fn sent(messages: &[Message], format: WireFormat) -> Vec<String> {
    let before = std::iter::once(None).chain(messages.iter().map(Some));
    let frames = before.zip(messages).map(|(before, message)| {
        let frame = framer(format).frame(&close_calls(before, message));
        String::from_utf8(frame.bytes.to_vec()).unwrap()
    });
    frames.filter(|frame| !frame.is_empty()).collect()
}

/// Everything that an accepted text must be good for.
fn is_fit(text: &str) -> Result<(), TestCaseError> {
    let _ = conversation_format(text);
    let _ = read_opencode_outline(text);
    for format in ConversationFormat::ALL {
        for target in [WireFormat::Anthropic, WireFormat::OpenAiResponses] {
            let Ok(read) = read_conversation(format, text, target) else { continue };
            prop_assert!(!read.messages.is_empty());
            for to in WireFormat::ALL {
                for frame in sent(&read.messages, to) {
                    prop_assert!(RawJson::parse(&format!("[{frame}]")).is_ok(), "{frame}");
                }
            }
        }
    }
    Ok(())
}

/// Members that records of any tool have, with values that they may or may not have.
fn odd_record() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "type",
        "uuid",
        "parentUuid",
        "message",
        "payload",
        "isSidechain",
        "isCompactSummary",
        "subtype",
        "compactMetadata",
        "info",
        "messages",
        "parts",
        "role",
        "content",
        "call_id",
        "id",
        "name",
        "arguments",
        "output",
        "state",
        "revert",
        "replacement_history",
        "num_turns",
        "tool",
        "callID",
        "text",
    ]);
    let value = prop::sample::select(vec![
        "null",
        "7",
        "true",
        "[]",
        "{}",
        r#""u""#,
        r#""v""#,
        r#""user""#,
        r#""assistant""#,
        r#""system""#,
        r#""compact_boundary""#,
        r#""response_item""#,
        r#""compacted""#,
        r#""event_msg""#,
        r#""tool""#,
        r#""function_call""#,
        r#"{"role":"user","content":"hi"}"#,
        r#"{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}"#,
        r#"{"preservedMessages":{"anchorUuid":"u","uuids":["v","u"]}}"#,
        r#"{"preservedSegment":{"headUuid":"v","anchorUuid":"u","tailUuid":"u"}}"#,
        r#"{"type":"message","role":"user","content":"hi"}"#,
        r#"{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}"#,
        r#"{"type":"function_call_output","call_id":"c","output":"ok"}"#,
        r#"{"type":"custom_tool_call","call_id":"c","name":"n","input":"x"}"#,
        r#"{"type":"thread_rolled_back","num_turns":1}"#,
        r#"{"replacement_history":[{"type":"compaction","encrypted_content":"x"}]}"#,
        r#"{"message":"sum"}"#,
        r#"{"id":"u","role":"assistant","summary":true}"#,
        r#"[{"type":"text","text":"hi"},{"type":"tool","callID":"c","tool":"n","state":{"status":"completed","input":{},"output":"x"}}]"#,
        r#"[{"info":{"role":"user"},"parts":[{"type":"text","text":"hi"}]}]"#,
    ]);
    prop::collection::btree_map(key, value, 0..7).prop_map(|members| {
        let members: Vec<String> = members.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

/// A record of Claude Code with few ids, so that trees, rings, copies and lost parents come up.
fn record() -> impl Strategy<Value = String> {
    let id = || prop::sample::select(vec!["a", "b", "c", "d", "e", "f"]);
    let message = prop::sample::select(vec![
        ("user", r#"{"role":"user","content":"hi"}"#),
        (
            "user",
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}"#,
        ),
        (
            "user",
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"s","content":"ok"},{"type":"text","text":"x"}]}"#,
        ),
        (
            "assistant",
            r#"{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#,
        ),
        (
            "assistant",
            r#"{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"s","name":"n","input":{}}]}"#,
        ),
        ("assistant", r#"{"role":"assistant","id":"k","content":[{"type":"text","text":"so"}]}"#),
    ]);
    (id(), prop::option::of(id()), message).prop_map(|(id, parent, (kind, message))| {
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        format!(r#"{{"type":"{kind}","uuid":"{id}","parentUuid":{parent},"message":{message}}}"#)
    })
}

/// A conversation as agents hold them: prompts, answers with calls, results for some of them.
fn conversation() -> impl Strategy<Value = Vec<Message>> {
    let turn = ("[a-z]{1,9}", "[a-z]{0,5}", 0..4_usize, 0..5_usize);
    prop::collection::vec(turn, 1..6).prop_map(|turns| {
        let mut messages = Vec::new();
        for (number, (prompt, said, calls, answered)) in turns.into_iter().enumerate() {
            messages.push(Message::user(prompt));
            let id = |call: usize| ToolCallId(format!("t{number}-{call}"));
            let mut blocks = vec![Block::Text(format!("so {said}"))];
            blocks.extend((0..calls).map(|call| Block::ToolUse {
                id: id(call),
                name: "Bash".to_owned(),
                input: ToolInput::Valid(RawJson::parse(r#"{"b":1.0,"a":[ 2 ]}"#).unwrap()),
            }));
            messages.push(Message::new(Role::Assistant, blocks));
            let results: Vec<Block> = (0..calls.min(answered))
                .map(|call| Block::result(id(call), format!("result {call}"), call == 2))
                .collect();
            if !results.is_empty() {
                messages.push(Message::new(Role::User, results));
            }
        }
        messages
    })
}

fn head() -> ExportHead {
    ExportHead {
        agent: AgentId::from_random([7; 16]),
        model: "claude-x".to_owned(),
        directory: "/w".to_owned(),
        version: "0".to_owned(),
    }
}

fn said(messages: &[Message]) -> Vec<ExportMessage<'_>> {
    let at = "2026-01-01T00:00:00.000Z".to_owned();
    messages.iter().map(|message| ExportMessage { message, at: at.clone() }).collect()
}

/// Each answer as Claude Code writes it: a record a block, and each result on the branch of its call.
fn shattered(text: &str) -> String {
    let mut lines = Vec::new();
    let mut calls: std::collections::HashMap<String, String> = std::collections::HashMap::new();
    let mut parent = serde_json::Value::Null;
    for line in text.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        for (number, block) in record["message"]["content"].as_array().unwrap().iter().enumerate() {
            let id = format!("{}-{number}", record["uuid"].as_str().unwrap());
            let mut one = record.clone();
            one["uuid"] = id.clone().into();
            one["message"]["content"] = serde_json::json!([block]);
            one["parentUuid"] = match block["tool_use_id"].as_str() {
                Some(call) => calls[call].clone().into(),
                None => parent,
            };
            if let Some(call) = block["id"].as_str() {
                calls.insert(call.to_owned(), id.clone());
            }
            lines.push(one.to_string());
            parent = id.into();
        }
    }
    lines.join("\n")
}

#[test]
fn arguments_over_several_lines_are_exported_on_one() {
    let written = r#"[{"role":"user","content":"read it"},
        {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"read","input":{
            "path": "a\nb"
        }}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"it"}]}]"#;
    let format = WireFormat::Anthropic;
    let messages =
        read_conversation(ConversationFormat::Messages, written, format).unwrap().messages;
    let text = to_claude_code(&head(), &said(&messages));
    assert_eq!(text.lines().count(), 3, "{text}");
    let read = read_conversation(ConversationFormat::ClaudeCode, &text, format).unwrap();
    assert!(read.left_out.is_empty() && read.rewritten.is_empty(), "{read:?}");
    assert_eq!(read.messages.len(), 3);
    for line in to_codex(&head(), &said(&messages)).lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

#[test]
fn a_system_prompt_alone_is_no_conversation() {
    let read = read_conversation(
        ConversationFormat::Messages,
        r#"{"role":"system","content":"Be brief."}"#,
        WireFormat::Anthropic,
    );
    assert_eq!(read.unwrap_err().to_string(), "there are no messages");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn whatever_records_hold_they_are_read_or_refused(
        records in prop::collection::vec(odd_record(), 0..6),
        cut in 0..300_usize,
    ) {
        let text = records.join("\n");
        is_fit(&text)?;
        is_fit(&text[..cut.min(text.len())])?;
        let list = format!("[{}]", records.join(","));
        if let Ok(outline) = read_opencode_outline(&list) {
            let before = outline.before_summary.unwrap_or_default();
            prop_assert!(before + outline.messages.len() <= records.len());
        }
    }

    #[test]
    fn whatever_tree_the_records_make_it_is_read(records in prop::collection::vec(record(), 1..14)) {
        let text = records.join("\n");
        is_fit(&text)?;
        let read = read_conversation(ConversationFormat::ClaudeCode, &text, WireFormat::Anthropic);
        prop_assert!(read.is_ok(), "{:?}", read);
    }

    #[test]
    fn an_exported_transcript_comes_back_as_it_would_be_sent(messages in conversation()) {
        let text = to_claude_code(&head(), &said(&messages));
        prop_assert_eq!(conversation_format(&text), ConversationFormat::ClaudeCode);
        let format = WireFormat::Anthropic;
        let read = read_conversation(ConversationFormat::ClaudeCode, &text, format).unwrap();
        prop_assert!(read.left_out.is_empty() && read.rewritten.is_empty());
        let (was, is) = (sent(&messages, format), sent(&read.messages, format));
        prop_assert_eq!(was.join(","), is.join(","));
        prop_assert_eq!(to_claude_code(&head(), &said(&read.messages)), text.clone());
        // One record a block and a branch a call say the same.
        let shattered = shattered(&text);
        let read = read_conversation(ConversationFormat::ClaudeCode, &shattered, format).unwrap();
        prop_assert!(read.left_out.is_empty(), "{:?}", read.left_out);
        let again: Vec<serde_json::Value> =
            sent(&read.messages, format).iter().map(|m| serde_json::from_str(&format!("[{m}]")).unwrap()).collect();
        let was: Vec<serde_json::Value> =
            sent(&messages, format).iter().map(|m| serde_json::from_str(&format!("[{m}]")).unwrap()).collect();
        let flat = |list: Vec<serde_json::Value>| -> Vec<serde_json::Value> {
            list.into_iter().flat_map(|list| list.as_array().unwrap().clone()).flat_map(blocks).collect()
        };
        prop_assert_eq!(flat(again), flat(was));
    }

    #[test]
    fn an_exported_rollout_comes_back_as_it_would_be_sent(messages in conversation()) {
        let text = to_codex(&head(), &said(&messages));
        prop_assert_eq!(conversation_format(&text), ConversationFormat::Codex);
        let format = WireFormat::OpenAiResponses;
        let read = read_conversation(ConversationFormat::Codex, &text, format).unwrap();
        prop_assert!(read.rewritten.is_empty());
        let (was, is) = (sent(&messages, format).join(","), sent(&read.messages, format).join(","));
        // Codex names the kind of a message, which Responses does not ask for.
        prop_assert_eq!(is.replace(r#""type":"message","#, ""), was.replace(r#""type":"message","#, ""));
    }
}

/// A message as its blocks, each with the role that it is said in.
fn blocks(message: serde_json::Value) -> Vec<serde_json::Value> {
    let role = message["role"].clone();
    let list = message["content"].as_array().unwrap().clone();
    list.into_iter().map(|block| serde_json::json!([role, block])).collect()
}

#[test]
fn a_long_transcript_is_read_in_linear_time() {
    // Every id the same, every call open: what would be quadratic if answers looked through the whole file.
    let call = r#"{"type":"assistant","message":{"role":"assistant","id":"m","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}}"#;
    let user = r#"{"type":"user","message":{"role":"user","content":"x"}}"#;
    let text = format!("{call}\n{user}\n").repeat(30_000);
    let format = ConversationFormat::ClaudeCode;
    let read = read_conversation(format, &text, WireFormat::Anthropic).unwrap();
    assert_eq!(read.messages.len(), 60_000);
}
