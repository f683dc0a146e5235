//! Entries of a cache that outlive the server: a file that any number of servers share, as machines of a vendor do.
//!
//! The file is a list of uses, each of which is appended. A server reads what others have added before it looks an entry up. What
//! cannot be read or written is as if it had been evicted.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::cache::Digest;

/// Bytes of a use: the key, the lifetime, and when, both in milliseconds.
const USE_BYTES: usize = 32 + 8 + 8;

/// Length from which on a file is written anew without the uses that are over, when it is first read.
const LONG_BYTES: u64 = 512 * 1024;

/// Longest file that is read.
const READ_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// One use of an entry, by which its lifetime begins again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) key: Digest,
    pub(crate) ttl_ms: u64,
    pub(crate) at_ms: u64,
}

impl Use {
    fn to_bytes(self) -> [u8; USE_BYTES] {
        let mut bytes = [0; USE_BYTES];
        bytes[..32].copy_from_slice(&self.key);
        bytes[32..40].copy_from_slice(&self.ttl_ms.to_le_bytes());
        bytes[40..].copy_from_slice(&self.at_ms.to_le_bytes());
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (key, times) = bytes.split_first_chunk::<32>()?;
        let (ttl, at) = times.split_first_chunk::<8>()?;
        let at = at.first_chunk::<8>()?;
        Some(Self { key: *key, ttl_ms: u64::from_le_bytes(*ttl), at_ms: u64::from_le_bytes(*at) })
    }

    fn is_over(self, now_ms: u64) -> bool {
        self.at_ms.saturating_add(self.ttl_ms) <= now_ms
    }
}

/// The file, as far as one cache model has read it.
#[derive(Debug)]
pub(crate) struct KeptFile {
    path: PathBuf,
    /// Bytes that were read.
    read: u64,
}

impl KeptFile {
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), read: 0 }
    }

    /// The uses that were added since the last call.
    pub(crate) fn added(&mut self, now_ms: u64) -> Vec<Use> {
        let bytes = self.more(now_ms).unwrap_or_default();
        bytes.chunks_exact(USE_BYTES).filter_map(Use::read).collect()
    }

    /// Adds uses.
    pub(crate) fn add(&mut self, uses: &[Use]) {
        if uses.is_empty() {
            return;
        }
        let bytes: Vec<u8> = uses.iter().flat_map(|one| one.to_bytes()).collect();
        // In one piece, so that nobody else's stand in between.
        let _ = self.open().and_then(|mut file| file.write_all(&bytes));
    }

    fn open(&self) -> io::Result<File> {
        // Nothing that stands in its place is written to, or waited for.
        if self.path.symlink_metadata().is_ok_and(|about| !about.is_file()) {
            return Err(ErrorKind::InvalidInput.into());
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.open(&self.path)
    }

    fn more(&mut self, now_ms: u64) -> io::Result<Vec<u8>> {
        let mut length = match self.path.symlink_metadata() {
            Ok(about) if about.is_file() => about.len(),
            Ok(_) => return Err(ErrorKind::InvalidInput.into()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.read = 0;
                return Ok(Vec::new());
            }
            Err(error) => return Err(error),
        };
        let is_torn = length % USE_BYTES as u64 != 0;
        if self.read == 0 && (is_torn || length > LONG_BYTES) {
            self.shorten(length, now_ms)?;
            length = self.path.symlink_metadata()?.len();
        }
        let mut file = File::open(&self.path)?;
        if length < self.read {
            // Somebody has written it anew.
            self.read = 0;
        }
        file.seek(SeekFrom::Start(self.read))?;
        let whole = (length - self.read) / USE_BYTES as u64 * USE_BYTES as u64;
        let mut bytes = Vec::new();
        file.take(whole).read_to_end(&mut bytes)?;
        self.read += bytes.len() as u64;
        Ok(bytes)
    }

    /// Writes the file anew with the last use of each entry that lives. A use that somebody adds meanwhile may be lost.
    fn shorten(&self, length: u64, now_ms: u64) -> io::Result<()> {
        // What is longer still was not written here.
        let bytes = if length > READ_BYTES_MAX { Vec::new() } else { fs::read(&self.path)? };
        let uses = bytes.chunks_exact(USE_BYTES).filter_map(Use::read);
        let mut last = std::collections::BTreeMap::new();
        for one in uses.filter(|one| !one.is_over(now_ms)) {
            last.insert(one.key, one);
        }
        let bytes: Vec<u8> = last.values().flat_map(|one| one.to_bytes()).collect();
        let beside = self.path.with_extension(std::process::id().to_string());
        fs::write(&beside, bytes)?;
        fs::rename(&beside, &self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block_cache::BlockCache;
    use crate::breakpoint_cache::BreakpointCache;
    use crate::cache::{Cache, Position, Prompt, Ttl};

    fn used(byte: u8, at_ms: u64) -> Use {
        Use { key: [byte; 32], ttl_ms: 300_000, at_ms }
    }

    #[test]
    fn what_one_adds_the_other_reads_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("entries");
        let (mut one, mut other) = (KeptFile::at(&path), KeptFile::at(&path));
        assert_eq!(other.added(0), []);
        one.add(&[used(1, 5), used(2, 6)]);
        assert_eq!(other.added(0), [used(1, 5), used(2, 6)]);
        assert_eq!(other.added(0), []);
        other.add(&[used(3, 7)]);
        assert_eq!(one.added(0), [used(1, 5), used(2, 6), used(3, 7)]);
        // Half of a use, as a full disk leaves it, is read when it is whole.
        let mut file = one.open().unwrap();
        file.write_all(&used(4, 8).to_bytes()[..20]).unwrap();
        assert_eq!(one.added(0), []);
        file.write_all(&used(4, 8).to_bytes()[20..]).unwrap();
        assert_eq!(one.added(0), [used(4, 8)]);
        // Whoever comes next heals a torn file.
        file.write_all(b"torn").unwrap();
        let mut third = KeptFile::at(&path);
        assert_eq!(third.added(0).len(), 4);
        third.add(&[used(5, 9)]);
        assert_eq!(KeptFile::at(&path).added(0).len(), 5);
        fs::remove_file(&path).unwrap();
        assert_eq!(one.added(0), []);
        std::os::unix::fs::symlink(directory.path().join("elsewhere"), &path).unwrap();
        one.add(&[used(1, 5)]);
        assert!(!directory.path().join("elsewhere").exists());
    }

    /// A prompt with a mark at its end.
    fn marked() -> Prompt {
        let end = Position {
            digest: [7; 32],
            tokens_through: 5_000,
            mark: Some(Ttl::Short),
            is_eligible_end: true,
        };
        Prompt { positions: vec![end], min_tokens: 1_024, ..Prompt::default() }
    }

    #[test]
    fn the_next_server_is_served_from_it_for_as_long_as_an_entry_lives() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("entries");
        let caches: [fn() -> Box<dyn Cache>; 2] =
            [|| Box::new(BlockCache::new(false)), || Box::new(BreakpointCache::new(true, false))];
        for make in caches {
            let asked = |at_ms: u64| {
                let mut cache = make();
                cache.keep_in(&path);
                let charge = cache.lookup(&marked(), at_ms);
                cache.begun(&marked(), &charge);
                (charge.usage.read, charge.usage.written())
            };
            assert_eq!(asked(0), (0, 5_000));
            // Each use begins the life of an entry anew.
            assert_eq!([asked(200_000), asked(400_000)], [(5_000, 0); 2]);
            let tomorrow = 24 * 60 * 60 * 1_000;
            assert_eq!(asked(tomorrow), (0, 5_000));
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_long_file_is_written_anew_without_what_is_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("entries");
        let count = LONG_BYTES as usize / USE_BYTES + 1;
        let uses: Vec<Use> = (0..count).map(|at| used((at % 7) as u8, at as u64)).collect();
        KeptFile::at(&path).add(&uses);
        let now_ms = 300_000 + count as u64 - 4;
        let living = KeptFile::at(&path).added(now_ms);
        assert_eq!(living.len(), 3, "{living:?}");
        assert_eq!(fs::metadata(&path).unwrap().len(), 3 * USE_BYTES as u64);
    }
}
