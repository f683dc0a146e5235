//! Tokens that a consolidation of a memory reads and writes at the provider, warm and cold. Run with `cargo xtask bench dream`.
//!
//! The provider is tine's simulator, which counts as the real one does: figures are tokens, not times.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use tine_cache::Models;
use tine_fork::host::SystemIds;
use tine_guard::{PermissionMode, Rules};
use tine_llm::{HttpClient, HttpLimits, HttpOptions, LlmClient, RateGates, Secret};
use tine_model::{ModelRef, ModelSettings, Reach};
use tine_runtime::{
    Clock, ConnectError, Connector, DreamAsk, DreamSettings, Dreamed, NewRoot, Permissions, Ports,
    RunOptions, Runtime,
};
use tine_sim::{Scenario, SimOptions, SimServer};
use tine_store::{OpenOptions, SqliteStore};

type Failed = Box<dyn Error + Send + Sync>;

/// Turns of a session, each with a page of text in it.
const TURNS: usize = 12;

/// A page, in characters.
const PAGE: usize = 6_000;

/// Looks at the index, writes a note, and is done.
const SCENARIO: &str = r#"
name = "dream"
[[turn]]
when = { user_contains = "You look after the memory", turn = 0 }
[[turn.tool_calls]]
name = "FileWrite"
input.file_path = "MEMORY/ships.md"
input.content = "Ships come in before noon.\n"
[[turn]]
text = "Well."
"#;

struct Now(AtomicI64);

impl Clock for Now {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

struct Simulated(Arc<HttpClient>);

#[async_trait]
impl Connector for Simulated {
    async fn connect(&self, _model: &ModelRef) -> Result<Arc<dyn LlmClient>, ConnectError> {
        Ok(Arc::clone(&self.0) as Arc<dyn LlmClient>)
    }

    fn account(&self, _model: &ModelRef) -> String {
        "bench".to_owned()
    }
}

fn options() -> RunOptions {
    RunOptions::new(Permissions::new(PermissionMode::ReadOnly, Rules::default()))
}

/// A session in `home`, and a consolidation that begins so long after its last turn; what it used.
async fn consolidate(home: &Path, wait_ms: i64) -> Result<String, Failed> {
    let (project, memory) = (home.join("project"), home.join("memory"));
    std::fs::create_dir(&project)?;
    let scenario = SCENARIO.replace("MEMORY", &memory.to_string_lossy());
    let server = SimServer::start(SimOptions::new(Scenario::parse(&scenario, "dream")?)).await?;
    let model: ModelRef = "anthropic/claude-opus-5-5".parse()?;
    let client = HttpClient::new(
        HttpOptions {
            model: model.clone(),
            base_url: server.base_url().to_owned(),
            key: Some(Secret::new("sk-simulated")),
            limits: HttpLimits::default(),
        },
        &RateGates::new(),
    )?;
    let clock = Arc::new(Now(AtomicI64::new(1_000_000)));
    let ports = Ports {
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        ids: Arc::new(SystemIds),
        models: Arc::new(Simulated(Arc::new(client))),
        facts: Arc::new(Models::bundled()),
    };
    let store = SqliteStore::open(home.join("tine.db"), OpenOptions::default()).await?;
    let runtime = Runtime::new(Arc::new(store), ports, home.join("run"));
    let settings = ModelSettings { model, max_tokens: 1_000, thinking: None, effort: None };
    let new = NewRoot {
        name: None,
        settings,
        system: "You keep the log of a harbour.".to_owned(),
        stream: true,
        directory: project.clone(),
        reach: Reach::open(),
    };
    let root = runtime.create_root(new).await?;
    for turn in 0..TURNS {
        let page = format!("Page {turn}. {}", "The tide came in at noon. ".repeat(PAGE / 26));
        runtime.run(root, Some(page), &options()).await?;
        clock.0.fetch_add(1_000, Ordering::SeqCst);
    }
    clock.0.fetch_add(wait_ms, Ordering::SeqCst);
    let settings = DreamSettings::new(project, memory);
    let ask = DreamAsk { forced: true, current: None };
    let Dreamed::Ran(run) = runtime.dream(&settings, ask, &options()).await? else {
        return Err("a gate was closed".into());
    };
    let usage = run.usage;
    let line = format!(
        "{:6} {:>7} read {:>7} written {:>5} uncached {:>4} output  ${:.4}  {} in {} turns, {} note",
        run.context.as_str(),
        usage.read.unwrap_or(0),
        usage.written(),
        usage.uncached,
        usage.output,
        run.cost_usd.unwrap_or(0.0),
        run.outcome.as_str(),
        run.turns,
        run.files.len(),
    );
    server.shutdown().await;
    Ok(line)
}

#[tokio::main]
async fn main() -> Result<(), Failed> {
    println!("dream: a session of {TURNS} turns with {PAGE} characters each (simulated provider)");
    for (what, wait_ms) in [("at once", 0), ("after an hour", 3_600_000)] {
        let home = tempfile::tempdir()?;
        println!("{what:14} {}", consolidate(home.path(), wait_ms).await?);
    }
    Ok(())
}
