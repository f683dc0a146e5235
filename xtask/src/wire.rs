//! The wire suite: the request bodies that the tests collect, held against the vendors' own types (`wire-suite/`).
//!
//! The types come from the vendors' SDKs for Python, which are fetched once into the cache of the tests, by version and hash.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::hosts::Ran;
use crate::{process, world};

/// The environment variable that names the directory for bodies (`tine_sim::WIRE_BODIES`).
pub(crate) const BODIES: &str = "TINE_WIRE_BODIES";

/// The seconds after which a download has failed. It is tried twice.
const TIMEOUT_S: &str = "20";

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

/// Validates what was collected last, and plays the vendors' replies to the program that was built.
pub(crate) fn check(root: &Path, target: &Path) -> Result<Ran> {
    let python = match sdks(root)? {
        Ok(python) => python,
        Err(why) => return Ok(Ran::NotRun(why)),
    };
    let mut validate = python_of(&python);
    validate.arg("wire-suite/validate.py").arg(bodies(target));
    process::step("wire suite: requests", root, validate)?;
    let mut replay = python_of(&python);
    replay.arg("wire-suite/replay.py").arg(target.join("debug").join("tine"));
    process::step("wire suite: replies of vendors", root, replay)?;
    Ok(Ran::Passed)
}

/// The Python that has the SDKs, or why this machine cannot have it. Fetches them where this version of the requirements is not there
/// yet.
fn sdks(root: &Path) -> Result<Result<PathBuf, String>> {
    let requirements = root.join(REQUIREMENTS);
    let wanted =
        fs::read_to_string(&requirements).with_context(|| format!("cannot read {REQUIREMENTS}"))?;
    let cache = world::cache().join("sdks");
    let (environment, installed) = (cache.join("venv"), cache.join("installed.txt"));
    let python = environment.join("bin").join("python");
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    // Runs of other checkouts share the cache.
    let lock = File::create(cache.join("lock"))?;
    lock.lock().context("cannot lock the cache of the tests")?;
    if fs::read_to_string(&installed).is_ok_and(|found| found == wanted) && works(&python) {
        return Ok(Ok(python));
    }
    // Written last, so that a half environment is made anew.
    match fs::remove_file(&installed) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    let mut make = process::program("python3");
    make.args(["-m", "venv", "--clear"]).arg(&environment);
    if let Err(error) = process::step("python environment", root, make) {
        return Ok(Err(format!(
            "no Python 3.11 with `venv` here (Debian: python3-venv): {error:#}"
        )));
    }
    let mut install = python_of(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(["--timeout", TIMEOUT_S, "--retries", "1"]);
    install.args(["--require-hashes", "--only-binary", ":all:", "-r"]).arg(requirements);
    eprintln!("==> fetching the vendors' SDKs from PyPI");
    if let Err(error) = process::output(install) {
        let told = format!("{error:#}");
        // Another file than the one that is meant is no lack of this machine.
        ensure!(!told.contains("DO NOT MATCH"), told);
        return Ok(Err(format!("PyPI gives no SDKs: {}", told.lines().last().unwrap_or_default())));
    }
    fs::write(installed, wanted)?;
    Ok(Ok(python))
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
