//! What the kernel can keep of a wall around commands, and what follows from it.

use tine_model::NetworkReach;
use tine_runtime::Support;

use super::Check;
use crate::config::{Config, ConfineTable};
use crate::confine::workers;

/// What there is, what is missing, and what the settings make of it.
pub(super) fn checks(config: Option<&Config>) -> Vec<Check> {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut checks = found(kernel.trim(), Support::of_this_kernel());
    if let Some(config) = config {
        checks.extend(settings(&config.confine));
    }
    checks
}

fn found(kernel: &str, support: Support) -> Vec<Check> {
    let landlock = match support.landlock {
        0 => "no Landlock".to_owned(),
        version => format!("Landlock {version}"),
    };
    let filter = if support.filter { "a filter over system calls" } else { "no filter" };
    let view = if support.namespaces { "mount namespaces" } else { "no mount namespaces" };
    let means = format!("kernel {kernel}, {view}, {landlock}, {filter}");
    let gaps = support.gaps();
    if gaps.is_empty() {
        let kept = match support.namespaces {
            true => {
                "confined commands see the machine read-only but for their directory and a /tmp of their own, no key stores, no other processes, and no network but the hosts of `--network`; settings of git, editors and CI in their directory stay as they are; limits hold for each process alone, and that on processes not for root"
            }
            false => {
                "confined commands write only in their directory, read no key stores, reach no network, and touch no other process; limits hold for each process alone, and that on processes not for root"
            }
        };
        let mut checks = vec![Check::ok("confinement", format!("{means}: {kept}"))];
        if !support.namespaces {
            checks.push(Check::warning("confinement", tine_runtime::Gap::View.words()));
        }
        return checks;
    }
    let warning = |gap: &tine_runtime::Gap| Check::warning("confinement", gap.words());
    let mut checks = vec![
        Check::warning("confinement", format!("{means}: commands cannot be confined as they should"))
            .hint("workers run all the same and say so, unless confine.missing is refuse; runs that may write nothing are refused"),
    ];
    checks.extend(gaps.iter().map(warning));
    checks
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
    match network.is_none() {
        true => "none".to_owned(),
        false => network.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(landlock: u32, filter: bool, namespaces: bool) -> String {
        let checks = found("6.1.0", Support { landlock, filter, namespaces });
        checks.iter().map(|check| format!("{:?} {}\n", check.status, check.detail)).collect()
    }

    #[test]
    fn what_the_kernel_cannot_keep_is_said_in_words() {
        insta::assert_snapshot!(shown(7, true, true), @"Ok kernel 6.1.0, mount namespaces, Landlock 7, a filter over system calls: confined commands see the machine read-only but for their directory and a /tmp of their own, no key stores, no other processes, and no network but the hosts of `--network`; settings of git, editors and CI in their directory stay as they are; limits hold for each process alone, and that on processes not for root");
        insta::assert_snapshot!(shown(7, true, false), @"
        Ok kernel 6.1.0, no mount namespaces, Landlock 7, a filter over system calls: confined commands write only in their directory, read no key stores, reach no network, and touch no other process; limits hold for each process alone, and that on processes not for root
        Warning no mount namespaces can be made here: commands can change modes, owners and times of the user's files outside, write settings of git and editors in their directory, and read secrets that lie deep; runs with `--network` are refused
        ");
        insta::assert_snapshot!(shown(2, true, false), @"
        Warning kernel 6.1.0, no mount namespaces, Landlock 2, a filter over system calls: commands cannot be confined as they should
        Warning the kernel's Landlock is older than 6.2: commands can empty files outside
        Warning the kernel's Landlock is older than 6.10: commands can control devices they can open
        Warning the kernel's Landlock is older than 6.12: commands can end other processes of the user
        ");
        insta::assert_snapshot!(shown(0, false, false), @"
        Warning kernel 6.1.0, no mount namespaces, no Landlock, no filter: commands cannot be confined as they should
        Warning the kernel has no Landlock: commands can write and read whatever the user can
        Warning system calls cannot be filtered here: commands can reach the network, services of the session, and files' metadata
        ");
    }
}
