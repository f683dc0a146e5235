//! Heads of everything that a request may hold: where each format puts it, what it leaves out, and what is refused.

use std::sync::Arc;

use tine_history::History;
use tine_model::{
    CacheScheme, Effort, EntryId, Lifetime, Message, ModelSettings, RawJson, Thinking, ToolChoice,
};
use tine_wire::{
    CachedPrefix, Head, HeadParts, HeadPartsError, Lifetimes, MarkPoints, RequestOptions,
    SystemBlock, ToolDeclaration, assemble, cached_content, warming,
};

fn raw(text: &str) -> RawJson {
    RawJson::parse(text).unwrap()
}

fn plain(model: &str) -> HeadParts {
    let tool = |name: &str| ToolDeclaration {
        name: name.into(),
        description: format!("Does {name}."),
        schema: raw(r#"{"type":"object"}"#),
    };
    let settings = ModelSettings {
        model: model.parse().unwrap(),
        max_tokens: 1000,
        thinking: None,
        effort: None,
    };
    HeadParts::new(settings, "Be brief.".into(), vec![tool("fs.read"), tool("Add")])
}

fn block(text: &str, cache: Option<Lifetime>) -> SystemBlock {
    SystemBlock { text: text.into(), cache }
}

fn full(model: &str) -> HeadParts {
    HeadParts {
        system_blocks: vec![
            block("Be brief.", Some(Lifetime::Short)),
            block(" \n", Some(Lifetime::Long)),
            block("Be kind.", None),
        ],
        cache_tools: true,
        tool_choice: ToolChoice::Tool("fs.read".into()),
        temperature: Some(0.7),
        stop_sequences: vec!["\"END\"".into(), "\n\n".into()],
        extra: vec![("metadata".into(), raw(r#"{ "user_id": 1.0 }"#))],
        ..plain(model)
    }
}

fn body(parts: HeadParts, options: &RequestOptions) -> String {
    assert_eq!(parts.check(), Ok(()));
    let mut history = History::new();
    for index in 0..3 {
        history.push(EntryId(index + 1), Arc::new(Message::user(format!("m{index}"))));
    }
    let head = Head::render(parts);
    assert_eq!(Head::from_stored(&head.to_stored()), Ok(head.clone()));
    String::from_utf8(assemble(&head, &mut history, options).body.to_vec()).unwrap()
}

/// A fork that has sent nothing yet: anchor, fork point and tail are three places.
fn forked() -> RequestOptions {
    RequestOptions::at(MarkPoints { sent: Some(1), inherited: Some(2) })
}

/// The first request of a conversation: one mark among the messages.
fn fresh() -> RequestOptions {
    RequestOptions::at(MarkPoints::default())
}

#[test]
fn every_setting_has_its_place_in_every_format() {
    let body = |model: &str| {
        let text = body(full(model), &fresh());
        text.split("m0").next().unwrap().replace("{\"type\"", "\n  {\"type\"")
    };
    insta::assert_snapshot!(body("anthropic/m"), @r#"
    {"model":"m","max_tokens":1000,"temperature":0.7,"stop_sequences":["\"END\"","\n\n"],"tool_choice":
      {"type":"tool","name":"fs_-2eread"},"stream":true,"metadata":{ "user_id": 1.0 },"tools":[{"name":"Add","description":"Does Add.","input_schema":
      {"type":"object"}},{"name":"fs_-2eread","description":"Does fs.read.","input_schema":
      {"type":"object"},"cache_control":
      {"type":"ephemeral"}}],"system":[
      {"type":"text","text":"Be brief.","cache_control":
      {"type":"ephemeral"}},
      {"type":"text","text":"Be kind.","cache_control":
      {"type":"ephemeral"}}],"messages":[{"role":"user","content":[
      {"type":"text","text":"
    "#);
    insta::assert_snapshot!(body("openai-compat/m"), @r#"
    {"model":"m","max_tokens":1000,"temperature":0.7,"stop":["\"END\"","\n\n"],"tool_choice":
      {"type":"function","function":{"name":"fs_-2eread"}},"stream":true,"stream_options":{"include_usage":true},"metadata":{ "user_id": 1.0 },"tools":[
      {"type":"function","function":{"name":"Add","description":"Does Add.","parameters":
      {"type":"object"}}},
      {"type":"function","function":{"name":"fs_-2eread","description":"Does fs.read.","parameters":
      {"type":"object"}}}],"messages":[{"role":"system","content":"Be brief.\n\nBe kind."},{"role":"user","content":"
    "#);
    insta::assert_snapshot!(body("openai-chat/m"), @r#"
    {"model":"m","max_completion_tokens":1000,"temperature":0.7,"stop":["\"END\"","\n\n"],"tool_choice":
      {"type":"function","function":{"name":"fs_-2eread"}},"stream":true,"stream_options":{"include_usage":true},"metadata":{ "user_id": 1.0 },"tools":[
      {"type":"function","function":{"name":"Add","description":"Does Add.","parameters":
      {"type":"object"}}},
      {"type":"function","function":{"name":"fs_-2eread","description":"Does fs.read.","parameters":
      {"type":"object"}}}],"messages":[{"role":"system","content":[
      {"type":"text","text":"Be brief.","prompt_cache_breakpoint":{"mode":"explicit"}},
      {"type":"text","text":"Be kind.","prompt_cache_breakpoint":{"mode":"explicit"}}]},{"role":"user","content":[
      {"type":"text","text":"
    "#);
    insta::assert_snapshot!(body("openai/m"), @r#"
    {"model":"m","max_output_tokens":1000,"temperature":0.7,"stream":true,"store":false,"include":["reasoning.encrypted_content"],"tool_choice":
      {"type":"function","name":"fs_-2eread"},"metadata":{ "user_id": 1.0 },"tools":[
      {"type":"function","name":"Add","description":"Does Add.","parameters":
      {"type":"object"},"strict":false},
      {"type":"function","name":"fs_-2eread","description":"Does fs.read.","parameters":
      {"type":"object"},"strict":false}],"input":[{"role":"developer","content":[
      {"type":"input_text","text":"Be brief.","prompt_cache_breakpoint":{"mode":"explicit"}},
      {"type":"input_text","text":"Be kind.","prompt_cache_breakpoint":{"mode":"explicit"}}]},{"role":"user","content":[
      {"type":"input_text","text":"
    "#);
    insta::assert_snapshot!(body("gemini/m"), @r#"
    {"metadata":{ "user_id": 1.0 },"systemInstruction":{"parts":[{"text":"Be brief."},{"text":"Be kind."}]},"tools":[{"functionDeclarations":[{"name":"Add","description":"Does Add.","parametersJsonSchema":
      {"type":"object"}},{"name":"fs_-2eread","description":"Does fs.read.","parametersJsonSchema":
      {"type":"object"}}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["fs_-2eread"]}},"generationConfig":{"maxOutputTokens":1000,"temperature":0.7,"stopSequences":["\"END\"","\n\n"]},"contents":[{"role":"user","parts":[{"text":"
    "#);
}

#[test]
fn what_is_left_to_the_provider_is_not_written() {
    for model in ["anthropic/m", "openai-compat/m", "openai-chat/m", "openai/m", "gemini/m"] {
        let text = body(plain(model), &fresh());
        for word in ["temperature", "stop", "hoice", "toolConfig", "metadata"] {
            assert!(!text.contains(word), "{model}: {text}");
        }
        assert!(Head::render(plain(model)).to_stored().starts_with("head2 "), "{model}");
        assert!(plain(model).unsupported().is_empty());
    }
}

#[test]
fn a_choice_is_said_in_the_words_of_each_format() {
    let choice = |model: &str, tool_choice: ToolChoice| {
        let text = body(HeadParts { tool_choice, ..plain(model) }, &fresh());
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let found = ["tool_choice", "toolConfig"].into_iter().find_map(|key| value.get(key));
        found.map_or_else(|| "-".to_owned(), ToString::to_string)
    };
    let mut table = String::new();
    for model in ["anthropic/m", "openai-compat/m", "openai-chat/m", "openai/m", "gemini/m"] {
        let read = ToolChoice::Tool("fs.read".into());
        for wanted in [ToolChoice::Auto, ToolChoice::None, ToolChoice::Required, read] {
            table.push_str(&format!("{model} {}\n", choice(model, wanted)));
        }
    }
    insta::assert_snapshot!(table, @r#"
    anthropic/m -
    anthropic/m {"type":"none"}
    anthropic/m {"type":"any"}
    anthropic/m {"type":"tool","name":"fs_-2eread"}
    openai-compat/m -
    openai-compat/m "none"
    openai-compat/m "required"
    openai-compat/m {"type":"function","function":{"name":"fs_-2eread"}}
    openai-chat/m -
    openai-chat/m "none"
    openai-chat/m "required"
    openai-chat/m {"type":"function","function":{"name":"fs_-2eread"}}
    openai/m -
    openai/m "none"
    openai/m "required"
    openai/m {"type":"function","name":"fs_-2eread"}
    gemini/m -
    gemini/m {"functionCallingConfig":{"mode":"NONE"}}
    gemini/m {"functionCallingConfig":{"mode":"ANY"}}
    gemini/m {"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["fs_-2eread"]}}
    "#);
}

#[test]
fn what_a_format_cannot_say_is_named() {
    let named = |parts: HeadParts| format!("{} {:?}", parts.settings.model, parts.unsupported());
    let thinking = |model: &str, effort: Option<Effort>| {
        let parts = HeadParts { drop_foreign_thinking: true, ..full(model) };
        let thinking = Some(Thinking::Adaptive);
        HeadParts { settings: ModelSettings { thinking, effort, ..parts.settings }, ..parts }
    };
    let automatic = HeadParts { scheme: CacheScheme::Automatic, ..full("anthropic/m") };
    let no_tools = HeadParts { tools: Vec::new(), ..full("gemini/m") };
    let lines = [
        named(full("anthropic/m")),
        named(automatic),
        named(full("openai-compat/m")),
        named(full("openai-chat/m")),
        named(full("openai/m")),
        named(full("gemini/m")),
        named(no_tools),
        named(thinking("anthropic/m", Some(Effort::Low))),
        named(thinking("openai/m", None)),
        named(thinking("gemini/m", None)),
        named(thinking("gemini/m", Some(Effort::Low))),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    anthropic/m []
    anthropic/m ["system_blocks.cache", "cache_tools"]
    openai-compat/m ["system_blocks.cache", "cache_tools"]
    openai-chat/m ["cache_tools"]
    openai/m ["stop_sequences", "cache_tools"]
    gemini/m ["system_blocks.cache", "cache_tools"]
    gemini/m ["tool_choice", "system_blocks.cache", "cache_tools"]
    anthropic/m []
    openai/m ["settings.thinking", "stop_sequences", "cache_tools", "drop_foreign_thinking"]
    gemini/m ["system_blocks.cache", "cache_tools", "drop_foreign_thinking"]
    gemini/m ["settings.thinking", "system_blocks.cache", "cache_tools", "drop_foreign_thinking"]
    "#);
}

#[test]
fn settings_inside_an_object_go_there() {
    let parts = |model: &str, extra: &[(&str, &str)]| HeadParts {
        extra: extra.iter().map(|(name, value)| ((*name).to_owned(), raw(value))).collect(),
        ..plain(model)
    };
    let settings = |parts: HeadParts| {
        let text = body(parts, &fresh());
        text.split("\"tools\"").next().unwrap().to_owned()
    };
    let anthropic = [
        ("output_config.effort", "\"max\""),
        ("tool_choice.disable_parallel_tool_use", "true"),
        ("service_tier", "\"auto\""),
    ];
    let gemini = parts("gemini/m", &[("generationConfig.topP", "0.50"), ("labels", "{}")]);
    insta::assert_snapshot!(settings(parts("anthropic/m", &anthropic)), @r#"
    {"model":"m","max_tokens":1000,"output_config":{"effort":"max"},"tool_choice":{"type":"auto","disable_parallel_tool_use":true},"stream":true,"service_tier":"auto",
    "#);
    insta::assert_snapshot!(
        settings(parts("openai/m", &[("reasoning.summary", "\"auto\""), ("text", "{}")])), @r#"
    {"model":"m","max_output_tokens":1000,"stream":true,"store":false,"include":["reasoning.encrypted_content"],"reasoning":{"summary":"auto"},"text":{},
    "#
    );
    insta::assert_snapshot!(
        settings(parts("openai-chat/m", &[("stream_options.include_obfuscation", "false")])), @r#"
    {"model":"m","max_completion_tokens":1000,"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false},
    "#
    );
    insta::assert_snapshot!(body(gemini, &fresh()).split("\"contents\"").next().unwrap(), @r#"
    {"labels":{},"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"Add","description":"Does Add.","parametersJsonSchema":{"type":"object"}},{"name":"fs_-2eread","description":"Does fs.read.","parametersJsonSchema":{"type":"object"}}]}],"generationConfig":{"maxOutputTokens":1000,"topP":0.50},
    "#);
}

#[test]
fn what_the_head_writes_itself_is_refused_and_left_out() {
    let check = |model: &str, name: &str, expected: &str| {
        let extra = vec![("seed".to_owned(), raw("1")), (name.to_owned(), raw("1"))];
        let parts = HeadParts { extra, ..full(model) };
        assert_eq!(parts.check().unwrap_err().to_string(), expected);
        let without = HeadParts { extra: parts.extra[..1].to_vec(), ..parts.clone() };
        assert_eq!(Head::render(parts), Head::render(without), "{name}");
    };
    let written = |name| format!("`{name}` cannot be a further setting: the head writes it itself");
    for name in ["model", "max_tokens", "tools", "system", "messages", "stream", "temperature"] {
        check("anthropic/m", name, &written(name));
    }
    for name in ["tool_choice", "diagnostics", "cache_control", "tool_choice.type"] {
        check("anthropic/m", name, &written(name));
    }
    check("openai-chat/m", "stop", &written("stop"));
    check("openai/m", "prompt_cache_options", &written("prompt_cache_options"));
    check("gemini/m", "generationConfig", &written("generationConfig"));
    check("gemini/m", "toolConfig", &written("toolConfig"));
    check("openai/m", "seed", "the further setting `seed` is given twice");
    check("openai/m", "", "`` names no setting of this format");
    check("openai/m", "metadata.user", "`metadata.user` names no setting of this format");
    check("anthropic/m", "thinking.display", "`thinking.display` names no setting of this format");
}

#[test]
fn further_settings_without_end_are_refused_and_cut() {
    let extra = |count: usize| (0..count).map(|n| (format!("n{n}"), raw("1"))).collect();
    let parts = |count: usize| HeadParts { extra: extra(count), ..plain("anthropic/m") };
    assert_eq!(parts(100).check(), Ok(()));
    assert_eq!(parts(101).check(), Err(HeadPartsError::TooMany { most: 100 }));
    assert_eq!(Head::render(parts(100_000)), Head::render(parts(100)));
}

#[test]
fn what_no_json_can_say_and_tools_that_are_not_there_are_refused() {
    let parts = HeadParts { temperature: Some(f64::INFINITY), ..plain("anthropic/m") };
    assert_eq!(parts.check(), Err(HeadPartsError::Temperature(f64::INFINITY)));
    assert_eq!(Head::render(parts), Head::render(plain("anthropic/m")));
    let tool_choice = ToolChoice::Tool("Zip".into());
    let parts = HeadParts { tool_choice, ..plain("anthropic/m") };
    assert_eq!(parts.check(), Err(HeadPartsError::ToolChoice("Zip".into())));
}

#[test]
fn marks_of_the_head_take_what_the_messages_leave_last_first() {
    let blocks = [Lifetime::Short; 3].map(Some);
    let parts = |cache_tools: bool| HeadParts {
        system_blocks: blocks.iter().map(|cache| block("words", *cache)).collect(),
        cache_tools,
        ..plain("anthropic/m")
    };
    // One letter for each place in order: tools, the blocks, then the messages.
    let marked = |cache_tools: bool, options: &RequestOptions| {
        let text = body(parts(cache_tools), options);
        let (tools, rest) = text.split_once("\"system\"").unwrap();
        let (system, messages) = rest.split_once("\"messages\"").unwrap();
        let count = |text: &str| text.matches("cache_control").count();
        let system: Vec<bool> =
            system.split("},{\"type\":\"text\"").map(|it| it.contains("cache_control")).collect();
        (count(tools), system, count(messages))
    };
    assert_eq!(marked(true, &forked()), (0, vec![false, false, true], 3));
    assert_eq!(marked(true, &fresh()), (0, vec![true, true, true], 1));
    let anchored = RequestOptions::at(MarkPoints { sent: Some(2), inherited: None });
    assert_eq!(marked(true, &anchored), (0, vec![false, true, true], 2));
    let text = body(HeadParts { cache_tools: true, ..plain("anthropic/m") }, &anchored);
    assert!(text.contains(r#","cache_control":{"type":"ephemeral"}}],"system""#), "{text}");
}

#[test]
fn a_mark_lives_at_least_as_long_as_those_behind_it() {
    let lifetimes = |caches: [Option<Lifetime>; 3], asked: Lifetimes| {
        let system_blocks = caches.map(|cache| block("words", cache)).to_vec();
        let parts = HeadParts { system_blocks, ..plain("anthropic/m") };
        let text = body(parts, &RequestOptions { lifetimes: asked, ..fresh() });
        let marks = text.split("cache_control").skip(1);
        marks.map(|it| if it.contains("ttl") { 'l' } else { 's' }).collect::<String>()
    };
    let (short, long) = (Some(Lifetime::Short), Some(Lifetime::Long));
    let usual = Lifetimes::default();
    assert_eq!(lifetimes([short, long, None], usual), "llss");
    assert_eq!(lifetimes([long, None, short], usual), "lss");
    assert_eq!(lifetimes([short, None, long], usual), "lls");
    assert_eq!(
        lifetimes([short, None, None], Lifetimes::new(Lifetime::Long, Lifetime::Short)),
        "lls"
    );
}

#[test]
fn a_warming_request_keeps_the_marks_of_the_head_in_their_places() {
    let mut history = History::new();
    history.push(EntryId(1), Arc::new(Message::user("go")));
    let parts = HeadParts { tool_choice: ToolChoice::None, ..full("anthropic/m") };
    let warm = warming(&Head::render(parts), &mut history, &fresh()).unwrap();
    let text = String::from_utf8(warm.body.to_vec()).unwrap();
    assert!(text.contains(r#""text":"Be brief.","cache_control":{"type":"ephemeral"}},{"#));
    assert!(text.contains(r#""text":"Be kind.","cache_control":{"type":"ephemeral"}}]"#));
    serde_json::from_str::<serde_json::Value>(&text).unwrap();
    let forced = full("anthropic/m");
    assert!(warming(&Head::render(forced), &mut history, &fresh()).is_none(), "it needs an answer");
}

#[test]
fn gemini_holds_the_tool_choice_and_is_sent_the_other_settings() {
    let head = Head::render(full("gemini/m"));
    let mut history = History::new();
    for index in 0..2 {
        history.push(EntryId(index + 1), Arc::new(Message::user(format!("m{index}"))));
    }
    let held = cached_content(&head, &mut history, 1, 60).unwrap();
    insta::assert_snapshot!(String::from_utf8(held.to_vec()).unwrap(), @r#"
    {"model":"models/m","systemInstruction":{"parts":[{"text":"Be brief."},{"text":"Be kind."}]},"tools":[{"functionDeclarations":[{"name":"Add","description":"Does Add.","parametersJsonSchema":{"type":"object"}},{"name":"fs_-2eread","description":"Does fs.read.","parametersJsonSchema":{"type":"object"}}]}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["fs_-2eread"]}},"ttl":"60s","contents":[{"role":"user","parts":[{"text":"m0"}]}]}
    "#);
    let cached = Some(CachedPrefix { name: "cachedContents/c".into(), items: 1 });
    let options = RequestOptions { cached, ..fresh() };
    let sent = assemble(&head, &mut history, &options).body;
    insta::assert_snapshot!(String::from_utf8(sent.to_vec()).unwrap(), @r#"
    {"cachedContent":"cachedContents/c","metadata":{ "user_id": 1.0 },"generationConfig":{"maxOutputTokens":1000,"temperature":0.7,"stopSequences":["\"END\"","\n\n"]},"contents":[{"role":"user","parts":[{"text":"m1"}]}]}
    "#);
}

#[test]
fn stored_heads_of_the_third_form_are_read_with_care() {
    for line in ["head3 anthropic 9:short,9:long 0 marks", "head3 anthropic 5 0 marks"] {
        assert!(Head::from_stored(&format!("{line}\n0123456789")).is_err(), "{line}");
    }
    assert!(Head::from_stored("head3 anthropic 99:short 0 marks\n01").is_err());
}

/// No format takes every effort, and a budget that Anthropic refuses is refused here.
#[test]
fn efforts_and_budgets_that_a_provider_refuses_are_not_sent() {
    let parts = |model: &str, effort, thinking| {
        let settings =
            ModelSettings { model: model.parse().unwrap(), max_tokens: 9, thinking, effort };
        HeadParts::new(settings, String::new(), Vec::new())
    };
    let said = |model: &str, effort: Effort| {
        let parts = parts(model, Some(effort), None);
        let is_supported = !parts.unsupported().contains(&"settings.effort");
        let head = Head::render(parts);
        let text = String::from_utf8(head.bytes().to_vec()).unwrap();
        assert_eq!(text.contains(&format!("\"{}\"", effort.as_str())), is_supported, "{text}");
        is_supported
    };
    let words = |model: &str| {
        let known = Effort::ALL.into_iter().filter(|effort| said(model, *effort));
        known.map(Effort::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(words("anthropic/m"), "low medium high xhigh max");
    for model in ["openai/m", "openai-chat/m", "openai-compat/m"] {
        assert_eq!(words(model), "none minimal low medium high xhigh max");
    }
    assert_eq!(words("gemini/m"), "minimal low medium high");
    let budget = |model: &str, tokens| parts(model, None, Some(Thinking::Budget(tokens))).check();
    assert_eq!(budget("anthropic/m", 1_023), Err(HeadPartsError::ThinkingBudget(1_023)));
    assert_eq!(budget("anthropic/m", 1_024), Ok(()));
    assert_eq!(budget("gemini/m", 512), Ok(()));
}
