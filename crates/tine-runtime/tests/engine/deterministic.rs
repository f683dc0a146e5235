//! The twelve deterministic tests of a cache (reference I.4), through the real client, over real sockets. Where each stands:
//!
//! | | what | where |
//! |---|---|---|
//! | 1 | warm parent, fan of N, the gap written once or N times | `forms` (every size), `fans` (with agents) |
//! | 2 | leader slow, failing, limited; cap; promotion | `fans`, `forms` (the cap) |
//! | 3 | a gap of 19 and 20 blocks, with and without the anchor | here |
//! | 4 | an answer of 4:50, the next request at 5:01 | here |
//! | 5 | one byte changed in each kind of segment | `mutation` |
//! | 6 | a restart, then a fork: the same bytes | `providers`, `crates/tine-runtime/tests/restart.rs` |
//! | 7 | interrupted in the middle of tool calls, then forked | here |
//! | 8 | two lifetimes in one request | here |
//! | 9 | a key per child; more than 15 requests a minute | here |
//! | 10 | DeepSeek: siblings part where nothing was saved | here |
//! | 11 | a prompt that crosses the price tier | here |
//! | 12 | usage that is not reported | `verdicts` |
//!
//! The simulator's own tests have 3, 4, 8, 9 and 10 once more, without a client of ours.

use std::sync::Arc;
use std::time::Duration;

use tine_fork::run::{Conversation, RunEvent};
use tine_model::{Block, Lifetime, Message, Outcome, Role, Usage};
use tine_runtime::ForkSpec;
use tine_wire::{Head, HeadParts, Lifetimes, MarkPoints};

use crate::SCENARIO;
use crate::house::{House, options, seeing};
use crate::lab::{Lab, conversation, history, parts};

const OPUS: &str = "anthropic/claude-opus-5-5";

/// The parent's one message, an answer of `gap - 1` blocks, and the child's prompt: so far lies the next mark from the
/// parent's.
async fn behind_a_gap(gap: usize, points: MarkPoints) -> (Usage, u64) {
    let lab = Lab::new(SCENARIO).await;
    let mut parent = conversation(OPUS);
    let heard = lab.say(OPUS, &mut parent, "Good day.").await;
    let answer = (1..gap).map(|block| Block::Text(format!("Line {block} of the answer.")));
    let answer = Message::new(Role::Assistant, answer.collect());
    let head = Arc::new(Head::render(parts(OPUS)));
    let messages = history([Message::user("Good day."), answer]);
    let mut child = Conversation::new(head, messages, points);
    let child = lab.say(OPUS, &mut child, "And now?").await;
    assert_eq!(child.report.outcome, Outcome::Completed, "{:?}", child.report.error);
    (child.first(), heard.first().prompt())
}

/// 3. A lookup goes 20 positions back, the marked one included. The anchor makes the distance irrelevant.
#[tokio::test]
async fn a_gap_of_twenty_blocks_is_bridged_by_the_anchor_alone() {
    let anchored = MarkPoints { sent: Some(1), inherited: None };
    for (gap, points, reaches) in [
        (19, MarkPoints::default(), true),
        (20, MarkPoints::default(), false),
        (19, anchored, true),
        (20, anchored, true),
        (60, anchored, true),
    ] {
        let (child, parent) = behind_a_gap(gap, points).await;
        let read = child.read.unwrap();
        assert!(read > 0, "the system prompt is marked in any case");
        assert_eq!(read == parent, reaches, "{gap} blocks, {points:?}: {read} of {parent}");
    }
}

/// 4. The life of an entry begins with the request that writes it, so that a long answer counts.
#[tokio::test]
async fn the_time_of_the_answer_counts_against_the_entrys_life() {
    const ANSWER_MS: i64 = 290_000;
    let scenario =
        SCENARIO.replacen("name = \"harbour\"", "name = \"harbour\"\nfirst_byte_ms = 290000", 1);
    for (later_ms, verdict) in [(9_000, "ok"), (11_000, "expired")] {
        let lab = Lab::new(&scenario).await;
        let mut agent = conversation(OPUS);
        let mut said = Vec::new();
        for prompt in ["Good day.", "Still there?"] {
            let arrived = lab.sim.requests().len() + 1;
            let answered = async {
                lab.arrived(arrived).await;
                lab.clock.advance_ms(ANSWER_MS);
                lab.let_answer(arrived, Duration::from_millis(ANSWER_MS.unsigned_abs() + 1)).await;
            };
            let (heard, ()) = tokio::join!(lab.say(OPUS, &mut agent, prompt), answered);
            said.extend(heard.verdicts());
            lab.clock.advance_ms(later_ms);
        }
        assert_eq!(said, ["cold", verdict], "4:50 and {later_ms} ms");
    }
}

/// 7. Every call has its result, in call order, before anybody forks.
#[tokio::test]
async fn an_agent_that_was_stopped_among_its_tool_calls_can_be_forked() {
    for model in crate::MODELS {
        let house = House::new(SCENARIO).await;
        let root = house.root(model).await;
        let options = options();
        let stop = |step: &RunEvent| {
            if matches!(step, RunEvent::ToolStarted { .. }) {
                options.cancel.cancel();
            }
        };
        let run = house.runtime.run(root, Some("Please wait.".into()), &options);
        let run = seeing(&house.runtime, run, stop).await.unwrap();
        assert_eq!(run.report.outcome, Outcome::Aborted, "{model}");
        let spec = ForkSpec::of(root);
        let child = house.runtime.fork(spec).await.unwrap().child;
        let report = house.say(child, "Good day.").await;
        assert_eq!(report.outcome, Outcome::Completed, "{model}: {:?}", report.error);
        let verdicts = house.verdicts(child).await;
        assert!(["ok", "cold"].contains(&verdicts[0].as_str()), "{model}: {verdicts:?}");
        let report = house.say(root, "Good day.").await;
        assert_eq!(report.outcome, Outcome::Completed, "{model}: {:?}", report.error);
    }
}

/// 8. What is behind the last long mark is written at the short price, what is before it at the long one, and each part
/// lives for its own time.
#[tokio::test]
async fn two_lifetimes_in_one_request_are_billed_and_kept_apart() {
    let lab = Lab::new(SCENARIO).await;
    let long_head = Lifetimes::new(Lifetime::Long, Lifetime::Short);
    let mut agent = conversation(OPUS).living(long_head);
    let bill = lab.say(OPUS, &mut agent, "Good day.").await.first();
    let (long, short) = (bill.write_long.unwrap(), bill.write_short.unwrap());
    assert!(long > 4_000 && short > 0, "{bill:?}");
    assert_eq!((bill.uncached, bill.read), (0, Some(0)));

    lab.clock.advance_ms(10 * 60 * 1000);
    let heard = lab.say(OPUS, &mut agent, "Still there?").await;
    let bill = heard.first();
    assert_eq!((bill.uncached, bill.read, bill.write_long), (0, Some(long), Some(0)));
    assert_eq!(heard.verdicts(), ["expired"], "the messages were, the head was not");

    lab.clock.advance_ms(10 * 60 * 1000);
    let mut agent = agent.living(Lifetimes::new(Lifetime::Long, Lifetime::Long));
    let bill = lab.say(OPUS, &mut agent, "And now?").await.first();
    assert_eq!((bill.uncached, bill.read, bill.write_short), (0, Some(long), Some(0)));
    assert!(bill.write_long.unwrap() > short, "{bill:?}");
}

const GPT: &str = "openai/gpt-6.1-sol";

/// 9. One key for a lineage: the provider's routing goes by it.
#[tokio::test]
async fn a_key_per_child_makes_every_child_cold() {
    let lab = Lab::new(SCENARIO).await;
    let mut base = conversation(GPT);
    lab.say(GPT, &mut base, "Good day.").await;
    for child in 0..8 {
        let head =
            Head::render(HeadParts { cache_key: Some(format!("child {child}")), ..parts(GPT) });
        let messages: Vec<Message> =
            base.history().iter().map(|item| (*item.message).clone()).collect();
        let mut keyed = base.fork().rewritten(Arc::new(head), history(messages));
        let heard = lab.say(GPT, &mut keyed, "And now?").await;
        let cache = heard.requests[0].cache.as_ref().unwrap();
        assert_eq!(heard.first().read, Some(0));
        let segment = cache.judgement.verdict.segment().map(ToString::to_string);
        assert_eq!(segment.as_deref(), Some("setting `prompt_cache_key`"));
        let shared = lab.say(GPT, &mut base.fork(), &format!("Child {child}")).await;
        assert_eq!(shared.verdicts(), ["ok"]);
    }
}

/// 9. The sixteenth request of a minute meets a machine that has seen nothing.
#[tokio::test]
async fn more_than_fifteen_requests_a_minute_meet_a_cold_machine() {
    let lab = Lab::new(SCENARIO).await;
    let mut base = conversation(GPT);
    let mut verdicts = lab.say(GPT, &mut base, "Good day.").await.verdicts();
    for child in 0..19 {
        let heard = lab.say(GPT, &mut base.fork(), &format!("Child {child:02}")).await;
        verdicts.extend(heard.verdicts());
    }
    let at = |verdict: &str| -> Vec<usize> {
        verdicts.iter().enumerate().filter(|(_, v)| **v == verdict).map(|(at, _)| at).collect()
    };
    assert_eq!((at("cold"), at("race")), (vec![0], vec![15]), "{verdicts:?}");
    lab.clock.advance_ms(60_000);
    let heard = lab.say(GPT, &mut base.fork(), "Child 19").await;
    assert_eq!(heard.verdicts(), ["ok"], "a minute later the first machine has room");
}

/// 10. What siblings share is saved only once two requests had it.
#[tokio::test]
async fn deepseek_siblings_miss_twice_and_then_hit_where_they_parted() {
    const MODEL: &str = "deepseek/deepseek-v4-flash";
    let lab = Lab::new(SCENARIO).await;
    let mut base = conversation(MODEL);
    lab.say(MODEL, &mut base, "Good day.").await;
    // A beginning that no request ended with.
    let manifest =
        "Six crates of rope, nine barrels of tar, and a chart of the shoals. ".repeat(40);
    let shared = Message::new(Role::User, vec![Block::Text(manifest)]);
    base.push(tine_model::EntryId(100), Arc::new(shared));
    let (mut reads, mut verdicts) = (Vec::new(), Vec::new());
    for child in 0..4 {
        let heard = lab.say(MODEL, &mut base.fork(), &format!("Task number {child}.")).await;
        reads.push(heard.first().read.unwrap());
        verdicts.extend(heard.verdicts());
    }
    assert!(reads[0] == reads[1] && reads[1] + 600 < reads[2], "{reads:?}");
    assert_eq!(reads[2], reads[3], "{reads:?}");
    assert!(verdicts.iter().all(|verdict| *verdict == "ok"), "{verdicts:?}");
}

/// 11. The whole request is dearer, cached tokens and answer included.
#[tokio::test]
async fn a_prompt_above_the_threshold_is_priced_by_the_upper_tier() {
    const HAIKU: &str = "anthropic/claude-haiku-5-5";
    const BYTES_PER_TOKEN: usize = 4;
    let price = Lab::facts(HAIKU).prices.at(0).unwrap();
    let tier = price.tier.unwrap();
    assert_eq!(tier.above_tokens, 100_000);
    let mut paid = Vec::new();
    for tokens in [90_000, 101_000] {
        let house = House::new(SCENARIO).await;
        let root = house.root_with(HAIKU, "rope".repeat(tokens * BYTES_PER_TOKEN / 4)).await;
        house.say(root, "Good day.").await;
        house.say(root, "Good day again.").await;
        let explained = house.runtime.explain_cache(root).await.unwrap();
        let rates = if tokens < 100_000 { &price.base } else { &tier.rates };
        let mut sum = 0.0;
        for (request, bill) in explained.iter().zip(house.billed()) {
            let written = bill.written() as f64 * rates.write_short;
            let read = bill.read.unwrap() as f64 * rates.read;
            let rest = bill.uncached as f64 * rates.input + bill.output as f64 * rates.output;
            let expected = (written + read + rest) / 1e6;
            let dollars = request.dollars.unwrap();
            assert!((dollars - expected).abs() < 1e-9, "{tokens}: {dollars}, not {expected}");
            sum += expected;
        }
        let cost = house.runtime.cost(root).await.unwrap();
        let total: f64 = cost.own.iter().filter_map(|line| line.dollars).sum();
        assert!((total - sum).abs() < 1e-9, "{tokens}: {total}, not {sum}");
        paid.push(total);
    }
    assert!(paid[1] > 5.0 * paid[0], "{paid:?}");
}
