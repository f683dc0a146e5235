//! Requests to OpenAI as bytes: Responses, and chat with contents as parts.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;
use tine_history::History;
use tine_model::{
    Block, CacheScheme, Effort, EntryId, Lifetime, Message, ModelSettings, RawJson, Role,
    ToolCallId, ToolInput, WireFormat,
};
use tine_wire::{
    Comparison, Head, HeadParts, Lifetimes, MarkPoints, RequestOptions, ToolDeclaration, assemble,
    import_messages, read_message,
};

fn parts(model: &str) -> HeadParts {
    let tool = |name: &str| ToolDeclaration {
        name: name.into(),
        description: format!("Does {name}."),
        schema: RawJson::parse(r#"{"type":"object","properties":{"z":{},"a":{}}}"#).unwrap(),
    };
    let settings = ModelSettings {
        model: model.parse().unwrap(),
        max_tokens: 1000,
        thinking: None,
        effort: Some(Effort::Medium),
    };
    let parts = HeadParts::new(settings, "Be brief.".into(), vec![tool("fs.read"), tool("Add")]);
    HeadParts { cache_key: Some("lineage-7f3a".into()), ..parts }
}

fn call(id: &str, name: &str) -> Block {
    Block::ToolUse {
        id: ToolCallId(id.into()),
        name: name.into(),
        input: ToolInput::Valid(RawJson::parse(r#"{"z": 1,"a":2}"#).unwrap()),
    }
}

fn kept(format: WireFormat, json: &str) -> Message {
    read_message(format, json).unwrap()
}

fn push(history: &mut History, message: Message) {
    history.push(EntryId(history.len() as i64 + 1), Arc::new(message));
}

fn history(messages: impl IntoIterator<Item = Message>) -> History {
    let mut history = History::new();
    messages.into_iter().for_each(|message| push(&mut history, message));
    history
}

fn text(parts: HeadParts, history: &mut History, options: &RequestOptions) -> String {
    let body = assemble(&Head::render(parts), history, options).body;
    String::from_utf8(body.to_vec()).unwrap()
}

/// One line per element, for reading.
fn lines(body: &str) -> String {
    body.replace("{\"role\"", "\n{\"role\"").replace("{\"type\"", "\n  {\"type\"")
}

/// The items or messages alone, as they are sent without marks.
fn sent(model: &str, messages: Vec<Message>) -> String {
    let parts = HeadParts { scheme: CacheScheme::Automatic, system: String::new(), ..parts(model) };
    let text = text(parts, &mut history(messages), &RequestOptions::default());
    let (_, list) = text.split_once("\"input\":[").or(text.split_once("\"messages\":[")).unwrap();
    list.strip_suffix("]}").unwrap().to_owned()
}

const ANSWERED: &str = r#"[{"id":"rs_1","type":"reasoning","summary":[], "encrypted_content":"gAAA"},{"type":"function_call","id":"fc_1","call_id":"c1","name":"Add","arguments":"{\"z\": 1}","status":"completed"},{"type":"function_call","call_id":"c2","name":"fs_-2eread","arguments":"{}"}]"#;

fn mid_turn_fork(format: WireFormat) -> History {
    let turn = match format {
        WireFormat::OpenAiResponses => kept(format, ANSWERED),
        _ => Message::new(Role::Assistant, vec![call("c1", "Add"), call("c2", "fs.read")]),
    };
    let mut parent = history([Message::user("Look around."), turn]);
    let mut child = parent.fork();
    push(&mut child, Message::user("Task: a"));
    child
}

fn forked(compare_with: Option<&str>) -> RequestOptions {
    RequestOptions {
        comparison: compare_with.map_or(Comparison::None, |id| Comparison::With(id.to_owned())),
        ..RequestOptions::at(MarkPoints { sent: Some(1), inherited: Some(2) })
    }
}

#[test]
fn a_mid_turn_fork_keeps_the_items_and_marks_what_siblings_share() {
    let mut child = mid_turn_fork(WireFormat::OpenAiResponses);
    let text = text(parts("openai/m"), &mut child, &forked(Some("resp_parent")));
    insta::assert_snapshot!(lines(&text), @r#"
    {"model":"m","max_output_tokens":1000,"stream":true,"store":false,"include":["reasoning.encrypted_content"],"prompt_cache_key":"lineage-7f3a","reasoning":{"effort":"medium"},"tools":[
      {"type":"function","name":"Add","description":"Does Add.","parameters":
      {"type":"object","properties":{"z":{},"a":{}}},"strict":false},
      {"type":"function","name":"fs_-2eread","description":"Does fs.read.","parameters":
      {"type":"object","properties":{"z":{},"a":{}}},"strict":false}],"input":[
    {"role":"developer","content":[
      {"type":"input_text","text":"Be brief.","prompt_cache_breakpoint":{"mode":"explicit"}}]},
    {"role":"user","content":[
      {"type":"input_text","text":"Look around.","prompt_cache_breakpoint":{"mode":"explicit"}}]},{"id":"rs_1","type":"reasoning","summary":[], "encrypted_content":"gAAA"},
      {"type":"function_call","id":"fc_1","call_id":"c1","name":"Add","arguments":"{\"z\": 1}","status":"completed"},
      {"type":"function_call","call_id":"c2","name":"fs_-2eread","arguments":"{}"},
      {"type":"function_call_output","call_id":"c1","output":[
      {"type":"input_text","text":"This call was still open when the conversation went on from here; its result is not part of this conversation."}]},
      {"type":"function_call_output","call_id":"c2","output":[
      {"type":"input_text","text":"This call was still open when the conversation went on from here; its result is not part of this conversation.","prompt_cache_breakpoint":{"mode":"explicit"}}]},
    {"role":"user","content":[
      {"type":"input_text","text":"Task: a","prompt_cache_breakpoint":{"mode":"explicit"}}]}],"prompt_cache_options":{"mode":"explicit","ttl":"30m","comparison_response_id":"resp_parent"}}
    "#);
    serde_json::from_str::<Value>(&text).unwrap();
}

#[test]
fn a_chat_fork_has_its_contents_as_parts() {
    let mut child = mid_turn_fork(WireFormat::OpenAiChat);
    let text = text(parts("openai-chat/m"), &mut child, &forked(Some("not asked in chat")));
    insta::assert_snapshot!(lines(&text), @r#"
    {"model":"m","max_completion_tokens":1000,"prompt_cache_key":"lineage-7f3a","reasoning_effort":"medium","stream":true,"stream_options":{"include_usage":true},"tools":[
      {"type":"function","function":{"name":"Add","description":"Does Add.","parameters":
      {"type":"object","properties":{"z":{},"a":{}}}}},
      {"type":"function","function":{"name":"fs_-2eread","description":"Does fs.read.","parameters":
      {"type":"object","properties":{"z":{},"a":{}}}}}],"messages":[
    {"role":"system","content":[
      {"type":"text","text":"Be brief.","prompt_cache_breakpoint":{"mode":"explicit"}}]},
    {"role":"user","content":[
      {"type":"text","text":"Look around.","prompt_cache_breakpoint":{"mode":"explicit"}}]},
    {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Add","arguments":"{\"z\": 1,\"a\":2}"}},{"id":"c2","type":"function","function":{"name":"fs_-2eread","arguments":"{\"z\": 1,\"a\":2}"}}]},
    {"role":"tool","tool_call_id":"c1","content":[
      {"type":"text","text":"This call was still open when the conversation went on from here; its result is not part of this conversation."}]},
    {"role":"tool","tool_call_id":"c2","content":[
      {"type":"text","text":"This call was still open when the conversation went on from here; its result is not part of this conversation.","prompt_cache_breakpoint":{"mode":"explicit"}}]},
    {"role":"user","content":[
      {"type":"text","text":"Task: a","prompt_cache_breakpoint":{"mode":"explicit"}}]}],"prompt_cache_options":{"mode":"explicit","ttl":"30m"}}
    "#);
    serde_json::from_str::<Value>(&text).unwrap();
}

#[test]
fn older_models_are_sent_neither_key_nor_options_nor_marks() {
    for (model, format) in
        [("openai/m", WireFormat::OpenAiResponses), ("openai-chat/m", WireFormat::OpenAiChat)]
    {
        let parts = HeadParts { scheme: CacheScheme::Automatic, ..parts(model) };
        let text = text(parts, &mut mid_turn_fork(format), &forked(Some("r")));
        assert!(!text.contains("prompt_cache"), "{text}");
        assert!(text.ends_with("]}]}"), "{text}");
    }
    let compatible = text(
        HeadParts { scheme: CacheScheme::Breakpoints, ..parts("openai-compat/m") },
        &mut mid_turn_fork(WireFormat::OpenAiChat),
        &forked(None),
    );
    assert!(!compatible.contains("prompt_cache"), "plain strings take no breakpoint");
}

#[test]
fn the_long_lifetime_is_asked_for_where_there_is_one() {
    let request = |model: &str, messages: Lifetime| {
        let options = RequestOptions {
            lifetimes: Lifetimes::new(Lifetime::Long, messages),
            ..RequestOptions::default()
        };
        text(parts(model), &mut history([Message::user("hi")]), &options)
    };
    let text = request("openai/m", Lifetime::Short);
    assert_eq!(
        text.matches(r#","prompt_cache_breakpoint":{"mode":"explicit","ttl":"12h"}"#).count(),
        1
    );
    assert!(text.ends_with(r#""prompt_cache_options":{"mode":"explicit","ttl":"30m"}}"#));
    let text = request("openai/m", Lifetime::Long);
    assert_eq!(text.matches(r#"{"mode":"explicit","ttl":"12h"}"#).count(), 3);
    let text = request("openai-chat/m", Lifetime::Long);
    assert!(text.contains("30m") && !text.contains("12h"));
}

#[test]
fn reasoning_that_led_to_nothing_is_not_sent() {
    let reasoning = r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#;
    let said =
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#;
    let check = |items: &[&str], expected: &str| {
        let message = kept(WireFormat::OpenAiResponses, &format!("[{}]", items.join(" , ")));
        assert_eq!(sent("openai/m", vec![message]), expected);
    };
    check(&[reasoning, said], &format!("{reasoning},{said}"));
    check(&[said, reasoning, reasoning], said);
    check(&[reasoning], "");
    let later = r#"{"type":"of_tomorrow", "n":1.0}"#;
    check(&[reasoning, later], &format!("{reasoning},{later}"));
}

/// Nothing is stored, so an item that is known by its id alone is not there for the server: neither is what refers to it.
#[test]
fn reasoning_that_came_without_its_content_is_not_sent() {
    let check = |items: &[&str], expected: &[&str]| {
        let message = kept(WireFormat::OpenAiResponses, &format!("[{}]", items.join(",")));
        assert_eq!(sent("openai/m", vec![message]), expected.join(","));
    };
    let lost = r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":null}"#;
    let sealed = r#"{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":"x"}"#;
    let open = r#"{"id":"rs_3","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}"#;
    let said = r#"{"id":"msg_1", "type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#;
    let anonymous =
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#;
    check(&[lost, said], &[anonymous]);
    check(&[lost], &[]);
    check(&[lost, said, sealed, said], &[anonymous, sealed, said]);
    check(&[sealed, said, lost, said], &[sealed, said, anonymous]);
    check(&[open, said], &[open, said]);
}

#[test]
fn arguments_that_are_no_object_stand_as_an_empty_one() {
    let cut = r#"{"type":"function_call","id":"fc" ,"call_id":"c","name":"n","arguments":"{\"a\":","n":1.0}"#;
    let text = sent("openai/m", vec![kept(WireFormat::OpenAiResponses, cut)]);
    let expected = r#"{"type":"function_call","id":"fc" ,"call_id":"c","name":"n","arguments":"{}","n":1.0},{"type":"function_call_output","#;
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn what_other_providers_said_is_told_again() {
    let signed = Block::Thinking { text: "hm".into(), signature: Some("theirs".into()) };
    let said = |text: &str| Block::Text(text.into());
    let messages = vec![
        Message::new(
            Role::Assistant,
            vec![signed, said("a"), said("b"), call("c1", "fs.read"), call("c1", "n"), said("c")],
        ),
        Message::new(
            Role::User,
            vec![
                Block::result(ToolCallId("zz".into()), "old", false),
                Block::result(ToolCallId("c1".into()), "ok", true),
                said("on"),
            ],
        ),
        Message::new(Role::System, vec![said("Mind the step.")]),
        Message::new(Role::User, vec![said("")]),
    ];
    insta::assert_snapshot!(lines(&sent("openai/m", messages.clone())), @r#"
      {"type":"message","role":"assistant","content":[
      {"type":"output_text","text":"a"},
      {"type":"output_text","text":"b"}]},
      {"type":"function_call","call_id":"c1","name":"fs_-2eread","arguments":"{\"z\": 1,\"a\":2}"},
      {"type":"message","role":"assistant","content":[
      {"type":"output_text","text":"c"}]},
      {"type":"function_call_output","call_id":"c1","output":[
      {"type":"input_text","text":"ok"}]},
    {"role":"user","content":[
      {"type":"input_text","text":"Result of the earlier call zz: old"},
      {"type":"input_text","text":"on"}]},
    {"role":"developer","content":[
      {"type":"input_text","text":"Mind the step."}]}
    "#);
    insta::assert_snapshot!(lines(&sent("openai-chat/m", messages)), @r#"
    {"role":"assistant","content":"a\n\nb\n\nc","tool_calls":[{"id":"c1","type":"function","function":{"name":"fs_-2eread","arguments":"{\"z\": 1,\"a\":2}"}}]},
    {"role":"tool","tool_call_id":"c1","content":[
      {"type":"text","text":"ok"}]},
    {"role":"user","content":[
      {"type":"text","text":"Result of the earlier call zz: old"},
      {"type":"text","text":"on"}]},
    {"role":"user","content":[
      {"type":"text","text":"Mind the step."}]},
    {"role":"user","content":""}
    "#);
}

#[test]
fn an_empty_result_is_an_empty_string() {
    let turn = || {
        vec![
            Message::new(Role::Assistant, vec![call("c", "n")]),
            Message::new(Role::User, vec![Block::result(ToolCallId("c".into()), "", false)]),
        ]
    };
    let text = sent("openai/m", turn());
    assert!(
        text.ends_with(r#"{"type":"function_call_output","call_id":"c","output":""}"#),
        "{text}"
    );
    let text = sent("openai-chat/m", turn());
    assert!(text.ends_with(r#"{"role":"tool","tool_call_id":"c","content":""}"#), "{text}");
}

#[test]
fn an_imported_conversation_is_sent_as_it_was() {
    let items = [
        r#"{"role":"user","content":[{"type":"input_text","text":"go"},{"type":"input_image","image_url":"u"}]}"#,
        r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#,
        r#"{"type":"function_call","call_id":"a","name":"n","arguments":"{}"}"#,
        r#"{"type":"function_call","call_id":"b","name":"n","arguments":"{}"}"#,
        r#"{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"ok"}],"n":1.0}"#,
        r#"{"type":"function_call_output","call_id":"a","output":"ok"}"#,
        r#"{"type":"message","id":"msg","role":"assistant","content":[{"type":"output_text","text":"done","annotations":[]}]}"#,
    ];
    let text = format!("[{}]", items.join(",\n"));
    let imported = import_messages(&text, WireFormat::Anthropic).unwrap();
    assert_eq!(imported.format, WireFormat::OpenAiResponses);
    let roles: Vec<Role> = imported.messages.iter().map(Message::role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User, Role::Assistant]);
    // A text takes marks as a part only.
    let expected = items
        .join(",")
        .replace(r#""output":"ok""#, r#""output":[{"type":"input_text","text":"ok"}]"#);
    assert_eq!(sent("openai/m", imported.messages), expected);
}

#[test]
fn reasoning_of_chat_servers_is_sent_back_word_for_word() {
    let answer = r#"{"role":"assistant","content":"","reasoning_content":"I th\u00efnk.", "tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}],"n":1.0}"#;
    let result = r#"{"role":"tool","tool_call_id":"c","content":"ok"}"#;
    let chat = |json: &str| kept(WireFormat::OpenAiChat, json);
    let text = sent("deepseek/m", vec![Message::user("hi"), chat(answer), chat(result)]);
    assert_eq!(text, format!(r#"{{"role":"user","content":"hi"}},{answer},{result}"#));
}

/// Messages that were written here, and messages that came in the format.
fn message() -> impl Strategy<Value = Message> {
    let id = || (0u8..4).prop_map(|id| format!("c{id}"));
    let items = prop_oneof![
        Just(r#"{"type":"reasoning","summary":[],"encrypted_content":"x"}"#.to_owned()),
        Just(r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}"#.to_owned()),
        id().prop_map(|id| format!(r#"{{"type":"function_call","call_id":"{id}","name":"n","arguments":"{{\""}}"#)),
    ];
    let answers = prop_oneof![
        id().prop_map(|id| format!(
            r#"{{"type":"function_call_output","call_id":"{id}","output":"ok"}}"#
        )),
        Just(
            r#"{"role":"user","content":[{"type":"input_text","text":"x"},{"type":"later"}]}"#
                .to_owned()
        ),
        Just(r#"{"role":"user","content":"é"}"#.to_owned()),
    ];
    let list =
        |items: Vec<String>| kept(WireFormat::OpenAiResponses, &format!("[{}]", items.join(",")));
    prop_oneof![
        "[a-zé\"\\\\\n]{0,8}".prop_map(Message::user),
        prop::collection::vec(id(), 1..4).prop_map(|ids| Message::new(
            Role::Assistant,
            ids.iter().map(|id| call(id, "n")).chain([Block::Text("b".into())]).collect()
        )),
        prop::collection::vec(id(), 1..4).prop_map(|ids| Message::new(
            Role::User,
            ids.iter().map(|id| Block::result(ToolCallId(id.clone()), "ok", false)).collect()
        )),
        prop::collection::vec(items, 1..6).prop_map(list),
        prop::collection::vec(answers, 1..6).prop_map(list),
        Just(Message::new(Role::System, vec![Block::Text("s".into())])),
        Just(Message::new(Role::Assistant, Vec::new())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Every call is answered, after it and before anything that is not the model's; every answer has its call; reasoning
    /// is never without what it led to.
    #[test]
    fn every_request_pairs_its_items(messages in prop::collection::vec(message(), 1..20)) {
        let body = text(parts("openai/m"), &mut history(messages), &RequestOptions::default());
        let parsed: Value = serde_json::from_str(&body).unwrap();
        let mut open: Vec<String> = Vec::new();
        let mut reasoned = false;
        for item in parsed["input"].as_array().unwrap() {
            let id = item["call_id"].as_str().unwrap_or_default().to_owned();
            let models = item["role"] == "assistant" || item["role"].is_null() && id.is_empty();
            match item["type"].as_str() {
                Some("function_call") => {
                    prop_assert!(!open.contains(&id), "{} is called twice in {}", id, body);
                    open.push(id);
                    reasoned = false;
                }
                Some("function_call_output") => {
                    prop_assert!(!reasoned, "{}", body);
                    let place = open.iter().position(|other| *other == id);
                    prop_assert!(place.is_some(), "{} is not open in {}", id, body);
                    place.map(|place| open.remove(place));
                }
                kind => {
                    prop_assert!(models || open.is_empty() && !reasoned, "{}", body);
                    reasoned = kind == Some("reasoning");
                }
            }
        }
        prop_assert!(open.is_empty() && !reasoned, "{}", body);
    }

    /// Siblings agree up to the directive, and no request has more than four marks, in either format.
    #[test]
    fn forks_share_their_prefix(
        messages in prop::collection::vec(message(), 0..20),
        sent in prop::option::of(0usize..20),
    ) {
        for model in ["openai/m", "openai-chat/m"] {
            let mut parent = history(messages.clone());
            let inherited = Some(messages.len());
            let points = MarkPoints { sent: sent.map(|sent| sent.min(messages.len())), inherited };
            let mut sibling = |task: &str| {
                let mut child = parent.fork();
                push(&mut child, Message::user(task));
                text(parts(model), &mut child, &RequestOptions::at(points))
            };
            let (a, b) = (sibling("Task: alpha"), sibling("Task: beta"));
            let cut = a.find("Task: alpha").unwrap();
            prop_assert_eq!(&a[..cut], &b[..cut]);
            serde_json::from_str::<Value>(&a).unwrap();
            let marks = a.matches("prompt_cache_breakpoint").count();
            prop_assert!((2..=4).contains(&marks), "{} marks in {}", marks, a);
        }
    }
}

/// LiteLLM and OpenRouter take Anthropic's marks on the parts of contents, and no breakpoints.
#[test]
fn claude_behind_a_gateway_gets_its_marks() {
    let model = "openai-compat/anthropic/claude-opus-5.5";
    let reply = r#"{"role":"assistant","content":"Look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"Add","arguments":"{}"}}]}"#;
    let result = Block::result(ToolCallId("c1".into()), "3", false);
    let mut history = history([
        Message::user("go"),
        kept(WireFormat::OpenAiChat, reply),
        Message::new(Role::User, vec![result, Block::Text("on".into())]),
    ]);
    let parts = HeadParts { tools: Vec::new(), ..parts(model) };
    let options = RequestOptions {
        lifetimes: Lifetimes::new(Lifetime::Long, Lifetime::Short),
        ..RequestOptions::at(MarkPoints { sent: Some(1), inherited: None })
    };
    insta::assert_snapshot!(lines(&text(parts, &mut history, &options)), @r#"
    {"model":"anthropic/claude-opus-5.5","max_tokens":1000,"reasoning_effort":"medium","stream":true,"stream_options":{"include_usage":true},"messages":[
    {"role":"system","content":[
      {"type":"text","text":"Be brief.","cache_control":
      {"type":"ephemeral","ttl":"1h"}}]},
    {"role":"user","content":[
      {"type":"text","text":"go","cache_control":
      {"type":"ephemeral"}}]},
    {"role":"assistant","content":"Look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"Add","arguments":"{}"}}]},
    {"role":"tool","tool_call_id":"c1","content":[
      {"type":"text","text":"3"}]},
    {"role":"user","content":[
      {"type":"text","text":"on","cache_control":
      {"type":"ephemeral"}}]}]}
    "#);
}
