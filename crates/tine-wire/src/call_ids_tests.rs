use proptest::prelude::*;
use tine_model::{RawJson, ToolInput};

use super::*;

fn calls(ids: &[&str]) -> Message {
    let call = |id: &&str| Block::ToolUse {
        id: ToolCallId((*id).to_owned()),
        name: "Bash".to_owned(),
        input: ToolInput::Valid(RawJson::empty_object()),
    };
    Message::new(Role::Assistant, ids.iter().map(call).collect())
}

fn results(ids: &[&str]) -> Message {
    let result = |id: &&str| Block::ToolResult {
        call: ToolCallId((*id).to_owned()),
        content: vec![Block::Text("done".to_owned())],
        is_error: false,
    };
    Message::new(Role::User, ids.iter().map(result).collect())
}

/// The ids of these messages as requests have them.
fn sent(format: WireFormat, messages: &[Message]) -> Vec<Vec<String>> {
    let mut ids = CallIds::default();
    let placed = |message: &Message| {
        let new = ids.place(message, format, IdForm::default());
        let message = new.as_ref().unwrap_or(message);
        message.blocks().iter().filter_map(id_of).map(str::to_owned).collect()
    };
    messages.iter().map(placed).collect()
}

#[test]
fn ids_that_repeat_are_told_apart_with_their_results() {
    let turn = |id: &str| [calls(&[id]), results(&[id])];
    let messages = [turn("call_0"), turn("call_0"), turn("call_0_2"), turn("x")].concat();
    insta::assert_compact_debug_snapshot!(sent(WireFormat::OpenAiChat, &messages), @r#"[["call_0"], ["call_0"], ["call_0_2"], ["call_0_2"], ["call_0_2_2"], ["call_0_2_2"], ["x"], ["x"]]"#);
    // Of one message, in their order.
    let twice = [calls(&["a", "b", "a"]), results(&["b"]), results(&["a", "a"])];
    insta::assert_compact_debug_snapshot!(sent(WireFormat::OpenAiChat, &twice), @r#"[["a", "b", "a_2"], ["b"], ["a", "a_2"]]"#);
}

#[test]
fn ids_of_others_are_written_in_the_providers_form() {
    let messages =
        [calls(&["functions.Bash:0", "", "ok-1"]), results(&["functions.Bash:0", "", "ok-1"])];
    insta::assert_compact_debug_snapshot!(sent(WireFormat::Anthropic, &messages), @r#"[["functions_Bash_0", "call", "ok-1"], ["functions_Bash_0", "call", "ok-1"]]"#);
    assert_eq!(sent(WireFormat::Gemini, &messages)[0][0], "functions.Bash:0");
    let form = |words: &str| IdForm::read(words).unwrap();
    let nine = form("Tool call id was call_0 but must be a-z, A-Z, 0-9, with a length of 9.");
    assert_eq!(nine.fitted("abcdef123", None), "abcdef123");
    let other = nine.fitted("call_0", None);
    assert!(other.len() == 9 && other.chars().all(|c| c.is_ascii_alphanumeric()), "{other}");
    assert_ne!(other, nine.fitted("call_0", Some(2)));
    let forty = form(
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 46 instead.",
    );
    assert_eq!(forty.fitted(&"a".repeat(46), None), "a".repeat(40));
    assert_eq!(forty.fitted(&"a".repeat(46), Some(2)), format!("{}_2", "a".repeat(38)));
    let word =
        form("messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'");
    assert_eq!(word.fitted("a b", None), "a_b");
    assert_eq!(IdForm::read("max_tokens: must be at most 4096"), None);
}

#[test]
fn what_a_provider_said_keeps_every_other_byte() {
    for (format, said, expected) in [
        (
            WireFormat::Anthropic,
            r#"{"role":"assistant","content":[{"type":"text", "text":"é","citations":[]},{"type":"tool_use","id" : "a:1","name":"Bash","input":{"id":"a:1"},"caller":1}]}"#,
            r#"{"role":"assistant","content":[{"type":"text", "text":"é","citations":[]},{"type":"tool_use","id" : "a_1","name":"Bash","input":{"id":"a:1"},"caller":1}]}"#,
        ),
        (
            WireFormat::Anthropic,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a:1","content":[{"type":"text","text":"x"}]}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_1","content":[{"type":"text","text":"x"}]}]}"#,
        ),
    ] {
        let mut ids = CallIds::default();
        ids.place(&calls(&["a:1"]), format, IdForm::default());
        if said.contains("assistant") {
            ids = CallIds::default();
        }
        let message = read_message(format, said).unwrap();
        let new = ids.place(&message, format, IdForm::default()).unwrap();
        assert_eq!(new.raw().unwrap().json.as_str(), expected);
    }
    let chat = |text: &str| read_message(WireFormat::OpenAiChat, text).unwrap();
    let mut ids = CallIds::default();
    let said = r#"{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"Bash","arguments":"{}"}}]}"#;
    let answer = r#"{"role":"tool","tool_call_id":"a","content":"x","extra":1}"#;
    for message in [chat(said), chat(answer)] {
        assert_eq!(ids.place(&message, WireFormat::OpenAiChat, IdForm::default()), None);
    }
    let texts: Vec<String> = [chat(said), chat(answer)]
        .iter()
        .map(|message| {
            let new = ids.place(message, WireFormat::OpenAiChat, IdForm::default()).unwrap();
            new.raw().unwrap().json.as_str().to_owned()
        })
        .collect();
    assert_eq!(texts, [said.replace("\"a\"", "\"a_2\""), answer.replace("\"a\"", "\"a_2\"")]);
}

proptest! {
    /// Shows: whatever ids a conversation has, requests have each once and in the provider's form, every result goes with its call, the
    /// first messages have the same ids however the conversation goes on, and what was placed stays as it is.
    #[test]
    fn ids_are_right_and_stable(turns in prop::collection::vec(prop::collection::vec("[ab:_2]{0,3}", 1..4), 1..12)) {
        let messages: Vec<Message> = turns
            .iter()
            .flat_map(|turn| {
                let turn: Vec<&str> = turn.iter().map(String::as_str).collect();
                [calls(&turn), results(&turn)]
            })
            .collect();
        let all = sent(WireFormat::Anthropic, &messages);
        let mut seen = HashSet::new();
        for turn in all.chunks(2) {
            prop_assert_eq!(&turn[0], &turn[1]);
            for id in &turn[0] {
                prop_assert!(!id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
                prop_assert!(seen.insert(id.clone()), "{} twice", id);
            }
        }
        for end in (0..messages.len()).step_by(2) {
            prop_assert_eq!(&sent(WireFormat::Anthropic, &messages[..end])[..], &all[..end]);
        }
        let again: Vec<Message> = all
            .chunks(2)
            .flat_map(|turn| {
                let turn: Vec<&str> = turn[0].iter().map(String::as_str).collect();
                [calls(&turn), results(&turn)]
            })
            .collect();
        prop_assert_eq!(sent(WireFormat::Anthropic, &again), all);
    }
}
