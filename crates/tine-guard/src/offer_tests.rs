use proptest::prelude::*;
use tine_model::RawJson;

use super::*;
use crate::judge::judge;
use crate::rule::Rules;
use crate::shell::Width;
use crate::verdict::{PermissionMode, Verdict};

fn with_call<T>(tool: &str, input: serde_json::Value, look: impl FnOnce(&Call<'_>) -> T) -> T {
    let input = RawJson::parse(&input.to_string()).unwrap();
    look(&Call::new(tool, &input, Path::new("/srv/.config/app")))
}

fn offers(tool: &str, input: serde_json::Value) -> Vec<OfferedRule> {
    with_call(tool, input, offered_rules)
}

fn of_command(command: &str) -> Vec<OfferedRule> {
    offers("Bash", serde_json::json!({ "command": command }))
}

fn of_file(path: &str) -> Vec<OfferedRule> {
    offers("FileEdit", serde_json::json!({ "file_path": path }))
}

/// The rules of several calls, a line for each.
fn told(calls: &[&str], offers: impl Fn(&str) -> Vec<OfferedRule>) -> String {
    let line = |call: &&str| {
        let shown = call.escape_default();
        match offers(call).as_slice() {
            [] => format!("{shown}: nothing wider"),
            [one] if one.rule == one.short => format!("{shown}: {}", one.rule),
            [one] => format!("{shown}: {} ({})", one.short, one.rule),
            more => format!("{shown}: {more:?}"),
        }
    };
    calls.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_known_command_is_offered_with_any_arguments() {
    let calls = [
        "cargo test --lib parser",
        "cargo test",
        "cargo nextest run -p a",
        "npm run test:unit -- -t x",
        "npm run env",
        "npm run start",
        "git commit -m \"a b\"",
        "git push origin main",
        "cargo run -- x",
        "make test",
        "make -n",
        "cargo fmt --check",
        "git fetch",
        "terraform plan -out x",
        "docker ps -a",
        "sh -c 'cargo test'",
        "env cargo test",
        "sudo cargo test",
        "X=1 cargo test",
        "cargo  test",
        " cargo test",
        "cargo +nightly test",
        "cargo test | tail",
        "cargo test && rm x",
        "cargo test > log",
        "cargo test $(rm x)",
        "cargo test\nrm x",
        "c\u{430}rgo test",
        "cargo tests",
    ];
    insta::assert_snapshot!(told(&calls, of_command), @r#"
    cargo test --lib parser: Bash(cargo test *)
    cargo test: Bash(cargo test *)
    cargo nextest run -p a: Bash(cargo nextest run *)
    npm run test:unit -- -t x: Bash(npm run test:unit *)
    npm run env: nothing wider
    npm run start: nothing wider
    git commit -m \"a b\": Bash(git commit *)
    git push origin main: nothing wider
    cargo run -- x: nothing wider
    make test: nothing wider
    make -n: nothing wider
    cargo fmt --check: Bash(cargo fmt *)
    git fetch: nothing wider
    terraform plan -out x: Bash(terraform plan *)
    docker ps -a: Bash(docker ps *)
    sh -c \'cargo test\': nothing wider
    env cargo test: nothing wider
    sudo cargo test: nothing wider
    X=1 cargo test: nothing wider
    cargo  test: nothing wider
     cargo test: nothing wider
    cargo +nightly test: nothing wider
    cargo test | tail: nothing wider
    cargo test && rm x: nothing wider
    cargo test > log: nothing wider
    cargo test $(rm x): nothing wider
    cargo test\nrm x: nothing wider
    c\u{430}rgo test: nothing wider
    cargo tests: nothing wider
    "#);
}

#[test]
fn a_folder_of_the_project_is_offered_and_what_stands_there_that_runs_later_is_not_covered() {
    let calls = [
        "src/main.rs",
        "crates/a/src/lib.rs",
        "main.rs",
        "src/../src/a.rs",
        "/srv/.config/app/src/a.rs",
        "../other/a.rs",
        "/etc/hosts",
        "~/a.rs",
        "Makefile",
        "web/package.json",
        ".husky/pre-commit",
        ".env",
        "src[1]/a.rs",
        "src\u{202e}/a.rs",
    ];
    insta::assert_snapshot!(told(&calls, of_file), @r"
    src/main.rs: FileEdit(src/**) (FileEdit(/srv/.config/app/src/**))
    crates/a/src/lib.rs: FileEdit(crates/a/src/**) (FileEdit(/srv/.config/app/crates/a/src/**))
    main.rs: FileEdit(**) (FileEdit(/srv/.config/app/**))
    src/../src/a.rs: FileEdit(src/**) (FileEdit(/srv/.config/app/src/**))
    /srv/.config/app/src/a.rs: FileEdit(src/**) (FileEdit(/srv/.config/app/src/**))
    ../other/a.rs: nothing wider
    /etc/hosts: nothing wider
    ~/a.rs: nothing wider
    Makefile: nothing wider
    web/package.json: nothing wider
    .husky/pre-commit: nothing wider
    .env: nothing wider
    src[1]/a.rs: nothing wider
    src\u{202e}/a.rs: nothing wider
    ");
}

#[test]
fn what_is_no_write_and_no_command_has_nothing_wider() {
    assert_eq!(offers("FileRead", serde_json::json!({"file_path":"/etc/hosts"})), []);
    assert_eq!(offers("Other", serde_json::json!({"a":1})), []);
    assert_eq!(offers("Bash", serde_json::json!({"cmd":"cargo test"})), []);
}

#[test]
fn each_offer_says_what_it_means() {
    let notes = ["cargo test", "git add a"].map(|command| of_command(command)[0].note);
    insta::assert_snapshot!(notes.join("\n"), @"
    `*` stands for any arguments. The command runs code of the project, whatever that is by then.
    `*` stands for any arguments.
    ");
    insta::assert_snapshot!(of_file("src/a.rs")[0].note, @"Files in it that may hold secrets, or that can start programs, are asked about still.");
}

/// Programs that take other programs, or a text to run, among their arguments.
const RUNNERS: [&str; 40] = [
    "sh", "bash", "zsh", "dash", "env", "sudo", "doas", "su", "xargs", "python", "python3", "perl",
    "ruby", "node", "deno", "bun", "php", "lua", "awk", "find", "fd", "nohup", "nice", "timeout",
    "time", "watch", "setsid", "stdbuf", "strace", "parallel", "entr", "ssh", "docker", "make",
    "just", "npx", "uv", "rsync", "eval", "exec",
];

/// Texts that make another command of a command.
const OPERATORS: [&str; 12] =
    [";", "&", "&&", "|", "||", "\n", ">", "<", "`rm x`", "$(rm x)", "<(rm x)", "\r"];

proptest! {
    #[test]
    fn an_offered_command_covers_the_one_that_was_asked_and_no_second_one(
        arguments in "[ -~]{0,20}",
        operator in prop::sample::select(&OPERATORS),
        other in "[ -~]{0,20}",
    ) {
        let command = format!("cargo test {arguments}");
        let permits = |rule: &Rule, command: &str| {
            with_call("Bash", serde_json::json!({ "command": command }), |call| rule.permits(call))
        };
        // In quotes and comments an operator is a character as any.
        let hides = |c: char| "'\"\\#$`{([".contains(c);
        for offer in of_command(&command) {
            let rule: Rule = offer.rule.parse().unwrap();
            prop_assert!(permits(&rule, &command));
            if !arguments.contains(hides) {
                let second = format!("cargo test {arguments}{operator}x {other}");
                prop_assert!(!permits(&rule, &second), "{}", second);
            }
            let another = format!("x{other};{command}");
            prop_assert!(!permits(&rule, &another), "{}", another);
        }
        if !arguments.contains(hides) {
            prop_assert_eq!(of_command(&format!("{command}{operator}x {other}")), []);
        }
    }

    #[test]
    fn a_program_that_takes_programs_is_never_offered(
        runner in prop::sample::select(&RUNNERS),
        arguments in "[ -~]{0,20}",
    ) {
        for command in [format!("{runner} {arguments}"), format!("/usr/bin/{runner} {arguments}")] {
            // These packages' runners are known by the tool that they start.
            let is_known = command.starts_with("npx ") || command.starts_with("deno ");
            prop_assert!(is_known || of_command(&command).is_empty(), "{}", command);
        }
    }

    #[test]
    fn a_denied_command_stays_denied(arguments in "[a-z -]{0,20}") {
        let command = format!("git commit {arguments}");
        let offers = of_command(&command);
        let allow: Vec<&str> = offers.iter().map(|offer| offer.rule.as_str()).collect();
        let verdict = |ask: &[&str], deny: &[&str]| {
            let rules = Rules::parse(&allow, ask, deny).unwrap();
            let input = serde_json::json!({ "command": command });
            let judged = |call: &Call<'_>| judge(call, PermissionMode::Default, Width::Strict, &rules);
            with_call("Bash", input, judged)
        };
        prop_assert!(matches!(verdict(&[], &["Bash(git commit *)"]), Verdict::Deny(_)));
        prop_assert!(matches!(verdict(&["Bash(git *)"], &[]), Verdict::Ask(_)));
        prop_assert_eq!(verdict(&[], &[]), Verdict::Allow);
    }

    #[test]
    fn a_folders_rule_covers_its_files_and_nothing_that_runs_later_or_is_secret(
        folder in "[a-z]{1,6}(/[a-z]{1,6}){0,2}",
        file in "[a-z]{1,6}\\.rs",
        below in "([a-z]{1,6}/){0,2}",
        planted in prop::sample::select(&[
            ".git/hooks/x", ".git/config", ".husky/pre-commit", ".envrc", ".vscode/tasks.json",
            "Makefile", "package.json", ".env", "id_rsa", ".tine/config.toml", ".mcp.json",
            "node_modules/.bin/x", ".venv/bin/python", "x.git/config", ".config/x", ".GITHUB/x.yml",
        ][..]),
    ) {
        let asked = format!("{folder}/{file}");
        let permits = |rule: &Rule, path: &str| {
            let input = serde_json::json!({ "file_path": path });
            with_call("FileEdit", input, |call| rule.permits(call))
        };
        for offer in of_file(&asked) {
            let rule: Rule = offer.rule.parse().unwrap();
            let deeper = format!("{folder}/{below}{file}");
            prop_assert!(permits(&rule, &asked) && permits(&rule, &deeper));
            let planted = format!("{folder}/{below}{planted}");
            let elsewhere = [format!("{folder}/../../{file}"), format!("/srv/other/{asked}")];
            for path in elsewhere.into_iter().chain([planted]) {
                prop_assert!(!permits(&rule, &path), "{}", path);
            }
        }
    }
}
