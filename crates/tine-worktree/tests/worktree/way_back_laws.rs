//! Random work on both sides: what comes back is what git itself makes of it, or nothing changes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use proptest::prelude::*;
use tine_worktree::{
    Apply, FastForward, Merge, OnConflict, Outcome, Snapshot, Start, Uncommitted, Worktree,
};

use crate::laws::config;
use crate::support::{Home, NOW_MS, files, git, try_git, untouched, write};

/// Few, so that both sides meet in the same files.
const NAMES: [&str; 7] = ["a", "b", "d/x", "d/y", "e/f/g", "run", "c d"];

const LINES: usize = 12;

#[derive(Debug, Clone)]
enum Edit {
    Line(usize, usize, u8),
    Binary(usize, u8),
    Delete(usize),
    Rename(usize, usize),
    Program(usize),
    Link(usize, u8),
    Folder(usize, u8),
    New(u8, u8),
    Stage,
    Commit,
}

fn edit() -> impl Strategy<Value = Edit> {
    let name = || 0..NAMES.len();
    prop_oneof![
        6 => (name(), 0..LINES, 0..4u8).prop_map(|(name, line, tag)| Edit::Line(name, line, tag)),
        1 => (name(), 0..3u8).prop_map(|(name, tag)| Edit::Binary(name, tag)),
        1 => name().prop_map(Edit::Delete),
        1 => (name(), name()).prop_map(|(from, to)| Edit::Rename(from, to)),
        1 => name().prop_map(Edit::Program),
        1 => (name(), 0..2u8).prop_map(|(name, tag)| Edit::Link(name, tag)),
        1 => (name(), 0..2u8).prop_map(|(name, tag)| Edit::Folder(name, tag)),
        2 => (0..4u8, 0..3u8).prop_map(|(name, tag)| Edit::New(name, tag)),
        1 => Just(Edit::Stage),
        1 => Just(Edit::Commit),
    ]
}

/// What a parent begins with that a worker does not undo.
fn early_edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (0..NAMES.len(), 0..LINES / 2, 0..4u8)
            .prop_map(|(name, line, tag)| Edit::Line(name, line, tag)),
        1 => (0..2u8, 0..3u8).prop_map(|(name, tag)| Edit::New(name, tag)),
        1 => Just(Edit::Stage),
    ]
}

/// What a worker does beside it.
fn late_edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        4 => (0..NAMES.len(), LINES / 2..LINES, 0..4u8)
            .prop_map(|(name, line, tag)| Edit::Line(name, line, tag)),
        1 => (2..4u8, 0..3u8).prop_map(|(name, tag)| Edit::New(name, tag)),
        1 => (0..NAMES.len()).prop_map(Edit::Delete),
        1 => (0..NAMES.len()).prop_map(Edit::Program),
        1 => Just(Edit::Commit),
    ]
}

fn edits(most: usize) -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), 0..most)
}

fn lines() -> String {
    (0..LINES).map(|line| format!("line {line}\n")).collect()
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}

/// Makes room for a file: what stands where one of its folders is to be goes.
fn clear(top: &Path, name: &str) {
    for folder in Path::new(name).ancestors().skip(1) {
        if fs::symlink_metadata(top.join(folder)).is_ok_and(|about| !about.is_dir()) {
            remove(&top.join(folder));
        }
    }
    remove(&top.join(name));
}

fn perform(top: &Path, edit: &Edit) {
    let path = |name: usize| top.join(NAMES[name]);
    match *edit {
        Edit::Line(name, line, tag) => {
            let Ok(text) = fs::read_to_string(path(name)) else { return };
            if path(name).is_symlink() {
                return;
            }
            let changed = |(number, old): (usize, &str)| match number == line {
                true => format!("line {line} is {tag}\n"),
                false => format!("{old}\n"),
            };
            fs::write(path(name), text.lines().enumerate().map(changed).collect::<String>())
                .unwrap();
        }
        Edit::Binary(name, tag) => {
            clear(top, NAMES[name]);
            write(top, NAMES[name], [0, 255, tag, 0, 10]);
        }
        Edit::Delete(name) => {
            remove(&path(name));
        }
        Edit::Rename(from, to) if from != to && path(from).is_file() => {
            let moved = top.join("moved for a moment");
            fs::rename(path(from), &moved).unwrap();
            clear(top, NAMES[to]);
            fs::create_dir_all(path(to).parent().unwrap()).unwrap();
            fs::rename(moved, path(to)).unwrap();
        }
        Edit::Rename(..) => {}
        Edit::Program(name) => {
            if path(name).is_file() && !path(name).is_symlink() {
                let mode = fs::metadata(path(name)).unwrap().permissions().mode() ^ 0o111;
                fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
            }
        }
        Edit::Link(name, tag) => {
            clear(top, NAMES[name]);
            fs::create_dir_all(path(name).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(format!("somewhere/{tag}"), path(name)).unwrap();
        }
        Edit::Folder(name, tag) => {
            clear(top, NAMES[name]);
            write(top, &format!("{}/inside", NAMES[name]), format!("{tag}\n"));
        }
        Edit::New(name, tag) => write(top, &format!("new/{name}"), format!("{tag}\n")),
        Edit::Stage => drop(git(top, &["add", "--all"])),
        Edit::Commit => {
            commit(top);
        }
    }
}

fn commit(top: &Path) {
    git(
        top,
        &[
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@y",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "work",
        ],
    );
}

/// A checkout with uncommitted work, its worktree, and then work on both sides.
fn scene(before: &[Edit], parent: &[Edit], child: &[Edit]) -> (Home, Worktree) {
    let home = Home::empty();
    for name in NAMES {
        home.write(name, lines());
    }
    home.git(&["add", "."]);
    home.git(&["commit", "--quiet", "-m", "first"]);
    before.iter().for_each(|edit| perform(&home.top(), edit));
    let worktree = home.fork("child", Start::State).unwrap();
    parent.iter().for_each(|edit| perform(&home.top(), edit));
    child.iter().for_each(|edit| perform(worktree.repository().top(), edit));
    (home, worktree)
}

/// Modes and contents, without times.
fn contents(top: &Path) -> BTreeMap<String, String> {
    let without_time = |file: String| {
        let parts: Vec<&str> = file.splitn(3, ' ').collect();
        let is_program = u32::from_str_radix(parts[0], 8).unwrap() & 0o100_100;
        format!("{is_program:o} {}", parts[2])
    };
    files(top).into_iter().map(|(name, file)| (name, without_time(file))).collect()
}

/// What `git merge` makes of three states in a clone of its own; `None` if there are conflicts.
fn merged_by_git(home: &Home, states: [&str; 3]) -> Option<BTreeMap<String, String>> {
    let clone = home.path().join("clone");
    let place = clone.display().to_string();
    home.git(&["clone", "--quiet", "--shared", "--no-checkout", ".", &place]);
    let who = ["-c", "user.name=x", "-c", "user.email=x@y"];
    let made = |state: &str, parent: Option<&str>| {
        let tree = format!("{state}^{{tree}}");
        let mut arguments = [&who[..], &["commit-tree", &tree, "-m", "state"]].concat();
        arguments.extend(parent.iter().flat_map(|parent| ["-p", parent]));
        git(&clone, &arguments).trim().to_owned()
    };
    let base = made(states[0], None);
    let (ours, theirs) = (made(states[1], Some(&base)), made(states[2], Some(&base)));
    git(&clone, &["checkout", "--quiet", "--detach", &ours]);
    let merge = ["merge", "--quiet", "--no-ff", "-m", "merged", &theirs];
    let clean = try_git(&clone, &[&who[..], &merge].concat()).0;
    clean.then(|| contents(&clone))
}

fn merge(home: &Home, worktree: &Worktree, end: &Snapshot) -> tine_worktree::Merged {
    let merge = Merge {
        name: worktree.name(),
        label: "child",
        start: worktree.start(),
        end,
        fast_forward: FastForward::WherePossible,
        uncommitted: Uncommitted::Bring,
        dry_run: false,
        now_ms: NOW_MS,
    };
    home.repository().merge(&merge).unwrap()
}

/// Entries of the index by path.
fn index(top: &Path) -> BTreeMap<String, String> {
    let said = git(top, &["ls-files", "--stage"]);
    let entry =
        |line: &str| line.split_once('\t').map(|(entry, path)| (path.to_owned(), entry.to_owned()));
    said.lines().filter_map(entry).collect()
}

proptest! {
    #![proptest_config(config((6, 16), 60))]

    #[test]
    fn an_apply_is_gits_own_merge_or_nothing(
        before in edits(4), parent in edits(5), child in edits(6),
    ) {
        let (home, worktree) = scene(&before, &parent, &child);
        let (ours, end) =
            (home.repository().snapshot(NOW_MS).unwrap(), worktree.state(NOW_MS).unwrap());
        let start = worktree.start();
        let expected =
            merged_by_git(&home, [&start.work, &ours.work, &end.work].map(|work| work.as_str()));
        let (was, index) = (untouched(&home.top()), fs::read(home.top().join(".git/index")).unwrap());
        let applied = home.repository().apply(&Apply {
            name: worktree.name(),
            start,
            end: &end,
            paths: &[],
            on_conflict: OnConflict::Refuse,
            dry_run: false,
            now_ms: NOW_MS,
        }).unwrap();
        match expected {
            Some(expected) => {
                prop_assert!(matches!(applied.outcome, Outcome::Written | Outcome::Nothing));
                prop_assert_eq!(contents(&home.top()), expected);
                prop_assert_eq!(fs::read(home.top().join(".git/index")).unwrap(), index);
            }
            None => {
                prop_assert_eq!(applied.outcome, Outcome::Conflicts);
                prop_assert_eq!(untouched(&home.top()), was);
            }
        }
    }
}

proptest! {
    #![proptest_config(config((4, 10), 60))]

    #[test]
    fn a_merge_is_gits_own_and_leaves_what_it_does_not_touch(
        before in edits(4), parent in edits(4), child in edits(6),
    ) {
        let (home, worktree) = scene(&before, &parent, &child);
        let work = worktree.repository().top().to_owned();
        commit(&work);
        let end = worktree.state(NOW_MS).unwrap();
        let (was, old) = (untouched(&home.top()), home.repository().snapshot(NOW_MS).unwrap());
        let (files_before, index_before) = (contents(&home.top()), index(&home.top()));
        let merged = merge(&home, &worktree, &end);
        if merged.outcome != Outcome::Written {
            prop_assert_eq!(untouched(&home.top()), was);
            return Ok(());
        }
        prop_assert_eq!(home.git(&["rev-parse", "HEAD"]), format!("{}\n", merged.head));
        let moved = home.git(&["diff", "--name-only", "--no-renames", old.base.as_str(), "HEAD"]);
        let moved: Vec<&str> = moved.lines().collect();
        let is_beside = |path: &String| {
            let meets = |moved: &&str| Path::new(moved).starts_with(path) || Path::new(path).starts_with(moved);
            !moved.iter().any(meets)
        };
        let beside = |map: BTreeMap<String, String>| -> Vec<(String, String)> {
            map.into_iter().filter(|(path, _)| is_beside(path)).collect()
        };
        prop_assert_eq!(beside(contents(&home.top())), beside(files_before));
        prop_assert_eq!(beside(index(&home.top())), beside(index_before));
        let tree = home.git(&["rev-parse", "HEAD^{tree}"]);
        let by_git = home.git(&["merge-tree", "--write-tree", old.base.as_str(), end.base.as_str()]);
        prop_assert_eq!(tree, by_git);
    }

    #[test]
    fn a_clean_checkout_is_clean_after_a_merge(child in edits(7)) {
        let (home, worktree) = scene(&[], &[], &child);
        let work = worktree.repository().top().to_owned();
        git(&work, &["add", "--all"]);
        commit(&work);
        let end = worktree.state(NOW_MS).unwrap();
        let merged = merge(&home, &worktree, &end);
        prop_assert!(merged.is_fast_forward && merged.conflicts.is_empty());
        prop_assert_eq!(home.git(&["status", "--porcelain"]), "");
        prop_assert_eq!(contents(&home.top()), contents(&work));
    }

    #[test]
    fn a_worker_that_builds_on_uncommitted_work_commits_it(
        before in prop::collection::vec(early_edit(), 0..5),
        child in prop::collection::vec(late_edit(), 0..6),
    ) {
        let (home, worktree) = scene(&before, &[], &child);
        let work = worktree.repository().top().to_owned();
        git(&work, &["add", "--all"]);
        commit(&work);
        let end = worktree.state(NOW_MS).unwrap();
        let start = worktree.start();
        let begun = home.git(&["diff", "--name-only", start.base.as_str(), start.work.as_str()]);
        let there = git(&work, &["ls-files"]);
        let there: Vec<&str> = there.lines().collect();
        let brought: Vec<&str> = begun.lines().filter(|path| there.contains(path)).collect();
        let merged = merge(&home, &worktree, &end);
        let unfinished: Vec<_> = merged.unfinished.iter().map(|path| path.to_str().unwrap()).collect();
        prop_assert_eq!(unfinished, brought);
        prop_assert_eq!(&merged.conflicts, &[]);
        prop_assert_eq!(contents(&home.top()), contents(&work));
        prop_assert_eq!(home.git(&["status", "--porcelain"]), "");
    }

    #[test]
    fn a_worker_that_puts_uncommitted_work_aside_commits_none_of_it(
        before in prop::collection::vec(early_edit(), 0..5),
        child in prop::collection::vec(late_edit(), 0..6),
    ) {
        let (home, worktree) = scene(&before, &[], &[]);
        let work = worktree.repository().top().to_owned();
        git(&work, &["reset", "--quiet", "--hard"]);
        git(&work, &["clean", "--quiet", "-fd"]);
        for edit in &child {
            match *edit {
                // Beside a line of the user's nobody could tell whose it is.
                Edit::Line(_, line, _) if line <= LINES / 2 => {}
                ref edit => perform(&work, edit),
            }
        }
        git(&work, &["add", "--all"]);
        commit(&work);
        let end = worktree.state(NOW_MS).unwrap();
        prop_assert_eq!(merge(&home, &worktree, &end).unfinished, Vec::<std::path::PathBuf>::new());
    }
}
