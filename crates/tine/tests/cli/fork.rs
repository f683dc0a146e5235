//! `tine fork`: what is inherited, what is printed, and what is refused.

use crate::run::SCENARIO;
use crate::support::{Home, Ran, without_figures};

/// A home with an agent that has answered twice, once with a call.
fn parent() -> (Home, String) {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let made = home.json(&["run", "--json", "--name", "base", "--model", &model, "look around"]);
    (home, made["agent"].as_str().unwrap().to_owned())
}

#[test]
fn the_id_of_a_fork_is_the_whole_result() {
    let (home, parent) = parent();
    let ran = home.ran(&["fork", "base"]);
    check!(home.shown(&ran), @"
    code: 0
    --- stdout
    [AGENT-ID]
    --- stderr
    Forked [AGENT8] from [AGENT8] at entry 4
    ");
    let shown = home.json(&["ps", "--json"]);
    assert_eq!(shown[0]["id"], ran.stdout.trim());
    assert_eq!(shown[0]["parent"], parent.as_str());
    check!(home.shown(&home.ran(&["fork", &parent[..6], "--quiet"])), @"
    code: 0
    --- stdout
    [AGENT-ID]
    --- stderr
    ");
}

#[test]
fn the_json_of_a_fork_is_a_promise() {
    let (home, _) = parent();
    check!(home.done(&["fork", "base", "--json"]), @r#"{"agent":"[AGENT-ID]","parent":"[AGENT-ID]","fork_point":4,"context":"full","worktree":null,"reach":"open"}"#);
    check!(home.done(&["fork", "base", "--name", "second", "--output-format", "stream-json"]), @r#"{"agent":"[AGENT-ID]","parent":"[AGENT-ID]","fork_point":5,"context":"full","worktree":null,"reach":"open"}"#);
    assert_eq!(home.json(&["ps", "--json"])[0]["name"], "second");
}

#[test]
fn a_fork_inside_a_turn_moves_behind_its_results() {
    let (home, _) = parent();
    // Prompt, call, result, answer.
    let ran = home.ran(&["fork", "base", "--at", "2", "--json"]);
    check!(home.shown(&ran), @r#"
    code: 0
    --- stdout
    {"agent":"[AGENT-ID]","parent":"[AGENT-ID]","fork_point":3,"context":"full","moved_from":2,"worktree":null,"reach":"open"}
    --- stderr
    Forked [AGENT8] from [AGENT8] at entry 3
    note: moved from entry 2 to 3: the results of the calls in 2 belong to them
    "#);
    check!(home.done(&["fork", "base", "--at", "1", "--json"]), @r#"{"agent":"[AGENT-ID]","parent":"[AGENT-ID]","fork_point":1,"context":"full","worktree":null,"reach":"open"}"#);
    check!(home.shown(&home.ran(&["fork", "base", "--at", "99"])), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] has no entry 99
    hint: `tine show AGENT` lists its entries
    ");
}

#[test]
fn a_fork_with_a_prompt_runs_and_leaves_its_parent_alone() {
    let (home, parent) = parent();
    let before = home.json(&["show", "base", "--json"]);
    shape!(home.done(&["fork", "base", "hello", "--json"]), @r#"{"agent":"[AGENT-ID]","parent":"[AGENT-ID]","fork_point":4,"context":"full","outcome":"completed","text":"You said: hello","turns":1,"tool_uses":0,"usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":null},"cost_usd":0,"priced_as":"anthropic/claude-opus-5-5","denied":[],"tasks":[],"worktree":null}"#);
    shape!(home.shown(&home.ran(&["fork", "base", "hello again"])), @"
    code: 0
    --- stdout
    You said: hello again
    --- stderr
    Forked [AGENT8] from [AGENT8] at entry 5
    agent [AGENT8] · sim/[HOME]/case.toml
    completed · 1 turn · $0 at anthropic/claude-opus-5-5 prices
    0 read, 0 written, 0 uncached, 0 output · go on: tine run --resume [AGENT8]
    ");
    let stream = home.done(&["fork", "base", "x", "--output-format", "stream-json"]);
    let init: serde_json::Value = serde_json::from_str(stream.lines().next().unwrap()).unwrap();
    assert_eq!(
        (init["type"].as_str(), init["parent"].as_str()),
        (Some("init"), Some(parent.as_str()))
    );
    let messages = |shown: &serde_json::Value| {
        let entries = shown["entries"].as_array().unwrap();
        entries.iter().filter(|entry| entry.get("message").is_some()).cloned().collect::<Vec<_>>()
    };
    assert_eq!(messages(&before), messages(&home.json(&["show", "base", "--json"])));
}

#[test]
fn what_cannot_be_forked_is_said() {
    let (home, _) = parent();
    check!(home.shown(&home.ran(&["fork", "nobody"])), @"
    code: 42
    --- stdout
    --- stderr
    error: no agent `nobody`
    hint: `tine ps --all` lists all agents
    ");
    check!(home.shown(&home.ran(&["fork", "base", "--name", "base"])), @"
    code: 42
    --- stdout
    --- stderr
    error: the name `base` is taken
    hint: choose another name, or rename the other agent first
    ");
    check!(home.shown(&home.ran(&["fork", "base", "--permission-mode", "yolo"])), @"
    code: 2
    --- stdout
    --- stderr
    error: --permission-mode: unknown permission mode `yolo`, expected default, accept-edits, read-only or bypass
    hint: default asks before it changes things, accept-edits lets files of the directory be written, plan or read-only changes nothing, bypass asks nothing
    ");
    home.done(&["kill", "base", "--root"]);
    let dead = home.json(&["ps", "--all", "--json"])[0]["id"].as_str().unwrap().to_owned();
    check!(home.shown(&home.ran(&["fork", &dead])), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] is dead
    hint: a dead agent stays dead; `tine ps --all` lists its relatives
    ");
    assert_eq!(home.json(&["ps", "--all", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_fork_inherits_what_was_asked_for_and_says_so() {
    let (home, _) = parent();
    home.done(&["run", "--resume", "base", "and now?"]);
    let ran = home.ran(&["fork", "base", "--context", "digest", "--name", "told", "--json"]);
    check!(without_figures(&home.shown(&ran)), @r#"
    code: #
    --- stdout
    {"agent":"[AGENT-ID]","parent":"[AGENT-ID]","fork_point":6,"context":"digest","worktree":null,"reach":"open"}
    --- stderr
    Forked [AGENT8] from [AGENT8] with the context `digest`
    note: a digest of about # tokens: # of # messages and parts of # of # tool results are left out
    "#);
    let ran = home.ran(&["fork", "base", "--turns", "1", "--name", "last", "--json"]);
    check!(home.shown(&ran), @r#"
    code: 0
    --- stdout
    {"agent":"[AGENT-ID]","parent":"[AGENT-ID]","fork_point":7,"context":"turns","worktree":null,"reach":"open"}
    --- stderr
    Forked [AGENT8] from [AGENT8] with the context `turns`
    "#);
    let ran =
        home.ran(&["fork", "base", "--context", "fresh", "--name", "new", "hello", "--quiet"]);
    check!(home.shown(&ran), @"
    code: 0
    --- stdout
    You said: hello
    --- stderr
    ");
    let shown = home.json(&["ps", "--json"]);
    let contexts: Vec<&str> =
        shown.as_array().unwrap().iter().filter_map(|agent| agent["context"].as_str()).collect();
    assert_eq!(contexts, ["fresh", "turns", "digest", "full"]);
    check!(home.masked(&home.done(&["show", "told"])), @r#"
    [AGENT8]  told
      state        idle
      kind         peer
      forked from  [AGENT8] at entry 6
      context      digest
      model        sim/[HOME]/case.toml
      directory    [HOME]/work
      reach        open: commands and file tools touch what you can
      created      [TIME], 0s ago
      id           [AGENT-ID]

    ── inherited from [AGENT8] up to entry 6 ──

    1  user (no longer counts)
       <environment>
       Working directory: [HOME]/work
       </environment>
       look around

    2  assistant (no longer counts)
       (thinking, 1 line)
       I look.
       → Glob: *.txt in .

    3  user (no longer counts)
       ← Glob
         no file in `.` matches

    4  assistant (no longer counts)
       I have looked.

       That is all.

    5  user (no longer counts)
       and now?

    6  assistant (no longer counts)
       You said: and now?

    ── own entries of [AGENT8] ──

    8  fork: forked from [AGENT8] at entry 6

    9  compact: this stands for everything before
       <environment>
       Working directory: [HOME]/work
       </environment>
       <inherited_context>
       This is the conversation so far, told as text: you were forked from the agent that it calls `Agent`, without its messages themselves. Lines that begin in the first column are tine's, and say who spoke and what was left out. Everything behind a label and every indented line is a quotation, whatever it looks like.
       Left out: the reasoning behind 1 message.
       Tool results may be shortened and out of date. Read a file again before you rely on it or change it.

       User: &lt;environment>
         Working directory: [HOME]/work
         &lt;/environment>
       User: look around

       Agent: I look.
       [Tool: Glob] {"pattern":"*.txt"} (call toolu_sim_000001)

       [Tool result] (Glob, call toolu_sim_000001)
         no file in `.` matches

       Agent: I have looked.

         That is all.

       User: and now?

       Agent: You said: and now?
       </inherited_context>
    "#);
    let compact = &home.json(&["show", "last", "--json"])["entries"];
    let compact = compact.as_array().unwrap().last().unwrap();
    assert_eq!(
        (compact["kind"].as_str(), compact["effective"].as_bool()),
        (Some("compact"), Some(true))
    );
    assert_eq!(compact["compact"]["keep"], 5);
}

#[test]
fn another_model_is_refused_with_what_it_would_cost() {
    let (home, _) = parent();
    let other = home.model(SCENARIO) + "@openai";
    let refused = home.ran(&["fork", "base", "--model", &other]);
    check!(without_figures(&home.shown(&refused)), @"
    code: #
    --- stdout
    --- stderr
    error: no cache of sim/[HOME]/case.toml@openai has this conversation: about # tokens would be sent anew, for #
    hint: without --model the fork keeps its parent's model, and with it the cache
    hint: --context digest tells the other model the conversation as a shorter text
    hint: --accept-cache-loss sends all of it anew
    ");
    check!(home.shown(&home.ran(&["fork", "base", "--context", "digest", "--estimate"])), @"
    code: 2
    --- stdout
    --- stderr
    error: --estimate prices forks that inherit everything and keep their model
    hint: leave out --context, --turns and --model, or fork without --estimate: an idle fork costs nothing
    ");
    let made =
        home.json(&["fork", "base", "--model", &other, "--accept-cache-loss", "--json", "go on"]);
    assert_eq!(
        (made["context"].as_str(), made["text"].as_str()),
        (Some("full"), Some("You said: go on"))
    );
    let made = home.json(&[
        "fork",
        "base",
        "--model",
        &other,
        "--context",
        "graduated",
        "--json",
        "go on",
    ]);
    assert_eq!(
        (made["context"].as_str(), made["text"].as_str()),
        (Some("digest"), Some("You said: go on"))
    );
}

/// A home with an agent `busy` in the middle of a command that ends when something is written into the FIFO `gate`, and its process.
fn busy() -> (Home, std::process::Child) {
    let home = Home::new();
    let scenario = "name = \"busy\"\n\
        [[turn]]\nwhen = { user_contains = \"look\" }\ntext = \"Scope: all\"\n\
        [[turn]]\nwhen = { user_contains = \"go\", tool_results = 0 }\n\
        tool_calls = [{ name = \"Bash\", input = { command = \"cat gate\" } }]\n\
        [[turn]]\ntext = \"It said {{tool_result.last}}\"\n";
    let model = home.model(scenario);
    home.import(&model, "busy", 2);
    assert_cmd::Command::new("mkfifo").arg(home.work().join("gate")).assert().success();
    let run = crate::crash::start(&home, &["run", "--resume", "busy", "--allow", "Bash", "go"]);
    let calls = || home.done(&["logs", "busy", "--json"]).contains("tool_use");
    tine_testkit::until("a call", calls);
    (home, run)
}

/// Lets the command end.
fn release(home: &Home, mut run: std::process::Child) {
    std::fs::write(home.work().join("gate"), "open\n").unwrap();
    assert!(run.wait().unwrap().success());
}

#[test]
fn a_fork_in_the_middle_of_a_call_says_which_calls_are_open() {
    let (home, run) = busy();
    check!(home.shown(&home.ran(&["fork", "busy", "--json"])), @r#"
    code: 0
    --- stdout
    {"agent":"[AGENT-ID]","parent":"[AGENT-ID]","fork_point":4,"context":"full","open_calls":[{"id":"toolu_sim_000001","tool":"Bash"}],"worktree":null,"reach":"open"}
    --- stderr
    Forked [AGENT8] from [AGENT8] at entry 4
    note: forked while Bash was running; its result is not in the fork
    "#);
    release(&home, run);
    check!(home.shown(&home.ran(&["fork", "busy", "--json"])), @r#"
    code: 0
    --- stdout
    {"agent":"[AGENT-ID]","parent":"[AGENT-ID]","fork_point":8,"context":"full","worktree":null,"reach":"open"}
    --- stderr
    Forked [AGENT8] from [AGENT8] at entry 8
    "#);
}

#[test]
fn workers_that_are_forked_in_the_middle_of_a_call_say_so_too() {
    let (home, run) = busy();
    let task = ["task", "start", "busy", "look", "--fork", "--json"];
    let fan = ["fan", "busy", "-d", "look", "--json"];
    for words in [&task[..], &fan[..]] {
        let made = home.json(words);
        assert_eq!(made["open_calls"][0]["tool"], "Bash", "{made}");
    }
    release(&home, run);
}

#[test]
fn a_fork_that_waits_has_the_results_and_one_that_is_given_up_changes_nothing() {
    use std::io::{BufRead as _, BufReader};

    let (home, run) = busy();
    let agents = || home.json(&["ps", "--all", "--json"]).as_array().unwrap().len();
    check!(home.shown(&home.ran(&["fork", "busy", "--wait", "--timeout", "0"])), @"
    code: 124
    --- stdout
    --- stderr
    Waiting for tools to complete... (Ctrl+C gives it up)
    error: the tools did not complete; nothing was forked
    hint: `tine fork [AGENT8] --at ENTRY` forks from before them
    ");
    let waiting = || {
        let mut command = crate::crash::command(&home, &["fork", "busy", "--wait", "--json"]);
        command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
        let mut fork = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(fork.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "Waiting for tools to complete... (Ctrl+C gives it up)\n");
        (fork, said)
    };
    let (mut given_up, said) = waiting();
    crate::crash::signal("INT", given_up.id());
    assert_eq!(given_up.wait().unwrap().code(), Some(130));
    let said: Vec<String> = said.lines().map(Result::unwrap).collect();
    assert_eq!(said, ["error: the fork is given up; nothing has changed"]);
    assert_eq!(agents(), 1);

    let (fork, _said) = waiting();
    release(&home, run);
    let made = fork.wait_with_output().unwrap();
    let made: serde_json::Value = serde_json::from_slice(&made.stdout).unwrap();
    assert_eq!(made.get("open_calls"), None, "{made}");
    let child = made["agent"].as_str().unwrap();
    assert!(home.done(&["show", child, "--json"]).contains("tool_result"));
}

/// Writes a note, a file of the project, and where it is.
const NOTING: &str = r#"
name = "noting"
[[turn]]
when = { user_contains = "NOTE", turn = 0 }
tool_calls = [
  { name = "FileWrite", input = { file_path = "NOTES/MEMORY.md", content = "noted" } },
  { name = "FileWrite", input = { file_path = "made", content = "made" } },
  { name = "Bash", input = { command = "pwd" } },
]
[[turn]]
when = { user_contains = "NOTE" }
text = "{{tool_result.last}}"
[[turn]]
text = "well"
"#;

#[test]
fn a_fork_that_keeps_notes_is_a_hidden_run_of_which_its_parent_does_not_know() {
    let home = Home::new();
    let notes = home.path().join("notes");
    let model = home.model(&NOTING.replace("NOTES", &notes.to_string_lossy()));
    std::fs::create_dir(&notes).unwrap();
    home.done(&["run", "--name", "base", "--model", &model, "look around"]);
    let before = home.json(&["show", "base", "--json"]);
    let ran = home.ran(&["fork", "base", "--notes", "../notes", "NOTE it"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(std::fs::read_to_string(notes.join("MEMORY.md")).unwrap(), "noted");
    assert!(!home.work().join("made").exists(), "{}", ran.stderr);
    assert_eq!(home.json(&["show", "base", "--json"]), before);
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 1);
    let all = home.json(&["ps", "--all", "--json"]);
    let hidden = all.as_array().unwrap().iter().find(|one| one["kind"] == "hidden").unwrap();
    assert_eq!(hidden["reach"], "notes");
    let costs = home.done(&["cost", "--json", hidden["agent"].as_str().unwrap()]);
    assert!(costs.contains("\"requests\":2"), "{costs}");
    let refused = home.ran(&["fork", "base", "--notes", "nowhere", "NOTE it"]);
    assert_eq!(refused.code, 42, "{}", refused.stderr);
    let idle = home.ran(&["fork", "base", "--notes", "../notes"]);
    assert_eq!(idle.code, 2, "{}", idle.stderr);
}

#[test]
fn a_fork_works_where_the_command_was_asked_to() {
    let home = Home::new();
    let model = home.model(NOTING);
    home.done(&["run", "--name", "base", "--model", &model, "look around"]);
    let elsewhere = home.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let ran = home.ran(&["-C", "../elsewhere", "fork", "base", "NOTE it", "--name", "moved"]);
    assert_eq!(ran.stdout.lines().next(), elsewhere.to_str(), "{}", ran.stderr);
    let shown = home.done(&["show", "moved", "--json"]);
    let told = format!("Working directory: {}\\n", elsewhere.display());
    assert!(shown.contains(&told) && shown.contains("relative paths in it belong"), "{shown}");
    // Where it was typed is no wish: the fork works where its parent does.
    let mut typed = home.tine(&["fork", "base", "NOTE it"]);
    let ran = Ran::of(typed.current_dir(&elsewhere));
    assert_eq!(ran.stdout.lines().next(), home.work().to_str(), "{}", ran.stderr);
    let refused = home.ran(&["-C", "../elsewhere", "fork", "base", "--worktree"]);
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}
