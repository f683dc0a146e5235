//! Who may start workers. What counts is the registry, never what a conversation says of itself; the worker's frame in an imported
//! history is a second line behind it.

use tine_fork::run::Conversation;
use tine_model::{AgentRecord, Standing};

use crate::crew::SpawnPolicy;

/// Why this agent cannot start or resume a worker; `None` when it can.
pub(crate) fn refusal(
    agent: &AgentRecord,
    conversation: Option<&Conversation>,
    policy: &SpawnPolicy,
) -> Option<String> {
    if let Some(refusal) = policy.depth_refusal(agent.depth) {
        return Some(refusal);
    }
    // A lineage that begins here knows nothing of the place its conversation had elsewhere.
    let imported = matches!(agent.standing, Standing::Root | Standing::Peer);
    let told = imported && conversation.is_some_and(is_workers);
    told.then(|| {
        "This conversation is that of a worker that was forked elsewhere, so it cannot start workers or resume any. Do the task \
         yourself, with your own tools."
            .to_owned()
    })
}

/// Whether a conversation is that of a worker, as its own words tell.
fn is_workers(conversation: &Conversation) -> bool {
    let messages = conversation.history().iter();
    tine_fork::worker::is_workers_history(messages.map(|item| &*item.message))
}
