//! Reads that name no file: searches through folders, and what git prints of its history.
//!
//! It goes by the words of a command, wherever they stand, and errs on the side of a look too many: whoever can see the files looks
//! whether there is a secret among them, and asks only then.

/// What a command that only reads goes through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sweep {
    /// It may print what is in the files below the folders that it names, or below its directory where it names none.
    pub folders: bool,
    /// Hidden and ignored files, too.
    pub all: bool,
    /// It may print what is in files that git tracks or once tracked.
    pub history: bool,
    /// It may print git's settings or the addresses of remotes.
    pub settings: bool,
}

/// Subcommands of git that print changes of their own accord, or where an option says so.
const PRINT_CHANGES: [&str; 5] = ["show", "diff", "grep", "whatchanged", "stash"];
const PRINT_WITH_OPTION: [&str; 6] =
    ["log", "reflog", "diff-tree", "diff-index", "diff-files", "cat-file"];

impl Sweep {
    /// What a command goes through, by its words.
    pub fn of(command: &str) -> Self {
        let separates = |c: char| {
            c.is_whitespace() || matches!(c, ';' | '|' | '&' | '(' | ')' | '`' | '"' | '\'')
        };
        let words: Vec<&str> = command.split(separates).filter(|word| !word.is_empty()).collect();
        let program = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
        let has = |names: &[&str]| words.iter().any(|word| names.contains(&&*program(word)));
        let short = |letters: &[char]| {
            words.iter().any(|word| {
                word.starts_with('-') && !word.starts_with("--") && word.contains(letters)
            })
        };
        let long = |names: &[&str]| {
            words.iter().any(|word| names.iter().any(|name| word.starts_with(name)))
        };
        let ripgrep = has(&["rg", "ag", "ack"]);
        let recursive = short(&['r', 'R', 'd'])
            || long(&["--recurs", "--dereference-r", "--direct", "--no-index", "--untracked"]);
        let searches = has(&["grep", "egrep", "fgrep", "rgrep", "zgrep", "ugrep", "diff"]);
        let each = has(&["xargs", "-exec", "-execdir", "for", "while", "awk"]);
        let git = has(&["git"]);
        let patch = short(&['p', 'u', 'L', 'c', 'm', 'U', 'W'])
            || long(&["--patch", "--unified", "--cc", "--remerge", "--function-c", "--word-d"])
            || long(&["--color-w", "--binary", "--full-i", "--batch"]);
        Self {
            folders: ripgrep || searches && recursive || each || has(&["rgrep"]),
            all: searches && recursive
                || each
                || long(&["--hidden", "--no-ignore", "--unres"])
                || short(&['u', '.']),
            history: git && (has(&PRINT_CHANGES) || has(&PRINT_WITH_OPTION) && patch),
            settings: git && has(&["config", "remote", "var", "ls-remote"])
                || words.iter().any(|word| word.contains(".git/") || word.ends_with(".gitconfig")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_and_histories_are_known_by_their_words() {
        let shown = |command: &str| {
            let Sweep { folders, all, history, settings } = Sweep::of(command);
            let words =
                [(folders, "folders"), (all, "all"), (history, "history"), (settings, "settings")];
            words
                .into_iter()
                .filter(|(is, _)| *is)
                .map(|(_, word)| word)
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (command, expected) in [
            ("grep -rn '' .", "folders all"),
            ("grep -r API . --include=.env", "folders all"),
            ("cd a && egrep --recursive x b", "folders all"),
            ("rg API", "folders"),
            ("rg -uu API", "folders all"),
            ("rg --hidden API", "folders all"),
            ("diff -rN e .", "folders all"),
            ("git grep '' HEAD", "history"),
            ("git diff --no-index e .", "folders all history"),
            ("git log -p", "history"),
            ("git --no-pager log --patch -3", "history"),
            ("git show HEAD", "history"),
            ("git stash show -p", "history"),
            ("find . -name a -exec cat {} +", "folders all"),
            ("git remote -v", "settings"),
            ("git config --list", "settings"),
            ("cat .git/config", "settings"),
            ("ls -la", ""),
            ("grep API src/a.rs", ""),
            ("git log --oneline -5", ""),
            ("git status", ""),
            ("cat a b | sort", ""),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }
}
