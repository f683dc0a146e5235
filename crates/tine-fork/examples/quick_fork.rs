//! The shortest way to a fork: what the parent has sent, one more question, the answer.
//!
//! Run it with `cargo run -p tine-fork --example quick_fork`.

mod simulated {
    pub(crate) mod parent;
    pub(crate) mod provider;
}

use std::sync::Arc;

use simulated::parent::{Told, parents_request};
use simulated::provider::provider;
use tine_fork::prelude::*;

const SCENARIO: &str = r#"
name = "quick"
[[turn]]
text = "Three: a barge, a tug and the ferry."
"#;

/// Forks once and waits.
pub(crate) async fn run() -> Told {
    let provider = provider(SCENARIO).await?;
    let inherited = CacheSafeParams::from_parent_request(&parents_request(vec![])?);
    let fork = DefaultForkSubagent::new()
        .fork(ForkParams::new(
            ParentContext::new("harbour"),
            (provider.llm.clone(), Arc::new(NoTools)),
            inherited,
            "How many, and of which kind?",
        ))
        .await?;
    let result = fork.join().await?;
    let told = format!("{} in {} turn: ", result.outcome.as_str(), result.turns);
    provider.server.shutdown().await;
    Ok(format!("{told}{}", result.into_text()?))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    println!("{}", run().await?);
    Ok(())
}
