//! Budgets of whole trees, across processes: where runs end, where they wait, and what a second terminal does about it.

use std::io::{BufRead, BufReader};

use serde_json::Value;

use crate::crash::start;
use crate::support::Home;

/// A run of two turns; workers that answer at once.
const SCENARIO: &str = r#"
name = "spends"

[[turn]]
when = { user_contains = "look", tool_results = 0 }
text = "I look."
tool_calls = [{ name = "Glob", input = { pattern = "*.txt" } }]

[[turn]]
when = { user_contains = "look" }
text = "I have looked."

[[turn]]
text = "Scope: all of it\nResult: ok"
"#;

/// Tokens of every request of a tree, each by itself.
fn requests(home: &Home, agent: &str) -> Vec<u64> {
    let cost = home.json(&["cost", agent, "--json"]);
    let lines = cost["agents"][0]["subtree"].as_array().unwrap().clone();
    lines.iter().map(|line| tokens(&line["usage"])).collect()
}

/// Compares with an inline snapshot; ids and larger numbers are filtered out.
macro_rules! told {
    ($text:expr, @$expected:literal) => {
        let mut filters = crate::support::filters();
        filters.push((r"\b[0-9]{1,3}(,[0-9]{3})+\b", "[N]"));
        insta::with_settings!({ filters => filters }, {
            insta::assert_snapshot!($text, @$expected);
        });
    };
}

fn tokens(usage: &Value) -> u64 {
    ["uncached", "write_short", "write_long", "read", "output"]
        .iter()
        .map(|part| usage[part].as_u64().unwrap_or(0))
        .sum()
}

fn budget(home: &Home, agent: &str) -> Value {
    home.json(&["budget", agent, "--json"])
}

#[test]
fn a_tree_without_a_budget_says_so_and_gets_one() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let base = home.import(&model, "base", 2);
    check!(home.shown(&home.ran(&["budget", "base"])), @"
    code: 0
    --- stdout
    --- stderr
    the tree of agent [AGENT8] has no budget
    hint: `tine budget [AGENT8] --tokens N` gives it one
    ");
    check!(home.shown(&home.ran(&["budget", "base", "--tokens", "20000", "--usd", "1.5"])), @"
    code: 0
    --- stdout
    BUDGET   USED  RESERVED    LEFT    MOST
    tokens      0         -  20,000  20,000
    usd        $0         -   $1.50   $1.50
    time        -         -       -    none
    agents      0         -       -    none
    running     0         -       -    none

    agent [AGENT8]: 0 tokens, $0; with its forks: 0 tokens, $0
    --- stderr
    budget of tree [AGENT8]: tokens 20,000
    budget of tree [AGENT8]: usd $1.50
    ");
    let changed = home.ran(&["budget", &base[..8], "--tokens", "none", "--agents", "4"]);
    check!(home.shown(&changed), @"
    code: 0
    --- stdout
    BUDGET   USED  RESERVED   LEFT   MOST
    tokens      0         -      -   none
    usd        $0         -  $1.50  $1.50
    time        -         -      -   none
    agents      0         -      4      4
    running     0         -      -   none

    agent [AGENT8]: 0 tokens, $0; with its forks: 0 tokens, $0
    --- stderr
    budget of tree [AGENT8]: tokens none, was 20,000
    budget of tree [AGENT8]: agents 4, was none
    ");
    check!(home.shown(&home.ran(&["budget", "base", "--running", "0"])), @"
    code: 2
    --- stdout
    --- stderr
    error: invalid value '0' for '--running <N|none>': it is a whole number from 1 on, or none

    For more information, try '--help'.
    ");
    assert_eq!(home.ran(&["budget", "nobody"]).code, 42);
    let shape = budget(&home, "base").to_string();
    shape!(shape, @r#"{"agent":"[AGENT-ID]","root":"[AGENT-ID]","caps":{"tokens":{"most":null,"used":0,"reserved":0,"left":null},"usd":{"most":1.5,"used":0.0,"reserved":0.0,"left":1.5},"time_ms":{"most":null,"used":0,"reserved":0,"left":null},"agents":{"most":4,"used":0,"reserved":0,"left":4},"running":{"most":null,"used":0,"reserved":0,"left":null},"requests":0,"waiting":0,"unpriced":0,"started_at":"[TIME]"},"reached":null,"own":{"tokens":0,"cost_usd":0},"subtree":{"tokens":0,"cost_usd":0}}"#);
}

#[test]
fn at_the_cap_a_run_ends_with_55_and_says_what_raises_it() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let asked = ["run", "--model", &model, "--name", "one", "--tree-tokens", "100", "look", "-q"];
    let ran = home.ran(&asked);
    told!(home.shown(&ran), @"
    code: 55
    --- stdout
    I look.
    --- stderr
    error: the budget of the tree is used up: [N] of 100 tokens are spent
    hint: `tine budget [AGENT8] --tokens N` raises it
    hint: then `tine run --resume [AGENT8]` goes on
    ");
    // Nothing more is sent, neither by it nor by its fork.
    let fork = home.ran(&["fork", "one", "look", "--json"]);
    assert_eq!(fork.code, 55);
    let fork: Value = serde_json::from_str(fork.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((&fork["outcome"], &fork["turns"]), (&"budget_exhausted".into(), &0.into()));
    let cost = home.done(&["cost", "one"]);
    assert!(cost.contains("budget of tree"), "{cost}");
    let raised = home.ran(&["run", "--resume", "one", "--tree-tokens", "1000000", "-q"]);
    told!(home.shown(&raised), @"
    code: 0
    --- stdout
    I have looked.
    --- stderr
    budget of tree [AGENT8]: tokens [N], was 100
    ");
}

#[test]
fn a_run_that_waits_goes_on_when_a_second_process_raises_the_cap() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let mut child = start(
        &home,
        &[
            "run",
            "--model",
            &model,
            "--tree-tokens",
            "100",
            "--wait-for-budget",
            "--output-format",
            "stream-json",
            "look",
        ],
    );
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut until = |kind: &str| {
        lines
            .by_ref()
            .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
            .find(|record| record["type"] == kind)
            .unwrap()
    };
    let agent = until("init")["agent"].as_str().unwrap().to_owned();
    let paused = until("paused");
    assert_eq!((&paused["cap"], &paused["most"]), (&"tokens".into(), &100.into()));
    let row = budget(&home, &agent);
    assert_eq!(row["reached"]["cap"], "tokens");
    assert_eq!(row["caps"]["tokens"]["used"], paused["used"]);
    home.done(&["budget", &agent, "--tokens", "1000000"]);
    let result = until("result");
    assert_eq!((&result["outcome"], &result["turns"]), (&"completed".into(), &2.into()));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_fan_spends_no_more_than_the_request_that_passes_the_cap() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    home.import(&model, "base", 2);
    home.done(&["fan", "base", "-d", "job 0", "--json"]);
    let each = requests(&home, "base")[0];
    // Room for three more, and not for a fourth.
    let most = (each * 4 - each / 2).to_string();
    let directives: Vec<String> = (1..=8).map(|number| format!("job {number}")).collect();
    let mut arguments = vec!["fan", "base", "--json", "--tree-tokens", &most];
    for directive in &directives {
        arguments.extend(["-d", directive]);
    }
    let ran = home.ran(&arguments);
    assert_eq!(ran.code, 55, "{}", ran.stderr);
    let fan: Value = serde_json::from_str(&ran.stdout).unwrap();
    let tasks = fan["tasks"].as_array().unwrap();
    let completed = tasks.iter().filter(|task| task["status"] == "completed").count();
    let ended = tasks.iter().filter(|task| task["outcome"] == "budget_exhausted").count();
    assert_eq!((completed, ended), (3, 5));
    let tokens = &budget(&home, "base")["caps"]["tokens"];
    let (used, most) = (tokens["used"].as_u64().unwrap(), tokens["most"].as_u64().unwrap());
    assert!(used >= most && used < most + each, "{used} of {most}, each {each}");
    let told: Vec<&str> = ran.stderr.lines().rev().take(4).collect();
    told!(told.join("\n"), @"
    hint: then `tine run --resume AGENT` goes on with one of them; `tine ps` lists them
    hint: `tine budget [AGENT8] --tokens N` raises it
    error: the budget of the tree is used up: [N] of [N] tokens are spent
    3 of 8 workers completed
    ");
    // Those that ended go on once there is room.
    home.done(&["budget", "base", "--tokens", "none"]);
    let one = tasks.iter().find(|task| task["outcome"] == "budget_exhausted").unwrap();
    home.done(&["run", "--resume", one["agent"].as_str().unwrap(), "-q"]);
}

#[test]
fn a_tree_has_no_more_workers_than_it_may() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    home.import(&model, "base", 2);
    let fan = ["fan", "base", "-d", "a", "-d", "b", "--tree-agents", "1"];
    check!(home.shown(&home.ran(&fan)), @"
    code: 55
    --- stdout
    --- stderr
    budget of tree [AGENT8]: agents 1
    error: 2 more would be too many: 0 of 1 workers are made
    hint: `tine budget [AGENT8] --agents N` raises it
    ");
    let running = ["fan", "base", "-d", "a", "-d", "b", "-d", "c", "--json"];
    home.done(&["budget", "base", "--agents", "3", "--running", "1"]);
    assert_eq!(home.json(&running)["tasks"].as_array().unwrap().len(), 3);
    let row = budget(&home, "base");
    assert_eq!((&row["caps"]["agents"]["used"], &row["caps"]["waiting"]), (&3.into(), &0.into()));
}

#[test]
fn new_trees_begin_with_the_budget_of_the_settings() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    home.write("config.toml", "[budget]\ntokens = 100\nagents = 9\n");
    home.write("work/.tine/config.toml", "[budget]\nagents = 2\ntokens = 5000\n");
    home.trust();
    home.import(&model, "base", 2);
    let caps = &budget(&home, "base")["caps"];
    assert_eq!((&caps["tokens"]["most"], &caps["agents"]["most"]), (&100.into(), &2.into()));
    // What the command line says wins.
    let arguments =
        ["run", "-q", "--model", &model, "--name", "free", "--tree-tokens", "none", "look"];
    home.done(&arguments);
    let caps = &budget(&home, "free")["caps"];
    assert_eq!((&caps["tokens"]["most"], &caps["agents"]["most"]), (&Value::Null, &2.into()));
    home.write("config.toml", "[budget]\ntime = \"soon\"\n");
    check!(home.shown(&home.ran(&["run", "--model", &model, "look"])), @"
    code: 42
    --- stdout
    --- stderr
    error: budget.time from [HOME]/config.toml makes no sense
    hint: it is a number and a unit, such as 0s, 30m, 1h or 2d
    ");
}
