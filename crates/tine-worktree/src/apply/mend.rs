//! What becomes of a change that was cut short.

use super::journal::Kept;
use super::room::Room;
use super::write::{Change, HeadIs};
use crate::error::WorktreeError;
use crate::repository::Repository;

/// What became of a change that was cut short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// To which of its ends it came.
    pub outcome: MendedAs,
    /// Files that somebody changed in the meantime, and that were left.
    pub kept: Vec<Kept>,
}

/// To which end a change came that was cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MendedAs {
    /// The checkout is as it was before.
    TakenBack,
    /// The checkout is as it was to be.
    Finished,
    /// HEAD was moved by somebody in the meantime. Nothing was touched; what stood at changed files before is kept.
    LetBe,
}

/// Mends what is there to be mended. The room must be entered.
pub(super) fn mend(repository: &Repository, room: &Room) -> Result<Option<Mended>, WorktreeError> {
    if !room.change().exists() {
        room.clear()?;
        return Ok(None);
    }
    let journal = match room.journal()? {
        Some(journal) => journal,
        None if repository.is_strange() && room.is_beside() => {
            tracing::warn!(at = %room.change().display(), "a change of the checkout that is not tine's is removed");
            room.remove_change()?;
            return Ok(None);
        }
        None => {
            let source = std::io::Error::other("it is no journal of this version");
            return Err(WorktreeError::file("read the journal of", &room.change(), source));
        }
    };
    let change = Change { repository, room, journal };
    let (outcome, kept) = match change.head_is()? {
        Some(HeadIs::New) => finished(&change)?,
        Some(HeadIs::Old) => taken_back(&change)?,
        Some(HeadIs::Elsewhere) => (MendedAs::LetBe, change.let_be()?),
        None if change.is_written()? => finished(&change)?,
        None => taken_back(&change)?,
    };
    tracing::warn!(
        ?outcome,
        kept = kept.len(),
        "a change of the checkout that was cut short is mended"
    );
    Ok(Some(Mended { outcome, kept }))
}

fn finished(change: &Change<'_>) -> Result<(MendedAs, Vec<Kept>), WorktreeError> {
    change.finish()?;
    Ok((MendedAs::Finished, Vec::new()))
}

fn taken_back(change: &Change<'_>) -> Result<(MendedAs, Vec<Kept>), WorktreeError> {
    Ok((MendedAs::TakenBack, change.roll_back()?))
}
