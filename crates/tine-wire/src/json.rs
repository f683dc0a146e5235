//! Writing JSON text piece by piece, in an order that we choose.

use std::fmt::Write as _;

/// A JSON string literal.
pub(crate) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A JSON list of string literals.
pub(crate) fn strings(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| string(text)).collect();
    format!("[{}]", texts.join(","))
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
        let comma = if self.is_empty() { "" } else { "," };
        // Writing to a `String` cannot fail.
        let _ = write!(self.text, "{comma}\"{key}\":{value}");
        self
    }

    /// Adds a field whose name came from outside and whose value is already JSON.
    pub(crate) fn named(mut self, name: &str, value: &str) -> Self {
        let comma = if self.is_empty() { "" } else { "," };
        let _ = write!(self.text, "{comma}{}:{value}", string(name));
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.len() == 1
    }

    pub(crate) fn string(self, key: &str, value: &str) -> Self {
        self.raw(key, &string(value))
    }

    pub(crate) fn end(mut self) -> String {
        self.text.push('}');
        self.text
    }
}
