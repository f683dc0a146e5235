//! Workers, as the cluster knows them, and what waits for them.

use async_nats::jetstream::stream::Stream;
use bytes::Bytes;
use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};

use crate::connect::Cluster;
use crate::error::ClusterError;

/// A worker that was heard of within the time of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Present {
    /// Its name.
    pub worker: String,
    /// Its labels.
    pub labels: Vec<String>,
    /// Most runs that it has at the same time.
    pub jobs: usize,
    /// Runs that it has now.
    pub running: Vec<String>,
    /// Its version.
    pub version: String,
}

/// The cluster as it is now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// The version of the server that answered.
    pub server: String,
    /// Jobs that wait for a worker, or are held by one.
    pub jobs: u64,
    /// Bytes of the streams of events and orders.
    pub event_bytes: u64,
    /// Bytes of prefixes and states of files.
    pub blob_bytes: u64,
    /// Servers that keep a copy of each stream.
    pub replicas: usize,
    /// The workers, by name.
    pub workers: Vec<Present>,
}

impl Cluster {
    /// Says that a worker is there; to be said again within the time of a lease.
    pub async fn tell_presence(&self, present: &Present) -> Result<(), ClusterError> {
        let bytes = serde_json::to_vec(present)
            .map_err(|source| ClusterError::Unreadable { what: "a worker", source })?;
        let kept = self.workers().put(&present.worker, Bytes::from(bytes)).await;
        kept.map(drop).map_err(|error| ClusterError::server("note a worker", error))
    }

    /// Says that a worker is gone.
    pub async fn leave(&self, worker: &str) -> Result<(), ClusterError> {
        let gone = self.workers().delete(worker).await;
        gone.map_err(|error| ClusterError::server("note that a worker is gone", error))
    }

    /// The workers that were heard of lately, by name.
    pub async fn present(&self) -> Result<Vec<Present>, ClusterError> {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            ClusterError::server("name the workers", error)
        };
        let mut keys = self.workers().keys().await.map_err(|error| failed(error.into()))?;
        let mut found = Vec::new();
        while let Some(key) = keys.next().await {
            let key = key.map_err(|error| failed(error.into()))?;
            let value = self.workers().get(&key).await.map_err(|error| failed(error.into()))?;
            found.extend(value.and_then(|value| serde_json::from_slice::<Present>(&value).ok()));
        }
        found.sort_by(|a, b| a.worker.cmp(&b.worker));
        Ok(found)
    }

    /// The cluster as it is now.
    pub async fn status(&self) -> Result<Status, ClusterError> {
        let info = async |stream: &Stream| {
            let info = stream.get_info().await;
            info.map_err(|error| ClusterError::server("tell of its streams", error))
        };
        let (jobs, forks, blobs) =
            tokio::try_join!(info(self.jobs()), info(self.forks()), info(self.blobs()))?;
        Ok(Status {
            server: self.server_version(),
            jobs: jobs.state.messages,
            event_bytes: forks.state.bytes,
            blob_bytes: blobs.state.bytes,
            replicas: jobs.config.num_replicas,
            workers: self.present().await?,
        })
    }
}
