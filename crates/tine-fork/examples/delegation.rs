//! One agent hands a task to another and waits: the answer comes from a fork of what the other one knows.
//!
//! Run it with `cargo run -p tine-fork --example delegation`.

mod simulated {
    pub(crate) mod parent;
    pub(crate) mod provider;
}

use std::sync::Arc;

use simulated::parent::{Told, parents_request};
use simulated::provider::provider;
use tine_fork::delegate::{DelegateTool, Peer};
use tine_fork::message::Block;
use tine_fork::tools::NoTools;
use tine_fork::{
    CacheSafeParams, CacheSafeSlot, DefaultForkSubagent, ForkParams, ForkSubagent, ParentContext,
};

/// What the agent says that delegates.
const HARBOUR: &str = r#"
name = "harbour"
[[turn]]
when = { turn = 0 }
[[turn.tool_calls]]
name = "delegate"
input.agent_id = "librarian"
input.task = "What is the ferry called?"
[[turn]]
text = "The ferry is the Gannet."
"#;

/// What the agent says that is asked.
const LIBRARIAN: &str = r#"
name = "librarian"
[[turn]]
text = "The Gannet."
"#;

/// Forks an agent that has the tool, and lets it ask the librarian.
pub(crate) async fn run() -> Told {
    let (harbour, librarian) = (provider(HARBOUR).await?, provider(LIBRARIAN).await?);
    // Every agent leaves its last request here.
    let slot = CacheSafeSlot::new();
    slot.save("librarian", CacheSafeParams::from_parent_request(&parents_request(vec![])?));
    let llm = librarian.llm.clone();
    let peers = move |id: &str| Some(Peer::new(slot.read(id)?, (llm.clone(), Arc::new(NoTools))));
    let forks = DefaultForkSubagent::new();
    let tools = DelegateTool::new(Arc::new(forks.clone()), Arc::new(peers), Arc::new(NoTools))
        .allowing(["librarian"]);
    let request = parents_request(vec![DelegateTool::declaration()])?;
    let inherited = CacheSafeParams::from_parent_request(&request);
    let parent = ParentContext::new("harbour");
    let llm = (harbour.llm.clone(), Arc::new(tools) as _);
    let fork = forks.fork(ForkParams::new(parent, llm, inherited, "Which ferry is it?")).await?;
    let result = fork.join().await?;
    let told = result.messages.iter().flat_map(|message| message.blocks()).find_map(answer);
    let told = told.unwrap_or_default().to_owned();
    for provider in [harbour, librarian] {
        provider.server.shutdown().await;
    }
    Ok(format!("asked and told `{told}`: {}", result.into_text()?))
}

/// What a tool has answered.
fn answer(block: &Block) -> Option<&str> {
    match block {
        Block::ToolResult { content, .. } => content.first()?.as_text(),
        _ => None,
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    println!("{}", run().await?);
    Ok(())
}
