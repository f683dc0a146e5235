//! Reading a `generateContent` request. Members that the vendor does not know are refused (`members.rs`); of those that it knows and the
//! simulator does not, any JSON is accepted.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::members;
use super::resources::Resource;
use super::turns::{Content, call_of, check_pairs, check_signatures, either, response_of, text_of};
use crate::conversation::Piece;
use crate::limits::{GEMINI_2_MIN_TOKENS, GEMINI_MIN_TOKENS};
use crate::refusal::Refusal;

/// Output tokens when the request does not limit them: the vendor's limit for current models.
const MAX_TOKENS_DEFAULT: u64 = 65_536;

/// What is asked of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Generate,
    Stream,
    Count,
}

impl Method {
    /// Reads `MODEL:METHOD`, the last part of the URL.
    pub(crate) fn parse(target: &str) -> Option<(&str, Self)> {
        let (model, method) = target.rsplit_once(':')?;
        let method = match method {
            "generateContent" => Self::Generate,
            "streamGenerateContent" => Self::Stream,
            "countTokens" => Self::Count,
            _ => return None,
        };
        (!model.is_empty()).then_some((model, method))
    }
}

/// What stands before the contents of a request, and the contents: also what a cached content holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prompt {
    pub(super) system: Option<Value>,
    pub(super) tools: Vec<Value>,
    pub(super) tool_config: Option<Value>,
    pub(super) contents: Vec<Content>,
}

/// A valid request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) model: String,
    pub(crate) max_tokens: u64,
    /// Whether thoughts are shown.
    pub(crate) includes_thoughts: bool,
    /// The cached content that stands before everything, by its name.
    pub(crate) cached_content: Option<String>,
    prompt: Prompt,
}

/// The generation of a model by its name; names that carry none are taken for current ones.
fn generation(model: &str) -> u64 {
    let digits = model.strip_prefix("gemini-").unwrap_or_default();
    let digits = digits.split(['.', '-']).next().unwrap_or_default();
    digits.parse().unwrap_or(u64::MAX)
}

/// Tokens below which nothing of this model is cached.
pub(crate) fn min_tokens(model: &str) -> u64 {
    if generation(model) < 3 { GEMINI_2_MIN_TOKENS } else { GEMINI_MIN_TOKENS }
}

pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(body) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(Refusal::invalid("Invalid JSON payload received: not an object.")),
        Err(error) => Err(Refusal::invalid(format!("Invalid JSON payload received. {error}"))),
    }
}

impl Prompt {
    /// Reads the fields of a request or of a cached content.
    pub(super) fn parse(fields: &Value) -> Result<Self, Refusal> {
        let list = |value: Option<&Value>, name: &str| match value {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items.clone()),
            Some(_) => Err(Refusal::invalid(format!("Invalid value at '{name}': expected a list"))),
        };
        let contents = list(either(fields, "contents", "contents"), "contents")?;
        Ok(Self {
            system: either(fields, "systemInstruction", "system_instruction").cloned(),
            tools: list(either(fields, "tools", "tools"), "tools")?,
            tool_config: either(fields, "toolConfig", "tool_config").cloned(),
            contents: contents.iter().map(Content::parse).collect::<Result<_, _>>()?,
        })
    }

    /// The prompt, one tool, instruction or part to a line.
    pub(crate) fn lines(&self) -> Vec<String> {
        let tools = self.tools.iter().map(|tool| format!("<tool>{tool}\n"));
        let config = self.tool_config.iter().map(|config| format!("<config>{config}\n"));
        let system = self.system.iter().flat_map(parts_of);
        let system = system.map(|part| format!("<system>{part}\n"));
        let contents = self.contents.iter().flat_map(|content| {
            let role = if content.is_model { "model" } else { "user" };
            content.parts.iter().map(move |part| format!("<{role}>{part}\n"))
        });
        system.chain(tools).chain(config).chain(contents).collect()
    }
}

fn parts_of(content: &Value) -> impl Iterator<Item = &Value> {
    content.get("parts").and_then(Value::as_array).into_iter().flatten()
}

impl Request {
    /// Reads a body.
    pub(crate) fn parse(model: &str, body: &[u8]) -> Result<Self, Refusal> {
        let fields = object(body)?;
        members::check(&fields, &members::REQUEST)?;
        let fields = Value::Object(fields);
        let prompt = Prompt::parse(&fields)?;
        if prompt.contents.is_empty() {
            return Err(Refusal::invalid(
                "* GenerateContentRequest.contents: contents is not specified",
            ));
        }
        let config = either(&fields, "generationConfig", "generation_config");
        let max_tokens = config.and_then(|it| either(it, "maxOutputTokens", "max_output_tokens"));
        let max_tokens = match max_tokens {
            None => MAX_TOKENS_DEFAULT,
            Some(value) => value.as_u64().filter(|tokens| *tokens > 0).ok_or_else(|| {
                Refusal::invalid("Invalid value at 'generation_config.max_output_tokens'")
            })?,
        };
        let thinking = config.and_then(|it| either(it, "thinkingConfig", "thinking_config"));
        let shown = thinking.and_then(|it| either(it, "includeThoughts", "include_thoughts"));
        let cached = either(&fields, "cachedContent", "cached_content").and_then(Value::as_str);
        let repeats =
            prompt.system.is_some() || !prompt.tools.is_empty() || prompt.tool_config.is_some();
        if cached.is_some() && repeats {
            return Err(Refusal::invalid(
                "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config. Move those values to CachedContent from GenerateContent request.",
            ));
        }
        Ok(Self {
            model: model.to_owned(),
            max_tokens,
            includes_thoughts: shown.and_then(Value::as_bool).unwrap_or(false),
            cached_content: cached.map(str::to_owned),
            prompt,
        })
    }

    /// Puts a cached content before the request's own contents, and checks the whole.
    pub(crate) fn with_resource(&mut self, resource: Option<&Resource>) -> Result<(), Refusal> {
        if let Some(resource) = resource {
            let contents = std::mem::take(&mut self.prompt.contents);
            self.prompt = resource.prompt.clone();
            self.prompt.contents.extend(contents);
        }
        check_pairs(&self.prompt.contents)?;
        check_signatures(&self.prompt.contents, &self.model, generation(&self.model) >= 3)
    }

    /// The whole prompt, a cached content included.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.prompt.lines()
    }

    /// The conversation, for the scenario.
    pub(crate) fn pieces(&self) -> Vec<Piece<'_>> {
        let system = self.prompt.system.iter().flat_map(parts_of);
        let system = system.map(|part| Piece::Text(text_of(part, "text")));
        system.chain(self.prompt.contents.iter().flat_map(content_pieces)).collect()
    }
}

fn content_pieces(content: &Content) -> Vec<Piece<'_>> {
    let begins = content.is_model.then_some(Piece::AssistantMessage);
    let parts = content.parts.iter().filter_map(|part| {
        if let Some(call) = call_of(part) {
            return Some(Piece::Call { id: id_of(call), name: text_of(call, "name") });
        }
        if let Some(response) = response_of(part) {
            return Some(Piece::Result { id: id_of(response), text: output_of(response) });
        }
        let text = part.get("text").and_then(Value::as_str)?;
        Some(if content.is_model { Piece::Text(text) } else { Piece::UserText(text) })
    });
    begins.into_iter().chain(parts).collect()
}

/// Ids are optional in this format; without one a call is known by its name.
fn id_of(value: &Value) -> &str {
    match text_of(value, "id") {
        "" => text_of(value, "name"),
        id => id,
    }
}

/// What a tool said: the only text of its response, or the response as JSON.
fn output_of(response: &Value) -> Cow<'_, str> {
    let fields = response.get("response").and_then(Value::as_object);
    let mut values = fields.into_iter().flat_map(Map::values);
    match (values.next(), values.next()) {
        (Some(Value::String(text)), None) => Cow::Borrowed(text),
        _ => Cow::Owned(response.get("response").map(Value::to_string).unwrap_or_default()),
    }
}
