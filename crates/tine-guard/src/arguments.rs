//! A call's arguments, read strictly: what is judged must be what the tool will see.
//!
//! Readers of JSON disagree about a key that is written twice, and a wrapper object hides the fields
//! that a rule would look at. Both are refused here instead of being interpreted. Nothing here
//! judges the values.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use tine_model::RawJson;

/// Keys under which hosts and models are seen to wrap the real arguments.
const ENVELOPE_KEYS: [&str; 5] = ["arguments", "args", "input", "parameters", "params"];

/// The top-level fields of a call, in source order.
#[derive(Debug)]
pub(crate) struct Arguments(Vec<(String, Value)>);

/// As much of a JSON value as a verdict needs.
#[derive(Debug)]
enum Value {
    Null,
    Text(String),
    Number,
    Truth,
    List,
    Fields(Vec<(String, Value)>),
}

impl Arguments {
    /// Reads the arguments, or says in a fragment why they cannot be judged.
    pub(crate) fn parse(input: &RawJson) -> Result<Self, String> {
        let value: Value = serde_json::from_str(input.as_str()).map_err(|error| {
            format!("the arguments cannot be judged: {}", first_part(&error.to_string()))
        })?;
        let Value::Fields(fields) = value else {
            return Err(format!(
                "the arguments must be an object with named fields, not {}",
                value.kind()
            ));
        };
        if let [(key, inner)] = fields.as_slice()
            && ENVELOPE_KEYS.contains(&key.as_str())
            && inner.is_envelope_content()
        {
            return Err(format!(
                "the arguments are wrapped in `{key}`; give the fields themselves, without the wrapper"
            ));
        }
        Ok(Self(fields))
    }

    /// The names of the fields, in source order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// The first field that is not a plain value, for tools that take only plain values.
    pub(crate) fn first_nested(&self) -> Option<&str> {
        let nested = |value: &Value| matches!(value, Value::List | Value::Fields(_));
        self.0.iter().find(|(_, value)| nested(value)).map(|(key, _)| key.as_str())
    }

    /// The text in `field`; `None` where it is absent or null, `Err` where it is something else.
    pub(crate) fn text(&self, field: &str) -> Result<Option<&str>, String> {
        match self.0.iter().find(|(key, _)| key == field).map(|(_, value)| value) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(format!("`{field}` must be a string, not {}", other.kind())),
        }
    }
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Text(_) => "a string",
            Self::Number => "a number",
            Self::Truth => "true or false",
            Self::List => "a list",
            Self::Fields(_) => "an object",
        }
    }

    /// An object, or an object that was written into a string.
    fn is_envelope_content(&self) -> bool {
        match self {
            Self::Fields(_) => true,
            Self::Text(text) => text.trim_start().starts_with('{'),
            Self::Null | Self::Number | Self::Truth | Self::List => false,
        }
    }
}

/// The message without the position, which counts from a place the reader cannot see.
fn first_part(message: &str) -> &str {
    message.split(" at line ").next().unwrap_or(message)
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Truth)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        while items.next_element::<Value>()?.is_some() {}
        Ok(Value::List)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields: Vec<(String, Value)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        while let Some((key, value)) = entries.next_entry::<String, Value>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format_args!(
                    "the key `{}` is written twice",
                    key.escape_debug()
                )));
            }
            fields.push((key, value));
        }
        Ok(Value::Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Arguments::parse(&RawJson::parse(text).unwrap()).unwrap_err()
    }

    #[test]
    fn what_cannot_be_judged_is_refused_with_its_reason() {
        insta::assert_snapshot!(refusal("[1]"), @"the arguments must be an object with named fields, not a list");
        insta::assert_snapshot!(refusal(r#"{"a":1,"a":2}"#), @"the arguments cannot be judged: the key `a` is written twice");
        insta::assert_snapshot!(refusal(r#"{"b":[{"a":1,"a":2}]}"#), @"the arguments cannot be judged: the key `a` is written twice");
        insta::assert_snapshot!(refusal(r#"{"arguments":{"file_path":"x"}}"#), @"the arguments are wrapped in `arguments`; give the fields themselves, without the wrapper");
        insta::assert_snapshot!(refusal(r#"{"input":" {\"file_path\":\"x\"}"}"#), @"the arguments are wrapped in `input`; give the fields themselves, without the wrapper");
    }

    #[test]
    fn a_key_spelled_with_an_escape_is_the_same_key() {
        insta::assert_snapshot!(refusal(r#"{"file_path":1,"file\u005fpath":2}"#), @"the arguments cannot be judged: the key `file_path` is written twice");
    }

    #[test]
    fn nesting_beyond_the_reader_is_refused_without_a_panic() {
        let deep = format!("{}1{}", "{\"a\":".repeat(5_000), "}".repeat(5_000));
        insta::assert_snapshot!(refusal(&deep), @"the arguments cannot be judged: recursion limit exceeded");
    }
}
