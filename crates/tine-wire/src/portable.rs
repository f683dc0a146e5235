//! Messages and heads as JSON, for a store, another process or another machine: what is read back makes the same bytes.
//!
//! A message that came from a provider is written in the provider's own words, and its blocks are read from them again; one of our own
//! is written block by block. A head that was taken over from another program's request is written with that request.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use tine_model::{
    Block, CacheScheme, Effort, Lifetime, Message, ModelRef, ModelSettings, RawJson, Role,
    SeenFile, Thinking, ToolCallId, ToolChoice, ToolInput, WireFormat,
};

use crate::head_parts::{HeadParts, SystemBlock, ToolDeclaration, ToolOrder};
use crate::read_request::read_request;
use crate::splice::SentRequest;

/// A message that can be written and read. What is written is stable: stores keep it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortableMessage<'a>(pub Cow<'a, Message>);

impl<'a> From<&'a Message> for PortableMessage<'a> {
    fn from(message: &'a Message) -> Self {
        Self(Cow::Borrowed(message))
    }
}

impl PortableMessage<'_> {
    /// The message.
    pub fn into_message(self) -> Message {
        self.0.into_owned()
    }
}

impl Serialize for PortableMessage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_message(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PortableMessage<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenMessage::deserialize(deserializer)?;
        let message = read_message(written).map_err(D::Error::custom)?;
        Ok(Self(Cow::Owned(message)))
    }
}

/// A message as it is written. Exactly one of the two forms is present.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<WrittenRole>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<Vec<WrittenBlock>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    seen: Vec<WrittenSeen>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSeen {
    path: String,
    /// In hexadecimal digits, as are the lines: four digits each.
    hash: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    lines: String,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum WrittenRole {
    User,
    Assistant,
    System,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum WrittenBlock {
    Text(String),
    Thinking { text: String, signature: Option<String> },
    RedactedThinking(String),
    ToolUse { id: String, name: String, input: Box<RawValue> },
    InvalidToolUse { id: String, name: String, input: String },
    ToolResult { call: String, content: Vec<WrittenBlock>, is_error: bool },
    Image(Box<RawValue>),
    Document(Box<RawValue>),
    Unknown(Box<RawValue>),
}

fn write_message(message: &Message) -> WrittenMessage {
    let seen = message.seen().iter().map(write_seen).collect();
    match message.raw() {
        Some(raw) => WrittenMessage {
            format: Some(raw.format.as_str().to_owned()),
            raw: Some(raw_value(&raw.json)),
            role: None,
            blocks: None,
            seen,
        },
        None => WrittenMessage {
            format: None,
            raw: None,
            role: Some(write_role(message.role())),
            blocks: Some(message.blocks().iter().map(write_block).collect()),
            seen,
        },
    }
}

fn read_message(written: WrittenMessage) -> Result<Message, String> {
    let WrittenMessage { format, raw, role, blocks, seen } = written;
    let seen = seen.into_iter().map(read_seen).collect::<Result<_, _>>()?;
    match (format, raw, role, blocks) {
        (Some(format), Some(raw), None, None) => {
            let format = WireFormat::from_name(&format)
                .ok_or_else(|| format!("unknown wire format `{format}`"))?;
            let message = crate::read_message(format, raw.get());
            message.map(|message| message.with_seen(seen)).map_err(|error| error.to_string())
        }
        (None, None, Some(role), Some(blocks)) => {
            let blocks = blocks.into_iter().map(read_block).collect();
            Ok(Message::new(read_role(role), blocks).with_seen(seen))
        }
        _ => Err("a message is either raw or made of blocks".to_owned()),
    }
}

fn write_seen(seen: &SeenFile) -> WrittenSeen {
    let hash = seen.hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let lines = seen.lines.iter().map(|line| format!("{line:04x}")).collect();
    WrittenSeen { path: seen.path.clone(), hash, lines }
}

fn read_seen(written: WrittenSeen) -> Result<SeenFile, String> {
    let WrittenSeen { path, hash, lines } = written;
    let hash = digits::<2>(&hash).map(|hash| hash.iter().map(|&byte| byte as u8).collect());
    let hash: Vec<u8> = hash.ok_or("the hash of a file is no hexadecimal number")?;
    let hash = hash.try_into().map_err(|_| "the hash of a file has not 64 digits")?;
    let lines = digits::<4>(&lines).ok_or("the lines of a file are no hexadecimal numbers")?;
    Ok(SeenFile { path, hash, lines })
}

/// Reads numbers of `N` hexadecimal digits each, at most four.
fn digits<const N: usize>(text: &str) -> Option<Vec<u16>> {
    let chunks = text.as_bytes().chunks(N).map(|chunk| {
        let chunk = std::str::from_utf8(chunk).ok().filter(|chunk| chunk.len() == N)?;
        u16::from_str_radix(chunk, 16).ok()
    });
    chunks.collect()
}

#[expect(clippy::expect_used, reason = "a RawJson was checked when it was made")]
fn raw_value(json: &RawJson) -> Box<RawValue> {
    RawValue::from_string(json.as_str().to_owned()).expect("checked JSON")
}

fn write_role(role: Role) -> WrittenRole {
    match role {
        Role::User => WrittenRole::User,
        Role::Assistant => WrittenRole::Assistant,
        Role::System => WrittenRole::System,
    }
}

fn read_role(role: WrittenRole) -> Role {
    match role {
        WrittenRole::User => Role::User,
        WrittenRole::Assistant => Role::Assistant,
        WrittenRole::System => Role::System,
    }
}

fn write_block(block: &Block) -> WrittenBlock {
    match block {
        Block::Text(text) => WrittenBlock::Text(text.clone()),
        Block::Thinking { text, signature } => {
            WrittenBlock::Thinking { text: text.clone(), signature: signature.clone() }
        }
        Block::RedactedThinking(data) => WrittenBlock::RedactedThinking(data.clone()),
        Block::ToolUse { id, name, input } => {
            let (id, name) = (id.0.clone(), name.clone());
            match input {
                ToolInput::Valid(json) => {
                    WrittenBlock::ToolUse { id, name, input: raw_value(json) }
                }
                ToolInput::Invalid(text) => {
                    WrittenBlock::InvalidToolUse { id, name, input: text.clone() }
                }
            }
        }
        Block::ToolResult { call, content, is_error } => WrittenBlock::ToolResult {
            call: call.0.clone(),
            content: content.iter().map(write_block).collect(),
            is_error: *is_error,
        },
        Block::Image(json) => WrittenBlock::Image(raw_value(json)),
        Block::Document(json) => WrittenBlock::Document(raw_value(json)),
        Block::Unknown(json) => WrittenBlock::Unknown(raw_value(json)),
    }
}

fn read_block(block: WrittenBlock) -> Block {
    match block {
        WrittenBlock::Text(text) => Block::Text(text),
        WrittenBlock::Thinking { text, signature } => Block::Thinking { text, signature },
        WrittenBlock::RedactedThinking(data) => Block::RedactedThinking(data),
        WrittenBlock::ToolUse { id, name, input } => {
            let input = ToolInput::Valid(RawJson::from_raw(&input));
            Block::ToolUse { id: ToolCallId(id), name, input }
        }
        WrittenBlock::InvalidToolUse { id, name, input } => {
            Block::ToolUse { id: ToolCallId(id), name, input: ToolInput::Invalid(input) }
        }
        WrittenBlock::ToolResult { call, content, is_error } => Block::ToolResult {
            call: ToolCallId(call),
            content: content.into_iter().map(read_block).collect(),
            is_error,
        },
        WrittenBlock::Image(json) => Block::Image(RawJson::from_raw(&json)),
        WrittenBlock::Document(json) => Block::Document(RawJson::from_raw(&json)),
        WrittenBlock::Unknown(json) => Block::Unknown(RawJson::from_raw(&json)),
    }
}

/// The parts of a head as they are written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHead {
    model: String,
    max_tokens: u32,
    thinking: Option<WrittenThinking>,
    effort: Option<String>,
    system: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    system_blocks: Vec<(String, Option<WrittenLifetime>)>,
    tools: Vec<WrittenTool>,
    tools_as_given: bool,
    cache_tools: bool,
    tool_choice: WrittenChoice,
    temperature: Option<f64>,
    stop_sequences: Vec<String>,
    extra: Vec<(String, Box<RawValue>)>,
    stream: bool,
    scheme: String,
    cache_key: Option<String>,
    drop_foreign_thinking: bool,
    sent: Option<WrittenRequest>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenThinking {
    Adaptive,
    Budget(u32),
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum WrittenLifetime {
    Short,
    Long,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenChoice {
    Auto,
    None,
    Required,
    Tool(String),
}

#[derive(Serialize, Deserialize)]
struct WrittenTool {
    name: String,
    description: String,
    schema: Box<RawValue>,
}

/// A request of another program's, as it was sent.
#[derive(Serialize, Deserialize)]
struct WrittenRequest {
    /// A text, so that no byte of it is another one when it is read.
    body: String,
    headers: Vec<(String, String)>,
}

impl Serialize for HeadParts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ModelSettings { model, max_tokens, thinking, effort } = &self.settings;
        let tool = |tool: &ToolDeclaration| WrittenTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            schema: raw_value(&tool.schema),
        };
        let block = |block: &SystemBlock| (block.text.clone(), block.cache.map(write_lifetime));
        let written = WrittenHead {
            model: model.to_string(),
            max_tokens: *max_tokens,
            thinking: thinking.map(|thinking| match thinking {
                Thinking::Adaptive => WrittenThinking::Adaptive,
                Thinking::Budget(tokens) => WrittenThinking::Budget(tokens),
            }),
            effort: effort.map(|effort| effort.as_str().to_owned()),
            system: self.system.clone(),
            system_blocks: self.system_blocks.iter().map(block).collect(),
            tools: self.tools.iter().map(tool).collect(),
            tools_as_given: self.tool_order == ToolOrder::AsGiven,
            cache_tools: self.cache_tools,
            tool_choice: match &self.tool_choice {
                ToolChoice::Auto => WrittenChoice::Auto,
                ToolChoice::None => WrittenChoice::None,
                ToolChoice::Required => WrittenChoice::Required,
                ToolChoice::Tool(name) => WrittenChoice::Tool(name.clone()),
            },
            temperature: self.temperature,
            stop_sequences: self.stop_sequences.clone(),
            extra: self
                .extra
                .iter()
                .map(|(name, value)| (name.clone(), raw_value(value)))
                .collect(),
            stream: self.stream,
            scheme: self.scheme.as_str().to_owned(),
            cache_key: self.cache_key.clone(),
            drop_foreign_thinking: self.drop_foreign_thinking,
            sent: self.sent.as_ref().map(|sent| WrittenRequest {
                body: String::from_utf8_lossy(sent.split().body()).into_owned(),
                headers: sent.headers().to_vec(),
            }),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HeadParts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenHead::deserialize(deserializer)?;
        let unknown = |what: &str, word: &str| D::Error::custom(format!("unknown {what} `{word}`"));
        let model: ModelRef = written.model.parse().map_err(D::Error::custom)?;
        let effort = written
            .effort
            .map(|word| Effort::from_name(&word).ok_or_else(|| unknown("effort", &word)));
        let scheme = CacheScheme::from_name(&written.scheme)
            .ok_or_else(|| unknown("cache scheme", &written.scheme))?;
        let sent = written.sent.map(|sent| -> Result<Arc<SentRequest>, D::Error> {
            let read = read_request(model.provider, Some(&model.name), sent.body.as_bytes());
            let (parts, _) = read.map_err(D::Error::custom)?;
            let taken = parts.sent.ok_or_else(|| D::Error::custom("no request"))?;
            Ok(Arc::new(taken.with_headers(sent.headers)))
        });
        let tool = |tool: WrittenTool| ToolDeclaration {
            name: tool.name,
            description: tool.description,
            schema: RawJson::from_raw(&tool.schema),
        };
        Ok(Self {
            settings: ModelSettings {
                max_tokens: written.max_tokens,
                thinking: written.thinking.map(|thinking| match thinking {
                    WrittenThinking::Adaptive => Thinking::Adaptive,
                    WrittenThinking::Budget(tokens) => Thinking::Budget(tokens),
                }),
                effort: effort.transpose()?,
                model: model.clone(),
            },
            system: written.system,
            system_blocks: written
                .system_blocks
                .into_iter()
                .map(|(text, cache)| SystemBlock { text, cache: cache.map(read_lifetime) })
                .collect(),
            tools: written.tools.into_iter().map(tool).collect(),
            tool_order: if written.tools_as_given { ToolOrder::AsGiven } else { ToolOrder::ByName },
            cache_tools: written.cache_tools,
            tool_choice: match written.tool_choice {
                WrittenChoice::Auto => ToolChoice::Auto,
                WrittenChoice::None => ToolChoice::None,
                WrittenChoice::Required => ToolChoice::Required,
                WrittenChoice::Tool(name) => ToolChoice::Tool(name),
            },
            temperature: written.temperature,
            stop_sequences: written.stop_sequences,
            extra: written
                .extra
                .into_iter()
                .map(|(name, value)| (name, RawJson::from_raw(&value)))
                .collect(),
            stream: written.stream,
            scheme,
            cache_key: written.cache_key,
            drop_foreign_thinking: written.drop_foreign_thinking,
            sent: sent.transpose()?,
        })
    }
}

fn write_lifetime(lifetime: Lifetime) -> WrittenLifetime {
    match lifetime {
        Lifetime::Short => WrittenLifetime::Short,
        Lifetime::Long => WrittenLifetime::Long,
    }
}

fn read_lifetime(lifetime: WrittenLifetime) -> Lifetime {
    match lifetime {
        WrittenLifetime::Short => Lifetime::Short,
        WrittenLifetime::Long => Lifetime::Long,
    }
}

/// Lifetimes of marks, as they are written: of the head, and of the messages.
impl Serialize for crate::Lifetimes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        [self.head(), self.messages()].map(write_lifetime).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for crate::Lifetimes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let [head, messages] = <[WrittenLifetime; 2]>::deserialize(deserializer)?;
        Ok(Self::new(read_lifetime(head), read_lifetime(messages)))
    }
}
