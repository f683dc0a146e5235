//! What a shell command would read, in the eyes of the rules and modes.
//!
//! A command that only reads is judged like the reads that it makes: a rule that denies a file to the reading tools
//! denies it to `cat` too. This is text alone; links are the caller's part ([`command_reads`]).

use std::path::{Path, PathBuf};

use crate::call::{Subject, Target, literal_folders};
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

/// The files and folders, as absolute paths, that a read-only command names, so that a caller who can see the file
/// system may follow links and judge what they lead to. Empty for a command that is not read-only. Names with wildcards
/// stand as the folder where the wildcard begins.
pub fn command_reads(directory: &Path, command: &str, width: Width) -> Vec<PathBuf> {
    let (reached, _) = reach(directory, &shell_verdict(command, width).paths);
    let plain = |reached: Reached| {
        if reached.glob {
            PathBuf::from(literal_folders(&reached.absolute.to_string_lossy()))
        } else {
            reached.absolute
        }
    };
    reached.into_iter().map(plain).collect()
}
