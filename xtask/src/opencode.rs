//! The OpenCode plugin (`integrations/opencode`): its types and its own tests, and the packed plugin in a real OpenCode, with `tine sim
//! serve` in place of a provider.
//!
//! OpenCode comes from npm, by version and hash, into the cache of the tests; what builds the plugin comes by its lock file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::hosts::Ran;
use crate::npm::{self, npm};
use crate::world::World;
use crate::{process, test};

const PLUGIN: &str = "integrations/opencode";

/// Tests with a real OpenCode: the first is the smoke test.
const TESTS: &[&str] = &["smoke", "forks", "life"];

/// A fork that is served from the cache.
pub(crate) fn smoke(root: &Path, target: &Path) -> Result<Ran> {
    run(root, target, &TESTS[..1])
}

/// Every scenario.
pub(crate) fn check(root: &Path, target: &Path) -> Result<Ran> {
    let mut build = test::judged(test::whole("build"));
    build.args(["--bin", "tine"]);
    process::step("the program", root, build)?;
    run(root, target, TESTS)
}

/// Fetches what the tests need. The inner error says why this machine cannot have it.
pub(crate) fn fetch(root: &Path) -> Result<Result<(), String>> {
    Ok(fetched(root)?.map(|_| ()))
}

fn run(root: &Path, target: &Path, tests: &[&str]) -> Result<Ran> {
    let opencode = match fetched(root)? {
        Ok(opencode) => opencode,
        Err(why) => return Ok(Ran::NotRun(why)),
    };
    let plugin = root.join(PLUGIN);
    process::step("types of the plugin", &plugin, npm(&["run", "--silent", "check"]))?;
    let world = World::new()?;
    let mut own = npm(&["test", "--silent"]);
    world.apply(&mut own)?;
    process::step("tests of the plugin", &plugin, own)?;
    let packed = packed(&plugin, target)?;
    let mut real = process::program("node");
    real.args(["--test", "--test-concurrency=1", "--test-reporter=spec"]);
    real.args(tests.iter().map(|name| format!("dist/test/host/{name}.test.mjs")));
    real.env("OPENCODE_BIN", opencode).env("TINE_BIN", target.join("debug").join("tine"));
    real.env("PLUGIN", packed).env("SCENARIO", "test/host/scenario.toml");
    world.apply(&mut real)?;
    let passed = process::step("the plugin in a real OpenCode", &plugin, real);
    // The command itself is the environment, most of all.
    passed.ok().context(
        "the plugin in a real OpenCode failed\nhint: run it alone: cargo xtask hosts opencode",
    )?;
    Ok(Ran::Passed)
}

/// The packed plugin, as it is installed.
fn packed(plugin: &Path, target: &Path) -> Result<PathBuf> {
    let place = target.join("opencode");
    fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
    let mut pack = npm(&["pack", "--json", "--pack-destination"]);
    pack.arg(&place).current_dir(plugin);
    let told: Value = serde_json::from_str(&process::output(pack)?)?;
    let name = told[0]["filename"].as_str().context("npm pack named no file")?;
    Ok(place.join(name))
}

/// The program, and beside the plugin what builds it; or why this machine cannot have them.
fn fetched(root: &Path) -> Result<Result<PathBuf, String>> {
    match npm::install("what builds the OpenCode plugin", &root.join(PLUGIN))? {
        Ok(()) => npm::program(&npm::OPENCODE),
        Err(why) => Ok(Err(why)),
    }
}
