//! `tine completions` and `tine man`: texts that are made from the command line's own types.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::fail::Failure;
use crate::{manual, output};

pub(crate) fn completions(args: &CompletionsArgs) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tine", &mut script);
    output::write_out(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

pub(crate) fn man() -> Result<u8, Failure> {
    let page = manual::page(Cli::command())
        .map_err(|error| Failure::failed("cannot write the manual").because(&error))?;
    output::write_out(&page)?;
    Ok(0)
}
