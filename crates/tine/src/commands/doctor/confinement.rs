//! What each layer of a wall around commands can do here, and what follows from it.

use std::path::Path;
use std::sync::Arc;

use tine_guard::Width;
use tine_model::NetworkReach;
use tine_runtime::{Gap, Missing, Support};
use tine_tools::{Ground, Wall, has_control_groups, is_environment_hidden};

use super::Check;
use crate::config::{Config, ConfineTable};
use crate::confine::{ACCEPTING, NO_COMMANDS, missing_setting, workers};

/// How an ordinary user comes by namespaces.
const NAMESPACES_HINT: &str = "a system may forbid them: look at kernel.unprivileged_userns_clone, user.max_user_namespaces and \
     kernel.apparmor_restrict_unprivileged_userns";

/// What was found by trying.
struct Found {
    kernel: String,
    support: Support,
    /// Whether a wall for commands that only read can be raised.
    reads: bool,
    /// True if a worker's wall here hides and protects all that it is to.
    searched: bool,
    /// Whether the keys of this process are closed to other processes.
    hidden: bool,
    /// True if the kernel limits whole commands.
    control_groups: bool,
}

/// What there is, what is missing, and what the settings make of it.
pub(super) fn checks(config: Option<&Config>, directory: &Path) -> Vec<Check> {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let found = Found {
        kernel: kernel.trim().to_owned(),
        support: Support::of_this_kernel(),
        reads: can_read_behind_a_wall(directory),
        searched: is_searched(directory),
        hidden: is_environment_hidden(),
        control_groups: has_control_groups(),
    };
    let table = config.map(|config| config.confine.clone()).unwrap_or_default();
    let mut checks = layers(&found);
    checks.push(conclusion(&found, &table));
    checks.extend(settings(&table));
    checks
}

/// Raises the wall that reads run behind, without a command.
fn can_read_behind_a_wall(directory: &Path) -> bool {
    read_width(directory) != Width::Strict
}

/// How much counts as a read in the directory: by the wall that can be raised there.
pub(crate) fn read_width(directory: &Path) -> Width {
    let ground = Ground::here(Arc::new(tine_guard::is_secret));
    match Wall::reading(Vec::new()).raise(directory, &ground) {
        Ok(wall) if wall.is_search_complete() => Width::Wide,
        Ok(_) => Width::Walled,
        Err(_) => Width::Strict,
    }
}

/// Raises a worker's wall, without a command. What cannot be raised is told elsewhere.
fn is_searched(directory: &Path) -> bool {
    let ground = Ground::here(Arc::new(tine_guard::is_secret));
    let raised = Wall::worker(directory).raise(directory, &ground);
    raised.map_or(true, |wall| !wall.gaps().contains(&Gap::Unsearched))
}

/// One check for each layer.
fn layers(found: &Found) -> Vec<Check> {
    let Support { landlock, filter, namespaces } = found.support;
    let gaps = found.support.gaps();
    let warning = |name: &str, gap: Gap| Check::warning(name.to_owned(), gap.words());
    let mut checks = vec![if namespaces {
        Check::ok(
            "confinement: namespaces",
            "commands see the machine read-only but for their directory and a /tmp of their own, no other processes, no network but the hosts of `--network`, and secrets covered; settings of git, editors and CI in their directory stay as they are",
        )
    } else {
        warning("confinement: namespaces", Gap::View).hint(NAMESPACES_HINT)
    }];
    let older = [Gap::Truncate, Gap::Devices, Gap::Signals].into_iter();
    let older: Vec<Gap> = older.filter(|gap| gaps.contains(gap)).collect();
    checks.push(match (landlock, older.is_empty()) {
        (0, _) if namespaces => Check::ok(
            "confinement: Landlock",
            "none; the namespaces keep files and processes by themselves",
        ),
        (0, _) => warning("confinement: Landlock", Gap::Files),
        (version, true) => Check::ok(
            "confinement: Landlock",
            format!("version {version}: commands write only where they may, read no key stores, and signal no other process"),
        ),
        (version, false) => Check::warning("confinement: Landlock", format!("version {version}")),
    });
    checks.extend(older.into_iter().map(|gap| warning("confinement: Landlock", gap)));
    checks.push(if filter {
        Check::ok(
            "confinement: system calls",
            "a filter refuses sockets, the kernel's settings and other processes",
        )
    } else {
        warning("confinement: system calls", Gap::Calls)
    });
    checks.push(if found.reads {
        Check::ok(
            "confinement: reads",
            "commands that only read run behind a read-only wall, in every run; loops, substitutions and awk that only read count among them",
        )
    } else {
        Check::warning(
            "confinement: reads",
            "no read-only wall can stand: only the simplest reads run unasked, and they run without a wall",
        )
    });
    if !found.searched {
        checks.push(warning("confinement: search", Gap::Unsearched));
    }
    checks.push(Check::ok(
        "confinement: limits",
        if found.control_groups { "a control group holds each command's processes to their number and memory, and tine counts what they use together" } else { "tine counts ten times a second what the processes of a command use together; no control group was given to this user that would hold them to it in between" },
    ));
    checks.push(if found.hidden {
        Check::ok(
            "confinement: keys",
            "other processes find no keys in tine's memory and environment",
        )
    } else {
        Check::warning(
            "confinement: keys",
            "other processes of yours can read the keys in tine's environment",
        )
    });
    checks
}

/// What follows for workers.
fn conclusion(found: &Found, table: &ConfineTable) -> Check {
    let missing = match missing_setting(table) {
        Ok(missing) => missing.unwrap_or(Missing::RefuseCommands),
        Err(failure) => return Check::failure("setting confine", &failure),
    };
    let gaps = found.support.gaps();
    let kernel = &found.kernel;
    let nothing_keeps_files = gaps.contains(&Gap::Files);
    match missing {
        _ if gaps.is_empty() => Check::ok(
            "confinement",
            format!("kernel {kernel}: commands of workers are confined"),
        ),
        Missing::RefuseCommands if nothing_keeps_files => {
            Check::warning("confinement", format!("kernel {kernel}: {NO_COMMANDS}")).hint(ACCEPTING)
        }
        Missing::RefuseCommands | Missing::Accept => Check::warning(
            "confinement",
            format!("kernel {kernel}: workers run all the same and say what is not kept; runs that may write nothing are refused"),
        )
        .hint("`missing = \"refuse\"` under [confine] refuses workers as well"),
        Missing::Refuse => Check::warning(
            "confinement",
            format!("kernel {kernel}: confined runs are refused (confine.missing is refuse)"),
        ),
    }
}

fn settings(table: &ConfineTable) -> Vec<Check> {
    let list = |list: &Option<Vec<String>>| list.as_ref().map(|list| list.join(", "));
    let mut checks: Vec<Check> = [
        ("workers", table.workers.clone()),
        ("network", table.network.as_ref().map(|setting| network(&setting.0))),
        ("writable", list(&table.writable)),
        ("variables", list(&table.variables)),
        ("missing", table.missing.clone()),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some(Check::ok(format!("setting confine.{key}"), value?)))
    .collect();
    if let Err(failure) = workers(table) {
        checks.push(Check::failure("setting confine", &failure));
    }
    checks
}

fn network(network: &NetworkReach) -> String {
    if network.is_none() { "none".to_owned() } else { network.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(support: Support, is_whole: bool, missing: Option<&str>) -> String {
        let found = Found {
            kernel: "6.1.0".to_owned(),
            support,
            reads: is_whole,
            searched: true,
            hidden: is_whole,
            control_groups: is_whole,
        };
        let table = ConfineTable { missing: missing.map(str::to_owned), ..ConfineTable::default() };
        let checks = layers(&found).into_iter().chain([conclusion(&found, &table)]);
        let line = |check: Check| {
            let hint = check.hint.map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
            format!("{:?} {}: {}{hint}\n", check.status, check.name, check.detail)
        };
        checks.map(line).collect()
    }

    #[test]
    fn a_whole_kernel_is_told_layer_by_layer() {
        let support = Support { landlock: 7, filter: true, namespaces: true };
        insta::assert_snapshot!(shown(support, true, None), @"
        Ok confinement: namespaces: commands see the machine read-only but for their directory and a /tmp of their own, no other processes, no network but the hosts of `--network`, and secrets covered; settings of git, editors and CI in their directory stay as they are
        Ok confinement: Landlock: version 7: commands write only where they may, read no key stores, and signal no other process
        Ok confinement: system calls: a filter refuses sockets, the kernel's settings and other processes
        Ok confinement: reads: commands that only read run behind a read-only wall, in every run; loops, substitutions and awk that only read count among them
        Ok confinement: limits: a control group holds each command's processes to their number and memory, and tine counts what they use together
        Ok confinement: keys: other processes find no keys in tine's memory and environment
        Ok confinement: kernel 6.1.0: commands of workers are confined
        ");
    }

    #[test]
    fn what_older_kernels_cannot_keep_is_said_in_words() {
        let support = Support { landlock: 2, filter: true, namespaces: false };
        insta::assert_snapshot!(shown(support, false, None), @r#"
        Warning confinement: namespaces: no mount namespaces can be made here: commands can change modes, owners and times of the user's files outside, write settings of git and editors in their directory, and read secrets that lie deep; runs with `--network` are refused
          hint: a system may forbid them: look at kernel.unprivileged_userns_clone, user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns
        Warning confinement: Landlock: version 2
        Warning confinement: Landlock: the kernel's Landlock is older than 6.2: commands can empty files outside
        Warning confinement: Landlock: the kernel's Landlock is older than 6.10: commands can control devices they can open
        Warning confinement: Landlock: the kernel's Landlock is older than 6.12: commands can end other processes of the user
        Ok confinement: system calls: a filter refuses sockets, the kernel's settings and other processes
        Warning confinement: reads: no read-only wall can stand: only the simplest reads run unasked, and they run without a wall
        Ok confinement: limits: tine counts ten times a second what the processes of a command use together; no control group was given to this user that would hold them to it in between
        Warning confinement: keys: other processes of yours can read the keys in tine's environment
        Warning confinement: kernel 6.1.0: workers run all the same and say what is not kept; runs that may write nothing are refused
          hint: `missing = "refuse"` under [confine] refuses workers as well
        "#);
    }

    #[test]
    fn where_nothing_keeps_files_commands_are_refused_until_a_person_accepts_it() {
        let support = Support { landlock: 0, filter: false, namespaces: false };
        insta::assert_snapshot!(shown(support, false, None), @r#"
        Warning confinement: namespaces: no mount namespaces can be made here: commands can change modes, owners and times of the user's files outside, write settings of git and editors in their directory, and read secrets that lie deep; runs with `--network` are refused
          hint: a system may forbid them: look at kernel.unprivileged_userns_clone, user.max_user_namespaces and kernel.apparmor_restrict_unprivileged_userns
        Warning confinement: Landlock: the kernel has no Landlock: commands can write and read whatever the user can
        Warning confinement: system calls: system calls cannot be filtered here: commands can reach the network, services of the session, and files' metadata
        Warning confinement: reads: no read-only wall can stand: only the simplest reads run unasked, and they run without a wall
        Ok confinement: limits: tine counts ten times a second what the processes of a command use together; no control group was given to this user that would hold them to it in between
        Warning confinement: keys: other processes of yours can read the keys in tine's environment
        Warning confinement: kernel 6.1.0: this system can neither make namespaces nor use Landlock: commands of workers and of other confined runs are refused, their file tools work
          hint: `missing = "accept"` under [confine] in your own config.toml lets them run without a wall; `--confine off` does for one agent
        "#);
        let conclusion = |missing| {
            let text = shown(support, false, Some(missing));
            text[text.find("Warning confinement: kernel").unwrap()..].to_owned()
        };
        insta::assert_snapshot!(conclusion("accept"), @r#"
        Warning confinement: kernel 6.1.0: workers run all the same and say what is not kept; runs that may write nothing are refused
          hint: `missing = "refuse"` under [confine] refuses workers as well
        "#);
        insta::assert_snapshot!(conclusion("refuse"), @"Warning confinement: kernel 6.1.0: confined runs are refused (confine.missing is refuse)");
    }
}
