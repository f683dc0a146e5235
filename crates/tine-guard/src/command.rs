//! The files that a shell command names, in the eyes of the rules and modes.
//!
//! A command that only reads is judged like the reads that it makes: a rule that denies a file to the reading tools
//! denies it to `cat` too. This is text alone; links are the caller's part ([`command_reads`]).
//!
//! Of any other command every word may be a file that it reads, and those of the writers a file that it writes.

use std::path::{Path, PathBuf};

use crate::call::{CommandText, Subject, Target, literal_folders};
use crate::command_pattern::Meets;
use crate::paths::normalise;
use crate::real_path::real_path;
use crate::rule::Rule;
use crate::shell::launch::base_name;
use crate::shell::reach::{Reached, reach};
use crate::shell::reading::{Command, CommandReading, is_mark};
use crate::shell::{ShellText, Width};

/// Stands for an unknown name in a folder.
const SOME_NAME: &str = "_";

/// Commands whose words are no files that they read.
const NO_READERS: [&str; 12] = [
    "cd", "echo", "export", "kill", "mkdir", "printf", "pushd", "rmdir", "sleep", "touch", "true",
    "unset",
];

/// Commands that write the files that they name.
const WRITERS: [&str; 34] = [
    "chmod", "chown", "cp", "csplit", "ed", "emacs", "ex", "install", "ln", "mkdir", "mkfifo",
    "mknod", "mktemp", "mv", "nano", "objcopy", "patch", "rm", "rmdir", "rsync", "script", "shred",
    "split", "sqlite3", "strip", "tar", "tee", "touch", "truncate", "uniq", "unlink", "unzip",
    "vi", "vim",
];

/// Options of many programs that name a file or folder to write.
const OUTPUTS: [&str; 7] = [
    "-o",
    "-O",
    "--out",
    "--output",
    "--output-directory",
    "--output-document",
    "--target-directory",
];

/// Commands of git that write the files that they name.
const GIT_WRITERS: [&str; 5] = ["checkout", "clean", "mv", "restore", "rm"];

/// A command as the judge sees it.
#[derive(Debug)]
pub(crate) struct Judged {
    /// Why it does not only read; `None` where it does.
    pub(crate) not_read_only: Option<String>,
    /// The first thing about its reads that needs somebody's word.
    pub(crate) objection: Option<String>,
    reads: Vec<Read>,
}

#[derive(Debug)]
struct Read {
    subject: Subject,
    contents: bool,
}

impl Judged {
    /// Judges the text as it would run in the directory.
    pub(crate) fn new(directory: &Path, command: &ShellText, width: Width) -> Self {
        let verdict = command.verdict(width);
        if !verdict.read_only {
            return Self {
                not_read_only: Some(verdict.reason.clone()),
                objection: None,
                reads: Vec::new(),
            };
        }
        let (reached, objection) = reach(directory, &verdict.paths);
        let starts = verdict.may_start_programs.as_ref().filter(|_| width == Width::Strict);
        let starts = starts.map(|command| {
            format!(
                "no read-only wall stands here, and `{command}` may start programs that the repository's settings name"
            )
        });
        let objection = objection.or(starts);
        let reads = reached.iter().map(|reached| Read::new(directory, reached)).collect();
        Self { not_read_only: None, objection, reads }
    }

    /// Whether a rule for the tools of files is about a file that the command names.
    pub(crate) fn touched_by(&self, rule: &Rule, command: &CommandText) -> bool {
        if self.not_read_only.is_none() {
            return self.reads.iter().any(|read| {
                let tools: &[&str] = if read.contents { &["FileRead", "Grep"] } else { &["Glob"] };
                tools.iter().any(|tool| rule.meets(tool, &read.subject) == Meets::Yes)
            });
        }
        let named = match rule.tool() {
            "FileRead" => read_by(command.shell.reading()),
            "FileEdit" | "FileWrite" => written_by(command.shell.reading()),
            _ => return false,
        };
        named.iter().any(|path| {
            let target = |path: &Path| {
                Subject::Read(Target::new(&command.directory, &path.to_string_lossy()))
            };
            let path = command.directory.join(in_own_home(path));
            let real = real_path(&normalise(&path)).ok().filter(|real| *real != path);
            [Some(path), real]
                .into_iter()
                .flatten()
                // It may be a folder.
                .flat_map(|path| [path.join(SOME_NAME), path])
                .any(|path| rule.meets(rule.tool(), &target(&path)) == Meets::Yes)
        })
    }
}

/// The words that may be files which commands read: all that are known, also behind `=` and `@`.
fn read_by(reading: &CommandReading) -> Vec<&str> {
    let mut named: Vec<&str> = reading.inputs.iter().map(String::as_str).collect();
    for Command { words, .. } in reading.all() {
        let Some((name, arguments)) = words.split_first() else { continue };
        if !NO_READERS.contains(&base_name(name)) {
            named.push(name);
            named.extend(arguments.iter().flat_map(|word| word.split(['=', '@', ','])));
            named.extend(arguments.iter().map(String::as_str));
        }
    }
    named.retain(|word| !word.is_empty() && !word.contains(is_mark));
    named
}

/// The words that may be files which commands write.
fn written_by(reading: &CommandReading) -> Vec<&str> {
    let mut named: Vec<&str> = reading.outputs.iter().map(String::as_str).collect();
    for Command { words, .. } in reading.all() {
        let Some((name, arguments)) = words.split_first() else { continue };
        let has = |option: &str| arguments.iter().any(|word| word.starts_with(option));
        match base_name(name) {
            name if WRITERS.contains(&name) => named.extend(arguments.iter().map(String::as_str)),
            "sed" | "perl" if has("-i") || has("--in-place") || has("-pi") => {
                named.extend(arguments.iter().map(String::as_str));
            }
            "dd" => named.extend(arguments.iter().filter_map(|word| word.strip_prefix("of="))),
            "find" if has("-delete") || has("-fprint") || has("-fls") => {
                named.extend(arguments.iter().map(String::as_str));
            }
            "git" if arguments.iter().any(|word| GIT_WRITERS.contains(&word.as_str())) => {
                named.extend(arguments.iter().map(String::as_str))
            }
            _ => {}
        }
        // What the options of most programs name as their output.
        let is_output = |word: &str| OUTPUTS.contains(&word);
        let behind = arguments.windows(2).filter(|pair| is_output(&pair[0]));
        named.extend(behind.map(|pair| pair[1].as_str()));
        let attached = arguments.iter().filter_map(|word| word.split_once('='));
        named.extend(attached.filter(|(option, _)| is_output(option)).map(|(_, file)| file));
    }
    named.retain(|word| !word.is_empty() && !word.starts_with('-') && !word.contains(is_mark));
    named
}

/// The path with the home directory of this process in place of a `~`.
fn in_own_home(path: &str) -> PathBuf {
    let home = path
        .strip_prefix('~')
        .and_then(|rest| rest.strip_prefix('/').or(rest.is_empty().then_some("")));
    match (home, std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

impl Read {
    fn new(directory: &Path, reached: &Reached) -> Self {
        let text = reached.absolute.to_string_lossy();
        // Of a wildcard only the folder where it begins is known; and any name may be a folder that is read whole.
        let known = if reached.glob { literal_folders(&text) } else { text.into_owned() };
        let subject = Subject::Search(Target::new(directory, &known));
        Self { subject, contents: reached.contents }
    }
}

/// The files and folders that a read-only command names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandReads {
    /// The files and folders.
    pub paths: Vec<CommandRead>,
    /// True if these are all. False if a name depends on a home directory that is not known.
    pub is_complete: bool,
}

/// A file or folder that a read-only command names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRead {
    /// Its absolute path. A name with wildcards stands as the folder where the wildcard begins.
    pub path: PathBuf,
    /// True if the content is printed, and not only the name or the size.
    pub contents: bool,
    /// True if the command changes to this directory. Later commands, git among them, may run there.
    pub moves: bool,
}

/// The files and folders that a read-only command names, so that a caller who can see the file system may follow links and
/// judge what they lead to. `~` is `home`. Returns `None` for a command that is not read-only.
pub fn command_reads(
    directory: &Path,
    command: &ShellText,
    width: Width,
    home: Option<&Path>,
) -> Option<CommandReads> {
    let verdict = command.verdict(width);
    if !verdict.read_only {
        return None;
    }
    let (reached, _) = reach(directory, &verdict.paths);
    let literal = |path: PathBuf, glob: bool| {
        if glob { PathBuf::from(literal_folders(&path.to_string_lossy())) } else { path }
    };
    let mut reads = CommandReads { paths: Vec::new(), is_complete: true };
    reads.paths.extend(reached.into_iter().map(|reached| CommandRead {
        path: literal(reached.absolute, reached.glob),
        contents: reached.contents,
        moves: reached.moves,
    }));
    for path in verdict.paths.iter().filter(|path| path.tilde) {
        // What comes behind may begin there.
        reads.is_complete &= !path.moves;
        match (home, in_home(&path.text)) {
            (Some(home), Some(rest)) => {
                let path = CommandRead {
                    path: literal(normalise(&home.join(rest)), path.glob),
                    contents: path.contents,
                    moves: path.moves,
                };
                reads.paths.push(path);
            }
            (_, None) | (None, Some(_)) => reads.is_complete = false,
        }
    }
    Some(reads)
}

/// The part of the path below the home directory, if it is sure to begin there.
fn in_home(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('~').or_else(|| text.strip_prefix("$HOME"))?;
    let rest = if rest.is_empty() { rest } else { rest.strip_prefix('/')? };
    (!rest.contains('$')).then_some(rest.trim_start_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_its_reads_in_the_home_too() {
        let check = |command: &str| {
            let (directory, home) = (Path::new("/srv/app"), Path::new("/home/user"));
            let text = ShellText::new(command);
            let reads = command_reads(directory, &text, Width::Wide, Some(home)).unwrap();
            let shown = |read: &CommandRead| {
                let what = if read.contents { "" } else { " (name)" };
                format!("{}{what}", read.path.display())
            };
            let mut all: Vec<String> = reads.paths.iter().map(shown).collect();
            all.extend((!reads.is_complete).then(|| "…".to_owned()));
            all.join(" ")
        };
        insta::assert_snapshot!(check("cat a ~/b/../c ; ls /etc"), @"/srv/app/a /etc (name) /home/user/c");
        insta::assert_snapshot!(check("cat \"$HOME/x\" ~/d/*.rs"), @"/home/user/x /home/user/d");
        let text = ShellText::new("rm x");
        assert_eq!(command_reads(Path::new("/srv"), &text, Width::Wide, None), None);
    }
}
