//! Whatever was said, and wherever it was forked: no provider refuses the request, and what a child sends goes on where its
//! parent's request ends. Random conversations with the simulator, which rejects what the vendors reject, over real sockets, in
//! every format.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod foreign;
mod seen;
mod step;
mod talk;

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tine_model::Message;
use tine_sim::{Scenario, SimOptions, SimServer};

use seen::Seen;
use step::{Step, everything, step};
use talk::Talk;

/// Random conversations with one model in a usual run, and where everything is tested.
const CONVERSATIONS: (u32, u32) = (25, 75);

const SCENARIO: &str = include_str!("chatter.toml");

/// A conversation in which everything happens, and random ones, with one model.
fn converse_with(model: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let scenario = Scenario::parse(SCENARIO, "chatter").unwrap();
    let server = runtime.block_on(SimServer::start(SimOptions::new(scenario))).unwrap();
    let seen = RefCell::new(Seen::default());
    let (usual, all) = CONVERSATIONS;
    let count = tine_testkit::cases("random conversations", usual, all);
    let config = ProptestConfig::with_cases(count);
    let config = ProptestConfig { source_file: Some(file!()), ..config };
    let first = everything();
    runtime.block_on(conversation(model, server.base_url(), &first, &seen)).unwrap();
    let steps = prop::collection::vec(step(), 4..28);
    let outcome = TestRunner::new(config).run(&steps, |steps| {
        runtime.block_on(conversation(model, server.base_url(), &steps, &seen))
    });
    runtime.block_on(server.shutdown());
    if let Err(failed) = outcome {
        panic!("{failed}");
    }
    seen.into_inner().assert_everything(model);
}

async fn conversation(
    model: &str,
    base_url: &str,
    steps: &[Step],
    seen: &RefCell<Seen>,
) -> Result<(), TestCaseError> {
    // A key of its own: nobody reads another conversation's cache.
    let key = format!("sk-{}", seen.borrow_mut().conversation());
    let mut talk = Talk::new(model, base_url, &key, seen);
    // A conversation begins with its user.
    talk.push(Message::user("both"));
    for step in steps {
        talk.take(step).await?;
    }
    talk.ask().await
}

#[test]
fn anthropic_refuses_nothing() {
    converse_with("anthropic/claude-opus-5-5");
}

#[test]
fn minimax_refuses_nothing() {
    converse_with("minimax/MiniMax-M3");
}

#[test]
fn openai_responses_refuses_nothing() {
    converse_with("openai/gpt-6.1-sol");
}

#[test]
fn openai_chat_with_parts_refuses_nothing() {
    converse_with("openai-chat/gpt-6.1-sol");
}

#[test]
fn a_compatible_server_refuses_nothing() {
    converse_with("openai-compat/some-model");
}

#[test]
fn deepseek_refuses_nothing() {
    converse_with("deepseek/deepseek-v4-flash");
}

#[test]
fn gemini_refuses_nothing() {
    converse_with("gemini/gemini-3.8-flash");
}
