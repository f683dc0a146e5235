//! What attempts need of the machine to have an effect where there is no wall. Only those that had none are asked about.

use tine_testkit::{Ability, missing};

/// Programs that not every machine has.
const PROGRAMS: [&str; 17] = [
    "awk",
    "chrt",
    "fallocate",
    "flock",
    "git",
    "mknod",
    "nsenter",
    "pkill",
    "prlimit",
    "ps",
    "renice",
    "setpriv",
    "shred",
    "strings",
    "taskset",
    "timeout",
    "unshare",
];

/// Programs that run another one in other surroundings, which kernels refuse to some users, and what those are.
const SURROUNDINGS: [(&str, &str); 4] = [
    ("chroot ", "chroot"),
    ("nsenter ", "namespaces"),
    ("setpriv ", "no-new-privileges"),
    ("unshare ", "namespaces"),
];

/// Opens a directory by its handle. Only root of the whole machine may.
const OPEN_BY_HANDLE: &str = "perl -e 'my $h = pack(q(Lla128), 128, 0, q()); my $m = pack(q(l), 0); my $p = q(.); \
    syscall(303, -100, $p, $h, $m, 0); open D, q(<), q(.); exit(syscall(304, fileno D, $h, 0) < 0)'";

/// Calls that older kernels lack, or that are often refused as a whole: where they are there, all arguments being wrong is noticed.
const CALLS: [u16; 11] = [101, 240, 248, 303, 310, 424, 434, 435, 437, 438, 452];

/// Parts of attempts, what they need, and a line that succeeds where the machine has it.
const FACTS: [(&str, &str, &str); 15] = [
    ("k(272, 0x10000000)", "namespaces", "unshare --user true"),
    ("k(56, 0x10000011", "namespaces", "unshare --user true"),
    ("q(Q8), 0x10000000", "namespaces", "unshare --user true"),
    ("k(272, 0x20000)", "namespaces", "unshare --mount true"),
    ("k(161,", "chroot", "chroot / true"),
    ("mknod @OUT/null", "devices", "mknod made c 1 3"),
    ("mknod device", "devices", "mknod made c 1 3"),
    ("cp -a /dev/", "devices", "mknod made c 1 3"),
    (", 020600,", "devices", "mknod made c 1 3"),
    (", 060600,", "devices", "mknod made b 7 0"),
    ("fallocate ", "file-system", "fallocate -l 9 made"),
    ("0x410002", "file-system", "perl -e 'exit(syscall(257, -100, q(.), 0x410002, 0600) < 0)'"),
    ("k(304,", "file-handles", OPEN_BY_HANDLE),
    ("@KEY", "sysvipc", "test -e /proc/sysvipc/shm"),
    ("k(248,", "keyrings", "test -e /proc/keys"),
];

/// What of the machine an attempt needs that is missing, and why it is thought so. `command` is the attempt with its holes filled.
pub(super) fn missing_for(attempt: &str, command: &str) -> Option<(&'static str, String)> {
    let words: Vec<&str> = attempt.split(|letter: char| !letter.is_alphanumeric()).collect();
    let programs = PROGRAMS.iter().filter(|name| words.contains(name));
    let abilities = programs.map(|name| Ability::Program(name));
    let looks_inside = ["/mem)", "k(101,", "k(310,", "k(438,"];
    let looks_inside = looks_inside.iter().any(|part| attempt.contains(part));
    let mut abilities = abilities.chain(looks_inside.then_some(Ability::Ptrace));
    if let Some(lacking) = abilities.find_map(|one| Some((one.word(), missing(one)?))) {
        return Some(lacking);
    }
    let named = SURROUNDINGS.iter().find(|(program, _)| command.starts_with(program));
    if let Some((_, needs)) = named {
        let (surroundings, _) = command.split_once(" sh -c ")?;
        return refused(&format!("{surroundings} true")).map(|why| (*needs, why));
    }
    let calls = CALLS.iter().filter(|number| attempt.contains(&format!("k({number},")));
    for number in calls {
        let wrong = "-1, ".repeat(6);
        let line = format!("perl -e 'syscall({number}, {wrong}); exit($! == 1 || $! == 38)'");
        if refused(&line).is_some() {
            return Some(("system-calls", format!("call {number} is refused")));
        }
    }
    let facts = FACTS.iter().filter(|(part, _, _)| attempt.contains(part));
    facts.into_iter().find_map(|(_, needs, line)| Some((*needs, refused(line)?)))
}

/// What a line of the shell complains of in an empty directory; none where it succeeds.
fn refused(line: &str) -> Option<String> {
    let directory = tempfile::tempdir().unwrap();
    let mut shell = assert_cmd::Command::new("sh");
    let output = shell.args(["-c", line]).current_dir(directory.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    (!output.status.success()).then(|| format!("`{line}` fails: {told}"))
}
