//! The cost of a fork of a working state, beside git's own worktree and a plain copy, and that of making one again that was removed,
//! beside the fork: a repository of 50,000 files, one of 26,795 and one of 20. Run with `cargo xtask bench worktree`. Medians; of the large one a single run.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up has no figures")]
#![expect(clippy::disallowed_methods, reason = "other programs are what forks are compared with")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use tine_worktree::{Name, NewWorktree, Repository, Start};

/// Files of the large repository, of that in which a recovery once took 10 s, and of the small one.
const FILES: [usize; 3] = [50_000, 26_795, 20];

/// Most that a recovery may cost, in forks.
const RECOVERY_MAX: f64 = 2.0;

/// Fewest turns of a fork and a recovery.
const RECOVERIES: usize = 5;

/// Files of one directory.
const FILES_A_FOLDER: usize = 50;

/// Bytes of a file, a usual size of source code.
const FILE_BYTES: usize = 4096;

/// One file of so many is changed.
const CHANGED: usize = 100;

/// One file for so many is new.
const NEW: usize = 500;

/// When the files were written that git knows: 2023, after the Unix epoch.
const LONG_AGO: Duration = Duration::from_secs(1_700_000_000);

/// 2026-01-01 in milliseconds since the Unix epoch.
const NOW_MS: i64 = 1_767_225_600_000;

fn main() {
    for files in FILES {
        let runs = if files > 1000 { 1 } else { 21 };
        figures(files, runs);
    }
}

fn figures(files: usize, runs: usize) {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path().canonicalize().unwrap();
    let top = home.join("repository");
    make(&top, files);
    let repository = Repository::at(&top).unwrap();
    let (changed, new) = (files.div_ceil(CHANGED), files.div_ceil(NEW));
    println!("{files} files of {FILE_BYTES} bytes, {changed} of them changed, {new} new ones:");
    let place = |run: usize| home.join("worktrees").join(format!("w{run}"));
    let shown = |run: usize| place(run).display().to_string();
    let name = |run: usize| Name::new(&format!("w{run}")).unwrap();
    let fork = |run: usize, start: Start| {
        let new = NewWorktree { name: name(run), path: place(run), start, now_ms: NOW_MS };
        // As a new process would.
        Repository::at(&top).unwrap().fork(&new).unwrap();
    };
    let undo_fork = |run: usize| {
        repository.worktree(&name(run), &place(run)).unwrap().remove(NOW_MS).unwrap();
        repository.forget(&name(run)).unwrap();
    };
    let add = ["worktree", "add", "--quiet", "--detach"];
    let undo_add = ["worktree", "remove", "--force"];
    let copy = |run: usize, reflink: &str| {
        fs::create_dir_all(place(run)).unwrap();
        let script = "ls -A | grep -vxF .git | xargs -d '\\n' cp -a \"$1\" -t \"$0\"";
        run_in(&top, "sh", &["-c", script, &shown(run), reflink]);
    };
    let undo_copy = |run: usize| fs::remove_dir_all(place(run)).unwrap();
    let by_git = median(
        runs,
        |run| run_in(&top, "git", &[&add[..], &[&shown(run)]].concat()),
        |run| run_in(&top, "git", &[&undo_add[..], &[&shown(run)]].concat()),
    );
    let rows = [
        ("fork of the state", median(runs, |run| fork(run, Start::State), undo_fork)),
        ("fork of the last commit", median(runs, |run| fork(run, Start::Clean), undo_fork)),
        ("snapshot alone", median(runs, |_| drop(repository.snapshot(NOW_MS).unwrap()), |_| ())),
        ("git worktree add", by_git),
        ("cp -a", median(runs, |run| copy(run, "--reflink=never"), undo_copy)),
        ("cp -a --reflink=auto", median(runs, |run| copy(run, "--reflink=auto"), undo_copy)),
    ];
    for (what, time) in rows {
        let ratio = time.as_secs_f64() / by_git.as_secs_f64();
        println!("  {what:<24} {:>9.1} ms  {ratio:>5.2} of git's", time.as_secs_f64() * 1e3);
    }
    recovery(&repository, &home, runs.max(RECOVERIES));
}

/// Forks and recoveries by turns, so that what else the machine does counts for both.
fn recovery(repository: &Repository, home: &Path, runs: usize) {
    let (name, place) = (Name::new("again").unwrap(), home.join("worktrees").join("again"));
    let (mut forks, mut recoveries) = (Vec::new(), Vec::new());
    let timed = |times: &mut Vec<Duration>, act: &dyn Fn()| {
        let start = Instant::now();
        act();
        times.push(start.elapsed());
    };
    let now_ms = || {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_millis()).unwrap()
    };
    for _ in 0..runs {
        timed(&mut forks, &|| {
            let (name, path) = (name.clone(), place.clone());
            let new = NewWorktree { name, path, start: Start::State, now_ms: now_ms() };
            Repository::at(repository.top()).unwrap().fork(&new).unwrap();
        });
        fs::write(place.join("d0/work.txt"), "work").unwrap();
        repository.worktree(&name, &place).unwrap().remove(now_ms()).unwrap();
        timed(&mut recoveries, &|| {
            let checkout = Repository::at(repository.top()).unwrap();
            checkout.recover(&name, place.clone(), now_ms()).unwrap();
        });
        repository.worktree(&name, &place).unwrap().remove(now_ms()).unwrap();
        repository.forget(&name).unwrap();
    }
    let [fork, recovery] = [forks, recoveries].map(|mut times| {
        times.sort();
        times[times.len() / 2].as_secs_f64()
    });
    let ratio = recovery / fork;
    let verdict = if ratio <= RECOVERY_MAX { "within" } else { "OVER" };
    println!("  {:<24} {:>9.1} ms", "fork, beside a recovery", fork * 1e3);
    println!(
        "  {:<24} {:>9.1} ms  {ratio:>5.2} of a fork's, {verdict} {RECOVERY_MAX}",
        "recovery",
        recovery * 1e3
    );
}

/// A repository whose user works in it: git knows its files, some changed since, some are new.
fn make(top: &Path, files: usize) {
    let file = |at: usize| top.join(format!("d{}/f{at}.txt", at / FILES_A_FOLDER));
    let content = |at: usize, word: &str| {
        let line = format!("{word} {at} {}\n", at.wrapping_mul(2_654_435_761) % 1_000_000_007);
        line.repeat(FILE_BYTES / line.len())
    };
    for at in 0..files {
        if at % FILES_A_FOLDER == 0 {
            fs::create_dir_all(file(at).parent().unwrap()).unwrap();
        }
        fs::write(file(at), content(at, "line")).unwrap();
        let then = SystemTime::UNIX_EPOCH + LONG_AGO;
        fs::File::open(file(at)).unwrap().set_modified(then).unwrap();
    }
    run_in(top, "git", &["init", "--quiet"]);
    // What git does by itself later would be measured with what comes next.
    run_in(top, "git", &["config", "gc.auto", "0"]);
    run_in(top, "git", &["config", "maintenance.auto", "false"]);
    run_in(top, "git", &["add", "--all"]);
    let identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    run_in(top, "git", &[&identity[..], &["commit", "--quiet", "-m", "files"]].concat());
    run_in(top, "git", &["gc", "--quiet"]);
    // The index is not as young as the files, as it is not in a repository in which somebody works.
    std::thread::sleep(Duration::from_millis(1100));
    run_in(top, "git", &["update-index", "-q", "--refresh", "--force-write-index"]);
    for at in (0..files).step_by(CHANGED) {
        fs::write(file(at), content(at, "changed")).unwrap();
    }
    for at in 0..files.div_ceil(NEW) {
        fs::write(top.join(format!("d0/new{at}.txt")), content(at, "new")).unwrap();
    }
}

fn run_in(directory: &Path, program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).current_dir(directory).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn median(runs: usize, mut run: impl FnMut(usize), mut undo: impl FnMut(usize)) -> Duration {
    let mut times = Vec::new();
    for at in 0..runs {
        let start = Instant::now();
        run(at);
        times.push(start.elapsed());
        undo(at);
    }
    times.sort();
    times[runs / 2]
}
