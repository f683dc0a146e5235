//! Writing JSON text piece by piece, in an order that we choose.

use std::fmt::Write as _;

/// A JSON string literal.
pub(crate) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes `{"a":…,"b":…}` in the order of the calls.
pub(crate) struct Object {
    text: String,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self { text: "{".to_owned() }
    }

    /// Adds a field whose value is already JSON.
    pub(crate) fn raw(mut self, key: &str, value: &str) -> Self {
        let comma = if self.text.len() > 1 { "," } else { "" };
        // Writing to a `String` cannot fail.
        let _ = write!(self.text, "{comma}\"{key}\":{value}");
        self
    }

    pub(crate) fn string(self, key: &str, value: &str) -> Self {
        self.raw(key, &string(value))
    }

    pub(crate) fn end(mut self) -> String {
        self.text.push('}');
        self.text
    }
}
