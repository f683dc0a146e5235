//! The stages of a wall as a program of their own, for the tests of this crate. The binary `tine` is its own stage.

use std::process::ExitCode;

fn main() -> ExitCode {
    tine_tools::stage_of(std::env::args_os().skip(1)).unwrap_or(ExitCode::FAILURE)
}
