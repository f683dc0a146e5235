use std::path::Path;

use tine_model::ToolCallId;

use super::*;

const DIRECTORY: &str = "/srv/app";

fn asked(name: &str, input: &str) -> ToolCall {
    let input = RawJson::parse(input).unwrap();
    ToolCall { id: ToolCallId("call_1".into()), name: name.to_owned(), input }
}

/// The call in tine's words, or the answer to it.
fn mapped(dialect: HostDialect, name: &str, input: &str) -> String {
    match dialect.own_call(&asked(name, input), Path::new(DIRECTORY)) {
        Ok(own) => format!("{} {}", own.name, own.input),
        Err(answer) => format!("answered: {}", answer.text),
    }
}

fn claude(name: &str, input: &str) -> String {
    mapped(HostDialect::ClaudeCode, name, input)
}

fn codex(name: &str, input: &str) -> String {
    mapped(HostDialect::Codex, name, input)
}

/// An answer of tine's tool as the host's model is told it.
fn told(dialect: HostDialect, name: &str, input: &str, answer: ToolAnswer) -> String {
    let asked = asked(name, input);
    let own = dialect.own_call(&asked, Path::new(DIRECTORY)).unwrap();
    dialect.told(&asked, &own, answer).text
}

#[test]
fn hosts_are_known_by_the_names_of_their_guests() {
    for (host, dialect) in [
        ("claude-code", Some(HostDialect::ClaudeCode)),
        ("codex", Some(HostDialect::Codex)),
        ("opencode", None),
    ] {
        assert_eq!(HostDialect::of_host(host), dialect);
    }
}

#[test]
fn claude_codes_files_are_read_written_and_edited() {
    insta::assert_snapshot!(claude("Read", r#"{"file_path":"/srv/app/a.rs"}"#), @r#"FileRead {"file_path":"/srv/app/a.rs"}"#);
    insta::assert_snapshot!(claude("Read", r#"{"file_path":"a.rs","offset":"3","limit":9,"pages":"1"}"#), @r#"FileRead {"file_path":"a.rs","offset":3,"limit":9}"#);
    insta::assert_snapshot!(claude("Write", r#"{"file_path":"a","content":"x\n"}"#), @r#"FileWrite {"file_path":"a","content":"x\n"}"#);
    insta::assert_snapshot!(claude("Edit", r#"{"file_path":"a","old_string":"x","new_string":"y","replace_all":true}"#), @r#"FileEdit {"file_path":"a","old_string":"x","new_string":"y","replace_all":true}"#);
    insta::assert_snapshot!(claude("Read", r#"{"path":"a"}"#), @"answered: `Read` was not run: `file_path` is missing; it must be a string.");
    insta::assert_snapshot!(claude("Read", r#"{"file_path":["a"]}"#), @"answered: `Read` was not run: `file_path` must be a string, not a list.");
    insta::assert_snapshot!(claude("Write", r#"{"file_path":"a","content":{"x":1}}"#), @"answered: `Write` was not run: `content` must be a string, not an object.");
    insta::assert_snapshot!(claude("Edit", r#"{"file_path":"a","old_string":"x","new_string":"y","replace_all":"maybe"}"#), @r#"answered: `Edit` was not run: `replace_all` must be true or false, not the string "maybe"."#);
}

#[test]
fn claude_codes_commands_run_with_its_limit() {
    insta::assert_snapshot!(claude("Bash", r#"{"command":"cargo test","timeout":900000,"description":"Runs the tests","dangerouslyDisableSandbox":true}"#), @r#"Bash {"command":"cargo test","timeout_ms":600000,"description":"Runs the tests"}"#);
    insta::assert_snapshot!(claude("Bash", r#"{"command":"npm start","run_in_background":true}"#), @r#"Bash {"command":"npm start","run_in_background":true}"#);
    insta::assert_snapshot!(claude("Bash", "{}"), @"answered: `Bash` was not run: `command` is missing; it must be a string.");
    insta::assert_snapshot!(claude("Bash", r#"{"command":"ls","timeout":-1}"#), @"answered: `Bash` was not run: `timeout` must be a whole number, at least 0, not -1.");
    insta::assert_snapshot!(claude("BashOutput", r#"{"bash_id":"command-1","filter":"x"}"#), @r#"BashOutput {"name":"command-1"}"#);
    insta::assert_snapshot!(claude("TaskOutput", r#"{"task_id":"command-1"}"#), @r#"BashOutput {"name":"command-1","wait_ms":30000}"#);
    insta::assert_snapshot!(claude("TaskOutput", r#"{"task_id":"command-1","block":false,"timeout":5}"#), @r#"BashOutput {"name":"command-1"}"#);
    insta::assert_snapshot!(claude("KillShell", r#"{"shell_id":"command-1"}"#), @r#"BashOutput {"name":"command-1","stop":true}"#);
    insta::assert_snapshot!(claude("TaskStop", r#"{"task_id":"command-1"}"#), @r#"BashOutput {"name":"command-1","stop":true}"#);
    insta::assert_snapshot!(claude("TaskStop", "{}"), @"answered: `TaskStop` was not run: `shell_id` is missing; it must be a string.");
}

#[test]
fn claude_codes_searches_have_tines_arguments() {
    insta::assert_snapshot!(claude("Glob", r#"{"pattern":"**/*.rs","path":"src"}"#), @r#"Glob {"pattern":"**/*.rs","path":"src"}"#);
    insta::assert_snapshot!(claude("Glob", r#"{"pattern":1}"#), @"answered: `Glob` was not run: `pattern` must be a string, not 1.");
    insta::assert_snapshot!(claude("Grep", r#"{"pattern":"fn","path":"src","glob":"*.rs","type":"rust","output_mode":"content","-i":true,"-n":true,"-A":2,"-B":5,"head_limit":7,"multiline":false}"#), @r#"Grep {"pattern":"fn","path":"src","glob":"*.rs","type":"rust","output_mode":"content","case_insensitive":true,"context":5,"head_limit":7,"multiline":false}"#);
    insta::assert_snapshot!(claude("Grep", r#"{"pattern":"fn","-C":500,"head_limit":0}"#), @r#"Grep {"pattern":"fn","context":100,"head_limit":100000}"#);
    insta::assert_snapshot!(claude("Grep", r#"{"pattern":"fn","offset":10}"#), @r#"Grep {"pattern":"fn","head_limit":260}"#);
    insta::assert_snapshot!(claude("Grep", r#"{"pattern":"fn","-A":"many"}"#), @r#"answered: `Grep` was not run: `-A` must be a whole number, at least 0, not the string "many"."#);
}

#[test]
fn a_tool_without_a_counterpart_is_refused_with_those_that_work() {
    insta::assert_snapshot!(claude("Agent", r#"{"prompt":"look"}"#), @"answered: `Agent` does not work here: this conversation was forked, and tine, which runs the fork, has nothing in its place. What works is `Bash`, `Read`, `Edit` and `Write`, and `Grep` and `Glob` where you have them. Go on with these, or without.");
    insta::assert_snapshot!(codex("view_image", r#"{"path":"a.png"}"#), @"answered: `view_image` does not work here: this conversation was forked, and tine, which runs the fork, has nothing in its place. What works is `exec_command` (or `shell`), `write_stdin` to read on in a session, and `apply_patch`. Go on with these, or without.");
    // Tine's own names are nobody's here.
    assert!(claude("FileRead", r#"{"file_path":"a"}"#).starts_with("answered: "));
    assert!(codex("Bash", r#"{"command":"ls"}"#).starts_with("answered: "));
}

#[test]
fn codexs_commands_run_in_their_directory() {
    insta::assert_snapshot!(codex("exec_command", r#"{"cmd":"cargo test","yield_time_ms":1000,"max_output_tokens":100,"login":false}"#), @r#"Bash {"command":"cargo test","timeout_ms":600000}"#);
    insta::assert_snapshot!(codex("exec_command", r#"{"cmd":"ls","workdir":"/srv/app"}"#), @r#"Bash {"command":"ls","timeout_ms":600000}"#);
    insta::assert_snapshot!(codex("exec_command", r#"{"cmd":"ls; pwd","workdir":"sub/./x"}"#), @r#"Bash {"command":"cd -- sub/x && (\nls; pwd\n)","timeout_ms":600000}"#);
    insta::assert_snapshot!(codex("exec_command", r#"{"cmd":"ls # all","workdir":"/tmp/it's"}"#), @r#"Bash {"command":"cd -- '/tmp/it'\\''s' && (\nls # all\n)","timeout_ms":600000}"#);
    insta::assert_snapshot!(codex("exec_command", r#"{"cmd":"npm start > log 2>&1 &"}"#), @r#"Bash {"command":"npm start > log 2>&1","run_in_background":true,"name":"session-1160357"}"#);
    insta::assert_snapshot!(codex("exec_command", r#"{"cmd":"a & b &"}"#), @r#"Bash {"command":"a & b &","timeout_ms":600000}"#);
    insta::assert_snapshot!(codex("shell", r#"{"command":["bash","-lc","ls | wc"],"timeout_ms":5000}"#), @r#"Bash {"command":"ls | wc","timeout_ms":5000}"#);
    insta::assert_snapshot!(codex("shell", r#"{"command":["rg","a b","src/*"],"workdir":"x"}"#), @r#"Bash {"command":"cd -- x && (\nrg 'a b' 'src/*'\n)","timeout_ms":600000}"#);
    insta::assert_snapshot!(codex("shell_command", r#"{"command":"ls","timeout_ms":9000000}"#), @r#"Bash {"command":"ls","timeout_ms":600000}"#);
}

#[test]
fn codexs_mistakes_are_told() {
    insta::assert_snapshot!(codex("exec_command", r#"{"command":"ls"}"#), @"answered: `exec_command` was not run: `cmd` is missing; it must be a string.");
    insta::assert_snapshot!(codex("exec_command", r#"{"cmd":["ls"]}"#), @"answered: `exec_command` was not run: `cmd` must be a string, not a list.");
    insta::assert_snapshot!(codex("exec_command", r#"{"cmd":"ls","yield_time_ms":"soon"}"#), @r#"answered: `exec_command` was not run: `yield_time_ms` must be a whole number, at least 0, not the string "soon"."#);
    insta::assert_snapshot!(codex("shell", r#"{"command":"ls"}"#), @r#"answered: `shell` was not run: `command` must be a list of strings, not the string "ls"."#);
    insta::assert_snapshot!(codex("shell", r#"{"command":[]}"#), @"answered: `shell` was not run: `command` is empty.");
    insta::assert_snapshot!(codex("shell", r#"{"command":["apply_patch","*** Begin Patch"]}"#), @"answered: `shell` was not run: a command cannot apply a patch here. Call the tool `apply_patch` with it.");
    insta::assert_snapshot!(codex("write_stdin", r#"{"chars":"y\n"}"#), @"answered: `write_stdin` was not run: `session_id` is missing; it must be a number.");
    insta::assert_snapshot!(codex("write_stdin", r#"{"session_id":7,"chars":"y\n"}"#), @r"answered: `write_stdin` was not run: nothing can be typed into a command here. Give it its input when you start it, by a pipe or a file; `chars` may be empty, to read on, or \u0003, to stop it.");
}

#[test]
fn a_session_of_codexs_is_a_command_in_the_background() {
    insta::assert_snapshot!(codex("write_stdin", r#"{"session_id":7}"#), @r#"BashOutput {"name":"session-7","wait_ms":5000}"#);
    insta::assert_snapshot!(codex("write_stdin", r#"{"session_id":7,"chars":"","yield_time_ms":90}"#), @r#"BashOutput {"name":"session-7","wait_ms":90}"#);
    insta::assert_snapshot!(codex("write_stdin", r#"{"session_id":7,"chars":"\u0003"}"#), @r#"BashOutput {"name":"session-7","stop":true}"#);
}

#[test]
fn a_directory_is_entered_in_a_way_that_still_counts_as_a_read() {
    for command in ["cat a.rs", "rg -n fn | head -3"] {
        let input = serde_json::json!({"cmd": command, "workdir": "src"}).to_string();
        let call = asked("exec_command", &input);
        let own = HostDialect::Codex.own_call(&call, Path::new(DIRECTORY)).unwrap();
        let call = tine_guard::Call::new(&own.name, &own.input, Path::new(DIRECTORY));
        let text = call.shell_text().unwrap();
        let reads = tine_guard::command_reads(
            Path::new(DIRECTORY),
            text,
            tine_guard::Width::Wide,
            Some(Path::new("/home/me")),
        );
        assert!(reads.is_some_and(|reads| reads.is_complete), "{}", own.input);
    }
}

#[test]
fn claude_codes_model_is_told_of_its_own_tools() {
    let claude = |name, input, answer| told(HostDialect::ClaudeCode, name, input, answer);
    let refused =
        ToolAnswer::error("`a` exists and has not been read yet; read it with FileRead first");
    insta::assert_snapshot!(claude("Write", r#"{"file_path":"a","content":"x"}"#, refused), @"`a` exists and has not been read yet; read it with Read first");
    // A text of a file stays as it is.
    let text = "     1\tuse FileRead";
    assert_eq!(claude("Read", r#"{"file_path":"a"}"#, ToolAnswer::ok(text)), text);
    let started = "[`command-1` is running in the background.] BashOutput reads on, and stops it.";
    insta::assert_snapshot!(claude("Bash", r#"{"command":"a","run_in_background":true}"#, ToolAnswer::ok(started)), @"[`command-1` is running in the background.] `BashOutput` or `TaskOutput` reads on, and `KillShell` or `TaskStop` stops it, with this name as the id, where you have them.");
    let input = r#"{"pattern":"x","offset":2}"#;
    assert_eq!(claude("Grep", input, ToolAnswer::ok("a\nb\nc\nd")), "c\nd");
    insta::assert_snapshot!(claude("Grep", input, ToolAnswer::ok("a\nb")), @"no more results: there are not more than 2");
}

#[test]
fn codexs_model_is_told_how_a_command_ended() {
    let ran = |text: &str| {
        told(HostDialect::Codex, "exec_command", r#"{"cmd":"x"}"#, ToolAnswer::ok(text))
    };
    insta::assert_snapshot!(ran("one\ntwo\n[exit code 0]"), @"
    Process exited with code 0
    Output:
    one
    two
    ");
    insta::assert_snapshot!(ran("[exit code 0]\n[exit code 101; processes left in the background were stopped]\n[only /srv/app can be written]"), @"
    Process exited with code 101
    Output:
    [exit code 0]
    [exit code 101; processes left in the background were stopped]
    [only /srv/app can be written]
    ");
    insta::assert_snapshot!(ran("half\n[timed out after 600000 ms; the command was stopped]"), @"
    half
    [timed out after 600000 ms; the command was stopped]
    ");
    insta::assert_snapshot!(ran("Denied: it is not allowed."), @"Denied: it is not allowed.");
    let polled = |text: &str| {
        told(HostDialect::Codex, "write_stdin", r#"{"session_id":7}"#, ToolAnswer::ok(text))
    };
    insta::assert_snapshot!(polled("listening\n[`session-7` is running in the background.]"), @"
    Process running with session ID 7
    Output:
    listening
    ");
    insta::assert_snapshot!(polled("bye\n[`session-7` has ended: exit code 3.]"), @"
    Process exited with code 3
    Output:
    bye
    ");
    insta::assert_snapshot!(polled("[`session-7` has ended: ended by signal 9.]"), @"
    Process ended: ended by signal 9
    Output:
    ");
}

#[test]
fn every_listed_tool_is_answered_and_no_argument_is_too_strange() {
    let strange = [
        "{}",
        r#"{"command":null,"cmd":3,"file_path":[],"pattern":{},"session_id":-1,"input":7}"#,
        r#"{"command":[1],"cmd":"","workdir":9,"file_path":"","content":"","old_string":"","new_string":""}"#,
        r#"{"pattern":"","offset":1e99,"head_limit":18446744073709551615,"session_id":18446744073709551615}"#,
    ];
    for dialect in [HostDialect::ClaudeCode, HostDialect::Codex] {
        for tool in dialect.tools() {
            for input in strange {
                let answer = mapped(dialect, tool, input);
                assert!(!answer.contains("does not work here"), "{tool}: {answer}");
            }
        }
    }
}
