//! `cargo xtask bench`: the bench targets of the workspace. It prints figures and judges none of them.

use anyhow::{Result, bail};

use crate::{nats, process, workspace};

/// Runs the bench targets one by one: all, or those whose name contains `filter`.
pub(crate) fn run(filter: Option<&str>) -> Result<()> {
    let (root, packages) = workspace::metadata()?;
    let mut any = false;
    for package in &packages {
        let chosen = |name: &str| filter.is_none_or(|filter| name.contains(filter));
        for bench in package.benches.iter().filter(|bench| chosen(&bench.name)) {
            any = true;
            let needed = match nats::of_bench(&bench.name)? {
                Ok(needed) => needed,
                Err(why) => {
                    eprintln!("==> NOT RUN: bench {}: {why}", bench.name);
                    continue;
                }
            };
            let mut command = process::cargo();
            command.envs(needed);
            // Named one by one: `--benches` would also build and start each library's unit tests.
            command.args(["bench", "--package", &package.name, "--bench", &bench.name]);
            if !bench.features.is_empty() {
                command.args(["--features", &bench.features.join(",")]);
            }
            process::step(&format!("bench {} of {}", bench.name, package.name), &root, command)?;
        }
    }
    match (any, filter) {
        (true, _) => Ok(()),
        (false, None) => bail!("no crate of the workspace has a bench target"),
        (false, Some(filter)) => bail!("no bench target has `{filter}` in its name"),
    }
}
