//! `cargo xtask test`: everything that CI checks, in the order in which a mistake is cheapest to find.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::times::Times;
use crate::{embed, fuzz, process, tidy, wire, workspace};

/// What the tests start, and the Debian package that brings it.
const PROGRAMS: &[Program] = &[
    Program { name: "git", proof: &["--version"], package: "git" },
    Program { name: "bash", proof: &["--version"], package: "bash" },
    // Debian has the part of Python that makes environments in a package of its own.
    Program { name: "python3", proof: &["-c", "import ensurepip, venv"], package: "python3-venv" },
];

/// A program of the tests.
struct Program {
    name: &'static str,
    /// The arguments with which it is started to see whether it is there, and whole.
    proof: &'static [&'static str],
    package: &'static str,
}

/// Cargo's own checks, and the rustup component that brings each.
const COMPONENTS: &[(&str, &str)] = &[("fmt", "rustfmt"), ("clippy", "clippy")];

/// The features that every step builds with, so that nothing is built twice. What a default build has is the rest of it: the
/// crate that embeds `tine-fork` is built without them.
const FEATURES: &str = "tine-fork/otel";

/// Has tests try every case (`tine_testkit::tests_all`).
const TEST_ALL: &str = "TINE_TEST_ALL";

/// Chooses the random cases of the laws. A run of every case chooses others each time.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Any number; the share of the cases that CI tries is the same until it is changed.
const SEED_DEFAULT: &str = "17";

/// Runs every step; the first that fails ends the run.
pub(crate) fn run(every_case: bool, runner_arguments: &[String]) -> Result<()> {
    let start = Instant::now();
    for program in PROGRAMS {
        need_program(program)?;
    }
    for (command, component) in COMPONENTS {
        need_component(command, component)?;
    }
    let (root, _) = workspace::metadata()?;
    process::step("formatting", &root, cargo(&["fmt", "--all", "--check"]))?;
    tidy_step()?;
    let target = workspace::target()?;
    let times = Times::begin(&target)?;
    let mut build = judged(whole("build"));
    build.arg("--all-targets");
    process::step("clippy, and building everything", &root, build)?;
    wire::begin(&target)?;
    tests(&root, &times, every_case, runner_arguments)?;
    // Chosen tests may send nothing.
    if runner_arguments.is_empty() || wire::has_bodies(&target) {
        wire::check(&root, &target)?;
    }
    let mut doctests = judged(whole("test"));
    doctests.arg("--doc");
    process::step("doctests", &root, doctests)?;
    embed::check(&root, &target)?;
    fuzz::check(&root, &target)?;
    process::passed("everything", start);
    Ok(())
}

/// Runs the tests, which are built.
fn tests(root: &Path, times: &Times, every_case: bool, arguments: &[String]) -> Result<()> {
    let has_nextest = process::succeeds(cargo(&["nextest", "--version"]));
    if has_nextest {
        eprintln!("==> tests run by cargo-nextest");
    } else {
        eprintln!("==> tests run by `cargo test`: cargo-nextest is not installed");
    }
    let mut run = judged(runner(has_nextest));
    run.env(wire::BODIES, wire::bodies(&workspace::target()?));
    run.arg("--config").arg(times.option()?);
    if has_nextest {
        run.arg("--test-threads").arg(test_threads().to_string());
    }
    run.args(arguments);
    if every_case {
        run.env(TEST_ALL, "1");
    } else if std::env::var_os(SEED).is_none() {
        run.env(SEED, SEED_DEFAULT);
    }
    let result = process::step("tests", root, run);
    let told = std::env::var_os(TEST_ALL);
    let report =
        times.report(every_case || told.is_some_and(|value| !value.is_empty() && value != "0"));
    result.and(report)
}

/// Tests that run at once. A test waits for disks and for other processes about two thirds of its time.
fn test_threads() -> usize {
    3 * std::thread::available_parallelism().map_or(1, usize::from)
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

/// A command over the whole workspace, with the features that all of them share.
pub(crate) fn whole(command: &str) -> Command {
    cargo(&[command, "--workspace", "--features", FEATURES])
}

/// The same command with clippy as the compiler of our own crates, as `cargo clippy` has it, and every warning an error. Where
/// clippy only checks, all crates are compiled twice.
pub(crate) fn judged(mut command: Command) -> Command {
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    command.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    command
}

/// The test runner that this machine has. Benches are left out of both: they run by `cargo xtask bench`.
fn runner(has_nextest: bool) -> Command {
    if has_nextest {
        return cargo(&["nextest", "run", "--workspace", "--features", FEATURES]);
    }
    let mut command = whole("test");
    command.args(["--lib", "--bins", "--tests", "--examples"]);
    command
}

fn need_program(program: &Program) -> Result<()> {
    let Program { name, package, .. } = program;
    if present(program) {
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
    if !present(program) {
        bail!("the package {package} was installed but brings no `{name}` that works");
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The variables above are an agreement between cargo and clippy, which may change.
    #[test]
    fn a_warning_of_clippy_fails() {
        let folder = tempfile::tempdir().unwrap();
        let compiles = |text: &str| {
            std::fs::write(folder.path().join("lib.rs"), text).unwrap();
            let mut driver = judged(process::program("clippy-driver"));
            driver.args(["rustc", "--crate-type=lib", "--emit=metadata", "lib.rs"]);
            process::succeeds({
                driver.current_dir(folder.path());
                driver
            })
        };
        assert!(compiles("pub fn same(x: u8) -> u8 { x }"));
        assert!(!compiles("pub fn same(x: u8) -> u8 { return x; }"));
    }
}
