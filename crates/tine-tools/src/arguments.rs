//! A call's arguments, checked with messages that a model can act on.
//!
//! Every refusal names the field and what is expected of it. Fields that a tool does not know are
//! refused rather than ignored, because a model that misremembers a name means something by it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;
use tine_model::RawJson;

use crate::tool::Failure;

/// The fields of one call.
#[derive(Debug)]
pub(crate) struct Arguments(Vec<(String, Value)>);

impl Arguments {
    /// Reads the arguments of `tool`, which takes exactly the `known` fields.
    pub(crate) fn parse(tool: &str, known: &[&str], input: &RawJson) -> Result<Self, Failure> {
        let takes = format!("{tool} takes {}", known.join(", "));
        let arguments: Self = serde_json::from_str(input.as_str()).map_err(|error| {
            let message = error.to_string();
            let reason = message.split(" at line ").next().unwrap_or_default();
            Failure::new(format!("the arguments cannot be read: {reason}; {takes}"))
        })?;
        match arguments.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => {
                Err(Failure::new(format!("unknown argument `{}`; {takes}", name.escape_debug())))
            }
            None => Ok(arguments),
        }
    }

    /// The text in a field that may be absent.
    pub(crate) fn text(&self, field: &str) -> Result<Option<&str>, Failure> {
        match self.get(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(mismatch(field, "a string", other)),
        }
    }

    /// The text in a field that must be there.
    pub(crate) fn required_text(&self, field: &str) -> Result<&str, Failure> {
        self.text(field)?
            .ok_or_else(|| Failure::new(format!("`{field}` is missing; it must be a string")))
    }

    /// The whole number in a field that may be absent, at least `least`.
    pub(crate) fn count(&self, field: &str, least: u64) -> Result<Option<u64>, Failure> {
        let Some(value) = self.get(field) else { return Ok(None) };
        value
            .as_u64()
            .filter(|number| *number >= least)
            .map(Some)
            .ok_or_else(|| mismatch(field, &format!("a whole number, at least {least}"), value))
    }

    /// The truth value in a field; `otherwise` where it is absent.
    pub(crate) fn flag(&self, field: &str, otherwise: bool) -> Result<bool, Failure> {
        match self.get(field) {
            None => Ok(otherwise),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(other) => Err(mismatch(field, "true or false", other)),
        }
    }

    /// The value of a field; null counts as absent.
    fn get(&self, field: &str) -> Option<&Value> {
        let (_, value) = self.0.iter().find(|(name, _)| name == field)?;
        Some(value).filter(|value| !value.is_null())
    }
}

/// How much of a wrong value is repeated, enough to recognise it.
const REPEATED_CHARACTERS_MAX: usize = 40;

fn mismatch(field: &str, expected: &str, found: &Value) -> Failure {
    Failure::new(wrong_argument(field, expected, found))
}

/// Says to a model what an argument must be and what it was. A long text is cut.
pub fn wrong_argument(field: &str, expected: &str, found: &Value) -> String {
    let found = match found {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let head: String = text.chars().take(REPEATED_CHARACTERS_MAX).collect();
            format!("the string {head:?}")
        }
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    };
    format!("`{field}` must be {expected}, not {found}")
}

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Arguments;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with named fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Arguments, A::Error> {
        let mut fields: Vec<(String, Value)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        while let Some((name, value)) = entries.next_entry::<String, Value>()? {
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format_args!(
                    "`{}` is written twice",
                    name.escape_debug()
                )));
            }
            fields.push((name, value));
        }
        Ok(Arguments(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolOutput;

    fn parsed(input: &str) -> Result<Arguments, Failure> {
        Arguments::parse("FileRead", &["file_path", "limit"], &RawJson::parse(input).unwrap())
    }

    fn text<T: fmt::Debug>(result: Result<T, Failure>) -> String {
        ToolOutput::from(result.unwrap_err()).text
    }

    #[test]
    fn what_is_not_a_set_of_known_fields_is_refused() {
        insta::assert_snapshot!(text(parsed("[]")), @"the arguments cannot be read: invalid type: sequence, expected an object with named fields; FileRead takes file_path, limit");
        insta::assert_snapshot!(text(parsed(r#"{"path":"x"}"#)), @"unknown argument `path`; FileRead takes file_path, limit");
        insta::assert_snapshot!(text(parsed(r#"{"limit":1,"limit":2}"#)), @"the arguments cannot be read: `limit` is written twice; FileRead takes file_path, limit");
        let deep = format!(r#"{{"limit":{}{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
        insta::assert_snapshot!(text(parsed(&deep)), @"the arguments cannot be read: recursion limit exceeded; FileRead takes file_path, limit");
    }

    #[test]
    fn a_wrong_value_is_named_with_its_field() {
        let arguments = parsed(r#"{"limit":"ten","file_path":{}}"#).unwrap();
        insta::assert_snapshot!(text(arguments.count("limit", 1)), @r#"`limit` must be a whole number, at least 1, not the string "ten""#);
        insta::assert_snapshot!(text(arguments.flag("limit", false)), @r#"`limit` must be true or false, not the string "ten""#);
        insta::assert_snapshot!(text(arguments.text("file_path")), @"`file_path` must be a string, not an object");
        let arguments = parsed(r#"{"limit":0,"file_path":null}"#).unwrap();
        insta::assert_snapshot!(text(arguments.count("limit", 1)), @"`limit` must be a whole number, at least 1, not 0");
        insta::assert_snapshot!(text(arguments.required_text("file_path")), @"`file_path` is missing; it must be a string");
    }
}
