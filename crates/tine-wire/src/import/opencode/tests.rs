//! Exports written by hand, in the shapes that OpenCode leaves behind.

use crate::import::shown::shown;
use crate::{
    ConversationFormat, ImportError, ImportedConversation, read_conversation, read_opencode_outline,
};
use tine_model::WireFormat;

fn read(text: &str) -> Result<ImportedConversation, ImportError> {
    read_conversation(ConversationFormat::OpenCode, text, WireFormat::Anthropic)
}

fn told(session: &str, messages: &[String]) -> String {
    let text =
        format!(r#"{{"info":{{"id":"ses"{session}}},"messages":[{}]}}"#, messages.join(",\n"));
    shown(&read(&text).unwrap())
}

fn user(id: &str, parts: &str) -> String {
    format!(r#"{{"info":{{"id":"{id}","role":"user"}},"parts":[{parts}]}}"#)
}

fn assistant(id: &str, more: &str, parts: &str) -> String {
    format!(
        r#"{{"info":{{"id":"{id}","role":"assistant","modelID":"claude-x","providerID":"anthropic"{more}}},"parts":[{parts}]}}"#
    )
}

fn text(words: &str) -> String {
    format!(r#"{{"type":"text","text":"{words}"}}"#)
}

const STEP: &str = r#"{"type":"step-start","snapshot":"x"}"#;

#[test]
fn each_step_is_an_answer_with_the_results_of_its_calls_behind_it() {
    let parts = [
        STEP,
        r#"{"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"c2ln"}}}"#,
        r#"{"type":"text","text":"I look."}"#,
        r#"{"type":"tool","callID":"t1","tool":"bash","state":{"status":"completed","input":{ "command":"ls" },"output":"3","title":"","metadata":{}}}"#,
        r#"{"type":"tool","callID":"t2","tool":"read","state":{"status":"error","input":{},"error":"gone"}}"#,
        r#"{"type":"step-finish","reason":"tool-calls","cost":0}"#,
        r#"{"type":"patch","hash":"h","files":[]}"#,
        STEP,
        r#"{"type":"reasoning","text":"lost"}"#,
        r#"{"type":"tool","callID":"t3","tool":"bash","state":{"status":"running","input":{}}}"#,
    ];
    let image = r#"{"type":"file","mime":"image/png","url":"data:image/png;base64,AA=="}"#;
    let file = r#"{"type":"file","mime":"text/plain","url":"file:///w/a.txt"}"#;
    let ignored = r#"{"type":"text","text":"for you","ignored":true}"#;
    let asked = [text("count").as_str(), image, file, ignored].join(",");
    let messages = [user("m1", &asked), assistant("m2", "", &parts.join(","))];
    insta::assert_snapshot!(told("", &messages), @r#"
    User: "count" + Image({"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}})
    Assistant: Thinking { text: "hm", signature: Some("c2ln") } + "I look." + ToolUse { id: ToolCallId("t1"), name: "bash", input: Valid({ "command":"ls" }) } + ToolUse { id: ToolCallId("t2"), name: "read", input: Valid({}) }
    User: ToolResult { call: ToolCallId("t1"), content: [Text("3")], is_error: false } + ToolResult { call: ToolCallId("t2"), content: [Text("gone")], is_error: true }
    Assistant: ToolUse { id: ToolCallId("t3"), name: "bash", input: Valid({}) }
    model: anthropic/claude-x
    left out: 1 file, 1 ignored text, 1 patch, 1 reasoning
    rewritten: 3 tool call
    "#);
}

#[test]
fn a_summary_begins_anew() {
    let messages = [
        user("m1", &text("old")),
        assistant("m2", "", &text("older")),
        user("m3", r#"{"type":"compaction","auto":true}"#),
        assistant("m4", r#","summary":true"#, &text("It went well.")),
        user("m5", &text("new")),
    ];
    insta::assert_snapshot!(told("", &messages), @r#"
    User: "What did we do so far?"
    Assistant: "It went well."
    User: "new"
    model: anthropic/claude-x
    left out: 2 before a compaction
    rewritten: -
    "#);
}

#[test]
fn a_summary_that_is_still_being_written_begins_nothing() {
    let messages = [
        user("m1", &text("old")),
        user("m2", r#"{"type":"compaction","auto":true}"#),
        assistant("m3", r#","summary":true"#, STEP),
    ];
    let outline = read_opencode_outline(&format!("[{}]", messages.join(","))).unwrap();
    assert_eq!((outline.messages.len(), outline.before_summary), (1, None));
}

#[test]
fn a_list_of_messages_is_read_like_an_export() {
    let messages = [user("m1", &text("hi")), assistant("m2", "", &text("ho"))];
    let list = read(&format!(" [{}]", messages.join(","))).unwrap();
    assert_eq!(shown(&list), told("", &messages));
}

#[test]
fn a_cleared_result_is_what_the_model_was_sent_and_half_a_character_loses_nothing() {
    let tool =
        |state: &str| format!(r#"{{"type":"tool","callID":"t","tool":"bash","state":{state}}}"#);
    let parts = [
        tool(
            r#"{"status":"completed","input":{},"output":"long","time":{"start":1,"end":2,"compacted":3}}"#,
        ),
        tool(
            r#"{"status":"completed","input":{},"output":"cut \ud83d","time":{"start":1,"end":2}}"#,
        ),
    ];
    insta::assert_snapshot!(told("", &[assistant("m1", "", &parts.join(","))]), @r#"
    Assistant: ToolUse { id: ToolCallId("t"), name: "bash", input: Valid({}) } + ToolUse { id: ToolCallId("t"), name: "bash", input: Valid({}) }
    User: ToolResult { call: ToolCallId("t"), content: [Text("[Old tool result content cleared]")], is_error: false } + ToolResult { call: ToolCallId("t"), content: [Text("cut �")], is_error: false }
    model: anthropic/claude-x
    left out: -
    rewritten: 2 tool call
    "#);
}

#[test]
fn an_outline_has_one_message_for_each_of_opencodes() {
    let synthetic = |words: &str| format!(r#"{{"type":"text","synthetic":true,"text":{words:?}}}"#);
    let asked = [
        text("look at @a.txt and @b.png"),
        synthetic(r#"Called the Read tool with the following input: {"filePath":"/w/a.txt"}"#),
        synthetic("1: alpha"),
        r#"{"type":"file","mime":"text/plain","filename":"a.txt","url":"data:text/plain;base64,YWxwaGE="}"#.to_owned(),
        r#"{"type":"file","mime":"image/png","filename":"b.png","url":"data:image/png;base64,AA=="}"#.to_owned(),
        r#"{"type":"text","text":"for you","ignored":true}"#.to_owned(),
    ];
    let answer = [
        STEP,
        r#"{"type":"reasoning","text":"unsigned"}"#,
        r#"{"type":"tool","callID":"t1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"3"}}"#,
        r#"{"type":"tool","callID":"t2","tool":"bash","state":{"status":"running","input":{}}}"#,
        r#"{"type":"text","text":"three"}"#,
    ];
    let messages = [
        user("m1", &text("old")),
        user("m2", r#"{"type":"compaction","auto":true}"#),
        assistant("m3", r#","summary":true"#, &text("It went well.")),
        user("m4", &asked.join(",")),
        assistant("m5", "", &answer.join(",")),
        assistant("m6", r#","error":{"name":"APIError"}"#, &text("half")),
    ];
    let outline = read_opencode_outline(&format!("[{}]", messages.join(","))).unwrap();
    let blocks = outline.messages.iter().map(|message| {
        let blocks: Vec<String> =
            message.blocks().iter().map(|block| format!("\n  {block:?}")).collect();
        format!("{:?}:{}", message.role(), blocks.concat())
    });
    insta::assert_snapshot!(blocks.collect::<Vec<_>>().join("\n"), @r#"
    Assistant:
      Text("It went well.")
    User:
      Text("look at @a.txt and @b.png")
      ToolUse { id: ToolCallId("file-1"), name: "Read", input: Valid({"filePath":"/w/a.txt"}) }
      ToolResult { call: ToolCallId("file-1"), content: [Text("1: alpha")], is_error: false }
      Unknown({"type":"file","filename":"b.png"})
    Assistant:
      Thinking { text: "unsigned", signature: None }
      ToolUse { id: ToolCallId("t1"), name: "bash", input: Valid({"command":"ls"}) }
      ToolResult { call: ToolCallId("t1"), content: [Text("3")], is_error: false }
      ToolUse { id: ToolCallId("t2"), name: "bash", input: Valid({}) }
      Text("three")
    "#);
    assert_eq!(outline.before_summary, Some(1));
    let left_out: Vec<_> = outline.left_out.iter().collect();
    assert_eq!(left_out, [("failed answer", 1), ("ignored text", 1)]);
}

#[test]
fn what_was_taken_back_or_failed_is_left_out() {
    let error = |name: &str| format!(r#","error":{{"name":"{name}","data":{{}}}}"#);
    let messages = [
        user("m1", &text("hi")),
        assistant("m2", &error("APIError"), &text("half")),
        assistant("m3", &error("MessageAbortedError"), STEP),
        assistant("m4", &error("MessageAbortedError"), &text("stopped")),
        user("m5", &text("taken back")),
        assistant("m6", "", &text("that too")),
    ];
    insta::assert_snapshot!(told(r#","revert":{"messageID":"m5"}"#, &messages), @r#"
    User: "hi"
    Assistant: "stopped"
    model: anthropic/claude-x
    left out: 2 failed answer, 2 taken back
    rewritten: -
    "#);
}

#[test]
fn calls_that_are_no_calls_of_a_provider_make_a_digest() {
    let tool =
        r#"{"type":"tool","tool":"bash","state":{"status":"completed","input":{},"output":"3"}}"#;
    let messages = [user("m1", &text("hi")), assistant("m2", "", tool)];
    insta::assert_snapshot!(told("", &messages), @r#"
    User: "hi"
    Assistant: ToolUse { id: ToolCallId("call-1"), name: "bash", input: Valid({}) }
    User: ToolResult { call: ToolCallId("call-1"), content: [Text("3")], is_error: false }
    model: anthropic/claude-x
    digest: 1 of its tool calls have no id or no arguments
    left out: -
    rewritten: 1 tool call
    "#);
}

#[test]
fn what_is_no_export_is_told() {
    let check = |text: &str| read(text).unwrap_err().to_string();
    insta::assert_snapshot!(check("{}"), @"the text is no conversation of OpenCode: missing field `info` at line 1 column 2");
    insta::assert_snapshot!(check("{\"info\":{},\n\"messages\":["), @"line 2 is not valid JSON");
    insta::assert_snapshot!(check(r#"{"info":{},"messages":[]}"#), @"there are no messages");
    insta::assert_snapshot!(check(r#"{"info":{},"messages":[{"info":{"role":"robot"},"parts":[]}]}"#), @"the text is no conversation of OpenCode: message 1 has no role or no parts");
}
