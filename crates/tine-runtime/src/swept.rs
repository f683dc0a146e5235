//! Secrets that a command would print without naming them: below a folder that it searches, or in git's history.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use tine_guard::{Reason, Sweep, is_secret, redact};
use tine_tools::{Swept, sweep};
use tine_worktree::{find_in_history, git_settings};

/// Files that stay out by themselves when the same is asked of another tool.
const INSTEAD: &str = "the Grep tool leaves such files out";

/// Returns why a command that only reads needs somebody's word, if a secret lies among what it goes through. `reads` are the files and
/// folders that it names.
pub(crate) fn objection(directory: &Path, command: &str, reads: &[PathBuf]) -> Option<Reason> {
    let found = Sweep::of(command);
    let below = || {
        let named: Vec<&Path> =
            reads.iter().map(PathBuf::as_path).filter(|path| path.is_dir()).collect();
        let folders = if named.is_empty() { vec![directory] } else { named };
        folders.into_iter().find_map(|folder| in_folder(directory, folder, found.all))
    };
    let before = || in_history(directory);
    let settings = || {
        let holds_key = matches!(redact(&git_settings(directory)), Cow::Owned(_));
        holds_key.then(|| "git's settings here hold a key or a password".to_owned())
    };
    let folders = found.folders.then(below).flatten();
    let history = || found.history.then(before).flatten();
    let settings = || found.settings.then(settings).flatten();
    folders.or_else(history).or_else(settings).map(Reason::new)
}

fn in_folder(directory: &Path, folder: &Path, all: bool) -> Option<String> {
    match sweep(folder, all, is_secret) {
        Swept::Nothing => None,
        Swept::Found(path) => {
            let path = path.strip_prefix(directory).unwrap_or(&path);
            let path = path.to_string_lossy();
            Some(format!(
                "it would read `{}`, which may hold keys or passwords; {INSTEAD}",
                path.escape_debug()
            ))
        }
        Swept::TooMany => Some(format!(
            "it goes through too many files to tell whether keys or passwords are among them; {INSTEAD}"
        )),
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

    use super::*;

    fn git(directory: &Path, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]);
        let done = command.args(arguments).current_dir(directory).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    }

    fn check(directory: &Path, command: &str) -> String {
        let found = objection(directory, command, &[]);
        found.map_or("nothing".to_owned(), |reason| reason.to_string())
    }

    #[test]
    fn secrets_on_the_way_of_a_command_are_asked_about() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        git(at, &["init", "-q"]);
        std::fs::write(at.join("a.rs"), "fn main() {}\n").unwrap();
        git(at, &["add", "."]);
        git(at, &["commit", "-qm", "one"]);
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
        for command in ["git log -p", "git show HEAD~1", "git diff HEAD~1", "git grep x HEAD~1"] {
            assert!(check(at, command).starts_with("git's history here holds `.env`"), "{command}");
        }
        assert_eq!(check(at, "git log --oneline"), "nothing");
        let address = ["https://me:hunter2x", "@example.com/a.git"].concat();
        git(at, &["remote", "add", "origin", &address]);
        insta::assert_snapshot!(check(at, "git remote -v"), @"git's settings here hold a key or a password");
    }
}
