//! Eight forks of one parent: one writes the prefix into the provider's cache, seven read it.
//!
//! Run it with `cargo run -p tine-fork --example eight_siblings`.

mod simulated {
    pub(crate) mod parent;
    pub(crate) mod provider;
}

use std::sync::Arc;

use simulated::parent::{Told, parents_request};
use simulated::provider::provider;
use tine_fork::cache::Asked;
use tine_fork::client::Usage;
use tine_fork::tools::NoTools;
use tine_fork::{CacheSafeParams, DefaultForkSubagent, ForkParams, ParentContext, Sibling};

const SCENARIO: &str = r#"
name = "siblings"
[[turn]]
text = "{{user}}: done."
"#;

/// Fans out and adds up what the cache did.
pub(crate) async fn run() -> Told {
    let provider = provider(SCENARIO).await?;
    let shared = ForkParams {
        prompt_messages: vec![],
        ..ForkParams::new(
            ParentContext::new("harbour"),
            (provider.llm.clone(), Arc::new(NoTools)),
            CacheSafeParams::from_parent_request(&parents_request(vec![])?),
            "",
        )
    };
    let siblings = (1..=8).map(|berth| Sibling::new(format!("Check berth {berth}"))).collect();
    let fan = DefaultForkSubagent::new().fan_out(shared, siblings, Asked::Leader).await?;
    let mut told = String::new();
    let mut sum = Usage::default();
    for result in fan.join().await {
        let result = result?;
        sum += result.usage;
        told.push_str(&result.into_text()?);
        told.push('\n');
    }
    let written = sum.write_short.unwrap_or(0);
    let read = sum.read.unwrap_or(0);
    provider.server.shutdown().await;
    let times = read / written.max(1);
    Ok(format!("{told}{times} times as many tokens were read from the cache as written to it"))
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    println!("{}", run().await?);
    Ok(())
}
