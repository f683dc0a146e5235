//! Files on their way between git and the cluster.

use std::path::{Path, PathBuf};

use tine_nats::{BlobHash, Cluster, ClusterError};

use crate::error::RuntimeError;

/// A folder that goes with this.
pub(super) struct Scratch(tempfile::TempDir);

impl Scratch {
    /// In the system's folder for such files.
    pub(super) fn new() -> Result<Self, RuntimeError> {
        Self::made(tempfile::tempdir())
    }

    /// In another folder, which is made.
    pub(super) fn within(folder: &Path) -> Result<Self, RuntimeError> {
        let made = std::fs::create_dir_all(folder);
        Self::made(made.and_then(|()| tempfile::tempdir_in(folder)))
    }

    fn made(made: std::io::Result<tempfile::TempDir>) -> Result<Self, RuntimeError> {
        Ok(Self(made.map_err(ClusterError::Cache)?))
    }

    /// The path of a file in it.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Uploads a file of it.
    pub(super) async fn upload(
        &self,
        name: &str,
        cluster: &Cluster,
    ) -> Result<BlobHash, RuntimeError> {
        let bytes = tokio::fs::read(self.file(name)).await.map_err(ClusterError::Cache)?;
        Ok(cluster.put(bytes.into()).await?.0)
    }

    /// Downloads a blob into a file of it.
    pub(super) async fn download(
        &self,
        name: &str,
        cluster: &Cluster,
        blob: BlobHash,
    ) -> Result<PathBuf, RuntimeError> {
        let bytes = cluster.get(blob).await?;
        let path = self.file(name);
        tokio::fs::write(&path, &bytes).await.map_err(ClusterError::Cache)?;
        Ok(path)
    }
}
