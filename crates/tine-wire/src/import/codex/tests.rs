//! Rollouts written by hand, in the shapes that Codex leaves behind.

use crate::import::shown::shown;
use crate::{ConversationFormat, ImportError, ImportedConversation, read_conversation};
use tine_model::WireFormat;

fn read_for(target: WireFormat, text: &str) -> Result<ImportedConversation, ImportError> {
    read_conversation(ConversationFormat::Codex, text, target)
}

fn told(lines: &[String]) -> String {
    shown(&read_for(WireFormat::OpenAiResponses, &lines.join("\n")).unwrap())
}

fn line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-01T00:00:00.000Z","type":"{kind}","payload":{payload}}}"#)
}

fn item(json: &str) -> String {
    line("response_item", json)
}

fn user(words: &str) -> String {
    item(&format!(
        r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{words}"}}]}}"#
    ))
}

fn said(words: &str) -> String {
    item(&format!(
        r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{words}"}}]}}"#
    ))
}

fn call(id: &str) -> String {
    item(&format!(
        r#"{{"type":"function_call","name":"shell","arguments":"{{\"command\":[\"ls\"]}}","call_id":"{id}"}}"#
    ))
}

fn output(id: &str) -> String {
    item(&format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"of {id}"}}"#))
}

#[test]
fn items_are_kept_word_for_word_among_the_events() {
    let lines = [
        line("session_meta", r#"{"id":"i","cwd":"/w","base_instructions":{"text":"Be terse."}}"#),
        item(
            r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions instructions>"}]}"#,
        ),
        user("<environment_context>"),
        line("turn_context", r#"{"cwd":"/w","model":"gpt-x","effort":"high"}"#),
        user("count"),
        line("event_msg", r#"{"type":"user_message","message":"count"}"#),
        item(
            r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"sealed"}"#,
        ),
        call("c1"),
        call("c2"),
        output("c1"),
        output("c2"),
        item(r#"{"type":"ghost_snapshot","ghost_commit":{"id":"x"}}"#),
        said("three"),
        line("event_msg", r#"{"type":"token_count","info":null}"#),
    ];
    insta::assert_snapshot!(told(&lines), @r#"
    system: Be terse.
    {"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions instructions>"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"count"}]}
    [{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"sealed"},{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"},{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c2"}]
    [{"type":"function_call_output","call_id":"c1","output":"of c1"},{"type":"function_call_output","call_id":"c2","output":"of c2"}]
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"three"}]}
    model: gpt-x
    left out: 2 event_msg, 1 ghost_snapshot, 1 session_meta, 1 turn_context
    rewritten: -
    "#);
}

#[test]
fn calls_that_only_openai_knows_become_function_calls() {
    let lines = [
        user("patch"),
        item(
            r#"{"type":"custom_tool_call","status":"completed","call_id":"c1","name":"apply_patch","input":"*** Begin\n\"x\""}"#,
        ),
        item(r#"{"type":"custom_tool_call_output","call_id":"c1","output":"done"}"#),
        item(
            r#"{"type":"local_shell_call","id":"l","call_id":"c2","status":"completed","action":{"type":"exec","command":["ls"]}}"#,
        ),
        output("c2"),
        item(r#"{"type":"later_call","call_id":"c3"}"#),
    ];
    insta::assert_snapshot!(told(&lines), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"patch"}]}
    {"type":"function_call","call_id":"c1","name":"apply_patch","arguments":"{\"input\":\"*** Begin\\n\\\"x\\\"\"}"}
    {"type":"function_call_output","call_id":"c1","output":"done"}
    {"type":"function_call","call_id":"c2","name":"local_shell","arguments":"{\"type\":\"exec\",\"command\":[\"ls\"]}"}
    {"type":"function_call_output","call_id":"c2","output":"of c2"}
    model: -
    left out: 1 later_call
    rewritten: 1 custom_tool_call, 1 custom_tool_call_output, 1 local_shell_call
    "#);
}

#[test]
fn results_stand_behind_their_calls_whatever_was_said_meanwhile() {
    let lines = [
        user("go"),
        call("c1"),
        call("c2"),
        output("c1"),
        user("hurry"),
        output("c2"),
        said("done"),
    ];
    insta::assert_snapshot!(told(&lines), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}
    [{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"},{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c2"}]
    [{"type":"function_call_output","call_id":"c1","output":"of c1"},{"type":"function_call_output","call_id":"c2","output":"of c2"}]
    {"type":"message","role":"user","content":[{"type":"input_text","text":"hurry"}]}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}
    model: -
    left out: -
    rewritten: -
    "#);
}

#[test]
fn a_compaction_replaces_what_was_before() {
    let kept =
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"kept"}]}"#;
    let sealed = r#"{"type":"compaction","encrypted_content":"sealed"}"#;
    let lines = |replacement: &str| {
        let compacted = format!(r#"{{"message":"","replacement_history":[{replacement}]}}"#);
        [user("old"), said("older"), line("compacted", &compacted), user("new")]
    };
    insta::assert_snapshot!(told(&lines(kept)), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"kept"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"new"}]}
    model: -
    left out: 2 before a compaction
    rewritten: -
    "#);
    let both = lines(&format!("{kept},{sealed}"));
    insta::assert_snapshot!(told(&both), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"kept"}]}
    {"type":"compaction","encrypted_content":"sealed"}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"new"}]}
    model: -
    left out: 2 before a compaction
    rewritten: -
    "#);
    let elsewhere = read_for(WireFormat::Anthropic, &both.join("\n")).unwrap();
    insta::assert_snapshot!(shown(&elsewhere), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"kept"}]}
    {"type":"compaction","encrypted_content":"sealed"}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"new"}]}
    model: -
    digest: its earlier part was compacted into a form that only OpenAI can open
    left out: 2 before a compaction
    rewritten: -
    "#);
}

#[test]
fn an_old_compaction_keeps_what_the_user_said() {
    let summary = line("compacted", r#"{"message":"It went well."}"#);
    let lines = [user("old"), said("older"), call("c"), output("c"), summary, user("new")];
    insta::assert_snapshot!(told(&lines), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"old"}]}
    User: "It went well."
    {"type":"message","role":"user","content":[{"type":"input_text","text":"new"}]}
    model: -
    left out: 3 before a compaction
    rewritten: -
    "#);
}

#[test]
fn a_rollback_takes_back_the_users_turns() {
    let back = |turns: usize| {
        line("event_msg", &format!(r#"{{"type":"thread_rolled_back","num_turns":{turns}}}"#))
    };
    let lines = |turns: usize| {
        [
            user("<environment_context>"),
            user("one"),
            said("1"),
            user("two"),
            said("2"),
            user("# AGENTS.md instructions"),
            user("three"),
            said("3"),
            back(turns),
            user("four"),
        ]
    };
    insta::assert_snapshot!(told(&lines(2)), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"1"}]}
    {"type":"message","role":"user","content":[{"type":"input_text","text":"four"}]}
    model: -
    left out: 5 rolled back
    rewritten: -
    "#);
    let all = read_for(WireFormat::OpenAiResponses, &lines(9).join("\n")).unwrap();
    assert_eq!(all.messages.len(), 2);
}

#[test]
fn the_first_versions_wrote_items_alone() {
    let text = r#"{"id":"i","timestamp":"t","instructions":null}
{"record_type":"state"}
{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ho"}]}
{"type":"mess"#;
    insta::assert_snapshot!(shown(&read_for(WireFormat::OpenAiResponses, text).unwrap()), @r#"
    {"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"ho"}]}
    model: -
    left out: 1 damaged line, 1 session_meta, 1 state
    rewritten: -
    damaged: [5]
    "#);
}

#[test]
fn an_item_that_is_none_is_named_with_its_line() {
    let text = [user("hi"), item(r#"{"type":"function_call","name":"x"}"#)].join("\n");
    let error = read_for(WireFormat::OpenAiResponses, &text).unwrap_err();
    insta::assert_snapshot!(error, @"the function_call record on line 2 cannot be read");
    insta::assert_snapshot!(read_for(WireFormat::Anthropic, "{}").unwrap_err(), @"there are no messages");
}
