//! The wall around a run, and the audit around one or several.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_tools::{
    Escape, Gap, Ground, Missing, Network, Place, Snapshot, Support, Wall, Watch, Withheld,
};

use crate::error::RuntimeError;

/// Where the tools of a run may write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reach {
    /// Wherever the user can: there is no wall.
    #[default]
    Open,
    /// In the agent's directory: for workers, which build and test.
    Directory,
    /// Nowhere; no tool opens secrets, and commands read programs and the agent's directory alone.
    ReadOnly,
    /// The same, but in this directory, which must exist.
    Memory(PathBuf),
}

/// How the tools of a run are confined, whatever was allowed: its commands by a wall, FileWrite and FileEdit by the
/// directories that they may write below.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Where they may write.
    pub reach: Reach,
    /// More directories that may be written in. Those that do not exist are left out.
    pub writable: Vec<PathBuf>,
    /// Whether they may use the internet.
    pub network: bool,
    /// Variables that are passed on to them beyond the short list.
    pub variables: Vec<String>,
    /// Whether a run goes on where the kernel cannot keep all of this. Runs that may not write in their directory never do.
    pub accept_gaps: bool,
    /// tine's own files: neither read by commands nor counted as changed by them.
    pub own: Vec<PathBuf>,
}

/// What the audit of a confined run found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditReport {
    /// What changed outside while the run was on, whoever changed it.
    pub escapes: Vec<Escape>,
    /// Whether everything could be looked at, before and after.
    pub complete: bool,
}

impl Confinement {
    /// What cannot be kept of it here, around a run in `directory`.
    pub fn gaps(&self, directory: &Path) -> Vec<Gap> {
        match self.wall(directory) {
            Some(wall) => wall.gaps(Support::of_this_kernel(), std::env::home_dir().as_deref()),
            None => Vec::new(),
        }
    }

    /// `None` without a wall.
    fn wall(&self, directory: &Path) -> Option<Wall> {
        let wall = match &self.reach {
            Reach::Open => return None,
            Reach::Directory => Wall::worker(directory),
            Reach::ReadOnly => Wall::maintenance(Vec::new()),
            Reach::Memory(memory) => Wall::maintenance(vec![memory.clone()]),
        };
        let missing = match self.accept_gaps && self.reach == Reach::Directory {
            true => Missing::Accept,
            false => Missing::Refuse,
        };
        let more = self.writable.iter().filter(|path| path.exists()).cloned();
        Some(Wall {
            writable: wall.writable.iter().cloned().chain(more).collect(),
            network: if self.network { Network::Open } else { Network::Off },
            variables: self.variables.clone(),
            missing,
            ..wall
        })
    }

    /// Raises the wall around the place, and leaves it as it is where there is none to be raised.
    pub(crate) async fn raise(&self, place: Place) -> Result<Place, RuntimeError> {
        let directory = place.directory().to_owned();
        let Some(wall) = self.wall(&directory) else { return Ok(place) };
        let (hidden, roots) = (self.hidden(), wall.writable.clone());
        let raised =
            tokio::task::spawn_blocking(move || wall.raise(&directory, &Ground::here(hidden)));
        let enclosure = raised.await.map_err(|_| RuntimeError::Confinement)??;
        let place = place.with_enclosure(enclosure).with_write_roots(&roots)?;
        Ok(match self.reach {
            Reach::Open | Reach::Directory => place.with_refused(self.kept()),
            Reach::ReadOnly | Reach::Memory(_) => place.with_secrets_refused(self.hidden()),
        })
    }

    /// What tine keeps for itself, apart from notes that lie among it.
    fn kept(&self) -> Withheld {
        let (own, notes) = (both_ways(&self.own), self.notes());
        Arc::new(move |path: &Path| {
            let is_note = |own: &PathBuf| {
                notes.iter().any(|notes| notes.starts_with(own) && path.starts_with(notes))
            };
            own.iter().any(|own| path.starts_with(own) && !is_note(own))
        })
    }

    /// Secrets, and what tine keeps for itself. Notes count by their own names, also where they lie among secrets.
    fn hidden(&self) -> Withheld {
        let (home, notes, kept) = (std::env::home_dir(), self.notes(), self.kept());
        let is_secret = move |path: &Path| match &home {
            Some(home) => tine_guard::is_secret_in(path, home),
            None => tine_guard::is_secret(path),
        };
        let among_secrets: Vec<PathBuf> =
            notes.into_iter().filter(|notes| is_secret(notes)).collect();
        Arc::new(move |path: &Path| {
            let note = among_secrets.iter().find_map(|notes| path.strip_prefix(notes).ok());
            is_secret(note.unwrap_or(path)) || kept(path)
        })
    }

    /// The directory for notes, as it is written and as it really is.
    fn notes(&self) -> Vec<PathBuf> {
        match &self.reach {
            Reach::Memory(memory) => both_ways(std::slice::from_ref(memory)),
            Reach::Open | Reach::Directory | Reach::ReadOnly => Vec::new(),
        }
    }
}

/// The paths, and where they really lead.
fn both_ways(paths: &[PathBuf]) -> Vec<PathBuf> {
    let real = paths.iter().filter_map(|path| path.canonicalize().ok());
    paths.iter().cloned().chain(real).collect()
}

/// The audit of a run, or of all runs of a fan: what the world looked like before.
pub(crate) struct Audit {
    watch: Watch,
    before: Snapshot,
}

impl Audit {
    /// Looks around, before any wall of these runs is raised; `None` where there is none to be raised. Each look reads the
    /// home and the directory, so runs in the same directory share the two.
    pub(crate) async fn begin(
        confinement: &Confinement,
        directory: &str,
    ) -> Result<Option<Self>, RuntimeError> {
        let Some(wall) = confinement.wall(directory.as_ref()) else { return Ok(None) };
        let (own, directory) = (confinement.own.clone(), PathBuf::from(directory));
        let looked = tokio::task::spawn_blocking(move || {
            let watch = Watch::around(
                &real(&directory),
                &all_real(&wall.writable),
                std::env::home_dir().as_deref().map(real).as_deref(),
                &all_real(&own),
            );
            let before = Snapshot::take(&watch);
            Self { watch, before }
        });
        looked.await.map(Some).map_err(|_| RuntimeError::Confinement)
    }

    /// Looks again, when the walls are gone and with them what the commands had left.
    pub(crate) async fn end(self) -> AuditReport {
        let after = tokio::task::spawn_blocking(move || {
            let after = Snapshot::take(&self.watch);
            AuditReport {
                escapes: self.before.escapes(&after),
                complete: self.before.is_complete() && after.is_complete(),
            }
        });
        // A look that did not come to its end has seen nothing.
        after.await.unwrap_or_default()
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn all_real(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().map(|path| real(path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_worker_may_go_on_where_the_kernel_falls_short() {
        let missing = |reach: Reach| {
            let confinement = Confinement { reach, accept_gaps: true, ..Confinement::default() };
            confinement.wall(Path::new("/work")).map(|wall| wall.missing)
        };
        assert_eq!(missing(Reach::Open), None);
        assert_eq!(missing(Reach::Directory), Some(Missing::Accept));
        assert_eq!(missing(Reach::ReadOnly), Some(Missing::Refuse));
        assert_eq!(missing(Reach::Memory("/memory".into())), Some(Missing::Refuse));
    }
}
