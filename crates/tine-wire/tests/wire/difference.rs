//! Where two requests part: every kind of segment is named, in every format.

use proptest::prelude::*;
use serde_json::{Value, json};
use tine_model::WireFormat;
use tine_wire::first_difference;

const ANTHROPIC: &str = r#"{"model":"m","max_tokens":1000,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"metadata":{"user_id":"u"},"stream":true,
"tools":[{"name":"fork","description":"d","input_schema":{"type":"object"}},{"name":"read","description":"d","input_schema":{"type":"object"}}],
"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
"messages":[
{"role":"user","content":[{"type":"text","text":"Look.","cache_control":{"type":"ephemeral"}},{"type":"image","source":{"type":"url","url":"u"}},{"type":"document","source":{"type":"url","url":"u"}}]},
{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"Yes."},{"type":"tool_use","id":"t1","name":"read","input":{"b":1,"a":[true,null]}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"found"}],"cache_control":{"type":"ephemeral"}},{"type":"text","text":"Task: a"}]}],
"diagnostics":{"previous_message_id":"msg_1"}}"#;

const CHAT: &str = r#"{"model":"m","max_completion_tokens":1000,"reasoning_effort":"high","stream":true,"stream_options":{"include_usage":true},"prompt_cache_key":"k","service_tier":"default","metadata":{"run":"1"},
"tools":[{"type":"function","function":{"name":"fork","parameters":{"type":"object"}}},{"type":"function","function":{"name":"read","parameters":{"type":"object"}}}],
"messages":[
{"role":"developer","content":[{"type":"text","text":"Be brief.","prompt_cache_breakpoint":{"mode":"explicit"}}]},
{"role":"user","content":[{"type":"text","text":"Look."},{"type":"image_url","image_url":{"url":"u"}},{"type":"file","file":{"file_id":"f"}}]},
{"role":"assistant","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"sig"}],"content":"Yes.","tool_calls":[{"id":"t1","type":"function","function":{"name":"read","arguments":"{\"a\":1}"}}]},
{"role":"tool","tool_call_id":"t1","content":[{"type":"text","text":"found","prompt_cache_breakpoint":{"mode":"explicit"}}]},
{"role":"user","content":"Task: a"}]}"#;

const RESPONSES: &str = r#"{"model":"m","stream":true,"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":1000,"prompt_cache_key":"k","prompt_cache_options":{"mode":"explicit","ttl":"30m"},
"reasoning":{"effort":"high"},"text":{"verbosity":"low"},"parallel_tool_calls":true,"tool_choice":"auto",
"tools":[{"type":"function","name":"fork","parameters":{"type":"object"}},{"type":"function","name":"read","parameters":{"type":"object"}},{"type":"web_search"}],
"input":[
{"role":"developer","content":[{"type":"input_text","text":"Be brief.","prompt_cache_breakpoint":{"mode":"explicit"}}]},
{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."},{"type":"input_image","image_url":"u"},{"type":"input_file","file_id":"f"}]},
{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"sig"},
{"type":"message","role":"assistant","id":"msg_1","content":[{"type":"output_text","text":"Yes.","annotations":[]}]},
{"type":"function_call","call_id":"t1","name":"read","arguments":"{\"a\":1}"},
{"type":"function_call_output","call_id":"t1","output":[{"type":"input_text","text":"found","prompt_cache_breakpoint":{"mode":"explicit"}}]},
{"type":"web_search_call","id":"ws_1","status":"completed"},
{"role":"user","content":"Task: a"}]}"#;

const GEMINI: &str = r#"{"systemInstruction":{"parts":[{"text":"Be brief."}]},
"tools":[{"functionDeclarations":[{"name":"fork","parameters":{"type":"object"}},{"name":"read","parameters":{"type":"object"}}]},{"googleSearch":{"lang":"en"}}],
"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},
"contents":[
{"role":"user","parts":[{"text":"Look."},{"inlineData":{"mimeType":"image/png","data":"aa"}},{"fileData":{"mimeType":"text/plain","fileUri":"u"}}]},
{"role":"model","parts":[{"text":"hm","thought":true},{"text":"Yes."},{"functionCall":{"id":"t1","name":"read","args":{"a":1}},"thoughtSignature":"sig"},{"executableCode":{"code":"1"}}]},
{"role":"user","parts":[{"functionResponse":{"id":"t1","name":"read","response":{"output":"found"}}},{"text":"Task: a"}]}],
"generationConfig":{"maxOutputTokens":1000,"thinkingConfig":{"thinkingLevel":"high"}}}"#;

const BODIES: [(WireFormat, &str); 5] = [
    (WireFormat::Anthropic, ANTHROPIC),
    (WireFormat::OpenAiChat, CHAT),
    (WireFormat::OpenAiChatParts, CHAT),
    (WireFormat::OpenAiResponses, RESPONSES),
    (WireFormat::Gemini, GEMINI),
];

/// How the two part, in words; `-` when they do not.
fn part(format: WireFormat, before: &str, now: &str) -> String {
    let segment = first_difference(format, before.as_bytes(), now.as_bytes());
    segment.map_or_else(|| "-".to_owned(), |segment| segment.to_string())
}

/// One byte of `body` is changed: the first byte of the first `old`, which must be there.
fn flipped(format: WireFormat, body: &str, old: &str) -> String {
    let at = body.find(old).unwrap_or_else(|| panic!("{old} is not in the body"));
    let mut now = body.to_owned();
    // A neighbouring character: letters stay letters, and digits digits.
    let new = char::from(body.as_bytes()[at] ^ 1).to_string();
    now.replace_range(at..=at, &new);
    assert_eq!(part(format, body, body), "-");
    part(format, body, &now)
}

fn check(format: WireFormat, body: &str, changes: &[&str]) -> String {
    let line = |old: &&str| format!("{old}: {}", flipped(format, body, old));
    changes.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn one_byte_of_an_anthropic_request_names_its_segment() {
    let changes = [
        "m\",\"max_tokens",
        "adaptive",
        "high",
        "u\"},\"stream",
        "fork",
        "read",
        "Be",
        "Look",
        "url\",\"url\":\"u\"}},{\"type\":\"document",
        "u\"}}]}",
        "hm",
        "sig\"",
        "x\"}",
        "Yes",
        "a\":[",
        "1,\"a",
        "t1\",\"content",
        "found",
        "Task",
    ];
    insta::assert_snapshot!(check(WireFormat::Anthropic, ANTHROPIC, &changes), @r#"
    m","max_tokens: setting `model`
    adaptive: setting `thinking`
    high: setting `output_config`
    u"},"stream: setting `metadata`
    fork: tool `gork`
    read: tool `sead`
    Be: system prompt
    Look: message 1, block 1 (user text)
    url","url":"u"}},{"type":"document: message 1, block 2 (image)
    u"}}]}: message 1, block 3 (document)
    hm: message 2, block 1 (thinking)
    sig": message 2, block 1 (thinking signature)
    x"}: message 2, block 2 (redacted_thinking)
    Yes: message 2, block 3 (assistant text)
    a":[: message 2, block 4 (tool call)
    1,"a: message 2, block 4 (tool call)
    t1","content: message 3, block 1 (tool result)
    found: message 3, block 1 (tool result)
    Task: message 3, block 2 (user text)
    "#);
}

#[test]
fn one_byte_of_a_chat_request_names_its_segment() {
    let changes = [
        "m\",\"max",
        "high",
        "k\",\"service",
        "default",
        "fork",
        "read",
        "Be",
        "Look",
        "u\"}}",
        "f\"}}",
        "hm",
        "sig\"",
        "Yes",
        "a\\\"",
        "t1\",\"content",
        "found",
        "Task",
    ];
    let named = check(WireFormat::OpenAiChat, CHAT, &changes);
    assert_eq!(check(WireFormat::OpenAiChatParts, CHAT, &changes), named);
    insta::assert_snapshot!(named, @r#"
    m","max: setting `model`
    high: setting `reasoning_effort`
    k","service: setting `prompt_cache_key`
    default: setting `service_tier`
    fork: tool `gork`
    read: tool `sead`
    Be: system prompt
    Look: message 2, block 1 (user text)
    u"}}: message 2, block 2 (image)
    f"}}: message 2, block 3 (document)
    hm: message 3, block 1 (thinking)
    sig": message 3, block 1 (thinking signature)
    Yes: message 3, block 2 (assistant text)
    a\": message 3, block 3 (tool call)
    t1","content: message 4, block 1 (tool result)
    found: message 4, block 1 (tool result)
    Task: message 5, block 1 (user text)
    "#);
}

#[test]
fn one_byte_of_a_responses_request_names_its_segment() {
    let changes = [
        "m\",\"stream",
        "k\",\"prompt",
        "high",
        "low",
        "auto",
        "fork",
        "read",
        "web_search",
        "Be",
        "Look",
        "u\"},{",
        "f\"}]}",
        "hm",
        "sig",
        "Yes",
        "a\\\"",
        "found",
        "completed",
        "Task",
    ];
    insta::assert_snapshot!(check(WireFormat::OpenAiResponses, RESPONSES, &changes), @r#"
    m","stream: setting `model`
    k","prompt: setting `prompt_cache_key`
    high: setting `reasoning`
    low: setting `text`
    auto: setting `tool_choice`
    fork: tool `gork`
    read: tool `sead`
    web_search: tool `veb_search`
    Be: system prompt
    Look: message 1, block 1 (user text)
    u"},{: message 1, block 2 (image)
    f"}]}: message 1, block 3 (document)
    hm: message 2, block 1 (thinking)
    sig: message 2, block 1 (thinking signature)
    Yes: message 3, block 1 (assistant text)
    a\": message 4, block 1 (tool call)
    found: message 5, block 1 (tool result)
    completed: message 6, block 1 (web_search_call)
    Task: message 7, block 1 (user text)
    "#);
}

#[test]
fn one_byte_of_a_gemini_request_names_its_segment() {
    let changes = [
        "high", "AUTO", "fork", "read", "en\"", "Be", "Look", "aa", "u\"}}", "hm", "Yes", "a\":1",
        "sig", "code\"", "found", "Task",
    ];
    insta::assert_snapshot!(check(WireFormat::Gemini, GEMINI, &changes), @r#"
    high: setting `generationConfig`
    AUTO: setting `toolConfig`
    fork: tool `gork`
    read: tool `sead`
    en": tool `googleSearch`
    Be: system prompt
    Look: message 1, block 1 (user text)
    aa: message 1, block 2 (image)
    u"}}: message 1, block 3 (document)
    hm: message 2, block 1 (thinking)
    Yes: message 2, block 2 (assistant text)
    a":1: message 2, block 3 (tool call)
    sig: message 2, block 3 (thinking signature)
    code": message 2, block 4 (executableCode)
    found: message 3, block 1 (tool result)
    Task: message 3, block 2 (user text)
    "#);
}

#[test]
fn what_is_beside_the_prompt_does_not_count() {
    let check = |format, body: &str, changes: &[(&str, &str)]| {
        for (old, new) in changes {
            assert!(body.contains(old), "{old}");
            assert_eq!(part(format, body, &body.replace(old, new)), "-", "{old}");
        }
    };
    check(
        WireFormat::Anthropic,
        ANTHROPIC,
        &[
            ("1000", "0"),
            (r#","stream":true"#, ""),
            ("msg_1", "msg_2"),
            (r#""ephemeral"}"#, r#""ephemeral","ttl":"1h"}"#),
            (r#","cache_control":{"type":"ephemeral"}"#, ""),
            (r#""text":"Yes.""#, r#""text":"Yes.","cache_control":{"type":"ephemeral"}"#),
            (r#""model":"m","#, r#""cache_control":{"type":"ephemeral"},"model":"m","#),
        ],
    );
    check(
        WireFormat::OpenAiChat,
        CHAT,
        &[("1000", "2"), ("max_completion_tokens", "max_tokens"), (r#""run":"1""#, r#""run":"2""#)],
    );
    check(
        WireFormat::OpenAiResponses,
        RESPONSES,
        &[
            ("1000", "2"),
            (r#""ttl":"30m""#, r#""ttl":"30m","prewarm":true,"comparison_response_id":"r""#),
            (r#","prompt_cache_breakpoint":{"mode":"explicit"}"#, ""),
            (r#""store":false,"#, r#""store":true,"#),
        ],
    );
    check(WireFormat::Gemini, GEMINI, &[(r#""maxOutputTokens":1000,"#, "")]);
}

#[test]
fn going_on_is_no_difference_and_ending_early_is_the_end() {
    let check = |format, body: &str, list: &str, blocks: &str| {
        let longer: Value = serde_json::from_str(body).unwrap();
        let mut shorter = longer.clone();
        let messages = shorter[list].as_array_mut().unwrap();
        messages.pop();
        let last = messages.last_mut().unwrap();
        if let Some(blocks) = last.get_mut(blocks).and_then(Value::as_array_mut) {
            blocks.pop();
        }
        let (shorter, longer) = (shorter.to_string(), longer.to_string());
        assert_eq!(part(format, &shorter, &longer), "-");
        assert_eq!(part(format, &longer, &shorter), "end of the request");
        let other = shorter.replace("Look", "Cook");
        assert_ne!(part(format, &longer, &other), "end of the request");
    };
    check(WireFormat::Anthropic, ANTHROPIC, "messages", "content");
    check(WireFormat::OpenAiChat, CHAT, "messages", "content");
    check(WireFormat::OpenAiResponses, RESPONSES, "input", "content");
    check(WireFormat::Gemini, GEMINI, "contents", "parts");
}

#[test]
fn a_block_in_the_middle_is_named_by_what_it_is() {
    let format = WireFormat::Anthropic;
    let without = ANTHROPIC.replace(r#"{"type":"redacted_thinking","data":"x"},"#, "");
    assert_eq!(part(format, ANTHROPIC, &without), "message 2, block 2 (assistant text)");
    assert_eq!(part(format, &without, ANTHROPIC), "message 2, block 2 (redacted_thinking)");
    let short = ANTHROPIC.replace(r#",{"type":"document","source":{"type":"url","url":"u"}}"#, "");
    assert_eq!(part(format, ANTHROPIC, &short), "message 1, block 3 (document)");
    assert_eq!(part(format, &short, ANTHROPIC), "message 1, block 3 (document)");
    let spoken = ANTHROPIC.replace(r#"{"role":"assistant""#, r#"{"role":"user""#);
    assert_eq!(part(format, ANTHROPIC, &spoken), "message 2, block 1 (thinking)");
    // The order of keys in a call's arguments is part of the prompt.
    let turned = ANTHROPIC.replace(r#"{"b":1,"a":[true,null]}"#, r#"{"a":[true,null],"b":1}"#);
    assert_eq!(part(format, ANTHROPIC, &turned), "message 2, block 4 (tool call)");
    let both = turned.replace("sig\"", "gis\"");
    assert_eq!(part(format, ANTHROPIC, &both), "message 2, block 1 (thinking signature)");
    assert_eq!(part(format, ANTHROPIC, &both.replace("hm", "mh")), "message 2, block 1 (thinking)");
}

#[test]
fn a_tool_that_came_or_went_is_named() {
    let format = WireFormat::Anthropic;
    let fork = r#"{"name":"fork","description":"d","input_schema":{"type":"object"}},"#;
    let without = ANTHROPIC.replace(fork, "");
    assert_eq!(part(format, ANTHROPIC, &without), "tool `fork`");
    assert_eq!(part(format, &without, ANTHROPIC), "tool `fork`");
    let mut value: Value = serde_json::from_str(ANTHROPIC).unwrap();
    value["tools"] = json!([]);
    assert_eq!(part(format, &value.to_string(), ANTHROPIC), "tool `fork`");
    value["tools"] = json!("none");
    assert_eq!(part(format, ANTHROPIC, &value.to_string()), "setting `tools`");
    let search = GEMINI.replace(r#",{"googleSearch":{"lang":"en"}}"#, "");
    assert_eq!(part(WireFormat::Gemini, GEMINI, &search), "tool `googleSearch`");
}

#[test]
fn a_setting_that_came_or_went_is_named() {
    let format = WireFormat::Anthropic;
    let later = ANTHROPIC.replace(r#""stream":true"#, r#""stream":true,"tomorrow":1"#);
    assert_eq!(part(format, ANTHROPIC, &later), "setting `tomorrow`");
    assert_eq!(part(format, &later, ANTHROPIC), "setting `tomorrow`");
    let turned =
        ANTHROPIC.replace(r#""model":"m","max_tokens":1000"#, r#""max_tokens":1,"model":"m""#);
    assert_eq!(part(format, ANTHROPIC, &turned), "-", "the order of settings says nothing");
}

#[test]
fn what_is_no_request_is_compared_as_bytes() {
    for format in WireFormat::ALL {
        for text in ["", "[", "[]", "7", "{\"a\":1}}", "{\"messages\":[1", "\u{feff}{}"] {
            assert_eq!(part(format, text, text), "-");
            assert_eq!(part(format, "{}", text), "setting `request`", "{text}");
            assert_eq!(part(format, text, "{}"), "setting `request`", "{text}");
        }
        assert_eq!(first_difference(format, b"\xff", b"\xff"), None);
        assert!(first_difference(format, b"\xff", b"\xfe").is_some());
        let deep = "[".repeat(100_000);
        assert_eq!(part(format, &deep, "{}"), "setting `request`");
        let deep = format!("{{\"messages\":[{}1{}]}}", "[".repeat(50_000), "]".repeat(50_000));
        assert_ne!(part(format, &deep, &deep.replace('1', "2")), "-");
    }
}

/// Names under which nothing belongs to the prompt.
const BESIDE: [&str; 14] = [
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "maxOutputTokens",
    "stream",
    "stream_options",
    "store",
    "include",
    "diagnostics",
    "prompt_cache_options",
    "metadata",
    "cache_control",
    "prompt_cache_breakpoint",
    "never",
];

/// Pointers to every leaf that belongs to the prompt.
fn leaves(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(key, _)| !BESIDE.contains(&key.as_str())) {
                leaves(value, format!("{at}/{key}"), found);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                leaves(value, format!("{at}/{index}"), found);
            }
        }
        _ => found.push(at),
    }
}

/// Puts marks on some objects of the conversation, and takes them from all others.
fn mark(value: &mut Value, key: &str, inside: bool, picks: &mut impl Iterator<Item = bool>) {
    match value {
        Value::Object(members) => {
            members.shift_remove(key);
            for (name, value) in members.iter_mut() {
                let list = ["messages", "input", "content", "tools", "system", "output"]
                    .contains(&name.as_str());
                if list && value.is_array() {
                    mark(value, key, true, picks);
                }
            }
            if inside && picks.next() == Some(true) {
                members.insert(key.to_owned(), json!({"type": "ephemeral", "ttl": "1h"}));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| mark(value, key, inside, picks)),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_change_of_a_leaf_goes_unseen(
        body in 0..BODIES.len(),
        leaf in any::<prop::sample::Index>(),
        text in "[a-z{\"]{0,9}",
        kind in 0usize..4,
    ) {
        let (format, body) = BODIES[body];
        let mut value: Value = serde_json::from_str(body).unwrap();
        let before = value.to_string();
        let mut places = Vec::new();
        leaves(&value, String::new(), &mut places);
        let leaf: &String = leaf.get(&places);
        let place = value.pointer_mut(leaf).unwrap();
        let new = [json!(text), json!({"type": text}), json!([text]), json!(7.25)][kind].clone();
        prop_assume!(*place != new);
        *place = new;
        let now = value.to_string();
        prop_assert_ne!(part(format, &before, &now), "-", "{}", leaf);
        prop_assert_ne!(part(format, &now, &before), "-", "{}", leaf);
    }

    #[test]
    fn marks_may_stand_anywhere(
        // Gemini takes none.
        body in 0..BODIES.len() - 1,
        here in prop::collection::vec(any::<bool>(), 40),
        there in prop::collection::vec(any::<bool>(), 40),
    ) {
        let (format, body) = BODIES[body];
        let marked = |picks: Vec<bool>| {
            let key = match format {
                WireFormat::Anthropic => "cache_control",
                _ => "prompt_cache_breakpoint",
            };
            let mut value: Value = serde_json::from_str(body).unwrap();
            mark(&mut value, key, false, &mut picks.into_iter());
            value.to_string()
        };
        prop_assert_eq!(part(format, &marked(here), &marked(there)), "-");
    }

    #[test]
    fn nothing_makes_it_panic(
        body in 0..BODIES.len(),
        cut in any::<prop::sample::Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        let (format, body) = BODIES[body];
        let mut now = body.as_bytes().to_vec();
        let at = cut.index(now.len());
        now.splice(at..(at + 2).min(now.len()), bytes);
        first_difference(format, body.as_bytes(), &now);
        first_difference(format, &now, body.as_bytes());
    }
}
