//! Replies in OpenAI's Responses format, streamed and whole, and what is left of broken ones.

use tine_model::{Block, Role, StopReason, ToolCallId, ToolInput, Usage, WireFormat};
use tine_wire::{
    DecodeError, Decoder, Diagnosis, DroppedReasoning, Event, FailureKind, Reply, decode_reply,
    read_message,
};

use crate::fixtures::responses::{FULL, framed};

const FORMAT: WireFormat = WireFormat::OpenAiResponses;

fn decoded(records: &[&str]) -> (Vec<Event>, Reply) {
    let mut decoder = Decoder::new(FORMAT);
    let events = decoder.push(framed(records).as_bytes()).unwrap();
    let reply = decoder.finish().unwrap();
    if let Some(raw) = reply.message.raw() {
        assert_eq!(read_message(FORMAT, raw.json.as_str()).unwrap(), reply.message);
    }
    (events, reply)
}

fn told(events: &[Event]) -> String {
    let lines = events.iter().filter_map(|event| match event {
        Event::Started { id, model, .. } => {
            Some(format!("started {} {}", id.as_deref()?, model.as_deref()?))
        }
        Event::Text { delta } => Some(format!("text {delta:?}")),
        Event::Thinking { delta } => Some(format!("thinking {delta:?}")),
        Event::ToolCall { id, name } => Some(format!("call {id} {name}")),
        Event::ToolInput { delta } => Some(format!("input {delta}")),
        Event::BlockDone { index } => Some(format!("done {index}")),
        Event::Ping => Some("ping".to_owned()),
        Event::Other => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn raw(reply: &Reply) -> &str {
    reply.message.raw().map_or("(none)", |raw| raw.json.as_str())
}

fn item(index: u64, item: &str) -> String {
    format!(r#"{{"type":"response.output_item.done","output_index":{index},"item":{item}}}"#)
}

const CALL: &str = r#"{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}"#;

#[test]
fn a_stream_becomes_its_items_word_for_word() {
    let (events, reply) = decoded(FULL);
    insta::assert_snapshot!(raw(&reply), @r#"[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"I split it."},{"type":"summary_text","text":"Twice."}], "encrypted_content":"gAAAA=="},{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Two parts: \u00e9.","annotations":[],"score":1.50}]},{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a","name":"fs_-2eread","arguments":"{\"path\": \"a\"}"},{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_b","name":"list","arguments":""}]"#);
    insta::assert_snapshot!(told(&events), @r#"
    started resp_1 some-model
    thinking "I split"
    thinking " it."
    thinking "\n\n"
    thinking "Twice."
    done 0
    text "Two"
    text " parts: é."
    done 1
    call call_a fs.read
    input {"path":
    input  "a"}
    done 2
    call call_b list
    input {}
    done 3
    "#);
    let input = ToolInput::Valid(tine_model::RawJson::parse(r#"{"path": "a"}"#).unwrap());
    let name = "fs.read".to_owned();
    assert_eq!(
        reply.message.blocks()[..3],
        [
            Block::Thinking {
                text: "I split it.\n\nTwice.".into(),
                signature: Some("gAAAA==".into())
            },
            Block::Text("Two parts: é.".into()),
            Block::ToolUse { id: ToolCallId("call_a".into()), name, input },
        ]
    );
    assert_eq!((reply.id.as_deref(), reply.model.as_deref()), (Some("resp_1"), Some("some-model")));
    assert_eq!((reply.stop, reply.message.role()), (StopReason::ToolUse, Role::Assistant));
    let expected = Usage {
        uncached: 10,
        write_short: Some(30),
        write_long: Some(0),
        read: Some(60),
        output: 9,
        reasoning: Some(4),
    };
    assert_eq!(reply.usage, expected);
    let missed = Diagnosis::Miss { reason: "tools_changed".into(), missed_tokens: Some(40) };
    assert_eq!(reply.diagnosis, Some(missed));
    let dropped = DroppedReasoning { place: "rs_0".into(), reason: "prefix_mismatch".into() };
    assert_eq!(reply.dropped, [dropped]);
}

#[test]
fn servers_that_send_whole_items_only_are_shown_all_the_same() {
    let message = r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}]}"#;
    let records = [
        item(1, CALL),
        item(0, message),
        r#"{"type":"keepalive"}"#.to_owned(),
        r#"{"type":"response.completed","response":{"id":"r"}}"#.to_owned(),
    ];
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    let (events, reply) = decoded(&records);
    insta::assert_snapshot!(told(&events), @r#"
    call c n
    input {}
    done 0
    text "a"
    text "b"
    done 0
    done 1
    ping
    "#);
    assert_eq!(raw(&reply), format!("[{message},{CALL}]"));
    assert_eq!((reply.id.as_deref(), reply.usage), (Some("r"), Usage::default()));
}

#[test]
fn items_of_the_terminal_event_stand_in_for_those_that_never_came() {
    let end = format!(r#"{{"type":"response.completed","response":{{"output":[{CALL}]}}}}"#);
    let (_, reply) = decoded(&[&end, "nobody reads what follows"]);
    assert_eq!(raw(&reply), format!("[{CALL}]"));
    assert_eq!(reply.stop, StopReason::ToolUse);
}

#[test]
fn every_end_has_its_meaning() {
    let check = |members: &str, expected: StopReason| {
        let body = format!(r#"{{"id":"r","model":"m",{members}}}"#);
        assert_eq!(decode_reply(FORMAT, body.as_bytes()).unwrap().stop, expected, "{members}");
    };
    let words = |kind: &str, key: &str| {
        format!(
            r#""output":[{{"type":"message","role":"assistant","content":[{{"type":"{kind}","{key}":"x"}}]}}]"#
        )
    };
    let text = words("output_text", "text");
    check(&text, StopReason::EndTurn);
    check(&words("refusal", "refusal"), StopReason::Refusal);
    check(&format!(r#""status":"completed","output":[{CALL}]"#), StopReason::ToolUse);
    let cut = |reason: &str| {
        format!(r#""status":"incomplete","incomplete_details":{{"reason":"{reason}"}},{text}"#)
    };
    check(&cut("max_output_tokens"), StopReason::MaxTokens);
    check(&cut("content_filter"), StopReason::Refusal);
    check(&cut("steered"), StopReason::Other("steered".into()));
    check(&format!(r#""status":"incomplete",{text}"#), StopReason::Other("incomplete".into()));
}

#[test]
fn a_reply_without_items_has_nothing_to_replay() {
    let reply = decode_reply(FORMAT, br#"{"output":[],"status":"completed"}"#).unwrap();
    assert_eq!((reply.message.blocks(), reply.message.raw()), (&[][..], None));
    assert_eq!(reply.stop, StopReason::EndTurn);
}

#[test]
fn what_is_no_reply_says_what_it_is() {
    let told = |body: &str| decode_reply(FORMAT, body.as_bytes()).unwrap_err().to_string();
    insta::assert_snapshot!(told("{}"), @"the reply: `output` is missing");
    insta::assert_snapshot!(told(r#"{"status":"queued","output":[]}"#), @"the reply: its status is `queued`");
    insta::assert_snapshot!(told(r#"{"status":"failed","error":{"code":"server_error","message":"Broke."}}"#), @"server error (server_error): Broke.");
    insta::assert_snapshot!(told(r#"{"status":"failed","error":null}"#), @"request failed: the provider gave no reason");
    insta::assert_snapshot!(told(r#"{"output":[{"type":"function_call","call_id":"c"}]}"#), @"the reply: item 0 (`function_call`): missing field `name`");
    insta::assert_snapshot!(told(r#"{"output":[{"role":"user","content":"x"}]}"#), @"the reply: it is not the model that speaks");
}

#[test]
fn diagnoses_are_read_and_words_of_tomorrow_are_not() {
    let read = |diagnosis: &str| {
        let body = format!(r#"{{"output":[],"prompt_cache_diagnostics":{diagnosis}}}"#);
        decode_reply(FORMAT, body.as_bytes()).unwrap().diagnosis
    };
    assert_eq!(read(r#"{"type":"cache_hit"}"#), Some(Diagnosis::Hit));
    assert_eq!(read(r#"{"type":"comparison_response_not_found"}"#), Some(Diagnosis::NotFound));
    assert_eq!(read(r#"{"type":"unavailable"}"#), Some(Diagnosis::Unavailable));
    for other in ["null", "7", r#"{"type":"eclipse"}"#] {
        assert_eq!(read(other), None, "{other}");
    }
}

#[test]
fn failures_in_a_stream_are_the_providers_and_leave_the_partial_reply() {
    let check = |last: &str, kind: FailureKind, message: &str| {
        let mut decoder = Decoder::new(FORMAT);
        decoder.push(framed(&FULL[..14]).as_bytes()).unwrap();
        let error = decoder.push(framed(&[last]).as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(decoder.finish().unwrap_err(), error);
        let DecodeError::Provider(failure) = error else { panic!("{error}") };
        assert_eq!(failure.kind, kind);
        decoder.partial()
    };
    let failed = r#"{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow."},"usage":{"input_tokens":7}}}"#;
    let partial =
        check(failed, FailureKind::RateLimited, "rate limited (rate_limit_exceeded): Slow.");
    assert_eq!((partial.usage.uncached, partial.id.as_deref()), (7, Some("resp_1")));
    insta::assert_snapshot!(partial.message.unwrap().raw().unwrap().json, @r#"[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"I split it."},{"type":"summary_text","text":"Twice."}], "encrypted_content":"gAAAA=="},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Two parts: é."}]}]"#);
    let event = r#"{"type":"error","sequence_number":9,"code":"credit_balance_exhausted","message":"Spent.","param":null}"#;
    check(event, FailureKind::NoCredit, "no credit left (credit_balance_exhausted): Spent.");
    let gateway = r#"{"error":{"message":"gone","type":"server_error","code":503}}"#;
    check(gateway, FailureKind::Overloaded, "overloaded (status 503, server_error): gone");
}

#[test]
fn what_cannot_be_replayed_is_not_in_the_partial_reply() {
    let check = |records: usize, expected: Option<usize>| {
        let mut decoder = Decoder::new(FORMAT);
        decoder.push(framed(&FULL[..records]).as_bytes()).unwrap();
        let complete = records == FULL.len();
        assert_eq!(decoder.finish() == Err(DecodeError::Truncated), !complete);
        let mut decoder = Decoder::new(FORMAT);
        decoder.push(framed(&FULL[..records]).as_bytes()).unwrap();
        let blocks = decoder.partial().message.map(|message| message.blocks().len());
        assert_eq!(blocks, expected, "{records} records");
    };
    check(0, None);
    check(6, None);
    // Reasoning is complete, but what it led to is not there yet.
    check(10, None);
    check(12, None);
    check(13, Some(2));
    check(17, Some(2));
    check(20, Some(2));
    check(22, Some(3));
    check(24, Some(4));
}
