//! What is Gemini's own in requests: heads of models that only the address names, answers by tool and order, and held
//! prefixes.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use tine_history::{History, close_calls};
use tine_model::{
    Block, BoundaryKind, Effort, EntryId, Message, ModelSettings, RawJson, Role, Thinking,
    ToolCallId, ToolInput, WireFormat,
};
use tine_wire::{
    Assembled, CachedContent, CachedPrefix, Endpoint, Head, HeadParts, MarkPoints, RequestOptions,
    ToolDeclaration, assemble, cached_content, framer, import_messages, read_cached_content,
    read_message,
};

fn settings(model: &str) -> ModelSettings {
    let model = model.parse().unwrap();
    ModelSettings { model, max_tokens: 1000, thinking: None, effort: None }
}

fn head_of(settings: ModelSettings) -> Head {
    let tool = |name: &str| ToolDeclaration {
        name: name.into(),
        description: format!("Does {name}."),
        schema: RawJson::parse(r#"{"type":"object","properties":{"z":{},"a":{}}}"#).unwrap(),
    };
    Head::render(HeadParts::new(settings, "Be brief.".into(), vec![tool("Zip"), tool("Add")]))
}

fn head() -> Head {
    head_of(settings("gemini/m"))
}

fn call(id: &str, name: &str) -> Block {
    Block::ToolUse {
        id: ToolCallId(id.into()),
        name: name.into(),
        input: ToolInput::Valid(RawJson::parse(r#"{"z": 1}"#).unwrap()),
    }
}

fn kept(json: &str) -> Message {
    read_message(WireFormat::Gemini, json).unwrap()
}

fn history(messages: &[Message]) -> History {
    let mut history = History::new();
    for message in messages {
        history.push(EntryId(history.len() as i64 + 1), Arc::new(message.clone()));
    }
    history
}

fn request(messages: &[Message], options: &RequestOptions) -> Assembled {
    assemble(&head(), &mut history(messages), options)
}

fn text(assembled: &Assembled) -> String {
    String::from_utf8(assembled.body.to_vec()).unwrap()
}

/// What `next` becomes behind `before`.
fn framed(before: Option<&Message>, next: &Message) -> String {
    let frame = framer(WireFormat::Gemini).frame(&close_calls(before, next));
    String::from_utf8(frame.bytes.to_vec()).unwrap()
}

/// One line per content and part, for reading.
fn lines(body: &str) -> String {
    let parts = ["{\"text\"", "{\"functionCall\"", "{\"functionResponse\""];
    let body = body.replace("{\"role\"", "\n{\"role\"");
    let body =
        parts.into_iter().fold(body, |body, part| body.replace(part, &format!("\n  {part}")));
    body.trim_start().to_owned()
}

#[test]
fn a_mid_turn_fork_answers_the_open_calls_first_and_puts_the_directive_last() {
    let reply = kept(
        r#"{"role":"model","parts":[{"text":"Yes."},{"functionCall":{"id":"p1","name":"Add","args":{"z": 1}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"Zip","args":{}}}]}"#,
    );
    let mut parent = history(&[Message::user("Look around."), reply]);
    let mut child = parent.fork();
    child.push(EntryId(3), Arc::new(Message::user("Task: a")));
    let points = MarkPoints { sent: Some(1), inherited: Some(2) };
    let assembled = assemble(&head(), &mut child, &RequestOptions::at(points));
    insta::assert_snapshot!(lines(&text(&assembled)), @r#"
    {"systemInstruction":{"parts":[
      {"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"Add","description":"Does Add.","parametersJsonSchema":{"type":"object","properties":{"z":{},"a":{}}}},{"name":"Zip","description":"Does Zip.","parametersJsonSchema":{"type":"object","properties":{"z":{},"a":{}}}}]}],"generationConfig":{"maxOutputTokens":1000},"contents":[
    {"role":"user","parts":[
      {"text":"Look around."}]},
    {"role":"model","parts":[
      {"text":"Yes."},
      {"functionCall":{"id":"p1","name":"Add","args":{"z": 1}},"thoughtSignature":"c2ln"},
      {"functionCall":{"name":"Zip","args":{}}}]},
    {"role":"user","parts":[
      {"functionResponse":{"id":"p1","name":"Add","response":{"output":"This call was still open when the conversation went on from here; its result is not part of this conversation."}}},
      {"functionResponse":{"name":"Zip","response":{"output":"This call was still open when the conversation went on from here; its result is not part of this conversation."}}},
      {"text":"Task: a"}]}]}
    "#);
    assert_eq!(assembled.marks, []);
    // Every place ends where the body has the end of a content; the head's is before the first.
    let body = text(&assembled);
    let places: Vec<_> = assembled
        .boundaries
        .iter()
        .map(|place| {
            let sent = place.bytes as usize;
            assert!(place.items == 0 || body[..sent].ends_with("}]}"), "{}", &body[..sent]);
            (place.kind, place.items, place.mark)
        })
        .collect();
    assert_eq!(
        places,
        [
            (BoundaryKind::Head, 0, None),
            (BoundaryKind::Anchor, 1, None),
            (BoundaryKind::ForkPoint, 2, None),
            (BoundaryKind::Tail, 3, None),
        ]
    );
    let tail = assembled.boundary(BoundaryKind::Tail).unwrap();
    assert_eq!(body.len(), tail.bytes as usize + "]}".len());
}

#[test]
fn heads_of_two_models_differ_in_nothing_but_their_identity() {
    let (one, other) = (head_of(settings("gemini/a")), head_of(settings("gemini/b c@1\n")));
    assert_eq!(one.bytes(), other.bytes());
    assert_ne!(one.hash(), other.hash());
    for head in [one, other] {
        let restored = Head::from_stored(&head.to_stored()).unwrap();
        assert_eq!((restored.hash(), restored.model()), (head.hash(), head.model()));
        assert_eq!(restored, head);
    }
    let stored = head().to_stored();
    assert_eq!(stored.lines().next(), Some(r#"head2 gemini - 0 automatic "m""#));
    let nameless = stored.replacen(r#" "m""#, "", 1);
    assert!(Head::from_stored(&nameless).is_err());
    assert!(Head::from_stored("head2 anthropic - 0 marks \"m\"\n{").is_err());
}

#[test]
fn thinking_is_asked_for_by_level_or_by_budget_and_never_by_both() {
    let check = |thinking, effort, expected: &str| {
        let head = head_of(ModelSettings { thinking, effort, ..settings("gemini/m") });
        let bytes = String::from_utf8(head.bytes().to_vec()).unwrap();
        let (_, config) = bytes.split_once("\"generationConfig\":").unwrap();
        assert_eq!(config, format!("{{\"maxOutputTokens\":1000{expected}}},\"contents\":["));
    };
    let config = |what: &str| format!(",\"thinkingConfig\":{{{what},\"includeThoughts\":true}}");
    check(None, None, "");
    check(Some(Thinking::Adaptive), None, &config("\"thinkingBudget\":-1"));
    check(Some(Thinking::Budget(512)), None, &config("\"thinkingBudget\":512"));
    check(None, Some(Effort::Low), &config("\"thinkingLevel\":\"low\""));
    check(Some(Thinking::Budget(512)), Some(Effort::High), &config("\"thinkingLevel\":\"high\""));
}

#[test]
fn turns_of_other_providers_lose_their_thinking_and_get_a_stand_in_signature() {
    let foreign = Message::new(
        Role::Assistant,
        vec![
            Block::Thinking { text: "hm".into(), signature: Some("sig".into()) },
            Block::Text("On it.".into()),
            call("toolu_1", "Add"),
            call("toolu_2", "Zip"),
        ],
    );
    insta::assert_snapshot!(lines(&framed(None, &foreign)), @r#"
    {"role":"model","parts":[
      {"text":"On it."},
      {"functionCall":{"name":"Add","args":{"z": 1}},"thoughtSignature":"skip_thought_signature_validator"},
      {"functionCall":{"name":"Zip","args":{"z": 1}}}]}
    "#);
    // Ids of other providers are not sent, and the order is that of the calls.
    let answers = Message::new(
        Role::User,
        vec![
            Block::result(ToolCallId("toolu_2".into()), "none", true),
            Block::result(ToolCallId("toolu_1".into()), "3", false),
            Block::result(ToolCallId("toolu_9".into()), "late", false),
            Block::Text("And?".into()),
        ],
    );
    insta::assert_snapshot!(lines(&framed(Some(&foreign), &answers)), @r#"
    {"role":"user","parts":[
      {"functionResponse":{"name":"Add","response":{"output":"3"}}},
      {"functionResponse":{"name":"Zip","response":{"error":"none"}}},
      {"text":"Result of the earlier call toolu_9: late"},
      {"text":"And?"}]}
    "#);
    let nothing = Message::new(
        Role::Assistant,
        vec![Block::Thinking { text: "hm".into(), signature: None }, Block::Text(" ".into())],
    );
    assert_eq!(framed(None, &nothing), "");
}

#[test]
fn calls_without_ids_get_names_that_are_never_sent() {
    let json = r#"{"role":"model","parts":[{"functionCall":{"name":"Add","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"Add"}},{"functionCall":{"id":"","name":"Zip","args":null}}]}"#;
    let reply = kept(json);
    let ids: Vec<&str> = reply.tool_calls().map(|call| call.0.as_str()).collect();
    insta::assert_snapshot!(ids.join("\n"), @"
    gemini_18b507d7_0
    gemini_c012240e_1
    gemini_7ef4777c_2
    ");
    assert_eq!(kept(json), reply);
    assert_eq!(framed(None, &reply), json);
    let result = |index: usize| Block::result(ToolCallId(ids[index].into()), "ok", false);
    let answers = Message::new(Role::User, vec![result(2), result(0)]);
    insta::assert_snapshot!(lines(&framed(Some(&reply), &answers)), @r#"
    {"role":"user","parts":[
      {"functionResponse":{"name":"Add","response":{"output":"ok"}}},
      {"functionResponse":{"name":"Add","response":{"output":"This call was still open when the conversation went on from here; its result is not part of this conversation."}}},
      {"functionResponse":{"name":"Zip","response":{"output":"ok"}}}]}
    "#);
}

#[test]
fn a_message_that_came_in_this_format_is_sent_as_it_came() {
    let check = |before: Option<&Message>, json: &str| {
        assert_eq!(framed(before, &kept(json)), json);
    };
    check(
        None,
        r#"{ "parts":[ {"text":"Hi"} , {"inlineData":{"mimeType":"image/png","data":"AA"},"zz":1.0}], "role" : "user"}"#,
    );
    check(
        None,
        r#"{"role":"model","parts":[{"text":"a"},{"text":"","thoughtSignature":"c2ln"}],"zz":[1e2]}"#,
    );
    // An import whose answers have no ids: each is for the next open call of its tool.
    let calls = kept(
        r#"{"role":"model","parts":[{"functionCall":{"name":"Add","args":{}}},{"functionCall":{"name":"Zip","args":{}}},{"functionCall":{"name":"Add","args":{}}}]}"#,
    );
    let answer = |name: &str| {
        format!(r#"{{"functionResponse":{{"name":"{name}","response":{{"n":1.0}}}}}}"#)
    };
    let (add, zip) = (answer("Add"), answer("Zip"));
    let user = |parts: &str| format!(r#"{{"role":"user","parts":[{parts}]}}"#);
    check(Some(&calls), &user(&format!("{add},{zip},{add}")));
    // One answer is missing, one has no call.
    let broken = kept(&user(&format!("{add},{add},{add}")));
    insta::assert_snapshot!(lines(&framed(Some(&calls), &broken)), @r#"
    {"role":"user","parts":[
      {"functionResponse":{"name":"Add","response":{"n":1.0}}},
      {"functionResponse":{"name":"Zip","response":{"output":"This call was still open when the conversation went on from here; its result is not part of this conversation."}}},
      {"functionResponse":{"name":"Add","response":{"n":1.0}}},
      {"text":"Result of the earlier call Add: {\"n\":1.0}"}]}
    "#);
}

#[test]
fn what_the_api_refuses_to_take_back_is_left_out() {
    let check = |json: &str, expected: &str| assert_eq!(framed(None, &kept(json)), expected);
    check(r#"{"role":"model","parts":[]}"#, "");
    check(r#"{"role":"user","parts":null}"#, "");
    check(r#"{"role":"model","parts":[{"text":""},{},{"text":"","thought":true}]}"#, "");
    check(
        r#"{"role":"function","parts":[{"text":"a"}]}"#,
        r#"{"role":"user","parts":[{"text":"a"}]}"#,
    );
    check(
        r#"{"parts":[{"text":"a", "zz":1},{}]}"#,
        r#"{"role":"user","parts":[{"text":"a", "zz":1}]}"#,
    );
    check(
        r#"{"role":"model","parts":[{"functionCall":{"id":"x","args":[1],"name":"Add"},"thoughtSignature":"c2ln"},{"functionCall":{"id":"x","name":"Add","args":{}}}]}"#,
        r#"{"role":"model","parts":[{"functionCall":{"id":"x","args":{},"name":"Add"},"thoughtSignature":"c2ln"}]}"#,
    );
}

#[test]
fn calls_of_models_that_sign_nothing_are_signed_for_those_that_check() {
    let check = |parts: &str, expected: &str| {
        let content = |parts: &str| format!(r#"{{"role":"model","parts":[{parts}],"zz":1.0}}"#);
        let expected = format!(r#"{{"role":"model","parts":[{expected}]}}"#);
        assert_eq!(framed(None, &kept(&content(parts))), expected);
    };
    let signed = r#"{"functionCall":{"name":"Add","args":{"z": 1}},"thoughtSignature":"skip_thought_signature_validator"}"#;
    let second = r#"{"functionCall":{"name":"Zip","args":{}}}"#;
    let first = r#"{"functionCall":{"name":"Add","args":{"z": 1}}}"#;
    check(
        &format!(r#"{{"text":"a"}},{first},{second}"#),
        &format!(r#"{{"text":"a"}},{signed},{second}"#),
    );
    let empty = r#"{"functionCall":{"name":"Add","args":{"z": 1}},"thoughtSignature":""}"#;
    check(empty, signed);
    let wrong = r#"{"functionCall":{"name":"Add","args":[1]}}"#;
    check(
        wrong,
        r#"{"functionCall":{"name":"Add","args":{}},"thoughtSignature":"skip_thought_signature_validator"}"#,
    );
}

#[test]
fn every_part_has_its_block() {
    let image = r#"{"inlineData":{"mimeType":"image/png","data":"AA"}}"#;
    let file = r#"{"fileData":{"fileUri":"u"}}"#;
    let other = r#"{"executableCode":{"code":"1"}}"#;
    let json = format!(
        r#"{{"role":"user","parts":[{{"functionResponse":{{"id":"a","name":"Add","response":{{"output":"3"}}}}}},{{"functionResponse":{{"id":"b","name":"Add","response":{{"error":{{"n": 1}}}}}}}},{{"functionResponse":{{"name":"Zip","response":{{"x":1}}}}}},{image},{file},{other}]}}"#
    );
    let raw = |text: &str| RawJson::parse(text).unwrap();
    assert_eq!(
        kept(&json).blocks(),
        [
            Block::result(ToolCallId("a".into()), "3", false),
            Block::result(ToolCallId("b".into()), r#"{"n": 1}"#, true),
            Block::result(ToolCallId("gemini_result_2_Zip".into()), r#"{"x":1}"#, false),
            Block::Image(raw(image)),
            Block::Document(raw(file)),
            Block::Unknown(raw(other)),
        ]
    );
    let thinking = |text: &str, signature: Option<&str>| Block::Thinking {
        text: text.into(),
        signature: signature.map(str::to_owned),
    };
    let check = |parts: &str, expected: &[Block]| {
        let message = kept(&format!(r#"{{"role":"model","parts":[{parts}]}}"#));
        assert_eq!(message.blocks(), expected, "{parts}");
    };
    let words = |text: &str| Block::Text(text.into());
    // A signature ends the text before it, and only that.
    check(
        r#"{"text":"a"},{"text":"b"},{"text":"c","thoughtSignature":"s"},{"text":"d"}"#,
        &[words("a"), words("bc"), words("d")],
    );
    check(
        r#"{"text":"a","thought":true},{"text":"","thought":true,"thoughtSignature":"s"}"#,
        &[thinking("a", Some("s"))],
    );
    check(
        r#"{"text":"a","thought":true},{"text":"","thoughtSignature":"s"}"#,
        &[thinking("a", None), thinking("", Some("s"))],
    );
    let told = |json: &str| read_message(WireFormat::Gemini, json).unwrap_err().to_string();
    insta::assert_snapshot!(told(r#"{"role":"user","content":"a"}"#), @"the message: missing field `parts`");
    insta::assert_snapshot!(told(r#"{"role":"assistant","parts":[]}"#), @"the role `assistant` is not known");
    insta::assert_snapshot!(told(r#"{"parts":[{"text":1}]}"#), @"part 0: invalid type: integer `1`, expected a string");
    insta::assert_snapshot!(told(r#"{"parts":[{"text":"a"},{"functionCall":{}}]}"#), @"part 1: missing field `name`");
}

#[test]
fn a_held_prefix_is_not_sent_and_is_made_of_the_same_bytes() {
    let reply = Message::new(Role::Assistant, vec![call("c1", "Add")]);
    let mut parent = history(&[Message::user("Look around."), reply]);
    let created = cached_content(&head(), &mut parent, 2, 3600).unwrap();
    let created = String::from_utf8(created.to_vec()).unwrap();
    insta::assert_snapshot!(lines(&created), @r#"
    {"model":"models/m","systemInstruction":{"parts":[
      {"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"Add","description":"Does Add.","parametersJsonSchema":{"type":"object","properties":{"z":{},"a":{}}}},{"name":"Zip","description":"Does Zip.","parametersJsonSchema":{"type":"object","properties":{"z":{},"a":{}}}}]}],"ttl":"3600s","contents":[
    {"role":"user","parts":[
      {"text":"Look around."}]},
    {"role":"model","parts":[
      {"functionCall":{"name":"Add","args":{"z": 1}},"thoughtSignature":"skip_thought_signature_validator"}]}]}
    "#);

    let mut child = parent.fork();
    child.push(EntryId(3), Arc::new(Message::user("Task: a")));
    let whole = assemble(&head(), &mut child, &RequestOptions::default());
    let cached = |items| Some(CachedPrefix { name: "cachedContents/x1".into(), items });
    let options = |items| RequestOptions { cached: cached(items), ..RequestOptions::default() };
    let rest = assemble(&head(), &mut child, &options(2));
    insta::assert_snapshot!(lines(&text(&rest)), @r#"
    {"cachedContent":"cachedContents/x1","generationConfig":{"maxOutputTokens":1000},"contents":[
    {"role":"user","parts":[
      {"functionResponse":{"name":"Add","response":{"output":"This call was still open when the conversation went on from here; its result is not part of this conversation."}}},
      {"text":"Task: a"}]}]}
    "#);
    assert_eq!((rest.items, &rest.prefix), (whole.items, &whole.prefix));
    assert_eq!(rest.boundaries, whole.boundaries);

    // Nothing but the placeholders is new.
    let waiting = text(&assemble(&head(), &mut parent, &options(2)));
    assert!(waiting.contains(r#""contents":[{"role":"user","parts":[{"functionResponse""#));
    // What holds everything or more than there is cannot be used.
    for items in [3, 4] {
        assert_eq!(text(&assemble(&head(), &mut child, &options(items))), text(&whole));
    }
    // The other formats send what they always send.
    let anthropic = Head::render(HeadParts::new(settings("anthropic/m"), String::new(), vec![]));
    let body = assemble(&anthropic, &mut child, &options(2)).body.to_vec();
    let plain = assemble(&anthropic, &mut child, &RequestOptions::default()).body.to_vec();
    assert_eq!(body, plain);
    assert!(cached_content(&anthropic, &mut child, 2, 60).is_none());
}

#[test]
fn what_is_said_of_a_held_prefix_is_read() {
    let body = br#"{"name":"cachedContents/ab-1","model":"models/m","createTime":"2026-01-01T00:00:00Z","expireTime":"2026-01-01T01:00:00.5Z","displayName":"","usageMetadata":{"totalTokenCount":5120}}"#;
    let expected = CachedContent {
        name: "cachedContents/ab-1".into(),
        tokens: Some(5120),
        expires: Some("2026-01-01T01:00:00.5Z".into()),
    };
    assert_eq!(read_cached_content(body), Ok(expected));
    let told = |body: &str| read_cached_content(body.as_bytes()).unwrap_err().to_string();
    insta::assert_snapshot!(told(r#"{"error":{"code":400,"message":"Cached content is too small.","status":"INVALID_ARGUMENT"}}"#), @"invalid request (status 400, INVALID_ARGUMENT): Cached content is too small.");
    insta::assert_snapshot!(told(r#"{"name":"cachedContents/../models"}"#), @"the cached content: `name` is missing or names no cached content");
    insta::assert_snapshot!(told("<html>"), @"the cached content: expected value at line 1 column 1");
    let path = |name| Endpoint::cached_content_path(WireFormat::Gemini, name);
    assert_eq!(path("cachedContents/ab-1").as_deref(), Some("/v1beta/cachedContents/ab-1"));
    assert_eq!(
        (path("cachedContents/"), path("models/x"), path("cachedContents/a/b")),
        (None, None, None)
    );
    assert_eq!(Endpoint::cached_contents_path(WireFormat::Anthropic), None);
}

#[test]
fn conversations_in_this_shape_are_recognised() {
    let text = r#"[{"role":"user","parts":[{"text":"go"}]},
{"role":"model","parts":[{"functionCall":{"name":"Add","args":{}}},{"functionCall":{"name":"Zip","args":{}}}]},
{"role":"function","parts":[{"functionResponse":{"name":"Add","response":{"output":"1"}}}]},
{"role":"function","parts":[{"functionResponse":{"name":"Zip","response":{"output":"2"}}}]}]"#;
    let imported = import_messages(text, WireFormat::Anthropic).unwrap();
    assert_eq!((imported.format, imported.messages.len()), (WireFormat::Gemini, 3));
    insta::assert_snapshot!(lines(&framed(Some(&imported.messages[1]), &imported.messages[2])), @r#"
    {"role":"user","parts":[
      {"functionResponse":{"name":"Add","response":{"output":"1"}}},
      {"functionResponse":{"name":"Zip","response":{"output":"2"}}}]}
    "#);
    // Without a sign of its own a conversation is none of Gemini's.
    let plain = r#"{"role":"user","content":"hi"}"#;
    let imported = import_messages(plain, WireFormat::Gemini).unwrap();
    assert_eq!(
        (imported.format, imported.messages[0].text()),
        (WireFormat::OpenAiChat, "hi".into())
    );
    let mixed = r#"[{"role":"user","parts":[]},{"role":"tool","tool_call_id":"a","content":""}]"#;
    assert!(import_messages(mixed, WireFormat::Gemini).is_err());
}

/// Messages of ours, of other formats, and of Gemini's own with and without ids.
fn message() -> impl Strategy<Value = Message> {
    let tool = |id: u8| if id.is_multiple_of(2) { "Add" } else { "Zip" };
    let part = move |id: u8| match id {
        0..4 => format!(r#"{{"functionCall":{{"id":"c{id}","name":"{}","args":{{}}}}}}"#, tool(id)),
        4..8 => format!(r#"{{"functionCall":{{"name":"{}","args":{{}}}}}}"#, tool(id)),
        8..12 => format!(
            r#"{{"functionResponse":{{"name":"{}","response":{{}},"id":"c{}"}}}}"#,
            tool(id),
            id - 8
        ),
        12..16 => format!(r#"{{"functionResponse":{{"name":"{}","response":{{}}}}}}"#, tool(id)),
        16 => r#"{"text":""}"#.to_owned(),
        _ => r#"{"text":"so"}"#.to_owned(),
    };
    let content = |role: &str, parts: Vec<String>| {
        kept(&format!(r#"{{"role":"{role}","parts":[{}]}}"#, parts.join(",")))
    };
    prop_oneof![
        "[a-zé\"\\\\\n]{0,12}".prop_map(Message::user),
        vec(0u8..6, 1..9).prop_map(move |ids| Message::new(
            Role::Assistant,
            ids.iter().map(|id| call(&format!("c{id}"), tool(*id))).collect()
        )),
        vec(0u8..6, 1..9).prop_map(|ids| Message::new(
            Role::User,
            ids.iter()
                .map(|id| Block::result(ToolCallId(format!("c{id}")), "ok", id % 2 == 0))
                .chain([Block::Text("and".into())])
                .collect()
        )),
        vec(prop_oneof![0u8..8, 16u8..18], 0..7)
            .prop_map(move |ids| content("model", ids.into_iter().map(part).collect())),
        vec(8u8..18, 0..7)
            .prop_map(move |ids| content("user", ids.into_iter().map(part).collect())),
        Just(Message::new(Role::Assistant, Vec::new())),
    ]
}

/// The ids (`null` without one) and tools of one kind of part.
fn named(content: &Value, kind: &str) -> Vec<(Value, Value)> {
    let parts = content["parts"].as_array().cloned().unwrap_or_default();
    let of_kind = parts.iter().filter_map(|part| part.get(kind));
    let mut named: Vec<_> = of_kind.map(|of| (of["id"].clone(), of["name"].clone())).collect();
    named.sort_by_key(|(id, name)| format!("{id}{name}"));
    named
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Every call is answered in the next content, by its id where it has one and by its tool, before any other part.
    #[test]
    fn every_request_pairs_calls_and_answers(messages in vec(message(), 1..30)) {
        let body = text(&request(&messages, &RequestOptions::default()));
        let parsed: Value = serde_json::from_str(&body).unwrap();
        let contents = parsed["contents"].as_array().unwrap();
        for (index, content) in contents.iter().enumerate() {
            let parts = content["parts"].as_array().unwrap();
            prop_assert!(!parts.is_empty());
            let answers = parts.iter().take_while(|part| part.get("functionResponse").is_some());
            prop_assert_eq!(answers.count(), named(content, "functionResponse").len());
            let next = contents.get(index + 1).cloned().unwrap_or_default();
            let calls = named(content, "functionCall");
            prop_assert_eq!(calls, named(&next, "functionResponse"), "after content {}", index);
        }
    }

    /// What is held and what is sent make the contents of the request that holds nothing, wherever the cut is.
    #[test]
    fn held_and_sent_make_the_whole(
        messages in vec(message(), 1..30), items in 0usize..30, fork in 0usize..30,
    ) {
        let mut parent = history(&messages[..fork.min(messages.len())]);
        let mut whole = parent.fork();
        for message in &messages[whole.len()..] {
            whole.push(EntryId(whole.len() as i64 + 1), Arc::new(message.clone()));
        }
        let items = items.min(messages.len());
        let cached = Some(CachedPrefix { name: "cachedContents/x".into(), items });
        let options = RequestOptions { cached, ..RequestOptions::default() };
        let parse = |bytes: Vec<u8>| serde_json::from_slice::<Value>(&bytes).unwrap();
        let sent = parse(assemble(&head(), &mut whole, &options).body.to_vec());
        let held = parse(cached_content(&head(), &mut whole, items, 60).unwrap().to_vec());
        let all = parse(assemble(&head(), &mut whole, &RequestOptions::default()).body.to_vec());
        let list = |value: &Value| value["contents"].as_array().cloned().unwrap_or_default();
        if sent.get("cachedContent").is_some() {
            prop_assert_eq!([list(&held), list(&sent)].concat(), list(&all));
            prop_assert!(sent.get("systemInstruction").is_none() && sent.get("tools").is_none());
        } else {
            prop_assert_eq!(&sent, &all);
            prop_assert_eq!(list(&held), list(&all));
        }
        prop_assert_eq!(&held["tools"], &all["tools"]);
        prop_assert_eq!(&held["systemInstruction"], &all["systemInstruction"]);
    }

    /// A kept message reads back as itself, and its names do not change.
    #[test]
    fn kept_text_reads_back_equal(message in message()) {
        if let Some(raw) = message.raw() {
            prop_assert_eq!(&kept(raw.json.as_str()), &message);
        }
    }
}
