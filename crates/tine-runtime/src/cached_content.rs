//! A prefix that the provider holds under a name for the workers of one fan, and that is gone when they are done: Gemini's
//! explicit cached contents.
//!
//! Made when [`tine_cache::pays_explicit`] says so, because the provider's own cache promises nothing. It costs one prompt at
//! the price of input and storage for as long as it exists, so it is deleted on every path: when the fan has ended however it
//! ended, and by a task of its own when the fan's future is dropped. What a crash leaves behind is gone with its lifetime.
//! Nothing here fails a fan: without the resource the workers send everything, as ever.

use std::sync::Arc;
use std::time::Duration;

use tine_cache::{Facts, Situation, pays_explicit};
use tine_fork::run::{Conversation, Held, ToHold};
use tine_llm::LlmClient;
use tine_model::{AgentId, AgentRecord, RequestId, Spent, Usage};
use tine_store::RequestRow;
use tine_wire::{CachedPrefix, read_cached_content};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::budget::micro_usd;
use crate::cache_note::CacheNote;
use crate::runtime::Runtime;
use crate::stop_words;

/// Requests that a worker is expected to make: it looks, acts, and reports.
const EXPECTED_TURNS: u32 = 3;

/// How long the provider keeps a resource that nobody deletes: its own default, and longer than nearly all fans.
const TTL_SECONDS: u64 = 60 * 60;

/// Longest wait for a resource to be made; the workers wait with it.
const MAKING_MAX: Duration = Duration::from_secs(60);

/// Longest wait for a resource to be deleted; the fan's report waits with it.
const DELETING_MAX: Duration = Duration::from_secs(10);

const HOUR_MS: f64 = 3_600_000.0;

/// What a provider's resource cost. In reports.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldCost {
    /// The provider's name for it, `cachedContents/…`.
    pub name: String,
    /// Tokens that it held; `None` when the provider did not say.
    pub tokens: Option<u64>,
    /// How long it existed, in milliseconds.
    pub held_ms: i64,
    /// What making it cost, in USD; `None` without a price.
    pub creation: Option<f64>,
    /// What keeping it cost, in USD; `None` without a price.
    pub storage: Option<f64>,
}

impl HeldCost {
    /// Both together, as far as they are known.
    pub fn dollars(&self) -> f64 {
        self.creation.unwrap_or(0.0) + self.storage.unwrap_or(0.0)
    }
}

/// A resource that exists. Dropped, it is deleted by a task of its own, as far as the process lives on.
pub(crate) struct Resource {
    llm: Arc<dyn LlmClient>,
    tasks: TaskTracker,
    name: String,
    tokens: Option<u64>,
    made_ms: i64,
    deleted: bool,
}

impl Resource {
    /// Tokens that it holds; `None` when the provider did not say.
    pub(crate) fn tokens(&self) -> Option<u64> {
        self.tokens
    }
}

impl Drop for Resource {
    fn drop(&mut self) {
        if self.deleted || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let (llm, name) = (Arc::clone(&self.llm), std::mem::take(&mut self.name));
        self.tasks.spawn(async move { delete(&*llm, &name).await });
    }
}

async fn delete(llm: &dyn LlmClient, name: &str) {
    let deleted = tokio::time::timeout(DELETING_MAX, llm.delete_cached_content(name)).await;
    let why = match deleted {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", DELETING_MAX.as_secs()),
    };
    tracing::warn!(
        name,
        why,
        "a cached content was not deleted; it costs storage until it expires"
    );
}

/// What became of a wish to have a prefix held.
pub(crate) enum Holding {
    /// It would not pay, or there is no such thing.
    None,
    /// It was wished for, and there is none; why.
    Refused(String),
    /// It exists.
    Made(Resource),
}

/// Whether an explicit resource pays for workers that start like this.
pub(crate) fn is_worth_holding(situation: &Situation, facts: &Facts) -> bool {
    let hours = TTL_SECONDS as f64 * 1000.0 / HOUR_MS;
    let pays = pays_explicit(situation.siblings, EXPECTED_TURNS, hours, facts, situation.now_ms);
    situation.prefix_tokens >= facts.min_tokens && pays == Some(true)
}

/// What a resource of so many tokens costs that is made at a time and exists for so long, in USD: making and keeping it.
pub(crate) fn held_cost(
    tokens: u64,
    (made_ms, held_ms): (i64, i64),
    facts: &Facts,
) -> (Option<f64>, Option<f64>) {
    let creation = facts.prices.at(made_ms).map(|price| price.cost(&creation_usage(tokens)));
    let hours = held_ms.max(0) as f64 / HOUR_MS;
    let storage = facts.storage_per_hour.map(|rate| rate * tokens as f64 / 1e6 * hours);
    (creation, storage)
}

/// The longest that a resource costs storage, in milliseconds.
pub(crate) fn longest_held_ms() -> i64 {
    i64::try_from(TTL_SECONDS * 1000).unwrap_or(i64::MAX)
}

/// How a conversation's beginning would be held; `None` where that cannot be.
pub(crate) fn to_hold(conversation: &mut Conversation) -> Option<ToHold> {
    conversation.to_hold(TTL_SECONDS)
}

fn creation_usage(tokens: u64) -> Usage {
    Usage { uncached: tokens, read: Some(0), ..Usage::default() }
}

impl Runtime {
    /// Has the provider hold what the workers inherit, where that pays; `base` and its forks use it from then on.
    pub(crate) async fn hold(
        &self,
        parent: &AgentRecord,
        base: &mut Conversation,
        (situation, facts): (&Situation, &Facts),
        llm: &Arc<dyn LlmClient>,
        cancel: &CancellationToken,
    ) -> Holding {
        if !is_worth_holding(situation, facts) || cancel.is_cancelled() {
            return Holding::None;
        }
        let Some(ToHold { body, items, bytes }) = to_hold(base) else { return Holding::None };
        let (body_bytes, made_ms) = (body.len(), self.now_ms());
        let (tell, told) = oneshot::channel();
        let (maker, tasks) = (Arc::clone(llm), self.tasks().clone());
        // A task of its own: when nobody waits any more, what was made is told to nobody, and so dropped and deleted.
        self.tasks().spawn(async move {
            let _ = tell.send(make(maker, tasks, body, made_ms).await);
        });
        // Cancel-safe: see above.
        let made = tokio::select! {
            made = told => made.unwrap_or_else(|_| Err("the attempt was given up".to_owned())),
            () = cancel.cancelled() => return Holding::None,
        };
        let resource = match made {
            Ok(resource) => resource,
            Err(why) => {
                tracing::warn!(why, "the provider does not hold the prefix; the workers send it");
                return Holding::Refused(why);
            }
        };
        let prefix = CachedPrefix { name: resource.name.clone(), items };
        let tokens = resource.tokens.unwrap_or(situation.prefix_tokens);
        base.hold(Held { prefix, tokens, exact: resource.tokens.is_some(), bytes });
        self.record_creation(parent, &resource, (situation, facts), body_bytes).await;
        Holding::Made(resource)
    }

    /// Deletes a resource, and says what it cost.
    pub(crate) async fn release(&self, mut resource: Resource, facts: &Facts) -> HeldCost {
        delete(&*resource.llm, &resource.name).await;
        resource.deleted = true;
        let held_ms = (self.now_ms() - resource.made_ms).clamp(0, longest_held_ms());
        let costs =
            resource.tokens.map(|tokens| held_cost(tokens, (resource.made_ms, held_ms), facts));
        let (creation, storage) = costs.unwrap_or_default();
        let name = std::mem::take(&mut resource.name);
        HeldCost { name, tokens: resource.tokens, held_ms, creation, storage }
    }

    /// Waits for what this process still does for nobody in particular: deleting resources of fans that were dropped. To be
    /// called before the process ends.
    pub async fn settle(&self) {
        self.tasks().close();
        self.tasks().wait().await;
        self.tasks().reopen();
    }

    /// Making a resource is paid for like a prompt, by the parent.
    async fn record_creation(
        &self,
        parent: &AgentRecord,
        resource: &Resource,
        (situation, facts): (&Situation, &Facts),
        body_bytes: u64,
    ) {
        let model = parent.settings.model.to_string();
        let usage = resource.tokens.map(creation_usage);
        let cost = usage.and_then(|usage| {
            let spent = Spent { started_ms: resource.made_ms, usage };
            micro_usd(&self.ports().facts, &model, &spent)
        });
        let row = RequestRow {
            id: RequestId::from_random(self.ports().ids.random()),
            agent: parent.id,
            started_ms: resource.made_ms,
            model,
            usage,
            stop: Some(stop_words::CACHED_CONTENT.to_owned()),
            prompt_bytes: Some(body_bytes),
            reply: None,
            verdict: None,
            note: Some(note(parent.id, resource, situation, facts).to_text()),
            micro_usd: cost,
        };
        if let Err(error) = self.store().record_request(row, &[]).await {
            tracing::warn!(%error, "the making of a cached content was not recorded");
        }
    }
}

/// Asks the provider; why not, in words.
async fn make(
    llm: Arc<dyn LlmClient>,
    tasks: TaskTracker,
    body: tine_wire::Body,
    made_ms: i64,
) -> Result<Resource, String> {
    let asked = tokio::time::timeout(MAKING_MAX, llm.create_cached_content(body)).await;
    let answer = asked.map_err(|_| format!("no answer within {} s", MAKING_MAX.as_secs()))?;
    let answer = answer.map_err(|error| error.to_string())?;
    let made = read_cached_content(&answer).map_err(|error| error.to_string())?;
    Ok(Resource { llm, tasks, name: made.name, tokens: made.tokens, made_ms, deleted: false })
}

fn note(agent: AgentId, resource: &Resource, situation: &Situation, facts: &Facts) -> CacheNote {
    let workers = match situation.siblings {
        1 => "one worker".to_owned(),
        many => format!("{many} workers"),
    };
    let storage = resource
        .tokens
        .and_then(|tokens| held_cost(tokens, (resource.made_ms, HOUR_MS as i64), facts).1);
    let storage = storage.map_or_else(String::new, |dollars| {
        format!("; keeping it costs ${dollars:.4} an hour until they are done")
    });
    tracing::debug!(%agent, name = resource.name, "the provider holds the prefix");
    CacheNote {
        expected: 0,
        exact: true,
        read: Some(0),
        missed: 0,
        missed_usd: None,
        difference: None,
        why: format!("made {} for {workers}{storage}", resource.name),
        total: resource.tokens.unwrap_or(situation.prefix_tokens),
        places: Vec::new(),
        vendor: None,
        dropped: Vec::new(),
        first_event_ms: None,
    }
}
