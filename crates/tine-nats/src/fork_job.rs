//! A fork as a job: what travels to its worker, and in which form.
//!
//! The inherited part lies on the server as a blob, the JSON of its [`CacheSafeParams`]. Messages travel as the JSON text of a
//! [`PortableMessage`] inside a string: within another JSON document, a provider's own words would be written anew.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tine_fork::message::{Message, PortableMessage};
use tine_fork::{CacheSafeParams, ForkOverrides, ForkParams, QuerySource};

use crate::blob::{BlobCache, BlobHash};
use crate::connect::Cluster;
use crate::error::ClusterError;

/// The [kind](crate::Job::kind) of jobs that are forks.
pub const FORK_JOBS: &str = "fork";

/// The word for a fork in errors.
const A_FORK: &str = "a fork";

/// The words by which a worker finds what cannot travel.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Names {
    /// Names the client that answers requests.
    pub client: String,
    /// Names the tools that answer calls.
    pub tools: String,
    /// Names the filter that refuses calls.
    pub filter: String,
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client, tools, filter } = self;
        write!(f, "the client `{client}`, the tools `{tools}` and the filter `{filter}`")
    }
}

/// The work of a job. What is not in it stays with the caller: its client, tools and filter, its observer, and its tokens.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ForkWork {
    pub(crate) names: Names,
    pub(crate) inherited: BlobHash,
    prompt: Prompt,
    pub(crate) parent: String,
    pub(crate) account: String,
    pub(crate) delegation_depth: u32,
    pub(crate) label: String,
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reminder: Option<String>,
    pub(crate) max_turns: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

/// The prompt's messages, in the job where they fit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Prompt {
    Messages(Vec<String>),
    Blob(BlobHash),
}

impl ForkWork {
    /// Uploads what a fork inherits, and makes its work.
    pub(crate) async fn upload(
        cluster: &Cluster,
        names: Names,
        params: &ForkParams,
    ) -> Result<Self, ClusterError> {
        let unreadable = |source| ClusterError::Unreadable { what: A_FORK, source };
        let inherited = serde_json::to_vec(&params.cache_safe).map_err(unreadable)?;
        let (inherited, _) = cluster.put(inherited.into()).await?;
        let messages = params.prompt_messages.iter().map(message_text);
        let messages = messages.collect::<Result<Vec<String>, _>>()?;
        let prompt = if messages.iter().map(String::len).sum::<usize>() > cluster.payload_max() / 4
        {
            let bytes = serde_json::to_vec(&messages).map_err(unreadable)?;
            Prompt::Blob(cluster.put(bytes.into()).await?.0)
        } else {
            Prompt::Messages(messages)
        };
        let ForkOverrides { agent_id, critical_reminder } =
            params.overrides.clone().unwrap_or_default();
        let timeout_ms =
            params.timeout.map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
        Ok(Self {
            names,
            inherited,
            prompt,
            parent: params.parent_ctx.agent.to_string(),
            account: params.parent_ctx.account.to_string(),
            delegation_depth: params.parent_ctx.delegation_depth,
            label: params.fork_label.clone(),
            source: params.query_source.as_str().to_owned(),
            agent: agent_id,
            reminder: critical_reminder,
            max_turns: params.max_turns,
            timeout_ms,
        })
    }

    /// Downloads what the fork inherits and is asked.
    pub(crate) async fn download(
        &self,
        cluster: &Cluster,
        cache: Option<&BlobCache>,
    ) -> Result<(CacheSafeParams, Vec<Message>), ClusterError> {
        let unreadable = |source| ClusterError::Unreadable { what: A_FORK, source };
        let inherited = get(cluster, cache, self.inherited).await?;
        let inherited = serde_json::from_slice(&inherited).map_err(unreadable)?;
        let texts = match &self.prompt {
            Prompt::Messages(texts) => texts.clone(),
            Prompt::Blob(blob) => {
                serde_json::from_slice(&get(cluster, cache, *blob).await?).map_err(unreadable)?
            }
        };
        let messages = texts.iter().map(|text| read_message(text));
        Ok((inherited, messages.collect::<Result<_, _>>()?))
    }

    pub(crate) fn overrides(&self) -> ForkOverrides {
        ForkOverrides { agent_id: self.agent.clone(), critical_reminder: self.reminder.clone() }
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    /// The purpose of the fork. A word of the caller's own is none that a worker can have: its result carries the caller's again.
    pub(crate) fn source(&self) -> QuerySource {
        let known = [
            QuerySource::AutoDream,
            QuerySource::AwayDigest,
            QuerySource::SessionMemory,
            QuerySource::Speculation,
            QuerySource::Eval,
            QuerySource::Delegation,
        ];
        let found = known.into_iter().find(|source| source.as_str() == self.source);
        found.unwrap_or(QuerySource::Custom("remote"))
    }
}

async fn get(
    cluster: &Cluster,
    cache: Option<&BlobCache>,
    blob: BlobHash,
) -> Result<Bytes, ClusterError> {
    match cache {
        Some(cache) => cache.get(cluster, blob).await,
        None => cluster.get(blob).await,
    }
}

/// A message as it travels.
pub(crate) fn message_text(message: &Message) -> Result<String, ClusterError> {
    serde_json::to_string(&PortableMessage::from(message))
        .map_err(|source| ClusterError::Unreadable { what: "a message", source })
}

/// The message of [`message_text`].
pub(crate) fn read_message(text: &str) -> Result<Message, ClusterError> {
    serde_json::from_str(text)
        .map(PortableMessage::into_message)
        .map_err(|source| ClusterError::Unreadable { what: "a message", source })
}
