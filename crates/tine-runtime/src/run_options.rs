//! The options of a run.

use std::sync::Arc;

use tine_fork::run::RunLimits;
use tine_fork::{AllowAllFilter, ToolFilter};
use tokio_util::sync::CancellationToken;

use crate::budget::OnBudget;
use crate::cache::CachePolicy;
use crate::confine::Confinement;
use crate::crew::setup::Crew;
use crate::permission::Permissions;
use crate::remote::Elsewhere;

/// The options of a run.
#[derive(Clone)]
pub struct RunOptions {
    /// Its own limits: at one of them it ends.
    pub limits: RunLimits,
    /// The rules for its tool calls.
    pub permissions: Permissions,
    /// Stops it.
    pub cancel: CancellationToken,
    /// The use of the provider's cache.
    pub caching: CachePolicy,
    /// The tools that it has at all, whatever is allowed.
    pub filter: Arc<dyn ToolFilter>,
    /// The confinement of its tools.
    pub confinement: Confinement,
    /// The workers that its model may start.
    pub crew: Crew,
    /// Its behaviour at a cap of its tree: to wait or to end.
    pub on_budget: OnBudget,
    /// Another machine that makes the run; `None` for this one.
    pub elsewhere: Option<Elsewhere>,
}

impl RunOptions {
    /// A run with these permissions and nothing else out of the ordinary: it ends at a cap of its tree, and nothing stops it.
    pub fn new(permissions: Permissions) -> Self {
        Self {
            limits: RunLimits::default(),
            permissions,
            cancel: CancellationToken::new(),
            caching: CachePolicy::default(),
            filter: Arc::new(AllowAllFilter),
            confinement: Confinement::default(),
            crew: Crew::default(),
            on_budget: OnBudget::End,
            elsewhere: None,
        }
    }
}
