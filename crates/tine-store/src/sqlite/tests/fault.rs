//! Failures at every step of a transaction: an error, a panic, a dropped future, and the death of the process. Afterwards
//! either everything is there or nothing; and everything, once COMMIT has returned.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tine_model::{Cap, PermissionScope};
use tokio::sync::Notify;

use super::{Directory, block_on};
use crate::NewMail;
use crate::contract::{
    agent_id, ask_of, cache_row, caps_of, create, end_of, fork_of, guest_of, message, note_of,
    permission_id, plain_notice, remote_run_of, request_of, reserve_of, server_note_of, yes_to,
};
use crate::{
    Acquire, AgentFilter, AgentStore, BudgetStore, EntryStore, Fence, ForkFrom, GuestFilter,
    GuestStore, Kill, LeaseStore, MailStore, NewTask, OpenOptions, PermissionFilter,
    PermissionStore, RemoteRun, RemoteStore, Remove, RequestStore, Result, ServerStore,
    SqliteStore, StandInLine, StepHook, Store, StoreError, TakeIn, TaskStore, UsageScope,
    WriterStore,
};

/// The last step of every transaction: it stands behind COMMIT.
const COMMITTED: &str = "committed";

/// Tells the re-executed test which change to die in: `change:step:path`.
const DEATH: &str = "TINE_STORE_TEST_DEATH";

#[derive(Debug, Clone, Copy, PartialEq)]
enum Change {
    Fork,
    FanOut,
    Finish,
    Send,
    Deliver,
    Append,
    Ask,
    Answer,
    Expire,
    Kill,
    Budget,
    Reserve,
    Settle,
    Line,
    Writer,
    Server,
    Guest,
    Head,
    Remove,
    Remote,
    TakeIn,
}

const WRITES: [Change; 21] = [
    Change::Fork,
    Change::FanOut,
    Change::Finish,
    Change::Send,
    Change::Deliver,
    Change::Append,
    Change::Ask,
    Change::Answer,
    Change::Expire,
    Change::Kill,
    Change::Budget,
    Change::Reserve,
    Change::Settle,
    Change::Line,
    Change::Writer,
    Change::Server,
    Change::Guest,
    Change::Head,
    Change::Remove,
    Change::Remote,
    Change::TakeIn,
];

thread_local! {
    /// The files of a prepared store by name: made once in a test, and copied for each step.
    static PREPARED: RefCell<Vec<(OsString, Vec<u8>)>> = RefCell::default();
}

/// A root with messages and a lease, and a worker with a running task.
async fn prepare(path: &Path) {
    let directory = path.parent().unwrap();
    let is_there = PREPARED.with_borrow(|files| {
        fs::create_dir_all(directory).unwrap();
        for (name, content) in files {
            fs::write(directory.join(name), content).unwrap();
        }
        !files.is_empty()
    });
    if is_there {
        return;
    }
    fill(path).await;
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let files = entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect();
    PREPARED.set(files);
}

async fn fill(path: &Path) {
    let store = SqliteStore::open(path, OpenOptions::default()).await.unwrap();
    let root = create(&store, 1).await.unwrap();
    let acquire =
        Acquire { agent: root, owner: "me", is_alive: &|_| true, notice: &plain_notice, now_ms: 1 };
    let lease = store.acquire(acquire).await.unwrap();
    assert_eq!(lease.fence, Fence(1));
    store.append(root, lease.fence, &[message("a"), message("b")]).await.unwrap();
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    request.children[0].task =
        Some(NewTask { directive: "look".to_owned(), description: None, definition: None });
    store.fork(request).await.unwrap();
    store.start_task(agent_id(2)).await.unwrap();
    let mail = NewMail { recipient: root, sender: None, body: "m".to_owned(), now_ms: 1 };
    store.send_mail(mail).await.unwrap();
    for number in [1, 2] {
        store.ask_permission(ask_of(agent_id(2), number)).await.unwrap();
    }
    let caps = [(Cap::Tokens, Some(1000)), (Cap::Running, Some(1))];
    store.set_budget(caps_of(root, &caps)).await.unwrap();
    store.reserve(reserve_of(root, 1, 100, 7)).await.unwrap();
    store.begin_remote(&remote_run_of(root), Fence(1)).await.unwrap();
    store.close().await.unwrap();
}

async fn perform(store: &SqliteStore, change: Change) -> Result<()> {
    let root = agent_id(1);
    match change {
        Change::Fork => {
            let mut request = fork_of(root, 3, ForkFrom::LastEntry);
            request.parent_fence = Some(Fence(1));
            request.children[0].agent.name = Some("third".to_owned());
            store.fork(request).await.map(|_| ())
        }
        Change::Remove => {
            let remove = Remove { agents: vec![root], dry_run: false, now_ms: 9 };
            store.remove(remove).await.map(|_| ())
        }
        Change::FanOut => {
            let mut request = fork_of(root, 3, ForkFrom::LastEntry);
            request.children[0].task =
                Some(NewTask { directive: "one".to_owned(), description: None, definition: None });
            let mut another = request.children[0].clone();
            another.agent.id = agent_id(4);
            another.agent.head.hash = [8; 32];
            another.agent.head.body = Some("another head".to_owned());
            another.entries = vec![message("first")];
            request.children.push(another);
            request.owner = Some("me".to_owned());
            store.fork(request).await.map(|_| ())
        }
        Change::Finish => store.finish_task(end_of(agent_id(2))).await.map(|_| ()),
        Change::Send => {
            let mail = NewMail { recipient: root, sender: None, body: "n".to_owned(), now_ms: 2 };
            store.send_mail(mail).await.map(|_| ())
        }
        Change::Deliver => {
            let unread = store.unread_mail(root).await?;
            store.deliver_mail(root, Fence(1), unread[0].id, message("mail")).await.map(|_| ())
        }
        Change::Append => {
            let entries = [message("c"), message("d"), message("e")];
            store.append(root, Fence(1), &entries).await.map(|_| ())
        }
        Change::Ask => store.ask_permission(ask_of(agent_id(2), 3)).await.map(|_| ()),
        Change::Answer => {
            let answer = yes_to(permission_id(1), PermissionScope::Tree);
            store.answer_permission(answer).await.map(|_| ())
        }
        Change::Expire => {
            store.default_permission(permission_id(1), "the deadline", 60_000).await.map(|_| ())
        }
        Change::Kill => {
            let kill = Kill { agent: root, used: &[], notice: &plain_notice, now_ms: 8000 };
            store.kill(kill).await.map(|_| ())
        }
        Change::Budget => {
            let caps = [(Cap::Tokens, None), (Cap::Time, Some(60_000))];
            store.set_budget(caps_of(agent_id(2), &caps)).await.map(|_| ())
        }
        Change::Reserve => store.reserve(reserve_of(agent_id(2), 2, 50, 3)).await.map(|_| ()),
        Change::Settle => {
            let (request, cache) = (request_of(root, 1, "m"), [cache_row(1, 100, 5000)]);
            store.record_request(request, &cache).await.map(|_| ())
        }
        Change::Line => {
            let agents = vec![agent_id(2), root];
            let stand = StandInLine { agents, owner: "me".to_owned(), now_ms: 5000 };
            store.stand_in_line(stand).await
        }
        Change::Writer => store.note_writer(note_of(root, Fence(1), "/srv")).await.map(|_| ()),
        Change::Guest => store.note_guest(guest_of(1, Some("s"), 7)).await,
        Change::Head => {
            let head = crate::Head { hash: [8; 32], body: Some("another head".to_owned()) };
            store.change_head(agent_id(1), Fence(1), head).await
        }
        Change::Remote => {
            let again = RemoteRun { run: "r2".to_owned(), ..remote_run_of(root) };
            store.begin_remote(&again, Fence(1)).await
        }
        Change::TakeIn => {
            let entries = [message("f"), message("g")];
            let (agent, fence, run) = (root, Fence(1), "r1");
            let take = TakeIn { agent, fence, run, position: 3, entries: &entries };
            store.take_in(take).await.map(|_| ())
        }
        Change::Server => store.note_server(server_note_of("http://a", "m", "n", "v")).await,
    }
}

/// Everything that the writes could have touched, as text, read by a new handle.
async fn contents(path: &Path) -> String {
    let store = SqliteStore::open(path, OpenOptions::default()).await.unwrap();
    let mut text = String::new();
    for agent in store.agents(AgentFilter::All).await.unwrap() {
        let history = store.lineage(agent.id, None).await.unwrap();
        let task = store.task(agent.id).await.unwrap();
        let mail = store.unread_mail(agent.id).await.unwrap();
        writeln!(text, "{agent:?}\n{history:?}\n{task:?}\n{mail:?}").unwrap();
    }
    let permissions = store.permissions(None, PermissionFilter::All).await.unwrap();
    writeln!(text, "{permissions:?}").unwrap();
    let requests = store.requests(agent_id(1), UsageScope::Subtree).await.unwrap();
    let cache = store.cache_entries([0; 32], 0).await.unwrap();
    let budget = store.budget(agent_id(1)).await.unwrap();
    writeln!(text, "{requests:?}\n{cache:?}\n{budget:?}").unwrap();
    writeln!(text, "{:?}", store.head(&[8; 32]).await.unwrap()).unwrap();
    let mut read = store.connections.read().await.unwrap();
    let writers = read.all(sqlx::query("SELECT agent FROM writers")).await.unwrap();
    writeln!(text, "{} writers", writers.len()).unwrap();
    read.finish().await.unwrap();
    writeln!(text, "{:?}", store.server_notes("http://a").await.unwrap()).unwrap();
    writeln!(text, "{:?}", store.remote_run(agent_id(1)).await.unwrap()).unwrap();
    writeln!(text, "{:?}", store.guests(GuestFilter::First([7; 32])).await.unwrap()).unwrap();
    store.close().await.unwrap();
    text
}

async fn open(path: &Path, hook: StepHook) -> SqliteStore {
    let options = OpenOptions { step_hook: Some(hook), ..OpenOptions::default() };
    SqliteStore::open(path, options).await.unwrap()
}

/// A hook that acts at one step, once.
fn at_step(step: usize, act: impl Fn() -> Result<()> + Send + Sync + 'static) -> StepHook {
    let reached = AtomicUsize::new(0);
    Arc::new(move |_| match reached.fetch_add(1, Ordering::SeqCst) == step {
        true => act(),
        false => Ok(()),
    })
}

fn injected() -> StoreError {
    StoreError::Full { path: "injected".into() }
}

struct Expected {
    steps: Vec<&'static str>,
    before: String,
    after: String,
}

/// The steps of a change as they really are, so that none is missed, and the store before and after it.
async fn expected(change: Change) -> Expected {
    let directory = Directory::new();
    prepare(&directory.path()).await;
    let before = contents(&directory.path()).await;
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = steps.clone();
    let recorder: StepHook = Arc::new(move |step| {
        seen.lock().unwrap().push(step);
        Ok(())
    });
    perform(&open(&directory.path(), recorder).await, change).await.unwrap();
    let after = contents(&directory.path()).await;
    assert_ne!(before, after);
    let steps = steps.lock().unwrap().clone();
    Expected { steps, before, after }
}

fn assert_whole(change: Change, step: &str, found: &str, expected: &Expected) {
    let wanted = if step == COMMITTED { &expected.after } else { &expected.before };
    assert_eq!(found, wanted, "{change:?} failed at `{step}`");
}

#[tokio::test]
async fn a_fork_takes_its_steps_in_the_order_of_the_design() {
    insta::assert_snapshot!(expected(Change::Fork).await.steps.join("\n"), @r"
    begin
    fork point
    lease
    agent reach
    id in use
    name in use
    head known
    agent row
    parent event
    child event
    commit
    committed
    ");
}

#[tokio::test]
async fn an_error_at_any_step_leaves_everything_or_nothing() {
    for change in WRITES {
        let expected = expected(change).await;
        for (number, step) in expected.steps.iter().enumerate() {
            let directory = Directory::new();
            prepare(&directory.path()).await;
            let store = open(&directory.path(), at_step(number, || Err(injected()))).await;
            assert!(matches!(perform(&store, change).await, Err(StoreError::Full { .. })));
            assert_whole(change, step, &contents(&directory.path()).await, &expected);
            // The same handle does it at the next attempt.
            if *step != COMMITTED {
                perform(&store, change).await.unwrap();
                assert_eq!(contents(&directory.path()).await, expected.after);
            }
        }
    }
}

#[test]
fn a_panic_at_any_step_leaves_everything_or_nothing() {
    for change in WRITES {
        let expected = block_on(expected(change));
        for (number, step) in expected.steps.iter().enumerate() {
            let directory = Directory::new();
            block_on(prepare(&directory.path()));
            let hook = at_step(number, || panic!("injected"));
            let store = block_on(open(&directory.path(), hook));
            let work = AssertUnwindSafe(|| block_on(perform(&store, change)));
            assert!(catch_unwind(work).is_err());
            assert_whole(change, step, &block_on(contents(&directory.path())), &expected);
            if *step != COMMITTED {
                block_on(perform(&store, change)).unwrap();
                assert_eq!(block_on(contents(&directory.path())), expected.after);
            }
        }
    }
}

#[tokio::test]
async fn a_future_dropped_at_any_step_leaves_everything_or_nothing() {
    for change in WRITES {
        let expected = expected(change).await;
        for number in 0..expected.steps.len() {
            let directory = Directory::new();
            prepare(&directory.path()).await;
            let reached = Arc::new(AtomicUsize::new(0));
            let notify = Arc::new(Notify::new());
            let (count, tell) = (reached.clone(), notify.clone());
            let hook: StepHook = Arc::new(move |_| {
                if count.fetch_add(1, Ordering::SeqCst) == number {
                    tell.notify_one();
                }
                Ok(())
            });
            let store = open(&directory.path(), hook).await;
            // Dropped while a statement is under way: this step's, or a later one's when SQLite is quick.
            tokio::select! {
                biased;
                () = notify.notified() => {}
                done = perform(&store, change) => done.unwrap(),
            }
            let last = reached.load(Ordering::SeqCst) - 1;
            // SQLite's thread may still be at it; nobody gets the write lock before it is done.
            store.connections.write().await.unwrap().commit().await.unwrap();
            let found = contents(&directory.path()).await;
            match expected.steps[last] {
                "commit" => assert!(found == expected.before || found == expected.after),
                last => assert_whole(change, last, &found, &expected),
            }
        }
    }
}

#[test]
fn a_killed_process_leaves_everything_or_nothing() {
    for (index, change) in WRITES.into_iter().enumerate() {
        let expected = block_on(expected(change));
        for (number, step) in expected.steps.iter().enumerate() {
            let directory = Directory::new();
            block_on(prepare(&directory.path()));
            let death = format!("{index}:{number}:{}", directory.path().display());
            #[expect(clippy::disallowed_methods, reason = "only a process can be killed like one")]
            let mut command = std::process::Command::new(std::env::current_exe().unwrap());
            let status = command
                .args(["--exact", "sqlite::tests::fault::the_process_that_dies", "--nocapture"])
                .env(DEATH, death)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status()
                .unwrap();
            use std::os::unix::process::ExitStatusExt;
            assert_eq!(status.signal(), Some(9), "{change:?} at `{step}`: {status}");
            assert_whole(change, step, &block_on(contents(&directory.path())), &expected);
        }
    }
}

/// Not a test of its own: the other side of the one above. Without its variable it does nothing.
#[tokio::test]
async fn the_process_that_dies() {
    let Ok(death) = std::env::var(DEATH) else { return };
    let mut parts = death.splitn(3, ':');
    let mut number = || parts.next().unwrap().parse::<usize>().unwrap();
    let (change, step) = (WRITES[number()], number());
    let hook = at_step(step, || {
        let this = rustix::process::getpid();
        rustix::process::kill_process(this, rustix::process::Signal::KILL).unwrap();
        // The signal may take a moment; nothing may happen after it.
        loop {
            std::thread::park();
        }
    });
    perform(&open(Path::new(parts.next().unwrap()), hook).await, change).await.unwrap();
}
