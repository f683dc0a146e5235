//! What a fork will cost, what the cache served, and why: as a person reads it, and as scripts do.

use crate::sim_serve::Server;
use crate::support::{Home, Ran, without_figures};

const MODEL: &str = "anthropic/claude-opus-5-5";

/// A simulated provider that outlives the commands, and whose clock moves by hand.
fn provider(home: &Home) -> Server {
    Server::start(home, &["--clock", "manual"])
}

/// Runs a command against it.
fn ran(home: &Home, server: &Server, arguments: &[&str]) -> Ran {
    let mut command = home.tine(arguments);
    command.env("ANTHROPIC_BASE_URL", server.line["anthropic"].as_str().unwrap());
    command.env("ANTHROPIC_API_KEY", "sk-test");
    Ran::of(&mut command)
}

/// A conversation of two turns, the second of which reads the first.
fn talked(home: &Home, server: &Server) {
    for arguments in [
        &["run", "-q", "--model", MODEL, "-n", "base", "Good morning"][..],
        &["run", "-q", "--resume", "base", "And again"],
    ] {
        let ran = ran(home, server, arguments);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
}

#[test]
fn a_request_is_explained_part_by_part() {
    let home = Home::new();
    let server = provider(&home);
    talked(&home, &server);
    let told = ran(&home, &server, &["cache", "explain", "base"]);
    let text = without_figures(&told.stdout);
    check!(text, @"
    REQUEST VERDICT EXPECTED READ WRITTEN UNCACHED COST
    # cold # # # # #
    # ok # # # # #

    request # ok · # s ago · anthropic/claude-opus-5-5
    Read # tokens, as expected.

    UP TO MESSAGES TOKENS ENTRY BEFORE THIS REQUEST ASKED TO LIVE
    head # # live read # min
    anchor # # live read # min
    tail # # none written # min

    expected # · read # · written # · uncached #
    ");
    let json = ran(&home, &server, &["cache", "explain", "base", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let requests = json["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 2);
    assert_eq!((&requests[0]["verdict"], &requests[1]["verdict"]), (&"cold".into(), &"ok".into()));
    assert_eq!(requests[1]["expected"], requests[1]["usage"]["read"]);
    assert_eq!(requests[1]["exact"], true);
}

#[test]
fn what_cannot_be_explained_is_said() {
    let home = Home::new();
    home.import("sim/echo", "base", 2);
    shape!(home.shown(&home.ran(&["cache", "explain", "base"])), @"
    code: 0
    --- stdout
    --- stderr
    agent [AGENT8] has sent no request yet
    ");
    shape!(home.shown(&home.ran(&["cache", "explain", "base", "--request", "3"])), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT8] has no request 3
    hint: it has sent none yet
    ");
    shape!(home.shown(&home.ran(&["cache", "explain", "nobody"])), @"
    code: 42
    --- stdout
    --- stderr
    error: no agent `nobody`
    hint: `tine ps --all` lists all agents
    ");
}

#[test]
fn a_price_is_told_before_a_fork_is_made() {
    let home = Home::new();
    let server = provider(&home);
    talked(&home, &server);
    let arguments = ["fan", "base", "-d", "one", "-d", "two", "--estimate"];
    let told = ran(&home, &server, &arguments);
    check!(without_figures(&told.stdout), @"
    # workers over a prefix of # tokens, anthropic/claude-opus-5-5
    in the cache now: # tokens; to be written: #
    plan: # of # tokens are not in the cache, but a wait of # s, worth # saves only #

    about #
    # first requests: the prefix and the prompts
    # reading it again in later turns, at # turns each
    # output, at # tokens a turn
    turns and output are the mean of the parent's own
    between # (everything cached, one turn) and # (nothing cached)
    prices in USD, as of 2026-11-21
    ");
    let alone = ran(&home, &server, &["fork", "base", "Try it", "--estimate"]);
    check!(without_figures(&alone.stdout), @"
    # fork over a prefix of # tokens, anthropic/claude-opus-5-5
    in the cache now: # tokens; to be written: #

    about #
    # first requests: the prefix and the prompts
    # reading it again in later turns, at # turn
    # output, at # tokens a turn
    turns and output are the mean of the parent's own
    between # (everything cached, one turn) and # (nothing cached)
    prices in USD, as of 2026-11-21
    ");
    let json = ran(&home, &server, &["fan", "base", "-d", "one", "--estimate", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    let tokens = |key: &str| json[key].as_u64().unwrap();
    assert_eq!(tokens("cached_tokens") + tokens("gap_tokens"), tokens("prefix_tokens"));
    assert!(json["low_usd"].as_f64() <= json["expected_usd"].as_f64());
    // Nothing was made.
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_price_above_the_users_limit_needs_a_yes() {
    let home = Home::new();
    let server = provider(&home);
    talked(&home, &server);
    home.write("config.toml", "[cache]\nconfirm_above = 0.0001\n");
    let refused = ran(&home, &server, &["fan", "base", "-d", "one"]);
    shape!(home.shown(&refused), @"
    code: 55
    --- stdout
    --- stderr
    error: this will cost about $0, more than $0
    hint: `tine fork` and `tine fan` go on with --yes, and say with --estimate how it comes about; cache.confirm_above in config.toml sets the limit
    ");
    let slash = ran(&home, &server, &["run", "--resume", "base", "/fork \"Try it\""]);
    assert_eq!(slash.code, 55, "{}", slash.stderr);
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 1);
    let agreed = ran(&home, &server, &["fan", "base", "-d", "one", "--yes", "--json"]);
    assert_eq!(agreed.code, 0, "{}", agreed.stderr);
    // An idle fork sends nothing, and so needs no yes.
    assert_eq!(ran(&home, &server, &["fork", "base", "--name", "idle"]).code, 0);
    // Who is dead is not forked, and has no price.
    home.done(&["kill", "idle", "--root"]);
    let dead = ran(&home, &server, &["fork", "idle", "Try it", "--estimate"]);
    assert_eq!((dead.code, dead.stdout.as_str()), (42, ""), "{}", dead.stderr);
}

#[test]
fn a_models_file_with_errors_is_told_of_and_changes_nothing() {
    let home = Home::new();
    home.import("sim/echo", "base", 2);
    home.write(
        "models.toml",
        "date = \"2026-01-01\"\n[[model]]\nname = \"a/b\"\ninput = \"much\"\n",
    );
    shape!(home.shown(&home.ran(&["fork", "base", "x", "--estimate"])), @r#"
    code: 0
    --- stdout
    1 fork over a prefix of 0 tokens, sim/echo
    in the cache now: 0 tokens; to be written: 3,872

    about $0
        $0  first requests: the prefix and the prompts
        $0  reading it again in later turns, at 5 turns
        $0  output, at 0 tokens a turn
    turns and output are guessed: nothing is known yet
    between $0 (everything cached, one turn) and $0 (nothing cached)
    prices of anthropic/claude-opus-5-5 in USD, as of 2026-11-21
    --- stderr
    warning: [HOME]/models.toml is not used: not a table of models: TOML parse error at line 4, column 9
      |
    4 | input = "much"
      |         ^^^^^^
    invalid type: string "much", expected f64
    hint: what ships with tine stays in force
    "#);
    let doctor = home.shown(&home.ran(&["doctor"]));
    let told = doctor.lines().find(|line| line.contains("prices and cache rules"));
    shape!(told.unwrap(), @r#"warn  prices and cache rules: [HOME]/models.toml is not used: not a table of models: TOML parse error at line 4, column 9: invalid type: string "much", expected f64"#);
}

#[test]
fn a_models_file_of_the_users_own_wins() {
    let home = Home::new();
    home.import("openai-compat/mine", "base", 2);
    let unknown = home.json(&["fork", "base", "x", "--estimate", "--json"]);
    assert_eq!(unknown["expected_usd"], serde_json::Value::Null);
    let rows = "date = \"2026-01-01\"\n[[model]]\nname = \"openai-compat/mine\"\ninput = 1.0\nread = 0.1\noutput = 2.0\n";
    home.write("models.toml", rows);
    let known = home.json(&["fork", "base", "x", "--estimate", "--json"]);
    assert!(known["expected_usd"].as_f64().unwrap() > 0.0);
}

#[test]
fn prices_of_a_models_file_hold_at_their_times() {
    let home = Home::new();
    home.import("openai-compat/mine", "base", 2);
    let rows = |until: &str| {
        format!(
            "[[model]]\nname = \"openai-compat/mine\"\noutput = 0\n\
            [[model.price]]\nuntil = {until}\ninput = 9\n[[model.price]]\nfrom = 2020-01-01\ninput = 1\n"
        )
    };
    let expected = || {
        let estimate = home.json(&["fork", "base", "x", "--estimate", "--json"]);
        estimate["expected_usd"].as_f64().unwrap()
    };
    home.write("models.toml", "[[model]]\nname = \"openai-compat/mine\"\noutput = 0\ninput = 1\n");
    let now = expected();
    home.write("models.toml", &rows("2020-01-01"));
    assert_eq!(expected(), now);
    home.write("models.toml", &rows("2020-02-01"));
    let doctor = home.ran(&["doctor"]);
    let told = doctor.stdout.lines().find(|line| line.contains("prices and cache rules")).unwrap();
    assert!(
        told.contains(
            "the prices of `openai-compat/mine` overlap at Mon 00:00 UTC from 2020-01-01 on"
        ),
        "{told}"
    );
}

/// Every provider's format and rules, by the simulator inside the process.
#[test]
fn the_simulator_plays_every_provider() {
    let home = Home::new();
    for provider in ["anthropic", "openai", "openai-chat", "gemini", "deepseek", "minimax"] {
        let model = format!("sim/echo@{provider}");
        let said = home.done(&["run", "-q", "--model", &model, "Good morning"]);
        assert!(said.contains("Good morning"), "{provider}: {said}");
    }
}

/// What is known of earlier runs makes the estimate: those of the parent at first, and of its workers once there are any.
#[test]
fn an_estimate_of_the_demos_fan_is_within_a_factor_of_two() {
    let home = Home::new();
    home.write("work/README.md", &"A line that says something of the project.\n".repeat(40));
    home.write("work/src/main.rs", &"fn main() {}\n// TODO: more\n".repeat(60));
    let known = ["run", "--model", "sim/demo", "--allow", "Bash", "--name", "base"];
    home.done(&[&known[..], &["Get to know this directory."]].concat());
    let mut fan = vec!["fan", "base", "--allow", "Bash", "--json"];
    for directive in [
        "Measure the sizes by language: files, lines and bytes of each kind.",
        "Find the longest files, and see how the longest of them begins.",
        "List the open ends: the lines that say what is left to do.",
        "Count the tests, and see whether any are switched off.",
    ] {
        fan.extend(["-d", directive]);
    }
    let estimated = || {
        let estimate = home.json(&[&fan[..], &["--estimate"]].concat());
        estimate["expected_usd"].as_f64().unwrap()
    };
    let by_parent = estimated();
    let cost = home.json(&fan)["cache"]["cost_usd"].as_f64().unwrap();
    let by_workers = estimated();
    for estimate in [by_parent, by_workers] {
        let ratio = estimate / cost;
        assert!((0.5..2.0).contains(&ratio), "{by_parent}, {by_workers}: {cost}");
    }
}
