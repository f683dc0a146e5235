//! `tine guard`: what the guard says, without running anything.

mod filter;
mod lines;

use std::path::PathBuf;

use crate::cli::GuardCommand;
use crate::fail::Failure;

pub(crate) fn guard(directory: Option<PathBuf>, command: &GuardCommand) -> Result<u8, Failure> {
    match command {
        GuardCommand::Filter(args) => filter::filter(directory, args),
    }
}
