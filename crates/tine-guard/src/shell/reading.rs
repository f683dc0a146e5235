//! What a shell text runs: every command in it with its words, behind launchers and in the text of `sh -c` too.
//!
//! Rules are held against this. A word, or a part of one, that is not certain stands as a mark: [`UNKNOWN`] for any text,
//! [`NAMES`] for one that does not begin with a dash, [`WORDS`] and [`NAME_WORDS`] in place of a whole word for any number of words of
//! the two kinds. What a program does by a language or a file of its own is not seen.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::characters::is_allowed;
use super::evaluate::{self, NAMES, NUMBER, Reader, Reading, UNKNOWN};
use super::launch::{Launched, base_name, launched, subcommands};
use super::syntax::parse;
use super::word::Word;
use crate::real_path::real_path;

/// Deepest nesting of launchers and texts; nobody writes more, and it bounds the work.
const DEPTH_MAX: usize = 8;

/// Most commands of one text with all that they launch.
const COMMANDS_MAX: usize = 4_000;

/// Programs that go by the name under which they are called: the file behind a link to one says nothing.
const BY_NAME: [&str; 8] =
    ["asdf", "busybox", "coreutils", "mise", "pyenv", "rustup", "toybox", "volta-shim"];

/// Stands in place of a word for any number of words, none included.
pub(crate) const WORDS: char = '\u{f8fd}';

/// The same for words of which the first does not begin with a dash.
pub(crate) const NAME_WORDS: char = '\u{f8fc}';

/// Whether the character stands for what is not certain.
pub(crate) fn is_mark(character: char) -> bool {
    matches!(character, UNKNOWN | NAMES | WORDS | NAME_WORDS)
}

/// A command that a text runs or may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    /// Its name, then its arguments, with marks. Never empty.
    pub(crate) words: Vec<String>,
    /// The commands that it runs itself.
    pub(crate) launches: Vec<Command>,
    /// Whether what it runs itself cannot be known.
    pub(crate) launches_unknown: bool,
    /// True if it reads what another command of its pipeline prints.
    pub(crate) is_piped: bool,
    /// The ways in which it may be written, once somebody has asked: they are looked up on the disk.
    spelled: OnceLock<Vec<Vec<String>>>,
}

/// A text as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandReading {
    /// The commands as the shell runs them, each in every form that variables may give it.
    pub(crate) commands: Vec<Command>,
    /// Why commands may be missing: a piece that cannot be read for certain, or bash may run what a variable holds.
    pub(crate) uncertain: Option<String>,
    /// Whether it does something beside its commands: it redirects, sets variables, leaves a command in the background, or has
    /// characters that are not seen.
    pub(crate) does_more: bool,
    /// The files that are opened for input and for output, as they are written, with marks.
    pub(crate) inputs: Vec<String>,
    pub(crate) outputs: Vec<String>,
    /// Names of variables that assignments set.
    pub(crate) assigned: BTreeSet<String>,
}

impl CommandReading {
    /// The commands of a text that was gone through as `bash -c` would.
    pub(super) fn of(text: &str, reading: &Reading) -> Self {
        let mut budget = COMMANDS_MAX;
        Self::through(text, reading, (Reader::Call, 0), &mut budget)
    }

    fn within(text: &str, reader: Reader, depth: usize, budget: &mut usize) -> Self {
        let parsed = parse(text, reader != Reader::Shell);
        Self::through(text, &evaluate::follow(&parsed, reader), (reader, depth), budget)
    }

    fn through(
        text: &str,
        reading: &Reading,
        (reader, depth): (Reader, usize),
        budget: &mut usize,
    ) -> Self {
        let indirect = "bash may run what the text of a variable holds";
        let uncertain = reading.unread.as_ref().map(|refusal| evaluate::shown(&refusal.told(text)));
        let mut all = Self {
            commands: Vec::new(),
            uncertain: uncertain.or_else(|| reading.is_indirect.then(|| indirect.to_owned())),
            does_more: reading.does_more || text.chars().any(|character| !is_allowed(character)),
            inputs: reading.inputs.iter().map(marked).collect(),
            outputs: reading.outputs.iter().map(marked).collect(),
            assigned: reading.assigned.clone(),
        };
        for held in &reading.held {
            let Some(text) = held.as_ref().filter(|_| depth < DEPTH_MAX) else {
                let why = "a variable names what a program runs, and it is not known";
                all.uncertain.get_or_insert_with(|| why.to_owned());
                continue;
            };
            let inner =
                Self::within(text.trim_start_matches('!'), Reader::Shell, depth + 1, budget);
            all.commands.extend(inner.commands);
            all.uncertain = all.uncertain.take().or(inner.uncertain);
        }
        for ran in &reading.ran {
            let words = ran.words.iter().map(marked).collect();
            let from = (ran.input.as_deref(), ran.is_piped);
            let command = all.command(words, from, (reader, depth), budget);
            if !all.commands.contains(&command) {
                all.commands.push(command);
            }
        }
        all
    }

    /// A command with what it launches.
    fn command(
        &mut self,
        words: Vec<String>,
        (input, is_piped): (Option<&str>, bool),
        (reader, depth): (Reader, usize),
        budget: &mut usize,
    ) -> Command {
        let mut launches = Vec::new();
        let mut launches_unknown = false;
        if depth == DEPTH_MAX || *budget == 0 {
            self.uncertain.get_or_insert_with(|| "it runs too much to be followed".to_owned());
            return Command::new(words, launches, launches_unknown, is_piped);
        }
        *budget -= 1;
        for one in launched(&words, input, reader) {
            match one {
                Launched::Words(inner) if inner.is_empty() => {}
                Launched::Words(inner) => {
                    launches.push(self.command(
                        inner,
                        (input, is_piped),
                        (reader, depth + 1),
                        budget,
                    ));
                }
                Launched::Text(reader, text) => {
                    let inner = Self::within(&text, reader, depth + 1, budget);
                    launches.extend(inner.commands);
                    self.uncertain = self.uncertain.take().or(inner.uncertain);
                    self.inputs.extend(inner.inputs);
                    self.outputs.extend(inner.outputs);
                    self.assigned.extend(inner.assigned);
                }
                Launched::Unknown => launches_unknown = true,
            }
        }
        Command::new(words, launches, launches_unknown, is_piped)
    }

    /// Every command, also those that others launch.
    pub(crate) fn all(&self) -> Vec<&Command> {
        let mut open: Vec<&Command> = self.commands.iter().rev().collect();
        let mut all = Vec::new();
        while let Some(command) = open.pop() {
            all.push(command);
            open.extend(command.launches.iter().rev());
        }
        all
    }
}

impl Command {
    fn new(
        words: Vec<String>,
        launches: Vec<Self>,
        launches_unknown: bool,
        is_piped: bool,
    ) -> Self {
        Self { words, launches, launches_unknown, is_piped, spelled: OnceLock::new() }
    }

    /// Its name without a folder.
    pub(crate) fn program(&self) -> &str {
        base_name(&self.words[0])
    }

    /// The command as it may be written in other ways: by the name of its file and of the file behind links, and without the
    /// options before its subcommand. Relative paths begin in the directory, which is the same whenever this is asked.
    pub(crate) fn spellings(&self, directory: &Path) -> &[Vec<String>] {
        self.spelled.get_or_init(|| self.spell(directory))
    }

    fn spell(&self, directory: &Path) -> Vec<Vec<String>> {
        let mut all = self.named_spellings(directory);
        // Where the first word becomes none, the second is the name. The mark keeps it from being certain.
        if let [name, rest @ ..] = self.words.as_slice()
            && is_words(name)
            && !rest.is_empty()
        {
            let rest = Self::new(rest.to_vec(), Vec::new(), false, false);
            all.extend(rest.spell(directory).into_iter().map(|mut words| {
                words[0].insert(0, UNKNOWN);
                words
            }));
        }
        all
    }

    fn named_spellings(&self, directory: &Path) -> Vec<Vec<String>> {
        let Some((name, arguments)) = self.words.split_first() else { return Vec::new() };
        let mut names = vec![name.clone()];
        let mut add = |name: String| {
            if !names.contains(&name) {
                names.push(name);
            }
        };
        add(base_name(name).to_owned());
        if !name.contains(is_mark) {
            for file in files(name, directory) {
                if let Some(text) = file.to_str() {
                    add(text.to_owned());
                    add(base_name(text).to_owned());
                }
            }
        }
        let programs = names.iter().map(|name| base_name(name));
        let starts = programs.flat_map(|program| subcommands(program, arguments));
        let mut starts: Vec<usize> = starts.filter(|at| *at > 0).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut tails = vec![arguments.to_vec()];
        tails.extend(starts.iter().map(|at| arguments[*at..].to_vec()));
        if names.iter().any(|name| base_name(name) == "git") {
            let unknown = |tail: &Vec<String>| {
                tail.first().is_some_and(|word| !is_git_command(word) && !word.starts_with('-'))
            };
            // It may stand for any command of git.
            let alias =
                tails.iter().any(unknown) && !tails.iter().skip(1).any(|tail| !unknown(tail));
            tails.extend(alias.then(|| vec![UNKNOWN.to_string()]));
        }
        let spelled = |name: &String| {
            let name = name.clone();
            tails.iter().map(move |tail| [std::slice::from_ref(&name), tail].concat())
        };
        names.iter().flat_map(spelled).collect()
    }

    /// The command for a person, with `…` for what is not known.
    pub(crate) fn shown(&self) -> String {
        let line = self.words.join(" ");
        let line: String = line.chars().map(|c| if is_mark(c) { '…' } else { c }).collect();
        crate::call::shown(&line)
    }
}

/// The files that a program's name stands for: where it was found, and where links lead from there.
fn files(name: &str, directory: &Path) -> Vec<PathBuf> {
    let found = if name.contains('/') { Some(directory.join(name)) } else { in_path(name) };
    let Some(found) = found else { return Vec::new() };
    let real = real_path(&found).ok().filter(|real| {
        let name = real.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        !BY_NAME.contains(&name)
    });
    [Some(found), real].into_iter().flatten().collect()
}

/// The file that a name stands for in `PATH`.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places.find(|place| place.is_absolute() && place.is_file())
}

/// Commands of git itself; any other word may be an alias. Source: `git --list-cmds=builtins,main`, git 2.47.
pub(super) fn is_git_command(word: &str) -> bool {
    GIT_COMMANDS.split_ascii_whitespace().any(|command| command == word)
}

const GIT_COMMANDS: &str = "add am annotate apply archimport archive backfill bisect blame branch bugreport bundle cat-file \
    check-attr check-ignore check-mailmap check-ref-format checkout checkout--worker checkout-index cherry cherry-pick citool clean \
    clone column commit commit-graph commit-tree config count-objects credential credential-cache credential-store cvsexportcommit \
    cvsimport cvsserver daemon describe diagnose diff diff-files diff-index diff-pairs diff-tree difftool fast-export fast-import \
    fetch fetch-pack filter-branch fmt-merge-msg for-each-ref for-each-repo format-patch fsck fsck-objects gc get-tar-commit-id gui \
    grep hash-object help hook http-backend http-fetch http-push imap-send index-pack init init-db instaweb interpret-trailers \
    lfs log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge merge-base merge-file merge-index merge-octopus merge-one-file \
    merge-ours merge-recursive merge-resolve merge-subtree merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes p4 \
    pack-objects pack-redundant pack-refs patch-id prune prune-packed pull push quiltimport range-diff read-tree rebase receive-pack \
    reflog refs remote repack replace replay request-pull rerere reset restore rev-list rev-parse revert rm send-email send-pack \
    shell shortlog show show-branch show-index show-ref sparse-checkout stage stash status stripspace submodule subtree svn switch \
    symbolic-ref tag unpack-file unpack-objects update-index update-ref update-server-info upload-archive upload-pack var \
    verify-commit verify-pack verify-tag version web--browse whatchanged worktree write-tree";

/// The word with marks for what is not certain of it.
fn marked(word: &Word) -> String {
    let mut text = String::with_capacity(word.text.len());
    let glob = word.glob.unwrap_or(word.text.len());
    let mut at = 0;
    for variable in &word.variables {
        if variable.start < at || variable.end > word.text.len() {
            continue;
        }
        text.push_str(&word.text[at..variable.start.min(glob).max(at)]);
        text.push(UNKNOWN);
        at = variable.end;
    }
    if at < glob {
        text.push_str(&word.text[at..glob]);
    }
    if word.glob.is_some() && !text.ends_with(UNKNOWN) {
        text.push(if text.is_empty() { UNKNOWN } else { NAMES });
    }
    // A number may be any.
    let text = text.replace(NUMBER, UNKNOWN.encode_utf8(&mut [0; 4]));
    // What begins with a name of a file, or with data that is no option, does not begin with a dash.
    let certain = word.variables.is_empty() && word.text.starts_with(is_mark);
    let rest = text.trim_start_matches(is_mark);
    let is_several = rest.is_empty() && !text.is_empty() && word.glob.is_some();
    match (is_several, text.starts_with(is_mark) && certain) {
        (true, true) => NAME_WORDS.to_string(),
        (true, false) => WORDS.to_string(),
        (false, true) => format!("{NAMES}{rest}"),
        (false, false) => text,
    }
}

/// Whether the word stands for any number of words.
fn is_words(word: &str) -> bool {
    matches!(word.chars().next(), Some(WORDS | NAME_WORDS))
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
