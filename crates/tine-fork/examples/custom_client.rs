//! A client of one's own: whatever answers requests, over whichever way. Here it is a function; an embedder would hand the
//! bytes to its gateway.
//!
//! Run it with `cargo run -p tine-fork --example custom_client`.

mod simulated {
    pub(crate) mod parent;
}

use std::sync::Arc;

use async_trait::async_trait;
use simulated::parent::{Told, parents_request};
use tine_fork::client::{Event, LlmClient, LlmError, Progress, Reply, Request, StopReason, Usage};
use tine_fork::message::{Block, Message, Role};
use tine_fork::tools::NoTools;
use tine_fork::{
    CacheSafeParams, CancellationToken, DefaultForkSubagent, ForkParams, ForkSubagent,
    ParentContext,
};

/// Answers every request with how long it was.
struct Scales;

#[async_trait]
impl LlmClient for Scales {
    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        _cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        // These are the very bytes to be sent, in the format of the model's provider; `request.prefix` tells requests apart
        // that begin alike, for servers that share key-value state.
        let kilobytes = request.body.len() / 1_000;
        let words = format!("You sent {kilobytes} kB in the format {}.", request.format.as_str());
        on_progress(Progress::Event(&Event::Text { delta: words.clone() }));
        Ok(Reply {
            id: None,
            model: None,
            message: Message::new(Role::Assistant, vec![Block::Text(words)]),
            stop: StopReason::EndTurn,
            usage: Usage { uncached: request.body.len() / 4, output: 9, ..Usage::default() },
            diagnosis: None,
            dropped: vec![],
        })
    }
}

/// Forks over the function.
pub(crate) async fn run() -> Told {
    let fork = DefaultForkSubagent::new()
        .fork(ForkParams::new(
            ParentContext::new("harbour"),
            (Arc::new(Scales), Arc::new(NoTools)),
            CacheSafeParams::from_parent_request(&parents_request(vec![])?),
            "How heavy is this?",
        ))
        .await?;
    Ok(fork.join().await?.into_text()?)
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this is what the example shows")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    println!("{}", run().await?);
    Ok(())
}
