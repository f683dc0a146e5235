//! Agents for tests.

use tine_model::{AgentId, AgentRecord, AgentState, ContextMode, ModelSettings, Standing};

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
