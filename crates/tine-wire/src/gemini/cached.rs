//! Cached contents: the body that makes one, the head of a request that uses one, and what is said of one.
//!
//! Source: Gemini API reference, "Caching": a request that names a cached content must not repeat the system instruction,
//! the tools or the tool settings that it holds; generation settings are not held.

use std::ops::Range;

use bytes::Bytes;
use serde_json::Value;
use serde_json::value::RawValue;
use tine_history::Layout;

use crate::assemble::Comma;
use crate::cached::CachedContent;
use crate::json;
use crate::reply::{DecodeError, TOKENS_MAX};
use crate::{Body, Endpoint, Head, failure, strip};

/// What of a head the provider holds.
const HELD: [&str; 4] = ["systemInstruction", "tools", "toolConfig", "tool_config"];

/// The members of a head as they were rendered: those that the provider holds, or the others.
fn members_of(text: &str, held: bool) -> Option<String> {
    let raw: &RawValue = serde_json::from_str(text).ok()?;
    let members = strip::members(raw).ok()?.into_iter().filter(|(key, _)| {
        let key = key.get().trim_matches('"');
        key != "contents" && HELD.contains(&key) == held
    });
    Some(members.map(|(key, value)| format!(",{}:{}", key.get(), value.get())).collect())
}

/// The body of `POST /v1beta/cachedContents`. `None` for a head that is not of this format's making.
pub(crate) fn creation(
    head: &Head,
    layout: &Layout,
    items: usize,
    ttl_seconds: u64,
) -> Option<Body> {
    let text = closed(head)?;
    let model = json::string(&format!("models/{}", head.model()?));
    let held = members_of(&text, true)?;
    let beginning = format!("{{\"model\":{model}{held},\"ttl\":\"{ttl_seconds}s\"");
    let mut body = Body::default();
    body.push(Bytes::from(beginning));
    let held = runs(layout, 0..items.min(layout.items()));
    if held.iter().any(|run| !run.is_empty()) {
        body.push(Bytes::from_static(b",\"contents\":["));
        let mut comma = Comma { due: false };
        held.into_iter().for_each(|run| body.push(run.slice(comma.skip(&run)..)));
        body.push(Bytes::from_static(b"]"));
    }
    body.push(Bytes::from_static(b"}"));
    Some(body)
}

/// What stands before the first message that is sent, when everything before it is held under `name`.
pub(crate) fn head_behind(head: &Head, name: &str) -> Option<Bytes> {
    let text = closed(head)?;
    let settings = members_of(&text, false)?;
    let name = json::string(name);
    Some(format!("{{\"cachedContent\":{name}{settings},\"contents\":[").into())
}

/// The head as a whole JSON object.
fn closed(head: &Head) -> Option<String> {
    if head.splice.is_some() {
        // What another program has sent may name held contents of its own.
        return None;
    }
    Some(format!("{}]}}", std::str::from_utf8(head.bytes()).ok()?))
}

/// The bytes of some messages, shared with the history; each piece begins with a comma or is empty.
pub(crate) fn runs(layout: &Layout, items: Range<usize>) -> Vec<Bytes> {
    let cut = |item: Option<usize>, whole: usize| match item {
        Some(item) => layout.frame(item).1.end,
        None => whole,
    };
    let pieces = layout.runs().iter().filter_map(|run| {
        let (first, end) = (run.first, run.first + run.items);
        if end <= items.start || first >= items.end {
            return None;
        }
        let bytes = run.bytes();
        let from = cut((first < items.start).then(|| items.start - 1), 0);
        let to = cut((end > items.end).then(|| items.end - 1), bytes.len());
        Some(bytes.slice(from..to))
    });
    pieces.collect()
}

/// Reads what the provider says of a cached content.
pub(crate) fn read(body: &[u8]) -> Result<CachedContent, DecodeError> {
    let at = "the cached content";
    let value: Value =
        serde_json::from_slice(body).map_err(|error| DecodeError::protocol(at, error))?;
    if value.get(0).unwrap_or(&value).get("error").is_some() {
        return Err(failure::from_value(None, &value).into());
    }
    let name = value.get("name").and_then(Value::as_str).unwrap_or_default();
    if Endpoint::cached_content_path(tine_model::WireFormat::Gemini, name).is_none() {
        return Err(DecodeError::protocol(at, "`name` is missing or names no cached content"));
    }
    let tokens = value.pointer("/usageMetadata/totalTokenCount").and_then(Value::as_u64);
    Ok(CachedContent {
        name: name.to_owned(),
        tokens: tokens.filter(|tokens| *tokens <= TOKENS_MAX),
        expires: value.get("expireTime").and_then(Value::as_str).map(str::to_owned),
    })
}
