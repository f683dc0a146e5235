//! `cargo xtask fuzz`: the targets in `fuzz/`, which is a workspace of its own because cargo-fuzz builds it with sanitizers.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{process, workspace};

/// Runs one target, or each in turn, for `seconds` each; the first that finds something ends the run.
pub(crate) fn run(target: Option<&str>, seconds: u32) -> Result<()> {
    let (root, _) = workspace::metadata()?;
    let directory = root.join("fuzz");
    if !directory.join("Cargo.toml").is_file() {
        bail!("there are no fuzz targets: fuzz/Cargo.toml does not exist");
    }
    let mut version = process::cargo();
    version.args(["fuzz", "--version"]);
    if !process::succeeds(version) {
        bail!("cargo-fuzz is not installed\nhint: cargo install --locked cargo-fuzz");
    }
    let targets = match target {
        Some(target) => vec![target.to_owned()],
        None => targets(&root)?,
    };
    let stable = !nightly()?;
    for target in targets {
        let mut command = cargo_fuzz(&["run", &target]);
        if stable {
            // Sanitizer flags are unstable; this lets a stable compiler take them.
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        command.args(["--", &format!("-max_total_time={seconds}")]);
        process::step(&format!("fuzz target {target}"), &root, command)?;
    }
    Ok(())
}

/// Checks that all targets compile, without the engine, which needs a compiler for C++.
pub(crate) fn check(root: &Path, target: &Path) -> Result<()> {
    let mut check = process::cargo();
    check.args(["check", "--quiet", "--manifest-path"]).arg(root.join("fuzz/Cargo.toml"));
    check.args(["--bins", "--no-default-features", "--target-dir"]).arg(target);
    check.args(workspace::PROFILE);
    process::step("fuzz targets", root, check)
}

fn cargo_fuzz(arguments: &[&str]) -> Command {
    let mut command = process::cargo();
    command.arg("fuzz").args(arguments);
    command
}

fn targets(root: &Path) -> Result<Vec<String>> {
    let mut command = cargo_fuzz(&["list"]);
    command.current_dir(root);
    let targets: Vec<String> =
        process::output(command)?.lines().map(|line| line.trim().to_owned()).collect();
    if targets.is_empty() {
        bail!("fuzz/Cargo.toml lists no target");
    }
    Ok(targets)
}

fn nightly() -> Result<bool> {
    let mut command = process::program(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    command.arg("--version");
    Ok(process::output(command)?.contains("nightly"))
}
