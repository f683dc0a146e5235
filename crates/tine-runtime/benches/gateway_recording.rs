//! Disk and time that recording takes for a growing conversation of another program. Run with `cargo xtask bench gateway`.
//!
//! A program sends its whole conversation with each request; the store keeps each message once. Nothing here asserts a time: machines
//! differ, and recording stands beside the way of the requests.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use tine_cache::Models;
use tine_fork::host::{SystemClock, SystemIds};
use tine_llm::LlmClient;
use tine_model::{ModelRef, Provider};
use tine_runtime::{
    ConnectError, Connector, GuestReply, GuestSent, Guests, HostSession, Ports, Runtime,
};
use tine_store::{OpenOptions, SqliteStore};

type Failed = Box<dyn Error + Send + Sync>;

/// Requests of the conversation.
const REQUESTS: usize = 1_000;

/// Characters of a tool's result, and of a reply.
const RESULT: usize = 400;
const REPLY: usize = 200;

/// Characters of the declarations of all tools.
const TOOLS: usize = 40_000;

struct NoModel;

#[async_trait]
impl Connector for NoModel {
    async fn connect(&self, _model: &ModelRef) -> Result<Arc<dyn LlmClient>, ConnectError> {
        Err(ConnectError::Scenario {
            name: "none".to_owned(),
            source: "a guest asks no model".into(),
        })
    }

    fn account(&self, _model: &ModelRef) -> String {
        "bench".to_owned()
    }
}

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let home = tempfile::tempdir()?;
    let path = home.path().join("tine.db");
    let store = SqliteStore::open(&path, OpenOptions::default()).await?;
    let ports = Ports {
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        models: Arc::new(NoModel),
        facts: Arc::new(Models::bundled()),
    };
    let runtime = Arc::new(Runtime::new(Arc::new(store), ports, home.path().join("run")));
    let mut guests = Guests::new(Arc::clone(&runtime), home.path().to_owned());
    let tools = json!([{"name": "Bash", "description": "d".repeat(TOOLS), "input_schema": {"type": "object"}}]);
    let (mut messages, mut sent_bytes, mut times) = (Vec::new(), 0, Vec::new());
    for number in 0..REQUESTS {
        messages
            .push(json!({"role": "user", "content": format!("{number} {}", "r".repeat(RESULT))}));
        let body = json!({
            "model": "claude-opus-5-5", "max_tokens": 1_000, "tools": tools, "messages": messages,
        });
        let body = body.to_string().into_bytes();
        sent_bytes += body.len();
        let said = format!("{number} {}", "s".repeat(REPLY));
        let begun = Instant::now();
        exchange(&mut guests, number as u64, body, &said).await?;
        times.push(begun.elapsed());
        messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": said}]}));
    }
    runtime.close().await?;
    let disk = size(&path)?;
    println!("{REQUESTS} requests of one conversation, {} MB sent in all", sent_bytes >> 20);
    println!(
        "on disk: {} KB ({:.1} % of what was sent, {} bytes a request)",
        disk >> 10,
        100.0 * disk as f64 / sent_bytes as f64,
        disk / REQUESTS,
    );
    let (first, last) = (&mut times[..100].to_vec(), &mut times[REQUESTS - 100..].to_vec());
    println!("time to record one of the first 100: {}", middle(first));
    println!("time to record one of the last 100: {}", middle(last));
    Ok(())
}

async fn exchange(
    guests: &mut Guests,
    exchange: u64,
    body: Vec<u8>,
    said: &str,
) -> Result<(), Failed> {
    let session = Some("session".to_owned());
    let session = HostSession { host: "bench".to_owned(), session, is_worker: false };
    let (provider, account) = (Provider::Anthropic, "bench".to_owned());
    let at_ms = exchange as i64;
    let (upstream, gateway, headers) = (account.clone(), None, Vec::new());
    let sent =
        GuestSent { exchange, provider, account, upstream, gateway, headers, session, body, at_ms };
    guests.sent(sent).await?;
    guests.begun(exchange, true).await?;
    let reply: Value = json!({
        "id": "m", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
        "content": [{"type": "text", "text": said}], "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": 1, "cache_creation_input_tokens": 1},
    });
    let body = reply.to_string().into_bytes();
    let reply = GuestReply { body, is_stream: false, is_complete: true };
    guests.ended(exchange, Some(reply)).await?;
    Ok(())
}

/// The median and the highest of some times.
fn middle(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let median = times[times.len() / 2];
    let highest = times.last().copied().unwrap_or_default();
    format!("{:.1} ms (highest {:.1} ms)", median.as_secs_f64() * 1e3, highest.as_secs_f64() * 1e3)
}

/// Bytes of the store's files.
fn size(path: &Path) -> Result<usize, Failed> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(path.parent().unwrap_or(path))? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("tine.db") {
            bytes += usize::try_from(entry.metadata()?.len())?;
        }
    }
    Ok(bytes)
}
