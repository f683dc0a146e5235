//! The oldest git that the tests work with. An older one is named before anything is built or installed.

use anyhow::{Result, bail};

use crate::process;

/// The same as `OLDEST_GIT` of `tine-worktree`, on which no developer automation depends.
const OLDEST: &str = "2.38";

/// Fails where git is too old. A git that is not there is no failure, unless the system's package would be too old as well.
pub(crate) fn check() -> Result<()> {
    let mut git = process::program("git");
    git.arg("--version");
    let said = process::output(git).ok();
    match refusal(said.as_deref(), offered) {
        Some(refusal) => bail!(refusal),
        None => Ok(()),
    }
}

/// What Debian's package manager knows of its git.
fn offered() -> Option<String> {
    let mut policy = process::program("apt-cache");
    policy.args(["policy", "git"]).env("LC_ALL", "C");
    process::output(policy).ok()
}

/// Why this git does not do. `said` is what it prints as its version, `None` where there is none. `offered` is asked only where it
/// matters.
fn refusal(said: Option<&str>, offered: impl FnOnce() -> Option<String>) -> Option<String> {
    let found = said.map(|said| said.trim().trim_start_matches("git version "));
    if found.is_some_and(is_new_enough) {
        return None;
    }
    let policy = offered();
    let package = policy.as_deref().and_then(candidate);
    let is_useful = package.is_some_and(is_new_enough);
    let cause = match found {
        Some(found) => format!("git {found} is too old: the tests need {OLDEST} or later"),
        // What the system has is installed, or the user is told how.
        None if is_useful || package.is_none() => return None,
        None => format!("git is not installed: the tests need {OLDEST} or later"),
    };
    let hint = match package {
        Some(package) if is_useful => format!(
            "`sudo apt-get install -y git` brings {package}; `command -v git` names the program that was found"
        ),
        Some(package) => format!(
            "the package of this system is {package}, too old as well; a later release of it, its backports or https://git-scm.com have a later one"
        ),
        None => "have a later git first on the PATH; `command -v git` names the one that was found"
            .to_owned(),
    };
    Some(format!("{cause}\nhint: {hint}"))
}

/// The version of the package that would be installed, without the epoch: `1:2.39.5-0+deb12u2` is `2.39.5-0+deb12u2`.
fn candidate(policy: &str) -> Option<&str> {
    let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    let version = version.split_once(':').map_or(version, |(_, version)| version);
    version.starts_with(|first: char| first.is_ascii_digit()).then_some(version)
}

fn is_new_enough(version: &str) -> bool {
    numbers(version) >= numbers(OLDEST)
}

/// The first two numbers of a version.
fn numbers(version: &str) -> [u32; 2] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
    [parts.next(), parts.next()].map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(said: Option<&str>, package: Option<&str>, expected: &str) {
        let policy = package.map(|version| {
            format!("git:\n  Installed: (none)\n  Candidate: {version}\n  Version table:\n")
        });
        assert_eq!(refusal(said, || policy).unwrap_or_default(), expected, "{said:?} {package:?}");
    }

    #[test]
    fn an_old_git_is_named_with_what_can_be_done() {
        let old = Some("git version 2.37.0\n");
        check(
            old,
            Some("1:2.39.5-0+deb12u2"),
            "git 2.37.0 is too old: the tests need 2.38 or later\n\
             hint: `sudo apt-get install -y git` brings 2.39.5-0+deb12u2; `command -v git` names the program that was found",
        );
        check(
            old,
            Some("1:2.34.1-1ubuntu1.11"),
            "git 2.37.0 is too old: the tests need 2.38 or later\n\
             hint: the package of this system is 2.34.1-1ubuntu1.11, too old as well; a later release of it, its backports or https://git-scm.com have a later one",
        );
        for none in [Some("(none)"), None] {
            check(
                old,
                none,
                "git 2.37.0 is too old: the tests need 2.38 or later\n\
                 hint: have a later git first on the PATH; `command -v git` names the one that was found",
            );
        }
    }

    #[test]
    fn nothing_is_installed_in_vain() {
        check(None, Some("1:2.39.5-0+deb12u2"), "");
        check(None, None, "");
        check(
            None,
            Some("1:2.30.2-1+deb11u2"),
            "git is not installed: the tests need 2.38 or later\n\
             hint: the package of this system is 2.30.2-1+deb11u2, too old as well; a later release of it, its backports or https://git-scm.com have a later one",
        );
    }

    #[test]
    fn a_git_that_does_is_no_reason_to_ask_for_packages() {
        for said in
            ["git version 2.38.0\n", "git version 2.39.5 (Apple Git-154)\n", "git version 3.0.0\n"]
        {
            assert_eq!(refusal(Some(said), || unreachable!("{said}")), None);
        }
    }

    #[test]
    fn tine_and_its_tests_need_the_same_git() {
        let source = include_str!("../../crates/tine-worktree/src/git.rs");
        assert!(source.contains(&format!("pub const OLDEST_GIT: &str = \"{OLDEST}\";")));
    }
}
