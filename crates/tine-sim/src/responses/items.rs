//! The input items of a request, each checked for itself.

use serde_json::{Map, Value, json};

use crate::media;
use crate::openai::{Api, check_breakpoints, list, missing};
use crate::refusal::Refusal;

/// One input item.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// Where it stands, in the vendor's notation.
    pub(super) path: String,
    pub(super) fields: Map<String, Value>,
}

impl Item {
    pub(super) fn text(&self, key: &str) -> &str {
        self.fields.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn kind(&self) -> &str {
        self.text("type")
    }

    pub(super) fn role(&self) -> &str {
        self.text("role")
    }

    /// The field that holds parts.
    pub(super) fn content_key(&self) -> &'static str {
        if self.is_output() { "output" } else { "content" }
    }

    /// Returns true for an answer to a call of a tool of the client's.
    pub(super) fn is_output(&self) -> bool {
        ["function_call_output", "custom_tool_call_output"].contains(&self.kind())
    }

    /// Its texts, given as a string or in parts.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let content = self.fields.get(self.content_key());
        let whole = content.and_then(Value::as_str);
        let parts = content.and_then(Value::as_array).into_iter().flatten();
        whole.into_iter().chain(parts.filter_map(|part| part.get("text").and_then(Value::as_str)))
    }

    /// Whether the model made it: only such an item can follow reasoning.
    pub(super) fn is_from_model(&self) -> bool {
        match self.kind() {
            "message" => self.role() == "assistant",
            "reasoning" => true,
            kind => kind.ends_with("_call"),
        }
    }

    /// Whether it stands for context that was summarised away.
    pub(super) fn is_compaction(&self) -> bool {
        self.kind().starts_with("compaction")
    }

    fn invalid(&self, key: &str, problem: &str) -> Refusal {
        let path = format!("{}.{key}", self.path);
        Refusal::invalid(format!("{problem}: '{path}'.")).at(path)
    }

    fn needs_text(&self, key: &str) -> Result<(), Refusal> {
        match self.fields.get(key) {
            Some(Value::String(_)) => Ok(()),
            Some(_) => Err(self.invalid(key, "Invalid type, expected a string")),
            None => Err(self.invalid(key, "Missing required parameter")),
        }
    }

    fn needs_parts(&self) -> Result<(), Refusal> {
        let key = self.content_key();
        match self.fields.get(key) {
            Some(Value::String(_)) => Ok(()),
            Some(Value::Array(parts)) => {
                for (index, part) in parts.iter().enumerate() {
                    let kind = part.get("type").and_then(Value::as_str);
                    let key = format!("{key}[{index}]");
                    match kind {
                        None => return Err(self.invalid(&key, "Missing required parameter 'type'")),
                        Some("input_image") => {
                            media::check_url(part["image_url"].as_str().unwrap_or_default())?;
                        }
                        Some(kind) if kind.ends_with("_text") && !part["text"].is_string() => {
                            return Err(self.invalid(&key, "Missing required parameter 'text'"));
                        }
                        Some(_) => {}
                    }
                }
                Ok(())
            }
            Some(_) => Err(self.invalid(key, "Invalid type, expected a string or an array")),
            None => Err(self.invalid(key, "Missing required parameter")),
        }
    }

    fn check(&self) -> Result<(), Refusal> {
        check_breakpoints(&Value::Object(self.fields.clone()), &self.path, Api::Responses)?;
        match self.kind() {
            "message" => {
                if !["user", "system", "developer", "assistant"].contains(&self.role()) {
                    return Err(self.invalid("role", "Invalid value"));
                }
                self.needs_parts()
            }
            "function_call" => {
                ["call_id", "name", "arguments"].iter().try_for_each(|key| self.needs_text(key))
            }
            "custom_tool_call" => {
                ["call_id", "name", "input"].iter().try_for_each(|key| self.needs_text(key))
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.needs_text("call_id")?;
                self.needs_parts()
            }
            "reasoning" => match self.fields.get("summary") {
                Some(Value::Array(_)) if self.text("encrypted_content").is_empty() => {
                    Err(not_found(self.text("id")))
                }
                Some(Value::Array(_)) => Ok(()),
                Some(_) => Err(self.invalid("summary", "Invalid type, expected an array")),
                None => Err(self.invalid("summary", "Missing required parameter")),
            },
            "item_reference" => Err(not_found(self.text("id"))),
            "" => Err(self.invalid("type", "Missing required parameter")),
            _ => self.check_unmarked(),
        }
    }

    /// Kinds that are not known here, and `additional_tools`, carry no breakpoints.
    fn check_unmarked(&self) -> Result<(), Refusal> {
        let marked = |key: &str| {
            let parts = self.fields.get(key).and_then(Value::as_array).into_iter().flatten();
            parts.enumerate().find(|(_, part)| part.get("prompt_cache_breakpoint").is_some())
        };
        for key in ["content", "output", "tools"] {
            if let Some((index, _)) = marked(key) {
                let key = format!("{key}[{index}].prompt_cache_breakpoint");
                return Err(self.invalid(&key, "Unknown parameter").with_code("unknown_parameter"));
            }
        }
        Ok(())
    }
}

/// Nothing is stored: what is not in the request cannot be looked up.
fn not_found(id: &str) -> Refusal {
    Refusal::new(
        404,
        format!(
            "Item with id '{id}' not found. Items are not persisted here; send the whole item, reasoning with its `encrypted_content`."
        ),
    )
    .at("input")
}

/// Reads `input`: a string is one user message.
pub(super) fn read(input: Option<Value>) -> Result<Vec<Item>, Refusal> {
    let values = match input {
        Some(Value::String(text)) => vec![json!({"role": "user", "content": text})],
        other => list(other, "input")?.unwrap_or_default(),
    };
    if values.is_empty() {
        return Err(missing("input"));
    }
    values
        .into_iter()
        .enumerate()
        .map(|(index, value)| {
            let path = format!("input[{index}]");
            let Value::Object(mut fields) = value else {
                return Err(Refusal::invalid(format!(
                    "Invalid type for '{path}': expected an object"
                ))
                .at(path));
            };
            if !fields.contains_key("type") && fields.contains_key("role") {
                fields.insert("type".to_owned(), "message".into());
            }
            let item = Item { path, fields };
            item.check().map(|()| item)
        })
        .collect()
}
