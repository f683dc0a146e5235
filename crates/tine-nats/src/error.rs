//! Errors of a cluster.

use std::path::PathBuf;

use async_nats::jetstream::context::{CreateStreamError, CreateStreamErrorKind};

use crate::blob::BlobHash;

/// The codes of a server that has no JetStream: for this user, or at all.
const NO_JETSTREAM: [u64; 2] = [10_039, 10_076];

/// The cause of a failure between this process and the servers.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The address is none.
    #[error("`{url}` is not an address of a NATS server, such as nats://host:4222")]
    Url {
        /// The address.
        url: String,
        /// The parser's error.
        source: std::io::Error,
    },
    /// A file with credentials or certificates cannot be read.
    #[error("cannot read `{}`", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Nobody answers there.
    #[error("no NATS server answers at {url}")]
    Unreachable {
        /// The addresses, without secrets.
        url: String,
        /// The client's error.
        source: async_nats::ConnectError,
    },
    /// The server refuses this user.
    #[error("the NATS server at {url} refuses these credentials")]
    Refused {
        /// The addresses, without secrets.
        url: String,
        /// The client's error.
        source: async_nats::ConnectError,
    },
    /// The server has no JetStream, or none for this user.
    #[error("the NATS server runs without JetStream")]
    NoJetStream(#[source] CreateStreamError),
    /// The server did not do what it was asked for.
    #[error("the NATS server could not {what}")]
    Server {
        /// The request, as an infinitive.
        what: String,
        /// The client's error.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server keeps this no longer: its limits of age and size let the oldest go first.
    #[error("the NATS server does not have {0}: it keeps things for {days} days at most, and the oldest go first", days = crate::connect::KEPT.as_secs() / 86_400)]
    Gone(BlobHash),
    /// Something else is on the server under a hash than it says.
    #[error("what the NATS server has as {0} is something else")]
    Corrupt(BlobHash),
    /// A word that is no label, or no kind of work.
    #[error("`{0}` is no label: one has small letters, digits, `-` and `_`, 40 at most")]
    Label(String),
    /// Another worker has the run now: nothing that this one writes counts any more.
    #[error("another worker has this run now")]
    Fenced,
    /// The servers have lost what they kept of a run.
    #[error("the servers know nothing more of this run: they have lost what they kept of it")]
    Forgotten,
    /// The run has ended: there is nothing to do.
    #[error("this run has ended")]
    Ended,
    /// A message that is none of tine's, or of a newer version.
    #[error("cannot read {what}")]
    Unreadable {
        /// The kind of message.
        what: &'static str,
        /// The parser's error.
        source: serde_json::Error,
    },
    /// The worker's cache of blobs cannot be written or read.
    #[error("cannot use the cache of blobs")]
    Cache(#[from] std::io::Error),
}

impl ClusterError {
    /// The server could not do `what`.
    pub(crate) fn server(
        what: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Server { what: what.into(), source: source.into() }
    }

    pub(crate) fn stream(name: String, source: CreateStreamError) -> Self {
        match source.kind() {
            CreateStreamErrorKind::JetStreamUnavailable => Self::NoJetStream(source),
            CreateStreamErrorKind::JetStream(error)
                if NO_JETSTREAM.contains(&error.error_code().0) =>
            {
                Self::NoJetStream(source)
            }
            _ => Self::server(format!("make the stream {name}"), source),
        }
    }
}
