//! The role of a worker: how much it inherits, and as which agent it works.

use tine_fork::envelope::escape_frame_tags;
use tine_model::ContextMode;

use super::definition::{AgentDefinition, Definitions};
use crate::error::RuntimeError;
use crate::fork_spec::ForkSpec;

/// The parts of a fork that count in every run of a worker, whoever runs it.
#[derive(Debug, Clone)]
pub(crate) struct WorkerRole {
    context: ContextMode,
    pub(super) agent: Option<AgentDefinition>,
}

impl WorkerRole {
    pub(crate) fn of(spec: &ForkSpec) -> Self {
        Self { context: spec.inherit.context(), agent: spec.agent.clone() }
    }

    /// The role of a worker, by what its rows keep.
    pub(crate) fn of_task(
        definition: Option<&str>,
        context: ContextMode,
        definitions: &Definitions,
    ) -> Result<Self, RuntimeError> {
        let find = |name: &str| {
            let found = definitions.get(name).cloned();
            found.ok_or_else(|| RuntimeError::NoDefinition(name.to_owned()))
        };
        Ok(Self { context, agent: definition.map(find).transpose()? })
    }

    /// True if a part of a conversation stands before its task.
    pub(crate) fn has_history(&self) -> bool {
        self.context != ContextMode::Fresh
    }

    /// Its agent's instructions, sent before its task; `None` if its own head has them.
    pub(crate) fn instructions(&self) -> Option<String> {
        let agent = self.agent.as_ref().filter(|_| self.context == ContextMode::Full)?;
        let listed = |tools: &[String]| match tools {
            [] => "none".to_owned(),
            tools => tools.join(", "),
        };
        let mut text = format!(
            "For your task you are the agent `{}`. These are its instructions; where they contradict earlier ones, they count:\n\n{}",
            agent.name, agent.prompt
        );
        if let Some(tools) = &agent.tools {
            text.push_str(&format!("\n\nThe tools that you may call: {}.", listed(tools)));
        }
        if !agent.disallowed.is_empty() {
            let tools = listed(&agent.disallowed);
            text.push_str(&format!("\n\nThe tools that you may not call: {tools}."));
        }
        Some(escape_frame_tags(&text).into_owned())
    }
}
