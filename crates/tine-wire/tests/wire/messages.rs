//! Messages in a provider's shape, one by one and as whole conversations.

use tine_model::{Block, RawJson, Role, ToolCallId, ToolInput, WireFormat};
use tine_wire::{import_messages, read_message};

fn call(id: &str) -> ToolCallId {
    ToolCallId(id.into())
}

#[test]
fn an_anthropic_message_is_read_and_kept_without_its_marks() {
    let json = r#"{"role":"user", "content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}],"is_error":true},{"type":"image","source":{"type":"url","url":"u"},"cache_control":{"type":"ephemeral"}},{"type":"later", "n":1.0}]}"#;
    let message = read_message(WireFormat::Anthropic, json).unwrap();
    insta::assert_snapshot!(message.raw().unwrap().json, @r#"{"role":"user", "content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x"}],"is_error":true},{"type":"image","source":{"type":"url","url":"u"}},{"type":"later", "n":1.0}]}"#);
    let image = r#"{"type":"image","source":{"type":"url","url":"u"}}"#;
    let later = r#"{"type":"later", "n":1.0}"#;
    assert_eq!(
        message.blocks(),
        [
            Block::result(call("t"), "x", true),
            Block::Image(RawJson::parse(image).unwrap()),
            Block::Unknown(RawJson::parse(later).unwrap()),
        ]
    );
    let again = read_message(WireFormat::Anthropic, message.raw().unwrap().json.as_str());
    assert_eq!(again.unwrap(), message);
}

#[test]
fn signatures_and_sealed_reasoning_come_back_unchanged() {
    let json = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"c2ln/+=="},{"type":"redacted_thinking","data":"ZGF0"},{"type":"tool_use","id":"t","name":"n","input":{"b":1.0,"a":[ ]}}]}"#;
    let message = read_message(WireFormat::Anthropic, json).unwrap();
    assert_eq!(message.raw().unwrap().json.as_str(), json);
    let input = ToolInput::Valid(RawJson::parse(r#"{"b":1.0,"a":[ ]}"#).unwrap());
    assert_eq!(
        message.blocks(),
        [
            Block::Thinking { text: String::new(), signature: Some("c2ln/+==".into()) },
            Block::RedactedThinking("ZGF0".into()),
            Block::ToolUse { id: call("t"), name: "n".into(), input },
        ]
    );
}

#[test]
fn chat_messages_are_read_in_every_role() {
    let read = |json: &str| {
        let message = read_message(WireFormat::OpenAiChat, json).unwrap();
        assert_eq!(message.raw().unwrap().json.as_str(), json);
        (message.role(), message.blocks().to_vec())
    };
    let text = |text: &str| Block::Text(text.into());
    assert_eq!(read(r#"{"role":"user","content":"hi"}"#), (Role::User, vec![text("hi")]));
    assert_eq!(
        read(r#"{"role":"tool","tool_call_id":"a","content":"ok"}"#),
        (Role::User, vec![Block::result(call("a"), "ok", false)])
    );
    assert_eq!(read(r#"{"role":"developer","content":"be"}"#), (Role::System, vec![text("be")]));
    let part = r#"{"type":"image_url","image_url":{"url":"u"}}"#;
    assert_eq!(
        read(&format!(r#"{{"role":"user","content":[{{"type":"text","text":"a"}},{part}]}}"#)),
        (Role::User, vec![text("a"), Block::Image(RawJson::parse(part).unwrap())])
    );
    let calls = r#"[{"type":"function","function":{"name":"n","arguments":""}},{"id":"b","type":"function","function":{"name":"n","arguments":"{\"x\":"}}]"#;
    assert_eq!(
        read(&format!(
            r#"{{"role":"assistant","content":null,"reasoning":"hm","tool_calls":{calls}}}"#
        )),
        (
            Role::Assistant,
            vec![
                Block::Thinking { text: "hm".into(), signature: None },
                Block::ToolUse {
                    id: call("call_0"),
                    name: "n".into(),
                    input: ToolInput::Valid(RawJson::empty_object()),
                },
                Block::ToolUse {
                    id: call("b"),
                    name: "n".into(),
                    input: ToolInput::Invalid("{\"x\":".into()),
                },
            ]
        )
    );
}

#[test]
fn the_format_of_a_conversation_is_seen_in_its_shapes() {
    let check = |text: &str, preferred, expected| {
        assert_eq!(import_messages(text, preferred).unwrap().format, expected, "{text}");
    };
    use WireFormat::{Anthropic, OpenAiChat};
    let plain = r#"[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]}]"#;
    check(plain, Anthropic, Anthropic);
    check(plain, OpenAiChat, OpenAiChat);
    check(
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#,
        OpenAiChat,
        Anthropic,
    );
    check(
        r#"{"role":"assistant","content":null,"tool_calls":[{"id":"t","function":{"name":"n","arguments":"{}"}}]}"#,
        Anthropic,
        OpenAiChat,
    );
    check(
        r#"{"role":"user","content":[{"type":"image_url","image_url":{}}]}"#,
        Anthropic,
        OpenAiChat,
    );
}

#[test]
fn system_messages_at_the_start_are_the_system_prompt() {
    let text = "\u{feff}{\"role\":\"system\",\"content\":\"One.\"}\n\n{\"role\":\"developer\",\"content\":[{\"type\":\"text\",\"text\":\"Two.\"}]}\r\n{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"system\",\"content\":\"later\"}\n";
    let imported = import_messages(text, WireFormat::Anthropic).unwrap();
    assert_eq!(imported.system.as_deref(), Some("One.\n\nTwo."));
    let roles: Vec<Role> = imported.messages.iter().map(|message| message.role()).collect();
    assert_eq!(roles, [Role::User, Role::System]);
    assert_eq!(imported.format, WireFormat::OpenAiChat);
}

#[test]
fn what_cannot_be_imported_is_named_with_its_place() {
    let told = |text: &str| {
        let error = import_messages(text, WireFormat::Anthropic).unwrap_err();
        let mut lines = vec![error.to_string()];
        let mut source = std::error::Error::source(&error);
        while let Some(error) = source {
            lines.push(error.to_string());
            source = error.source();
        }
        lines.join("\n")
    };
    insta::assert_snapshot!(told(" \n"), @"there are no messages");
    insta::assert_snapshot!(told("{\"role\":\"user\",\"content\":\"a\"}\n{\"role\""), @"
    line 2 is not valid JSON
    EOF while parsing an object at line 2 column 7
    ");
    insta::assert_snapshot!(told("[\n{\"role\":\"user\",\"content\":\"a\"},\n{\"role\":\"robot\",\"content\":\"a\"}]"), @"
    message 2 (line 3) cannot be read
    the role `robot` is not known
    ");
    insta::assert_snapshot!(told("[{\"role\":\"user\",\n\"content\":\"a\"},\n\n{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"name\":\"n\"}]}]"), @"
    message 2 (line 4) cannot be read
    content block 0 (`tool_use`): missing field `id`
    ");
    insta::assert_snapshot!(told("{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"\"}\n{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}]}"), @"message 2 (line 2) has the shape of anthropic, message 1 that of openai-chat");
    insta::assert_snapshot!(told("[{\"role\":\"user\",\"content\":7}]"), @"
    message 1 (line 1) cannot be read
    the message's content is neither a text nor a list
    ");
    insta::assert_snapshot!(told("[1]"), @"
    message 1 (line 1) cannot be read
    the message: invalid type: integer `1`, expected a message object
    ");
}
