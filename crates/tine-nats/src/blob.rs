//! Blobs: bytes under their hash, uploaded once, however many jobs name them.
//!
//! A blob lies on the server in parts that fit its messages, and a last message that says how many there are: without it there is no
//! blob. Each part is put where none is, so that two who upload the same at once leave one copy. (The client's own object store is not
//! used: it uploads again what is there, and an upload that is cut short leaves its chunks for ever.)

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use bytes::Bytes;
use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::connect::{Cluster, KEPT};
use crate::error::ClusterError;
use crate::patience::patiently;

/// Bytes of a part: fits the messages of a server with its default settings (1 MiB).
const PART_BYTES: usize = 512 * 1024;

/// Most parts of a blob: as much as the whole stream holds.
const PARTS_MAX: usize = 8 * 1024;

/// A file that was written for longer was left by a process that died.
const HALF_AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// Parts that are on their way at the same time.
const PARTS_AT_ONCE: usize = 16;

/// The identity of a blob: BLAKE3 of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobHash([u8; 32]);

impl BlobHash {
    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl fmt::Display for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl From<BlobHash> for String {
    fn from(hash: BlobHash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for BlobHash {
    type Error = blake3::HexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for BlobHash {
    type Err = blake3::HexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(*blake3::Hash::from_hex(text)?.as_bytes()))
    }
}

/// The last message of a blob.
#[derive(Serialize, Deserialize)]
struct Label {
    bytes: usize,
    parts: usize,
    /// The lowest of the server's numbers of the parts: the server lets its oldest messages go first, and so parts before their label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<u64>,
}

impl Cluster {
    /// Uploads a blob, unless it is there and stays for a while. Returns its hash and the number of bytes that were sent.
    pub async fn put(&self, blob: Bytes) -> Result<(BlobHash, usize), ClusterError> {
        let hash = BlobHash::of(&blob);
        if self.has_whole(hash).await? {
            return Ok((hash, 0));
        }
        let size = PART_BYTES.min(self.payload_max());
        let parts: Vec<Bytes> = blob.chunks(size).map(|part| blob.slice_ref(part)).collect();
        let mut first = None;
        for (batch, some) in parts.chunks(PARTS_AT_ONCE).enumerate() {
            let puts = some.iter().enumerate().map(|(index, part)| {
                self.put_part(format!("{hash}.{}", batch * PARTS_AT_ONCE + index), part.clone())
            });
            first = first.into_iter().chain(try_join_all(puts).await?).min();
        }
        let label = Label { bytes: blob.len(), parts: parts.len(), first };
        let label = serde_json::to_vec(&label)
            .map_err(|source| ClusterError::Unreadable { what: "a blob", source })?;
        self.put_part(hash.to_string(), label.into()).await?;
        Ok((hash, blob.len()))
    }

    /// Downloads a blob; its bytes are checked.
    pub async fn get(&self, hash: BlobHash) -> Result<Bytes, ClusterError> {
        let label = self.label(hash).await?.ok_or(ClusterError::Gone(hash))?;
        let label: Label = serde_json::from_slice(&label.payload)
            .map_err(|source| ClusterError::Unreadable { what: "a blob", source })?;
        if label.parts > PARTS_MAX {
            return Err(ClusterError::Corrupt(hash));
        }
        let mut blob = Vec::new();
        let indices: Vec<usize> = (0..label.parts).collect();
        for some in indices.chunks(PARTS_AT_ONCE) {
            let parts = some.iter().map(|index| self.message(format!("{hash}.{index}")));
            for part in try_join_all(parts).await? {
                blob.extend_from_slice(&part.ok_or(ClusterError::Gone(hash))?.payload);
            }
        }
        if BlobHash::of(&blob) != hash {
            return Err(ClusterError::Corrupt(hash));
        }
        Ok(blob.into())
    }

    /// Leaves small bytes under a name; those that were left there before are gone. The name is a hash.
    pub async fn note(&self, name: BlobHash, bytes: Bytes) -> Result<(), ClusterError> {
        let failed = |error| ClusterError::server("keep a note", error);
        patiently(|| async {
            let message = PublishMessage::build().payload(bytes.clone());
            let subject = format!("agent.blob.{}", note_of(name));
            let sent = self.context().send_publish(subject, message).await.map_err(failed)?;
            sent.await.map(drop).map_err(failed)
        })
        .await
    }

    /// The bytes that were left last under a name.
    pub async fn noted(&self, name: BlobHash) -> Result<Option<Bytes>, ClusterError> {
        Ok(self.message(note_of(name)).await?.map(|message| message.payload))
    }

    /// Returns true for a blob whose parts are all there, and stay for a while.
    pub async fn has_whole(&self, hash: BlobHash) -> Result<bool, ClusterError> {
        let Some(found) = self.label(hash).await?.filter(is_young) else { return Ok(false) };
        // A label that cannot be read is written again.
        let Ok(label) = serde_json::from_slice::<Label>(&found.payload) else { return Ok(false) };
        let Some(first) = label.first else { return Ok(label.parts == 0) };
        let info = patiently(|| async {
            let info = self.blobs().get_info().await;
            info.map_err(|error| ClusterError::server("tell of its blobs", error))
        })
        .await?;
        Ok(info.state.first_sequence <= first)
    }

    /// The server's time at which a blob was whole.
    pub(crate) async fn stored_at(&self, hash: BlobHash) -> Result<SystemTime, ClusterError> {
        Ok(self.label(hash).await?.ok_or(ClusterError::Gone(hash))?.time.into())
    }

    /// Removes a blob of one part.
    pub(crate) async fn forget(&self, hash: BlobHash) -> Result<(), ClusterError> {
        let failed = |error| ClusterError::server("remove a blob", error);
        for name in [hash.to_string(), format!("{hash}.0")] {
            let purge = self.blobs().purge().filter(format!("agent.blob.{name}"));
            purge.await.map_err(failed)?;
        }
        Ok(())
    }

    async fn label(&self, hash: BlobHash) -> Result<Option<StreamMessage>, ClusterError> {
        self.message(hash.to_string()).await
    }

    async fn message(&self, name: String) -> Result<Option<StreamMessage>, ClusterError> {
        let subject = format!("agent.blob.{name}");
        patiently(|| async {
            match self.blobs().get_last_raw_message_by_subject(&subject).await {
                Ok(message) => Ok(Some(message)),
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
                Err(error) => Err(ClusterError::server("read a blob", error)),
            }
        })
        .await
    }

    /// Puts a part where none is, or where there is one that is about to go or is another. Returns the server's number of it.
    async fn put_part(&self, name: String, part: Bytes) -> Result<u64, ClusterError> {
        patiently(|| self.try_put_part(name.clone(), part.clone())).await
    }

    async fn try_put_part(&self, name: String, part: Bytes) -> Result<u64, ClusterError> {
        let subject = format!("agent.blob.{name}");
        let failed = |error| ClusterError::server("keep a blob", error);
        let absent =
            PublishMessage::build().payload(part.clone()).expected_last_subject_sequence(0);
        let sent = self.context().send_publish(subject.clone(), absent).await.map_err(failed)?;
        match sent.await {
            Ok(acked) => return Ok(acked.sequence),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {}
            Err(error) => return Err(failed(error)),
        }
        if let Some(found) = self.message(name).await?
            && is_young(&found)
            && found.payload == part
        {
            return Ok(found.sequence);
        }
        let again = PublishMessage::build().payload(part);
        let sent = self.context().send_publish(subject, again).await.map_err(failed)?;
        sent.await.map(|acked| acked.sequence).map_err(failed)
    }
}

/// The end of the subject of a note.
fn note_of(name: BlobHash) -> String {
    format!("note.{name}")
}

/// Returns true where a message stays for at least half of the time that the server keeps things.
fn is_young(message: &StreamMessage) -> bool {
    let sent: SystemTime = message.time.into();
    sent.elapsed().is_ok_and(|age| age < KEPT / 2)
}

/// Blobs that this machine has had, in a directory; those used least recently go where they are too many.
#[derive(Debug, Clone)]
pub struct BlobCache {
    directory: PathBuf,
    bytes_max: u64,
    /// Forks of one parent want the same at once: the first fetches it.
    fetching: Arc<Mutex<()>>,
}

impl BlobCache {
    /// A cache in this directory, which is made, of at most so many bytes.
    pub fn new(directory: impl Into<PathBuf>, bytes_max: u64) -> Self {
        Self { directory: directory.into(), bytes_max, fetching: Arc::default() }
    }

    /// A blob from here, or else from the server.
    pub async fn get(&self, cluster: &Cluster, hash: BlobHash) -> Result<Bytes, ClusterError> {
        let path = self.directory.join(hash.to_string());
        let _fetching = self.fetching.lock().await;
        if let Ok(found) = tokio::fs::read(&path).await
            && BlobHash::of(&found) == hash
        {
            touch(&path);
            return Ok(found.into());
        }
        let blob = cluster.get(hash).await?;
        tokio::fs::create_dir_all(&self.directory).await?;
        self.make_room(blob.len() as u64)?;
        // Under a name of its own first: who reads the other one finds a whole blob.
        static FETCHED: AtomicU64 = AtomicU64::new(0);
        let number = FETCHED.fetch_add(1, Ordering::Relaxed);
        let half = path.with_extension(format!("{}-{number}", std::process::id()));
        tokio::fs::write(&half, &blob).await?;
        tokio::fs::rename(&half, &path).await?;
        Ok(blob)
    }

    /// Lets blobs go until there is room for so many bytes more.
    fn make_room(&self, wanted: u64) -> Result<(), ClusterError> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.directory)?.flatten() {
            let Ok(facts) = entry.metadata() else { continue };
            let used = facts.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            // Another process may be writing it.
            let is_half = entry.path().extension().is_some();
            if is_half && used.elapsed().is_ok_and(|age| age < HALF_AGE_MAX) {
                continue;
            }
            found.push((used, facts.len(), entry.path()));
        }
        found.sort();
        let mut total = wanted + found.iter().map(|(_, bytes, _)| bytes).sum::<u64>();
        for (_, bytes, path) in found {
            if total <= self.bytes_max {
                break;
            }
            // What another process removes at the same time is gone as well.
            let _ = std::fs::remove_file(path);
            total -= bytes;
        }
        Ok(())
    }
}

/// Notes that a file was used.
fn touch(path: &Path) {
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.set_modified(now());
    }
}

/// The machine's time, for files and for a look at its clock.
#[expect(clippy::disallowed_methods, reason = "files have the machine's time")]
pub(crate) fn now() -> SystemTime {
    SystemTime::now()
}
