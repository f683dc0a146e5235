//! Whether worktrees can be made, where they go, and what the settings say of them.

use std::path::Path;

use tine_runtime::{WorktreePolicy, git_version, shares_content};

use super::{Check, Status};
use crate::config::Config;
use crate::dirs::Dirs;
use crate::fail::Failure;
use crate::worktree::policy;
use tine_tui::figures::{plural, span};

/// What there is, and what is set.
pub(super) fn checks(config: &Config, dirs: &Dirs) -> Vec<Check> {
    match policy(config, &dirs.worktrees, true) {
        Err(failure) => vec![Check::failure("setting worktree", &failure)],
        Ok(None) => vec![Check::ok("worktrees: directory", "turned off by worktree.enabled")],
        Ok(Some(policy)) => {
            let mut checks = vec![git(), directory(&policy.root)];
            checks.extend(settings(&policy));
            checks
        }
    }
}

fn git() -> Check {
    match git_version() {
        Ok(version) => Check::ok("worktrees: git", format!("git {version} is new enough")),
        Err(error) => {
            let found = Check::failure("worktrees: git", &Failure::from(error));
            // Everything else works without.
            Check { status: Status::Warning, ..found }
        }
    }
}

fn directory(root: &Path) -> Check {
    const NAME: &str = "worktrees: directory";
    // The nearest that is there; the rest is made when it is needed.
    let there = root.ancestors().find(|directory| directory.exists()).unwrap_or(root);
    let shown = root.display();
    match shares_content(there) {
        Ok(true) => Check::ok(NAME, format!("{shown}, files by copy-on-write")),
        Ok(false) => Check::ok(NAME, format!("{shown}, files as copies: no copy-on-write there")),
        Err(error) => Check::failure(
            NAME,
            &Failure::failed(format!("no worktree can be made below {shown}"))
                .because(&error)
                .hint(
                    "make it writable, or name another one: `[worktree] directory` in config.toml",
                ),
        ),
    }
}

fn settings(policy: &WorktreePolicy) -> Vec<Check> {
    let time = span(u64::try_from(policy.setup_time_max.as_millis()).unwrap_or(u64::MAX));
    let setup = policy.setup.as_ref().map(|command| {
        Check::ok("setting worktree.setup", format!("`{command}`, for at most {time}"))
    });
    let ports = policy.ports.map(|ports| {
        let each = plural(ports.count.into(), "port");
        Check::ok("setting worktree.ports", format!("{each} for each, from {} on", ports.first))
    });
    let names: Vec<&str> = policy.environment.iter().map(|(name, _)| name.as_str()).collect();
    let environment =
        (!names.is_empty()).then(|| Check::ok("setting worktree.environment", names.join(", ")));
    setup.into_iter().chain(ports).chain(environment).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told_and_a_root_that_is_a_file_is_no_directory() {
        let policy = WorktreePolicy {
            persons_network: tine_model::NetworkReach::none(),
            root: "/w".into(),
            setup: Some("npm ci".to_owned()),
            setup_time_max: std::time::Duration::from_secs(600),
            confinement: tine_runtime::Confinement::default(),
            ports: Some(tine_runtime::WorktreePorts { first: 21_000, count: 10 }),
            environment: vec![("CARGO_TARGET_DIR".to_owned(), "/t".to_owned())],
        };
        let told: Vec<String> = settings(&policy).into_iter().map(|check| check.detail).collect();
        insta::assert_snapshot!(told.join("\n"), @"
        `npm ci`, for at most 10 min 0 s
        10 ports for each, from 21000 on
        CARGO_TARGET_DIR
        ");
        let file = tempfile::NamedTempFile::new().unwrap();
        let below = directory(&file.path().join("worktrees"));
        assert_eq!(below.status, Status::Failure, "{below:?}");
    }
}
