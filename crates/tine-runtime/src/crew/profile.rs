//! The parts of a worker: how much it inherits, as which agent it works, and with which model.

use tine_fork::envelope::escape_frame_tags;
use tine_model::{AgentId, AgentRecord, ContextMode, EntryId, ModelSettings};
use tine_store::Head as StoredHead;

use super::{AgentDefinition, Definitions};
use crate::error::RuntimeError;
use crate::inherit::Inherit;
use crate::model_words::ModelWords;
use crate::runtime::{NewHead, Runtime};

/// What a worker has of the agent that starts it, and what of its own. Each part goes with each other, but a native context with
/// another model loses the cache.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkerProfile {
    /// How much of the conversation it inherits, and in which form.
    pub context: Inherit,
    /// The agent that it works as; `None` for the one that starts it. With a full context it keeps that one's system prompt, declared
    /// tools and model, so that the cache serves them: the agent's tools narrow what it may call, and the agent's prompt stands in
    /// front of its task. With any other context it begins with that agent's own.
    pub agent: Option<AgentDefinition>,
    /// Its model; `None` for that of its agent, or of the agent that starts it. Refused with a native history, because no cache
    /// serves it then, unless [`Self::accept_cache_loss`] is set.
    pub model: Option<ModelWords>,
    /// Whether a native history may be sent anew to another model.
    pub accept_cache_loss: bool,
}

impl WorkerProfile {
    /// A worker that inherits this much, and is otherwise like the agent that starts it.
    pub fn inheriting(context: Inherit) -> Self {
        Self { context, ..Self::default() }
    }

    /// Returns true where an estimate of plain forks says what such workers cost.
    pub fn is_priced(&self) -> bool {
        self.context == Inherit::Full && self.model.is_none()
    }
}

/// The parts of a profile that count in every run of a worker, whoever runs it.
#[derive(Debug, Clone)]
pub(crate) struct WorkerRole {
    context: ContextMode,
    pub(super) agent: Option<AgentDefinition>,
}

impl WorkerRole {
    pub(crate) fn of(profile: &WorkerProfile) -> Self {
        Self { context: profile.context.context(), agent: profile.agent.clone() }
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

    /// Whether something of a conversation stands before its task.
    pub(crate) fn has_history(&self) -> bool {
        self.context != ContextMode::Fresh
    }

    /// What it is told of its agent before its task; `None` where its own head says it.
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

impl Runtime {
    /// The settings and the head of workers with this profile. One that is made for them belongs to the lineage of `first`. Another
    /// model for a native history is refused with its price, unless that is accepted.
    pub(crate) async fn worker_head(
        &self,
        parent: &AgentRecord,
        (first, at): (AgentId, Option<EntryId>),
        profile: &WorkerProfile,
    ) -> Result<(ModelSettings, StoredHead), RuntimeError> {
        let agent = profile.agent.as_ref().filter(|_| profile.context != Inherit::Full);
        let model = profile.model.as_ref().or(agent.and_then(|agent| agent.model.as_ref()));
        let settings = model.map(|words| words.settings(&parent.settings));
        let other = settings.filter(|settings| *settings != parent.settings);
        let settings = other.clone().unwrap_or_else(|| parent.settings.clone());
        if other.is_some() && !profile.accept_cache_loss {
            self.refuse_cache_loss(parent, at, profile.context, &settings).await?;
        }
        let head = match (agent, other) {
            (Some(agent), _) => {
                let head = NewHead {
                    system: &escape_frame_tags(&agent.prompt),
                    tools: &|name| agent.has_tool(name),
                    stream: true,
                    // Signed reasoning is bound to the head that it was made behind.
                    drop_foreign_thinking: matches!(profile.context, Inherit::Turns(_)),
                };
                let head = self.render_head((first, &settings), head);
                StoredHead { hash: head.hash(), body: Some(head.to_stored()) }
            }
            (None, Some(_)) => self.restated_head(parent, first, &settings).await?,
            (None, None) => StoredHead { hash: parent.head, body: None },
        };
        Ok((settings, head))
    }
}
