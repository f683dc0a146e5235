//! Checks that worktrees can be made, where they go, what the settings say of them, and what is not as it should be with those there are.

use std::path::Path;
use std::time::Duration;

use tine_runtime::{
    Holds, PurgeSpec, Runtime, WorktreePolicy, WorktreeState, WorktreeView, git_version,
    open_mirrors, shares_content,
};

use super::{Check, Status};
use crate::commands::listing::half_changed;
use crate::config::Config;
use crate::dirs::Dirs;
use crate::fail::Failure;
use crate::worktree::policy;
use tine_tui::figures::{bytes, plural, span};

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

/// The worktrees that there are, checkouts that are half changed, and what is kept of worktrees that are gone.
pub(super) async fn there(runtime: &Runtime, directory: &Path) -> Result<Vec<Check>, Failure> {
    let mut checks = Vec::new();
    if git_version().is_err() {
        // The check of git says why.
        return Ok(checks);
    }
    for found in runtime.mend_checkouts().await? {
        let lines = half_changed(&found);
        let detail: Vec<&str> =
            lines.iter().filter_map(|line| line.split_once(": ").map(|(_, text)| text)).collect();
        checks.push(match found.mended {
            Ok(_) => Check::warning("worktrees: half changes", detail.join("; ")),
            Err(_) => Check::new("worktrees: half changes", Status::Failure, detail.join("; ")),
        });
    }
    let views = runtime.worktrees(directory).await?;
    checks.extend(states(&views));
    let all = PurgeSpec { directory: directory.to_owned(), agent: None, age_max: Duration::ZERO };
    let plan = runtime.plan_purge(&all).await?;
    let kept = plan.due.iter().filter(|due| due.kept.holds > Holds::Nothing).count();
    if !plan.due.is_empty() {
        let space = plan.bytes.map_or_else(String::new, |count| format!(", {}", bytes(count)));
        let count = plural(kept as u64, "worktree");
        checks.push(
            Check::ok("worktrees: kept", format!("work of {count}, removed since{space}"))
                .hint("`tine worktree purge` deletes what is old, for good"),
        );
    }
    let mirrors = open_mirrors(directory).unwrap_or_default();
    let in_use = !plan.due.is_empty() || views.iter().any(|view| view.record.is_some());
    if in_use && let Some(remote) = mirrors.first() {
        checks.push(
            Check::warning(
                "worktrees: mirrors",
                format!("each push to `{remote}` takes refs/tine along, and with it what was not committed"),
            )
            .hint(format!(
                "`git config --add remote.{remote}.push +:` and `git config --add remote.{remote}.push '^refs/tine/*'` keep it back"
            )),
        );
    }
    Ok(checks)
}

/// Checks how many there are, and names those that are not as they should be.
fn states(views: &[WorktreeView]) -> Vec<Check> {
    const NAME: &str = "worktrees";
    let own = || views.iter().filter(|view| view.record.is_some());
    let count = |state: WorktreeState| own().filter(|view| view.state == state).count();
    let made = plural(own().count() as u64, "worktree");
    let ready = count(WorktreeState::Ready);
    let mut checks = vec![Check::ok(NAME, format!("{ready} there, of {made} that were made"))];
    let mut warn = |count: usize, what: &str, hint: &str| {
        if count > 0 {
            let count = plural(count as u64, "worktree");
            checks.push(Check::warning(NAME, format!("{count} {what}")).hint(hint));
        }
    };
    warn(
        count(WorktreeState::Gone),
        "whose files were removed without tine",
        "`tine worktree recover AGENT` makes one again as it was last kept, `tine worktree rm AGENT` forgets it",
    );
    warn(
        count(WorktreeState::Moved),
        "whose repository is not where it was",
        "`tine worktree repair`, run where it is now, finds them again",
    );
    warn(
        count(WorktreeState::Unfinished) + count(WorktreeState::Leaving),
        "whose making or removal was cut short, or is under way",
        "the agent's next run or `tine worktree recover AGENT` makes one again; `tine worktree gc` clears away what is left",
    );
    warn(
        views.iter().filter(|view| view.record.is_none()).count(),
        "of no agent of this store: being made, or of another store",
        "what a killed fork left goes at the next command; `tine worktree gc` takes the rest when it is old",
    );
    checks
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
