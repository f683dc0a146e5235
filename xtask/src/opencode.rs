//! The OpenCode plugin (`integrations/opencode`): its types and its own tests, and the packed plugin in a real OpenCode, with `tine sim
//! serve` in place of a provider.
//!
//! OpenCode comes from npm, by version and hash, into the cache of the tests; what builds the plugin comes by its lock file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::hosts::Ran;
use crate::world::World;
use crate::{process, test, world};

const PLUGIN: &str = "integrations/opencode";

/// The program alone: the package `opencode-ai` fetches two builds of it.
const PACKAGE: &str = "opencode-linux-x64";
const VERSION: &str = "1.18.33";
const INTEGRITY: &str = "sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==";

/// The oldest Node.js that the tests run on.
const NODE_MIN: u32 = 20;

/// A download that stalls for so long is tried once more, and no more than that.
const STALL: [&str; 2] = ["--fetch-timeout=20000", "--fetch-retries=1"];

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
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Err("OpenCode is fetched for Linux on x86-64 alone".to_owned()));
    }
    if let Err(why) = node() {
        return Ok(Err(why));
    }
    if let Err(error) = install(&root.join(PLUGIN)) {
        return refused("what builds the plugin", &error);
    }
    let cache = world::cache().join("opencode");
    let program = cache.join(VERSION).join("opencode");
    fs::create_dir_all(&cache).with_context(|| format!("cannot make {}", cache.display()))?;
    // Runs of other checkouts share the cache.
    let lock = File::create(cache.join("lock"))?;
    lock.lock().context("cannot lock the cache of the tests")?;
    if !program.exists()
        && let Err(error) = download(&cache, &program)
    {
        return refused("OpenCode", &error);
    }
    Ok(Ok(program))
}

/// Another file than the one that is meant is no lack of this machine.
fn refused(what: &str, error: &anyhow::Error) -> Result<Result<PathBuf, String>> {
    let told = format!("{error:#}");
    ensure!(!told.contains("EINTEGRITY") && !told.contains("another file"), "{told}");
    Ok(Err(format!("npm gives no {what}: {}", told.lines().last().unwrap_or_default())))
}

fn node() -> Result<(), String> {
    let mut command = process::program("node");
    command.arg("--version");
    let version = process::output(command).map_err(|_| "Node.js is not installed".to_owned())?;
    let major = version.trim().trim_start_matches('v').split('.').next();
    let major: u32 = major.and_then(|text| text.parse().ok()).unwrap_or_default();
    if major < NODE_MIN {
        return Err(format!("Node.js {} is older than {NODE_MIN}", version.trim()));
    }
    if !process::succeeds(npm(&["--version"])) {
        return Err("npm is not installed".to_owned());
    }
    Ok(())
}

/// Installs what builds the plugin, where this lock file was not installed yet.
fn install(plugin: &Path) -> Result<()> {
    let wanted = fs::read_to_string(plugin.join("package-lock.json"))?;
    let installed = plugin.join("node_modules").join(".installed");
    if fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    eprintln!("==> fetching what builds the OpenCode plugin from npm");
    let mut install = npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    install.args(STALL).current_dir(plugin);
    process::output(install)?;
    fs::write(installed, wanted)?;
    Ok(())
}

fn download(cache: &Path, program: &Path) -> Result<()> {
    eprintln!("==> fetching OpenCode {VERSION} from npm");
    let half = tempfile::tempdir_in(cache)?;
    let mut pack = npm(&["pack", "--json", &format!("{PACKAGE}@{VERSION}")]);
    pack.args(STALL).current_dir(half.path());
    let told: Value = serde_json::from_str(&process::output(pack)?)?;
    let (name, integrity) = (told[0]["filename"].as_str(), told[0]["integrity"].as_str());
    ensure!(integrity == Some(INTEGRITY), "npm gave another file than OpenCode {VERSION}");
    let mut unpack = process::program("tar");
    unpack.args(["-xzf", name.context("npm pack named no file")?]).current_dir(half.path());
    process::output(unpack)?;
    let place = program.parent().context("the program has a folder")?;
    fs::create_dir_all(place)?;
    fs::rename(half.path().join("package/bin/opencode"), program)?;
    Ok(())
}

fn npm(arguments: &[&str]) -> Command {
    let mut command = process::program("npm");
    command.args(arguments).env("npm_config_update_notifier", "false");
    command
}
