//! A run as it travels to another machine: a few names, numbers and hashes.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tine_fork::run::RunLimits;
use tine_guard::{PermissionMode, Rule, Rules};
use tine_model::{
    AgentId, Cap, Decision, Lifetime, NetworkReach, PermissionScope, Reach, RequestId, Usage,
    Writes,
};
use tine_nats::BlobHash;
use tine_nats::event::Tokens;
use tine_store::{CacheRow, EntryKind, NewEntry, PermissionRow, RequestRow, Rows};
use tine_wire::PortableMessage;

use crate::cache::LifetimeChoice;
use crate::crew::definition::AgentDefinition;
use crate::queue::QueuePolicy;
use crate::worktrees::PackedState;

/// The kind of tine's own runs among the jobs of a cluster.
pub(crate) const KIND: &str = "run";

/// A run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Work {
    /// The agent, whose id is the same everywhere.
    pub(crate) agent: AgentText,
    /// Rows that later forks of the conversation inherit as well, as blobs.
    pub(crate) inherited: Vec<BlobHash>,
    /// The rest of its rows.
    pub(crate) rest: RestRows,
    /// Its prompt, as a portable message; `None` to go on.
    pub(crate) prompt: Option<String>,
    /// Its own limits.
    pub(crate) limits: Limits,
    /// Rules and mode.
    pub(crate) permissions: AllowedCalls,
    /// The tools of the agent that it works as; `None` for all.
    pub(crate) tools: Option<OnlyTools>,
    /// The reach of its commands.
    pub(crate) reach: ReachText,
    /// The lifetime that is asked for its cache entries; `None` where that goes by its pauses.
    pub(crate) lifetime: Option<String>,
    /// The caps of its tree that are left.
    pub(crate) budget: Vec<(String, u64)>,
    /// The cache entries of its prefix that live, so that the worker knows of them.
    pub(crate) cache: Vec<CacheText>,
    /// The directory that it works in where it comes from.
    pub(crate) directory: PathBuf,
    /// The state of its files.
    pub(crate) files: Files,
}

/// An agent's id as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct AgentText(pub(crate) AgentId);

impl From<AgentText> for String {
    fn from(agent: AgentText) -> Self {
        agent.0.to_string()
    }
}

impl TryFrom<String> for AgentText {
    type Error = tine_model::IdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

/// The rows that no other fork has: in the job where they are few, else in a blob.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RestRows {
    Here(Rows),
    Blob(BlobHash),
}

/// A state of files: a bundle of git's, as a blob, and what it holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Files {
    pub(crate) bundle: BlobHash,
    pub(crate) state: PackedState,
    /// The state that it builds on; `None` for one that is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) behind: Option<Box<Files>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Limits {
    turns: u32,
    time_ms: Option<u64>,
    tokens: Option<u64>,
}

impl From<RunLimits> for Limits {
    fn from(limits: RunLimits) -> Self {
        let RunLimits { turns, time, tokens } = limits;
        let time_ms = time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        Self { turns, time_ms, tokens }
    }
}

impl From<Limits> for RunLimits {
    fn from(limits: Limits) -> Self {
        let Limits { turns, time_ms, tokens } = limits;
        Self { turns, time: time_ms.map(Duration::from_millis), tokens }
    }
}

/// Rules, mode and what becomes of questions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct AllowedCalls {
    pub(crate) mode: String,
    pub(crate) allow: Vec<String>,
    pub(crate) ask: Vec<String>,
    pub(crate) deny: Vec<String>,
    deadline_ms: u64,
    fallback: String,
    pub(crate) worktree_edits: bool,
}

impl AllowedCalls {
    pub(crate) fn new(
        mode: PermissionMode,
        rules: &Rules,
        queue: &QueuePolicy,
        worktree_edits: bool,
    ) -> Self {
        let texts = |rules: &[Rule]| rules.iter().map(Rule::to_string).collect();
        Self {
            mode: mode.to_string(),
            allow: texts(&rules.allow),
            ask: texts(&rules.ask),
            deny: texts(&rules.deny),
            deadline_ms: u64::try_from(queue.deadline.as_millis()).unwrap_or(u64::MAX),
            fallback: queue.fallback.as_str().to_owned(),
            worktree_edits,
        }
    }

    /// Questions wait for their answer, however it comes.
    pub(crate) fn queue(&self) -> QueuePolicy {
        QueuePolicy {
            deadline: Duration::from_millis(self.deadline_ms),
            fallback: Decision::from_name(&self.fallback).unwrap_or(Decision::Deny),
            wait: true,
        }
    }
}

/// The tools of a defined agent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct OnlyTools {
    name: String,
    tools: Option<Vec<String>>,
    disallowed: Vec<String>,
}

impl From<&AgentDefinition> for OnlyTools {
    fn from(definition: &AgentDefinition) -> Self {
        let AgentDefinition { name, tools, disallowed, .. } = definition.clone();
        Self { name, tools, disallowed }
    }
}

impl From<OnlyTools> for AgentDefinition {
    fn from(only: OnlyTools) -> Self {
        let OnlyTools { name, tools, disallowed } = only;
        Self {
            name,
            description: String::new(),
            prompt: String::new(),
            tools,
            disallowed,
            model: None,
            permission_mode: None,
            max_turns: None,
            origin: PathBuf::new(),
        }
    }
}

/// A reach in words.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ReachText {
    writes: String,
    writable: Vec<PathBuf>,
    network: Option<String>,
}

impl From<&Reach> for ReachText {
    fn from(reach: &Reach) -> Self {
        Self {
            writes: reach.as_str().to_owned(),
            writable: reach.writable.clone(),
            network: (!reach.network.is_none()).then(|| reach.network.to_string()),
        }
    }
}

impl ReachText {
    /// The reach; what cannot be read reaches nowhere.
    pub(crate) fn reach(&self) -> Reach {
        let network = self.network.as_deref().and_then(|text| text.parse().ok());
        Reach {
            writes: match self.writes.as_str() {
                "open" => Writes::Anywhere,
                "directory" => Writes::Directory,
                _ => Writes::Nowhere,
            },
            writable: self.writable.clone(),
            network: network.unwrap_or_else(NetworkReach::none),
        }
    }
}

/// The word of a lifetime.
pub(crate) fn lifetime_word(choice: LifetimeChoice) -> Option<String> {
    match choice {
        LifetimeChoice::Auto => None,
        LifetimeChoice::Fixed(lifetime) => Some(lifetime.as_str().to_owned()),
    }
}

/// A lifetime by its word.
pub(crate) fn lifetime_of(word: Option<&str>) -> LifetimeChoice {
    word.and_then(Lifetime::from_name).map_or(LifetimeChoice::Auto, LifetimeChoice::Fixed)
}

/// The caps that bound what a run may use.
pub(crate) const CAPS: [Cap; 2] = [Cap::Tokens, Cap::Money];

/// A live cache entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CacheText {
    scope: String,
    hash: String,
    tokens: u64,
    exact: bool,
    bytes: u64,
    lifetime: String,
    used_ms: i64,
}

impl From<&CacheRow> for CacheText {
    fn from(row: &CacheRow) -> Self {
        let hex = |bytes: [u8; 32]| blake3::Hash::from_bytes(bytes).to_hex().to_string();
        Self {
            scope: hex(row.scope),
            hash: hex(row.hash),
            tokens: row.tokens,
            exact: row.exact,
            bytes: row.bytes,
            lifetime: row.lifetime.as_str().to_owned(),
            used_ms: row.used_ms,
        }
    }
}

impl CacheText {
    /// The entry; `None` where it is none.
    pub(crate) fn row(&self) -> Option<CacheRow> {
        let bytes = |text: &str| blake3::Hash::from_hex(text).ok().map(|hash| *hash.as_bytes());
        Some(CacheRow {
            scope: bytes(&self.scope)?,
            hash: bytes(&self.hash)?,
            tokens: self.tokens,
            exact: self.exact,
            bytes: self.bytes,
            lifetime: Lifetime::from_name(&self.lifetime)?,
            used_ms: self.used_ms,
        })
    }
}

/// An answered request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RequestText {
    started_ms: i64,
    model: String,
    stop: Option<String>,
    prompt_bytes: Option<u64>,
    reply: Option<String>,
    verdict: Option<String>,
    note: Option<String>,
    micro_usd: Option<u64>,
    /// False where the provider reported no tokens at all.
    is_reported: bool,
    cache: Vec<CacheText>,
}

impl RequestText {
    pub(crate) fn new(row: &RequestRow, cache: &[CacheRow]) -> Self {
        let RequestRow { started_ms, model, stop, prompt_bytes, reply, verdict, note, .. } =
            row.clone();
        Self {
            started_ms,
            model,
            stop,
            prompt_bytes,
            reply,
            verdict,
            note,
            micro_usd: row.micro_usd,
            is_reported: row.usage.is_some(),
            cache: cache.iter().map(CacheText::from).collect(),
        }
    }

    /// The row of an agent's request, and the cache entries that it left.
    pub(crate) fn rows(
        self,
        (id, agent): (RequestId, AgentId),
        tokens: Tokens,
    ) -> (RequestRow, Vec<CacheRow>) {
        let Self { started_ms, model, stop, prompt_bytes, reply, verdict, note, micro_usd, .. } =
            self;
        let usage = self.is_reported.then(|| Usage::from(tokens));
        let cache = self.cache.iter().filter_map(CacheText::row).collect();
        let row = RequestRow {
            id,
            agent,
            started_ms,
            model,
            usage,
            stop,
            prompt_bytes,
            reply,
            verdict,
            note,
            micro_usd,
        };
        (row, cache)
    }
}

/// An entry of a log. The body stays the text that it is: what a provider has said is kept to the byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EntryText {
    kind: String,
    body: String,
    at_ms: i64,
    title: Option<String>,
}

impl From<&NewEntry> for EntryText {
    fn from(entry: &NewEntry) -> Self {
        let NewEntry { kind, body, at_ms, title } = entry.clone();
        Self { kind: kind.as_str().to_owned(), body, at_ms, title }
    }
}

impl EntryText {
    /// The entry; `None` for a kind that no run adds.
    pub(crate) fn entry(self) -> Option<NewEntry> {
        let Self { kind, body, at_ms, title } = self;
        let kind = EntryKind::from_name(&kind)
            .filter(|kind| matches!(kind, EntryKind::Message | EntryKind::Notice))?;
        Some(NewEntry { kind, body, at_ms, title })
    }

    /// The message that it is; `None` for other entries.
    pub(crate) fn message(&self) -> Option<tine_model::Message> {
        if self.kind != EntryKind::Message.as_str() {
            return None;
        }
        let message: PortableMessage<'_> = serde_json::from_str(&self.body).ok()?;
        Some(message.into_message())
    }
}

/// A question, with all that a person should know of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct QuestionText {
    pub(crate) input: String,
    pub(crate) directory: String,
    pub(crate) why: String,
    pub(crate) warning: Option<String>,
    pub(crate) rule: Option<String>,
    widest: String,
    pub(crate) wait_ms: i64,
    fallback: String,
}

impl QuestionText {
    pub(crate) fn new(row: &PermissionRow, now_ms: i64) -> Self {
        Self {
            input: row.input.clone(),
            directory: row.directory.clone(),
            why: row.why.clone(),
            warning: row.warning.clone(),
            rule: row.rule.clone(),
            widest: row.widest.as_str().to_owned(),
            wait_ms: row.deadline_ms.saturating_sub(now_ms),
            fallback: row.fallback.as_str().to_owned(),
        }
    }

    pub(crate) fn widest(&self) -> PermissionScope {
        PermissionScope::from_name(&self.widest).unwrap_or(PermissionScope::Once)
    }

    pub(crate) fn fallback(&self) -> Decision {
        Decision::from_name(&self.fallback).unwrap_or(Decision::Deny)
    }
}

/// The end of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EndText {
    pub(crate) turns: u32,
    pub(crate) tool_uses: u32,
    /// Why its last call was denied, where all were.
    pub(crate) denied: Option<String>,
    /// The cap that was used up, by its name.
    pub(crate) reached: Option<String>,
    /// Its work.
    pub(crate) files: Option<Files>,
}
