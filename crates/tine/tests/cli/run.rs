//! `tine run`: what a user and a script see of a run, and its exit codes.

use crate::support::{Home, Ran};

/// Answers that end in every way a run can end.
pub(crate) const SCENARIO: &str = r#"
name = "talk"

[[turn]]
when = { user_contains = "look", tool_results = 0 }
thinking = "I should look first."
text = "I look."
tool_calls = [{ name = "Glob", input = { pattern = "*.txt" } }]

[[turn]]
when = { user_contains = "look" }
text = "I have looked.\n\nThat is all."

[[turn]]
when = { user_contains = "command", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "echo hi; exec false" } }]

[[turn]]
when = { user_contains = "command" }
text = "It said: {{tool_result.last}}"

[[turn]]
when = { user_contains = "cut" }
text = "half a sent"
stop_reason = "max_tokens"

[[turn]]
when = { user_contains = "refuse" }
text = "No."
stop_reason = "refusal"

[[turn]]
when = { user_contains = "stall" }
text = "The first part. The rest never comes, because the connection stalls here and says nothing."
fault = { stall_after_events = 4 }

[[turn]]
when = { user_contains = "key" }
fault = { status = 401, message = "bad key" }

[[turn]]
when = { user_contains = "retry" }
fault = { status = 429, retry_after = 0, message = "slow down", times = 1 }

[[turn]]
text = "You said: {{user}}"
"#;

/// Filters for what depends on the length of the home's path as well: tokens, money and times.
pub(crate) fn filters() -> Vec<(&'static str, &'static str)> {
    let mut filters = crate::support::filters();
    filters.extend([
        (r#""(uncached|write_short|write_long|read|output|reasoning)":\d+"#, r#""$1":0"#),
        (r#""(\w+_usd|efficiency|duration_ms)":[0-9.e-]+"#, r#""$1":0"#),
        (r#""reason":"[^"]*""#, r#""reason":"[WHY]""#),
        (r"\$[0-9.]+", "$$0"),
        (r"\b[0-9]+% efficient", "0% efficient"),
        (r"\b[0-9.,]+k? of 1M context\b", "0 of 1M context"),
        (r"\b[0-9.,]+k? (read|written|uncached|output|tokens|context)\b", "0 $1"),
        (r"\b[0-9]+% cached\b", "0% cached"),
        (r"\b[0-9]+s ago\b", "0s ago"),
        // Cells of the tree: what the cache served, and the age.
        (r" [0-9]+%(  +–)", " 0%$1"),
        (r"(–    )[0-9]+s\b", "${1}0s"),
        (r"\b[0-9.]+ s\b", "0 s"),
        (r"(first|all) turns +[0-9, ]+", "$1 turns [TOKENS]"),
    ]);
    filters
}

fn piped(home: &Home, arguments: &[&str], stdin: impl Into<Vec<u8>>) -> Ran {
    Ran::of(home.tine(arguments).write_stdin(stdin))
}

#[test]
fn a_new_agent_answers_and_says_how_to_go_on() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    shape!(home.shown(&home.ran(&["run", "--model", &model, "look around"])), @"
    code: 0
    --- stdout
    I have looked.

    That is all.
    --- stderr
    agent [AGENT8] · sim/[HOME]/case.toml
    I look.
    ● Glob *.txt in .
      ⎿ no file in `.` matches
    completed · 2 turns · 1 tool call · $0 at anthropic/claude-opus-5-5 prices
    0 read, 0 written, 0 uncached, 0 output · go on: tine run --resume [AGENT8]
    ");
    shape!(home.shown(&home.ran(&["run", "--continue", "--quiet", "hello"])), @"
    code: 0
    --- stdout
    You said: hello
    --- stderr
    ");
}

#[test]
fn stdout_is_the_last_text_byte_for_byte() {
    let home = Home::new();
    let model = home.model("name = \"raw\"\n[[turn]]\ntext = \"\\u001B[31mred\\u001B[0m\\ttab\"\n");
    let ran = home.ran(&["run", "--model", &model, "-q", "x"]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("\u{1b}[31mred\u{1b}[0m\ttab\n", ""));
}

#[test]
fn control_characters_are_left_out_of_what_is_sent_and_that_is_said_once() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let prompt = "a\u{1b}[31mred\u{1b}[0m\tb\u{7}";
    let run = ["run", "-q", "--model", &model, "--name", "base", prompt];
    let ran = piped(&home, &run, "\u{1b}[1mbold\u{1b}[0m\r\n");
    assert_eq!(ran.stdout, "You said: ared\tb\n\n<stdin>\nbold\n</stdin>\n");
    let said = "note: control characters are left out of what is sent, but for line ends and tabs";
    assert_eq!(ran.stderr.trim_end(), said);
    let lines: [&[&str]; 2] =
        [&["fork", "base", "-q", "one\u{1b}[A"], &["send", "base", "one\u{9b}2J"]];
    for line in lines {
        let ran = home.ran(line);
        assert_eq!(ran.code, 0, "{line:?}: {}", ran.stderr);
        assert_eq!(ran.stderr.matches(said).count(), 1, "{line:?}: {}", ran.stderr);
    }
    // Marks that turn the reading direction are text.
    let ran = home.ran(&["run", "-q", "--resume", "base", "\u{202e}turned"]);
    assert!(ran.stdout.contains("\u{202e}turned"), "{}", ran.stdout);
}

#[test]
fn a_prompt_may_be_piped_alone_or_beside_an_argument() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let alone = piped(&home, &["run", "-q", "--model", &model], "from a pipe\n");
    assert_eq!(alone.stdout, "You said: from a pipe\n");
    let both = piped(&home, &["run", "-q", "-c", "what is this?"], "a\nb\n");
    assert_eq!(both.stdout, "You said: what is this?\n\n<stdin>\na\nb\n</stdin>\n");
    let binary = piped(&home, &["run", "-c"], vec![b'a', 0xff]);
    check!(home.shown(&binary), @"
    code: 42
    --- stdout
    --- stderr
    error: standard input is not UTF-8 text (byte 1)
    hint: name a binary file in the prompt instead of piping it
    ");
    let huge = piped(&home, &["run", "-c"], vec![b'a'; (1 << 20) + 1]);
    check!(home.shown(&huge), @"
    code: 42
    --- stdout
    --- stderr
    error: standard input is larger than 1 MiB
    hint: save it to a file and name the file in the prompt; the agent reads what it needs
    ");
}

#[test]
fn what_cannot_be_done_is_said_and_leaves_no_agent() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let shown = |arguments: &[&str]| home.shown(&home.ran(arguments));
    check!(shown(&["run", "--model", &model]), @r#"
    code: 2
    --- stdout
    --- stderr
    error: there is no prompt
    hint: `tine run "PROMPT"`, or pipe it: `tine run < prompt.txt`
    hint: `tine run --continue` goes on with the last agent of this directory
    "#);
    check!(shown(&["run", "--continue"]), @r#"
    code: 42
    --- stdout
    --- stderr
    error: no agent has worked in this directory yet
    hint: `tine run "PROMPT"` starts one; `tine ps` lists those of all directories
    "#);
    check!(shown(&["run", "hello"]), @"
    code: 42
    --- stdout
    --- stderr
    error: no model is configured and no API key is set
    hint: store a key with `tine login`, or set ANTHROPIC_API_KEY or OPENAI_API_KEY; --model provider/name names a model
    hint: `tine` alone, in a terminal, finds the models of Ollama, llama-server, vLLM and LM Studio
    hint: `--model sim/echo` and `tine demo` need no key
    ");
    check!(shown(&["run", "--model", "anthropic/x", "hello"]), @"
    code: 42
    --- stdout
    --- stderr
    error: no API key: ANTHROPIC_API_KEY is not set
    hint: store the key with `tine login`, or set ANTHROPIC_API_KEY; `--model sim/echo` needs none
    ");
    check!(shown(&["run", "--model", "sim/none", "hello"]), @"
    code: 42
    --- stdout
    --- stderr
    error: cannot use the scenario `none`: no scenario `none`: it is neither a file nor one of the built-in scenarios (echo, demo, tour, worktrees)
    hint: a simulator model is sim/NAME of a built-in scenario, or sim/PATH of a TOML file
    ");
    check!(shown(&["run", "--model", &model, "--allow", "bash", "hello"]), @"
    code: 2
    --- stdout
    --- stderr
    error: --allow: `bash` is not a tool; did you mean `Bash`?
    hint: a rule is a tool, as `FileWrite`, or a tool and a pattern, as `Bash(git log *)`
    ");
    check!(shown(&["run", "--model", &model, "/fork"]), @"
    code: 2
    --- stdout
    --- stderr
    error: a new agent has nothing to fork
    hint: name the agent with --resume AGENT, or take the last one with --continue
    ");
    assert_eq!(home.done(&["ps", "--all", "--json"]), "[]\n");
    home.done(&["run", "--model", &model, "hello"]);
    check!(shown(&["run", "--continue", "--model", &model, "hello"]), @"
    code: 2
    --- stdout
    --- stderr
    error: --model is for new agents; an agent keeps what it began with
    hint: leave it out, or start a new agent without --continue and --resume
    hint: `tine fork AGENT --model NAME`, or /model NAME in the terminal, goes on with another
    ");
    check!(shown(&["run", "--continue"]), @"
    code: 42
    --- stdout
    --- stderr
    agent [AGENT8] · sim/[HOME]/case.toml
    error: agent [AGENT-ID] waits for a prompt
    hint: give a prompt as an argument or on standard input
    ");
}

#[test]
fn the_last_agent_of_the_directory_is_continued() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let other = home.path().join("other");
    std::fs::create_dir(&other).unwrap();
    let here = home.json(&["run", "--json", "--model", &model, "one"]);
    home.json(&["-C", other.to_str().unwrap(), "run", "--json", "--model", &model, "two"]);
    let again = home.json(&["run", "--json", "--continue", "three"]);
    assert_eq!(again["agent"], here["agent"]);
    let short = &here["agent"].as_str().unwrap()[..8];
    assert_eq!(home.json(&["run", "--json", "--resume", short, "four"])["agent"], here["agent"]);
}

#[test]
fn the_json_of_a_run_is_a_promise() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    shape!(home.done(&["run", "--json", "--model", &model, "look around"]), @r#"{"agent":"[AGENT-ID]","parent":null,"fork_point":null,"context":"full","outcome":"completed","text":"I have looked.\n\nThat is all.","turns":2,"tool_uses":1,"usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":0},"cost_usd":0,"priced_as":"anthropic/claude-opus-5-5","denied":[],"tasks":[],"worktree":null}"#);
    let ran = home.ran(&["run", "--output-format", "json", "--continue", "run the command"]);
    assert_eq!(ran.code, 56);
    shape!(ran.stdout, @r#"{"agent":"[AGENT-ID]","parent":null,"fork_point":null,"context":"full","outcome":"completed","text":"It said: Denied: no rule allows this command, and it may do more than read: `exec` at column 10: not on the list of commands that only read, and nobody can be asked here. Go on without this call, or do it another way.","turns":2,"tool_uses":1,"usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":null},"cost_usd":0,"priced_as":"anthropic/claude-opus-5-5","denied":[{"agent":"[AGENT-ID]","tool":"Bash","call":"Bash: echo hi; exec false","why":"no rule allows this command, and it may do more than read: `exec` at column 10: not on the list of commands that only read"}],"tasks":[],"worktree":null,"error":"nobody answered, so this was not done: Bash: echo hi; exec false"}"#);
    let ran = home.ran(&["run", "--json", "--continue"]);
    assert_eq!(ran.code, 42);
    shape!(ran.stdout, @r#"{"agent":"[AGENT-ID]","parent":null,"fork_point":null,"context":"full","outcome":"failed","text":"","turns":0,"tool_uses":0,"usage":{"uncached":0,"write_short":null,"write_long":null,"read":null,"output":0,"reasoning":null},"cost_usd":0,"priced_as":"anthropic/claude-opus-5-5","denied":[],"tasks":[],"worktree":null,"error":"agent [AGENT-ID] waits for a prompt"}"#);
}

#[test]
fn the_records_of_a_stream_are_a_promise() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let stream = ["run", "--output-format", "stream-json", "--model", &model];
    shape!(home.masked(&home.done(&[&stream[..], &["look around"]].concat())), @r#"
    {"type":"init","agent":"[AGENT-ID]","model":"sim/[HOME]/case.toml","parent":null,"fork_point":null,"context":"full"}
    {"type":"message","role":"user","text":"<environment>\nWorking directory: [HOME]/work\n</environment>\n\nlook around","tool_calls":[]}
    {"type":"request","turn":1}
    {"type":"thinking","delta":"I should look first."}
    {"type":"text","delta":"I look."}
    {"type":"message","role":"assistant","text":"I look.","tool_calls":["toolu_sim_000001"]}
    {"type":"usage","model":"sim/talk","usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":0}}
    {"type":"tool_call","id":"toolu_sim_000001","name":"Glob","input":{"pattern":"*.txt"}}
    {"type":"tool_result","id":"toolu_sim_000001","text":"no file in `.` matches","is_error":false}
    {"type":"message","role":"user","text":"","tool_calls":[]}
    {"type":"request","turn":2}
    {"type":"text","delta":"I have looked.\n\nThat is "}
    {"type":"text","delta":"all."}
    {"type":"message","role":"assistant","text":"I have looked.\n\nThat is all.","tool_calls":[]}
    {"type":"usage","model":"sim/talk","usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":null}}
    {"type":"result","agent":"[AGENT-ID]","parent":null,"fork_point":null,"context":"full","outcome":"completed","text":"I have looked.\n\nThat is all.","turns":2,"tool_uses":1,"usage":{"uncached":0,"write_short":0,"write_long":0,"read":0,"output":0,"reasoning":0},"cost_usd":0,"priced_as":"anthropic/claude-opus-5-5","denied":[],"tasks":[],"worktree":null}
    "#);
    let retried = home.done(&[&stream[..], &["retry"]].concat());
    let retry = retried.lines().find(|line| line.contains("\"retry\"")).unwrap();
    check!(retry, @r#"{"type":"retry","attempt":1,"wait_ms":0,"cause":"rate limited (status 429, rate_limit_error): slow down"}"#);
}

#[test]
fn every_end_has_its_code() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let ended = |arguments: &[&str]| {
        let ran = home.ran(&[&["run", "--json", "--model", &model], arguments].concat());
        let result: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        format!("{} {} {:?}\n{}", ran.code, result["outcome"], result["text"], ran.stderr)
    };
    check!(ended(&["hello"]), @r#"0 "completed" String("You said: hello")"#);
    check!(ended(&["look", "--max-turns", "1"]), @r#"
    53 "turn_limit" String("I look.")
    error: the turn limit was reached
    hint: `tine run --resume [AGENT8]` goes on; --max-turns sets the limit
    "#);
    check!(ended(&["look", "--budget", "1"]), @r#"
    55 "budget_exhausted" String("I look.")
    error: the budget of tokens is spent
    hint: `tine run --resume [AGENT8]` goes on; --budget sets the budget
    "#);
    // How much of it came by then is a matter of speed.
    let timed_out = ended(&["stall", "--timeout", "1"]);
    let (head, told) = timed_out.split_once('\n').unwrap();
    assert!(head.starts_with(r#"124 "timed_out" "#), "{head}");
    check!(told, @r#"
    error: the time limit was reached
    hint: `tine run --resume [AGENT8] "go on"` goes on; --timeout sets the limit
    "#);
    check!(ended(&["cut"]), @r#"
    1 "length_cut" String("half a sent")
    error: the reply was cut at its token limit
    hint: `tine run --resume [AGENT8] "go on"` asks for the rest
    hint: --max-output-tokens sets the limit of a new agent's replies
    "#);
    check!(ended(&["refuse"]), @r#"
    1 "refused" String("No.")
    error: the model refused to answer
    hint: fork the agent from an earlier entry and ask in another way: `tine show [AGENT8]` lists the entries
    "#);
    check!(ended(&["key"]), @r#"
    1 "failed" String("")
    error: not authenticated (status 401, authentication_error): bad key
    hint: the key is not accepted; check it, and that it belongs to this provider
    "#);
    check!(ended(&["command"]), @r#"
    56 "completed" String("It said: Denied: no rule allows this command, and it may do more than read: `exec` at column 10: not on the list of commands that only read, and nobody can be asked here. Go on without this call, or do it another way.")
    error: nobody answered, so this was not done: Bash: echo hi; exec false
    hint: allow it with --allow 'Bash(echo hi; exec false)'
    hint: or run it in a terminal, or answer from another one with --wait-for-permission
    "#);
    check!(ended(&["command", "--allow", "Bash"]), @r#"0 "completed" String("It said: hi\n[exit code 1]")"#);
    check!(ended(&["command", "--allow", "Bash", "--fail-on-tool-error"]), @r#"
    54 "completed" String("It said: hi\n[exit code 1]")
    error: a tool call failed: Bash: exit code 1: hi
    "#);
    check!(ended(&["command", "--permission-mode", "read-only"]), @r#"0 "completed" String("It said: Denied: Bash changes things and the mode is read-only (`exec` at column 10: not on the list of commands that only read). Go on without this call, or do it another way.")"#);
}

#[test]
fn slash_fork_moves_the_conversation_into_the_fork() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let parent = home.json(&["run", "--json", "--model", &model, "hello"]);
    let parent = parent["agent"].as_str().unwrap();
    let ran = home.ran(&["run", "--json", "--resume", parent, "/fork \"try it\""]);
    assert_eq!(ran.stderr, format!("Forked from {parent}\n"));
    let child: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (child["parent"].as_str(), child["text"].as_str()),
        (Some(parent), Some("You said: try it"))
    );
    let idle = home.ran(&["run", "--json", "--resume", parent, "/fork"]);
    check!(idle.stdout, @r#"{"agent":"[AGENT-ID]","parent":"[AGENT-ID]","fork_point":3,"context":"full","worktree":null,"reach":"open"}"#);
    assert_eq!(idle.stderr, format!("Forked from {parent}\n"));
}

#[test]
fn a_mistake_in_slash_fork_changes_nothing_and_is_no_failure() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    home.done(&["run", "--model", &model, "hello"]);
    let shown = |mistake: &str| home.shown(&home.ran(&["run", "--continue", mistake]));
    check!(shown("/fork try it"), @r#"
    code: 0
    --- stdout
    --- stderr
    Error: Prompt must be quoted (usage: /fork "prompt")
    "#);
    check!(shown("/fork \"try it"), @"
    code: 0
    --- stdout
    --- stderr
    Error: Unterminated quoted string
    ");
    check!(shown("/fork \"a\" b"), @"
    code: 0
    --- stdout
    --- stderr
    Error: Unexpected text after the prompt: b
    ");
    assert_eq!(home.json(&["ps", "--all", "--json"]).as_array().unwrap().len(), 1);
    assert_eq!(home.done(&["run", "-q", "-c", "/fork/s are ok"]), "You said: /fork/s are ok\n");
}

#[cfg(target_os = "linux")] // for the wall
#[test]
fn a_confined_run_says_so_and_writes_where_it_may() {
    let home = Home::new();
    let scenario = r#"
        name = "case"

        [[turn]]
        when = { user_contains = "write", tool_results = 0 }
        tool_calls = [{ name = "Bash", input = { command = "echo 1 > own; echo 2 > ../outside" } }]

        [[turn]]
        text = "I have: {{tool_result.last}}"
    "#;
    let model = home.model(scenario);
    let run = |more: &[&str]| {
        let common = ["run", "write", "--model", &model, "--permission-mode", "bypass"];
        home.ran(&[&common[..], more].concat())
    };
    let ran = run(&["--confine", "directory"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(home.work().join("own").exists() && !home.path().join("outside").exists());
    std::fs::remove_file(home.work().join("own")).unwrap();
    let ran = run(&["--confine", "read-only"]);
    // The view of a wall says it in one way, Landlock in the other.
    let refused = ["Read-only file system", "Permission denied"];
    assert!(refused.iter().any(|words| ran.stdout.contains(words)), "{}", ran.stdout);
    assert!(!home.work().join("own").exists());
    let ran = run(&["--confine", "directory", "--network", "fix the bug"]);
    assert!(ran.stderr.contains("`fix the bug` is not a host"), "{}", ran.stderr);
    assert_eq!(ran.code, 2);
    let ran = run(&["--network"]);
    check!(ran.stderr, @"
    error: --network is for confined runs
    hint: commands that are not confined have the network anyway
    ");
    assert_eq!(ran.code, 2);
}

#[test]
fn who_waits_for_the_end_of_standard_input_is_told() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let home = Home::new();
    let mut command = crate::crash::command(&home, &["run", "-q", "--model", "sim/echo"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"a line without an end\n").unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let told = lines.next().unwrap().unwrap();
    assert!(told.starts_with("waiting for the end of standard input"), "{told}");
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("a line without an end"));
}

#[test]
fn a_prompt_needs_no_command_where_there_is_no_terminal() {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    assert_eq!(home.ran(&["-m", &model, "hello"]).stdout, "You said: hello\n");
    assert_eq!(home.ran(&["-c", "and then"]).stdout, "You said: and then\n");
    let agents = home.json(&["ls", "--json"]);
    assert_eq!(agents.as_array().map(Vec::len), Some(1));
    let ran = home.json(&["--model", &model, "-p", "hello", "--json"]);
    assert_eq!(ran["text"], "You said: hello");
    assert_eq!(piped(&home, &["-c", "Review this."], "a diff").code, 0);
    // Where one is to be chosen, nobody can.
    let ran = home.ran(&["-r", "--", "hello"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
}
