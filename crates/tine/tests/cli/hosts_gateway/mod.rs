//! Claude Code and Codex behind `tine with`, which are fetched for it. The simulator is their provider.
//!
//! Facts of the pinned versions: `-p "/compact"` of Claude Code 2.1.330 compacts, and an agent runs beside the conversation that started it.
//! With `CLAUDE_CODE_MAX_RETRIES=0` a request that cannot be sent is an error at once, else it is tried for long. Codex 0.169.0 asks its
//! provider `openai`, with the key of `auth.json`, for a WebSocket first, and tries that seven times unless the answer is 426. It finds no
//! sandbox of its own beside the program that is fetched.

mod hook;
mod masks;

use std::path::Path;

use serde_json::{Value, json};
use tine_testkit::until;

use crate::crash::signal;
use crate::foreign::{self, KEY, Running, program, user};
use crate::sim_serve::{Server, bodies};
use crate::support::Home;

/// The way of a host to its provider.
#[derive(Debug, Clone, Copy)]
enum Way {
    Direct,
    Gateway,
}

impl Way {
    /// Starts a host.
    fn start(self, home: &Home, provider: &Server, host: &Path, arguments: &[&str]) -> Running {
        match self {
            Self::Direct => foreign::start(home, &variables(home, provider), host, arguments),
            Self::Gateway => with(home, provider, &[&[host.to_str().unwrap()], arguments].concat()),
        }
    }
}

/// Variables of a host, or of tine before it.
pub(crate) fn variables(home: &Home, provider: &Server) -> Vec<(&'static str, String)> {
    let mut variables = foreign::variables(&provider.field("anthropic"));
    variables.push(("OPENAI_BASE_URL", provider.field("openai")));
    variables.push(("TINE_HOME", home.path().to_str().unwrap().to_owned()));
    variables.push(("CLAUDE_CODE_MAX_RETRIES", "0".to_owned()));
    variables
}

/// Starts `tine with`.
pub(crate) fn with(home: &Home, provider: &Server, arguments: &[&str]) -> Running {
    let arguments = [&["with"], arguments].concat();
    let tine = Path::new(env!("CARGO_BIN_EXE_tine"));
    foreign::start(home, &variables(home, provider), tine, &arguments)
}

/// A simulator that answers from a scenario, and keeps the bodies in the home's folder of this name.
pub(crate) fn provider(home: &Home, scenario: &str, folder: &str) -> Server {
    let scenario = home.write("case.toml", scenario);
    let folder = home.path().join(folder);
    let (scenario, folder) = (scenario.to_str().unwrap(), folder.to_str().unwrap());
    Server::start(home, &["--scenario", scenario, "--log-bodies", folder])
}

/// Bodies that a provider gets, which must not depend on the way. It is sorted: requests of an agent run beside those of the conversation that
/// started it. `talk` has the conversation, with a user's home and a working directory that are new at the paths of those before.
fn both_ways(scenario: &str, talk: impl Fn(&Home, &Server, Way)) -> (Home, Vec<String>) {
    let home = Home::new();
    let [direct, passed] =
        [(Way::Direct, "direct"), (Way::Gateway, "gateway")].map(|(way, folder)| {
            for fresh in [user(&home), home.work()] {
                // The first time there is no user yet.
                let _ = std::fs::remove_dir_all(&fresh);
                std::fs::create_dir(&fresh).unwrap();
            }
            let provider = provider(&home, scenario, folder);
            talk(&home, &provider, way);
            let mut texts: Vec<String> =
                bodies(&home.path().join(folder)).iter().map(|body| masks::masked(body)).collect();
            texts.sort();
            texts
        });
    for (direct, passed) in direct.iter().zip(&passed) {
        let same = direct.chars().zip(passed.chars()).take_while(|(one, other)| one == other);
        // A body fills many pages.
        let from = same.count().saturating_sub(100);
        let place = |text: &str| text.chars().skip(from).take(300).collect::<String>();
        assert!(direct == passed, "direct: {}\npassed on: {}", place(direct), place(passed));
    }
    assert_eq!(direct.len(), passed.len());
    (home, direct)
}

/// The conversations that were recorded, the first one first: its number of messages, and how it goes on from which other.
fn guests(home: &Home) -> Vec<String> {
    let agents = home.json(&["ps", "--all", "--json"]);
    let mut agents = agents.as_array().unwrap().clone();
    agents.sort_by_key(|agent| agent["created_at"].as_str().unwrap().to_owned());
    let place = |id: &Value| agents.iter().position(|agent| agent["id"] == *id);
    let line = |agent: &Value| {
        assert_eq!((&agent["kind"], &agent["state"]), (&json!("guest"), &json!("idle")));
        let exported = home.json(&["export", agent["id"].as_str().unwrap()]);
        let messages = exported.as_array().unwrap().len();
        match place(&agent["parent"]) {
            None => format!("{messages} messages"),
            Some(parent) => {
                let context = agent["context"].as_str().unwrap();
                format!("{messages} messages, {context} from {parent}")
            }
        }
    };
    agents.iter().map(line).collect()
}

/// The number of bodies with all of these parts.
fn count(bodies: &[String], parts: &[&str]) -> usize {
    bodies.iter().filter(|body| parts.iter().all(|part| body.contains(part))).count()
}

const CLAUDE_CODE: &str = r#"
name = "claude-code"

[[turn]]
when = { user_contains = "create a detailed summary" }
text = "<summary>All was said.</summary>"

[[turn]]
when = { user_contains = "Run it", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "echo it-$((1 + 1))", description = "Runs it" } }]

[[turn]]
when = { last_tool = "Bash" }
text = "It ran."

[[turn]]
when = { user_contains = "Ask another", tool_results = 0 }
tool_calls = [{ name = "Agent", input = { description = "Looks", prompt = "Look closely", subagent_type = "general-purpose" } }]

[[turn]]
when = { last_tool = "Agent" }
text = "Another was asked."

[[turn]]
when = { user_contains = "Look closely" }
text = "It was seen."

[[turn]]
text = "ok"
"#;

#[test]
#[ignore = "needs Claude Code: cargo xtask hosts gateway"]
fn claude_code_is_heard_alike_with_and_without_the_gateway() {
    let host = program("TINE_TEST_CLAUDE_CODE");
    let runs: [&[&str]; 6] = [
        &["Run it", "--allowedTools", "Bash"],
        &["Say more", "--continue"],
        &["Ask another", "--continue", "--allowedTools", "Agent"],
        &["/compact", "--continue"],
        &["Go on", "--continue"],
        &["Go elsewhere", "--continue", "--fork-session"],
    ];
    let (home, bodies) = both_ways(CLAUDE_CODE, |home, provider, way| {
        for run in runs {
            let ran = way.start(home, provider, &host, &[&["-p"], run].concat()).end();
            assert_eq!(ran.code, 0, "{way:?}: {run:?}: {ran:?}");
        }
    });
    assert_eq!(bodies.len(), 10);
    let said = |parts: &[&str]| count(&bodies, parts);
    assert_eq!(said(&[r#""type":"tool_result","content":"it-2""#]), 6, "a tool call and all after");
    assert_eq!(said(&["cc_is_subagent=true", "Look closely"]), 1, "an agent");
    assert_eq!(said(&["<result>It was seen.</result>"]), 2, "its report, and the compaction");
    assert_eq!(said(&["create a detailed summary", "it-2"]), 1, "a compaction");
    assert_eq!(said(&[r"Summary:\nAll was said."]), 2, "what follows it, and the fork");
    assert_eq!(said(&[r"Summary:\nAll was said.", "Go on", "Go elsewhere"]), 1, "the fork");
    let lines = [
        "15 messages",
        "3 messages, fresh from 0",
        "6 messages, digest from 0",
        "8 messages, full from 2",
    ];
    assert_eq!(guests(&home), lines, "the compaction, a worker, what follows, the fork");
    let cost = home.json(&["cost", "--today", "--json"]);
    assert_eq!(cost["total"]["requests"], 10);
}

/// The last event never comes.
const SLOW: &str = r#"
name = "slow"

[[turn]]
text = "It takes its time."
fault = { stall_after_events = 2 }
"#;

/// Starts a script by `tine with`, in which `$0` is Claude Code, and waits until the provider is asked.
fn waiting(home: &Home, script: &str) -> (Server, Running) {
    std::fs::create_dir(user(home)).unwrap();
    let provider = provider(home, SLOW, "bodies");
    let claude_code = program("TINE_TEST_CLAUDE_CODE");
    let told = ["--base-url-env", "ANTHROPIC_BASE_URL", "--format", "anthropic"];
    let script = ["sh", "-c", script, claude_code.to_str().unwrap()];
    let running = with(home, &provider, &[told.as_slice(), &script].concat());
    let index = home.path().join("bodies").join("index.jsonl");
    until("a request", || std::fs::metadata(&index).is_ok_and(|file| file.len() > 0));
    (provider, running)
}

#[test]
#[ignore = "needs Claude Code: cargo xtask hosts gateway"]
fn claude_code_sees_a_lost_connection_where_the_gateway_was_killed() {
    let home = Home::new();
    let (_provider, running) = waiting(&home, r#""$0" -p "Go on"; echo "ended: $?""#);
    signal("KILL", running.id());
    until("the end of the host", || running.printed().contains("ended: "));
    // Dropped before the reply began, or refused when it is asked for again.
    let printed = running.printed();
    assert!(
        printed.contains("API Error: Connection") && printed.ends_with("ended: 1\n"),
        "{printed}"
    );
}

#[test]
#[ignore = "needs Claude Code: cargo xtask hosts gateway"]
fn claude_code_that_is_killed_ends_the_gateway_with_its_signal() {
    let home = Home::new();
    let (_provider, running) = waiting(&home, r#"echo $$ > host; exec "$0" -p "Go on""#);
    let host = std::fs::read_to_string(home.work().join("host")).unwrap();
    signal("KILL", host.trim().parse().unwrap());
    assert_eq!(running.end().code, 128 + 9);
}

const CODEX: &str = r#"
name = "codex"

[[turn]]
when = { user_contains = "Run it", tool_results = 0 }
tool_calls = [{ name = "exec_command", input = { cmd = "echo it-$((1 + 1))" } }]

[[turn]]
when = { last_tool = "exec_command" }
text = "It ran."

[[turn]]
text = "ok"
"#;

pub(crate) const CODEX_SETTINGS: &str = r#"
model = "gpt-test"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[analytics]
enabled = false
"#;

#[test]
#[ignore = "needs Codex: cargo xtask hosts gateway"]
fn codex_is_heard_alike_with_and_without_the_gateway() {
    let host = program("TINE_TEST_CODEX");
    let (home, bodies) = both_ways(CODEX, |home, provider, way| {
        home.write("user/.codex/config.toml", CODEX_SETTINGS);
        home.write("user/.codex/auth.json", &json!({"OPENAI_API_KEY": KEY}).to_string());
        let option = format!("openai_base_url=\"{}\"", provider.field("openai"));
        let option: &[&str] = match way {
            Way::Direct => &["-c", &option],
            Way::Gateway => &[],
        };
        let run = |more: &[&str]| {
            let arguments = [option, &["exec", "--skip-git-repo-check"], more].concat();
            let ran = way.start(home, provider, &host, &arguments).end();
            assert_eq!(ran.code, 0, "{way:?}: {more:?}: {ran:?}");
            // The gateway says at once that it has no WebSockets.
            let is_retried = ran.stderr.contains("Reconnecting");
            assert!(matches!(way, Way::Direct) || !is_retried, "{ran:?}");
            ran.stderr
        };
        let told = run(&["Run it"]);
        let session = told.lines().find_map(|line| line.strip_prefix("session id: ")).unwrap();
        run(&["resume", "--last", "Say more"]);
        run(&["fork", session, "Go elsewhere"]);
    });
    assert_eq!(bodies.len(), 4);
    let said = |parts: &[&str]| count(&bodies, parts);
    assert_eq!(said(&["internal_chat_message_metadata_passthrough", "Run it"]), 4);
    assert_eq!(said(&[r"Output:\nit-2\n"]), 3, "a tool call and all after");
    assert_eq!(said(&["It ran.", "Say more"]), 2, "a resumption, and the fork");
    assert_eq!(said(&["Say more", "Go elsewhere", "cold_fork"]), 1, "the fork");
    assert_eq!(guests(&home), ["7 messages", "9 messages, full from 0"]);
}

#[test]
#[ignore = "needs Claude Code: cargo xtask hosts gateway"]
fn claude_code_has_what_was_sent_to_it_with_its_next_prompt() {
    hook::of_claude_code();
}

#[test]
#[ignore = "needs Codex: cargo xtask hosts gateway"]
fn codex_has_what_was_sent_to_it_with_its_next_prompt() {
    hook::of_codex();
}
