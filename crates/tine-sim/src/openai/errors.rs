//! Errors in OpenAI's words.

use serde_json::json;

use super::options::unknown;
use crate::refusal::{OwnWords, Refusal};
use crate::schema::{Step, Stranger};

fn kind_of(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500..=599 => "server_error",
        _ => "invalid_request_error",
    }
}

/// Refuses a parameter that the format does not have. Numbers stand in brackets.
pub(crate) fn unknown_parameter(stranger: &Stranger<'_>) -> Refusal {
    let place = stranger.way.iter().fold(String::new(), |place, step| match step {
        Step::Name(name) if place.is_empty() => (*name).to_owned(),
        Step::Name(name) => format!("{place}.{name}"),
        Step::Index(index) => format!("{place}[{index}]"),
        Step::Tag(_) => place,
    });
    unknown(place)
}

/// The body of a refusal.
pub(crate) fn error_body(refusal: &Refusal) -> String {
    let mut error = json!({
        "message": refusal.message,
        "type": kind_of(refusal.status),
        "param": refusal.param,
        "code": refusal.code,
    });
    match refusal.own.as_deref() {
        None => {}
        Some(OwnWords::Engine { kind, figures }) => {
            error["type"] = json!(kind);
            // Engines give the status in the place of a code.
            error["code"] = json!(refusal.status);
            if let Some((prompt, window)) = figures {
                error["n_prompt_tokens"] = json!(prompt);
                error["n_ctx"] = json!(window);
            }
        }
        Some(OwnWords::Body(body)) => return body.to_string(),
    }
    json!({"error": error}).to_string()
}
