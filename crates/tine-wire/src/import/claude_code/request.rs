//! The request behind the last answer of a transcript, rebuilt from what Claude Code keeps of it.
//!
//! Since version 2.1.330 a transcript holds, beside the conversation, what each request said: its system prompt and tools
//! (`api-request-shape`), messages that are in no record (`api-request-blob`), and for each request (`api-request`) its settings, the
//! hashes of its messages, as a list or as what differs from an earlier request, and the places of its cache marks. A digest
//! over all of it says whether what was put together is what was sent. The one thing that is in none of them is a line that
//! stands before the system prompt in some versions, and the ids of account and session. Source: sessions of 2.1.330, November 2026.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use tine_model::Lifetime;

use crate::import::lines::object;
use crate::json;
use crate::parts::with_member;
use crate::strip;

/// Longest chain of requests of which each says only how it differs from the one before. A session of a day has some thousands.
const CHAIN_MAX: usize = 100_000;

/// Deepest nesting of a text that is hashed. Tools' schemas are the deepest; none comes near.
const NESTING_MAX: usize = 100;

/// A request of another program, as far as its own record says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The body, streamed, as [`read_request`](crate::read_request) reads it.
    pub body: String,
    /// The features of the API that it asks for, as the header `anthropic-beta` names them.
    pub betas: Vec<String>,
    /// When it was sent, in milliseconds since the Unix epoch.
    pub at_ms: Option<i64>,
    /// The lifetime of the entry at the end of its messages.
    pub lifetime: Lifetime,
    /// The number of the conversation's messages that came after it, its answer the first of them.
    pub behind: usize,
}

/// Why a request could not be rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unrebuilt {
    /// Nothing of it is recorded.
    NotRecorded,
    /// A part of it is not in the file.
    Missing(&'static str),
    /// The request that was put together has another digest than the one that was sent.
    Differs,
}

impl Unrebuilt {
    /// The reason as a sentence's rest.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::NotRecorded => "the file does not record the request behind its last answer",
            Self::Missing(what) => what,
            Self::Differs => {
                "what the file records of the request behind its last answer is not what was sent"
            }
        }
    }
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    #[serde(rename = "shapeHash")]
    shape_hash: Option<String>,
    #[serde(borrow)]
    shape: Option<&'a RawValue>,
    hash: Option<String>,
    message: Option<&'a RawValue>,
    timestamp: Option<String>,
    params: Option<&'a RawValue>,
    base: Option<String>,
    #[serde(default)]
    keep: usize,
    #[serde(default)]
    tail: Vec<String>,
    #[serde(rename = "cacheControl", default, borrow)]
    marks: Vec<Mark<'a>>,
    #[serde(rename = "requestDigest")]
    digest: Option<String>,
}

#[derive(Deserialize)]
struct Mark<'a> {
    #[serde(borrow)]
    path: Vec<&'a RawValue>,
    value: &'a RawValue,
}

/// All that a transcript records of its requests.
#[derive(Default)]
pub(super) struct Recorded<'a> {
    shapes: HashMap<String, &'a RawValue>,
    messages: HashMap<String, String>,
    requests: HashMap<String, Shape<'a>>,
}

impl<'a> Recorded<'a> {
    /// Reads the records about requests among the lines of a file.
    pub(super) fn of(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut recorded = Self::default();
        // Most lines are none of them, and long.
        for line in lines.filter(|line| line.contains("\"api-request")) {
            let Some(shape) = object::<Shape<'a>>(line) else { continue };
            match (shape.kind.as_str(), &shape.shape_hash, &shape.hash, &shape.id) {
                ("api-request-shape", Some(hash), ..) => {
                    recorded.shapes.extend(shape.shape.map(|it| (hash.clone(), it)));
                }
                ("api-request-blob", _, Some(hash), _) => {
                    let message = shape.message.map(|it| (hash.clone(), it.get().to_owned()));
                    recorded.messages.extend(message);
                }
                ("api-request", _, _, Some(id)) => {
                    recorded.requests.insert(id.clone(), shape);
                }
                _ => {}
            }
        }
        recorded
    }

    /// Returns true if there is a request of this id.
    pub(super) fn has(&self, id: &str) -> bool {
        self.requests.contains_key(id)
    }

    /// Adds a message of the conversation, which a request may name by its hash.
    pub(super) fn add(&mut self, message: &str) {
        if let Some(hash) = hash(&in_blocks(message)) {
            self.messages.entry(hash).or_insert_with(|| message.to_owned());
        }
    }

    /// The request of this id, where all of it is there and its digest says that it is right.
    pub(super) fn rebuilt(&self, id: &str) -> Result<RecordedRequest, Unrebuilt> {
        let request = self.requests.get(id).ok_or(Unrebuilt::NotRecorded)?;
        let missing = |what| Unrebuilt::Missing(what);
        let shape = request.shape_hash.as_ref().and_then(|hash| self.shapes.get(hash));
        let shape = shape.ok_or(missing("the file does not hold the request's tools"))?;
        let params =
            request.params.ok_or(missing("the file does not hold the request's settings"))?;
        let hashes = self.hashes(request).ok_or(missing("the file lacks an earlier request"))?;
        let messages = hashes.iter().map(|hash| self.messages.get(hash).cloned());
        let messages: Option<Vec<String>> = messages.collect();
        let messages = messages.ok_or(missing("the file lacks a message of the request"))?;
        let parts = Parts::of(params, shape, messages).ok_or(Unrebuilt::Differs)?;
        let parts = parts.marked(&request.marks).ok_or(Unrebuilt::Differs)?;
        let digest = parts.digest().ok_or(Unrebuilt::Differs)?;
        if request.digest.as_ref() != Some(&digest) {
            return Err(Unrebuilt::Differs);
        }
        let last = request.marks.iter().rev().find(|mark| mark.is_of("messages"));
        let is_long = last.is_some_and(|mark| mark.value.get().contains("\"1h\""));
        Ok(RecordedRequest {
            body: parts.body(),
            betas: parts.betas,
            at_ms: request.timestamp.as_deref().and_then(at_ms),
            lifetime: if is_long { Lifetime::Long } else { Lifetime::Short },
            behind: 0,
        })
    }

    /// The hashes of a request's messages: the first of those of the request that it goes on from, and its own.
    fn hashes(&self, request: &Shape<'_>) -> Option<Vec<String>> {
        let mut chain = vec![request];
        while let Some(base) = chain.last().and_then(|last| last.base.as_ref()) {
            if chain.len() > CHAIN_MAX {
                return None;
            }
            chain.push(self.requests.get(base)?);
        }
        let mut hashes: Vec<String> = Vec::new();
        for request in chain.into_iter().rev() {
            if request.keep > hashes.len() {
                return None;
            }
            hashes.truncate(request.keep);
            hashes.extend(request.tail.iter().cloned());
        }
        Some(hashes)
    }
}

impl Mark<'_> {
    fn is_of(&self, list: &str) -> bool {
        self.path.first().is_some_and(|first| first.get().trim_matches('"') == list)
    }

    fn number(&self, at: usize) -> Option<usize> {
        self.path.get(at)?.get().parse().ok()
    }
}

/// A request in its parts, each as it was written.
struct Parts {
    /// The settings, in order, with what the header says.
    params: Vec<(String, String)>,
    betas: Vec<String>,
    system: Option<Vec<String>>,
    tools: Option<Vec<String>>,
    messages: Vec<String>,
    /// Members of the shape beside system prompt and tools.
    others: Vec<(String, String)>,
}

fn listed(json: &str) -> Option<Vec<String>> {
    let list: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(list.into_iter().map(|it| it.get().to_owned()).collect())
}

fn named(raw: &RawValue) -> Option<Vec<(String, String)>> {
    let named = |(name, value): (&RawValue, &RawValue)| {
        Some((serde_json::from_str(name.get()).ok()?, value.get().to_owned()))
    };
    strip::members(raw).ok()?.into_iter().map(named).collect()
}

impl Parts {
    fn of(params: &RawValue, shape: &RawValue, messages: Vec<String>) -> Option<Self> {
        let (mut system, mut tools, mut others) = (None, None, Vec::new());
        for (name, value) in named(shape)? {
            match name.as_str() {
                "system" => system = Some(listed(&value)?),
                "tools" => tools = Some(listed(&value)?),
                _ => others.push((name, value)),
            }
        }
        let params = named(params)?;
        let betas = params.iter().find(|(name, _)| name == "betas");
        let betas = betas.and_then(|(_, list)| serde_json::from_str(list).ok()).unwrap_or_default();
        Some(Self { params, betas, system, tools, messages, others })
    }

    /// Returns it with its marks.
    fn marked(mut self, marks: &[Mark<'_>]) -> Option<Self> {
        for mark in marks {
            let index = mark.number(1)?;
            let list = match () {
                () if mark.is_of("system") => self.system.as_mut()?,
                () if mark.is_of("tools") => self.tools.as_mut()?,
                () if mark.is_of("messages") => &mut self.messages,
                () => return None,
            };
            let place = list.get_mut(index)?;
            *place = if mark.is_of("messages") {
                with_mark_on(place, mark.number(3)?, mark.value.get())?
            } else {
                with_mark(place, mark.value.get())?
            };
        }
        Some(self)
    }

    /// The digest of all of it: a hash of its text with sorted members, contents as lists of blocks.
    fn digest(&self) -> Option<String> {
        let messages: Vec<String> = self.messages.iter().map(|it| in_blocks(it)).collect();
        let members: Vec<(String, String)> =
            self.params.iter().chain(&self.others).cloned().chain(self.lists(&messages)).collect();
        Some(hex(&canonical(&object_of(&members), true, 0)?))
    }

    /// The lists, each as a member; one that the request does not have is left out.
    fn lists(&self, messages: &[String]) -> Vec<(String, String)> {
        let member =
            |name: &str, list: &[String]| (name.to_owned(), format!("[{}]", list.join(",")));
        let system = self.system.as_deref().map(|list| member("system", list));
        let tools = self.tools.as_deref().map(|list| member("tools", list));
        [Some(member("messages", messages)), system, tools].into_iter().flatten().collect()
    }

    /// The body in the order in which Claude Code writes it.
    fn body(&self) -> String {
        let messages: Vec<String> = self.messages.iter().map(|it| as_written(it)).collect();
        let own = self.lists(&messages);
        let is_model = |(name, _): &&(String, String)| name == "model";
        let model = self.params.iter().filter(is_model).cloned();
        let others = self.params.iter().filter(|it| !is_model(it) && it.0 != "betas");
        let others = others.chain(&self.others).cloned();
        let stream = [("stream".to_owned(), "true".to_owned())];
        let members: Vec<_> = model.chain(own).chain(others).chain(stream).collect();
        object_of(&members)
    }
}

/// A time as JavaScript writes it, `2026-01-02T03:04:05.678Z`, in milliseconds since the Unix epoch.
fn at_ms(text: &str) -> Option<i64> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let number =
        |text: &str| text.parse::<i64>().ok().filter(|number| (0..10_000).contains(number));
    let numbers = |text: &str, by: char| text.split(by).map(number).collect::<Option<Vec<_>>>();
    let [year, month, day] = numbers(date, '-')?[..] else { return None };
    let (seconds, millis) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(seconds, ':')?[..] else { return None };
    if !(1..=12).contains(&month) {
        return None;
    }
    // Days since the epoch; years begin in March, so that a leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    Some(((days * 24 + hour) * 60 + minute) * 60_000 + second * 1_000 + number(millis)?)
}

fn object_of(members: &[(String, String)]) -> String {
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("{}:{value}", json::string(name))).collect();
    format!("{{{}}}", members.join(","))
}

/// A block with a mark as its last member.
fn with_mark(block: &str, mark: &str) -> Option<String> {
    let inside = block.strip_suffix('}')?;
    let comma = if inside.trim_end().ends_with('{') { "" } else { "," };
    Some(format!("{inside}{comma}\"cache_control\":{mark}}}"))
}

/// A message with a mark on one of its blocks.
fn with_mark_on(message: &str, block: usize, mark: &str) -> Option<String> {
    let message = in_blocks(message);
    let mut blocks = listed(content(&message)?)?;
    let place = blocks.get_mut(block)?;
    *place = with_mark(place, mark)?;
    Some(with_member(&message, "content", &format!("[{}]", blocks.join(","))))
}

fn content(message: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct Said<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    serde_json::from_str::<Said<'_>>(message).ok().map(|said| said.content.get())
}

/// A message whose content is a list: one text is one block.
fn in_blocks(message: &str) -> String {
    match content(message).filter(|content| content.starts_with('"')) {
        Some(text) => {
            with_member(message, "content", &format!(r#"[{{"type":"text","text":{text}}}]"#))
        }
        None => message.to_owned(),
    }
}

/// A message as Claude Code writes it: a system message of one block without a mark has a text for its content, whatever form it was
/// recorded in.
fn as_written(message: &str) -> String {
    #[derive(Deserialize)]
    struct Said<'a> {
        role: String,
        #[serde(borrow)]
        content: Vec<&'a RawValue>,
    }
    let text = || {
        let said: Said<'_> = serde_json::from_str(message).ok()?;
        let [block] = said.content[..] else { return None };
        let members = strip::members(block).ok().filter(|_| said.role == "system")?;
        let member = |name: &str| members.iter().find(|(key, _)| key.get() == name);
        let is_text = members.len() == 2 && member("\"type\"")?.1.get() == "\"text\"";
        Some(member("\"text\"").filter(|_| is_text)?.1.get().to_owned())
    };
    match text() {
        Some(text) => with_member(message, "content", &text),
        None => message.to_owned(),
    }
}

/// The hash by which a request names a message: over its text with sorted members and without marks.
fn hash(message: &str) -> Option<String> {
    Some(hex(&canonical(message, false, 0)?))
}

fn hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A JSON text without blanks, the members of every object in the order of their names. Numbers and strings stay as they are
/// written, which is how JavaScript writes them.
fn canonical(json: &str, with_marks: bool, depth: usize) -> Option<String> {
    if depth > NESTING_MAX {
        return None;
    }
    let inner = |json: &str| canonical(json, with_marks, depth + 1);
    match json.as_bytes().first()? {
        b'{' => {
            let mut members = named(serde_json::from_str(json).ok()?)?;
            members.retain(|(name, _)| with_marks || name != "cache_control");
            members.sort_by(|(one, _), (other, _)| one.encode_utf16().cmp(other.encode_utf16()));
            let members = members.into_iter().map(|(name, value)| Some((name, inner(&value)?)));
            Some(object_of(&members.collect::<Option<Vec<_>>>()?))
        }
        b'[' => {
            let items = listed(json)?.into_iter().map(|item| inner(&item));
            Some(format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(",")))
        }
        _ => Some(json.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canonical_text_has_sorted_members_and_no_blanks() {
        let check = |json: &str, with_marks: bool, expected: &str| {
            assert_eq!(canonical(json, with_marks, 0).as_deref(), Some(expected));
        };
        let json =
            r#"{ "b" : [1, {"z":null,"a":"\u00e9 x"}], "a":1e3, "cache_control":{"type":"x"}}"#;
        check(json, false, r#"{"a":1e3,"b":[1,{"a":"\u00e9 x","z":null}]}"#);
        check(
            json,
            true,
            r#"{"a":1e3,"b":[1,{"a":"\u00e9 x","z":null}],"cache_control":{"type":"x"}}"#,
        );
        assert_eq!(canonical(&"[".repeat(200), true, 0), None);
    }

    #[test]
    fn times_are_read_as_javascript_writes_them() {
        assert_eq!(at_ms("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(at_ms("2026-11-25T16:21:21.505Z"), Some(1_795_623_681_505));
        assert_eq!(at_ms("2024-02-29T23:59:59Z"), Some(1_709_251_199_000));
        for text in
            ["", "2026-11-25", "2026-13-25T00:00:00Z", "2026-11-25T16:21:21+01:00", "xT1:2:3Z"]
        {
            assert_eq!(at_ms(text), None, "{text}");
        }
    }

    #[test]
    fn a_system_message_of_one_block_is_written_as_a_text() {
        let check = |message: &str, expected: &str| assert_eq!(as_written(message), expected);
        let one =
            r#"{"role":"system","content":[{"type":"text","text":"a \u00e9"}],"output_config":{}}"#;
        check(one, r#"{"role":"system","content":"a \u00e9","output_config":{}}"#);
        for same in [
            one.replace("system", "user"),
            one.replace(r#""}]"#, r#"","cache_control":{}}]"#),
            one.replace(r#""}]"#, r#""},{"type":"text","text":"b"}]"#),
            r#"{"role":"system","content":[]}"#.to_owned(),
            r#"{"role":"system","content":"a"}"#.to_owned(),
        ] {
            check(&same, &same);
        }
    }

    #[test]
    fn a_text_has_the_hash_of_its_one_block() {
        let text = hash(&in_blocks(r#"{"role":"user","content":"hi"}"#));
        let blocks = r#"{"content":[{"text":"hi","cache_control":{"type":"ephemeral"},"type":"text"}],"role":"user"}"#;
        assert_eq!((&text, text.is_some()), (&hash(blocks), true));
    }
}
