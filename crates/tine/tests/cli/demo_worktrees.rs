//! `tine demo --worktrees` on real repositories.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::worktree::git;
use crate::support::{Home, Ran, without_figures};

/// A home whose working directory is a repository with three months of history by two people, and uncommitted work of its own.
fn home() -> Home {
    let home = empty();
    let work = home.work();
    for (at, (author, date)) in [
        ("Ann <ann@example.org>", "2026-01-05T12:00:00Z"),
        ("Ben <ben@example.org>", "2026-02-05T12:00:00Z"),
        ("Ann <ann@example.org>", "2026-03-05T12:00:00Z"),
        ("Ann <ann@example.org>", "2026-03-06T12:00:00Z"),
    ]
    .into_iter()
    .enumerate()
    {
        home.write("work/README.md", &format!("# A project\n\nIt has {at} files.\n"));
        git(&work, &["add", "-A"]);
        let subject = format!("Make it {at}");
        git(&work, &["commit", "-q", "-m", &subject, "--author", author, "--date", date]);
    }
    home.write("work/README.md", "# My own words\n");
    home.write("work/new.txt", "mine\n");
    home
}

fn empty() -> Home {
    let home = Home::new();
    git(&home.work(), &["init", "-q", "-b", "main"]);
    home
}

/// Plays with a temporary directory of the home's own.
fn ran(home: &Home, directory: &Path, more: &[&str]) -> Ran {
    std::fs::create_dir_all(temporary(home)).unwrap();
    let mut command = home.tine(&[&["demo", "--worktrees"], more].concat());
    // Which repository is meant says the directory alone.
    command.current_dir(directory).env("TMPDIR", temporary(home));
    command.env("GIT_DIR", home.work().join(".git")).env("GIT_WORK_TREE", home.work());
    Ran::of(&mut command)
}

fn temporary(home: &Home) -> PathBuf {
    home.path().join("tmp")
}

fn played(home: &Home, directory: &Path) -> Value {
    let ran = ran(home, directory, &["--json"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(temporary(home)).unwrap().count(), 0, "something is left");
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Every file, git's own too: its mode, its time, its bytes.
fn bits(directory: &Path) -> String {
    let (mut text, mut todo) = (String::new(), vec![directory.to_owned()]);
    while let Some(next) = todo.pop() {
        let about = std::fs::symlink_metadata(&next).unwrap();
        let times = (about.mtime(), about.mtime_nsec(), about.mode());
        writeln!(text, "{} {times:?}", next.display()).unwrap();
        if about.is_dir() {
            let mut inside: Vec<PathBuf> =
                std::fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()).collect();
            inside.sort_unstable();
            todo.extend(inside);
        } else {
            writeln!(text, "{:?}", std::fs::read(&next).unwrap()).unwrap();
        }
    }
    text
}

#[test]
fn the_best_of_four_works_comes_into_a_copy_and_the_repository_is_only_read() {
    let home = home();
    let before = bits(&home.work());
    let demo = played(&home, &home.work());
    assert!(bits(&home.work()) == before, "the repository has changed");
    let keys: Vec<&str> = demo.as_object().unwrap().keys().map(String::as_str).collect();
    insta::assert_snapshot!(keys.join(" "), @"agent model directory checkout tasks cache diffs candidates best taken after");
    let judged: Vec<String> = demo["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let (added, passed) = (&one["added"], &one["check"]["passed"]);
            format!("{} +{added} {passed} {}", one["said"].as_str().unwrap(), one["status"])
        })
        .collect();
    insta::assert_snapshot!(judged.join("\n"), @r#"
    every commit, linked +7 true "completed"
    by month, linked +6 true "completed"
    by person, linked +5 true "completed"
    by year +3 false "completed"
    "#);
    let failed = &demo["candidates"][3]["check"];
    assert!(failed["output"].as_str().unwrap().starts_with("README.md does not link TIMELINE.md"));
    // The best is by person: two lines instead of three or four.
    assert_eq!(demo["best"], demo["candidates"][2]["agent"]);
    assert_eq!(demo["taken"]["agent"], demo["best"]);
    assert_eq!(demo["taken"]["outcome"], "written");
    assert_eq!(demo["after"]["index_kept"], true);
    let paragraph: Vec<&str> = demo["after"]["paragraph"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    insta::assert_snapshot!(paragraph.join("\n"), @"
    Where all this comes from:
    [TIMELINE.md](TIMELINE.md), by person
    (begun, and not committed)
    (written by hand, after the fork)
    ");
    let patch = demo["diffs"][2]["patch"].as_str().unwrap();
    let added: Vec<&str> = patch.lines().filter(|line| line.starts_with("+- ")).collect();
    // Which commits these are says the test below; here it is who and when.
    let people: Vec<&str> = added.iter().map(|line| &line[18..]).collect();
    insta::assert_snapshot!(people.join("\n"), @"
    Ann: 3 commits, 2026-01-05 to 2026-03-06
    Ben: 1 commit, 2026-02-05 to 2026-02-05
    ");
    let read = |task: usize| demo["tasks"][task]["first_usage"]["read"].as_u64().unwrap();
    assert!(read(1) > 512, "the workers share a prefix: {}", demo["cache"]);
    assert_eq!(demo["checkout"], Value::Null);
}

#[test]
fn what_is_kept_can_be_looked_at_and_undone() {
    let home = home();
    let ran = ran(&home, &home.work(), &["--keep"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let kept = ran.stdout.lines().find_map(|line| line.strip_prefix("The repository is kept in "));
    let kept = Path::new(kept.unwrap());
    let undo = ran.stdout.lines().find(|line| line.contains("tine apply --undo")).unwrap();
    let taken = undo.split_whitespace().nth(3).unwrap();
    let text = ran.stdout.replace(kept.to_str().unwrap(), "[KEPT]");
    // Commits have other names in every home.
    let text =
        text.split('`').enumerate().map(|(at, part)| if at % 2 == 1 { "[COMMIT]" } else { part });
    check!(without_figures(&text.collect::<String>()), @"
    What each worker changed, from the same start
    every commit [AGENT8]
    README.md | # +
    TIMELINE.md | # ++++++
    +[TIMELINE.md](TIMELINE.md), every commit
    +# Timeline, every commit
    +- [COMMIT] 2026-03-06 Make it # (Ann)
    +- [COMMIT] 2026-03-05 Make it # (Ann)
    … # more lines
    by month [AGENT8]
    README.md | # +
    TIMELINE.md | # +++++
    +[TIMELINE.md](TIMELINE.md), by month
    +# Timeline, by month
    +- [COMMIT] 2026-03: # commits
    +- [COMMIT] 2026-02: # commit
    … # more line
    by person [AGENT8]
    README.md | # +
    TIMELINE.md | # ++++
    +[TIMELINE.md](TIMELINE.md), by person
    +# Timeline, by person
    +- [COMMIT] Ann: # commits, 2026-01-05 to 2026-03-06
    +- [COMMIT] Ben: # commit, 2026-02-05 to 2026-02-05
    by year [AGENT8]
    TIMELINE.md | # +++
    +# Timeline, by year
    +- [COMMIT] # # commits

    Who passes the check, and changed least
    AGENT STATUS CHECK FILES LINES COST TIME REPORT
    # [AGENT8] completed passed # +7 -0 # # s every commit, linked
    # [AGENT8] completed passed # +6 -0 # # s by month, linked
    *3 [AGENT8] completed passed # +5 -0 # # s by person, linked
    # [AGENT8] completed failed # +3 -0 # # s by year
    # README.md does not link TIMELINE.md
    [exit code 1]
    * Of those that pass, the fewest lines; of equals, the cheapest.

    Applied where somebody had gone on
    # files of [AGENT8]
    modified README.md +1 -0
    added TIMELINE.md +4 -0
    README.md now ends:
    Where all this comes from: staged before the fork
    [TIMELINE.md](TIMELINE.md), by person from the worker
    (begun, and not committed) staged before the fork
    (written by hand, after the fork) by hand after it, not staged
    What was staged is staged as it was, and nothing else.

    What the cache did
    Each worker inherited # tokens. Every one of them was written once: # by the root agent,
    the last # by the worker that went first. The other # read them all.
    # less than as new conversations, # less than without a cache.

    What next
    All this was sim/worktrees: the simulator, not a model.
    The repository is kept in [KEPT]
    git -C [KEPT] diff
    tine tree [AGENT8] these agents are yours now
    tine diff [AGENT8] what another one changed
    tine apply --undo [AGENT8] takes the applied work back
    ");
    let status = || git(kept, &["status", "--porcelain"]);
    assert_eq!(status(), "MM README.md\n?? TIMELINE.md\n");
    assert_eq!(git(kept, &["log", "--format=%s"]), git(&home.work(), &["log", "--format=%s"]));
    home.done(&["apply", "--undo", taken]);
    assert_eq!(status(), "MM README.md\n");
    assert!(home.done(&["worktree", "list"]).lines().count() > 4);
}

#[test]
fn odd_repositories_are_as_good() {
    let home = home();
    // One commit, none before it that is there, no file that introduces it, and nobody may write.
    let short = home.path().join("short");
    git(&home.work(), &["rm", "-qf", "README.md"]);
    git(&home.work(), &["commit", "-qm", "No introduction"]);
    let url = format!("file://{}", home.work().display());
    git(&home.path(), &["clone", "-q", "--depth=1", &url, short.to_str().unwrap()]);
    for entry in [short.clone(), short.join(".git")] {
        let mut mode = std::fs::metadata(&entry).unwrap().permissions();
        mode.set_readonly(true);
        std::fs::set_permissions(entry, mode).unwrap();
    }
    let demo = played(&home, &short);
    assert_eq!(demo["after"]["file"], "README.md");
    assert_eq!(demo["taken"]["outcome"], "written");
    assert_eq!(demo["diffs"][0]["files"][1]["added"], 3);
    // A linked checkout on no branch, seen from below its top, whose file by that name is empty.
    let linked = home.path().join("linked");
    home.write("work/README.md", "");
    home.write("work/src/main.c", "int main;\n");
    // And one that the workers' would stand in the way of.
    home.write("work/TIMELINE.md", "mine\n");
    git(&home.work(), &["add", "-A"]);
    git(&home.work(), &["commit", "-qm", "An empty introduction"]);
    git(&home.work(), &["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]);
    let demo = played(&home, &linked.join("src"));
    assert_eq!(demo["after"]["file"], "READ-ME-FIRST.md");
    assert_eq!(demo["taken"]["outcome"], "written");
}

#[test]
fn without_a_commit_to_begin_with_it_says_so() {
    let home = empty();
    let said = |directory: &Path, more: &[&str]| home.shown(&ran(&home, directory, more));
    check!(said(&home.work(), &[]), @"
    code: 42
    --- stdout
    --- stderr
    error: this repository has no commit yet
    hint: commit something first; `tine demo` plays in any directory
    ");
    let nowhere = home.path().join("nowhere");
    std::fs::create_dir(&nowhere).unwrap();
    check!(said(&nowhere, &["--keep"]), @"
    code: 42
    --- stdout
    --- stderr
    error: `[HOME]/nowhere` is in no git repository
    hint: `git init` and a first commit make one; without worktrees agents share the directory
    hint: `tine demo` plays in any directory
    ");
    let kept = std::fs::read_dir(home.path().join("demo")).unwrap().count();
    assert_eq!(kept + std::fs::read_dir(temporary(&home)).unwrap().count(), 0);
}
