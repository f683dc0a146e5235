//! Every state that a checkout can be in: a worktree is made of it, or it is refused by name and nothing is made.

use std::fs;
use std::path::Path;

use tine_worktree::{Repository, Start, Worktree};

use crate::looks::{holds, looks};
use crate::support::{Home, NOW_MS, git, try_git, untouched, write};

fn commit(home: &Home, name: &str, content: &str) {
    home.write(name, content);
    home.git(&["add", "--all"]);
    home.git(&["commit", "--quiet", "-m", name]);
}

/// Two branches that both changed one line of one file; `main` is checked out.
fn diverged() -> Home {
    let home = Home::new();
    home.git(&["checkout", "--quiet", "-b", "side"]);
    commit(&home, "a.txt", "one\nside\nthree\n");
    home.git(&["checkout", "--quiet", "main"]);
    commit(&home, "a.txt", "one\nmain\nthree\n");
    home
}

fn works(home: &Home) -> Worktree {
    let before = untouched(&home.top());
    let worktree = home.fork("child", Start::State).unwrap();
    assert_eq!(untouched(&home.top()), before);
    assert_eq!(looks(worktree.repository().top()), looks(&home.top()));
    worktree
}

fn refused(home: &Home) -> String {
    let before = untouched(&home.top());
    let error = home.fork("child", Start::State).unwrap_err();
    assert_eq!(untouched(&home.top()), before);
    assert!(!home.path().join("worktrees").exists(), "nothing is made");
    assert_eq!(git(&home.top(), &["for-each-ref", "refs/tine/"]), "");
    error.to_string().replace(&home.path().display().to_string(), "[HOME]")
}

#[test]
fn without_a_commit_it_works() {
    let home = Home::empty();
    works(&home);
    let home = Home::empty();
    home.write("a.txt", "staged\n");
    home.git(&["add", "a.txt"]);
    home.write("b.txt", "not staged\n");
    let before = untouched(&home.top());
    let worktree = home.fork("child", Start::State).unwrap();
    assert_eq!(untouched(&home.top()), before);
    let status = |top: &std::path::Path| git(top, &["status", "--porcelain"]);
    assert_eq!(status(worktree.repository().top()), status(&home.top()));
}

#[test]
fn with_a_detached_head_it_works() {
    let home = diverged();
    home.git(&["checkout", "--quiet", "--detach", "HEAD~1"]);
    home.write("b.txt", "b\n");
    works(&home);
}

#[test]
fn in_a_bisect_it_works() {
    let home = diverged();
    commit(&home, "b.txt", "b\n");
    commit(&home, "c.txt", "c\n");
    home.git(&["bisect", "start", "HEAD", "HEAD~3"]);
    home.write("d.txt", "d\n");
    works(&home);
}

#[test]
fn a_merge_without_conflicts_works_and_one_with_them_is_refused() {
    let home = diverged();
    home.git(&["checkout", "--quiet", "-b", "other", "main~1"]);
    commit(&home, "b.txt", "b\n");
    home.git(&["merge", "--no-commit", "--no-ff", "--quiet", "side"]);
    works(&home);
    let home = diverged();
    assert!(!try_git(&home.top(), &["merge", "side"]).0);
    insta::assert_snapshot!(refused(&home), @"a.txt is in conflict, in the middle of a merge");
    let clean = home.fork("clean", Start::Clean).unwrap();
    assert_eq!(git(clean.repository().top(), &["status", "--porcelain"]), "");
}

#[test]
fn a_rebase_and_its_kin_are_refused_while_files_are_in_conflict() {
    let conflicts: [(&[&str], &str); 3] = [
        (&["rebase", "side"], "rebase"),
        (&["cherry-pick", "side"], "cherry-pick"),
        (&["revert", "--no-edit", "HEAD~1"], "revert"),
    ];
    for (command, name) in conflicts {
        let home = diverged();
        if name == "revert" {
            commit(&home, "a.txt", "one\nagain\nthree\n");
        }
        assert!(!try_git(&home.top(), command).0, "{name}");
        assert_eq!(refused(&home), format!("a.txt is in conflict, in the middle of a {name}"));
        // Once that is settled, in whatever way, it works.
        home.git(&["add", "a.txt"]);
        works(&home);
    }
}

#[test]
fn submodules_stay_at_their_commits_and_those_with_files_are_named() {
    let home = Home::new();
    let other = Home::new();
    let url = other.top().display().to_string();
    home.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        &url,
        "libs/other",
    ]);
    home.git(&["commit", "--quiet", "-m", "with a submodule"]);
    // Changes inside, staged and not, and a commit that is not staged outside.
    home.write("libs/other/a.txt", "changed inside\n");
    git(&home.top().join("libs/other"), &["add", "a.txt"]);
    let author = ["-c", "user.name=x", "-c", "user.email=x"];
    git(
        &home.top().join("libs/other"),
        &[&author[..], &["commit", "--quiet", "-m", "in"]].concat(),
    );
    home.write("libs/other/run.sh", "also changed\n");
    home.write("a.txt", "changed outside\n");
    let before = untouched(&home.top());
    for start in [Start::State, Start::Clean] {
        let worktree = home.fork("child", start.clone()).unwrap();
        assert_eq!(untouched(&home.top()), before);
        assert_eq!(home.repository().submodules().unwrap(), [Path::new("libs/other")]);
        let (repository, top) = (worktree.repository(), worktree.repository().top().to_owned());
        assert_eq!(repository.submodules().unwrap(), [""; 0].map(std::path::PathBuf::from));
        assert_eq!(repository.empty_submodules().unwrap(), [Path::new("libs/other")]);
        assert_eq!(fs::read_dir(top.join("libs/other")).unwrap().count(), 0);
        let staged = |top: &Path| git(top, &["ls-files", "--stage", "libs"]);
        assert_eq!(staged(&top), staged(&home.top()));
        let status = if start == Start::State { " M a.txt\n" } else { "" };
        assert_eq!(git(&top, &["status", "--porcelain"]), status);
        // Nothing of it is work, and it goes and comes back.
        assert!(worktree.is_unchanged(&worktree.state(NOW_MS).unwrap()));
        write(&top, "work.txt", "work\n");
        let (name, held) = (worktree.name().clone(), holds(&top));
        worktree.remove(NOW_MS).unwrap();
        let back = home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
        assert_eq!(holds(&top), held);
        assert_eq!(staged(&top), staged(&home.top()));
        back.remove(NOW_MS).unwrap();
        home.repository().forget(&name).unwrap();
    }
    home.git(&["submodule", "--quiet", "deinit", "--force", "--all"]);
    works(&home);
}

#[test]
fn repositories_inside_are_refused_by_name() {
    let home = Home::new();
    fs::create_dir_all(home.top().join("vendor/inner")).unwrap();
    git(&home.top().join("vendor/inner"), &["init", "--quiet"]);
    home.write("vendor/inner/file", "content\n");
    insta::assert_snapshot!(refused(&home), @"the checkout holds other repositories: vendor/inner");
    let inner = home.top().join("vendor/inner");
    git(&inner, &["add", "."]);
    git(&inner, &["-c", "user.name=x", "-c", "user.email=x", "commit", "--quiet", "-m", "inner"]);
    insta::assert_snapshot!(refused(&home), @"the checkout holds other repositories: vendor/inner");
    home.write(".gitignore", "vendor/\n");
    let worktree = home.fork("child", Start::State).unwrap();
    assert!(!worktree.repository().top().join("vendor").exists(), "what is ignored stays behind");
}

#[test]
fn sparse_checkouts_stay_sparse() {
    for cone in ["--cone", "--no-cone"] {
        let home = Home::new();
        commit(&home, "docs/page.md", "page\n");
        home.git(&["sparse-checkout", "set", cone, "src"]);
        assert!(!home.top().join("docs").exists());
        home.write("src/lib.rs", "fn changed() {}\n");
        home.write("src/new.rs", "fn new() {}\n");
        works(&home);
    }
}

#[test]
fn what_the_index_was_told_of_files_is_kept() {
    let home = Home::new();
    home.write("later.txt", "later\n");
    home.git(&["add", "--intent-to-add", "later.txt"]);
    home.git(&["update-index", "--assume-unchanged", "src/lib.rs"]);
    home.git(&["update-index", "--skip-worktree", "run.sh"]);
    works(&home);
    let home = Home::new();
    home.git(&["config", "core.splitIndex", "true"]);
    home.git(&["update-index", "--split-index"]);
    home.write("a.txt", "changed\n");
    home.git(&["add", "a.txt"]);
    works(&home);
}

/// Whoever works in a worktree could hide there what is to be kept, knowingly or not; and so could the user.
#[test]
fn what_git_was_told_to_overlook_is_there_all_the_same() {
    for told in ["--assume-unchanged", "--skip-worktree"] {
        let home = Home::new();
        home.git(&["update-index", told, "src/lib.rs", "a.txt"]);
        home.write("src/lib.rs", "fn hidden() {}\n");
        let worktree = works(&home);
        let top = worktree.repository().top().to_owned();
        let read = || fs::read_to_string(top.join("src/lib.rs")).unwrap();
        assert_eq!(read(), "fn hidden() {}\n", "{told}");
        let begun = worktree.state(NOW_MS).unwrap();
        assert!(worktree.is_unchanged(&begun), "{told}");
        write(&top, "src/lib.rs", "fn work() {}\n");
        git(&top, &["update-index", told, "run.sh"]);
        write(&top, "run.sh", "echo work\n");
        let state = worktree.state(NOW_MS).unwrap();
        assert_eq!(worktree.progress(&state).unwrap(), (2, 0), "{told}");
        let name = worktree.name().clone();
        worktree.remove(NOW_MS).unwrap();
        home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
        assert_eq!(read(), "fn work() {}\n", "{told}");
        assert_eq!(fs::read_to_string(top.join("run.sh")).unwrap(), "echo work\n", "{told}");
    }
}

#[test]
fn files_are_the_same_bytes_whatever_filters_stand_between() {
    let home = Home::new();
    home.write(".gitattributes", "*.txt text eol=crlf\n*.up filter=upper\n");
    home.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    home.git(&["config", "filter.upper.smudge", "tr A-Z a-z"]);
    home.write("mixed.txt", "one\r\ntwo\nthree\r\n");
    home.write("word.up", "Word\n");
    works(&home);
}

#[test]
fn files_of_a_filter_that_is_not_there_come_as_they_stand() {
    for of in ["clean", "smudge", "process"] {
        let home = Home::new();
        home.write("pointer.bin", "version 1\n");
        home.write(".gitattributes", "*.bin filter=lfs\n");
        home.git(&["add", "pointer.bin", ".gitattributes"]);
        home.git(&["commit", "--quiet", "-m", "pointer"]);
        home.git(&["config", &format!("filter.lfs.{of}"), "no-such-program-of-lfs %f"]);
        home.git(&["config", "filter.lfs.required", "true"]);
        home.write("new.bin", "big\n");
        let clean = home.fork("clean", Start::Clean).unwrap();
        let read = |at: &Path, name: &str| fs::read_to_string(at.join(name)).unwrap();
        assert_eq!(read(clean.repository().top(), "pointer.bin"), "version 1\n", "{of}");
        let child = home.fork("child", Start::State).unwrap();
        let (name, top) = (child.name().clone(), child.repository().top().to_owned());
        write(&top, "pointer.bin", "version 2\n");
        child.remove(NOW_MS).unwrap();
        home.repository().recover(&name, top.clone(), NOW_MS).unwrap();
        let held = ["pointer.bin", "new.bin"].map(|name| read(&top, name));
        assert_eq!(held, ["version 2\n", "big\n"], "{of}");
        assert_eq!(read(&home.top(), "pointer.bin"), "version 1\n", "{of}");
    }
}

#[test]
fn a_bare_repository_has_no_files_and_its_checkouts_have() {
    let home = Home::new();
    let bare = home.path().join("bare.git");
    home.git(&["clone", "--quiet", "--bare", ".", &bare.display().to_string()]);
    let error = Repository::at(&bare).unwrap_err().to_string();
    assert!(error.ends_with("is in a git repository without a checkout"), "{error}");
    let linked = home.path().join("linked");
    git(&bare, &["worktree", "add", "--quiet", &linked.display().to_string(), "main"]);
    crate::support::write(&linked, "new.txt", "new\n");
    let before = untouched(&linked);
    let new = home.new_worktree("child", Start::State);
    let worktree = Repository::at(&linked).unwrap().fork(&new).unwrap();
    assert_eq!(untouched(&linked), before);
    assert_eq!(looks(worktree.repository().top()), looks(&linked));
}

#[test]
fn no_repository_is_said_so() {
    let directory = tempfile::tempdir().unwrap();
    let error = Repository::at(directory.path()).unwrap_err().to_string();
    assert!(error.ends_with("is in no git repository"), "{error}");
}

#[test]
fn a_directory_inside_has_its_like_in_the_worktree() {
    let home = Home::new();
    let inside = home.top().join("src");
    let new = home.new_worktree("child", Start::State);
    let worktree = Repository::at(&inside).unwrap().fork(&new).unwrap();
    assert_eq!(worktree.directory(), worktree.repository().top().join("src"));
    assert_eq!(worktree.origin(), home.top());
}

#[test]
fn what_stands_in_the_way_is_named() {
    let home = Home::new();
    home.fork("child", Start::State).unwrap();
    let error = home.fork("child", Start::State).unwrap_err();
    assert_eq!(error.to_string(), "there is a worktree `child` already");
    fs::create_dir_all(home.path().join("worktrees/other")).unwrap();
    let error = home.fork("other", Start::State).unwrap_err().to_string();
    assert!(error.ends_with("worktrees/other` exists already"), "{error}");
}
