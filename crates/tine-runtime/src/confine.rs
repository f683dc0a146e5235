//! The reach of a run, and the wall around it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_guard::Rule;
use tine_model::{Reach, Writes};
use tine_tools::{
    CommandLimitsSet, Gap, Ground, Missing, Place, ResourceLimits, Support, Wall, WallError,
    Withheld, part_linked_worktree,
};

use crate::error::RuntimeError;

/// A wish about the reach of an agent. What is stored with the agent bounds all but a person's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReachWish {
    /// It narrows at most, and holds for one run. The open reach wishes nothing.
    Run(Reach),
    /// It narrows at most, and is stored with the agent.
    Narrow(Reach),
    /// A person's word: it is stored with the agent as it is, also where it is wider.
    Person(Reach),
}

impl Default for ReachWish {
    fn default() -> Self {
        Self::Run(Reach::open())
    }
}

impl From<Reach> for ReachWish {
    fn from(reach: Reach) -> Self {
        Self::Run(reach)
    }
}

impl ReachWish {
    /// The reach that is wished for.
    pub fn reach(&self) -> &Reach {
        match self {
            Self::Run(reach) | Self::Narrow(reach) | Self::Person(reach) => reach,
        }
    }

    /// What is left of it where `stored` is the agent's reach, or that of the agent that it is forked from.
    pub fn within(&self, stored: &Reach) -> Reach {
        match self {
            Self::Run(reach) | Self::Narrow(reach) => stored.narrowed(reach),
            Self::Person(reach) => reach.clone(),
        }
    }

    /// Whether it makes a reach wider than `stored`, which only a person's word does.
    pub fn widens(&self, stored: &Reach) -> bool {
        !self.within(stored).is_within(stored)
    }

    /// The same wish, which neither widens nor is stored.
    pub(crate) fn for_a_run(&self) -> Self {
        Self::Run(self.reach().clone())
    }
}

/// How the tools of a run are confined, whatever was allowed: its commands by a wall, the file tools by the directories that they
/// may write below and by what they must not see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// What they may touch. The reach that is stored with the agent counts as well.
    pub reach: ReachWish,
    /// Variables that are passed on to commands beyond the short list.
    pub variables: Vec<String>,
    /// Limits of a whole command that are set.
    pub limits: CommandLimitsSet,
    /// The choice where the kernel cannot keep all of this. Runs that may not write in their directory are refused there.
    pub missing: Missing,
    /// tine's own files: confined runs do not read them, and no run writes them without a question.
    /// The agent's directory may lie among them.
    pub own: Vec<PathBuf>,
    /// Rules that deny. Files that they keep from reading tools are hidden from commands behind the wall as well.
    pub denied: Vec<Rule>,
    /// Notes that the agent was told of. It reads them, wherever they lie, and writes them no more than the rest.
    pub notes_shown: Option<PathBuf>,
    /// Where the agent's directory is a worktree that tine has made, the directory it was made of. It may lie among tine's own
    /// files as well, and the worktree is arranged so that git works in it behind the wall.
    pub origin: Option<PathBuf>,
}

impl Confinement {
    /// The confinement of a run of an agent whose stored reach this is.
    pub fn around(&self, stored: &Reach) -> Self {
        Self { reach: ReachWish::Run(self.reach.within(stored)), ..self.clone() }
    }

    /// What cannot be kept of it here, around a run in `directory`.
    pub fn gaps(&self, directory: &Path) -> Vec<Gap> {
        match self.wall(directory) {
            Some(wall) => wall.gaps(Support::of_this_kernel(), std::env::home_dir().as_deref()),
            None => Vec::new(),
        }
    }

    /// Returns true if no command of a run in `directory` starts here, because the kernel cannot keep it in a directory.
    pub fn refuses_commands(&self, directory: &Path) -> bool {
        self.wall(directory).is_some_and(|wall| wall.refuses_commands(Support::of_this_kernel()))
    }

    /// `None` without a wall.
    fn wall(&self, directory: &Path) -> Option<Wall> {
        let reach = self.reach.reach();
        let wall = match &reach.writes {
            Writes::Anywhere => return None,
            Writes::Directory => Wall::worker(directory),
            Writes::Nowhere => Wall::maintenance(Vec::new()),
            Writes::Notes(notes) => Wall::maintenance(vec![notes.clone()]),
        };
        let missing =
            if reach.writes == Writes::Directory { self.missing } else { Missing::Refuse };
        let more = reach.writable.iter().filter(|path| path.exists()).cloned();
        let command = wall.limits.command.with(self.limits);
        Some(Wall {
            limits: ResourceLimits { command, ..wall.limits },
            writable: wall.writable.iter().cloned().chain(more).collect(),
            network: reach.network.clone(),
            variables: self.variables.clone(),
            missing,
            ..wall
        })
    }

    /// Raises the wall around the place, and leaves it as it is where there is none to be raised.
    pub(crate) async fn raise(&self, place: Place) -> Result<Place, RuntimeError> {
        let directory = place.directory().to_owned();
        let Some(wall) = self.wall(&directory) else { return Ok(place) };
        let hidden = self.hidden(&directory);
        let roots = wall.writable.clone();
        let secrets = Arc::clone(&hidden);
        let parts = self.parts();
        let holding = self.own.iter().chain(&self.origin).cloned().collect();
        let raised = tokio::task::spawn_blocking(move || {
            part(parts, &directory)?;
            wall.raise(&directory, &Ground { holding, ..Ground::here(hidden) })
        });
        let enclosure = raised.await.map_err(|_| RuntimeError::Confinement)??;
        let place = place.with_enclosure(enclosure).with_write_roots(&roots)?;
        // The file tools see no more secrets than commands do.
        Ok(place.with_secrets_refused(secrets))
    }

    /// Whether the directory is a worktree that tine has made, and so tine's to arrange for a wall. Others are left as they are.
    fn parts(&self) -> bool {
        self.origin.is_some() && self.reach.reach().writes == Writes::Directory
    }

    /// What tine keeps for itself, apart from what lies among it: notes, the agent's directory, and what that was made of.
    pub(crate) fn kept(&self, directory: &Path) -> Withheld {
        let (own, notes) = (both_ways(&self.own), self.notes());
        let work: Vec<PathBuf> =
            self.origin.iter().cloned().chain([directory.to_owned()]).collect();
        let work = both_ways(&work);
        Arc::new(move |path: &Path| {
            let is_note = |own: &PathBuf| {
                notes.iter().any(|notes| notes.starts_with(own) && path.starts_with(notes))
            };
            let is_work = |own: &PathBuf| {
                let below = |work: &&PathBuf| work.starts_with(own) && *work != own;
                work.iter().filter(below).any(|work| path.starts_with(work))
            };
            own.iter().any(|own| path.starts_with(own) && !is_note(own) && !is_work(own))
        })
    }

    /// Secrets, files that a rule denies, and what tine keeps for itself. Notes count by their own names, also where they lie among secrets.
    pub(crate) fn hidden(&self, directory: &Path) -> Withheld {
        let (home, notes, kept) = (std::env::home_dir(), self.notes(), self.kept(directory));
        let shown = both_ways(self.notes_shown.as_slice());
        let is_secret = move |path: &Path| match &home {
            Some(home) => tine_guard::is_secret_in(path, home),
            None => tine_guard::is_secret(path),
        };
        let (denied, directory) = (self.denied.clone(), directory.to_owned());
        let is_denied = move |path: &Path| denied.iter().any(|rule| rule.hides(&directory, path));
        let among_secrets: Vec<PathBuf> =
            notes.into_iter().filter(|notes| is_secret(notes)).collect();
        Arc::new(move |path: &Path| {
            let note = among_secrets.iter().find_map(|notes| path.strip_prefix(notes).ok());
            let is_shown = shown.iter().any(|notes| path.starts_with(notes));
            is_secret(note.unwrap_or(path)) || is_denied(path) || kept(path) && !is_shown
        })
    }

    /// The directory for notes, as it is written and as it really is.
    fn notes(&self) -> Vec<PathBuf> {
        match &self.reach.reach().writes {
            Writes::Notes(notes) => both_ways(std::slice::from_ref(notes)),
            Writes::Anywhere | Writes::Directory | Writes::Nowhere => Vec::new(),
        }
    }
}

/// Arranges a worktree so that git can work in it behind a wall.
fn part(parts: bool, directory: &Path) -> Result<(), WallError> {
    if !parts {
        return Ok(());
    }
    part_linked_worktree(directory)
        .map_err(|source| WallError::Directory { path: directory.to_owned(), source })
}

/// The paths, and where they really lead, also those that are not there yet.
fn both_ways(paths: &[PathBuf]) -> Vec<PathBuf> {
    let real = paths.iter().filter_map(|path| tine_guard::real_path(path).ok());
    paths.iter().cloned().chain(real).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_worker_may_go_on_where_the_kernel_falls_short() {
        let missing = |reach: Reach| {
            let reach = reach.into();
            let missing = Missing::Accept;
            let confinement = Confinement { reach, missing, ..Confinement::default() };
            confinement.wall(Path::new("/work")).map(|wall| wall.missing)
        };
        assert_eq!(missing(Reach::open()), None);
        assert_eq!(missing(Reach::directory()), Some(Missing::Accept));
        assert_eq!(missing(Reach::read_only()), Some(Missing::Refuse));
        assert_eq!(missing(Reach::notes("/memory".into())), Some(Missing::Refuse));
    }

    #[test]
    fn only_a_persons_word_widens() {
        let stored = Reach::directory();
        for reach in [Reach::open(), Reach::directory(), Reach::read_only()] {
            for wish in [ReachWish::Run(reach.clone()), ReachWish::Narrow(reach.clone())] {
                assert!(!wish.widens(&stored) && wish.within(&stored).is_within(&stored));
            }
            let word = ReachWish::Person(reach.clone());
            assert_eq!(
                (word.within(&stored), word.widens(&stored)),
                (reach.clone(), reach.is_open())
            );
        }
    }
}
