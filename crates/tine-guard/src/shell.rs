//! The shell verdict: whether a command text only reads.
//!
//! Three steps, each deny by default: `grammar` recognises a subset of the shell in which the words that bash would run
//! are certain; `table` knows the commands that only read, and for each of them every option and operand that it may
//! have; `reach` says which files the accepted commands would read. Nothing here runs, opens or expands anything, so
//! links, aliases, functions of the caller's environment and what stands behind a name in `PATH` are not known.
//!
//! This is the strict verdict, which needs no wall. The wide one (`wide`) holds only in front of a read-only wall. `find`,
//! `git`, `sed` and `jq` have files of their own. Tests compare the first step with bash itself (`bash_tests.rs`), and a
//! directory before and after the commands of the second (`trace_tests.rs`).

mod archive;
mod brace;
mod builtin;
mod characters;
mod environment;
mod find;
mod git;
mod grammar;
mod here;
mod jq;
pub(crate) mod launch;
mod options;
pub(crate) mod reach;
pub(crate) mod reading;
mod refusal;
mod sed;
mod table;
mod utility;
mod variable;
mod verdict;
mod wide;
mod width;
mod word;

pub(crate) use table::system::OF_THE_MACHINE;
pub(crate) use utility::ReadPath;
pub use verdict::{ShellVerdict, shell_verdict};
pub(crate) use wide::{NAMES, UNKNOWN};
pub use width::Width;
