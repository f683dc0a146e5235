//! `tine gateway hook`: what waits for a conversation, handed to its program's next prompt.
//!
//! It runs before every prompt of a person, so it opens nothing that it does not need, and whatever fails is a line on stderr: the code is 0
//! in any case, and the prompt goes on. Mail is read once it is taken, before it is printed: where this process dies right then, it does not
//! come again.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Read as _};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tine_fork::host::{SystemClock, SystemIds};
use tine_llm::HttpLimits;
use tine_runtime::{Ports, Runtime, TakenMail};
use tine_tui::figures::plural;
use tine_tui::words::one_line;
use tokio::time::timeout;

use crate::connect;
use crate::dirs::Dirs;
use crate::environment::variable;
use crate::fail::Failure;
use crate::output;

/// Events whose answer may bring text for the model.
const EVENTS: [&str; 2] = ["UserPromptSubmit", "SessionStart"];

/// Programs that call hooks, as guests name them. Their ids are random: no two of them have the same.
const HOSTS: [&str; 2] = ["claude-code", "codex"];

/// Most bytes of the input: it holds the prompt.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Longest wait for the store. A person waits for it.
const WAIT_MAX: Duration = Duration::from_secs(3);

/// The input, as far as it is read.
#[derive(Debug, Deserialize)]
struct Input {
    hook_event_name: String,
    session_id: String,
    /// Set where a worker of the conversation is prompted.
    #[serde(default)]
    agent_id: Option<serde_json::Value>,
}

/// The answer, in the words of the hosts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    hook_specific_output: Output<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    hook_event_name: &'a str,
    additional_context: String,
}

/// Answers the hook of a host.
pub(crate) fn hook() -> Result<u8, Failure> {
    if let Err(failure) = answer() {
        output::say(&format!("tine gateway hook: {}", one_line(failure.message())));
    }
    Ok(0)
}

fn answer() -> Result<(), Failure> {
    let Some(input) = read()? else { return Ok(()) };
    let dirs = Dirs::find(&variable)?;
    if !dirs.database.exists() {
        return Ok(());
    }
    let async_runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed("cannot start the async runtime").because(&error))?;
    let taken = async_runtime.block_on(async {
        let late = || Failure::failed("the store is held by another process");
        timeout(WAIT_MAX, take(dirs, &input)).await.unwrap_or_else(|_| Err(late()))
    });
    // Whoever still waits for the store must not hold the prompt.
    async_runtime.shutdown_background();
    let TakenMail { texts, left } = taken?;
    if texts.is_empty() {
        return Ok(());
    }
    let hook_event_name = &input.hook_event_name;
    let additional_context = told(&texts, left);
    let output = Output { hook_event_name, additional_context };
    output::json(&Answer { hook_specific_output: output })
}

/// Reads the input; `None` where nothing can be handed over.
fn read() -> Result<Option<Input>, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return Err(Failure::input("a host runs it, and gives it JSON on standard input"));
    }
    let mut bytes = Vec::new();
    let read = stdin.lock().take(INPUT_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| Failure::input("cannot read standard input").because(&error))?;
    let input: Input = serde_json::from_slice(&bytes)
        .map_err(|error| Failure::input("the input is not that of a hook").because(&error))?;
    let is_ours = EVENTS.contains(&input.hook_event_name.as_str());
    let is_of_worker = input.agent_id.as_ref().is_some_and(|id| !id.is_null());
    Ok(Some(input).filter(|_| is_ours && !is_of_worker))
}

async fn take(dirs: Dirs, input: &Input) -> Result<TakenMail, Failure> {
    let runtime = Runtime::open(dirs.database, dirs.owners, ports(), None).await?;
    for host in HOSTS {
        let taken = runtime.take_mail_of_session(host, &input.session_id).await?;
        if !taken.texts.is_empty() {
            return Ok(taken);
        }
    }
    Ok(TakenMail::default())
}

/// Ports of a runtime that asks no model: reading what is known of models would take as long as all the rest.
fn ports() -> Ports {
    let facts = tine_cache::Models::parse("").unwrap_or_else(|_| tine_cache::Models::bundled());
    Ports {
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        models: Arc::new(connect::Models::new(BTreeMap::new(), HttpLimits::default())),
        facts: Arc::new(facts),
    }
}

/// The text that the model reads.
fn told(texts: &[String], left: usize) -> String {
    let came = plural(texts.len() as u64, "message");
    let mut told = format!("{came} came in through tine since the last prompt:\n\n");
    told.push_str(&texts.join("\n\n"));
    if left > 0 {
        told.push_str(&format!("\n\n{left} more will come with the next prompt."));
    }
    told
}
