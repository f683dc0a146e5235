//! JSON text that is kept as it was written.

use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;

/// The text is not one JSON value.
#[derive(Debug, thiserror::Error)]
#[error("not valid JSON")]
pub struct RawJsonError(#[from] serde_json::Error);

/// One JSON value in the exact bytes in which it was written: key order, number spelling and blanks
/// inside it are never touched. Cloning shares the text.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Arc<str>);

impl RawJson {
    /// Checks that `text` is one JSON value and keeps it, without the blanks around it.
    pub fn parse(text: &str) -> Result<Self, RawJsonError> {
        let value: &RawValue = serde_json::from_str(text)?;
        Ok(Self(value.get().into()))
    }

    /// Keeps a value that `serde_json` has already checked.
    pub fn from_raw(value: &RawValue) -> Self {
        Self(value.get().into())
    }

    /// The empty object, `{}`.
    pub fn empty_object() -> Self {
        Self("{}".into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text in a field of an object; `None` if there is no such field, or something else than a text in it.
    pub fn text_at(&self, field: &str) -> Option<String> {
        let value: serde_json::Value = serde_json::from_str(&self.0).ok()?;
        value.get(field)?.as_str().map(str::to_owned)
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.0.starts_with('{')
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_numbers_and_inner_blanks() {
        let text = r#"{ "b":1.0,  "a":[1e2] }"#;
        assert_eq!(RawJson::parse(&format!(" {text}\n")).unwrap().as_str(), text);
    }

    #[test]
    fn refuses_what_is_not_one_value() {
        for text in ["", "{", "{} {}", "nope"] {
            assert!(RawJson::parse(text).is_err(), "{text}");
        }
    }
}
