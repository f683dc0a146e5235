//! Where tests put what nobody needs after them: in memory, where there is room, since disks are slow to promise anything.

use tempfile::TempDir;

/// What the system keeps in memory, where it does.
const IN_MEMORY: &str = "/dev/shm";

/// Less room than this is left to others: containers often have but 64 MiB there.
const ROOM_BYTES: u64 = 1 << 30;

/// A directory that goes with this value. The kernel's own layer of a wall lets a command read nothing in memory: who tests that works on
/// a disk.
///
/// # Panics
///
/// Where the system has no place for temporary files.
#[expect(clippy::expect_used, reason = "a test that has no place to work in has failed")]
pub fn scratch() -> TempDir {
    let has_room = |place: &rustix::fs::StatVfs| place.f_bavail * place.f_frsize >= ROOM_BYTES;
    let is_roomy = rustix::fs::statvfs(IN_MEMORY).is_ok_and(|place| has_room(&place));
    // As long as a name in `/tmp`, since lines that show it break at their ends.
    let in_memory = is_roomy.then(|| tempfile::Builder::new().prefix("").tempdir_in(IN_MEMORY));
    let made = in_memory.and_then(Result::ok);
    made.unwrap_or_else(|| tempfile::tempdir().expect("a place for temporary files"))
}
