//! The grounds that attacks run on: a machine where tine can make namespaces, and one where it cannot.

use std::ffi::OsStr;
use std::sync::OnceLock;

use assert_cmd::Command;
use tine_testkit::{Ability, missing};

/// What the kernel lets tine do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ground {
    /// Namespaces can be made, so that commands get a view of their own.
    Namespaces,
    /// No namespaces can be made: Landlock and the filter over system calls are all there is.
    Fallback,
}

/// Run by the first process of a user namespace: no process below it makes another user or mount namespace.
const SWITCH_OFF: &str = "echo 0 > /proc/sys/user/max_user_namespaces && \
    echo 0 > /proc/sys/user/max_mnt_namespaces && exec \"$@\"";

/// Makes a user namespace and a mount namespace, each by itself, and both as an ordinary user does.
const PROBES: [&[&str]; 3] = [
    &["unshare", "--user", "true"],
    &["unshare", "--mount", "true"],
    &["unshare", "--user", "--map-root-user", "--mount", "true"],
];

impl Ground {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Namespaces, Self::Fallback];

    /// The name in reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Fallback => "fallback",
        }
    }

    /// A program that runs on this ground, without any variables.
    pub(crate) fn command(self, program: impl AsRef<OsStr>) -> Command {
        let mut command = match self {
            Self::Namespaces => Command::new(program),
            // The machine itself is this ground.
            Self::Fallback if !machine_makes_any() => Command::new(program),
            Self::Fallback => {
                let mut command = Command::new("unshare");
                command.args(["--user", "--map-root-user", "/bin/sh", "-c", SWITCH_OFF, "sh"]);
                command.arg(program);
                command
            }
        };
        command.env_clear();
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
    }

    /// What this machine lacks for such a ground, and why it is thought so; None where it has it. A wall with gaps is not attacked.
    pub(crate) fn missing(self) -> Option<(&'static str, String)> {
        let layers: &[Ability] = match self {
            Self::Namespaces => &[Ability::Seccomp, Ability::Landlock(5), Ability::Namespaces],
            Self::Fallback => &[Ability::Seccomp, Ability::Landlock(6)],
        };
        let lacking = layers.iter().find_map(|one| Some((one.word(), missing(*one)?)));
        let is_made = || works(self, &["true"]) && !makes_any(self);
        match self {
            Self::Fallback if lacking.is_none() && !is_made() => {
                Some(("namespaces", "they cannot be switched off for one program".to_owned()))
            }
            Self::Namespaces | Self::Fallback => lacking,
        }
    }
}

fn works(ground: Ground, words: &[&str]) -> bool {
    let ran = ground.command(words[0]).args(&words[1..]).output();
    ran.is_ok_and(|output| output.status.success())
}

fn machine_makes_any() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| makes_any(Ground::Namespaces))
}

fn makes_any(ground: Ground) -> bool {
    PROBES.iter().any(|words| works(ground, words))
}

#[test]
fn tine_itself_finds_the_grounds_as_they_are_said_to_be() {
    for ground in Ground::ALL {
        if crate::report::cannot_run("ground", ground) {
            continue;
        }
        let world = crate::world::World::new();
        let told = world.tine(ground, &["doctor"]).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let says_no = told.contains("no mount namespaces can be made here");
        assert_eq!(says_no, ground == Ground::Fallback, "{told}");
    }
}
