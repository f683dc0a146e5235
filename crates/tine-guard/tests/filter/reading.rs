//! What runs that must not see secrets may read.

use tine_guard::filter::ReadOnlyFilter;

use crate::support::{Home, file};

#[test]
fn reading_is_free_but_for_secrets() {
    let home = Home::new();
    home.link("home/.env", "plain.txt");
    home.link("home/.ssh", "door");
    home.link(".env", "home/relative");
    let filter = home.filter();
    let said =
        |tool: &str, input: &str| home.said(&filter, tool, &input.replace("HOME/", &home.text("")));
    let read = |path: &str| said("FileRead", &file(path));
    for path in [
        "/etc/hosts",
        "HOME/out/a.md",
        "a.md",
        "../out/a.md",
        "HOME/none",
        "HOME/home/.env.example",
    ] {
        assert_eq!(read(path), "allow", "{path}");
    }
    insta::assert_snapshot!(read("HOME/home/.env"), @"secret: Denied: `HOME/home/.env` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(read(".env"), @"secret: Denied: `.env` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(read("HOME/plain.txt"), @"secret: Denied: `HOME/plain.txt` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(read("relative"), @"secret: Denied: `relative` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(read("HOME/door/id_rsa"), @"secret: Denied: `HOME/door/id_rsa` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(read("/proc/self/environ"), @"secret: Denied: `/proc/self/environ` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(read("HOME/door/../home/.ENV"), @"secret: Denied: `HOME/door/../home/.ENV` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(said("FileRead", r#"{"path":"HOME/home/.env"}"#), @"secret: Denied: `HOME/home/.env` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(said("FileRead", r#"{"file_path":"a","path":"HOME/home/.env"}"#), @"arguments: Denied: `file_path` and `path` could both mean the path; give `file_path` alone. Use FileRead, Glob, Grep, REPL, read-only Bash, and FileEdit or FileWrite inside `HOME/mem`.");
    insta::assert_snapshot!(said("Grep", r#"{"pattern":"x","path":"HOME/door"}"#), @"secret: Denied: `HOME/door` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(said("Grep", r#"{"pattern":"x","glob":".env*"}"#), @"secret: Denied: `.env*` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(said("Grep", r#"{"pattern":"x","glob":"*.{rs,pem}"}"#), @"secret: Denied: `*.{rs,pem}` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(said("Glob", r#"{"pattern":"HOME/door/*"}"#), @"secret: Denied: `HOME/door` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(said("Glob", r#"{"pattern":".ssh/*"}"#), @"secret: Denied: `.ssh` may hold keys or passwords. Go on without it; other files may be read.");
    for (tool, input) in [
        ("Grep", r#"{"pattern":"password|.env","path":"HOME/out","-i":true,"head_limit":5}"#),
        ("Glob", r#"{"pattern":"**/*.rs","path":"HOME/out"}"#),
        ("Glob", r#"{"pattern":"*"}"#),
    ] {
        assert_eq!(said(tool, input), "allow", "{tool} {input}");
    }
}

#[test]
fn a_run_that_only_reads_may_call_nothing_else() {
    let home = Home::new();
    let filter = ReadOnlyFilter::new().in_directory(&home.path("home"));
    let said = |tool: &str, input: &str| home.said(&filter, tool, input);
    assert_eq!(said("FileRead", &file("/etc/hosts")), "allow");
    assert_eq!(said("Glob", r#"{"pattern":"*"}"#), "allow");
    insta::assert_snapshot!(said("FileRead", &file(".env")), @"secret: Denied: `.env` may hold keys or passwords. Go on without it; other files may be read.");
    insta::assert_snapshot!(said("FileWrite", &file(&home.text("mem/a.md"))), @"tool_refused: Denied: this run may not call `FileWrite`. Use FileRead, Glob, Grep, or Bash with a command that only reads.");
    insta::assert_snapshot!(said("REPL", r#"{"code":"1"}"#), @"tool_refused: Denied: this run may not call `REPL`. Use FileRead, Glob, Grep, or Bash with a command that only reads.");
    insta::assert_snapshot!(said("Bash", r#"{"command":"touch x"}"#), @"not_read_only: Denied: `touch` at column 1: not on the list of commands that only read. Use a command that only reads, or FileRead, Glob and Grep.");
    insta::assert_snapshot!(said("Read", "{}"), @"unknown_tool: Denied: there is no tool `Read`. Did you mean `FileRead`?");
}
