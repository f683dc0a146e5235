//! Where the demo's agents live: in a database that is gone afterwards, or in the user's own.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_runtime::{Ids, Ports, Runtime};
use tine_store::{OpenOptions, SqliteStore};

use crate::connect::{Models, variable};
use crate::dirs::Dirs;
use crate::fail::Failure;
use tine_fork::{SystemClock, SystemIds};

/// Only this user may look into the directory: the database holds what the agents have read.
const PRIVATE: u32 = 0o700;

/// A runtime over the demo's store.
pub(super) struct Home {
    // Dropped in this order: the store before the directory that it is in.
    runtime: Runtime,
    _temporary: Option<Temporary>,
}

impl Home {
    /// Opens the user's database when `keep` is set, else a temporary one. The user's settings do not matter: the demo
    /// asks no provider.
    pub(super) async fn open(keep: bool) -> Result<Self, Failure> {
        let (database, owners, temporary) = if keep {
            let dirs = Dirs::find(&variable)?;
            (dirs.database, dirs.owners, None)
        } else {
            let temporary = Temporary::create(&std::env::temp_dir())?;
            (temporary.0.join("tine.db"), temporary.0.join("run"), Some(temporary))
        };
        let store = SqliteStore::open(database, OpenOptions::default()).await?;
        let ports = Ports {
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            models: Arc::new(Models::new(BTreeMap::new())),
            facts: Arc::new(tine_cache::Models::bundled()),
        };
        let runtime = Runtime::new(Arc::new(store), ports, owners);
        Ok(Self { runtime, _temporary: temporary })
    }

    /// The runtime.
    pub(super) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Closes the store and removes it if it is temporary.
    pub(super) async fn close(self) {
        // What could not be written at the end was not acknowledged either.
        let _ = self.runtime.store().close().await;
    }
}

/// A directory that is removed with everything in it when this is dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn create(parent: &Path) -> Result<Self, Failure> {
        let unique: String =
            SystemIds.random().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let path = parent.join(format!("tine-demo-{unique}"));
        std::fs::DirBuilder::new().mode(PRIVATE).create(&path).map_err(|error| {
            Failure::failed(format!("cannot create {}", path.display()))
                .because(&error)
                .hint("set TMPDIR to a directory that can be written")
        })?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What stays behind is private, and the system clears its temporary directory.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_home_is_private_and_leaves_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let parent = tempfile::tempdir().unwrap();
        let temporary = Temporary::create(parent.path()).unwrap();
        let mode = std::fs::metadata(&temporary.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE);
        std::fs::write(temporary.0.join("file"), "x").unwrap();
        drop(temporary);
        assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
