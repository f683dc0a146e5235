//! The places in the text of a message at which ids of calls stand, and the same text with other ids. Every other byte stays.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::WireFormat;

use crate::{json, lenient, strip};

/// An object of a message that has a call's id: the call or its result.
pub(crate) struct Place<'a> {
    object: &'a RawValue,
    field: &'static str,
    /// The id as it is written; `None` where there is none.
    pub(crate) written: Option<&'a RawValue>,
    pub(crate) is_call: bool,
}

impl Place<'_> {
    /// The id; empty where there is none.
    pub(crate) fn id(&self) -> Option<String> {
        self.written.map_or(Some(String::new()), |raw| {
            lenient::text(raw).ok().map(Option::unwrap_or_default)
        })
    }
}

/// The calls and results of a message's text, in order. `None` where it is no message: its reading says so.
pub(crate) fn places(format: WireFormat, message: &str) -> Option<Vec<Place<'_>>> {
    #[derive(Deserialize)]
    struct Holder<'a> {
        #[serde(borrow)]
        content: Option<&'a RawValue>,
        tool_calls: Option<&'a RawValue>,
        tool_call_id: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type")]
        kind: Option<Cow<'a, str>>,
    }
    /// Names of kinds, each with its field and whether it is a call.
    type Kinds = [(&'static str, &'static str, bool)];
    const ANTHROPIC: &Kinds = &[("tool_use", "id", true), ("tool_result", "tool_use_id", false)];
    const RESPONSES: &Kinds = &[
        ("function_call", "call_id", true),
        ("function_call_output", "call_id", false),
        ("custom_tool_call", "call_id", true),
        ("custom_tool_call_output", "call_id", false),
    ];
    fn place<'a>(object: &'a RawValue, field: &'static str, is_call: bool) -> Option<Place<'a>> {
        let quoted = format!("\"{field}\"");
        let members = strip::members(object).ok()?;
        let written = members.iter().find(|(key, _)| key.get() == quoted).map(|(_, value)| *value);
        Some(Place { object, field, written, is_call })
    }
    fn listed<'a>(list: &'a str, kinds: &Kinds) -> Option<Vec<Place<'a>>> {
        let all: Vec<&RawValue> = match list.starts_with('[') {
            true => serde_json::from_str(list).ok()?,
            // An item alone, or a content that is one text.
            false if list.starts_with('{') => vec![serde_json::from_str(list).ok()?],
            false => Vec::new(),
        };
        let mut found = Vec::new();
        for object in all {
            let kind = serde_json::from_str::<Kind<'_>>(object.get()).ok().and_then(|it| it.kind);
            let known = kinds.iter().find(|(name, ..)| kind.as_deref() == Some(*name));
            if let Some((_, field, is_call)) = known {
                found.push(place(object, field, *is_call)?);
            }
        }
        Some(found)
    }
    match format {
        WireFormat::Anthropic => {
            let holder: Holder<'_> = serde_json::from_str(message).ok()?;
            listed(holder.content?.get(), ANTHROPIC)
        }
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => {
            let holder: Holder<'_> = serde_json::from_str(message).ok()?;
            if holder.tool_call_id.is_some() {
                let whole: &RawValue = serde_json::from_str(message).ok()?;
                return Some(vec![place(whole, "tool_call_id", false)?]);
            }
            let Some(calls) = holder.tool_calls else { return Some(Vec::new()) };
            let calls: Vec<&RawValue> = serde_json::from_str(calls.get()).ok()?;
            calls.into_iter().map(|call| place(call, "id", true)).collect()
        }
        WireFormat::OpenAiResponses => listed(message, RESPONSES),
        WireFormat::Gemini => None,
    }
}

/// The text of a message in which some of its [`places`] have another id; `None` where none has.
pub(crate) fn replaced<'n>(
    format: WireFormat,
    message: &str,
    new: &mut dyn FnMut(&Place<'_>) -> Option<Cow<'n, str>>,
) -> Option<String> {
    let start = |part: &str| part.as_ptr() as usize - message.as_ptr() as usize;
    let mut changed = String::with_capacity(message.len());
    let mut copied = 0;
    for place in places(format, message)? {
        let Some(id) = new(&place) else { continue };
        let (from, to, text) = match place.written {
            Some(raw) => {
                let at = start(raw.get());
                (at, at + raw.get().len(), json::string(&id))
            }
            None => {
                let object = place.object.get();
                let at = start(object) + 1;
                let comma = if object[1..].trim_start().starts_with('}') { "" } else { "," };
                (at, at, format!("\"{}\":{}{comma}", place.field, json::string(&id)))
            }
        };
        changed.push_str(message.get(copied..from)?);
        changed.push_str(&text);
        copied = to;
    }
    if copied == 0 {
        return None;
    }
    changed.push_str(message.get(copied..)?);
    Some(changed)
}
