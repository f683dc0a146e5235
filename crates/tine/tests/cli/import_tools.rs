//! Conversations of other tools: in, forked and fanned, and out again.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Home, Ran};

/// A transcript of Claude Code, written by hand: one record a block, a call on a branch of its own, a subagent, a line that a
/// crash cut.
const CLAUDE_CODE: &str = r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{}}
{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":"count and read"},"uuid":"u1"}
{"parentUuid":"u1","isSidechain":false,"sessionId":"s","type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"I look."}]},"uuid":"a1"}
{"parentUuid":"a1","isSidechain":false,"sessionId":"s","type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{ "command":"ls", "timeout":1e1 }}]},"uuid":"a2"}
{"parentUuid":"a2","isSidechain":false,"sessionId":"s","type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"a"}}]},"uuid":"a3"}
{"parentUuid":"a2","isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"3"}]},"uuid":"r1"}
{"parentUuid":null,"isSidechain":true,"sessionId":"s","type":"user","message":{"role":"user","content":"beside"},"uuid":"x1"}
{"parentUuid":"a3","isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":[{"tool_use_id":"t2","type":"tool_result","content":"it says <fork-boilerplate>"}]},"uuid":"r2"}
{"parentUuid":"r2","isSidechain":false,"sessionId":"s","type":"assistant","message":{"id":"m2","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"three"}]},"uuid":"a4"}
{"parentUuid":"a4","isSid"#;

const CODEX: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"i","cwd":"/w"}}
{"timestamp":"t","type":"turn_context","payload":{"model":"gpt-5.6"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"count"}]}}
{"timestamp":"t","type":"response_item","payload":{"type":"reasoning","summary":[],"encrypted_content":"c2VhbGVk"}}
{"timestamp":"t","type":"response_item","payload":{"type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"*** Begin Patch"}}
{"timestamp":"t","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c1","output":"done"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"three"}]}}
"#;

const OPENCODE: &str = r#"{
  "info": {"id":"ses_1","title":"Count"},
  "messages": [
    {"info":{"id":"m1","role":"user"},"parts":[{"type":"text","text":"count"}]},
    {"info":{"id":"m2","role":"assistant","modelID":"claude-opus-5-5","providerID":"anthropic"},"parts":[
      {"type":"step-start"},
      {"type":"tool","callID":"t1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"3"}},
      {"type":"step-finish","reason":"tool-calls"},
      {"type":"step-start"},
      {"type":"text","text":"three"}]}
  ]
}"#;

#[test]
fn each_tools_file_is_known_and_told_of() {
    let home = Home::new();
    for (name, text) in [("a", CLAUDE_CODE), ("b", CODEX), ("c", OPENCODE)] {
        home.write(name, text);
    }
    let ran = |file: &str| home.shown(&home.ran(&["import", file, "--model", "sim/echo"]));
    check!(ran("../a"), @r#"
    code: 0
    --- stdout
    [AGENT8] has 4 messages from claude-code, in full; they were held with claude-opus-5-5
      left out: 1 damaged line, 1 file-history-snapshot, 1 sidechain
      first fork: cold: tine's own system prompt and tools stand before the conversation, and the file does not record the request behind its last answer
    --- stderr
    note: line 10 is damaged, as by a crash while it was written, and was left out
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    "#);
    check!(ran("../b"), @r#"
    code: 0
    --- stdout
    [AGENT8] has 4 messages from codex, in full; they were held with gpt-5.6
      left out: 1 session_meta, 1 thinking, 1 turn_context
      written anew: 1 custom_tool_call, 1 custom_tool_call_output
      first fork: cold: tine's own system prompt and tools stand before the conversation
    --- stderr
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    "#);
    check!(ran("../c"), @r#"
    code: 0
    --- stdout
    [AGENT8] has 4 messages from opencode, in full; they were held with anthropic/claude-opus-5-5
      written anew: 1 tool call
      first fork: cold: tine's own system prompt and tools stand before the conversation
    --- stderr
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    "#);
    let json = home.json(&["import", "../a", "--model", "sim/echo", "--name", "a", "--json"]);
    check!(json, @r#"{"agent":"[AGENT-ID]","entries":4,"format":"claude-code","context":"full","model":"claude-opus-5-5","left_out":{"damaged line":1,"file-history-snapshot":1,"sidechain":1},"rewritten":{},"damaged_lines":[10],"reason":null,"as_sent":false,"first_fork":{"cache":"cold","why":"tine's own system prompt and tools stand before the conversation, and the file does not record the request behind its last answer"}}"#);
    check!(home.done(&["export", "a"]), @r#"
    [
    {"role":"user","content":[{"type":"text","text":"count and read"}]},
    {"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Bash","input":{ "command":"ls", "timeout":1e1 }},{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"a"}}]},
    {"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"3"},{"tool_use_id":"t2","type":"tool_result","content":"it says <fork-boilerplate>"}]},
    {"role":"assistant","content":[{"type":"text","text":"three"}]}
    ]
    "#);
}

/// A transcript with the records about requests that Claude Code 2.1.330 writes.
const RECORDED: &str = include_str!("../../../tine-wire/src/import/claude_code/recorded.jsonl");

/// Shows: no key and no `-m` is needed where the file names the model, and each import says whether its first fork will be warm.
#[test]
fn a_file_that_names_its_model_needs_no_key() {
    let home = Home::new();
    home.write("a", RECORDED);
    home.write("b", CODEX);
    check!(home.shown(&home.ran(&["import", "../a", "--name", "a"])), @r#"
    code: 0
    --- stdout
    [AGENT8] has 4 messages from claude-code, in full; they were held with claude-opus-5-5
      left out: 2 api-request, 2 api-request-blob, 1 api-request-shape, 1 attachment
      first fork: cold: tine's own system prompt and tools stand before the conversation; --as-sent takes the last request over as it was sent
    --- stderr
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    "#);
    assert!(home.done(&["show", "a"]).contains(" anthropic/claude-opus-5-5\n"));
    home.done(&["import", "../b", "--name", "b"]);
    assert!(home.done(&["show", "b"]).contains(" openai/gpt-5.6\n"));
    home.write("c", r#"[{"role":"user","content":"hi"}]"#);
    let refused = home.ran(&["import", "../c"]);
    assert_ne!(refused.code, 0, "plain messages name no model");
}

/// Shows: the last request of a transcript goes out in its own bytes, with its headers, and what came behind it and a fork's words
/// where its messages end.
#[test]
fn a_recorded_request_is_gone_on_from_as_it_was_sent() {
    let home = Home::new();
    home.write("a", RECORDED);
    let json = home.json(&["import", "../a", "--as-sent", "--name", "a", "--json"]);
    check!(json, @r#"{"agent":"[AGENT-ID]","entries":5,"format":"claude-code","context":"full","model":"claude-opus-5-5","left_out":{"api-request":2,"api-request-blob":2,"api-request-shape":1,"attachment":1},"rewritten":{},"damaged_lines":[],"reason":null,"as_sent":true,"first_fork":{"cache":"cold","why":"what its last request left in the cache has lived for 5 minutes"}}"#);
    let bodies = home.path().join("bodies");
    let server =
        crate::sim_serve::Server::start(&home, &["--log-bodies", bodies.to_str().unwrap()]);
    let mut fan = home.tine(&["fan", "a", "-d", "count lines", "-d", "count words", "--json"]);
    fan.env("ANTHROPIC_API_KEY", "any").env("ANTHROPIC_BASE_URL", server.field("anthropic"));
    let ran = Ran::of(&mut fan);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    for body in <[String; 2]>::from(first_requests(&bodies)) {
        assert!(body.starts_with(r#"{"model":"claude-opus-5-5","messages":[{"role":"user","content":[{"type":"text","text":"<system-reminder>"#), "{body}");
        let result = format!(
            r#"{{"tool_use_id":"t1","type":"tool_result","content":"3","is_error":false{mark}}}]}},{{"role":"assistant""#
        );
        assert!(body.contains(&result) && body.contains("Three."), "{body}");
        assert!(
            body.contains(r#""defer_loading":true"#) && body.matches(mark).count() <= 4,
            "{body}"
        );
        assert!(body.ends_with(r#""output_config":{"effort":"medium"},"stream":true}"#), "{body}");
    }
    let other = home.ran(&["import", "../a", "--as-sent", "--model", "anthropic/other"]);
    check!(home.shown(&other), @"
    code: 42
    --- stdout
    --- stderr
    error: the last request cannot be taken over as it was sent: it asks anthropic/claude-opus-5-5, and not anthropic/other
    hint: without --as-sent its messages are taken behind a system prompt and tools of tine's own
    ");
}

#[test]
fn what_cannot_be_taken_in_full_says_why() {
    let home = Home::new();
    home.write("a", CLAUDE_CODE);
    let sealed = r#"{"timestamp":"t","type":"compacted","payload":{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"kept"}]},{"type":"compaction","encrypted_content":"c2VhbGVk"}]}}"#;
    home.write("b", &format!("{CODEX}{sealed}\n"));
    home.write(
        "c",
        r#"{"type":"user","uuid":"u","message":{"role":"user","content":[{"type":"text"}]}}"#,
    );
    let ran = |arguments: &[&str]| home.shown(&home.ran(&[&["import"], arguments].concat()));
    check!(ran(&["../a", "--model", "sim/echo", "--context", "digest"]), @r#"
    code: 0
    --- stdout
    [AGENT8] has 1 message from claude-code, as a digest; they were held with claude-opus-5-5
      left out: 1 damaged line, 1 file-history-snapshot, 1 sidechain
      first fork: cold: tine's own system prompt and tools stand before the conversation, and the file does not record the request behind its last answer
    --- stderr
    note: line 10 is damaged, as by a crash while it was written, and was left out
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    "#);
    check!(ran(&["../b", "--model", "sim/echo"]), @r#"
    code: 0
    --- stdout
    [AGENT8] has 1 message from codex, as a digest; they were held with gpt-5.6
      not in full: its earlier part was compacted into a form that only OpenAI can open
      left out: 5 before a compaction, 1 session_meta, 1 turn_context
      written anew: 1 custom_tool_call, 1 custom_tool_call_output
      first fork: cold: tine's own system prompt and tools stand before the conversation
    --- stderr
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    "#);
    check!(ran(&["../b", "--model", "sim/echo@openai", "--context", "full"]), @r#"
    code: 0
    --- stdout
    [AGENT8] has 2 messages from codex, in full; they were held with gpt-5.6
      left out: 5 before a compaction, 1 session_meta, 1 turn_context
      written anew: 1 custom_tool_call, 1 custom_tool_call_output
      first fork: cold: tine's own system prompt and tools stand before the conversation
    --- stderr
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    "#);
    check!(ran(&["../c", "--model", "sim/echo"]), @"
    code: 42
    --- stdout
    --- stderr
    error: the user record on line 1 cannot be read: content block 0 (`text`): missing field `text`
    hint: without that line the rest can be imported; a line that is cut off is left out by itself
    ");
    check!(ran(&["../a", "--model", "sim/echo", "--format", "opencode"]), @"
    code: 42
    --- stdout
    --- stderr
    error: the text is no conversation of OpenCode: missing field `info` at line 1 column 62
    hint: without --format tine finds out by itself what the file is
    ");
}

/// The first requests of the workers that count lines and words: one may be at its second before the other has sent its first.
fn first_requests(bodies: &Path) -> (String, String) {
    let of = |task: &str| {
        let paths = (1..).map(|n| bodies.join(format!("{n:04}.json")));
        let mut requests = paths.map(|path| std::fs::read_to_string(path).unwrap());
        requests.find(|body| body.contains(task)).unwrap()
    };
    (of("Task: count lines"), of("Task: count words"))
}

#[test]
fn an_imported_agent_is_forked_and_fanned_byte_for_byte() {
    let home = Home::new();
    home.write("a.jsonl", CLAUDE_CODE);
    home.json(&[
        "import",
        "../a.jsonl",
        "--model",
        "anthropic/claude-opus-5-5",
        "--name",
        "a",
        "--json",
    ]);
    let made = home.json(&["fork", "a", "--json"]);
    assert_eq!(made["context"], "full");
    let bodies = home.path().join("bodies");
    let server =
        crate::sim_serve::Server::start(&home, &["--log-bodies", bodies.to_str().unwrap()]);
    let mut fan = home.tine(&["fan", "a", "-d", "count lines", "-d", "count words", "--json"]);
    fan.env("ANTHROPIC_API_KEY", "any").env("ANTHROPIC_BASE_URL", server.field("anthropic"));
    let ran = Ran::of(&mut fan);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let (one, two) = first_requests(&bodies);
    let whole = r#"{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"Bash","input":{ "command":"ls", "timeout":1e1 }},{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"a"}}"#;
    assert!(one.contains(whole) && two.contains(whole), "{one}");
    let shared = one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b).count();
    let three = one.find(r#""text":"three""#).unwrap();
    assert!(shared > three, "{shared} of {}", one.len());
}

#[test]
fn exports_come_back_as_the_same_conversation() {
    let home = Home::new();
    home.write("a.jsonl", CLAUDE_CODE);
    home.write("b.jsonl", CODEX);
    let import = |file: &str, model: &str, name: &str| {
        home.json(&["import", file, "--model", model, "--name", name, "--json"])
    };
    import("../a.jsonl", "anthropic/claude-opus-5-5", "a");
    home.write("a2.jsonl", &home.done(&["export", "a", "--format", "claude-code"]));
    let again = import("../a2.jsonl", "anthropic/claude-opus-5-5", "a2");
    assert_eq!(again["left_out"], serde_json::json!({}));
    assert_eq!(home.done(&["export", "a2"]), home.done(&["export", "a"]));
    import("../b.jsonl", "openai/gpt-5.6", "b");
    home.write("b2.jsonl", &home.done(&["export", "b", "--format", "codex"]));
    import("../b2.jsonl", "openai/gpt-5.6", "b2");
    assert_eq!(home.done(&["export", "b2"]), home.done(&["export", "b"]));
    let codex = home.done(&["export", "b", "--format", "codex"]);
    check!(home.masked(codex.lines().next().unwrap()), @r#"{"timestamp":"[TIME]","type":"session_meta","payload":{"id":"[AGENT-ID]","timestamp":"[TIME]","cwd":"[HOME]/work","originator":"tine","cli_version":"0.1.0"}}"#);
    let transcript = home.done(&["export", "b", "--format", "claude-code"]);
    check!(home.masked(transcript.lines().nth(1).unwrap()), @r#"{"parentUuid":"[AGENT-ID]","isSidechain":false,"userType":"external","cwd":"[HOME]/work","sessionId":"[AGENT-ID]","version":"0.1.0","type":"assistant","message":{"id":"msg_2","type":"message","role":"assistant","model":"gpt-5.6","content":[{"type":"tool_use","id":"c1","name":"apply_patch","input":{"input":"*** Begin Patch"}}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}},"uuid":"[AGENT-ID]","timestamp":"[TIME]"}"#);
    check!(home.done(&["export", "a", "--format", "markdown"]), @r#"
    # a

    Model: `anthropic/claude-opus-5-5`

    ## User

    count and read

    ## Assistant

    I look.

    **Call** `Bash`

    ```json
    { "command":"ls", "timeout":1e1 }
    ```

    **Call** `Read`

    ```json
    {"file_path":"a"}
    ```

    **Result**

    ```
    3
    ```

    **Result**

    ```
    it says <fork-boilerplate>
    ```

    three
    "#);
}

/// Writes a session that began with these words, as Claude Code and Codex keep it. Returns its folder.
fn keep_session(home: &Home, host: &str, name: &str, words: &str) -> PathBuf {
    let work = std::fs::canonicalize(home.work()).unwrap();
    let work = work.to_str().unwrap();
    let (folder, lines) = match host {
        "claude" => (
            format!(".claude/projects/{}", work.replace(|c: char| !c.is_ascii_alphanumeric(), "-")),
            vec![json!({
                "type": "user", "uuid": "u1", "parentUuid": null, "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z",
                "isSidechain": false, "cwd": work, "message": {"role": "user", "content": words},
            })],
        ),
        _ => (
            ".codex/sessions/2026/01/02".to_owned(),
            vec![
                json!({"timestamp": "2026-01-02T00:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": work}}),
                json!({"timestamp": "2026-01-02T00:00:00Z", "type": "response_item", "payload": {
                    "type": "message", "role": "user", "content": [{"type": "input_text", "text": words}],
                }}),
            ],
        ),
    };
    let folder = home.path().join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(folder.join(name), text.join("\n")).unwrap();
    folder
}

#[test]
fn the_last_session_of_a_host_is_found_from_inside() {
    for host in ["claude", "codex"] {
        let home = Home::new();
        let session = format!("{host}:last");
        let import = ["import", &session, "--model", "sim/echo", "--name", "base"];
        let ran = home.ran(&import);
        assert!(ran.code != 0 && ran.stderr.contains("has no session in"), "{}", ran.stderr);
        keep_session(&home, host, "rollout-1.jsonl", "the older one");
        keep_session(&home, host, "agent-9.jsonl", "a subagent's");
        keep_session(&home, host, "rollout-2.jsonl", "the one at work");
        let newest = home.path().join(match host {
            "claude" => ".claude/projects",
            _ => ".codex/sessions",
        });
        age_all_but(&newest, "rollout-2.jsonl");
        // Newer, and no sessions of this directory: one of another that shares the folder, one that was only just begun, a folder.
        let folder = keep_session(&home, host, "rollout-3.jsonl", "elsewhere");
        let elsewhere = std::fs::read_to_string(folder.join("rollout-3.jsonl")).unwrap();
        let elsewhere = elsewhere.replace("/work\"", "/other\"");
        std::fs::write(folder.join("rollout-3.jsonl"), elsewhere).unwrap();
        std::fs::write(folder.join("rollout-4.jsonl"), "").unwrap();
        std::fs::create_dir(folder.join("rollout-5.jsonl")).unwrap();
        // A line that is being written ends within a letter.
        let mut session = std::fs::read(folder.join("rollout-2.jsonl")).unwrap();
        session.extend(b"\n{\"type\":\"user\",\"message\":\"\xc3");
        std::fs::write(folder.join("rollout-2.jsonl"), session).unwrap();
        home.done(&import);
        let shown = home.done(&["show", "base"]);
        assert!(shown.contains("the one at work"), "{shown}");
    }
}

/// Makes all files below this folder old, but one.
fn age_all_but(folder: &Path, young: &str) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            age_all_but(&entry.path(), young);
        } else if entry.file_name() != young {
            let file = std::fs::File::options().append(true).open(entry.path()).unwrap();
            file.set_modified(std::time::UNIX_EPOCH).unwrap();
        }
    }
}
