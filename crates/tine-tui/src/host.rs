//! What the terminal asks of the program that it is part of: settings become options there.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use tine_model::{AgentId, AgentRecord};
use tine_runtime::{NewRoot, RunOptions, Runtime, SharedMode};
use tokio_util::sync::CancellationToken;

/// What a person is told where something cannot be done: the error and what helps, each a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told(pub String);

/// A text that a model writes for a person, while nobody waits for it; `None` where it came to nothing.
pub type Written = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

/// A model that a person can choose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelChoice {
    /// `provider/name`, or `provider/name/level`.
    pub model: String,
    /// Why it can be chosen, in a few words.
    pub origin: String,
    /// Where it is served, where that is found out and not set.
    pub base_url: Option<String>,
    /// What is said to its agent at once.
    pub first_words: Option<String>,
}

/// What a person can do about a model, as it is known without looking anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Offer {
    /// Where the settings of the person stand.
    pub settings_file: String,
    /// The variables of which one makes a model.
    pub variables: Vec<&'static str>,
    /// The servers of this machine that are looked for, in a few words each.
    pub servers: Vec<String>,
    /// What can be chosen.
    pub choices: Vec<ModelChoice>,
}

/// A text that a person has sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The directory of the session in which it was sent.
    pub directory: String,
    /// The text.
    pub text: String,
}

/// The way back from a command of the command line that starts workers. They are seen and asked about as all runs of the process are.
#[derive(Clone)]
pub struct WorkerSeams {
    /// Stops them.
    pub cancel: CancellationToken,
    /// Says something to the person while the command runs.
    pub say: Arc<dyn Fn(&str) + Send + Sync>,
}

/// What may follow a command of the command line, for completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWords {
    /// The command, such as `task start`.
    pub command: String,
    /// Its options or its own commands, each with what it is for.
    pub words: Vec<(String, String)>,
}

/// The program around the terminal.
#[async_trait]
pub trait Host: Send + Sync {
    /// The agents.
    fn runtime(&self) -> &Arc<Runtime>;

    /// A new lineage, by the settings of this directory.
    fn new_root(&self) -> Result<NewRoot, Told>;

    /// What can be chosen without looking any further.
    fn offer(&self) -> Offer;

    /// Looks for servers on this machine, all at once and not for long, and gives what each one serves as soon as it is known.
    async fn find_local(&self, found: &(dyn Fn(Vec<ModelChoice>) + Send + Sync));

    /// Gives new agents of this session a model, if it can be reached as far as that shows without a request; the model, as it is called.
    async fn use_model(&self, choice: &ModelChoice) -> Result<String, Told>;

    /// Writes the model that was chosen into the person's settings. What is said of it.
    fn keep_model(&self) -> Told;

    /// How a run of this agent is to go, by the settings.
    fn options(&self, agent: &AgentRecord, cancel: CancellationToken) -> Result<RunOptions, Told>;

    /// The permission mode of this session, which all its runs share.
    fn mode(&self) -> SharedMode;

    /// An error as people are told it, with what helps.
    fn told(&self, error: tine_runtime::RuntimeError) -> Told;

    /// The text as the person leaves it in an editor of their own, which has the terminal meanwhile.
    async fn edit(&self, text: &str) -> Result<String, Told>;

    /// The texts of earlier sessions, the newest last. None where they cannot be read.
    async fn history(&self) -> Vec<HistoryEntry>;

    /// Writes down a text for later sessions. A failure is nothing that the person is told of.
    async fn keep_in_history(&self, entry: HistoryEntry);

    /// Where new agents work.
    fn directory(&self) -> PathBuf;

    /// Runs a command of the command line that may ask the person at the terminal, which is its own meanwhile; returns once they have
    /// seen what it said.
    async fn lend(&self, arguments: &[String]);

    /// What a command of the command line prints, with its colours, on a screen of so many columns. It asks nothing.
    async fn report(&self, arguments: &[String], columns: usize) -> Result<String, Told>;

    /// What may follow the commands that start workers.
    fn worker_words(&self) -> Vec<CommandWords>;

    /// The words of a command of the command line that is about one agent: this one, where they name none.
    fn about(&self, agent: AgentId, command: &[String], rest: &[String]) -> Vec<String>;

    /// Reads a command of the command line and does nothing else; its mistakes, or the help that it asks for.
    fn check(&self, arguments: &[String]) -> Result<(), Told>;

    /// Runs a command of the command line that starts workers, until they have ended. What it prints, without colours.
    async fn start_workers(
        &self,
        arguments: &[String],
        columns: usize,
        seams: WorkerSeams,
    ) -> Result<String, Told>;

    /// The person is about to prompt an agent: shows what happened while they were away, if they were. Returns what a model writes of
    /// it besides, where one does, until `cancel`.
    async fn before_prompt(
        &self,
        agent: AgentId,
        show: &(dyn for<'t> Fn(&'t str) + Send + Sync),
        cancel: CancellationToken,
    ) -> Option<Written>;

    /// A turn of a conversation has ended: what waits for that may begin, and nobody waits for it.
    async fn turn_ended(&self, agent: AgentId);

    /// Whether an agent goes on by itself when a worker reports.
    fn wakes(&self) -> bool;
}
