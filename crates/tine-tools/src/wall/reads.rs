//! What a confined command may read.
//!
//! Two ways: everything but key stores, for workers, which build and test; or a short list, for maintenance runs, which look
//! at the system's programs and at their own directory.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_guard::{is_key_store, leads_to_key_store};

use super::WallError;
use super::grants::{Access, Grant, devices};
use super::survey::{Omit, Survey};
use crate::place::Withheld;

/// Directories below a home that are looked into for secrets: `~/.config/PROGRAM/FILE` is the usual depth. Those that lead to a
/// key store of the list are looked into however deep they are.
const HOME_DEPTH: usize = 3;

/// Entries of all homes that are looked at; what comes after them is not granted. Some 50 ms on a slow disk.
const HOME_ENTRIES_MAX: usize = 30_000;

/// The directory of the system's settings.
const SETTINGS: &str = "/etc";

/// Entries of it that are looked at. Large systems have some thousands.
const SETTINGS_ENTRIES_MAX: usize = 20_000;

/// Entries of the directories on a short list. Beyond them nobody can say in useful time whether a secret is among them.
const LISTED_ENTRIES_MAX: usize = 300_000;

/// How deep a repository is looked into: `.git/NAME`. What lies deeper is git's own.
const REPOSITORY_DEPTH: usize = 1;

/// Deeper than any path the system takes.
const ALL_THE_WAY: usize = 4_096;

/// What of `/run` is no secret and no service: where names are resolved, and where some systems keep their programs.
const RUN: [&str; 6] = [
    "/run/systemd/resolve",
    "/run/NetworkManager/resolv.conf",
    "/run/resolvconf",
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
];

/// Where programs and what they need lie.
const PROGRAMS: [&str; 15] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/run/current-system",
    "/run/systemd/resolve",
    // Which packages are installed.
    "/var/lib/dpkg",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];

/// What of `/proc` tells about the machine and nothing of other processes.
const MACHINE: [&str; 8] = [
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/version",
    "/proc/filesystems",
    "/proc/sys",
];

/// Everything but key stores, other processes' keys and devices. Homes are looked into; `hidden` says what is left out there.
pub(super) fn most(home: Option<&Path>, hidden: &Withheld, settings: Vec<Grant>) -> Vec<Grant> {
    let (homes, omitted) = (homes(home), with_key_stores(home, hidden));
    let leads = |path: &Path| below(&homes, path).any(leads_to_key_store);
    let mut survey = Survey::new(Omit::Withheld(&omitted), HOME_ENTRIES_MAX).deeper(&leads);
    let mut grants = vec![Grant::new("/", Access::List)];
    grants.extend(devices());
    around(Path::new("/"), &homes, &mut survey, &mut grants);
    grants.extend(RUN.iter().filter_map(existing));
    grants.extend(settings);
    grants
}

/// Entries of the directory that may be read as a whole. One that holds a secret is none of them.
pub(super) fn granted_in(directory: &Path, grants: &[Grant]) -> impl Iterator<Item = PathBuf> {
    let is_read = |path: &PathBuf| {
        let mut above = grants.iter().filter(|grant| path.starts_with(&grant.path));
        above.any(|grant| matches!(grant.access, Access::Read | Access::Full))
    };
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.path().canonicalize().ok()).filter(is_read)
}

/// The short list: programs, the settings that everybody may read, what is on `PATH`, `roots` without what is hidden there, and
/// the directories of a `repository`, which are large and looked into less deep.
pub(super) fn listed(
    (roots, repository): (&[PathBuf], &[PathBuf]),
    path: &[PathBuf],
    hidden: &Withheld,
    settings: Vec<Grant>,
) -> Result<Vec<Grant>, WallError> {
    let mut grants = devices();
    grants.extend(PROGRAMS.iter().chain(&MACHINE).filter_map(existing));
    grants.extend(path.iter().filter_map(existing));
    grants.extend(settings);
    let mut survey = Survey::new(Omit::Withheld(hidden), LISTED_ENTRIES_MAX);
    let deep = roots.iter().map(|root| (root, ALL_THE_WAY));
    // A file that was named is shown, whatever it is: whoever named it was judged.
    grants.extend(
        roots.iter().filter(|root| root.is_file()).map(|root| Grant::new(root, Access::Read)),
    );
    for (root, depth) in deep.chain(repository.iter().map(|own| (own, REPOSITORY_DEPTH))) {
        grants.extend(survey.reading(root, depth));
        if survey.ran_out() {
            return Err(WallError::TooLarge {
                path: root.clone(),
                entries_max: LISTED_ENTRIES_MAX,
            });
        }
    }
    Ok(grants)
}

/// Grants the children of `directory` one by one: homes as they are surveyed, what leads to them child by child, and the
/// rest whole. Device files, running services and `/etc` are granted elsewhere.
fn around(directory: &Path, homes: &[PathBuf], survey: &mut Survey<'_>, grants: &mut Vec<Grant>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_link = path.symlink_metadata().map_or(true, |metadata| metadata.is_symlink());
        let elsewhere = ["/dev", "/run", SETTINGS].iter().any(|special| path == Path::new(special));
        if is_link || elsewhere {
            continue;
        }
        if homes.contains(&path) {
            grants.extend(survey.reading(&path, HOME_DEPTH));
        } else if homes.iter().any(|home| home.starts_with(&path)) {
            around(&path, homes, survey, grants);
        } else {
            grants.push(Grant::new(path, Access::Read));
        }
    }
}

/// Where languages keep their compilers, interpreters and packages, below a home. They hold programs and sources of others.
const TOOLCHAINS: [&str; 24] = [
    ".rustup/toolchains",
    ".rustup/settings.toml",
    ".cargo/bin",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/env",
    ".cargo/config.toml",
    "go/bin",
    "go/pkg/mod",
    ".nvm/versions",
    ".pyenv/versions",
    ".pyenv/libexec",
    ".pyenv/shims",
    ".pyenv/version",
    ".volta/tools",
    ".sdkman/candidates",
    ".asdf/installs",
    ".rbenv/versions",
    ".rbenv/libexec",
    ".rbenv/shims",
    ".rbenv/version",
    ".local/share/mise/installs",
    ".local/bin",
    ".local/lib",
];

/// Variables that name such a place elsewhere, and what of it is shown.
const TOOLCHAIN_VARIABLES: [(&str, &[&str]); 8] = [
    ("RUSTUP_HOME", &["toolchains", "settings.toml"]),
    ("CARGO_HOME", &["bin", "registry", "git", "config.toml"]),
    ("GOROOT", &[""]),
    ("GOPATH", &["bin", "pkg/mod"]),
    ("JAVA_HOME", &[""]),
    ("NVM_DIR", &["versions"]),
    ("PYENV_ROOT", &["versions", "libexec", "shims", "version"]),
    ("VIRTUAL_ENV", &[""]),
];

/// Reading of toolchains: without them a program on the search path may not run.
pub(super) fn toolchains(home: Option<&Path>, variables: &[(OsString, OsString)]) -> Vec<Grant> {
    let usual = TOOLCHAINS.iter().filter_map(|below| Some(home?.join(below)));
    let named = TOOLCHAIN_VARIABLES.iter().flat_map(|(wanted, below)| {
        let value = variables.iter().find(|(name, _)| name == *wanted);
        let root = value.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute());
        below.iter().filter_map(move |below| Some(root.as_ref()?.join(below)))
    });
    usual.chain(named).filter_map(existing).collect()
}

/// Where secrets of the user and of services lie: homes, and the places where services are installed.
pub(super) fn secret_roots(home: Option<&Path>) -> Vec<PathBuf> {
    // The last ones are where containers for development keep checkouts and what belongs to them.
    let services = ["/srv", "/opt", "/var/www", "/workspaces", "/data", "/app", "/mnt"];
    let services = services.map(PathBuf::from);
    homes(home).into_iter().chain(services).collect()
}

/// The user's home, root's, and those beside them.
fn homes(home: Option<&Path>) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = home.into_iter().map(Path::to_path_buf).collect();
    homes.push("/root".into());
    if let Ok(entries) = std::fs::read_dir("/home") {
        homes.extend(entries.flatten().map(|entry| entry.path()));
    }
    let mut real: Vec<PathBuf> = homes
        .iter()
        .filter_map(|home| home.canonicalize().ok())
        .filter(|home| home != Path::new("/"))
        .collect();
    real.sort();
    real.dedup();
    real
}

/// `hidden`, and the key stores of all homes.
pub(super) fn with_key_stores(home: Option<&Path>, hidden: &Withheld) -> Withheld {
    let (homes, hidden) = (homes(home), Arc::clone(hidden));
    Arc::new(move |path: &Path| hidden(path) || below(&homes, path).any(is_key_store))
}

/// What of the path lies below each of the homes that it is in.
fn below<'a>(homes: &'a [PathBuf], path: &'a Path) -> impl Iterator<Item = &'a Path> {
    homes.iter().filter_map(|home| path.strip_prefix(home).ok())
}

/// Returns true for a directory of the system's programs and settings, where no secrets of the user lie.
pub(super) fn is_of_the_system(path: &Path) -> bool {
    let system = PROGRAMS.iter().chain(&MACHINE).chain(&[SETTINGS, "/sys", "/proc"]);
    system.filter(|known| **known != "/opt").any(|known| path.starts_with(known))
}

/// Returns true if programs are looked for below the directory.
pub(super) fn leads_to_programs(path: &Path, search_path: &[PathBuf]) -> bool {
    let known = PROGRAMS.iter().map(PathBuf::from).chain(search_path.iter().cloned());
    known.filter_map(|known| known.canonicalize().ok()).any(|known| known.starts_with(path))
}

/// What of `/run` every command may see, where this system has it.
pub(super) fn running() -> impl Iterator<Item = PathBuf> {
    RUN.iter().filter_map(|path| Path::new(path).canonicalize().ok())
}

/// The files and directories of `/etc` that not everybody may read; `None` if it has too many entries to look at.
pub(super) fn private_settings() -> Option<Vec<PathBuf>> {
    let (mut private, mut left) = (Vec::new(), vec![PathBuf::from(SETTINGS)]);
    let mut entries_left = SETTINGS_ENTRIES_MAX;
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(directory).ok()?.flatten() {
            entries_left = entries_left.checked_sub(1)?;
            let Ok(about) = entry.metadata() else { continue };
            if about.is_symlink() {
                continue;
            }
            if about.mode() & 0o004 == 0 {
                private.push(entry.path());
            } else if about.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Some(private)
}

/// `/etc` as a whole, for a view that covers what is private there.
pub(super) fn all_settings() -> Vec<Grant> {
    existing(SETTINGS).into_iter().collect()
}

/// `/etc`, as far as everybody may read it.
pub(super) fn open_settings() -> Vec<Grant> {
    Survey::new(Omit::Private, SETTINGS_ENTRIES_MAX).reading(Path::new(SETTINGS), ALL_THE_WAY)
}

/// Reading of a path of the system, where this one has it.
fn existing(path: impl AsRef<Path>) -> Option<Grant> {
    path.as_ref().canonicalize().ok().map(|path| Grant::new(path, Access::Read))
}
