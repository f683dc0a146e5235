//! Calls of custom tools in Responses: their input is a text, and their answers have a kind of their own.

use std::sync::Arc;

use tine_history::History;
use tine_model::{
    Block, CacheScheme, EntryId, Message, ModelSettings, RawJson, Role, StopReason, ToolCallId,
    ToolInput, WireFormat,
};
use tine_wire::{
    Decoder, Event, Head, HeadParts, RequestOptions, assemble, decode_reply, read_message,
};

use crate::fixtures::responses::framed;

const FORMAT: WireFormat = WireFormat::OpenAiResponses;

const CALL: &str = r#"{"type":"custom_tool_call","id":"ctc_1","status":"completed","call_id":"c","name":"apply_patch","input":"*** Begin\n\"é\""}"#;

const FUNCTION: &str = r#"{"type":"function_call","call_id":"f","name":"look","arguments":"{}"}"#;

fn kept(json: &str) -> Message {
    read_message(FORMAT, json).unwrap()
}

fn answer(call: &str, text: &str) -> Message {
    Message::new(Role::User, vec![Block::result(ToolCallId(call.into()), text, false)])
}

/// The items of a request to this model with these messages, without marks.
fn sent(model: &str, messages: impl IntoIterator<Item = Message>) -> String {
    let settings = ModelSettings {
        model: model.parse().unwrap(),
        max_tokens: 1000,
        thinking: None,
        effort: None,
    };
    let parts = HeadParts::new(settings, String::new(), Vec::new());
    let parts = HeadParts { scheme: CacheScheme::Automatic, ..parts };
    let mut history = History::new();
    for (index, message) in messages.into_iter().enumerate() {
        history.push(EntryId(index as i64 + 1), Arc::new(message));
    }
    let body = assemble(&Head::render(parts), &mut history, &RequestOptions::default()).body;
    let text = String::from_utf8(body.to_vec()).unwrap();
    let (_, list) = text.split_once("\"input\":[").or(text.split_once("\"messages\":[")).unwrap();
    list.strip_suffix("]}").unwrap().to_owned()
}

fn input(text: &str) -> ToolInput {
    ToolInput::Valid(RawJson::parse(text).unwrap())
}

#[test]
fn a_call_is_read_as_one_with_its_text_as_the_input() {
    let message = kept(CALL);
    let input = input(r#"{"input":"*** Begin\n\"é\""}"#);
    let (id, name) = (ToolCallId("c".into()), "apply_patch".to_owned());
    assert_eq!(message.role(), Role::Assistant);
    assert_eq!(message.blocks(), [Block::ToolUse { id, name, input }]);
    let result = kept(r#"{"type":"custom_tool_call_output","call_id":"c","output":"done"}"#);
    assert_eq!((result.role(), result.blocks()), (Role::User, answer("c", "done").blocks()));
    let bare = kept(r#"{"type":"custom_tool_call","call_id":"c","name":"n"}"#);
    assert_eq!(bare.tool_calls().count(), 1);
    let bad = read_message(FORMAT, r#"{"type":"custom_tool_call","name":"n","input":1}"#);
    insta::assert_snapshot!(bad.unwrap_err(), @"item 0 (`custom_tool_call`): invalid type: integer `1`, expected a string");
}

#[test]
fn what_was_kept_goes_out_as_it_came_and_what_is_answered_has_the_calls_kind() {
    let both = format!("[{CALL},{FUNCTION}]");
    let before = || [Message::user("go"), kept(&both)];
    let results = Message::new(
        Role::User,
        vec![
            Block::result(ToolCallId("c".into()), "patched", false),
            Block::result(ToolCallId("f".into()), "seen", false),
        ],
    );
    insta::assert_snapshot!(sent("openai/m", before().into_iter().chain([results])), @r#"{"role":"user","content":[{"type":"input_text","text":"go"}]},{"type":"custom_tool_call","id":"ctc_1","status":"completed","call_id":"c","name":"apply_patch","input":"*** Begin\n\"é\""},{"type":"function_call","call_id":"f","name":"look","arguments":"{}"},{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"patched"}]},{"type":"function_call_output","call_id":"f","output":[{"type":"input_text","text":"seen"}]}"#);
    // What nobody answered is closed in its kind, too.
    let next = || [answer("f", "seen"), Message::user("on")];
    insta::assert_snapshot!(sent("openai/m", before().into_iter().chain(next())), @r#"{"role":"user","content":[{"type":"input_text","text":"go"}]},{"type":"custom_tool_call","id":"ctc_1","status":"completed","call_id":"c","name":"apply_patch","input":"*** Begin\n\"é\""},{"type":"function_call","call_id":"f","name":"look","arguments":"{}"},{"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"This call was still open when the conversation went on from here; its result is not part of this conversation."}]},{"type":"function_call_output","call_id":"f","output":[{"type":"input_text","text":"seen"}]},{"role":"user","content":[{"type":"input_text","text":"on"}]}"#);
    let raw = r#"[{"type":"custom_tool_call_output","call_id":"c",  "output":[{"type":"input_text","text":"done"}]},{"type":"function_call_output","call_id":"f","output":""}]"#;
    let body = sent("openai/m", before().into_iter().chain([kept(raw)]));
    assert!(body.ends_with(&raw[1..raw.len() - 1]), "{body}");
}

#[test]
fn for_other_formats_it_is_a_call_with_one_argument() {
    let body = sent("openai-compat/m", [Message::user("go"), kept(CALL), answer("c", "done")]);
    insta::assert_snapshot!(body, @r#"{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"apply_patch","arguments":"{\"input\":\"*** Begin\\n\\\"é\\\"\"}"}}]},{"role":"tool","tool_call_id":"c","content":"done"}"#);
    // And a call that came in another format is one of a function here.
    let foreign = r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"apply_patch","input":{"input":"x"}}]}"#;
    let foreign = read_message(WireFormat::Anthropic, foreign).unwrap();
    let body = sent("openai/m", [Message::user("go"), foreign, answer("c", "done")]);
    insta::assert_snapshot!(body, @r#"{"role":"user","content":[{"type":"input_text","text":"go"}]},{"type":"function_call","call_id":"c","name":"apply_patch","arguments":"{\"input\":\"x\"}"},{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"done"}]}"#);
}

/// The deltas of the inputs, joined, and the message.
fn streamed(records: &[&str]) -> (String, Message) {
    let mut decoder = Decoder::new(FORMAT);
    let events = decoder.push(framed(records).as_bytes()).unwrap();
    let shown = events.iter().filter_map(|event| match event {
        Event::ToolCall { id, name } => Some(format!("{id} {name} ")),
        Event::ToolInput { delta } => Some(delta.clone()),
        _ => None,
    });
    let shown = shown.collect();
    let reply = decoder.finish().unwrap();
    assert_eq!(reply.stop, StopReason::ToolUse);
    (shown, reply.message)
}

#[test]
fn a_streamed_call_is_shown_piece_by_piece_and_kept_as_it_ended() {
    let added = r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"custom_tool_call","id":"ctc_1","status":"in_progress","call_id":"c","name":"apply_patch","input":""}}"#;
    let delta = |text: &str| {
        format!(
            r#"{{"type":"response.custom_tool_call_input.delta","item_id":"ctc_1","output_index":0,"delta":{text}}}"#
        )
    };
    let (first, second) = (delta(r#""*** Begin\n""#), delta(r#""\"é\"""#));
    let done = r#"{"type":"response.custom_tool_call_input.done","item_id":"ctc_1","output_index":0,"input":"*** Begin\n\"é\""}"#;
    let ended = format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{CALL}}}"#);
    let over = r#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#;
    let (shown, message) = streamed(&[added, &first, &second, done, &ended, over]);
    assert_eq!(shown, r#"c apply_patch {"input":"*** Begin\n\"é\""}"#);
    assert_eq!(message.raw().unwrap().json.as_str(), format!("[{CALL}]"));
    // Without pieces it is shown whole.
    let (whole, same) = streamed(&[&ended, over]);
    assert_eq!((whole, same.blocks()), (shown, message.blocks()));
    let body = format!(r#"{{"id":"r","status":"completed","output":[{CALL}]}}"#);
    let reply = decode_reply(FORMAT, body.as_bytes()).unwrap();
    assert_eq!((reply.message.blocks(), reply.stop), (message.blocks(), StopReason::ToolUse));
}
