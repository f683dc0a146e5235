//! Verdicts as a table of cases, and the laws that hold for every call.

#![expect(clippy::unwrap_used, reason = "test helpers, where a panic is the report")]

use std::path::Path;

use proptest::prelude::*;
use tine_guard::{Call, PermissionMode, Rules, Verdict, Width, describe, judge, shell_verdict};
use tine_model::RawJson;

use PermissionMode::{AcceptEdits, Bypass, Default, ReadOnly};

const DIRECTORY: &str = "/srv/app";

fn verdict(tool: &str, input: &str, mode: PermissionMode, rules: &Rules) -> String {
    let input = RawJson::parse(input).unwrap();
    let call = Call::new(tool, &input, Path::new(DIRECTORY));
    match judge(&call, mode, Width::Strict, rules) {
        Verdict::Allow => "allow".to_owned(),
        Verdict::Read => "read".to_owned(),
        Verdict::Ask(reason) => format!("ask: {reason}"),
        Verdict::Deny(reason) => format!("deny: {reason}"),
    }
}

/// One call in the four modes, without rules.
fn in_modes(tool: &str, input: &str) -> String {
    PermissionMode::ALL
        .map(|mode| format!("{mode}: {}", verdict(tool, input, mode, &Rules::default())))
        .join("\n")
}

fn with_rules(allow: &[&str], ask: &[&str], deny: &[&str]) -> Rules {
    Rules::parse(allow, ask, deny).unwrap()
}

fn file(path: &str) -> String {
    serde_json::json!({ "file_path": path }).to_string()
}

fn command(text: &str) -> String {
    serde_json::json!({ "command": text }).to_string()
}

#[test]
fn a_script_may_run_because_its_calls_are_judged_one_by_one() {
    let script = r#"{"code":"Bash(#{command: \"rm -rf /\"})"}"#;
    for mode in PermissionMode::ALL {
        assert_eq!(verdict("REPL", script, mode, &Rules::default()), "allow");
    }
    let rules = with_rules(&[], &["REPL"], &[]);
    insta::assert_snapshot!(verdict("REPL", script, Default, &rules), @"ask: the rule `REPL` asks");
    let rules = with_rules(&[], &[], &["REPL"]);
    insta::assert_snapshot!(verdict("REPL", script, Default, &rules), @"deny: the rule `REPL` denies it");
    insta::assert_snapshot!(verdict("REPL", "{}", Default, &Rules::default()), @"deny: `code` is missing");
}

#[test]
fn reading_inside_the_directory_is_free() {
    let inside = [
        ("FileRead", file("src/a.rs")),
        ("FileRead", file("/srv/app/src/../a.rs")),
        ("Glob", r#"{"pattern":"**/*.rs"}"#.to_owned()),
        ("Glob", r#"{"pattern":"/srv/app/src/*.rs"}"#.to_owned()),
        ("Grep", r#"{"pattern":"../../etc","path":"src"}"#.to_owned()),
    ];
    for (tool, input) in inside {
        for mode in PermissionMode::ALL {
            assert_eq!(verdict(tool, &input, mode, &Rules::default()), "allow", "{tool} {input}");
        }
    }
}

#[test]
fn reading_elsewhere_or_reading_secrets_is_asked() {
    insta::assert_snapshot!(in_modes("FileRead", &file("../b.rs")), @"
    default: ask: `/srv/b.rs` is outside the directory
    accept-edits: ask: `/srv/b.rs` is outside the directory
    read-only: ask: `/srv/b.rs` is outside the directory
    bypass: allow
    ");
    let check = |tool, input: &str| verdict(tool, input, Default, &Rules::default());
    insta::assert_snapshot!(check("FileRead", &file(".env")), @"ask: `.env` may hold keys or passwords");
    insta::assert_snapshot!(check("Grep", r#"{"pattern":"x","glob":"*.pem"}"#), @"ask: `.` may hold keys or passwords");
    insta::assert_snapshot!(check("Grep", r#"{"pattern":"x","path":"/"}"#), @"ask: `/` is outside the directory");
    insta::assert_snapshot!(check("Glob", r#"{"pattern":"/etc/**"}"#), @"ask: `/etc` is outside the directory");
    insta::assert_snapshot!(check("Glob", r#"{"pattern":"../*"}"#), @"ask: `/srv` is outside the directory");
    insta::assert_snapshot!(check("Glob", r#"{"pattern":"*/{..,a}/../x"}"#), @"ask: `/` is outside the directory");
}

#[test]
fn writing_depends_on_the_mode() {
    insta::assert_snapshot!(in_modes("FileEdit", &file("src/a.rs")), @"
    default: ask: FileEdit would write `src/a.rs`
    accept-edits: allow
    read-only: deny: FileEdit changes things and the mode is read-only
    bypass: allow
    ");
    let check = |path: &str| verdict("FileWrite", &file(path), AcceptEdits, &Rules::default());
    insta::assert_snapshot!(check("../x"), @"ask: `/srv/x` is outside the directory");
    insta::assert_snapshot!(check(".git/hooks/pre-commit"), @"ask: `.git/hooks/pre-commit` can start programs later");
    insta::assert_snapshot!(check(".tine/config.toml"), @"ask: `.tine/config.toml` tells agents what to do");
    insta::assert_snapshot!(check("docs/AGENTS.md"), @"ask: `docs/AGENTS.md` tells agents what to do");
    insta::assert_snapshot!(check(".local/bin/ls"), @"ask: `.local/bin/ls` can start programs later");
    insta::assert_snapshot!(check("deploy/.env"), @"ask: `deploy/.env` may hold keys or passwords");
    insta::assert_snapshot!(check("~/x"), @"ask: `~/x` is outside the directory");
}

#[test]
fn commands_and_unknown_tools_are_asked() {
    insta::assert_snapshot!(in_modes("Bash", &command("ls\nmake")), @r#"
    default: ask: no rule allows this command, and it may do more than read: `make` at line 2, column 1: it runs code of the project
    accept-edits: ask: no rule allows this command, and it may do more than read: `make` at line 2, column 1: it runs code of the project
    read-only: deny: Bash changes things and the mode is read-only (`make` at line 2, column 1: it runs code of the project)
    bypass: allow
    "#);
    insta::assert_snapshot!(in_modes("Teleport", r#"{"prompt":"x","list":[1]}"#), @"
    default: ask: no rule allows the tool `Teleport`
    accept-edits: ask: no rule allows the tool `Teleport`
    read-only: ask: no rule allows the tool `Teleport`
    bypass: allow
    ");
}

#[test]
fn what_cannot_be_judged_is_denied_even_in_bypass() {
    let check = |tool, input: &str| verdict(tool, input, Bypass, &Rules::default());
    insta::assert_snapshot!(check("FileRead", r#"{"arguments":{"file_path":"a"}}"#), @"deny: the arguments are wrapped in `arguments`; give the fields themselves, without the wrapper");
    insta::assert_snapshot!(check("FileRead", r#"{"file_path":"a","file_path":"b"}"#), @"deny: the arguments cannot be judged: the key `file_path` is written twice");
    insta::assert_snapshot!(check("FileRead", r#"{"file_path":"a","limit":{"x":1}}"#), @"deny: `limit` must be a plain value, not a list or an object");
    insta::assert_snapshot!(check("FileRead", "{}"), @"deny: `file_path` is missing");
    insta::assert_snapshot!(check("FileRead", r#"{"file_path":5}"#), @"deny: `file_path` must be a string, not a number");
    insta::assert_snapshot!(check("FileRead", r#"{"file_path":"a\u0000b"}"#), @"deny: `file_path` holds a NUL character");
    insta::assert_snapshot!(check("Bash", "[]"), @"deny: the arguments must be an object with named fields, not a list");
    insta::assert_snapshot!(check("Bash", &command(&"x".repeat(200_000))), @"deny: the command is longer than 131072 bytes");
}

#[test]
fn deny_beats_ask_beats_allow() {
    let check = |allow: &[&str], ask: &[&str], deny: &[&str], mode| {
        verdict("Bash", &command("git push origin"), mode, &with_rules(allow, ask, deny))
    };
    assert_eq!(check(&["Bash"], &[], &[], Default), "allow");
    assert_eq!(check(&["Bash(git push *)"], &[], &[], Default), "allow");
    assert_eq!(
        check(&["Bash"], &["Bash(git push*)"], &[], Default),
        "ask: the rule `Bash(git push*)` asks"
    );
    assert_eq!(
        check(&["Bash"], &["Bash"], &["Bash(*push*)", "Bash(*origin)"], Bypass),
        "deny: the rule `Bash(*origin)` denies it"
    );
    assert_eq!(check(&[], &["Bash"], &[], Bypass), "allow");
    assert!(check(&["Bash"], &[], &[], ReadOnly).starts_with("deny"));
}

#[test]
fn an_allowed_command_carries_no_second_one() {
    let rules = with_rules(&["Bash(git log *)"], &[], &[]);
    let check = |text: &str| verdict("Bash", &command(text), Default, &rules);
    assert_eq!(check("git log -5"), "allow");
    for second in ["git log -5; rm -rf ~", "git log $(rm -rf ~)", "cd x && git log -5"] {
        assert!(check(second).starts_with("ask: no rule allows this command"), "{second}");
    }
}

#[test]
fn a_command_that_only_reads_is_judged_like_its_reads() {
    insta::assert_snapshot!(in_modes("Bash", &command("ls -la && head -5 src/*.rs")), @"
    default: read
    accept-edits: read
    read-only: read
    bypass: allow
    ");
    insta::assert_snapshot!(in_modes("Bash", &command("cat ../b.rs")), @"
    default: ask: `../b.rs` is outside the directory
    accept-edits: ask: `../b.rs` is outside the directory
    read-only: ask: `../b.rs` is outside the directory
    bypass: allow
    ");
    insta::assert_snapshot!(in_modes("Bash", &command("grep -i key .env")), @"
    default: ask: `.env` may hold keys or passwords
    accept-edits: ask: `.env` may hold keys or passwords
    read-only: ask: `.env` may hold keys or passwords
    bypass: allow
    ");
}

#[test]
fn a_rule_for_the_reading_tools_holds_for_commands() {
    let rules =
        with_rules(&[], &["FileRead(drafts/**)"], &["FileRead(private/**)", "Grep(private/**)"]);
    let check = |text: &str| verdict("Bash", &command(text), Default, &rules);
    assert_eq!(check("cat src/a.rs"), "read");
    assert_eq!(check("cat drafts/a"), "ask: the rule `FileRead(drafts/**)` asks");
    let denied = "deny: the rule `FileRead(private/**)` denies it";
    for reading in
        ["cat private/x", "cat ./private/../private/x", "cd private && cat x", "cat priv*/x"]
    {
        assert!(check(reading).starts_with("deny: the rule"), "{reading}");
    }
    assert_eq!(check("wc -l < private/x"), denied);
    assert_eq!(check("grep -r x"), denied);
    assert_eq!(check("ls | grep x"), "read");
}

#[test]
fn a_read_that_a_rule_allows_is_allowed_by_the_rule() {
    let rules = with_rules(&["Bash(git log *)"], &[], &[]);
    assert_eq!(verdict("Bash", &command("git log -5"), Default, &rules), "allow");
    assert_eq!(verdict("Bash", &command("git branch --show-current"), Default, &rules), "read");
    assert_eq!(verdict("FileRead", &file("a"), Default, &rules), "allow");
}

#[test]
fn git_is_asked_about_without_a_wall_where_it_may_start_programs() {
    let check = |text: &str| verdict("Bash", &command(text), Default, &Rules::default());
    for free in ["git config --list", "git remote -v", "git rev-parse --show-toplevel"] {
        assert_eq!(check(free), "read", "{free}");
    }
    insta::assert_snapshot!(check("ls; git diff"), @"ask: no read-only wall stands here, and `git diff` may start programs that the repository's settings name");
    for asked in ["git status", "git log -3", "git show", "git blame a", "git ls-files"] {
        assert!(check(asked).starts_with("ask: no read-only wall stands here"), "{asked}");
    }
    insta::assert_snapshot!(verdict("Bash", &command("git diff"), ReadOnly, &Rules::default()), @"ask: no read-only wall stands here, and `git diff` may start programs that the repository's settings name");
}

#[test]
fn a_wide_read_is_judged_like_its_reads() {
    let wide = |text: &str, mode| {
        let input = RawJson::parse(&command(text)).unwrap();
        let call = Call::new("Bash", &input, Path::new(DIRECTORY));
        judge(&call, mode, Width::Wide, &Rules::default())
    };
    for read in ["for f in *.rs; do wc -l \"$f\"; done", "cat $(git ls-files)", "ls | xargs head"] {
        assert_eq!(wide(read, Default), Verdict::Read, "{read}");
        assert_eq!(wide(read, ReadOnly), Verdict::Read, "{read}");
        assert_eq!(wide(read, Bypass), Verdict::Allow, "{read}");
        assert!(verdict("Bash", &command(read), Default, &Rules::default()).starts_with("ask"));
    }
    for asked in [
        "for f in a b; do cat \"../$f\"; done",
        "ls | while read -r d; do cat \"$d/.env\"; done",
        "cat \"$HOME/notes\"",
        "git -C .. log",
        "find . -exec cat .env {} +",
    ] {
        assert!(matches!(wide(asked, Default), Verdict::Ask(_)), "{asked}");
    }
    assert!(matches!(wide("for f in *; do rm $f; done", ReadOnly), Verdict::Deny(_)));
}

#[test]
fn path_rules_follow_the_resolved_path() {
    let rules = with_rules(
        &["FileEdit(src/**)", "FileRead(/etc/*.conf)", "FileRead(config/*.pem)", "Grep(/opt/**)"],
        &["FileEdit(src/keep)"],
        &["FileRead(private)", "Grep(private/**)"],
    );
    let check = |tool, input: &str| verdict(tool, input, Default, &rules);
    assert_eq!(check("FileEdit", &file("src/deep/a.rs")), "allow");
    assert_eq!(check("FileEdit", &file("src/../b.rs")), "ask: FileEdit would write `b.rs`");
    assert_eq!(check("FileEdit", &file("src/keep/x")), "ask: the rule `FileEdit(src/keep)` asks");
    assert_eq!(check("FileRead", &file("/etc/a.conf")), "allow");
    assert!(check("FileRead", &file("/etc/x/a.conf")).starts_with("ask"));
    assert_eq!(check("FileRead", &file("config/a.pem")), "allow");
    assert_eq!(
        check("FileRead", &file("src/../private/deep/x")),
        "deny: the rule `FileRead(private)` denies it"
    );
    assert_eq!(check("Grep", r#"{"pattern":"x","path":"/opt/tool"}"#), "allow");
    let denied = "deny: the rule `Grep(private/**)` denies it";
    assert_eq!(check("Grep", r#"{"pattern":"x","path":"private"}"#), denied);
    assert_eq!(check("Grep", r#"{"pattern":"x"}"#), denied);
    assert_eq!(check("Grep", r#"{"pattern":"x","path":"src"}"#), "allow");
}

#[test]
fn a_secret_is_opened_only_by_a_rule_that_names_one() {
    let check =
        |rule: &str| verdict("FileRead", &file("a/.env"), Default, &with_rules(&[rule], &[], &[]));
    assert!(check("FileRead").starts_with("ask"));
    assert!(check("FileRead(**)").starts_with("ask"));
    assert_eq!(check("FileRead(a/.env)"), "allow");
    assert_eq!(check("FileRead(**/.env)"), "allow");
}

const TOOLS: [&str; 8] =
    ["Bash", "FileEdit", "FileRead", "FileWrite", "Glob", "Grep", "Agent", "x\ny"];

fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        "[a-z./~*;$({ \\PC]{0,12}".prop_map(Into::into),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let key = prop_oneof![
            Just("file_path".to_owned()),
            Just("path".to_owned()),
            Just("pattern".to_owned()),
            Just("command".to_owned()),
            Just("arguments".to_owned()),
            "\\PC{0,4}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((key, inner), 0..4)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_rule() -> impl Strategy<Value = String> {
    let pattern = prop_oneof!["[a-z*./{,}\\[\\]!-]{1,10}", "\\PC{1,10}"];
    (prop::sample::select(TOOLS.to_vec()), prop::option::of(pattern)).prop_map(|(tool, pattern)| {
        match pattern {
            None => tool.to_owned(),
            Some(pattern) => format!("{tool}({pattern})"),
        }
    })
}

proptest! {
    #[test]
    fn no_call_and_no_rule_panics(
        tool in prop::sample::select(TOOLS.to_vec()),
        input in any_value(),
        directory in prop_oneof![Just("/srv/app"), Just(""), Just("relative"), Just("/")],
        rules in prop::collection::vec(any_rule(), 0..6),
    ) {
        let rules: Vec<_> = rules.iter().filter_map(|text| text.parse().ok()).collect();
        let input = RawJson::parse(&input.to_string()).unwrap();
        let call = Call::new(tool, &input, Path::new(directory));
        let rules = Rules { allow: rules.clone(), ask: rules.clone(), deny: rules };
        for mode in PermissionMode::ALL {
            judge(&call, mode, Width::Strict, &rules);
            judge(&call, mode, Width::Wide, &rules);
            prop_assert!(!describe(&call).contains('\n'));
        }
    }

    #[test]
    fn a_deny_rule_wins_over_all_others(
        tool in prop::sample::select(TOOLS[..7].to_vec()),
        input in any_value(),
        allow in prop::collection::vec(any_rule(), 0..6),
    ) {
        let allow: Vec<_> = allow.iter().filter_map(|text| text.parse().ok()).collect();
        let rules = Rules { allow, deny: vec![tool.parse().unwrap()], ..Rules::default() };
        for mode in PermissionMode::ALL {
            prop_assert!(verdict(tool, &input.to_string(), mode, &rules).starts_with("deny"));
        }
    }

    #[test]
    fn a_denied_path_stays_denied_however_it_is_written(
        detour in prop::collection::vec("[a-z]{1,4}", 0..4),
        mode in prop::sample::select(PermissionMode::ALL.to_vec()),
    ) {
        let rules = with_rules(&["FileRead", "FileRead(**)"], &[], &["FileRead(private/**)"]);
        let way: String = detour.iter().map(|part| format!("{part}/../")).collect();
        for path in [format!("{way}private/x"), format!("{DIRECTORY}/./{way}private//x")] {
            prop_assert!(verdict("FileRead", &file(&path), mode, &rules).starts_with("deny"));
        }
    }

    #[test]
    fn a_wildcard_rule_never_allows_a_second_command(
        filling in "[a-z -]{0,6}[;&|`<>\n\r\0]x[a-z -]{0,6}",
    ) {
        let rules = with_rules(&["Bash(git log *)"], &[], &[]);
        let text = format!("git log {filling}");
        let said = verdict("Bash", &command(&text), Default, &rules);
        let reads = shell_verdict(&text, Width::Strict).read_only;
        prop_assert!(reads || said.starts_with("ask: no rule allows this command"), "{}", said);
    }
}
