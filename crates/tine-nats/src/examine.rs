//! A look at all that forks on other machines need of the servers.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::time::Instant;

use crate::blob::now;
use crate::connect::Cluster;
use crate::error::ClusterError;
use crate::presence::Status;

/// Bytes of the blob that is uploaded and read back.
const PROBE_BYTES: usize = 64 * 1024;

/// The servers, looked at as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    /// The cluster as it is now.
    pub status: Status,
    /// True where a server asks who connects.
    pub has_login: bool,
    /// True where the connection is encrypted.
    pub is_encrypted: bool,
    /// The name that servers have in common; `None` for a single one.
    pub name: Option<String>,
    /// Most bytes of one message.
    pub payload_bytes_max: usize,
    /// Most bytes that the account may keep on disk; `None` without such a limit.
    pub storage_bytes_max: Option<u64>,
    /// The lease with which the servers were set up first, and which they keep.
    pub lease: Duration,
    /// Jobs of the kind that wait for a worker or are held by one, by label; those without one under [`ANY`](crate::ANY).
    pub waiting: BTreeMap<String, u64>,
    /// Time in which a small question was answered.
    pub answered_in: Duration,
    /// Time in which a new blob of 64 KiB was uploaded and read back.
    pub blob_in: Duration,
    /// Time by which the server's clock and this machine's differ, beyond what such a look can tell.
    pub clocks_apart: Duration,
}

impl Cluster {
    /// Looks at all that forks need, and uploads a blob and reads it back. Counts the jobs of this kind.
    pub async fn examine(&self, kind: &str) -> Result<Examination, ClusterError> {
        let asked = Instant::now();
        let storage_bytes_max = self.storage_bytes_max().await?;
        let answered_in = asked.elapsed();
        let (blob_in, clocks_apart) = self.probe().await?;
        let info = self.client().server_info();
        let settings = self.settings();
        Ok(Examination {
            status: self.status().await?,
            has_login: info.auth_required,
            is_encrypted: info.tls_required
                || settings.ca.is_some()
                || settings.addresses().all(|address| address.starts_with("tls://")),
            name: info.cluster,
            payload_bytes_max: info.max_payload,
            storage_bytes_max,
            lease: self.lease(),
            waiting: self.waiting(kind).await?,
            answered_in,
            blob_in,
            clocks_apart,
        })
    }

    /// The limit of the account on disk. Not by the client's own question, which cannot read what servers before 2.10 answer.
    async fn storage_bytes_max(&self) -> Result<Option<u64>, ClusterError> {
        let told = self.client().request("$JS.API.INFO", Bytes::new()).await;
        let told = told.map_err(|error| ClusterError::server("tell of its limits", error))?;
        let told: Value = serde_json::from_slice(&told.payload).map_err(|source| {
            ClusterError::Unreadable { what: "the limits of the account", source }
        })?;
        // -1 is none.
        Ok(told["limits"]["max_storage"].as_u64())
    }

    /// Uploads a new blob and reads it back. Returns the time that it took, and that by which the clocks differ.
    async fn probe(&self) -> Result<(Duration, Duration), ClusterError> {
        let before = now();
        let begun = Instant::now();
        // A blob that is there is not uploaded: the time makes it a new one.
        let salt = before.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let blob: Vec<u8> = salt.to_le_bytes().into_iter().cycle().take(PROBE_BYTES).collect();
        let (hash, _) = self.put(Bytes::from(blob)).await?;
        let after = now();
        self.get(hash).await?;
        let blob_in = begun.elapsed();
        let stored = self.stored_at(hash).await?;
        self.forget(hash).await?;
        let ahead = stored.duration_since(after).unwrap_or_default();
        let behind = before.duration_since(stored).unwrap_or_default();
        Ok((blob_in, ahead.max(behind)))
    }

    /// The jobs of a kind, by label.
    async fn waiting(&self, kind: &str) -> Result<BTreeMap<String, u64>, ClusterError> {
        let prefix = format!("agent.job.{kind}.");
        let failed = |error| ClusterError::server("count its jobs", error);
        let mut subjects =
            self.jobs().info_with_subjects(format!("{prefix}>")).await.map_err(failed)?;
        let mut waiting = BTreeMap::new();
        while let Some(found) = subjects.next().await {
            let (subject, count) = found.map_err(failed)?;
            if let Some(label) = subject.strip_prefix(&prefix) {
                waiting.insert(label.to_owned(), count as u64);
            }
        }
        Ok(waiting)
    }
}
