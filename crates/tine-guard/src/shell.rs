//! The shell verdict: whether a command text only reads.
//!
//! One reader (`syntax`) reads all of bash, and `evaluate` says which commands may run, with what is known of their words.
//! `table` knows the commands that only read, and for each of them every option and
//! operand that it may have; `reach` says which files the accepted commands would read. Nothing here runs, opens or expands
//! anything, so links, aliases, functions of the caller's environment and what stands behind a name in `PATH` are not known.
//!
//! Both verdicts are deny by default. The strict one (`strict`) needs no wall: it accepts text in which the words that bash would
//! run are certain. The wide one holds only in front of a read-only wall. `find`, `git`, `sed` and `jq` have files of their own.
//! Tests compare the reader with bash itself (`bash_tests.rs`), and a directory before and after accepted commands
//! (`trace_tests.rs`).

mod archive;
mod builtin;
mod characters;
mod environment;
mod evaluate;
mod find;
mod git;
mod jq;
pub(crate) mod launch;
mod options;
pub(crate) mod reach;
pub(crate) mod reading;
mod refusal;
mod sed;
mod strict;
mod syntax;
mod table;
mod utility;
mod verdict;
mod width;
mod word;

pub(crate) use evaluate::{NAMES, UNKNOWN};
pub(crate) use table::system::OF_THE_MACHINE;
pub(crate) use utility::ReadPath;
pub use verdict::{ShellText, ShellVerdict, shell_verdict};
pub use width::Width;
