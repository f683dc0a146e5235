//! Settings of git that make it run nothing, and the files that say where they lie.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, Mode, OFlags};

use crate::beneath::open_regular;
use crate::own_git::GitCall;

/// The largest file of settings that is read. One of git's has some hundred bytes.
const BYTES_MAX: u64 = 64 * 1024;

/// The largest file that says where a repository lies, which git reads. Source: `read_gitfile_gently` in git's setup.c.
const PATH_FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Settings that name no program, as git's own commands make them: the section, and the key. Source: git-config(1).
const HARMLESS: [(&str, &str); 24] = [
    ("advice", "*"),
    ("branch", "merge"),
    ("branch", "rebase"),
    ("branch", "remote"),
    ("color", "*"),
    ("core", "autocrlf"),
    ("core", "bare"),
    ("core", "eol"),
    ("core", "filemode"),
    ("core", "ignorecase"),
    ("core", "logallrefupdates"),
    ("core", "precomposeunicode"),
    ("core", "repositoryformatversion"),
    ("core", "sparsecheckout"),
    ("core", "sparsecheckoutcone"),
    ("core", "symlinks"),
    ("extensions", "*"),
    ("init", "defaultbranch"),
    ("pull", "rebase"),
    ("push", "default"),
    ("remote", "fetch"),
    ("remote", "url"),
    ("submodule", "*"),
    ("user", "*"),
];

/// Keys of a harmless section that are none themselves.
const HARMFUL: [(&str, &str); 1] = [("submodule", "update")];

/// A repository's own folder.
pub(super) struct Own<'a> {
    /// A handle that can be read.
    pub(super) folder: OwnedFd,
    pub(super) path: &'a Path,
    /// What commands may write, in which the folder lies.
    pub(super) root: &'a Path,
}

impl Own<'_> {
    /// Returns true if nothing under this name makes git run a program, or work outside of what commands may write. What cannot be
    /// read does.
    pub(super) fn is_harmless(&self, name: &str) -> bool {
        match name {
            "hooks" => has_samples_alone(&self.folder),
            // What git itself writes for a linked worktree.
            "commondir" => bytes_of(&self.folder, OsStr::new(name), PATH_FILE_BYTES_MAX)
                .is_some_and(|text| without_line_ends(&text) == b"../.."),
            _ => bytes_of(&self.folder, OsStr::new(name), BYTES_MAX)
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .is_some_and(|text| self.lists_harmless(&text)),
        }
    }

    /// Returns true if git reads the text as settings, and all of them are harmless.
    fn lists_harmless(&self, text: &str) -> bool {
        let Some(listed) = listed(text) else { return false };
        listed.split('\0').filter(|entry| !entry.is_empty()).all(|entry| {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
            match key {
                // A checkout there would write whatever the repository holds.
                "core.worktree" => {
                    let place = self.path.join(value).canonicalize();
                    place.is_ok_and(|place| place.starts_with(self.root))
                }
                _ => is_harmless_setting(key, value),
            }
        })
    }
}

/// Returns the folder that a `.git` file names, as git reads it, following links to the file.
pub(super) fn named_by_git_file(path: &Path) -> Option<PathBuf> {
    let text = bytes_at(&path.canonicalize().ok()?)?;
    let named = without_line_ends(text.strip_prefix(b"gitdir: ")?);
    // From where the link stands, not from where it leads.
    Some(path.parent()?.join(OsStr::from_bytes(named)))
}

/// Returns the folder whose settings count in the repository of this folder, where it says that they lie somewhere else.
pub(super) fn named_by_commondir(folder: &Path) -> Option<PathBuf> {
    let text = bytes_at(&folder.join("commondir").canonicalize().ok()?)?;
    Some(folder.join(OsStr::from_bytes(without_line_ends(&text))))
}

/// Git takes off line ends, and nothing else.
fn without_line_ends(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'));
    &text[..end.map_or(0, |last| last + 1)]
}

fn bytes_at(path: &Path) -> Option<Vec<u8>> {
    let folder = std::fs::File::open(path.parent()?).ok()?;
    bytes_of(&folder.into(), path.file_name()?, PATH_FILE_BYTES_MAX)
}

/// A regular file that is not larger than `bytes_max`.
pub(super) fn bytes_of(folder: &OwnedFd, name: &OsStr, bytes_max: u64) -> Option<Vec<u8>> {
    let (file, about) = open_regular(folder, name).ok()??;
    if u64::try_from(about.st_size).ok()? > bytes_max {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns true if a folder of hooks holds only the samples that git puts there.
fn has_samples_alone(folder: &OwnedFd) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(hooks) = rustix::fs::openat(folder.as_fd(), "hooks", flags, Mode::empty()) else {
        return false;
    };
    let Ok(entries) = Dir::read_from(&hooks) else { return false };
    entries.into_iter().all(|entry| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name().to_bytes();
            matches!(name, b"." | b"..") || name.ends_with(b".sample")
        })
    })
}

/// Returns true for a setting that names no program.
fn is_harmless_setting(key: &str, value: &str) -> bool {
    let (Some((section, _)), Some((_, name))) = (key.split_once('.'), key.rsplit_once('.')) else {
        return false;
    };
    let is_in = |list: &[(&str, &str)]| {
        list.iter().any(|(of, key)| *of == section && (*key == "*" || *key == name))
    };
    // `ext::COMMAND` is an address, too.
    is_in(&HARMLESS) && !is_in(&HARMFUL) && !value.contains("::") && !value.starts_with('-')
}

/// The settings in a text, as git lists them, each as its key, a line end, its value and a zero. It follows no `include`.
fn listed(text: &str) -> Option<String> {
    const LIST: [&str; 6] = ["config", "--file", "-", "--no-includes", "--list", "-z"];
    let arguments = LIST.map(OsString::from);
    let call = GitCall { input: text.as_bytes(), ..GitCall::look(Path::new("/"), &arguments) };
    let output = call.run(|| ()).ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_itself_writes_is_harmless_and_what_names_a_program_is_not() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let path = root.join("sub/.git");
        std::fs::create_dir_all(&path).unwrap();
        let folder = std::fs::File::open(&path).unwrap().into();
        let own = Own { folder, path: &path, root: &root };
        for harmless in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = A\n\temail = a@b\n",
            "[submodule \"x\"]\n\tactive = true\n\turl = ../x\n",
            "[core]\n\tworktree = ..\n",
        ] {
            assert!(own.lists_harmless(harmless), "{harmless}");
        }
        for harmful in [
            "[core]\n\tfsmonitor = touch x\n",
            "[core]\n\thooksPath = ../h\n",
            "[CORE]\n\tFSMonitor = x\n",
            "[filter \"x\"]\n\tclean = touch x\n",
            "[diff]\n\texternal = x\n",
            "[include]\n\tpath = ../evil\n",
            "[includeIf \"gitdir:/\"]\n\tpath = ../evil\n",
            "[remote \"origin\"]\n\turl = ext::sh -c x\n",
            "[remote \"origin\"]\n\tuploadpack = x\n",
            "[submodule \"x\"]\n\tupdate = !touch x\n",
            "[alias]\n\tst = !x\n",
            "[core\n",
            "[core]\n\tworktree = /\n",
            "[core]\n\tworktree = ../../..\n",
            "[core]\n\tworktree = ../nothing\n",
        ] {
            assert!(!own.lists_harmless(harmful), "{harmful}");
        }
    }
}
