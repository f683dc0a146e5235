//! Arguments of a call of a host's tool. Those that nobody asks for are left out.

use serde_json::{Map, Value};
use tine_model::RawJson;
use tine_tools::wrong_argument;

use super::NotRun;

/// The fields of one call.
#[derive(Debug)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(super) fn read(input: &RawJson) -> Result<Self, String> {
        let fields = serde_json::from_str(input.as_str());
        fields.map(Self).map_err(|_| "its arguments are no object".to_owned())
    }

    /// The text in a field that may be absent.
    pub(super) fn text(&self, field: &str) -> Result<Option<&str>, NotRun> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(mismatch(field, "a string", other)),
        }
    }

    /// The text in a field that must be there.
    pub(super) fn required_text(&self, field: &str) -> Result<&str, NotRun> {
        let missing = || NotRun::Mistaken(format!("`{field}` is missing; it must be a string"));
        self.text(field)?.ok_or_else(missing)
    }

    /// The whole number in a field that may be absent. Hosts take one that is written as a text, and models write such.
    pub(super) fn count(&self, field: &str) -> Result<Option<u64>, NotRun> {
        let Some(value) = self.get(field) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) => text.trim().parse().ok(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        number.map(Some).ok_or_else(|| mismatch(field, "a whole number, at least 0", value))
    }

    /// The truth value in a field that may be absent.
    pub(super) fn flag(&self, field: &str) -> Result<Option<bool>, NotRun> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(Value::String(text)) if text == "true" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" => Ok(Some(false)),
            Some(other) => Err(mismatch(field, "true or false", other)),
        }
    }

    /// The words in a field that must be there: a list of strings.
    pub(super) fn required_words(&self, field: &str) -> Result<Vec<&str>, NotRun> {
        let wanted = "a list of strings";
        let Some(value) = self.get(field) else {
            return Err(NotRun::Mistaken(format!("`{field}` is missing; it must be {wanted}")));
        };
        let words = value.as_array().map(|words| words.iter().map(Value::as_str).collect());
        words.flatten().ok_or_else(|| mismatch(field, wanted, value))
    }

    /// The value of a field; null counts as absent.
    fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }
}

fn mismatch(field: &str, expected: &str, found: &Value) -> NotRun {
    NotRun::Mistaken(wrong_argument(field, expected, found))
}
