//! `tine with` and `tine gateway serve`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::hosts_guests::all_read;
use crate::pty::Terminal;
use crate::sim_serve::{Server, bodies};
use crate::support::{Home, Ran};
use crate::worktree::git;

/// Options of a program that is told its base URL by `LLM_URL`.
const LLM_URL: [&str; 5] = ["with", "--base-url-env", "LLM_URL", "--format", "anthropic"];

#[test]
fn a_program_is_given_an_address_and_its_end_is_the_end() {
    let home = Home::new();
    let with = |script: &str| home.ran(&[LLM_URL.as_slice(), &["sh", "-c", script]].concat());
    let ran = with("printf %s \"$LLM_URL\"; exit 7");
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    let (address, path) = ran.stdout.split_once("127.0.0.1:").unwrap();
    assert!(address == "http://" && path.ends_with("/anthropic"), "{}", ran.stdout);
    assert_eq!(with("kill -KILL $$").code, 128 + 9);
}

#[test]
fn a_program_that_is_not_there_or_not_known_is_told() {
    let home = Home::new();
    let ran = home.ran(&["with", "claude", "-p", "hi"]);
    insta::assert_snapshot!(home.shown(&ran), @"
    code: 1
    --- stdout
    --- stderr
    error: cannot run claude: No such file or directory (os error 2)
    hint: install it, or give its path
    ");
    let ran = home.ran(&["with", "some-agent"]);
    insta::assert_snapshot!(home.shown(&ran), @"
    code: 2
    --- stdout
    --- stderr
    error: nobody knows how some-agent is told its base URL
    hint: say it: `tine with --base-url-env NAME --format anthropic|openai PROGRAM`
    ");
    let ran = home.ran(&["with"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

/// Lets another agent, a tine with a home of its own, answer a prompt behind the gateway of this home.
fn answered(home: &Home, provider: &Server, options: &[&str], prompt: &str) -> Ran {
    let with = ["with", "--base-url-env", "ANTHROPIC_BASE_URL", "--format", "anthropic"];
    let inner =
        [env!("CARGO_BIN_EXE_tine"), "run", "-q", prompt, "--model", "anthropic/claude-test"];
    let script = "export TINE_HOME=$HOME/other; exec \"$0\" \"$@\"";
    let shell = ["sh", "-c", script];
    let arguments = [with.as_slice(), options, &shell, &inner].concat();
    let mut command = home.tine(&arguments);
    command.env("ANTHROPIC_BASE_URL", provider.field("anthropic")).env("ANTHROPIC_API_KEY", "any");
    command.env("HOME", home.path());
    Ran::of(&mut command)
}

#[test]
fn a_provider_gets_the_same_bytes_with_and_without_the_gateway() {
    let home = Home::new();
    let folder = home.path().join("bodies");
    let provider = Server::start(&home, &["--log-bodies", folder.to_str().unwrap()]);
    let mut direct = home.tine(&["run", "say it", "--model", "anthropic/claude-test"]);
    direct.env("ANTHROPIC_BASE_URL", provider.field("anthropic")).env("ANTHROPIC_API_KEY", "any");
    for ran in [Ran::of(&mut direct), answered(&home, &provider, &["--no-record"], "say it")] {
        assert!(ran.code == 0 && ran.stdout.contains("say it"), "{ran:?}");
    }
    let [direct, passed] = <[Vec<u8>; 2]>::try_from(bodies(&folder)).unwrap();
    assert_eq!(String::from_utf8(direct).unwrap(), String::from_utf8(passed).unwrap());
}

#[test]
fn what_another_agent_says_is_a_guest_to_be_read() {
    let home = Home::new();
    let provider = Server::start(&home, &[]);
    let ran = answered(&home, &provider, &[], "say it");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let agents = home.json(&["ps", "--json"]);
    let [guest] = agents.as_array().unwrap().as_slice() else { panic!("one guest: {agents}") };
    assert_eq!((&guest["kind"], &guest["title"]), (&"guest".into(), &"say it".into()));
    let id = guest["id"].as_str().unwrap();
    assert!(home.done(&["show", id]).contains("say it"));
    assert!(home.done(&["tree"]).contains("guest"));
    assert_eq!(home.done(&["logs", id]).lines().count(), 2);
    let exported: Value = serde_json::from_str(&home.done(&["export", id])).unwrap();
    assert_eq!(exported.as_array().map(Vec::len), Some(2));
    let explained = home.json(&["cache", "explain", id, "--json"]);
    assert_eq!(explained["requests"][0]["verdict"], "cold");
    let today = home.json(&["cost", "--today", "--json"]);
    assert_eq!(today["total"]["requests"], 1);
    for refused in [["compact", id].as_slice(), &["run", "--resume", id, "hi"]] {
        let mut command = home.tine(refused);
        let ran = Ran::of(command.env("ANTHROPIC_API_KEY", "any"));
        let is_told = ran.stderr.contains("is a guest: another program holds its conversation");
        assert!(ran.code == 42 && is_told, "{refused:?}: {ran:?}");
    }
    // Its words are written, and no key.
    let store = std::fs::read(home.path().join("tine.db")).unwrap();
    let holds = |text: &str| store.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(holds("say it") && !holds("x-api-key"));
}

/// Another agent's conversation, whose gateway lives as long as this.
struct Held {
    child: std::process::Child,
}

impl Held {
    /// Lets another agent, a tine with a home of its own, answer a prompt, and keeps the gateway until it is dropped.
    fn answered(home: &Home, provider: &Server, prompt: &str) -> Self {
        let with = ["with", "--base-url-env", "ANTHROPIC_BASE_URL", "--format", "anthropic"];
        let tine = env!("CARGO_BIN_EXE_tine");
        let script = "TINE_HOME=$HOME/other \"$0\" \"$@\" < /dev/null && echo ready && cat";
        let run = ["run", "-q", prompt, "--model", "anthropic/claude-test"];
        let arguments = [with.as_slice(), &["sh", "-c", script, tine], &run].concat();
        let mut command = crate::crash::command(home, &arguments);
        command.env("ANTHROPIC_BASE_URL", provider.field("anthropic"));
        command.env("ANTHROPIC_API_KEY", "sk-lent").env("HOME", home.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap());
        assert!(printed.lines().map_while(Result::ok).any(|line| line == "ready"));
        Self { child }
    }

    /// The guest, once its reply is in the log.
    fn guest(home: &Home) -> String {
        tine_testkit::until_some("the guest", || {
            let ran = home.ran(&["ps", "--json"]);
            let agents: Value = serde_json::from_str(&ran.stdout).ok()?;
            let id = agents[0]["id"].as_str()?.to_owned();
            (home.ran(&["logs", &id]).stdout.lines().count() == 2).then_some(id)
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[test]
fn a_fork_of_another_agents_conversation_reads_it_from_the_cache() {
    let home = Home::new();
    let provider = Server::start(&home, &[]);
    let long = format!("say it {}", "word ".repeat(6_000));
    assert_eq!(answered(&home, &provider, &[], &long).code, 0);
    let guest = Held::guest(&home);
    // With a key of tine's own, which is that of the other agent.
    let own = |arguments: &[&str]| {
        let mut command = home.tine(arguments);
        command.env("ANTHROPIC_BASE_URL", provider.field("anthropic"));
        Ran::of(command.env("ANTHROPIC_API_KEY", "any"))
    };
    let fan = ["fan", &guest, "-d", "one", "-d", "two", "-d", "three", "-d", "four"];
    let ran = own(&[fan.as_slice(), &["--plan", "together", "--json"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let agent = |task: &Value| task["agent"].as_str().unwrap().to_owned();
    let workers: Vec<String> = told["tasks"].as_array().unwrap().iter().map(agent).collect();
    assert_eq!(workers.len(), 4);
    // The reply is in no cache yet: of forks that start together more than one may write it.
    all_read(&home, &guest, &workers);
    let of_guest = own(&["fork", &guest, "Go on", "-q"]);
    assert!(of_guest.code == 0 && of_guest.stdout.contains("Go on"), "{of_guest:?}");
}

const WRITES: &str = r#"
name = "writes"

[[turn]]
when = { last_tool = "FileWrite" }
text = "Scope: it\nResult: done\nKey files: made.txt\nFiles changed: made.txt\nIssues: none"

[[turn]]
when = { user_contains = "Task: write" }
tool_calls = [{ name = "FileWrite", input = { file_path = "made.txt", content = "made" } }]

[[turn]]
text = "ok"
"#;

#[test]
fn a_fork_of_another_agents_conversation_writes_in_a_worktree_of_its_own() {
    let home = Home::new();
    home.write("work/README.md", "# A project\n");
    let commands = [
        "init -q -b main",
        "config user.name Ann",
        "config user.email ann@example.org",
        "add -A",
        "commit -qm First",
    ];
    for words in commands {
        git(&home.work(), &words.split(' ').collect::<Vec<_>>());
    }
    let scenario = home.write("case.toml", WRITES);
    let provider = Server::start(&home, &["--scenario", scenario.to_str().unwrap()]);
    assert_eq!(answered(&home, &provider, &[], "say it").code, 0);
    let guest = Held::guest(&home);
    let made = |place: &[&str]| {
        let fan = ["fan", &guest, "-d", "write", "--permission-mode", "accept-edits", "--json"];
        let mut command = home.tine(&[fan.as_slice(), place].concat());
        command.env("ANTHROPIC_BASE_URL", provider.field("anthropic"));
        let ran = Ran::of(command.env("ANTHROPIC_API_KEY", "any"));
        let told: Value = serde_json::from_str(&ran.stdout).unwrap();
        told["tasks"][0]["worktree"].clone()
    };
    assert!(made(&["--worktree"]).is_object());
    assert!(made(&[]).is_null());
    assert!(!home.work().join("made.txt").exists(), "the directory is the other agent's");
}

#[test]
fn forks_use_the_credentials_of_another_agent_once_that_is_agreed() {
    let home = Home::new();
    let folder = home.path().join("bodies");
    let provider = Server::start(&home, &["--log-bodies", folder.to_str().unwrap()]);
    let held = Held::answered(&home, &provider, "say it");
    let guest = Held::guest(&home);
    let fork = || home.ran(&["fork", &guest, "Go on", "-q"]);
    check!(home.shown(&fork()), @r#"
    code: 42
    --- stdout
    --- stderr
    error: there is no key for http://127.0.0.1:[PORT], and nobody has agreed that forks use the credentials of tine
    hint: `gateway.borrow_credentials = "always"` in your config.toml agrees; typed at a shell's prompt, `tine fork` and `tine fan` ask
    hint: `tine login PROVIDER` gives tine a key of its own
    "#);
    home.write("config.toml", "[gateway]\nborrow_credentials = \"never\"\n");
    assert_eq!(fork().code, 42);
    home.write("config.toml", "[gateway]\nborrow_credentials = \"always\"\n");
    let ran = fork();
    assert!(ran.code == 0 && ran.stdout.contains("Go on"), "{ran:?}");
    assert_eq!(bodies(&folder).len(), 2);
    let socket = home.path().join("gateways").read_dir().unwrap().next().unwrap().unwrap().path();
    let mode = std::os::unix::fs::PermissionsExt::mode(&socket.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    drop(held);
    assert!(!socket.exists());
    check!(home.shown(&fork()), @"
    code: 42
    --- stdout
    --- stderr
    error: there is no key for http://127.0.0.1:[PORT], and no gateway that lends the credentials of tine
    hint: `tine with` starts one: go on with the program's conversation in it, and fork then
    hint: `tine login PROVIDER` gives tine a key of its own
    ");
}

#[test]
fn a_person_is_asked_once_for_the_credentials_of_another_agent() {
    let home = Home::new();
    let provider = Server::start(&home, &[]);
    let _held = Held::answered(&home, &provider, "say it");
    let guest = Held::guest(&home);
    for (answer, code) in [("n", 42), ("y", 0)] {
        let mut terminal = Terminal::start(&home, &["fork", &guest, "Go on", "-q"]);
        terminal.until("with the credentials that tine uses there. Go on? [y/N]: ", 1);
        terminal.type_in(&format!("{answer}\r"));
        let (ended, text) = terminal.end();
        assert_eq!(ended, code, "{text}");
    }
    let again = home.ran(&["fork", &guest, "Once more", "-q"]);
    assert!(again.code == 0 && again.stdout.contains("Once more"), "{again:?}");
}

#[test]
fn nothing_is_written_where_that_is_not_wanted_or_cannot_be() {
    let home = Home::new();
    let provider = Server::start(&home, &[]);
    let ran = answered(&home, &provider, &["--no-record"], "say it");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    assert!(!home.path().join("tine.db").exists());
    home.write(
        "tine.db",
        "no database, and long enough to be looked at as one by whoever opens it",
    );
    let ran = answered(&home, &provider, &[], "say it");
    assert!(ran.code == 0 && ran.stdout.contains("say it"), "{ran:?}");
    let warnings =
        ran.stderr.matches("warning: not all that passed the gateway is recorded").count();
    assert_eq!(warnings, 1, "{}", ran.stderr);
}

#[test]
fn a_disk_that_is_full_is_said_once_and_stops_nobody() {
    let home = Home::new();
    let scenario = home.write("case.toml", "name = \"short\"\n[[turn]]\ntext = \"It is short.\"\n");
    let provider = Server::start(&home, &["--scenario", scenario.to_str().unwrap()]);
    assert_eq!(answered(&home, &provider, &[], "say it").code, 0);
    let long = "word ".repeat(20_000);
    // No file that tine writes may grow beyond this; the other agent lifts it for itself.
    let tine = env!("CARGO_BIN_EXE_tine");
    let script = format!(
        "trap '' XFSZ; ulimit -S -f 100; exec '{tine}' with --base-url-env ANTHROPIC_BASE_URL --format anthropic \
         sh -c 'ulimit -S -f unlimited; TINE_HOME=$HOME/other exec \"$0\" \"$@\"' \
         '{tine}' run -q --model anthropic/claude-test '{long}'"
    );
    let mut shell = assert_cmd::Command::new("sh");
    shell.args(["-c", &script]).current_dir(home.work()).env("TINE_HOME", home.path());
    shell.env("HOME", home.path()).env("ANTHROPIC_API_KEY", "any");
    shell.env("ANTHROPIC_BASE_URL", provider.field("anthropic"));
    let ran = Ran::of(&mut shell);
    assert!(ran.code == 0 && ran.stdout.contains("It is short."), "{}", ran.stderr);
    let warnings = ran.stderr.matches("warning: not all that passed the gateway").count();
    assert_eq!(warnings, 1, "{}", ran.stderr);
    let agents = home.json(&["ps", "--json"]);
    assert_eq!(agents.as_array().map(Vec::len), Some(1), "nothing by halves");
}

#[test]
fn a_signal_to_end_is_handed_on() {
    let home = Home::new();
    let script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let arguments = [LLM_URL.as_slice(), &["sh", "-c", script]].concat();
    let mut child =
        crate::crash::command(&home, &arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert_cmd::Command::new("kill").arg(child.id().to_string()).assert().success();
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_gateway_of_its_own_says_its_addresses_and_ends_with_a_signal() {
    let home = Home::new();
    let mut child =
        crate::crash::command(&home, &["gateway", "serve"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    assert!(told["anthropic"].as_str().unwrap().ends_with("/anthropic"), "{told}");
    assert!(told["openai"].as_str().unwrap().ends_with("/openai/v1"), "{told}");
    assert_cmd::Command::new("kill").arg(child.id().to_string()).assert().success();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
