//! The user's own command that says whether the work of an agent is good, run where the work is.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tine_model::{AgentId, RawJson};
use tine_tools::{Bash, Limits, Place, Tool};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Home;
use crate::confine::Confinement;
use crate::crew::AGENT_VARIABLE;
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
        let home = self.home(&record).await?;
        let variables = home.iter().flat_map(Home::variables);
        let limits = Limits {
            command_default: check.time_max,
            command_max: check.time_max,
            ..Limits::default()
        };
        let place = Place::new(record.directory.as_ref())?
            .with_limits(limits)
            .with_withheld(Arc::new(tine_guard::is_secret))
            .with_variables(variables.chain([(AGENT_VARIABLE.to_owned(), agent.to_string())]));
        let place = match &home {
            Some(home) => home.walled(confinement).raise(place).await?,
            None => confinement.raise(place).await?,
        };
        let began = Instant::now();
        let input = json!({ "command": check.command }).to_string();
        let input = RawJson::parse(&input).map_err(|_| RuntimeError::Panicked(NOT_JSON))?;
        let output = Bash.run(&place, &input, cancel).await;
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Checked { passed: !output.is_error, output: output.text, duration_ms })
    }
}
