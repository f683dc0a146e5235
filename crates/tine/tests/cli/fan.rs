//! `tine fan`: reports, the cache table, the JSON shape, and the exit code.

use crate::support::Home;

/// Workers that look once and report; one of them fails, one wants to run a command.
const SCENARIO: &str = r#"
name = "fan"

[[turn]]
when = { user_contains = "Task: fail" }
fault = { status = 400, message = "no" }

[[turn]]
when = { user_contains = "Task: run", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "make test" } }]

[[turn]]
when = { user_contains = "Task:", tool_results = 0 }
tool_calls = [{ name = "Glob", input = { pattern = "*" } }]

[[turn]]
when = { user_contains = "Task:" }
text = "Scope: what was asked\nResult: done\nKey files: none\nFiles changed: none\nIssues: none"

[[turn]]
text = "ok"
"#;

fn home() -> Home {
    let home = Home::new();
    let model = home.model(SCENARIO);
    home.import(&model, "base", 2);
    home
}

#[test]
fn reports_and_the_cache_are_the_result_and_the_rest_is_progress() {
    let home = home();
    let ran = home.ran(&["fan", "base", "-d", "count"]);
    shape!(home.shown(&ran), @"
    code: 0
    --- stdout
    1/1 count
    [AGENT8] · completed · 2 turns · 1 tool call · 0 s

    Scope: what was asked
    Result: done
    Key files: none
    Files changed: none
    Issues: none

    TOKENS       WRITTEN   READ  UNCACHED  OUTPUT
    first turns [TOKENS]
    all turns [TOKENS]
    $0 at anthropic/claude-opus-5-5 prices, 0% efficient
    each for itself $0 · one first $0 · all cached before $0
    best possible $0 · without a cache $0
    --- stderr
    Forked 1 worker
    [1/1] [AGENT8] Glob * in .
    [1/1] [AGENT8] done in 0 s · 2 turns  0 tokens
    ");
}

#[test]
fn the_json_of_a_fan_is_a_promise() {
    let home = home();
    shape!(home.done(&["fan", "base", "-d", "count the lines", "--json"]), @r#"{"parent":"[AGENT-ID]","fork_point":2,"tasks":[{"agent":"[AGENT-ID]","status":"completed","outcome":"completed","directive":"count the lines","report":{"scope":"what was asked","result":"done","key_files":"none","files_changed":"none","issues":"none","raw":"Scope: what was asked\nResult: done\nKey files: none\nFiles changed: none\nIssues: none"},"error":null,"usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":null},"first_usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":null},"turns":2,"tool_uses":1,"duration_ms":0,"flags":[],"worktree":null}],"denied":[],"cache":{"launch":"together","warmth":"cold","reason":"[WHY]","first":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":null},"total":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":null},"cost_usd":0,"naive_usd":0,"leader_first_usd":0,"warm_usd":0,"ideal_usd":0,"uncached_usd":0,"efficiency":0,"priced_as":"anthropic/claude-opus-5-5","held":null,"forks":[{"cost_usd":0,"efficiency":0}]}}"#);
}

#[test]
fn a_cold_prefix_is_written_once_and_read_by_the_rest() {
    let home = home();
    let fan = home.json(&["fan", "base", "-d", "a", "-d", "b", "-d", "c", "-d", "d", "--json"]);
    let tasks = fan["tasks"].as_array().unwrap();
    let reads: Vec<u64> =
        tasks.iter().map(|task| task["first_usage"]["read"].as_u64().unwrap()).collect();
    assert_eq!(reads.iter().filter(|read| **read == 0).count(), 1, "{reads:?}");
    assert_eq!(fan["cache"]["launch"], "leader_first");
    let directives: Vec<&str> =
        tasks.iter().map(|task| task["directive"].as_str().unwrap()).collect();
    assert_eq!(directives, ["a", "b", "c", "d"]);
}

/// The simulator's cache outlives its process, as a provider's does.
#[test]
fn what_an_earlier_command_wrote_is_read_by_a_fork_and_by_all_of_a_fan() {
    let home = home();
    let first = home.json(&["run", "--resume", "base", "hello", "--json"]);
    let written = first["usage"]["write_short"].as_u64().unwrap();
    let forked = home.json(&["fork", "base", "hello again", "--json"]);
    let fan = home.json(&["fan", "base", "-d", "a", "-d", "b", "--json"]);
    let reads = fan["tasks"].as_array().unwrap().iter().map(|task| &task["first_usage"]["read"]);
    let reads: Vec<u64> = reads.map(|read| read.as_u64().unwrap()).collect();
    assert!(reads.iter().all(|read| *read >= written), "{written}: {reads:?}, {forked}");
    assert_eq!(
        (&fan["cache"]["launch"], &fan["cache"]["warmth"]),
        (&"together".into(), &"warm".into())
    );
    let cost = home.json(&["cost", "base", "--json"]);
    let total = &cost["total"];
    assert!(total["cost_usd"].as_f64() < total["uncached_usd"].as_f64(), "{cost}");
    assert_eq!(
        cost["agents"][0]["causes"][0]["requests"], 1,
        "the first one alone was cold: {cost}"
    );
}

#[test]
fn one_failed_worker_fails_the_command_and_keeps_the_others_reports() {
    let home = home();
    let ran =
        home.ran(&["fan", "base", "-d", "count", "-d", "fail", "--json", "--plan", "together"]);
    assert_eq!(ran.code, 1);
    let fan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (fan["tasks"][0]["status"].as_str(), fan["tasks"][1]["status"].as_str()),
        (Some("completed"), Some("failed"))
    );
    check!(fan["tasks"][1]["error"].to_string(), @r#""invalid request (status 400, invalid_request_error): no""#);
    assert_eq!(fan["tasks"][1]["report"], serde_json::Value::Null);
    let last: Vec<&str> = ran.stderr.lines().rev().take(2).collect();
    check!(last.join("\n"), @"
    hint: `tine run --resume AGENT` goes on with one of them; `tine ps` lists them
    error: 1 of 2 workers completed
    ");
}

#[test]
fn a_call_that_nobody_allowed_is_named() {
    let home = home();
    let ran = home.ran(&["fan", "base", "-d", "run the tests", "--json"]);
    assert_eq!(ran.code, 56, "as of a single run");
    let fan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(fan["denied"][0]["call"], "Bash: make test");
    let last: Vec<&str> =
        ran.stderr.lines().skip_while(|line| !line.starts_with("warning")).collect();
    check!(last.join("\n"), @"
    warning: 1 call refused because nobody could be asked, such as Bash: make test
    hint: allow it with --allow 'Bash(make test)'
    error: 0 of 1 workers completed; of the rest: permission denied
    hint: `tine run --resume AGENT` goes on with one of them; `tine ps` lists them
    ");
    // There is nothing to make.
    let allowed = ["--allow", "Bash(make test)", "--fail-on-tool-error"];
    let ran = home.ran(&[&["fan", "base", "-d", "run the tests"][..], &allowed].concat());
    assert_eq!(ran.code, 54);
}

#[test]
fn a_way_to_end_that_all_share_is_the_exit_code() {
    let home = home();
    let limited = ["fan", "base", "-d", "count the lines", "--max-turns", "1"];
    let ran = home.ran(&limited);
    assert_eq!(ran.code, 53, "{}", ran.stderr);
    assert_eq!(home.ran(&[&limited[..], &["-d", "fail"]].concat()).code, 1);
}

#[test]
fn a_fan_needs_a_task_and_has_a_largest_size() {
    let home = home();
    assert_eq!(home.ran(&["fan", "base"]).code, 2);
    let many: Vec<&str> = std::iter::once("fan")
        .chain(["base"])
        .chain(["-d", "x"].into_iter().cycle().take(514))
        .collect();
    check!(home.shown(&home.ran(&many)), @"
    code: 42
    --- stdout
    --- stderr
    error: 257 workers are more than the limit of 256
    hint: split the work over several fans
    ");
}

#[test]
fn workers_of_a_fan_have_a_context_an_agent_and_a_model() {
    let home = home();
    let text = "---\nname: reader\ndescription: Reads.\ntools: FileRead\n---\nYou read.\n";
    home.write("work/.tine/agents/reader.md", text);
    home.trust();
    for context in ["full", "digest"] {
        let told = home.json(&[
            "fan",
            "base",
            "-d",
            "count",
            "-d",
            "see",
            "--plan",
            "leader",
            "--agent",
            "reader",
            "--context",
            context,
            "--json",
        ]);
        assert_eq!(told["tasks"].as_array().unwrap().len(), 2);
        for task in told["tasks"].as_array().unwrap() {
            let agent = task["agent"].as_str().unwrap();
            let shown = home.done(&["show", agent, "--full"]);
            assert!(shown.contains("does not have the tool `Glob`"), "{shown}");
            let row = home.json(&["task", "output", agent, "--json"]);
            assert_eq!(
                (&row["task"]["definition"], &row["task"]["context"]),
                (&"reader".into(), &context.into())
            );
        }
    }
    check!(home.shown(&home.ran(&["fan", "base", "-d", "x", "--context", "fresh", "--estimate"])), @"
    code: 2
    --- stdout
    --- stderr
    error: --estimate prices forks that inherit everything and keep their model
    hint: leave out --context and --model, or --estimate
    ");
    check!(home.shown(&home.ran(&["fan", "base", "-d", "x", "--agent", "nobody"])), @"
    code: 42
    --- stdout
    --- stderr
    error: no agent is defined as `nobody`
    hint: defined are reader
    ");
}
