//! A worktree that is removed and comes back is the same to the byte: what filters take out, permissions, what the index was told.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tine_worktree::{Name, Start, Worktree};

use crate::support::{Home, NOW_MS, exactly, git, held, try_git, write};

/// Where programs of filters may write: LFS keeps its files there.
pub(crate) fn lfs(home: &Home) -> PathBuf {
    let folder = home.top().join(".git/lfs");
    fs::create_dir(&folder).unwrap();
    folder
}

fn name() -> Name {
    Name::new("one").unwrap()
}

fn chmod(file: &Path, mode: u32) {
    fs::set_permissions(file, Permissions::from_mode(mode)).unwrap();
}

fn commit(home: &Home) {
    home.git(&["add", "--all"]);
    home.git(&["commit", "--quiet", "-m", "state"]);
}

/// A fork of the checkout, which must be the same.
fn forked(home: &Home) -> (Worktree, PathBuf) {
    let worktree = home.fork("one", Start::State).unwrap();
    let top = worktree.repository().top().to_owned();
    assert_eq!(exactly(&top), exactly(&home.top()), "the fork differs");
    (worktree, top)
}

/// Removes the worktree, which must be kept, and the objects that nothing leads to, and makes it again.
fn comes_back(home: &Home, worktree: Worktree) {
    let top = worktree.repository().top().to_owned();
    let was = held(&top);
    assert!(worktree.remove(NOW_MS).unwrap().is_some(), "it went as unchanged");
    home.git(&["gc", "--quiet", "--prune=now"]);
    let back = home.repository().recover(&name(), top.clone(), NOW_MS).unwrap();
    assert_eq!(held(&top), was);
    // And once more, unchanged since.
    assert!(back.remove(NOW_MS).unwrap().is_some());
    home.repository().recover(&name(), top.clone(), NOW_MS).unwrap();
    assert_eq!(held(&top), was, "the second time");
}

/// A repository whose filter takes lines out, as nbstripout does.
fn stripping() -> Home {
    let home = Home::new();
    home.git(&["config", "filter.strip.clean", "grep -v OUTPUT"]);
    home.git(&["config", "filter.strip.smudge", "cat"]);
    home.write(".gitattributes", "*.nb filter=strip\n");
    home.write("x.nb", "cell 1\nOUTPUT result of 3 h\ncell 2\n");
    commit(&home);
    home
}

#[test]
fn what_a_clean_filter_takes_out_comes_back() {
    let home = stripping();
    let (worktree, top) = forked(&home);
    write(&top, "a.txt", "changed\n");
    comes_back(&home, worktree);
    assert_eq!(
        fs::read_to_string(top.join("x.nb")).unwrap(),
        "cell 1\nOUTPUT result of 3 h\ncell 2\n"
    );
}

#[test]
fn a_change_that_a_filter_hides_is_no_unchanged_worktree() {
    let home = stripping();
    let (worktree, top) = forked(&home);
    assert!(worktree.is_unchanged(&worktree.state(NOW_MS).unwrap()));
    write(&top, "x.nb", "cell 1\nOUTPUT another result\ncell 2\n");
    let state = worktree.state(NOW_MS).unwrap();
    assert!(!worktree.is_unchanged(&state));
    assert_eq!(worktree.progress(&state).unwrap(), (1, 0));
    let unseen = home.repository().unseen_changes(worktree.start(), &state).unwrap();
    assert_eq!(unseen, [PathBuf::from("x.nb")]);
    comes_back(&home, worktree);
    assert_eq!(
        fs::read_to_string(top.join("x.nb")).unwrap(),
        "cell 1\nOUTPUT another result\ncell 2\n"
    );
}

#[test]
fn ignored_files_that_were_made_are_named_and_caches_are_not() {
    let home = Home::new();
    home.write(".gitignore", "*.log\nbuild/\ncache/\n__pycache__/\n*.env\n");
    home.write("a.env", "KEY=1\n");
    home.write(".worktreeinclude", "*.env\n");
    commit(&home);
    let (worktree, top) = forked(&home);
    assert_eq!(worktree.made_ignored().unwrap(), [""; 0].map(PathBuf::from));
    write(&top, "build/ready", "made by a setup\n");
    let worktree = worktree.begin(NOW_MS).unwrap();
    assert_eq!(worktree.made_ignored().unwrap(), [""; 0].map(PathBuf::from));
    write(&top, "result.log", "of 3 h\n");
    write(&top, "src/cache/weights", "large\n");
    write(&top, "cache/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");
    write(&top, "src/__pycache__/x.pyc", "x");
    write(&top, "a.env", "KEY=2\n");
    let made = worktree.made_ignored().unwrap();
    assert_eq!(made, ["result.log", "src/cache/"].map(PathBuf::from));
    assert_eq!(worktree.ignored().unwrap(), [PathBuf::from("a.env")]);
}

/// Makes a named pipe.
fn pipe(file: &Path, mode: u32) {
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, file, kind, rustix::fs::Mode::RUSR, 0).unwrap();
    chmod(file, mode);
}

#[test]
fn what_git_knows_nothing_of_comes_along_or_is_named() {
    let home = Home::new();
    let top = home.top();
    home.write(".gitignore", "*.log\nbuild/\n");
    home.write("vendor/x.c", "x\n");
    home.write("vendor/.git", "gitdir: ../../gone\n");
    home.write("build/out", "ignored\n");
    fs::create_dir_all(top.join("run/deep")).unwrap();
    fs::create_dir(top.join("src/.git")).unwrap();
    for (name, mode) in
        [("pipe", 0o640), ("run/deep/pipe", 0o600), ("x.log", 0o600), ("build/pipe", 0o600)]
    {
        pipe(&top.join(name), mode);
    }
    let sockets: Vec<_> = ["src/a.sock", "build/b.sock"]
        .map(|name| std::os::unix::net::UnixListener::bind(top.join(name)).unwrap())
        .into();
    home.write("suid.sh", "#!/bin/sh\n");
    chmod(&top.join("suid.sh"), 0o4755);
    let before = home.git(&["status", "--porcelain"]);
    let worktree = home.fork("one", Start::State).unwrap();
    let copied = worktree.repository().top().to_owned();
    assert_eq!(home.git(&["status", "--porcelain"]), before);
    let left: Vec<String> = worktree
        .left_out()
        .iter()
        .map(|left| format!("{}: {}", left.path.display(), left.kind))
        .collect();
    assert_eq!(left, ["src/.git: a directory that is no repository", "src/a.sock: a socket"]);
    drop(sockets);
    let is_whole = |what: &str| {
        let mode = |name: &str| {
            fs::symlink_metadata(copied.join(name)).map(|about| about.permissions().mode())
        };
        let modes = ["pipe", "run/deep/pipe", "suid.sh"].map(|name| mode(name).unwrap());
        assert_eq!(modes, [0o010_640, 0o010_600, 0o104_755], "{what}");
        assert_eq!(
            fs::read(copied.join("vendor/.git")).unwrap(),
            b"gitdir: ../../gone\n",
            "{what}"
        );
        assert!(mode("x.log").is_err() && mode("build/pipe").is_err(), "{what}");
    };
    is_whole("a fork");
    assert!(worktree.is_unchanged(&worktree.state(NOW_MS).unwrap()));
    write(&copied, "a.txt", "changed\n");
    worktree.remove(NOW_MS).unwrap();
    home.repository().recover(&name(), copied.clone(), NOW_MS).unwrap();
    is_whole("a recovery");
}

#[test]
fn a_checkout_without_a_commit_is_named() {
    let home = Home::empty();
    home.write("a", "a\n");
    let worktree = home.fork("one", Start::State).unwrap();
    let left = worktree.left_out().iter().map(|left| left.kind.to_string()).collect::<Vec<_>>();
    assert_eq!(left, ["a branch without a commit"]);
}

#[test]
fn permissions_come_back() {
    let home = Home::new();
    home.write("secret.key", "key\n");
    chmod(&home.top().join("secret.key"), 0o600);
    home.write("new.key", "key\n");
    commit(&home);
    let (worktree, top) = forked(&home);
    write(&top, "a.txt", "changed\n");
    chmod(&top.join("new.key"), 0o400);
    chmod(&top.join("run.sh"), 0o700);
    comes_back(&home, worktree);
    let mode = |name: &str| fs::metadata(top.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(["secret.key", "new.key", "run.sh"].map(mode), [0o600, 0o400, 0o700]);
}

#[test]
fn permissions_alone_are_a_change() {
    let home = Home::new();
    let (worktree, top) = forked(&home);
    chmod(&top.join("a.txt"), 0o600);
    let state = worktree.state(NOW_MS).unwrap();
    assert_eq!(worktree.progress(&state).unwrap(), (1, 0));
    comes_back(&home, worktree);
}

#[test]
fn a_filter_that_is_not_idempotent_makes_no_recovery_impossible() {
    let home = Home::new();
    home.git(&["config", "filter.plus.clean", "sed s/^/+/"]);
    home.write(".gitattributes", "*.fk filter=plus\n");
    home.write("x.fk", "a\n");
    commit(&home);
    let (worktree, top) = forked(&home);
    write(&top, "a.txt", "changed\n");
    comes_back(&home, worktree);
    assert_eq!(fs::read_to_string(top.join("x.fk")).unwrap(), "a\n");
    // One that was made of the commit alone has the file as git writes it.
    let clean = home.fork("clean", Start::Clean).unwrap();
    assert!(clean.is_unchanged(&clean.state(NOW_MS).unwrap()));
    assert_eq!(clean.remove(NOW_MS).unwrap(), None);
}

#[test]
fn a_filter_that_fails_by_now_makes_no_recovery_impossible() {
    let home = Home::new();
    let (pass, stop) = ("cat", "false; exit 1");
    home.git(&["config", "filter.x.clean", pass]);
    home.git(&["config", "filter.x.smudge", pass]);
    home.git(&["config", "filter.x.required", "true"]);
    home.write(".gitattributes", "*.x filter=x\n");
    home.write("b.x", "content\n");
    commit(&home);
    let (worktree, top) = forked(&home);
    write(&top, "a.txt", "changed\n");
    worktree.remove(NOW_MS).unwrap();
    home.git(&["config", "filter.x.smudge", stop]);
    home.repository().recover(&name(), top.clone(), NOW_MS).unwrap();
    let text = |name: &str| fs::read_to_string(top.join(name)).unwrap();
    assert_eq!(
        ["a.txt", "b.x", "src/lib.rs"].map(text),
        ["changed\n", "content\n", "fn lib() {}\n"]
    );
}

#[test]
fn a_filter_whose_program_is_missing_and_one_that_keeps_files_elsewhere_come_back() {
    let home = Home::new();
    let store = lfs(&home);
    let store = store.display();
    // As LFS: the repository has a note, the file is elsewhere.
    let clean = format!(
        "f=$(mktemp -p {store}); cat >$f; h=$(git hash-object --no-filters $f); mv $f {store}/$h; echo note $h"
    );
    home.git(&["config", "filter.far.clean", &clean]);
    home.git(&["config", "filter.far.smudge", &format!("read note h; cat {store}/$h")]);
    home.git(&["config", "filter.far.required", "true"]);
    home.git(&["config", "filter.none.clean", "no-such-program-here"]);
    home.git(&["config", "filter.none.smudge", "no-such-program-here"]);
    home.git(&["config", "filter.none.required", "true"]);
    home.write(".gitattributes", "*.far filter=far\n*.none filter=none\n");
    home.write("large.far", "a large file\n");
    commit(&home);
    home.write("y.none", "as it is\n");
    let (worktree, top) = forked(&home);
    write(&top, "large.far", "another large file\n");
    comes_back(&home, worktree);
    assert_eq!(fs::read_to_string(top.join("large.far")).unwrap(), "another large file\n");
    // What the filter gives back is not kept a second time: the repository has its note alone.
    let kept = home.git(&["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!kept.contains("another large file"), "{kept}");
}

#[test]
fn line_ends_and_identifiers_come_back() {
    for setting in [
        &["config", "core.autocrlf", "input"][..],
        &["config", "core.autocrlf", "true"],
        &["config", "core.eol", "crlf"],
        &["config", "core.autocrlf", "false"],
    ] {
        let home = Home::new();
        home.git(setting);
        home.write(
            ".gitattributes",
            "*.id ident\n*.auto text=auto\n*.crlf eol=crlf\n*.16 working-tree-encoding=UTF-16LE\n",
        );
        home.write("a.txt", "one\r\ntwo\r\n");
        home.write("lf.txt", "one\ntwo\n");
        home.write("mixed.txt", "one\r\ntwo\n");
        home.write("x.auto", "one\r\ntwo\r\n");
        home.write("mixed.auto", "one\r\ntwo\nthree\r\n");
        home.write("lf.crlf", "one\ntwo\n");
        home.write("x.id", "$Id$\n");
        home.write("y.id", "$Id: something else $\n");
        home.write("wide.16", b"a\0\n\0");
        home.git(&["add", "--all"]);
        home.git(&["commit", "--quiet", "-m", "state"]);
        let (worktree, top) = forked(&home);
        assert!(worktree.is_unchanged(&worktree.state(NOW_MS).unwrap()), "{setting:?}");
        write(&top, "new.txt", "new\r\nfile\n");
        comes_back(&home, worktree);
    }
}

#[test]
fn a_line_end_alone_is_a_change() {
    let home = Home::new();
    home.git(&["config", "core.autocrlf", "input"]);
    let (worktree, top) = forked(&home);
    write(&top, "a.txt", "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n");
    let state = worktree.state(NOW_MS).unwrap();
    assert_eq!(worktree.progress(&state).unwrap(), (1, 0));
    comes_back(&home, worktree);
}

#[test]
fn what_the_index_was_told_comes_back() {
    let home = Home::new();
    for name in ["skip.txt", "skip gone.txt", "assume.txt"] {
        home.write(name, "content\n");
    }
    commit(&home);
    for name in ["skip.txt", "skip gone.txt"] {
        home.git(&["update-index", "--skip-worktree", name]);
    }
    home.git(&["update-index", "--assume-unchanged", "assume.txt"]);
    fs::remove_file(home.top().join("skip gone.txt")).unwrap();
    home.write("skip.txt", "a change that is not to be seen\n");
    home.write("assume.txt", "another\n");
    home.write("later.txt", "later\n");
    home.write("later gone.sh", "later\n");
    chmod(&home.top().join("later gone.sh"), 0o755);
    home.git(&["add", "--intent-to-add", "later.txt", "later gone.sh"]);
    fs::remove_file(home.top().join("later gone.sh")).unwrap();
    let (worktree, top) = forked(&home);
    write(&top, "a.txt", "changed\n");
    comes_back(&home, worktree);
    let status = git(&top, &["status", "--porcelain"]);
    assert_eq!(status, " M a.txt\n D \"later gone.sh\"\n A later.txt\n");
}

#[test]
fn a_sparse_checkout_comes_back() {
    for sparse in [
        &["--no-cone", "/*", "!/docs/"][..],
        &["--cone", "src"],
        &["--cone", "--sparse-index", "src"],
    ] {
        let home = Home::new();
        for name in ["docs/a.md", "docs/deep/b.md", "other/c", "src/deep/d"] {
            home.write(name, "content\n");
        }
        commit(&home);
        home.git(&[&["sparse-checkout", "set"], sparse].concat());
        let (worktree, top) = forked(&home);
        assert!(worktree.is_unchanged(&worktree.state(NOW_MS).unwrap()), "{sparse:?}");
        write(&top, "src/new.rs", "new\n");
        let (was, list) = (held(&top), git(&top, &["sparse-checkout", "list"]));
        let index = home.git(&["ls-files", "--sparse", "-t"]);
        worktree.remove(NOW_MS).unwrap();
        // What the checkout says by then is nothing of the worktree's.
        home.git(&["sparse-checkout", "disable"]);
        home.repository().recover(&name(), top.clone(), NOW_MS).unwrap();
        assert_eq!(held(&top), was, "{sparse:?}");
        assert_eq!(git(&top, &["sparse-checkout", "list"]), list);
        assert_eq!(git(&top, &["ls-files", "--sparse", "-t"]), index, "{sparse:?}");
        assert!(!top.join("docs/deep/b.md").exists());
    }
}

#[test]
fn a_fork_of_a_commit_in_a_sparse_checkout_is_sparse_too() {
    let home = Home::new();
    home.write("docs/a.md", "content\n");
    commit(&home);
    home.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/docs/"]);
    let clean = home.fork("one", Start::Clean).unwrap();
    let top = clean.repository().top().to_owned();
    assert_eq!(held(&top), held(&home.top()));
    assert!(!top.join("docs").exists());
}

#[test]
fn bytes_are_kept_of_files_that_somebody_removed_by_hand() {
    let home = stripping();
    home.write("secret.key", "key\n");
    chmod(&home.top().join("secret.key"), 0o600);
    let (worktree, top) = forked(&home);
    write(&top, "x.nb", "cell 1\nOUTPUT another result\ncell 2\n");
    worktree.hold(&worktree.state(NOW_MS).unwrap()).unwrap();
    // Somebody commits, and then all files go without tine.
    write(&top, "a.txt", "changed\n");
    git(&top, &["add", "a.txt"]);
    git(&top, &["commit", "--quiet", "-m", "work"]);
    fs::remove_dir_all(&top).unwrap();
    home.repository().recover(&name(), top.clone(), NOW_MS).unwrap();
    let text = |name: &str| fs::read_to_string(top.join(name)).unwrap();
    assert_eq!(text("a.txt"), "changed\n");
    assert_eq!(text("x.nb"), "cell 1\nOUTPUT another result\ncell 2\n");
    let mode = fs::metadata(top.join("secret.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn what_an_older_version_kept_comes_back() {
    let home = stripping();
    let (worktree, top) = forked(&home);
    write(&top, "a.txt", "changed\n");
    write(&top, "new.txt", "new\n");
    git(&top, &["add", "new.txt"]);
    let status = git(&top, &["status", "--porcelain"]);
    let kept = worktree.remove(NOW_MS).unwrap().unwrap();
    // As older versions wrote it: a commit with two parents.
    let parents = ["-p", kept.base.as_str(), "-p", kept.index.as_str()];
    let commit = [&["commit-tree", kept.work_tree.as_str(), "-m", "old"], &parents[..]].concat();
    let old = home.git(&commit);
    home.git(&["update-ref", "refs/tine/one/end", old.trim()]);
    let back = home.repository().recover(&name(), top.clone(), NOW_MS).unwrap();
    assert_eq!(git(&top, &["status", "--porcelain"]), status);
    assert!(!back.is_unchanged(&back.state(NOW_MS).unwrap()));
    assert!(try_git(&top, &["diff", "--quiet", "x.nb"]).0);
}
