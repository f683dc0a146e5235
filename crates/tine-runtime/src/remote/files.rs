//! The files of a run on their way: a repository is uploaded whole once, and then what is new since.

use std::path::Path;

use tine_model::AgentId;
use tine_nats::{BlobHash, Cluster};

use super::Elsewhere;
use super::job::{Files, Work};
use super::scratch::Scratch;
use super::worker::RemoteWorker;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// Bytes of what is new that are no reason to upload the whole again.
const NEW_BYTES: u64 = 64 * 1024;

/// The share of the whole that what is new may have, as its divisor.
const NEW_SHARE: u64 = 4;

impl Runtime {
    /// Uploads the state of an agent's worktree: what is new since its repository was uploaded whole, or the whole.
    pub(super) async fn pack_files(
        &self,
        agent: AgentId,
        elsewhere: &Elsewhere,
    ) -> Result<Files, RuntimeError> {
        let cluster = &elsewhere.cluster;
        let repository = self.store().worktree(agent).await?.map(|record| record.repository);
        let name = format!("{}\n{}", elsewhere.machine, repository.unwrap_or_default());
        let name = BlobHash::of(name.as_bytes());
        if let Some(files) = self.pack_new(agent, cluster, name).await? {
            return Ok(files);
        }
        let _alone = elsewhere.whole.lock().await;
        if let Some(files) = self.pack_new(agent, cluster, name).await? {
            return Ok(files);
        }
        let folder = Scratch::new()?;
        let state = self.pack_worktree(agent, &folder.file("state.bundle"), &[]).await?;
        let bundle = folder.upload("state.bundle", cluster).await?;
        let files = Files { bundle, state, behind: None };
        let note = serde_json::to_vec(&files).map_err(RuntimeError::RemoteForm)?;
        cluster.note(name, note.into()).await?;
        Ok(files)
    }

    /// Uploads what is new since the state that is noted; `None` where there is none that helps.
    async fn pack_new(
        &self,
        agent: AgentId,
        cluster: &Cluster,
        name: BlobHash,
    ) -> Result<Option<Files>, RuntimeError> {
        let Some(note) = cluster.noted(name).await? else { return Ok(None) };
        // One of another version is written again.
        let Ok(whole) = serde_json::from_slice::<Files>(&note) else { return Ok(None) };
        if !cluster.has_whole(whole.bundle).await? {
            return Ok(None);
        }
        let folder = Scratch::new()?;
        let has = std::slice::from_ref(&whole.state.carrier);
        let packed = self.pack_worktree(agent, &folder.file("state.bundle"), has).await;
        // Git may have thrown away a part of it here. Where it is something else, the whole says so.
        let Ok(state) = packed else { return Ok(None) };
        let most = NEW_BYTES.max(whole.state.bytes / NEW_SHARE);
        if state.project != whole.state.project || state.bytes > most {
            return Ok(None);
        }
        let bundle = folder.upload("state.bundle", cluster).await?;
        Ok(Some(Files { bundle, state, behind: Some(Box::new(whole)) }))
    }
}

impl RemoteWorker {
    /// Makes the worktree that the run works in.
    pub(super) async fn unpack(
        &self,
        runtime: &Runtime,
        work: &Work,
        scratch: &Path,
    ) -> Result<(), RuntimeError> {
        let Files { bundle, state, behind } = &work.files;
        let (agent, projects) = (work.agent.0, self.projects());
        let folder = Scratch::within(scratch)?;
        if let Some(whole) = behind {
            // Of many runs at the same time, one fetches it.
            let _alone = self.fetching.lock().await;
            let here = runtime.cached_commits(&projects, &whole.state.project).await?;
            if !here.contains(&whole.state.carrier) {
                let bundle = folder.download("whole.bundle", &self.cluster, whole.bundle).await?;
                runtime.unpack_whole(agent, &bundle, &whole.state, &projects).await?;
            }
        }
        let bundle = folder.download("state.bundle", &self.cluster, *bundle).await?;
        runtime.unpack_worktree(agent, &bundle, state, &projects).await
    }

    /// Uploads what the worktree holds now.
    pub(super) async fn pack(
        &self,
        runtime: &Runtime,
        work: &Work,
        scratch: &Path,
    ) -> Result<Files, RuntimeError> {
        let folder = Scratch::within(scratch)?;
        let into = folder.file("work.bundle");
        let state = runtime.pack_work(work.agent.0, &into, &work.files.state).await?;
        let bundle = folder.upload("work.bundle", &self.cluster).await?;
        Ok(Files { bundle, state, behind: None })
    }
}
