//! One part of a content object, and the names of calls and answers that came without one.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::{Block, RawJson, ToolCallId, ToolInput};

use crate::names::from_wire;
use crate::read::{ReadError, input_from_raw, parse};

/// What the name of an answer without an id begins with; its place and its tool follow.
const UNNAMED_ANSWER: &str = "gemini_result_";

/// Which text of two kinds a part holds, or something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Thought,
    Call,
    Other,
}

/// A part's fields, as far as they matter here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(crate) struct Part<'a> {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<Call<'a>>,
    function_response: Option<Answer<'a>>,
    inline_data: Option<Media>,
    file_data: Option<Media>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Call<'a> {
    id: Option<String>,
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Answer<'a> {
    id: Option<String>,
    name: String,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
struct Media {
    mime_type: Option<String>,
}

impl<'a> Part<'a> {
    /// Reads part number `index`.
    pub(crate) fn read(raw: &'a RawValue, index: usize) -> Result<Self, ReadError> {
        parse(raw, &format!("part {index}"))
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self { function_call: Some(_), .. } => Kind::Call,
            Self { function_response: Some(_), .. } => Kind::Other,
            Self { text: Some(_), thought: Some(true), .. } => Kind::Thought,
            Self { text: Some(_), .. } => Kind::Text,
            _ => Kind::Other,
        }
    }

    /// The text; empty for a part of another kind.
    pub(crate) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether the part carries a thought signature.
    pub(crate) fn is_signed(&self) -> bool {
        self.thought_signature.as_ref().is_some_and(|signature| !signature.is_empty())
    }

    /// The id that the provider gave the call in this part.
    pub(crate) fn given_id(&self) -> Option<&str> {
        let id = self.function_call.as_ref()?.id.as_deref();
        id.filter(|id| !id.is_empty())
    }

    /// The id, if there is one, and the tool of the call that this part answers.
    pub(crate) fn answered(&self) -> Option<(Option<&str>, &str)> {
        let answer = self.function_response.as_ref()?;
        Some((answer.id.as_deref().filter(|id| !id.is_empty()), &answer.name))
    }

    /// The tool that is called and the text of its arguments.
    pub(crate) fn call(&self) -> Option<(&str, &str)> {
        let call = self.function_call.as_ref()?;
        Some((&call.name, call.args.map_or("{}", RawValue::get)))
    }

    /// The block that this part is by itself. `names` must have seen all parts up to and with this one.
    pub(crate) fn block(self, raw: &RawValue, index: usize, names: &Names) -> Block {
        let kind = self.kind();
        let id = self.given_id().map(|id| ToolCallId(id.to_owned()));
        let signature = self.thought_signature.filter(|signature| !signature.is_empty());
        let text = self.text.unwrap_or_default();
        if let Some(Call { name, args, .. }) = self.function_call {
            let input = match args.filter(|args| args.get() != "null") {
                None => ToolInput::Valid(RawJson::empty_object()),
                Some(args) => input_from_raw(args),
            };
            let name = from_wire(&name).into_owned();
            return Block::ToolUse { id: id.unwrap_or_else(|| names.call(index)), name, input };
        }
        if let Some(answer) = self.function_response {
            return answer.block(index);
        }
        match (kind, self.inline_data.or(self.file_data)) {
            (Kind::Thought, _) => Block::Thinking { text, signature },
            // The signature of the whole reply, which comes last and may come without words.
            (Kind::Text, _) if text.is_empty() && signature.is_some() => {
                Block::Thinking { text, signature }
            }
            (Kind::Text, _) => Block::Text(text),
            (Kind::Call | Kind::Other, Some(Media { mime_type: Some(kind) }))
                if kind.starts_with("image/") =>
            {
                Block::Image(RawJson::from_raw(raw))
            }
            (Kind::Call | Kind::Other, Some(_)) => Block::Document(RawJson::from_raw(raw)),
            (Kind::Call | Kind::Other, None) => Block::Unknown(RawJson::from_raw(raw)),
        }
    }
}

impl Answer<'_> {
    /// `output` or `error` alone is the text of the answer; of anything else the whole object is.
    fn block(self, index: usize) -> Block {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Response<'a> {
            #[serde(borrow)]
            output: Option<&'a RawValue>,
            error: Option<&'a RawValue>,
        }
        let id = self.id.filter(|id| !id.is_empty());
        let call = id.map_or_else(|| unnamed_answer(index, &from_wire(&self.name)), ToolCallId);
        let Some(raw) = self.response else {
            return Block::ToolResult { call, content: Vec::new(), is_error: false };
        };
        let words = |value: &RawValue| {
            serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned())
        };
        match serde_json::from_str(raw.get()) {
            Ok(Response { output: Some(output), error: None }) => {
                Block::result(call, words(output), false)
            }
            Ok(Response { output: None, error: Some(error) }) => {
                Block::result(call, words(error), true)
            }
            _ => Block::result(call, raw.get(), false),
        }
    }
}

/// Names calls that came without an id. A name is made from the call's place and from all parts of the message up to and with
/// the call, so it is the same while the reply streams and at every later reading, and different in different messages. It is
/// never sent.
#[derive(Debug, Default)]
pub(crate) struct Names(
    /// Two kilobytes: apart, so that a decoder stays small.
    Box<blake3::Hasher>,
);

impl Names {
    /// Takes the text of the next part.
    pub(crate) fn see(&mut self, part: &str) {
        self.0.update(part.as_bytes());
    }

    /// The name of the call that is part number `index`, the last one seen.
    pub(crate) fn call(&self, index: usize) -> ToolCallId {
        let digits = self.0.finalize().to_hex();
        ToolCallId(format!("gemini_{}_{index}", digits.get(..8).unwrap_or_default()))
    }
}

/// The name of the call that an answer without an id is for. Which call that is, only the message before tells: the framer
/// finds it by the tool.
fn unnamed_answer(index: usize, tool: &str) -> ToolCallId {
    ToolCallId(format!("{UNNAMED_ANSWER}{index}_{tool}"))
}

/// The tool of an answer that came without an id.
pub(crate) fn tool_of_unnamed(call: &ToolCallId) -> Option<&str> {
    let (_, tool) = call.0.strip_prefix(UNNAMED_ANSWER)?.split_once('_')?;
    Some(tool)
}
