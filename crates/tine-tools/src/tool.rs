//! What a tool is: a frozen declaration and a way to run it.

use async_trait::async_trait;
use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use crate::place::Place;

/// The declaration of a tool. It is part of the prefix that forks share, so its text is frozen: a
/// changed letter costs every running conversation its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// The canonical name.
    pub name: &'static str,
    /// What the model is told that the tool does.
    pub description: &'static str,
    /// The JSON schema of the arguments as text, in its source key order.
    pub schema: &'static str,
    /// What a call can do to the world.
    pub effect: Effect,
}

/// What a call can do to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Only reads; calls of one turn may run at the same time.
    Reads,
    /// Changes files.
    Writes,
    /// Starts processes, which may do anything.
    Runs,
    /// Calls other tools, and does nothing else.
    Calls,
    /// Starts agents, or steers those that it has started; what those do is judged call by call.
    Spawns,
}

/// What the model gets to see of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text.
    pub text: String,
    /// Whether the call did not do what it was asked.
    pub is_error: bool,
}

impl ToolOutput {
    /// The output of a call that worked.
    pub fn done(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: false }
    }

    /// The output of a call that did not.
    pub fn failed(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true }
    }
}

/// Something a model can call.
#[async_trait]
pub trait Tool: Send + Sync {
    /// The declaration; the same text on every call.
    fn spec(&self) -> &ToolSpec;

    /// Runs one call to its end. Must not panic on any input, must return soon after `cancel`, and
    /// must leave nothing running when it returns or when its future is dropped, but for what the place keeps in the background.
    async fn run(&self, place: &Place, input: &RawJson, cancel: &CancellationToken) -> ToolOutput;
}

/// Why a call could not do its work, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure(String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for others than the model.
    pub(crate) fn into_text(self) -> String {
        self.0
    }

    /// Nobody keeps commands in the background here.
    pub(crate) fn no_background() -> Self {
        Self::new("commands cannot run in the background here")
    }

    /// The call was cancelled before or while it worked.
    pub(crate) fn cancelled() -> Self {
        Self::new("cancelled")
    }
}

impl From<Failure> for ToolOutput {
    fn from(failure: Failure) -> Self {
        Self::failed(failure.0)
    }
}

impl From<Result<String, Failure>> for ToolOutput {
    fn from(result: Result<String, Failure>) -> Self {
        match result {
            Ok(text) => Self::done(text),
            Err(failure) => failure.into(),
        }
    }
}

/// Runs the file work of a call, as it was read, on the runtime's blocking threads. The token that `work` gets is cancelled with
/// `cancel` and also when the caller drops this future, so a walk whose result nobody wants ends.
/// Work that has begun to write is not interrupted.
pub(crate) async fn blocking<O, W>(
    place: &Place,
    order: Result<O, Failure>,
    cancel: &CancellationToken,
    work: W,
) -> ToolOutput
where
    O: Send + 'static,
    W: FnOnce(&Place, &O, &CancellationToken) -> Result<String, Failure> + Send + 'static,
{
    let order = match order {
        Ok(order) => order,
        Err(failure) => return failure.into(),
    };
    let place = place.share();
    let token = cancel.child_token();
    let _cancelled_on_drop = token.clone().drop_guard();
    let task = tokio::task::spawn_blocking(move || {
        if token.is_cancelled() { Err(Failure::cancelled()) } else { work(&place, &order, &token) }
    });
    match task.await {
        Ok(result) => result.into(),
        Err(error) => ToolOutput::failed(format!("the tool stopped unexpectedly: {error}")),
    }
}
