//! Ordinary source text stays as it is: the sources of the crates that this build uses.
//!
//! The test reads a sample, and allows a few changes beside the known keys: a new version of a crate may bring others in its tests.
//! `TINE_REDACT_SOURCES=all` reads every file and allows the known ones alone; build with `--release` for that.

#![expect(clippy::unwrap_used, reason = "a workspace without a lock file is a failed test")]

use std::path::{Path, PathBuf};

use tine_guard::redact;
use tine_testkit::{not_run, test_name};

/// One file of so many is in the sample. The hash of its name decides, so that the sample is the same on every machine.
const SAMPLE_SHARE: u64 = 24;

/// For so many files of the sample, one line may be changed.
const FILES_PER_CHANGE: usize = 100;

/// A longer file is data.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Files that do hold keys and passwords: what their names contain, and the kind. Tests of parsers have most of them.
const HOLDS_KEYS: &[(&str, &str)] = &[
    // Tokens of badges.
    ("README.md", "token"),
    ("ratatui-", "token"),
    ("axum-", "password"),
    ("hyper-util-", "password"),
    ("reqwest-", "password"),
    ("sqlx-", "password"),
    ("sqlx-", "private key"),
    ("tower-http-", "authorization"),
    ("url-", "password"),
];

#[test]
fn source_text_is_not_changed() {
    let sources = registries();
    let all = std::env::var("TINE_REDACT_SOURCES").is_ok_and(|which| which == "all");
    let mut files = Vec::new();
    for crate_name in locked_crates() {
        for source in &sources {
            walk(source, &source.join(&crate_name), &mut files);
        }
    }
    if files.is_empty() {
        return not_run("crate-sources", &test_name(), "cargo keeps none here");
    }
    let (mut bytes, mut read, mut changes) = (0, 0, Vec::new());
    for (name, file) in &files {
        if !all && !hash(name).is_multiple_of(SAMPLE_SHARE) {
            continue;
        }
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        (bytes, read) = (bytes + text.len() as u64, read + 1);
        let redacted = redact(&text);
        if redacted != text {
            let lines = text.lines().zip(redacted.lines()).enumerate();
            let changed = lines.filter(|(_, (old, new))| old != new).take(3);
            changes.extend(changed.map(|(number, (old, new))| {
                format!("{name}:{}: {}\n    -> {}", number + 1, short(old), short(new))
            }));
        }
    }
    let is_key = |change: &String| {
        HOLDS_KEYS.iter().any(|(name, kind)| {
            change.split(':').next().is_some_and(|file| file.contains(name))
                && change.contains(&format!("[redacted: {kind}]"))
        })
    };
    let wrong: Vec<String> = changes.into_iter().filter(|change| !is_key(change)).collect();
    eprintln!("{read} files, {} MiB, {} changes", bytes >> 20, wrong.len());
    assert!(read > 0, "the sample is empty");
    let allowed = if all { 0 } else { read / FILES_PER_CHANGE };
    assert!(wrong.len() <= allowed, "more than {allowed} are changed:\n{}", wrong.join("\n"));
}

fn short(line: &str) -> String {
    line.trim().chars().take(200).collect()
}

/// FNV-1a, which is the same with every version of Rust.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The crates of the lock file as their folders are called, `NAME-VERSION`.
fn locked_crates() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let text = std::fs::read_to_string(path).unwrap();
    let lock: toml::Table = text.parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let folder = |package: &toml::Value| {
        Some(format!("{}-{}", package["name"].as_str()?, package["version"].as_str()?))
    };
    packages.iter().filter_map(folder).collect()
}

/// Where cargo keeps the sources of crates: a folder for each registry.
fn registries() -> Vec<PathBuf> {
    let of_user = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(of_user);
    let folders = home.and_then(|home| std::fs::read_dir(home.join("registry/src")).ok());
    folders.into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Adds the files of a directory, each with its name below `top`.
fn walk(top: &Path, directory: &Path, files: &mut Vec<(String, PathBuf)>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            walk(top, &entry.path(), files);
        } else if kind.is_file()
            && entry.metadata().is_ok_and(|about| about.len() <= FILE_BYTES_MAX)
        {
            let path = entry.path();
            let name = path.strip_prefix(top).unwrap_or(&path).display().to_string();
            files.push((name, path));
        }
    }
}
