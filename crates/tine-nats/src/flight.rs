//! One writer for each prefix, on all machines: who comes first writes it to the provider's cache, and the others wait for that.
//!
//! A key-value lease of JetStream's says who writes. It is given back with what was written, or goes by itself where its holder dies.

use std::time::Duration;

use async_nats::jetstream::kv::{CreateErrorKind, Operation};
use bytes::Bytes;
use tokio::time::Instant;

use crate::connect::Cluster;
use crate::error::ClusterError;

/// The pause between two looks of one who waits: a key that goes by itself is told to nobody.
const LOOK: Duration = Duration::from_millis(100);

/// A place in the flight of a prefix.
pub enum Seat {
    /// The first: writes the prefix.
    Leader(Leader),
    /// The prefix was written; this is what its writer left for those who read it.
    Written(Bytes),
    /// Its writer takes too long, or has ended without a word.
    Alone,
}

/// The one who writes a prefix. Dropped without [`Self::wrote`], the place is free when the lease ends.
pub struct Leader {
    cluster: Cluster,
    key: String,
    revision: u64,
    /// True where a renewal was begun and not seen to its end: the revision may be one behind.
    is_renewing: bool,
}

impl Cluster {
    /// Takes a place in the flight of the prefix that `key` names (letters, digits, `-` and `_`), and waits for its writer, at most for
    /// so long.
    pub async fn board(&self, key: &str, patience: Duration) -> Result<Seat, ClusterError> {
        let until = Instant::now() + patience;
        loop {
            match self.flights().create(key, Bytes::new()).await {
                Ok(revision) => {
                    let (cluster, key) = (self.clone(), key.to_owned());
                    let is_renewing = false;
                    return Ok(Seat::Leader(Leader { cluster, key, revision, is_renewing }));
                }
                Err(error) if error.kind() == CreateErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(ClusterError::server("take the lease on a prefix", error));
                }
            }
            let entry = self.flights().entry(key).await;
            let entry =
                entry.map_err(|error| ClusterError::server("read the lease on a prefix", error))?;
            if let Some(entry) = entry
                && entry.operation == Operation::Put
                && !entry.value.is_empty()
            {
                return Ok(Seat::Written(entry.value));
            }
            if Instant::now() >= until {
                return Ok(Seat::Alone);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Leader {
    /// Keeps the place while the prefix is written, until this is dropped, which may be at any time.
    pub async fn hold(&mut self) {
        let lease = self.cluster.lease();
        loop {
            tokio::time::sleep(lease / 4).await;
            self.is_renewing = true;
            match self.cluster.flights().update(&self.key, Bytes::new(), self.revision).await {
                Ok(revision) => (self.revision, self.is_renewing) = (revision, false),
                Err(error) => tracing::debug!(%error, "the lease on a prefix was not renewed"),
            }
        }
    }

    /// Tells those who wait that the prefix is written. `left` is for them, and must not be empty; it stays for the time of a lease.
    pub async fn wrote(self, left: Bytes) -> Result<(), ClusterError> {
        // Written it is, even where the lease has gone to another meanwhile.
        let kept = self.cluster.flights().put(&self.key, left).await;
        kept.map(drop).map_err(|error| ClusterError::server("tell of a written prefix", error))
    }

    /// Lets another write it.
    pub async fn give_up(self) -> Result<(), ClusterError> {
        let failed = |error| ClusterError::server("give the lease on a prefix back", error);
        let mut revision = self.revision;
        if self.is_renewing {
            let entry = self.cluster.flights().entry(&self.key).await;
            let entry =
                entry.map_err(|error| ClusterError::server("read the lease on a prefix", error))?;
            revision = entry.map_or(revision, |entry| entry.revision);
        }
        let given = self.cluster.flights().delete_expect_revision(&self.key, Some(revision)).await;
        given.map_err(failed)
    }
}
