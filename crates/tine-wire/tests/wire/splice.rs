//! Requests of other programs, gone on from in their own bytes.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::Value;
use tine_history::{History, Item};
use tine_model::{EntryId, Lifetime, Message, Provider, WireFormat};
use tine_wire::{
    Head, HeadParts, Lifetimes, MarkPoints, RequestOptions, SplitRequest, assemble, read_message,
    read_request,
};

/// A request in each format, as programs write them: with blanks, with members that nobody here knows, and with the settings
/// before, between and behind the messages. Each ends in an open call.
const REQUESTS: [(Provider, &str); 5] = [
    (
        Provider::Anthropic,
        r#"{ "model":"claude-x","messages" : [{"role":"user","content":[{"type":"text","text":"h\u00e9"}],"later":1.0},
        {"role":"system","content":"Today is a day."} ,{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Look","input":{"b":1.0}, "caller":{"type":"direct"}}]} ],
        "system":[{"type":"text","text":"x-billing: 7"},{"type":"text","text":"Be kind.","cache_control":{"type":"ephemeral","ttl":"1h"}}],
        "tools":[{"name":"Look","input_schema":{},"defer_loading":true,"eager":[1, 2]},{"type":"web_search_1","name":"web"}],
        "max_tokens":99,"context_management":{"edits":[]},"stream":false , "new_setting": {"a" : 1e3} }"#,
    ),
    (
        Provider::OpenAiChat,
        r#"{"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"hi","name":"me"},{"role":"assistant","content":null,"annotations":[],"tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"b","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"1"},{"role":"tool","tool_call_id":"c2","content":"2"},{"role":"assistant","content":"so","tool_calls":[{"id":"c3","type":"function","function":{"name":"a","arguments":"{ }"}}]}],"model":"gpt-x","stream":true,"stream_options":{"include_usage":true,"x":1},"logit_bias":{"1":2},"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object"},"strict":true}}]}"#,
    ),
    (
        Provider::OpenAi,
        r#"{"model":"gpt-x","instructions":"Be kind.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"reasoning","id":"r1","summary":[],"encrypted_content":"e"},{"type":"custom_tool_call","call_id":"k","name":"patch","input":"x"},{"type":"function_call","call_id":"c1","name":"a","arguments":"{}","namespace":"n"}],"client_metadata":{"thread":"t"},"store":false,"include":["reasoning.encrypted_content"],"stream":true}"#,
    ),
    (
        Provider::Gemini,
        r#"{"contents":[{"parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":{}},"thoughtSignature":"s"}]}],"system_instruction":{"parts":[{"text":"Be kind."}]},"safetySettings":[{"category":"c","threshold":"t"}],"generationConfig":{"temperature":1,"topK":64,"thinkingConfig":{"includeThoughts":true}}}"#,
    ),
    (
        Provider::DeepSeek,
        r#"{"model":"deepseek-x","frequency_penalty":0.10,"messages":[{"role":"user","content":"hi"},{"role":"assistant","reasoning_content":"hm","content":"","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"a","arguments":"{\"x\":1}"}}]}],"max_tokens":5}"#,
    ),
];

fn read(provider: Provider, body: &str) -> (HeadParts, Vec<Message>) {
    read_request(provider, Some("gemini-x"), body.as_bytes()).unwrap()
}

fn history(messages: Vec<Message>) -> History {
    let item = |(index, message): (usize, Message)| Item {
        entry: EntryId(index as i64 + 1),
        message: Arc::new(message),
    };
    History::from_items(messages.into_iter().enumerate().map(item).collect())
}

/// The request for these messages. `inherited` of them are a parent's.
fn request(head: &Head, messages: Vec<Message>, inherited: usize) -> String {
    let points = MarkPoints { sent: Some(inherited), inherited: Some(inherited) };
    let body = assemble(head, &mut history(messages), &RequestOptions::at(points)).body;
    assert_eq!(body.len() as usize, body.to_vec().len());
    String::from_utf8(body.to_vec()).unwrap()
}

const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

#[test]
fn what_follows_stands_where_the_messages_end_in_every_format() {
    for (provider, body) in REQUESTS {
        let (parts, messages) = read(provider, body);
        assert_eq!(
            parts.system,
            if provider == Provider::Anthropic || provider == Provider::DeepSeek {
                ""
            } else {
                "Be kind."
            }
        );
        let split = SplitRequest::read(provider.format(), body).unwrap();
        let end = body.find(split.elements().last().unwrap()).unwrap()
            + split.elements().last().unwrap().len();
        let head = Head::render(parts);
        let inherited = messages.len();
        let told = [messages.clone(), vec![Message::user("Your task.")]].concat();
        let sent = request(&head, told, inherited).replace(MARK, "");
        let (before, behind) = body.split_at(end);
        assert!(sent.starts_with(before), "{provider:?}: {sent}");
        let said = sent.strip_prefix(before).unwrap().strip_suffix(behind);
        let said = said.unwrap_or_else(|| panic!("{provider:?}: {sent}"));
        assert!(said.starts_with(',') && said.contains("Your task."), "{said}");
        assert!(said.contains("still open"), "the open call is closed: {said}");
        serde_json::from_str::<Value>(&sent).unwrap();
        // Nothing but the open call was added.
        let alone = request(&head, messages, inherited).replace(MARK, "");
        assert!(alone.starts_with(before) && alone.ends_with(behind), "{alone}");
        // The store keeps it.
        assert_eq!(Head::from_stored(&head.to_stored()), Ok(head));
    }
}

#[test]
fn settings_that_no_cache_looks_at_change_alone() {
    for (provider, body) in REQUESTS {
        let (mut parts, messages) = read(provider, body);
        if provider == Provider::Gemini {
            continue;
        }
        parts.settings.max_tokens = 7;
        parts.temperature = Some(0.5);
        let parts = HeadParts { stream: true, ..parts };
        let sent = request(&Head::render(parts), messages, 0);
        let (sent, body): (Value, Value) =
            (serde_json::from_str(&sent).unwrap(), serde_json::from_str(body).unwrap());
        assert_eq!((&sent["temperature"], &sent["stream"]), (&0.5.into(), &true.into()));
        let free = [
            "max_tokens",
            "max_output_tokens",
            "temperature",
            "stream",
            "stream_options",
            "messages",
            "input",
        ];
        let others = |value: &Value| {
            let mut others = value.as_object().unwrap().clone();
            others.retain(|name, _| !free.contains(&name.as_str()));
            others
        };
        assert_eq!(others(&sent), others(&body), "{provider:?}");
    }
}

#[test]
fn a_streamed_head_is_the_same_request_streamed() {
    let (provider, body) = REQUESTS[0];
    let (parts, messages) = read(provider, body);
    let streamed = parts.streamed();
    assert!(streamed.stream && streamed.check().is_ok());
    let sent = request(&Head::render(streamed), messages, 0);
    assert!(sent.ends_with(r#""stream":true , "new_setting": {"a" : 1e3} }"#), "{sent}");
}

#[test]
fn what_was_taken_back_of_a_history_is_not_sent() {
    for (provider, body) in REQUESTS {
        let (parts, messages) = read(provider, body);
        let head = Head::render(parts);
        // From an earlier place: what comes next is said there, and what stood behind is gone.
        let earlier = [vec![messages[0].clone()], vec![Message::user("Instead.")]].concat();
        let sent = request(&head, earlier, 1).replace(MARK, "");
        let split = SplitRequest::read(provider.format(), sent.clone()).unwrap();
        let first = SplitRequest::read(provider.format(), body).unwrap();
        let systems = usize::from(provider == Provider::OpenAiChat);
        let kept: Vec<&str> = first.elements().take(systems + 1).collect();
        assert!(split.elements().take(systems + 1).eq(kept), "{sent}");
        assert_eq!(split.len(), systems + 2, "{sent}");
        // Other words: none of the request's messages.
        let sent = request(&head, vec![Message::user("A summary.")], 0);
        let split = SplitRequest::read(provider.format(), sent.clone()).unwrap();
        assert_eq!(split.len(), systems + 1, "{sent}");
        assert!(split.settings().eq(first.settings()));
    }
}

/// The marks of the request for one more message behind a request with these marks: where they stand, by the block.
fn marked(last: &str, marks: usize, lifetimes: Lifetimes) -> Vec<String> {
    let block = |number: usize| {
        let mark =
            if number < marks { r#","cache_control":{"type":"ephemeral","ttl":"1h"}"# } else { "" };
        format!(r#"{{"type":"text","text":"s{number}"{mark}}}"#)
    };
    let system: Vec<String> = (0..4).map(block).collect();
    let body = format!(
        r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":{last}}}],"system":[{}]}}"#,
        system.join(",")
    );
    let (parts, mut messages) = read(Provider::Anthropic, &body);
    let head = Head::render(parts);
    let reply = r#"{"role":"assistant","content":[{"type":"text","text":"reply"}]}"#;
    messages.push(read_message(WireFormat::Anthropic, reply).unwrap());
    messages.push(Message::user("task"));
    let points = MarkPoints { sent: Some(1), inherited: Some(2) };
    let options = RequestOptions { lifetimes, ..RequestOptions::at(points) };
    let sent = assemble(&head, &mut history(messages), &options).body.to_vec();
    let sent: Value = serde_json::from_slice(&sent).unwrap();
    let lists = [
        &sent["system"],
        &sent["messages"][0]["content"],
        &sent["messages"][1]["content"],
        &sent["messages"][2]["content"],
    ];
    let blocks = lists.into_iter().filter_map(Value::as_array).flatten();
    let found = blocks.filter_map(|block| {
        let ttl = block.get("cache_control")?.get("ttl").and_then(Value::as_str).unwrap_or("5m");
        Some(format!("{} {ttl}", block["text"].as_str()?))
    });
    found.collect()
}

#[test]
fn marks_of_ones_own_take_what_the_request_leaves() {
    let short = Lifetimes::default();
    let list = r#"[{"type":"text","text":"u"}]"#;
    assert_eq!(marked(list, 0, short), ["u 5m", "reply 5m", "task 5m"]);
    assert_eq!(marked(list, 2, short), ["s0 1h", "s1 1h", "reply 5m", "task 5m"]);
    assert_eq!(marked(list, 3, short), ["s0 1h", "s1 1h", "s2 1h", "task 5m"]);
    assert_eq!(marked(list, 4, short), ["s0 1h", "s1 1h", "s2 1h", "s3 1h"]);
    assert_eq!(marked(r#""u""#, 1, short), ["s0 1h", "reply 5m", "task 5m"]);
    let own = r#"[{"type":"text","text":"u","cache_control":{"type":"ephemeral"}}]"#;
    // A long mark behind a short one is refused.
    let long = Lifetimes::new(Lifetime::Long, Lifetime::Long);
    assert_eq!(marked(own, 1, long), ["s0 1h", "u 5m", "reply 5m", "task 5m"]);
    assert_eq!(marked(list, 2, long), ["s0 1h", "s1 1h", "reply 1h", "task 1h"]);
}

#[test]
fn headers_without_which_it_is_another_request_are_kept_with_it() {
    let (mut parts, _) = read(REQUESTS[0].0, REQUESTS[0].1);
    let plain = Head::render(parts.clone());
    let headers = vec![("anthropic-beta".to_owned(), "one,two".to_owned())];
    let sent = parts.sent.take().unwrap().with_headers(headers.clone());
    let head = Head::render(HeadParts { sent: Some(Arc::new(sent)), ..parts });
    assert_eq!((head.headers(), plain.headers().len()), (&*headers, 0));
    assert_ne!(head.hash(), plain.hash());
    assert_eq!(Head::from_stored(&head.to_stored()), Ok(head));
}

#[test]
fn a_model_is_named_by_the_address_where_the_body_names_none() {
    let (provider, body) = REQUESTS[3];
    assert!(read_request(provider, None, body.as_bytes()).is_err());
    let (parts, _) = read(provider, body);
    assert_eq!(Head::render(parts).model(), Some("gemini-x"));
    let (parts, _) =
        read_request(Provider::OpenAi, Some("other"), REQUESTS[2].1.as_bytes()).unwrap();
    assert_eq!(parts.settings.model.name, "gpt-x", "the body's own word counts");
}

/// JSON texts as nobody here writes them.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1.50e+2".to_owned()),
        Just(r#""\u0061\"]}""#.to_owned()),
        "[a-z,\\[\\]{}: ]{0,6}".prop_map(|text| serde_json::to_string(&text).unwrap()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3)
                .prop_map(|all| format!("[ {} ]", all.join(" , "))),
            prop::collection::vec(inner, 0..3).prop_map(|all| {
                let members =
                    all.iter().enumerate().map(|(index, value)| format!("\"m{index}\" :{value}"));
                format!("{{{}\n}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

proptest! {
    /// Shows: nothing appended gives the same bytes; what is appended changes nothing before the place and nothing behind the
    /// messages, whatever the messages and the members are.
    #[test]
    fn splicing_touches_no_other_byte(
        before in prop::collection::vec(json(), 0..3),
        elements in prop::collection::vec(json(), 0..4),
        behind in prop::collection::vec(json(), 0..3),
        more in prop::collection::vec(json(), 0..3),
        keep in 0usize..5,
        format in prop::sample::select(WireFormat::ALL.to_vec()),
    ) {
        let name = match format {
            WireFormat::OpenAiResponses => "in\\u0070ut",
            WireFormat::Gemini => "contents",
            _ => "messages",
        };
        let member = |(index, value): (usize, &String)| format!(" \"b{index}\": {value}");
        let list = format!("\"{name}\" : [ {} ]", elements.join(" ,\t"));
        let members: Vec<String> = before.iter().enumerate().map(member)
            .chain([list])
            .chain(behind.iter().enumerate().map(member))
            .collect();
        let body = format!(" {{{}}} ", members.join(" ,"));
        let split = SplitRequest::read(format, body.clone()).unwrap();
        prop_assert!(split.elements().eq(elements.iter()));
        prop_assert_eq!(split.with_messages(split.len(), &[]), body.as_bytes());
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        let longer = String::from_utf8(split.with_messages(keep, &more)).unwrap();
        let again = SplitRequest::read(format, longer.clone()).unwrap();
        let kept = elements.iter().take(keep).map(String::as_str);
        prop_assert!(again.elements().eq(kept.chain(more.iter().copied()).collect::<Vec<_>>()));
        prop_assert!(again.settings().eq(split.settings()));
        if keep >= split.len() {
            let same = longer.bytes().zip(body.bytes()).take_while(|(a, b)| a == b).count();
            let added = longer.len() - body.len();
            prop_assert_eq!(&longer[same + added..], &body[same..]);
        }
        // A setting is exchanged alone.
        let changed = split.with_setting("b0", "[0]").unwrap();
        prop_assert_eq!(changed.setting("b0"), Some("[0]"));
        prop_assert!(changed.elements().eq(split.elements()));
        let others = |split: &SplitRequest| -> Vec<(String, String)> {
            let settings = split.settings().filter(|(name, _)| *name != "b0");
            settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
        };
        prop_assert_eq!(others(&changed), others(&split));
    }

    /// Shows: whatever a message says, a request that is read and sent as it is has the same bytes, but for one mark.
    #[test]
    fn what_was_read_is_sent_as_it_came(texts in prop::collection::vec(".{1,8}", 1..5), spaces in " {0,3}") {
        let said: Vec<String> = texts.iter().enumerate().map(|(index, text)| {
            let role = if index % 2 == 0 { "user" } else { "assistant" };
            let text = serde_json::to_string(text).unwrap();
            format!(r#"{{{spaces}"role":"{role}","content":[{{"type":"text","text":{text}}}]}}"#)
        }).collect();
        let body = format!(
            r#"{{"messages":[{spaces}{}{spaces}],"x":[1, 2],"model":"m","max_tokens":1,"stream":true{spaces}}}"#,
            said.join(&format!("{spaces},"))
        );
        let (parts, messages) = read(Provider::Anthropic, &body);
        let head = Head::render(parts);
        let sent = request(&head, messages, 0);
        prop_assert_eq!(sent.replacen(MARK, "", 1), body);
    }
}
