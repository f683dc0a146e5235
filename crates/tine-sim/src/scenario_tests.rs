//! Tests of the scenario parser: what is refused, and in which words.

use std::error::Error;

use proptest::prelude::*;

use super::*;
use crate::conversation::ToolOutput;

fn problem(text: &str) -> String {
    match Scenario::parse(text, "test.toml") {
        Ok(_) => "no error".to_owned(),
        Err(error) => {
            let source = error.source().map(ToString::to_string).unwrap_or_default();
            format!("{error}\n{}", source.trim_end())
        }
    }
}

#[test]
fn an_unknown_key_is_refused_with_its_line() {
    insta::assert_snapshot!(problem("name = \"x\"\n\n[[turn]]\ntxet = \"hello\"\n"), @r#"
    test.toml is not a scenario
    TOML parse error at line 4, column 1
      |
    4 | txet = "hello"
      | ^^^^
    unknown field `txet`, expected one of `when`, `thinking`, `text`, `tool_calls`, `stop_reason`, `fault`
    "#);
}

#[test]
fn an_unknown_profile_is_refused_with_the_known_ones() {
    insta::assert_snapshot!(problem("name = \"x\"\nprofile = \"acme\"\n"), @r#"
    test.toml is not a scenario
    TOML parse error at line 2, column 11
      |
    2 | profile = "acme"
      |           ^^^^^^
    unknown profile `acme`, expected one of anthropic, minimax, openai, openai-chat, openai-legacy, openai-compat, deepseek, kimi, vllm, sglang, llamacpp, ollama, gemini
    "#);
}

#[test]
fn a_wrong_template_is_refused_when_the_scenario_is_loaded() {
    insta::assert_snapshot!(problem("name = \"x\"\n[[turn]]\ntext = \"{{usr}}\"\n"), @r#"
    test.toml is not a scenario
    TOML parse error at line 3, column 8
      |
    3 | text = "{{usr}}"
      |        ^^^^^^^^^
    unknown name `usr`: expected `user`, `tool_result.N` or `tool_result.last`
    "#);
}

#[test]
fn a_wrong_template_inside_a_tool_input_is_refused_too() {
    let text = "name = \"x\"\n[[turn]]\ntool_calls = [{ name = \"bash\", input = { command = [\"{{user | up}}\"] } }]\n";
    insta::assert_snapshot!(problem(text), @r#"
    test.toml is not a scenario
    TOML parse error at line 3, column 14
      |
    3 | tool_calls = [{ name = "bash", input = { command = ["{{user | up}}"] } }]
      |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    unknown filter `up`: expected `lines N`, `skip N`, `skip_last N`, `first_line`, `count_lines`, `trim`, `after WORD` or `indent N` (N at most 80)
    "#);
}

#[test]
fn a_turn_without_an_answer_is_refused() {
    insta::assert_snapshot!(problem("name = \"x\"\n[[turn]]\nwhen = { turn = 1 }\n"), @"
    test.toml is not a scenario
    TOML parse error at line 2, column 1
      |
    2 | [[turn]]
      | ^^^^^^^^
    a turn needs `text`, `thinking`, `tool_calls` or a fault that takes their place
    ");
}

#[test]
fn a_hit_rate_that_is_no_share_is_refused() {
    let last = problem("name = \"x\"\nimplicit_hit_rate = 1.5\n").lines().last().map(str::to_owned);
    assert_eq!(last.as_deref(), Some("`implicit_hit_rate` is a share, 0.0 to 1.0"));
}

#[test]
fn a_limit_of_nothing_is_refused() {
    let said = problem("name = \"x\"\n[limits]\nrequests_per_minute = 0\n");
    assert!(said.contains("requests_per_minute = 0") && said.contains("nonzero"), "{said}");
}

#[test]
fn contradictions_in_a_fault_are_refused() {
    let check = |fault: &str, expected: &str| {
        let text = format!("name = \"x\"\n[[turn]]\ntext = \"t\"\nfault = {{ {fault} }}\n");
        let last = problem(&text).lines().last().map(str::to_owned);
        assert_eq!(last.as_deref(), Some(expected), "{fault}");
    };
    let two = "a fault ends in one way only: give one of `status`, `close_before_first_byte`, `cut_after_events`, `error_event_after`, `stall_after_events`";
    check("status = 429, cut_after_events = 1", two);
    check("status = 200", "`status` is an error status, 400 to 599, not 200");
    check("retry_after = 1, pings = 1", "`retry_after` needs `status`");
    check("cut_mid_line = true", "`cut_mid_line` needs `cut_after_events`");
    check("times = 1", "a fault needs at least one thing that goes wrong");
    check(
        "status = 502, html = true, message = \"m\"",
        "`html` is a proxy's page and takes no `message`",
    );
}

#[test]
fn other_slips_are_refused() {
    let check = |text: &str, expected: &str| {
        let last = problem(text).lines().last().map(str::to_owned);
        assert_eq!(last.as_deref(), Some(expected), "{text}");
    };
    check("name = \"Two words\"", "a name is made of a-z, 0-9, `-` and `_`, not `Two words`");
    check("description = \"\"", "missing field `name`");
    let call =
        |rest: &str| format!("name = \"x\"\n[[turn]]\ntool_calls = [{{ name = \"t\", {rest} }}]");
    check(&call("input = {}, input_raw = \"\""), "give either `input` or `input_raw`, not both");
    check(
        &call("input = { at = 2026-01-01 }"),
        "a tool's input cannot hold a date; write it as a string",
    );
}

#[test]
fn an_unknown_scenario_is_told_the_built_in_names() {
    let error = Scenario::load("no-such-scenario").err().map(|error| error.to_string());
    insta::assert_snapshot!(error.unwrap_or_default(), @"no scenario `no-such-scenario`: it is neither a file nor one of the built-in scenarios (echo, demo, tour, worktrees)");
}

#[test]
fn every_built_in_scenario_loads_under_its_own_name() {
    for name in Scenario::built_in_names() {
        let scenario = Scenario::built_in(name).expect(name);
        assert_eq!(scenario.name(), name);
        assert!(!scenario.description().is_empty(), "{name} describes itself");
    }
}

#[test]
fn literal_inputs_are_those_without_holes() {
    let text = r#"
name = "x"
[[turn]]
tool_calls = [
    { name = "Bash", input = { command = "ls" } },
    { name = "Bash", input = { command = "cat {{user}}" } },
    { name = "Bash", input_raw = "{}" },
    { name = "Grep", input = { pattern = "x" } },
]
[[turn]]
tool_calls = [{ name = "Bash", input = { command = "pwd", timeout_ms = 5 } }]
"#;
    let scenario = Scenario::parse(text, "test").expect("a scenario");
    assert_eq!(scenario.literal_inputs("Bash", "command"), ["ls", "pwd"]);
}

#[test]
fn the_commands_of_the_demos_can_be_allowed_one_by_one() {
    // The longest pattern that a permission rule may have.
    const RULE_BYTES_MAX: usize = 1_000;
    for name in ["demo", "worktrees"] {
        let demo = Scenario::built_in(name).expect("a scenario");
        let commands = demo.literal_inputs("Bash", "command");
        let calls = demo.rules.iter().filter_map(|rule| rule.answer.as_ref());
        let calls = calls.flat_map(|answer| &answer.tool_calls).filter(|call| call.name == "Bash");
        assert_eq!(
            commands.len(),
            calls.count(),
            "a command with a hole could not be allowed literally"
        );
        for command in commands {
            assert!(!command.contains('*'), "would be a pattern: {command}");
            assert_eq!(command.trim(), command, "would be trimmed");
            assert!(command.len() <= RULE_BYTES_MAX, "{} bytes: {command}", command.len());
        }
    }
}

#[test]
fn a_scenario_is_loaded_from_a_file() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("mine.toml");
    std::fs::write(&path, "name = \"mine\"\nprices_as = \"claude-opus-5-5\"\n").expect("written");
    let scenario = Scenario::load(&path.to_string_lossy()).expect("a scenario");
    assert_eq!((scenario.name(), scenario.prices_as()), ("mine", Some("claude-opus-5-5")));
}

#[test]
fn all_conditions_of_a_rule_must_hold() {
    let output = |tool| ToolOutput { tool, text: "out".into() };
    let seen = Conversation {
        user: "count the files",
        tool_results: vec![output("bash"), output("grep")],
        last_tool: Some("grep"),
        turn: 2,
        texts: vec!["be brief".into(), "count the files".into()],
    };
    let check = |when: &str, expected: bool| {
        let text = format!("name = \"x\"\n[[turn]]\ntext = \"t\"\nwhen = {{ {when} }}");
        let scenario = Scenario::parse(&text, "test").expect(when);
        assert_eq!(scenario.rules[0].matches(&seen), expected, "{when}");
    };
    check("", true);
    check("user_contains = 'count'", true);
    check("user_contains = 'brief'", false);
    check("user_equals = 'count'", false);
    check("user_equals = 'count the files'", true);
    check("tool_results = 2, turn = 2, last_tool = 'grep'", true);
    check("tool_results = 1, turn = 2, last_tool = 'grep'", false);
    check("tool_results = 2, turn = 1", false);
    check("last_tool = 'bash'", false);
    check("any_contains = 'brief'", true);
    check("any_contains = 'verbose'", false);
}

proptest! {
    #[test]
    fn the_parser_never_panics(text in "\\PC*") {
        drop(Scenario::parse(&text, "fuzz"));
    }

    #[test]
    fn templates_never_panic(text in "[{}\\\\|. a-z0-9_ü]{0,40}") {
        drop(Template::parse(&text).map(|it| it.render(&Conversation::default())));
    }
}
