//! A worktree is made, worked in, removed and brought back.

use std::fs;
use std::path::Path;

use tine_worktree::{FoundState, Holds, Name, Repository, Start, Worktree};

use crate::looks::{holds, looks};
use crate::support::{Home, NOW_MS, git, held, untouched, write};

fn dirty() -> Home {
    let home = Home::new();
    home.write("a.txt", "one\ntwo\nTHREE\nfour\nfive\n");
    home.git(&["add", "a.txt"]);
    home.write("a.txt", "one\ntwo\nTHREE\nfour\nFIVE\n");
    home.write("new file.txt", "nobody knows me\n");
    home.write(".gitignore", "*.log\n");
    home.write("debug.log", "ignored\n");
    fs::remove_file(home.top().join("run.sh")).unwrap();
    std::os::unix::fs::symlink("a.txt", home.top().join("link")).unwrap();
    home.git(&["mv", "src/lib.rs", "src/library.rs"]);
    home
}

#[test]
fn a_worktree_is_what_the_checkout_is_and_leaves_it_alone() {
    let home = dirty();
    let before = untouched(&home.top());
    let worktree = home.fork("one", Start::State).unwrap();
    assert_eq!(untouched(&home.top()), before);
    fs::remove_file(home.top().join("debug.log")).unwrap();
    assert_eq!(looks(worktree.repository().top()), looks(&home.top()));
    let head = git(worktree.repository().top(), &["rev-parse", "--abbrev-ref", "HEAD"]);
    assert_eq!(head.trim(), "HEAD", "no branch is made");
    let again =
        Worktree::of(home.repository().common_dir(), worktree.name(), worktree.repository().top())
            .unwrap();
    assert_eq!((again.name(), again.start()), (worktree.name(), worktree.start()));
    assert!(again.is_unchanged(&again.state(NOW_MS).unwrap()));
}

#[test]
fn clean_is_the_last_commit_and_a_base_is_any() {
    let home = dirty();
    home.git(&["tag", "v1"]);
    home.git(&["commit", "--quiet", "-m", "second"]);
    let before = untouched(&home.top());
    let clean = home.fork("clean", Start::Clean).unwrap();
    let based = home.fork("based", Start::At("v1".to_owned())).unwrap();
    assert_eq!(untouched(&home.top()), before);
    for (worktree, commit) in [(&clean, "main"), (&based, "v1")] {
        let top = worktree.repository().top();
        assert_eq!(git(top, &["status", "--porcelain"]), "");
        assert_eq!(git(top, &["rev-parse", "HEAD"]), home.git(&["rev-parse", commit]));
    }
    let error = home.fork("other", Start::At("nothing".to_owned())).unwrap_err();
    assert_eq!(error.to_string(), "`nothing` names no commit here");
}

#[test]
fn an_unchanged_worktree_goes_without_a_trace_and_a_changed_one_is_kept() {
    let home = dirty();
    let before = untouched(&home.top());
    let same = home.fork("same", Start::State).unwrap();
    assert_eq!(same.remove(NOW_MS).unwrap(), None);
    let changed = home.fork("changed", Start::State).unwrap();
    let top = changed.repository().top().to_owned();
    write(&top, "work.txt", "work\n");
    git(&top, &["add", "work.txt"]);
    git(&top, &["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "-m", "work"]);
    write(&top, "more.txt", "more\n");
    let was = holds(&top);
    assert!(changed.remove(NOW_MS).unwrap().is_some());
    assert!(!top.exists());
    assert_eq!(home.repository().worktrees().unwrap(), []);
    assert_eq!(untouched(&home.top()), before);

    let name = Name::new("changed").unwrap();
    let kept = home.repository().kept_refs().unwrap();
    assert_eq!(
        kept.iter().map(|kept| (kept.name.as_str(), kept.holds)).collect::<Vec<_>>(),
        [("changed", Holds::Work)],
        "of what was unchanged no ref is left"
    );
    let back = home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
    assert_eq!(holds(back.repository().top()), was);
    assert!(!back.is_unchanged(&back.state(NOW_MS).unwrap()));
    let error = home.repository().recover(&name, top, NOW_MS).unwrap_err();
    assert_eq!(error.to_string(), "there is a worktree `changed` already");
    // It begins as the checkout stands by then.
    home.write("new file.txt", "somebody knows me\n");
    let same = Name::new("same").unwrap();
    let anew = home.repository().recover(&same, home.place("same"), NOW_MS).unwrap();
    assert_eq!(
        holds(anew.repository().top()),
        holds(&home.top()).replace("debug.log 100644 \"ignored\\n\"\n", "")
    );
}

#[test]
fn what_a_crash_leaves_is_found_and_tidied() {
    let home = dirty();
    let before = untouched(&home.top());
    let worktree = home.fork("half", Start::State).unwrap();
    let (git_dir, top) =
        (worktree.repository().git_dir().to_owned(), worktree.repository().top().to_owned());
    let state = || {
        home.repository()
            .worktrees()
            .unwrap()
            .into_iter()
            .map(|found| found.state)
            .collect::<Vec<_>>()
    };
    let name = Name::new("half").unwrap();
    assert_eq!(state(), [FoundState::Ready]);
    assert!(!home.repository().tidy(&name, &top).unwrap(), "what is ready stays");
    fs::rename(git_dir.join("tine.json"), git_dir.join("tine-leaving.json")).unwrap();
    assert_eq!(state(), [FoundState::Leaving]);
    fs::remove_file(git_dir.join("tine-leaving.json")).unwrap();
    assert_eq!(state(), [FoundState::Unfinished]);
    assert!(home.repository().worktree(&name, &top).is_err());
    assert!(home.repository().tidy(&name, &top).unwrap());
    assert_eq!(state(), []);
    assert!(!top.exists());
    assert_eq!(untouched(&home.top()), before);
    // The name is free again.
    let again = home.fork("half", Start::State).unwrap();
    fs::remove_dir_all(again.repository().top()).unwrap();
    assert_eq!(state(), [FoundState::Gone]);
    let back = home.repository().recover(&name, top, NOW_MS).unwrap();
    assert_eq!(
        holds(back.repository().top()),
        holds(&home.top()).replace("debug.log 100644 \"ignored\\n\"\n", "")
    );
}

#[test]
fn a_worktree_of_a_worktree_is_one_like_any_other() {
    let home = dirty();
    let one = home.fork("one", Start::State).unwrap();
    write(one.repository().top(), "of one.txt", "one\n");
    let before = untouched(one.repository().top());
    let new = home.new_worktree("two", Start::State);
    let two = Repository::at(one.repository().top()).unwrap().fork(&new).unwrap();
    assert_eq!(untouched(one.repository().top()), before);
    assert_eq!(looks(two.repository().top()), looks(one.repository().top()));
    assert_eq!(two.origin(), one.repository().top());
}

#[test]
fn ignored_files_come_along_where_they_are_asked_for() {
    let home = dirty();
    home.write(".gitignore", "*.log\nbuild/\n.env\n");
    home.write("build/out/big", "big\n");
    home.write(".env", "KEY=1\n");
    home.write(".worktreeinclude", "# what a build needs\n.env\nbuild/out/\n");
    let worktree = home.fork("one", Start::State).unwrap();
    let clean = home.fork("two", Start::Clean).unwrap();
    for worktree in [&worktree, &clean] {
        let has = |name: &str| worktree.repository().top().join(name).exists();
        assert_eq!([".env", "build/out/big", "debug.log"].map(has), [true, true, false]);
    }
    assert!(worktree.is_unchanged(&worktree.state(NOW_MS).unwrap()));
}

#[test]
fn ignored_files_that_came_along_and_were_changed_come_back_as_they_were() {
    let home = dirty();
    home.write(".gitignore", "*.log\n*.env\nlocal/\n");
    for name in ["a.env", "b.env", "c.env", "local/deep.env"] {
        home.write(name, "KEY=1\n");
    }
    home.write(".worktreeinclude", "*.env\n");
    let worktree = home.fork("one", Start::State).unwrap();
    let (name, top) = (worktree.name().clone(), worktree.repository().top().to_owned());
    let ignored = |worktree: &Worktree| -> Vec<String> {
        let changed = worktree.ignored().unwrap();
        changed.iter().map(|path| path.display().to_string()).collect()
    };
    assert_eq!(ignored(&worktree), [""; 0]);
    write(&top, "a.env", "KEY=2\n");
    fs::remove_file(top.join("b.env")).unwrap();
    write(&top, "local/new.env", "KEY=3\n");
    write(&top, "other.log", "nobody asked for it\n");
    // Who looks at it follows no link: what is elsewhere is not the worker's.
    fs::remove_file(top.join("c.env")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", top.join("c.env")).unwrap();
    assert!(worktree.is_unchanged(&worktree.state(NOW_MS).unwrap()));
    assert_eq!(ignored(&worktree), ["a.env", "b.env", "c.env", "local/new.env"]);
    assert!(worktree.remove(NOW_MS).unwrap().is_some());
    assert_eq!(home.repository().kept_ignored(&name).unwrap().len(), 4);

    // What stands in the checkout by now is not what the worker had.
    home.write("a.env", "KEY=9\n");
    home.write("local/deep.env", "KEY=9\n");
    let back = home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
    let text = |name: &str| fs::read_to_string(top.join(name)).unwrap();
    assert_eq!(
        ["a.env", "local/deep.env", "local/new.env"].map(text),
        ["KEY=2\n", "KEY=1\n", "KEY=3\n"]
    );
    assert_eq!(fs::read_link(top.join("c.env")).unwrap(), Path::new("/etc/hostname"));
    assert!(!top.join("b.env").exists() && !top.join("other.log").exists());
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(top.join("a.env")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600, "it may hold a secret");
    assert_eq!(ignored(&back), ["a.env", "b.env", "c.env", "local/new.env"]);

    // As it came along again, there is nothing to be held.
    for name in ["a.env", "b.env"] {
        write(&top, name, "KEY=1\n");
    }
    fs::remove_file(top.join("local/new.env")).unwrap();
    fs::remove_file(top.join("c.env")).unwrap();
    write(&top, "c.env", "KEY=1\n");
    assert_eq!(back.hold_ignored(NOW_MS).unwrap(), Vec::<std::path::PathBuf>::new());
    assert_eq!(home.repository().kept_ignored(&name).unwrap().len(), 0);
    back.remove(NOW_MS).unwrap();
    home.repository().forget(&name).unwrap();
    assert_eq!(home.git(&["for-each-ref", "refs/tine"]), "");
}

#[test]
fn a_worktree_that_lost_only_its_link_is_ready_again_as_it_stands() {
    let home = dirty();
    let worktree = home.fork("one", Start::State).unwrap();
    let (name, top) = (worktree.name().clone(), worktree.repository().top().to_owned());
    write(&top, "work.txt", "work\n");
    let was = holds(&top);
    let repository = home.repository();
    assert!(!repository.link_again(&name, &top).unwrap(), "it has its link");
    fs::remove_file(top.join(".git")).unwrap();
    assert!(!repository.link_again(&Name::new("two").unwrap(), &top).unwrap());
    assert!(repository.link_again(&name, &top).unwrap());
    assert_eq!(holds(&top), was);
    let found = repository.worktree(&name, &top).unwrap();
    assert!(!found.is_unchanged(&found.state(NOW_MS).unwrap()));
    assert!(found.remove(NOW_MS).unwrap().is_some());
    assert!(!repository.link_again(&name, &top).unwrap());
}

#[test]
fn what_a_setup_makes_of_ignored_files_is_no_work() {
    let home = dirty();
    home.write(".gitignore", "*.env\n");
    home.write("a.env", "KEY=1\n");
    home.write(".worktreeinclude", "*.env\n");
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, "a.env", "KEY=2\n");
    let worktree = worktree.begin(NOW_MS).unwrap();
    assert_eq!(worktree.ignored().unwrap().len(), 0);
    write(&top, "a.env", "KEY=3\n");
    assert_eq!(worktree.ignored().unwrap().len(), 1);
    home.fork("two", Start::State).unwrap();
}

#[test]
fn a_worktree_is_forked_without_believing_it() {
    let home = dirty();
    let one = home.fork("one", Start::State).unwrap();
    write(one.repository().top(), "of one.txt", "one\n");
    let top = one.repository().top().to_owned();
    git(&top, &["add", "--all"]);
    git(&top, &["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "-m", "work"]);
    write(&top, "more.txt", "more\n");
    let before = untouched(&top);
    let found = home.repository().worktree(one.name(), one.repository().top()).unwrap();
    let two = found.repository().fork(&home.new_worktree("two", Start::State)).unwrap();
    let clean = found.repository().fork(&home.new_worktree("three", Start::Clean)).unwrap();
    assert_eq!(untouched(&top), before);
    assert_eq!(looks(two.repository().top()), looks(&top));
    let head = |top: &std::path::Path| git(top, &["rev-parse", "HEAD"]);
    assert_eq!(head(clean.repository().top()), head(&top));
    assert!(
        home.repository()
            .worktree(two.name(), two.repository().top())
            .unwrap()
            .is_unchanged(two.start())
    );
}

#[test]
fn a_change_in_the_second_in_which_the_index_was_written_is_seen() {
    let home = Home::new();
    // Git compares seconds; what it knows of the file is the same before and after the change.
    home.git(&["config", "core.trustctime", "false"]);
    let second = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000);
    let age = |name: &str| {
        let file = fs::File::options().write(true).open(home.top().join(name)).unwrap();
        file.set_modified(second).unwrap();
    };
    home.write("src/lib.rs", "fn one() {}\n");
    age("src/lib.rs");
    home.git(&["add", "src/lib.rs"]);
    home.write("src/lib.rs", "fn two() {}\n");
    age("src/lib.rs");
    age(".git/index");
    let snapshot = home.repository().snapshot(NOW_MS).unwrap();
    assert_eq!(home.git(&["show", &format!("{}:src/lib.rs", snapshot.work)]), "fn two() {}\n");
}

fn commit_in(top: &std::path::Path, name: &str) -> String {
    write(top, name, name);
    git(top, &["add", "--all"]);
    git(top, &["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "-m", name]);
    git(top, &["rev-parse", "HEAD"])
}

#[test]
fn commits_of_a_worktree_whose_files_somebody_removed_come_back() {
    let home = dirty();
    let name = Name::new("one").unwrap();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    write(&top, "never added.txt", "only in what was kept\n");
    worktree.hold(&worktree.state(NOW_MS).unwrap()).unwrap();
    let kept_before = home.repository().kept(&name).unwrap().1.unwrap().work;
    fs::rename(top.join("never added.txt"), home.path().join("aside")).unwrap();
    let commit = commit_in(&top, "work.txt");
    write(&top, "staged.txt", "staged\n");
    git(&top, &["add", "staged.txt"]);
    fs::remove_dir_all(&top).unwrap();
    assert!(home.repository().tidy(&name, &top).unwrap());
    assert_eq!(home.repository().worktrees().unwrap(), []);
    // What was kept before is found by what is kept now.
    let end = home.git(&["rev-parse", "refs/tine/one/end^3"]);
    assert_eq!(end.trim(), kept_before.as_str());

    home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
    assert_eq!(git(&top, &["rev-parse", "HEAD"]), commit);
    let read = |name: &str| fs::read_to_string(top.join(name)).unwrap();
    assert_eq!(["work.txt", "staged.txt"].map(read), ["work.txt", "staged\n"]);
    assert_eq!(read("never added.txt"), "only in what was kept\n");
    assert_eq!(git(&top, &["diff", "--cached", "--name-only"]), "staged.txt\n");
}

#[test]
fn what_was_kept_is_not_replaced_by_what_git_knew_before() {
    let home = dirty();
    let name = Name::new("one").unwrap();
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    // Nothing was done: what it started from comes back.
    let was = holds(&top);
    fs::remove_dir_all(&top).unwrap();
    assert!(home.repository().tidy(&name, &top).unwrap());
    assert_eq!(home.repository().kept(&name).unwrap().1, None);
    let worktree = home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
    assert_eq!(holds(&top), was);
    // What was kept has the commit, and files that git does not know.
    commit_in(&top, "work.txt");
    write(&top, "more.txt", "more\n");
    let was = holds(&top);
    worktree.hold(&worktree.state(NOW_MS).unwrap()).unwrap();
    let kept = home.repository().kept(&name).unwrap().1;
    fs::remove_dir_all(&top).unwrap();
    home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
    assert_eq!((holds(&top), home.repository().kept(&name).unwrap().1), (was, kept));
}

#[test]
fn what_a_commit_has_goes_before_what_is_ignored_and_included() {
    let home = Home::new();
    home.git(&["checkout", "--quiet", "-b", "other"]);
    home.write(".env", "of the commit\n");
    home.write("cache", "a file\n");
    std::os::unix::fs::symlink(home.path().join("outside"), home.top().join("link")).unwrap();
    home.git(&["add", "--all"]);
    home.git(&["commit", "--quiet", "-m", "other"]);
    home.git(&["checkout", "--quiet", "main"]);
    fs::create_dir(home.path().join("outside")).unwrap();
    home.write(".gitignore", ".env\ncache/\nlink/\nbuild/\n");
    home.write(".worktreeinclude", ".env\ncache/\nlink/\nbuild/\n");
    for file in [".env", "cache/one", "link/two", "build/three"] {
        home.write(file, "of the checkout\n");
    }
    let worktree = home.fork("one", Start::At("other".to_owned())).unwrap();
    let read = |name: &str| fs::read_to_string(worktree.repository().top().join(name)).unwrap();
    assert_eq!(
        [".env", "cache", "build/three"].map(read),
        ["of the commit\n", "a file\n", "of the checkout\n"]
    );
    assert_eq!(fs::read_dir(home.path().join("outside")).unwrap().count(), 0);
}

#[test]
fn what_makes_a_worktree_ready_is_no_work() {
    let home = Home::new();
    home.write("a.txt", "staged\n");
    home.git(&["add", "a.txt"]);
    let made = home.fork("child", Start::State).unwrap();
    let (name, top) = (made.name().clone(), made.repository().top().to_owned());
    let find = || home.repository().worktree(&name, &top).unwrap();
    let (first, unchanged) = (made.start().clone(), find().begin(NOW_MS).unwrap());
    assert_eq!(unchanged.start(), &first);
    write(&top, "lock", "1\n");
    write(&top, "src/lib.rs", "fn ready() {}\n");
    git(&top, &["rm", "--quiet", "run.sh"]);
    let begun = find().begin(NOW_MS).unwrap();
    assert_eq!(begun.start().base, first.base);
    assert_eq!(begun.start(), find().start(), "by the ref");
    let changes = |from: &Worktree| {
        let changes = home.repository().changes(from.start(), &from.state(NOW_MS).unwrap());
        let paths = changes.unwrap().files.into_iter().map(|file| file.path.display().to_string());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(changes(&begun), [""; 0]);
    write(&top, "src/lib.rs", "fn work() {}\n");
    assert_eq!(changes(&begun), ["src/lib.rs"]);
    let before = held(&top);
    begun.remove(NOW_MS).unwrap();
    let back = home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
    assert_eq!((held(&top), changes(&back)), (before, vec!["src/lib.rs".to_owned()]));
    write(&top, "src/lib.rs", "fn ready() {}\n");
    find().remove(NOW_MS).unwrap();
    home.repository().forget(&name).unwrap();
    assert_eq!(home.git(&["for-each-ref", "refs/tine/"]), "");
}

#[test]
fn one_whose_note_is_lost_goes_when_its_files_are_gone_and_its_commits_stay() {
    for spoil in [
        |own: &Path| fs::write(own.join("tine.json"), "{").unwrap(),
        |own: &Path| {
            fs::remove_file(own.join("tine.json")).unwrap();
            fs::remove_file(own.join("locked")).unwrap();
        },
    ] {
        let home = dirty();
        let worktree = home.fork("one", Start::State).unwrap();
        let (name, top) = (worktree.name().clone(), worktree.repository().top().to_owned());
        let commit = commit_in(&top, "work.txt");
        spoil(worktree.repository().git_dir());
        let before = holds(&top);
        assert!(!home.repository().tidy(&name, &top).unwrap(), "its files are there");
        assert_eq!((holds(&top), home.repository().worktrees().unwrap()), (before, vec![]));
        fs::remove_dir_all(&top).unwrap();
        let elsewhere = home.place("two");
        assert!(!home.repository().tidy(&name, &elsewhere).unwrap(), "it is another's");
        assert!(home.repository().tidy(&name, &top).unwrap());
        assert!(!worktree.repository().git_dir().exists());
        home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
        assert_eq!(git(&top, &["rev-parse", "HEAD"]), commit);
    }
}
