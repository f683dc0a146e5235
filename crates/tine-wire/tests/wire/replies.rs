//! Streams and whole replies as providers send them, and what is read from them.

use tine_model::{Block, StopReason, ToolCallId, ToolInput, Usage, WireFormat};
use tine_wire::{DecodeError, Decoder, Event, FailureKind, Reply, decode_reply, read_message};

use crate::fixtures::{self, anthropic, chat, gemini};

fn decoded(format: WireFormat, stream: &str) -> (Vec<Event>, Reply) {
    let mut decoder = Decoder::new(format);
    let events = decoder.push(stream.as_bytes()).unwrap();
    let reply = decoder.finish().unwrap();
    if let Some(raw) = reply.message.raw() {
        let has_invalid = reply
            .message
            .blocks()
            .iter()
            .any(|block| matches!(block, Block::ToolUse { input: ToolInput::Invalid(_), .. }));
        let again = read_message(format, raw.json.as_str()).unwrap();
        assert_eq!(again.raw(), reply.message.raw());
        if !has_invalid || format == WireFormat::OpenAiChat {
            assert_eq!(again, reply.message);
        }
    }
    (events, reply)
}

fn raw(reply: &Reply) -> &str {
    reply.message.raw().map_or("(none)", |raw| raw.json.as_str())
}

#[test]
fn an_anthropic_stream_becomes_one_message_with_every_field_kept() {
    let (events, reply) = decoded(WireFormat::Anthropic, &anthropic(fixtures::FULL));
    insta::assert_snapshot!(raw(&reply), @r#"{"role":"assistant","content":[{"type":"thinking","thinking":"I split it.","signature":"c2ln"},{"type":"text","text":"Two parts.","citations":[{"type":"page","n":1.50}],"note":{"k":[1, 2]}},{"type":"tool_use","id":"toolu_1","name":"fork","input":{"tasks": ["a", "é"]},"caller":{"type":"direct"}}]}"#);
    assert_eq!(reply.id.as_deref(), Some("msg_1"));
    assert_eq!(reply.stop, StopReason::ToolUse);
    let expected = Usage {
        uncached: 3,
        write_short: Some(61),
        write_long: Some(0),
        read: Some(100_240),
        output: 218,
        reasoning: None,
    };
    assert_eq!(reply.usage, expected);
    insta::assert_snapshot!(told(&events), @"
    started msg_1 some-model prompt=100304
    other
    ping
    thinking I split
    thinking  it.
    other
    done 0
    other
    text Two
    text  parts.
    other
    done 1
    call toolu_1 fork
    input
    input {\"tasks\": [\"a\",
    input  \"é\"]}
    done 2
    other
    other
    ");
}

fn told(events: &[Event]) -> String {
    let lines = events.iter().map(|event| match event {
        Event::Started { id, model, usage } => format!(
            "started {} {} prompt={}",
            id.as_deref().unwrap_or("-"),
            model.as_deref().unwrap_or("-"),
            usage.prompt()
        ),
        Event::Text { delta } => format!("text {delta}"),
        Event::Thinking { delta } => format!("thinking {delta}"),
        Event::ToolCall { id, name } => format!("call {id} {name}"),
        Event::ToolInput { delta } => format!("input {delta}"),
        Event::BlockDone { index } => format!("done {index}"),
        Event::Ping => "ping".into(),
        Event::Other => "other".into(),
    });
    lines.map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_chat_stream_becomes_one_message_with_every_field_kept() {
    let (events, reply) = decoded(WireFormat::OpenAiChat, &chat(fixtures::CHAT_FULL));
    insta::assert_snapshot!(raw(&reply), @r#"{"role":"assistant","content":"Two parts.","reasoning_content":"I split.","reasoning":"split.","reasoning_details":[{"t":"x"},{"t":"y"}],"score":2,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"read","arguments":"{\"path\": \"a\"}"},"extra":{"sig":"s"}},{"id":"call_b","type":"function","function":{"name":"list","arguments":""}}]}"#);
    assert_eq!(reply.stop, StopReason::ToolUse);
    let expected = Usage {
        uncached: 10,
        write_short: Some(30),
        read: Some(60),
        output: 9,
        reasoning: Some(4),
        ..Usage::default()
    };
    assert_eq!(reply.usage, expected);
    let kinds: Vec<_> = reply.message.blocks().iter().collect();
    assert!(matches!(kinds[0], Block::Thinking { signature: None, .. }));
    assert_eq!(reply.message.tool_calls().count(), 2);
    insta::assert_snapshot!(told(&events), @r#"
    started c1 some-model prompt=0
    thinking I
    thinking split.
    text Two
    text  parts.
    call call_a read
    input {"path": "a"}
    call call_b list
    done 0
    done 1
    done 2
    done 3
    other
    other
    "#);
}

#[test]
fn a_gemini_stream_becomes_one_message_with_every_field_kept() {
    let (events, reply) = decoded(WireFormat::Gemini, &gemini(fixtures::GEMINI_FULL));
    insta::assert_snapshot!(raw(&reply), @r#"{"role":"model","parts":[{"text":"I split it.","thought":true},{"thought":true,"text":"","thoughtSignature":"c2ln"},{"text":"Two parts.","note":{"k":[1, 2]}},{"functionCall":{"name":"read","args":{"path": "é"},"new":1.0},"thoughtSignature":"c2lnMg=="},{"functionCall":{"name":"list","args":{}}}]}"#);
    assert_eq!((reply.id.as_deref(), reply.model.as_deref()), (Some("r1"), Some("some-model")));
    assert_eq!(reply.stop, StopReason::ToolUse);
    let expected =
        Usage { uncached: 40, read: Some(60), output: 13, reasoning: Some(4), ..Usage::default() };
    assert_eq!(reply.usage, expected);
    assert_eq!(
        reply.message.blocks()[..2],
        [
            Block::Thinking { text: "I split it.".into(), signature: Some("c2ln".into()) },
            Block::Text("Two parts.".into()),
        ]
    );
    insta::assert_snapshot!(told(&events), @r#"
    started r1 some-model prompt=100
    thinking I split
    thinking  it.
    other
    done 0
    text Two
    text  parts.
    done 1
    call gemini_19d78f90_3 read
    input {"path": "é"}
    done 2
    call gemini_2f29d1dd_4 list
    input {}
    done 3
    other
    "#);
}

#[test]
fn arguments_that_are_no_object_are_told_and_never_lost() {
    let stream = anthropic(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let (_, reply) = decoded(WireFormat::Anthropic, &stream);
    let call = ToolCallId("t".into());
    let input = ToolInput::Invalid("{\"a\":".into());
    assert_eq!(reply.message.blocks(), [Block::ToolUse { id: call, name: "n".into(), input }]);
    assert_eq!(
        raw(&reply),
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#
    );
    assert_eq!(reply.stop, StopReason::MaxTokens);

    let stream = chat(&[
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"n","arguments":"[1]"}}]},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ]);
    let (_, reply) = decoded(WireFormat::OpenAiChat, &stream);
    let call = ToolCallId("t".into());
    let input = ToolInput::Invalid("[1]".into());
    assert_eq!(reply.message.blocks(), [Block::ToolUse { id: call, name: "n".into(), input }]);
    assert_eq!(reply.stop, StopReason::ToolUse);
}

#[test]
fn unknown_blocks_deltas_and_events_are_kept_or_passed_over() {
    let stream = anthropic(&[
        r#"{"type":"message_start","message":{"id":"m"}}"#,
        r#"{"type":"brand_new","x":1}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null,"seal":1e2}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"so "}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"far","more":[1]}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"search","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"q\": 1}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"pause_turn"},"usage":null}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let (_, reply) = decoded(WireFormat::Anthropic, &stream);
    insta::assert_snapshot!(raw(&reply), @r#"{"role":"assistant","content":[{"type":"compaction","content":"so far","seal":1e2,"more":[1]},{"type":"server_tool_use","id":"s","name":"search","input":{"q": 1}}]}"#);
    assert!(reply.message.blocks().iter().all(|block| matches!(block, Block::Unknown(_))));
    assert_eq!(reply.stop, StopReason::Pause);
    assert_eq!(reply.usage, Usage::default());
}

#[test]
fn a_reply_without_content_has_no_blocks_and_nothing_to_replay() {
    let events = [
        r#"{"type":"message_start","message":{"id":"m"}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let (_, reply) = decoded(WireFormat::Anthropic, &anthropic(&events));
    assert_eq!((reply.message.blocks(), reply.message.raw()), (&[][..], None));
    assert_eq!(reply.stop, StopReason::EndTurn);
    let chunk = r#"{"choices":[{"delta":{"content":""},"finish_reason":"content_filter"}]}"#;
    let (_, reply) = decoded(WireFormat::OpenAiChat, &chat(&[chunk]));
    assert_eq!((reply.message.blocks(), reply.message.raw()), (&[][..], None));
    assert_eq!(reply.stop, StopReason::Refusal);
}

#[test]
fn calls_of_sloppy_servers_are_told_apart_and_named() {
    let stream = chat(&[
        // No ids, no indexes.
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":{"x":1}}},{"function":{"name":"b","arguments":"{}"}}]}}]}"#,
        // The same index again, with another id.
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"p","function":{"name":"c","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"q","function":{"name":"c","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}"#,
        "[DONE]",
    ]);
    let (_, reply) = decoded(WireFormat::OpenAiChat, &stream);
    let ids: Vec<&str> = reply.message.tool_calls().map(|id| id.0.as_str()).collect();
    assert_eq!(ids, ["call_0", "call_1", "p", "q"]);
    insta::assert_snapshot!(raw(&reply), @r#"{"role":"assistant","content":null,"tool_calls":[{"function":{"name":"a","arguments":"{\"x\":1}"},"id":"call_0","type":"function"},{"function":{"name":"b","arguments":"{}"},"id":"call_1","type":"function"},{"id":"p","function":{"name":"c","arguments":"{}"},"type":"function"},{"id":"q","function":{"name":"c","arguments":"{}"},"type":"function"}]}"#);
}

#[test]
fn an_error_event_is_the_providers_failure_and_leaves_the_partial_reply() {
    let mut records = fixtures::FULL[..11].to_vec();
    records.push(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#);
    let mut decoder = Decoder::new(WireFormat::Anthropic);
    assert!(!decoder.push(anthropic(&records).as_bytes()).unwrap().is_empty());
    let error = decoder.push(b"").unwrap_err();
    assert_eq!(error.to_string(), "overloaded (overloaded_error): Overloaded");
    let DecodeError::Provider(failure) = error else { panic!("{error}") };
    assert_eq!(failure.kind, FailureKind::Overloaded);
    let partial = decoder.partial();
    let message = partial.message.unwrap();
    insta::assert_snapshot!(message.raw().unwrap().json, @r#"{"role":"assistant","content":[{"type":"thinking","thinking":"I split it.","signature":"c2ln"},{"type":"text","text":"Two parts.","citations":[{"type":"page","n":1.50}],"note":{"k":[1, 2]}}]}"#);
    assert_eq!(partial.usage.read, Some(100_240));
    assert_eq!(partial.id.as_deref(), Some("msg_1"));

    let stream = chat(&[
        r#"{"choices":[{"delta":{"content":"Half"}}]}"#,
        r#"{"error":{"message":"gone","type":"server_error","code":503}}"#,
    ]);
    let mut decoder = Decoder::new(WireFormat::OpenAiChat);
    decoder.push(stream.as_bytes()).unwrap();
    let error = decoder.push(b"").unwrap_err();
    assert_eq!(error.to_string(), "overloaded (status 503, server_error): gone");
    assert_eq!(decoder.partial().message.unwrap().text(), "Half");
}

#[test]
fn what_cannot_be_replayed_is_not_in_the_partial_reply() {
    // Cut inside the reasoning, before the signature; then inside the tool call.
    let check = |records: usize, expected: Option<usize>| {
        let mut decoder = Decoder::new(WireFormat::Anthropic);
        decoder.push(anthropic(&fixtures::FULL[..records]).as_bytes()).unwrap();
        let message = decoder.partial().message;
        assert_eq!(message.map(|message| message.blocks().len()), expected, "{records} records");
    };
    check(0, None);
    check(5, None);
    check(7, None);
    check(9, Some(2));
    check(15, Some(2));
    check(fixtures::FULL.len(), Some(3));

    let check = |records: usize, expected: Option<usize>| {
        let mut decoder = Decoder::new(WireFormat::OpenAiChat);
        decoder.push(chat(&fixtures::CHAT_FULL[..records]).as_bytes()).unwrap();
        let message = decoder.partial().message;
        assert_eq!(message.map(|message| message.blocks().len()), expected, "{records} records");
    };
    check(2, None);
    check(4, Some(1));
    check(6, Some(1));
    check(7, Some(2));
    check(8, Some(3));
}

#[test]
fn a_stream_that_ends_early_is_truncated() {
    let check = |format, stream: &str, expected: bool| {
        let mut decoder = Decoder::new(format);
        decoder.push(stream.as_bytes()).unwrap();
        assert_eq!(decoder.finish() == Err(DecodeError::Truncated), expected, "{stream}");
    };
    let whole = anthropic(fixtures::FULL);
    check(WireFormat::Anthropic, "", true);
    check(WireFormat::Anthropic, &anthropic(&fixtures::FULL[..fixtures::FULL.len() - 1]), true);
    check(WireFormat::Anthropic, &whole[..whole.len() - 5], true);
    // Only the blank line is missing.
    check(WireFormat::Anthropic, whole.trim_end(), false);
    check(WireFormat::OpenAiChat, "", true);
    check(WireFormat::OpenAiChat, &chat(&fixtures::CHAT_FULL[..7]), true);
    check(WireFormat::OpenAiChat, &chat(&fixtures::CHAT_FULL[..8]), false);
    check(WireFormat::Gemini, "", true);
    check(WireFormat::Gemini, &gemini(&fixtures::GEMINI_FULL[..6]), true);
    check(WireFormat::Gemini, gemini(fixtures::GEMINI_FULL).trim_end(), false);
}

#[test]
fn whole_replies_keep_their_bytes() {
    let body = r#" {"id":"m","type":"message","role":"assistant","model":"x","content":[ {"type":"text","text":"H\u00e9", "new":1.0} ],"stop_reason":"refusal","usage":{"input_tokens":2,"output_tokens":1}}"#;
    let reply = decode_reply(WireFormat::Anthropic, body.as_bytes()).unwrap();
    assert_eq!(
        raw(&reply),
        r#"{"role":"assistant","content":[ {"type":"text","text":"H\u00e9", "new":1.0} ]}"#
    );
    assert_eq!((reply.message.text().as_str(), reply.stop), ("Hé", StopReason::Refusal));

    let body = r#"{"id":"c","choices":[{"index":0,"message":{"role":"assistant", "content":"Hi","refusal":null},"finish_reason":"length"}],"usage":{"prompt_tokens":2,"completion_tokens":1}}"#;
    let reply = decode_reply(WireFormat::OpenAiChat, body.as_bytes()).unwrap();
    assert_eq!(raw(&reply), r#"{"role":"assistant", "content":"Hi","refusal":null}"#);
    assert_eq!((reply.usage.uncached, reply.stop), (2, StopReason::MaxTokens));
}

#[test]
fn what_is_no_reply_says_what_it_is() {
    let told =
        |body: &str| decode_reply(WireFormat::OpenAiChat, body.as_bytes()).unwrap_err().to_string();
    insta::assert_snapshot!(told("<html><title>Log in</title>"), @"not the API's answer: a web page answered instead of the Chat Completions API: “Log in”");
    insta::assert_snapshot!(told(r#"{"error":{"message":"no such model","code":"model_not_found"}}"#), @"not found (model_not_found): no such model");
    insta::assert_snapshot!(told(r#"{"choices":[]}"#), @"the reply: it holds no choice");
    insta::assert_snapshot!(told(r#"{"choices":[{"message":{"role":"assistant","tool_calls":[{"function":{}}]}}]}"#), @"the reply: tool call 0: missing field `name`");
    insta::assert_snapshot!(told("nothing"), @"the reply: expected ident at line 1 column 2");
}

#[test]
fn every_stop_reason_has_its_meaning() {
    let check = |format, word: &str, expected: StopReason| {
        let body = match format {
            WireFormat::Anthropic => format!(r#"{{"content":[],"stop_reason":"{word}"}}"#),
            WireFormat::OpenAiChat => format!(
                r#"{{"choices":[{{"message":{{"role":"assistant","content":"x"}},"finish_reason":"{word}"}}]}}"#
            ),
            other => panic!("no reply of {other:?} stands here"),
        };
        assert_eq!(decode_reply(format, body.as_bytes()).unwrap().stop, expected, "{word}");
    };
    use StopReason::*;
    use WireFormat::*;
    check(Anthropic, "end_turn", EndTurn);
    check(Anthropic, "tool_use", ToolUse);
    check(Anthropic, "max_tokens", MaxTokens);
    check(Anthropic, "stop_sequence", StopSequence);
    check(Anthropic, "pause_turn", Pause);
    check(Anthropic, "refusal", Refusal);
    check(Anthropic, "model_context_window_exceeded", ContextExceeded);
    check(Anthropic, "eclipse", Other("eclipse".into()));
    check(OpenAiChat, "stop", EndTurn);
    check(OpenAiChat, "length", MaxTokens);
    check(OpenAiChat, "tool_calls", ToolUse);
    check(OpenAiChat, "content_filter", Refusal);
    check(OpenAiChat, "abort", Other("abort".into()));
}
