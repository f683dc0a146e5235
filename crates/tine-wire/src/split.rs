//! A request's body in its own bytes, with the place where its messages end.
//!
//! For whoever goes on with a request that another program has written: messages are appended and single settings exchanged,
//! and every other byte stays as it came, so what is not known here passes through. Nothing of the messages themselves is read.

use std::ops::Range;

use bytes::Bytes;
use serde_json::value::RawValue;
use tine_model::WireFormat;

use crate::json;
use crate::read::{ReadError, parse};
use crate::read_request::ReadRequestError;
use crate::strip;

/// A request's body, split where its messages end. Reading costs time linear in the body, and a few words for each message.
///
/// ```
/// use tine_wire::SplitRequest;
/// use tine_model::WireFormat;
///
/// let body = br#"{"messages": [ {"role":"user","content":"hi"} ], "later": 1.0}"#;
/// let split = SplitRequest::read(WireFormat::Anthropic, &body[..]).unwrap();
/// assert_eq!(split.with_messages(1, &[]), body);
/// let longer = split.with_messages(1, &[r#"{"role":"assistant","content":"ho"}"#]);
/// assert!(longer.ends_with(br#"},{"role":"assistant","content":"ho"} ], "later": 1.0}"#));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitRequest {
    format: WireFormat,
    body: Bytes,
    members: Vec<Member>,
    /// The whole list of messages, brackets included.
    list: Range<usize>,
    elements: Vec<Range<usize>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    name: String,
    value: Range<usize>,
}

/// The member that holds the messages.
fn list_name(format: WireFormat) -> &'static str {
    match format {
        WireFormat::Anthropic | WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => "messages",
        WireFormat::OpenAiResponses => "input",
        WireFormat::Gemini => "contents",
    }
}

impl SplitRequest {
    /// Finds where the messages of a body end. The body must be one JSON object with one list of messages; what else it holds is
    /// not looked at.
    pub fn read(format: WireFormat, body: impl Into<Bytes>) -> Result<Self, ReadRequestError> {
        let body = body.into();
        let raw: &RawValue = serde_json::from_slice(&body).map_err(ReadError::Json)?;
        let place = |part: &RawValue| {
            let start = part.get().as_ptr() as usize - body.as_ptr() as usize;
            start..start + part.get().len()
        };
        let at = "the request";
        let found = strip::members(raw).map_err(ReadError::shape(at))?;
        let mut members = Vec::with_capacity(found.len());
        let mut lists = Vec::new();
        for (name, value) in found {
            let name: String = parse(name, at)?;
            if name == list_name(format) {
                lists.push(value);
            }
            members.push(Member { name, value: place(value) });
        }
        let shape = |what: String| ReadError::Shape { at: at.to_owned(), what };
        let name = list_name(format);
        let list = match lists[..] {
            [list] => list,
            [] => return Err(shape(format!("missing field `{name}`")).into()),
            _ => return Err(shape(format!("`{name}` is there more than once")).into()),
        };
        if !list.get().starts_with('[') {
            return Err(shape(format!("`{name}` is no list of messages")).into());
        }
        let elements: Vec<&RawValue> = parse(list, name)?;
        let elements = elements.into_iter().map(place).collect();
        let list = place(list);
        Ok(Self { format, members, list, elements, body: body.clone() })
    }

    /// The wire format.
    pub fn format(&self) -> WireFormat {
        self.format
    }

    /// The whole body, as it came.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// The number of elements of the list of messages.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Returns true if the list of messages is empty.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The elements of the list of messages, in order.
    pub fn elements(&self) -> impl ExactSizeIterator<Item = &str> {
        self.elements.iter().map(|place| self.text(place.clone()))
    }

    /// The settings: every member but the messages, with its value, in order.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &str)> {
        let others = self.members.iter().filter(|member| member.name != list_name(self.format));
        others.map(|member| (member.name.as_str(), self.text(member.value.clone())))
    }

    /// The value of a setting; of one that is there twice the last, as most readers take it.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings().filter(|(other, _)| *other == name).map(|(_, value)| value).last()
    }

    /// The body with the first `keep` elements of its messages and `more` behind them. With all of them kept and nothing more it is
    /// the same, byte for byte; nothing that stands before the place, or behind the messages, ever changes.
    pub fn with_messages(&self, keep: usize, more: &[&str]) -> Vec<u8> {
        let keep = keep.min(self.len());
        let mut body = self.before(keep).to_vec();
        for (index, message) in more.iter().enumerate() {
            if keep + index > 0 {
                body.push(b',');
            }
            body.extend_from_slice(message.as_bytes());
        }
        body.extend_from_slice(&self.behind());
        body
    }

    /// Returns the same request with another value for a setting, given as JSON; one that was not there becomes the last member. No other
    /// byte changes. The list of messages is no setting, and stays.
    pub fn with_setting(&self, name: &str, value: &str) -> Result<Self, ReadRequestError> {
        if name == list_name(self.format) {
            return Ok(self.clone());
        }
        let text = self.text(0..self.body.len());
        let mut changed = String::with_capacity(text.len() + value.len());
        let mut kept = 0;
        for member in self.members.iter().filter(|member| member.name == name) {
            changed.push_str(&text[kept..member.value.start]);
            changed.push_str(value);
            kept = member.value.end;
        }
        if kept == 0 {
            // There is at least one member before it, the messages.
            kept = text.rfind('}').unwrap_or(text.len());
            let end = text[..kept].trim_end().len();
            changed.push_str(&text[..end]);
            changed.push_str(&format!(",{}:{value}", json::string(name)));
            kept = end;
        }
        changed.push_str(&text[kept..]);
        Self::read(self.format, changed)
    }

    /// Everything up to the end of the first `keep` elements of the messages, without a comma behind it.
    pub(crate) fn before(&self, keep: usize) -> Bytes {
        self.body.slice(..self.end(keep))
    }

    /// Everything behind the messages, from the end of the last one on.
    pub(crate) fn behind(&self) -> Bytes {
        self.body.slice(self.end(self.len())..)
    }

    /// The end of the first `keep` elements.
    pub(crate) fn end(&self, keep: usize) -> usize {
        match keep.checked_sub(1) {
            None => self.list.start + 1,
            Some(last) => self.elements[last].end,
        }
    }

    /// The beginning of an element.
    pub(crate) fn start(&self, element: usize) -> usize {
        self.elements[element].start
    }

    /// JSON is UTF-8, and every place is that of a whole value in it.
    fn text(&self, place: Range<usize>) -> &str {
        std::str::from_utf8(&self.body[place]).unwrap_or_default()
    }
}
