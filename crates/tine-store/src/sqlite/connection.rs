//! Connections, and the transactions on them. A connection whose work did not end as planned is closed, never used again:
//! closing rolls back, so an error, a panic and a dropped future all leave nothing behind.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnectOptions, SqliteQueryResult};
use sqlx::{ConnectOptions, Connection, Sqlite, SqliteConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::column::Columns;
use super::failure::database_error;
use super::read_only::{PrivateCopy, Refusal};
use super::{OpenOptions, StepHook, WaitHook};
use crate::{Result, StoreError};

/// A statement with its arguments.
pub(super) type Sql<'q> = Query<'q, Sqlite, SqliteArguments>;

/// Reads under way at the same time. Each one costs a thread, and more do not make one disk faster.
const READERS_MAX: usize = 4;

/// The connections of one handle, opened when first needed and kept for the next one.
pub(super) struct Connections {
    path: PathBuf,
    options: SqliteConnectOptions,
    hook: Option<StepHook>,
    busy_waits_max: u32,
    wait_hook: Option<WaitHook>,
    /// Why nothing can be written; `None` where it can.
    refusal: Option<Refusal>,
    /// The files that are read in place of the store's own. They go with this.
    _copy: Option<PrivateCopy>,
    idle: Mutex<Vec<SqliteConnection>>,
    readers: Semaphore,
    writer: Semaphore,
    watcher: tokio::sync::Mutex<Option<SqliteConnection>>,
}

impl Connections {
    pub(super) fn new(path: PathBuf, connect: SqliteConnectOptions, options: &OpenOptions) -> Self {
        Self {
            path,
            options: connect,
            hook: options.step_hook.clone(),
            busy_waits_max: options.busy_waits_max,
            wait_hook: options.wait_hook.clone(),
            refusal: None,
            _copy: None,
            idle: Mutex::new(Vec::new()),
            readers: Semaphore::new(READERS_MAX),
            writer: Semaphore::new(1),
            watcher: tokio::sync::Mutex::new(None),
        }
    }

    /// The connections of a store that can only be read: `connect` leads to the files as they are, or to a copy of them.
    pub(super) fn only_to_read(
        path: PathBuf,
        connect: SqliteConnectOptions,
        refusal: Refusal,
        copy: Option<PrivateCopy>,
    ) -> Self {
        let open = Self::new(path, connect, &OpenOptions::default());
        Self { refusal: Some(refusal), _copy: copy, ..open }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a read outside of any transaction: one statement sees one state.
    pub(super) async fn read(&self) -> Result<Reading<'_>> {
        let permit = acquire(&self.readers, &self.path).await?;
        Ok(Reading { connection: self.take().await?, home: self, in_snapshot: false, permit })
    }

    /// Reads one row by one statement, or none.
    pub(super) async fn read_one(&self, sql: Sql<'_>) -> Result<Option<Columns<'_>>> {
        let mut read = self.read().await?;
        let row = read.one(sql).await?;
        read.finish().await?;
        Ok(row)
    }

    /// Reads rows by one statement.
    pub(super) async fn read_all(&self, sql: Sql<'_>) -> Result<Vec<Columns<'_>>> {
        let mut read = self.read().await?;
        let rows = read.all(sql).await?;
        read.finish().await?;
        Ok(rows)
    }

    /// Begins a read whose statements all see one state.
    pub(super) async fn read_snapshot(&self) -> Result<Reading<'_>> {
        let mut reading = self.read().await?;
        reading.run(sqlx::query("BEGIN")).await?;
        reading.in_snapshot = true;
        Ok(reading)
    }

    /// Begins a transaction that may write. IMMEDIATE: a transaction that reads first and locks later fails at once
    /// when another process has written in between, however long it would wait. Waits for others as long as the options say.
    pub(super) async fn write(&self) -> Result<Writing<'_>> {
        if let Some(refusal) = self.refusal {
            return Err(refusal.error(&self.path));
        }
        let permit = acquire(&self.writer, &self.path).await?;
        let connection = self.take().await?;
        let mut writing = Writing { connection, home: self, _permit: permit };
        for waits in 1.. {
            match writing.run("begin", sqlx::query("BEGIN IMMEDIATE")).await {
                Err(StoreError::Busy { .. }) if waits < self.busy_waits_max => {}
                begun => return begun.map(|()| writing),
            }
            if waits == 1
                && let Some(hook) = &self.wait_hook
            {
                hook();
            }
        }
        Err(StoreError::Busy { path: self.path.clone() })
    }

    /// SQLite's count of foreign commits, as seen by a connection that never writes.
    pub(super) async fn data_version(&self) -> Result<i64> {
        let mut slot = self.watcher.lock().await;
        let mut connection = match slot.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let version = sqlx::query_scalar("PRAGMA data_version").fetch_one(&mut connection).await;
        *slot = Some(connection);
        version.map_err(|error| self.failed(error))
    }

    /// Closes every connection that is not in use.
    pub(super) async fn close(&self) -> Result<()> {
        let mut connections = std::mem::take(&mut *self.idle());
        connections.extend(self.watcher.lock().await.take());
        for connection in connections {
            connection.close().await.map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    pub(super) fn failed(&self, error: sqlx::Error) -> StoreError {
        database_error(&self.path, error)
    }

    async fn fetch_one(
        &self,
        connection: &mut SqliteConnection,
        sql: Sql<'_>,
    ) -> Result<Option<Columns<'_>>> {
        let row = sql.fetch_optional(connection).await.map_err(|error| self.failed(error))?;
        Ok(row.map(|row| Columns::new(&self.path, row)))
    }

    async fn fetch_all(
        &self,
        connection: &mut SqliteConnection,
        sql: Sql<'_>,
    ) -> Result<Vec<Columns<'_>>> {
        let rows = sql.fetch_all(connection).await.map_err(|error| self.failed(error))?;
        Ok(rows.into_iter().map(|row| Columns::new(&self.path, row)).collect())
    }

    async fn take(&self) -> Result<SqliteConnection> {
        let idle = self.idle().pop();
        match idle {
            Some(connection) => Ok(connection),
            None => self.connect().await,
        }
    }

    async fn connect(&self) -> Result<SqliteConnection> {
        self.options.connect().await.map_err(|error| self.failed(error))
    }

    /// A std mutex: it is held for a push or a pop, and `Drop` needs it too.
    fn idle(&self) -> MutexGuard<'_, Vec<SqliteConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn acquire<'a>(semaphore: &'a Semaphore, path: &Path) -> Result<SemaphorePermit<'a>> {
    let source = |closed| StoreError::Database { path: path.to_owned(), source: Box::new(closed) };
    semaphore.acquire().await.map_err(source)
}

/// A read under way. Ends with [`Self::finish`]; dropped instead, its connection is closed.
pub(super) struct Reading<'a> {
    connection: SqliteConnection,
    home: &'a Connections,
    in_snapshot: bool,
    permit: SemaphorePermit<'a>,
}

impl<'a> Reading<'a> {
    pub(super) fn path(&self) -> &'a Path {
        &self.home.path
    }

    pub(super) async fn run(&mut self, sql: Sql<'_>) -> Result<()> {
        let done = sql.execute(&mut self.connection).await;
        done.map(|_| ()).map_err(|error| self.home.failed(error))
    }

    pub(super) async fn one(&mut self, sql: Sql<'_>) -> Result<Option<Columns<'a>>> {
        self.home.fetch_one(&mut self.connection, sql).await
    }

    pub(super) async fn all(&mut self, sql: Sql<'_>) -> Result<Vec<Columns<'a>>> {
        self.home.fetch_all(&mut self.connection, sql).await
    }

    pub(super) async fn finish(mut self) -> Result<()> {
        if self.in_snapshot {
            self.run(sqlx::query("COMMIT")).await?;
        }
        let Self { connection, home, permit, .. } = self;
        home.idle().push(connection);
        drop(permit);
        Ok(())
    }
}

/// A writing transaction under way. Ends with [`Self::commit`]; dropped instead, it never was.
pub(super) struct Writing<'a> {
    connection: SqliteConnection,
    home: &'a Connections,
    _permit: SemaphorePermit<'a>,
}

impl<'a> Writing<'a> {
    pub(super) async fn run(&mut self, step: &'static str, sql: Sql<'_>) -> Result<()> {
        self.execute(step, sql).await.map(drop)
    }

    /// Runs a statement; how many rows it met, and which one it made.
    pub(super) async fn execute(
        &mut self,
        step: &'static str,
        sql: Sql<'_>,
    ) -> Result<SqliteQueryResult> {
        self.reach(step)?;
        let done = sql.execute(&mut self.connection).await;
        done.map_err(|error| self.home.failed(error))
    }

    pub(super) async fn one(
        &mut self,
        step: &'static str,
        sql: Sql<'_>,
    ) -> Result<Option<Columns<'a>>> {
        self.reach(step)?;
        self.home.fetch_one(&mut self.connection, sql).await
    }

    pub(super) async fn all(
        &mut self,
        step: &'static str,
        sql: Sql<'_>,
    ) -> Result<Vec<Columns<'a>>> {
        self.reach(step)?;
        self.home.fetch_all(&mut self.connection, sql).await
    }

    /// Runs a text of several statements.
    pub(super) async fn script(&mut self, step: &'static str, text: &'static str) -> Result<()> {
        self.reach(step)?;
        let done = sqlx::raw_sql(text).execute(&mut self.connection).await;
        done.map(|_| ()).map_err(|error| self.home.failed(error))
    }

    pub(super) async fn commit(mut self) -> Result<()> {
        self.run("commit", sqlx::query("COMMIT")).await?;
        let hook = self.home.hook.clone();
        self.home.idle().push(self.connection);
        match hook {
            Some(hook) => hook("committed"),
            None => Ok(()),
        }
    }

    fn reach(&self, step: &'static str) -> Result<()> {
        match &self.home.hook {
            Some(hook) => hook(step),
            None => Ok(()),
        }
    }
}
