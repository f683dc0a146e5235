//! What the machine must have before the tests can run: a few programs, which are installed where that is possible, and cargo's own checks.

use std::path::Path;

use anyhow::{Result, bail};

use super::cargo;
use crate::process;

/// Programs that the tests start, each with the Debian package that brings it.
const PROGRAMS: &[Program] = &[
    Program { name: "git", proof: &["--version"], package: "git" },
    Program { name: "bash", proof: &["--version"], package: "bash" },
];

/// Only the vendors' SDKs need it, and they are listed as not run without it. Debian has the part of Python that makes environments in a
/// package of its own.
const PYTHON: Program =
    Program { name: "python3", proof: &["-c", "import ensurepip, venv"], package: "python3-venv" };

/// One of them.
struct Program {
    name: &'static str,
    /// The arguments with which it is started to see whether it is there, and whole.
    proof: &'static [&'static str],
    package: &'static str,
}

/// Cargo's own checks, and the rustup component that brings each.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// Checks all of it, and installs what Debian has.
pub(super) fn check() -> Result<()> {
    for program in PROGRAMS {
        need_program(program)?;
    }
    if !present(&PYTHON) && can_install() {
        // Where the package cannot be had, the SDKs' own step says what is missing.
        let _ = fetch(&PYTHON);
    }
    for (command, component) in COMPONENTS {
        need_component(command, component)?;
    }
    Ok(())
}

fn need_program(program: &Program) -> Result<()> {
    let Program { name, package, .. } = program;
    if present(program) {
        return Ok(());
    }
    if !can_install() {
        bail!(
            "the tests need `{name}`, which is not installed\nhint: on Debian: sudo apt-get install -y {package}"
        );
    }
    fetch(program)?;
    if !present(program) {
        bail!("the package {package} was installed but brings no `{name}` that works");
    }
    Ok(())
}

/// Returns true for the superuser of a Debian.
fn can_install() -> bool {
    Path::new("/etc/debian_version").exists() && is_root()
}

fn fetch(program: &Program) -> Result<()> {
    let Program { name, package, .. } = program;
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
    Ok(())
}

fn present(program: &Program) -> bool {
    let mut command = process::program(program.name);
    command.args(program.proof);
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
