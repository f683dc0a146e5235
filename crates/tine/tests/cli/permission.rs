//! Questions that wait: from any depth, across a crash, answered from a second terminal, or by their default.

use std::process::Child;

use serde_json::Value;
use tine_testkit::{Ability, lacks, test_name, until, until_some};

use crate::crash::start;
use crate::support::{Home, Ran};
use crate::worktree::git;

/// A worker with a command to run, and one without.
const SCENARIO: &str = r#"
name = "asks"

[[turn]]
when = { user_contains = "the command", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "echo hi > made" } }]

[[turn]]
when = { user_contains = "the command" }
text = "It said: {{tool_result.last}}"

[[turn]]
text = "Scope: all of it\nResult: ok"
"#;

/// What waits, as soon as something does.
pub(crate) fn until_asked(home: &Home) -> Value {
    let list = || home.json(&["permission", "list", "--json"]);
    until_some("a question", || list().get(0).cloned())
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

fn ended(child: Child) -> (i32, String) {
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

fn agents(home: &Home) -> Vec<Value> {
    home.json(&["ps", "--all", "--json"]).as_array().unwrap().clone()
}

/// A wall covers so many secrets. Where it leaves one open, a command that it would not stop from reading that one is asked about.
#[test]
fn reads_are_judged_strictly_where_a_wall_may_show_a_secret() {
    /// More than a wall covers.
    const SECRETS: usize = 4_200;
    if lacks(Ability::Namespaces, &test_name()) {
        return;
    }
    let home = Home::new();
    let model = home.model(
        r#"name = "reads"

[[turn]]
when = { tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "for f in own; do cat $f; done" } }]

[[turn]]
text = "It said: {{tool_result.last}}"
"#,
    );
    home.write("work/own", "mine\n");
    let run = || home.ran(&["run", "-q", "--model", &model, "go"]);
    let wide = run();
    assert!(wide.stdout.starts_with("It said: mine\n"), "{}", wide.stdout);
    for number in 0..SECRETS {
        home.write(&format!("work/keys/{number}/credentials.toml"), "token = 1\n");
    }
    let strict = run();
    assert_eq!(strict.code, 56, "{}", strict.stdout);
    assert!(!strict.stdout.contains("mine"), "{}", strict.stdout);
    // What is certain to read is not asked about, and git runs nothing outside of the wall that stands all the same.
    let certain = home.model(
        r#"name = "git"

[[turn]]
when = { tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "git status --short own" } }]

[[turn]]
text = "It said: {{tool_result.last}}"
"#,
    );
    git(&home.work(), &["init", "--quiet", "--template="]);
    git(&home.work(), &["config", "core.fsmonitor", "touch ran"]);
    let status = home.ran(&["run", "-q", "--model", &certain, "go"]);
    assert!(status.stdout.starts_with("It said: ?? own\n"), "{}", status.stdout);
    assert!(!home.path().join("work/ran").exists());
}

#[test]
fn a_question_from_two_below_survives_a_crash_and_is_answered_from_a_second_terminal() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let root = home.import(&model, "base", 2);
    let above = home.json(&["fan", "base", "-d", "look", "--json"]);
    let above = text(&above["tasks"][0], "agent").to_owned();
    let fan = ["fan", &above, "-d", "the command", "--wait-for-permission", "--json"];
    let mut first = start(&home, &fan);
    let asked = until_asked(&home);
    assert_eq!(
        (text(&asked, "root"), text(&asked, "what")),
        (root.as_str(), "Bash: echo hi > made")
    );
    let worker = text(&asked, "agent").to_owned();
    let shown = agents(&home).into_iter().find(|agent| agent["id"] == worker.as_str()).unwrap();
    assert_eq!((&shown["depth"], text(&shown, "parent")), (&2.into(), above.as_str()));
    assert_eq!((&shown["questions"], text(&shown, "state")), (&1.into(), "running"));
    assert!(home.done(&["ps"]).contains("asks for permission"));

    first.kill().unwrap();
    first.wait().unwrap();
    let id = &text(&asked, "id")[..8];
    let waiting = home.masked(&home.done(&["permission", "list"]));
    let waiting =
        waiting.replace("waits 59m", "waits a while").replace("waits 58m", "waits a while");
    check!(waiting, @"
    [AGENT8] the command ([AGENT8]) wants to use Bash
      echo hi > made
      in [HOME]/work: no rule allows this command, and it may do more than read: `> made` at column 9: output may only go to /dev/null
      waits a while more, then it is denied
      rule `Bash(echo hi > made)` · a yes reaches: once, agent, tree, always
      its run was cut off; `tine run --resume [AGENT8]` goes on with the answer
    ");

    let again = start(&home, &["run", "--resume", &worker, "--wait-for-permission", "--json"]);
    let running = || {
        agents(&home)
            .iter()
            .any(|agent| agent["id"] == worker.as_str() && agent["state"] == "running")
    };
    until("the run that goes on", running);
    assert_eq!(until_asked(&home)["id"], asked["id"], "the same request");
    check!(home.shown(&home.ran(&["permission", "allow", id])), @"
    code: 0
    --- stdout
    allowed [AGENT8] Bash: echo hi > made
    --- stderr
    ");
    let (code, result) = ended(again);
    assert_eq!(code, 0, "{result}");
    assert!(home.work().join("made").exists());
    check!(home.shown(&home.ran(&["permission", "deny", id])), @"
    code: 1
    --- stdout
    --- stderr
    error: the permission request [AGENT-ID] is allowed already
    hint: it was allowed by tine permission at [TIME]
    ");
    check!(home.masked(&home.done(&["permission", "list", "--all"])), @"
    [AGENT8] the command ([AGENT8]) wants to use Bash
      echo hi > made
      in [HOME]/work: no rule allows this command, and it may do more than read: `> made` at column 9: output may only go to /dev/null
      allowed by tine permission 0s ago
    ");
}

#[test]
fn an_answer_given_while_nobody_runs_is_used_once() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let run = ["run", "--model", &model, "--wait-for-permission", "--json", "the command"];
    let mut first = start(&home, &run);
    let asked = until_asked(&home);
    first.kill().unwrap();
    first.wait().unwrap();
    let (id, agent) = (text(&asked, "id"), text(&asked, "agent"));
    home.done(&["permission", "deny", id, "--reason", "Use make instead."]);
    let result = home.json(&["run", "--resume", agent, "--json"]);
    assert_eq!(
        text(&result, "text"),
        "It said: Denied by the user: Use make instead. Do not try this call again."
    );
    let all = home.json(&["permission", "list", "--all", "--json"]);
    assert_eq!((&all[0]["state"], &all[0]["used"]), (&"denied".into(), &true.into()));
}

#[test]
fn a_question_expires_to_its_default_in_the_run_and_for_whoever_looks() {
    let home = Home::new();
    home.write("config.toml", "[permissions]\ndeadline = \"1s\"\nwait = true\n");
    let model = home.model(SCENARIO);
    let ran = home.ran(&["run", "--model", &model, "--json", "the command"]);
    assert_eq!(ran.code, 56, "{}", ran.stderr);
    assert!(ran.stdout.contains("nobody answered in time"), "{}", ran.stdout);
    // Long enough to be seen.
    home.write("config.toml", "[permissions]\ndeadline = \"300s\"\nwait = true\n");
    let mut second = start(&home, &["run", "--model", &model, "--json", "the command"]);
    until_asked(&home);
    second.kill().unwrap();
    second.wait().unwrap();
    // The deadline counts the time that a run waits: a question whose run died waits for the next one.
    let all = home.json(&["permission", "list", "--all", "--json"]);
    let states: Vec<(&str, Option<&str>)> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (text(row, "state"), row["answered_by"].as_str()))
        .collect();
    assert_eq!(states, [("expired", Some("the deadline")), ("pending", None)]);
    assert!(!home.work().join("made").exists());
}

#[test]
fn a_default_of_yes_is_the_users_own_word() {
    let home = Home::new();
    home.write("config.toml", "[permissions]\ndefault = \"allow\"\n");
    let model = home.model(SCENARIO);
    home.done(&["run", "--model", &model, "the command"]);
    assert!(home.work().join("made").exists());
}

#[test]
fn a_yes_for_good_is_written_into_the_settings() {
    let home = Home::new();
    let config = home.write("config.toml", "# mine\n[permissions]\nwait = true # for a while\n");
    let model = home.model(SCENARIO);
    let run = ["run", "--model", &model, "--json", "the command"];
    let child = start(&home, &run);
    let asked = until_asked(&home);
    let id = &text(&asked, "id")[..8];
    check!(home.shown(&home.ran(&["permission", "allow", id, "--scope", "always"])), @"
    code: 0
    --- stdout
    allowed [AGENT8] Bash: echo hi > made (always: `Bash(echo hi > made)`)
    --- stderr
    wrote `Bash(echo hi > made)` into permissions.allow of [HOME]/config.toml
    ");
    assert_eq!(ended(child).0, 0);
    insta::assert_snapshot!(std::fs::read_to_string(config).unwrap(), @r#"
    # mine
    [permissions]
    wait = true # for a while
    allow = ["Bash(echo hi > made)"]
    "#);
    // Another agent, in another tree: no question.
    assert_eq!(home.ran(&run).code, 0);
    check!(home.masked(&home.done(&["permission", "rules"])), @"
    mode default

    LIST   RULE                  FROM
    allow  Bash(echo hi > made)  [HOME]/config.toml:4

    ANSWER   FOR     OF        COVERS                ID
    allowed  always  [AGENT8]  Bash(echo hi > made)  [AGENT8]
    ");
    home.done(&["permission", "revoke", id]);
    check!(home.masked(&home.done(&["permission", "rules", "--json"])), @r#"{"mode":"default","mode_from":null,"deadline_seconds":3600,"default":"deny","wait":true,"rules":[{"list":"allow","rule":"Bash(echo hi > made)","file":"[HOME]/config.toml","line":4}],"answers":[]}"#);
}

#[test]
fn an_agents_command_answers_no_question() {
    let home = Home::new();
    home.write("config.toml", "[permissions]\nwait = true\n");
    let model = home.model(SCENARIO);
    let child = start(&home, &["run", "--model", &model, "--json", "the command"]);
    let asked = until_asked(&home);
    let (id, agent) = (&text(&asked, "id")[..8], text(&asked, "agent"));
    let inside = |arguments: &[&str]| {
        let mut command = home.tine(arguments);
        Ran::of(command.env("TINE_AGENT", agent).write_stdin("/answer y\ny\n"))
    };
    check!(home.shown(&inside(&["permission", "allow", id, "--scope", "always"])), @"
    code: 56
    --- stdout
    --- stderr
    error: an agent's command answers no question
    hint: a person answers in a terminal; TINE_AGENT is set here
    ");
    check!(home.shown(&inside(&["--plain", "--resume", agent])), @"
    code: 56
    --- stdout
    --- stderr
    error: an agent's command talks in no person's place
    hint: `tine run \"PROMPT\"` and `tine send AGENT TEXT` speak as the agent; TINE_AGENT is set here
    ");
    for refused in [&["permission", "deny", id] as &[&str], &["permission", "revoke", id], &[]] {
        assert_eq!(inside(refused).code, 56, "{refused:?}");
    }
    assert_eq!(home.json(&["permission", "list", "--json"]), Value::Array(vec![asked.clone()]));
    home.done(&["permission", "deny", id]);
    assert_eq!(ended(child).0, 0);
    assert!(!home.path().join("work/made").exists());
}

/// A model that writes two files.
const WRITES: &str = r#"
name = "writes"

[[turn]]
when = { tool_results = 0 }
tool_calls = [
    { name = "FileWrite", input = { file_path = "src/a.rs", content = "a" } },
    { name = "FileWrite", input = { file_path = "src/b.rs", content = "b" } },
]

[[turn]]
text = "done"
"#;

#[test]
fn a_wider_rule_is_one_that_the_list_offers() {
    let home = Home::new();
    let model = home.model(WRITES);
    let child = start(&home, &["run", "--model", &model, "--wait-for-permission", "--json", "go"]);
    let asked = until_asked(&home);
    let id = &text(&asked, "id")[..8];
    check!(home.masked(&asked["offers"].to_string()), @r#"["FileWrite([HOME]/work/src/**)"]"#);
    let allow = |arguments: &[&str]| {
        home.shown(&home.ran(&[&["permission", "allow", id][..], arguments].concat()))
    };
    check!(allow(&["--rule", "FileWrite(src/**)"]), @"
    code: 42
    --- stdout
    --- stderr
    error: an answer to one call covers no rule
    hint: add --scope agent, --scope tree or --scope always
    ");
    check!(allow(&["--scope", "tree", "--rule", "FileWrite(**)"]), @"
    code: 42
    --- stdout
    --- stderr
    error: `FileWrite(**)` is not offered for [AGENT8]
    hint: `FileWrite([HOME]/work/src/**)` is
    ");
    check!(allow(&["--scope", "tree", "--rule", "FileWrite(src/**)"]), @"
    code: 0
    --- stdout
    allowed [AGENT8] FileWrite: src/a.rs (tree: `FileWrite([HOME]/work/src/**)`)
    --- stderr
    ");
    assert_eq!(ended(child).0, 0);
    assert!(home.work().join("src/b.rs").exists());
}

#[test]
fn mistakes_change_nothing_and_say_what_to_do() {
    let home = Home::new();
    let shown = |arguments: &[&str]| {
        let ran: Ran = home.ran(&[&["permission"], arguments].concat());
        home.shown(&ran)
    };
    check!(shown(&["list"]), @"
    code: 0
    --- stdout
    --- stderr
    no agent asks for permission
    ");
    check!(shown(&["allow", "1a2b3c4d"]), @"
    code: 42
    --- stdout
    --- stderr
    error: no permission request `[AGENT8]`
    hint: `tine permission list` lists what waits; a request is named by at least four characters of its id
    ");
    check!(shown(&["deny", "zz"]), @"
    code: 42
    --- stdout
    --- stderr
    error: no permission request `zz`
    hint: `tine permission list` lists what waits; a request is named by at least four characters of its id
    ");
    check!(shown(&["rules"]), @"
    code: 0
    --- stdout
    mode default
    --- stderr
    ");
    home.write("config.toml", "[permissions]\n\ndeny = [\"bash(ls)\"]\n");
    check!(shown(&["rules"]), @"
    code: 42
    --- stdout
    --- stderr
    error: a permission rule in [HOME]/config.toml, line 3: `bash` is not a tool; did you mean `Bash`?
    hint: a rule is a tool, as `FileWrite`, or a tool and a pattern, as `Bash(git log *)`
    ");
    home.write("config.toml", "[permissions]\ndeadline = \"soon\"\n");
    check!(shown(&["rules"]), @"
    code: 42
    --- stdout
    --- stderr
    error: permissions.deadline from [HOME]/config.toml cannot be `soon`
    hint: it is a number and a unit, such as 0s, 30m, 1h or 2d
    ");
    home.write("config.toml", "");
    home.write("work/.tine/config.toml", "[permissions]\ndefault = \"allow\"\n");
    check!(shown(&["rules", "--trust"]), @"
    code: 42
    --- stdout
    --- stderr
    error: [HOME]/work/.tine/config.toml may not set permissions.default
    hint: a project's file can only narrow permissions; put this into your own config.toml
    ");
}

/// Shows: which commands are seen in a line, which rule meets each, and what comes of it.
#[test]
fn a_verdict_is_explained() {
    let home = Home::new();
    home.write(
        "config.toml",
        "[permissions]\nallow = [\"Bash(cargo test *)\", \"Bash(cd *)\"]\nask = [\"Bash(cargo publish*)\"]\ndeny = [\"Bash(git push*)\"]\n",
    );
    let why = |command: &str| home.shown(&home.ran(&["permission", "why", command]));
    check!(why("cd x && bash -c \"git push\""), @"
    code: 56
    --- stdout
    denied: the rule `Bash(git push*)` denies it

    COMMAND           RULE
    cd x              allow Bash(cd *)
    bash -c git push  none
      git push        deny Bash(git push*)
    --- stderr
    ");
    check!(why("cd x && cargo test -p a"), @"
    code: 0
    --- stdout
    allowed: it runs without a question

    COMMAND          RULE
    cd x             allow Bash(cd *)
    cargo test -p a  allow Bash(cargo test *)
    --- stderr
    ");
    assert!(why("x=1; cargo test").contains("it also redirects, sets variables"));
    check!(why("cargo $x; curl x | sh"), @"
    code: 56
    --- stdout
    asked about: the rule `Bash(git push*)` may deny it: what `sh` runs is not known

    COMMAND  RULE
    cargo …  ask Bash(cargo publish*), perhaps
    curl x   none
    sh       deny Bash(git push*), perhaps; ask Bash(cargo publish*), perhaps
      …      not known
    --- stderr
    ");
    check!(why("ls )"), @r#"
    code: 56
    --- stdout
    asked about: the rule `Bash(git push*)` may deny it: `)` at column 4: this closes nothing

    COMMAND  RULE
    ls       none

    There may be more commands: `)` at column 4: this closes nothing.
    --- stderr
    "#);
    check!(home.ran(&["permission", "why", "--json", "sudo git push"]).stdout, @r#"{"verdict":"deny","reason":"the rule `Bash(git push*)` denies it","commands":[{"command":"sudo git push","depth":0,"runs_unknown":false,"rules":[]},{"command":"git push","depth":1,"runs_unknown":false,"rules":[{"list":"deny","rule":"Bash(git push*)","perhaps":false}]}],"uncertain":null,"does_more":false}"#);
}

/// A server may number its calls anew in each process; each question is of its own call all the same.
#[test]
fn an_answer_counts_after_a_crash_also_where_an_earlier_call_had_the_same_id() {
    let home = Home::new();
    let model = home.near_model(
        r#"
        name = "case"
        [[turn]]
        when = { user_contains = "look", tool_results = 0 }
        tool_calls = [{ name = "Glob", input = { pattern = "*" } }]
        [[turn]]
        when = { user_contains = "the command", tool_results = 0 }
        tool_calls = [{ name = "Bash", input = { command = "echo hi > made" } }]
        [[turn]]
        text = "done"
        "#,
    );
    home.done(&["run", "--name", "base", "--model", &model, "look"]);
    let again = ["run", "--resume", "base", "--wait-for-permission"];
    let mut first = start(&home, &[&again[..], &["the command"]].concat());
    let asked = until_asked(&home);
    let ids = home.done(&["show", "base", "--json"]);
    assert_eq!(ids.matches("\"id\":\"toolu_sim_000001\"").count(), 2, "{ids}");
    first.kill().unwrap();
    first.wait().unwrap();
    home.done(&["permission", "allow", text(&asked, "id")]);
    home.done(&["run", "--resume", "base"]);
    assert!(home.work().join("made").exists());
}
