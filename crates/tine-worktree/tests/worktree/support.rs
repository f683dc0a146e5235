//! A repository of one's own, and what can be seen of it from outside.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tine_worktree::{Name, NewWorktree, Repository, Start, Worktree, WorktreeError};

/// 2026-01-01 in milliseconds since the Unix epoch.
pub(crate) const NOW_MS: i64 = 1_767_225_600_000;

/// Who commits; and that git need not wait for the disk.
const SETTINGS: &str =
    "[user]\n\tname = Somebody\n\temail = somebody@example.com\n[core]\n\tfsync = none\n";

/// A repository in a directory that goes with it, and a place for worktrees beside it.
pub(crate) struct Home {
    directory: TempDir,
}

impl Home {
    /// A repository without a commit.
    pub(crate) fn empty() -> Self {
        Self::empty_in(tempfile::tempdir().unwrap())
    }

    fn empty_in(directory: TempDir) -> Self {
        let home = Self { directory };
        fs::create_dir(home.top()).unwrap();
        home.git(&["init", "--quiet", "--initial-branch=main", "--template="]);
        let config = home.top().join(".git/config");
        let settings = fs::read_to_string(&config).unwrap() + SETTINGS;
        fs::write(config, settings).unwrap();
        home
    }

    /// A repository with one commit of three files, one of them a program.
    pub(crate) fn new() -> Self {
        Self::new_in(tempfile::tempdir().unwrap())
    }

    pub(crate) fn new_in(directory: TempDir) -> Self {
        let home = Self::empty_in(directory);
        home.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
        home.write("src/lib.rs", "fn lib() {}\n");
        home.write("run.sh", "echo run\n");
        home.git(&["add", "--all"]);
        home.git(&["update-index", "--chmod=+x", "run.sh"]);
        home.git(&["commit", "--quiet", "-m", "first"]);
        home.git(&["checkout", "--quiet", "."]);
        home
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn top(&self) -> PathBuf {
        self.path().join("repository")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        write(&self.top(), name, content);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.top(), arguments)
    }

    pub(crate) fn repository(&self) -> Repository {
        Repository::at(&self.top()).unwrap()
    }

    pub(crate) fn fork(&self, name: &str, start: Start) -> Result<Worktree, WorktreeError> {
        self.repository().fork(&self.new_worktree(name, start))
    }

    pub(crate) fn new_worktree(&self, name: &str, start: Start) -> NewWorktree {
        NewWorktree {
            name: Name::new(name).unwrap(),
            path: self.place(name),
            start,
            now_ms: NOW_MS,
        }
    }

    /// Where the worktree of this name is.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.path().join("worktrees").join(name)
    }
}

pub(crate) fn write(top: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = top.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Runs git as a user would, but without the settings of the user who runs the tests.
pub(crate) fn git<A: AsRef<OsStr> + Debug>(directory: &Path, arguments: &[A]) -> String {
    let (success, text) = try_git(directory, arguments);
    assert!(success, "git {arguments:?} in {}: {text}", directory.display());
    text
}

pub(crate) fn try_git<A: AsRef<OsStr>>(directory: &Path, arguments: &[A]) -> (bool, String) {
    let (success, bytes) = try_git_bytes(directory, arguments);
    (success, String::from_utf8_lossy(&bytes).into_owned())
}

#[expect(clippy::disallowed_methods, reason = "git is what worktrees are compared with")]
pub(crate) fn try_git_bytes<A: AsRef<OsStr>>(directory: &Path, arguments: &[A]) -> (bool, Vec<u8>) {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .output()
        .unwrap();
    let text = match output.status.success() {
        true => output.stdout,
        false => output.stderr,
    };
    (output.status.success(), text)
}

/// All of a checkout that is to be the same in a fork: what git says of it and of its index, and every file that is not ignored, with
/// its mode and its time.
pub(crate) fn exactly(top: &Path) -> String {
    said(top) + &not_ignored(top, |file| file.to_owned())
}

/// The same as git would keep it: of a mode, whether the file can be run, and no time.
pub(crate) fn held(top: &Path) -> String {
    said(top)
        + &not_ignored(top, |file| {
            let (mode, rest) = file.split_once(' ').unwrap();
            let mode = u32::from_str_radix(mode, 8).unwrap();
            let (kind, can_run) = (mode & 0o170_000, mode & 0o100 != 0);
            format!("{kind:o} {can_run} {}", rest.split_once(' ').unwrap().1)
        })
}

fn said(top: &Path) -> String {
    let status = git(top, &["status", "--porcelain=v2", "--untracked-files=all"]);
    status + &git(top, &["ls-files", "--stage", "-v"])
}

fn not_ignored(top: &Path, shown: impl Fn(&str) -> String) -> String {
    let ignored = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z"];
    let ignored = try_git_bytes(top, &ignored).1;
    let ignored: Vec<String> =
        ignored.split(|byte| *byte == 0).map(|name| name.escape_ascii().to_string()).collect();
    let mut text = String::new();
    for (path, file) in files(top).iter().filter(|(path, _)| !ignored.contains(path)) {
        text.push_str(&format!("{path} {}\n", shown(file)));
    }
    text
}

/// Every file below `top` but git's own: mode, time and content.
pub(crate) fn files(top: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    collect(top, top, &mut found);
    found
}

fn collect(top: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name =
            path.strip_prefix(top).unwrap().as_os_str().as_bytes().escape_ascii().to_string();
        if name == ".git" {
            continue;
        }
        let about = fs::symlink_metadata(&path).unwrap();
        if about.is_dir() {
            collect(top, &path, found);
            continue;
        }
        let content = match about.is_symlink() {
            true => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            false => fs::read(&path).unwrap(),
        };
        let (mode, seconds) = (about.mode(), about.mtime());
        let (nanoseconds, content) = (about.mtime_nsec(), content.escape_ascii());
        let shown = format!("{mode:o} {seconds}.{nanoseconds} \"{content}\"");
        found.insert(name, shown);
    }
}

/// Everything of a repository that nobody but its user may change: files with their times, the index as bytes, HEAD, settings,
/// and all refs but tine's.
pub(crate) fn untouched(top: &Path) -> String {
    let mut text = String::new();
    for (path, file) in files(top) {
        text.push_str(&format!("{path} {file}\n"));
    }
    let git_dir =
        PathBuf::from(git(top, &["rev-parse", "--path-format=absolute", "--git-dir"]).trim());
    for name in ["index", "HEAD", "config", "logs/HEAD", "packed-refs", "FETCH_HEAD", "ORIG_HEAD"] {
        let path = git_dir.join(name);
        let about =
            fs::metadata(&path).map(|about| (about.mtime(), about.mtime_nsec(), about.ino()));
        text.push_str(&format!("{name} {:?} {:?}\n", about.ok(), fs::read(&path).ok()));
    }
    let refs = git(top, &["for-each-ref", "--format=%(refname) %(objectname)"]);
    refs.lines().filter(|line| !line.starts_with("refs/tine/")).for_each(|line| {
        text.push_str(line);
        text.push('\n');
    });
    text
}
