//! Forks on other machines: what a job costs in bytes, how soon its first request leaves, and how many jobs a second go through. One
//! nats-server, two workers with eight places each, and the simulator in place of a model, all on this machine. Run with
//! `cargo xtask bench cluster`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up has no figures")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::Value;
use tempfile::TempDir;
use tine_testkit::nats::Node;
use tine_testkit::{scratch, until};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Forks that are counted, for each median.
const RUNS: usize = 15;

/// Jobs that go through at once.
const FAN: usize = 64;

/// Places of each worker.
const JOBS: &str = "8";

/// Messages of the long conversation, of 1 kB each.
const LONG: usize = 4_000;

fn main() {
    let place = scratch();
    let node = Node::start(&place.path().join("server"), "");
    let version = node.info().unwrap()["version"].as_str().unwrap().to_owned();
    println!("nats-server {version}, on loopback");
    let home = Home::new(&node, "home");
    for (name, messages) in [("short", 10), ("long", LONG)] {
        let file = home.place.path().join(name);
        std::fs::write(&file, conversation(messages)).unwrap();
        let file = file.to_str().unwrap();
        home.tine(&["import", file, "--model", "sim/echo", "--name", name]);
    }
    let _workers: Vec<Worker> = ["a", "b"].map(|name| Worker::start(&node, name)).into();
    until("both workers", || {
        let status = home.json(&["cluster", "status", "--json"]);
        status["workers"].as_array().unwrap().len() == 2
    });
    bytes(&node, &home);
    times(&node, &home);
    throughput(&home);
}

/// What this machine sends for each child of a long conversation, and what the workers get.
fn bytes(node: &Node, home: &Home) {
    let traffic = || [sent(node, "tine", "in_bytes"), sent(node, "tine worker", "out_bytes")];
    let mut last = traffic();
    let mut children = Vec::new();
    println!("a conversation of {LONG} messages of 1 kB:");
    for number in 1..=4 {
        home.tine(&["fork", "long", "say it", "--on", "cluster", "--json"]);
        let now = traffic();
        let [up, down] = [now[0] - last[0], now[1] - last[1]];
        println!("  child {number}: {} from home, {} to workers", shown(up), shown(down));
        children.push(up);
        last = now;
    }
    let ratio = children[0] as f64 / children[1] as f64;
    println!("  the first child against the second, from home: {ratio:.0} times");
}

/// How soon a job's first request leaves, and the whole command, here and there.
fn times(node: &Node, home: &Home) {
    let mut seen = Seen::new(node);
    for name in ["short", "long"] {
        let (mut jobs, mut there, mut waits) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..=RUNS {
            there.push(timed(|| home.tine(&["fork", name, "say it", "--on", "cluster"])));
            let (length, wait) = seen.job();
            jobs.push(length);
            waits.push(wait);
        }
        let here: Vec<_> =
            (0..=RUNS).map(|_| timed(|| home.tine(&["fork", name, "say it"]))).collect();
        let [there, here, wait] = [there, here, waits].map(median);
        jobs.sort_unstable();
        println!(
            "{name}: a job of {}; its first request after {}; the whole fork {}, here {}: {:.1} times",
            shown(jobs[RUNS / 2]),
            milliseconds(wait),
            milliseconds(there),
            milliseconds(here),
            there.as_secs_f64() / here.as_secs_f64()
        );
    }
}

/// A fan, here and there.
fn throughput(home: &Home) {
    let directives: Vec<String> = (0..FAN).map(|number| format!("say {number}")).collect();
    let directives = directives.iter().flat_map(|directive| ["-d", directive.as_str()]);
    let fan: Vec<&str> = ["fan", "short", "--plan", "together", "--worktree", "--json"]
        .into_iter()
        .chain(directives)
        .collect();
    let there = timed(|| home.tine(&[fan.as_slice(), &["--on", "cluster"]].concat()));
    let here = timed(|| home.tine(&fan));
    let rate = |time: Duration| FAN as f64 / time.as_secs_f64();
    println!(
        "a fan of {FAN}: {:.1} jobs a second; with worktrees here {:.1}: {:.2} times",
        rate(there),
        rate(here),
        rate(there) / rate(here)
    );
}

/// A machine.
struct Home {
    place: TempDir,
    work: PathBuf,
    url: String,
}

impl Home {
    /// A home whose working directory is a repository with one commit.
    fn new(node: &Node, name: &str) -> Self {
        let place = scratch();
        let work = place.path().join(name);
        std::fs::create_dir(&work).unwrap();
        std::fs::write(work.join("a.txt"), "one\n").unwrap();
        let git = |arguments: &[&str]| {
            let mut git = command("git");
            git.current_dir(&work).args([
                "-c",
                "user.name=Ann",
                "-c",
                "user.email=ann@example.org",
            ]);
            assert!(git.args(arguments).status().unwrap().success());
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "One"]);
        Self { place, work, url: node.url() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(env!("CARGO_BIN_EXE_tine"));
        command.env("TINE_HOME", self.place.path()).env("TINE_CLUSTER_URL", &self.url);
        command.current_dir(&self.work).args(arguments).stdin(Stdio::null());
        command
    }

    fn tine(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.tine(arguments)).unwrap()
    }
}

/// A worker's process; it goes with this.
struct Worker {
    child: Child,
    _home: Home,
}

impl Worker {
    fn start(node: &Node, name: &str) -> Self {
        let home = Home::new(node, name);
        let mut command = home.command(&["worker", "--jobs", JOBS, "--name", name]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        Self { child, _home: home }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Jobs and first requests, at the moment at which the server passes them on.
struct Seen(UnboundedReceiver<(Instant, String, Vec<u8>)>);

impl Seen {
    fn new(node: &Node) -> Self {
        let (tell, told) = unbounded_channel();
        let (url, (ready, is_ready)) = (node.url(), std::sync::mpsc::channel());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let client = async_nats::connect(url).await.unwrap();
                let mut messages = client.subscribe("agent.>").await.unwrap();
                client.flush().await.unwrap();
                ready.send(()).unwrap();
                while let Some(message) = messages.next().await {
                    let subject = message.subject.to_string();
                    if tell.send((Instant::now(), subject, message.payload.to_vec())).is_err() {
                        break;
                    }
                }
            });
        });
        is_ready.recv().unwrap();
        Self(told)
    }

    /// The bytes of the next job, and the time until its first request.
    fn job(&mut self) -> (u64, Duration) {
        let mut job = None;
        loop {
            let (at, subject, body) = self.0.blocking_recv().unwrap();
            if subject.starts_with("agent.job.") {
                job = Some((at, body.len() as u64));
            } else if let Some((given, length)) = job
                && subject.ends_with(".events")
                && serde_json::from_slice::<Value>(&body).unwrap()["type"] == "tine.fork.request.v1"
            {
                return (length, at - given);
            }
        }
    }
}

/// Bytes that the server has counted for all connections of this name, also of those that are closed.
fn sent(node: &Node, name: &str, counter: &str) -> u64 {
    let page = node.page("/connz?state=all&limit=4096").unwrap();
    let connections = page["connections"].as_array().unwrap().iter();
    let named = connections
        .filter(|connection| connection["name"].as_str().is_some_and(|own| own.starts_with(name)));
    let is_other = |connection: &&Value| name == "tine" && connection["name"] != "tine";
    named.filter(|connection| !is_other(connection)).filter_map(|it| it[counter].as_u64()).sum()
}

#[expect(clippy::disallowed_methods, reason = "the benchmark runs the real binary")]
fn command(program: impl AsRef<Path>) -> Command {
    Command::new(program.as_ref())
}

fn conversation(messages: usize) -> String {
    let line = |at: usize| {
        let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
        format!("{{\"role\":\"{role}\",\"content\":\"{at} {}\"}}\n", "word ".repeat(200))
    };
    (0..messages).map(line).collect()
}

fn timed<T>(operation: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    operation();
    start.elapsed()
}

/// The median of those behind the first, which warms up.
fn median(mut times: Vec<Duration>) -> Duration {
    let times = &mut times[1..];
    times.sort();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> String {
    format!("{:.0} ms", time.as_secs_f64() * 1e3)
}

fn shown(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.2} MB", bytes as f64 / 1e6),
    }
}
