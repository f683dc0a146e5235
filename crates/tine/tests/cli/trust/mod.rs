//! Trust in what a checkout brings along: `tine trust`, and what counts before and after it.

mod brought;
mod instructions;
mod own;
mod terminal;

use serde_json::Value;

use crate::support::{Home, Ran};

/// A scenario that plays a checkout's own answers: it runs a command that leaves a mark.
pub(crate) const PLANTED: &str = r#"
name = "planted"
[[turn]]
when = { turn = 0 }
text = "I run the tests."
[[turn.tool_calls]]
name = "Bash"
input.command = "touch mark"
[[turn]]
text = "done"
"#;

/// A user whose model is the built-in echo.
pub(crate) fn home() -> Home {
    let home = Home::new();
    home.write("config.toml", "model = \"sim/echo\"\n");
    home
}

/// The model of the only agent that there is with this name.
fn model_of(home: &Home, name: &str) -> String {
    let agents = home.json(&["ps", "--all", "--json"]);
    let agents = agents.as_array().unwrap();
    let agent = agents.iter().find(|agent| agent["name"] == name).unwrap();
    agent["model"].as_str().unwrap().to_owned()
}

#[test]
fn content_counts_once_a_person_has_trusted_it() {
    let home = home();
    home.write("work/.tine/config.toml", "model = \"sim/echo@openai\"\n");
    home.write("work/src/x", "");
    let run = |name: &str| home.ran(&["run", "--name", name, "hello"]);
    check!(home.shown(&run("before")), @"
    code: 0
    --- stdout
    hello

    This is tine's simulator (scenario echo), not a model: it repeats what it was told.
    --- stderr
    note: the settings that [HOME]/work brings along do not count until you trust them; `tine trust` shows them
    agent [AGENT8] before · sim/echo
    completed · 1 turn · $0.0170 at anthropic/claude-opus-5-5 prices
    0 read, 3.3k written, 0 uncached, 23 output · go on: tine run --resume [AGENT8]
    ");
    assert_eq!(model_of(&home, "before"), "sim/echo");
    // Nobody is there to be asked.
    check!(home.shown(&home.ran(&["trust"])), @r#"
    code: 56
    --- stdout
    [HOME]/work brings along:
    .tine/config.toml
        model = "sim/echo@openai"
    --- stderr
    error: [HOME]/work is not trusted: nobody can be asked
    hint: `tine trust --yes` trusts it as it is now
    "#);
    check!(home.shown(&home.ran(&["-C", "src", "trust", "--yes"])), @r#"
    code: 0
    --- stdout
    [HOME]/work brings along:
    .tine/config.toml
        model = "sim/echo@openai"
    [HOME]/work is trusted: 1 file
    --- stderr
    "#);
    check!(home.shown(&run("after")), @"
    code: 0
    --- stdout
    hello

    This is tine's simulator (scenario echo), not a model: it repeats what it was told.
    --- stderr
    agent [AGENT8] after · sim/echo@openai
    completed · 1 turn · $0.0088 at openai/gpt-6.1-sol prices
    0 read, 3.4k written, 1 uncached, 23 output · go on: tine run --resume [AGENT8]
    ");
    assert_eq!(model_of(&home, "after"), "sim/echo@openai");
    check!(home.shown(&home.ran(&["trust", "--yes"])), @"
    code: 0
    --- stdout
    --- stderr
    [HOME]/work is trusted already
    ");
}

#[test]
fn a_change_is_shown_as_a_difference_and_asked_about_again() {
    let home = home();
    let deny = "model = \"sim/echo@openai\"\n[permissions]\ndeny = [\"Bash\"]\n";
    home.write("work/.tine/config.toml", deny);
    home.trust();
    home.write("work/.tine/config.toml", "model = \"sim/echo@gemini\"\n");
    home.write("work/.tine/agents/x.md", "---\nname: x\n---\nYou are x.\n");
    check!(home.shown(&home.ran(&["run", "--name", "changed", "hello"])), @"
    code: 0
    --- stdout
    hello

    This is tine's simulator (scenario echo), not a model: it repeats what it was told.
    --- stderr
    note: the settings that [HOME]/work brings along have changed since you trusted them; only what they forbade holds; `tine trust` shows the difference
    agent [AGENT8] changed · sim/echo
    completed · 1 turn · $0.0170 at anthropic/claude-opus-5-5 prices
    0 read, 3.3k written, 0 uncached, 23 output · go on: tine run --resume [AGENT8]
    ");
    assert_eq!(model_of(&home, "changed"), "sim/echo");
    // What was forbidden stays so.
    assert!(home.done(&["permission", "rules"]).contains("deny"), "the rule is lost");
    check!(home.shown(&home.ran(&["trust"])), @r#"
    code: 56
    --- stdout
    [HOME]/work has changed since you trusted it:
    new: .tine/agents/x.md
      + ---
      + name: x
      + ---
      + You are x.
    changed: .tine/config.toml
      - model = "sim/echo@openai"
      - [permissions]
      - deny = ["Bash"]
      + model = "sim/echo@gemini"
    --- stderr
    error: [HOME]/work is not trusted: nobody can be asked
    hint: `tine trust --yes` trusts it as it is now
    "#);
    home.trust();
    home.done(&["run", "-q", "--name", "again", "hello"]);
    assert_eq!(model_of(&home, "again"), "sim/echo@gemini");
    std::fs::remove_dir_all(home.path().join("work/.tine")).unwrap();
    check!(home.shown(&home.ran(&["run", "hello"])), @"
    code: 0
    --- stdout
    hello

    This is tine's simulator (scenario echo), not a model: it repeats what it was told.
    --- stderr
    note: the settings that [HOME]/work brings along have changed since you trusted them; only what they forbade holds; `tine trust` shows the difference
    agent [AGENT8] · sim/echo
    completed · 1 turn · $0.0011 at anthropic/claude-opus-5-5 prices
    3.3k read, 0 written, 0 uncached, 23 output · go on: tine run --resume [AGENT8]
    ");
    check!(home.shown(&home.ran(&["trust", "--yes"])), @r#"
    code: 0
    --- stdout
    [HOME]/work has changed since you trusted it:
    gone: .tine/agents/x.md
      - ---
      - name: x
      - ---
      - You are x.
    gone: .tine/config.toml
      - model = "sim/echo@gemini"
    nothing of [HOME]/work is trusted any more
    --- stderr
    "#);
    check!(home.shown(&home.ran(&["trust", "--yes"])), @"
    code: 0
    --- stdout
    --- stderr
    there is nothing to trust: no .tine folder, here or above
    ");
}

#[test]
fn trust_is_listed_and_taken_back() {
    let home = home();
    check!(home.shown(&home.ran(&["trust", "--list"])), @"
    code: 0
    --- stdout
    --- stderr
    you trust no directory
    ");
    home.write("work/.tine/config.toml", "model = \"sim/echo@openai\"\n");
    home.write("work/sub/.tine/x.json", "{}\n");
    home.trust();
    home.done(&["-C", "sub", "trust", "--yes"]);
    home.write("work/sub/.tine/x.json", "{ }\n");
    check!(home.shown(&home.ran(&["trust", "--list"])), @"
    code: 0
    --- stdout
    [HOME]/work  trusted since [TIME], 1 file
    [HOME]/work/sub  changed since [TIME], 1 file
    --- stderr
    ");
    let listed = home.json(&["trust", "--list", "--json"]);
    let shape = |row: &Value| {
        let file = &row["files"][0];
        let hash = file["blake3"].as_str().unwrap().len();
        format!("{} {} {} {hash}", row["directory"], row["state"], file["path"])
    };
    let rows: Vec<String> = listed.as_array().unwrap().iter().map(shape).collect();
    check!(home.masked(&rows.join("\n")), @r#"
    "[HOME]/work" "trusted" ".tine/config.toml" 64
    "[HOME]/work/sub" "changed" ".tine/x.json" 64
    "#);
    check!(home.shown(&home.ran(&["trust", "--revoke", "sub"])), @"
    code: 0
    --- stdout
    [HOME]/work/sub is not trusted any more
    --- stderr
    ");
    check!(home.shown(&home.ran(&["trust", "--revoke"])), @"
    code: 0
    --- stdout
    [HOME]/work is not trusted any more
    --- stderr
    ");
    check!(home.shown(&home.ran(&["trust", "--revoke", "/nowhere"])), @"
    code: 42
    --- stdout
    --- stderr
    error: /nowhere was not trusted
    hint: `tine trust --list` lists the directories that are
    ");
    assert_eq!(home.json(&["trust", "--list", "--json"]), Value::Array(Vec::new()));
    home.done(&["run", "-q", "--name", "after", "hello"]);
    assert_eq!(model_of(&home, "after"), "sim/echo");
}

#[test]
fn trust_in_a_directory_is_no_trust_in_one_above_it() {
    let home = home();
    home.write("work/.tine/config.toml", "model = \"sim/echo@openai\"\n");
    home.write("work/sub/.tine/x.json", "{}\n");
    for _ in 0..2 {
        home.done(&["-C", "sub", "trust", "--yes"]);
    }
    home.done(&["-C", "sub", "run", "-q", "--name", "one", "hello"]);
    home.done(&["-C", "sub", "run", "-q", "--trust", "--name", "two", "hello"]);
    assert_eq!([model_of(&home, "one"), model_of(&home, "two")], ["sim/echo"; 2]);
    home.trust();
    home.done(&["-C", "sub", "run", "-q", "--name", "three", "hello"]);
    assert_eq!(model_of(&home, "three"), "sim/echo@openai");
}

#[test]
fn trust_for_one_command_leaves_nothing_behind() {
    let home = home();
    home.write("work/.tine/config.toml", "model = \"sim/echo@openai\"\n");
    home.done(&["--trust", "run", "-q", "--name", "one", "hello"]);
    home.done(&["run", "-q", "--name", "two", "hello", "--trust"]);
    home.done(&["run", "-q", "--name", "three", "hello"]);
    let models = ["one", "two", "three"].map(|name| model_of(&home, name));
    assert_eq!(models, ["sim/echo@openai", "sim/echo@openai", "sim/echo"]);
    assert!(!home.path().join("trust").exists());
}

#[test]
fn an_agents_command_gives_no_trust() {
    let home = home();
    home.write("work/.tine/config.toml", "model = \"sim/echo@openai\"\n");
    let inside = |arguments: &[&str]| {
        let agent = "00000000-0000-4000-8000-000000000000";
        home.shown(&Ran::of(home.tine(arguments).env("TINE_AGENT", agent)))
    };
    check!(inside(&["trust", "--yes"]), @"
    code: 56
    --- stdout
    --- stderr
    error: an agent's command gives and takes no trust
    hint: a person runs `tine trust` in a terminal; TINE_AGENT is set here
    ");
    for arguments in [
        &["run", "--trust", "hello"] as &[&str],
        &["--trust", "ps"],
        &["fan", "x", "-d", "y", "--trust"],
        &["trust", "--revoke"],
        &["trust"],
    ] {
        let told = inside(arguments);
        assert!(told.starts_with("code: 56"), "{arguments:?}: {told}");
    }
    assert!(inside(&["trust", "--list"]).starts_with("code: 0"));
    assert_eq!(home.json(&["trust", "--list", "--json"]), Value::Array(Vec::new()));
}

#[test]
fn content_with_errors_is_not_trusted() {
    let home = home();
    home.write("work/.tine/config.toml", "[permissions]\nallow = [\"Bash\"]\n");
    check!(home.shown(&home.ran(&["trust", "--yes"])), @r#"
    code: 42
    --- stdout
    [HOME]/work brings along:
    .tine/config.toml
        [permissions]
        allow = ["Bash"]
    --- stderr
    error: [HOME]/work/.tine/config.toml may not set permissions.allow
    hint: a project's file can only narrow permissions; put this into your own config.toml
    "#);
    home.write("work/.tine/config.toml", "");
    home.write("work/.tine/agents/x.md", "no head\n");
    check!(home.shown(&home.ran(&["trust", "--yes"])), @"
    code: 0
    --- stdout
    [HOME]/work brings along:
    .tine/agents/x.md
        no head
    .tine/config.toml
    [HOME]/work is trusted: 2 files
    --- stderr
    note: `name: x` of [HOME]/work/.tine/agents/x.md does not count: it does not begin with a head: a line `---`, settings, and a line `---`
    ");
    // One file that defines no agent takes nothing else along.
    home.done(&["run", "-q", "hello"]);
}

#[test]
fn the_doctor_says_what_is_trusted() {
    let home = home();
    let trust = || {
        let told = home.ran(&["doctor"]).stdout;
        let lines: Vec<&str> = told.lines().collect();
        let at = lines.iter().position(|line| line.contains(" trust: ")).unwrap();
        let is_hint = lines[at + 1].contains("hint:");
        home.masked(&lines[at..at + 1 + usize::from(is_hint)].join("\n"))
    };
    let mut told = vec![trust()];
    home.write("work/.tine/config.toml", "model = \"openai/x\"\n");
    told.push(trust());
    home.trust();
    told.push(trust());
    home.write("work/.tine/config.toml", "");
    told.push(trust());
    check!(told.join("\n"), @"
    ok    trust: the directory brings no settings or agents along
    warn  trust: [HOME]/work is not trusted (1 file)
          hint: its settings do not count; `tine trust` shows and trusts them
    ok    trust: [HOME]/work is trusted (1 file)
    warn  trust: [HOME]/work has changed since you trusted it
          hint: only what its settings forbade holds; `tine trust` shows the difference
    ");
}

#[test]
fn a_project_that_changes_a_users_agent_is_told_so() {
    let home = home();
    home.write("agents/reader.md", "---\nname: reader\n---\nYou are the user's.\n");
    let text = "---\nname: reader\nmodel: sim/echo@openai\n---\nYou are the project's.\n";
    home.write("work/.tine/agents/reader.md", text);
    let text = "---\nname: writer\nmodel: openai/x\nmaxTurns: 4000000000\n---\nYou write.\n";
    home.write("work/.tine/agents/writer.md", text);
    check!(home.shown(&home.ran(&["trust", "--yes"])), @r#"
    code: 0
    --- stdout
    [HOME]/work brings along:
    .tine/agents/reader.md
        ---
        name: reader
        model: sim/echo@openai
        ---
        You are the project's.
    .tine/agents/writer.md
        ---
        name: writer
        model: openai/x
        maxTurns: 4000000000
        ---
        You write.
    [HOME]/work is trusted: 2 files
    --- stderr
    note: `name: reader` of [HOME]/work/.tine/agents/reader.md does not count: your own agent [HOME]/agents/reader.md has that name
    note: `model: openai/x` of [HOME]/work/.tine/agents/writer.md does not count: your own settings do not name the provider; `[trust] providers = ["openai"]` in your config.toml allows it
    note: `maxTurns: 4000000000` of [HOME]/work/.tine/agents/writer.md does not count: your limit is 200
    "#);
    check!(home.shown(&home.ran(&["run", "hello"])), @r#"
    code: 0
    --- stdout
    hello

    This is tine's simulator (scenario echo), not a model: it repeats what it was told.
    --- stderr
    note: `name: reader` of [HOME]/work/.tine/agents/reader.md does not count: your own agent [HOME]/agents/reader.md has that name
    note: `model: openai/x` of [HOME]/work/.tine/agents/writer.md does not count: your own settings do not name the provider; `[trust] providers = ["openai"]` in your config.toml allows it
    note: `maxTurns: 4000000000` of [HOME]/work/.tine/agents/writer.md does not count: your limit is 200
    agent [AGENT8] · sim/echo
    completed · 1 turn · $0.0171 at anthropic/claude-opus-5-5 prices
    0 read, 3.3k written, 0 uncached, 23 output · go on: tine run --resume [AGENT8]
    "#);
}
