//! The turn loop over the real client against the simulator, without agents and store: for what can only be seen at one
//! conversation, such as words that were changed behind the model's back.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use tine_cache::{Facts, Models, Scope};
use tine_fork::cache::{CacheEngine, CacheLane, LEADER_WAIT_MAX, Seat, SlotWait};
use tine_fork::run::{
    Conversation, Journal, JournalError, MemoryJournal, RequestRecord, Run, RunEvent, RunLimits,
    RunReport,
};
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{AllowAllFilter, ToolDispatcher};
use tine_history::History;
use tine_llm::{HttpClient, HttpLimits, HttpOptions, RateGates, Secret};
use tine_model::{Effort, EntryId, Message, ModelSettings, RawJson, Thinking, Usage};
use tine_sim::{Scenario, SimOptions, SimServer};
use tine_testkit::FakeClock;
use tine_wire::{Head, HeadParts, MarkPoints, ToolDeclaration};
use tokio_util::sync::CancellationToken;

use crate::house::OneClock;

/// Longer than any answer that a test holds back.
const PATIENCE: Duration = Duration::from_secs(100 * 60 * 60);

/// Long enough for every provider's minimum.
pub(crate) fn system() -> String {
    "You keep the books of a small harbour. ".repeat(600)
}

/// One provider and one process's view of its cache.
pub(crate) struct Lab {
    pub(crate) clock: FakeClock,
    pub(crate) sim: SimServer,
    pub(crate) engine: Arc<CacheEngine>,
    pub(crate) leader_wait_max: Duration,
    base_url: String,
    /// One for each model: a client is dear to make.
    clients: Mutex<BTreeMap<String, Arc<HttpClient>>>,
    gates: RateGates,
}

/// A run, and what was noted of each of its requests.
pub(crate) struct Heard {
    pub(crate) report: RunReport,
    pub(crate) requests: Vec<RequestRecord>,
}

impl Heard {
    /// The verdict's word on each request.
    pub(crate) fn verdicts(&self) -> Vec<&'static str> {
        let judged = self.requests.iter().filter_map(|request| request.cache.as_ref());
        judged.map(|cache| cache.judgement.verdict.as_str()).collect()
    }

    /// What the first request was billed.
    pub(crate) fn first(&self) -> Usage {
        self.requests[0].usage
    }
}

impl Lab {
    pub(crate) async fn new(scenario: &str) -> Self {
        let clock = FakeClock::new(1_000_000_000);
        let scenario = Scenario::parse(scenario, "test").unwrap();
        let options =
            SimOptions { clock: Arc::new(OneClock(clock.clone())), ..SimOptions::new(scenario) };
        let sim = SimServer::start(options).await.unwrap();
        Self {
            clock,
            base_url: sim.base_url().to_owned(),
            sim,
            engine: CacheEngine::new(),
            leader_wait_max: LEADER_WAIT_MAX,
            clients: Mutex::default(),
            gates: RateGates::default(),
        }
    }

    /// The provider is at another address from here on.
    pub(crate) fn moved_to(&mut self, base_url: String) {
        self.base_url = base_url;
        self.clients = Mutex::default();
    }

    pub(crate) fn facts(model: &str) -> Facts {
        Models::bundled().facts(model)
    }

    pub(crate) fn lane(&self, model: &str) -> CacheLane {
        CacheLane {
            engine: Arc::clone(&self.engine),
            scope: Scope(*blake3::hash(model.as_bytes()).as_bytes()),
            facts: Self::facts(model),
            value_per_second: 0.01,
            leader_wait_max: self.leader_wait_max,
            slot_wait: SlotWait::default(),
        }
    }

    fn client(&self, model: &str) -> Arc<HttpClient> {
        let mut clients = self.clients.lock().unwrap();
        let client = clients.entry(model.to_owned()).or_insert_with(|| {
            let limits = HttpLimits {
                first_event: PATIENCE,
                idle: PATIENCE,
                reply: PATIENCE,
                ..HttpLimits::default()
            };
            let options = HttpOptions {
                model: model.parse().unwrap(),
                base_url: self.base_url.clone(),
                key: Some(Secret::new("sk-sim")),
                limits,
            };
            Arc::new(HttpClient::new(options, &self.gates).unwrap())
        });
        Arc::clone(client)
    }

    /// Continues a conversation with a prompt.
    pub(crate) async fn say(
        &self,
        model: &str,
        conversation: &mut Conversation,
        prompt: &str,
    ) -> Heard {
        self.say_from(None, model, conversation, prompt).await
    }

    /// The same, from a place among siblings.
    pub(crate) async fn say_from(
        &self,
        seat: Option<Seat>,
        model: &str,
        conversation: &mut Conversation,
        prompt: &str,
    ) -> Heard {
        let notes = Notes {
            clock: self.clock.clone(),
            memory: MemoryJournal::default(),
            requests: Mutex::default(),
        };
        let run = Run {
            conversation,
            llm: &*self.client(model),
            tools: &Looking,
            agent: "lab",
            filter: &AllowAllFilter,
            journal: &notes,
            observer: &|_: RunEvent| {},
            limits: RunLimits::default(),
            reminder: None,
            seat,
            cache: Some(self.lane(model)),
            compactor: None,
            cancel: CancellationToken::new(),
        };
        let report = run.go(Some(Message::user(prompt))).await;
        Heard { report, requests: notes.requests.into_inner().unwrap() }
    }

    /// Waits until so many requests have arrived in all.
    pub(crate) async fn arrived(&self, count: usize) {
        let look = async || (self.sim.requests().len() >= count).then_some(());
        tine_testkit::until_some_async("so many requests", look).await;
    }

    /// Waits until so many requests have arrived in all, and lets the time pass that their answers are held back for.
    /// Timers of this thread's runtime move; the clock of the caches does not.
    pub(crate) async fn let_answer(&self, arrived: usize, held: Duration) {
        self.arrived(arrived).await;
        tokio::time::pause();
        tokio::time::advance(held).await;
        tokio::time::resume();
    }
}

/// A head with one tool.
pub(crate) fn parts(model: &str) -> HeadParts {
    let settings = ModelSettings {
        model: model.parse().unwrap(),
        max_tokens: 4_000,
        thinking: Some(Thinking::Adaptive),
        effort: Some(Effort::Medium),
    };
    let tool = ToolDeclaration {
        name: "Glob".into(),
        description: "Finds files.".into(),
        schema: RawJson::parse(r#"{"type":"object","properties":{"pattern":{"type":"string","description":"a pattern"}}}"#)
            .unwrap(),
    };
    HeadParts {
        scheme: Lab::facts(model).scheme,
        cache_key: Some("the lineage".into()),
        ..HeadParts::new(settings, system(), vec![tool])
    }
}

/// A conversation that has not begun.
pub(crate) fn conversation(model: &str) -> Conversation {
    beginning(parts(model))
}

/// A conversation that has not begun, under this head.
pub(crate) fn beginning(parts: HeadParts) -> Conversation {
    Conversation::new(Arc::new(Head::render(parts)), History::new(), MarkPoints::default())
}

/// Messages as a history.
pub(crate) fn history(messages: impl IntoIterator<Item = Message>) -> History {
    let mut history = History::new();
    for message in messages {
        history.push(EntryId(history.len() as i64 + 1), Arc::new(message));
    }
    history
}

/// Every look finds the same.
struct Looking;

#[async_trait]
impl ToolDispatcher for Looking {
    fn is_read_only(&self, _tool: &str) -> bool {
        true
    }

    async fn dispatch(&self, _call: &ToolCall, _context: &CallContext) -> ToolAnswer {
        ToolAnswer::ok("two ledgers")
    }
}

struct Notes {
    clock: FakeClock,
    memory: MemoryJournal,
    requests: Mutex<Vec<RequestRecord>>,
}

#[async_trait]
impl Journal for Notes {
    async fn message(&self, message: &Arc<Message>) -> Result<EntryId, JournalError> {
        self.memory.message(message).await
    }

    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    async fn request_answered(&self, record: &RequestRecord) -> Result<(), JournalError> {
        self.requests.lock().unwrap().push(record.clone());
        Ok(())
    }

    async fn notice(&self, _text: &str) -> Result<(), JournalError> {
        Ok(())
    }
}
