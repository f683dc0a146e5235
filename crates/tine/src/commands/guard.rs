//! `tine guard`: what the guard says, without running anything.

mod shell;

use crate::cli::GuardCommand;
use crate::fail::Failure;

/// Runs a command of the group; it needs neither settings nor a store.
pub(crate) fn guard(command: GuardCommand) -> Result<u8, Failure> {
    match command {
        GuardCommand::Shell(args) => shell::shell(&args),
    }
}
