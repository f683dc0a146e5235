//! `tine guard filter`: one call on the command line, or one a line.

use crate::support::Home;

/// Runs `tine guard filter --jsonl` on these bytes; its lines.
fn lines(home: &Home, input: impl Into<Vec<u8>>) -> Vec<String> {
    let output =
        home.tine(&["guard", "filter", "--jsonl"]).write_stdin(input.into()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = home.masked(&String::from_utf8(output.stdout).unwrap());
    text.lines().map(str::to_owned).collect()
}

fn new(home: &Home) -> String {
    format!("{}\n", serde_json::json!({ "op": "new", "memory_dir": home.work() }))
}

#[test]
fn one_call_is_judged_on_the_command_line() {
    let home = Home::new();
    let ask = |arguments: &[&str]| {
        home.shown(&home.ran(&[&["guard", "filter", "--memory-dir", "."], arguments].concat()))
    };
    check!(ask(&["FileRead", r#"{"file_path":"/etc/hosts"}"#]), @"
    code: 0
    --- stdout
    allow
    --- stderr
    ");
    check!(ask(&["FileWrite", r#"{"file_path":"/etc/hosts"}"#]), @"
    code: 56
    --- stdout
    deny: `/etc/hosts` is outside the directory that may be written
    --- stderr
    hint: Write only files inside `[HOME]/work`; give absolute paths.
    ");
    check!(ask(&["Write", "{}", "--json"]), @r#"
    code: 56
    --- stdout
    {"allow":false,"reason":"there is no tool `Write`. Did you mean `FileWrite`?"}
    --- stderr
    "#);
    check!(ask(&["FileWrite", "{"]), @"
    code: 56
    --- stdout
    deny: the arguments are not one JSON value
    --- stderr
    ");
    let missing = ["guard", "filter", "--memory-dir", "none", "FileRead", "{}"];
    check!(home.shown(&home.ran(&missing)), @"
    code: 42
    --- stdout
    --- stderr
    error: cannot use the directory `[HOME]/work/none`: No such file or directory (os error 2)
    hint: --memory-dir is a directory that exists
    ");
    assert_eq!(home.ran(&["guard", "filter"]).code, 2);
    assert_eq!(home.ran(&["guard", "filter", "--jsonl", "FileRead", "{}"]).code, 2);
    // It needs no store.
    assert!(!home.path().join("tine.db").exists());
}

#[test]
fn each_line_has_its_answer_whatever_it_holds() {
    let home = Home::new();
    let mut input = new(&home).into_bytes();
    input.extend_from_slice(b"\xff\xfe\n\n");
    input.extend(br#"{"op":"check","tool":"FileWrite","args":"#);
    input.extend("[".repeat(100_000).bytes().chain("]".repeat(100_000).bytes()));
    input.extend_from_slice(b"}\n");
    input.extend("x".repeat(17 * 1024 * 1024).bytes());
    input.extend_from_slice(b"\n{\"op\":\"check\",\"tool\":\"Glob\",\"args\":{\"pattern\":\"*\"}}");
    check!(lines(&home, input).join("\n"), @r#"
    {"ok":true}
    {"ok":false,"allow":false,"error":"the line is not UTF-8","reason":"the line is not UTF-8"}
    {"ok":false,"allow":false,"error":"the line is not a JSON object","reason":"the line is not a JSON object"}
    {"allow":false,"reason":"the arguments cannot be judged: recursion limit exceeded. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `[HOME]/work`."}
    {"ok":false,"allow":false,"error":"the line is longer than 16 MiB","reason":"the line is longer than 16 MiB"}
    {"allow":true,"reason":"the filter allows this call"}
    "#);
}

#[test]
fn a_large_content_is_no_obstacle() {
    let home = Home::new();
    let path = home.work().join("a.md");
    let order = serde_json::json!({
        "op": "check", "tool": "FileWrite", "args": { "file_path": path, "content": "x".repeat(1 << 20) }
    });
    let answers = lines(&home, format!("{}{order}\n", new(&home)));
    assert_eq!(answers[1], r#"{"allow":true,"reason":"the filter allows this call"}"#);
}
