//! Where the demo's agents live: in a database that is gone afterwards, or in the user's own.

use std::ffi::OsStr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tine_runtime::{Confinement, Ids, Runtime, WorktreePolicy};

use crate::connect::ports_without_settings;
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::Failure;
use tine_fork::host::SystemIds;

/// Only this user may look into the directory: the database holds what the agents have read.
const PRIVATE: u32 = 0o700;

/// A runtime over the demo's store.
pub(super) struct Home {
    // Dropped in this order: the store before the directory that it is in.
    runtime: Runtime,
    directory: Option<Directory>,
}

impl Home {
    /// Opens the user's database when `keep` is set, else a temporary one. The user's settings do not matter: the demo
    /// asks no provider.
    pub(super) async fn open(keep: bool) -> Result<Self, Failure> {
        let (database, owners, directory) = if keep {
            let dirs = Dirs::find(&variable)?;
            (dirs.database, dirs.owners, None)
        } else {
            let directory = Directory::create(&std::env::temp_dir())?;
            (directory.path.join("tine.db"), directory.path.join("run"), Some(directory))
        };
        Ok(Self { runtime: runtime(database, owners).await?, directory })
    }

    /// The same, and where a repository called `name` may be made. Its worktrees are made beside it, or where the user's own are when
    /// `keep` is set.
    pub(super) async fn with_room(keep: bool, name: &OsStr) -> Result<(Self, PathBuf), Failure> {
        let (database, owners, worktrees, directory) = if keep {
            let dirs = Dirs::find(&variable)?;
            let directory = Directory::create(&dirs.worktrees.with_file_name("demo"))?;
            (dirs.database, dirs.owners, dirs.worktrees, directory)
        } else {
            let directory = Directory::create(&std::env::temp_dir())?;
            let below = |name: &str| directory.path.join(name);
            (below("tine.db"), below("run"), below("worktrees"), directory)
        };
        let policy = WorktreePolicy {
            persons_network: tine_model::NetworkReach::none(),
            root: worktrees,
            setup: None,
            setup_time_max: Duration::ZERO,
            confinement: Confinement::default(),
            ports: None,
            environment: Vec::new(),
        };
        let runtime = runtime(database, owners).await?.with_worktrees(policy);
        let room = directory.path.join(name);
        Ok((Self { runtime, directory: Some(directory) }, room))
    }

    /// From here on what is in the room stays.
    pub(super) fn keep_room(&mut self) {
        if let Some(directory) = &mut self.directory {
            directory.stays = true;
        }
    }

    /// The runtime.
    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Closes the store and removes it if it is temporary.
    pub(super) async fn close(self) {
        // What could not be written at the end was not acknowledged either.
        let _ = self.runtime.close().await;
    }
}

async fn runtime(database: PathBuf, owners: PathBuf) -> Result<Runtime, Failure> {
    Ok(Runtime::open(database, owners, ports_without_settings(), None).await?)
}

/// A directory that is removed with everything in it when this is dropped, unless it stays.
struct Directory {
    path: PathBuf,
    stays: bool,
}

impl Directory {
    fn create(parent: &Path) -> Result<Self, Failure> {
        let unique: String =
            SystemIds.random().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let path = parent.join(format!("tine-demo-{unique}"));
        std::fs::DirBuilder::new()
            .mode(PRIVATE)
            .recursive(true)
            .create(&path)
            .and_then(|()| path.canonicalize())
            .map(|path| Self { path, stays: false })
            .map_err(|error| {
                Failure::failed(format!("cannot create {}", path.display()))
                    .because(&error)
                    .hint("set TMPDIR, or TINE_HOME for --keep, to a directory that can be written")
            })
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if !self.stays {
            // What stays behind is private, and the system clears its temporary directory.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_home_is_private_and_leaves_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let temporary = Directory::create(parent.path()).unwrap();
        let mode = std::fs::metadata(&temporary.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE);
        std::fs::write(temporary.path.join("file"), "x").unwrap();
        drop(temporary);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
