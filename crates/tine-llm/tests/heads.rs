//! Whatever a head holds: every format's body is JSON with at most four marks, and no provider refuses it. Random parts with the
//! simulator, over real sockets.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tine_history::History;
use tine_llm::{HttpClient, HttpLimits, HttpOptions, LlmClient, RateGates, Request, Secret};
use tine_model::{
    CacheScheme, Effort, EntryId, Lifetime, Message, ModelSettings, RawJson, Role, Thinking,
    ToolChoice,
};
use tine_sim::{Scenario, SimOptions, SimServer};
use tine_wire::{
    Head, HeadParts, Lifetimes, MarkPoints, RequestOptions, SystemBlock, ToolDeclaration, assemble,
};
use tokio_util::sync::CancellationToken;

/// Random heads of one model: all models together take a few seconds of two cores in a debug build.
const HEADS: u32 = 120;

/// Answers anything.
const SCENARIO: &str = "name = \"yes\"\n[[turn]]\ntext = \"Yes.\"\n";

fn lifetime() -> impl Strategy<Value = Lifetime> {
    prop_oneof![Just(Lifetime::Short), Just(Lifetime::Long)]
}

/// Tools with names of their own: two of one name are refused.
fn tools() -> impl Strategy<Value = Vec<ToolDeclaration>> {
    let tools = prop::collection::btree_map("[a-z.]{1,6}", "[a-zé\"\\\\]{0,8}", 0..4);
    tools.prop_map(|tools| {
        let schema = RawJson::parse(r#"{"type":"object","properties":{}}"#).unwrap();
        let tool =
            |(name, description)| ToolDeclaration { name, description, schema: schema.clone() };
        tools.into_iter().map(tool).collect()
    })
}

fn block() -> impl Strategy<Value = SystemBlock> {
    let cache = prop::option::of(lifetime());
    ("[a-zé\"\\\\\n ]{0,12}", cache).prop_map(|(text, cache)| SystemBlock { text, cache })
}

fn settings(model: &str) -> impl Strategy<Value = ModelSettings> + use<> {
    let model: tine_model::ModelRef = model.parse().unwrap();
    let thinking = prop_oneof![
        2 => Just(None),
        1 => Just(Some(Thinking::Adaptive)),
        1 => Just(Some(Thinking::Budget(2_000)))
    ];
    let effort = prop::option::of(prop_oneof![Just(Effort::Low), Just(Effort::High)]);
    (thinking, effort).prop_map(move |(thinking, effort)| ModelSettings {
        model: model.clone(),
        max_tokens: 4_000,
        thinking,
        effort,
    })
}

/// Settings that the formats know, and one that none does.
const EXTRA: [(&str, &str); 7] = [
    ("metadata", r#"{ "user_id" : "u" }"#),
    ("later", "[1.0, null]"),
    ("output_config.later", "1"),
    ("tool_choice.disable_parallel_tool_use", "true"),
    ("generationConfig.topP", "0.5"),
    ("reasoning.summary", "\"auto\""),
    ("stream", "false"),
];

fn extra() -> impl Strategy<Value = Vec<(String, RawJson)>> {
    let one = prop::sample::select(EXTRA.to_vec());
    let one = one.prop_map(|(name, value)| (name.to_owned(), RawJson::parse(value).unwrap()));
    prop::collection::vec(one, 0..4)
}

fn parts(model: &str) -> impl Strategy<Value = HeadParts> + use<> {
    let words = ("[a-z ]{0,6}", prop::collection::vec(block(), 0..6));
    let tools = (tools(), any::<bool>(), 0usize..6);
    let sampling = (
        prop::option::of(prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64, Just(f64::NAN)]),
        prop::collection::vec("[a-z\n\"]{1,4}", 0..3),
    );
    let rest = (extra(), any::<bool>(), prop::bool::weighted(0.2));
    (settings(model), words, tools, sampling, rest).prop_map(
        |(settings, (system, system_blocks), (tools, cache_tools, choice), sampling, rest)| {
            let tool_choice = match choice {
                0 => ToolChoice::None,
                1 => ToolChoice::Required,
                2 => tools.first().map_or(ToolChoice::Auto, |it| ToolChoice::Tool(it.name.clone())),
                _ => ToolChoice::Auto,
            };
            let (temperature, stop_sequences) = sampling;
            let (extra, stream, automatic) = rest;
            let parts = HeadParts::new(settings, system, tools);
            let scheme = if automatic { CacheScheme::Automatic } else { parts.scheme };
            HeadParts {
                system_blocks,
                cache_tools,
                tool_choice,
                temperature,
                stop_sequences,
                extra,
                stream,
                scheme,
                ..parts
            }
        },
    )
}

fn options() -> impl Strategy<Value = RequestOptions> {
    let points = (prop::option::of(0usize..4), prop::option::of(0usize..4));
    (points, lifetime(), lifetime()).prop_map(|((sent, inherited), head, messages)| {
        let lifetimes = Lifetimes::new(head, messages);
        RequestOptions { lifetimes, ..RequestOptions::at(MarkPoints { sent, inherited }) }
    })
}

async fn ask(
    client: &HttpClient,
    parts: HeadParts,
    options: &RequestOptions,
) -> Result<(), TestCaseError> {
    let mut history = History::new();
    for (index, text) in ["a", "b", "c"].into_iter().enumerate() {
        let message = match index {
            1 => Message::new(Role::Assistant, vec![tine_model::Block::Text(text.into())]),
            _ => Message::user(text),
        };
        history.push(EntryId(index as i64 + 1), Arc::new(message));
    }
    let stream = parts.stream;
    let head = Head::render(parts);
    let stored = Head::from_stored(&head.to_stored());
    prop_assert_eq!(stored.as_ref(), Ok(&head));
    let assembled = assemble(&head, &mut history, options);
    let shown = String::from_utf8(assembled.body.to_vec()).unwrap();
    let parsed: Result<serde_json::Map<String, serde_json::Value>, _> =
        serde_json::from_str(&shown);
    prop_assert!(parsed.is_ok(), "{:?}: {}", parsed, shown);
    let keys = shown.matches("\"stream\":").count();
    prop_assert!(keys <= 1, "{}", shown);
    let marks = shown.matches("\"cache_control\"").count() + shown.matches("_breakpoint\"").count();
    prop_assert!(marks <= 4, "{} marks: {}", marks, shown);

    let request = Request { stream, ..Request::new(head.format(), &assembled) };
    let reply = client.send(&request, &mut |_| {}, &CancellationToken::new()).await;
    prop_assert!(reply.is_ok(), "{:?}\n{}", reply, shown);
    Ok(())
}

fn refuses_nothing(model: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scenario = Scenario::parse(SCENARIO, "yes").unwrap();
    let server = runtime.block_on(SimServer::start(SimOptions::new(scenario))).unwrap();
    let options_of_client = HttpOptions {
        model: model.parse().unwrap(),
        base_url: server.base_url().to_owned(),
        key: Some(Secret::new("sk-heads")),
        limits: HttpLimits::default(),
    };
    let client = HttpClient::new(options_of_client, &RateGates::new()).unwrap();
    let config = ProptestConfig::with_cases(HEADS);
    let config = ProptestConfig { source_file: Some(file!()), ..config };
    let outcome = TestRunner::new(config).run(&(parts(model), options()), |(parts, options)| {
        runtime.block_on(ask(&client, parts, &options))
    });
    runtime.block_on(server.shutdown());
    if let Err(failed) = outcome {
        panic!("{failed}");
    }
}

#[test]
fn anthropic_takes_every_head() {
    refuses_nothing("anthropic/claude-opus-5-5");
}

#[test]
fn responses_take_every_head() {
    refuses_nothing("openai/gpt-6.1-sol");
}

#[test]
fn chat_in_parts_takes_every_head() {
    refuses_nothing("openai-chat/gpt-6.1-sol");
}

#[test]
fn a_compatible_server_takes_every_head() {
    refuses_nothing("openai-compat/some-model");
}

#[test]
fn gemini_takes_every_head() {
    refuses_nothing("gemini/gemini-3.8-flash");
}
