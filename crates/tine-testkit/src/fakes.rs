//! Time, ids and a home directory that are the same in every run.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use tempfile::TempDir;

/// A clock that moves only when the test moves it. Clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct FakeClock(Arc<AtomicI64>);

impl FakeClock {
    /// A clock that stands at `start_ms` since the Unix epoch.
    pub fn new(start_ms: i64) -> Self {
        Self(Arc::new(AtomicI64::new(start_ms)))
    }

    /// What it shows, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Moves it on, or back with a negative value, and returns what it then shows.
    pub fn advance_ms(&self, by_ms: i64) -> i64 {
        self.0.fetch_add(by_ms, Ordering::SeqCst) + by_ms
    }
}

/// Sixteen bytes at a time that count instead of being random. Clones share the count.
#[derive(Debug, Clone, Default)]
pub struct FakeIds(Arc<AtomicU64>);

impl FakeIds {
    /// Counts from 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next sixteen bytes. The count stands at the end and its low half also at the front, so that the first four
    /// characters of an id made of them tell the first 65,535 apart, as random ids would.
    pub fn next_bytes(&self) -> [u8; 16] {
        let count = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        let counted = count.to_be_bytes();
        let mut bytes = [0; 16];
        bytes[..2].copy_from_slice(&counted[6..]);
        bytes[8..].copy_from_slice(&counted);
        bytes
    }
}

/// An empty directory to stand in for `TINE_HOME`; removed with everything in it when dropped.
pub fn temp_home() -> std::io::Result<TempDir> {
    tempfile::Builder::new().prefix("tine-home-").tempdir()
}

#[cfg(test)]
mod tests {
    use tine_model::AgentId;

    use super::*;

    #[test]
    fn the_clock_moves_only_by_hand() {
        let clock = FakeClock::new(1_000);
        let same = clock.clone();
        assert_eq!((clock.advance_ms(500), same.now_ms()), (1_500, 1_500));
    }

    #[test]
    fn fake_ids_are_told_apart_by_four_characters() {
        let ids = FakeIds::new();
        let made = [0; 3].map(|_| AgentId::from_random(ids.next_bytes()).to_string());
        let expected = [
            "00010000-0000-4000-8000-000000000001",
            "00020000-0000-4000-8000-000000000002",
            "00030000-0000-4000-8000-000000000003",
        ];
        assert_eq!(made, expected);
    }

    #[test]
    fn a_home_is_empty_and_goes_away() {
        let home = temp_home().unwrap();
        let path = home.path().to_owned();
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
        drop(home);
        assert!(!path.exists());
    }
}
