//! Work comes back into the files of a checkout, or nothing changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::SystemTime;

use tine_worktree::{
    Applied, Apply, Name, OnConflict, Outcome, Repository, Start, Worktree, WorktreeError,
};

use crate::moments::elsewhere;
use crate::support::{Home, NOW_MS, files, git, untouched, write};

fn dirty() -> Home {
    let home = Home::new();
    home.write("a.txt", "one\ntwo\nTHREE\nfour\nfive\n");
    home.git(&["add", "a.txt"]);
    home.write("mine.txt", "mine\n");
    home
}

#[derive(Default)]
struct How<'a> {
    paths: &'a [PathBuf],
    on_conflict: OnConflict,
    dry_run: bool,
}

/// Applies what the worktree holds now.
fn apply_with(home: &Home, worktree: &Worktree, how: How<'_>) -> Result<Applied, WorktreeError> {
    let end = worktree.state(NOW_MS).unwrap();
    let How { paths, on_conflict, dry_run } = how;
    let (name, start, now_ms) = (worktree.name(), worktree.start(), NOW_MS);
    let apply = Apply { name, start, end: &end, paths, on_conflict, dry_run, now_ms };
    Repository::at(&home.top())?.apply(&apply)
}

fn apply(home: &Home, worktree: &Worktree) -> Result<Applied, WorktreeError> {
    apply_with(home, worktree, How::default())
}

fn read(home: &Home, name: &str) -> String {
    fs::read_to_string(home.top().join(name)).unwrap()
}

fn conflicts(applied: &Applied) -> String {
    let lines: Vec<String> = applied
        .conflicts
        .iter()
        .map(|conflict| {
            let versions = [&conflict.base, &conflict.ours, &conflict.theirs]
                .map(|stage| if stage.is_some() { 'x' } else { '-' });
            let path = conflict.path.display();
            let versions = String::from_iter(versions);
            format!("{path} {:?} {versions} {}", conflict.kind, conflict.explanation)
        })
        .collect();
    lines.join("\n")
}

/// All of git's own part that an apply has no business with.
fn of_git(home: &Home) -> String {
    let text = untouched(&home.top());
    let from = text.find("index Some").unwrap();
    text[from..].to_owned()
}

/// No journal, no staging, no lock is left.
fn is_tidy(home: &Home) {
    let mut names: Vec<_> = fs::read_dir(home.top().join(".git/tine"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["lock"]);
}

#[test]
fn all_kinds_of_changes_come_and_the_index_stays_to_its_last_byte() {
    let home = dirty();
    home.write("old/deep/gone.txt", "gone\n");
    home.write("was-file", "file\n");
    home.write("was-folder/one", "one\n");
    home.write("was-folder/two/three", "three\n");
    home.write("private.txt", "private\n");
    fs::set_permissions(home.top().join("private.txt"), PermissionsExt::from_mode(0o600)).unwrap();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, "a.txt", "ONE\ntwo\nTHREE\nfour\nfive\n");
    write(&top, "new/deep/file.txt", "new\n");
    write(&top, "private.txt", "changed\n");
    write(&top, "binary", [0, 1, 2, 255]);
    fs::remove_dir_all(top.join("old")).unwrap();
    fs::remove_file(top.join("was-file")).unwrap();
    write(&top, "was-file/inside", "inside\n");
    fs::remove_dir_all(top.join("was-folder")).unwrap();
    write(&top, "was-folder", "a file now\n");
    fs::set_permissions(top.join("src/lib.rs"), PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("a.txt", top.join("link")).unwrap();
    // The parent goes on, too.
    home.write("a.txt", "one\ntwo\nTHREE\nfour\nFIVE\n");
    fs::create_dir_all(home.top().join("was-folder/empty")).unwrap();
    let (before, untouched_files) = (of_git(&home), files(&home.top()));

    let dry = apply_with(&home, &worktree, How { dry_run: true, ..How::default() }).unwrap();
    assert_eq!(dry.outcome, Outcome::WouldWrite);
    assert_eq!((of_git(&home), files(&home.top())), (before.clone(), untouched_files.clone()));

    let applied = apply(&home, &worktree).unwrap();
    assert_eq!(applied, Applied { outcome: Outcome::Written, ..dry });
    assert_eq!(of_git(&home), before);
    assert_eq!(read(&home, "a.txt"), "ONE\ntwo\nTHREE\nfour\nFIVE\n");
    assert_eq!(read(&home, "was-file/inside"), "inside\n");
    assert_eq!(read(&home, "was-folder"), "a file now\n");
    assert!(!home.top().join("old").exists(), "a directory goes with its last file");
    let mode = |name: &str| {
        fs::symlink_metadata(home.top().join(name)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("private.txt"), mode("src/lib.rs") & 0o100), (0o600, 0o100));
    assert_eq!(files(&home.top())["mine.txt"], untouched_files["mine.txt"]);
    is_tidy(&home);
    let again = apply(&home, &worktree).unwrap();
    assert_eq!((again.outcome, again.files.len()), (Outcome::Nothing, 0));

    let undone = home.repository().undo(worktree.name(), NOW_MS).unwrap();
    assert_eq!(undone.outcome, Outcome::Written);
    let contents = |files: &std::collections::BTreeMap<String, String>| -> Vec<(String, String)> {
        let without_time = |file: &str| {
            let parts: Vec<&str> = file.splitn(3, ' ').collect();
            format!("{} {}", parts[0], parts[2])
        };
        files.iter().map(|(name, file)| (name.clone(), without_time(file))).collect()
    };
    assert_eq!(contents(&files(&home.top())), contents(&untouched_files));
    assert_eq!(of_git(&home), before);
    let error = home.repository().undo(worktree.name(), NOW_MS).unwrap_err();
    assert_eq!(error.to_string(), "there is no apply of `one` here to take back");
}

#[test]
fn with_a_conflict_nothing_changes_and_each_is_told() {
    let home = dirty();
    home.write("gone.txt", "here\n");
    home.write("kept.txt", "here\n");
    home.write("picture", [0, 1, 2]);
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    for (name, ours, theirs) in [
        ("a.txt", "one\nOURS\nTHREE\nfour\nfive\n", "one\nTHEIRS\nTHREE\nfour\nfive\n"),
        ("new.txt", "ours\n", "theirs\n"),
        ("picture", "\0ours", "\0theirs"),
    ] {
        home.write(name, ours);
        write(&top, name, theirs);
    }
    fs::remove_file(home.top().join("gone.txt")).unwrap();
    write(&top, "gone.txt", "changed\n");
    home.write("kept.txt", "changed\n");
    fs::remove_file(top.join("kept.txt")).unwrap();
    home.write("place/file", "a directory\n");
    write(&top, "place", "a file\n");
    write(&top, "fine.txt", "fine\n");
    let before = untouched(&home.top());
    let applied = apply(&home, &worktree).unwrap();
    assert_eq!(applied.outcome, Outcome::Conflicts);
    assert_eq!(untouched(&home.top()), before);
    is_tidy(&home);
    insta::assert_snapshot!(conflicts(&applied), @"
    a.txt Content xxx the checkout and the work changed the same lines
    gone.txt ModifyDelete x-x the work changed it, the checkout deleted it
    kept.txt ModifyDelete xx- the checkout changed it, the work deleted it
    new.txt AddAdd -xx the checkout and the work each have a new file of this name
    picture Binary xxx the checkout and the work changed it, and it is not text
    place FileDirectory --x one side has a file here, the other a directory
    ");

    let how = How { on_conflict: OnConflict::LeaveMarkers, ..How::default() };
    let marked = apply_with(&home, &worktree, how).unwrap();
    assert_eq!(
        (marked.outcome, marked.conflicts.len()),
        (Outcome::Written, applied.conflicts.len())
    );
    insta::assert_snapshot!(read(&home, "a.txt"), @"
    one
    <<<<<<< tine/one/onto
    OURS
    =======
    THEIRS
    >>>>>>> tine/one/work
    THREE
    four
    five
    ");
    assert_eq!(read(&home, "fine.txt"), "fine\n");
    // No marks around marks; of the first of two only the second could be taken back.
    let there = untouched(&home.top());
    for on_conflict in [OnConflict::Refuse, OnConflict::LeaveMarkers] {
        let how = How { on_conflict, ..How::default() };
        let error = apply_with(&home, &worktree, how).unwrap_err().to_string();
        assert_eq!(error, "marks of the last apply still stand in a.txt, new.txt");
    }
    assert_eq!(untouched(&home.top()), there);
    home.repository().undo(worktree.name(), NOW_MS).unwrap();
    assert_eq!(read(&home, "a.txt"), "one\nOURS\nTHREE\nfour\nfive\n");
    assert!(!home.top().join("fine.txt").exists());
    let refs = home.git(&["for-each-ref", "--format=%(refname)", "refs/tine"]);
    assert_eq!(refs, "refs/tine/one/start\n");
}

#[test]
fn only_the_files_that_are_asked_for_come() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    for name in ["src/lib.rs", "src/new.rs", "run.sh", "other.txt"] {
        write(&top, name, "changed\n");
    }
    let paths = [PathBuf::from("src"), PathBuf::from("run.sh")];
    let applied = apply_with(&home, &worktree, How { paths: &paths, ..How::default() }).unwrap();
    let shown: Vec<String> =
        applied.files.iter().map(|file| file.path.display().to_string()).collect();
    assert_eq!(shown, ["run.sh", "src/lib.rs", "src/new.rs"]);
    assert!(!home.top().join("other.txt").exists());
    let paths = [PathBuf::from("a.txt"), PathBuf::from("nothing")];
    let error = apply_with(&home, &worktree, How { paths: &paths, ..How::default() }).unwrap_err();
    assert_eq!(error.to_string(), "the work did not change a.txt, nothing");
}

#[test]
fn what_stands_in_the_way_is_named_and_nothing_changes() {
    let home = dirty();
    home.write(".gitignore", "*.log\n");
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    home.write("debug.log", "mine\n");
    home.write("folder.log", "mine\n");
    home.write("busy/x.log", "mine\n");
    write(&top, "fine.txt", "fine\n");
    write(&top, "debug.log", "theirs\n");
    write(&top, "folder.log/file", "theirs\n");
    write(&top, "busy", "theirs\n");
    git(&top, &["add", "--force", "debug.log", "folder.log/file"]);
    let before = untouched(&home.top());
    let error = apply(&home, &worktree).unwrap_err();
    assert_eq!(
        error.to_string(),
        "files stand where new ones are to come: busy/x.log, debug.log, folder.log"
    );
    assert_eq!(untouched(&home.top()), before);
    is_tidy(&home);
}

#[test]
fn changes_that_git_was_told_to_overlook_are_not_overwritten() {
    let home = Home::new();
    home.git(&["update-index", "--assume-unchanged", "src/lib.rs"]);
    let worktree = home.fork("one", Start::State).unwrap();
    home.write("src/lib.rs", "nobody is to see this\n");
    write(worktree.repository().top(), "src/lib.rs", "theirs\n");
    git(worktree.repository().top(), &["update-index", "--no-assume-unchanged", "src/lib.rs"]);
    let before = untouched(&home.top());
    let applied = apply(&home, &worktree).unwrap();
    assert_eq!((applied.outcome, applied.conflicts.len()), (Outcome::Conflicts, 1));
    assert_eq!(untouched(&home.top()), before);
}

#[test]
fn several_workers_one_after_another_are_each_checked_against_what_is_there_then() {
    let home = dirty();
    let children: Vec<Worktree> =
        ["one", "two", "three"].map(|name| home.fork(name, Start::State).unwrap()).into();
    let lines = [
        "ONE\ntwo\nTHREE\nfour\nfive\n",
        "one\ntwo\nTHREE\nfour\nFIVE\n",
        "1\ntwo\nTHREE\nfour\nfive\n",
    ];
    for (number, (child, line)) in children.iter().zip(lines).enumerate() {
        write(child.repository().top(), "a.txt", line);
        write(child.repository().top(), &format!("of-{number}.txt"), "mine\n");
    }
    assert_eq!(apply(&home, &children[0]).unwrap().outcome, Outcome::Written);
    assert_eq!(apply(&home, &children[1]).unwrap().outcome, Outcome::Written);
    assert_eq!(read(&home, "a.txt"), "ONE\ntwo\nTHREE\nfour\nFIVE\n");
    let before = untouched(&home.top());
    let third = apply(&home, &children[2]).unwrap();
    assert_eq!(third.outcome, Outcome::Conflicts);
    insta::assert_snapshot!(conflicts(&third), @"a.txt Content xxx the checkout and the work changed the same lines");
    assert_eq!(untouched(&home.top()), before);
    // The first can be taken out again, and the third fits then.
    home.repository().undo(children[0].name(), NOW_MS).unwrap();
    assert_eq!(apply(&home, &children[2]).unwrap().outcome, Outcome::Written);
    assert_eq!(read(&home, "a.txt"), "1\ntwo\nTHREE\nfour\nFIVE\n");
}

#[test]
fn files_come_through_gits_filters_with_the_attributes_that_they_bring() {
    let home = Home::new();
    home.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    home.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, ".gitattributes", "*.up filter=upper\n*.win text eol=crlf\n");
    write(&top, "word.up", "word\n");
    write(&top, "lines.win", "one\r\ntwo\r\n");
    apply(&home, &worktree).unwrap();
    assert_eq!(
        (read(&home, "word.up"), read(&home, "lines.win")),
        ("word\n".into(), "one\r\ntwo\r\n".into())
    );
    assert_eq!(apply(&home, &worktree).unwrap().outcome, Outcome::Nothing);
}

#[test]
fn what_is_outside_a_sparse_checkout_comes_all_the_same() {
    let home = Home::new();
    home.write("docs/page.md", "page\n");
    home.git(&["add", "."]);
    home.git(&["commit", "--quiet", "-m", "docs"]);
    let worktree = home.fork("one", Start::Clean).unwrap();
    home.git(&["sparse-checkout", "set", "--no-cone", "/src/"]);
    assert!(!home.top().join("docs").exists());
    write(worktree.repository().top(), "docs/page.md", "another page\n");
    fs::remove_file(worktree.repository().top().join("run.sh")).unwrap();
    apply(&home, &worktree).unwrap();
    assert_eq!(read(&home, "docs/page.md"), "another page\n");
}

#[test]
fn work_comes_beside_submodules_that_have_changes() {
    let home = Home::new();
    let other = Home::new();
    let url = other.top().display().to_string();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    home.git(&[&add[..], &[&url, "libs/other"]].concat());
    home.git(&["commit", "--quiet", "-m", "with a submodule"]);
    home.write("libs/other/a.txt", "changed inside\n");
    // A program that the submodule's own settings name, which a git there would run.
    let (inside, sprung) = (home.top().join("libs/other"), home.path().join("sprung"));
    git(&inside, &["config", "filter.trap.clean", &format!("touch {}; cat", sprung.display())]);
    fs::write(home.top().join(".git/modules/libs/other/info/attributes"), "*.rs filter=trap\n")
        .unwrap();
    fs::File::open(inside.join("src/lib.rs"))
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH)
        .unwrap();
    let worktree = home.fork("one", Start::State).unwrap();
    write(worktree.repository().top(), "work.txt", "work\n");
    write(worktree.repository().top(), "a.txt", "work\n");
    assert_eq!(apply(&home, &worktree).unwrap().outcome, Outcome::Written);
    assert_eq!(read(&home, "work.txt"), "work\n");
    assert!(!sprung.exists(), "git ran a program of the submodule's settings");
    assert_eq!(read(&home, "libs/other/a.txt"), "changed inside\n");
    home.repository().undo(worktree.name(), NOW_MS).unwrap();
    assert!(!home.top().join("work.txt").exists());
    assert_eq!(home.git(&["status", "--porcelain"]), " M libs/other\n");
}

#[test]
fn submodules_are_refused_by_name() {
    let home = Home::new();
    let other = Home::new();
    let url = other.top().display().to_string();
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    home.git(&[&add[..], &[&url, "libs/other"]].concat());
    home.git(&["commit", "--quiet", "-m", "with a submodule"]);
    home.git(&["submodule", "--quiet", "deinit", "--all"]);
    let worktree = home.fork("one", Start::State).unwrap();
    git(worktree.repository().top(), &["rm", "--quiet", "libs/other"]);
    let before = untouched(&home.top());
    let error = apply(&home, &worktree).unwrap_err();
    assert_eq!(error.to_string(), "the work changes submodules: libs/other");
    assert_eq!(untouched(&home.top()), before);
}

#[test]
fn work_of_another_repository_is_refused() {
    let home = Home::new();
    let other = Home::new();
    other.write("b.txt", "b\n");
    let worktree = other.fork("one", Start::State).unwrap();
    write(worktree.repository().top(), "c.txt", "c\n");
    let error = apply(&home, &worktree).unwrap_err().to_string();
    assert!(error.ends_with("names no commit here"), "{error}");
}

#[test]
fn a_worktree_takes_the_work_of_its_own_children() {
    let home = dirty();
    let one = home.fork("one", Start::State).unwrap();
    let repository = Repository::at(one.repository().top()).unwrap();
    let two = repository.fork(&home.new_worktree("two", Start::State)).unwrap();
    write(two.repository().top(), "two.txt", "two\n");
    let end = two.state(NOW_MS).unwrap();
    let apply = Apply {
        name: &Name::new("two").unwrap(),
        start: two.start(),
        end: &end,
        paths: &[],
        on_conflict: OnConflict::Refuse,
        dry_run: false,
        now_ms: NOW_MS,
    };
    assert_eq!(repository.apply(&apply).unwrap().outcome, Outcome::Written);
    assert!(one.repository().top().join("two.txt").exists());
    assert!(!home.top().join("two.txt").exists());
}

#[test]
fn two_at_once_come_one_after_the_other() {
    let home = dirty();
    let children =
        ["one", "two", "three", "four"].map(|name| home.fork(name, Start::State).unwrap());
    for child in &children {
        write(child.repository().top(), &format!("of-{}.txt", child.name()), "mine\n");
    }
    std::thread::scope(|scope| {
        let home = &home;
        for child in &children {
            scope.spawn(move || assert_eq!(apply(home, child).unwrap().outcome, Outcome::Written));
        }
    });
    for child in &children {
        assert!(home.top().join(format!("of-{}.txt", child.name())).exists());
    }
    is_tidy(&home);
}

#[test]
#[cfg(target_os = "linux")]
fn a_checkout_on_another_file_system_than_git_works_the_same() {
    let home = Home::new();
    let Some(other) = elsewhere(&home.path()) else { return };
    let top = other.path().join("checkout");
    home.git(&["worktree", "add", "--quiet", "--detach", &top.display().to_string()]);
    write(&top, "mine.txt", "mine\n");
    let repository = Repository::at(&top).unwrap();
    let worktree = repository.fork(&home.new_worktree("one", Start::State)).unwrap();
    write(worktree.repository().top(), "a.txt", "changed\n");
    write(worktree.repository().top(), "new/file.txt", "new\n");
    fs::remove_file(worktree.repository().top().join("run.sh")).unwrap();
    let end = worktree.state(NOW_MS).unwrap();
    let applied = repository
        .apply(&Apply {
            name: worktree.name(),
            start: worktree.start(),
            end: &end,
            paths: &[],
            on_conflict: OnConflict::Refuse,
            dry_run: false,
            now_ms: NOW_MS,
        })
        .unwrap();
    assert_eq!(applied.outcome, Outcome::Written);
    let mut names: Vec<String> = files(&top).into_keys().collect();
    names.sort();
    assert_eq!(names, ["a.txt", "mine.txt", "new/file.txt", "src/lib.rs"]);
    assert_eq!(fs::read_to_string(top.join("a.txt")).unwrap(), "changed\n");
}

/// What a ref says of this worktree, without start and end.
fn refs(home: &Home) -> usize {
    home.git(&["for-each-ref", "--format=%(refname)", "refs/tine"]).lines().count()
}

#[test]
fn work_that_goes_on_comes_again_from_where_it_last_came() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, "new.txt", "1\n2\n3\n4\n5\n");
    assert_eq!(apply(&home, &worktree).unwrap().outcome, Outcome::Written);
    // The user goes on, too, in what came.
    home.write("new.txt", "1\n2\n3\n4\nmine\n");
    write(&top, "new.txt", "one\n2\n3\n4\n5\n");
    write(&top, "other.txt", "other\n");
    let paths = [PathBuf::from("other.txt")];
    apply_with(&home, &worktree, How { paths: &paths, ..How::default() }).unwrap();
    assert_eq!(read(&home, "new.txt"), "1\n2\n3\n4\nmine\n");
    assert_eq!(apply(&home, &worktree).unwrap().outcome, Outcome::Written);
    assert_eq!(read(&home, "new.txt"), "one\n2\n3\n4\nmine\n");
    // One apply is taken back, not both: what comes then is again what came since the first.
    home.repository().undo(worktree.name(), NOW_MS).unwrap();
    assert_eq!(read(&home, "new.txt"), "1\n2\n3\n4\nmine\n");
    assert_eq!(apply(&home, &worktree).unwrap().outcome, Outcome::Written);
    // What somebody threw away comes again where it is asked for again.
    for name in ["new.txt", "other.txt"] {
        fs::remove_file(home.top().join(name)).unwrap();
    }
    assert_eq!(apply(&home, &worktree).unwrap().outcome, Outcome::Written);
    assert_eq!(read(&home, "other.txt"), "other\n");
    assert_eq!(refs(&home), 5);
    let name = worktree.name().clone();
    worktree.remove(NOW_MS).unwrap();
    home.repository().forget(&name).unwrap();
    assert_eq!(refs(&home), 0);
}

#[test]
fn what_was_committed_since_is_not_undone() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, "new.txt", "new\n");
    write(&top, "run.sh", "echo child\n");
    apply(&home, &worktree).unwrap();
    home.git(&["add", "new.txt"]);
    home.git(&["commit", "--quiet", "--message=theirs", "--", "new.txt"]);
    let before = untouched(&home.top());
    let error = home.repository().undo(worktree.name(), NOW_MS).unwrap_err().to_string();
    assert_eq!(error, "committed since it was applied: new.txt");
    assert_eq!(untouched(&home.top()), before);
    home.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    home.repository().undo(worktree.name(), NOW_MS).unwrap();
    assert!(!home.top().join("new.txt").exists());
}

#[test]
fn each_checkout_has_its_own_way_back() {
    let home = dirty();
    let (worktree, other) =
        (home.fork("one", Start::State).unwrap(), home.fork("two", Start::State).unwrap());
    let third = home.fork("three", Start::State).unwrap();
    write(worktree.repository().top(), "new.txt", "new\n");
    let end = worktree.state(NOW_MS).unwrap();
    let (name, start, now_ms) = (worktree.name(), worktree.start(), NOW_MS);
    let (paths, on_conflict, dry_run) = (&[], OnConflict::Refuse, false);
    apply(&home, &worktree).unwrap();
    let again = Apply { name, start, end: &end, paths, on_conflict, dry_run, now_ms };
    assert_eq!(other.repository().apply(&again).unwrap().outcome, Outcome::Written);
    let error = third.repository().undo(name, NOW_MS).unwrap_err();
    assert_eq!(error.to_string(), "there is no apply of `one` here to take back");
    for repository in [&home.repository(), other.repository()] {
        assert!(repository.top().join("new.txt").exists());
        assert_eq!(repository.undo(name, NOW_MS).unwrap().outcome, Outcome::Written);
        assert!(!repository.top().join("new.txt").exists());
    }
}
