//! Secrets that a command would print without naming them: below a folder that it searches, in files that only its data names, or in
//! git's history.
//!
//! The look covers every repository that `-C` or `cd` reaches, and every commit that a reference, a worktree or a reflog leads
//! to (`tine-worktree/src/names.rs`). It leaves out what the command's wall covers. If it finds a secret, or cannot look
//! through something, the user is asked.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use crate::permission::width_behind;
use tine_guard::{CommandRead, Reason, ShellText, Sweep, Width, is_secret, redact};
use tine_tools::{Enclosure, Swept, sweep};
use tine_worktree::{SettingsScope, find_in_history, git_settings};

/// Files that stay out by themselves when the same is asked of another tool.
const INSTEAD: &str = "the Grep tool leaves such files out";

/// A command that only reads, as far as its secrets are concerned.
pub(crate) struct Look<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) command: &'a ShellText,
    /// What it names.
    pub(crate) reads: &'a [CommandRead],
    /// The wall that it will run behind. What that covers is no concern.
    pub(crate) wall: Option<&'a Enclosure>,
}

impl Look<'_> {
    /// Returns why the command needs somebody's word, if a secret lies among what it goes through.
    pub(crate) fn objection(&self) -> Option<Reason> {
        let width = self.wall.map_or(Width::Strict, width_behind);
        let found = Sweep::of(self.command, width);
        if found.elsewhere {
            let why = "git would go to a repository that the command does not name, which may hold keys or passwords";
            return Some(Reason::new(why));
        }
        let all = found.all || found.data;
        let below =
            || self.folders(found).into_iter().find_map(|folder| self.in_folder(folder, all));
        let folders = (found.folders || found.data).then(below).flatten();
        let before = || self.repositories().into_iter().find_map(in_history);
        let history = || found.history.then(before).flatten();
        let is_gits = |read: &CommandRead| {
            read.contents && read.path.components().any(|part| part.as_os_str() == ".git")
        };
        let has_settings = found.settings || self.reads.iter().any(is_gits);
        let keys =
            || self.repositories().into_iter().find_map(|directory| self.in_settings(directory));
        let settings = || has_settings.then(keys).flatten();
        folders.or_else(history).or_else(settings).map(Reason::new)
    }

    /// Folders whose files the command may print.
    fn folders(&self, found: Sweep) -> Vec<&Path> {
        let is_folder = |read: &&CommandRead| {
            let is_outside = !read.path.starts_with(self.directory);
            (read.contents && found.folders || is_outside && found.data) && read.path.is_dir()
        };
        let named = self.reads.iter().filter(is_folder).map(|read| read.path.as_path());
        named.chain(found.data.then_some(self.directory)).collect()
    }

    /// Directories in which git may run.
    fn repositories(&self) -> Vec<&Path> {
        let moves = self.reads.iter().filter(|read| read.moves && read.path.is_dir());
        [self.directory].into_iter().chain(moves.map(|read| read.path.as_path())).collect()
    }

    fn in_folder(&self, folder: &Path, all: bool) -> Option<String> {
        let is_inside = folder.starts_with(self.directory);
        let is_covered = |path: &Path| {
            let wall = self.wall.filter(|_| is_inside);
            wall.is_some_and(|wall| path.canonicalize().is_ok_and(|real| wall.covers(&real)))
        };
        match sweep(folder, all, |path| is_secret(path) && !is_covered(path)) {
            Swept::Nothing => None,
            Swept::Found(path) => {
                let path = path.strip_prefix(self.directory).unwrap_or(&path);
                let path = path.to_string_lossy();
                Some(format!(
                    "it would read `{}`, which may hold keys or passwords; {INSTEAD}",
                    path.escape_debug()
                ))
            }
            Swept::Unknown => Some(format!(
                "it goes through too many files, or through folders that change, to tell whether keys or passwords are among them; {INSTEAD}"
            )),
        }
    }

    fn in_settings(&self, directory: &Path) -> Option<String> {
        // Behind a wall the user's own settings are out of reach.
        let scope = match self.wall {
            Some(_) => SettingsScope::Repository,
            None => SettingsScope::Everything,
        };
        keys_in_settings(directory, scope)
    }
}

/// Returns why reading a path below `.git` needs somebody's word, if the repository's settings hold a key.
pub(crate) fn keys_of_git(path: &Path) -> Option<Reason> {
    let is_gits = |part: &Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
    let gits = path.components().position(|part| is_gits(&part))?;
    let repository: PathBuf = path.components().take(gits).collect();
    let is_there = repository.join(".git").exists();
    let keys = || keys_in_settings(&repository, SettingsScope::Repository);
    is_there.then(keys).flatten().map(Reason::new)
}

fn keys_in_settings(directory: &Path, scope: SettingsScope) -> Option<String> {
    match git_settings(directory, scope) {
        Ok(settings) => {
            let holds_key = matches!(redact(&settings), Cow::Owned(_));
            holds_key.then(|| "git's settings here hold a key or a password".to_owned())
        }
        Err(_) => Some("git's settings here cannot be looked through for keys".to_owned()),
    }
}

fn in_history(directory: &Path) -> Option<String> {
    match find_in_history(directory, is_secret) {
        Ok(None) => None,
        Ok(Some(path)) => Some(format!(
            "git's history here holds `{}`, which may hold keys or passwords",
            path.to_string_lossy().escape_debug()
        )),
        Err(_) => {
            Some("git's history here cannot be looked through for keys and passwords".to_owned())
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a repository to look through")]
mod tests {
    use std::process::Command;
    use std::sync::Arc;

    use tine_guard::command_reads;
    use tine_tools::{Ground, Wall};

    use super::*;

    fn git(directory: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]);
        let done = command.args(arguments).current_dir(directory).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    }

    fn behind(directory: &Path, command: &str, wall: Option<&Enclosure>) -> String {
        let width = if wall.is_some() { Width::Wide } else { Width::Strict };
        let command = ShellText::new(command);
        let Some(reads) = command_reads(directory, &command, width, None) else {
            return format!("no read: {}", command.verdict(width).reason);
        };
        let look = Look { directory, command: &command, reads: &reads.paths, wall };
        look.objection().map_or("nothing".to_owned(), |reason| reason.to_string())
    }

    fn check(directory: &Path, command: &str) -> String {
        behind(directory, command, None)
    }

    fn wall(directory: &Path) -> Enclosure {
        let ground = Ground::here(Arc::new(is_secret));
        Wall::reading(Vec::new()).raise(directory, &ground).unwrap()
    }

    fn commit(directory: &Path, name: &str) {
        std::fs::write(directory.join(name), "A=1\n").unwrap();
        git(directory, &["add", "-f", name]);
        git(directory, &["commit", "-qm", name]);
    }

    #[test]
    fn secrets_on_the_way_of_a_command_are_asked_about() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        git(at, &["init", "-q"]);
        commit(at, "a.rs");
        for command in ["grep -rn x .", "git log -p", "git show HEAD", "git remote -v", "rg x"] {
            assert_eq!(check(at, command), "nothing", "{command}");
        }
        // Behind a look that found nothing, only what is new is looked at.
        std::fs::write(at.join(".env"), "A=1\n").unwrap();
        insta::assert_snapshot!(check(at, "grep -rn x ."), @"it would read `.env`, which may hold keys or passwords; the Grep tool leaves such files out");
        assert_eq!(check(at, "rg x"), "nothing");
        assert_eq!(check(at, "git grep x"), "nothing");
        git(at, &["add", "."]);
        insta::assert_snapshot!(check(at, "git grep x"), @"git's history here holds `.env`, which may hold keys or passwords");
        git(at, &["commit", "-qm", "two"]);
        git(at, &["rm", "-q", ".env"]);
        git(at, &["commit", "-qm", "three"]);
        assert_eq!(check(at, "grep -rn x ."), "nothing");
        for command in [
            "git log -p",
            "git show HEAD~1",
            "git diff HEAD~1",
            "git grep x HEAD~1",
            "git l'o'g -p",
            "git log -'p'",
            "git sh\\ow HEAD~1",
            "git log --dd",
            "git cat-file -p abc1234",
            "git range-diff a b c",
        ] {
            assert!(check(at, command).starts_with("git's history here holds `.env`"), "{command}");
        }
        assert_eq!(check(at, "git log --oneline"), "nothing");
        let address = ["https://me:hunter2x", "@example.com/a.git"].concat();
        git(at, &["remote", "add", "origin", &address]);
        for command in ["git remote -v", "cat .git/config", "grep -r url ."] {
            assert_eq!(
                check(at, command),
                "git's settings here hold a key or a password",
                "{command}"
            );
        }
    }

    #[test]
    fn keys_in_gits_settings_are_asked_about_below_dot_git_alone() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        let said = |path: &str| keys_of_git(&at.join(path)).map(|reason| reason.to_string());
        git(at, &["init", "-q"]);
        assert_eq!(said(".git/config"), None);
        let address = ["https://me:hunter2x", "@example.com/a.git"].concat();
        git(at, &["remote", "add", "origin", &address]);
        let holds = Some("git's settings here hold a key or a password".to_owned());
        for path in [".git/config", ".git", ".GIT/config", ".git/FETCH_HEAD"] {
            assert_eq!(said(path), holds, "{path}");
        }
        for path in ["a.rs", "config", "sub/.git/config"] {
            assert_eq!(said(path), None, "{path}");
        }
        std::fs::create_dir(at.join("sub")).unwrap();
        git(&at.join("sub"), &["init", "-q"]);
        assert_eq!(said("sub/.git/config"), None);
        git(&at.join("sub"), &["remote", "add", "origin", &address]);
        assert_eq!(said("sub/.git/config"), holds);
    }

    #[test]
    fn every_corner_of_a_history_is_looked_at() {
        let check = |prepare: &dyn Fn(&Path), command: &str| {
            let directory = tempfile::tempdir().unwrap();
            let at = directory.path();
            git(at, &["init", "-q", "-b", "main"]);
            commit(at, "a.rs");
            prepare(at);
            check(at, command)
        };
        let holds = "git's history here holds `.env`, which may hold keys or passwords";
        let gone = |at: &Path| {
            commit(at, ".env");
            git(at, &["reset", "-q", "--hard", "HEAD~1"]);
        };
        for command in ["git log -g -p", "git reflog -p", "git grep API 'HEAD@{1}'"] {
            assert_eq!(check(&gone, command), holds, "{command}");
        }
        let stashed = |at: &Path| {
            std::fs::write(at.join(".env"), "A=1\n").unwrap();
            git(at, &["stash", "push", "-q", "-u"]);
        };
        assert_eq!(check(&stashed, "git stash show -p"), holds);
        let unborn = |at: &Path| {
            commit(at, ".env");
            git(at, &["branch", "keep"]);
            git(at, &["checkout", "-q", "--orphan", "new"]);
            git(at, &["rm", "-rqf", "."]);
        };
        assert_eq!(check(&unborn, "git show keep"), holds);
        let broken = |at: &Path| std::fs::write(at.join(".git/index"), "no index").unwrap();
        insta::assert_snapshot!(check(&broken, "git show"), @"git's history here cannot be looked through for keys and passwords");
        let nowhere = tempfile::tempdir().unwrap();
        assert_eq!(behind(nowhere.path(), "git show", None), "nothing");
    }

    #[cfg(target_os = "linux")] // for the wall
    #[test]
    fn every_repository_that_a_command_reaches_is_looked_at() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap();
        for place in [at.clone(), at.join("sub")] {
            std::fs::create_dir_all(&place).unwrap();
            git(&place, &["init", "-q"]);
        }
        commit(&at, "a.rs");
        commit(&at.join("sub"), ".env");
        git(&at.join("sub"), &["rm", "-q", ".env"]);
        git(&at.join("sub"), &["commit", "-qm", "two"]);
        let address = ["https://me:hunter2x", "@example.com/a.git"].concat();
        git(&at.join("sub"), &["remote", "add", "origin", &address]);
        let wall = wall(&at);
        for (command, starts) in [
            ("git log -p", "nothing"),
            ("git -C sub log -p", "git's history here holds `.env`"),
            ("cd sub && git show HEAD~1", "git's history here holds `.env`"),
            ("x=show; git -C sub $x HEAD~1", "git's history here holds `.env`"),
            ("git -C sub remote -v", "git's settings here hold"),
            ("for d in */; do git -C \"$d\" log -p; done", "git would go to a repository"),
            ("git -C sub log --oneline", "nothing"),
        ] {
            let said = behind(&at, command, Some(&wall));
            assert!(said.starts_with(starts), "{command}: {said}");
        }
    }

    #[cfg(target_os = "linux")] // for the wall
    #[test]
    fn what_the_wall_covers_is_not_asked_about_and_a_newer_secret_is() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(at.join("pkg")).unwrap();
        std::fs::write(at.join(".env"), "A=1\n").unwrap();
        let old = wall(&at);
        let commands = [
            "grep -r x .",
            "cat $(find pkg -type f)",
            "mapfile -t f < <(find . -type f); cat \"${f[@]}\"",
            "find . -type f -exec head -n 1 {} +",
        ];
        for command in commands {
            assert_eq!(behind(&at, command, Some(&old)), "nothing", "{command}");
        }
        std::fs::write(at.join("pkg/.env"), "A=1\n").unwrap();
        for command in commands {
            let said = behind(&at, command, Some(&old));
            assert!(said.starts_with("it would read `pkg/.env`"), "{command}: {said}");
            assert_eq!(behind(&at, command, Some(&wall(&at))), "nothing", "{command}");
        }
    }

    #[cfg(target_os = "linux")] // for the wall
    #[test]
    fn plain_reads_are_not_asked_about_in_a_project_with_a_secret() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().canonicalize().unwrap();
        for folder in ["src", "docs", "tests"] {
            std::fs::create_dir(at.join(folder)).unwrap();
        }
        git(&at, &["init", "-q"]);
        commit(&at, "a.rs");
        std::fs::write(at.join(".env"), "A=1\n").unwrap();
        let wall = wall(&at);
        let plain = include_str!("../../tine-guard/tests/corpus/plain.txt");
        let is_command =
            |line: &&str| !line.is_empty() && !line.starts_with(['#', '=']) && !line.contains('⟦');
        let commands: Vec<String> = plain
            .lines()
            .filter(is_command)
            .map(|line| line.replace('⏎', "\n").replace('⇥', "\t"))
            .chain(ASKED_ONCE.map(str::to_owned))
            .collect();
        assert!(commands.len() >= 780, "{} plain reads", commands.len());
        // What is no read, or lies outside, is asked about for that.
        let is_inside = |command: &&String| {
            let reads = command_reads(&at, &ShellText::new(command), Width::Wide, None);
            reads.is_some_and(|reads| reads.paths.iter().all(|read| read.path.starts_with(&at)))
        };
        let said = |command: &String| match behind(&at, command, Some(&wall)) {
            said if said == "nothing" => None,
            said => Some(format!("{command:?}: {said}")),
        };
        let asked: Vec<String> = commands.iter().filter(is_inside).filter_map(said).collect();
        assert!(asked.len() * 1_000 <= commands.len() * 9, "{}", asked.join("\n"));
    }

    /// Reads that were asked about in every project with a secret, for nothing.
    const ASKED_ONCE: [&str; 5] = [
        "awk '{print $1}' a",
        "awk 'BEGIN{print 1}'",
        "for i in 1 2 3; do echo $i; done",
        "git status --short | while read x f; do echo \"$f\"; done",
        "ls *.md | xargs wc -l",
    ];
}
