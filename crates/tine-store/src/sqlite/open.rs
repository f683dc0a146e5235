//! Opening, and making what is not there yet.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};

use super::connection::Connections;
use super::failure::io_error;
use super::read_only::{self, Refusal};
use super::{OpenOptions, SqliteStore};
use crate::{Result, StoreError};

/// Schema version that this program writes.
pub(super) const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Each takes the database from one version to the next, and sets the version as its last act.
const MIGRATIONS: [&str; 18] = [
    include_str!("../../migrations/sqlite/0001_initial.sql"),
    include_str!("../../migrations/sqlite/0002_cache.sql"),
    include_str!("../../migrations/sqlite/0003_permissions.sql"),
    include_str!("../../migrations/sqlite/0004_tasks.sql"),
    include_str!("../../migrations/sqlite/0005_budgets.sql"),
    include_str!("../../migrations/sqlite/0006_worktrees.sql"),
    include_str!("../../migrations/sqlite/0007_writers.sql"),
    include_str!("../../migrations/sqlite/0008_reaped.sql"),
    include_str!("../../migrations/sqlite/0009_reach.sql"),
    include_str!("../../migrations/sqlite/0010_reach_of_older_programs.sql"),
    include_str!("../../migrations/sqlite/0011_servers.sql"),
    include_str!("../../migrations/sqlite/0012_stamps.sql"),
    include_str!("../../migrations/sqlite/0013_removed.sql"),
    include_str!("../../migrations/sqlite/0014_titles.sql"),
    include_str!("../../migrations/sqlite/0015_failures.sql"),
    include_str!("../../migrations/sqlite/0016_guests.sql"),
    include_str!("../../migrations/sqlite/0017_guest_requests.sql"),
    include_str!("../../migrations/sqlite/0018_remote_runs.sql"),
];

/// Rows on their way from SQLite's thread. Ten times the default: a history is read as a whole.
const ROWS_BUFFERED: usize = 500;

/// Pages that each connection keeps, as SQLite writes a size in KiB. A quarter of the default: up to six connections would fill
/// 12 MiB as the file grows, and the system keeps the file's pages as well.
const CACHE: &str = "-512";

impl SqliteStore {
    /// Opens a store, and makes it first where there is none: directories for their owner alone, and so the file.
    ///
    /// If nothing can be written, because the place is read-only or its disk is full, the store can be read all the same; writes are
    /// refused then.
    pub async fn open(path: impl Into<PathBuf>, options: OpenOptions) -> Result<Self> {
        let path = path.into();
        let is_there = path.exists();
        if !is_there {
            make_directory(directory_of(&path))?;
        }
        let connect = connect_options(&path).busy_timeout(options.busy_wait);
        let store = Self { connections: Connections::new(path.clone(), connect, &options) };
        match store.prepare().await {
            Ok(()) => Ok(store),
            Err(error) => match Refusal::of(&error).filter(|_| is_there) {
                Some(refusal) => Self::open_to_read(path, refusal).await.map_err(|_| error),
                None => Err(error),
            },
        }
    }

    async fn prepare(&self) -> Result<()> {
        if !self.connections.path().exists() || self.version().await? < SCHEMA_VERSION {
            self.make().await?;
        }
        Ok(())
    }

    /// Opens a store that is there and cannot be written. One of an older schema cannot be read so: it would have to be changed first.
    pub(super) async fn open_to_read(path: PathBuf, refusal: Refusal) -> Result<Self> {
        let (connect, copy) = read_only::files_to_read(&path).await?;
        let connections = Connections::only_to_read(path, connect, refusal, copy);
        let store = Self { connections };
        match store.version().await? {
            SCHEMA_VERSION => Ok(store),
            _ => Err(refusal.error(store.connections.path())),
        }
    }

    /// Version of the schema; an error when it is not one of ours to read.
    async fn version(&self) -> Result<i64> {
        let path = self.connections.path();
        let row = self.connections.read_one(sqlx::query("PRAGMA user_version")).await?;
        let found: i64 = row.map_or(Ok(0), |row| row.get(0))?;
        if found > SCHEMA_VERSION {
            return Err(StoreError::Newer { path: path.into(), found, known: SCHEMA_VERSION });
        }
        if found < 0 {
            return Err(StoreError::Foreign { path: path.into() });
        }
        Ok(found)
    }

    /// Makes file and schema, or brings an older schema up to date, one process at a time: the change to WAL cannot wait for
    /// a lock as other statements do.
    async fn make(&self) -> Result<()> {
        let path = self.connections.path();
        let _lock = lock_directory(directory_of(path)).await;
        make_file(path)?;
        let found = self.version().await?;
        if found == SCHEMA_VERSION {
            return Ok(());
        }
        if found == 0 {
            let mut read = self.connections.read().await?;
            let foreign = read.one(sqlx::query("SELECT 1 FROM sqlite_schema LIMIT 1")).await?;
            if foreign.is_some() {
                return Err(StoreError::Foreign { path: path.into() });
            }
            // Where the file system cannot do WAL, SQLite keeps its rollback journal, which is as durable.
            read.one(sqlx::query("PRAGMA journal_mode = WAL")).await?;
            read.finish().await?;
        }
        let mut write = self.connections.write().await?;
        let done = usize::try_from(found).unwrap_or_default();
        for migration in &MIGRATIONS[done..] {
            write.script("schema", migration).await?;
        }
        write.commit().await
    }
}

/// The options with which every connection is opened.
pub(super) fn connect_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(true)
        .synchronous(SqliteSynchronous::Full)
        .pragma("cache_size", CACHE)
        .row_buffer_size(ROWS_BUFFERED)
        .disable_statement_logging()
}

fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn make_directory(path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|error| io_error(path, error))
}

/// Makes the file empty; SQLite gives its side files the same mode. An existing file is not opened: closing it
/// would drop the locks that SQLite holds on it in this process.
fn make_file(path: &Path) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(io_error(path, error)),
    }
}

/// Holds a lock until the file is dropped or the process dies. On a thread of its own, since waiting blocks and the holder
/// may be another task of this thread. Where directories cannot be locked there is none: SQLite's own locks
/// still keep the store whole, and the loser of a race sees `Busy`.
async fn lock_directory(path: &Path) -> Option<File> {
    let path = path.to_owned();
    let lock = move || File::open(path).and_then(|file| file.lock().map(|()| file)).ok();
    tokio::task::spawn_blocking(lock).await.ok().flatten()
}
