//! The list of messages of a request → messages of a conversation.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Message, Role};

use super::ReadRequestError;
use crate::import::{goes_on, joined};
use crate::read::read_message;
use crate::split::SplitRequest;

/// The content of the list of messages.
pub(crate) struct Turns {
    /// The system prompt, where it stands among the messages: a text for each element.
    pub(crate) system: Vec<String>,
    /// The messages, each with how many elements of the list there are up to its end. Answers to the calls of one turn are one
    /// message, and so are the items of one answer.
    pub(crate) messages: Vec<(Message, usize)>,
}

/// Reads the elements of the list.
pub(crate) fn read_turns(split: &SplitRequest) -> Result<Turns, ReadRequestError> {
    let format = split.format();
    let mut system = Vec::new();
    let mut open: Vec<Message> = Vec::new();
    let mut messages = Vec::new();
    let join = |open: &mut Vec<Message>, end: usize| {
        joined(format, std::mem::take(open))
            .map(|message| (message, end))
            .map_err(|source| ReadRequestError::Message { index: end.saturating_sub(1), source })
    };
    for (index, json) in split.elements().enumerate() {
        let read = match without_role(json) {
            // Google's API takes a content without a role for the user's.
            true if format == tine_model::WireFormat::Gemini => {
                let body = json.trim_start_matches('{').trim_start();
                let comma = if body.starts_with('}') { "" } else { "," };
                read_message(format, &format!("{{\"role\":\"user\"{comma}{body}"))
            }
            _ => read_message(format, json),
        };
        let message = read.map_err(|source| ReadRequestError::Message { index, source })?;
        if message.role() == Role::System && messages.is_empty() && open.is_empty() {
            system.push(message.text());
            continue;
        }
        if open.last().is_some_and(|last| !goes_on(format, last, &message)) {
            messages.push(join(&mut open, index)?);
        }
        open.push(message);
    }
    if !open.is_empty() {
        messages.push(join(&mut open, split.len())?);
    }
    Ok(Turns { system, messages })
}

fn without_role(json: &str) -> bool {
    #[derive(Deserialize)]
    struct Said<'a> {
        #[serde(borrow)]
        role: Option<&'a RawValue>,
    }
    serde_json::from_str::<Said<'_>>(json).is_ok_and(|said| said.role.is_none())
}
