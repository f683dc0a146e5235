//! Programs of Debian packages for the tests with foreign programs. Nothing is installed: apt downloads a package and checks its
//! signed hash, `dpkg-deb` unpacks it, and no code of the package runs. Neither needs to be root.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::{process, world};

/// A mirror that stalls for so long is tried once more by apt itself, and no more than that.
const STALL: [&str; 3] =
    ["Acquire::http::Timeout=20", "Acquire::https::Timeout=20", "Acquire::Retries=0"];

/// Folders of servers' programs, which the `PATH` of users often lacks.
const SERVER_FOLDERS: [&str; 2] = ["/usr/local/sbin", "/usr/sbin"];

/// A package, of which one program is kept.
pub(crate) struct Package {
    /// The package's name, and that of its folder in the cache.
    name: &'static str,
    /// The program in the package.
    program: &'static str,
}

pub(crate) const NATS_SERVER: Package =
    Package { name: "nats-server", program: "usr/sbin/nats-server" };

/// Finds a program that is installed, or fetches it in the distribution's version where the cache does not have that. The inner
/// error says why this machine cannot have it.
pub(crate) fn program(package: &Package) -> Result<Result<PathBuf, String>> {
    let Package { name, program } = package;
    let file = Path::new(program).file_name().context("a program has a name")?;
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(SERVER_FOLDERS.map(PathBuf::from));
    if let Some(installed) = folders.map(|folder| folder.join(file)).find(|path| is_program(path)) {
        return Ok(Ok(installed));
    }
    for tool in ["apt-get", "dpkg-deb"] {
        let mut version = process::program(tool);
        version.arg("--version");
        if !process::succeeds(version) {
            return Ok(Err(format!("{name} is not installed, nor is {tool}, which fetches it")));
        }
    }
    // Reads the lists that this machine has, and asks no mirror.
    let offer = match process::output(apt(&["download", "--print-uris", name])) {
        Ok(printed) => Offer::parse(name, &printed)?,
        Err(error) => return Ok(Err(refused(name, &error))),
    };
    let cache = world::cache().join(name);
    let kept = cache.join(&offer.version).join(file);
    let _lock = world::lock_cache(&cache)?;
    if !kept.exists()
        && let Err(error) = download(package, &offer, &cache, &kept)
    {
        return Ok(Err(refused(name, &error)));
    }
    Ok(Ok(kept))
}

/// The package that apt would download.
#[derive(Debug, PartialEq, Eq)]
struct Offer {
    /// The name of the package's file.
    file: String,
    /// Debian's version, such as `2.9.10-1+b3`.
    version: String,
}

impl Offer {
    /// Reads the line of `apt-get download --print-uris`: an address in quotes, the file's name, its size and its hash.
    fn parse(name: &str, printed: &str) -> Result<Self> {
        let parsed = printed.lines().filter(|line| line.starts_with('\'')).find_map(|line| {
            let file = line.split_whitespace().nth(1)?;
            let version = file.strip_prefix(name)?.strip_prefix('_')?.split('_').next()?;
            Some(Self { file: file.to_owned(), version: version.to_owned() })
        });
        let offer = parsed.with_context(|| format!("apt-get named no file of {name}"))?;
        // The version becomes a folder.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".+~-%".contains(c);
        let is_version = offer.version.starts_with(|c: char| c.is_ascii_digit());
        ensure!(
            is_version && offer.version.chars().all(is_plain) && !offer.file.contains('/'),
            "`{}` is no version of {name}",
            offer.version
        );
        Ok(offer)
    }
}

fn download(package: &Package, offer: &Offer, cache: &Path, kept: &Path) -> Result<()> {
    eprintln!("==> fetching {} {} from Debian", package.name, offer.version);
    let half = tempfile::tempdir_in(cache)?;
    let mut fetch = apt(&["download", package.name]);
    fetch.current_dir(half.path());
    process::output(fetch)?;
    let mut unpack = process::program("dpkg-deb");
    unpack.arg("-x").args([&offer.file, "unpacked"]).current_dir(half.path());
    process::output(unpack)?;
    fs::create_dir_all(kept.parent().context("the program has a folder")?)?;
    fs::rename(half.path().join("unpacked").join(package.program), kept)
        .with_context(|| format!("{} has no {}", offer.file, package.program))
}

/// `apt-get`, in English.
fn apt(arguments: &[&str]) -> Command {
    let mut command = process::program("apt-get");
    command.env("LC_ALL", "C").args(STALL.iter().flat_map(|option| ["-o", option]));
    command.args(arguments);
    command
}

/// The reason for the list of what was not run.
fn refused(name: &str, error: &anyhow::Error) -> String {
    let told = format!("{error:#}");
    // apt warns of other things first.
    let why = told.lines().find_map(|line| line.split_once("E: ").map(|(_, why)| why));
    let why = why.or_else(|| told.lines().next()).unwrap_or_default();
    format!("apt-get does not give {name}: {}", why.trim())
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let can_run = |found: &fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
    path.metadata().is_ok_and(|found| can_run(&found))
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(printed: &str, expected: Result<(&str, &str), &str>) {
        let found = Offer::parse("nats-server", printed);
        let expected = expected
            .map(|(file, version)| Offer { file: file.to_owned(), version: version.to_owned() });
        assert_eq!(
            found.map_err(|error| error.to_string()),
            expected.map_err(str::to_owned),
            "{printed:?}"
        );
    }

    #[test]
    fn the_version_is_that_of_the_offered_file() {
        let address = "http://deb.debian.org/debian/pool/main/n/nats-server";
        check(
            &format!(
                "'{address}/nats-server_2.9.10-1%2bb3_amd64.deb' nats-server_2.9.10-1+b3_amd64.deb 3644664 SHA256:9f69\n"
            ),
            Ok(("nats-server_2.9.10-1+b3_amd64.deb", "2.9.10-1+b3")),
        );
        check(
            &format!("NOTE: unstable\n'{address}/x.deb' nats-server_1%3a2.10~rc1_arm64.deb 1 \n"),
            Ok(("nats-server_1%3a2.10~rc1_arm64.deb", "1%3a2.10~rc1")),
        );
    }

    #[test]
    fn what_is_no_offer_is_named() {
        check("", Err("apt-get named no file of nats-server"));
        check("'http://x/y.deb' nats-tools_1_amd64.deb 1", {
            Err("apt-get named no file of nats-server")
        });
        check("'http://x/y.deb' nats-server_.._amd64.deb 1", {
            Err("`..` is no version of nats-server")
        });
        check("'http://x/y.deb' nats-server_1/2_amd64.deb 1", {
            Err("`1/2` is no version of nats-server")
        });
    }

    #[test]
    fn the_reason_is_the_error_of_apt() {
        let check = |told: &str, expected: &str| {
            assert_eq!(refused("nats-server", &anyhow::anyhow!("{told}")), expected);
        };
        check(
            "`apt-get download nats-server` failed: E: Unable to locate package nats-server",
            "apt-get does not give nats-server: Unable to locate package nats-server",
        );
        check(
            "`apt-get download nats-server` failed: W: no sandbox\nE: Failed to fetch http://x  Timeout\nE: more",
            "apt-get does not give nats-server: Failed to fetch http://x  Timeout",
        );
        check("no room", "apt-get does not give nats-server: no room");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_cannot_run_is_no_program() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("server");
        assert!(!is_program(&path));
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!is_program(&path));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(is_program(&path));
        assert!(!is_program(folder.path()));
    }
}
