//! The read-only walls of a run: what the guard lets through as a read runs behind one of them, also where the run itself is not
//! confined.
//!
//! A wall is raised when the first command asks for it, and kept for the run. A command that may read outside the directory,
//! because a rule allows it, gets a wall that shows those paths as well.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use tine_guard::Width;
use tine_tools::{Enclosure, Ground, Place, Wall, Withheld};
use tokio::sync::Mutex;

/// Walls that are kept for different paths outside the directory; a run that reads at more places raises them anew.
const KEPT_MAX: usize = 8;

/// The walls of one run. Shared by its calls.
pub(crate) struct ReadWalls {
    hidden: Withheld,
    /// By the paths outside the directory that each shows. An async mutex, because raising a wall waits and is done once.
    raised: Mutex<HashMap<Vec<PathBuf>, Enclosure>>,
}

impl ReadWalls {
    /// Walls that hide what `hidden` names.
    pub(crate) fn new(hidden: Withheld) -> Self {
        Self { hidden, raised: Mutex::default() }
    }

    /// Returns how much counts as a read at this place: more where a wall can stand.
    pub(crate) async fn width(&self, place: &Place) -> Width {
        match self.wall(place, Vec::new()).await {
            Some(_) => Width::Wide,
            None => Width::Strict,
        }
    }

    /// The place behind a wall that lets nothing be written, and shows its directory and those of `named` that the wall would
    /// not show by itself. Returns the place as it is where no wall can stand.
    pub(crate) async fn around(&self, place: Place, named: Vec<PathBuf>) -> Place {
        let directory = place.real_directory();
        let real = named.iter().filter_map(|path| path.canonicalize().ok());
        let is_beside =
            |path: &PathBuf| !path.starts_with(directory) || (self.hidden)(path) && path.is_file();
        let beside: Vec<PathBuf> = real.filter(is_beside).collect();
        match self.wall(&place, beside).await {
            Some(enclosure) => place.with_enclosure(enclosure),
            None => place,
        }
    }

    async fn wall(&self, place: &Place, mut outside: Vec<PathBuf>) -> Option<Enclosure> {
        outside.sort();
        outside.dedup();
        let mut raised = self.raised.lock().await;
        if let Some(enclosure) = raised.get(&outside) {
            return Some(enclosure.clone());
        }
        let (directory, hidden) = (place.directory().to_owned(), Arc::clone(&self.hidden));
        let shown = outside.clone();
        let raise = move || Wall::reading(shown).raise(&directory, &Ground::here(hidden));
        let enclosure = tokio::task::spawn_blocking(raise).await.ok()?;
        let enclosure = match enclosure {
            Ok(enclosure) => enclosure,
            Err(error) => {
                tracing::debug!(%error, "no read-only wall stands; commands are judged strictly");
                return None;
            }
        };
        if raised.len() == KEPT_MAX {
            raised.clear();
        }
        raised.insert(outside, enclosure.clone());
        Some(enclosure)
    }
}
