//! Errors in OpenAI's words.

use serde_json::json;

use crate::refusal::Refusal;

fn kind_of(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500..=599 => "server_error",
        _ => "invalid_request_error",
    }
}

/// The body of a refusal.
pub(crate) fn error_body(refusal: &Refusal) -> String {
    let error = json!({
        "message": refusal.message,
        "type": kind_of(refusal.status),
        "param": refusal.param,
        "code": refusal.code,
    });
    json!({"error": error}).to_string()
}
