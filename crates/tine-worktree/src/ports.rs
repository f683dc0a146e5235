//! Ports for the programs of a worktree, so that two of them can run at the same time.
//!
//! Blocks of neighbouring ports are handed out by files in one directory, which all processes share: a file has the number of its
//! first port as its name, and says whose it is. Nobody is kept from listening on a port without asking.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

use crate::error::{Refusal, WorktreeError};
use crate::git::path;

/// Most blocks that are looked at before none is free.
const BLOCKS_MAX: u16 = 1000;

/// How ports are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// The first port of the first block.
    pub first: u16,
    /// How many ports a block has; at least one.
    pub count: u16,
}

impl Ports {
    /// Takes a block for the worktree at `owner`, which must exist for as long as it needs the block; returns its first port. A
    /// block of which somebody uses a port now is passed over.
    pub fn take(self, blocks: &Path, owner: &Path) -> Result<u16, WorktreeError> {
        fs::create_dir_all(blocks)
            .map_err(|source| WorktreeError::file("make the directory", blocks, source))?;
        // Of two that find the same owner gone, the second would remove what the first has written.
        let _alone = alone(blocks)?;
        for number in 0..BLOCKS_MAX {
            let first =
                number.checked_mul(self.count).and_then(|past| past.checked_add(self.first));
            let fits = first.filter(|first| first.checked_add(self.count).is_some());
            let Some(first) = fits else { break };
            if self.take_block(&blocks.join(first.to_string()), first, owner)? {
                return Ok(first);
            }
        }
        Err(Refusal::NoPorts(self.count).into())
    }

    fn take_block(self, file: &Path, first: u16, owner: &Path) -> Result<bool, WorktreeError> {
        if owner_of(file).is_some_and(|other| other.exists()) {
            return Ok(false);
        }
        let is_free = |port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
        if !(first..first + self.count).all(is_free) {
            return Ok(false);
        }
        // Whose it was is gone.
        fs::remove_file(file).ok();
        let failed = |source| WorktreeError::file("write", file, source);
        match OpenOptions::new().write(true).create_new(true).open(file) {
            Ok(mut file) => {
                file.write_all(owner.as_os_str().as_encoded_bytes()).map_err(failed)?;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(source) => Err(failed(source)),
        }
    }

    /// The first port of the block that was taken for the worktree at `owner`.
    pub fn of(blocks: &Path, owner: &Path) -> Option<u16> {
        let entries = fs::read_dir(blocks).ok()?;
        let mine =
            entries.flatten().find(|entry| owner_of(&entry.path()).as_deref() == Some(owner))?;
        mine.file_name().to_str()?.parse().ok()
    }
}

/// While what it returns is held, nobody else takes a block; whoever dies with it gives it back.
fn alone(blocks: &Path) -> Result<File, WorktreeError> {
    let failed = |source| WorktreeError::file("lock", blocks, source);
    let folder = File::open(blocks).map_err(failed)?;
    match folder.lock() {
        // There are file systems without locks.
        Err(error) if error.kind() != ErrorKind::Unsupported => Err(failed(error)),
        Ok(()) | Err(_) => Ok(folder),
    }
}

fn owner_of(file: &Path) -> Option<PathBuf> {
    fs::read(file).ok().map(|text| path(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Below those that systems give to whoever asks for any port.
    const FIRST: u16 = 21_310;

    #[test]
    fn a_block_is_ones_own_until_its_worktree_is_gone() {
        let home = tempfile::tempdir().unwrap();
        let [blocks, one, other] = ["ports", "one", "other"].map(|name| home.path().join(name));
        fs::create_dir(&one).unwrap();
        fs::create_dir(&other).unwrap();
        let ports = Ports { first: FIRST, count: 2 };
        let first = ports.take(&blocks, &one).unwrap();
        let second = ports.take(&blocks, &other).unwrap();
        assert_eq!((first % 2, second > first), (0, true));
        assert_eq!(Ports::of(&blocks, &one), Some(first));
        let in_use = TcpListener::bind((Ipv4Addr::LOCALHOST, second + 3)).unwrap();
        fs::remove_dir(&one).unwrap();
        assert_eq!(ports.take(&blocks, &home.path().join(".")).unwrap(), first);
        assert!(ports.take(&blocks, &other).unwrap() > second + 3);
        drop(in_use);
        let most = Ports { first: u16::MAX, count: 2 };
        let error = most.take(&blocks, &other).unwrap_err();
        assert_eq!(error.to_string(), "no block of 2 ports is free");
    }

    #[test]
    fn a_block_whose_owner_is_gone_goes_to_one_of_many_that_want_it() {
        let home = tempfile::tempdir().unwrap();
        let (blocks, ports) = (home.path().join("ports"), Ports { first: FIRST + 100, count: 1 });
        for round in 0..20 {
            let gone = home.path().join(format!("gone-{round}"));
            fs::create_dir(&gone).unwrap();
            ports.take(&blocks, &gone).unwrap();
            fs::remove_dir(&gone).unwrap();
            let (home, blocks) = (&home, &blocks);
            let takes = |number: usize| {
                let owner = home.path().join(format!("{round}-{number}"));
                fs::create_dir(&owner).unwrap();
                (ports.take(blocks, &owner).unwrap(), owner)
            };
            let taken: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> =
                    (0..8).map(|number| scope.spawn(move || takes(number))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            for (first, owner) in taken {
                assert_eq!(Ports::of(blocks, &owner), Some(first), "in round {round}");
                fs::remove_dir(&owner).unwrap();
            }
        }
    }
}
