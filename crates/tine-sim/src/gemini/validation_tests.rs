//! What a Gemini request is refused for, in the vendor's words.

use serde_json::{Value, json};

use super::{Method, Request, sign};

const MODEL: &str = "gemini-3.8-flash";

fn refusal(contents: Value, model: &str) -> String {
    let body = json!({"contents": contents}).to_string();
    let checked =
        Request::parse(model, body.as_bytes()).and_then(|mut request| request.with_resource(None));
    checked
        .map_or_else(|refusal| format!("{} {}", refusal.status, refusal.message), |()| "ok".into())
}

fn user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

fn call(name: &str, signature: Option<&str>) -> Value {
    let mut part = json!({"functionCall": {"id": name, "name": name, "args": {}}});
    if let Some(signature) = signature {
        part["thoughtSignature"] = json!(signature);
    }
    part
}

fn model(parts: &[Value]) -> Value {
    json!({"role": "model", "parts": parts})
}

fn results(names: &[&str]) -> Value {
    let part = |name: &&str| json!({"functionResponse": {"id": name, "name": name, "response": {"output": "x"}}});
    json!({"role": "user", "parts": names.iter().map(part).collect::<Vec<_>>()})
}

#[test]
fn the_first_call_of_each_step_of_the_current_turn_is_signed() {
    let good = sign("resp", MODEL);
    let step = |signature: Option<&str>| {
        json!([user("go"), model(&[call("a", signature), call("b", None)]), results(&["a", "b"])])
    };
    assert_eq!(refusal(step(Some(&good)), MODEL), "ok");
    assert_eq!(refusal(step(Some("skip_thought_signature_validator")), MODEL), "ok");
    assert_eq!(
        refusal(step(None), MODEL),
        "400 Function call is missing a thought_signature in functionCall parts. Function call `default_api:a`, position 2."
    );
    assert_eq!(refusal(step(None), "gemini-2.5-pro"), "ok", "older models sign nothing");
    let second = json!([
        user("go"),
        model(&[call("a", Some(&good))]),
        results(&["a"]),
        model(&[call("b", None)]),
        results(&["b"]),
    ]);
    assert!(refusal(second, MODEL).ends_with("`default_api:b`, position 4."));
    let earlier = json!([user("go"), model(&[call("a", None)]), results(&["a"]), user("more")]);
    assert_eq!(refusal(earlier, MODEL), "ok", "the turn is over");
}

#[test]
fn a_changed_signature_and_one_of_another_model_are_refused() {
    let step = |signature: &str| {
        json!([user("go"), model(&[call("a", Some(signature))]), results(&["a"])])
    };
    let corrupted = "400 Corrupted thought signature.";
    let mut changed = sign("resp", MODEL);
    changed.replace_range(3..4, if &changed[3..4] == "0" { "1" } else { "0" });
    assert_eq!(refusal(step(&changed), MODEL), corrupted);
    assert_eq!(refusal(step(&sign("resp", "gemini-4-argon")), MODEL), corrupted);
    assert_eq!(refusal(step("ü"), MODEL), corrupted);
}

#[test]
fn calls_and_responses_belong_together() {
    let check = |contents: Value, expected: &str| {
        assert_eq!(refusal(contents, "gemini-2.5-pro"), expected);
    };
    let calls = || model(&[call("a", None), call("b", None)]);
    let number = "400 Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn:";
    check(json!([user("go"), calls()]), &format!("{number} 0 for 2."));
    check(
        json!([user("go"), calls(), results(&["a"]), results(&["b"])]),
        &format!("{number} 1 for 2."),
    );
    check(
        json!([user("go"), results(&["a"])]),
        "400 Please ensure that function response turn comes immediately after a function call turn.",
    );
    check(
        json!([user("go"), calls(), results(&["a", "c"])]),
        "400 The function response `c` answers no function call of the turn before it.",
    );
    check(json!([user("go"), calls(), results(&["b", "a"])]), "ok");
    check(
        json!([{"role": "assistant", "parts": [{"text": "x"}]}]),
        "400 Please use a valid role: user, model.",
    );
}

#[test]
fn a_cached_content_brings_its_own_system_text_and_tools() {
    for repeated in ["systemInstruction", "tools", "toolConfig", "system_instruction"] {
        let value = if repeated == "tools" { json!([{}]) } else { json!({"parts": []}) };
        let body =
            json!({"contents": [user("go")], "cachedContent": "cachedContents/x", repeated: value});
        let refused = Request::parse(MODEL, body.to_string().as_bytes()).map_err(|it| it.status);
        assert_eq!(refused.err(), Some(400), "{repeated}");
    }
}

#[test]
fn methods_are_read_from_the_end_of_the_path() {
    assert_eq!(Method::parse("m:generateContent"), Some(("m", Method::Generate)));
    assert_eq!(Method::parse("m:streamGenerateContent"), Some(("m", Method::Stream)));
    assert_eq!(
        (Method::parse("m"), Method::parse(":countTokens"), Method::parse("m:x")),
        (None, None, None)
    );
}
