//! What is Gemini's own in replies: its finish reasons, blocked prompts, streams that are lists, and signatures that come late.

use proptest::collection::vec;
use proptest::prelude::*;
use tine_model::{StopReason, WireFormat};
use tine_wire::{DecodeError, Decoder, Event, FailureKind, decode_reply};

#[test]
fn every_finish_reason_has_its_meaning() {
    use StopReason::*;
    let check = |part: &str, word: &str, expected: StopReason| {
        let body = format!(
            r#"{{"candidates":[{{"content":{{"role":"model","parts":[{part}]}},"finishReason":"{word}"}}]}}"#
        );
        let reply = decode_reply(WireFormat::Gemini, body.as_bytes()).unwrap();
        assert_eq!(reply.stop, expected, "{word}");
        let mut decoder = Decoder::new(WireFormat::Gemini);
        decoder.push(format!("data: {body}\n\n").as_bytes()).unwrap();
        assert_eq!(decoder.finish(), Ok(reply));
    };
    let words = r#"{"text":"a"}"#;
    check(words, "STOP", EndTurn);
    check(r#"{"functionCall":{"name":"Add","args":{}}}"#, "STOP", ToolUse);
    check(words, "MAX_TOKENS", MaxTokens);
    for word in ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE"] {
        check(words, word, Refusal);
    }
    for word in ["MALFORMED_FUNCTION_CALL", "MISSING_THOUGHT_SIGNATURE", "TOO_MANY_TOOL_CALLS"] {
        check("", word, Other(word.into()));
    }
}

#[test]
fn a_blocked_prompt_is_a_refusal_without_content() {
    let body = r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":12},"modelVersion":"m"}"#;
    let whole = decode_reply(WireFormat::Gemini, body.as_bytes()).unwrap();
    assert_eq!(
        (&whole.stop, whole.message.blocks(), whole.usage.uncached),
        (&StopReason::Refusal, &[][..], 12)
    );
    let mut decoder = Decoder::new(WireFormat::Gemini);
    decoder.push(format!("data: {body}\n\n").as_bytes()).unwrap();
    assert_eq!(decoder.finish(), Ok(whole));
}

#[test]
fn whole_replies_keep_their_bytes_and_lists_are_streams() {
    let content = r#"{"parts":[ {"text":"H\u00e9", "new":1.0} ], "role":"model"}"#;
    let body = format!(
        r#" {{"candidates":[{{"content":{content},"finishReason":"STOP"}}],"responseId":"r"}} "#
    );
    let reply = decode_reply(WireFormat::Gemini, body.as_bytes()).unwrap();
    assert_eq!(reply.message.raw().unwrap().json.as_str(), content);
    assert_eq!((reply.message.text().as_str(), reply.id.as_deref()), ("Hé", Some("r")));
    let list = r#"[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},
{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}]"#;
    let reply = decode_reply(WireFormat::Gemini, list.as_bytes()).unwrap();
    insta::assert_snapshot!(reply.message.raw().unwrap().json, @r#"{"role":"model","parts":[{"text":"ab"}]}"#);
    let cut = r#"[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}]"#;
    assert_eq!(decode_reply(WireFormat::Gemini, cut.as_bytes()), Err(DecodeError::Truncated));
    let told =
        |body: &str| decode_reply(WireFormat::Gemini, body.as_bytes()).unwrap_err().to_string();
    insta::assert_snapshot!(told(r#"{"candidates":[]}"#), @"the reply: it holds no candidate");
    insta::assert_snapshot!(told(r#"[{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}]"#), @"not found (status 404, NOT_FOUND): models/x is not found");
}

#[test]
fn failures_in_a_stream_are_named_and_what_came_before_stays() {
    let mut decoder = Decoder::new(WireFormat::Gemini);
    decoder
        .push(b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"So \"}]}}]}\n\n")
        .unwrap();
    let error = decoder
        .push(b"data: {\"error\":{\"code\":503,\"message\":\"The model is overloaded.\",\"status\":\"UNAVAILABLE\"}}\n\n")
        .unwrap_err();
    let DecodeError::Provider(failure) = error else { panic!("{error:?}") };
    assert_eq!((failure.kind, failure.status), (FailureKind::Overloaded, Some(503)));
    assert_eq!(decoder.partial().message.unwrap().text(), "So ");
}

#[test]
fn a_broken_stream_leaves_no_call_and_no_thought_at_its_end() {
    let check = |parts: &str, expected: Option<usize>| {
        let mut decoder = Decoder::new(WireFormat::Gemini);
        let data =
            format!("data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}]}}}}]}}\n\n");
        decoder.push(data.as_bytes()).unwrap();
        let blocks = decoder.partial().message.map(|message| message.blocks().len());
        assert_eq!(blocks, expected, "{parts}");
    };
    let (words, thought) = (r#"{"text":"a"}"#, r#"{"text":"t","thought":true}"#);
    let call = r#"{"functionCall":{"name":"Add","args":{}}}"#;
    let seal = r#"{"text":"","thoughtSignature":"s"}"#;
    check(thought, None);
    check(&format!("{thought},{call}"), None);
    check(&format!("{thought},{words}"), Some(2));
    check(&format!("{thought},{words},{seal}"), Some(2));
    check(&format!("{words},{call},{seal}"), Some(1));
    check(&format!("{call},{words},{thought},{call},{call}"), Some(2));
    check(r#"{"text":" "}"#, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// However a reply is cut into chunks, every block's end is told once, and calls have the names that they keep.
    #[test]
    fn events_tell_the_message_that_is_kept(parts in vec((0usize..7, any::<bool>()), 0..20)) {
        const PARTS: [&str; 7] = [
            r#"{"text":"a"}"#,
            r#"{"text":"b","thoughtSignature":"s"}"#,
            r#"{"text":"","thoughtSignature":"s"}"#,
            r#"{"text":"t","thought":true}"#,
            r#"{"text":"","thought":true,"thoughtSignature":"s"}"#,
            r#"{"functionCall":{"name":"Add","args":{}}}"#,
            r#"{"inlineData":{"mimeType":"image/png","data":"AA"}}"#,
        ];
        let mut chunks = vec![Vec::new()];
        for (part, begins_chunk) in parts {
            if begins_chunk {
                chunks.push(Vec::new());
            }
            chunks.last_mut().unwrap().push(PARTS[part]);
        }
        let mut decoder = Decoder::new(WireFormat::Gemini);
        let mut events = Vec::new();
        let records = chunks.iter().enumerate().map(|(index, parts)| {
            let finish = if index + 1 == chunks.len() { r#","finishReason":"STOP""# } else { "" };
            let content = format!(r#"{{"parts":[{}]}}"#, parts.join(","));
            format!("data: {{\"candidates\":[{{\"content\":{content}{finish}}}]}}\n\n")
        });
        for record in records {
            events.extend(decoder.push(record.as_bytes()).unwrap());
        }
        let message = decoder.finish().unwrap().message;
        let done = events.iter().filter_map(|event| match event {
            Event::BlockDone { index } => Some(*index),
            _ => None,
        });
        let blocks = message.blocks().len();
        prop_assert_eq!(done.collect::<Vec<_>>(), (0..blocks).collect::<Vec<_>>());
        let called = events.iter().filter_map(|event| match event {
            Event::ToolCall { id, .. } => Some(id),
            _ => None,
        });
        prop_assert!(called.eq(message.tool_calls()));
    }
}
