//! What a frozen head says, for the head of another model.
//!
//! Only what tine's own heads hold is read: the system prompt and the tools. Marks and settings belong to the model and are
//! left behind.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{ModelSettings, RawJson};

use crate::head::{Head, HeadError};
use crate::head_parts::{HeadParts, ToolDeclaration};
use crate::names;

/// The fields that hold words and tools, in all formats together; no two formats use one for different things.
#[derive(Deserialize)]
struct Said<'a> {
    stream: Option<bool>,
    #[serde(default)]
    system: Vec<Part>,
    #[serde(rename = "systemInstruction")]
    instruction: Option<Parts>,
    /// Chat's and Responses' system prompt is the first of the messages.
    #[serde(default)]
    messages: Vec<First>,
    #[serde(default)]
    input: Vec<First>,
    #[serde(default, borrow)]
    tools: Vec<Tool<'a>>,
}

#[derive(Deserialize)]
struct Part {
    text: String,
}

#[derive(Deserialize)]
struct Parts {
    parts: Vec<Part>,
}

#[derive(Deserialize)]
struct First {
    content: Content,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// A tool, or what holds one (`function`) or several (`functionDeclarations`).
#[derive(Deserialize)]
struct Tool<'a> {
    name: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(borrow, alias = "parameters", alias = "parametersJsonSchema")]
    input_schema: Option<&'a RawValue>,
    function: Option<Box<Tool<'a>>>,
    #[serde(default, borrow, rename = "functionDeclarations")]
    several: Vec<Tool<'a>>,
}

impl Head {
    /// The parts of a head that tells another model the same: system prompt and tools, with these settings. Scheme and cache key
    /// are the caller's to set.
    pub fn restated(&self, settings: ModelSettings) -> Result<HeadParts, HeadError> {
        let body = self.to_json();
        let said: Said<'_> =
            serde_json::from_slice(&body).map_err(|error| HeadError::Body(error.to_string()))?;
        let instruction = said.instruction.map_or_else(Vec::new, |parts| parts.parts);
        let mut texts: Vec<String> =
            said.system.into_iter().chain(instruction).map(|part| part.text).collect();
        for first in said.messages.into_iter().chain(said.input) {
            match first.content {
                Content::Text(text) => texts.push(text),
                Content::Parts(parts) => texts.extend(parts.into_iter().map(|part| part.text)),
            }
        }
        let mut tools = Vec::new();
        for tool in said.tools {
            declared(tool, &mut tools)?;
        }
        let parts = HeadParts::new(settings, texts.join("\n\n"), tools);
        // Where the address says it, heads of tine's own agents stream.
        Ok(HeadParts { stream: said.stream.unwrap_or(true), ..parts })
    }
}

fn declared(tool: Tool<'_>, tools: &mut Vec<ToolDeclaration>) -> Result<(), HeadError> {
    let inner = tool.function.map(|function| *function).into_iter().chain(tool.several);
    let before = tools.len();
    for tool in inner {
        declared(tool, tools)?;
    }
    match (tool.name, tool.input_schema) {
        (Some(name), Some(schema)) => {
            let name = names::from_wire(&name).into_owned();
            let (description, schema) = (tool.description, RawJson::from_raw(schema));
            tools.push(ToolDeclaration { name, description, schema });
            Ok(())
        }
        _ if tools.len() > before => Ok(()),
        _ => Err(HeadError::Body("a tool without name or schema".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_tells_another_model_the_same() {
        let models = [
            "anthropic/a",
            "openai/b",
            "openai-chat/c",
            "openai-compat/d",
            "gemini/e",
            "deepseek/f",
            "minimax/g",
        ];
        let settings = |model: &str| ModelSettings {
            model: model.parse().unwrap(),
            max_tokens: 9,
            thinking: None,
            effort: None,
        };
        let tool = |name: &str| ToolDeclaration {
            name: name.to_owned(),
            description: "does \"it\"\n".to_owned(),
            schema: RawJson::parse(r#"{"type":"object","properties":{"b":{},"a":{}}}"#).unwrap(),
        };
        let tools = vec![tool("Bash"), tool("a.b")];
        for (model, system) in models.iter().flat_map(|model| [(model, "Be\nbrief."), (model, "")])
        {
            let parts = HeadParts::new(settings(model), system.to_owned(), tools.clone());
            let head = Head::render(HeadParts { stream: true, ..parts });
            for other in models {
                let restated = head.restated(settings(other)).unwrap();
                let told = (restated.system.as_str(), restated.stream, &restated.tools);
                assert_eq!(told, (system, true, &tools), "{model} to {other}");
                assert_eq!(restated.settings, settings(other));
            }
        }
        let bare = Head::render(HeadParts::new(settings("openai/b"), String::new(), Vec::new()));
        assert!(bare.restated(settings("gemini/e")).unwrap().tools.is_empty());
    }

    #[test]
    fn a_damaged_head_is_an_error() {
        let head = Head::from_stored("head2 anthropic - 0 marks\n{\"model\":").unwrap();
        let model = "anthropic/a".parse().unwrap();
        let settings = ModelSettings { model, max_tokens: 9, thinking: None, effort: None };
        assert!(matches!(head.restated(settings), Err(HeadError::Body(_))));
    }
}
