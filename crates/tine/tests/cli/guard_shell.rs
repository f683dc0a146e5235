//! `tine guard shell`: for a person, for a program, and for a stream of commands.

use crate::support::{Home, Ran};

#[test]
fn one_command_is_judged_in_words() {
    let home = Home::new();
    let judged = |command: &str| {
        let ran = home.ran(&["guard", "shell", command]);
        format!("{} {}{}", ran.code, ran.stdout, ran.stderr)
    };
    check!(judged("git log --oneline | head"), @"0 read-only: only reading commands: `git`, `head`");
    check!(judged("rm -rf build"), @"
    56 not read-only: `rm` at column 1: not on the list of commands that only read
    warning: deletes folders with all that is in them, without asking
    ");
    check!(judged("-x"), @"56 not read-only: `-x` at column 1: not a plain command name");
    assert!(!home.path().join("tine.db").exists(), "nothing is made on the way");
}

#[test]
fn one_command_is_judged_in_json() {
    let home = Home::new();
    let ran = home.ran(&["guard", "shell", "--json", "find . -delete"]);
    assert_eq!(ran.code, 56);
    check!(ran.stdout, @r#"{"read_only":false,"reason":"`-delete` at column 8: not on the list of what `find` may do"}"#);
    check!(home.done(&["guard", "shell", "--json", "ls"]), @r#"{"read_only":true,"reason":"only reading commands: `ls`"}"#);
}

#[test]
fn a_stream_is_answered_line_by_line() {
    let home = Home::new();
    let stdin = b"{\"cmd\":\"ls\"}\n{\"cmd\":\"rm a\"}\n\nnot json\n{\"cmd\":\"ls \\ud800\"}\n\xff\n{\"cmd\":\"pwd\"}";
    let ran = Ran::of(home.tine(&["guard", "shell", "--jsonl"]).write_stdin(stdin.to_vec()));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    check!(ran.stdout, @r#"
    {"read_only":true,"reason":"only reading commands: `ls`"}
    {"read_only":false,"reason":"`rm` at column 1: not on the list of commands that only read"}
    {"read_only":false,"reason":"the line is not a JSON object with a text `cmd`"}
    {"read_only":false,"reason":"the line is not a JSON object with a text `cmd`"}
    {"read_only":false,"reason":"the line is not a JSON object with a text `cmd`: unexpected end of hex escape at line 1 column 18"}
    {"read_only":false,"reason":"the line is not UTF-8"}
    {"read_only":true,"reason":"only reading commands: `pwd`"}
    "#);
}

#[test]
fn the_wide_verdict_knows_what_people_type() {
    let home = Home::new();
    let judged = |command: &str| {
        let ran = home.ran(&["guard", "shell", "--wide", command]);
        format!("{} {}{}", ran.code, ran.stdout, ran.stderr)
    };
    check!(judged("for f in *.md; do wc -l \"$f\"; done"), @"0 read-only: only reading commands: `wc`");
    check!(judged("for f in *; do make $f; done"), @"56 not read-only: `make` at column 16: it runs code of the project");
    let stdin = b"{\"cmd\":\"echo $(ls)\"}\n{\"cmd\":\"echo $(rm a)\"}\n";
    let mut stream = home.tine(&["guard", "shell", "--wide", "--jsonl"]);
    check!(Ran::of(stream.write_stdin(stdin.to_vec())).stdout, @r#"
    {"read_only":true,"reason":"only reading commands: `ls`, `echo`"}
    {"read_only":false,"reason":"`rm` at column 8: not on the list of commands that only read"}
    "#);
}

#[test]
fn a_line_that_is_too_long_is_answered_and_passed_over() {
    let home = Home::new();
    let long = format!("{{\"cmd\":\"{}\"}}\n{{\"cmd\":\"pwd\"}}\n", "x".repeat(3_000_000));
    let ran = Ran::of(home.tine(&["guard", "shell", "--jsonl"]).write_stdin(long));
    check!(ran.stdout, @r#"
    {"read_only":false,"reason":"the line is longer than 1048576 bytes"}
    {"read_only":true,"reason":"only reading commands: `pwd`"}
    "#);
}

#[test]
fn a_mistake_is_a_usage_error() {
    let home = Home::new();
    assert_eq!(home.ran(&["guard", "shell"]).code, 2);
    assert_eq!(home.ran(&["guard", "shell", "--jsonl", "ls"]).code, 2);
    assert_eq!(home.ran(&["guard", "shell", "--jsonl", "--json"]).code, 2);
}
