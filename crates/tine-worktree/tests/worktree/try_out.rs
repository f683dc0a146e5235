//! Repositories to try things out in.

use std::fs;

use tine_worktree::{Refusal, Repository, WorktreeError};

use crate::support::{Home, git, untouched};

/// Makes one of the repository at `from`, and says what is in it.
fn tried_out(home: &Home, from: &std::path::Path) -> (Repository, String) {
    let to = home.path().join("tried out");
    let made = Repository::at(from).unwrap().try_out(&to).unwrap();
    let log = git(&to, &["log", "--all", "--format=%s"]);
    let refs = git(&to, &["for-each-ref", "--format=%(refname)"]);
    let status = git(&to, &["status", "--porcelain"]);
    git(&to, &["fsck", "--connectivity-only"]);
    (made, format!("{log}{refs}{status}"))
}

#[test]
fn it_has_the_history_and_the_committed_files_and_nothing_else() {
    let home = Home::new();
    home.git(&["tag", "v1"]);
    home.git(&["checkout", "--quiet", "-b", "topic/one"]);
    home.write("a.txt", "two\n");
    home.git(&["commit", "--quiet", "-am", "second"]);
    home.git(&["config", "alias.mine", "log"]);
    home.write("a.txt", "not committed\n");
    let before = untouched(&home.top());
    let (made, seen) = tried_out(&home, &home.top().join("src"));
    insta::assert_snapshot!(seen, @"
    second
    first
    refs/heads/topic/one
    ");
    assert_eq!(fs::read_to_string(made.top().join("a.txt")).unwrap(), "two\n");
    assert!(!fs::read_to_string(made.git_dir().join("config")).unwrap().contains("mine"));
    assert_eq!(untouched(&home.top()), before);
}

#[test]
fn a_linked_checkout_a_detached_head_and_a_short_history_are_as_good() {
    let home = Home::new();
    home.write("a.txt", "two\n");
    home.git(&["commit", "--quiet", "-am", "second"]);
    let linked = home.path().join("linked");
    home.git(&["worktree", "add", "--quiet", "--detach", linked.to_str().unwrap(), "HEAD^"]);
    let (made, seen) = tried_out(&home, &linked);
    insta::assert_snapshot!(seen, @"
    first
    refs/heads/main
    ");
    fs::remove_dir_all(made.top()).unwrap();
    let short = home.path().join("short");
    let url = format!("file://{}", home.top().display());
    home.git(&["clone", "--quiet", "--depth=1", &url, short.to_str().unwrap()]);
    let (_, seen) = tried_out(&home, &short);
    insta::assert_snapshot!(seen, @"
    second
    refs/heads/main
    ");
}

#[test]
fn without_a_commit_nothing_is_made() {
    let home = Home::empty();
    let to = home.path().join("tried out");
    let error = Repository::at(&home.top()).unwrap().try_out(&to).unwrap_err();
    assert!(
        matches!(&error, WorktreeError::Refused(Refusal::NoCommit(name)) if name == "HEAD"),
        "{error}"
    );
    assert!(!to.exists());
}
