//! The programs of git's settings behind their wall, for the tests of this crate. The binary `tine` starts them itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    tine_tools::stage_of(std::env::args_os().skip(1)).unwrap_or(ExitCode::FAILURE)
}
