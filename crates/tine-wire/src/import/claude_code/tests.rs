//! Transcripts written by hand, in the shapes that Claude Code leaves behind.

use crate::import::shown::shown;
use crate::{ConversationFormat, ImportError, ImportedConversation, read_conversation};
use tine_model::WireFormat;

fn read(text: &str) -> Result<ImportedConversation, ImportError> {
    read_conversation(ConversationFormat::ClaudeCode, text, WireFormat::Anthropic)
}

fn told(text: &str) -> String {
    shown(&read(text).unwrap())
}

/// A record of the user's; `parent` is `null` for a root.
fn user(id: &str, parent: &str, content: &str) -> String {
    record("user", id, parent, &format!(r#"{{"role":"user","content":{content}}}"#))
}

/// A record of one block of an answer.
fn answer(id: &str, parent: &str, message: &str, block: &str) -> String {
    let message = format!(
        r#"{{"id":"{message}","type":"message","role":"assistant","model":"claude-x","content":[{block}],"stop_reason":null,"usage":{{"input_tokens":3}}}}"#
    );
    record("assistant", id, parent, &message)
}

fn record(kind: &str, id: &str, parent: &str, message: &str) -> String {
    let parent = if parent == "null" { parent.to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"sessionId":"s","type":"{kind}","message":{message},"uuid":"{id}","timestamp":"2026-01-01T00:00:00.000Z"}}"#
    )
}

fn text(words: &str) -> String {
    format!(r#"{{"type":"text","text":"{words}"}}"#)
}

fn call(id: &str) -> String {
    format!(
        r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{ "command":"ls", "n":1.0 }}}}"#
    )
}

fn result(id: &str) -> String {
    format!(r#"[{{"tool_use_id":"{id}","type":"tool_result","content":"of {id}"}}]"#)
}

fn joined(lines: &[String]) -> String {
    lines.join("\n")
}

#[test]
fn the_blocks_of_one_answer_are_joined_word_for_word() {
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;
    let lines = [
        r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}"#.to_owned(),
        user("u1", "null", r#""count""#),
        answer("a1", "u1", "m1", thinking),
        answer("a2", "a1", "m1", &text("I look.")),
        answer("a3", "a2", "m1", &call("t1")),
        user("u2", "a3", &result("t1")),
        answer("a4", "u2", "m2", &text("three")),
        r#"{"type":"summary","summary":"Counting","leafUuid":"a4"}"#.to_owned(),
    ];
    insta::assert_snapshot!(told(&joined(&lines)), @r#"
    {"role":"user","content":"count"}
    {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Bash","input":{ "command":"ls", "n":1.0 }}]}
    {"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"of t1"}]}
    {"role":"assistant","content":[{"type":"text","text":"three"}]}
    model: claude-x
    left out: 1 file-history-snapshot, 1 summary
    rewritten: -
    "#);
}

#[test]
fn calls_that_ran_together_and_their_results_are_found_on_their_branches() {
    let lines = [
        user("u1", "null", r#""look""#),
        answer("a1", "u1", "m1", &call("t1")),
        user("r1", "a1", &result("t1")),
        answer("a2", "a1", "m1", &call("t2")),
        r#"{"type":"progress","uuid":"p1","parentUuid":"a2","isSidechain":false,"data":{}}"#
            .to_owned(),
        answer("a3", "a2", "m1", &call("t3")),
        user("r3", "a3", &result("t3")),
        user("r2", "p1", &result("t2")),
        answer("a4", "r2", "m2", &text("done")),
    ];
    insta::assert_snapshot!(told(&joined(&lines)), @r#"
    {"role":"user","content":"look"}
    {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{ "command":"ls", "n":1.0 }},{"type":"tool_use","id":"t2","name":"Bash","input":{ "command":"ls", "n":1.0 }},{"type":"tool_use","id":"t3","name":"Bash","input":{ "command":"ls", "n":1.0 }}]}
    {"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"of t1"},{"tool_use_id":"t3","type":"tool_result","content":"of t3"},{"tool_use_id":"t2","type":"tool_result","content":"of t2"}]}
    {"role":"assistant","content":[{"type":"text","text":"done"}]}
    model: claude-x
    left out: 1 progress
    rewritten: -
    "#);
}

#[test]
fn what_was_asked_again_counts_and_the_older_branch_does_not() {
    let lines = [
        user("u1", "null", r#""first""#),
        answer("a1", "u1", "m1", &text("no")),
        user("u2", "a1", r#""left""#),
        answer("a2", "u2", "m2", &text("left too")),
        user("u3", "a1", r#""right""#),
        answer("a3", "u3", "m3", &text("yes")),
        user("s1", "null", r#""beside""#)
            .replace(r#""isSidechain":false"#, r#""isSidechain":true"#),
    ];
    insta::assert_snapshot!(told(&joined(&lines)), @r#"
    {"role":"user","content":"first"}
    {"role":"assistant","content":[{"type":"text","text":"no"}]}
    {"role":"user","content":"right"}
    {"role":"assistant","content":[{"type":"text","text":"yes"}]}
    model: claude-x
    left out: 2 other branch, 1 sidechain
    rewritten: -
    "#);
}

#[test]
fn a_compaction_begins_anew_with_its_summary_and_what_it_kept() {
    let boundary = |kept: &str| {
        format!(
            r#"{{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null,"logicalParentUuid":"a2","isSidechain":false,"compactMetadata":{{"trigger":"auto","preTokens":9{kept}}}}}"#
        )
    };
    let lines = |kept: &str| {
        joined(&[
            user("u1", "null", r#""old""#),
            answer("a1", "u1", "m1", &text("old too")),
            user("u2", "a1", r#""late""#),
            answer("a2", "u2", "m2", &text("late too")),
            boundary(kept),
            user("sum", "b", r#""This is what was said.""#),
            user("u3", "sum", r#""go on""#),
            answer("a3", "u3", "m3", &text("I do.")),
        ])
    };
    insta::assert_snapshot!(told(&lines("")), @r#"
    {"role":"user","content":"This is what was said."}
    {"role":"user","content":"go on"}
    {"role":"assistant","content":[{"type":"text","text":"I do."}]}
    model: claude-x
    left out: 4 before a compaction, 1 system
    rewritten: -
    "#);
    let messages = r#","preservedMessages":{"anchorUuid":"sum","uuids":["u2","a2"]}"#;
    insta::assert_snapshot!(told(&lines(messages)), @r#"
    {"role":"user","content":"This is what was said."}
    {"role":"user","content":"late"}
    {"role":"assistant","content":[{"type":"text","text":"late too"}]}
    {"role":"user","content":"go on"}
    {"role":"assistant","content":[{"type":"text","text":"I do."}]}
    model: claude-x
    left out: 2 before a compaction, 1 system
    rewritten: -
    "#);
    let segment = r#","preservedSegment":{"headUuid":"u2","anchorUuid":"sum","tailUuid":"a2"}"#;
    assert_eq!(told(&lines(segment)), told(&lines(messages)));
    // A head that is not above the tail must not bring back all that was summed up.
    let broken = r#","preservedSegment":{"headUuid":"none","anchorUuid":"sum","tailUuid":"a2"}"#;
    assert_eq!(told(&lines(broken)), told(&lines("")));
}

#[test]
fn a_crash_costs_the_line_that_it_cut() {
    let whole = [
        user("u1", "null", r#""hi""#),
        answer("a1", "u1", "m1", &text("ho")),
        user("u2", "gone", r#""again""#),
    ];
    let cut = format!("{}\nnot json\n{}", joined(&whole), &user("u3", "u2", r#""cut""#)[..60]);
    insta::assert_snapshot!(told(&cut), @r#"
    {"role":"user","content":"hi"}
    {"role":"assistant","content":[{"type":"text","text":"ho"}]}
    {"role":"user","content":"again"}
    model: claude-x
    left out: 2 damaged line
    rewritten: 1 missing parent
    damaged: [4, 5]
    "#);
}

#[test]
fn what_only_the_user_saw_is_no_message() {
    let error = answer("a1", "u1", "m1", &text("API Error")).replace(
        r#""type":"assistant","message""#,
        r#""type":"assistant","isApiErrorMessage":true,"message""#,
    );
    let note = answer("a2", "a1", "m2", &text("No response requested."))
        .replace("claude-x", "<synthetic>");
    let lines = [user("u1", "null", r#""hi""#), error, note, user("u2", "a2", r#""hi again""#)];
    insta::assert_snapshot!(told(&joined(&lines)), @r#"
    {"role":"user","content":"hi"}
    {"role":"user","content":"hi again"}
    model: -
    left out: 2 shown to the user only
    rewritten: -
    "#);
}

#[test]
fn servers_that_give_every_answer_one_id_are_told_by_what_stands_between() {
    let lines = [
        user("u1", "null", r#""one""#),
        answer("a1", "u1", "same", &text("first")),
        user("u2", "a1", r#""two""#),
        answer("a2", "u2", "same", &call("t")),
        user("u3", "a2", &result("t")),
        user("u4", "u3", r#""three""#),
        answer("a3", "u4", "same", &call("t")),
        user("u5", "a3", &result("t")),
    ];
    let read = read(&joined(&lines)).unwrap();
    assert_eq!(read.messages.len(), 8);
    assert!(read.left_out.is_empty());
}

#[test]
fn words_among_results_stand_behind_them() {
    let lines = [
        user("u1", "null", r#""go""#),
        answer("a1", "u1", "m1", &call("t1")),
        answer("a2", "a1", "m1", &call("t2")),
        user("r1", "a2", &result("t1")),
        user("w", "r1", r#""hurry""#),
        user("r2", "w", &result("t2")),
    ];
    insta::assert_snapshot!(told(&joined(&lines)), @r#"
    {"role":"user","content":"go"}
    {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{ "command":"ls", "n":1.0 }},{"type":"tool_use","id":"t2","name":"Bash","input":{ "command":"ls", "n":1.0 }}]}
    {"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"of t1"},{"tool_use_id":"t2","type":"tool_result","content":"of t2"}]}
    {"role":"user","content":"hurry"}
    model: claude-x
    left out: -
    rewritten: -
    "#);
}

#[test]
fn a_subagents_file_is_a_conversation_of_its_own() {
    let lines = [user("u1", "null", r#""task""#), answer("a1", "u1", "m1", &text("done"))];
    let text = joined(&lines).replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let read = read(&text).unwrap();
    assert_eq!((read.messages.len(), read.left_out.is_empty()), (2, true));
}

#[test]
fn records_without_ids_follow_one_another() {
    let lines = [
        r#"{"type":"system","subtype":"init","session_id":"s"}"#,
        r#"{"type":"user","message":{"role":"user","content":"hi"}}"#,
        r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"ho"}]}}"#,
        r#"{"type":"result","result":"ho"}"#,
    ];
    insta::assert_snapshot!(told(&lines.join("\n")), @r#"
    {"role":"user","content":"hi"}
    {"role":"assistant","content":[{"type":"text","text":"ho"}]}
    model: -
    left out: 1 result, 1 system
    rewritten: -
    "#);
}

#[test]
fn a_message_that_is_none_is_named_with_its_line() {
    let check = |text: &str| {
        let error = read(text).unwrap_err();
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        format!("{error}{}", source.unwrap_or_default())
    };
    let broken =
        joined(&[user("u1", "null", r#""hi""#), answer("a1", "u1", "m", r#"{"type":"text"}"#)]);
    insta::assert_snapshot!(check(&broken), @"the assistant record on line 2 cannot be read: content block 0 (`text`): missing field `text`");
    insta::assert_snapshot!(check("{\"type\":\"summary\"}\n"), @"there are no messages");
    insta::assert_snapshot!(check(&user("u1", "null", "7")), @"the user record on line 1 cannot be read: the message's content is neither a text nor a list");
}

#[test]
fn a_ring_of_records_ends() {
    let lines = [user("u1", "u2", r#""a""#), user("u2", "u1", r#""b""#)];
    assert_eq!(read(&joined(&lines)).unwrap().messages.len(), 2);
}

#[test]
fn the_summary_of_a_compaction_is_what_the_model_goes_on_from() {
    let boundary = r#"{"parentUuid":null,"logicalParentUuid":"a1","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"b","compactMetadata":{"trigger":"manual","preservedMessages":{"anchorUuid":"s1","uuids":["a1"]}}}"#;
    // 2.1.330 hides it from whoever reads the transcript.
    let summary = user("s1", "b", r#""It said three.""#).replace(
        r#""type":"user""#,
        r#""isVisibleInTranscriptOnly":true,"isCompactSummary":true,"type":"user""#,
    );
    let shown = user("n1", "s1", r#""Compacted.""#)
        .replace(r#""type":"user""#, r#""isVisibleInTranscriptOnly":true,"type":"user""#);
    let lines = [
        user("u1", "null", r#""count""#),
        answer("a1", "u1", "m1", &text("three")),
        boundary.to_owned(),
        summary,
        shown,
        user("u2", "n1", r#""and now?""#),
        answer("a2", "u2", "m2", &text("four")),
    ];
    insta::assert_snapshot!(told(&joined(&lines)), @r#"
    {"role":"user","content":"It said three."}
    {"role":"assistant","content":[{"type":"text","text":"three"}]}
    {"role":"user","content":"and now?"}
    {"role":"assistant","content":[{"type":"text","text":"four"}]}
    model: claude-x
    left out: 1 before a compaction, 1 shown to the user only, 1 system
    rewritten: -
    "#);
}

/// A transcript of our own with the records about requests that Claude Code 2.1.330 writes; its hashes were made by another program.
const RECORDED: &str = include_str!("recorded.jsonl");

#[test]
fn the_last_request_is_rebuilt_and_its_digest_says_so() {
    let read = read(RECORDED).unwrap();
    assert_eq!(
        read.model.as_deref(),
        Some("claude-opus-5-5"),
        "what was asked, not what a gateway calls it"
    );
    let request = read.request.unwrap();
    insta::assert_snapshot!(request.body.replace(",\"", "\n,\""), @r##"
    {"model":"claude-opus-5-5"
    ,"messages":[{"role":"user"
    ,"content":[{"type":"text"
    ,"text":"<system-reminder>\nIt is a test.\n</system-reminder>"},{"type":"text"
    ,"text":"count the files"}]},{"role":"system"
    ,"content":"# Environment\nA directory."
    ,"output_config":{"effort":"medium"}},{"role":"assistant"
    ,"content":[{"type":"text"
    ,"text":"I count."},{"type":"tool_use"
    ,"id":"t1"
    ,"name":"Bash"
    ,"input":{"command":"ls | wc -l"}}]},{"role":"user"
    ,"content":[{"tool_use_id":"t1"
    ,"type":"tool_result"
    ,"content":"3"
    ,"is_error":false
    ,"cache_control":{"type":"ephemeral"}}]}]
    ,"system":[{"type":"text"
    ,"text":"You are an agent in a test."
    ,"cache_control":{"type":"ephemeral"}},{"type":"text"
    ,"text":"Be brief — always."
    ,"cache_control":{"type":"ephemeral"}}]
    ,"tools":[{"name":"Bash"
    ,"description":"Runs a command."
    ,"input_schema":{"$schema":"s"
    ,"type":"object"
    ,"properties":{"command":{"type":"string"}}
    ,"required":["command"]}},{"name":"Later"
    ,"description":"Is loaded later."
    ,"input_schema":{"type":"object"
    ,"properties":{}}
    ,"defer_loading":true}]
    ,"max_tokens":128000
    ,"thinking":{"type":"adaptive"
    ,"display":"omitted"}
    ,"context_management":{"edits":[{"type":"clear_thinking_20251015"
    ,"keep":"all"}]}
    ,"output_config":{"effort":"medium"}
    ,"stream":true}
    "##);
    assert_eq!(request.betas, ["context-management-2025-06-27", "per-turn-control-2026-07-01"]);
    assert_eq!((request.at_ms, request.behind), (Some(1_767_323_045_000), 1));
    let (parts, messages) =
        crate::read_request(tine_model::Provider::Anthropic, None, request.body.as_bytes())
            .unwrap();
    assert_eq!((parts.tools.len(), parts.system_blocks.len(), messages.len()), (2, 2, 4));
}

#[test]
fn a_request_that_is_not_what_was_sent_is_none() {
    let why = |text: &str| read(text).unwrap().request.unwrap_err().as_str().to_owned();
    let without = |part: &str| {
        let lines: Vec<&str> = RECORDED.lines().filter(|line| !line.contains(part)).collect();
        why(&lines.join("\n"))
    };
    let reasons = [
        why(&RECORDED.replace("Be brief", "Be long")),
        why(&RECORDED.replace("128000", "128001")),
        why(&RECORDED.replace("\"content\":\"3\"", "\"content\":\"4\"")),
        without("api-request-shape"),
        without("api-request-blob"),
        without("\"id\":\"q1\""),
        without("\"id\":\"q2\""),
        why(&user("u1", "null", r#""hi""#)),
    ];
    insta::assert_snapshot!(reasons.join("\n"), @"
    what the file records of the request behind its last answer is not what was sent
    what the file records of the request behind its last answer is not what was sent
    the file lacks a message of the request
    the file does not hold the request's tools
    the file lacks a message of the request
    the file lacks an earlier request
    the file does not record the request behind its last answer
    the file does not record the request behind its last answer
    ");
}
