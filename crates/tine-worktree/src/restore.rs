//! A worktree as it was, after something ran in it whose leavings are no work: a check, a build.

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::apply::{
    Back, HeadMove, Plan, Room, Sources, detached, index_hash, paths_of, set_entries,
};
use crate::diff::differences;
use crate::error::{Refusal, WorktreeError};
use crate::git::joined;
use crate::ids::Tree;
use crate::obstacle::Obstacle;
use crate::repository::Repository;
use crate::snapshot::{Conflicts, Snapshot, Taken};
use crate::worktree::{Worktree, changed_paths};

/// How often a worktree is looked at again. What was ignored is seen once the file is back that says what is ignored; whoever
/// still writes after that does not stop.
const LOOKS_MAX: u32 = 3;

impl Worktree {
    /// Brings the files back to what `state` says of them, all or nothing, and HEAD and the index with them where they are others.
    /// What git ignores stays, as do other repositories inside, branches that were made, and a merge that was begun. Returns whether
    /// anything was otherwise.
    ///
    /// Nobody may work there meanwhile: all that came since then goes. Refused where HEAD would have to move and is a branch by now.
    pub fn restore(&self, state: &Snapshot, now_ms: i64) -> Result<bool, WorktreeError> {
        let repository = self.repository();
        let room = Room::enter(repository)?;
        for looks in 0.. {
            let mut there = repository.take(Conflicts::AsFiles, now_ms)?;
            see_known(repository, &mut there, &state.work_tree)?;
            if is_same(&there.snapshot, state) {
                return Ok(looks > 0);
            }
            if looks == LOOKS_MAX {
                let (there, state) = (&there.snapshot.work_tree, &state.work_tree);
                let changing = changed_paths(&repository.git(), there, state)?;
                return Err(Refusal::Changing(changing).into());
            }
            bring_back(repository, &room, &there, state)?;
        }
        Ok(true)
    }
}

fn is_same(one: &Snapshot, other: &Snapshot) -> bool {
    (&one.base, &one.index_tree, &one.work_tree)
        == (&other.base, &other.index_tree, &other.work_tree)
}

/// Looks at files of the state, too, that are there and ignored by now.
fn see_known(
    repository: &Repository,
    there: &mut Taken,
    state: &Tree,
) -> Result<(), WorktreeError> {
    let seen: HashSet<&Path> = there.files.iter().map(PathBuf::as_path).collect();
    let mut known: Vec<PathBuf> = paths_of(&repository.git(), state)?.into_iter().collect();
    known.retain(|path| !seen.contains(path.as_path()) && is_file(repository.top(), path));
    if known.is_empty() {
        return Ok(());
    }
    let git = repository.git().with_index(&there.scratch.work());
    git.fed(["update-index", "--add", "--replace", "-z", "--stdin"], &joined(&known))?;
    there.snapshot.work_tree = Tree::parse(&git.text(["write-tree"])?)?;
    there.files.append(&mut known);
    Ok(())
}

/// Whether a file or a link stands at the path, and only directories above it.
fn is_file(top: &Path, path: &Path) -> bool {
    let is_directory = |path: &Path| top.join(path).symlink_metadata().is_ok_and(|it| it.is_dir());
    let about = top.join(path).symlink_metadata();
    about.is_ok_and(|about| about.is_file() || about.is_symlink())
        && path.ancestors().skip(1).all(is_directory)
}

fn bring_back(
    repository: &Repository,
    room: &Room,
    there: &Taken,
    state: &Snapshot,
) -> Result<(), WorktreeError> {
    let back = Some(Back { to: state, except: BTreeSet::new() });
    let plan = Plan::make(repository, there, &state.work_tree)?.by(Sources { back, work: None });
    let now = &there.snapshot;
    if (&now.base, &now.index_tree) == (&state.base, &state.index_tree) {
        return plan.carry_out(repository, room, there, None);
    }
    // Else a branch that everybody shares would move.
    if detached(repository)?.as_ref() != Some(&now.base) {
        return Err(Obstacle::OnBranch(repository.top().to_owned()).into());
    }
    // After the look, which waits for no index that is a pipe by now.
    let index = index_hash(repository)?;
    room.prepare()?;
    let file = room.index();
    let wrong = |source| WorktreeError::file("write", &file, source);
    fs::copy(there.scratch.index(), &file).map_err(wrong)?;
    let staged = differences(&repository.git(), &now.index_tree, &state.index_tree)?;
    set_entries(&repository.git().with_index(&file), &staged)?;
    File::open(&file).and_then(|file| file.sync_all()).map_err(wrong)?;
    let head = HeadMove { old: now.base.clone(), new: state.base.clone(), index };
    plan.carry_out(repository, room, there, Some(head))
}
