//! The moves of which a change of files is made. Each takes what stands at a path as it is and destroys nothing.
//!
//! A slot is a place of ours, on the same file system, that holds the new file before a move and the old one after it.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::print::look;
use crate::fault;

/// Exchanges what is in the slot with what stands at the target, in one act where the file system can. Where it cannot, `aside` holds
/// the old file for a moment in which the target is not there; [`settle`] ends that after a crash.
pub(super) fn exchange(slot: &Path, target: &Path, aside: &Path) -> io::Result<()> {
    match swap(slot, target) {
        Err(error) if cannot(&error) => {}
        result => return result,
    }
    fs::rename(target, aside)?;
    fault::step()?;
    put(slot, target)?;
    fault::step()?;
    fs::rename(aside, slot)
}

/// After an exchange that was cut short: either the target is as it was, or the exchange is complete.
pub(super) fn settle(slot: &Path, target: &Path, aside: &Path) -> io::Result<()> {
    if look(aside)?.is_none() {
        return Ok(());
    }
    match (look(slot)?, look(target)?) {
        // The new file is at its place.
        (None, _) => fs::rename(aside, slot),
        (Some(_), None) => fs::rename(aside, target),
        // Somebody made another file there: the old one takes its part in the slot, and the target is not ours.
        (Some(_), Some(_)) => fs::rename(aside, slot),
    }
}

/// Moves what is in the slot to where nothing stands.
pub(super) fn put(slot: &Path, target: &Path) -> io::Result<()> {
    match without_replacing(slot, target) {
        Err(error) if cannot(&error) => {}
        result => return result,
    }
    match look(target)? {
        Some(_) => Err(ErrorKind::AlreadyExists.into()),
        None => fs::rename(slot, target),
    }
}

/// Moves what stands at the target into the empty slot.
pub(super) fn take(target: &Path, slot: &Path) -> io::Result<()> {
    fs::rename(target, slot)
}

fn swap(one: &Path, other: &Path) -> io::Result<()> {
    if fault::exchanges() {
        Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
    } else {
        Err(Errno::INVAL.into())
    }
}

fn without_replacing(from: &Path, to: &Path) -> io::Result<()> {
    if fault::exchanges() {
        Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
    } else {
        Err(Errno::INVAL.into())
    }
}

/// Whether the file system, or the kernel, does not have such a move.
fn cannot(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP))
}
