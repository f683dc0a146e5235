//! Where tests put what nobody needs after them: in memory, where there is room, since disks are slow to promise anything.

use tempfile::TempDir;

/// What the system keeps in memory, where it does.
const IN_MEMORY: &str = "/dev/shm";

/// Less room than this is left to others: containers often have but 64 MiB there.
const ROOM_BYTES: u64 = 1 << 30;

/// A directory that goes with this value.
///
/// # Panics
///
/// Where the system has no place for temporary files.
#[expect(clippy::expect_used, reason = "a test that has no place to work in has failed")]
pub fn scratch() -> TempDir {
    let has_room = |place: &rustix::fs::StatVfs| place.f_bavail * place.f_frsize >= ROOM_BYTES;
    let in_memory = rustix::fs::statvfs(IN_MEMORY).is_ok_and(|place| has_room(&place));
    let made = in_memory.then(|| tempfile::tempdir_in(IN_MEMORY).ok()).flatten();
    made.unwrap_or_else(|| tempfile::tempdir().expect("a place for temporary files"))
}
