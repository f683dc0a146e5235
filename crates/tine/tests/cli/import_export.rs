//! Conversations in and out of files.

use crate::pty::{Terminal, plain};
use crate::support::{Home, Ran, SCENARIO};

const ANTHROPIC: &str = r#"[
 {"role":"user","content":"count"},
 {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},
   {"type":"tool_use","id":"t1","name":"Bash","input":{"timeout": 1e1, "command":"ls"}}]},
 {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"3"}]},
 {"role":"assistant","content":[{"type":"text","text":"three"}]}
]"#;

const CHAT: &str = r#"{"role":"system","content":"be brief"}
{"role":"user","content":"count"}
{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"bash","arguments":"{}"}}]}
{"role":"tool","tool_call_id":"t1","content":"3"}
"#;

/// The present version of Anthropic's API refuses a document that the model said and citations that the user said. The simulator does so,
/// too.
#[test]
fn a_conversation_older_than_the_apis_version_goes_on() {
    let home = Home::new();
    let document =
        r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"}}"#;
    let cited = r#"{"type":"text","text":"a","citations":[{"type":"char_location","cited_text":"d","document_index":0}]}"#;
    home.write(
        "old.json",
        &format!(
            r#"[{{"role":"user","content":[{cited}]}},{{"role":"assistant","content":[{document}]}}]"#
        ),
    );
    home.done(&["import", "../old.json", "--model", "sim/echo", "--name", "old"]);
    home.done(&["run", "--resume", "old", "go on"]);
    home.done(&["fork", "old", "--name", "fork"]);
    home.done(&["run", "--resume", "fork", "and on"]);
}

#[test]
fn an_import_says_who_it_made_and_of_how_much() {
    let home = Home::new();
    home.write("a.json", ANTHROPIC);
    let arguments = ["import", "../a.json", "--model", "sim/echo", "--name", "a"];
    check!(home.shown(&home.ran(&arguments)), @r#"
    code: 0
    --- stdout
    [AGENT8] has 4 messages
    --- stderr
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    "#);
    let piped =
        Ran::of(home.tine(&["import", "-", "--model", "sim/echo", "--json"]).write_stdin(CHAT));
    check!(home.shown(&piped), @r#"
    code: 0
    --- stdout
    {"agent":"[AGENT-ID]","entries":3,"format":"messages","context":"full","model":null,"left_out":{},"rewritten":{},"damaged_lines":[],"reason":null,"as_sent":false,"first_fork":{"cache":"cold","why":"tine's own system prompt and tools stand before the conversation"}}
    --- stderr
    "#);
    check!(home.masked(&home.done(&["show", "a"])), @r"
    [AGENT8]  a
      state        idle
      kind         root
      model        sim/echo
      directory    [HOME]/work
      reach        open: commands and file tools touch what you can
      created      [TIME], 0s ago
      id           [AGENT-ID]

    1  user
       count

    2  assistant
       (thinking, 1 line)
       → Bash: ls

    3  user
       ← Bash
         3

    4  assistant
       three
    ");
}

#[test]
fn what_was_imported_is_exported_word_for_word() {
    let home = Home::new();
    home.write("a.json", ANTHROPIC);
    home.done(&["import", "../a.json", "--model", "anthropic/x", "--name", "a"]);
    let text = home.done(&["export", "a"]);
    check!(text, @r#"
    [
    {"role":"user","content":[{"type":"text","text":"count"}]},
    {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"tool_use","id":"t1","name":"Bash","input":{"timeout": 1e1, "command":"ls"}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"3"}]},
    {"role":"assistant","content":[{"type":"text","text":"three"}]}
    ]
    "#);
    home.write("b.json", &text);
    home.done(&["import", "../b.json", "--model", "anthropic/x", "--name", "b"]);
    assert_eq!(home.done(&["export", "b"]), text);
}

#[test]
fn an_export_changes_nothing_of_a_terminal_and_keeps_its_bytes_in_a_pipe() {
    let home = Home::new();
    let said = "a\u{9b}31m \u{202e}b";
    home.write("a.json", &format!(r#"[{{"role":"user","content":"{said}"}}]"#));
    home.done(&["import", "../a.json", "--model", "anthropic/x", "--name", "a"]);
    for arguments in [&["export", "a"][..], &["show", "a", "--json"]] {
        assert!(home.done(arguments).contains(said), "{arguments:?}");
        let (code, text) = Terminal::start(&home, arguments).end();
        assert_eq!(code, 0, "{text}");
        assert!(!text.contains(['\u{9b}', '\u{202e}']), "{text}");
        assert!(plain(&text).contains(r"a\u009b31m \u202eb"), "{text}");
    }
}

#[test]
fn an_export_replaces_a_file_as_a_whole() {
    let home = Home::new();
    let old = home.write("out.json", "old");
    home.import("sim/echo", "a", 2);
    check!(home.shown(&home.ran(&["export", "a", "-o", "../out.json"])), @r"
    code: 0
    --- stdout
    --- stderr
    ");
    assert_eq!(std::fs::read_to_string(&old).unwrap(), home.done(&["export", "a"]));
    check!(home.shown(&home.ran(&["export", "a", "-o", "../none/out.json"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: cannot write ../none/out.json: No such file or directory (os error 2)
    hint: check the directory and its rights; without -o the result goes to standard output
    ");
}

#[test]
fn the_files_own_system_prompt_is_used() {
    let home = Home::new();
    home.write("a.jsonl", CHAT);
    let bodies = home.path().join("bodies");
    let server =
        crate::sim_serve::Server::start(&home, &["--log-bodies", bodies.to_str().unwrap()]);
    let arguments =
        ["import", "../a.jsonl", "--model", "openai-compat/x", "--name", "a", "--system", "other"];
    check!(home.shown(&home.ran(&arguments)), @r#"
    code: 0
    --- stdout
    [AGENT8] has 3 messages
    --- stderr
    note: the file has a system prompt of its own, which is used instead of --system
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    "#);
    let mut run = home.tine(&["run", "--resume", "a", "go on"]);
    run.env("OPENAI_COMPAT_API_KEY", "any");
    let ran = Ran::of(run.env("OPENAI_COMPAT_BASE_URL", server.field("openai")));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let body = std::fs::read_to_string(bodies.join("0001.json")).unwrap();
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["messages"][0]["content"], "be brief");
    assert_eq!(body["messages"][3]["content"], "3");
}

#[test]
fn ten_thousand_messages_come_in_and_out() {
    let home = Home::new();
    home.import("sim/echo", "long", 10_000);
    assert_eq!(home.done(&["export", "long"]).lines().count(), 10_002);
    let shown = home.json(&["show", "long", "--json"]);
    assert_eq!(shown["entries"].as_array().unwrap().len(), 10_000);
    assert!(home.done(&["show", "long"]).contains("message 9999"));
}

#[test]
fn what_is_shown_and_exported_is_free_of_keys_and_can_be_imported() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let key = format!("sk-ant-api03-{}", "aB3dE5gH7jK9mN2p".repeat(3));
    let lines = format!(
        "{}\n{}\n",
        format_args!(r#"{{"role":"user","content":"use {key} and PASSWORD=\"hunter22\""}}"#),
        r#"{"role":"assistant","content":"I will."}"#
    );
    let file = home.write("secret.jsonl", &lines);
    let file = file.to_str().unwrap();
    home.json(&["import", file, "--model", &model, "--name", "one", "--json"]);
    let marked = "use [redacted: Anthropic key] and PASSWORD=";
    for command in [
        &["show", "one"][..],
        &["show", "one", "--json"],
        &["logs", "one"],
        &["logs", "one", "--json"],
        &["export", "one"],
    ] {
        let shown = home.done(command);
        assert!(shown.contains(marked) && !shown.contains(&key), "{command:?}: {shown}");
        assert!(!shown.contains("hunter22"), "{command:?}: {shown}");
        let raw = home.done(&[command, &["--raw"]].concat());
        // A title holds no key, whatever is asked for.
        let said = raw.split_once("\"entries\":").map_or(raw.as_str(), |(_, said)| said);
        assert!(said.contains(&key[..40]) && !said.contains("[redacted"), "{command:?}: {raw}");
    }
    let exported = home.ran(&["export", "one"]);
    assert!(exported.stderr.contains("--raw leaves them in"), "{}", exported.stderr);
    let again = home.write("again.json", &exported.stdout);
    home.json(&["import", again.to_str().unwrap(), "--model", &model, "--name", "two", "--json"]);
    assert_eq!(home.ran(&["export", "two"]).stdout, exported.stdout);
    // What the provider gets is untouched.
    let raw = home.write("raw.json", &home.done(&["export", "one", "--raw"]));
    home.json(&["import", raw.to_str().unwrap(), "--model", &model, "--name", "three", "--json"]);
    let said = home.json(&["run", "--resume", "three", "--json", "hello"]);
    assert_eq!(said["outcome"], "completed");
    assert!(home.done(&["export", "three", "--raw"]).contains(&key));
}
