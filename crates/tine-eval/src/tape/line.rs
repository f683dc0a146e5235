//! One exchange as a line of JSON.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tine_guard::redact_json;
use tine_model::WireFormat;
use tine_wire::Reply;

use super::reply::{ReplyLine, read, written};

/// An exchange that was read.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// Where it stands on the tape, from 1.
    pub(super) line: usize,
    pub(super) format: WireFormat,
    pub(super) hash: String,
    /// The body, secrets replaced.
    pub(super) request: String,
    pub(super) reply: Reply,
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    format: String,
    model: String,
    /// BLAKE3 of `request` as it was sent, secrets replaced.
    hash: String,
    #[serde(borrow)]
    request: &'a RawValue,
    reply: ReplyLine,
}

/// A body as it stands on a tape, and its hash. Line ends between its parts become blanks; those in texts are escapes.
pub(super) fn masked(body: &[u8]) -> (String, String) {
    let text = String::from_utf8_lossy(body);
    let text = redact_json(&text).replace(['\n', '\r'], " ");
    let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
    (text, hash)
}

/// An exchange as a line, without its end, and the reply as it will be read back.
pub(super) fn render(
    (format, model): (WireFormat, &str),
    body: &[u8],
    reply: &Reply,
) -> Result<(String, Reply), String> {
    let (request, hash) = masked(body);
    let said = |error: serde_json::Error| error.to_string();
    let reply = serde_json::to_string(&written(reply)).map_err(said)?;
    let reply: ReplyLine = serde_json::from_str(&redact_json(&reply)).map_err(said)?;
    let given = read(format, &reply)?;
    let request: &RawValue = serde_json::from_str(&request).map_err(said)?;
    let (format, model) = (format.as_str().to_owned(), model.to_owned());
    let line = Line { format, model, hash, request, reply };
    Ok((serde_json::to_string(&line).map_err(said)?, given))
}

impl Exchange {
    /// Reads a line. The error says what is wrong with it.
    pub(super) fn parse(text: &str, number: usize) -> Result<Self, String> {
        let line: Line<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let format = WireFormat::from_name(&line.format);
        let format = format.ok_or_else(|| format!("unknown format `{}`", line.format))?;
        let reply = read(format, &line.reply)?;
        let request = line.request.get().to_owned();
        Ok(Self { line: number, format, hash: line.hash, request, reply })
    }
}
