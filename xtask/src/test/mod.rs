//! `cargo xtask test`: everything that CI checks, in the order in which a mistake is cheapest to find.
//!
//! A failed step does not end the run, except where what follows would need it: one run shows all failures, and lists them at its end.

mod needs;
mod outcome;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::arguments::TestOptions;
use crate::times::Times;
use crate::world::World;
use crate::{embed, fuzz, git_version, hosts, process, tidy, wire, workspace};
use outcome::Outcome;

/// The features that every step builds with, so that nothing is built twice. What a default build has is the rest of it: the
/// crate that embeds `tine-fork` is built without them.
const FEATURES: &str = "tine-fork/otel,tine/repl";

/// Has tests try every case (`tine_testkit::tests_all`).
const TEST_ALL: &str = "TINE_TEST_ALL";

/// Chooses the random cases of the laws. A run of every case chooses others each time.
const SEED: &str = "PROPTEST_RNG_SEED";

/// Any number; the share of the cases that CI tries is the same until it is changed.
const SEED_DEFAULT: &str = "17";

/// Runs every step, or only the tests where arguments choose some. An error says how many steps and tests failed; the list is printed.
pub(crate) fn run(options: &TestOptions) -> Result<()> {
    let start = Instant::now();
    git_version::check()?;
    needs::check()?;
    let (root, _) = workspace::metadata()?;
    let target = workspace::target()?;
    let world = World::new()?;
    let times = Times::begin(&target, world.place())?;
    let mut outcome = Outcome::new(&target, times.not_run())?;
    if options.runner_arguments.is_empty() {
        everything(&root, &target, &world, &times, options, &mut outcome)?;
    } else {
        tests(&root, &times, options, &mut outcome)?;
    }
    outcome.close(&options.require, start)
}

fn everything(
    root: &Path,
    target: &Path,
    world: &World,
    times: &Times,
    options: &TestOptions,
    outcome: &mut Outcome,
) -> Result<()> {
    let formatting = process::step("formatting", root, cargo(&["fmt", "--all", "--check"]));
    outcome.step("formatting", formatting);
    outcome.step("tidy", tidy_step());
    let mut build = judged(whole("build"));
    build.arg("--all-targets");
    let built = process::step("clippy, and building everything", root, build);
    let is_built = built.is_ok();
    outcome.step("clippy, and building everything", built);
    if is_built {
        wire::begin(target)?;
        tests(root, times, options, outcome)?;
        for host in hosts::HOSTS {
            if let Some(result) = host.smoke(root, target) {
                outcome.host(host, result);
            }
        }
        let mut doctests = judged(whole("test"));
        doctests.arg("--doc");
        world.apply(&mut doctests)?;
        outcome.step("doctests", process::step("doctests", root, doctests));
    }
    outcome.step("a crate that embeds tine-fork", embed::check(root, target));
    outcome.step("fuzz targets", fuzz::check(root, target));
    Ok(())
}

/// Runs the tests, which are built.
fn tests(root: &Path, times: &Times, options: &TestOptions, outcome: &mut Outcome) -> Result<()> {
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
    run.args(&options.runner_arguments);
    if options.every_case {
        run.env(TEST_ALL, "1");
    } else if std::env::var_os(SEED).is_none() {
        run.env(SEED, SEED_DEFAULT);
    }
    let result = process::step("tests", root, run);
    let every_case =
        std::env::var_os(TEST_ALL).is_some_and(|value| !value.is_empty() && value != "0");
    let is_judged = options.budgets && !options.every_case && !every_case;
    outcome.tests(result, has_nextest)?;
    outcome.step("budgets", times.report(is_judged));
    Ok(())
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
        return cargo(&["nextest", "run", "--workspace", "--features", FEATURES, "--no-fail-fast"]);
    }
    let mut command = whole("test");
    command.args(["--lib", "--bins", "--tests", "--examples", "--no-fail-fast"]);
    command
}

/// The ignored tests of one test target whose names hold one of these texts. What `whole` has built is used as it is.
pub(crate) fn ignored(target: &str, names: &[&str]) -> Command {
    let mut command = judged(whole("test"));
    command.args(["--quiet", "--test", target, "--", "--ignored"]).args(names);
    command
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
