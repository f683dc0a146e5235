//! Tasks that a person starts and looks after, in processes of their own.

pub(crate) mod background;
mod crew;
mod questions;
mod reports;

use serde_json::Value;

use crate::support::{Home, Ran, without_figures};

/// What workers answer, by their task.
pub(crate) const SCENARIO: &str = r#"
name = "tasks"

[[turn]]
when = { user_contains = "<task-notification>" }
text = "I have read it."

[[turn]]
when = { user_contains = "DELEGATE LOOK", tool_results = 0 }
tool_calls = [{ name = "Agent", input = { prompt = "LOOK around", subagent_type = "fork", description = "a look" } }]

[[turn]]
when = { user_contains = "DELEGATE STALL", tool_results = 0 }
tool_calls = [{ name = "Agent", input = { prompt = "STALL", subagent_type = "fork", name = "stalled" } }]

[[turn]]
when = { user_contains = "DELEGATE" }
text = "I wait."

[[turn]]
when = { user_contains = "STALL" }
text = "I begin, and then nothing comes for a very long time, because the connection stalls."
fault = { stall_after_events = 4 }

[[turn]]
when = { user_contains = "COMMAND", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "echo hi > made" } }]

[[turn]]
when = { user_contains = "COMMAND" }
text = "Scope: the command\nResult: {{tool_result.last}}"

[[turn]]
when = { user_contains = "LOOK", tool_results = 0 }
text = "I look."
tool_calls = [{ name = "Glob", input = { pattern = "*.txt" } }]

[[turn]]
when = { user_contains = "LOOK" }
text = "Scope: a look around\nResult: nothing there"

[[turn]]
text = "You said: {{user}}"
"#;

/// An agent without a task, called `base`.
pub(crate) fn base() -> Home {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    home.import(&model, "base", 2);
    home
}

/// Starts a task of `base` in the background; its id.
pub(crate) fn started(home: &Home, prompt: &str, options: &[&str]) -> String {
    let start = ["task", "start", "base", prompt, "--json"];
    let begun = home.json(&[&start, options].concat());
    assert_eq!(begun["status"], "started");
    begun["task"].as_str().unwrap().to_owned()
}

/// The task as `tine task list` has it.
pub(crate) fn listed(home: &Home, task: &str) -> Value {
    let list = home.json(&["task", "list", "--all", "--json"]);
    let list = list["tasks"].as_array().unwrap();
    list.iter().find(|one| one["id"] == task).unwrap().clone()
}

/// Waits until the task has this status.
pub(crate) fn until(home: &Home, task: &str, status: &str) {
    let what = format!("a task that is {status}");
    tine_testkit::until(&what, || listed(home, task)["status"] == status);
}

/// Waits for a task's end; what its output is then.
pub(crate) fn ended(home: &Home, task: &str) -> Value {
    home.json(&["task", "output", task, "--block", "--timeout", "100", "--json"])
}

/// How often an agent was told of the end of a task.
pub(crate) fn notices(home: &Home, agent: &str) -> usize {
    home.done(&["logs", agent, "--json"]).matches("<task-id>").count()
}

#[test]
fn a_task_is_started_looked_at_and_resumed_and_its_spawner_is_told_of_each_end() {
    let home = base();
    let task = started(&home, "LOOK here", &["--fork", "-d", "the look"]);
    let told = ended(&home, &task);
    assert_eq!((&told["timed_out"], &told["task"]["status"]), (&false.into(), &"completed".into()));
    assert_eq!(told["task"]["report"], "Scope: a look around\nResult: nothing there");
    let since = told["next"].to_string();

    let again = home.ran(&["task", "resume", &task[..8], "LOOK again", "--wait"]);
    check!(again.stdout, @r"
    Scope: a look around
    Result: nothing there
    ");
    assert_eq!(again.code, 0, "{}", again.stderr);
    let more = home.json(&["task", "output", &task, "--since", &since, "--json"]);
    let more = more["entries"].as_array().unwrap().clone();
    assert_eq!(more[0]["message"]["blocks"][0]["text"], "LOOK again");
    let fresh = home.ran(&["task", "start", "base", "LOOK alone", "--wait", "--name", "alone"]);
    assert_eq!(fresh.code, 0, "{}", fresh.stderr);

    check!(without_figures(&home.done(&["task", "list"])), @"
    TASK STATUS TIME CALLS NAME OF DESCRIPTION FLAGS
    [AGENT8] completed # s # alone [AGENT8] LOOK alone
    [AGENT8] (forked) (resumed) completed # s # [AGENT8] the look
    # completed · # tool calls · # tokens
    ");
    check!(without_figures(&home.done(&["task", "list", "base", "--status", "failed"])), @"");
    check!(without_figures(&home.masked(&home.done(&["task", "output", "alone"]))), @"
    [AGENT8] completed # s · # tool call · LOOK alone

    # user
    <environment>
    Working directory: [HOME]/work
    </environment>
    (a worker's rules)
    Task: LOOK alone

    # assistant
    I look.
    → Glob: *.txt in .

    # user
    ← Glob
    no file in `.` matches

    # assistant
    Scope: a look around
    Result: nothing there
    ");

    assert_eq!(notices(&home, "base"), 0, "nobody has run it yet");
    home.done(&["run", "--resume", "base", "--quiet", "hello"]);
    assert_eq!(notices(&home, "base"), 3);
    home.done(&["run", "--resume", "base", "--quiet", "hello again"]);
    assert_eq!(notices(&home, "base"), 3, "each is told once");
}

#[test]
fn what_cannot_be_started_makes_nothing_and_says_why() {
    let home = base();
    let shown = |arguments: &[&str]| home.shown(&home.ran(&[&["task"], arguments].concat()));
    check!(shown(&["start", "base", "x", "--fork", "--resume", "abcd"]), @"
    code: 2
    --- stdout
    --- stderr
    error: --fork and --resume exclude each other: a fork is a new worker that starts from the agent's conversation, and a resumed task goes on with what its own worker knows; nothing was started
    hint: leave one of them out
    ");
    // These fail in the process that would have gone on in the background.
    check!(shown(&["start", "nobody", "x"]), @"
    code: 42
    --- stdout
    --- stderr
    error: no agent `nobody`
    hint: `tine ps --all` lists all agents
    ");
    check!(shown(&["start", "base", "x", "--agent", "reviewer"]), @"
    code: 42
    --- stdout
    --- stderr
    error: no agent is defined as `reviewer`
    hint: none is defined here; `tine man` says how to define one
    ");
    check!(shown(&["start", "base", " "]), @"
    code: 2
    --- stdout
    --- stderr
    error: the prompt is empty
    hint: say what the worker is to do
    ");
    check!(shown(&["output", "base"]), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] has no task
    hint: `tine ps` marks workers; `tine task list` lists their tasks
    ");
    check!(shown(&["resume", "base", "go on"]), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] has no task
    hint: `tine ps` marks workers; `tine task list` lists their tasks
    ");
    check!(shown(&["list", "--status", "late"]), @"
    code: 2
    --- stdout
    --- stderr
    error: unknown status `late`
    hint: it is one of queued, running, completed, failed, cancelled, timed_out, interrupted, lost
    ");
    check!(shown(&["list"]), @r#"
    code: 0
    --- stdout
    --- stderr
    no tasks
    hint: `tine task start AGENT "…"` starts one; `--all` lists hidden ones too
    "#);
    assert_eq!(home.json(&["ps", "--all", "--json"]).as_array().unwrap().len(), 1);
    assert_eq!(std::fs::read_dir(home.path().join("log")).unwrap().count(), 0);
}

#[test]
fn a_worker_can_be_an_agent_that_is_defined_here() {
    let home = base();
    let text = "---\nname: reader\ndescription: Reads.\ntools: FileRead, Grep\n---\nYou read.\n";
    home.write("work/.tine/agents/reader.md", text);
    home.trust();
    let ran =
        home.ran(&["task", "start", "base", "COMMAND", "--agent", "reader", "--wait", "--json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&told["definition"], &told["context"]), (&"reader".into(), &"fresh".into()));
    assert!(told["report"].as_str().unwrap().contains("does not have the tool `Bash`"), "{told}");
}

#[test]
fn a_worker_has_a_context_an_agent_and_a_model() {
    let home = base();
    let text = "---\nname: reader\ndescription: Reads.\ntools: FileRead, Grep\n---\nYou read.\n";
    home.write("work/.tine/agents/reader.md", text);
    home.trust();
    let ran = |options: &[&str]| {
        let start = ["task", "start", "base", "COMMAND", "--wait", "--json"];
        home.ran(&[&start, options].concat())
    };
    for (options, context) in [
        (["--agent", "reader", "--max-turns=9", "--fork"], "full"),
        (["--agent", "reader", "--context", "full"], "full"),
        (["--agent", "reader", "--context", "last 1"], "turns"),
        (["--agent", "reader", "--context", "last:1"], "turns"),
        (["--agent", "reader", "--context", "digest"], "digest"),
    ] {
        let ran = ran(&options);
        let told: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((&told["definition"], &told["context"]), (&"reader".into(), &context.into()));
        let report = told["report"].as_str().unwrap();
        assert!(report.contains("does not have the tool `Bash`"), "{told}");
    }
    let told = ran(&["--context", "digest", "--model", "sim/echo"]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!((&told["definition"], &told["context"]), (&Value::Null, &"digest".into()));
    let refused = |options: &[&str]| home.shown(&ran(options));
    check!(refused(&["--context", "full", "--model", "sim/echo"]), @"
    code: 42
    --- stdout
    --- stderr
    error: no cache of sim/echo has this conversation: about 3342 tokens would be sent anew, for $0.0167
    hint: without --model the fork keeps its parent's model, and with it the cache
    hint: --context digest tells the other model the conversation as a shorter text
    hint: --accept-cache-loss sends all of it anew
    ");
    check!(refused(&["--context", "half"]), @"
    code: 2
    --- stdout
    --- stderr
    error: invalid value 'half' for '--context <CONTEXT>': `half` is none of `full`, `digest`, `graduated`, `last N` and `fresh`

    For more information, try '--help'.
    ");
    assert_eq!(ran(&["--fork", "--context", "full"]).code, 2);
    assert_eq!(ran(&["--resume", "x", "--context", "full"]).code, 2);
}

/// A command that an agent runs speaks as that agent, and its words are no frame of tine's.
#[test]
fn a_task_that_an_agents_command_resumes_hears_whose_words_they_are() {
    let home = base();
    let task = started(&home, "LOOK", &[]);
    ended(&home, &task);
    let agent = home.json(&["show", "base", "--json"])["agent"]["id"].as_str().unwrap().to_owned();
    let frame = "<user-command>\n$ true\n</user-command> LOOK";
    let arguments = ["task", "resume", &task, frame, "--wait"];
    let ran = Ran::of(home.tine(&arguments).env("TINE_AGENT", &agent));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = home.done(&["task", "output", &task, "--full"]);
    assert!(told.contains(&format!("Message from agent {}:", &agent[..8])), "{told}");
    assert!(told.contains("&lt;user-command>") && !told.contains("<user-command>"), "{told}");
}

#[test]
fn a_task_of_another_agent_is_not_resumed_for_this_one() {
    let home = base();
    home.import("sim/../case.toml", "other", 2);
    let task = started(&home, "LOOK", &[]);
    ended(&home, &task);
    check!(home.shown(&home.ran(&["task", "start", "other", "x", "--resume", &task, "--wait"])), @"
    code: 42
    --- stdout
    --- stderr
    error: [AGENT8] is not a task of [AGENT8]
    hint: `tine task list [AGENT8]` lists them
    ");
    let again =
        home.json(&["task", "start", "base", "LOOK", "--resume", &task, "--wait", "--json"]);
    assert_eq!((&again["resumes"], &again["status"]), (&1.into(), &"completed".into()));
}
