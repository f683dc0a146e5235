//! A reply on a tape, and back.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tine_model::{
    Block, Message, RawJson, Role, StopReason, ToolCallId, ToolInput, Usage, WireFormat,
};
use tine_wire::{Reply, read_message};

/// A reply. Of the message there is the provider's own text, or the blocks where there is none.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReplyLine {
    id: Option<String>,
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    message: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    blocks: Vec<BlockLine>,
    stop: String,
    usage: UsageLine,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockLine {
    Text(String),
    Thinking { text: String, signature: Option<String> },
    RedactedThinking(String),
    Call { id: String, tool: String, input: String },
    Other(Box<RawValue>),
}

#[derive(Debug, Serialize, Deserialize)]
struct UsageLine {
    uncached: u64,
    write_short: Option<u64>,
    write_long: Option<u64>,
    read: Option<u64>,
    output: u64,
    reasoning: Option<u64>,
}

/// Most that one count may claim: sums over a tape must not overflow.
const TOKENS_MAX: u64 = 1 << 40;

pub(super) fn written(reply: &Reply) -> ReplyLine {
    let raw = reply.message.raw().and_then(|raw| to_raw(&raw.json));
    let blocks = match &raw {
        Some(_) => Vec::new(),
        None => reply.message.blocks().iter().filter_map(block_line).collect(),
    };
    let Usage { uncached, write_short, write_long, read, output, reasoning } = reply.usage;
    ReplyLine {
        id: reply.id.clone(),
        model: reply.model.clone(),
        message: raw,
        blocks,
        stop: stop_word(&reply.stop),
        usage: UsageLine { uncached, write_short, write_long, read, output, reasoning },
    }
}

/// The error says what is wrong.
pub(super) fn read(format: WireFormat, line: &ReplyLine) -> Result<Reply, String> {
    let message = match &line.message {
        Some(raw) => read_message(format, raw.get()).map_err(|error| error.to_string())?,
        None => {
            let blocks = line.blocks.iter().map(block).collect::<Result<_, _>>()?;
            Message::new(Role::Assistant, blocks)
        }
    };
    if message.role() != Role::Assistant {
        return Err("the reply is not the assistant's".to_owned());
    }
    Ok(Reply {
        id: line.id.clone(),
        model: line.model.clone(),
        message,
        stop: stop(&line.stop),
        usage: usage(&line.usage),
        diagnosis: None,
        dropped: Vec::new(),
    })
}

fn usage(line: &UsageLine) -> Usage {
    let most = |count: u64| count.min(TOKENS_MAX);
    Usage {
        uncached: most(line.uncached),
        write_short: line.write_short.map(most),
        write_long: line.write_long.map(most),
        read: line.read.map(most),
        output: most(line.output),
        reasoning: line.reasoning.map(most),
    }
}

fn to_raw(json: &RawJson) -> Option<Box<RawValue>> {
    // One line: line ends between the parts of a JSON text mean nothing, and inside a text they are escapes.
    RawValue::from_string(json.as_str().replace(['\n', '\r'], " ")).ok()
}

/// `None` for what no reply holds.
fn block_line(block: &Block) -> Option<BlockLine> {
    Some(match block {
        Block::Text(text) => BlockLine::Text(text.clone()),
        Block::Thinking { text, signature } => {
            BlockLine::Thinking { text: text.clone(), signature: signature.clone() }
        }
        Block::RedactedThinking(text) => BlockLine::RedactedThinking(text.clone()),
        Block::ToolUse { id, name, input } => {
            let input = match input {
                ToolInput::Valid(json) => json.as_str().to_owned(),
                ToolInput::Invalid(text) => text.clone(),
            };
            BlockLine::Call { id: id.0.clone(), tool: name.clone(), input }
        }
        Block::ToolResult { .. } => return None,
        Block::Image(json) | Block::Document(json) | Block::Unknown(json) => {
            BlockLine::Other(to_raw(json)?)
        }
    })
}

fn block(line: &BlockLine) -> Result<Block, String> {
    Ok(match line {
        BlockLine::Text(text) => Block::Text(text.clone()),
        BlockLine::Thinking { text, signature } => {
            Block::Thinking { text: text.clone(), signature: signature.clone() }
        }
        BlockLine::RedactedThinking(text) => Block::RedactedThinking(text.clone()),
        BlockLine::Call { id, tool, input } => {
            let input = match RawJson::parse(input) {
                Ok(json) if json.is_object() => ToolInput::Valid(json),
                Ok(_) | Err(_) => ToolInput::Invalid(input.clone()),
            };
            Block::ToolUse { id: ToolCallId(id.clone()), name: tool.clone(), input }
        }
        BlockLine::Other(raw) => Block::Unknown(RawJson::from_raw(raw)),
    })
}

/// The reasons with a word of our own; every other is the provider's word.
const STOPS: [(&str, StopReason); 7] = [
    ("end_turn", StopReason::EndTurn),
    ("tool_use", StopReason::ToolUse),
    ("max_tokens", StopReason::MaxTokens),
    ("stop_sequence", StopReason::StopSequence),
    ("pause", StopReason::Pause),
    ("refusal", StopReason::Refusal),
    ("context_exceeded", StopReason::ContextExceeded),
];

fn stop_word(stop: &StopReason) -> String {
    match (stop, STOPS.iter().find(|(_, known)| known == stop)) {
        (StopReason::Other(word), _) => word.clone(),
        (_, Some((word, _))) => (*word).to_owned(),
        (_, None) => String::new(),
    }
}

fn stop(word: &str) -> StopReason {
    let known = STOPS.iter().find(|(known, _)| *known == word);
    known.map_or_else(|| StopReason::Other(word.to_owned()), |(_, stop)| stop.clone())
}
