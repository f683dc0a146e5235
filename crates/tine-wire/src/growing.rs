//! A JSON object under construction: the order of its fields and the spelling of its values are kept.
//!
//! Streams deliver objects in pieces. This type folds the pieces in without ever going through a map, so that what
//! is written is what the provider gave. It never interprets a field.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use crate::json;
use crate::openai_chat::missing_id;

/// Fields in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct GrowingObject(Vec<(String, Field)>);

#[derive(Debug, Clone)]
enum Field {
    /// As it came.
    Raw(Box<RawValue>),
    /// A string that grows.
    Text(String),
    /// A list that grows.
    List(Vec<Box<RawValue>>),
}

impl GrowingObject {
    /// Reads an object.
    pub(crate) fn parse(raw: &RawValue) -> Result<Self, serde_json::Error> {
        serde_json::from_str(raw.get())
    }

    fn field(&mut self, key: &str) -> Option<&mut Field> {
        self.0.iter_mut().find(|(name, _)| name == key).map(|(_, field)| field)
    }

    /// Sets a field, in place if it is there, else at the end.
    pub(crate) fn set(&mut self, key: &str, value: &RawValue) {
        self.put(key, Field::Raw(value.to_owned()));
    }

    fn put(&mut self, key: &str, value: Field) {
        match self.field(key) {
            Some(field) => *field = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// Makes sure that there is a field; a new one is `null`.
    pub(crate) fn reserve(&mut self, key: &str) {
        if self.field(key).is_none() {
            self.put(key, Field::Raw(RawValue::NULL.to_owned()));
        }
    }

    /// Sets a field to a string, in place if it is there, else at the end.
    pub(crate) fn set_text(&mut self, key: &str, text: &str) {
        self.put(key, Field::Text(text.to_owned()));
    }

    /// Sets a field to a value that is JSON already.
    pub(crate) fn set_json(&mut self, key: &str, json: &str) {
        if let Ok(raw) = serde_json::from_str::<&RawValue>(json) {
            self.set(key, raw);
        }
    }

    /// Sets all fields of `other`.
    pub(crate) fn extend(&mut self, other: &Self) {
        for (key, field) in &other.0 {
            self.put(key, field.clone());
        }
    }

    /// Moves a chat message's call from the format's old place, `function_call`, to `tool_calls`. Returns true if there was one. Where
    /// both places have a call, the new one counts.
    pub(crate) fn move_legacy_call(&mut self) -> bool {
        let Some(place) = self.0.iter().position(|(name, _)| name == "function_call") else {
            return false;
        };
        if self.is_null("function_call") {
            return false;
        }
        let (_, call) = self.0.remove(place);
        if self.is_null("tool_calls") {
            let function = Self(vec![("function".to_owned(), call)]).to_json();
            let id = json::string(&missing_id(0));
            let rest = function.get(1..).unwrap_or_default();
            self.set_json("tool_calls", &format!(r#"[{{"id":{id},"type":"function",{rest}]"#));
        }
        true
    }

    /// Whether a field is missing or `null`.
    pub(crate) fn is_null(&self, key: &str) -> bool {
        match self.0.iter().find(|(name, _)| name == key) {
            None => true,
            Some((_, Field::Raw(raw))) => raw.get() == "null",
            Some((_, Field::Text(_) | Field::List(_))) => false,
        }
    }

    /// A string field; `None` when it is missing or something else.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        match &self.0.iter().find(|(name, _)| name == key)?.1 {
            Field::Raw(raw) => serde_json::from_str(raw.get()).ok(),
            Field::Text(text) => Some(text.clone()),
            Field::List(_) => None,
        }
    }

    /// Whether a field holds an object with something in it.
    pub(crate) fn has_members(&self, key: &str) -> bool {
        match self.0.iter().find(|(name, _)| name == key) {
            Some((_, Field::Raw(raw))) => {
                raw.get().strip_prefix('{').is_some_and(|rest| !rest.trim_start().starts_with('}'))
            }
            _ => false,
        }
    }

    /// Appends to a string field. Behind a list of parts it is one more part; anything else that stood there is replaced.
    pub(crate) fn append_text(&mut self, key: &str, more: &str) {
        match self.field(key) {
            Some(Field::Text(text)) => text.push_str(more),
            Some(Field::List(list)) => list.extend(part(more)),
            Some(field @ Field::Raw(_)) => {
                let Field::Raw(raw) = &*field else { return };
                let mut text: String = serde_json::from_str(raw.get()).unwrap_or_default();
                text.push_str(more);
                *field = Field::Text(text);
            }
            _ => self.put(key, Field::Text(more.to_owned())),
        }
    }

    /// Appends one element to a list field; anything else that stood there is replaced.
    pub(crate) fn append_element(&mut self, key: &str, element: &RawValue) {
        self.append_list(key, vec![element.to_owned()]);
    }

    fn append_list(&mut self, key: &str, more: Vec<Box<RawValue>>) {
        match self.field(key) {
            Some(Field::List(list)) => list.extend(more),
            Some(Field::Text(text)) if !text.is_empty() => {
                let list = part(text).into_iter().chain(more).collect();
                self.put(key, Field::List(list));
            }
            Some(field @ Field::Raw(_)) => {
                let Field::Raw(raw) = &*field else { return };
                let mut list: Vec<Box<RawValue>> =
                    serde_json::from_str(raw.get()).unwrap_or_default();
                list.extend(more);
                *field = Field::List(list);
            }
            _ => self.put(key, Field::List(more)),
        }
    }

    /// Folds a piece in: strings and lists grow, `null` says nothing, of anything else the last one wins.
    pub(crate) fn merge(&mut self, key: &str, piece: &RawValue) -> Result<(), serde_json::Error> {
        match piece.get().as_bytes().first() {
            Some(b'"') => self.append_text(key, &serde_json::from_str::<String>(piece.get())?),
            Some(b'[') => self.append_list(key, serde_json::from_str(piece.get())?),
            Some(b'n') => {}
            _ => self.set(key, piece),
        }
        Ok(())
    }

    /// The object as JSON text.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::from("{");
        for (position, (key, field)) in self.0.iter().enumerate() {
            if position > 0 {
                out.push(',');
            }
            out.push_str(&json::string(key));
            out.push(':');
            match field {
                Field::Raw(raw) => out.push_str(raw.get()),
                Field::Text(text) => out.push_str(&json::string(text)),
                Field::List(list) => {
                    let items: Vec<&str> = list.iter().map(|item| item.get()).collect();
                    out.push('[');
                    out.push_str(&items.join(","));
                    out.push(']');
                }
            }
        }
        out.push('}');
        out
    }
}

/// A text as a part of a list; nothing for nothing.
fn part(text: &str) -> Option<Box<RawValue>> {
    let part = json::Object::new().string("type", "text").string("text", text).end();
    RawValue::from_string(part).ok().filter(|_| !text.is_empty())
}

impl<'de> Deserialize<'de> for GrowingObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = GrowingObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<GrowingObject, A::Error> {
        let mut object = GrowingObject::default();
        while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
            if object.field(&key).is_some() {
                return Err(de::Error::custom(format_args!("the key `{key}` stands twice")));
            }
            object.0.push((key, Field::Raw(value)));
        }
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn text_and_parts_meet_in_one_list() {
        let grown = |pieces: &[&str]| {
            let mut object = GrowingObject::default();
            pieces.iter().for_each(|piece| object.merge("c", raw(piece)).unwrap());
            object.to_json()
        };
        let part = r#"{"type":"thinking","thinking":[]}"#;
        let list = format!("[{part}]");
        assert_eq!(grown(&[&list, r#""""#]), format!(r#"{{"c":[{part}]}}"#));
        let text = r#"{"type":"text","text":"a"}"#;
        assert_eq!(grown(&[&list, r#""a""#]), format!(r#"{{"c":[{part},{text}]}}"#));
        assert_eq!(grown(&[r#""a""#, &list]), format!(r#"{{"c":[{text},{part}]}}"#));
        assert_eq!(grown(&[r#""""#, &list]), format!(r#"{{"c":[{part}]}}"#));
    }

    #[test]
    fn pieces_are_folded_in_and_the_rest_is_kept_as_spelled() {
        let mut object =
            GrowingObject::parse(raw(r#"{"t":"a","n":1.0e1,"l":[ 1 ],"z":null}"#)).unwrap();
        for piece in [r#""b""#, "null", r#""\n""#] {
            object.merge("t", raw(piece)).unwrap();
        }
        object.merge("l", raw("[2 , 3]")).unwrap();
        object.merge("new", raw("{ \"k\": 1 }")).unwrap();
        object.append_text("z", "now text");
        assert_eq!(
            object.to_json(),
            r#"{"t":"ab\n","n":1.0e1,"l":[1,2,3],"z":"now text","new":{ "k": 1 }}"#
        );
    }
}
