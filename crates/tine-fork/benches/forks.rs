//! A thousand forks at once: what they hold, and what each turn costs beside the model. Run with `cargo xtask bench forks`.
//!
//! Nothing here asserts a time: machines differ. That all of them complete is asserted.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has no figures")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tine_fork::cache::Asked;
use tine_fork::client::{Event, LlmClient, LlmError, Progress, Reply, Request, StopReason, Usage};
use tine_fork::message::{Block, Message, RawJson, Role, ToolCallId, ToolInput};
use tine_fork::request::{HeadParts, Lifetimes, ModelSettings, ToolDeclaration};
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{
    CacheSafeParams, CancellationToken, DefaultForkSubagent, DelegateMode, ForkParams, ForkResult,
    Outcome, ParentContext, ParentRequest, Sibling, ToolDispatcher, async_trait,
};
use tine_llm::{HttpClient, HttpLimits, HttpOptions, RateGates, Secret};
use tine_sim::{Scenario, SimOptions, SimServer};
use tokio::sync::Semaphore;

/// Forks at once.
const FORKS: usize = 1_000;

/// Size of the conversation that they inherit, as DESIGN §14 has it.
const CONVERSATION_BYTES: usize = 4 << 20;

/// Messages of it; odd, so that the last one is the user's.
const CONVERSATION_MESSAGES: usize = 9_999;

/// Turns of each fork where turns are counted.
const TURNS: u32 = 10;

/// Answers at once with a call, or, where it waits, with a text once it is let go.
struct Prompt {
    asked: AtomicUsize,
    go: Semaphore,
    waits: bool,
}

impl Prompt {
    fn new(waits: bool) -> Arc<Self> {
        Arc::new(Self { asked: AtomicUsize::new(0), go: Semaphore::new(0), waits })
    }
}

#[async_trait]
impl LlmClient for Prompt {
    async fn send(
        &self,
        _request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        _cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        on_progress(Progress::Event(&Event::Text { delta: String::new() }));
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        if self.waits {
            // What all of them hold is measured while they wait here.
            drop(self.go.acquire().await);
        }
        let block = match self.waits {
            true => Block::Text("done".to_owned()),
            false => Block::ToolUse {
                id: ToolCallId(format!("c{number}")),
                name: "Look".to_owned(),
                input: ToolInput::Valid(RawJson::empty_object()),
            },
        };
        let stop = if self.waits { StopReason::EndTurn } else { StopReason::ToolUse };
        let message = Message::new(Role::Assistant, vec![block]);
        let usage = Usage { uncached: 1, ..Usage::default() };
        Ok(Reply { id: None, model: None, message, stop, usage, diagnosis: None, dropped: vec![] })
    }
}

struct Look;

#[async_trait]
impl ToolDispatcher for Look {
    fn is_read_only(&self, _tool: &str) -> bool {
        true
    }

    async fn dispatch(&self, _call: &ToolCall, _context: &CallContext) -> ToolAnswer {
        ToolAnswer::ok("nothing")
    }
}

fn parent(model: &str, messages: usize, bytes: usize) -> ParentRequest {
    let settings = ModelSettings {
        model: model.parse().expect("a model"),
        max_tokens: 100,
        thinking: None,
        effort: None,
    };
    let look = ToolDeclaration {
        name: "Look".to_owned(),
        description: "Looks.".to_owned(),
        schema: RawJson::parse(r#"{"type":"object","properties":{}}"#).expect("a schema"),
    };
    let text = "x".repeat(bytes / messages);
    let message = |index: usize| {
        let role = if index.is_multiple_of(2) { Role::User } else { Role::Assistant };
        Message::new(role, vec![Block::Text(text.clone())])
    };
    ParentRequest {
        head: HeadParts::new(settings, "Be brief.".to_owned(), vec![look]),
        headers: vec![],
        lifetimes: Lifetimes::default(),
        messages: (0..messages).map(message).collect(),
    }
}

fn params(llm: Arc<dyn LlmClient>, inherited: &CacheSafeParams) -> ForkParams {
    ForkParams {
        prompt_messages: vec![],
        mode: DelegateMode::ForkAndForget,
        max_turns: TURNS,
        ..ForkParams::new(ParentContext::new("bench"), (llm, Arc::new(Look)), inherited.clone(), "")
    }
}

fn siblings() -> Vec<Sibling> {
    (0..FORKS).map(|number| Sibling::new(format!("task {number}"))).collect()
}

/// All of them ended as they should.
fn ended(results: &[ForkResult], expected: &Outcome) {
    let ended = results.iter().filter(|result| result.outcome == *expected).count();
    assert_eq!(ended, FORKS, "all forks come to their end");
    println!("  {}: {ended} of {FORKS}", expected.as_str().replace('_', " "));
}

async fn fan(forks: &DefaultForkSubagent, params: ForkParams) -> Vec<ForkResult> {
    let fan = forks.fan_out(params, siblings(), Asked::Together).await.expect("a fan");
    let results = fan.join().await;
    results.into_iter().map(|result| result.expect("a result")).collect()
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(memory());
    runtime.block_on(turns());
    runtime.block_on(simulator());
}

/// All of them wait for their first reply: what they hold then.
async fn memory() {
    println!(
        "{FORKS} forks of a {} MB conversation, each waiting for its reply",
        CONVERSATION_BYTES >> 20
    );
    let request = parent("anthropic/m", CONVERSATION_MESSAGES, CONVERSATION_BYTES);
    let inherited = CacheSafeParams::from_parent_request(&request);
    drop(request);
    let forks = DefaultForkSubagent::new();
    // The parent's own frames are made first: they are there whether it is forked or not.
    let parents_body = inherited.build_request([]).body;
    let before = resident_bytes();
    let model = Prompt::new(true);
    let shared = params(model.clone(), &inherited);
    let start = Instant::now();
    let fan = forks.fan_out(shared, siblings(), Asked::Together).await.expect("a fan");
    while model.asked.load(Ordering::Relaxed) < FORKS {
        tokio::task::yield_now().await;
    }
    let micros = start.elapsed().as_secs_f64() * 1e6 / FORKS as f64;
    let after = resident_bytes();
    println!("  from `fan_out` to the client: {micros:.0} µs a fork");
    match (before, after) {
        (Some(before), Some(after)) => {
            let mebibytes = after.saturating_sub(before) as f64 / f64::from(1 << 20);
            println!("  resident memory over the parent alone: {mebibytes:.1} MiB (limit 64)");
        }
        _ => println!("  resident memory cannot be read on this system"),
    }
    model.go.add_permits(FORKS);
    let results = fan.join().await.into_iter().map(|result| result.expect("a result"));
    ended(&results.collect::<Vec<_>>(), &Outcome::Completed);
    drop(parents_body);
}

/// Everything but the model: a request assembled, a reply kept, a tool called, ten times each.
async fn turns() {
    println!(
        "{FORKS} forks of 10 messages, {TURNS} turns each, a model and a tool that answer at once"
    );
    let inherited = CacheSafeParams::from_parent_request(&parent("anthropic/m", 9, 9_000));
    let start = Instant::now();
    let results = fan(&DefaultForkSubagent::new(), params(Prompt::new(false), &inherited)).await;
    let turns: u32 = results.iter().map(|result| result.turns).sum();
    let micros = start.elapsed().as_secs_f64() * 1e6 / f64::from(turns);
    ended(&results, &Outcome::TurnLimit);
    println!("  {turns} turns, {micros:.0} µs of two cores a turn");
}

/// The whole way over loopback.
async fn simulator() {
    println!("{FORKS} forks against the simulator, over HTTP in this process");
    let scenario = Scenario::parse("name = \"bench\"\n[[turn]]\ntext = \"done\"", "bench")
        .expect("a scenario");
    let server = SimServer::start(SimOptions::new(scenario)).await.expect("a simulator");
    let options = HttpOptions {
        model: "anthropic/claude-opus-5-5".parse().expect("a model"),
        base_url: server.base_url().to_owned(),
        key: Some(Secret::new("sk-simulated")),
        limits: HttpLimits::default(),
    };
    let llm = Arc::new(HttpClient::new(options, &RateGates::new()).expect("a client"));
    let request = parent("anthropic/claude-opus-5-5", 99, 40_000);
    let inherited = CacheSafeParams::from_parent_request(&request);
    let start = Instant::now();
    let results = fan(&DefaultForkSubagent::new(), params(llm, &inherited)).await;
    let seconds = start.elapsed().as_secs_f64();
    ended(&results, &Outcome::Completed);
    println!(
        "  {seconds:.2} s in all, {:.2} ms a fork, the simulator's work included",
        seconds * 1e3 / FORKS as f64
    );
    server.shutdown().await;
}

/// Resident memory of this process, exactly (`status` counts in batches); Linux only.
fn resident_bytes() -> Option<u64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
