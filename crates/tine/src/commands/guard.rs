//! `tine guard`: what the guard says, without running anything.

mod filter;
mod lines;

use std::path::PathBuf;

use crate::cli::GuardCommand;
use crate::fail::Failure;

/// Runs a command of the group; it needs neither settings nor a store.
pub(crate) fn guard(command: GuardCommand, directory: Option<PathBuf>) -> Result<u8, Failure> {
    match command {
        GuardCommand::Filter(args) => filter::filter(directory, &args),
    }
}
