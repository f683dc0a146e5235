//! `kill -9` at random moments of all that works in a checkout: of a run, confined or not, a fan, a worker in the background, a fork with
//! a worktree, and of work that is brought home. Afterwards the next command finds no process, no lock, no worktree and no half change
//! of nobody, and every row that was there.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::scenario::Chance;
use super::{Tally, asked};
use crate::crash::command;
use crate::support::Home;
use crate::worktree::{git, place};

/// Rounds when nobody asks for more, and where everything is tested: one and three of each kind.
const ROUNDS: (u32, u32) = (7, 21);

/// A model whose command changes a file, and leaves its group, its session and its environment behind.
const SCENARIO: &str = r#"
name = "litter"

[[turn]]
when = { user_contains = "work", tool_results = 0 }
[[turn.tool_calls]]
name = "Bash"
input = { command = "echo x >> made.txt; setsid -f sleep 1000; (env -i setsid /bin/sleep 1000 &); sleep 1000 & sleep 1000" }

[[turn]]
text = "You said: {{user}}"
"#;

/// Files that are brought home: enough that a kill finds some of them moved.
const FILES: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Run,
    Confined,
    Fan,
    Task,
    Fork,
    Apply,
    Merge,
}

const KINDS: [Kind; 7] =
    [Kind::Run, Kind::Confined, Kind::Fan, Kind::Task, Kind::Fork, Kind::Apply, Kind::Merge];

impl Kind {
    fn arguments(self) -> Vec<&'static str> {
        match self {
            Self::Run => vec!["run", "--resume", "base", "--allow", "Bash", "work"],
            Self::Confined => {
                vec!["run", "--resume", "base", "--allow", "Bash", "--confine", "directory", "work"]
            }
            Self::Fan => {
                vec!["fan", "base", "-d", "work", "-d", "work", "--worktree", "--allow", "Bash"]
            }
            Self::Task => vec!["task", "start", "base", "work", "--allow", "Bash", "--json"],
            Self::Fork => vec!["fork", "base", "work", "--worktree", "--allow", "Bash"],
            Self::Apply => vec!["apply", "done"],
            Self::Merge => vec!["merge", "done"],
        }
    }

    /// The time within which it is killed, in microseconds: about as long as it takes, or as its command begins in.
    fn within(self) -> u64 {
        match self {
            Self::Run | Self::Confined | Self::Task => 250_000,
            Self::Fan | Self::Fork => 600_000,
            Self::Apply | Self::Merge => 300_000,
        }
    }
}

/// A repository with an agent, and for work that is brought home an agent that has done some.
fn home(kind: Kind) -> Home {
    let home = crate::worktree::base();
    let model = home.near_model(SCENARIO);
    home.write("config.toml", &format!("model = \"{model}\"\n"));
    if matches!(kind, Kind::Apply | Kind::Merge) {
        home.done(&["fork", "base", "-n", "done", "--worktree"]);
        let worktree = place(&home, "done");
        for number in 0..FILES {
            std::fs::write(worktree.join(format!("new-{number}.txt")), "new\n").unwrap();
        }
        if kind == Kind::Merge {
            git(&worktree, &["add", "-A"]);
            git(&worktree, &["commit", "-qm", "Add files"]);
        }
    }
    home
}

/// Waits for a time, unless the process ends before. Returns false then.
fn outlives(child: &mut std::process::Child, time: Duration) -> bool {
    let mut stdout = child.stdout.take().unwrap();
    let (ended, end) = channel::<()>();
    let reader = std::thread::spawn(move || {
        let _ = std::io::copy(&mut stdout, &mut std::io::sink());
        drop(ended);
    });
    let is_alive = end.recv_timeout(time) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
    if is_alive {
        child.kill().unwrap();
    }
    child.wait().unwrap();
    reader.join().unwrap();
    is_alive
}

/// Processes whose directory is the home or below it.
fn left_below(home: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let is_below = |entry: &PathBuf| {
        std::fs::read_link(entry.join("cwd")).is_ok_and(|cwd| cwd.starts_with(home))
    };
    let shown = |entry: PathBuf| {
        let line = std::fs::read(entry.join("cmdline")).unwrap_or_default();
        format!("{}: {}", entry.display(), String::from_utf8_lossy(&line).replace('\0', " "))
    };
    entries.filter(is_below).map(shown).collect()
}

/// Kills the workers that run in processes of their own, and no watchdog.
fn kill_workers(home: &Path) {
    for entry in std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()) {
        let is_below = std::fs::read_link(entry.join("cwd")).is_ok_and(|cwd| cwd.starts_with(home));
        let line = std::fs::read(entry.join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        let is_tine = words.next() == Some(env!("CARGO_BIN_EXE_tine").as_bytes());
        let is_watchdog = words.next() == Some(b"__wall-stage");
        let number = entry.file_name().and_then(|name| name.to_str()?.parse().ok());
        if let (true, true, false, Some(number)) = (is_below, is_tine, is_watchdog, number) {
            let process = rustix::process::Pid::from_raw(number).unwrap();
            // It may have ended meanwhile.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
        }
    }
}

fn round(kind: Kind, chance: &mut Chance, tally: &mut Tally) -> Result<(), String> {
    let home = home(kind);
    let before = git(&home.work(), &["status", "--porcelain"]).lines().count();
    let after = Duration::from_micros(chance.below(kind.within()));
    let mut command = command(&home, &kind.arguments());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let killed = child.id();
    let is_killed = outlives(&mut child, after);
    tally.count(format!("{kind:?} {}", if is_killed { "killed" } else { "ended before" }), 1);
    let commands = left_below(&home.path()).len();
    tally.count("processes that were there when their tine died, or just after", commands as u64);
    tine_testkit::until("the end of all that worked for a dead tine", || {
        if kind == Kind::Task {
            kill_workers(&home.path());
        }
        left_below(&home.path()).is_empty()
    });
    let ran = home.ran(&["ps", "--all", "--json"]);
    let agents: serde_json::Value =
        serde_json::from_str(&ran.stdout).map_err(|_| ran.stderr.clone())?;
    let violated = |what: String| -> Result<(), String> {
        Err(format!("{kind:?} killed after {after:?}: {what}"))
    };
    if !agents.as_array().unwrap().iter().any(|agent| agent["name"] == "base") {
        return violated("the agent is lost".to_owned());
    }
    let whole = home.ran(&["show", "base", "--full"]).stdout;
    if !whole.contains("message 0") || !whole.contains("message 1") {
        return violated(format!("rows are lost: {whole}"));
    }
    // The kernel lets go of a lock a moment after it shows the process no more: the next command sweeps what this one could not.
    tine_testkit::until("the end of the lock files of the dead", || {
        home.ran(&["ps"]);
        std::fs::read_dir(home.path().join("run")).into_iter().flatten().next().is_none()
    });
    let listed = home.json(&["worktree", "list", "--json"]);
    for worktree in listed["worktrees"].as_array().unwrap() {
        if worktree["agent"].is_null()
            || !["ready", "removed"].contains(&worktree["state"].as_str().unwrap())
        {
            return violated(format!("a worktree of nobody: {worktree}"));
        }
    }
    let ready =
        listed["worktrees"].as_array().unwrap().iter().filter(|one| one["state"] == "ready");
    let of_git = git(&home.work(), &["worktree", "list", "--porcelain"]);
    let of_git = of_git.lines().filter(|line| line.starts_with("worktree ")).count();
    if of_git != 1 + ready.count() {
        return violated(format!("git knows {of_git} worktrees"));
    }
    let name = format!("tine-{killed}-");
    let temporary = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    let left: Vec<_> = temporary.map(|entry| entry.file_name()).collect();
    let left: Vec<_> =
        left.iter().filter(|file| file.to_string_lossy().starts_with(&name)).collect();
    if !left.is_empty() {
        return violated(format!("temporary files are left: {left:?}"));
    }
    if matches!(kind, Kind::Apply | Kind::Merge) {
        let files = std::fs::read_dir(home.work()).unwrap().flatten();
        let new =
            files.filter(|file| file.file_name().to_string_lossy().starts_with("new-")).count();
        let changed = git(&home.work(), &["status", "--porcelain"]).lines().count();
        let is_whole = match (kind, new) {
            (_, 0) => changed == before,
            (Kind::Merge, FILES) => changed == before,
            (_, FILES) => changed == before + FILES,
            _ => false,
        };
        if !is_whole {
            return violated(format!(
                "{new} of {FILES} files are there, and git sees {changed} changes"
            ));
        }
        tally.count(format!("{kind:?} {}", if new == 0 { "taken back" } else { "done" }), 1);
    }
    Ok(())
}

#[test]
fn killed_at_a_random_moment_nothing_is_left_of_nobody() {
    let (usual, all) = ROUNDS;
    let usual = tine_testkit::cases("rounds of killed commands", usual, all);
    let (times, seed) = (asked("TINE_CRASH_TIMES", usual.into()), asked("TINE_CRASH_SEED", 1));
    let mut tally = Tally::default();
    for number in 0..times {
        let kind = KINDS[number as usize % KINDS.len()];
        if let Err(violation) = round(kind, &mut Chance::of_round(seed, number), &mut tally) {
            panic!("round {number} of seed {seed}: {violation}");
        }
        if (number + 1) % super::PROGRESS == 0 {
            eprintln!("{} rounds", number + 1);
        }
    }
    eprintln!("{times} rounds of seed {seed}\n{}", tally.shown());
}
