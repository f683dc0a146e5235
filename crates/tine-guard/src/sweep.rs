//! Reads that name no file: searches through folders, files that only the data of a command names, and what git prints of its history.
//!
//! It goes by the words that the verdict resolved, command by command, and errs on the side of a look too many: whoever can see the
//! files looks whether there is a secret among them, and asks only then. What is not known of a word counts as anything. Of git it
//! knows what prints no content; everything else counts as printing some.

mod history;

use crate::shell::{ShellText, UNKNOWN, Width};

/// The content that a read-only command searches or prints beside the files that it names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sweep {
    /// It may print what is in the files below the folders that it names.
    pub folders: bool,
    /// Hidden and ignored files, too.
    pub all: bool,
    /// It may print files that only its data names, such as what `find` found.
    pub data: bool,
    /// It may print what is in files that git tracks or once tracked.
    pub history: bool,
    /// It may print git's settings or the addresses of remotes.
    pub settings: bool,
    /// Git goes to a repository that the text does not name, or into submodules, and may print what is there.
    pub elsewhere: bool,
}

/// Programs that search through folders by themselves, without files that are hidden or ignored.
const SEARCH: [&str; 3] = ["rg", "ag", "ack"];

/// Programs that search through folders where an option says so.
const SEARCH_WITH_OPTION: [&str; 8] =
    ["grep", "egrep", "fgrep", "zgrep", "zegrep", "zfgrep", "ugrep", "diff"];

/// Commands that print nothing of what is in the files that they name, or that run another command, which counts for itself.
const PRINT_NO_CONTENT: [&str; 51] = words!(
    ": [ [[ b2sum basename break cd cksum command continue date dirname du echo env exit export expr false file \
    find git ionice ls mapfile md5sum nice printf pwd read readarray readlink realpath return seq set sha1sum \
    sha256sum sha512sum shopt sleep stat test time timeout tree true type unset wc xargs"
);

impl Sweep {
    /// Finds what a command searches or prints. Empty for a command that is not read-only.
    pub fn of(command: &ShellText, width: Width) -> Self {
        let verdict = command.verdict(width);
        let mut all = Self::default();
        let mut is_moved = false;
        for words in &verdict.commands {
            let Some((name, arguments)) = words.split_first() else { continue };
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let one = match name.as_str() {
                "cd" => {
                    is_moved |= arguments.iter().any(|word| is_unknown(word));
                    Self::default()
                }
                "git" => history::of_git(&arguments, is_moved),
                name => of_program(name, &arguments),
            };
            all = all.or(one);
        }
        // A search or a list of files does not pass over git's own folder.
        all.settings |= all.folders && all.all || all.data;
        all
    }

    fn or(self, other: Self) -> Self {
        Self {
            folders: self.folders || other.folders,
            all: self.all || other.all,
            data: self.data || other.data,
            history: self.history || other.history,
            settings: self.settings || other.settings,
            elsewhere: self.elsewhere || other.elsewhere,
        }
    }
}

/// Returns true if the word, or a part of it, is not known.
fn is_unknown(word: &str) -> bool {
    word.contains(UNKNOWN)
}

/// Returns true if a word is a cluster of short options with one of the letters.
fn has_letter(word: &str, letters: &[char]) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(letters)
}

fn of_program(name: &str, arguments: &[&str]) -> Sweep {
    let long = |names: &[&str]| {
        arguments.iter().any(|word| names.iter().any(|name| word.starts_with(name)))
    };
    let short = |letters: &[char]| arguments.iter().any(|word| has_letter(word, letters));
    let recurses = short(&['r', 'R', 'd'])
        || long(&["--recurs", "--dereference-r", "--direct"])
        || arguments.iter().any(|word| word.starts_with('-') && is_unknown(word));
    let is_search = SEARCH.contains(&name);
    let is_deep = name == "rgrep" || SEARCH_WITH_OPTION.contains(&name) && recurses;
    let sees_all = long(&["--hidden", "--no-ignore", "--unres"]) || short(&['u', '.']);
    let is_named_by_data = arguments.iter().any(|word| is_unknown(word)) || long(&["--files0"]);
    Sweep {
        folders: is_search || is_deep,
        all: is_deep || is_search && sees_all,
        data: is_named_by_data && !PRINT_NO_CONTENT.contains(&name),
        ..Sweep::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &str) -> String {
        let text = ShellText::new(command);
        assert!(text.verdict(Width::Wide).read_only, "{command}");
        let Sweep { folders, all, data, history, settings, elsewhere } =
            Sweep::of(&text, Width::Wide);
        let words = [
            (folders, "folders"),
            (all, "all"),
            (data, "data"),
            (history, "history"),
            (settings, "settings"),
            (elsewhere, "elsewhere"),
        ];
        let words = words.into_iter().filter(|(is, _)| *is).map(|(_, word)| word);
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_list_of_commands_is_written_as_it_is_read() {
        assert!(PRINT_NO_CONTENT.is_sorted());
    }

    #[test]
    fn searches_are_known_by_the_words_that_run() {
        for (command, expected) in [
            ("grep -rn '' .", "folders all settings"),
            ("grep -'r' SECRET .", "folders all settings"),
            ("grep -r API . --include=.env", "folders all settings"),
            ("cd a && egrep --recursive x b", "folders all settings"),
            ("rg API", "folders"),
            ("rg -uu API", "folders all settings"),
            ("rg --hidden API", "folders all settings"),
            ("diff -rN e .", "folders all settings"),
            ("grep API src/a.rs", ""),
            ("echo 'grep -r x .'", ""),
            ("cat a b | sort", ""),
            ("ls -la", ""),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }

    #[test]
    fn files_that_only_data_names_are_known_and_what_prints_none_is_free() {
        for command in [
            "cat $(find pkg -type f)",
            "find . -name a -exec cat {} +",
            "find . -type f | xargs head -n 1",
            "mapfile -t f < <(find pkg -type f); cat \"${f[@]}\"",
            "for f in *; do head -n 3 \"$f\"; done",
            "ls | while read -r f; do cat \"$f\"; done",
        ] {
            assert_eq!(shown(command), "data settings", "{command}");
        }
        for command in [
            "awk '{print $1}' a",
            "awk 'BEGIN{print 1}'",
            "for i in 1 2 3; do echo $i; done",
            "git status --short | while read x f; do echo \"$f\"; done",
            "ls *.md | xargs wc -l",
            "find . -name '*.rs' -exec wc -l {} +",
            "for f in a b; do cat \"$f\"; done",
        ] {
            assert_eq!(shown(command), "", "{command}");
        }
    }

    #[test]
    fn git_prints_content_unless_its_words_say_that_it_does_not() {
        for command in [
            "git log -p",
            "git l'o'g -p",
            "git log -'p'",
            "git --no-pager log --patch -3",
            "git log --dd",
            "git log --cc",
            "git log -c",
            "git log -L 1,3:a",
            "git log -g -p",
            "git reflog -p",
            "git sh\\ow HEAD~1",
            "x=show; git $x HEAD~1",
            "git show HEAD",
            "git stash show -p",
            "git stash list -p",
            "git cat-file blob abc1234",
            "git cat-file -p HEAD:a",
            "git range-diff a b c",
            "git diff",
            "git diff --stat -p",
            "git diff-tree -p HEAD",
            "git blame a",
            "git grep API 'HEAD@{1}'",
            "git status -v",
            "git for-each-ref --format='%(raw)'",
            "git -C sub log -p",
            "cd sub && git show HEAD~1",
        ] {
            assert_eq!(shown(command), "history", "{command}");
        }
        for command in [
            "git log --oneline -5",
            "git log -n 3 --format='%h %s' --since=2.weeks -- src",
            "git log -5 --stat",
            "git status",
            "git status -sb",
            "git diff --stat HEAD~1",
            "git diff --name-only",
            "git ls-files",
            "git branch -a",
            "git rev-parse HEAD",
            "git stash list",
            "git reflog",
            "git cat-file -t HEAD",
            "git remote",
            "git --version",
        ] {
            assert_eq!(shown(command), "", "{command}");
        }
    }

    #[test]
    fn settings_and_other_repositories_are_known() {
        for (command, expected) in [
            ("git remote -v", "settings"),
            ("git -C sub remote -v", "settings"),
            ("git config --list", "settings"),
            ("git diff --no-index e .", "folders all history settings"),
            ("git grep --untracked x", "folders all history settings"),
            ("git grep --recurse-submodules x", "history elsewhere"),
            ("for d in */; do git -C \"$d\" log -p; done", "history elsewhere"),
            ("for d in */; do git -C \"$d\" status -s; done", ""),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }
}
