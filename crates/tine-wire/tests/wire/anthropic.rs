//! What Anthropic says beside a reply's content, and blocks of its own tools on their way back.

use std::sync::Arc;

use tine_history::History;
use tine_model::{Block, EntryId, Message, ModelSettings, Usage, WireFormat};
use tine_wire::{
    Decoder, Diagnosis, DroppedReasoning, Endpoint, Head, HeadParts, Reply, RequestOptions,
    assemble, decode_reply,
};

/// A stream whose start and end carry these members.
fn streamed(start: &str, delta: &str, beside: &str) -> Reply {
    let start = format!(
        r#"{{"type":"message_start","message":{{"id":"msg_1","role":"assistant","model":"m","content":[],"usage":{{"input_tokens":1,"output_tokens":1}}{start}}}}}"#
    );
    let delta = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"{delta}}},"usage":{{"output_tokens":2}}{beside}}}"#
    );
    let records = [
        start.as_str(),
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        delta.as_str(),
        r#"{"type":"message_stop"}"#,
    ];
    let stream = records.map(|data| format!("data: {data}\n\n")).concat();
    let mut decoder = Decoder::new(WireFormat::Anthropic);
    decoder.push(stream.as_bytes()).unwrap();
    decoder.finish().unwrap()
}

fn whole(members: &str) -> Reply {
    let body = format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{{"type":"text","text":"hi"}}],"stop_reason":"end_turn"{members}}}"#
    );
    decode_reply(WireFormat::Anthropic, body.as_bytes()).unwrap()
}

#[test]
fn a_diagnosis_is_read_wherever_it_stands() {
    let miss = |reason: &str, missed_tokens| {
        Some(Diagnosis::Miss { reason: reason.to_owned(), missed_tokens })
    };
    let cases = [
        ("null", None),
        ("7", None),
        (r#"{"cache_miss_reason":null}"#, Some(Diagnosis::Pending)),
        (
            r#"{"cache_miss_reason":{"type":"tools_changed","cache_missed_input_tokens":900}}"#,
            miss("tools_changed", Some(900)),
        ),
        (r#"{"cache_miss_reason":{"type":"messages_changed"}}"#, miss("messages_changed", None)),
        (
            r#"{"cache_miss_reason":{"type":"model_changed","cache_missed_input_tokens":-1}}"#,
            miss("model_changed", None),
        ),
        (
            r#"{"cache_miss_reason":{"type":"previous_message_not_found"}}"#,
            Some(Diagnosis::NotFound),
        ),
        (r#"{"cache_miss_reason":{"type":"unavailable"}}"#, Some(Diagnosis::Unavailable)),
        (r#"{"cache_miss_reason":"odd"}"#, None),
    ];
    for (json, expected) in cases {
        let member = format!(r#","diagnostics":{json}"#);
        assert_eq!(whole(&member).diagnosis, expected, "{json}");
        assert_eq!(streamed(&member, "", "").diagnosis, expected, "{json}");
        assert_eq!(streamed("", &member, "").diagnosis, expected, "{json}");
        assert_eq!(streamed("", "", &member).diagnosis, expected, "{json}");
    }
    assert_eq!(whole("").diagnosis, None);
}

#[test]
fn a_diagnosis_that_is_known_does_not_become_unknown_again() {
    let pending = r#","diagnostics":{"cache_miss_reason":null}"#;
    let known = r#","diagnostics":{"cache_miss_reason":{"type":"unavailable"}}"#;
    assert_eq!(streamed(pending, "", known).diagnosis, Some(Diagnosis::Unavailable));
    assert_eq!(streamed(known, "", pending).diagnosis, Some(Diagnosis::Unavailable));
    assert_eq!(
        streamed(known, "", r#","diagnostics":null"#).diagnosis,
        Some(Diagnosis::Unavailable)
    );
}

#[test]
fn reasoning_that_was_left_out_is_told() {
    let changes = r#","input_transformations":[{"type":"thinking_dropped","path":"messages.3.content.0","reason":"prefix_binding_mismatch"},{"type":"thinking_mismatch_allowed","path":"messages.5.content.0","reason":"prefix_binding_mismatch"},7]"#;
    let expected = [DroppedReasoning {
        place: "messages.3.content.0".to_owned(),
        reason: "prefix_binding_mismatch".to_owned(),
    }];
    assert_eq!(whole(changes).dropped, expected);
    assert_eq!(streamed(changes, "", "").dropped, expected);
    assert_eq!(streamed(changes, "", r#","input_transformations":null"#).dropped, expected);
    assert_eq!(whole("").dropped, []);
    assert_eq!(whole(r#","input_transformations":{"type":"thinking_dropped"}"#).dropped, []);
}

#[test]
fn parts_of_a_usage_report_are_not_counted_beside_their_sum() {
    let usage = r#","usage":{"input_tokens":8,"cache_creation_input_tokens":null,"cache_creation":{"ephemeral_5m_input_tokens":5,"ephemeral_1h_input_tokens":6},"cache_read_input_tokens":1.5,"output_tokens":2,"iterations":[{"type":"compaction","input_tokens":90000,"output_tokens":700}]}"#;
    let expected = Usage {
        uncached: 8,
        write_short: Some(5),
        write_long: Some(6),
        read: None,
        output: 2,
        reasoning: None,
    };
    assert_eq!(whole(usage).usage, expected);
}

#[test]
fn blocks_of_the_providers_own_tools_go_back_as_they_came() {
    let content = r#"[{"type":"text","text":"hi"},{"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query":"q", "n":1.0}},{"type":"web_search_tool_result","tool_use_id":"srv_1","content":[{"type":"web_search_result","url":"u","encrypted_content":"x"}]},{"type":"of_tomorrow","z":1,"a":[ ]},{"type":"text","text":"so"}]"#;
    let body = format!(r#"{{"type":"message","content":{content},"stop_reason":"end_turn"}}"#);
    let reply = decode_reply(WireFormat::Anthropic, body.as_bytes()).unwrap();
    let unknown = |block: &&Block| matches!(block, Block::Unknown(_));
    assert_eq!(reply.message.blocks().iter().filter(unknown).count(), 3);

    let settings = ModelSettings {
        model: "anthropic/m".parse().unwrap(),
        max_tokens: 1,
        thinking: None,
        effort: None,
    };
    let head = Head::render(HeadParts::new(settings, String::new(), Vec::new()));
    let mut history = History::new();
    for message in [Message::user("go"), reply.message, Message::user("on")] {
        history.push(EntryId(history.len() as i64 + 1), Arc::new(message));
    }
    let sent = assemble(&head, &mut history, &RequestOptions::default()).body.to_vec();
    let sent = String::from_utf8(sent).unwrap();
    assert!(sent.contains(&format!(r#"{{"role":"assistant","content":{content}}}"#)), "{sent}");
}

#[test]
fn headers_name_the_version_and_what_heads_may_say() {
    let headers = Endpoint::headers(WireFormat::Anthropic, Some("key"), false);
    let lines: Vec<String> = headers.iter().map(|(name, text)| format!("{name}: {text}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    anthropic-version: 2026-10-21
    anthropic-beta: thinking-binding-controls-2026-08-01
    x-api-key: key
    ");
    let token = Endpoint::headers(WireFormat::Anthropic, Some("token"), true);
    let lines: Vec<String> = token.iter().map(|(name, text)| format!("{name}: {text}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    authorization: Bearer token
    anthropic-version: 2026-10-21
    anthropic-beta: thinking-binding-controls-2026-08-01
    ");
}
