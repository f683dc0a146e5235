//! Forks that run elsewhere: behind a channel of bytes, as they would behind a network.
//!
//! A job is what the fork inherits and is asked, as JSON. Client, tools and filter cannot travel: the other side has its own.

#![expect(clippy::disallowed_methods, reason = "an embedder owns its tasks in its own way")]

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tine_fork::client::{LlmClient, Usage};
use tine_fork::message::{Message, PortableMessage};
use tine_fork::tokio::sync::mpsc;
use tine_fork::{
    CacheSafeParams, CancellationToken, DefaultForkSubagent, ForkEnd, ForkError, ForkHandle,
    ForkParams, ForkResult, ForkRunId, ForkSubagent, Outcome, ParentContext, QuerySource,
    ToolDispatcher, async_trait, tokio,
};

/// An order to the other side.
#[derive(Serialize, Deserialize)]
enum Job<'a> {
    Start {
        run: u64,
        parent: String,
        inherited: Box<CacheSafeParams>,
        prompt: Vec<PortableMessage<'a>>,
        max_turns: u32,
    },
    Stop {
        run: u64,
    },
}

/// A word of the other side.
#[derive(Serialize, Deserialize)]
enum Said<'a> {
    Ended(Told<'a>),
    /// There is no result, and will be none.
    Lost {
        run: u64,
    },
}

/// The end of a fork.
#[derive(Serialize, Deserialize)]
struct Told<'a> {
    run: u64,
    outcome: String,
    messages: Vec<PortableMessage<'a>>,
    final_text: Option<String>,
    /// Prompt tokens, and generated ones.
    tokens: (u64, u64),
    turns: u32,
    tool_uses: u32,
}

/// The caller's side.
pub(crate) struct Remote {
    jobs: mpsc::UnboundedSender<Vec<u8>>,
    starts: mpsc::UnboundedSender<(u64, ForkEnd, Begun)>,
    next: std::sync::atomic::AtomicU64,
}

struct Begun {
    run_id: ForkRunId,
    label: String,
    source: QuerySource,
}

#[async_trait]
impl ForkSubagent for Remote {
    async fn fork(&self, params: ForkParams) -> Result<ForkHandle, ForkError> {
        let run = self.next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&run.to_be_bytes());
        let run_id = ForkRunId::from_random(bytes);
        let abort = params.parent_ctx.abort.child_token();
        let (handle, end) = ForkHandle::pair(run_id, run_id.to_string(), abort.clone());
        let job = Job::Start {
            run,
            parent: params.parent_ctx.agent.to_string(),
            inherited: Box::new(params.cache_safe),
            prompt: params.prompt_messages.iter().map(PortableMessage::from).collect(),
            max_turns: params.max_turns,
        };
        let failed = |error: serde_json::Error| ForkError::Registry(Box::new(error));
        let job = serde_json::to_vec(&job).map_err(failed)?;
        let begun = Begun { run_id, label: params.fork_label, source: params.query_source };
        // The other side may be gone: then the end is dropped, and the fork is lost.
        drop(self.starts.send((run, end, begun)));
        drop(self.jobs.send(job));
        let jobs = self.jobs.clone();
        tokio::spawn(async move {
            abort.cancelled().await;
            if let Ok(stop) = serde_json::to_vec(&Job::Stop { run }) {
                drop(jobs.send(stop));
            }
        });
        Ok(handle)
    }
}

/// Both sides, and the channels between them.
pub(crate) fn connected(llm: Arc<dyn LlmClient>, tools: Arc<dyn ToolDispatcher>) -> Remote {
    let (jobs, work) = mpsc::unbounded_channel::<Vec<u8>>();
    let (tell, told) = mpsc::unbounded_channel::<Vec<u8>>();
    let (starts, started) = mpsc::unbounded_channel();
    tokio::spawn(serve(work, tell, llm, tools));
    tokio::spawn(collect(told, started));
    Remote { jobs, starts, next: 1.into() }
}

/// The other side: runs what it is asked for, with its own client and tools.
async fn serve(
    mut jobs: mpsc::UnboundedReceiver<Vec<u8>>,
    tell: mpsc::UnboundedSender<Vec<u8>>,
    llm: Arc<dyn LlmClient>,
    tools: Arc<dyn ToolDispatcher>,
) {
    let forks = DefaultForkSubagent::new();
    let mut running = std::collections::HashMap::<u64, CancellationToken>::new();
    while let Some(job) = jobs.recv().await {
        match serde_json::from_slice::<Job<'_>>(&job) {
            Ok(Job::Start { run, parent, inherited, prompt, max_turns }) => {
                let parent = ParentContext::new(parent);
                running.insert(run, parent.abort.clone());
                let ports = (Arc::clone(&llm), Arc::clone(&tools));
                let prompt: Vec<Message> =
                    prompt.into_iter().map(PortableMessage::into_message).collect();
                let params = ForkParams {
                    prompt_messages: prompt,
                    max_turns,
                    ..ForkParams::new(parent, ports, *inherited, "")
                };
                let (forks, tell) = (forks.clone(), tell.clone());
                tokio::spawn(async move {
                    let result = match forks.fork(params).await {
                        Ok(handle) => handle.join().await,
                        Err(error) => Err(error),
                    };
                    let said = match &result {
                        Ok(result) => Said::Ended(told(run, result)),
                        Err(_) => Said::Lost { run },
                    };
                    if let Ok(said) = serde_json::to_vec(&said) {
                        drop(tell.send(said));
                    }
                });
            }
            Ok(Job::Stop { run }) => {
                running.remove(&run).into_iter().for_each(|abort| abort.cancel());
            }
            Err(_) => {}
        }
    }
}

fn told(run: u64, result: &ForkResult) -> Told<'_> {
    let messages = result.messages.iter();
    Told {
        run,
        outcome: result.outcome.as_str().to_owned(),
        messages: messages.map(|message| PortableMessage::from(&**message)).collect(),
        final_text: result.final_text.clone(),
        tokens: (result.usage.prompt(), result.usage.output),
        turns: result.turns,
        tool_uses: result.tool_uses,
    }
}

/// Hands results to those who wait for them.
async fn collect(
    mut told: mpsc::UnboundedReceiver<Vec<u8>>,
    mut started: mpsc::UnboundedReceiver<(u64, ForkEnd, Begun)>,
) {
    let mut waiting = std::collections::HashMap::new();
    while let Some(told) = told.recv().await {
        while let Ok((run, end, begun)) = started.try_recv() {
            waiting.insert(run, (end, begun));
        }
        match serde_json::from_slice::<Said<'_>>(&told) {
            Ok(Said::Ended(told)) => {
                let waits = waiting.remove(&told.run);
                if let Some((end, begun)) = waits {
                    end.finish(result(told, begun));
                }
            }
            // Dropped, the end says that the fork is lost.
            Ok(Said::Lost { run }) => drop(waiting.remove(&run)),
            Err(_) => {}
        }
    }
}

/// The result as the caller's side has it.
fn result(told: Told<'_>, begun: Begun) -> ForkResult {
    let outcome = match told.outcome.as_str() {
        "completed" => Outcome::Completed,
        "turn_limit" => Outcome::TurnLimit,
        "aborted" => Outcome::Aborted,
        other => Outcome::Failed(other.to_owned()),
    };
    let (uncached, output) = told.tokens;
    ForkResult {
        run_id: begun.run_id,
        agent: begun.run_id.to_string().into(),
        label: begun.label,
        source: begun.source,
        outcome,
        messages: told
            .messages
            .into_iter()
            .map(|message| Arc::new(message.into_message()))
            .collect(),
        final_text: told.final_text,
        usage: Usage { uncached, output, ..Usage::default() },
        requests: Vec::new(),
        cache: None,
        cost_usd: None,
        turns: told.turns,
        tool_uses: told.tool_uses,
        duration: Duration::ZERO,
        error: None,
    }
}
