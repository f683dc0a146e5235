//! A parent: one request that it has sent.

use std::error::Error;

use tine_fork::ParentRequest;
use tine_fork::message::Message;
use tine_fork::request::{HeadParts, Lifetimes, ModelSettings, ToolDeclaration};

/// What every example returns: what it prints.
pub(crate) type Told = Result<String, Box<dyn Error + Send + Sync>>;

/// What the parent has sent last: a long system prompt, so that there is something to cache, and one question.
pub(crate) fn parents_request(
    tools: Vec<ToolDeclaration>,
) -> Result<ParentRequest, Box<dyn Error + Send + Sync>> {
    let settings = ModelSettings {
        model: "anthropic/claude-opus-5-5".parse()?,
        max_tokens: 1_024,
        thinking: None,
        effort: None,
    };
    let system = "You keep the log of a small harbour, in short sentences. ".repeat(400);
    Ok(ParentRequest {
        head: HeadParts::new(settings, system, tools),
        headers: Vec::new(),
        lifetimes: Lifetimes::default(),
        messages: vec![Message::user("Which ships came in today?")],
    })
}
