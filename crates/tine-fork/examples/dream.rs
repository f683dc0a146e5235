//! A dream: while nobody looks, a fork writes down what was learnt. It reads everything but secrets, and writes notes alone.
//!
//! Run it with `cargo run -p tine-fork --example dream`.

mod simulated {
    pub(crate) mod parent;
    pub(crate) mod provider;
    pub(crate) mod tools;
}

use std::sync::Arc;
use std::time::Duration;

use simulated::parent::{Told, parents_request};
use simulated::provider::provider;
use simulated::tools::BuiltIn;
use tine_fork::dream::{DREAM_TURNS, ToldSession, dream_directive};
use tine_fork::prelude::*;
use tine_fork::{AutoMemFilter, FilesTouched, QuerySource};

/// First it tries to write beside the notes, is refused, and then keeps to them.
const SCENARIO: &str = r#"
name = "dream"
[[turn]]
when = { user_contains = "You look after the memory", turn = 0 }
tool_calls = [{ name = "FileWrite", input = { file_path = "WORLD/log.md", content = "x" } }]
[[turn]]
when = { turn = 1 }
tool_calls = [{ name = "FileWrite", input = { file_path = "WORLD/memory/MEMORY.md", content = "Ships come in before noon.\n" } }]
[[turn]]
text = "Noted when ships come in."
"#;

/// Forks in the background and does something else meanwhile.
pub(crate) async fn run() -> Told {
    let world = tempfile::tempdir()?;
    let memory = world.path().join("memory");
    std::fs::create_dir(&memory)?;
    let provider = provider(&SCENARIO.replace("WORLD", &world.path().to_string_lossy())).await?;
    let tools = BuiltIn::at(world.path())?;
    // The session itself, so that the provider's cache serves it, and another one as a text.
    let earlier = "User: the barge was late again.\nAssistant: it came at two.";
    let sessions = [
        ToldSession { label: "today".to_owned(), text: None },
        ToldSession { label: "yesterday".to_owned(), text: Some(earlier.to_owned()) },
    ];
    let inherited = CacheSafeParams::from_parent_request(&parents_request(tools.declared())?);
    let ports = (provider.llm.clone() as _, Arc::new(tools) as _);
    let ask = dream_directive(&memory, world.path(), &sessions, DREAM_TURNS);
    let files = FilesTouched::new();
    let params = ForkParams {
        tool_filter: Arc::new(AutoMemFilter::new(&memory)?),
        query_source: QuerySource::AutoDream,
        mode: DelegateMode::ForkAndForget,
        max_turns: DREAM_TURNS,
        timeout: Some(Duration::from_secs(300)),
        on_message: Some(files.clone()),
        skip_transcript: true,
        ..ForkParams::new(ParentContext::new("harbour"), ports, inherited, ask)
    };
    let fork = DefaultForkSubagent::new().fork(params).await?;
    // The parent would go on here. `fork.detach()` would let the fork end without anybody waiting.
    let result = fork.join().await?;
    let notes = std::fs::read_to_string(memory.join("MEMORY.md"))?;
    let escaped = world.path().join("log.md").exists();
    provider.server.shutdown().await;
    let (notes, files) = (notes.trim(), files.files().len());
    Ok(format!("{files} note ({notes}), escaped: {escaped}; {}", result.into_text()?))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    println!("{}", run().await?);
    Ok(())
}
