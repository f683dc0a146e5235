//! What a shell command would read, in the eyes of the rules and modes.
//!
//! A command that only reads is judged like the reads that it makes: a rule that denies a file to the reading tools
//! denies it to `cat` too. This is text alone; links are the caller's part ([`command_reads`]).

use std::path::{Path, PathBuf};

use crate::call::{Subject, Target, literal_folders};
use crate::paths::normalise;
use crate::rule::Rule;
use crate::shell::reach::{Reached, reach};
use crate::shell::{Width, shell_verdict};

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
    pub(crate) fn new(directory: &Path, command: &str, width: Width) -> Self {
        let verdict = shell_verdict(command, width);
        if !verdict.read_only {
            return Self {
                not_read_only: Some(verdict.reason),
                objection: None,
                reads: Vec::new(),
            };
        }
        let (reached, objection) = reach(directory, &verdict.paths);
        let starts = verdict.may_start_programs.filter(|_| width == Width::Strict);
        let starts = starts.map(|command| {
            format!(
                "no read-only wall stands here, and `{command}` may start programs that the repository's settings name"
            )
        });
        let objection = objection.or(starts);
        let reads = reached.iter().map(|reached| Read::new(directory, reached)).collect();
        Self { not_read_only: None, objection, reads }
    }

    /// Whether a rule for the reading tools is about anything that the command reads.
    pub(crate) fn touched_by(&self, rule: &Rule) -> bool {
        self.reads.iter().any(|read| {
            let tools: &[&str] = if read.contents { &["FileRead", "Grep"] } else { &["Glob"] };
            tools.iter().any(|tool| rule.touches(tool, &read.subject))
        })
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
    command: &str,
    width: Width,
    home: Option<&Path>,
) -> Option<CommandReads> {
    let verdict = shell_verdict(command, width);
    if !verdict.read_only {
        return None;
    }
    let (reached, _) = reach(directory, &verdict.paths);
    let literal = |path: PathBuf, glob: bool| match glob {
        true => PathBuf::from(literal_folders(&path.to_string_lossy())),
        false => path,
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
            let reads = command_reads(directory, command, Width::Wide, Some(home)).unwrap();
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
        assert_eq!(command_reads(Path::new("/srv"), "rm x", Width::Wide, None), None);
    }
}
