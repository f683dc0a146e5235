//! A repository of one's own, and what can be seen of it from outside.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt::Debug;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use tine_tools::StageProgram;
use tine_worktree::{Name, NewWorktree, Repository, Start, Worktree, WorktreeError};

/// 2026-01-01 in milliseconds since the Unix epoch.
pub(crate) const NOW_MS: i64 = 1_767_225_600_000;

/// Who commits; that git need not wait for the disk; and that a commit starts no process that cleans up.
const SETTINGS: &str = "\
[user]
	name = Somebody
	email = somebody@example.com
[core]
	fsync = none
[gc]
	auto = 0
[maintenance]
	auto = false
";

/// A repository in a directory that goes with it, and a place for worktrees beside it.
pub(crate) struct Home {
    path: PathBuf,
    /// `None` where the directory belongs to somebody else.
    _directory: Option<TempDir>,
}

impl Home {
    /// A repository without a commit.
    pub(crate) fn empty() -> Self {
        Self::owned().init()
    }

    /// A repository with one commit of three files, one of them a program.
    pub(crate) fn new() -> Self {
        Self::owned().first_commit()
    }

    /// A directory that belongs to somebody else, with what is in it.
    pub(crate) fn at(directory: &Path) -> Self {
        Self { path: directory.canonicalize().unwrap(), _directory: None }
    }

    fn owned() -> Self {
        // What runs programs of git's settings behind their wall. The tests within the crate run none.
        if let Some(program) = option_env!("CARGO_BIN_EXE_tine-worktree-stage") {
            StageProgram::at(program).register();
        }
        let directory = tine_testkit::scratch();
        let home = Self::at(directory.path());
        Self { _directory: Some(directory), ..home }
    }

    fn init(self) -> Self {
        fs::create_dir(self.top()).unwrap();
        self.git(&["init", "--quiet", "--initial-branch=main", "--template="]);
        let config = self.top().join(".git/config");
        let settings = fs::read_to_string(&config).unwrap() + SETTINGS;
        fs::write(config, settings).unwrap();
        self
    }

    /// Makes the repository of [`Self::new`] in an empty directory.
    pub(crate) fn first_commit(self) -> Self {
        let home = self.init();
        home.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
        home.write("src/lib.rs", "fn lib() {}\n");
        home.write("run.sh", "echo run\n");
        fs::set_permissions(home.top().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        home.git(&["add", "--all"]);
        home.git(&["commit", "--quiet", "-m", "first"]);
        home
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.path.clone()
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
    [said(top), not_ignored(top, |file| file.to_owned())].concat()
}

/// Returns what [`exactly`] does, without times: what is kept of a worktree that is removed.
pub(crate) fn held(top: &Path) -> String {
    let without_time = |file: &str| {
        let (mode, rest) = file.split_once(' ').unwrap();
        format!("{mode} {}", rest.split_once(' ').unwrap().1)
    };
    [said(top), not_ignored(top, without_time)].concat()
}

fn said(top: &Path) -> String {
    let status = git(top, &["status", "--porcelain=v2", "--untracked-files=all"]);
    [status, git(top, &["ls-files", "--stage", "-v"])].concat()
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
    let git_dir = git_dir(top);
    for name in ["index", "HEAD", "config", "logs/HEAD", "packed-refs", "FETCH_HEAD", "ORIG_HEAD"] {
        let path = git_dir.join(name);
        let about =
            fs::metadata(&path).map(|about| (about.mtime(), about.mtime_nsec(), about.ino()));
        text.push_str(&format!("{name} {:?} {:?}\n", about.ok(), fs::read(&path).ok()));
    }
    let common = fs::read_to_string(git_dir.join("commondir")).unwrap_or_else(|_| ".".to_owned());
    let refs = git_dir.join(common.trim_end()).canonicalize().unwrap().join("refs");
    for (name, file) in files(&refs) {
        if !name.starts_with("tine/") {
            // A ref that was written again as it was is the same.
            text.push_str(&format!("refs/{name} {}\n", file.splitn(3, ' ').last().unwrap()));
        }
    }
    text
}

/// Git's directory of a checkout, read as git reads it.
pub(crate) fn git_dir(top: &Path) -> PathBuf {
    let inside = top.join(".git");
    match fs::read_to_string(&inside) {
        Ok(link) => top.join(link.trim_end().strip_prefix("gitdir: ").unwrap()),
        Err(_) => inside,
    }
}
