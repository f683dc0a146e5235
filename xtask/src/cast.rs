//! `cargo xtask cast`: a session of the terminal, recorded for readers.

use anyhow::Result;

use crate::{process, workspace};

/// Drives the program through the session and writes the recording into `docs`.
pub(crate) fn run() -> Result<()> {
    let (root, _) = workspace::metadata()?;
    let mut build = process::cargo();
    build.args(["build", "--package", "tine", "--bin", "tine"]);
    process::step("the program", &root, build)?;
    let mut cast = process::cargo();
    cast.args(["run", "--package", "tine", "--example", "cast", "--", "docs"]);
    process::step("the recording", &root, cast)
}
