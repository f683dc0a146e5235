//! Commands that an agent runs by its own tools: who may start no agents by those may start none by a command either, no such command
//! widens what an agent may touch (`confine.rs`), and none answers, trusts or talks in a person's place.
//!
//! The second line behind the gate at the tools, for models that mean well: a command that changes its environment, or another home,
//! is not held back here. What it may write is the wall's to decide.

use tine_model::{AgentId, AgentRecord};
use tine_runtime::{AGENT_VARIABLE, Runtime, RuntimeError, StoreError};

use crate::cli::Command;
use crate::context::Context;
use crate::crew::policy;
use crate::environment::variable;
use crate::fail::{Failure, PERMISSION};

/// Refuses a command that starts agents to an agent that may start none.
pub(crate) async fn check(context: &Context, command: &Command) -> Result<(), Failure> {
    if !command.reach().starts_agents {
        return Ok(());
    }
    let Some(caller) = &context.caller else { return Ok(()) };
    let policy = policy(&context.config.fork, &context.config.workers)?;
    match policy.depth_refusal(caller.depth) {
        None => Ok(()),
        Some(refusal) => Err(Failure::coded(PERMISSION, refusal).hint(format!(
            "agent {} runs this command: {AGENT_VARIABLE} is set",
            caller.id.short()
        ))),
    }
}

/// The agent whose command this process is; `None` where a person or a script has started it.
pub(crate) async fn caller(runtime: &Runtime) -> Result<Option<AgentRecord>, RuntimeError> {
    let Some(caller) = variable(AGENT_VARIABLE).and_then(|text| text.parse::<AgentId>().ok())
    else {
        return Ok(None);
    };
    match runtime.agent(caller).await {
        Ok(record) => Ok(Some(record)),
        // An agent of another home.
        Err(RuntimeError::Store(StoreError::NotFound { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Refuses to an agent's command what only a person does; `refused` goes on from "an agent's command".
///
/// An agent of another home counts, too: whoever is there, it is no person.
pub(crate) fn only_a_person(refused: &str, hint: &str) -> Result<(), Failure> {
    if !is_inside() {
        return Ok(());
    }
    Err(Failure::coded(PERMISSION, format!("an agent's command {refused}"))
        .hint(format!("{hint}; {AGENT_VARIABLE} is set here")))
}

/// Refuses trust that an agent's command gives or takes.
pub(crate) fn check_trust() -> Result<(), Failure> {
    only_a_person("gives and takes no trust", "a person runs `tine trust` in a terminal")
}

/// True in a command that an agent runs by its own tools.
pub(crate) fn is_inside() -> bool {
    variable(AGENT_VARIABLE).is_some_and(|agent| !agent.is_empty())
}
