//! Settings of git that make it run nothing.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{Dir, Mode, OFlags};

use crate::beneath::open_regular;

/// The largest file of settings that is read. One of git's has some hundred bytes.
const BYTES_MAX: u64 = 64 * 1024;

/// Settings that name no program, as git's own commands make them: the section, and the key. Source: git-config(1).
const HARMLESS: [(&str, &str); 25] = [
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
    ("core", "worktree"),
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

/// Returns true if nothing under this name in the folder of a repository makes git run a program. What cannot be read does.
pub(super) fn is_harmless(folder: &OwnedFd, name: &str) -> bool {
    match name {
        "hooks" => has_samples_alone(folder),
        // What git itself writes for a linked worktree.
        "commondir" => text_of(folder, name).is_some_and(|text| text.trim_end() == "../.."),
        _ => text_of(folder, name).is_some_and(|text| lists_harmless(&text)),
    }
}

/// The first line of a small file.
pub(super) fn line(path: &Path) -> Option<String> {
    let folder = std::fs::File::open(path.parent()?).ok()?;
    let text = text_of(&folder.into(), path.file_name()?.to_str()?)?;
    text.lines().next().map(str::to_owned)
}

fn text_of(folder: &OwnedFd, name: &str) -> Option<String> {
    let (file, about) = open_regular(folder, OsStr::new(name)).ok()??;
    if u64::try_from(about.st_size).ok()? > BYTES_MAX {
        return None;
    }
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
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

/// Returns true if git reads the text as settings, and all of them are harmless.
fn lists_harmless(text: &str) -> bool {
    let Some(listed) = listed(text) else { return false };
    listed.split('\0').filter(|entry| !entry.is_empty()).all(|entry| {
        let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
        let (Some((section, _)), Some((_, name))) = (key.split_once('.'), key.rsplit_once('.'))
        else {
            return false;
        };
        let is_in = |list: &[(&str, &str)]| {
            list.iter().any(|(of, key)| *of == section && (*key == "*" || *key == name))
        };
        // `ext::COMMAND` is an address, too.
        is_in(&HARMLESS) && !is_in(&HARMFUL) && !value.contains("::") && !value.starts_with('-')
    })
}

/// The settings in a text, as git lists them, each as its key, a line end, its value and a zero. It follows no `include`.
fn listed(text: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "git reads a text on its input, in no repository, which makes it run nothing"
    )]
    let mut git = std::process::Command::new("git");
    git.args(["config", "--file", "-", "--no-includes", "--list", "-z"]).current_dir("/");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_CONFIG_COUNT"] {
        git.env_remove(name);
    }
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = git.spawn().ok()?;
    // Git reads all of it before it prints; the pipe holds it where it does not.
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_itself_writes_is_harmless_and_what_names_a_program_is_not() {
        for harmless in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n",
            "[remote \"origin\"]\n\turl = https://example.com/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[user]\n\tname = A\n\temail = a@b\n",
            "[submodule \"x\"]\n\tactive = true\n\turl = ../x\n",
        ] {
            assert!(lists_harmless(harmless), "{harmless}");
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
        ] {
            assert!(!lists_harmless(harmful), "{harmful}");
        }
    }
}
