//! Agents over a real database: what a run keeps, what a fork inherits, what a restart brings back.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod budgets;
#[cfg(target_os = "linux")] // for the wall
mod confined;
mod contexts;
mod crew;
mod dialects;
mod dreams;
mod fixture;
mod guests;
mod hidden;
mod host_tools;
mod library;
mod merged;
#[cfg(target_os = "linux")] // for the wall
mod reads;
mod waits;
mod worktrees;
mod writers;

use std::sync::Arc;
use std::time::Duration;

use fixture::{House, options};
use tine_cache::{Asked, Launch};
use tine_fork::run::RunLimits;
use tine_guard::{PermissionMode, Rules};
use tine_model::{AgentId, AgentState, Block, EntryBody, Outcome, TaskStatus};
use tine_runtime::{
    AgentEvent, EventFilter, EventKind, FanSpec, ForkSpec, Heard, KillSpec, Permissions, QuietWait,
    RewindTo, Rewound, RunOptions, Runtime, RuntimeError, TOOLS_WAIT,
};
use tine_store::{AgentFilter, NewMail, StoreError};
use tine_testkit::{Answer, Gate, ScriptedModel, until_some_async};
use tokio_util::sync::CancellationToken;

/// Does the work, and hands over what happens to agents meanwhile.
async fn hearing<T>(
    runtime: &Runtime,
    work: impl Future<Output = T>,
    mut read: impl FnMut(Arc<AgentEvent>),
) -> T {
    let read = |heard| match heard {
        Heard::Event(event) => read(event),
        Heard::Lagged(missed) => panic!("{missed} events were missed"),
    };
    runtime.subscribe(EventFilter::All).during(work, read).await
}

/// Does the work; returns what happened to agents meanwhile as well.
async fn seen<T>(runtime: &Runtime, work: impl Future<Output = T>) -> (T, Vec<Arc<AgentEvent>>) {
    let mut events = Vec::new();
    (hearing(runtime, work, |event| events.push(event)).await, events)
}

fn fork_of(parent: AgentId) -> ForkSpec {
    ForkSpec::of(parent)
}

async fn say(house: &House, agent: AgentId, prompt: &str) -> Outcome {
    let run = house.runtime.run(agent, Some(prompt.into()), &options()).await.unwrap();
    run.report.outcome
}

/// The effective texts of an agent, oldest first.
async fn texts(house: &House, agent: AgentId) -> Vec<String> {
    let fold = house.runtime.fold(agent, None).await.unwrap();
    let last_line = |text: String| text.lines().last().unwrap_or_default().to_owned();
    fold.items().map(|item| last_line(item.message.text())).collect()
}

#[tokio::test]
async fn an_agent_whose_run_could_not_be_ended_in_the_store_runs_again_in_the_same_process() {
    use sqlx::{Connection as _, Executor as _};
    let house = House::new(ScriptedModel::new([Answer::text("One."), Answer::text("Two.")])).await;
    let root = house.root().await;
    let database = house.home.path().join("tine.db");
    let mut store = sqlx::SqliteConnection::connect(&database.to_string_lossy()).await.unwrap();
    let full = "CREATE TRIGGER full BEFORE UPDATE ON leases WHEN NEW.owner IS NULL \
                BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END";
    store.execute(full).await.unwrap();
    let options = options();
    let run = || house.runtime.run(root, Some("Go on.".into()), &options);
    assert!(run().await.is_err());
    // As long as it cannot be written nobody is told that another process runs it.
    assert!(!matches!(run().await, Err(RuntimeError::Store(StoreError::Held { .. }))));
    store.execute("DROP TRIGGER full").await.unwrap();
    assert_eq!(run().await.unwrap().report.outcome, Outcome::Completed);
    assert_eq!(texts(&house, root).await, ["Go on.", "One.", "Go on.", "Two."]);
}

#[tokio::test]
async fn a_run_keeps_every_message_and_leaves_the_agent_idle() {
    let house = House::new(ScriptedModel::new([
        Answer::calls([("c1", "Glob", r#"{"pattern":"*.txt"}"#)]),
        Answer::text("Nothing there."),
    ]))
    .await;
    let root = house.root().await;
    assert_eq!(say(&house, root, "Look.").await, Outcome::Completed);
    let house = house.reopened().await;
    assert_eq!(texts(&house, root).await, ["Look.", "", "", "Nothing there."]);
    let record = house.runtime.store().agent(root).await.unwrap();
    assert_eq!(record.state, AgentState::Idle);
}

#[tokio::test]
async fn a_restart_sends_the_same_prefix_byte_for_byte() {
    let house = House::new(ScriptedModel::new([
        Answer::calls([("c1", "Glob", r#"{ "pattern" : "*.txt" }"#)]),
        Answer::text("one"),
        Answer::text("two"),
    ]))
    .await;
    let root = house.root().await;
    say(&house, root, "first").await;
    let house = house.reopened().await;
    say(&house, root, "second").await;
    let plain = |text: String| text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let bodies: Vec<String> = house.model.requests().iter().map(|r| plain(r.text())).collect();
    for pair in bodies.windows(2) {
        let shared = pair[0].split("],\"diagnostics\":").next().unwrap();
        let shared = shared.strip_suffix("]}").unwrap_or(shared);
        assert!(pair[1].starts_with(shared), "{}\n{}", pair[0], pair[1]);
    }
}

#[tokio::test]
async fn a_fork_inherits_and_neither_side_sees_the_others_later_words() {
    let words = |n: usize| Answer::text(format!("reply {n}"));
    let house = House::new(ScriptedModel::new((1..=3).map(words))).await;
    let root = house.root().await;
    say(&house, root, "common").await;
    let made = house.runtime.fork(fork_of(root)).await.unwrap();
    say(&house, root, "to the parent").await;
    say(&house, made.child, "to the child").await;
    assert_eq!(texts(&house, root).await, ["common", "reply 1", "to the parent", "reply 2"]);
    assert_eq!(texts(&house, made.child).await, ["common", "reply 1", "to the child", "reply 3"]);
}

#[tokio::test]
async fn a_fork_of_an_empty_agent_inherits_nothing_also_after_a_restart() {
    let house = House::new(ScriptedModel::new([Answer::text("hello")])).await;
    let root = house.root().await;
    let made = house.runtime.fork(fork_of(root)).await.unwrap();
    assert_eq!(made.fork_point, None);
    say(&house, root, "later").await;
    let house = house.reopened().await;
    assert_eq!(texts(&house, made.child).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_fork_at_a_call_moves_behind_its_result() {
    let house = House::new(ScriptedModel::new([
        Answer::calls([("c1", "Glob", r#"{"pattern":"*"}"#)]),
        Answer::text("done"),
    ]))
    .await;
    let root = house.root().await;
    say(&house, root, "look").await;
    let fold = house.runtime.fold(root, None).await.unwrap();
    let ids: Vec<_> = fold.items().map(|item| item.entry).collect();
    let spec = ForkSpec { at: Some(ids[1]), ..fork_of(root) };
    let made = house.runtime.fork(spec).await.unwrap();
    assert_eq!((made.fork_point, made.moved_from), (Some(ids[2]), Some(ids[1])));
    assert_eq!(texts(&house, made.child).await.len(), 3);
}

#[tokio::test]
async fn clear_and_rewind_change_what_counts_and_never_a_child() {
    let words = |n: usize| Answer::text(format!("reply {n}"));
    let house = House::new(ScriptedModel::new((1..=3).map(words))).await;
    let root = house.root().await;
    say(&house, root, "one").await;
    let mark = house.runtime.fold(root, None).await.unwrap().items().last().unwrap().entry;
    say(&house, root, "two").await;
    let child = house.runtime.fork(fork_of(root)).await.unwrap().child;
    house.runtime.rewind(root, RewindTo::Entry(mark)).await.unwrap();
    assert_eq!(texts(&house, root).await, ["one", "reply 1"]);
    assert_eq!(texts(&house, child).await, ["one", "reply 1", "two", "reply 2"]);
    house.runtime.rewind(child, RewindTo::Entry(mark)).await.unwrap();
    say(&house, child, "three").await;
    house.runtime.clear(root).await.unwrap();
    let house = house.reopened().await;
    assert_eq!(texts(&house, root).await, Vec::<String>::new());
    assert_eq!(texts(&house, child).await, ["one", "reply 1", "three", "reply 3"]);
}

#[tokio::test]
async fn a_rewind_finds_its_mark_by_the_label_and_tells_what_it_takes_back() {
    let house = House::new(ScriptedModel::new([
        Answer::text("reply 1"),
        Answer::calls([
            ("c1", "FileWrite", r#"{"file_path":"made.txt","content":"x"}"#),
            ("c2", "Bash", r#"{"command":"touch other"}"#),
            ("c3", "Bash", r#"{"command":"ls"}"#),
            ("c4", "FileEdit", r#"{"file_path":"missing","old_string":"a","new_string":"b"}"#),
        ]),
        Answer::text("reply 2"),
        Answer::text("reply 3"),
    ]))
    .await;
    let runtime = &house.runtime;
    let root = house.root().await;
    say(&house, root, "one").await;
    let label = "a  b".to_owned();
    let mark = runtime.mark_place(root, Some(label.clone())).await.unwrap();
    let permissions = Permissions::new(PermissionMode::Bypass, Rules::default());
    let free = RunOptions { permissions, ..options() };
    runtime.run(root, Some("two".into()), &free).await.unwrap();
    let rewound = runtime.rewind(root, RewindTo::Mark(label.clone())).await.unwrap();
    let expected = Rewound { to: Some(mark), prompt: None, changes: 1, commands: 1 };
    assert_eq!(rewound, expected);
    assert_eq!(texts(&house, root).await, ["one", "reply 1"]);
    let other = runtime.rewind(root, RewindTo::Mark("a b".to_owned())).await;
    assert!(matches!(other, Err(RuntimeError::NoMark { .. })), "{other:?}");
    say(&house, root, "three").await;
    let rewound = runtime.rewind(root, RewindTo::LastPrompt).await.unwrap();
    assert_eq!((rewound.prompt.as_deref(), rewound.changes), (Some("three"), 0));
    runtime.rewind(root, RewindTo::LastPrompt).await.unwrap();
    assert_eq!(runtime.marks(root).await.unwrap(), [], "it stood behind the first prompt");
    let gone = runtime.rewind(root, RewindTo::Mark(label)).await;
    assert!(matches!(gone, Err(RuntimeError::NoMark { .. })), "{gone:?}");
    let nothing = runtime.rewind(root, RewindTo::LastPrompt).await;
    assert!(matches!(nothing, Err(RuntimeError::NothingToRewind(_))), "{nothing:?}");
}

#[tokio::test]
async fn a_root_is_killed_only_where_roots_are_asked_for() {
    let house = House::new(ScriptedModel::new([])).await;
    let root = house.root().await;
    let child = house.runtime.fork(fork_of(root)).await.unwrap().child;
    let refused = house.runtime.kill(KillSpec { agent: root, roots: false }).await;
    assert!(matches!(refused, Err(RuntimeError::KillsRoot { below: 1, .. })), "{refused:?}");
    let killed = house.runtime.kill(KillSpec { agent: child, roots: false }).await.unwrap();
    assert_eq!(killed, [child]);
    let last = async |agent| house.runtime.log(agent, None).await.unwrap().pop().unwrap().body;
    let told = EntryBody::Notice(format!("Killed fork {}", child.short()));
    assert_eq!((last(root).await, last(child).await), (told, EntryBody::Notice("Killed".into())));
}

#[tokio::test]
async fn a_fork_that_waits_too_long_for_tools_is_given_up() {
    let waits = r#"{"command":"while [ ! -e go ]; do sleep 0.02; done"}"#;
    let house = House::new(ScriptedModel::new([
        Answer::calls([("c1", "Bash", waits)]),
        Answer::text("done"),
    ]))
    .await;
    let runtime = &house.runtime;
    let root = house.root().await;
    let cancel = CancellationToken::new();
    let wait = |patience, on_wait| QuietWait { patience, cancel: &cancel, on_wait };
    let idle = runtime.when_quiet(root, wait(Duration::ZERO, &|| panic!("nothing runs"))).await;
    assert_eq!(idle.unwrap(), None);
    let permissions = Permissions::new(PermissionMode::Bypass, Rules::default());
    let free = RunOptions { permissions, ..options() };
    let run = runtime.run(root, Some("go".into()), &free);
    let forks = async {
        until_some_async("the call", async || {
            let last = runtime.log(root, None).await.unwrap().pop()?;
            matches!(last.body, EntryBody::Message(message) if message.tool_calls().count() == 1)
                .then_some(())
        })
        .await;
        let late = runtime.when_quiet(root, wait(Duration::ZERO, &|| {})).await;
        assert!(matches!(late, Err(RuntimeError::ToolsRun(_))), "{late:?}");
        let told = std::sync::atomic::AtomicU32::new(0);
        let on_wait = || {
            told.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        };
        let wait = QuietWait { patience: TOOLS_WAIT, cancel: &cancel, on_wait: &on_wait };
        let quiet = runtime.when_quiet(root, wait);
        let ends = async { std::fs::write(house.home.path().join("go"), "").unwrap() };
        let (at, ()) = tokio::join!(quiet, ends);
        assert_eq!(told.load(std::sync::atomic::Ordering::SeqCst), 1);
        let fold = runtime.fold(root, at.unwrap()).await.unwrap();
        let blocks: Vec<_> = fold.items().flat_map(|item| item.message.blocks().to_vec()).collect();
        let is_result = |block: &Block| matches!(block, Block::ToolResult { .. });
        assert_eq!(blocks.iter().filter(|block| is_result(block)).count(), 1);
    };
    let (run, ()) = tokio::join!(run, forks);
    assert_eq!(run.unwrap().report.outcome, Outcome::Completed);
}

#[tokio::test]
async fn mail_is_delivered_once_at_the_next_turn() {
    let house =
        House::new(ScriptedModel::new([Answer::text("first"), Answer::text("second")])).await;
    let root = house.root().await;
    let mail = NewMail { recipient: root, sender: None, body: "Stop at noon.".into(), now_ms: 1 };
    house.runtime.store().send_mail(mail).await.unwrap();
    say(&house, root, "go").await;
    assert_eq!(texts(&house, root).await, ["Stop at noon.", "go", "first"]);
    say(&house, root, "on").await;
    assert_eq!(texts(&house, root).await, ["Stop at noon.", "go", "first", "on", "second"]);
}

#[tokio::test]
async fn an_agent_that_runs_is_held_and_a_killed_one_stops() {
    let gate = Gate::new();
    let house =
        House::new(ScriptedModel::new([Answer::text_then_hang("half").behind(&gate)])).await;
    let root = house.root().await;
    gate.open();
    let options = options();
    let run = house.runtime.run(root, Some("go".into()), &options);
    let others = async {
        house.model.requested(1).await;
        let held = house.runtime.run(root, Some("me too".into()), &options).await;
        assert!(matches!(held, Err(RuntimeError::Store(StoreError::Held { .. }))), "{held:?}");
        let child = house.runtime.fork(fork_of(root)).await.unwrap().child;
        let killed = house.runtime.kill(KillSpec { agent: root, roots: true }).await.unwrap();
        assert_eq!(killed, [root, child]);
    };
    let (run, ()) = tokio::join!(run, others);
    // The agent died under its run: nothing more is written for it.
    match run {
        Ok(run) => assert_eq!(run.report.outcome, Outcome::Aborted),
        Err(error) => panic!("{error}"),
    }
    assert_eq!(house.runtime.store().agent(root).await.unwrap().state, AgentState::Dead);
}

#[tokio::test]
async fn a_denied_call_is_told_to_the_model_and_the_run_goes_on() {
    let house = House::new(ScriptedModel::new([
        Answer::calls([("c1", "Bash", r#"{"command":"touch x"}"#)]),
        Answer::text("understood"),
    ]))
    .await;
    let root = house.root().await;
    assert_eq!(say(&house, root, "touch it").await, Outcome::Completed);
    let second = house.model.requests()[1].text();
    assert!(second.contains("nobody can be asked here"), "{second}");
    assert!(!house.home.path().join("x").exists());
}

#[tokio::test]
async fn a_run_stops_at_its_limits() {
    let again = || Answer::calls([("c", "Glob", r#"{"pattern":"*"}"#)]);
    let house = House::new(ScriptedModel::new([again(), again(), again(), again()])).await;
    let root = house.root().await;
    let limits = RunLimits { turns: 2, ..RunLimits::default() };
    let limited = tine_runtime::RunOptions { limits, ..options() };
    let run = house.runtime.run(root, Some("go".into()), &limited).await.unwrap();
    assert_eq!((run.report.outcome, run.report.turns), (Outcome::TurnLimit, 2));
    let limits = RunLimits { tokens: Some(1), ..RunLimits::default() };
    let limited = tine_runtime::RunOptions { limits, ..options() };
    let run = house.runtime.run(root, None, &limited).await.unwrap();
    assert_eq!((run.report.outcome, run.report.turns), (Outcome::BudgetExhausted, 1));
}

#[tokio::test]
async fn siblings_send_the_same_bytes_up_to_their_directive() {
    let long = "word ".repeat(4000);
    let house = House::new(ScriptedModel::answering(move |request| {
        let text = request.text();
        match text.rsplit("Task: ").next() {
            Some(task) if text.contains("Task: ") => {
                Answer::text(format!("Scope: {}\nResult: ok", task.chars().next().unwrap()))
            }
            _ => Answer::text(long.clone()),
        }
    }))
    .await;
    let root = house.root().await;
    say(&house, root, "know this").await;
    house.clock.advance_ms(3_600_000);
    let directives: Vec<String> = ('a'..='h').map(|task| format!("{task} job")).collect();
    let spec = FanSpec { fork: tine_runtime::ForkSpec::of(root), directives, plan: Asked::Auto };
    let (fan, events) = seen(&house.runtime, house.runtime.fan(spec, &options())).await;
    let fan = fan.unwrap();
    let launches = events.iter().filter_map(|event| match &event.kind {
        EventKind::Fanned { plan, .. } => Some(plan.launch),
        _ => None,
    });
    assert_eq!(launches.collect::<Vec<_>>(), [Launch::LeaderFirst]);
    let ended = events.iter().filter(|event| matches!(event.kind, EventKind::TaskEnded(_)));
    assert_eq!(ended.count(), 8);
    for (task, letter) in fan.tasks.iter().zip('a'..='h') {
        assert_eq!(task.status, TaskStatus::Completed);
        let report = task.report.as_ref().unwrap();
        assert_eq!(report.scope.as_deref(), Some(letter.to_string().as_str()));
    }
    let bodies: Vec<String> = house.model.requests()[1..].iter().map(|r| r.text()).collect();
    let cut = bodies[0].rfind("Task: ").unwrap() + "Task: ".len();
    for body in &bodies {
        assert_eq!(body[..cut], bodies[0][..cut]);
    }
    let mail = house.runtime.store().unread_mail(root).await.unwrap();
    assert_eq!(mail.len(), 8, "one notice each");
    let agents = house.runtime.store().agents(AgentFilter::All).await.unwrap();
    assert_eq!(agents.len(), 9);
}

#[tokio::test]
async fn a_worker_that_fails_does_not_take_its_siblings_down() {
    let house = House::new(ScriptedModel::answering(|request| {
        if request.text().contains("Task: bad") {
            Answer::refused(tine_wire::FailureKind::InvalidRequest, "no")
        } else {
            Answer::text("Scope: x\nResult: ok")
        }
    }))
    .await;
    let root = house.root().await;
    let directives = vec!["good".to_owned(), "bad".to_owned()];
    let spec = FanSpec { fork: tine_runtime::ForkSpec::of(root), directives, plan: Asked::Leader };
    let fan = house.runtime.fan(spec, &options()).await.unwrap();
    let statuses: Vec<_> = fan.tasks.iter().map(|task| task.status).collect();
    assert_eq!(statuses, [TaskStatus::Completed, TaskStatus::Failed]);
    let stored = house.runtime.store().tasks(root).await.unwrap();
    assert_eq!(stored.iter().map(|task| task.status).collect::<Vec<_>>(), statuses);
    assert!(stored[1].error.as_ref().unwrap().contains("no"), "{:?}", stored[1].error);
}

#[tokio::test]
async fn one_chat_conversation_goes_in_and_comes_out_unchanged() {
    let house = House::new(ScriptedModel::new([])).await;
    let text = r#"[
{"role":"user","content":[{"type":"text","text":"hi"}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s=="},{"type":"text","text":"é","zz":1.0},{"type":"tool_use","id":"t1","name":"A","input":{"b":1,"a":[ 2 ]}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}
]
"#;
    let root = tine_runtime::NewRoot {
        name: None,
        settings: house.runtime.store().agent(house.root().await).await.unwrap().settings,
        system: String::new(),
        stream: true,
        directory: house.home.path().to_owned(),
        reach: tine_model::Reach::open(),
    };
    let imported = house.runtime.import_messages(root, text).await.unwrap();
    assert_eq!(imported.entries, 3);
    let out = house.runtime.export_messages(imported.agent, None).await.unwrap();
    assert_eq!(out, text);
}
