//! `cargo xtask soak`: the terminal for long, with many agents, to see whether its memory grows.

use anyhow::Result;

use crate::{process, workspace};

/// Runs it as it ships; fails where memory grows. What is flat stands in the example.
pub(crate) fn run(agents: u32, minutes: u32) -> Result<()> {
    let (root, _) = workspace::metadata()?;
    let mut build = process::cargo();
    build.args(["build", "--release", "--package", "tine", "--bin", "tine"]);
    process::step("the program", &root, build)?;
    let mut soak = process::cargo();
    soak.args(["run", "--release", "--package", "tine", "--example", "soak", "--"]);
    soak.args([agents.to_string(), minutes.to_string()]);
    process::step(&format!("{agents} agents for {minutes} minutes"), &root, soak)
}
