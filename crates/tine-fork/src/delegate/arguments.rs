//! What a model says when it delegates, checked; every refusal says how to mend the call.

use std::time::Duration;

use serde_json::Value;
use tine_model::RawJson;

/// Longest id of an agent, in characters; ids and names are shorter, and a longer one would flood the refusal that quotes it.
pub const DELEGATE_ID_CHARS_MAX: usize = 128;

/// Largest task in bytes: a task is a few sentences, and what is longer is context.
pub const DELEGATE_TASK_BYTES_MAX: usize = 32 * 1024;

/// Largest context in bytes: some sixteen thousand tokens, which the other agent pays for on every turn.
pub const DELEGATE_CONTEXT_BYTES_MAX: usize = 64 * 1024;

/// How long a task may take unless the call says otherwise: the caller waits.
pub const DELEGATE_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// Longest time limit that a call may set; a longer one is cut to this. Past it, the provider's cache entry of the waiting caller
/// is gone, and the work is better forked in the background.
pub const DELEGATE_TIMEOUT_MAX: Duration = Duration::from_secs(5 * 60);

/// One delegation as it was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    pub(super) agent_id: String,
    pub(super) task: String,
    pub(super) context: Option<String>,
    pub(super) timeout: Duration,
}

impl Arguments {
    /// Reads a call's arguments; the error is for the model. Fields that the tool does not know are passed over.
    pub(super) fn parse(input: &RawJson) -> Result<Self, String> {
        let value: Value = serde_json::from_str(input.as_str())
            .map_err(|error| format!("The arguments cannot be read: {error}."))?;
        let agent_id = required(&value, "agent_id")?;
        if agent_id.chars().count() > DELEGATE_ID_CHARS_MAX {
            return Err(format!("`agent_id` has more than {DELEGATE_ID_CHARS_MAX} characters."));
        }
        let task = bounded("task", required(&value, "task")?, DELEGATE_TASK_BYTES_MAX)?;
        let context = match text(&value, "context")?.filter(|text| !text.trim().is_empty()) {
            Some(context) => Some(bounded("context", context, DELEGATE_CONTEXT_BYTES_MAX)?),
            None => None,
        };
        Ok(Self { agent_id, task, context, timeout: timeout(&value)? })
    }
}

fn timeout(value: &Value) -> Result<Duration, String> {
    match value.get("timeout_ms") {
        None | Some(Value::Null) => Ok(DELEGATE_TIMEOUT_DEFAULT),
        Some(number) => match number.as_u64() {
            None | Some(0) => Err("`timeout_ms` must be a whole number above 0.".to_owned()),
            Some(ms) => Ok(Duration::from_millis(ms).min(DELEGATE_TIMEOUT_MAX)),
        },
    }
}

fn text(value: &Value, field: &str) -> Result<Option<String>, String> {
    match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{field}` must be a text.")),
    }
}

fn required(value: &Value, field: &str) -> Result<String, String> {
    let text = text(value, field)?.filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| format!("`{field}` is missing or blank."))
}

fn bounded(field: &str, text: String, bytes_max: usize) -> Result<String, String> {
    match text.len() {
        bytes if bytes > bytes_max => {
            Err(format!("`{field}` has {bytes} bytes, where {bytes_max} are allowed: say less."))
        }
        _ => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Arguments, String> {
        Arguments::parse(&RawJson::parse(text).unwrap())
    }

    fn refusal(text: &str, expected: &str) {
        assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let asked = |context: Option<&str>, timeout| Arguments {
            agent_id: "a".to_owned(),
            task: "t".to_owned(),
            context: context.map(str::to_owned),
            timeout,
        };
        let default = DELEGATE_TIMEOUT_DEFAULT;
        assert_eq!(parse(r#"{"agent_id":"a","task":"t"}"#), Ok(asked(None, default)));
        let nulls = r#"{"agent_id":"a","task":"t","context":" ","timeout_ms":null,"more":1}"#;
        assert_eq!(parse(nulls), Ok(asked(None, default)));
        let all = r#"{"agent_id":"a","task":"t","context":"c","timeout_ms":7}"#;
        assert_eq!(parse(all), Ok(asked(Some("c"), Duration::from_millis(7))));
        let long = r#"{"agent_id":"a","task":"t","timeout_ms":18446744073709551615}"#;
        assert_eq!(parse(long), Ok(asked(None, DELEGATE_TIMEOUT_MAX)));
    }

    #[test]
    fn a_refusal_says_how_to_mend_the_call() {
        refusal("{}", "`agent_id` is missing or blank.");
        refusal(r#"{"agent_id":"a","task":"\n"}"#, "`task` is missing or blank.");
        refusal(r#"{"agent_id":["a"],"task":"t"}"#, "`agent_id` must be a text.");
        refusal(r#"{"agent_id":"a","task":"t","context":{}}"#, "`context` must be a text.");
        for timeout in ["0", "-1", "1.5", r#""30""#] {
            let text = format!(r#"{{"agent_id":"a","task":"t","timeout_ms":{timeout}}}"#);
            refusal(&text, "`timeout_ms` must be a whole number above 0.");
        }
    }

    #[test]
    fn everything_is_bounded() {
        let of = |id: usize, task: usize, context: usize| {
            let [id, task, context] = [id, task, context].map(|length| "x".repeat(length));
            parse(&format!(r#"{{"agent_id":"{id}","task":"{task}","context":"{context}"}}"#))
        };
        let (id, task, context) =
            (DELEGATE_ID_CHARS_MAX, DELEGATE_TASK_BYTES_MAX, DELEGATE_CONTEXT_BYTES_MAX);
        assert!(of(id, task, context).is_ok());
        assert_eq!(of(id + 1, 1, 1).unwrap_err(), "`agent_id` has more than 128 characters.");
        let told = "`task` has 32769 bytes, where 32768 are allowed: say less.";
        assert_eq!(of(1, task + 1, 1).unwrap_err(), told);
        let told = "`context` has 65537 bytes, where 65536 are allowed: say less.";
        assert_eq!(of(1, 1, context + 1).unwrap_err(), told);
    }
}
