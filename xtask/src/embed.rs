//! `cargo xtask embed`: builds and runs a crate outside the workspace that depends on `tine-fork` alone, and says what that brings.
//! `cargo xtask test` only checks that it compiles; a test of `tine-fork` runs its program.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::{process, workspace};

/// What the crate prints when its fork works.
const EXPECTED: &str = "It is rising. (1 call, 4 messages), aborted, lost";

/// Builds it from nothing, so that the time is that of an embedder's first build, and runs it.
pub(crate) fn clean() -> Result<()> {
    let (root, _) = workspace::metadata()?;
    let target = root.join("target/embed");
    let own = |command: &str| {
        let mut command = cargo(&root, command);
        command.arg("--target-dir").arg(&target);
        command
    };
    process::step("removing the last build", &root, own("clean"))?;
    let start = Instant::now();
    let mut build = own("build");
    build.arg("--quiet");
    process::step("a crate that embeds tine-fork", &root, build)?;
    let built = start.elapsed().as_secs_f64();
    let mut run = own("run");
    run.arg("--quiet");
    let told = process::output(run)?;
    if told.trim() != EXPECTED {
        bail!("the crate that embeds tine-fork said `{}` instead of `{EXPECTED}`", told.trim());
    }
    eprintln!("==> it builds in {built:.1} s and said: {EXPECTED}");
    count(&root)
}

/// Checks that it compiles with nothing but `tine-fork`, and that all links in the documentation of `tine-fork` lead somewhere.
/// What clippy has left in `target` serves both.
pub(crate) fn check(root: &Path, target: &Path) -> Result<()> {
    let shared = |command: &str| {
        let mut command = cargo(root, command);
        command.arg("--quiet").arg("--target-dir").arg(target);
        command.args(workspace::PROFILE);
        command
    };
    process::step("a crate that embeds tine-fork", root, shared("check"))?;
    count(root)?;
    let mut documentation = shared("doc");
    documentation.args(["--package", "tine-fork", "--no-deps"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    process::step("documentation of the library", root, documentation)
}

/// Prints how much it depends on.
fn count(root: &Path) -> Result<()> {
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
    eprintln!("==> it depends on {all} crates, {ours} of them ours");
    Ok(())
}

fn cargo(root: &Path, command: &str) -> Command {
    let manifest = root.join("crates/tine-fork/embed/Cargo.toml");
    let mut cargo = process::cargo();
    cargo.arg(command).arg("--manifest-path").arg(manifest);
    cargo
}
