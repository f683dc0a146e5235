//! `cargo xtask tidy`: the rules of the house that neither rustc nor clippy can check.
//!
//! Each rule is a small function named for what it enforces. It reads the repository and returns what it found; it
//! never changes a file. The rules run as a test of this crate too, so `cargo test` is the whole CI.

mod boundaries;
mod edges;
mod manifests;
mod sources;

use std::fmt;

use anyhow::{Result, bail};

use crate::checklist;
use crate::workspace::Workspace;

/// One breach of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The file, relative to the root.
    pub(crate) path: String,
    /// The line, counted from 1, where one line is to blame.
    pub(crate) line: Option<usize>,
    /// What is wrong.
    pub(crate) cause: String,
    /// What to do about it.
    pub(crate) hint: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.path)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}\nhint: {}", self.cause, self.hint)
    }
}

/// What all rules together found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Each of them fails the run.
    pub(crate) violations: Vec<Violation>,
    /// Worth a look; they fail nothing.
    pub(crate) warnings: Vec<String>,
}

/// Checks the workspace of the current directory and prints what it finds.
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::load()?;
    let findings = check(&workspace);
    for warning in &findings.warnings {
        eprintln!("warning: {warning}");
    }
    for violation in &findings.violations {
        println!("{violation}");
    }
    match findings.violations.len() {
        0 => {
            eprintln!(
                "tidy: {} crates and {} files are in order",
                workspace.packages.len(),
                workspace.files.len()
            );
            Ok(())
        }
        1 => bail!("tidy found 1 violation"),
        n => bail!("tidy found {n} violations"),
    }
}

/// Every rule, in the order in which they are reported.
pub(crate) fn check(workspace: &Workspace) -> Findings {
    let Workspace { packages, files } = workspace;
    let architecture = workspace.text("ARCHITECTURE.md");
    let mut findings = Findings::default();
    findings.violations.extend(edges::crates_have_a_floor(packages));
    findings.violations.extend(edges::edges_go_down(packages));
    findings.violations.extend(manifests::dependencies_have_a_reason(
        workspace.text("Cargo.toml").unwrap_or_default(),
    ));
    findings.violations.extend(manifests::crates_are_described(packages));
    findings.violations.extend(manifests::crates_use_workspace_lints(workspace));
    findings.violations.extend(manifests::crates_are_on_the_map(packages, architecture));
    if architecture.is_none() {
        findings.warnings.push(
            "ARCHITECTURE.md does not exist: not checked that it names every crate".to_owned(),
        );
    }
    findings.violations.extend(sources::files_are_short(files));
    findings.violations.extend(sources::exceptions_are_needed(files));
    findings.warnings.extend(sources::files_that_grow(files));
    findings.violations.extend(sources::nothing_is_unfinished(files));
    findings.violations.extend(sources::crates_begin_with_their_purpose(files));
    findings.violations.extend(boundaries::only_wire_knows_provider_json(files));
    findings.violations.extend(boundaries::only_store_knows_sql(files));
    findings.violations.extend(boundaries::only_tools_start_processes(files));
    findings.violations.extend(boundaries::faces_name_no_store(files));
    findings.violations.extend(checklist::promises_are_shown(workspace));
    findings.violations.extend(boundaries::no_paths_of_a_build_machine(files));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let findings = check(&Workspace::load().unwrap());
        let violations: Vec<String> = findings.violations.iter().map(ToString::to_string).collect();
        assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
    }

    #[test]
    fn a_violation_reads_as_an_error_and_its_hint() {
        let (path, cause, hint) = ("a.rs".to_owned(), "too long".to_owned(), "split it".to_owned());
        let violation = Violation { path, line: Some(7), cause, hint };
        assert_eq!(violation.to_string(), "error: a.rs:7: too long\nhint: split it");
    }
}
