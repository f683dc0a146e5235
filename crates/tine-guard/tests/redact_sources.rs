//! Ordinary source text stays as it is: the sources of the crates that this build uses.
//!
//! The test reads a sample. `TINE_REDACT_SOURCES=all` reads every file; build with `--release` for that.

use std::path::{Path, PathBuf};

use tine_guard::redact;

/// Bytes that the sample has at most.
const SAMPLE_BYTES: u64 = 24 << 20;

/// One file of so many is in the sample.
const SAMPLE_SHARE: usize = 24;

/// A longer file is data.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Files that do hold keys: crates whose tests and examples have some, and which.
const HOLDS_KEYS: &[(&str, &str)] = &[("sqlx-", "private key")];

#[test]
fn source_text_is_not_changed() {
    let Some(root) = registry() else {
        eprintln!("NOT RUN: there are no sources of crates on this machine");
        return;
    };
    let all = std::env::var("TINE_REDACT_SOURCES").is_ok_and(|which| which == "all");
    let mut files = Vec::new();
    walk(&root, &mut files);
    files.sort();
    let share = if all { 1 } else { SAMPLE_SHARE };
    let (mut bytes, mut read, mut changes) = (0, 0, Vec::new());
    for file in files.iter().step_by(share) {
        if !all && bytes > SAMPLE_BYTES {
            break;
        }
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        (bytes, read) = (bytes + text.len() as u64, read + 1);
        let redacted = redact(&text);
        if redacted != text {
            let name = file.strip_prefix(&root).unwrap_or(file).display().to_string();
            let lines = text.lines().zip(redacted.lines()).enumerate();
            let changed = lines.filter(|(_, (old, new))| old != new).take(3);
            changes.extend(changed.map(|(number, (old, new))| {
                format!("{name}:{}: {}\n    -> {}", number + 1, short(old), short(new))
            }));
        }
    }
    let is_key = |change: &String| {
        HOLDS_KEYS.iter().any(|(name, kind)| {
            change.contains(name) && change.contains(&format!("[redacted: {kind}]"))
        })
    };
    let wrong: Vec<String> = changes.into_iter().filter(|change| !is_key(change)).collect();
    eprintln!("{read} files, {} MiB, {} changes", bytes >> 20, wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn short(line: &str) -> String {
    line.trim().chars().take(200).collect()
}

/// Where cargo keeps the sources of crates.
fn registry() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    std::fs::read_dir(home.join("registry/src")).ok()?.flatten().map(|entry| entry.path()).next()
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            walk(&entry.path(), files);
        } else if kind.is_file()
            && entry.metadata().is_ok_and(|about| about.len() <= FILE_BYTES_MAX)
        {
            files.push(entry.path());
        }
    }
}
