//! Changes that fail, or whose process dies, at every step: afterwards the checkout is as it was before, or as it was to be.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tine_testkit::{scratch, share};

use super::{Apply, MendedAs, OnConflict};
use crate::commits::{FastForward, Merge, Uncommitted};
use crate::tests::fault::{self, Plan, plan, without_exchange};
use crate::{Name, NewWorktree, Repository, Snapshot, Start, WorktreeError};

/// Tells the test that is run again in a process of its own what to do and where to die: `what number directory`.
const DEATH: &str = "TINE_WORKTREE_TEST_DEATH";

/// Who commits; and that git need not wait for the disk.
const SETTINGS: &str = "[user]\n\tname = a\n\temail = a@b\n[core]\n\tfsync = none\n";

const NOW_MS: i64 = 1_767_225_600_000;

/// Before a change is written every so manieth step is tried: all that they do is look.
const LOOKING_STEPS: usize = 23;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Apply,
    /// On a file system that cannot exchange two files.
    ApplyByParts,
    Merge,
    Mend,
}

const ALL: [(&str, What); 4] = [
    ("apply", What::Apply),
    ("apply-by-parts", What::ApplyByParts),
    ("merge", What::Merge),
    ("mend", What::Mend),
];

#[expect(clippy::disallowed_methods, reason = "git, and this test once more")]
fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    Command::new(name)
}

fn git(top: &Path, arguments: &[&str]) -> String {
    let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let output = program("git").args(who).args(arguments).current_dir(top).output().unwrap();
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn write(top: &Path, name: &str, content: &str) {
    let path = top.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A repository with work that is to come into it, and how it looks before.
struct Scene {
    directory: TempDir,
    name: Name,
    start: Snapshot,
    end: Snapshot,
    before: Looks,
}

/// Content, mode, and when it was written.
type Looked = (String, u32, (i64, i64));

/// Files, index, HEAD and locks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Looks {
    /// With the times that files have.
    files: BTreeMap<PathBuf, Looked>,
    index: Vec<u8>,
    head: String,
    lock: bool,
}

impl Looks {
    fn at(top: &Path) -> Self {
        let mut files = BTreeMap::new();
        collect(top, top, &mut files);
        let index = fs::read(top.join(".git/index")).unwrap();
        let head = git(top, &["rev-parse", "HEAD"]);
        Self { files, index, head, lock: top.join(".git/index.lock").exists() }
    }

    /// The same as far as it does not depend on when files were written.
    fn content(&self) -> (Vec<(&PathBuf, &String, u32)>, &String, bool) {
        let files = self.files.iter().map(|(path, (content, mode, _))| (path, content, *mode));
        (files.collect(), &self.head, self.lock)
    }
}

fn collect(top: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, Looked>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        if path.ends_with(".git") {
            continue;
        }
        if about.is_dir() {
            collect(top, &path, found);
            continue;
        }
        let content = if about.is_symlink() {
            fs::read_link(&path).unwrap().display().to_string()
        } else {
            fs::read_to_string(&path).unwrap()
        };
        let looked = (content, about.mode(), (about.mtime(), about.mtime_nsec()));
        found.insert(path.strip_prefix(top).unwrap().to_owned(), looked);
    }
}

impl Scene {
    fn new(what: What) -> Self {
        let directory = scratch();
        let top = directory.path().join("r");
        fs::create_dir(&top).unwrap();
        git(&top, &["init", "--quiet", "--initial-branch=main", "--template="]);
        let config = top.join(".git/config");
        let settings = fs::read_to_string(&config).unwrap() + SETTINGS;
        fs::write(config, settings).unwrap();
        for name in ["changed", "gone/deep", "place/of/one", "place/two", "a-file", "run"] {
            write(&top, name, "1\n2\n3\n4\n5\n");
        }
        git(&top, &["add", "."]);
        git(&top, &["commit", "--quiet", "-m", "first"]);
        write(&top, "mine", "not committed\n");
        let repository = Repository::at(&top).unwrap();
        let name = Name::new("child").unwrap();
        let path = directory.path().join("w");
        let new = NewWorktree { name: name.clone(), path, start: Start::State, now_ms: NOW_MS };
        let child = repository.fork(&new).unwrap();
        let work = child.repository().top().to_owned();
        write(&work, "changed", "1\n2\n3\n4\nchild\n");
        write(&work, "new/deep/file", "new\n");
        fs::remove_dir_all(work.join("gone")).unwrap();
        fs::remove_dir_all(work.join("place")).unwrap();
        write(&work, "place", "a file now\n");
        fs::remove_file(work.join("a-file")).unwrap();
        write(&work, "a-file/inside", "inside\n");
        fs::set_permissions(work.join("run"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("changed", work.join("link")).unwrap();
        if what == What::Merge {
            git(&work, &["add", "--all"]);
            git(&work, &["commit", "--quiet", "-m", "work"]);
        }
        write(&top, "changed", "parent\n2\n3\n4\n5\n");
        let (start, end) = (child.start().clone(), child.state(NOW_MS).unwrap());
        child.remove(NOW_MS).unwrap();
        let before = Looks::at(&top);
        Self { directory, name, start, end, before }
    }

    /// A copy of the repository, with the times of its files.
    fn copy(&self) -> (TempDir, PathBuf) {
        copy_of(&self.directory.path().join("r"))
    }
}

fn copy_of(repository: &Path) -> (TempDir, PathBuf) {
    let copy = scratch();
    let top = copy.path().join("r");
    let status = program("cp").arg("-a").args([repository, &top]).status();
    assert!(status.unwrap().success());
    (copy, top)
}

fn perform(what: What, top: &Path, dry_run: bool) -> Result<(), WorktreeError> {
    let repository = Repository::at(top)?;
    let name = &Name::new("child")?;
    let (start, end) = &repository.kept(name)?;
    let end = end.as_ref().unwrap();
    let (on_conflict, paths, now_ms) = (OnConflict::Refuse, &[], NOW_MS);
    match what {
        What::Apply | What::ApplyByParts => repository
            .apply(&Apply { name, start, end, paths, on_conflict, dry_run, now_ms })
            .map(drop),
        What::Merge => {
            let (label, fast_forward) = ("child", FastForward::Never);
            let uncommitted = Uncommitted::Bring;
            let merge =
                Merge { name, label, start, end, fast_forward, uncommitted, dry_run, now_ms };
            repository.merge(&merge).map(drop)
        }
        What::Mend => repository.mend().map(drop),
    }
}

/// The steps of this thread since there was a plan.
fn passed() -> u32 {
    u32::try_from(fault::steps()).unwrap()
}

/// The place of a step that is counted from one.
fn at(number: u32) -> usize {
    usize::try_from(number - 1).unwrap()
}

/// What this process is to do, if it is the test that is run again.
fn die_if_told() -> bool {
    let Ok(told) = std::env::var(DEATH) else { return false };
    let mut words = told.splitn(3, ' ');
    let what = words.next().unwrap();
    let (_, what) = ALL.iter().find(|(name, _)| *name == what).unwrap();
    let number = words.next().unwrap().parse().unwrap();
    if *what == What::ApplyByParts {
        without_exchange();
    }
    let top = Path::new(words.next().unwrap());
    // The version of git is asked for once in a process; where the steps were counted, that was before.
    Repository::at(top).unwrap();
    plan(Plan::Die(at(number)));
    perform(*what, top, false).unwrap();
    true
}

/// Runs `test` in a process of its own that dies at this step. Whether it died; it does not where there are fewer steps.
fn dies(test: &str, what: What, number: u32, top: &Path) -> bool {
    let (name, _) = ALL.iter().find(|(_, other)| *other == what).unwrap();
    let output = program(std::env::current_exe().unwrap())
        .args([&format!("apply::tests::{test}"), "--exact", "--nocapture"])
        .env(DEATH, format!("{name} {number} {}", top.display()))
        .output()
        .unwrap();
    match output.status.signal() {
        Some(9) => true,
        signal => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{signal:?} at {number}: {said}");
            false
        }
    }
}

/// How many steps there are, before a change is written and in all; and how it looks afterwards.
fn measure(scene: &Scene, what: What) -> (u32, u32, Looks) {
    let (_copy, top) = scene.copy();
    if what == What::ApplyByParts {
        without_exchange();
    }
    plan(Plan::Count);
    perform(what, &top, true).unwrap();
    let looking = passed();
    assert_eq!(Looks::at(&top).content(), scene.before.content());
    plan(Plan::Count);
    perform(what, &top, false).unwrap();
    (looking, passed(), Looks::at(&top))
}

/// The steps that are tried. Tests of the same writing take turns.
fn steps(turn: usize, looking: u32, all: u32) -> Vec<u32> {
    share("steps", turn, (1..=looking).step_by(LOOKING_STEPS).chain(looking + 1..=all))
}

/// Mends, and checks that nothing is between before and after. Whether it is after.
fn is_whole(scene: &Scene, top: &Path, after: &Looks, number: u32) -> bool {
    let repository = Repository::at(top).unwrap();
    let mended = repository.mend().unwrap();
    assert_eq!(repository.mend().unwrap(), None);
    let looks = Looks::at(top);
    let kept: Vec<_> = mended.iter().flat_map(|mended| &mended.kept).collect();
    assert!(kept.is_empty(), "step {number}: {kept:?}");
    let is_after = looks.content() == after.content();
    match is_after {
        true if looks.head == scene.before.head => {
            assert_eq!(looks.index, scene.before.index, "step {number}");
        }
        true => assert_eq!(git(top, &["diff", "--cached"]), "", "step {number}"),
        // The very same files are back.
        false => assert_eq!(looks, scene.before, "step {number}"),
    }
    let (start, end) = repository.kept(&scene.name).unwrap();
    assert_eq!((start, end), (scene.start.clone(), Some(scene.end.clone())));
    let mut left: Vec<_> = fs::read_dir(top.join(".git/tine"))
        .map(|entries| entries.map(|entry| entry.unwrap().file_name()).collect())
        .unwrap_or_default();
    left.sort();
    assert_eq!(left, ["lock"], "step {number}");
    is_after
}

fn deaths(test: &str, turn: usize, what: What) {
    let scene = Scene::new(what);
    let (looking, all, after) = measure(&scene, what);
    let mut whole = [0, 0];
    for number in steps(turn, looking, all) {
        let (_copy, top) = scene.copy();
        assert!(dies(test, what, number, &top), "step {number} of {all}");
        whole[usize::from(is_whole(&scene, &top, &after, number))] += 1;
    }
    assert!(whole[0] > 0 && whole[1] > 0, "{whole:?}");
}

#[test]
fn an_apply_that_is_killed_at_any_step_is_whole_afterwards() {
    if !die_if_told() {
        deaths("an_apply_that_is_killed_at_any_step_is_whole_afterwards", 0, What::Apply);
    }
}

#[test]
fn so_it_is_where_files_cannot_be_exchanged() {
    if !die_if_told() {
        deaths("so_it_is_where_files_cannot_be_exchanged", 1, What::ApplyByParts);
    }
}

#[test]
fn a_merge_that_is_killed_at_any_step_is_whole_afterwards() {
    if !die_if_told() {
        deaths("a_merge_that_is_killed_at_any_step_is_whole_afterwards", 2, What::Merge);
    }
}

#[test]
fn a_mend_that_is_killed_is_mended_by_the_next() {
    const TEST: &str = "a_mend_that_is_killed_is_mended_by_the_next";
    if die_if_told() {
        return;
    }
    let scene = Scene::new(What::Merge);
    let (looking, all, after) = measure(&scene, What::Merge);
    // In the middle of the writing, a step later, and when the index is all that is left.
    let middle = (looking + all) / 2;
    for (turn, first) in [middle, middle + 1, all - 3].into_iter().enumerate() {
        let (_dead, dead) = scene.copy();
        assert!(dies(TEST, What::Merge, first, &dead));
        let (_copy, top) = copy_of(&dead);
        plan(Plan::Count);
        perform(What::Mend, &top, false).unwrap();
        let mending = passed();
        for number in share("steps of a mend", turn, 1..=mending + 1) {
            let (_copy, top) = copy_of(&dead);
            let died = dies(TEST, What::Mend, number, &top);
            is_whole(&scene, &top, &after, number);
            assert_eq!(died, number <= mending, "step {number} of {mending}");
        }
    }
}

#[test]
fn a_failure_at_any_step_takes_all_back() {
    // All that an apply does and more.
    let what = What::Merge;
    let scene = Scene::new(what);
    let (looking, all, after) = measure(&scene, what);
    for number in steps(0, looking, all) {
        let (_copy, top) = scene.copy();
        plan(Plan::Fail(at(number)));
        let result = perform(what, &top, false);
        plan(Plan::Count);
        let is_after = is_whole(&scene, &top, &after, number);
        assert!(is_after || result.is_err(), "step {number}");
    }
}

/// The first step after which `is_there` holds when its process has died: it holds after all that follow.
fn first_death(
    test: &str,
    what: What,
    scene: &Scene,
    is_there: impl Fn(&Path) -> bool,
) -> (TempDir, PathBuf) {
    let (looking, all, _) = measure(scene, what);
    let (mut before, mut after, mut found) = (looking, all + 1, None);
    while after - before > 1 {
        let number = (before + after) / 2;
        let (copy, top) = scene.copy();
        assert!(dies(test, what, number, &top));
        if is_there(&top) { (after, found) = (number, Some((copy, top))) } else { before = number }
    }
    let (copy, top) = found.expect("it was at no step so");
    assert!(top.join(".git/tine/change").exists());
    (copy, top)
}

#[test]
fn where_somebody_moved_head_after_a_crash_nothing_is_touched() {
    const TEST: &str = "where_somebody_moved_head_after_a_crash_nothing_is_touched";
    if die_if_told() {
        return;
    }
    let scene = Scene::new(What::Merge);
    let is_changed =
        |top: &Path| fs::read_to_string(top.join("changed")).unwrap().ends_with("child\n");
    let (_copy, top) = first_death(TEST, What::Merge, &scene, is_changed);
    let tree = git(&top, &["rev-parse", "HEAD^{tree}"]);
    let other = git(&top, &["commit-tree", tree.trim(), "-p", "HEAD", "-m", "another"]);
    git(&top, &["update-ref", "HEAD", other.trim()]);
    let looked = Looks::at(&top);
    assert!(looked.lock);
    let mended = Repository::at(&top).unwrap().mend().unwrap().unwrap();
    assert_eq!(mended.outcome, MendedAs::LetBe);
    let mut kept: Vec<_> = mended.kept.iter().map(|kept| kept.path.display().to_string()).collect();
    kept.sort();
    // Those that went, and the one that was replaced first.
    assert_eq!(kept, ["a-file", "changed", "gone/deep", "place/of/one", "place/two"]);
    assert_eq!(Looks::at(&top), Looks { lock: false, ..looked });
}

#[test]
fn a_lock_that_somebody_removed_after_a_crash_is_taken_again() {
    const TEST: &str = "a_lock_that_somebody_removed_after_a_crash_is_taken_again";
    if die_if_told() {
        return;
    }
    let scene = Scene::new(What::Merge);
    let is_moved = |top: &Path| git(top, &["rev-parse", "HEAD"]) != scene.before.head;
    let (_copy, top) = first_death(TEST, What::Merge, &scene, is_moved);
    fs::remove_file(top.join(".git/index.lock")).unwrap();
    let mended = Repository::at(&top).unwrap().mend().unwrap().unwrap();
    assert_eq!(mended.outcome, MendedAs::Finished);
    assert_eq!(git(&top, &["diff", "--cached"]), "");
    assert!(!top.join(".git/index.lock").exists());
}

#[test]
fn what_somebody_changed_after_a_crash_is_left_and_the_old_file_kept() {
    const TEST: &str = "what_somebody_changed_after_a_crash_is_left_and_the_old_file_kept";
    if die_if_told() {
        return;
    }
    let scene = Scene::new(What::Apply);
    let is_changed =
        |top: &Path| fs::read_to_string(top.join("changed")).unwrap() == "parent\n2\n3\n4\nchild\n";
    let (_copy, top) = first_death(TEST, What::Apply, &scene, is_changed);
    write(&top, "changed", "after the crash\n");
    let mended = Repository::at(&top).unwrap().mend().unwrap().unwrap();
    assert_eq!(mended.outcome, MendedAs::TakenBack);
    assert_eq!(mended.kept.len(), 1);
    assert_eq!(mended.kept[0].path, Path::new("changed"));
    let old = mended.kept[0].before.as_ref().unwrap();
    assert_eq!(fs::read_to_string(old).unwrap(), "parent\n2\n3\n4\n5\n");
    assert_eq!(fs::read_to_string(top.join("changed")).unwrap(), "after the crash\n");
    write(&top, "changed", "parent\n2\n3\n4\n5\n");
    assert_eq!(Looks::at(&top).content(), scene.before.content());
}
