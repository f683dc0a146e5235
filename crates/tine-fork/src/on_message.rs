//! Seeing what a fork says while it runs.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tine_model::{Block, Message, Role, ToolInput};

use crate::outcome::ForkRunId;
use crate::params::QuerySource;

/// One message that a fork added, and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct ForkMessage<'a> {
    /// Which fork.
    pub run_id: ForkRunId,
    /// Who the fork is.
    pub agent: &'a str,
    /// What it is called.
    pub label: &'a str,
    /// What it is for.
    pub source: &'a QuerySource,
    /// The message: the prompt, a reply, or the results of tools.
    pub message: &'a Arc<Message>,
}

/// Sees every message of a fork, in order. Called on the fork's own task: must be quick. A panic in it is swallowed, and the
/// fork goes on.
pub trait OnMessage: Send + Sync {
    /// A message was added, and kept where there is a registry.
    fn on_message(&self, message: &ForkMessage<'_>);
}

impl<F: Fn(&ForkMessage<'_>) + Send + Sync> OnMessage for F {
    fn on_message(&self, message: &ForkMessage<'_>) {
        self(message);
    }
}

/// Several observers. Each sees every message, whatever those before it do.
#[derive(Clone, Default)]
pub struct OnMessageChain(Vec<Arc<dyn OnMessage>>);

impl OnMessageChain {
    /// These, in this order.
    pub fn new(observers: impl IntoIterator<Item = Arc<dyn OnMessage>>) -> Self {
        Self(observers.into_iter().collect())
    }
}

impl OnMessage for OnMessageChain {
    fn on_message(&self, message: &ForkMessage<'_>) {
        for observer in &self.0 {
            tell(&**observer, message);
        }
    }
}

/// Tells one observer, and survives it.
pub(crate) fn tell(observer: &dyn OnMessage, message: &ForkMessage<'_>) {
    if catch_unwind(AssertUnwindSafe(|| observer.on_message(message))).is_err() {
        tracing::warn!(fork_run_id = %message.run_id, "an observer panicked; the fork goes on");
    }
}

/// Collects the paths of calls that write files and were carried out. It sees file tools only, and not
/// what a shell command writes.
#[derive(Debug, Default)]
pub struct FilesTouched(Mutex<Touched>);

#[derive(Debug, Default)]
struct Touched {
    /// Calls without a result yet: id and path.
    asked: Vec<(String, String)>,
    files: BTreeSet<String>,
}

/// Canonical names of the tools that write the file that they name.
const WRITING_TOOLS: [&str; 2] = ["FileEdit", "FileWrite"];

impl FilesTouched {
    /// Nothing yet.
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The paths so far, as they were written in the calls, each once and sorted.
    pub fn files(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).files.iter().cloned().collect()
    }
}

impl OnMessage for FilesTouched {
    fn on_message(&self, message: &ForkMessage<'_>) {
        let mut touched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for block in message.message.blocks() {
            match block {
                Block::ToolUse { id, name, input: ToolInput::Valid(input) }
                    if WRITING_TOOLS.contains(&name.as_str()) =>
                {
                    let path = input.text_at("file_path");
                    touched.asked.extend(path.map(|path| (id.0.clone(), path)));
                }
                Block::ToolResult { call, is_error, .. } => {
                    let Some(at) = touched.asked.iter().position(|(id, _)| *id == call.0) else {
                        continue;
                    };
                    let (_, path) = touched.asked.swap_remove(at);
                    if !is_error {
                        touched.files.insert(path);
                    }
                }
                _ => {}
            }
        }
    }
}

/// Writes one line per message to the log (`tracing`, DEBUG): who, how many blocks, how many characters of text. No content.
#[derive(Debug, Clone, Copy, Default)]
pub struct LogMessages;

impl OnMessage for LogMessages {
    fn on_message(&self, message: &ForkMessage<'_>) {
        let role = match message.message.role() {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
        };
        tracing::debug!(
            name: "fork.message",
            fork_run_id = %message.run_id,
            fork_label = message.label,
            query_source = message.source.as_str(),
            role,
            blocks = message.message.blocks().len(),
            calls = message.message.tool_calls().count(),
            text_chars = message.message.text().chars().count(),
        );
    }
}
