//! The same world for every test, whoever runs it: a fresh home, a short temporary folder, no settings of the user's, and of the
//! environment only a written list.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use tempfile::TempDir;

/// The environment variable that names the folder for what tests with foreign programs download.
pub(crate) const CACHE: &str = "TINE_TEST_CACHE";

/// Sockets have names of at most 108 bytes, and lines that show a path break at their ends. So the place is short where it can be.
const SHORT_PLACE: &str = "/tmp";

/// Variables that tests get from outside. Everything else, and above all the keys of providers, stays there.
const KEPT: &[&str] = &["CI", "CLIPPY_ARGS", "LD_LIBRARY_PATH", "OUT_DIR", "PATH"];

/// Beginnings of the names of further variables: those of the build, of the test runner, and the switches of the tests themselves.
const KEPT_BEGINNINGS: &[&str] = &[
    "CARGO",
    "INSTA_",
    "LLVM_PROFILE_",
    "NEXTEST",
    "PROPTEST_",
    "RUST",
    "TINE_ATTACK_",
    "TINE_CRASH_",
    "TINE_REDACT_",
    "TINE_TEST_",
    "TINE_WIRE_",
    "__NEXTEST",
];

/// Ends of the names of variables that no test gets, such as `CARGO_REGISTRY_TOKEN`.
const DROPPED_ENDS: &[&str] = &["_TOKEN", "_CREDENTIAL_PROVIDER"];

/// A folder in which each test process has its own home and temporary folder. It goes with this value.
#[derive(Debug)]
pub(crate) struct World {
    place: TempDir,
}

impl World {
    /// Makes the folder.
    pub(crate) fn new() -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("t").rand_bytes(3);
        let short = builder.tempdir_in(SHORT_PLACE);
        let place =
            short.or_else(|_| builder.tempdir()).context("cannot make a folder for the tests")?;
        Ok(Self { place })
    }

    /// The folder.
    pub(crate) fn place(&self) -> &Path {
        self.place.path()
    }

    /// Gives `command` this world.
    pub(crate) fn apply(&self, command: &mut Command) -> Result<()> {
        enter(command, self.place())
    }
}

/// Gives `command` a home and a temporary folder in `place`, which it makes, and of the environment what is on the list.
pub(crate) fn enter(command: &mut Command, place: &Path) -> Result<()> {
    let (home, temporary) = (place.join("h"), place.join("t"));
    for folder in [&home, &temporary] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    // What was set for this command alone stays.
    let own: Vec<(OsString, Option<OsString>)> = command
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(OsString::from)))
        .collect();
    command.env_clear();
    command.envs(env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_kept)));
    command.env("HOME", &home).env("TMPDIR", &temporary);
    for (name, folder) in [
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_DATA_HOME", ".local/share"),
        ("XDG_STATE_HOME", ".local/state"),
    ] {
        command.env(name, home.join(folder));
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("LANG", "C.UTF-8").env("TZ", "UTC");
    command.env("CARGO_HOME", kept_folder("CARGO_HOME", ".cargo"));
    command.env("RUSTUP_HOME", kept_folder("RUSTUP_HOME", ".rustup"));
    command.env(CACHE, cache());
    for (name, value) in own {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Ok(())
}

/// The folder for downloads, which outlives the checkout: the variable's, or one in the user's cache folder.
pub(crate) fn cache() -> PathBuf {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let usual =
        || set("XDG_CACHE_HOME").unwrap_or_else(|| home().join(".cache")).join("tine-tests");
    set(CACHE).unwrap_or_else(usual)
}

/// Makes a folder of the cache, and holds it for this process: runs of other checkouts share it.
pub(crate) fn lock_cache(folder: &Path) -> Result<File> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let lock = File::create(folder.join("lock"))?;
    lock.lock().context("cannot lock the cache of the tests")?;
    Ok(lock)
}

fn kept_folder(variable: &str, usual: &str) -> PathBuf {
    env::var_os(variable).map_or_else(|| home().join(usual), PathBuf::from)
}

/// The user's home, also where `HOME` is not set: the system knows it.
fn home() -> PathBuf {
    env::home_dir().unwrap_or_else(|| PathBuf::from("/"))
}

fn is_kept(name: &str) -> bool {
    let is_listed =
        KEPT.contains(&name) || KEPT_BEGINNINGS.iter().any(|start| name.starts_with(start));
    is_listed && !DROPPED_ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_outside_and_the_build_is_known() {
        for name in ["PATH", "CARGO_PKG_NAME", "NEXTEST_BINARY_ID", "PROPTEST_RNG_SEED"] {
            assert!(is_kept(name), "{name}");
        }
        for name in ["ANTHROPIC_API_KEY", "CARGO_REGISTRY_TOKEN", "HOME", "GIT_DIR", "TINE_MODEL"] {
            assert!(!is_kept(name), "{name}");
        }
    }

    #[test]
    fn a_command_has_a_home_of_its_own_and_keeps_what_was_set_for_it() {
        let world = World::new().unwrap();
        let mut command = crate::process::program("sh");
        command.args([
            "-c",
            "echo $HOME $GIT_CONFIG_GLOBAL $TZ $OWN; test -d $HOME && test -d $TMPDIR",
        ]);
        command.env("OWN", "kept").env("TZ", "CET");
        world.apply(&mut command).unwrap();
        let told = crate::process::output(command).unwrap();
        let home = world.place().join("h");
        assert_eq!(told.trim(), format!("{} /dev/null CET kept", home.display()));
    }
}
