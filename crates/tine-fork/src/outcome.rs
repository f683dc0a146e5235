//! What became of a fork.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tine_cache::Judgement;
use tine_model::{Message, Outcome, Spent, Usage};
use tine_wire::HeadPartsError;
use uuid::Uuid;

use crate::params::QuerySource;
use crate::run::{RunError, RunReport};

/// One fork, from its beginning to its end. Random (v4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ForkRunId(Uuid);

impl ForkRunId {
    /// Makes an id of 16 random bytes; version and variant bits are set here.
    pub fn from_random(bytes: [u8; 16]) -> Self {
        Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
    }

    /// The 16 bytes.
    pub fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl From<ForkRunId> for String {
    fn from(id: ForkRunId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for ForkRunId {
    type Error = uuid::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for ForkRunId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(Uuid::try_parse(text)?))
    }
}

impl fmt::Display for ForkRunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// A fork that has ended, whichever way: partial work is part of every outcome.
#[derive(Debug)]
pub struct ForkResult {
    /// Which fork.
    pub run_id: ForkRunId,
    /// Who it was, for tools and events.
    pub agent: Arc<str>,
    /// What it was called.
    pub label: String,
    /// What it was for.
    pub source: QuerySource,
    /// How it ended.
    pub outcome: Outcome,
    /// Its own messages, in order: the prompt, the replies, the results of tools. Nothing that it inherited.
    pub messages: Vec<Arc<Message>>,
    /// Its last own words, if it said any. Never the parent's.
    pub final_text: Option<String>,
    /// Tokens of all its requests; cache reads and writes are counts of their own.
    pub usage: Usage,
    /// Each answered request, in order. The first says what the inherited prefix cost.
    pub requests: Vec<Spent>,
    /// What the cache served of the first request, against what it should have; `None` when none was answered.
    pub cache: Option<Judgement>,
    /// What its requests cost in USD; `None` for a model without a known price.
    pub cost_usd: Option<f64>,
    /// Answered requests.
    pub turns: u32,
    /// Tool calls that it made.
    pub tool_uses: u32,
    /// From its start to its end.
    pub duration: Duration,
    /// The error behind [`Outcome::Failed`].
    pub error: Option<RunError>,
}

/// Which fork it was, before there is a result.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) run_id: ForkRunId,
    pub(crate) agent: Arc<str>,
    pub(crate) label: String,
    pub(crate) source: QuerySource,
}

impl ForkResult {
    pub(crate) fn new(identity: Identity, report: RunReport) -> Self {
        let Identity { run_id, agent, label, source } = identity;
        let final_text = report.final_text();
        let RunReport { outcome, messages, usage, requests, turns, tool_uses, error, .. } = report;
        Self {
            run_id,
            agent,
            label,
            source,
            outcome,
            messages,
            final_text,
            usage,
            requests,
            cache: None,
            cost_usd: None,
            turns,
            tool_uses,
            duration: Duration::ZERO,
            error,
        }
    }

    /// Whether the model ended its turn by itself.
    pub fn is_completed(&self) -> bool {
        self.outcome == Outcome::Completed
    }

    /// The final text of a completed fork; of any other one, the result as an error.
    pub fn into_text(self) -> Result<String, ForkError> {
        match self.outcome {
            Outcome::Completed => Ok(self.final_text.unwrap_or_default()),
            _ => Err(ForkError::Incomplete(Box::new(self))),
        }
    }
}

/// Why there is no result, or not the one that was wanted. What goes wrong while a fork runs is an [`Outcome`] instead.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The conversation would end with the model's own words.
    #[error("there is nothing to answer: the last message is not the user's")]
    NothingToAnswer,
    /// What is inherited makes no request, or not the one that was meant.
    #[error("the inherited settings cannot be sent: {0}")]
    Settings(#[from] HeadPartsError),
    /// A fan-out of nobody.
    #[error("there are no siblings to fan out to")]
    NoSiblings,
    /// More siblings than a fan-out may have.
    #[error("{asked} siblings are too many: a fan-out has at most {most}")]
    TooMany {
        /// How many were asked for.
        asked: usize,
        /// [`SIBLINGS_MAX`](crate::SIBLINGS_MAX).
        most: usize,
    },
    /// The rows of the fork could not be written. Nothing was started.
    #[error("the fork could not be registered")]
    Registry(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Somebody took the completion before ([`ForkHandle::take_completion`](crate::ForkHandle::take_completion)): the end is
    /// theirs.
    #[error("the fork's completion was taken before")]
    Taken,
    /// The runtime on which the fork ran was shut down under it.
    #[error("the fork was lost: its runtime was shut down")]
    Lost,
    /// It ended in another way than by being done; what it did is inside.
    #[error("the fork did not complete: {}", in_words(&.0.outcome))]
    Incomplete(Box<ForkResult>),
}

/// The outcome as a person would say it.
pub(crate) fn in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Failed(why) => why.clone(),
        other => other.as_str().replace('_', " "),
    }
}
