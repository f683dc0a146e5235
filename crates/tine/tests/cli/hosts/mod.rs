//! `tine mcp` in the agents that people already use, which are fetched for it. The simulator is the provider of the host's model and of
//! tine's workers.

mod machine;

use std::path::Path;

use serde_json::Value;
use tine_testkit::until;

use self::machine::Machine;
use crate::foreign::{Group, program};
use crate::pty::Terminal;

/// Lets a host's model fan out, answers the question of a worker through tine's queue, and sees both reports arrive.
fn fans_out(machine: &Machine, program: &Path, arguments: &[&str]) {
    let ran = machine.allow(machine.start(program, arguments));
    assert!(ran.code == 0 && ran.stdout.contains("Both have reported."), "{ran:?}");
    assert_eq!(machine.statuses(), ["completed", "completed"]);
    assert!(machine.home.work().join("changed").exists());
    let results = machine.results();
    let [result] = results.as_slice() else { panic!("one result: {results:?}") };
    assert!(result.contains("it was seen") && result.contains("it was changed"), "{result}");
}

#[test]
#[ignore = "needs OpenCode: cargo xtask hosts mcp"]
fn opencode_is_given_both_reports_when_a_question_was_answered() {
    let machine = Machine::new("tine_fan");
    fans_out(&machine, &program("TINE_TEST_OPENCODE"), &["run", "Fan out"]);
}

#[test]
#[ignore = "needs Codex: cargo xtask hosts mcp"]
fn codex_is_given_both_reports_when_a_question_was_answered() {
    let machine = Machine::new("fan");
    let arguments = ["exec", "--skip-git-repo-check", "Fan out"];
    fans_out(&machine, &program("TINE_TEST_CODEX"), &arguments);
}

/// The servers of tine's file alone, and its tools without a question of the host's own.
const CLAUDE_CODE: [&str; 6] = [
    "--mcp-config",
    "../user/mcp.json",
    "--strict-mcp-config",
    "--permission-mode=default",
    "--allowedTools",
    "mcp__tine__fan",
];

#[test]
#[ignore = "needs Claude Code: cargo xtask hosts mcp"]
fn claude_code_is_given_both_reports_when_a_question_was_answered() {
    let machine = Machine::new("mcp__tine__fan");
    let arguments = [&["-p", "Fan out"], CLAUDE_CODE.as_slice()].concat();
    fans_out(&machine, &program("TINE_TEST_CLAUDE_CODE"), &arguments);
}

/// Claude Code makes a task of the call, shows the question of the worker as a form, and brings the reports once they are there.
#[test]
#[ignore = "needs Claude Code: cargo xtask hosts mcp"]
fn claude_code_asks_the_person_at_its_terminal_by_a_form() {
    let machine = Machine::new("mcp__tine__fan");
    let variables = machine.variables();
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let mut terminal = Terminal::start_with(&machine, &CLAUDE_CODE, &variables);
    let _group = Group::of(terminal.process_id());
    terminal.screen("❯");
    terminal.type_in("Fan out");
    terminal.screen("Fan out");
    let form = terminal.see("\r", "requests your input");
    assert!(form.contains("wants to use Bash") && form.contains("touch changed"), "{form}");
    terminal.see("\x1b[C", "allow this call");
    terminal.see(" ", "✔ Answer");
    terminal.see("\x1b[B\x1b[B", "❯ Accept");
    // Claude Code does not hear an Enter that follows another key at once, so it is pressed seldom; an empty prompt does nothing.
    let mut looks = 0;
    until("the form is sent", || {
        if looks % 20 == 0 {
            terminal.type_in("\r");
        }
        looks += 1;
        !terminal.screen_where("any screen", |_| true).contains("requests your input")
    });
    terminal.screen("(tine/fan) completed");
    until("the reports in a request", || machine.told("<status>completed</status>").is_some());
    let told = machine.told("<status>completed</status>").unwrap();
    assert!(told.contains("it was seen") && told.contains("it was changed"), "{told}");
    assert_eq!(machine.statuses(), ["completed", "completed"]);
    let answered = machine.home.json(&["permission", "list", "--all", "--json"]);
    assert_eq!(answered[0]["answered_by"], "tine mcp");
}

/// A call of each tool, with a part of its answer or of its error. `TASK` is the task that was started before.
const CALLS: [(&str, &[&str], Result<&str, &str>); 14] = [
    ("import", &["file=../import.jsonl", "name=other"], Ok("first_fork")),
    ("fork", &["agent=base", "prompt=go on", "name=child"], Ok("completed")),
    ("fan", &["agent=base", r#"directives=["look","look again"]"#], Ok("it was seen")),
    ("task_start", &["agent=base", "prompt=look"], Ok("started")),
    ("task_output", &["task=TASK", "wait=true"], Ok("it was seen")),
    ("task_list", &["agent=base"], Ok("look again")),
    ("task_send", &["task=TASK", "text=more"], Err("has ended")),
    ("task_cancel", &["task=TASK"], Ok("stopped")),
    (
        "pick",
        &["agent=base", "directive=change", "forks=2", "check=test -e changed"],
        Err("is in no git repository"),
    ),
    ("apply", &["agent=child", "dry_run=true"], Err("has no worktree of its own")),
    ("merge_back", &["agent=child", "text=It went well."], Ok("wording")),
    ("tree", &["agent=base"], Ok("child")),
    ("show", &["agent=base"], Ok("It went well.")),
    ("cost", &["agent=base"], Ok("cost_usd")),
];

/// The Inspector's exit code where a tool says that it failed.
const TOOL_FAILED: i32 = 5;

#[test]
#[ignore = "needs the MCP Inspector: cargo xtask hosts mcp"]
fn the_inspector_lists_every_tool_and_calls_it() {
    let machine = Machine::new("fan");
    let inspector = program("TINE_TEST_INSPECTOR");
    let ask = |more: &[&str]| -> (i32, Value) {
        let server = ["--cli", "--config", "../user/mcp.json", "--server", "tine", "--method"];
        let arguments = [&[inspector.to_str().unwrap()], server.as_slice(), more].concat();
        let ran = machine.start(Path::new("node"), &arguments).end();
        let answer = serde_json::from_str(&ran.stdout);
        (ran.code, answer.unwrap_or_else(|_| panic!("{more:?}: {ran:?}")))
    };
    // Strict: a schema that some host would not take fails.
    let (code, listed) = ask(&["tools/list", "--strict"]);
    let listed = listed["tools"].as_array().unwrap();
    assert_eq!((code, listed.len()), (0, CALLS.len()));
    for (tool, ..) in CALLS {
        assert!(listed.iter().any(|declared| declared["name"] == tool), "{tool}");
    }
    let mut task = String::new();
    for (tool, arguments, expected) in CALLS {
        let arguments: Vec<String> =
            arguments.iter().map(|argument| argument.replace("TASK", &task)).collect();
        let mut more = vec!["tools/call", "--tool-name", tool, "--tool-arg"];
        more.extend(arguments.iter().map(String::as_str));
        let (code, answer) = ask(&more);
        // The Inspector knows tasks: work that takes its time is one, and it does not wait for its end.
        if answer["taskId"].is_string() {
            assert_eq!((code, &answer["status"]), (0, &Value::from("working")), "{tool}");
            continue;
        }
        let text = answer["content"][0]["text"].as_str().unwrap();
        let (Ok(part) | Err(part)) = expected;
        let is_meant = code == if expected.is_ok() { 0 } else { TOOL_FAILED };
        assert!(is_meant && text.contains(part), "{tool}: {code}: {text}");
        if tool == "task_start" {
            let started: Value = serde_json::from_str(text).unwrap();
            task = started["task"].as_str().unwrap().to_owned();
        }
    }
}
