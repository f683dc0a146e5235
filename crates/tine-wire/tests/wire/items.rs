//! Items of OpenAI's Responses, read one by one, as messages, and as whole conversations.

use proptest::prelude::*;
use tine_history::close_calls;
use tine_model::{Block, Message, RawJson, Role, ToolCallId, ToolInput, WireFormat};
use tine_wire::{framer, import_messages, read_message};

const FORMAT: WireFormat = WireFormat::OpenAiResponses;

fn read(json: &str) -> (Role, Vec<Block>) {
    let message = read_message(FORMAT, json).unwrap();
    assert_eq!(message.raw().unwrap().json.as_str(), json);
    (message.role(), message.blocks().to_vec())
}

fn text(text: &str) -> Block {
    Block::Text(text.into())
}

#[test]
fn items_are_read_in_every_role() {
    assert_eq!(read(r#"{"role":"user","content":"hi"}"#), (Role::User, vec![text("hi")]));
    assert_eq!(
        read(
            r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"be"}]}"#
        ),
        (Role::System, vec![text("be")])
    );
    let image = r#"{"type":"input_image","image_url":"u"}"#;
    let answer = format!(
        r#"{{"type":"function_call_output","call_id":"c","output":[{{"type":"input_text","text":"ok"}},{image}]}}"#
    );
    let content = vec![text("ok"), Block::Image(RawJson::parse(image).unwrap())];
    let result = Block::ToolResult { call: ToolCallId("c".into()), content, is_error: false };
    assert_eq!(read(&answer), (Role::User, vec![result]));
    let search = r#"{"type":"web_search_call","id":"ws","n":1.0}"#;
    let unknown = Block::Unknown(RawJson::parse(search).unwrap());
    assert_eq!(read(search), (Role::Assistant, vec![unknown]));
}

#[test]
fn reasoning_is_read_by_what_it_shows() {
    let check = |members: &str, expected: Block| {
        let json = format!(r#"[{{"type":"reasoning",{members}}}]"#);
        assert_eq!(read(&json), (Role::Assistant, vec![expected]));
    };
    let shown = |text: &str, signature: Option<&str>| Block::Thinking {
        text: text.into(),
        signature: signature.map(str::to_owned),
    };
    let summary =
        r#""summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]"#;
    check(&format!(r#"{summary},"encrypted_content":"x""#), shown("a\n\nb", Some("x")));
    check(summary, shown("a\n\nb", None));
    check(r#""summary":[],"encrypted_content":"x""#, Block::RedactedThinking("x".into()));
    check(r#""summary":[]"#, shown("", None));
    let open = r#""summary":[],"content":[{"type":"reasoning_text","text":"c"}]"#;
    check(open, shown("c", None));
}

#[test]
fn a_turn_is_a_list_of_items_without_its_marks() {
    let json = r#"[{"type":"reasoning","summary":[],"encrypted_content":"x"}, {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"b"}]},{"type":"function_call","call_id":"c","name":"fs_-2eread","arguments":"{"}]"#;
    let input = ToolInput::Invalid("{".into());
    let call = Block::ToolUse { id: ToolCallId("c".into()), name: "fs.read".into(), input };
    let sealed = Block::RedactedThinking("x".into());
    assert_eq!(read(json), (Role::Assistant, vec![sealed, text("a"), text("b"), call]));

    let marked = r#"[{"role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]},{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"b","prompt_cache_breakpoint":{"mode":"explicit"}}]}]"#;
    let message = read_message(FORMAT, marked).unwrap();
    insta::assert_snapshot!(message.raw().unwrap().json, @r#"[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"b"}]}]"#);
}

#[test]
fn what_is_no_message_is_named_with_its_place() {
    let told = |json: &str| read_message(FORMAT, json).unwrap_err().to_string();
    insta::assert_snapshot!(told("[1]"), @"item 0: it is no object");
    insta::assert_snapshot!(told("{}"), @"item 0: missing field `role`");
    insta::assert_snapshot!(told(r#"{"role":"robot","content":""}"#), @"the role `robot` is not known");
    insta::assert_snapshot!(told(r#"[{"role":"user","content":""},{"type":"reasoning"}]"#), @"the message: its items speak in different roles");
    insta::assert_snapshot!(told(r#"{"role":"user","content":[{"type":"input_text"}]}"#), @"item 0's content, part 0: missing field `text`");
    insta::assert_snapshot!(told(r#"{"type":"function_call_output","call_id":"c","output":7}"#), @"item 0 (`function_call_output`)'s output is neither a text nor a list");
}

#[test]
fn the_format_of_a_conversation_is_seen_in_its_items() {
    use WireFormat::{Anthropic, OpenAiChat, OpenAiChatParts, OpenAiResponses};
    let check = |text: &str, preferred, expected| {
        assert_eq!(import_messages(text, preferred).unwrap().format, expected, "{text}");
    };
    let plain = r#"{"role":"user","content":"a"}"#;
    check(plain, OpenAiResponses, OpenAiResponses);
    check(plain, OpenAiChatParts, OpenAiChat);
    check(r#"{"type":"reasoning","summary":[]}"#, Anthropic, OpenAiResponses);
    check(
        r#"{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}"#,
        OpenAiChat,
        OpenAiResponses,
    );
    check(
        r#"{"role":"user","content":[{"type":"input_text","text":"a"}]}"#,
        Anthropic,
        OpenAiResponses,
    );
    // Both of OpenAI's formats have developers and refusals; parts called `text` are not of Responses.
    let developer = r#"{"role":"developer","content":"be"}"#;
    check(developer, OpenAiResponses, OpenAiResponses);
    check(developer, Anthropic, OpenAiChat);
    let output = r#"{"type":"function_call_output","call_id":"c","output":"ok"}"#;
    check(&format!("{developer}\n{output}"), Anthropic, OpenAiResponses);
    check(r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#, OpenAiResponses, OpenAiChat);
    let mixed =
        format!("{plain}\n{output}\n{}", r#"{"role":"tool","tool_call_id":"c","content":""}"#);
    let error = import_messages(&mixed, Anthropic).unwrap_err();
    insta::assert_snapshot!(error, @"message 3 (line 3) has the shape of openai-chat, message 2 that of openai-responses");
}

/// Members and values that items and parts have, and some that they do not.
fn odd_object() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just(r#""""#),
        Just(r#""a\u00e9""#),
        Just("null"),
        Just("[]"),
        Just("[ ]"),
        Just("7"),
        Just("{ }"),
        Just(r#""{\"a\":1}""#),
        Just(r#""user""#),
        Just(r#""assistant""#),
        Just(r#""developer""#),
        Just(r#""function_call""#),
        Just(r#""function_call_output""#),
        Just(r#""reasoning""#),
        Just(r#""message""#),
        Just(r#""odd_output""#),
        Just(r#""input_text""#),
        Just(r#"[{"type":"input_text","text":"x" }, {"type":"later"}]"#),
        Just(r#"[{"type":"text","text":"x"},["text"]]"#),
        Just(r#"[{"text":"s"}]"#),
    ];
    let key = prop_oneof![
        Just("type"),
        Just("type"),
        Just("role"),
        Just("role"),
        Just("content"),
        Just("output"),
        Just("call_id"),
        Just("name"),
        Just("arguments"),
        Just("summary"),
        Just("encrypted_content"),
        Just("prompt_cache_breakpoint"),
    ];
    prop::collection::btree_map(key, value, 0..6).prop_map(|members| {
        let members: Vec<String> =
            members.iter().map(|(key, value)| format!("\"{key}\" :{value}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_is_imported_makes_requests_that_are_json(
        objects in prop::collection::vec(odd_object(), 1..4),
    ) {
        let text = objects.join("\n");
        for format in [FORMAT, WireFormat::OpenAiChatParts, WireFormat::OpenAiChat] {
            let Ok(imported) = import_messages(&text, format) else { continue };
            for to in [FORMAT, WireFormat::OpenAiChatParts] {
                let mut before: Option<&Message> = None;
                for message in &imported.messages {
                    let frame = framer(to).frame(&close_calls(before, message));
                    let mut bytes = String::from_utf8(frame.bytes.to_vec()).unwrap();
                    prop_assert!(frame.slots.is_sorted_by(|a, b| a.offset < b.offset && a.block < b.block));
                    for slot in frame.slots.iter().rev() {
                        prop_assert!(slot.block < frame.blocks);
                        bytes.insert_str(slot.offset, r#","mark":{}"#);
                    }
                    let list = format!("[{bytes}]");
                    prop_assert!(RawJson::parse(&list).is_ok(), "{}", list);
                    before = Some(message);
                }
            }
        }
    }
}
