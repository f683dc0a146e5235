//! `cargo xtask embed`: builds and runs a crate outside the workspace that depends on `tine-fork` alone, and says what that brings.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::{process, workspace};

/// What the crate prints when its fork works.
const EXPECTED: &str = "It is rising. (1 call)";

/// Builds it from nothing, so that the time is that of an embedder's first build.
pub(crate) fn clean() -> Result<()> {
    let (root, _) = workspace::metadata()?;
    process::step("removing the last build", &root, cargo(&root, "clean"))?;
    run(&root)
}

/// Builds what is not built yet, runs it, and prints how much it depends on.
pub(crate) fn run(root: &Path) -> Result<()> {
    let start = Instant::now();
    let mut build = cargo(root, "build");
    build.arg("--quiet");
    process::step("a crate that embeds tine-fork", root, build)?;
    let built = start.elapsed().as_secs_f64();
    let mut run = cargo(root, "run");
    run.arg("--quiet");
    let told = process::output(run)?;
    if told.trim() != EXPECTED {
        bail!("the crate that embeds tine-fork said `{}` instead of `{EXPECTED}`", told.trim());
    }
    let mut tree = cargo(root, "tree");
    tree.args(["--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    let tree = process::output(tree)?;
    let crates: BTreeSet<&str> = tree
        .lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    let ours = crates.iter().filter(|name| name.starts_with("tine-")).count();
    // The crate itself is among them.
    let all = crates.len() - 1;
    eprintln!(
        "==> it builds in {built:.1} s, on {all} crates, {ours} of them ours; it said: {EXPECTED}"
    );
    Ok(())
}

fn cargo(root: &Path, command: &str) -> Command {
    let directory = root.join("crates/tine-fork/embed");
    let mut cargo = process::cargo();
    cargo.arg(command).arg("--manifest-path").arg(directory.join("Cargo.toml"));
    if command != "tree" {
        cargo.arg("--target-dir").arg(root.join("target/embed"));
    }
    cargo
}
