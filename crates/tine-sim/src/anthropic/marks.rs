//! `cache_control`: where it may stand, how many there may be, and in which order.

use serde_json::{Map, Value};

use super::request::{Block, Request};
use crate::cache::Ttl;
use crate::limits::MARKS_MAX;
use crate::refusal::Refusal;

/// Takes the mark out of a tool, a block or the request; what is left is what the cache sees.
pub(super) fn take(fields: &mut Map<String, Value>, path: &str) -> Result<Option<Ttl>, Refusal> {
    let path = match path {
        "" => "cache_control".to_owned(),
        path => format!("{path}.cache_control"),
    };
    let mark = match fields.shift_remove("cache_control") {
        None | Some(Value::Null) => return Ok(None),
        Some(mark) => mark,
    };
    if mark.get("type").and_then(Value::as_str) != Some("ephemeral") {
        return Err(Refusal::invalid(format!("{path}.type: Input should be 'ephemeral'")));
    }
    match mark.get("ttl").map(Value::as_str) {
        None | Some(Some("5m")) => Ok(Some(Ttl::Short)),
        Some(Some("1h")) => Ok(Some(Ttl::Long)),
        Some(_) => Err(Refusal::invalid(format!("{path}.ttl: Input should be '5m' or '1h'"))),
    }
}

/// Refuses marks on blocks that cannot carry one, and inside blocks.
pub(super) fn check_block(block: &Block) -> Result<(), Refusal> {
    let path = &block.path;
    if block.mark.is_some() && !is_markable(block) {
        let message = match block.kind() {
            "text" => {
                format!("{path}.cache_control: cache_control cannot be set for empty text blocks")
            }
            kind => format!("{path}.{kind}.cache_control: Extra inputs are not permitted"),
        };
        return Err(Refusal::invalid(message));
    }
    let parts = block.value.get("content").and_then(Value::as_array);
    match parts.into_iter().flatten().position(|part| part.get("cache_control").is_some()) {
        Some(part) => Err(Refusal::invalid(format!(
            "{path}.content.{part}.cache_control: cache_control cannot be set inside a block, mark the block itself"
        ))),
        None => Ok(()),
    }
}

fn is_markable(block: &Block) -> bool {
    match block.kind() {
        "thinking" | "redacted_thinking" => false,
        "text" => !block.text_of("text").is_empty(),
        _ => true,
    }
}

/// Checks number and order of the marks, and places the automatic one.
pub(super) fn check(request: &mut Request, automatic: Option<Ttl>) -> Result<(), Refusal> {
    let marks: Vec<(&str, Ttl)> =
        blocks(request).filter_map(|block| Some((block.path.as_str(), block.mark?))).collect();
    if marks.len() > MARKS_MAX {
        return Err(Refusal::invalid(format!(
            "A maximum of {MARKS_MAX} blocks with cache_control may be provided. Found {}.",
            marks.len()
        )));
    }
    let first_short = marks.iter().position(|(_, ttl)| *ttl == Ttl::Short).unwrap_or(marks.len());
    if let Some((path, _)) = marks[first_short..].iter().find(|(_, ttl)| *ttl == Ttl::Long) {
        return Err(Refusal::invalid(format!(
            "{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block; the order is `tools`, `system`, `messages`"
        )));
    }
    let (count, has_short) = (marks.len(), first_short < marks.len());
    match automatic {
        None => Ok(()),
        Some(ttl) => place_automatic(request, ttl, count, has_short),
    }
}

fn place_automatic(
    request: &mut Request,
    ttl: Ttl,
    count: usize,
    has_short: bool,
) -> Result<(), Refusal> {
    let messages = request.turns.iter_mut().flat_map(|turn| &mut turn.blocks);
    let all = request.tools.iter_mut().chain(&mut request.system).chain(messages);
    // The vendor walks back from the end to the last block that can be marked.
    let Some(last) = all.filter(|block| is_markable(block)).last() else { return Ok(()) };
    match last.mark {
        Some(explicit) if explicit == ttl => Ok(()),
        Some(_) => Err(Refusal::invalid(
            "cache_control: the last block carries a cache_control with another ttl than the automatic one",
        )),
        None if count == MARKS_MAX => Err(Refusal::invalid(format!(
            "cache_control: automatic caching needs one of the {MARKS_MAX} cache_control blocks, and all are in use"
        ))),
        None if has_short && ttl == Ttl::Long => Err(Refusal::invalid(
            "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
        )),
        None => {
            last.mark = Some(ttl);
            Ok(())
        }
    }
}

/// Every block of the prompt in its order.
pub(super) fn blocks(request: &Request) -> impl Iterator<Item = &Block> {
    let messages = request.turns.iter().flat_map(|turn| &turn.blocks);
    request.tools.iter().chain(&request.system).chain(messages)
}
