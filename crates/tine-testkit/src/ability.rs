//! What this kernel and this user can do. A test asks here, and takes nothing for granted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Access, access};

use crate::not_run;

/// Something that a test may need, and that machines lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// Namespaces as a confined command's view of the machine is made of: mounts with a `/proc` of their own, processes, a network.
    Namespaces,
    /// A user namespace in which anybody is root and may mount.
    Mounts,
    /// Landlock with this version of its interface or a later one.
    Landlock(u32),
    /// Filters over system calls.
    Seccomp,
    /// A control group of version 2 below which this user may make others with limits.
    Cgroups,
    /// Looking into processes of the same user that somebody else has started.
    Ptrace,
    /// A program in `PATH`.
    Program(&'static str),
}

impl Ability {
    /// The word for it in the list of what was not run.
    pub fn word(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Mounts => "mounts",
            Self::Landlock(_) => "landlock",
            Self::Seccomp => "seccomp",
            Self::Cgroups => "cgroups",
            Self::Ptrace => "ptrace",
            Self::Program(name) => name,
        }
    }
}

/// Says why this machine lacks an ability; `None` where it has it. Each is tried once in a process, some by starting programs.
pub fn missing(ability: Ability) -> Option<String> {
    static ANSWERS: Mutex<BTreeMap<Ability, Option<String>>> = Mutex::new(BTreeMap::new());
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    answers.entry(ability).or_insert_with(|| try_out(ability).err()).clone()
}

/// Returns true, and records that `what` was not run, where this machine lacks an ability. The caller returns right after it.
pub fn lacks(ability: Ability, what: &str) -> bool {
    let Some(why) = missing(ability) else { return false };
    not_run(ability.word(), what, &why);
    true
}

/// The name of the test that the calling thread runs.
pub fn test_name() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}

fn try_out(ability: Ability) -> Result<(), String> {
    match ability {
        Ability::Namespaces => namespaces(),
        Ability::Mounts => {
            succeeds("unshare --user --map-root-user --mount mount -t tmpfs none /tmp")
        }
        Ability::Landlock(version) => match landlock() {
            0 => Err("the kernel has no Landlock".to_owned()),
            has if has < version => Err(format!("version {version}, and the kernel has {has}")),
            _ => Ok(()),
        },
        Ability::Seccomp => {
            let is_there = Path::new("/proc/sys/kernel/seccomp/actions_avail").exists();
            is_there.then_some(()).ok_or_else(|| "the kernel has no filters".to_owned())
        }
        Ability::Cgroups => cgroups(),
        // The kernel asks the same for the memory as for tracing. The shell that looks is no parent of the process, which would be
        // allowed more.
        Ability::Ptrace => {
            succeeds("sleep 60 & sh -c ': < /proc/$1/mem' sh $!; seen=$?; kill $!; exit $seen")
        }
        Ability::Program(name) => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let mut files = std::env::split_paths(&path).map(|directory| directory.join(name));
            let is_there =
                files.any(|file| file.is_file() && access(file, Access::EXEC_OK).is_ok());
            is_there.then_some(()).ok_or_else(|| "it is not installed".to_owned())
        }
    }
}

/// Who may make them without one makes no user namespace, as tine does.
fn namespaces() -> Result<(), String> {
    let view = "--mount --pid --fork --net --ipc --uts mount -t proc proc /proc";
    let of_root = succeeds(&format!("unshare {view}"));
    of_root.or_else(|_| succeeds(&format!("unshare --user --map-root-user {view}")))
}

/// The version of Landlock's interface; 0 where there is none.
#[cfg(target_os = "linux")]
fn landlock() -> u32 {
    use landlock::{LandlockStatus, RestrictSelf};
    // Restricts nothing: it is the crate's way to say what there is.
    let status = RestrictSelf::default().no_new_privs(false).apply();
    match status.map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, kernel_abi }) => kernel_abi
            .and_then(|version| u32::try_from(version).ok())
            .unwrap_or(effective_abi as u32),
        Ok(LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) | Err(_) => 0,
    }
}

#[cfg(not(target_os = "linux"))]
fn landlock() -> u32 {
    0
}

/// Looks at the group of this process and the one above it, where tine makes groups.
fn cgroups() -> Result<(), String> {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let may_limit = |group: &Path| {
        let enabled = std::fs::read_to_string(group.join("cgroup.subtree_control"));
        let enabled = enabled.unwrap_or_default();
        let has = |controller| enabled.split_whitespace().any(|word| word == controller);
        let files = [group.to_owned(), group.join("cgroup.procs")];
        has("memory")
            && has("pids")
            && files.iter().all(|file| access(file, Access::WRITE_OK).is_ok())
    };
    let roots = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(PathBuf::from);
    let mut groups = roots.iter().map(|root| root.join(own));
    if groups.any(|group| may_limit(&group) || group.parent().is_some_and(may_limit)) {
        return Ok(());
    }
    Err("no group of version 2 was given to this user".to_owned())
}

/// Runs a line of the shell; what it complained of where it fails.
#[expect(clippy::disallowed_methods, reason = "a kernel is asked by what programs can do")]
fn succeeds(line: &str) -> Result<(), String> {
    let mut shell = Command::new("sh");
    let ran = shell.args(["-c", line]).stdin(Stdio::null()).output();
    let output = ran.map_err(|error| format!("sh: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    Err(told.trim().lines().next().unwrap_or("it was refused").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_there_or_the_reason_is_said() {
        assert_eq!(missing(Ability::Program("sh")), None);
        let why = missing(Ability::Program("no-program-has-this-name"));
        assert_eq!(why.as_deref(), Some("it is not installed"));
    }

    #[test]
    fn a_refusal_is_told_in_the_programs_words() {
        assert_eq!(succeeds("true"), Ok(()));
        assert_eq!(succeeds("echo 'no such luck' >&2; exit 1"), Err("no such luck".to_owned()));
        assert_eq!(succeeds("exit 1"), Err("it was refused".to_owned()));
    }

    #[test]
    fn a_later_version_includes_the_earlier_ones() {
        let versions = (1..100).map(|version| missing(Ability::Landlock(version)).is_none());
        assert!(versions.is_sorted_by(|earlier, later| earlier >= later));
    }
}
