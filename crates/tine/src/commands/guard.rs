//! `tine guard`: what the guard says, without running anything.

mod filter;
mod lines;
mod shell;

use std::path::PathBuf;

use crate::cli::GuardCommand;
use crate::fail::Failure;

/// Runs a command of the group; it needs neither settings nor a store.
pub(crate) fn guard(directory: Option<PathBuf>, command: &GuardCommand) -> Result<u8, Failure> {
    match command {
        GuardCommand::Shell(args) => shell::shell(args),
        GuardCommand::Filter(args) => filter::filter(directory, args),
    }
}
