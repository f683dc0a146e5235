//! `cargo xtask test`: everything that CI checks, in the order in which a mistake is cheapest to find.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::{embed, process, tidy, workspace};

/// What the tests start, and the Debian package that brings it.
const PROGRAMS: &[(&str, &str)] = &[("git", "git"), ("bash", "bash")];

/// Cargo's own checks, and the rustup component that brings each.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// Features that no default build has, and the crate of each: their tests are a step of their own.
const OPTIONAL: &[(&str, &str)] = &[("tine-fork", "otel")];

/// Runs every step; the first that fails ends the run.
pub(crate) fn run(runner_arguments: &[String]) -> Result<()> {
    let start = Instant::now();
    for (program, package) in PROGRAMS {
        need_program(program, package)?;
    }
    for (command, component) in COMPONENTS {
        need_component(command, component)?;
    }
    let (root, _) = workspace::metadata()?;
    process::step("formatting", &root, cargo(&["fmt", "--all", "--check"]))?;
    tidy_step()?;
    let optional: Vec<String> =
        OPTIONAL.iter().map(|(package, feature)| format!("{package}/{feature}")).collect();
    let mut clippy = cargo(&["clippy", "--workspace", "--all-targets"]);
    clippy.args(["--features", &optional.join(","), "--", "-D", "warnings"]);
    process::step("clippy", &root, clippy)?;
    process::step("tests", &root, runner(runner_arguments))?;
    process::step("doctests", &root, cargo(&["test", "--doc", "--workspace"]))?;
    let mut documentation = cargo(&["doc", "--package", "tine-fork", "--no-deps", "--quiet"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    process::step("documentation of the library", &root, documentation)?;
    for (package, feature) in OPTIONAL {
        let tests = cargo(&["test", "--package", package, "--features", feature]);
        process::step(&format!("tests with {feature}"), &root, tests)?;
    }
    embed::run(&root)?;
    process::passed("everything", start);
    Ok(())
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = process::cargo();
    command.args(arguments);
    command
}

fn tidy_step() -> Result<()> {
    eprintln!("==> tidy: cargo xtask tidy");
    let start = Instant::now();
    if let Err(error) = tidy::run() {
        bail!("{error:#}\nhint: run it alone: cargo xtask tidy");
    }
    process::passed("tidy", start);
    Ok(())
}

/// The test runner that this machine has. Benches are left out of both: they run by `cargo xtask bench`.
fn runner(arguments: &[String]) -> Command {
    let mut command = process::cargo();
    if process::succeeds(cargo(&["nextest", "--version"])) {
        eprintln!("==> tests run by cargo-nextest");
        command.args(["nextest", "run", "--workspace"]);
    } else {
        eprintln!("==> tests run by `cargo test`: cargo-nextest is not installed");
        command.args(["test", "--workspace", "--lib", "--bins", "--tests", "--examples"]);
    }
    command.args(arguments);
    command
}

fn need_program(name: &str, package: &str) -> Result<()> {
    if present(name) {
        return Ok(());
    }
    if !Path::new("/etc/debian_version").exists() || !is_root() {
        bail!(
            "the tests need `{name}`, which is not installed\nhint: on Debian: sudo apt-get install -y {package}"
        );
    }
    eprintln!("==> `{name}` is missing: installing the package {package}");
    if !install(package) {
        // A fresh container has no package lists yet.
        let mut update = process::program("apt-get");
        update.args(["update", "--quiet"]);
        process::step("apt-get update", Path::new("/"), update)?;
        if !install(package) {
            bail!("cannot install `{package}`\nhint: apt-get install -y {package}");
        }
    }
    if !present(name) {
        bail!("the package {package} was installed but brings no `{name}`");
    }
    Ok(())
}

fn present(name: &str) -> bool {
    let mut command = process::program(name);
    command.arg("--version");
    process::succeeds(command)
}

fn is_root() -> bool {
    let mut command = process::program("id");
    command.arg("-u");
    process::output(command).is_ok_and(|id| id.trim() == "0")
}

fn install(package: &str) -> bool {
    let mut command = process::program("apt-get");
    command
        .args(["install", "-y", "--no-install-recommends", package])
        .env("DEBIAN_FRONTEND", "noninteractive");
    process::step("installation", Path::new("/"), command).is_ok()
}

fn need_component(command: &str, component: &str) -> Result<()> {
    if process::succeeds(cargo(&[command, "--version"])) {
        return Ok(());
    }
    bail!("`cargo {command}` is not installed\nhint: rustup component add {component}");
}
