//! The order of things in `contents`: who may speak, which calls are answered, and which must be signed.

use serde_json::Value;

use super::signature;
use crate::media;
use crate::refusal::Refusal;

/// One element of `contents`.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    pub(super) is_model: bool,
    pub(super) parts: Vec<Value>,
}

impl Content {
    /// Reads one element; an absent role is the user's.
    pub(super) fn parse(value: &Value) -> Result<Self, Refusal> {
        let is_model = match value.get("role") {
            None | Some(Value::Null) => false,
            Some(Value::String(role)) => match role.as_str() {
                "user" | "function" | "" => false,
                "model" => true,
                _ => return Err(Refusal::invalid("Please use a valid role: user, model.")),
            },
            Some(_) => return Err(Refusal::invalid("Please use a valid role: user, model.")),
        };
        let parts = match value.get("parts") {
            Some(Value::Array(parts)) => parts.clone(),
            None | Some(_) => Vec::new(),
        };
        if parts.is_empty() || !parts.iter().all(Value::is_object) {
            return Err(Refusal::invalid(
                "Every content needs `parts`, and every part is an object.",
            ));
        }
        parts.iter().try_for_each(media::check_part)?;
        Ok(Self { is_model, parts })
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().filter_map(call_of)
    }

    pub(super) fn responses(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().filter_map(response_of)
    }
}

pub(super) fn call_of(part: &Value) -> Option<&Value> {
    either(part, "functionCall", "function_call")
}

pub(super) fn response_of(part: &Value) -> Option<&Value> {
    either(part, "functionResponse", "function_response")
}

fn signature_of(part: &Value) -> Option<&str> {
    either(part, "thoughtSignature", "thought_signature")?.as_str()
}

/// Both spellings of a field are read, as for every API of this vendor.
pub(super) fn either<'a>(value: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    value.get(camel).or_else(|| value.get(snake)).filter(|found| !found.is_null())
}

pub(super) fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Every call is answered in the very next content, all calls of one content together, and nothing else is answered.
pub(super) fn check_pairs(contents: &[Content]) -> Result<(), Refusal> {
    if contents.first().is_some_and(|first| first.is_model) {
        return Err(Refusal::invalid(
            "Please ensure that function call turn comes immediately after a user turn or after a function response turn: the first content must be the user's.",
        ));
    }
    let mut open: Vec<&Value> = Vec::new();
    for content in contents {
        let answers: Vec<&Value> = content.responses().collect();
        if content.is_model && !answers.is_empty() {
            return Err(Refusal::invalid(
                "A function response cannot stand in a turn of the model.",
            ));
        }
        if !content.is_model && content.calls().next().is_some() {
            return Err(Refusal::invalid("A function call can only stand in a turn of the model."));
        }
        check_answers(&open, &answers)?;
        open = content.calls().collect();
    }
    check_answers(&open, &[])
}

fn check_answers(calls: &[&Value], answers: &[&Value]) -> Result<(), Refusal> {
    if calls.is_empty() && !answers.is_empty() {
        return Err(Refusal::invalid(
            "Please ensure that function response turn comes immediately after a function call turn.",
        ));
    }
    if calls.len() != answers.len() {
        return Err(Refusal::invalid(format!(
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn: {} for {}.",
            answers.len(),
            calls.len()
        )));
    }
    let mut left = calls.to_vec();
    for answer in answers {
        let (id, name) = (text_of(answer, "id"), text_of(answer, "name"));
        let is_of = |call: &&Value| {
            let called = text_of(call, "id");
            text_of(call, "name") == name && (id.is_empty() || called.is_empty() || called == id)
        };
        match left.iter().position(is_of) {
            Some(at) => drop(left.remove(at)),
            None => {
                return Err(Refusal::invalid(format!(
                    "The function response `{name}` answers no function call of the turn before it."
                )));
            }
        }
    }
    Ok(())
}

/// Every step of the current turn signs its first call; signatures are whole wherever they stand. The current turn begins
/// behind the last text of the user.
pub(super) fn check_signatures(
    contents: &[Content],
    model: &str,
    are_required: bool,
) -> Result<(), Refusal> {
    let is_users = |content: &Content| !content.is_model && content.responses().next().is_none();
    let current = contents.iter().rposition(is_users).map_or(0, |at| at + 1);
    for (index, content) in contents.iter().enumerate() {
        let mut signatures = content.parts.iter().filter_map(signature_of);
        signatures.try_for_each(|given| signature::check(given, model))?;
        let first = content.parts.iter().find(|part| call_of(part).is_some());
        if let Some(first) = first
            && are_required
            && index >= current
            && signature_of(first).is_none_or(str::is_empty)
        {
            let name = call_of(first).map_or("", |call| text_of(call, "name"));
            return Err(Refusal::invalid(format!(
                "Function call is missing a thought_signature in functionCall parts. Function call `default_api:{name}`, position {}.",
                index + 1
            )));
        }
    }
    Ok(())
}
