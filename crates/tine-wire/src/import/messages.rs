//! A conversation from elsewhere → messages.
//!
//! Takes a JSON array, or objects one after another (JSON Lines), each a message in a provider's shape. Which
//! provider's is found out from the shapes; a conversation of plain texts is the same in all but Gemini's. This module
//! never repairs what it reads; open and orphaned tool calls are the framers' business. Answers to the calls of one turn
//! become one message, and so do the items of one answer of the model.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, Message, Role, WireFormat};

use super::error::{IMPORT_MESSAGES_MAX, ImportError};
use crate::read::{ReadError, read_message};
use crate::strip;

/// What was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The format that the messages are kept in.
    pub format: WireFormat,
    /// The system and developer messages at the start, joined by an empty line.
    pub system: Option<String>,
    /// Everything after them.
    pub messages: Vec<Message>,
}

/// Reads a conversation. `preferred` is the format of messages that are valid in several.
pub fn import_messages(text: &str, preferred: WireFormat) -> Result<Imported, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    let raws = split(text)?;
    match raws.len() {
        0 => return Err(ImportError::Empty),
        count if count > IMPORT_MESSAGES_MAX => return Err(ImportError::TooMany),
        _ => {}
    }
    let mut lines = Lines { text, position: 0, line: 1 };
    let places: Vec<Place<'_>> = raws
        .into_iter()
        .enumerate()
        .map(|(index, raw)| Place { index: index + 1, line: lines.line_of(raw), raw })
        .collect();
    let format = find_format(&places, preferred.of_messages())?;
    let mut system = Vec::new();
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for place in &places {
        let message =
            read_message(format, place.raw.get()).map_err(|source| place.error(source))?;
        if message.role() == Role::System && turns.is_empty() {
            system.push(message.text());
            continue;
        }
        match turns.last_mut().filter(|turn| turn.goes_on(format, &message)) {
            Some(turn) => turn.messages.push(message),
            None => turns.push(Turn { place, messages: vec![message] }),
        }
    }
    let messages: Result<_, _> = turns.into_iter().map(|turn| turn.joined(format)).collect();
    let system = (!system.is_empty()).then(|| system.join("\n\n"));
    Ok(Imported { format, system, messages: messages? })
}

/// What is one message here, however many the source made of it.
struct Turn<'a> {
    /// Where it begins.
    place: &'a Place<'a>,
    /// Never empty.
    messages: Vec<Message>,
}

impl Turn<'_> {
    /// Whether `next` still belongs to it. Each chat answer is a message of its own, some Anthropic transcripts have one
    /// answer a message, and in Responses everything is an item of its own, the model's words and calls too.
    fn goes_on(&self, format: WireFormat, next: &Message) -> bool {
        self.messages.last().is_none_or(|last| goes_on(format, last, next))
    }

    fn joined(self, format: WireFormat) -> Result<Message, ImportError> {
        joined(format, self.messages).map_err(|source| self.place.error(source))
    }
}

/// Returns true if `next` belongs to the message that `last` is a part of.
pub(crate) fn goes_on(format: WireFormat, last: &Message, next: &Message) -> bool {
    let of_model = |message: &Message| message.role() == Role::Assistant;
    (is_results(last) && is_results(next))
        || (format == WireFormat::OpenAiResponses && of_model(last) && of_model(next))
}

/// One message of several that go on from one another.
pub(crate) fn joined(format: WireFormat, mut messages: Vec<Message>) -> Result<Message, ReadError> {
    if messages.len() == 1
        && let Some(message) = messages.pop()
    {
        return Ok(message);
    }
    let texts = messages.iter().map(|message| Some(message.raw()?.json.as_str()));
    let json = match format {
        WireFormat::Anthropic => joined_contents("content", texts),
        WireFormat::Gemini => joined_contents("parts", texts),
        WireFormat::OpenAiResponses => joined_items(texts),
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => None,
    };
    match json {
        Some(json) => read_message(format, &json),
        // In the chat format an answer has no field besides its call and its text.
        None => {
            let blocks = messages.iter().flat_map(|message| message.blocks().to_vec());
            Ok(Message::new(Role::User, blocks.collect()))
        }
    }
}

/// Whether a message is nothing but answers to calls.
pub(super) fn is_results(message: &Message) -> bool {
    message.role() == Role::User
        && !message.blocks().is_empty()
        && message.blocks().iter().all(|block| matches!(block, Block::ToolResult { .. }))
}

/// One message of the contents of several, which are called `content` at Anthropic and `parts` at Google.
fn joined_contents<'a>(
    field: &str,
    texts: impl Iterator<Item = Option<&'a str>>,
) -> Option<String> {
    #[derive(Deserialize)]
    struct Content<'a> {
        #[serde(borrow, alias = "parts")]
        content: Vec<&'a RawValue>,
    }
    let mut blocks = Vec::new();
    for text in texts {
        let Content { content } = serde_json::from_str(text?).ok()?;
        blocks.extend(content.into_iter().map(RawValue::get));
    }
    Some(format!(r#"{{"role":"user","{field}":[{}]}}"#, blocks.join(",")))
}

/// One list of single items and of lists of items.
pub(super) fn joined_items<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let mut items = Vec::new();
    for text in texts {
        let text = text?;
        if text.starts_with('[') {
            items.extend(serde_json::from_str::<Vec<&RawValue>>(text).ok()?)
        } else {
            items.push(serde_json::from_str(text).ok()?)
        }
    }
    let items: Vec<&str> = items.into_iter().map(RawValue::get).collect();
    Some(format!("[{}]", items.join(",")))
}

/// One message of the text.
struct Place<'a> {
    index: usize,
    line: usize,
    raw: &'a RawValue,
}

impl Place<'_> {
    fn error(&self, source: ReadError) -> ImportError {
        ImportError::Message { index: self.index, line: self.line, source }
    }
}

/// Counts lines once over the whole text.
struct Lines<'a> {
    text: &'a str,
    position: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line on which a part of the text begins. Parts must come in their order.
    fn line_of(&mut self, part: &RawValue) -> usize {
        let start = part.get().as_ptr() as usize - self.text.as_ptr() as usize;
        let passed = self.text.as_bytes().get(self.position..start).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.position = start;
        self.line
    }
}

fn split(text: &str) -> Result<Vec<&RawValue>, ImportError> {
    let json = |source: serde_json::Error| ImportError::Json { line: source.line(), source };
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text).map_err(json);
    }
    let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    // One more than the limit is enough to know that it is passed.
    values.take(IMPORT_MESSAGES_MAX + 1).collect::<Result<_, _>>().map_err(json)
}

/// Formats that a shape is valid in.
type Formats = &'static [WireFormat];

const ANTHROPIC: Formats = &[WireFormat::Anthropic];
const CHAT: Formats = &[WireFormat::OpenAiChat];
const RESPONSES: Formats = &[WireFormat::OpenAiResponses];
const OPENAI: Formats = &[WireFormat::OpenAiChat, WireFormat::OpenAiResponses];
const GEMINI: Formats = &[WireFormat::Gemini];
const NOT_GEMINI: Formats =
    &[WireFormat::OpenAiChat, WireFormat::Anthropic, WireFormat::OpenAiResponses];
const TEXT_PARTS: Formats = &[WireFormat::OpenAiChat, WireFormat::Anthropic];

/// The formats that are left when shapes are seen one after the other, the likeliest first.
struct Candidates(Vec<WireFormat>);

impl Candidates {
    fn all() -> Self {
        let likeliest = [WireFormat::OpenAiChat, WireFormat::Anthropic];
        let others = [WireFormat::OpenAiResponses, WireFormat::Gemini];
        Self(likeliest.into_iter().chain(others).collect())
    }

    fn first(&self) -> WireFormat {
        self.0.first().copied().unwrap_or(WireFormat::OpenAiChat)
    }

    /// Keeps what is also in `shown`. Whether it narrowed anything; `None`, and no change, when nothing would be left.
    fn narrow(&mut self, shown: &[WireFormat]) -> Option<bool> {
        let left: Vec<WireFormat> =
            self.0.iter().copied().filter(|format| shown.contains(format)).collect();
        if left.is_empty() {
            return None;
        }
        let narrowed = left.len() < self.0.len();
        self.0 = left;
        Some(narrowed)
    }
}

/// The format that the shapes show, `preferred` if they leave it open.
fn find_format(places: &[Place<'_>], preferred: WireFormat) -> Result<WireFormat, ImportError> {
    let mut candidates = Candidates::all();
    let mut other = 1;
    for place in places {
        let shown = shown_formats(place.raw);
        match candidates.narrow(&shown.0) {
            Some(true) => other = place.index,
            Some(false) => {}
            None => {
                return Err(ImportError::Mixed {
                    index: place.index,
                    line: place.line,
                    format: shown.first(),
                    other,
                    other_format: candidates.first(),
                });
            }
        }
    }
    let open = candidates.0.contains(&preferred);
    Ok(if open { preferred } else { candidates.first() })
}

/// What one message shows of its format: its role, its kind, its fields, or the kinds of its content. What is no message
/// shows nothing; reading it will say why. Of shapes that contradict each other the first counts.
fn shown_formats(message: &RawValue) -> Candidates {
    let mut found = Candidates::all();
    for (key, value) in strip::members(message).unwrap_or_default() {
        let text = value.get();
        let shown = match key.get() {
            "\"role\"" => match text {
                "\"tool\"" => Some(CHAT),
                "\"developer\"" => Some(OPENAI),
                "\"model\"" => Some(GEMINI),
                _ => None,
            },
            "\"type\"" => is_item(text.trim_matches('"')).then_some(RESPONSES),
            "\"tool_calls\"" | "\"reasoning_content\"" | "\"refusal\"" if text != "null" => {
                Some(CHAT)
            }
            "\"tool_call_id\"" => Some(CHAT),
            "\"parts\"" if text.starts_with('[') => Some(GEMINI),
            "\"content\"" => {
                found.narrow(NOT_GEMINI);
                let parts: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
                for shown in parts.into_iter().filter_map(formats_of_part) {
                    found.narrow(shown);
                }
                None
            }
            _ => None,
        };
        found.narrow(shown.unwrap_or(&WireFormat::ALL));
    }
    found
}

/// The kinds of Responses that are no messages.
fn is_item(kind: &str) -> bool {
    kind == "reasoning" || kind.ends_with("_call") || kind.ends_with("_call_output")
}

fn formats_of_part(part: &RawValue) -> Option<Formats> {
    let members = strip::members(part).ok()?;
    let (_, kind) = members.iter().find(|(key, _)| key.get() == "\"type\"")?;
    match kind.get() {
        "\"tool_use\""
        | "\"tool_result\""
        | "\"thinking\""
        | "\"redacted_thinking\""
        | "\"image\""
        | "\"document\"" => Some(ANTHROPIC),
        "\"image_url\"" | "\"input_audio\"" | "\"file\"" => Some(CHAT),
        "\"input_text\"" | "\"output_text\"" | "\"input_image\"" | "\"input_file\"" => {
            Some(RESPONSES)
        }
        "\"refusal\"" => Some(OPENAI),
        "\"text\"" => Some(TEXT_PARTS),
        _ => None,
    }
}
