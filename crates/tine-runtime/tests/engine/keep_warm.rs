//! Keeping a parent's entries alive while a worker is busy.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use tine_cache::{Asked, Models};
use tine_llm::{
    HttpClient, HttpLimits, HttpOptions, LlmClient, LlmError, Progress, RateGates, Request, Secret,
};
use tine_model::{AgentId, ModelRef, ModelSettings, TaskStatus, Thinking, Usage};
use tine_runtime::{
    CachePolicy, ConnectError, Connector, EventFilter, FanReport, FanSpec, Ids, NewRoot, Ports,
    RunOptions, Runtime,
};
use tine_store::{OpenOptions, SqliteStore};
use tine_testkit::FakeIds;
use tine_wire::Reply;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::SCENARIO;
use crate::house::{House, OneClock, options, until_command};

const MODEL: &str = "anthropic/claude-opus-5-5";

/// What is left of a five-minute lifetime is a tenth of it when a ping goes out.
const PING_MS: i64 = 5 * 60 * 1000 * 9 / 10;

/// The worker waits for a file; and then it works for longer than the clock is left unwatched, so that a ping that is due has
/// its chance.
const BUSY: &str = r#"
[[turn]]
when = { user_contains = "Task number", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "while [ ! -e go ]; do sleep 0.01; done; sleep 0.6" } }]
"#;

/// A client that says when a ping was answered, or fails it. Pings are the only requests that are not streamed.
struct Pinging {
    inner: HttpClient,
    pinged: mpsc::UnboundedSender<()>,
    fails: bool,
}

#[async_trait]
impl LlmClient for Pinging {
    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        if !request.stream && self.fails {
            let _ = self.pinged.send(());
            return Err(LlmError::Unsupported { what: "a ping" });
        }
        let reply = self.inner.send(request, on_progress, cancel).await;
        if !request.stream {
            let _ = self.pinged.send(());
        }
        reply
    }
}

struct Connected {
    base_url: String,
    pinged: mpsc::UnboundedSender<()>,
    fails: bool,
}

#[async_trait]
impl Connector for Connected {
    async fn connect(&self, model: &ModelRef) -> Result<Arc<dyn LlmClient>, ConnectError> {
        let options = HttpOptions {
            model: model.clone(),
            base_url: self.base_url.clone(),
            key: Some(Secret::new("sk-sim")),
            limits: HttpLimits::default(),
        };
        let inner = HttpClient::new(options, &RateGates::default())?;
        Ok(Arc::new(Pinging { inner, pinged: self.pinged.clone(), fails: self.fails }))
    }

    fn account(&self, _model: &ModelRef) -> String {
        self.base_url.clone()
    }
}

struct TestIds(FakeIds);

impl Ids for TestIds {
    fn random(&self) -> [u8; 16] {
        self.0.next_bytes()
    }
}

/// How the story goes: a parent, one worker that is busy for as many steps of the clock as there are, and the parent again.
struct Story {
    keep_warm: bool,
    fails: bool,
    /// Laid over the bundled table.
    models: &'static str,
    steps: usize,
    /// How many of the steps end in a ping.
    pings: usize,
}

impl Default for Story {
    fn default() -> Self {
        Self { keep_warm: true, fails: false, models: "", steps: 3, pings: 3 }
    }
}

struct Told {
    report: FanReport,
    /// Usage and verdict of the parent's requests.
    parent: Vec<(Usage, String)>,
    /// Pings that arrived at the provider.
    arrived: Vec<Usage>,
}

async fn runtime(house: &House, pinged: mpsc::UnboundedSender<()>, story: &Story) -> Runtime {
    let home: &Path = house.home.path();
    let store = SqliteStore::open(home.join("warm.db"), OpenOptions::default()).await.unwrap();
    let base_url = house.sim.base_url().to_owned();
    let ports = Ports {
        clock: Arc::new(OneClock(house.clock.clone())),
        ids: Arc::new(TestIds(FakeIds::new())),
        models: Arc::new(Connected { base_url, pinged, fails: story.fails }),
        facts: Arc::new(Models::bundled().overlaid(story.models).unwrap()),
    };
    Runtime::new(Arc::new(store), ports, home.join("warm"))
}

async fn root(house: &House, runtime: &Runtime) -> AgentId {
    let settings = ModelSettings {
        model: MODEL.parse().unwrap(),
        max_tokens: 4_000,
        thinking: Some(Thinking::Adaptive),
        effort: None,
    };
    let root = NewRoot {
        name: None,
        settings,
        system: "You keep the books of a small harbour. ".repeat(600),
        stream: true,
        directory: house.home.path().to_owned(),
        reach: tine_model::Reach::open(),
    };
    runtime.create_root(root).await.unwrap()
}

async fn tell(story: Story) -> Told {
    let scenario = SCENARIO.replacen("[[turn]]", &format!("{BUSY}\n[[turn]]"), 1);
    let house = House::new(&scenario).await;
    let (pinged, mut pings) = mpsc::unbounded_channel();
    let runtime = runtime(&house, pinged, &story).await;
    let root = root(&house, &runtime).await;
    runtime.run(root, Some("Please look around.".into()), &options()).await.unwrap();
    let caching = CachePolicy { keep_warm: story.keep_warm, ..CachePolicy::default() };
    let options = RunOptions { caching, ..options() };
    let directives = vec!["Task number 000.".to_owned()];
    let spec = FanSpec { fork: tine_runtime::ForkSpec::of(root), directives, plan: Asked::Auto };
    let mut told = runtime.subscribe(EventFilter::All);
    let fan = runtime.fan(spec, &options);
    let meanwhile = async {
        until_command(&mut told).await;
        for step in 0..story.steps {
            house.clock.advance_ms(PING_MS);
            if step < story.pings {
                pings.recv().await.unwrap();
            }
        }
        std::fs::write(house.home.path().join("go"), "").unwrap();
    };
    let (report, ()) = tokio::join!(fan, meanwhile);
    runtime.run(root, Some("And now?".into()), &options).await.unwrap();
    let explained = runtime.explain_cache(root).await.unwrap().into_iter();
    let parent = explained.map(|it| (it.usage.unwrap(), it.verdict.unwrap_or_default()));
    let arrived = house.sim.requests().into_iter();
    let arrived =
        arrived.filter(|it| String::from_utf8_lossy(&it.body).contains("\"max_tokens\":0"));
    Told {
        report: report.unwrap(),
        parent: parent.collect(),
        arrived: arrived
            .map(|request| Usage { reasoning: None, ..request.usage.unwrap() })
            .collect(),
    }
}

fn verdicts(told: &Told) -> Vec<&str> {
    told.parent.iter().map(|(_, verdict)| verdict.as_str()).collect()
}

#[tokio::test]
async fn a_parent_that_is_kept_warm_reads_everything_after_a_long_wait() {
    let told = tell(Story::default()).await;
    assert_eq!(told.report.tasks[0].status, TaskStatus::Completed);
    assert_eq!(verdicts(&told), ["cold", "ok", "ok", "ok", "ok", "ok"]);
    // Three pings, which are the parent's requests: each reads the prefix, writes its own few words and generates nothing.
    let pings: Vec<Usage> = told.parent[2..5].iter().map(|(usage, _)| *usage).collect();
    assert_eq!(pings, told.arrived);
    let before = &told.parent[1].0;
    let prefix = pings[0].read.unwrap();
    assert!(prefix >= before.prompt(), "{pings:?}");
    for ping in &pings {
        assert_eq!((ping.read, ping.output), (Some(prefix), 0), "{ping:?}");
        assert!(ping.written() < 20, "{ping:?}");
    }
    assert_eq!(told.parent[5].0.read, Some(prefix));
}

#[tokio::test]
async fn the_same_story_without_pings_says_expired() {
    let told = tell(Story { keep_warm: false, pings: 0, ..Story::default() }).await;
    assert_eq!(verdicts(&told), ["cold", "ok", "expired"]);
    assert_eq!(told.arrived, []);
}

#[tokio::test]
async fn pings_end_when_a_write_would_have_cost_less() {
    // (0.75 − 0.25) / 0.25 = 2
    let models = "[[model]]\nname = \"anthropic/claude-opus-5-5\"\nwrite_short = 0.75\nread = 0.25";
    let told = tell(Story { models, steps: 3, pings: 2, ..Story::default() }).await;
    assert_eq!(told.arrived.len(), 2);
    assert_eq!(verdicts(&told)[..4], ["cold", "ok", "ok", "ok"]);
}

#[tokio::test]
async fn a_ping_that_fails_is_the_last_and_harms_nobody() {
    let told = tell(Story { fails: true, pings: 1, ..Story::default() }).await;
    assert_eq!(told.report.tasks[0].status, TaskStatus::Completed);
    assert_eq!(told.arrived, []);
    assert_eq!(verdicts(&told), ["cold", "ok", "expired"]);
}
