//! History → Google Gemini `generateContent`.

use bytes::Bytes;
use tine_history::{Closed, Frame, Framer, close_calls};
use tine_model::{Role, Thinking, ToolChoice, WireFormat};

use super::pieces::{self, Pieces, text_part};
use crate::ToolDeclaration;
use crate::head::Head;
use crate::head_parts::HeadParts;
use crate::json::{self, Object};
use crate::{extra, names};

/// The model and whether the reply streams are said by the request's address; see [`Head::model`].
pub(crate) fn render_head(parts: &HeadParts) -> Head {
    let mut text = format!("{{{}", extra::members(parts).trim_start_matches(','));
    let mut member = |name: &str, value: &str| {
        let comma = if text.len() > 1 { "," } else { "" };
        text.push_str(&format!("{comma}\"{name}\":{value}"));
    };
    let blocks = parts.system_prompt();
    if !blocks.is_empty() {
        let texts: Vec<String> = blocks.iter().map(|(text, _)| text_part(text)).collect();
        member("systemInstruction", &format!("{{\"parts\":[{}]}}", texts.join(",")));
    }
    if !parts.tools.is_empty() {
        let tools: Vec<String> = parts.sent_tools().into_iter().map(declaration).collect();
        member("tools", &format!("[{{\"functionDeclarations\":[{}]}}]", tools.join(",")));
    }
    if let Some(config) = parts.chosen_tools().and_then(tool_config) {
        member("toolConfig", &config);
    }
    member("generationConfig", &generation_config(parts));
    text.push_str(",\"contents\":[");
    let head = Head::new(WireFormat::Gemini, text, Vec::new(), false);
    head.addressed(parts.settings.model.name.clone())
}

fn tool_config(choice: &ToolChoice) -> Option<String> {
    let calling = match choice {
        ToolChoice::Auto => return None,
        ToolChoice::None => Object::new().string("mode", "NONE"),
        ToolChoice::Required => Object::new().string("mode", "ANY"),
        ToolChoice::Tool(name) => {
            let name = json::string(&names::to_wire(name));
            Object::new().string("mode", "ANY").raw("allowedFunctionNames", &format!("[{name}]"))
        }
    };
    Some(Object::new().raw("functionCallingConfig", &calling.end()).end())
}

/// What closes the messages and the request.
pub(crate) fn ending() -> Bytes {
    Bytes::from_static(b"]}")
}

fn declaration(tool: &ToolDeclaration) -> String {
    Object::new()
        .string("name", &names::to_wire(&tool.name))
        .string("description", &tool.description)
        .raw("parametersJsonSchema", tool.schema.as_str())
        .end()
}

/// A level (Gemini 3 and later) and a budget (before) exclude each other in one request; the effort, which is the more
/// general wish, goes first.
fn generation_config(parts: &HeadParts) -> String {
    let settings = &parts.settings;
    let mut object = Object::new().raw("maxOutputTokens", &settings.max_tokens.to_string());
    if let Some(temperature) = parts.temperature_text() {
        object = object.raw("temperature", &temperature);
    }
    if !parts.stop_sequences.is_empty() {
        object = object.raw("stopSequences", &json::strings(&parts.stop_sequences));
    }
    let thinking = match (parts.sent_effort(), settings.thinking) {
        (Some(effort), _) => Some(Object::new().string("thinkingLevel", effort.as_str())),
        (None, Some(Thinking::Budget(tokens))) => {
            Some(Object::new().raw("thinkingBudget", &tokens.to_string()))
        }
        (None, Some(Thinking::Adaptive)) => Some(Object::new().raw("thinkingBudget", "-1")),
        (None, None) => None,
    };
    if let Some(thinking) = thinking {
        object = object.raw("thinkingConfig", &thinking.raw("includeThoughts", "true").end());
    }
    extra::inside(parts, "generationConfig", object).end()
}

/// Makes Gemini frames. No block of them takes a mark.
pub(crate) struct GeminiFramer;

impl Framer for GeminiFramer {
    fn format(&self) -> WireFormat {
        WireFormat::Gemini
    }

    fn frame(&self, closed: &Closed<'_>) -> Frame {
        match pieces::with_named_answers(closed) {
            Some(message) => frame(&close_calls(closed.before, &message)),
            None => frame(closed),
        }
    }
}

fn frame(closed: &Closed<'_>) -> Frame {
    let Pieces { mut answers, others, whole } = pieces::of(closed);
    let mut frame = FrameText::default();
    if let Some(whole) = whole.filter(|_| closed.placeholders.is_empty()) {
        frame.text = whole;
        frame.parts = answers.len() + others.len();
        return frame.finish(0);
    }
    // The API wants the answers to one turn together and in front; those without an id are told apart by their order.
    let mut turn = Vec::new();
    let mut leading = 0;
    for (index, call) in closed.open.iter().enumerate() {
        if closed.open[..index].contains(call) {
            continue;
        }
        if closed.placeholders.contains(call) {
            leading += usize::from(leading == turn.len());
            turn.push(pieces::placeholder(closed, call));
        } else if let Some(place) = answers.iter().position(|(answered, _)| answered == *call) {
            turn.push(answers.remove(place).1);
        }
    }
    if closed.message.role() == Role::Assistant {
        frame.content("user", turn);
        frame.content("model", others);
    } else {
        frame.content("user", [turn, others].concat());
    }
    frame.finish(leading)
}

#[derive(Default)]
struct FrameText {
    text: String,
    parts: usize,
}

impl FrameText {
    /// A content without parts is refused, so it is left out.
    fn content(&mut self, role: &str, parts: Vec<String>) {
        if parts.is_empty() {
            return;
        }
        let comma = if self.text.is_empty() { "" } else { "," };
        let joined = parts.join(",");
        self.text.push_str(&format!("{comma}{{\"role\":\"{role}\",\"parts\":[{joined}]}}"));
        self.parts += parts.len();
    }

    fn finish(self, placeholders: usize) -> Frame {
        let Self { text, parts } = self;
        Frame { bytes: Bytes::from(text), slots: Vec::new(), blocks: parts, placeholders }
    }
}
