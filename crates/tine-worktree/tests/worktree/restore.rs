//! A worktree is brought back to what it was before something ran in it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use tine_worktree::{Obstacle, Start, Worktree, WorktreeError};

use crate::support::{Home, NOW_MS, git, held, untouched, write};

/// A worktree with a commit, something staged, something not, and something new.
fn worked_in() -> (Home, Worktree, PathBuf) {
    let home = Home::new();
    home.write(".gitignore", "*.log\n");
    let worktree = home.fork("child", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, "committed.txt", "committed\n");
    git(&top, &["add", "committed.txt"]);
    git(&top, &["commit", "--quiet", "-m", "work"]);
    write(&top, "staged.txt", "staged\n");
    git(&top, &["add", "staged.txt"]);
    write(&top, "src/new.rs", "fn new() {}\n");
    (home, worktree, top)
}

#[test]
fn whatever_happens_to_files_head_and_index_all_is_as_it_was() {
    type Act = fn(&std::path::Path);
    let acts: [(&str, Act); 8] = [
        ("files", |top| {
            write(top, "built", "leftover\n");
            write(top, "out/deep/built", "leftover\n");
            write(top, "a.txt", "broken\n");
            fs::remove_file(top.join("src/new.rs")).unwrap();
            fs::set_permissions(top.join("run.sh"), Permissions::from_mode(0o644)).unwrap();
        }),
        ("a directory for a file, and a link for another", |top| {
            fs::remove_file(top.join("a.txt")).unwrap();
            write(top, "a.txt/inside", "a directory now\n");
            fs::remove_file(top.join("staged.txt")).unwrap();
            symlink("/etc/passwd", top.join("staged.txt")).unwrap();
        }),
        ("staged", |top| {
            write(top, "built", "leftover\n");
            git(top, &["add", "--all"]);
        }),
        ("only staged", |top| drop(git(top, &["rm", "--quiet", "--cached", "staged.txt"]))),
        ("committed", |top| {
            write(top, "built", "leftover\n");
            git(top, &["add", "--all"]);
            git(top, &["commit", "--quiet", "-m", "a check that commits"]);
        }),
        ("reset", |top| drop(git(top, &["reset", "--quiet", "--hard", "HEAD~1"]))),
        ("hidden by what is ignored", |top| {
            write(top, ".gitignore", "*\n");
            write(top, "built", "leftover\n");
        }),
        ("in conflict", |top| {
            let other = git(top, &["commit-tree", "HEAD~1^{tree}", "-p", "HEAD~1", "-m", "other"]);
            git(top, &["checkout", "--quiet", "--detach", "--force", other.trim()]);
            write(top, "committed.txt", "other\n");
            git(top, &["add", "committed.txt"]);
            git(top, &["commit", "--quiet", "-m", "other"]);
            crate::support::try_git(top, &["merge", "--quiet", "HEAD@{2}"]);
        }),
    ];
    for (what, act) in acts {
        let (home, worktree, top) = worked_in();
        write(&top, "debug.log", "a build's\n");
        let parent = untouched(&home.top());
        let (before, head) = (held(&top), git(&top, &["rev-parse", "HEAD"]));
        let state = worktree.state(NOW_MS).unwrap();
        assert!(!worktree.restore(&state, NOW_MS).unwrap(), "{what}: nothing happened yet");
        act(&top);
        write(&top, "new.log", "ignored\n");
        assert!(worktree.restore(&state, NOW_MS).unwrap(), "{what}");
        assert_eq!(held(&top), before, "{what}");
        assert_eq!(git(&top, &["rev-parse", "HEAD"]), head, "{what}");
        assert!(!top.join("out").exists(), "{what}: an empty directory is left");
        for ignored in ["debug.log", "new.log"] {
            assert!(top.join(ignored).exists(), "{what}: {ignored} is gone");
        }
        assert_eq!(untouched(&home.top()), parent, "{what}: the parent was touched");
    }
}

#[test]
fn a_branch_that_was_made_is_not_moved_and_nothing_is_half_done() {
    let (_home, worktree, top) = worked_in();
    let state = worktree.state(NOW_MS).unwrap();
    git(&top, &["switch", "--quiet", "-c", "checked"]);
    git(&top, &["commit", "--quiet", "-m", "staged"]);
    write(&top, "a.txt", "broken\n");
    let (before, branch) = (held(&top), git(&top, &["rev-parse", "checked"]));
    match worktree.restore(&state, NOW_MS) {
        Err(WorktreeError::Obstructed(Obstacle::OnBranch(path))) => assert_eq!(path, top),
        other => panic!("{other:?}"),
    }
    assert_eq!((held(&top), git(&top, &["rev-parse", "checked"])), (before, branch));
    // Files alone come back on a branch, too.
    git(&top, &["reset", "--quiet", "--soft", "HEAD~1"]);
    assert!(worktree.restore(&state, NOW_MS).unwrap());
    assert_eq!(fs::read_to_string(top.join("a.txt")).unwrap(), "one\ntwo\nthree\nfour\nfive\n");
}
