//! Requests that fill a cache without an answer.

use std::sync::Arc;

use tine_history::History;
use tine_model::{
    Block, BoundaryKind, CacheScheme, EntryId, Message, ModelSettings, RawJson, Role, StopReason,
    Thinking, ToolCallId, ToolInput, WireFormat,
};
use tine_wire::{
    Assembled, Head, HeadParts, MarkPoints, RequestOptions, ToolDeclaration, assemble,
    decode_reply, first_difference, warming,
};

fn parts(model: &str, thinking: Option<Thinking>) -> HeadParts {
    let tool = ToolDeclaration {
        name: "Add".into(),
        description: "Says \"max_tokens\":5, \"stream\":true.".into(),
        schema: RawJson::parse(r#"{"type":"object"}"#).unwrap(),
    };
    let model = model.parse().unwrap();
    let settings = ModelSettings { model, max_tokens: 1000, thinking, effort: None };
    HeadParts::new(settings, "Be brief.".into(), vec![tool])
}

fn push(history: &mut History, message: Message) {
    history.push(EntryId(history.len() as i64 + 1), Arc::new(message));
}

fn calling() -> History {
    let mut history = History::new();
    push(&mut history, Message::user("go"));
    let calls = ["a", "b"].map(|id| Block::ToolUse {
        id: ToolCallId(id.into()),
        name: "Add".into(),
        input: ToolInput::Valid(RawJson::empty_object()),
    });
    push(&mut history, Message::new(Role::Assistant, calls.into()));
    history
}

fn body(assembled: &Assembled) -> String {
    String::from_utf8(assembled.body.to_vec()).unwrap()
}

#[test]
fn an_anthropic_prefix_is_warmed_up_to_the_last_placeholder() {
    let head = Head::render(parts("anthropic/m", Some(Thinking::Adaptive)));
    let mut parent = calling();
    let options = RequestOptions::at(MarkPoints { sent: Some(1), inherited: None });
    let warm = warming(&head, &mut parent, &options).unwrap();
    insta::assert_snapshot!(body(&warm).replace("{\"role\"", "\n{\"role\""), @r#"
    {"model":"m","max_tokens":0,"thinking":{"type":"adaptive"},"stream":false,"tools":[{"name":"Add","description":"Says \"max_tokens\":5, \"stream\":true.","input_schema":{"type":"object"}}],"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"messages":[
    {"role":"user","content":[{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}]},
    {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Add","input":{}},{"type":"tool_use","id":"b","name":"Add","input":{}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"This call was still open when the conversation went on from here; its result is not part of this conversation."},{"type":"tool_result","tool_use_id":"b","content":"This call was still open when the conversation went on from here; its result is not part of this conversation.","cache_control":{"type":"ephemeral"}}]}]}
    "#);
    assert_eq!((warm.items, parent.len()), (2, 2), "the history is what it was");

    let mut child = parent.fork();
    push(&mut child, Message::user("Task: a"));
    let points = MarkPoints { sent: Some(1), inherited: Some(2) };
    let first = assemble(&head, &mut child, &RequestOptions::at(points));
    let format = WireFormat::Anthropic;
    assert_eq!(first_difference(format, body(&warm).as_bytes(), body(&first).as_bytes()), None);
    let tail = warm.boundary(BoundaryKind::Tail).unwrap();
    let fork_point = first.boundary(BoundaryKind::ForkPoint).unwrap();
    assert_eq!((tail.hash, tail.bytes), (fork_point.hash, fork_point.bytes));
}

#[test]
fn without_open_calls_the_marks_are_those_of_the_next_request() {
    let head = Head::render(parts("anthropic/m", None));
    let mut agent = calling();
    push(
        &mut agent,
        Message::new(
            Role::User,
            ["a", "b"].map(|id| Block::result(ToolCallId(id.into()), "3", false)).into(),
        ),
    );
    let options = RequestOptions::at(MarkPoints { sent: Some(1), inherited: None });
    let next = assemble(&head, &mut agent, &options);
    let warm = warming(&head, &mut agent, &options).unwrap();
    let said = body(&next)
        .replace(r#""max_tokens":1000,"stream":true"#, r#""max_tokens":0,"stream":false"#);
    assert_eq!(body(&warm), said);
    assert_eq!(warm.boundaries, next.boundaries);
}

#[test]
fn an_old_head_is_changed_member_by_member() {
    let text = "head2 anthropic 88 0 marks\n{ \"stream\" : true, \"max_tokens\" :5 ,\"model\":\"m\",\"system\":[{\"type\":\"text\",\"text\":\"stream\"}],\"messages\":[";
    let head = Head::from_stored(text).unwrap();
    assert_eq!(&head.bytes()[88..90], b"}]");
    let mut agent = History::new();
    push(&mut agent, Message::user("go"));
    let warm = warming(&head, &mut agent, &RequestOptions::default()).unwrap();
    insta::assert_snapshot!(body(&warm), @r#"{ "stream" : false, "max_tokens" :0 ,"model":"m","system":[{"type":"text","text":"stream","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}]}]}"#);
}

#[test]
fn what_a_provider_would_refuse_is_not_made() {
    let refused = |head: &Head| warming(head, &mut calling(), &RequestOptions::default()).is_none();
    assert!(refused(&Head::render(parts("anthropic/m", Some(Thinking::Budget(2000))))));
    assert!(refused(&Head::render(parts("openai-compat/m", None))));
    let stored = |settings: &str| {
        let text = format!("head2 anthropic - 0 marks\n{{{settings}\"messages\":[");
        Head::from_stored(&text).unwrap()
    };
    assert!(!refused(&stored(r#""max_tokens":1,"tool_choice":{"type":"auto"},"#)));
    assert!(refused(&stored(r#""max_tokens":1,"tool_choice":{"type":"any"},"#)));
    assert!(refused(&stored(r#""max_tokens":1,"output_config":{"format":{}},"#)));
    assert!(refused(&stored(r#""stream":true,"#)), "a head without a limit is none of ours");
    assert!(refused(&stored(r#""max_tokens":"#)), "nor is what is no JSON");
}

#[test]
fn the_answer_to_warming_has_no_content_and_its_cost() {
    let answer = br#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"max_tokens","stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":900,"cache_read_input_tokens":0,"output_tokens":0}}"#;
    let reply = decode_reply(WireFormat::Anthropic, answer).unwrap();
    assert_eq!((reply.message.blocks().len(), reply.stop), (0, StopReason::MaxTokens));
    assert_eq!((reply.usage.write_short, reply.usage.output), (Some(900), 0));
}

#[test]
fn foreign_reasoning_is_dropped_only_where_a_head_says_so() {
    let said = |thinking: Option<Thinking>, drop_foreign_thinking: bool| {
        let parts = HeadParts { drop_foreign_thinking, ..parts("anthropic/m", thinking) };
        let head = Head::render(HeadParts { scheme: CacheScheme::Marks, ..parts });
        let text = String::from_utf8(head.bytes().to_vec()).unwrap();
        text[..text.find(",\"stream\"").unwrap()].to_owned()
    };
    insta::assert_snapshot!(said(Some(Thinking::Adaptive), true), @r#"{"model":"m","max_tokens":1000,"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}"#);
    insta::assert_snapshot!(said(Some(Thinking::Budget(9)), true), @r#"{"model":"m","max_tokens":1000,"thinking":{"type":"enabled","budget_tokens":9,"block_binding":{"prefix_mismatch_behavior":"drop_block"}}"#);
    insta::assert_snapshot!(said(Some(Thinking::Budget(9)), false), @r#"{"model":"m","max_tokens":1000,"thinking":{"type":"enabled","budget_tokens":9}"#);
    insta::assert_snapshot!(said(None, true), @r#"{"model":"m","max_tokens":1000"#);
}
