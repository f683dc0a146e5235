//! Commits come back, and what the user has uncommitted survives.

use std::fs;
use std::path::Path;

use tine_worktree::{
    CherryPick, Commit, FastForward, Merge, Merged, Obstacle, Outcome, Repository, Start,
    Uncommitted, Worktree, WorktreeError,
};

use crate::support::{Home, NOW_MS, git, try_git, untouched, write};

fn commit(top: &Path, name: &str, content: &str) -> Commit {
    write(top, name, content);
    git(top, &["add", name]);
    commit_staged(top, &format!("change {name}"))
}

fn commit_staged(top: &Path, subject: &str) -> Commit {
    let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    let date = ["commit", "--quiet", "--date=2025-05-05T05:05:05+0200", "-m", subject];
    git(top, &[&who[..], &date].concat());
    Commit::parse(&git(top, &["rev-parse", "HEAD"])).unwrap()
}

fn merge_with(
    home: &Home,
    worktree: &Worktree,
    (fast_forward, uncommitted): (FastForward, Uncommitted),
) -> Result<Merged, WorktreeError> {
    let end = worktree.state(NOW_MS).unwrap();
    Repository::at(&home.top())?.merge(&Merge {
        name: worktree.name(),
        label: "the counting worker",
        start: worktree.start(),
        end: &end,
        fast_forward,
        uncommitted,
        dry_run: false,
        now_ms: NOW_MS,
    })
}

fn merge(home: &Home, worktree: &Worktree) -> Result<Merged, WorktreeError> {
    merge_with(home, worktree, (FastForward::WherePossible, Uncommitted::Bring))
}

fn pick(home: &Home, worktree: &Worktree, commits: &[Commit]) -> Result<Merged, WorktreeError> {
    let end = worktree.state(NOW_MS).unwrap();
    Repository::at(&home.top())?.cherry_pick(&CherryPick {
        name: worktree.name(),
        start: worktree.start(),
        end: &end,
        commits,
        uncommitted: Uncommitted::Refuse,
        dry_run: false,
        now_ms: NOW_MS,
    })
}

/// Five files; one is staged, one changed, one both, one new.
fn dirty() -> Home {
    let home = Home::new();
    for name in ["staged", "changed", "both", "clean"] {
        home.write(name, "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    }
    home.git(&["add", "."]);
    home.git(&["commit", "--quiet", "-m", "second"]);
    home.write("staged", "1\nstaged\n3\n4\n5\n6\n7\n8\n9\n");
    home.write("both", "1\nstaged\n3\n4\n5\n6\n7\n8\n9\n");
    home.git(&["add", "."]);
    home.write("changed", "1\nchanged\n3\n4\n5\n6\n7\n8\n9\n");
    home.write("both", "1\nstaged\n3\n4\nchanged\n6\n7\n8\n9\n");
    home.write("new", "new\n");
    home.write("later", "later\n");
    home.git(&["add", "--intent-to-add", "later"]);
    home
}

fn status(home: &Home) -> String {
    home.git(&["status", "--short"])
}

fn read(home: &Home, name: &str) -> String {
    fs::read_to_string(home.top().join(name)).unwrap()
}

fn log(home: &Home) -> String {
    home.git(&["log", "--graph", "--format=%s | %an %at | %cn %ct", "-2"])
}

#[test]
fn a_fast_forward_leaves_what_is_staged_and_what_is_not() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    // The commits hold none of what was uncommitted.
    git(&top, &["reset", "--quiet", "--hard"]);
    commit(&top, "clean", "1\n2\n3\n4\n5\n6\n7\n8\nchild\n");
    commit(&top, "changed", "1\n2\n3\n4\n5\n6\n7\n8\nchild\n");
    commit(&top, "both", "1\n2\n3\n4\n5\n6\n7\n8\nchild\n");
    let before = status(&home);
    let how = (FastForward::WherePossible, Uncommitted::Refuse);
    let merged = merge_with(&home, &worktree, how).unwrap();
    assert_eq!((merged.outcome, merged.is_fast_forward), (Outcome::Written, true));
    assert_eq!(home.git(&["rev-parse", "main"]).trim(), merged.head.as_str());
    assert_eq!(status(&home), before);
    assert_eq!(read(&home, "clean"), "1\n2\n3\n4\n5\n6\n7\n8\nchild\n");
    assert_eq!(read(&home, "changed"), "1\nchanged\n3\n4\n5\n6\n7\n8\nchild\n");
    assert_eq!(read(&home, "both"), "1\nstaged\n3\n4\nchanged\n6\n7\n8\nchild\n");
    assert_eq!(home.git(&["show", ":both"]), "1\nstaged\n3\n4\n5\n6\n7\n8\nchild\n");
    insta::assert_snapshot!(home.git(&["reflog", "-1", "--format=%gs"]), @"tine: the work of a worktree");
    assert_eq!(fs::read_dir(home.top().join(".git/tine")).unwrap().count(), 1);
    assert!(!home.top().join(".git/index.lock").exists());
    let again = merge(&home, &worktree).unwrap();
    assert_eq!((again.outcome, again.head), (Outcome::Nothing, merged.head));
}

#[test]
fn what_the_commits_contain_is_not_uncommitted_any_more() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    // The worker builds on lines that its parent has not committed, and commits them with its own.
    commit(&top, "staged", "1\nstaged, and more\n3\n4\n5\n6\n7\n8\n9\n");
    commit(&top, "changed", "1\nchanged\nchild\n4\n5\n6\n7\n8\n9\n");
    commit(&top, "new", "new, by the child\n");
    // Meanwhile the parent goes on in the same file.
    home.write("changed", "1\nchanged\n3\n4\n5\n6\n7\n8\nparent\n");
    merge(&home, &worktree).unwrap();
    assert_eq!(read(&home, "staged"), "1\nstaged, and more\n3\n4\n5\n6\n7\n8\n9\n");
    assert_eq!(read(&home, "changed"), "1\nchanged\nchild\n4\n5\n6\n7\n8\nparent\n");
    assert_eq!(read(&home, "new"), "new, by the child\n");
    insta::assert_snapshot!(status(&home), @"
    M both
    M changed
    A later
    ");
}

#[test]
fn what_the_worker_left_uncommitted_stays_where_the_parent_has_it() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    // Only what is staged: the rest of `both` stays a change of the working file, on both sides.
    commit_staged(&top, "what was staged");
    write(&top, "rest", "not committed\n");
    let merged = merge(&home, &worktree).unwrap();
    assert_eq!(merged.uncommitted, [Path::new("rest")]);
    assert_eq!(read(&home, "both"), "1\nstaged\n3\n4\nchanged\n6\n7\n8\n9\n");
    insta::assert_snapshot!(status(&home), @"
     M both
     M changed
     A later
    ?? new
    ");
}

#[test]
fn a_merge_has_two_parents_and_the_users_name() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    commit(worktree.repository().top(), "clean", "1\n2\n3\n4\n5\n6\n7\n8\nchild\n");
    home.write("clean", "parent\n2\n3\n4\n5\n6\n7\n8\n9\n");
    home.git(&["commit", "--quiet", "--message=third", "--", "clean"]);
    home.git(&["config", "commit.gpgSign", "true"]);
    let merged = merge(&home, &worktree).unwrap();
    assert!(!merged.is_fast_forward);
    assert_eq!(read(&home, "clean"), "parent\n2\n3\n4\n5\n6\n7\n8\nchild\n");
    assert_eq!(home.git(&["diff", "HEAD", "--", "clean"]), "");
    assert_eq!(home.git(&["show", "-s", "--format=%B|%an|%cn|%p", "HEAD"]).matches('|').count(), 3);
    let parents = home.git(&["show", "-s", "--format=%B%an <%ae> %ct", "HEAD"]);
    insta::assert_snapshot!(parents, @"
    Merge the work of the counting worker
    Somebody <somebody@example.com> 1767225600
    ");
    assert_eq!(home.git(&["rev-list", "--parents", "-1", "HEAD"]).split_whitespace().count(), 3);

    home.git(&["config", "--unset", "commit.gpgSign"]);
    let two = home.fork("two", Start::State).unwrap();
    commit(two.repository().top(), "run.sh", "echo two\n");
    let merged = merge_with(&home, &two, (FastForward::Never, Uncommitted::Bring)).unwrap();
    assert!(!merged.is_fast_forward);
    assert_eq!(home.git(&["rev-list", "--parents", "-1", "HEAD"]).split_whitespace().count(), 3);
}

#[test]
fn picked_commits_keep_their_authors_and_messages() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    git(&top, &["reset", "--quiet"]);
    let first = commit(&top, "clean", "1\n2\n3\n4\n5\n6\n7\n8\nchild\n");
    let second = commit(&top, "run.sh", "echo child\n");
    let third = commit(&top, "a.txt", "child\n");
    home.write("other", "parent\n");
    home.git(&["add", "other"]);
    home.git(&["commit", "--quiet", "--message=third", "--", "other"]);
    let before = status(&home);
    let picked = pick(&home, &worktree, &[third, first.clone()]).unwrap();
    assert_eq!(picked.commits.len(), 2);
    assert_eq!(status(&home), before);
    insta::assert_snapshot!(log(&home), @"
    * change a.txt | Ada 1746414305 | Somebody 1767225600
    * change clean | Ada 1746414305 | Somebody 1767225600
    ");
    assert_eq!(read(&home, "run.sh"), "echo run\n");
    let rest = pick(&home, &worktree, &[]).unwrap();
    assert_eq!(rest.skipped.len(), 2, "what is there already is left out");
    assert_eq!(rest.commits.iter().map(|made| &made.commit).collect::<Vec<_>>(), [&second]);
    assert_eq!(read(&home, "run.sh"), "echo child\n");
    let other = Commit::parse(&home.git(&["rev-parse", "HEAD~3"])).unwrap();
    let error = pick(&home, &worktree, &[other]).unwrap_err().to_string();
    assert!(error.ends_with("is no commit of this work"), "{error}");
}

#[test]
fn with_a_conflict_anywhere_nothing_changes() {
    let child = "1\nchild\n3\n4\n5\n6\n7\n8\n9\n";
    let parent = "1\nparent\n3\n4\n5\n6\n7\n8\n9\n";
    let mut shown = Vec::new();
    for place in ["commits", "files", "index", "new"] {
        let home = dirty();
        let worktree = home.fork("one", Start::State).unwrap();
        let top = worktree.repository().top().to_owned();
        commit(&top, "clean", child);
        match place {
            "commits" => {
                home.write("clean", parent);
                home.git(&["commit", "--quiet", "--message=third", "--", "clean"]);
            }
            "files" => home.write("clean", parent),
            "index" => {
                home.write("clean", parent);
                home.git(&["add", "clean"]);
                home.write("clean", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
            }
            _ => {
                commit(&top, "place", "child\n");
                home.write("place/file", "parent\n");
            }
        }
        let before = untouched(&home.top());
        let merged = merge(&home, &worktree).unwrap();
        assert_eq!(merged.outcome, Outcome::Conflicts, "{place}");
        assert_eq!(untouched(&home.top()), before, "{place}");
        for conflict in &merged.conflicts {
            let path = conflict.path.display();
            shown.push(format!("{place}: {path} {:?} {:?}", conflict.place, conflict.kind));
        }
        if place == "commits" {
            let picked = pick(&home, &worktree, &[]).unwrap();
            assert_eq!((picked.outcome, picked.conflicts), (Outcome::Conflicts, merged.conflicts));
            let last = git(&top, &["rev-parse", "HEAD"]);
            assert_eq!(picked.stopped_at, Some(Commit::parse(&last).unwrap()));
        }
    }
    insta::assert_snapshot!(shown.join("\n"), @"
    commits: clean Commits Content
    files: clean Files Content
    index: clean Index Content
    new: place Files FileDirectory
    ");
}

fn refused(home: &Home, worktree: &Worktree) -> String {
    let before = untouched(&home.top());
    let error = merge_with(home, worktree, (FastForward::Never, Uncommitted::Bring)).unwrap_err();
    assert_eq!(untouched(&home.top()), before);
    match error {
        WorktreeError::Obstructed(obstacle) => format!("{obstacle}; {}", obstacle.hint()),
        error => panic!("{error}"),
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let mut shown = Vec::new();
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    write(worktree.repository().top(), "clean", "not committed\n");
    shown.push(refused(&home, &worktree));
    commit(worktree.repository().top(), "clean", "committed\n");
    fs::write(home.top().join(".git/index.lock"), "").unwrap();
    shown.push(refused(&home, &worktree).replace(&home.path().display().to_string(), "HOME"));
    fs::remove_file(home.top().join(".git/index.lock")).unwrap();
    home.git(&["config", "user.name", ""]);
    shown.push(refused(&home, &worktree));
    home.git(&["config", "user.name", "Somebody"]);
    home.git(&["reset", "--quiet", "--hard"]);
    home.git(&["checkout", "--quiet", "-b", "side"]);
    commit(&home.top(), "a.txt", "side\n");
    home.git(&["checkout", "--quiet", "main"]);
    commit(&home.top(), "a.txt", "main\n");
    assert!(!try_git(&home.top(), &["merge", "side"]).0);
    home.git(&["add", "a.txt"]);
    shown.push(refused(&home, &worktree));

    let empty = Home::empty();
    empty.write("first", "first\n");
    let worktree = empty.fork("one", Start::State).unwrap();
    commit(worktree.repository().top(), "second", "second\n");
    shown.push(refused(&empty, &worktree));
    insta::assert_snapshot!(shown.join("\n"), @"
    the work has no commits; apply the files instead
    another git command holds `HOME/repository/.git/index.lock`; wait until it is done; if none runs, remove the file and try again
    git knows no name and no address for commits here; set user.name and user.email with `git config`
    the checkout is in the middle of a merge; end it with git, or abort it, and try again
    the checkout has no commit yet; apply the files, or commit something first
    ");
}

#[test]
fn work_from_before_the_first_commit_cannot_be_merged_and_says_what_can_be_done() {
    let home = Home::empty();
    home.write("a.txt", "a\n");
    let worktree = home.fork("one", Start::State).unwrap();
    commit(worktree.repository().top(), "b.txt", "b\n");
    home.git(&["add", "--all"]);
    home.git(&["commit", "--quiet", "-m", "first"]);
    let before = untouched(&home.top());
    let error = merge(&home, &worktree).unwrap_err();
    assert_eq!(error.to_string(), "the work and the checkout have no commit in common");
    assert_eq!(untouched(&home.top()), before);
    assert_eq!(pick(&home, &worktree, &[]).unwrap().outcome, Outcome::Written);
}

/// What is refused, by its names; empty if it is not.
fn unfinished(home: &Home, worktree: &Worktree) -> String {
    let before = untouched(&home.top());
    let how = (FastForward::WherePossible, Uncommitted::Refuse);
    match merge_with(home, worktree, how) {
        Ok(_) => String::new(),
        Err(WorktreeError::Obstructed(Obstacle::Unfinished(paths))) => {
            assert_eq!(untouched(&home.top()), before);
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            names.join(" ")
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_the_user_has_not_committed_comes_with_no_commit_unless_it_is_asked_for() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    // The worker commits all that it finds, as workers do.
    git(&top, &["add", "--all"]);
    commit_staged(&top, "all");
    assert_eq!(unfinished(&home, &worktree), "both changed later new staged");
    let picked = pick(&home, &worktree, &[]).unwrap_err().to_string();
    assert!(picked.ends_with("when the fork was made: both, changed, later, new, staged"));
    // What the user commits meanwhile is no secret any more, nor with more beside it.
    home.git(&["add", "new"]);
    home.write("changed", "1\nchanged\n3\n4\n5\n6\n7\n8\nmore\n");
    home.git(&["commit", "--quiet", "--message=mine", "--", "new", "changed"]);
    assert_eq!(unfinished(&home, &worktree), "both later staged");
    let merged = merge(&home, &worktree).unwrap();
    let came: Vec<_> = merged.unfinished.iter().map(|path| path.to_str().unwrap()).collect();
    assert_eq!((merged.outcome, came.join(" ").as_str()), (Outcome::Written, "both later staged"));
    assert_eq!(merge(&home, &worktree).unwrap().unfinished.len(), 0);
}

#[test]
fn each_commit_is_looked_at_and_each_part_of_a_file() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    git(&top, &["reset", "--quiet"]);
    let first = commit(&top, "clean", "of the child\n");
    // One line of two, and a file that goes again at once.
    commit(&top, "both", "1\nstaged\n3\n4\n5\n6\n7\n8\n9\n");
    git(&top, &["add", "new"]);
    commit_staged(&top, "with the notes");
    git(&top, &["rm", "--quiet", "--cached", "new"]);
    let last = commit(&top, "run.sh", "echo child\n");
    assert_eq!(unfinished(&home, &worktree), "both new");
    // Those that have nothing of it can be picked.
    git(&top, &["reset", "--quiet"]);
    pick(&home, &worktree, &[first]).unwrap();
    pick(&home, &worktree, &[last]).unwrap();
    assert_eq!(
        (read(&home, "run.sh"), read(&home, "new")),
        ("echo child\n".into(), "new\n".into())
    );
}

#[test]
fn a_deletion_that_is_not_committed_is_the_users_too() {
    let home = Home::new();
    fs::remove_file(home.top().join("run.sh")).unwrap();
    home.write("a.txt", "mine\n");
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    git(&top, &["rm", "--quiet", "--force", "a.txt"]);
    commit_staged(&top, "a deletion of the worker's");
    assert_eq!(unfinished(&home, &worktree), "");
    git(&top, &["add", "--all"]);
    commit_staged(&top, "and one of the user's");
    assert_eq!(unfinished(&home, &worktree), "run.sh");
}
