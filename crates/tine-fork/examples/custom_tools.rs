//! Tools of one's own: a dispatcher answers calls, and tells the loop which of them may run at the same time.
//!
//! Run it with `cargo run -p tine-fork --example custom_tools`.

mod simulated {
    pub(crate) mod parent;
    pub(crate) mod provider;
}

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use simulated::parent::{Told, parents_request};
use simulated::provider::provider;
use tine_fork::message::RawJson;
use tine_fork::request::ToolDeclaration;
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{
    CacheSafeParams, DefaultForkSubagent, ForkParams, ForkSubagent, ParentContext, ToolDispatcher,
};

/// A tide gauge that can be read, and a bell that can be rung.
#[derive(Default)]
struct Harbour {
    rung: AtomicU32,
}

#[async_trait]
impl ToolDispatcher for Harbour {
    fn is_read_only(&self, tool: &str) -> bool {
        tool == "Tide"
    }

    async fn dispatch(&self, call: &ToolCall, context: &CallContext) -> ToolAnswer {
        match call.name.as_str() {
            "Tide" => ToolAnswer::ok("2.4 m, rising"),
            "Bell" => {
                self.rung.fetch_add(1, Ordering::Relaxed);
                ToolAnswer::ok(format!("rung for {}", context.agent))
            }
            // An unknown tool is an answer too: the model mends it in the same run.
            other => {
                ToolAnswer::error(format!("There is no tool `{other}`. The tools are: Bell, Tide."))
            }
        }
    }
}

/// The declaration of a tool without arguments.
fn tool(name: &str, description: &str) -> ToolDeclaration {
    let (name, description) = (name.to_owned(), description.to_owned());
    ToolDeclaration { name, description, schema: RawJson::empty_object() }
}

const SCENARIO: &str = r#"
name = "tools"
[[turn]]
when = { turn = 0 }
text = "The gauge first."
[[turn.tool_calls]]
name = "Tide"
[[turn.tool_calls]]
name = "Bell"
[[turn]]
text = "The tide is in, and the bell was rung."
"#;

/// Forks with the harbour's tools.
pub(crate) async fn run() -> Told {
    let provider = provider(SCENARIO).await?;
    let declared =
        vec![tool("Tide", "Reads the tide gauge."), tool("Bell", "Rings the harbour's bell.")];
    let harbour = Arc::new(Harbour::default());
    let fork = DefaultForkSubagent::new()
        .fork(ForkParams::new(
            ParentContext::new("harbour"),
            (provider.llm.clone(), harbour.clone()),
            CacheSafeParams::from_parent_request(&parents_request(declared)?),
            "Is the tide in? Then ring the bell.",
        ))
        .await?;
    let result = fork.join().await?;
    let rung = harbour.rung.load(Ordering::Relaxed);
    let told = format!("{} calls, rung {rung} time: ", result.tool_uses);
    provider.server.shutdown().await;
    Ok(format!("{told}{}", result.into_text()?))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    println!("{}", run().await?);
    Ok(())
}
