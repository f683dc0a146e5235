//! Requests as bytes: what siblings share, what a parent and its child share, and where the marks stand.

use std::sync::Arc;

use proptest::prelude::*;
use tine_history::History;
use tine_model::{
    Block, CacheScheme, EntryId, Message, ModelSettings, RawJson, Role, ToolCallId, ToolInput,
};
use tine_wire::{Head, HeadParts, MarkPoints, RequestOptions, ToolDeclaration, assemble};

const MARKS: [&str; 2] = [
    r#","cache_control":{"type":"ephemeral"}"#,
    r#","prompt_cache_breakpoint":{"mode":"explicit"}"#,
];

fn marks(body: &str) -> usize {
    MARKS.iter().map(|mark| body.matches(mark).count()).sum()
}

fn without_marks(body: &str) -> String {
    MARKS.iter().fold(body.to_owned(), |body, mark| body.replace(mark, ""))
}

fn head(model: &str) -> Head {
    let tool = |name: &str| ToolDeclaration {
        name: name.into(),
        description: format!("Does {name}."),
        schema: RawJson::parse(r#"{"type":"object","properties":{"z":{},"a":{}}}"#).unwrap(),
    };
    let settings = ModelSettings {
        model: model.parse().unwrap(),
        max_tokens: 1000,
        thinking: None,
        effort: None,
    };
    Head::render(HeadParts::new(settings, "Be brief.".into(), vec![tool("Zip"), tool("Add")]))
}

fn call(id: &str) -> Block {
    Block::ToolUse {
        id: ToolCallId(id.into()),
        name: "Add".into(),
        input: ToolInput::Valid(RawJson::parse(r#"{"z": 1,"a":2}"#).unwrap()),
    }
}

fn push(history: &mut History, message: Message) {
    history.push(EntryId(history.len() as i64 + 1), Arc::new(message));
}

fn text(head: &Head, history: &mut History, points: MarkPoints) -> String {
    String::from_utf8(assemble(head, history, &RequestOptions::at(points)).body.to_vec()).unwrap()
}

/// One line per element, for reading.
fn lines(body: &str) -> String {
    body.replace("{\"role\"", "\n{\"role\"").replace("{\"type\"", "\n  {\"type\"")
}

#[test]
fn a_mid_turn_fork_closes_the_open_calls_and_puts_the_directive_last() {
    let mut parent = History::new();
    push(&mut parent, Message::user("Look around."));
    push(
        &mut parent,
        Message::new(Role::Assistant, vec![Block::Text("Yes.".into()), call("c1"), call("c2")]),
    );
    let mut child = parent.fork();
    push(&mut child, Message::user("Task: a"));
    let points = MarkPoints { sent: Some(1), inherited: Some(2) };
    insta::assert_snapshot!(lines(&text(&head("anthropic/m"), &mut child, points)), @r###"
    {"model":"m","max_tokens":1000,"stream":true,"tools":[{"name":"Add","description":"Does Add.","input_schema":
      {"type":"object","properties":{"z":{},"a":{}}}},{"name":"Zip","description":"Does Zip.","input_schema":
      {"type":"object","properties":{"z":{},"a":{}}}}],"system":[
      {"type":"text","text":"Be brief.","cache_control":
      {"type":"ephemeral"}}],"messages":[
    {"role":"user","content":[
      {"type":"text","text":"Look around.","cache_control":
      {"type":"ephemeral"}}]},
    {"role":"assistant","content":[
      {"type":"text","text":"Yes."},
      {"type":"tool_use","id":"c1","name":"Add","input":{"z": 1,"a":2}},
      {"type":"tool_use","id":"c2","name":"Add","input":{"z": 1,"a":2}}]},
    {"role":"user","content":[
      {"type":"tool_result","tool_use_id":"c1","content":"This call was still open when the conversation went on from here; its result is not part of this conversation."},
      {"type":"tool_result","tool_use_id":"c2","content":"This call was still open when the conversation went on from here; its result is not part of this conversation.","cache_control":
      {"type":"ephemeral"}},
      {"type":"text","text":"Task: a","cache_control":
      {"type":"ephemeral"}}]}]}
    "###);
    insta::assert_snapshot!(lines(&text(&head("openai-compat/m"), &mut child, points)), @r###"
    {"model":"m","max_tokens":1000,"stream":true,"stream_options":{"include_usage":true},"tools":[
      {"type":"function","function":{"name":"Add","description":"Does Add.","parameters":
      {"type":"object","properties":{"z":{},"a":{}}}}},
      {"type":"function","function":{"name":"Zip","description":"Does Zip.","parameters":
      {"type":"object","properties":{"z":{},"a":{}}}}}],"messages":[
    {"role":"system","content":"Be brief."},
    {"role":"user","content":"Look around."},
    {"role":"assistant","content":"Yes.","tool_calls":[{"id":"c1","type":"function","function":{"name":"Add","arguments":"{\"z\": 1,\"a\":2}"}},{"id":"c2","type":"function","function":{"name":"Add","arguments":"{\"z\": 1,\"a\":2}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"This call was still open when the conversation went on from here; its result is not part of this conversation."},
    {"role":"tool","tool_call_id":"c2","content":"This call was still open when the conversation went on from here; its result is not part of this conversation."},
    {"role":"user","content":"Task: a"}]}
    "###);
}

#[test]
fn a_stored_head_comes_back_byte_for_byte() {
    for model in
        ["anthropic/m", "openai-compat/m", "deepseek/m", "openai/m", "openai-chat/m", "gemini/m"]
    {
        let head = head(model);
        assert_eq!(Head::from_stored(&head.to_stored()), Ok(head));
    }
    assert!(Head::from_stored("head9 x").is_err());
}

#[test]
fn a_long_turn_spends_a_mark_in_the_middle() {
    let mut history = History::new();
    push(&mut history, Message::user("go"));
    let calls: Vec<String> = (0..18).map(|n| format!("c{n}")).collect();
    push(&mut history, Message::new(Role::Assistant, calls.iter().map(|id| call(id)).collect()));
    let results = calls.iter().map(|id| Block::result(ToolCallId(id.clone()), "ok", false));
    push(&mut history, Message::new(Role::User, results.collect()));
    let points = MarkPoints { sent: Some(1), inherited: None };
    let assembled = assemble(&head("anthropic/m"), &mut history, &RequestOptions::at(points));
    let places: Vec<_> = assembled.marks.iter().map(|mark| (mark.item, mark.block)).collect();
    assert_eq!(places, [(0, 0), (1, 14), (2, 17)]);
}

#[test]
fn an_interrupted_turn_is_closed_without_touching_the_history() {
    let mut history = History::new();
    push(&mut history, Message::user("go"));
    push(&mut history, Message::new(Role::Assistant, vec![call("c1")]));
    let body = text(&head("anthropic/m"), &mut history, MarkPoints::default());
    assert!(body.contains(r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1""#));
    assert_eq!(history.len(), 2);
}

fn message() -> impl Strategy<Value = Message> {
    let words = "[a-zé\"\\\\\n]{0,12}";
    prop_oneof![
        words.prop_map(Message::user),
        words.prop_map(|w| Message::new(Role::Assistant, vec![Block::Text(w)])),
        prop::collection::vec(0u8..6, 1..20).prop_map(|ids| Message::new(
            Role::Assistant,
            ids.iter().map(|id| call(&format!("c{id}"))).collect()
        )),
        prop::collection::vec(0u8..6, 1..20).prop_map(|ids| Message::new(
            Role::User,
            ids.iter()
                .map(|id| Block::result(ToolCallId(format!("c{id}")), "ok", id % 2 == 0))
                .chain([Block::Text("and".into())])
                .collect()
        )),
        Just(Message::new(
            Role::Assistant,
            vec![Block::Thinking { text: "hm".into(), signature: Some("sig".into()) }]
        )),
        Just(Message::new(Role::Assistant, Vec::new())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever was said before: siblings agree up to the directive, parent and child up to the fork point.
    #[test]
    fn forks_share_their_prefix(
        messages in prop::collection::vec(message(), 0..30),
        later in prop::collection::vec(message(), 0..5),
        sent in prop::option::of(0usize..30),
    ) {
        for model in
            ["anthropic/m", "openai-compat/m", "openai-chat/m", "openai/m", "gemini/m"]
        {
            let head = head(model);
            let mut parent = History::new();
            messages.iter().for_each(|message| push(&mut parent, message.clone()));
            let inherited = Some(parent.len());
            let points = MarkPoints { sent: sent.map(|s| s.min(messages.len())), inherited };
            let sibling = |parent: &mut History, task: &str| {
                let mut child = parent.fork();
                push(&mut child, Message::user(task));
                text(&head, &mut child, points)
            };
            let (a, b) = (sibling(&mut parent, "Task: alpha"), sibling(&mut parent, "Task: beta"));
            let cut = a.find("Task: alpha").unwrap();
            prop_assert_eq!(&a[..cut], &b[..cut]);

            for body in [&a, &b] {
                let parsed: serde_json::Value = serde_json::from_str(body).unwrap();
                let list = ["messages", "input", "contents"];
                prop_assert!(list.iter().any(|list| parsed[list].is_array()));
                let marks = marks(body);
                prop_assert!(marks <= 4, "{} marks", marks);
                let expected = if head.scheme() == CacheScheme::Automatic { 0 } else { 2 };
                prop_assert!(marks >= expected, "the system and the tail are always marked");
            }

            let inherited_text = parent.layout(tine_wire::framer(head.format()));
            let shared: usize = inherited_text.runs().iter().map(|run| run.bytes().len()).sum();
            let shared = head.bytes().len() + shared.saturating_sub(1);
            later.iter().for_each(|message| push(&mut parent, message.clone()));
            let mother = text(&head, &mut parent, MarkPoints::default());
            let (mother, child) = (without_marks(&mother), without_marks(&a));
            let shared = shared.min(mother.len()).min(child.len());
            prop_assert_eq!(&mother.as_bytes()[..shared], &child.as_bytes()[..shared]);
        }
    }

    /// Every call is answered in the next message and every answer has its call, before any other block.
    #[test]
    fn every_request_pairs_calls_and_results(messages in prop::collection::vec(message(), 1..30)) {
        let head = head("anthropic/m");
        let mut history = History::new();
        messages.iter().for_each(|message| push(&mut history, message.clone()));
        let body = text(&head, &mut history, MarkPoints::default());
        let parsed: serde_json::Value = serde_json::from_str(&body).unwrap();
        let ids = |message: &serde_json::Value, kind: &str, key: &str| -> Vec<String> {
            let blocks = message["content"].as_array().cloned().unwrap_or_default();
            let of_kind = blocks.iter().filter(|block| block["type"] == kind);
            of_kind.map(|block| block[key].as_str().unwrap().to_owned()).collect()
        };
        let list = parsed["messages"].as_array().unwrap();
        for (index, message) in list.iter().enumerate() {
            let mut calls = ids(message, "tool_use", "id");
            let next = list.get(index + 1).cloned().unwrap_or_default();
            let mut results = ids(&next, "tool_result", "tool_use_id");
            calls.sort();
            results.sort();
            prop_assert_eq!(calls, results, "after message {}", index);
        }
    }
}
