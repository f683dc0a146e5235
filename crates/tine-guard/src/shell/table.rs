//! Which commands may run at all, and who judges each.
//!
//! A command that stands in none of these tables is not read-only, whatever it does.

pub(super) mod asked;
mod files;
mod search;
pub(super) mod system;
mod text;

use super::archive;
use super::builtin;
use super::find;
use super::git;
use super::jq;
use super::refusal::Refusal;
use super::sed;
use super::utility::{ReadPath, Utility};
use super::word::{Word, all_known, refuse};

/// A judge with rules of its own; gets the arguments without the name.
type Judge = fn(&[Word]) -> Result<Vec<ReadPath>, Refusal>;

/// The commands whose arguments are a language of their own.
const JUDGES: [(&str, Judge); 22] = [
    ("[", builtin::bracket),
    ("bunzip2", archive::decompressor),
    ("bzip2", archive::compressor),
    ("cd", builtin::cd),
    ("command", builtin::command),
    ("echo", builtin::echo),
    ("expr", builtin::expr),
    ("find", find::judge),
    ("git", git::judge),
    ("gunzip", archive::decompressor),
    ("gzip", archive::compressor),
    ("jq", jq::judge),
    ("printf", builtin::printf),
    ("sed", sed::judge),
    ("tar", archive::tar),
    ("test", builtin::test),
    ("unxz", archive::decompressor),
    ("unzip", archive::unzip),
    ("unzstd", archive::decompressor),
    ("xxd", archive::xxd),
    ("xz", archive::compressor),
    ("zstd", archive::compressor),
];

/// The judges that know what to do with a word whose text is not known; to the others none is given.
const JUDGES_OF_VARIABLES: [&str; 7] = ["[", "cd", "echo", "expr", "find", "printf", "test"];

/// Tools that only ever may say which version they are. Not those that a version manager may stand for (cargo, rustc, go, node):
/// to say which version they are, it may install one that the project names.
const VERSION_ONLY: [&str; 9] =
    ["bash", "clang", "cmake", "gcc", "g++", "cc", "make", "sqlite3", "ssh"];

/// Every table of utilities.
const TABLES: [&[Utility]; 4] = [files::TABLE, search::TABLE, system::TABLE, text::TABLE];

/// Judges one command, its name first; the paths that it would read.
pub(super) fn judge(words: &[Word]) -> Result<Vec<ReadPath>, Refusal> {
    let Some((name, arguments)) = words.split_first() else {
        return Err(Refusal::new(0, "", "there is no command"));
    };
    if let Some((known, judge)) = JUDGES.iter().find(|(known, _)| *known == name.text) {
        if !JUDGES_OF_VARIABLES.contains(known) {
            all_known(arguments)?;
        }
        return judge(arguments);
    }
    if let Some(utility) = utility(&name.text) {
        return utility.judge(arguments);
    }
    if VERSION_ONLY.contains(&name.text.as_str()) {
        return match arguments {
            [only] if only.text == "--version" => Ok(Vec::new()),
            _ => {
                let why = "only its `--version` is on the list";
                let why = asked::why_asked(&name.text, arguments).unwrap_or(why);
                refuse(name, why)
            }
        };
    }
    let why = if system::OF_THE_MACHINE.contains(&name.text.as_str()) {
        "it shows the machine, and a command that runs unasked sees only its own part of it"
    } else {
        asked::why_asked(&name.text, arguments)
            .unwrap_or("not on the list of commands that only read")
    };
    refuse(name, why)
}

fn utility(name: &str) -> Option<&'static Utility> {
    TABLES.iter().flat_map(|table| table.iter()).find(|utility| utility.name == name)
}

#[cfg(test)]
#[path = "trace_tests.rs"]
mod trace_tests;
