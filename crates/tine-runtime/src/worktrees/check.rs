//! Commands of the user's own, run where an agent works: above all the one that says whether its work is good.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tine_model::{AgentId, RawJson};
use tine_tools::{AGENT_VARIABLE, Bash, Limits, Place, Tool};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::home::Home;
use super::ready::Cause;
use crate::confine::Confinement;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

const NOT_JSON: &str = "a text of JSON could not be read: this is a bug";

/// A command that ends with status zero where work is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What `bash -c` is to run in the agent's directory.
    pub command: String,
    /// How long it may take.
    pub time_max: Duration,
}

/// How a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Whether its status was zero.
    pub passed: bool,
    /// What it printed, without its middle where that is long, and how it ended.
    pub output: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// Where a command of the user's runs that concerns one agent: what it runs is what agents wrote.
pub(super) struct Errand {
    pub(super) agent: AgentId,
    pub(super) directory: PathBuf,
    /// What it finds in its environment beside the short list.
    pub(super) variables: Vec<(String, String)>,
    pub(super) confinement: Confinement,
}

impl Errand {
    /// Runs the command behind the wall, to its end or to that of its time. What it left in the background ends with it.
    pub(super) async fn run(
        self,
        check: &Check,
        cancel: &CancellationToken,
    ) -> Result<Checked, RuntimeError> {
        let limits = Limits {
            command_default: check.time_max,
            command_max: check.time_max,
            ..Limits::default()
        };
        let own = [(AGENT_VARIABLE.to_owned(), self.agent.to_string())];
        let place = Place::new(&self.directory)?
            .with_limits(limits)
            .with_withheld(Arc::new(tine_guard::is_secret))
            .with_variables(self.variables.into_iter().chain(own));
        let place = self.confinement.raise(place).await?;
        let began = Instant::now();
        let input = json!({ "command": check.command }).to_string();
        let input = RawJson::parse(&input).map_err(|_| RuntimeError::Panicked(NOT_JSON))?;
        let output = Bash.run(&place, &input, cancel).await;
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Checked { passed: !output.is_error, output: output.text, duration_ms })
    }
}

impl Runtime {
    /// Runs a check where an agent works: with the variables that its own commands have, and behind the same wall, for what it runs
    /// is what the agent wrote. Files that it changes are changed; whoever wants the work as it was takes it before.
    pub async fn check(
        &self,
        agent: AgentId,
        check: &Check,
        confinement: &Confinement,
        cancel: &CancellationToken,
    ) -> Result<Checked, RuntimeError> {
        let record = self.store().agent(agent).await?;
        let home = self.home(&record, Cause::Command).await?;
        let confinement = &confinement.around(&record.reach);
        let errand = Errand {
            agent,
            directory: PathBuf::from(&record.directory),
            variables: home.iter().flat_map(Home::variables).collect(),
            confinement: home.map_or_else(|| confinement.clone(), |home| home.walled(confinement)),
        };
        errand.run(check, cancel).await
    }
}
