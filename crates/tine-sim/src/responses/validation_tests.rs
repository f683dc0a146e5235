//! What the Responses format refuses, and how its prompt becomes positions.

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::request::Request;
use super::*;
use crate::cache::{PromptUsage, Ttl};
use crate::profile::Profile;
use crate::refusal::Refusal;
use crate::scenario::ThinkingBinding;

fn read(body: &Value) -> Result<Request, Refusal> {
    Request::parse(body.to_string().as_bytes(), |_| Profile::OpenAi)
}

fn flatten(body: &Value) -> Result<Flattened, Refusal> {
    read(body).and_then(|request| Flattened::of(&request, &[0; 32], ThinkingBinding::Prefix))
}

fn with(changes: &Value) -> Value {
    let mut body = json!({"model": "m", "input": "hi"});
    for (key, value) in changes.as_object().expect("an object") {
        body[key] = value.clone();
    }
    body
}

/// Why a body with these changes is refused: status, message, code and field.
fn why(changes: Value) -> String {
    match flatten(&with(&changes)) {
        Ok(_) => "accepted".to_owned(),
        Err(Refusal { status, message, code, param, .. }) => {
            format!("{status} {message} [{} {}]", code.unwrap_or("-"), param.unwrap_or_default())
        }
    }
}

fn input(items: Value) -> String {
    why(json!({"input": items}))
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "bash", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "done"})
}

fn part(text: &str, breakpoint: Value) -> Value {
    match breakpoint {
        Value::Null => json!({"type": "input_text", "text": text}),
        mark => json!({"type": "input_text", "text": text, "prompt_cache_breakpoint": mark}),
    }
}

fn mark() -> Value {
    json!({"mode": "explicit"})
}

#[test]
fn calls_and_outputs_must_pair_up() {
    assert_snapshot!(input(json!([user("go"), call("a"), output("a")])), @"accepted");
    assert_snapshot!(input(json!([user("go"), call("a"), call("b"), output("b"), output("a")])), @"accepted");
    assert_snapshot!(input(json!([user("go"), call("a"), call("b"), output("b")])), @"400 No tool output found for function call a. [- input]");
    assert_snapshot!(input(json!([user("go"), output("a")])), @"400 No tool call found for function call output with call_id a. [- input]");
    assert_snapshot!(input(json!([user("go"), call("a"), output("a"), output("a")])), @"400 No tool call found for function call output with call_id a. [- input]");
}

#[test]
fn outputs_are_of_the_kind_of_their_calls() {
    let custom = || json!({"type": "custom_tool_call", "call_id": "a", "name": "apply_patch", "input": "*** Begin"});
    let answered = || json!({"type": "custom_tool_call_output", "call_id": "a", "output": "done"});
    assert_snapshot!(input(json!([user("go"), custom(), answered()])), @"accepted");
    assert_snapshot!(input(json!([user("go"), custom()])), @"400 No tool output found for custom tool call a. [- input]");
    assert_snapshot!(input(json!([user("go"), custom(), output("a")])), @"400 No tool call found for function call output with call_id a. [- input]");
    assert_snapshot!(input(json!([user("go"), call("a"), answered()])), @"400 No tool call found for custom tool call output with call_id a. [- input]");
    let bare = json!({"type": "custom_tool_call", "call_id": "a", "name": "apply_patch", "arguments": "{}"});
    assert_snapshot!(input(json!([user("go"), bare, answered()])), @"400 Unknown parameter: 'input[1].arguments'. [unknown_parameter input[1].arguments]");
    // An output takes a mark, as that of a function does.
    let marked = json!({"type": "custom_tool_call_output", "call_id": "a", "output": [part("done", mark())]});
    assert_snapshot!(input(json!([user("go"), custom(), marked])), @"accepted");
}

#[test]
fn metadata_of_codex_stands_on_items_only() {
    let noted = |mut item: Value| {
        item["internal_chat_message_metadata_passthrough"] =
            json!({"turn_id": "a", "create_time": 1.5, "content_item_kinds": ["user"]});
        item
    };
    let answer = json!({"type": "message", "role": "assistant", "content": "I call."});
    let items = [user("go"), answer, call("a"), output("a")].map(noted);
    assert_snapshot!(input(json!(items)), @"accepted");
    let thought = noted(reasoning(&with(&json!({"input": [user("go")]}))));
    assert_snapshot!(input(json!([user("go"), thought, call("a"), output("a")])), @"accepted");
    let inside = json!([{"role": "user", "content": [noted(part("a", Value::Null))]}]);
    assert_snapshot!(input(inside), @"400 Unknown parameter: 'input[0].content[0].internal_chat_message_metadata_passthrough'. [unknown_parameter input[0].content[0].internal_chat_message_metadata_passthrough]");
    assert_snapshot!(why(noted(json!({}))), @"400 Unknown parameter: 'internal_chat_message_metadata_passthrough'. [unknown_parameter internal_chat_message_metadata_passthrough]");
}

#[test]
fn breakpoints_stand_on_input_parts_only() {
    let message = |part: Value| json!([{"role": "user", "content": [part]}]);
    assert_snapshot!(input(message(part("a", mark()))), @"accepted");
    assert_snapshot!(input(message(part("a", json!({"mode": "explicit", "ttl": "12h"})))), @"accepted");
    assert_snapshot!(input(message(part("a", json!({"mode": "explicit", "ttl": "5m"})))), @r#"400 Invalid value: "5m". Supported values are: '30m', '12h'. [invalid_value input[0].content[0].prompt_cache_breakpoint.ttl]"#);
    assert_snapshot!(input(message(part("a", json!({"ttl": "30m"})))), @"400 Missing required parameter: 'input[0].content[0].prompt_cache_breakpoint.mode'. [missing_required_parameter input[0].content[0].prompt_cache_breakpoint.mode]");
    let answer = json!({"type": "output_text", "text": "a", "prompt_cache_breakpoint": mark()});
    assert_snapshot!(input(json!([{"role": "assistant", "content": [answer]}])), @"400 Unknown parameter: 'input[0].content[0].prompt_cache_breakpoint'. [unknown_parameter input[0].content[0].prompt_cache_breakpoint]");
    assert_snapshot!(input(json!([{"role": "user", "content": "a", "prompt_cache_breakpoint": mark()}])), @"400 Unknown parameter: 'input[0].prompt_cache_breakpoint'. [unknown_parameter input[0].prompt_cache_breakpoint]");
    let tool = json!({"type": "function", "name": "a", "prompt_cache_breakpoint": mark()});
    assert_snapshot!(why(json!({"tools": [tool]})), @"400 Unknown parameter: 'tools[0].prompt_cache_breakpoint'. [unknown_parameter tools[0].prompt_cache_breakpoint]");
    let more = json!([{"type": "additional_tools", "tools": [tool]}]);
    assert_snapshot!(input(more), @"400 Unknown parameter: 'input[0].tools[0].prompt_cache_breakpoint'. [unknown_parameter input[0].tools[0].prompt_cache_breakpoint]");
    let outputs =
        json!({"type": "function_call_output", "call_id": "a", "output": [part("a", mark())]});
    assert_snapshot!(input(json!([user("go"), call("a"), outputs])), @"accepted");
    let five: Vec<Value> = (0..5).map(|_| part("a", mark())).collect();
    assert_snapshot!(input(json!([{"role": "user", "content": five}])), @"accepted");
}

#[test]
fn cache_options_are_checked() {
    let options = |options: Value| why(json!({"prompt_cache_options": options}));
    let all = json!({"mode": "explicit", "ttl": "12h", "prewarm": true, "comparison_response_id": "resp_1"});
    assert_snapshot!(options(all), @"accepted");
    assert_snapshot!(options(json!({"mode": "automatic"})), @r#"400 Invalid value: "automatic". Supported values are: 'implicit', 'explicit'. [invalid_value prompt_cache_options.mode]"#);
    assert_snapshot!(options(json!({"size": 1})), @"400 Unknown parameter: 'prompt_cache_options.size'. [unknown_parameter prompt_cache_options.size]");
    assert_snapshot!(options(json!({"prewarm": 1})), @"400 Invalid type for 'prompt_cache_options.prewarm': expected a boolean [- prompt_cache_options.prewarm]");
    assert_snapshot!(why(json!({"prompt_cache_key": 1})), @"400 Invalid type for 'prompt_cache_key': expected a string [- prompt_cache_key]");
    assert_snapshot!(why(json!({"prompt_cache_retention": "24h"})), @"accepted");
    assert_snapshot!(why(json!({"prompt_cache_retention": "in_memory"})), @r#"400 Invalid value: "in_memory". Supported values are: '24h'. [invalid_value prompt_cache_retention]"#);
}

#[test]
fn fields_must_be_there_and_of_their_type() {
    let parse = |body: &str| match Request::parse(body.as_bytes(), |_| Profile::OpenAi) {
        Ok(_) => "accepted".to_owned(),
        Err(refusal) => refusal.message,
    };
    assert_snapshot!(parse("{"), @"We could not parse the JSON body of your request: EOF while parsing an object at line 1 column 1");
    assert_snapshot!(parse("{}"), @"Missing required parameter: 'model'.");
    assert_snapshot!(parse(r#"{"model":"m"}"#), @"Missing required parameter: 'input'.");
    assert_snapshot!(input(json!([1])), @"400 Invalid type for 'input[0]': expected an object [- input[0]]");
    assert_snapshot!(input(json!([{"content": "a"}])), @"400 Missing required parameter: 'input[0].type'. [- input[0].type]");
    assert_snapshot!(input(json!([{"role": "tool", "content": "a"}])), @"400 Invalid value: 'input[0].role'. [- input[0].role]");
    assert_snapshot!(input(json!([{"role": "user", "content": [{"type": "input_text"}]}])), @"400 Missing required parameter 'text': 'input[0].content[0]'. [- input[0].content[0]]");
    assert_snapshot!(input(json!([{"type": "function_call", "call_id": "a", "name": "b"}])), @"400 Missing required parameter: 'input[0].arguments'. [- input[0].arguments]");
    assert_snapshot!(why(json!({"max_output_tokens": 0})), @"400 Invalid 'max_output_tokens': expected an integer of at least 1 [- max_output_tokens]");
    assert_snapshot!(why(json!({"previous_response_id": "resp_1"})), @"404 Previous response with id 'resp_1' not found. [previous_response_not_found previous_response_id]");
    assert_snapshot!(input(json!([{"type": "item_reference", "id": "rs_1"}])), @"404 Item with id 'rs_1' not found. Items are not persisted here; send the whole item, reasoning with its `encrypted_content`. [- input]");
}

/// Reasoning that answers a request for `asked`.
fn reasoning(asked: &Value) -> Value {
    let summary = json!([]);
    let sealed = flatten(asked).expect("a valid request").seal("hm", &summary);
    json!({"type": "reasoning", "id": "rs_sim_000001", "summary": summary, "encrypted_content": sealed})
}

#[test]
fn reasoning_and_the_item_it_led_to_stay_together() {
    let thought = reasoning(&with(&json!({})));
    let said =
        |id: &str| json!({"type": "message", "id": id, "role": "assistant", "content": "ok"});
    let paired = said("msg_sim_000002_rs000001");
    assert_snapshot!(input(json!([user("hi"), thought, paired, user("ho")])), @"accepted");
    assert_snapshot!(input(json!([user("hi"), paired, user("ho")])), @"400 Item 'msg_sim_000002_rs000001' of type 'message' was provided without its required 'reasoning' item: 'rs_sim_000001'. [- input]");
    assert_snapshot!(input(json!([user("hi"), thought, user("ho")])), @"400 Item 'rs_sim_000001' of type 'reasoning' was provided without its required following item. [- input]");
    assert_snapshot!(input(json!([user("hi"), thought])), @"400 Item 'rs_sim_000001' of type 'reasoning' was provided without its required following item. [- input]");
    assert_snapshot!(input(json!([user("hi"), said("msg_sim_000002"), user("ho")])), @"accepted");
}

#[test]
fn changed_reasoning_is_refused_and_moved_reasoning_is_taken_out() {
    let thought = reasoning(&with(&json!({})));
    let turn = |first: &str, thought: &Value| {
        let said = json!({"type": "message", "role": "assistant", "content": "ok"});
        with(&json!({"input": [user(first), thought, said, user("ho")]}))
    };
    for (key, value) in [("encrypted_content", json!("sim1.x")), ("summary", json!([{"a": 1}]))] {
        let mut changed = thought.clone();
        changed[key] = value;
        let refusal = flatten(&turn("hi", &changed)).expect_err("changed");
        let message = "The encrypted content for item rs_sim_000001 could not be verified.";
        assert_eq!((refusal.message.as_str(), refusal.status), (message, 400));
    }
    let kept = flatten(&turn("hi", &thought)).expect("unchanged");
    assert_eq!(kept.transformations, Vec::<Value>::new());
    let moved = flatten(&turn("hey", &thought)).expect("not refused");
    assert_snapshot!(json!(moved.transformations), @r#"[{"type":"reasoning","id":"rs_sim_000001","action":"removed","reason":"prefix_mismatch"}]"#);
    let lines = |flattened: &Flattened| flattened.rendered.prompt.lines.len();
    assert_eq!(lines(&moved) + 1, lines(&kept));
    let bare = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    assert_eq!(flatten(&turn("hi", &bare)).expect_err("nothing is stored").status, 404);
}

#[test]
fn eligible_ends_are_users_last_outputs_and_the_first_instructions() {
    let body = with(
        &json!({"instructions": "i", "tools": [{"type": "function", "name": "t"}], "input": [
            {"role": "developer", "content": "a"}, {"role": "developer", "content": "b"}, user("c"),
            call("x"), call("y"), output("x"), output("y"), {"role": "developer", "content": "d"}, user("e"),
        ]}),
    );
    let prompt = flatten(&body).expect("a valid request").rendered.prompt;
    let ends: Vec<usize> = (0..prompt.positions.len())
        .filter(|index| prompt.positions[*index].is_eligible_end)
        .collect();
    // Tool 0, instructions 1, developers 2 and 3, user 4, calls 5 and 6, outputs 7 and 8, developer 9, user 10.
    assert_eq!(ends, [3, 4, 8, 10]);
}

#[test]
fn a_breakpoint_survives_the_growth_of_its_message() {
    let digests = |parts: Value, end: &str| {
        let body = with(&json!({"input": [{"role": "user", "content": parts}, user(end)]}));
        let positions = flatten(&body).expect("a valid request").rendered.prompt.positions;
        let ttls: Vec<Option<Ttl>> = positions.iter().map(|place| place.mark).collect();
        (positions.iter().map(|place| place.digest).collect::<Vec<_>>(), ttls)
    };
    let (short, ttls) = digests(json!([part("a", mark())]), "x");
    assert_eq!(ttls, [Some(Ttl::Short), None, None]);
    let (grown, _) = digests(json!([part("a", mark()), part("b", Value::Null)]), "x");
    assert_eq!(short[0], grown[0], "the part's end is the same");
    assert_ne!(short[1], grown[1], "the message's end is another");
    let plain = with(&json!({"input": [user("a"), user("x")]}));
    let plain = flatten(&plain).expect("a valid request").rendered.prompt.positions;
    assert_eq!(plain[0].digest, short[1], "a string is one text part");
}

#[test]
fn settings_and_the_key_are_part_of_every_entry() {
    let first = |changes: Value| {
        let prompt = flatten(&with(&changes)).expect("a valid request").rendered.prompt;
        (prompt.scope, prompt.positions[0].digest)
    };
    let base = first(json!({}));
    let different = [
        json!({"model": "n"}),
        json!({"prompt_cache_key": "k"}),
        json!({"reasoning": {"effort": "low"}}),
        json!({"text": {"format": {"type": "json_object"}}}),
        json!({"text": {"verbosity": "low"}}),
        json!({"parallel_tool_calls": false}),
        json!({"service_tier": "priority"}),
        json!({"context_management": [{"type": "compaction"}]}),
    ];
    different.into_iter().for_each(|changes| assert_ne!(first(changes.clone()), base, "{changes}"));
    let equal = [
        json!({"tool_choice": "none"}),
        json!({"max_output_tokens": 5, "stream": true, "store": false}),
        json!({"parallel_tool_calls": true, "service_tier": "auto"}),
        json!({"text": {"format": {"type": "text"}, "verbosity": "medium"}}),
        json!({"reasoning": {"summary": "auto"}}),
    ];
    equal.into_iter().for_each(|changes| assert_eq!(first(changes.clone()), base, "{changes}"));
}

#[test]
fn a_diagnosis_names_what_changed() {
    let trace_of = |body: &Value| {
        let request = read(body).expect("a valid request");
        trace(&request, &flatten(body).expect("a valid request"))
    };
    let earlier = trace_of(&with(&json!({"input": [user("a"), user("b")]})));
    let check = |changes: Value, read: u64| {
        let mut body = with(&json!({"input": [user("a"), user("b"), user("c")]}));
        for (key, value) in changes.as_object().expect("an object") {
            body[key] = value.clone();
        }
        let usage = PromptUsage { read, ..PromptUsage::default() };
        diagnosis(&trace_of(&body), Some(&earlier), &usage).to_string()
    };
    assert_snapshot!(check(json!({}), 9), @r#"{"type":"cache_hit"}"#);
    assert_snapshot!(check(json!({}), 0), @r#"{"type":"unavailable"}"#);
    assert_snapshot!(check(json!({"model": "n"}), 0), @r#"{"type":"cache_miss","reason":"model_changed","cache_missed_tokens":15,"comparison_reusable_tokens":0}"#);
    assert_snapshot!(check(json!({"parallel_tool_calls": false}), 0), @r#"{"type":"unavailable"}"#);
    assert_snapshot!(check(json!({"input": [user("a"), user("x")]}), 0), @r#"{"type":"cache_miss","reason":"input_changed","cache_missed_tokens":7,"comparison_reusable_tokens":8}"#);
    let compacted = json!({"input": [{"type": "compaction", "encrypted_content": "x"}, user("c")]});
    assert_snapshot!(check(compacted, 0), @r#"{"type":"cache_miss","reason":"context_compacted","cache_missed_tokens":15,"comparison_reusable_tokens":0}"#);
    let reasons = [
        ("prompt_cache_key_changed", json!({"prompt_cache_key": "k"})),
        ("tools_changed", json!({"tools": [{"type": "function", "name": "t"}]})),
        ("text_format_changed", json!({"text": {"format": {"type": "json_object"}}})),
        ("reasoning_effort_changed", json!({"reasoning": {"effort": "low"}})),
        ("verbosity_changed", json!({"text": {"verbosity": "low"}})),
        ("service_tier_changed", json!({"service_tier": "flex"})),
        ("input_changed", json!({"instructions": "be brief"})),
    ];
    for (reason, changes) in reasons {
        let found: Value = serde_json::from_str(&check(changes, 0)).expect("JSON");
        assert_eq!(found["reason"], reason);
    }
    assert_snapshot!(diagnosis(&earlier, None, &PromptUsage::default()), @r#"{"type":"comparison_response_not_found"}"#);
}

proptest! {
    #[test]
    fn the_validator_never_panics_on_bytes(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        drop(Request::parse(&body, |_| Profile::OpenAi));
    }

    #[test]
    fn the_validator_never_panics_on_near_misses(
        role in "user|assistant|system|x",
        kind in "message|reasoning|function_call|function_call_output|x|",
        key in "type|role|content|output|summary|encrypted_content|id|call_id",
        value in prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!([{}, "a", 1, {"type": "input_text"}])), Just(json!("a_rs1")), Just(json!({"mode": 1}))],
    ) {
        let mut item = json!({"type": kind, "role": role, "content": "a", "id": "a", "call_id": "a", "output": "b", "summary": [], "encrypted_content": "sim1.a.b.c"});
        item[key] = value.clone();
        let part = json!({"role": "user", "content": [{"type": "input_text", "text": "a", "prompt_cache_breakpoint": value}]});
        for input in [json!([item]), json!([item, part]), value.clone()] {
            let body = json!({"model": "m", "input": input, "tools": value, "reasoning": value, "text": value, "include": [value], "prompt_cache_options": {"mode": "explicit"}});
            if let Ok(request) = read(&body) {
                drop(Flattened::of(&request, &[0; 32], ThinkingBinding::Prefix));
                request.pieces().for_each(drop);
            }
        }
    }
}
