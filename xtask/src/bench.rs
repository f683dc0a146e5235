//! `cargo xtask bench`: every bench target of the workspace. It prints figures and judges none of them.

use anyhow::{Result, bail};

use crate::{process, workspace};

/// Runs the bench targets crate by crate; `filter` is passed to each.
pub(crate) fn run(filter: Option<&str>) -> Result<()> {
    let (root, packages) = workspace::metadata()?;
    let with_benches: Vec<_> =
        packages.iter().filter(|package| !package.benches.is_empty()).collect();
    if with_benches.is_empty() {
        bail!("no crate of the workspace has a bench target");
    }
    for package in with_benches {
        let mut command = process::cargo();
        command.args(["bench", "--package", &package.name]);
        // Named one by one: `--benches` would also build and start each library's unit tests.
        for bench in &package.benches {
            command.args(["--bench", bench]);
        }
        if let Some(filter) = filter {
            command.args(["--", filter]);
        }
        process::step(&format!("benches of {}", package.name), &root, command)?;
    }
    Ok(())
}
