use proptest::prelude::*;
use tine_model::{Block, ModelSettings, Role};

use super::*;
use crate::failure::decode_failure;
use crate::{FailureKind, HeadParts};

fn told(words: &str) -> String {
    let members = refused_members(words);
    members.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Each as it was reported of the server that is named.
#[test]
fn every_server_says_in_its_own_words_what_it_refuses() {
    let check = |words: &str, members: &str| assert_eq!(told(words), members, "{words}");
    // Groq.
    check(
        "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning' is unsupported)]",
        "messages.reasoning",
    );
    check(
        "'messages.2.tool_calls.0' : property 'index' is unsupported",
        "messages.tool_calls.index",
    );
    check("property 'metadata' is unsupported, did you mean 'stop'?", "metadata");
    // Cerebras.
    check(
        "messages.2.assistant.reasoning_content: property 'messages.2.assistant.reasoning_content' is unsupported\nmessages.4.assistant.reasoning_content: property 'messages.4.assistant.reasoning_content' is unsupported",
        "messages.reasoning_content",
    );
    // LiteLLM of its own, and quoting Mistral as Python writes it.
    check(
        "litellm.UnsupportedParamsError: anthropic does not support parameters: ['prompt_cache_key', 'user'], for model=claude-x. To drop these, set `litellm.drop_params=True`",
        "prompt_cache_key user",
    );
    check(
        "MistralException - {'detail': [{'type': 'extra_forbidden', 'loc': ('body', 'messages', 1, 'assistant', 'tool_calls', 0, 'index'), 'msg': 'Extra inputs are not permitted'}]}",
        "messages.tool_calls.index",
    );
    // Mistral, of what stands inside a setting.
    check("body.stream_options.include_usage: Extra inputs are not permitted", "stream_options");
    // OpenAI.
    check("Unknown parameter: 'messages[3].annotations'.", "messages.annotations");
    check("Unknown parameter: 'input[3].namespace'.", "messages.namespace");
    check("Unrecognized request argument supplied: prompt_cache_key", "prompt_cache_key");
    check("Unsupported parameter: 'temperature' is not supported with this model.", "temperature");
    check(
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        "temperature",
    );
    check("`temperature` is deprecated for this model.", "temperature");
    // NVIDIA.
    check("Validation: Unsupported parameter(s): `prompt_cache_key`", "prompt_cache_key");
    // Anthropic.
    check(
        "messages.1.content.0.text.caller: Extra inputs are not permitted",
        "messages.content.caller",
    );
    check("diagnostics: Extra inputs are not permitted", "diagnostics");
    // Google.
    check(
        "Invalid JSON payload received. Unknown name \"index\" at 'contents[1].parts[0]': Cannot find field.",
        "messages.parts.index",
    );
    // serde.
    check(
        "messages[1]: unknown field `reasoning`, expected one of `role`, `content`",
        "messages.reasoning",
    );
}

/// Wishes, and what a message says, are not left out behind anybody's back.
#[test]
fn what_a_request_cannot_do_without_is_never_left_out() {
    for words in [
        "property 'store' is unsupported",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "'messages.1' : property 'content' is unsupported",
        "messages.4.content.1.tool_use.text: Extra inputs are not permitted",
        "Unknown parameter: 'tools[0].strict'.",
        "thinking.enabled.budget_tokens: Extra inputs are not permitted",
        "model is unsupported",
        "",
    ] {
        assert_eq!(told(words), "", "{words}");
    }
}

/// Mistral answers in several forms; the input that it quotes may be longer than what is kept of an answer.
#[test]
fn a_validators_errors_are_told_by_their_places() {
    let long = "x".repeat(5_000);
    let error = |number: u32| {
        format!(
            r#"{{"type":"extra_forbidden","loc":["body","messages",{number},"assistant","reasoning_content"],"msg":"Extra inputs are not permitted","input":"{long}"}}"#
        )
    };
    let list = format!("[{},{}]", error(2), error(4));
    let text = serde_json::Value::from(format!(r#"{{"detail":{list}}}"#)).to_string();
    let line = "body.messages.2.assistant.reasoning_content: Extra inputs are not permitted";
    for body in [
        format!(r#"{{"detail":{list}}}"#),
        format!(
            r#"{{"object":"error","message":{{"detail":{list}}},"type":"invalid_request_error"}}"#
        ),
        format!(r#"{{"object":"Error","detail":{list},"message":{list}}}"#),
        format!(r#"{{"object":"error","message":{text},"type":"internal_error_proxy"}}"#),
        format!(
            r#"{{"error":{{"message":{}}}}}"#,
            serde_json::Value::from(format!(
                "litellm.BadRequestError: MistralException - {{\"detail\":{list}}}"
            ))
        ),
    ] {
        let failure = decode_failure(WireFormat::OpenAiChat, 422, None, body.as_bytes());
        assert_eq!(failure.kind, FailureKind::InvalidRequest);
        assert_eq!(failure.message, line);
        assert_eq!(told(&failure.message), "messages.reasoning_content");
    }
}

#[test]
fn a_member_is_read_from_its_text() {
    for text in ["prompt_cache_key", "messages.reasoning", "messages.tool_calls.index"] {
        assert_eq!(Member::parse(text).unwrap().to_string(), text);
    }
    for text in
        ["", "messages", "messages.", "messages.content", "model", "a.b", "messages.a.b.c.d.e"]
    {
        assert_eq!(Member::parse(text), None, "{text}");
    }
}

fn dialect(members: &[&str]) -> Dialect {
    Dialect::of(members.iter().map(|text| Member::parse(text).unwrap()))
}

fn message(json: &str) -> Message {
    read_message(WireFormat::OpenAiChat, json).unwrap()
}

#[test]
fn a_message_keeps_every_other_byte() {
    let check = |members: &[&str], before: &str, after: &str| {
        let changed = dialect(members).message(EntryId(1), &message(before)).unwrap();
        assert_eq!(changed.raw().unwrap().json.as_str(), after);
        assert_eq!(changed.role(), Role::Assistant);
    };
    check(
        &["messages.reasoning", "messages.channel"],
        r#"{"role":"assistant", "channel":"x","content":"\u0041 ","reasoning":"r"}"#,
        r#"{"role":"assistant", "content":"\u0041 "}"#,
    );
    check(
        &["messages.tool_calls.index"],
        r#"{"role":"assistant","index":0,"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"index\":1}"}},{"id":"b","function":{"name":"f","arguments":"{}"},"index":1}]}"#,
        r#"{"role":"assistant","index":0,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{\"index\":1}"}},{"id":"b","function":{"name":"f","arguments":"{}"}}]}"#,
    );
    let items = r#"[{"type":"reasoning","id":"r","summary":[],"status":null},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[],"logprobs":[]}]}]"#;
    let items = read_message(WireFormat::OpenAiResponses, items).unwrap();
    let changed = dialect(&["messages.content.logprobs", "messages.status"])
        .message(EntryId(1), &items)
        .unwrap();
    assert_eq!(
        changed.raw().unwrap().json.as_str(),
        r#"[{"type":"reasoning","id":"r","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]}]}]"#
    );
    let own = Message::user("reasoning");
    assert_eq!(dialect(&["messages.reasoning"]).message(EntryId(1), &own), None);
    assert_eq!(
        dialect(&["messages.reasoning"])
            .message(EntryId(1), &message(r#"{"role":"assistant","content":"reasoning"}"#)),
        None
    );
}

#[test]
fn a_head_keeps_its_places_for_marks() {
    let settings = ModelSettings {
        model: "openai-chat/m".parse().unwrap(),
        max_tokens: 9,
        thinking: None,
        effort: None,
    };
    let parts = HeadParts::new(settings, "Be brief.".to_owned(), Vec::new());
    let head = Head::render(HeadParts { cache_key: Some("k".to_owned()), ..parts });
    let body = |head: &Head| String::from_utf8(head.bytes().to_vec()).unwrap();
    let changed = dialect(&["prompt_cache_key", "stream_options"]).head(&head).unwrap();
    assert_eq!(
        body(&changed),
        r#"{"model":"m","max_completion_tokens":9,"stream":true,"messages":[{"role":"system","content":[{"type":"text","text":"Be brief."}]}"#
    );
    let at = |head: &Head| body(head)[head.slots[0].offset..].to_owned();
    assert_eq!(at(&changed), at(&head));
    assert_eq!(changed.scheme(), CacheScheme::Breakpoints);
    assert_ne!(changed.hash(), head.hash());
    let unmarked = dialect(&["messages.content.prompt_cache_breakpoint"]).head(&head).unwrap();
    assert_eq!((body(&unmarked), unmarked.scheme()), (body(&head), CacheScheme::Automatic));
    assert_eq!(dialect(&["messages.reasoning", "metadata"]).head(&head), None);
}

#[test]
fn known_hosts_have_their_own_lists() {
    let of = |host: &str| Dialect::of_host(host, WireFormat::OpenAiChat);
    for (host, members) in HOSTS {
        assert_eq!(of(host).members().count(), members.len(), "{host}: a text is no member");
    }
    assert!(of("api.mistral.ai").covers(&dialect(&["stream_options"])));
    assert!(of("API.Groq.com").covers(&dialect(&["messages.reasoning"])));
    for host in ["api.deepseek.com", "openrouter.ai", "localhost", "evil-api.groq.com.example"] {
        assert!(of(host).is_empty(), "{host}");
    }
    assert!(Dialect::of_host("api.groq.com", WireFormat::Anthropic).is_empty());
}

proptest! {
    /// Whatever a server says: no panic, and only what can be left out.
    #[test]
    fn any_words_are_read(words in r#"(property '|' is unsupported|messages|\.|\[|\]|[0-9]|: Extra inputs are not permitted|Unknown name |unknown field |'loc': \(|extra_forbidden|does not support parameters: |[a-z'"`,é ()])*"#) {
        for member in refused_members(&words) {
            prop_assert_eq!(Member::parse(&member.to_string()), Some(member));
        }
    }

    /// Once without the members, a message is not changed again.
    #[test]
    fn leaving_out_happens_once(keys in prop::collection::vec("reasoning|channel|x|y", 0..6)) {
        let members: std::collections::BTreeSet<String> = keys.into_iter().collect();
        let fields: String = members.iter().map(|key| format!(r#""{key}": [1, {{"reasoning":2}}] , "#)).collect();
        let before = message(&format!(r#"{{{fields}"role":"assistant","content":"c"}}"#));
        let dialect = dialect(&["messages.reasoning", "messages.channel"]);
        if let Some(changed) = dialect.message(EntryId(1), &before) {
            prop_assert_eq!(dialect.message(EntryId(1), &changed), None);
        } else {
            prop_assert!(!members.contains("reasoning") && !members.contains("channel"));
        }
    }
}

/// Each as it was reported of the server that is named.
#[test]
fn every_server_says_in_its_own_words_which_block_it_refuses() {
    use BlockKind::{Document, Picture, Reasoning};
    for (words, kind, message) in [
        // Anthropic.
        ("messages.1.content.0: Invalid `signature` in `thinking` block", Reasoning, Some(1)),
        ("messages.3.content.0.thinking.signature: Field required", Reasoning, Some(3)),
        (
            "messages.5.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified",
            Reasoning,
            Some(5),
        ),
        ("Could not process image", Picture, None),
        (
            "messages.2.content.0.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
            Picture,
            Some(2),
        ),
        (
            "messages.0.content.1.document.source.base64.data: The PDF specified was not valid.",
            Document,
            Some(0),
        ),
        // OpenAI.
        ("The encrypted content gAAA... could not be verified.", Reasoning, None),
        (
            "Item 'rs_0a' of type 'reasoning' was provided without its required following item.",
            Reasoning,
            None,
        ),
        (
            "Invalid 'input[7].content[0].image_url'. Expected a valid URL, but got a value with an invalid format.",
            Picture,
            Some(7),
        ),
        // Google.
        ("Thought signature is not valid.", Reasoning, None),
        ("Unable to process input image. Please retry or report in the forum.", Picture, None),
        // DeepSeek, OpenRouter, Mistral.
        (
            "Failed to deserialize the JSON body into the target type: messages[3]: unknown variant `image_url`, expected `text`",
            Picture,
            Some(3),
        ),
        ("No endpoints found that support image input", Picture, None),
        ("Image input is not enabled for this model", Picture, None),
    ] {
        assert_eq!(refused_block(words), Some((kind, message)), "{words}");
    }
    for words in [
        "max_tokens: must be at most 8192",
        "a bad revision; see the documentation",
        "messages.1: all messages must have non-empty content",
    ] {
        assert_eq!(refused_block(words), None, "{words}");
    }
}

#[test]
fn blocks_are_left_out_of_the_messages_that_are_meant_and_stay_in_later_ones() {
    let thought = read_message(
        WireFormat::Anthropic,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"},{"type":"text","text":"hi"}]}"#,
    )
    .unwrap();
    let picture = read_message(
        WireFormat::Anthropic,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{}}]}]}"#,
    )
    .unwrap();
    let texts = ["reasoning up to entry 5", "pictures in entry 7"];
    let dialect = Dialect::without(texts.iter().filter_map(|text| LeftOut::parse(text)));
    assert_eq!(dialect.message(EntryId(5), &thought).unwrap().blocks(), [Block::Text("hi".into())]);
    assert_eq!(dialect.message(EntryId(6), &thought), None);
    assert_eq!(dialect.message(EntryId(6), &picture), None);
    let cut = dialect.message(EntryId(7), &picture).unwrap();
    let Block::ToolResult { content, .. } = &cut.blocks()[0] else { panic!("a result") };
    assert!(matches!(&content[..], [Block::Text(text)] if text.contains("picture")), "{cut:?}");
    assert!(dialect.covers(&Dialect::default()) && !Dialect::default().covers(&dialect));
    for text in texts.into_iter().chain([
        "messages.reasoning",
        "call ids but of 9 letters and digits",
        "call ids but of letters, digits, _ and -",
        "call ids but of at most 40 characters",
    ]) {
        assert_eq!(LeftOut::parse(text).unwrap().to_string(), text);
    }
    // Gemini's signatures stand at its calls, and a stand-in of its own takes their place.
    let call = read_message(
        WireFormat::Gemini,
        r#"{"role":"model","parts":[{"functionCall":{"name":"Add","args":{}},"thoughtSignature":"old"}]}"#,
    )
    .unwrap();
    assert_eq!(dialect.message(EntryId(5), &call).unwrap().raw(), None);
}
