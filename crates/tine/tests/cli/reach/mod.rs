//! What an agent may touch is stored with it, whatever door its next run comes through.

#[cfg(target_os = "linux")] // for the wall
mod bare;
mod doors;
mod tools;

use tine_testkit::{Ability, lacks, test_name};

use crate::support::{Home, Ran};

/// An agent that writes beside its directory when it is told PROBE, and starts a worker that does when it is told SEND.
const SCENARIO: &str = r#"
name = "reach"

[[turn]]
when = { user_contains = "PROBE", turn = 0 }
tool_calls = [{ name = "Bash", input = { command = "echo own > own; echo out > ../probe; grep Seccomp: /proc/self/status" } }]

[[turn]]
when = { user_contains = "PROBE" }
text = "Scope: the probe\nResult: {{tool_result.last}}"

[[turn]]
when = { user_contains = "SEND", turn = 0 }
tool_calls = [{ name = "Agent", input = { prompt = "PROBE", subagent_type = "fork" } }]

[[turn]]
text = "So it is."
"#;

/// A home where nothing is asked, and no worker is asked to mend its report.
fn home(scenario: &str) -> Home {
    let home = Home::new();
    home.write("case.toml", scenario);
    let settings =
        "model = \"sim/../case.toml\"\npermission_mode = \"bypass\"\n\n[workers]\nnudge = false\n";
    home.write("config.toml", settings);
    home
}

/// A home with an agent `a`, which was begun with these options.
fn home_with(options: &[&str]) -> Home {
    let home = home(SCENARIO);
    begin(&home, "a", options);
    home
}

fn begin(home: &Home, name: &str, options: &[&str]) {
    home.done(&[&["run", "-q", "--name", name, "hello"], options].concat());
}

/// The reach of an agent, as `tine ps` has it.
fn reach_of(home: &Home, agent: &str) -> String {
    let shown = home.json(&["show", agent, "--json"]);
    shown["agent"]["reach"].as_str().unwrap().to_owned()
}

/// Whether something was written beside the directory since the last time.
fn wrote_outside(home: &Home) -> bool {
    std::fs::remove_file(home.path().join("probe")).is_ok()
}

/// Lets an agent try, and says whether it wrote outside.
fn probe(home: &Home, agent: &str) -> bool {
    home.done(&["run", "-q", "--resume", agent, "PROBE"]);
    wrote_outside(home)
}

/// A command that an agent runs.
fn by_agent(home: &Home, agent: &str, arguments: &[&str]) -> Ran {
    let id = home.json(&["show", agent, "--json"])["agent"]["id"].as_str().unwrap().to_owned();
    Ran::of(home.tine(arguments).env("TINE_AGENT", id))
}

#[test]
fn resume_and_fork_keep_a_confined_agent_confined() {
    let home = home_with(&["--confine", "directory"]);
    assert!(!probe(&home, "a"), "a resumed run");
    let forked = home.ran(&["fork", "a", "--name", "b"]);
    check!(forked.stderr, @"
    Forked [AGENT8] from [AGENT8] at entry 6
    note: confined: commands write only in the directory, no network; a fork keeps what its parent may touch
    ");
    assert!(!probe(&home, "b"), "a fork");
    home.done(&["fork", "a", "-q", "PROBE"]);
    assert!(!wrote_outside(&home), "a fork with a prompt");

    // A worker in a worktree of its own, and a peer of it.
    let fanned = home.json(&["fan", "a", "-d", "PROBE", "--json"]);
    let worker = fanned["tasks"][0]["agent"].as_str().unwrap();
    let peer = home.ran(&["fork", worker, "--json", "--name", "c"]);
    let made: serde_json::Value = serde_json::from_str(&peer.stdout).unwrap();
    assert_eq!(made["reach"], "directory");
    assert!(peer.stderr.contains("a fork keeps what its parent may touch"), "{}", peer.stderr);
    assert!(!probe(&home, "c"), "a peer of a worker");
}

#[test]
fn a_person_widens_by_an_option_and_is_told_so() {
    // Without a view no run is kept to named hosts.
    if lacks(Ability::Namespaces, &test_name()) {
        return;
    }
    let home = home_with(&["--confine", "read-only"]);
    let resumed = |more: &[&str]| home.ran(&[&["run", "--resume", "a", "PROBE"], more].concat());
    let wider = resumed(&["--confine", "directory", "--network", "crates.io:443"]);
    check!(wider.stderr.lines().next().unwrap(), @"note: [AGENT8] is widened: confined: commands write only in the directory, network: crates.io:443 (before: confined: commands write nothing, no network)");
    assert!(!wrote_outside(&home));
    let shown = home.done(&["show", "a"]);
    check!(shown.lines().find(|line| line.contains("reach")).unwrap(), @"  reach        confined: commands write only in the directory, network: crates.io:443");
    let open = resumed(&["--confine", "off"]);
    assert!(open.stderr.contains("is widened: open"), "{}", open.stderr);
    assert!(wrote_outside(&home));
    // It stays so, and is not said again.
    let later = resumed(&[]);
    assert!(wrote_outside(&home) && !later.stderr.contains("widened"), "{}", later.stderr);
    // Narrowing is free, says nothing, and is stored as well.
    let narrow = resumed(&["--confine", "read-only"]);
    assert!(!narrow.stderr.contains("widened"), "{}", narrow.stderr);
    assert_eq!((reach_of(&home, "a").as_str(), probe(&home, "a")), ("read-only", false));
    // A fork may be wider than its parent where a person says so.
    let fork = home.ran(&["fork", "a", "--confine", "directory", "--name", "wide", "PROBE"]);
    check!(fork.stderr.lines().next().unwrap(), @"note: the fork is widened: confined: commands write only in the directory, no network (before: confined: commands write nothing, no network)");
    assert_eq!([reach_of(&home, "a"), reach_of(&home, "wide")], ["read-only", "directory"]);
}

#[test]
fn no_command_of_an_agent_widens() {
    let home = home_with(&["--confine", "directory"]);
    begin(&home, "open", &[]);
    let refused = by_agent(&home, "open", &["run", "--resume", "a", "--confine", "off", "PROBE"]);
    check!(home.shown(&refused), @"
    code: 56
    --- stdout
    --- stderr
    error: a command of an agent cannot widen what agents may touch
    hint: it may give at most this: confined: commands write only in the directory, no network
    hint: agent [AGENT8] runs this command: TINE_AGENT is set; a person widens with `--confine`
    ");
    for arguments in [
        &["run", "--confine", "off", "PROBE"][..],
        &["fork", "a", "--confine", "off", "PROBE"],
        &["fork", "a", "--network=internet", "PROBE"],
        &["fan", "a", "--confine", "off", "-d", "PROBE"],
        &["task", "start", "a", "--confine", "off", "PROBE"],
    ] {
        assert_eq!(by_agent(&home, "a", arguments).code, 56, "{arguments:?}");
    }
    // What it makes or runs without an option touches no more than it may itself.
    for arguments in [
        &["run", "-q", "PROBE"][..],
        &["run", "-q", "--resume", "open", "PROBE"],
        &["fork", "open", "-q", "PROBE"],
    ] {
        let ran = by_agent(&home, "a", arguments);
        assert!(ran.code == 0 && !wrote_outside(&home), "{arguments:?}: {}", ran.stderr);
    }
    assert!(probe(&home, "open"), "a run by an agent stores nothing with another");
    let narrowed = by_agent(
        &home,
        "open",
        &["run", "-q", "--resume", "open", "--confine", "read-only", "PROBE"],
    );
    assert_eq!((narrowed.code, wrote_outside(&home)), (0, false));
    assert_eq!(reach_of(&home, "open"), "read-only");
}

#[test]
fn settings_widen_nothing_that_exists() {
    let home = home_with(&[]);
    let fanned = home.json(&["fan", "a", "-d", "PROBE", "--json"]);
    let worker = fanned["tasks"][0]["agent"].as_str().unwrap().to_owned();
    let settings = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    let outside = home.path();
    let wider = format!(
        "{settings}\n[confine]\nworkers = \"off\"\nnetwork = true\nwritable = [\"{}\"]\n",
        outside.display()
    );
    home.write("config.toml", &wider);
    assert!(!probe(&home, &worker));
    home.done(&["task", "resume", &worker, "PROBE", "--wait"]);
    assert!(!wrote_outside(&home));
    let agent = &home.json(&["show", &worker, "--json"])["agent"];
    assert_eq!(
        (&agent["reach"], &agent["network"], &agent["writable"]),
        (&"directory".into(), &false.into(), &serde_json::json!([]))
    );
    // A new worker is made by the settings of now.
    home.done(&["fan", "a", "-d", "PROBE", "--json"]);
    assert!(wrote_outside(&home));
}

/// Shows: a file that a rule denies is hidden from what a program reads behind the wall, which no reading of the command tells.
#[test]
fn a_denied_file_is_hidden_behind_the_wall() {
    if lacks(Ability::Namespaces, &test_name()) {
        return;
    }
    let home = Home::new();
    home.write("work/private/key", "hidden\n");
    home.write("work/look.sh", "cat private/key public > seen\n");
    home.write("work/public", "shown\n");
    let model = home.model(
        r#"
name = "look"

[[turn]]
when = { user_contains = "go", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "sh look.sh" } }]

[[turn]]
text = "Done."
"#,
    );
    let run = ["run", "-q", "--model", &model, "--confine", "directory", "--allow", "Bash"];
    home.done(&[&run[..], &["--deny", "FileRead(private/**)", "go"]].concat());
    let seen = || std::fs::read_to_string(home.work().join("seen")).unwrap();
    assert_eq!(seen(), "shown\n");
    home.done(&[&run[..], &["go"]].concat());
    assert_eq!(seen(), "hidden\nshown\n");
}
