//! Answers in a provider's own shape, for a pass-through that stands in front of it.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use tine_model::WireFormat;

use crate::json::Object;

/// The code at which hosts send the whole conversation again, and no thread for the rest of the session.
const THREAD_UNSUPPORTED: &str = "thread_unsupported_request";

/// An error body in the shape of a format, as for a failure of the server.
pub fn refuse(format: WireFormat, message: &str) -> String {
    match format {
        WireFormat::Anthropic => anthropic(Object::new().string("type", "api_error"), message, ""),
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts | WireFormat::OpenAiResponses => {
            let error = Object::new().string("message", message).string("type", "server_error");
            let error = error.raw("param", "null").raw("code", "null").end();
            Object::new().raw("error", &error).end()
        }
        WireFormat::Gemini => {
            let error = Object::new().raw("code", "502").string("message", message);
            Object::new().raw("error", &error.string("status", "UNAVAILABLE").end()).end()
        }
    }
}

/// The body of Anthropic's refusal (status 400) of a request that continues a message thread.
pub fn refuse_thread(message: &str) -> String {
    let error = Object::new().string("type", "invalid_request_error");
    anthropic(error, message, THREAD_UNSUPPORTED)
}

/// True for a body in Anthropic's format that holds only new messages and continues a thread that the provider keeps: `thread` has the
/// type `continue`. False for what is no JSON object.
pub fn continues_thread(body: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Thread {
        #[serde(rename = "type")]
        kind: String,
    }
    // A map and not a struct: of a name that comes twice the last one counts, as for most readers.
    let members: Result<HashMap<String, &RawValue>, _> = serde_json::from_slice(body);
    let thread = members.ok().and_then(|members| members.get("thread").copied());
    let thread: Option<Thread> = thread.and_then(|it| serde_json::from_str(it.get()).ok());
    thread.is_some_and(|thread| thread.kind == "continue")
}

fn anthropic(error: Object, message: &str, code: &str) -> String {
    let mut error = error.string("message", message);
    if !code.is_empty() {
        error = error.raw("details", &Object::new().string("error_code", code).end());
    }
    Object::new().string("type", "error").raw("error", &error.end()).end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_top_level_thread_of_the_type_continue_is_one() {
        let check = |body: &str, expected| {
            assert_eq!(continues_thread(body.as_bytes()), expected, "{body}");
        };
        check(r#"{"messages":[],"thread":{"type":"continue","previous_message_id":"m"}}"#, true);
        check(r#"{"thr\u0065ad":{"type":"con\u0074inue"}}"#, true);
        check(r#"{"thread":{"type":"create"},"thread":{"type":"continue"}}"#, true);
        check(r#"{"thread":{"type":"create"}}"#, false);
        check(r#"{"thread":"continue"}"#, false);
        check(r#"{"messages":[{"thread":{"type":"continue"}}]}"#, false);
        check(r#"{"system":"\"thread\":{\"type\":\"continue\"}"}"#, false);
        check(r#"[{"thread":{"type":"continue"}}]"#, false);
        check(r#"{"thread":{"type":"continue"}"#, false);
        check("", false);
    }

    #[test]
    fn errors_have_the_shape_of_their_format() {
        insta::assert_snapshot!(refuse(WireFormat::Anthropic, "a \"b\""), @r#"{"type":"error","error":{"type":"api_error","message":"a \"b\""}}"#);
        insta::assert_snapshot!(refuse(WireFormat::OpenAiResponses, "a"), @r#"{"error":{"message":"a","type":"server_error","param":null,"code":null}}"#);
        insta::assert_snapshot!(refuse(WireFormat::Gemini, "a"), @r#"{"error":{"code":502,"message":"a","status":"UNAVAILABLE"}}"#);
        insta::assert_snapshot!(refuse_thread("a"), @r#"{"type":"error","error":{"type":"invalid_request_error","message":"a","details":{"error_code":"thread_unsupported_request"}}}"#);
    }
}
