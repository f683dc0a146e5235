//! The read-only walls of a run: what the guard lets through as a read runs behind one of them, also where the run itself is not
//! confined.
//!
//! The base wall is raised when the first command asks for it, and kept for the run, as is a failure to raise it. After a failure that
//! may pass, such as a full disk, a later command tries again, a few times. Where it stands, reads are judged widely, and no read runs without a wall any more; in a
//! directory with more files than are searched for secrets, they are judged strictly. A command that may read something that the base
//! wall does not show gets a wall that shows those paths as well. Only paths that were judged are shown, and none is followed again.
//! A read of a confined run finds the temporary files and caches there that other commands of the run have made.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tine_tools::{Enclosure, Ground, Place, Wall, WallError, Withheld};
use tokio::sync::{Mutex, OnceCell};

/// Walls that are kept for different paths beside the base wall; a run that reads at more places raises them anew.
const KEPT_MAX: usize = 7;

/// Most attempts to raise the base wall of a run. Each may search the whole directory.
const ATTEMPTS_MAX: usize = 3;

/// Raises a wall around the directory of a place that shows these paths as well. Blocks.
type Raise = Arc<dyn Fn(&Path, Around) -> Result<Enclosure, WallError> + Send + Sync>;

/// The paths and the wall around the directory of a place.
struct Around {
    /// Paths that are shown beside it.
    shown: Vec<PathBuf>,
    /// The wall of a confined run.
    own: Option<Enclosure>,
}

/// A read whose wall cannot be raised.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoReadWall {
    /// The wall failed.
    #[error(transparent)]
    Wall(#[from] WallError),
    /// The thread that raised it ended early.
    #[error("the wall was not finished")]
    Unfinished,
}

impl NoReadWall {
    /// Returns true where another attempt may succeed.
    fn is_passing(&self) -> bool {
        match self {
            Self::Wall(error) => error.is_passing(),
            Self::Unfinished => false,
        }
    }
}

/// The walls of one run. Shared by its calls.
pub(crate) struct ReadWalls {
    hidden: Withheld,
    raise: Raise,
    /// Shows the directory alone. `None` where no wall can stand; empty while it is not known.
    base: OnceCell<Option<Enclosure>>,
    /// Attempts to raise it that have failed.
    failures: AtomicUsize,
    /// By the paths beside the directory that each shows. An async mutex, because raising a wall waits and is done once.
    others: Mutex<HashMap<Vec<PathBuf>, Enclosure>>,
}

/// The base wall of a run, which stands.
pub(crate) struct BaseWall<'a> {
    walls: &'a ReadWalls,
    enclosure: &'a Enclosure,
}

impl ReadWalls {
    /// Walls that hide what `hidden` names.
    pub(crate) fn new(hidden: Withheld) -> Self {
        let ground = Arc::clone(&hidden);
        let raise = move |directory: &Path, Around { shown, own }: Around| {
            let ground = Ground { beside: own, ..Ground::here(Arc::clone(&ground)) };
            Wall::reading(shown).raise(directory, &ground)
        };
        Self::raised_by(hidden, Arc::new(raise))
    }

    fn raised_by(hidden: Withheld, raise: Raise) -> Self {
        Self {
            hidden,
            raise,
            base: OnceCell::new(),
            failures: AtomicUsize::new(0),
            others: Mutex::default(),
        }
    }

    /// Returns the base wall, if one can stand at this place. The place must be the same for the whole run.
    pub(crate) async fn base(&self, place: &Place) -> Option<BaseWall<'_>> {
        let base = self.base.get_or_try_init(|| async {
            let error = match self.raised(place, Vec::new()).await {
                Ok(enclosure) => return Ok(Some(enclosure)),
                Err(error) => error,
            };
            tracing::debug!(%error, "no read-only wall stands; commands are judged strictly");
            let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
            if error.is_passing() && failures < ATTEMPTS_MAX { Err(error) } else { Ok(None) }
        });
        let enclosure = base.await.ok()?.as_ref()?;
        Some(BaseWall { walls: self, enclosure })
    }

    async fn raised(&self, place: &Place, shown: Vec<PathBuf>) -> Result<Enclosure, NoReadWall> {
        let (directory, raise) = (place.directory().to_owned(), Arc::clone(&self.raise));
        let around = Around { shown, own: place.enclosure().cloned() };
        let raised = tokio::task::spawn_blocking(move || raise(&directory, around)).await;
        Ok(raised.map_err(|_| NoReadWall::Unfinished)??)
    }
}

impl BaseWall<'_> {
    /// The wall itself.
    pub(crate) fn enclosure(&self) -> &Enclosure {
        self.enclosure
    }

    /// The place behind a wall that lets nothing be written, and shows its directory and those of the `judged` real paths
    /// that the base wall does not show. An error means that the command must not run.
    pub(crate) async fn around(
        &self,
        place: Place,
        judged: Vec<PathBuf>,
    ) -> Result<Place, NoReadWall> {
        let shown = self.beside(&place, judged);
        if shown.is_empty() {
            return Ok(place.with_enclosure(self.enclosure.clone()));
        }
        let mut others = self.walls.others.lock().await;
        if let Some(enclosure) = others.get(&shown) {
            return Ok(place.with_enclosure(enclosure.clone()));
        }
        let enclosure = self.walls.raised(&place, shown.clone()).await?;
        if others.len() == KEPT_MAX {
            others.clear();
        }
        others.insert(shown, enclosure.clone());
        Ok(place.with_enclosure(enclosure))
    }

    /// The paths that the base wall does not show: those outside, and secret files. Those that do not exist are left to the command to miss, and in a
    /// confined run those that no command of it may read: a rule that allows commands lifts no wall.
    fn beside(&self, place: &Place, judged: Vec<PathBuf>) -> Vec<PathBuf> {
        let directory = place.real_directory();
        let own = place.enclosure();
        let is_beside = |path: &PathBuf| {
            if own.is_some_and(|own| own.covers(path)) {
                return false;
            }
            let Ok(about) = path.symlink_metadata() else { return false };
            if path.starts_with(directory) {
                (self.walls.hidden)(path) && about.is_file()
            } else {
                !self.enclosure.shows(path)
            }
        };
        let mut beside: Vec<PathBuf> = judged.into_iter().filter(is_beside).collect();
        beside.sort();
        beside.dedup();
        beside
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// The error of a process that can start no other one for now.
    const TRY_AGAIN: i32 = 11;

    fn is_hidden(path: &Path) -> bool {
        path.ends_with(".env")
    }

    /// Walls whose raising counts itself, and fails from the given one on.
    fn walls(fails_from: usize) -> (ReadWalls, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let raise = move |directory: &Path, Around { shown, .. }: Around| {
            if counted.fetch_add(1, Ordering::Relaxed) >= fails_from {
                return Err(WallError::Kernel(io::Error::other("no more")));
            }
            Wall::reading(shown).raise(directory, &Ground::here(Arc::new(is_hidden)))
        };
        (ReadWalls::raised_by(Arc::new(is_hidden), Arc::new(raise)), count)
    }

    /// A directory with a secret, and one outside with twelve files.
    fn world() -> (tempfile::TempDir, PathBuf, Place) {
        let world = tempfile::tempdir().unwrap();
        let root = world.path().canonicalize().unwrap();
        for name in ["work", "outside"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        std::fs::write(root.join("work/.env"), "A=1\n").unwrap();
        for number in 0..12 {
            std::fs::write(root.join(format!("outside/{number}")), "x").unwrap();
        }
        let place = Place::new(&root.join("work")).unwrap();
        (world, root, place)
    }

    #[tokio::test]
    async fn a_wall_that_fails_behind_the_first_is_a_refusal() {
        let (_world, root, place) = world();
        let (walls, count) = walls(1);
        let base = walls.base(&place).await.unwrap();
        for path in ["outside/1", "work/.env"] {
            let around = base.around(place.fork(), vec![root.join(path)]).await;
            let refused = around.err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), Some("the kernel refused the rules of the wall"));
        }
        // The base wall itself stands on.
        let inside = base.around(place.fork(), vec![root.join("work/a"), root.join("none")]).await;
        assert!(inside.unwrap().enclosure().is_some());
        assert_eq!(count.load(Ordering::Relaxed), 3);
    }

    #[tokio::test]
    async fn a_failure_of_the_base_wall_is_kept() {
        let (_world, _root, place) = world();
        let (walls, count) = walls(0);
        for _ in 0..3 {
            assert!(walls.base(&place).await.is_none());
        }
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    /// Walls whose raising counts itself, and meets a lack of processes until the given attempt.
    fn lacking(until: usize) -> (ReadWalls, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let raise = move |directory: &Path, Around { shown, .. }: Around| {
            if counted.fetch_add(1, Ordering::Relaxed) < until {
                return Err(WallError::View(io::Error::from_raw_os_error(TRY_AGAIN)));
            }
            Wall::reading(shown).raise(directory, &Ground::here(Arc::new(is_hidden)))
        };
        (ReadWalls::raised_by(Arc::new(is_hidden), Arc::new(raise)), count)
    }

    #[tokio::test]
    async fn a_rule_shows_a_confined_run_nothing_that_its_own_wall_covers() {
        let (_world, root, place) = world();
        let (walls, count) = walls(usize::MAX);
        let base = walls.base(&place).await.unwrap();
        let key = root.join("home/.env");
        std::fs::create_dir_all(key.parent().unwrap()).unwrap();
        std::fs::write(&key, "key").unwrap();
        let here = Ground::here(Arc::new(is_hidden));
        let ground = Ground { home: Some(root.join("home")), ..here };
        let own = Wall::worker(place.directory()).raise(place.directory(), &ground).unwrap();
        base.around(place.fork().with_enclosure(own), vec![key.clone()]).await.unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 1, "no further wall shows it");
        base.around(place.fork(), vec![key]).await.unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_base_wall_that_a_passing_lack_kept_down_is_raised_for_a_later_command() {
        let (_world, _root, place) = world();
        let (walls, count) = lacking(1);
        let stands = [walls.base(&place).await.is_some(), walls.base(&place).await.is_some()];
        assert_eq!(stands, [false, true]);
        walls.base(&place).await.unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn a_lack_that_does_not_pass_is_kept_at_last() {
        let (_world, _root, place) = world();
        let (walls, count) = lacking(usize::MAX);
        for _ in 0..5 {
            assert!(walls.base(&place).await.is_none());
        }
        assert_eq!(count.load(Ordering::Relaxed), ATTEMPTS_MAX);
    }

    #[tokio::test]
    async fn the_base_wall_outlives_many_others_and_shows_programs_itself() {
        let (_world, root, place) = world();
        let (walls, count) = walls(usize::MAX);
        let base = walls.base(&place).await.unwrap();
        for number in 0..12 {
            let shown = vec![root.join(format!("outside/{number}"))];
            base.around(place.fork(), shown).await.unwrap();
        }
        assert_eq!(count.load(Ordering::Relaxed), 13);
        let shell = Path::new("/bin/sh").canonicalize().unwrap();
        for shown in [vec![], vec![shell], vec![root.join("work")], vec![root.join("gone")]] {
            base.around(place.fork(), shown).await.unwrap();
        }
        walls.base(&place).await.unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 13);
    }
}
