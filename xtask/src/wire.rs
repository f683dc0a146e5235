//! The wire suite: the request bodies that the tests collect, held against the vendors' own types (`wire-suite/`).
//!
//! The types come from the vendors' SDKs for Python, which are fetched once into the target directory, by version and hash.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process;

/// The environment variable that names the directory for bodies (`tine_sim::WIRE_BODIES`).
pub(crate) const BODIES: &str = "TINE_WIRE_BODIES";

/// Set to `optional`, it lets a run of the tests pass where the SDKs cannot be fetched.
const OPTIONAL: &str = "TINE_WIRE_SUITE";

/// The versions and hashes of what is fetched.
const REQUIREMENTS: &str = "wire-suite/requirements.txt";

/// The directory in which a run of the tests collects request bodies.
pub(crate) fn bodies(target: &Path) -> PathBuf {
    target.join("wire-bodies")
}

/// Empties the directory for bodies. Comes before the tests.
pub(crate) fn begin(target: &Path) -> Result<()> {
    let bodies = bodies(target);
    if bodies.exists() {
        fs::remove_dir_all(&bodies)?;
    }
    fs::create_dir_all(&bodies).with_context(|| format!("cannot make {}", bodies.display()))
}

/// Returns true when tests have collected anything.
pub(crate) fn has_bodies(target: &Path) -> bool {
    fs::read_dir(bodies(target)).is_ok_and(|mut files| files.next().is_some())
}

/// Validates what was collected last, and plays the vendors' replies to the program that was built.
pub(crate) fn check(root: &Path, target: &Path) -> Result<()> {
    let python = match sdks(root, target) {
        Ok(python) => python,
        Err(error) => return not_run(&error),
    };
    let mut validate = python_of(&python);
    validate.arg("wire-suite/validate.py").arg(bodies(target));
    process::step("wire suite: requests", root, validate)?;
    let mut replay = python_of(&python);
    replay.arg("wire-suite/replay.py").arg(target.join("debug").join("tine"));
    process::step("wire suite: replies of vendors", root, replay)
}

/// Says that the suite did not run. That is a failure unless the user allows it.
fn not_run(error: &anyhow::Error) -> Result<()> {
    eprintln!("==> wire suite NOT RUN: the vendors' SDKs cannot be fetched: {error:#}");
    if std::env::var(OPTIONAL).is_ok_and(|value| value == "optional") {
        return Ok(());
    }
    bail!(
        "the wire suite was not run\nhint: it needs PyPI once; {OPTIONAL}=optional lets the rest pass without it"
    )
}

/// The Python that has the SDKs. Fetches them where this version of the requirements is not there yet.
fn sdks(root: &Path, target: &Path) -> Result<PathBuf> {
    let requirements = root.join(REQUIREMENTS);
    let wanted =
        fs::read_to_string(&requirements).with_context(|| format!("cannot read {REQUIREMENTS}"))?;
    let cache = target.join("wire-suite");
    let (environment, installed) = (cache.join("venv"), cache.join("installed.txt"));
    let python = environment.join("bin").join("python");
    if fs::read_to_string(&installed).is_ok_and(|found| found == wanted) && works(&python) {
        return Ok(python);
    }
    // Written last, so that a half environment is made anew.
    if cache.exists() {
        fs::remove_dir_all(&cache)?;
    }
    fs::create_dir_all(&cache)?;
    let mut make = process::program("python3");
    make.args(["-m", "venv"]).arg(&environment);
    process::step("python environment", root, make)?;
    let mut install = python_of(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(["--require-hashes", "--only-binary", ":all:", "-r"]).arg(requirements);
    process::step("vendors' SDKs", root, install)?;
    fs::write(installed, wanted)?;
    Ok(python)
}

/// Nothing of the user's own modules, and no compiled files in the checkout.
fn python_of(python: &Path) -> Command {
    let mut command = process::program(python);
    command.arg("-B").env_remove("PYTHONPATH").env_remove("PYTHONHOME");
    command
}

fn works(python: &Path) -> bool {
    let mut command = process::program(python);
    command.arg("--version");
    process::succeeds(command)
}
