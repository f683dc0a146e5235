//! Whatever a head holds: every format's body is JSON with at most four marks, and no provider refuses it. Random parts with the
//! simulator, over real sockets.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tine_history::History;
use tine_llm::{HttpClient, HttpLimits, HttpOptions, LlmClient, RateGates, Request, Secret};
use tine_model::{
    CacheScheme, Effort, EntryId, Lifetime, Message, ModelRef, ModelSettings, RawJson, Role,
    Thinking, ToolChoice, WireFormat,
};
use tine_sim::{Scenario, SimOptions, SimServer};
use tine_wire::{
    Head, HeadParts, Lifetimes, MarkPoints, RequestOptions, SystemBlock, ToolDeclaration, assemble,
};
use tokio_util::sync::CancellationToken;

/// Random heads of one model: all models together take a few seconds of two cores in a debug build.
const HEADS: u32 = 120;

/// A model that decides itself how much it thinks, and refuses a budget.
const ADAPTIVE_MODEL: &str = "anthropic/claude-opus-5-5";

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
    let takes_budget = model != ADAPTIVE_MODEL;
    let model: ModelRef = model.parse().unwrap();
    let budget = takes_budget.then_some(Thinking::Budget(2_000));
    let thinking = prop_oneof![
        2 => Just(None),
        1 => Just(Some(Thinking::Adaptive)),
        1 => Just(budget)
    ];
    let effort = prop::option::of(prop_oneof![Just(Effort::Low), Just(Effort::High)]);
    (thinking, effort).prop_map(move |(thinking, effort)| ModelSettings {
        model: model.clone(),
        max_tokens: 4_000,
        thinking,
        effort,
    })
}

/// Settings that go through as they are, in the words of each format. `stream` and what is nested meet what the head says itself.
fn extra(format: WireFormat) -> impl Strategy<Value = Vec<(String, RawJson)>> + use<> {
    let known: &[(&str, &str)] = match format {
        WireFormat::Anthropic => &[
            ("metadata", r#"{ "user_id" : "u" }"#),
            ("service_tier", r#""auto""#),
            ("output_config.effort", "null"),
            ("stream", "false"),
        ],
        WireFormat::OpenAiChat | WireFormat::OpenAiChatParts => &[
            ("metadata", r#"{ "user" : "u" }"#),
            ("logit_bias", "null"),
            ("stream_options.include_obfuscation", "false"),
            ("stream", "false"),
        ],
        WireFormat::OpenAiResponses => &[
            ("metadata", r#"{ "user" : "u" }"#),
            ("reasoning.summary", r#""auto""#),
            ("stream", "false"),
        ],
        WireFormat::Gemini => &[("generationConfig.topP", "0.5"), ("safetySettings", "[]")],
    };
    let one = prop::sample::select(known.to_vec());
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
    let format = model.parse::<ModelRef>().unwrap().format();
    let is_anthropic = format == WireFormat::Anthropic;
    let rest = (extra(format), any::<bool>(), prop::bool::weighted(0.2));
    (settings(model), words, tools, sampling, rest).prop_map(
        move |(settings, (system, system_blocks), (tools, cache_tools, choice), sampling, rest)| {
            // A model of Anthropic's that thinks within a budget cannot be made to call a tool.
            let thinks_within = matches!(settings.thinking, Some(Thinking::Budget(_)));
            let tool_choice = match choice {
                _ if thinks_within && is_anthropic => ToolChoice::Auto,
                0 => ToolChoice::None,
                1 => ToolChoice::Required,
                2 => tools.first().map_or(ToolChoice::Auto, |it| ToolChoice::Tool(it.name.clone())),
                _ => ToolChoice::Auto,
            };
            let (temperature, stop_sequences) = sampling;
            // The API's current version has no temperature.
            let temperature = temperature.filter(|_| !is_anthropic);
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
    refuses_nothing(ADAPTIVE_MODEL);
    refuses_nothing("anthropic/claude-sonnet-4-5");
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
