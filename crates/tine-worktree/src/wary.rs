//! Reads files that somebody may have put something else in place of, who need not be trusted.
//!
//! Nothing here follows a link, waits for a pipe, or reads without an end.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Most bytes of a note: of tine's own, and of what git says of a checkout in one line.
pub(crate) const NOTE_BYTES_MAX: u64 = 64 * 1024;

/// Most bytes of an index. That of a million files has a tenth of it.
pub(crate) const INDEX_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Opens a file that must be one, and no larger than this. Who reads it reads no further than that either: it may grow.
pub(crate) fn open(path: &Path, bytes_max: u64) -> io::Result<File> {
    // Opening to read alone already waits for whoever writes into a pipe.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is no file"));
    }
    if about.len() > bytes_max {
        return Err(too_large(bytes_max));
    }
    Ok(file)
}

/// What a file holds that is no larger than this.
pub(crate) fn read(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open(path, bytes_max)?.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(read).is_ok_and(|read| read <= bytes_max) {
        Ok(bytes)
    } else {
        Err(too_large(bytes_max))
    }
}

/// What a note holds.
pub(crate) fn note(path: &Path) -> io::Result<Vec<u8>> {
    read(path, NOTE_BYTES_MAX)
}

fn too_large(bytes_max: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {bytes_max} bytes"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_files_of_a_sensible_size_are_read() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("file"), "four").unwrap();
        assert_eq!(read(&at("file"), 4).unwrap(), b"four");
        assert_eq!(read(&at("file"), 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
        symlink("file", at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        fs::create_dir(at("folder")).unwrap();
        for name in ["pipe", "link", "endless", "folder"] {
            assert!(note(&at(name)).is_err(), "{name}");
        }
        // Not by its name alone: a device says that it has no bytes.
        assert!(note(Path::new("/dev/zero")).is_err());
        assert_eq!(note(&at("none")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
