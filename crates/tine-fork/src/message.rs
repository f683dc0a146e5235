//! What conversations are made of.

pub use tine_wire::PortableMessage;

pub use tine_model::{
    AgentId, Block, EntryId, Message, RawJson, Role, SeenFile, Segment, ToolCallId, ToolInput,
};
