//! Attempts to leave something where the whole machine finds it: in the kernel, and in the system's directories. `@KEY` is a number
//! and `@MARK` a name of the attempt's own.

use std::collections::BTreeSet;
use std::path::Path;

use super::perl;

/// What the kernel keeps after a process has ended.
pub(super) const KEPT: &[&str] = &[
    "% k(29, @KEY, 4096, 0x3b6)", // shmget
    "% k(64, @KEY, 1, 0x3b6)",    // semget
    "% k(68, @KEY, 0x3b6)",       // msgget
    "% shmget @KEY, 4096, 0x3b6",
    "% k(240, q(@MARK), 0x42, 0600, 0)",        // mq_open
    "% k(248, q(user), q(@MARK), q(x), 1, -4)", // add_key, to the user's ring
    "% k(248, q(user), q(@MARK), q(x), 1, -5)", // to the user's session
    "% k(248, q(keyring), q(@MARK), 0, 0, -4)",
];

/// Places that everybody may write in.
pub(super) const COMMON_PLACES: &[&str] =
    &["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "/var/lock"];

/// Places of root. Nothing is tried there without a wall.
pub(super) const PLACES_OF_ROOT: &[&str] = &[
    "/",
    "/etc",
    "/etc/cron.d",
    "/etc/profile.d",
    "/usr/local/bin",
    "/usr/bin",
    "/opt",
    "/srv",
    "/var/lib",
    "/var/log",
    "/var/spool",
    "/root",
    "/home",
    "/mnt",
    "/run",
    "/dev",
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/pids",
    "/sys/fs/cgroup/unified",
    "/boot",
    "/lib",
];

/// Devices that a worker could make where it may write.
pub(super) const DEVICES: &[&str] = &[
    "mknod device c 1 3",
    "mknod device b 7 0",
    "cp -a /dev/zero device",
    "% k(133, q(device), 020600, 0x103)",       // mknod
    "% k(259, -100, q(device), 060600, 0x700)", // mknodat
];

/// The name that an attempt leaves in a place. Other scenes have other names, also those of other processes.
pub(super) fn mark(scene: usize, id: usize) -> String {
    format!("tine-attack-{}-{scene}-{id}", std::process::id())
}

/// The number that an attempt gives to what the kernel keeps.
pub(super) fn key(scene: usize, id: usize) -> u32 {
    let scene = u32::try_from(scene).unwrap() % 0x10;
    (scene + 1) * 0x0700_0000 + (std::process::id() % 0x8000) * 0x200 + u32::try_from(id).unwrap()
}

/// Attempts that have left something, out of those that were made. Clears it away.
pub(super) fn left(scene: usize, ids: &[usize]) -> BTreeSet<usize> {
    let found: BTreeSet<usize> = ids
        .iter()
        .copied()
        .filter(|id| is_in_kernel(scene, *id) | is_in_a_place(scene, *id))
        .collect();
    for id in &found {
        clear(scene, *id);
    }
    found
}

fn is_in_kernel(scene: usize, id: usize) -> bool {
    let lists = |name: &str| std::fs::read_to_string(name).unwrap_or_default();
    let number = i64::from(key(scene, id)).to_string();
    let holds = ["shm", "sem", "msg"].iter().any(|kind| {
        let list = lists(&format!("/proc/sysvipc/{kind}"));
        list.lines().any(|line| line.split_whitespace().next() == Some(&number))
    });
    let name = format!("{}:", mark(scene, id));
    let has_key = lists("/proc/keys").lines().any(|line| line.contains(&name));
    // Opening a queue that exists succeeds.
    let queue = perl(&format!("print k(240, q({}), 0, 0, 0) >= 0 ? 1 : 0", mark(scene, id))) == "1";
    holds || has_key || queue
}

fn is_in_a_place(scene: usize, id: usize) -> bool {
    let mut places = COMMON_PLACES.iter().chain(PLACES_OF_ROOT);
    places.any(|place| Path::new(place).join(mark(scene, id)).symlink_metadata().is_ok())
}

fn clear(scene: usize, id: usize) {
    let (number, name) = (key(scene, id), mark(scene, id));
    perl(&format!(
        "k(31, k(29, {number}, 0, 0), 0, 0); k(66, k(64, {number}, 0, 0), 0, 0); k(71, k(68, {number}, 0), 0, 0); \
         k(241, q({name})); open K, q(</proc/keys); for (grep /\\b{name}:/, <K>) {{ my $i = hex((split)[0]); \
         k(250, 9, $i, -4); k(250, 9, $i, -5); k(250, 21, $i) }}"
    ));
    for place in COMMON_PLACES.iter().chain(PLACES_OF_ROOT) {
        let path = Path::new(place).join(&name);
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir(&path));
    }
}
