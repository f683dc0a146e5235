//! Replies of servers that do not keep to their format, read as the vendors' own libraries read them, and replies that came whole
//! and answer nothing.

use tine_model::{Block, StopReason, ToolCallId, WireFormat};
use tine_wire::{DecodeError, Decoder, Event, NoAnswer, Reply, decode_reply, read_message};

use crate::fixtures::{anthropic, chat, gemini};

fn decoded(format: WireFormat, stream: &str) -> Reply {
    let mut decoder = Decoder::new(format);
    decoder.push(stream.as_bytes()).unwrap();
    decoder.finish().unwrap()
}

fn raw(reply: &Reply) -> &str {
    reply.message.raw().map_or("(none)", |raw| raw.json.as_str())
}

#[test]
fn signs_of_life_and_ends_of_other_formats_are_passed_over() {
    let stream = [
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":7}}\n\n",
        "event: ping\ndata:\n\n",
        "event: ping\ndata: still here\n\n",
        "data:\n\n",
        &anthropic(&[
            r#"{"type":"content_block_start","index":"0","content_block":{"type":"text","text":"Hi"}}"#,
            r#"{"type":"content_block_stop","index":0.0}"#,
        ]),
        "data: [DONE]\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    ];
    let reply = decoded(WireFormat::Anthropic, &stream.concat());
    assert_eq!((reply.message.text().as_str(), reply.id.as_deref()), ("Hi", Some("7")));

    let whole = r#"{"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"},"finishReason":"STOP","index":"0"}],"responseId":9}"#;
    let reply = decoded(WireFormat::Gemini, &gemini(&[whole, "[DONE]"]));
    assert_eq!((reply.message.text().as_str(), reply.id.as_deref()), ("Hi", Some("9")));
}

#[test]
fn numbers_and_texts_stand_for_each_other_in_chat() {
    for index in ["0", "\"0\"", "-1", "0.0", "null"] {
        let first = format!(
            r#"{{"id":5,"model":"m","choices":[{{"index":{index},"delta":{{"content":"Hi","tool_calls":[{{"index":{index},"id":3,"function":{{"name":"read","arguments":"{{"}}}}]}}}}]}}"#
        );
        let second = format!(
            r#"{{"choices":[{{"index":{index},"delta":{{"tool_calls":[{{"index":{index},"function":{{"arguments":"}}"}}}}]}},"finish_reason":"tool_calls"}}],"usage":{{"prompt_tokens":5.0,"completion_tokens":2.0}}}}"#
        );
        let reply = decoded(WireFormat::OpenAiChat, &chat(&[&first, &second, "[DONE]"]));
        assert_eq!(reply.id.as_deref(), Some("5"), "{index}");
        assert_eq!(reply.message.tool_calls().collect::<Vec<_>>(), [&ToolCallId("3".into())]);
        assert_eq!((reply.usage.uncached, reply.usage.output), (5, 2));
        assert!(raw(&reply).contains(r#""arguments":"{}""#), "{}", raw(&reply));
    }
    let body = r#"{"choices":[{"index":"0","message":{"role":"assistant","content":null,"tool_calls":[{"id":3,"type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let reply = decode_reply(WireFormat::OpenAiChat, body.as_bytes()).unwrap();
    insta::assert_snapshot!(raw(&reply), @r#"{"role":"assistant","content":null,"tool_calls":[{"id":"3","type":"function","function":{"name":"read","arguments":"{}"}}]}"#);
}

#[test]
fn a_call_in_the_old_place_is_a_call() {
    let stream = chat(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":null,"function_call":{"name":"read","arguments":""}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"{\"path\":"}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"\"a\"}"}}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"function_call"}]}"#,
        "[DONE]",
    ]);
    let streamed = decoded(WireFormat::OpenAiChat, &stream);
    insta::assert_snapshot!(raw(&streamed), @r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}"#);
    let body = r#"{"choices":[{"message":{"role":"assistant","content":null,"function_call":{"name":"read","arguments":"{\"path\":\"a\"}"}},"finish_reason":"function_call"}]}"#;
    let whole = decode_reply(WireFormat::OpenAiChat, body.as_bytes()).unwrap();
    assert_eq!(raw(&whole), raw(&streamed));
    assert_eq!((&streamed.stop, &streamed.message), (&StopReason::ToolUse, &whole.message));

    // Where both places have it, it is one call.
    let both = r#"{"choices":[{"message":{"role":"assistant","function_call":{"name":"read","arguments":"{}"},"tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]}}]}"#;
    let reply = decode_reply(WireFormat::OpenAiChat, both.as_bytes()).unwrap();
    assert_eq!(reply.message.tool_calls().count(), 1);
    let both = r#"{"choices":[{"delta":{"function_call":{"name":"read","arguments":"{}"},"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    assert_eq!(decoded(WireFormat::OpenAiChat, &chat(&[both])).message.tool_calls().count(), 1);
}

#[test]
fn results_of_a_gateways_own_tools_are_part_of_the_reply() {
    let items = r#"[{"type":"tool_search_call","id":"t"},{"type":"tool_search_output","id":"o","tools":[]},{"type":"shell_call_output","call_id":"s","output":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}]"#;
    let body = format!(r#"{{"id":"r","status":"completed","output":{items}}}"#);
    let reply = decode_reply(WireFormat::OpenAiResponses, body.as_bytes()).unwrap();
    assert_eq!((reply.message.text().as_str(), &reply.stop), ("Done.", &StopReason::EndTurn));
    assert_eq!(raw(&reply), items);
    // By themselves they are results of the user's tools.
    let alone = r#"[{"type":"custom_tool_call_output","call_id":"s","output":"x"}]"#;
    let message = read_message(WireFormat::OpenAiResponses, alone).unwrap();
    assert_eq!(message.role(), tine_model::Role::User);
}

#[test]
fn a_sentence_with_citations_is_one_sentence() {
    let body = r#"{"content":[{"type":"text","text":"The top story is "},{"type":"text","text":"Iran","citations":[{"type":"page"}]},{"type":"text","text":"."},{"type":"server_tool_use","id":"s","name":"search","input":{}},{"type":"text","text":"More."}],"stop_reason":"end_turn"}"#;
    let reply = decode_reply(WireFormat::Anthropic, body.as_bytes()).unwrap();
    assert_eq!(reply.message.text(), "The top story is Iran.\n\nMore.");
    let body = r#"{"choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"The capital"},{"type":"reference","reference_ids":[0]},{"type":"text","text":" is Paris."}]},"finish_reason":"stop"}]}"#;
    let reply = decode_reply(WireFormat::OpenAiChat, body.as_bytes()).unwrap();
    assert_eq!(reply.message.text(), "The capital is Paris.");
    // Two messages of one reply stay two.
    let body = r#"{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"First."}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Second."}]}]}"#;
    let reply = decode_reply(WireFormat::OpenAiResponses, body.as_bytes()).unwrap();
    assert_eq!(reply.message.text(), "First.\n\nSecond.");
}

#[test]
fn replies_that_are_no_answer_say_why() {
    let mut told = Vec::new();
    let mut check = |format, body: String, is_passing| {
        let reply = decode_reply(format, body.as_bytes()).unwrap();
        let why = reply.no_answer().unwrap_or_else(|| panic!("{body}"));
        assert_eq!(why.is_passing(), is_passing, "{body}");
        told.push(why.to_string());
    };
    for word in [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "OTHER",
        "TOMORROWS_WORD",
    ] {
        check(
            WireFormat::Gemini,
            format!(r#"{{"candidates":[{{"finishReason":"{word}"}}]}}"#),
            true,
        );
    }
    let half = r#"{"parts":[{"text":"Half"}],"role":"model"}"#;
    check(
        WireFormat::Gemini,
        format!(
            r#"{{"candidates":[{{"content":{half},"finishReason":"MALFORMED_FUNCTION_CALL"}}]}}"#
        ),
        true,
    );
    let chat = |content: &str, word: &str| {
        format!(
            r#"{{"choices":[{{"message":{{"role":"assistant","content":"{content}"}},"finish_reason":"{word}"}}]}}"#
        )
    };
    check(WireFormat::OpenAiChat, chat("Half", "error"), true);
    check(WireFormat::OpenAiChat, chat(" ", "stop"), true);
    check(WireFormat::OpenAiChat, chat("Half", "eclipse"), false);
    check(WireFormat::Anthropic, r#"{"content":[],"stop_reason":"end_turn"}"#.to_owned(), true);
    check(
        WireFormat::Anthropic,
        r#"{"content":[{"type":"thinking","thinking":"Hm.","signature":"s"}],"stop_reason":"end_turn"}"#
            .to_owned(),
        true,
    );
    let full = r#"{"content":[{"type":"text","text":"Half"}],"stop_reason":"model_context_window_exceeded"}"#;
    check(WireFormat::Anthropic, full.to_owned(), false);
    check(WireFormat::OpenAiResponses, r#"{"status":"completed","output":[]}"#.to_owned(), true);
    insta::assert_snapshot!(told.join("\n"), @"
    the provider ended the reply with `MALFORMED_FUNCTION_CALL`: the model wrote a tool call that cannot be read
    the provider ended the reply with `UNEXPECTED_TOOL_CALL`: the model called a tool that the provider did not expect
    the provider ended the reply with `TOO_MANY_TOOL_CALLS`: the model called too many tools
    the provider ended the reply with `MISSING_THOUGHT_SIGNATURE`: the signature of earlier reasoning is missing
    the provider ended the reply with `OTHER`: the provider says no more
    the provider ended the reply with `TOMORROWS_WORD`: tine does not know the word
    the provider ended the reply with `MALFORMED_FUNCTION_CALL`: the model wrote a tool call that cannot be read
    the provider ended the reply with `error`: the provider says no more
    the reply holds neither words nor a tool call
    the reply ended with `eclipse`, and tine does not know the word
    the reply holds neither words nor a tool call
    the reply holds neither words nor a tool call
    the reply was cut at the end of the model's window
    the reply holds neither words nor a tool call
    ");
}

#[test]
fn answers_are_answers() {
    let check = |format, body: &str| {
        let reply = decode_reply(format, body.as_bytes()).unwrap();
        assert_eq!(reply.no_answer(), None, "{body}");
    };
    let call = r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"eclipse"}]}"#;
    check(WireFormat::OpenAiChat, call);
    for word in ["max_tokens", "refusal", "pause_turn"] {
        check(WireFormat::Anthropic, &format!(r#"{{"content":[],"stop_reason":"{word}"}}"#));
    }
    for word in ["eos", "end_turn", "STOP", "length"] {
        check(
            WireFormat::OpenAiChat,
            &format!(
                r#"{{"choices":[{{"message":{{"role":"assistant","content":"Hi"}},"finish_reason":"{word}"}}]}}"#
            ),
        );
    }
}

#[test]
fn a_word_for_a_failure_is_one_in_a_stream_too() {
    let stream = chat(&[
        r#"{"choices":[{"delta":{"content":"Half"}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#,
        "[DONE]",
    ]);
    let reply = decoded(WireFormat::OpenAiChat, &stream);
    assert_eq!(reply.no_answer(), Some(NoAnswer::Failed("error".into())));
    assert_eq!(reply.message.blocks(), [Block::Text("Half".into())]);
}

#[test]
fn text_that_is_no_event_stays_an_error() {
    let mut decoder = Decoder::new(WireFormat::Anthropic);
    let error = decoder.push(b"event: message_delta\ndata: {\"type\":\n\n").unwrap_err();
    assert!(matches!(error, DecodeError::Protocol { .. }), "{error}");
    let mut decoder = Decoder::new(WireFormat::Gemini);
    let events = decoder.push(b"data: [DONE]\n\n").unwrap();
    assert_eq!(events, [Event::Other]);
    assert_eq!(decoder.finish(), Err(DecodeError::Truncated));
}
