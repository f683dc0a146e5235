//! Compaction: asked for, failing, and by itself.

use tine_llm::LlmError;
use tine_model::{AgentState, Outcome};
use tine_runtime::{CompactOptions, Compacted, CompactedBy, RewindTo};
use tine_wire::FailureKind;

use super::*;

/// Keeps about the last turn of [`talked`].
fn last_turn() -> CompactOptions {
    CompactOptions { keep_tokens: 6, ..CompactOptions::default() }
}

async fn compacted(house: &House, agent: AgentId) -> Compacted {
    house.runtime.compact(agent, &last_turn()).await.unwrap()
}

fn unmarked(body: &str) -> String {
    body.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

/// The messages of a body, up to the end of the one that ends with `last`.
fn up_to<'a>(body: &'a str, last: &str) -> &'a str {
    let end = body.find(last).unwrap_or_else(|| panic!("{last} in {body}")) + last.len();
    &body[..end]
}

#[tokio::test]
async fn a_summary_stands_for_the_older_part_and_forks_of_before_are_untouched() {
    let (house, root) = talked(2).await;
    let before = house.runtime.fork(fork_of(root)).await.unwrap().child;
    let done = compacted(&house, root).await;
    assert_eq!((done.left_out, done.kept), (2, 2));
    assert!(done.tokens_before > 0 && done.usage.uncached > 0);
    insta::assert_snapshot!(done.preface.text().replace(house.home.path().to_str().unwrap(), "[HOME]"), @"
    <environment>
    Working directory: [HOME]
    </environment>

    <compacted_context>
    The 2 messages before this point were left out to make room. This is what you wrote about them; what follows behind it, if anything, is word for word. Read a file again before you rely on it or change it.

    reply 3
    </compacted_context>
    ");

    // The question went on from what had been sent.
    let bodies: Vec<String> = house.model.requests().iter().map(|r| unmarked(&r.text())).collect();
    let shared = up_to(&bodies[1], "prompt 2");
    assert!(bodies[2].starts_with(shared) && bodies[2].contains("about to be made shorter"));

    let house = house.reopened().await;
    let told = texts(&house, root).await;
    assert_eq!(told[1..], ["prompt 2", "reply 2"]);
    assert_eq!(texts(&house, before).await.len(), 4);
    say(&house, root, "prompt 3").await;
    let body = unmarked(&house.model.requests().last().unwrap().text());
    assert!(body.contains("reply 3") && !body.contains("prompt 1"), "{body}");
    assert!(!body.contains("about to be made shorter"));
    assert!(!verdicts(&house, root).await.contains(&"diverged".to_owned()));

    // Who is forked now shares the new prefix.
    let after = house.runtime.fork(fork_of(root)).await.unwrap().child;
    assert_eq!(texts(&house, after).await, texts(&house, root).await);
    // And going back before it gives everything back.
    house.runtime.rewind(root, RewindTo::Entry(done.keep.unwrap())).await.unwrap();
    assert_eq!(texts(&house, root).await, ["prompt 1", "reply 1", "prompt 2"]);
}

#[tokio::test]
async fn a_compaction_that_fails_changes_nothing() {
    let words = (1..=2).map(|n| Answer::text(format!("reply {n}")));
    let failure = Answer::refused(FailureKind::Overloaded, "later");
    let house = House::new(ScriptedModel::new(words.chain([failure]))).await;
    let root = house.root().await;
    say(&house, root, "prompt 1").await;
    say(&house, root, "prompt 2").await;
    let before = (texts(&house, root).await, kinds(&house, root).await);
    let failed = house.runtime.compact(root, &last_turn()).await.unwrap_err();
    assert_eq!(failed.to_string(), "overloaded: later");
    let long = CompactOptions::default();
    let nothing = house.runtime.compact(root, &long).await.unwrap_err();
    assert!(matches!(nothing, RuntimeError::NothingToCompact(_)));
    assert_eq!((texts(&house, root).await, kinds(&house, root).await), before);
    assert_eq!(house.runtime.store().lease(root).await.unwrap(), None);
    let record = house.runtime.store().agent(root).await.unwrap();
    assert_eq!(record.state, AgentState::Idle);
}

#[tokio::test]
async fn a_digest_stands_where_the_model_gives_no_summary() {
    let half = || vec![Answer::text("half of it").with_stop(tine_model::StopReason::MaxTokens)];
    // Nothing is asked for again twice.
    let nothing = || (0..3).map(|_| Answer::text("  ")).collect();
    for (answers, why) in [
        (half(), "the model gave no answer in words: it was cut at the token limit"),
        (nothing(), "the model gave no answer: the reply holds neither words nor a tool call"),
    ] {
        let words = (1..=2).map(|n| Answer::text(format!("reply {n}")));
        let house = House::new(ScriptedModel::new(words.chain(answers))).await;
        let root = house.root().await;
        say(&house, root, "prompt 1").await;
        say(&house, root, "prompt 2").await;
        let done = house.runtime.compact(root, &last_turn()).await.unwrap();
        assert_eq!(done.by, CompactedBy::Digest { why: why.to_owned() });
        let text = done.preface.text();
        assert!(text.contains("prompt 1") && text.contains("shortened copy"), "{text}");
        assert_eq!(texts(&house, root).await[1..], ["prompt 2", "reply 2"]);
    }
}

/// The message that the conversation begins with.
async fn first_text(house: &House, agent: AgentId) -> String {
    let fold = house.runtime.fold(agent, None).await.unwrap();
    fold.items().next().unwrap().message.text()
}

fn too_long(message: &str) -> Answer {
    Answer::refused(FailureKind::Overflow, message)
}

#[tokio::test]
async fn a_run_whose_conversation_is_too_long_makes_room_and_goes_on() {
    let words = (1..=3).map(|n| Answer::text(format!("reply {n}")));
    let long = "prompt is too long: 5000 tokens > 4096 maximum";
    let answers = [too_long(long), Answer::text("It was about prompts."), Answer::text("done")];
    let house = House::new(ScriptedModel::new(words.chain(answers))).await;
    let root = house.root().await;
    for turn in 1..=3 {
        say(&house, root, &format!("prompt {turn} {}", "x".repeat(4_000))).await;
    }
    assert_eq!(say(&house, root, "prompt 4").await, Outcome::Completed);
    let told = texts(&house, root).await;
    assert_eq!(told[told.len() - 2..], ["prompt 4", "done"]);
    assert!(first_text(&house, root).await.contains("It was about prompts."));
    let model = "anthropic/m".parse().unwrap();
    assert_eq!(house.runtime.window(&model).await.unwrap(), Some(4_096));

    // The words that wait are never left out: with them alone the run ends, and says why.
    let house = House::new(ScriptedModel::answering(move |_| too_long(long))).await;
    let root = house.root().await;
    let Outcome::Failed(why) = say(&house, root, "prompt 1").await else { panic!("no failure") };
    assert_eq!(why, format!("longer than the model's window: {long}"));
    assert_eq!(house.model.requests().len(), 1);
}

#[tokio::test]
async fn results_that_fill_the_window_are_shortened_too() {
    let call = Answer::calls([("c1", "FileRead", r#"{"file_path":"big.txt"}"#)]);
    let long = || too_long("prompt is too long: 9000 tokens > 4096 maximum");
    // The call and its results may not be parted, so a digest stands for both.
    let model = ScriptedModel::new([call, long(), Answer::text("counted")]);
    let house = House::new(model).await;
    let root = house.root().await;
    let numbers: Vec<String> = (0..4_000).map(|number| number.to_string()).collect();
    std::fs::write(house.home.path().join("big.txt"), numbers.join("\n")).unwrap();
    assert_eq!(say(&house, root, "Count.").await, Outcome::Completed);
    assert_eq!(texts(&house, root).await[1..], ["counted"]);
    let text = first_text(&house, root).await;
    assert!(text.contains("(FileRead, call c1)") && text.contains("Count."), "{text}");
    assert!(text.len() < 8_000, "{text}");
}

#[tokio::test]
async fn a_worker_keeps_its_brief_and_a_spawner_its_roster() {
    let house =
        House::new(ScriptedModel::new((1..=9).map(|n| Answer::text(format!("reply {n}"))))).await;
    let root = house.root().await;
    say(&house, root, "prompt 1").await;
    let directives = vec!["Check the parser.\nAll of it.".to_owned()];
    let spec = FanSpec {
        fork: tine_runtime::ForkSpec::of(root),
        directives,
        plan: tine_cache::Asked::Auto,
    };
    let report = house.runtime.fan(spec, &options()).await.unwrap();
    let worker = report.tasks[0].agent;
    let none = CompactOptions { keep_tokens: 0, ..CompactOptions::default() };

    let brief =
        worker_directive("Check the parser.\nAll of it.", &tine_fork::worker::Inherits::default());
    for _ in 0..2 {
        let done = house.runtime.compact(worker, &none).await.unwrap();
        let last = done.preface.blocks().last().cloned();
        assert_eq!(last, Some(Block::Text(brief.clone())));
        say(&house, worker, "Go on.").await;
    }
    let before = texts(&house, root).await.len();
    let done = house.runtime.compact(root, &none).await.unwrap();
    assert_eq!(done.left_out, before);
    let text = done.preface.text();
    let line = text.lines().find(|line| line.starts_with("- ")).unwrap();
    assert_eq!(line, format!("- {worker}, completed: Check the parser...."));
}

#[tokio::test]
async fn a_conversation_near_the_end_of_its_window_is_made_shorter_between_two_turns() {
    let answers = |summary: Answer| {
        let call = Answer::calls([("c1", "Glob", r#"{"pattern":"*.txt"}"#)]);
        ScriptedModel::new([call, summary, Answer::text("done")])
    };
    // Each scripted request has a prompt of 7 tokens.
    let window = |tokens: u64| {
        let row = format!("[[model]]\nname = \"anthropic/m\"\ncontext_tokens = {tokens}\n");
        tine_cache::Models::bundled().overlaid(&row).unwrap()
    };
    let house = House::with_facts(answers(Answer::text("I looked.")), window(9)).await;
    let root = house.root().await;
    let run = house.runtime.run(root, Some("Look.".into()), &options()).await.unwrap();
    assert_eq!(run.report.outcome, Outcome::Completed);
    assert_eq!(kinds(&house, root).await, ["message", "message", "message", "compact", "message"]);
    assert_eq!(run.report.usage.uncached, 3 * 7);
    let body = house.model.requests()[2].text();
    assert!(body.contains("I looked.") && !body.contains("Look."), "{body}");
    assert!(body.contains("tool_use") && body.contains("tool_result"), "calls stay with results");
    assert!(!verdicts(&house, root).await.contains(&"diverged".to_owned()));

    // What fails leaves the run as it is, and is not tried again.
    let house = House::with_facts(answers(Answer::error(LlmError::BadKey)), window(9)).await;
    let root = house.root().await;
    assert_eq!(say(&house, root, "Look.").await, Outcome::Completed);
    assert_eq!(kinds(&house, root).await, ["message"; 4]);

    // Far from its end, and switched off, nothing is asked.
    for (facts, compacts) in [(window(1_000), true), (window(9), false)] {
        let mut house = House::with_facts(answers(Answer::text("done")), facts).await;
        house.runtime = house.runtime.with_compaction(compacts);
        let root = house.root().await;
        assert_eq!(say(&house, root, "Look.").await, Outcome::Completed);
        assert_eq!(house.model.requests().len(), 2);
    }
}
