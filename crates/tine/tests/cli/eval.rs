//! `tine eval`: the suites of this repository, tapes, and what is said of wrong input.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Home, SCENARIO};

const SUITE: &str = r#"
[[case]]
name = "looks"
prompt = "look around"
expect.tool_calls = { must = "Glob" }
expect.report = { contains = "looked" }

[[case]]
name = "speaks"
prompt = "hello"
expect.report = { contains = "goodbye" }
"#;

/// A file of `evals` at the root of the repository.
fn evals(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals").join(name)
}

/// The stray suite with answers from this scenario.
fn stray(scenario: &str) -> Value {
    let model = format!("sim/{}", evals(scenario).display());
    Home::new().json(&["eval", evals("stray.toml").to_str().unwrap(), "--model", &model, "--json"])
}

#[test]
fn every_fork_that_goes_astray_is_caught_by_the_check_for_it() {
    let report = stray("stray-astray.toml");
    let cases = report["cases"].as_array().unwrap();
    for case in cases {
        let run = &case["runs"][0];
        assert_eq!(run["strayed"], true, "{case}");
        let found = run["findings"].as_array().unwrap();
        assert!(found.iter().any(|found| found["check"] == case["stray"]), "{case}");
    }
    let count = cases.len();
    let expected =
        serde_json::json!({ "runs": count, "strayed": count, "caught": count, "false_alarms": 0 });
    assert_eq!((&report["stray"], &report["passed"]), (&expected, &Value::Bool(true)));
    let mut checks: Vec<&str> = cases.iter().map(|case| case["stray"].as_str().unwrap()).collect();
    checks.dedup();
    assert_eq!(checks, ["foreign_task", "loop", "echo", "no_work", "missing_scope"], "all of them");
}

#[test]
fn forks_that_keep_to_their_task_raise_no_alarm() {
    let report = stray("stray-well.toml");
    let count = report["cases"].as_array().unwrap().len();
    let expected =
        serde_json::json!({ "runs": count, "strayed": 0, "caught": 0, "false_alarms": 0 });
    assert_eq!(report["stray"], expected, "{report}");
    assert_eq!(report["passed"], true);
}

#[test]
fn dreams_and_summaries_pass_where_they_do_what_they_are_told_and_fail_where_not() {
    for (suite, answers, passes) in [
        ("dream.toml", "dream-well.toml", true),
        ("dream.toml", "dream-astray.toml", false),
        ("away.toml", "away-well.toml", true),
        ("away.toml", "away-astray.toml", false),
    ] {
        let model = format!("sim/{}", evals(answers).display());
        let suite = evals(suite);
        let ran = Home::new().ran(&["eval", suite.to_str().unwrap(), "--model", &model, "--json"]);
        assert_eq!(ran.code, i32::from(!passes), "{}", ran.stderr);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let cases = report["cases"].as_array().unwrap();
        assert!(cases.len() >= 4);
        for case in cases {
            assert_eq!(case["passed"], Value::from(usize::from(passes)), "{case}");
        }
    }
}

#[test]
fn the_stray_suite_says_how_many_strayed_and_were_caught() {
    let home = Home::new();
    let model = format!("sim/{}", evals("stray-astray.toml").display());
    let ran = home.ran(&["eval", evals("stray.toml").to_str().unwrap(), "--model", &model]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.ends_with("9 of 9 runs passed\n9 of 9 strayed, 9 caught\n"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_suite_is_recorded_and_repeated_with_neither_key_nor_network() {
    let home = Home::new();
    let (suite, model) = (home.write("suite.toml", SUITE), home.model(SCENARIO));
    let (suite, tape) = (suite.to_str().unwrap(), home.path().join("tape.jsonl"));
    let tape = tape.to_str().unwrap();
    let record = ["eval", suite, "--model", &model, "--record", tape, "--json", "--jobs", "1"];
    let recorded = home.ran(&record);
    assert_eq!((recorded.code, recorded.stderr.as_str()), (1, "recorded 3 exchanges\n"));
    // Nobody is left who could answer.
    std::fs::remove_file(home.path().join("case.toml")).unwrap();
    let replayed = home.ran(&["eval", suite, "--replay", tape, "--json"]);
    assert_eq!((replayed.code, replayed.stderr.as_str()), (1, ""));
    let without_times = |text: &str| {
        let mut report: Value = serde_json::from_str(text).unwrap();
        for case in report["cases"].as_array_mut().unwrap() {
            for run in case["runs"].as_array_mut().unwrap() {
                run.as_object_mut().unwrap().remove("duration_ms");
            }
        }
        report
    };
    assert_eq!(without_times(&recorded.stdout), without_times(&replayed.stdout));
    // A prompt that was changed since is not on the tape.
    home.write("suite.toml", &SUITE.replace("look around", "look about"));
    let changed = home.ran(&["eval", suite, "--replay", tape, "--case", "looks"]);
    let line = changed.stdout.lines().find(|line| line.starts_with("looks: ")).unwrap();
    check!(line, @"looks: it failed: request failed: the tape has no such request; it is nearest to line 2 and parts from it at message 1, block 1 (user text)");
    check!(changed.stderr, @r"
    warning: not on the tape: 1 request
    hint: a suite that was changed must be recorded again, with --record
    ");
}

#[test]
fn a_tape_repeats_every_format() {
    let (home, suite) = (Home::new(), evals("stray.toml"));
    let (suite, tape) = (suite.to_str().unwrap(), home.path().join("tape.jsonl"));
    let tape = tape.to_str().unwrap();
    let scenario = evals("stray-astray.toml");
    for provider in
        ["anthropic", "openai", "openai-chat", "openai-compat", "gemini", "deepseek", "minimax"]
    {
        let model = format!("sim/{}@{provider}", scenario.display());
        let recorded = home.json(&["eval", suite, "--model", &model, "--record", tape, "--json"]);
        let replayed = home.json(&["eval", suite, "--replay", tape, "--json"]);
        for report in [&recorded, &replayed] {
            assert_eq!(
                (&report["stray"]["strayed"], &report["stray"]["caught"]),
                (&9.into(), &9.into()),
                "{provider}"
            );
        }
        let texts = |report: &Value| -> Vec<String> {
            let cases = report["cases"].as_array().unwrap();
            cases
                .iter()
                .map(|case| format!("{} {}", case["usage"], case["runs"][0]["text"]))
                .collect()
        };
        assert_eq!(texts(&recorded), texts(&replayed), "{provider}");
    }
}

#[test]
fn a_result_is_a_table_and_junit_and_json() {
    let home = Home::new();
    let (suite, model) = (home.write("suite.toml", SUITE), home.near_model(SCENARIO));
    let junit = home.path().join("report.xml");
    let (suite, junit) = (suite.to_str().unwrap(), junit.to_str().unwrap());
    let ran = home.ran(&["eval", suite, "--model", &model, "--junit", junit, "--jobs", "1"]);
    shape!(home.shown(&ran), @r"
    code: 1
    --- stdout
    suite with sim/../case.toml

    CASE    PASSED  TOKENS     COST  CACHED   TIME
    looks      1/1    2.2k  $0     48%  0 s
    speaks     0/1    1.1k  $0     99%  0 s

    speaks: the report does not contain `goodbye`; it says: You said: hello

    1 of 2 runs passed
    --- stderr
    ");
    let xml = std::fs::read_to_string(junit).unwrap();
    assert!(xml.contains(r#"tests="2""#) && xml.contains(r#"failures="1""#), "{xml}");
    let json = home.ran(&["eval", suite, "--model", &model, "--json"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let keys =
        |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    check!(keys(&json), @"suite passed cases stray");
    check!(keys(&json["cases"][0]), @"name model passed runs usage cost_usd cache_read_share stray");
    check!(keys(&json["cases"][0]["runs"][0]), @"passed outcome unmet strayed findings text calls usage cost_usd turns duration_ms");
}

#[test]
fn wrong_input_is_told_with_a_hint() {
    let home = Home::new();
    let told = |arguments: &[&str]| home.shown(&home.ran(arguments));
    let suite =
        home.write("suite.toml", "[[case]]\nname = \"a\"\nprompt = \"x\"\nmodell = \"y\"\n");
    let suite = suite.to_str().unwrap();
    check!(told(&["eval", suite]), @r"
    code: 42
    --- stdout
    --- stderr
    error: the suite cannot be used: [HOME]/suite.toml:4: unknown key `modell` in a case
    hint: did you mean `model`?
    ");
    check!(told(&["eval", "none.toml"]), @r"
    code: 42
    --- stdout
    --- stderr
    error: the suite cannot be used: cannot read the suite none.toml: No such file or directory (os error 2)
    hint: `tine man` describes suites under EVALUATIONS
    ");
    home.write("suite.toml", "[[case]]\nname = \"a\"\nprompt = \"x\"\n");
    check!(told(&["eval", suite]), @r"
    code: 42
    --- stdout
    --- stderr
    error: no model is configured and no API key is set: the case `a` names no model
    hint: name one with --model provider/name, or `model` in the suite
    ");
    check!(told(&["eval", suite, "--case", "b"]), @r"
    code: 42
    --- stdout
    --- stderr
    error: no case of this name is in the suite
    hint: the cases are a
    ");
    check!(told(&["eval", suite, "--replay", suite]), @r"
    code: 42
    --- stdout
    --- stderr
    error: the tape cannot be used: [HOME]/suite.toml is not a tape of `tine eval --record`
    hint: `tine eval SUITE --record FILE` makes a tape
    ");
    check!(told(&["eval", suite, "--model", "sim/none"]), @r"
    code: 42
    --- stdout
    --- stderr
    error: cannot use the scenario `none`: no scenario `none`: it is neither a file nor one of the built-in scenarios (echo, demo, tour, worktrees)
    hint: a simulator model is sim/NAME of a built-in scenario, or sim/PATH of a TOML file
    ");
}
