//! The specification of a fork.

use std::path::PathBuf;

use tine_model::{AgentId, EntryId};

use crate::confine::ReachWish;
use crate::crew::definition::AgentDefinition;
use crate::inherit::Inherit;
use crate::model_words::ModelWords;
use crate::worktrees::Placement;

/// The parts of a fork, the same for a peer of its parent, a worker with a task, the workers of a fan and a hidden run. They can be combined
/// freely, but a native history with another model loses the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkSpec {
    /// The agent that it is forked from.
    pub parent: AgentId,
    /// The last entry to inherit; `None` for the parent's head.
    pub at: Option<EntryId>,
    /// A name that no living agent has. Several workers have none.
    pub name: Option<String>,
    /// How much is inherited, and in which form.
    pub inherit: Inherit,
    /// The defined agent that a worker works as; `None` for the one that it is forked from. With a full history it keeps that one's system
    /// prompt, declared tools and model, so that the cache serves them: the agent's tools narrow what it may call, and the agent's
    /// prompt stands in front of its task. With any other history it begins with that agent's own.
    pub agent: Option<AgentDefinition>,
    /// Another model; `None` for that of its agent, or of its parent. A head of its own then says the same to it. Refused with a native
    /// history, because no cache serves it then, unless [`Self::accept_cache_loss`] is set.
    pub model: Option<ModelWords>,
    /// Whether a native history may be sent anew to another model.
    pub accept_cache_loss: bool,
    /// Where it works.
    pub place: Placement,
    /// Where it works instead of its parent's directory: absolute, and not with a worktree of its own. It is told of that.
    pub directory: Option<PathBuf>,
    /// Its reach; without a wish that of its parent. For workers the options of their run decide.
    pub reach: ReachWish,
}

impl ForkSpec {
    /// A fork that inherits everything.
    pub fn of(parent: AgentId) -> Self {
        Self {
            parent,
            at: None,
            name: None,
            inherit: Inherit::Full,
            agent: None,
            model: None,
            accept_cache_loss: false,
            place: Placement::Shared,
            directory: None,
            reach: ReachWish::default(),
        }
    }

    /// Returns true where an estimate of plain forks says what this one costs.
    pub fn is_priced(&self) -> bool {
        self.inherit == Inherit::Full && self.model.is_none()
    }
}
