use std::sync::Arc;

use proptest::prelude::*;
use tine_history::History;
use tine_llm::{LlmClient, Request};
use tine_model::{EntryId, Message, ModelSettings, StopReason, Usage, WireFormat};
use tine_testkit::{Answer, ScriptedModel, replies};
use tine_wire::{Head, HeadParts, Reply, RequestOptions, assemble, read_message};
use tokio_util::sync::CancellationToken;

use super::*;

const MODEL: &str = "anthropic/m";

fn request(prompt: &str) -> Request {
    let model = MODEL.parse().unwrap();
    let settings = ModelSettings { model, max_tokens: 9, thinking: None, effort: None };
    let head = Head::render(HeadParts::new(settings, "Be brief.".to_owned(), vec![]));
    let mut history = History::new();
    history.push(EntryId(1), Arc::new(Message::user(prompt)));
    Request::new(head.format(), &assemble(&head, &mut history, &RequestOptions::default()))
}

async fn send(client: &dyn LlmClient, prompt: &str) -> Result<Reply, String> {
    let cancel = CancellationToken::new();
    let reply = client.send(&request(prompt), &mut |_| {}, &cancel).await;
    reply.map_err(|error| error.to_string())
}

/// Records these prompts with these answers: what was answered, and the tape as text.
async fn recorded(prompts: &[&str], answers: Vec<Answer>) -> (Vec<Reply>, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tape.jsonl");
    let writer = TapeWriter::create(&path, "suite", (None, None)).unwrap();
    let scripted = Arc::new(ScriptedModel::new(answers));
    let recorder = Recorder::new(scripted, MODEL.parse().unwrap(), Arc::clone(&writer));
    let mut replies = Vec::new();
    for prompt in prompts {
        replies.push(send(&recorder, prompt).await.unwrap());
    }
    assert_eq!(writer.finish().unwrap(), (prompts.len(), 0));
    (replies, std::fs::read_to_string(&path).unwrap())
}

fn replayer(tape: &str) -> Replayer {
    Replayer::new(Tape::parse(tape.as_bytes(), Path::new("tape.jsonl")).unwrap())
}

#[tokio::test]
async fn equal_requests_are_answered_in_the_order_of_the_tape() {
    let answers = ["one", "two", "other"].map(Answer::text).into_iter().collect();
    let (replies, tape) = recorded(&["same", "same", "else"], answers).await;
    let replayer = replayer(&tape);
    let mut again = Vec::new();
    for prompt in ["same", "else", "same"] {
        again.push(send(&replayer, prompt).await.unwrap());
    }
    assert_eq!(again, [replies[0].clone(), replies[2].clone(), replies[1].clone()]);
    assert_eq!(replayer.missed(), 0);
    insta::assert_snapshot!(send(&replayer, "same").await.unwrap_err(), @"request failed: the tape has this request 2 times, and it was asked again");
    assert_eq!(replayer.missed(), 1);
}

#[tokio::test]
async fn a_request_that_is_not_on_the_tape_is_told_where_it_differs() {
    let answers = vec![Answer::text("one"), Answer::text("two")];
    let (_, tape) = recorded(&["count the files", "count the lines"], answers).await;
    let replayer = replayer(&tape);
    insta::assert_snapshot!(send(&replayer, "count the lions").await.unwrap_err(), @"request failed: the tape has no such request; it is nearest to line 3 and parts from it at message 1, block 1 (user text)");
    let mut request = request("x");
    request.format = WireFormat::Gemini;
    let error = replayer.send(&request, &mut |_| {}, &CancellationToken::new()).await.unwrap_err();
    insta::assert_snapshot!(error, @"request failed: the tape has no request in the format gemini");
}

#[tokio::test]
async fn a_providers_own_words_come_back_as_they_were() {
    let text = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"abc=="},{"type":"text","text":"I look.\nNow."},{"type":"tool_use","id":"t1","name":"Glob","input":{"pattern":"*",  "odd": 1.0}}]}"#;
    let message = read_message(WireFormat::Anthropic, text).unwrap();
    let usage = Usage { uncached: 3, read: Some(500), output: 9, ..Usage::default() };
    let answer = Answer::reply(Reply { usage, ..replies::reply(message.clone()) });
    let other = Answer::text("cut").with_stop(StopReason::Other("odd_reason".to_owned()));
    let (given, tape) = recorded(&["go", "on"], vec![answer, other]).await;
    assert_eq!(given[0].message, message);
    let replayer = replayer(&tape);
    assert_eq!(send(&replayer, "go").await.unwrap(), given[0]);
    let second = send(&replayer, "on").await.unwrap();
    assert_eq!(
        (second.stop, second.message.text()),
        (StopReason::Other("odd_reason".into()), "cut".into())
    );
}

#[tokio::test]
async fn keys_never_land_on_a_tape_and_the_run_sees_what_the_tape_says() {
    // Shapes of keys, put together here so that no scanner takes this file for a leak.
    let keys = [
        format!("sk-ant-{}", "api03-4f9Qm2Xw7Rt8Lk3Jh6Vb1Nc5Zp0Sd"),
        format!("AKIA{}", "Q4ZT7WPL2MXN6VJB"),
        format!("ghp_{}", "a8Kd93mXq27LpzRtYw5BvNc61HsJfG04eUiO"),
    ];
    for key in &keys {
        let prompt = format!("The key is {key}, use it.");
        let (given, tape) =
            recorded(&[&prompt], vec![Answer::text(format!("I used {key}."))]).await;
        assert!(!tape.contains(key.as_str()), "{tape}");
        assert!(tape.matches("[redacted: ").count() == 2, "{tape}");
        assert!(given[0].message.text().starts_with("I used [redacted: "), "{given:?}");
        assert_eq!(send(&replayer(&tape), &prompt).await.unwrap(), given[0]);
    }
}

#[tokio::test]
async fn what_was_not_answered_is_counted_and_not_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tape.jsonl");
    let model = MODEL.parse().unwrap();
    let writer = TapeWriter::create(&path, "suite", (Some(&model), None)).unwrap();
    let recorder = Recorder::new(Arc::new(ScriptedModel::new([])), model, Arc::clone(&writer));
    assert!(send(&recorder, "x").await.is_err());
    assert_eq!(writer.finish().unwrap(), (0, 1));
    let tape = Tape::load(&path).unwrap();
    assert_eq!((tape.is_empty(), tape.model.unwrap().to_string()), (true, MODEL.to_owned()));
}

#[test]
fn what_is_no_tape_is_refused() {
    let wrong = |text: &str| Tape::parse(text.as_bytes(), Path::new("t.jsonl")).unwrap_err();
    insta::assert_snapshot!(wrong(""), @"t.jsonl is not a tape of `tine eval --record`");
    insta::assert_snapshot!(wrong("{\"a\":1}"), @"t.jsonl is not a tape of `tine eval --record`");
    insta::assert_snapshot!(wrong("{\"tine_tape\":2,\"suite\":\"s\",\"model\":null}"), @"t.jsonl is a tape of version 2, and this tine reads version 1");
    let head = "{\"tine_tape\":1,\"suite\":\"s\",\"model\":null}\n";
    insta::assert_snapshot!(wrong(&format!("{head}\n{{\"format\":1}}")), @"t.jsonl:3: invalid type: integer `1`, expected a string at line 1 column 11");
}

proptest! {
    /// Shows: whatever is done to a tape, reading it ends in a tape or in an error.
    #[test]
    fn no_damage_is_too_much(cut in 0usize..2_000, noise in prop::collection::vec(any::<u8>(), 0..8), at in 0usize..2_000) {
        const TAPE: &str = concat!(
            "{\"tine_tape\":1,\"suite\":\"s\",\"model\":\"sim/echo\"}\n",
            "{\"format\":\"anthropic\",\"model\":\"sim/echo\",\"hash\":\"00\",\"request\":{\"messages\":[]},\"reply\":{\"id\":null,\"model\":null,",
            "\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]},\"stop\":\"end_turn\",",
            "\"usage\":{\"uncached\":18446744073709551615,\"write_short\":null,\"write_long\":null,\"read\":null,\"output\":1,\"reasoning\":null}}}\n",
        );
        let mut bytes = TAPE.as_bytes().to_vec();
        let at = at.min(bytes.len());
        bytes.splice(at..at, noise);
        bytes.truncate(cut);
        if let Ok(tape) = Tape::parse(&bytes, Path::new("t")) {
            prop_assert!(tape.len() <= 3);
        }
    }
}
