//! Forks on other machines: workers in homes of their own, through a real nats-server.

mod storm;

use std::process::{Child, Stdio};

use serde_json::Value;
use tine_testkit::nats::Node;
use tine_testkit::until_some;

use crate::crash::command;
use crate::foreign::KEY;
use crate::sim_serve::Server;
use crate::support::{Home, Ran};
use crate::worktree::{SCENARIO, base};

/// A server, and the machines around it.
struct Cluster {
    node: Node,
    folder: tempfile::TempDir,
}

impl Cluster {
    fn start() -> Self {
        let folder = tine_testkit::scratch();
        let node = Node::start(folder.path(), "");
        Self { node, folder }
    }

    /// A worker in a home of its own, once the cluster knows of it.
    fn worker(&self, options: &[&str]) -> Worker {
        self.worker_with("", options, &[])
    }

    /// A worker with more settings, and with variables.
    fn worker_with(
        &self,
        settings: &str,
        options: &[&str],
        variables: &[(&str, String)],
    ) -> Worker {
        let settings = format!("[cluster]\nlease = \"2s\"\n{settings}");
        Worker::start(&self.node.url(), &settings, options, variables)
    }

    /// Runs a command of the machine that forks.
    fn ran(&self, home: &Home, arguments: &[&str]) -> Ran {
        Ran::of(home.tine(arguments).env("TINE_CLUSTER_URL", self.node.url()))
    }

    /// Runs a command that must not fail; its result as JSON.
    fn json(&self, home: &Home, arguments: &[&str]) -> Value {
        let ran = self.ran(home, arguments);
        assert_eq!(ran.code, 0, "tine {arguments:?}: {ran:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    }
}

/// A worker's process; it goes with this.
struct Worker {
    child: Child,
    home: Home,
}

impl Worker {
    /// Starts a worker, and waits until the servers know of it.
    fn start(url: &str, settings: &str, options: &[&str], variables: &[(&str, String)]) -> Self {
        let home = Home::new();
        home.near_model(SCENARIO);
        home.write("config.toml", settings);
        let mut command = command(&home, &[["worker", "--json"].as_slice(), options].concat());
        command.env("TINE_CLUSTER_URL", url);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let printed = std::fs::File::create(home.path().join("news")).unwrap();
        command.stdin(Stdio::null()).stdout(printed).stderr(Stdio::null());
        let worker = Self { child: command.spawn().unwrap(), home };
        worker.news("ready");
        worker
    }

    /// All that it has told.
    fn told(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.home.path().join("news")).unwrap();
        let whole = text.lines().filter(|line| line.ends_with('}'));
        whole.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The first news of a kind; waits for it.
    fn news(&self, event: &str) -> Value {
        until_some(event, || self.told().into_iter().find(|news| news["event"] == event))
    }

    /// The number of runs that it has ended.
    fn ended(&self) -> usize {
        self.told().iter().filter(|news| news["event"] == "ended").count()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A fan of four: its tasks.
fn fan_of_four(cluster: &Cluster, home: &Home) -> Vec<Value> {
    let fan = ["fan", "base", "--on", "cluster", "--allow", "Bash", "--json"];
    let directives = ["-d", "WRITE one", "-d", "WRITE two", "-d", "COMMIT", "-d", "NOTHING"];
    let told = cluster.json(home, &[fan.as_slice(), &directives].concat());
    told["tasks"].as_array().unwrap().clone()
}

mod smoke {
    use super::*;

    #[test]
    #[ignore = "needs nats-server: cargo xtask hosts nats"]
    fn a_fan_of_four_on_two_workers_has_its_reports_its_files_and_its_costs() {
        let cluster = Cluster::start();
        let workers = [cluster.worker(&["--jobs", "2"]), cluster.worker(&["--jobs", "2"])];
        let home = base().without_nudges();
        std::fs::write(home.work().join("new.txt"), "not committed\n").unwrap();

        let tasks = fan_of_four(&cluster, &home);
        for task in &tasks {
            assert_eq!(task["status"], "completed", "{task}");
            assert!(task["usage"]["output"].as_u64().unwrap() > 0, "{task}");
        }
        assert!(workers.iter().map(Worker::ended).sum::<usize>() == 4);
        let status = cluster.json(&home, &["cluster", "status", "--json"]);
        assert_eq!(status["workers"].as_array().unwrap().len(), 2, "{status}");
        assert_eq!(status["jobs"], 0, "{status}");

        // The work is here as that of any fork: files, and a commit.
        let [one, commit] = [0, 2].map(|index| tasks[index]["agent"].as_str().unwrap().to_owned());
        let diff = cluster.ran(&home, &["diff", &one]);
        assert!(diff.stdout.contains("made.txt") && !diff.stdout.contains("new.txt"), "{diff:?}");
        let applied = cluster.ran(&home, &["apply", &one]);
        assert_eq!(applied.code, 0, "{applied:?}");
        assert_eq!(std::fs::read_to_string(home.work().join("made.txt")).unwrap(), "made\n");
        assert_eq!(tasks[2]["worktree"]["commits"], 1, "{}", tasks[2]);
        let picked = cluster.ran(&home, &["cherry-pick", &commit]);
        assert_eq!(picked.code, 0, "{picked:?}");

        // Whoever goes on here is told where the files are that it wrote there.
        let again = cluster.ran(&home, &["run", "--resume", &one, "NOTHING"]);
        assert_eq!(again.code, 0, "{again:?}");
        let shown = cluster.ran(&home, &["show", &one]).stdout;
        assert_eq!(shown.matches("What was done last was done on another machine").count(), 1);

        // Rows, too: the log, and what it has cost.
        let shown = cluster.json(&home, &["show", &one, "--json"]);
        assert!(shown.to_string().contains("made.txt"), "{shown}");
        let cost = cluster.json(&home, &["cost", &one, "--json"]);
        assert!(cost.to_string().contains("output"), "{cost}");
    }
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn a_stop_reaches_a_worker_and_a_run_without_one_ends_all_the_same() {
    let cluster = Cluster::start();
    let home = base().without_nudges();
    // Nobody has the job.
    let waits = ["task", "start", "base", "NOTHING", "--fork", "--on", "cluster", "--json"];
    let task = cluster.json(&home, &waits)["agent"].as_str().unwrap().to_owned();
    let stopped = cluster.ran(&home, &["task", "cancel", &task, "--json"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    until_some("the end of the task", || {
        let list = cluster.json(&home, &["task", "list", "base", "--json"]);
        list.to_string().contains("\"cancelled\"").then_some(())
    });
    // Whoever comes later finds it ended, and does not begin it.
    let worker = cluster.worker(&[]);
    until_some("an empty queue", || {
        let status = cluster.json(&home, &["cluster", "status", "--json"]);
        (status["jobs"] == 0).then_some(())
    });
    assert!(worker.told().iter().all(|news| news["event"] != "began"), "{:?}", worker.told());
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn of_eight_workers_on_three_machines_one_writes_the_prefix_and_seven_read_it() {
    let cluster = Cluster::start();
    let home = base().without_nudges();
    let provider = Server::start(&home, &[]);
    let variables = [
        ("ANTHROPIC_BASE_URL", provider.field("anthropic")),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
    ];
    let _workers =
        ["3", "3", "2"].map(|jobs| cluster.worker_with("", &["--jobs", jobs], &variables));
    home.import("anthropic/claude-opus-5-5", "cold", 2);
    let fan = ["fan", "cold", "--on", "cluster", "--plan", "together", "--json"];
    let directives: Vec<String> = (1..=8).map(|number| format!("say {number}")).collect();
    let directives = directives.iter().flat_map(|directive| ["-d", directive.as_str()]);
    let arguments: Vec<&str> = fan.into_iter().chain(directives).collect();
    let mut command = home.tine(&arguments);
    command.env("TINE_CLUSTER_URL", cluster.node.url()).envs(variables);
    let ran = Ran::of(&mut command);
    assert_eq!(ran.code, 0, "{ran:?}");
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let first = told["tasks"].as_array().unwrap().iter().map(|task| &task["first_usage"]);
    let is_reader = |usage: &&Value| usage["read"].as_u64().unwrap() > 2_000;
    assert_eq!(first.clone().filter(is_reader).count(), 7, "{:#?}", first.collect::<Vec<_>>());
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn a_run_whose_worker_dies_goes_on_at_another_and_pays_no_turn_twice() {
    let cluster = Cluster::start();
    let home = base().without_nudges();
    let counted = home.write("counted", "");
    let scenario = format!(
        r#"
name = "slow"

[[turn]]
when = {{ user_contains = "Another machine" }}
text = "Scope: what was asked\nResult: looked"

[[turn]]
tool_calls = [{{ name = "Bash", input = {{ command = "echo once >> {}; sleep 600" }} }}]
"#,
        counted.display()
    );
    let model = home.model(&scenario);
    home.import(&model, "slow", 2);
    let open = "[confine]\nworkers = \"off\"\n";
    let first = cluster.worker_with(open, &[], &[]);
    let start = ["task", "start", "slow", "COUNT", "--fork", "--on", "cluster", "--allow", "Bash"];
    let start = [start.as_slice(), &["--confine", "off", "--json"]].concat();
    let task = cluster.json(&home, &start)["agent"].as_str().unwrap().to_owned();
    until_some("the call", || {
        (std::fs::read_to_string(&counted).unwrap() == "once\n").then_some(())
    });
    drop(first);
    let second = cluster.worker_with(open, &[], &[]);
    until_some("the end", || {
        let list = cluster.json(&home, &["task", "list", "slow", "--json"]);
        list.to_string().contains("\"completed\"").then_some(())
    });
    assert_eq!(second.news("began")["attempt"], 2);
    assert_eq!(std::fs::read_to_string(&counted).unwrap(), "once\n", "the call ran once");
    let explained = cluster.json(&home, &["cache", "explain", &task, "--json"]);
    assert_eq!(explained["requests"].as_array().unwrap().len(), 2, "{explained}");
    let shown = cluster.ran(&home, &["show", &task]);
    assert!(shown.stdout.contains("Another machine goes on with this"), "{shown:?}");
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn a_run_whose_home_died_is_stopped_by_a_later_command() {
    let cluster = Cluster::start();
    let home = base().without_nudges();
    let worker = cluster.worker(&[]);
    let model = home
        .model("name = \"late\"\n[[turn]]\ntext = \"late\"\nfault = { first_byte_ms = 300_000 }\n");
    home.import(&model, "slow", 2);
    let mut fork = command(&home, &["fork", "slow", "hello", "--name", "late", "--on", "cluster"]);
    fork.env("TINE_CLUSTER_URL", cluster.node.url());
    fork.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut fork = fork.spawn().unwrap();
    worker.news("began");
    fork.kill().unwrap();
    fork.wait().unwrap();
    let stopped = cluster.ran(&home, &["stop", "late"]);
    assert_eq!(stopped.code, 0, "{stopped:?}");
    assert_eq!(worker.news("ended")["outcome"], "aborted");
    until_some("the end of the fork", || {
        let listed = cluster.json(&home, &["ps", "--json"]).to_string();
        (!listed.contains("\"running\"")).then_some(())
    });
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn a_fork_that_no_worker_takes_ends_when_its_time_is_up() {
    let cluster = Cluster::start();
    let home = base().without_nudges();
    let fork = ["fork", "base", "NOTHING", "--on", "cluster:gpu", "--timeout", "1s"];
    assert_eq!(cluster.ran(&home, &fork).code, 124);
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn a_home_that_died_finds_the_report_when_it_is_back() {
    let cluster = Cluster::start();
    let home = base().without_nudges();
    let mut fork =
        command(&home, &["fork", "base", "NOTHING", "--name", "away", "--on", "cluster"]);
    fork.env("TINE_CLUSTER_URL", cluster.node.url());
    fork.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut fork = fork.spawn().unwrap();
    until_some("the job", || {
        let status = cluster.json(&home, &["cluster", "status", "--json"]);
        (status["jobs"] == 1).then_some(())
    });
    fork.kill().unwrap();
    fork.wait().unwrap();
    let listed = cluster.json(&home, &["ps", "--json"]).to_string();
    assert!(listed.contains("\"running\""), "{listed}");
    let worker = cluster.worker(&[]);
    worker.news("ended");
    until_some("the end of the fork", || {
        let listed = cluster.json(&home, &["ps", "--json"]).to_string();
        (!listed.contains("\"running\"")).then_some(())
    });
    let shown = cluster.ran(&home, &["show", "away"]);
    assert!(shown.stdout.contains("Scope: what was asked"), "{shown:?}");
}

/// The checks of `tine cluster doctor` that are not well, by name and status.
fn unwell(cluster: &Cluster, home: &Home) -> Vec<(String, String)> {
    let ran = cluster.ran(home, &["cluster", "doctor", "--json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(told["ok"], ran.code == 0, "{ran:?}");
    let checks = told["checks"].as_array().unwrap().iter();
    let word = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    let pairs = checks.map(|check| (word(check, "name"), word(check, "status")));
    pairs.filter(|(_, status)| status != "ok").collect()
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn the_doctor_says_what_a_cluster_lacks() {
    let cluster = Cluster::start();
    let home = base().without_nudges();
    let named = |name: &str, status: &str| (name.to_owned(), status.to_owned());
    assert_eq!(unwell(&cluster, &home), [named("workers", "warning")]);
    // The servers keep the lease of whoever came first.
    let worker = cluster.worker(&[]);
    assert_eq!(unwell(&cluster, &home), []);
    home.write("config.toml", "[cluster]\nlease = \"3s\"\n");
    assert_eq!(unwell(&cluster, &home), [named("lease", "warning")]);
    let start = ["task", "start", "base", "NOTHING", "--fork", "--on", "cluster:gpu", "--json"];
    let task = cluster.json(&home, &start)["agent"].as_str().unwrap().to_owned();
    until_some("the job", || {
        let expected = [named("lease", "warning"), named("queue", "failure")];
        (unwell(&cluster, &home) == expected).then_some(())
    });
    // Its process goes, too.
    assert_eq!(cluster.ran(&home, &["task", "cancel", &task]).code, 0);
    until_some("an empty queue", || {
        (unwell(&cluster, &home) == [named("lease", "warning")]).then_some(())
    });
    drop((worker, cluster.node));
    let nobody = Ran::of(
        home.tine(&["cluster", "doctor", "--json"]).env("TINE_CLUSTER_URL", "nats://127.0.0.1:9"),
    );
    assert_eq!(nobody.code, 1, "{nobody:?}");
    assert!(nobody.stdout.contains("no NATS server answers"), "{nobody:?}");
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn the_time_of_the_tree_ends_a_run_elsewhere() {
    let cluster = Cluster::start();
    let home = base().without_nudges();
    let _worker = cluster.worker(&[]);
    let model = home
        .model("name = \"late\"\n[[turn]]\ntext = \"late\"\nfault = { first_byte_ms = 300_000 }\n");
    home.import(&model, "slow", 2);
    let fork = ["fork", "slow", "hello", "--on", "cluster", "--tree-time", "2s", "--json"];
    let ran = cluster.ran(&home, &fork);
    assert_eq!(ran.code, 55, "{ran:?}");
    assert!(ran.stdout.contains("\"budget_exhausted\""), "{ran:?}");
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn a_kill_reaches_the_worker_of_a_run_whose_home_died() {
    let cluster = Cluster::start();
    let home = base().without_nudges();
    let worker = cluster.worker(&[]);
    let model = home
        .model("name = \"late\"\n[[turn]]\ntext = \"late\"\nfault = { first_byte_ms = 300_000 }\n");
    home.import(&model, "slow", 2);
    let mut fork = command(&home, &["fork", "slow", "hello", "--name", "late", "--on", "cluster"]);
    fork.env("TINE_CLUSTER_URL", cluster.node.url());
    fork.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut fork = fork.spawn().unwrap();
    worker.news("began");
    fork.kill().unwrap();
    fork.wait().unwrap();
    let killed = cluster.ran(&home, &["kill", "late", "--yes"]);
    assert_eq!(killed.code, 0, "{killed:?}");
    assert_eq!(worker.news("ended")["outcome"], "aborted");
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn servers_that_lost_what_they_kept_are_noticed_by_all() {
    let mut cluster = Cluster::start();
    let home = base().without_nudges();
    let worker = cluster.worker(&[]);
    let model = home
        .model("name = \"late\"\n[[turn]]\ntext = \"late\"\nfault = { first_byte_ms = 300_000 }\n");
    home.import(&model, "slow", 2);
    let mut fork = command(&home, &["fork", "slow", "hello", "--on", "cluster", "--json"]);
    fork.env("TINE_CLUSTER_URL", cluster.node.url());
    let printed = std::fs::File::create(home.path().join("told")).unwrap();
    fork.stdin(Stdio::null()).stdout(printed).stderr(Stdio::null());
    let mut fork = fork.spawn().unwrap();
    worker.news("began");
    cluster.node.kill();
    std::fs::remove_dir_all(cluster.folder.path().join("store")).unwrap();
    cluster.node.restart();
    // Whoever comes makes the streams again.
    cluster.json(&home, &["cluster", "status", "--json"]);
    assert_eq!(fork.wait().unwrap().code(), Some(1));
    let told = std::fs::read_to_string(home.path().join("told")).unwrap();
    assert!(told.contains("they have lost what they kept of it"), "{told}");
    // The worker that was there takes the next job.
    let next = cluster.ran(&home, &["fork", "base", "NOTHING", "--on", "cluster"]);
    assert_eq!(next.code, 0, "{next:?}");
}
