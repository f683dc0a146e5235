//! The tool calls of a chat stream while they grow.
//!
//! The format tells calls apart by an index, but compatible servers leave it out, or give every call the same
//! one. So a piece begins a new call when its index is new, when it carries a name and another id, or when it
//! carries a name and neither id nor index. An id is fixed when the call is announced: one that never came is
//! made from the place of the call, as the reading does.

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::ToolCallId;

use super::read::missing_id;
use crate::growing::GrowingObject;
use crate::read::input_from_text;
use crate::{DecodeError, Event, lenient, names, strip};

/// All calls, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct GrowingCalls(Vec<GrowingCall>);

#[derive(Debug, Default)]
struct GrowingCall {
    index: Option<i64>,
    id: String,
    name: String,
    fields: GrowingObject,
    function: GrowingObject,
    arguments: String,
    announced: bool,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(default, deserialize_with = "lenient::index")]
    index: Option<i64>,
    #[serde(default, deserialize_with = "lenient::text")]
    id: Option<String>,
    #[serde(borrow)]
    function: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Function<'a> {
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

const AT: &str = "a tool call";

fn protocol(error: serde_json::Error) -> DecodeError {
    DecodeError::protocol(AT, error)
}

impl GrowingCalls {
    /// Takes the `tool_calls` of one delta.
    pub(crate) fn take(
        &mut self,
        pieces: &RawValue,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let pieces: Option<Vec<&RawValue>> =
            serde_json::from_str(pieces.get()).map_err(protocol)?;
        for raw in pieces.unwrap_or_default() {
            let piece: Piece<'_> = serde_json::from_str(raw.get()).map_err(protocol)?;
            self.take_piece(piece, Some(raw), events)?;
        }
        Ok(())
    }

    /// Takes the `function_call` of one delta: a call in the format's old place, with neither id nor index.
    pub(crate) fn take_legacy(
        &mut self,
        function: &RawValue,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        self.take_piece(Piece { index: None, id: None, function: Some(function) }, None, events)
    }

    /// Takes one piece; `raw` is the object that holds all its members.
    fn take_piece(
        &mut self,
        piece: Piece<'_>,
        raw: Option<&RawValue>,
        events: &mut Vec<Event>,
    ) -> Result<(), DecodeError> {
        let function = match piece.function {
            Some(function) => serde_json::from_str(function.get()).map_err(protocol)?,
            None => Function { name: None, arguments: None },
        };
        let position = self.place(&piece, function.name.as_deref().unwrap_or_default());
        let call = &mut self.0[position];
        call.take_fields(raw, piece.function)?;
        if let (Some(id), true) = (piece.id, call.id.is_empty()) {
            call.id = id;
        }
        if let (Some(name), false) = (function.name, call.announced) {
            call.name = name;
        }
        let more = match function.arguments {
            None => String::new(),
            Some(text) if text.get().starts_with('"') => {
                serde_json::from_str(text.get()).map_err(protocol)?
            }
            // Given as a value and not as text.
            Some(value) => value.get().to_owned(),
        };
        call.arguments.push_str(&more);
        if call.announced {
            if !more.is_empty() {
                events.push(Event::ToolInput { delta: more });
            }
        } else if !call.name.is_empty() {
            call.announce(position, events);
        }
        Ok(())
    }

    /// The position of the call that a piece belongs to; begins one if need be.
    fn place(&mut self, piece: &Piece<'_>, name: &str) -> usize {
        let id = piece.id.as_deref().unwrap_or_default();
        let known = match piece.index {
            Some(_) => self.0.iter().rposition(|call| call.index == piece.index),
            None => self.0.len().checked_sub(1),
        };
        let begins = |call: &GrowingCall| match (name, id, piece.index) {
            ("", ..) => false,
            (_, "", None) => !call.name.is_empty(),
            (_, "", Some(_)) => false,
            (_, id, _) => call.id != id,
        };
        match known {
            Some(position) if !begins(&self.0[position]) => position,
            Some(_) | None => {
                self.0.push(GrowingCall { index: piece.index, ..GrowingCall::default() });
                self.0.len() - 1
            }
        }
    }

    /// Announces the calls whose name never came, so that their ids are fixed.
    pub(crate) fn announce_all(&mut self, events: &mut Vec<Event>) {
        for (position, call) in self.0.iter_mut().enumerate() {
            if !call.announced {
                call.announce(position, events);
            }
        }
    }

    /// Drops the last call, which may go on, and every call whose arguments are no JSON object.
    pub(crate) fn drop_unfinished(&mut self) {
        self.0.pop();
        self.0.retain(|call| {
            matches!(input_from_text(&call.arguments), tine_model::ToolInput::Valid(_))
        });
    }

    /// The `tool_calls` of the message; `None` when there are none.
    pub(crate) fn to_json(&self) -> Option<String> {
        let calls: Vec<String> = self.0.iter().map(GrowingCall::to_json).collect();
        (!calls.is_empty()).then(|| format!("[{}]", calls.join(",")))
    }
}

impl GrowingCall {
    /// Keeps the fields that have no meaning here.
    fn take_fields(
        &mut self,
        raw: Option<&RawValue>,
        function: Option<&RawValue>,
    ) -> Result<(), DecodeError> {
        for (key, value) in raw.map_or(Ok(Vec::new()), strip::members).map_err(protocol)? {
            let key: String = serde_json::from_str(key.get()).map_err(protocol)?;
            match key.as_str() {
                "index" => {}
                "id" | "type" | "function" => self.fields.reserve(&key),
                _ => self.fields.merge(&key, value).map_err(protocol)?,
            }
            if key == "type" && self.fields.is_null("type") {
                self.fields.merge("type", value).map_err(protocol)?;
            }
        }
        for (key, value) in function.map_or(Ok(Vec::new()), strip::members).map_err(protocol)? {
            let key: String = serde_json::from_str(key.get()).map_err(protocol)?;
            match key.as_str() {
                "name" | "arguments" => self.function.reserve(&key),
                _ => self.function.merge(&key, value).map_err(protocol)?,
            }
        }
        Ok(())
    }

    fn announce(&mut self, position: usize, events: &mut Vec<Event>) {
        self.announced = true;
        if self.id.is_empty() {
            self.id = missing_id(position);
        }
        let name = names::from_wire(&self.name).into_owned();
        events.push(Event::ToolCall { id: ToolCallId(self.id.clone()), name });
        if !self.arguments.is_empty() {
            events.push(Event::ToolInput { delta: self.arguments.clone() });
        }
    }

    fn to_json(&self) -> String {
        let mut function = GrowingObject::default();
        function.extend(&self.function);
        function.set_text("name", &self.name);
        function.set_text("arguments", &self.arguments);
        let mut call = GrowingObject::default();
        call.extend(&self.fields);
        call.set_text("id", &self.id);
        if call.is_null("type") {
            call.set_text("type", "function");
        }
        call.set_json("function", &function.to_json());
        call.to_json()
    }
}
