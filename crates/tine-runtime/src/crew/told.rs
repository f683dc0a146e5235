//! The first message of a worker, and the options of its run.

use std::sync::Arc;

use tine_fork::ToolFilter;
use tine_fork::run::{Conversation, RunLimits};
use tine_fork::worker::{Inherits, fresh_directive, worker_directive};
use tine_guard::PermissionMode;
use tine_model::{Block, Message, RawJson, Role};

use super::definition::{AgentDefinition, Definitions};
use super::role::WorkerRole;
use crate::confine::Confinement;
use crate::permission::Permissions;
use crate::prompt::environment_note;
use crate::run_options::RunOptions;

/// The description of the place where a worker works, for its first message.
pub(crate) struct ToldPlace {
    pub(super) directory: String,
    /// Of the worktree, where that is its own.
    pub(super) notice: Option<String>,
}

/// The first message of a worker. Where the model forgets its reasoning when somebody speaks, the directive is part of the last
/// open call's result, so that what stands before it stays what it was.
pub(crate) fn told(
    (role, prompt): (&WorkerRole, &str),
    (conversation, place): (&Conversation, &ToldPlace),
    (strips_reasoning, inherits): (bool, &Inherits),
) -> Message {
    if !role.has_history() {
        let note = environment_note(place.directory.as_ref(), &Definitions::default());
        let blocks = [note].into_iter().chain(place.notice.clone());
        let blocks = blocks.chain([fresh_directive(prompt)]).map(Block::Text);
        return Message::new(Role::User, blocks.collect());
    }
    let texts = place.notice.clone().into_iter().chain(role.instructions());
    let texts = texts.chain([worker_directive(prompt, inherits)]);
    let last = conversation.history().last().map(|item| &item.message);
    let open = last.filter(|message| message.role() == Role::Assistant);
    match open.and_then(|message| message.tool_calls().last()) {
        Some(call) if strips_reasoning => {
            let text = texts.collect::<Vec<_>>().join("\n\n");
            Message::new(Role::User, vec![Block::result(call.clone(), text, false)])
        }
        _ => Message::new(Role::User, texts.map(Block::Text).collect()),
    }
}

/// The options of a worker's run: those of the run that starts it, and never more than it may itself.
pub(crate) fn worker_options(
    options: &RunOptions,
    role: &WorkerRole,
    limits: RunLimits,
) -> RunOptions {
    let crew = &options.crew;
    let (mut permissions, mut filter) = (options.permissions.clone(), Arc::clone(&options.filter));
    let mut turns = limits.turns;
    if let Some(definition) = &role.agent {
        permissions = narrowed(permissions, definition.permission_mode);
        filter = only_its_tools(definition.clone(), filter);
        turns = definition.max_turns.map_or(turns, |most| most.min(turns));
    }
    RunOptions {
        limits: RunLimits { turns, ..limits },
        permissions,
        filter,
        // What is stored with the worker bounds it by itself; whoever takes it up again lends it no more than it has.
        confinement: Confinement {
            reach: options.confinement.reach.clone(),
            ..crew.confinement.clone()
        },
        ..options.clone()
    }
}

/// Permissions with the stricter of two modes.
fn narrowed(permissions: Permissions, mode: Option<PermissionMode>) -> Permissions {
    let mode = permissions.mode.narrowed(mode);
    Permissions { mode, ..permissions }
}

/// A filter that refuses what the definition does not give, and what the rest refuses.
pub(crate) fn only_its_tools(
    definition: AgentDefinition,
    rest: Arc<dyn ToolFilter>,
) -> Arc<dyn ToolFilter> {
    Arc::new(OnlyItsTools { definition, rest })
}

/// Refuses what the definition does not give.
struct OnlyItsTools {
    definition: AgentDefinition,
    rest: Arc<dyn ToolFilter>,
}

impl ToolFilter for OnlyItsTools {
    fn allows(&self, tool: &str, input: &RawJson) -> bool {
        self.definition.has_tool(tool) && self.rest.allows(tool, input)
    }

    fn denial_message(&self, tool: &str, input: &RawJson) -> String {
        if self.definition.has_tool(tool) {
            self.rest.denial_message(tool, input)
        } else {
            let name = &self.definition.name;
            format!("The agent `{name}` does not have the tool `{tool}`. Do without it.")
        }
    }
}
