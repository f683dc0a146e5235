//! Agents, tasks and requests for tests.

use tine_model::{
    AgentId, AgentRecord, AgentState, ContextMode, Decision, ModelSettings, PermissionId,
    PermissionScope, RawJson, Standing, TaskRecord, TaskStatus, Usage,
};
use tine_runtime::PermissionRequest;

/// The id that is made of one byte.
pub(crate) fn id(byte: u8) -> AgentId {
    AgentId::from_random([byte; 16])
}

/// An idle agent, which a root is without a parent.
pub(crate) fn agent(byte: u8, parent: Option<u8>) -> AgentRecord {
    AgentRecord {
        id: id(byte),
        name: None,
        parent: parent.map(id),
        fork_point: None,
        standing: if parent.is_some() { Standing::Peer } else { Standing::Root },
        state: AgentState::Idle,
        context: ContextMode::Full,
        settings: ModelSettings {
            model: "sim/echo".parse().unwrap(),
            max_tokens: 1,
            thinking: None,
            effort: None,
        },
        head: [0; 32],
        directory: "/srv".into(),
        depth: 0,
        stop: None,
        created_ms: 0,
        updated_ms: 0,
    }
}

/// A worker of an agent, as it is now, and its task.
pub(crate) fn worker(byte: u8, parent: u8, status: TaskStatus) -> (AgentRecord, TaskRecord) {
    let state = if status.is_final() { AgentState::Idle } else { AgentState::Running };
    let record = AgentRecord { standing: Standing::Worker, state, ..agent(byte, Some(parent)) };
    let task = TaskRecord {
        agent: id(byte),
        spawner: id(parent),
        directive: "count the words".into(),
        description: None,
        definition: None,
        status,
        resumes: 0,
        flags: Vec::new(),
        report: status.is_final().then(|| "Scope: count\nResult: 42 words\n".to_owned()),
        error: (status == TaskStatus::Failed).then(|| "the turn limit was reached".to_owned()),
        usage: Usage::default(),
        turns: 1,
        tool_uses: 0,
        created_ms: 0,
        ended_ms: None,
        cleared_ms: None,
        worktree: None,
    };
    (record, task)
}

/// The id of a request that is made of one byte.
pub(crate) fn request_id(byte: u8) -> PermissionId {
    PermissionId::from_random([byte; 16])
}

/// A request of an agent, which waits for a minute after the epoch and then is denied.
pub(crate) fn request(byte: u8, of: u8, widest: PermissionScope) -> PermissionRequest {
    PermissionRequest {
        id: request_id(byte),
        agent: id(of),
        label: None,
        tool: "Bash".into(),
        what: "Bash: make test".into(),
        input: RawJson::parse(r#"{"command":"make test"}"#).unwrap(),
        directory: "/srv".into(),
        why: "no rule allows this command".into(),
        warning: None,
        rule: None,
        widest,
        deadline_ms: 60_000,
        fallback: Decision::Deny,
    }
}
