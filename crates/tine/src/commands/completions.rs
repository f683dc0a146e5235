//! `tine completions` and `tine man`: texts that are made from the command line's own types.

use std::io;

use clap_complete::env::Shells;

use crate::cli::{self, CompletionsArgs};
use crate::completion::VARIABLE;
use crate::fail::Failure;
use crate::{manual, output};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let shells = Shells::builtins();
    let shell = args.shell.to_string();
    let mut script = Vec::new();
    let written = match shells.completer(&shell) {
        Some(shell) => shell.write_registration(VARIABLE, "tine", "tine", "tine", &mut script),
        None => Err(io::Error::other(format!("no completions for {shell}"))),
    };
    written.map_err(|error| Failure::failed("cannot write the script").because(&error))?;
    output::write_out(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

pub(crate) fn man() -> Result<u8, Failure> {
    let page = manual::page(cli::command())
        .map_err(|error| Failure::failed("cannot write the manual").because(&error))?;
    output::write_out(&page)?;
    Ok(0)
}
