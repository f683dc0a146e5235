//! A JSON object under construction: the order of its fields and the spelling of its values are kept.
//!
//! Streams deliver objects in pieces. This type folds the pieces in without ever going through a map, so that what
//! is written is what the provider gave. It never interprets a field.

use std::fmt;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use crate::json;

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

    /// Appends to a string field; anything else that stood there is replaced.
    pub(crate) fn append_text(&mut self, key: &str, more: &str) {
        match self.field(key) {
            Some(Field::Text(text)) => text.push_str(more),
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
