//! `tine gateway hook`: what waits for a guest, handed to its program's next prompt.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tine_model::{AgentId, ContextMode, ModelRef, ModelSettings, Provider, Reach, Standing};
use tine_store::{
    AgentStore, CreateAgent, GuestRow, GuestStore, Head, MailStore, NewAgent, NewMail, OpenOptions,
    SqliteStore,
};

use crate::store_waits::Holder;
use crate::support::{Home, Ran};

/// A session of Claude Code, as a hook names it.
const SESSION: &str = "0b6e6a53-1c3c-4b8c-9d57-6d4cbf0f8a11";

fn in_store<T>(home: &Home, work: impl AsyncFnOnce(&SqliteStore) -> T) -> T {
    let path = home.path().join("tine.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(path, OpenOptions::default()).await.unwrap();
        work(&store).await
    })
}

/// An agent as the store makes it.
fn new_agent(home: &Home, id: AgentId, standing: Standing) -> NewAgent {
    NewAgent {
        id,
        name: None,
        standing,
        context: ContextMode::Full,
        settings: ModelSettings {
            model: ModelRef { provider: Provider::Anthropic, name: "claude-test".to_owned() },
            max_tokens: 100,
            thinking: None,
            effort: None,
        },
        head: Head { hash: [9; 32], body: Some("{}".to_owned()) },
        directory: home.work().to_str().unwrap().to_owned(),
        reach: Reach::open(),
        depth: 0,
    }
}

/// The agent whose reports a guest gets.
fn fork() -> AgentId {
    AgentId::from_random([8; 16])
}

/// A home with a guest of a session.
fn with_guest(host: &str) -> (Home, AgentId) {
    let home = Home::new();
    let guest = AgentId::from_random([7; 16]);
    let agents = [(guest, Standing::Guest), (fork(), Standing::Peer)];
    let (host, session) = (host.to_owned(), Some(SESSION.to_owned()));
    let row = GuestRow {
        agent: guest,
        host,
        session,
        first: [0; 32],
        upstream: String::new(),
        account: String::new(),
        gateway: None,
        used_ms: 1,
    };
    in_store(&home, async |store| {
        for (id, standing) in agents {
            let agent = new_agent(&home, id, standing);
            let create = CreateAgent { agent, entries: Vec::new(), now_ms: 1 };
            store.create_agent(create).await.unwrap();
        }
        store.note_guest(row).await.unwrap();
    });
    (home, guest)
}

/// Puts a report of a fork into a guest's mailbox.
fn report(home: &Home, guest: AgentId, result: &str) {
    let fork = fork();
    let body = format!(
        "<task-notification>\n<task-id>{fork}</task-id>\n<status>completed</status>\n<summary>done</summary>\n<result>{result}</result>\n</task-notification>"
    );
    let mail = NewMail { recipient: guest, sender: Some(fork), body, now_ms: 2 };
    in_store(home, async |store| store.send_mail(mail).await.unwrap());
}

fn input(event: &str, session: &str) -> Value {
    json!({"session_id": session, "transcript_path": "/t.jsonl", "cwd": "/w", "permission_mode": "default",
        "hook_event_name": event, "prompt": "Go on"})
}

/// Runs the hook; it must not fail, whatever it is given.
fn hook_with(home: &Home, input: impl Into<Vec<u8>>) -> Ran {
    let ran = Ran::of(home.tine(&["gateway", "hook"]).write_stdin(input));
    assert_eq!(ran.code, 0, "{ran:?}");
    ran
}

fn hook(home: &Home) -> String {
    let ran = hook_with(home, input("UserPromptSubmit", SESSION).to_string());
    assert_eq!(ran.stderr, "");
    ran.stdout
}

/// The text that an answer brings; empty where it brings none.
fn context(answer: &str) -> String {
    if answer.is_empty() {
        return String::new();
    }
    let answer: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
    answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

#[test]
fn nothing_is_said_where_nothing_waits() {
    let home = Home::new();
    assert_eq!(hook(&home), "");
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "the working directory: no store is made");
    let (home, guest) = with_guest("claude-code");
    assert_eq!(hook(&home), "");
    report(&home, guest, "3");
    let other = hook_with(&home, input("UserPromptSubmit", "another").to_string());
    assert_eq!((other.stdout.as_str(), other.stderr.as_str()), ("", ""));
    // Another event takes nothing, and neither does a worker's prompt.
    assert_eq!(hook_with(&home, input("PreToolUse", SESSION).to_string()).stdout, "");
    let mut of_worker = input("UserPromptSubmit", SESSION);
    of_worker["agent_id"] = "a1".into();
    assert_eq!(hook_with(&home, of_worker.to_string()).stdout, "");
    assert!(!hook(&home).is_empty());
}

/// The text that a host's hook brings of a report and a message.
fn handed_over(host: &str) -> String {
    let (home, guest) = with_guest(host);
    report(&home, guest, "The tests pass.");
    let id = guest.to_string();
    let sent = home.ran(&["send", &id, "Mind the port."]);
    let hint = format!("hint: that needs tine's hook: `tine gateway install {host}`\n");
    assert_eq!((sent.code, sent.stderr.as_str()), (0, hint.as_str()));
    assert!(home.done(&["show", &id]).contains("Mind the port."), "it waits");
    let told = context(&hook(&home));
    assert_eq!(hook(&home), "");
    assert!(!home.done(&["show", &id]).contains("Mind the port."));
    let kept = ["send", &id, "--next", "When you are done"];
    assert_eq!(home.ran(&kept).code, 42, "nobody here knows when that is");
    home.done(&["gateway", "install", host, "--yes"]);
    assert_eq!(home.ran(&["send", &id, "Once more."]).stderr, "", "nothing is missing");
    told
}

#[test]
fn a_report_and_a_message_are_handed_over_once() {
    let told = handed_over("claude-code");
    assert_eq!(handed_over("codex"), told);
    check!(told, @r"
    2 messages came in through tine since the last prompt:

    <task-notification>
    <task-id>[AGENT-ID]</task-id>
    <status>completed</status>
    <summary>done</summary>
    <result>The tests pass.</result>
    </task-notification>

    Message from the user:
    Mind the port.
    ");
}

#[test]
fn a_long_report_is_cut_and_says_where_the_rest_is() {
    let (home, guest) = with_guest("claude-code");
    report(&home, guest, &"word ".repeat(10_000));
    let told = context(&hook(&home));
    assert!(told.len() <= 10_000 && told.contains("[cut: `tine show 08080808-"), "{told}");
    report(&home, guest, "short");
    home.done(&["send", &guest.to_string(), &"word ".repeat(2_000)]);
    assert!(context(&hook(&home)).ends_with("\n\n1 more will come with the next prompt."));
    assert!(context(&hook(&home)).ends_with("word "));
}

#[test]
fn of_hooks_at_once_one_has_the_report() {
    let (home, guest) = with_guest("claude-code");
    for round in 0..5 {
        report(&home, guest, &format!("It is {round}."));
        let answers: Vec<String> = thread::scope(|scope| {
            let hooks: Vec<_> = (0..3).map(|_| scope.spawn(|| hook(&home))).collect();
            hooks.into_iter().map(|hook| hook.join().unwrap()).collect()
        });
        let told: Vec<String> = answers.iter().map(|answer| context(answer)).collect();
        let word = format!("It is {round}.");
        assert_eq!(told.iter().filter(|told| told.contains(&word)).count(), 1, "{told:?}");
        assert_eq!(told.iter().filter(|told| told.is_empty()).count(), 2, "{told:?}");
    }
}

#[test]
fn what_fails_is_one_line_and_stops_no_prompt() {
    let home = Home::new();
    let said = |input: &[u8]| {
        let ran = hook_with(&home, input);
        assert_eq!((ran.stdout.as_str(), ran.stderr.lines().count()), ("", 1), "{ran:?}");
        ran.stderr
    };
    check!([said(b""), said(b"{"), said(b"\xff\n"), said(b"[]"), said(b"{\"session_id\": 1}")].concat(), @"
    tine gateway hook: the input is not that of a hook: EOF while parsing a value at line 1 column 0
    tine gateway hook: the input is not that of a hook: EOF while parsing an object at line 1 column 1
    tine gateway hook: the input is not that of a hook: expected value at line 1 column 1
    tine gateway hook: the input is not that of a hook: invalid length 0, expected struct Input with 3 elements at line 1 column 2
    tine gateway hook: the input is not that of a hook: invalid type: integer `1`, expected a string at line 1 column 16
    ");
    home.write(
        "tine.db",
        "no database, and long enough to be looked at as one by whoever opens it",
    );
    let damaged = said(input("UserPromptSubmit", SESSION).to_string().as_bytes());
    check!(home.masked(&damaged), @"tine gateway hook: `[HOME]/tine.db` is damaged: error returned from database: (code: 26) file is not a database");
}

#[test]
fn a_store_that_is_held_keeps_a_prompt_for_seconds_and_the_report_for_the_next() {
    let (home, guest) = with_guest("claude-code");
    report(&home, guest, "It is done.");
    let holder = Holder::of(&home);
    let begun = Instant::now();
    let ran = hook_with(&home, input("UserPromptSubmit", SESSION).to_string());
    assert!(begun.elapsed() < Duration::from_secs(20));
    check!(home.shown(&ran), @"
    code: 0
    --- stdout
    --- stderr
    tine gateway hook: the store is held by another process
    ");
    holder.let_go();
    assert!(context(&hook(&home)).contains("It is done."));
}

/// A person waits for it before each prompt.
#[test]
fn it_is_over_at_once() {
    let (home, _) = with_guest("claude-code");
    let times: Vec<Duration> = (0..20)
        .map(|_| {
            let begun = Instant::now();
            assert_eq!(hook(&home), "");
            begun.elapsed()
        })
        .collect();
    let fastest = times.iter().min().unwrap();
    assert!(*fastest < Duration::from_millis(500), "{times:?}");
}
