//! What a parent's request says before its messages.

pub use tine_model::{
    CacheScheme, Effort, Lifetime, ModelRef, ModelSettings, Provider, Thinking, ToolChoice,
    WireFormat,
};
pub use tine_wire::{
    HeadParts, HeadPartsError, Lifetimes, ReadRequestError, SentRequest, SystemBlock,
    ToolDeclaration, ToolOrder,
};
