//! How a run is to go.

use std::sync::Arc;

use tine_fork::run::RunLimits;
use tine_fork::{AllowAllFilter, ToolFilter};
use tokio_util::sync::CancellationToken;

use crate::budget::OnBudget;
use crate::cache::CachePolicy;
use crate::confine::Confinement;
use crate::crew::setup::Crew;
use crate::permission::Permissions;

/// How a run is to go.
#[derive(Clone)]
pub struct RunOptions {
    /// Where it stops by itself.
    pub limits: RunLimits,
    /// What it may do.
    pub permissions: Permissions,
    /// Stops it.
    pub cancel: CancellationToken,
    /// How the cache is used.
    pub caching: CachePolicy,
    /// What it may call at all, whatever is allowed.
    pub filter: Arc<dyn ToolFilter>,
    /// How its tools are confined.
    pub confinement: Confinement,
    /// What its model may start.
    pub crew: Crew,
    /// What it does when a cap of its tree is used up.
    pub on_budget: OnBudget,
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
        }
    }
}
