//! `kill -9` at random moments of a run that has workers, with a budget: every task has an end, its spawner is told of it exactly
//! once, nothing stays reserved, and no more is spent than the cap and what was under way.
//!
//! The simulator stands outside of what is killed, so that it knows what was really sent. `cargo xtask crash` runs this test for
//! long; a violation keeps the home and names the seed.

mod check;
mod litter;
mod moment;
mod scenario;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tine_model::AgentId;
use tine_sim::{Scenario, SimOptions, SimServer};
use tine_store::{OpenOptions, SqliteStore};

use check::{Books, Stage};
use moment::{Ending, Moment};
use scenario::{Chance, Plan};

use crate::support::{Home, Ran};

/// Rounds when nobody asks for more, and where everything is tested: a few of each kind.
const ROUNDS: (u32, u32) = (6, 15);

/// One model whose words cost money.
const MODEL: &str = "anthropic/claude-opus-5-5";

/// What a worker is told that is taken up again.
const MORE: &str = "once more, please";

/// Rounds between two signs of life in a long run.
const PROGRESS: u64 = 50;

/// What became of the rounds.
#[derive(Default)]
struct Tally(BTreeMap<String, u64>);

impl Tally {
    fn count(&mut self, what: impl Into<String>, by: u64) {
        *self.0.entry(what.into()).or_default() += by;
    }

    fn shown(&self) -> String {
        self.0.iter().map(|(what, count)| format!("  {count:>6}  {what}\n")).collect()
    }
}

/// A home, and the provider that stands outside of it.
struct Round {
    home: Home,
    runtime: tokio::runtime::Runtime,
    store: SqliteStore,
    sim: SimServer,
    plan: Plan,
    chance: Chance,
    /// Requests that were under way when a process of this home died.
    under_way: u64,
    /// The worker that is taken up again by itself.
    resumed: Option<AgentId>,
    /// Workers that were, and how often.
    again: BTreeMap<AgentId, usize>,
}

impl Round {
    fn new(mut chance: Chance) -> Self {
        let home = Home::new();
        let plan = Plan::new(&mut chance);
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(1).enable_all().build().unwrap();
        let (store, sim) = runtime.block_on(async {
            let path = home.path().join("tine.db");
            let store = SqliteStore::open(path, OpenOptions::default()).await.unwrap();
            let scenario = Scenario::parse(&plan.scenario, "crash").unwrap();
            (store, SimServer::start(SimOptions::new(scenario)).await.unwrap())
        });
        Self {
            home,
            runtime,
            store,
            sim,
            plan,
            chance,
            under_way: 0,
            resumed: None,
            again: BTreeMap::new(),
        }
    }

    fn books(&self) -> Books<'_> {
        Books { runtime: &self.runtime, store: &self.store, sim: &self.sim, again: &self.again }
    }

    /// Starts a run and kills it; how it went.
    fn killed(&mut self, arguments: &[&str]) -> Ending {
        let moment = Moment::new(&mut self.chance);
        let mut command = crate::crash::command(&self.home, arguments);
        command.env("ANTHROPIC_BASE_URL", self.sim.base_url()).env("ANTHROPIC_API_KEY", "sk-sim");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        moment.kill(command.spawn().unwrap(), &self.books())
    }

    /// Runs a command to its end.
    fn ran(&self, arguments: &[&str]) -> Ran {
        let mut command = self.home.tine(arguments);
        command.env("ANTHROPIC_BASE_URL", self.sim.base_url()).env("ANTHROPIC_API_KEY", "sk-sim");
        Ran::of(&mut command)
    }

    fn recovered(&self) -> Result<(), String> {
        let ran = self.ran(&["ps", "--all", "--json"]);
        (ran.code == 0).then_some(()).ok_or_else(|| format!("ps failed: {}", ran.stderr))
    }

    /// Neither a process nor a lock file of the dead is left when the next command has run.
    fn nothing_left(&self) -> Result<(), String> {
        // Their watchdogs need a moment, on a busy machine a longer one.
        let work = self.home.work();
        tine_testkit::until("the end of all that worked for a dead tine", || {
            left_in(&work).is_empty()
        });
        let locks = std::fs::read_dir(self.home.path().join("run")).into_iter().flatten().flatten();
        let locks: Vec<_> = locks.map(|entry| entry.file_name()).collect();
        locks.is_empty().then_some(()).ok_or_else(|| format!("lock files are left: {locks:?}"))
    }

    /// Kills a run, looks for the dead, and checks what is left of it.
    fn crash(&mut self, arguments: &[&str], tally: &mut Tally) -> Result<(), String> {
        let ending = self.killed(arguments);
        if let Some(worker) = self.resumed.take().filter(|id| self.books().has_reopened(*id, MORE))
        {
            *self.again.entry(worker).or_default() += 1;
            tally.count("workers taken up again by themselves", 1);
        }
        tally.count(format!("runs {}", ending.as_str()), 1);
        self.under_way += self.books().under_way();
        let commands = left_in(&self.home.work()).len();
        tally.count("commands that ran when their tine died, or just after", commands as u64);
        self.recovered()?;
        self.nothing_left()?;
        let books = self.books();
        let Some(root) = books.root() else {
            tally.count("runs killed before there was an agent", 1);
            return Ok(());
        };
        let found = books.check(root, Stage::Recovered)?;
        books.spending(root, self.plan.budget, self.under_way)?;
        tally.count("notices read by the root when it died", found.read);
        tally.count("notices that waited for it", found.unread);
        tally.count("crashes of trees at their cap", u64::from(found.at_cap));
        Ok(())
    }

    /// The whole round; an error says what was violated.
    fn go(&mut self, tally: &mut Tally) -> Result<(), String> {
        let (budget, running) = (self.plan.budget.to_string(), self.plan.running);
        let stream = ["--allow", "Bash", "--output-format", "stream-json"];
        let new = ["--model", MODEL, "--max-output-tokens", "400"];
        let caps = ["--tree-tokens", &budget, "--tree-running", running];
        self.crash(&[&["run"], &new[..], &caps, &stream, &["embark"]].concat(), tally)?;
        let Some(root) = self.books().root() else { return Ok(()) };
        let id = root.to_string();
        if self.plan.twice {
            self.crash(&[&["run", "--resume", &id], &stream[..], &["embark"]].concat(), tally)?;
        }
        if let Some(worker) = self.books().dead_worker(root) {
            let id = worker.to_string();
            self.resumed = Some(worker);
            self.crash(&[&["run", "--resume", &id], &stream[..], &[MORE]].concat(), tally)?;
        }
        let done = self.ran(&["run", "--resume", &id, "--tree-tokens", "none", "-q", "go on"]);
        if done.code != 0 {
            return Err(format!("the resumed root ended with {}: {}", done.code, done.stderr));
        }
        let ends = self.books().check(root, Stage::ToTheEnd)?.ends;
        ends.into_iter().for_each(|(status, count)| tally.count(format!("tasks {status}"), count));
        Ok(())
    }
}

/// Processes whose directory is this one, as their numbers and command lines. A run's commands work there.
fn left_in(work: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let here =
        entries.filter(|entry| std::fs::read_link(entry.join("cwd")).is_ok_and(|cwd| cwd == work));
    let shown = |entry: PathBuf| {
        let line = std::fs::read(entry.join("cmdline")).unwrap_or_default();
        format!("{}: {}", entry.display(), String::from_utf8_lossy(&line).replace('\0', " "))
    };
    here.map(shown).collect()
}

/// A number from the surroundings, for those who run this for long.
fn asked(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().map_or(usual, |text| text.parse().unwrap())
}

#[test]
fn killed_at_a_random_moment_no_task_is_without_an_end_and_no_notice_lost_or_doubled() {
    let (usual, all) = ROUNDS;
    let usual = tine_testkit::cases("rounds of a killed crew", usual, all);
    let (times, seed) = (asked("TINE_CRASH_TIMES", usual.into()), asked("TINE_CRASH_SEED", 1));
    let mut tally = Tally::default();
    for number in 0..times {
        let mut round = Round::new(Chance::of_round(seed, number));
        if let Err(violation) = round.go(&mut tally) {
            let Round { home, plan, .. } = round;
            let kept = home.keep();
            panic!(
                "round {number} of seed {seed}: {violation}\nhome kept: {}\nplan: {plan:?}",
                kept.display()
            );
        }
        if (number + 1) % PROGRESS == 0 {
            eprintln!("{} rounds", number + 1);
        }
    }
    eprintln!("{times} rounds of seed {seed}\n{}", tally.shown());
}
