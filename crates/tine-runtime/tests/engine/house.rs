//! A runtime over a real database that talks to the simulator over real sockets, both by one clock.

use std::path::Path;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tine_cache::Asked;
use tine_fork::run::{RunEvent, RunReport};
use tine_guard::{PermissionMode, Rules};
use tine_llm::{HttpClient, HttpLimits, HttpOptions, LlmClient, RateGates, RetryLimits, Secret};
use tine_model::{AgentId, ModelRef, ModelSettings, Provider, Served, Thinking, Usage};
use tine_runtime::{
    Clock, ConnectError, Connector, EventFilter, EventKind, FanReport, FanSpec, Heard, Ids,
    NewRoot, Permissions, Ports, RunOptions, Runtime, Subscription,
};
use tine_sim::{Scenario, SimOptions, SimServer};
use tine_store::{OpenOptions, SqliteStore};
use tine_testkit::{FakeClock, FakeIds};

use crate::lab::system;

/// One time for the agents and for the provider.
#[derive(Clone)]
pub(crate) struct OneClock(pub(crate) FakeClock);

impl Clock for OneClock {
    fn now_ms(&self) -> i64 {
        self.0.now_ms()
    }
}

impl tine_sim::Clock for OneClock {
    fn now_ms(&self) -> u64 {
        self.0.now_ms().unsigned_abs()
    }
}

struct TestIds(FakeIds);

impl Ids for TestIds {
    fn random(&self) -> [u8; 16] {
        self.0.next_bytes()
    }
}

/// Every provider is the simulator.
struct Everywhere {
    base_url: String,
    gates: RateGates,
    served: Mutex<Option<Served>>,
}

impl Everywhere {
    fn options(&self, model: &ModelRef) -> HttpOptions {
        let retry = RetryLimits {
            backoff_first: std::time::Duration::from_millis(1),
            jitter_seed: Some(7),
            ..RetryLimits::default()
        };
        HttpOptions {
            model: model.clone(),
            base_url: self.base_url.clone(),
            key: Some(Secret::new("sk-sim")),
            limits: HttpLimits { retry, ..HttpLimits::default() },
        }
    }
}

#[async_trait]
impl Connector for Everywhere {
    async fn connect(&self, model: &ModelRef) -> Result<Arc<dyn LlmClient>, ConnectError> {
        Ok(Arc::new(HttpClient::new(self.options(model), &self.gates)?))
    }

    fn account(&self, _model: &ModelRef) -> String {
        self.base_url.clone()
    }

    fn host(&self, model: &ModelRef) -> Option<String> {
        self.options(model).host()
    }

    async fn ask_server(&self, model: &ModelRef) {
        if model.provider == Provider::OpenAiCompat {
            let served = tine_llm::probe(&self.options(model)).await;
            *self.served.lock().unwrap() = served;
        }
    }

    fn served(&self, model: &ModelRef) -> Option<Served> {
        let served = *self.served.lock().unwrap();
        served.filter(|_| model.provider == Provider::OpenAiCompat)
    }
}

pub(crate) struct House {
    pub(crate) home: tempfile::TempDir,
    pub(crate) clock: FakeClock,
    ids: FakeIds,
    pub(crate) sim: SimServer,
    pub(crate) runtime: Arc<Runtime>,
}

impl House {
    pub(crate) async fn new(scenario: &str) -> Self {
        let home = tine_testkit::scratch();
        let (clock, ids) = (FakeClock::new(1_000_000_000), FakeIds::new());
        let scenario = Scenario::parse(scenario, "test").unwrap();
        let options =
            SimOptions { clock: Arc::new(OneClock(clock.clone())), ..SimOptions::new(scenario) };
        let sim = SimServer::start(options).await.unwrap();
        let runtime = open(home.path(), &clock, &ids, &sim).await;
        Self { home, clock, ids, sim, runtime }
    }

    /// The same database and the same provider, from a new process.
    pub(crate) async fn reopened(self) -> Self {
        let Self { home, clock, ids, sim, runtime } = self;
        runtime.store().close().await.unwrap();
        drop(runtime);
        let runtime = open(home.path(), &clock, &ids, &sim).await;
        Self { home, clock, ids, sim, runtime }
    }

    /// Returns the house with the same database and another provider.
    pub(crate) async fn behind(self, scenario: &str) -> Self {
        let Self { home, clock, ids, sim, runtime } = self;
        runtime.store().close().await.unwrap();
        drop((runtime, sim));
        let scenario = Scenario::parse(scenario, "test").unwrap();
        let options =
            SimOptions { clock: Arc::new(OneClock(clock.clone())), ..SimOptions::new(scenario) };
        let sim = SimServer::start(options).await.unwrap();
        let runtime = open(home.path(), &clock, &ids, &sim).await;
        Self { home, clock, ids, sim, runtime }
    }

    /// A root with a system prompt long enough for every provider's minimum.
    pub(crate) async fn root(&self, model: &str) -> AgentId {
        self.root_with(model, system()).await
    }

    pub(crate) async fn root_with(&self, model: &str, system: String) -> AgentId {
        self.thinking_root(model, system, Thinking::Adaptive).await
    }

    pub(crate) async fn thinking_root(
        &self,
        model: &str,
        system: String,
        thinking: Thinking,
    ) -> AgentId {
        let settings = ModelSettings {
            model: model.parse().unwrap(),
            max_tokens: 4_000,
            thinking: Some(thinking),
            effort: None,
        };
        let root = NewRoot {
            name: None,
            settings,
            system,
            stream: true,
            directory: self.home.path().to_owned(),
            reach: tine_model::Reach::open(),
        };
        self.runtime.create_root(root).await.unwrap()
    }

    pub(crate) async fn say(&self, agent: AgentId, prompt: &str) -> RunReport {
        let run = self.runtime.run(agent, Some(prompt.into()), &options()).await.unwrap();
        run.report
    }

    pub(crate) async fn fan(&self, parent: AgentId, count: usize, plan: Asked) -> FanReport {
        let directives = (0..count).map(|index| format!("Task number {index:03}.")).collect();
        let spec = FanSpec { fork: tine_runtime::ForkSpec::of(parent), directives, plan };
        self.runtime.fan(spec, &options()).await.unwrap()
    }

    /// What the provider billed, request by request, in the order of their arrival.
    pub(crate) fn billed(&self) -> Vec<Usage> {
        self.sim.requests().into_iter().filter_map(|request| request.usage).collect()
    }

    /// The bodies that arrived at the provider.
    pub(crate) fn bodies(&self) -> Vec<Vec<u8>> {
        self.sim.requests().into_iter().map(|request| request.body.to_vec()).collect()
    }

    /// The verdicts of an agent's requests.
    pub(crate) async fn verdicts(&self, agent: AgentId) -> Vec<String> {
        let explained = self.runtime.explain_cache(agent).await.unwrap();
        explained.into_iter().map(|request| request.verdict.unwrap_or_default()).collect()
    }
}

async fn open(home: &Path, clock: &FakeClock, ids: &FakeIds, sim: &SimServer) -> Arc<Runtime> {
    let store = SqliteStore::open(home.join("tine.db"), OpenOptions::default()).await.unwrap();
    let (base_url, gates) = (sim.base_url().to_owned(), RateGates::default());
    let models = Everywhere { base_url, gates, served: Mutex::default() };
    let ports = Ports {
        clock: Arc::new(OneClock(clock.clone())),
        ids: Arc::new(TestIds(ids.clone())),
        models: Arc::new(models),
        facts: Arc::new(tine_cache::Models::bundled()),
    };
    Arc::new(Runtime::new(Arc::new(store), ports, home.join("run")))
}

pub(crate) fn options() -> RunOptions {
    RunOptions::new(Permissions::new(PermissionMode::Bypass, Rules::default()))
}

/// The step of a run that was heard of, if it was one.
fn step(heard: &Heard) -> Option<&RunEvent> {
    match heard {
        Heard::Event(event) => match &event.kind {
            EventKind::Run(step) => Some(step),
            _ => None,
        },
        Heard::Lagged(missed) => panic!("{missed} events were missed"),
    }
}

/// Does the work, and hands over the steps of all runs meanwhile.
pub(crate) async fn seeing<T>(
    runtime: &Runtime,
    work: impl Future<Output = T>,
    mut read: impl FnMut(&RunEvent),
) -> T {
    let read = |heard| step(&heard).into_iter().for_each(&mut read);
    runtime.subscribe(EventFilter::All).during(work, read).await
}

/// Waits until a command of somebody begins.
pub(crate) async fn until_command(told: &mut Subscription) {
    while let Some(heard) = told.next().await {
        if matches!(step(&heard), Some(RunEvent::ToolStarted { call }) if call.name == "Bash") {
            return;
        }
    }
    panic!("the runtime is gone");
}
