//! Git commands that print no content of files. Every other one counts as printing all.

use super::{Sweep, has_letter, is_unknown};

/// Subcommands that print names, numbers and messages, and nothing that is in a file.
const PRINT_NO_CONTENT: [&str; 21] = words!(
    "--version bisect branch check-attr check-ignore cherry count-objects describe for-each-ref ls-files ls-tree \
    merge-base name-rev rev-list rev-parse shortlog show-ref symbolic-ref tag version worktree"
);

/// Options of walks that print nothing of files. An abbreviation of an option is not on the list.
const QUIET: [&str; 73] = words!(
    "--abbrev --abbrev-commit --after --all --all-match --ancestry-path --author --author-date-order \
    --basic-regexp --before --boundary --branches --cached --cherry --cherry-mark --cherry-pick --children \
    --color --committer --compact-summary --count --date --date-order --decorate --diff-filter --dirstat \
    --exit-code --extended-regexp --find-renames --first-parent --fixed-strings --follow --format --full-history \
    --glob --graph --grep --invert-grep --left-right --max-count --merges --name-only --name-status --no-color \
    --no-decorate --no-ext-diff --no-merges --no-patch --no-renames --no-textconv --not --numstat --oneline \
    --parents --pretty --quiet --regexp-ignore-case --relative-date --remotes --reverse --shortstat \
    --simplify-by-decoration --since --skip --source --staged --stat --summary --tags --topo-order --until \
    --use-mailmap --walk-reflogs"
);

/// Options that make `git diff` print a summary in place of the changes.
const SUMMARIES: [&str; 10] = words!(
    "--compact-summary --dirstat --name-only --name-status --no-patch --numstat --quiet --shortstat --stat \
    --summary"
);

/// What a command of git prints, with these words behind `git`. `is_moved` says that it may run in a directory that is not known.
pub(super) fn of_git(words: &[&str], is_moved: bool) -> Sweep {
    let mut rest = words;
    let mut elsewhere = is_moved;
    while let [option, more @ ..] = rest {
        if !option.starts_with('-') || *option == "--version" {
            break;
        }
        rest = match (*option, more) {
            ("-C", [directory, more @ ..]) => {
                elsewhere |= is_unknown(directory);
                more
            }
            ("-c", [_, more @ ..]) => more,
            _ => more,
        };
    }
    let Some((subcommand, arguments)) = rest.split_first() else { return Sweep::default() };
    let options: Vec<&str> = arguments.iter().copied().take_while(|word| *word != "--").collect();
    let has =
        |names: &[&str]| options.iter().any(|word| names.iter().any(|name| word.starts_with(name)));
    let settings = match *subcommand {
        "config" | "var" | "ls-remote" => true,
        "remote" => !arguments.is_empty(),
        _ => false,
    };
    let history = !settings && *subcommand != "remote" && prints_content(subcommand, &options);
    // Files that git does not track.
    let folders = history && has(&["--no-index", "--untracked", "--no-exclude"]);
    elsewhere |= has(&["--submodule", "--recurse-sub"]);
    Sweep {
        folders,
        all: folders,
        data: false,
        history,
        settings,
        elsewhere: elsewhere && (history || settings),
    }
}

fn prints_content(subcommand: &str, options: &[&str]) -> bool {
    let are_quiet = |words: &[&str]| words.iter().all(|word| is_quiet(word));
    match (subcommand, options) {
        ("log", _) => !are_quiet(options),
        ("stash", ["list", rest @ ..]) | ("reflog", ["show", rest @ ..] | rest) => !are_quiet(rest),
        ("diff", _) => {
            let is_summary = |word: &&str| SUMMARIES.contains(&name(word)) || *word == "-s";
            !(options.iter().any(is_summary) && are_quiet(options))
        }
        ("cat-file", ["-t" | "-s" | "-e", ..]) => false,
        ("status", _) => {
            options.iter().any(|word| word.starts_with("--v") || has_letter(word, &['v']))
        }
        // A format may ask for the object that a reference leads to.
        ("for-each-ref" | "branch" | "tag", _) => {
            let asks = |word: &str| word.contains("%(raw") || word.contains("%(contents");
            options.iter().any(|word| asks(word) || word.starts_with("--f") && is_unknown(word))
        }
        _ => !PRINT_NO_CONTENT.contains(&subcommand),
    }
}

/// The name of a long option.
fn name(word: &str) -> &str {
    word.split_once('=').map_or(word, |(name, _)| name)
}

/// Returns true for an option that adds nothing of files to a list of commits, and for a word that is no option.
fn is_quiet(word: &str) -> bool {
    if !word.starts_with('-') {
        return true;
    }
    if is_unknown(word) {
        return false;
    }
    if word.starts_with("--") {
        return QUIET.contains(&name(word));
    }
    let letters = &word[1..];
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    is_number(letters)
        || letters.strip_prefix('n').is_some_and(is_number)
        || letters.starts_with(['S', 'G'])
        || letters.chars().all(|letter| "iEFgqsz".contains(letter))
}
