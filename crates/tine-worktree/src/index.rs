//! The index of a checkout becomes the index of its copy.
//!
//! Git takes a file as unchanged when its size, its times and its number in the file system are those that the index has. A copy has
//! another number, so git would read every file once to see that it is the same. Here the index of the copy is told of the copies
//! of those files that are clean in the checkout beyond doubt. Whatever is in doubt is left as it is, and git reads it.
//!
//! Only these numbers are ever changed. The layout is that of git's `gitformat-index`, versions 2 to 4.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::error::WorktreeError;
use crate::exact::Intended;
use crate::fault;
use crate::git::path;

/// Before the first entry: four letters, the version, the number of entries.
const HEAD_BYTES: usize = 12;

/// Before the content of an extension: four letters, the length.
const EXTENSION_HEAD_BYTES: usize = 8;

/// What an entry knows of its file: ten numbers of four bytes.
pub(crate) const STAT_BYTES: usize = 40;

/// Where in those the mode is, which belongs to git.
const MODE_AT: usize = 6;

/// Where in those the device is, of which git asks nothing.
const DEVICE_AT: usize = 4;

/// The place of the size in those.
const SIZE_AT: usize = 9;

/// Length of a path that does not fit into the flags of its entry.
const LONG_PATH: usize = 0xfff;

/// Flags of entries whose files git does not look at, or that are in conflict.
const SPECIAL: u16 = 0x8000 | 0x3000;

/// The flag of entries that have more flags.
const EXTENDED: u16 = 0x4000;

/// Further flags of entries that say more than that a file is there.
const SPECIAL_MORE: u16 = 0x4000 | INTENDED;

/// The further flag of entries whose files are to be added later.
const INTENDED: u16 = 0x2000;

/// Where an entry is, and the path of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The first byte.
    pub(crate) at: usize,
    pub(crate) path: Vec<u8>,
    /// Whether it says that a file is there, and no more.
    pub(crate) is_plain: bool,
    /// The flags that not every entry has.
    more_flags: u16,
}

/// Copies the index at `from`, which belongs to the checkout `origin`, to `to`, where it belongs to its copy `copied`. The copy's sum at
/// the end is left out, which every git that is new enough takes; who next writes the index writes one.
pub(crate) fn adopt(
    from: &Path,
    hash_bytes: usize,
    origin: &Path,
    copied: &Path,
    to: &Path,
) -> Result<(), WorktreeError> {
    let read = || {
        let mut file = File::open(from)?;
        // Who changes a file from then on gives it a time that is not before this one.
        let written = file.metadata()?.mtime();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok((bytes, written))
    };
    let (mut bytes, written) =
        read().map_err(|source: io::Error| WorktreeError::file("read the index", from, source))?;
    for entry in entries(&bytes, hash_bytes).unwrap_or_default() {
        if let Some(numbers) = numbers(&bytes, &entry, written, origin, copied) {
            put(&mut bytes, &entry, &numbers);
        }
    }
    write(bytes, hash_bytes, to)
}

/// The knowledge that an index is to have of a file that is as it has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// All.
    Whole,
    /// Another size than it has, by which git takes it for changed.
    OtherSize,
}

/// Writes the index at `from` to `to`, where it belongs to the checkout `top`, and tells it of files there what `of` says; nothing of all others.
pub(crate) fn know(
    from: &Path,
    hash_bytes: usize,
    top: &Path,
    of: impl Fn(&Path) -> Option<Known>,
    to: &Path,
) -> Result<(), WorktreeError> {
    let mut bytes =
        fs::read(from).map_err(|source| WorktreeError::file("read the index", from, source))?;
    for entry in entries(&bytes, hash_bytes).unwrap_or_default() {
        let file = path(&entry.path);
        let Some(wanted) = of(&file).filter(|_| entry.is_plain) else { continue };
        let about = fs::symlink_metadata(top.join(file));
        if let (Some(known), Ok(about)) = (known(&bytes, &entry), about) {
            let mut numbers = stat(&about, known[MODE_AT]);
            if wanted == Known::OtherSize {
                // One more is another, and never zero, which stands for none.
                numbers[SIZE_AT] = numbers[SIZE_AT].checked_add(1).unwrap_or(1);
            }
            put(&mut bytes, &entry, &numbers);
        }
    }
    write(bytes, hash_bytes, to)
}

fn write(mut bytes: Vec<u8>, hash_bytes: usize, to: &Path) -> Result<(), WorktreeError> {
    let sum = bytes.len().saturating_sub(hash_bytes);
    bytes[sum..].fill(0);
    let write = || {
        fault::step()?;
        let mut file = File::create(to)?;
        fault::step()?;
        file.write_all(&bytes)
    };
    write().map_err(|source| WorktreeError::file("write", to, source))
}

/// The word of an index on a file beside its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    /// It is to be added later.
    pub(crate) intended: Option<Intended>,
    /// Its object, where the file had another size when git last looked at it.
    pub(crate) resized: Option<String>,
}

/// Returns what an index says of files, by path. `bytes_of`: how large each is now.
pub(crate) fn said(
    bytes: &[u8],
    hash_bytes: usize,
    bytes_of: impl Fn(&Path) -> Option<u64>,
) -> Vec<(PathBuf, Said)> {
    let mut found = Vec::new();
    for entry in entries(bytes, hash_bytes).unwrap_or_default() {
        let Some(known) = known(bytes, &entry) else { continue };
        let intended = (entry.more_flags & INTENDED != 0).then_some(match known[MODE_AT] {
            0o120_000 => Intended::Link,
            mode if mode & 0o100 != 0 => Intended::Program,
            _ => Intended::File,
        });
        let (path, size) = (path(&entry.path), u64::from(known[SIZE_AT]));
        // The size of a file is cut to 32 bits; zero stands for one that is not known.
        let is_resized = entry.is_plain
            && size != 0
            && bytes_of(&path).is_some_and(|now| now & u64::from(u32::MAX) != size);
        let object = || {
            let object = bytes.get(entry.at + STAT_BYTES..entry.at + STAT_BYTES + hash_bytes)?;
            Some(object.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        };
        let resized = is_resized.then(object).flatten();
        if intended.is_some() || resized.is_some() {
            found.push((path, Said { intended, resized }));
        }
    }
    found
}

/// What the index of the copy is to know of a file; `None` where there is any doubt.
fn numbers(
    bytes: &[u8],
    entry: &Entry,
    written: i64,
    origin: &Path,
    copied: &Path,
) -> Option<[u32; 10]> {
    let known = entry.is_plain.then(|| known(bytes, entry)).flatten()?;
    let path = PathBuf::from(OsStr::from_bytes(&entry.path));
    // Looked at after it was copied: it is what git knew then, so it was that all the time.
    let one = fs::symlink_metadata(origin.join(&path)).ok()?;
    let same = |at: usize| at == DEVICE_AT || known[at] == stat(&one, known[MODE_AT])[at];
    let is_clean = (0..known.len()).all(same)
        && git_mode(&one) == Some(known[MODE_AT])
        // Git reads those as well, because of moments in which a file was changed just after it was looked at.
        && one.mtime().max(one.ctime()) < written
        // A size of zero stands for one that is not known.
        && one.size() > 0;
    if !is_clean {
        return None;
    }
    let other = fs::symlink_metadata(copied.join(&path)).ok()?;
    let looks =
        |about: &Metadata| (git_mode(about), about.size(), about.mtime(), about.mtime_nsec());
    (looks(&one) == looks(&other)).then(|| stat(&other, known[MODE_AT]))
}

/// The numbers of a file as an index has them, each cut to 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "git keeps the lower 32 bits of each"
)]
fn stat(about: &Metadata, mode: u32) -> [u32; 10] {
    [
        about.ctime() as u32,
        about.ctime_nsec() as u32,
        about.mtime() as u32,
        about.mtime_nsec() as u32,
        about.dev() as u32,
        about.ino() as u32,
        mode,
        about.uid(),
        about.gid(),
        about.size() as u32,
    ]
}

/// What git makes of a file's mode; `None` of what is no file.
fn git_mode(about: &Metadata) -> Option<u32> {
    if about.is_symlink() {
        return Some(0o120_000);
    }
    let can_run = about.mode() & 0o100 != 0;
    about.is_file().then_some(if can_run { 0o100_755 } else { 0o100_644 })
}

fn known(bytes: &[u8], entry: &Entry) -> Option<[u32; 10]> {
    let bytes = bytes.get(entry.at..entry.at + STAT_BYTES)?;
    let mut known = [0; 10];
    for (number, word) in known.iter_mut().zip(bytes.chunks_exact(4)) {
        *number = u32::from_be_bytes(word.try_into().ok()?);
    }
    Some(known)
}

fn put(bytes: &mut [u8], entry: &Entry, numbers: &[u32; 10]) {
    let bytes = &mut bytes[entry.at..entry.at + STAT_BYTES];
    for (number, word) in numbers.iter().zip(bytes.chunks_exact_mut(4)) {
        word.copy_from_slice(&number.to_be_bytes());
    }
}

/// The entries of an index; `None` where it is none, or of another layout.
pub(crate) fn entries(bytes: &[u8], hash_bytes: usize) -> Option<Vec<Entry>> {
    walk(bytes, hash_bytes).map(|(entries, _)| entries)
}

/// The name of the file beside it that holds most of an index; `None` of one that is whole.
pub(crate) fn shared_name(bytes: &[u8], hash_bytes: usize) -> Option<String> {
    let (_, mut at) = walk(bytes, hash_bytes)?;
    let end = bytes.len().checked_sub(hash_bytes)?;
    // Behind the entries: four letters, a length, and so much of whatever the letters stand for.
    while at + EXTENSION_HEAD_BYTES <= end {
        let length = usize::try_from(word(bytes, at + 4)?).ok()?;
        let content = at + EXTENSION_HEAD_BYTES;
        if bytes.get(at..at + 4)? == b"link" && length >= hash_bytes {
            let hash = bytes.get(content..content + hash_bytes)?;
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            return Some(format!("sharedindex.{hash}"));
        }
        at = content.checked_add(length)?;
    }
    None
}

/// The entries of an index, and where they end.
fn walk(bytes: &[u8], hash_bytes: usize) -> Option<(Vec<Entry>, usize)> {
    let version = word(bytes, 4)?;
    if !bytes.starts_with(b"DIRC") || !(2..=4).contains(&version) {
        return None;
    }
    let end = bytes.len().checked_sub(hash_bytes)?;
    let count = usize::try_from(word(bytes, 8)?).ok()?;
    let mut found: Vec<Entry> = Vec::new();
    let mut at = HEAD_BYTES;
    for _ in 0..count {
        let above = found.last().map_or(&[][..], |entry| &entry.path);
        let (entry, next) = entry(&bytes[..end], at, hash_bytes, (version == 4).then_some(above))?;
        found.push(entry);
        at = next;
    }
    Some((found, at))
}

/// One entry, and where the next one begins. `above`: the path that this one is told by, in version 4.
fn entry(
    bytes: &[u8],
    at: usize,
    hash_bytes: usize,
    above: Option<&[u8]>,
) -> Option<(Entry, usize)> {
    let flags_at = at.checked_add(STAT_BYTES + hash_bytes)?;
    let flags = half_word(bytes, flags_at)?;
    let mut path_at = flags_at + 2;
    let mut more = 0;
    if flags & EXTENDED != 0 {
        more = half_word(bytes, path_at)?;
        path_at += 2;
    }
    let is_plain = flags & SPECIAL == 0 && more & SPECIAL_MORE == 0;
    let (path, next) = match above {
        Some(above) => {
            let (cut, path_at) = number(bytes, path_at)?;
            let rest = text(bytes, path_at)?;
            let mut path = above.get(..above.len().checked_sub(cut)?)?.to_vec();
            path.extend_from_slice(rest);
            (path, path_at + rest.len() + 1)
        }
        None => {
            let path = match usize::from(flags) & LONG_PATH {
                LONG_PATH => text(bytes, path_at)?,
                length => bytes.get(path_at..path_at + length)?,
            };
            // One to eight zeros, up to a multiple of eight.
            (path.to_vec(), at + (path_at + path.len() - at) / 8 * 8 + 8)
        }
    };
    Some((Entry { at, path, is_plain, more_flags: more }, next))
}

/// The bytes up to the next zero.
fn text(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    rest.iter().position(|byte| *byte == 0).map(|end| &rest[..end])
}

/// A number in as many bytes as it needs, seven bits each, and where it ends.
fn number(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 127);
    while byte & 128 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 127);
    }
    Some((value, at + 1))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn half_word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}
