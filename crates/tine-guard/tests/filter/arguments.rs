//! Names and arguments that two readers could understand in two ways.

use crate::support::Home;

#[test]
fn only_canonical_names_are_tools() {
    let home = Home::new();
    let filter = home.filter();
    let said = |tool: &str| home.said(&filter, tool, "{}");
    insta::assert_snapshot!(said("bash"), @"unknown_tool: Denied: there is no tool `bash`. Did you mean `Bash`?");
    insta::assert_snapshot!(said(" FileWrite"), @"unknown_tool: Denied: there is no tool ` FileWrite`. Did you mean `FileWrite`?");
    insta::assert_snapshot!(said("Write"), @"unknown_tool: Denied: there is no tool `Write`. Did you mean `FileWrite`?");
    insta::assert_snapshot!(said("file_edit"), @"unknown_tool: Denied: there is no tool `file_edit`. Did you mean `FileEdit`?");
    insta::assert_snapshot!(said("Agent"), @"tool_refused: Denied: this run may not call `Agent`. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said(""), @"tool_refused: Denied: this run may not call ``. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileRead\n"), @r"unknown_tool: Denied: there is no tool `FileRead\n`. Did you mean `FileRead`?");
    insta::assert_snapshot!(said("mcp__files__write"), @"tool_refused: Denied: this run may not call `mcp__files__write`. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    for tool in ["FileRead", "Glob", "Grep", "REPL"] {
        assert_eq!(said(tool), "allow", "{tool}");
    }
}

#[test]
fn arguments_that_are_not_flat_and_single_are_refused() {
    let home = Home::new();
    let filter = home.filter();
    let path = home.text("mem/a.md");
    let said = |tool: &str, input: &str| home.said(&filter, tool, &input.replace("PATH", &path));
    insta::assert_snapshot!(said("FileWrite", r#"{"input":{"file_path":"PATH"}}"#), @"arguments: Denied: the arguments are wrapped in `input`; give the fields themselves, without the wrapper. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"arguments":"{\"file_path\":\"PATH\"}"}"#), @"arguments: Denied: the arguments are wrapped in `arguments`; give the fields themselves, without the wrapper. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"file_path":"PATH","input":{"file_path":"/etc/passwd"}}"#), @"arguments: Denied: the arguments must be flat, and `input` holds a list or an object. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"file_path":"PATH","file_path":"/etc/passwd"}"#), @"arguments: Denied: the arguments cannot be judged: the key `file_path` is written twice. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"file_path":"PATH","file\u005fpath":"/etc/passwd"}"#), @"arguments: Denied: the arguments cannot be judged: the key `file_path` is written twice. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"file_path":["PATH"]}"#), @"arguments: Denied: the arguments must be flat, and `file_path` holds a list or an object. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"file_path":5}"#), @"arguments: Denied: `file_path` must be a string, not a number. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"file_path":null}"#), @"arguments: Denied: `file_path` is missing. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"content":"x"}"#), @"arguments: Denied: `file_path` is missing. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"file_path":"PATH","path":"/etc/passwd"}"#), @"arguments: Denied: `file_path` and `path` could both mean the path; give `file_path` alone. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileEdit", r#"{"file_path":"PATH","filePath":"/etc/passwd"}"#), @"arguments: Denied: `file_path` and `filePath` could both mean the path; give `file_path` alone. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"path":"PATH"}"#), @"arguments: Denied: FileWrite does not know the argument `path`; it takes file_path, content. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"file_path":"PATH","content":5}"#), @"arguments: Denied: `content` must be a string, not a number. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"file_path":"PATH","mode":"append"}"#), @"arguments: Denied: FileWrite does not know the argument `mode`; it takes file_path, content. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", r#"{"File_Path":"PATH"}"#), @"arguments: Denied: FileWrite does not know the argument `File_Path`; it takes file_path, content. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", "[]"), @"arguments: Denied: the arguments must be an object with named fields, not a list. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", "\"x\""), @"arguments: Denied: the arguments must be an object with named fields, not a string. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("FileWrite", "null"), @"arguments: Denied: the arguments must be an object with named fields, not null. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("REPL", r#"{"code":"1","code":"2"}"#), @"arguments: Denied: the arguments cannot be judged: the key `code` is written twice. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("Bash", r#"{"command":"ls","run_in_background":true}"#), @"arguments: Denied: Bash does not know the argument `run_in_background`; it takes command, timeout_ms, timeout, description. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("Bash", r#"{"command":""}"#), @"arguments: Denied: `command` is empty. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("Bash", r#"{"cmd":"ls"}"#), @"arguments: Denied: Bash does not know the argument `cmd`; it takes command, timeout_ms, timeout, description. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    insta::assert_snapshot!(said("FileWrite", &deep), @"arguments: Denied: the arguments cannot be judged: recursion limit exceeded. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    let whole =
        r#"{"file_path":"PATH","old_string":"a","new_string":"b\u0000","replace_all":true}"#;
    assert_eq!(said("FileEdit", whole), "allow");
}
