//! What is said of what the cache did: the table of verdicts (reference H.29), row by row, through the engine.
//!
//! | observed | verdict | where |
//! |---|---|---|
//! | read as predicted | ok | here |
//! | read an earlier entry, or the head alone | diverged, settings_changed, with the segment | `mutation` |
//! | nothing read, and another was still writing | race | here |
//! | nothing read, though bytes agree and the entry lives | race, or unreliable where nothing is promised | here |
//! | nothing read, the entry's life over | expired | here |
//! | nothing read and nothing written | below_minimum | here |
//! | far more uncached than the tail | marker_misplaced | here |
//! | read more than predicted | ok | here |
//! | counts missing, negative or absurd | unknown | here |

use tine_cache::Asked;
use tine_fork::cache::CacheEngine;
use tine_model::Usage;
use tine_testkit::{Canned, CaptureServer};
use tine_wire::HeadParts;

use crate::SCENARIO;
use crate::house::House;
use crate::lab::{Heard, Lab, beginning, conversation, parts};

const MINUTE_MS: i64 = 60 * 1000;

const MODEL: &str = "anthropic/claude-opus-5-5";

#[tokio::test]
async fn a_conversation_reads_what_it_has_written() {
    let house = House::new(SCENARIO).await;
    let root = house.root(MODEL).await;
    house.say(root, "Please look around.").await;
    house.clock.advance_ms(4 * MINUTE_MS);
    house.say(root, "And now?").await;
    assert_eq!(house.verdicts(root).await, ["cold", "ok", "ok"]);
    let explained = house.runtime.explain_cache(root).await.unwrap();
    for request in &explained[1..] {
        let note = request.note.as_ref().unwrap();
        assert_eq!(Some(note.expected), note.read, "{note:?}");
        assert!(note.exact, "{note:?}");
    }
}

#[tokio::test]
async fn an_entry_lives_five_minutes_from_the_start_of_the_request() {
    let house = House::new(SCENARIO).await;
    let root = house.root(MODEL).await;
    house.say(root, "Good day.").await;
    house.clock.advance_ms(5 * MINUTE_MS - 1_000);
    house.say(root, "Still there?").await;
    house.clock.advance_ms(5 * MINUTE_MS + 1_000);
    house.say(root, "Still there?").await;
    assert_eq!(house.verdicts(root).await, ["cold", "ok", "expired"]);
}

#[tokio::test]
async fn the_ledger_outlives_the_process() {
    let house = House::new(SCENARIO).await;
    let root = house.root(MODEL).await;
    house.say(root, "Please look around.").await;
    let house = house.reopened().await;
    house.say(root, "And now?").await;
    assert_eq!(house.verdicts(root).await, ["cold", "ok", "ok"]);
    let explained = house.runtime.explain_cache(root).await.unwrap();
    let note = explained[2].note.as_ref().unwrap();
    assert_eq!((Some(note.expected), note.exact), (note.read, true));
}

/// An expired entry is dear, and must not be booked as one that never was.
#[tokio::test]
async fn an_entry_that_expired_hours_ago_is_known_to_the_next_process() {
    let house = House::new(SCENARIO).await;
    let root = house.root(MODEL).await;
    house.say(root, "Good day.").await;
    house.clock.advance_ms(3 * 60 * MINUTE_MS);
    let house = house.reopened().await;
    house.say(root, "Still there?").await;
    assert_eq!(house.verdicts(root).await, ["cold", "expired"]);
}

#[tokio::test]
async fn a_conversation_across_a_change_of_price_costs_what_each_request_cost() {
    /// 1 December 2026, 00:00 UTC, as seen from the first moment of a house.
    const CHANGE_MS: i64 = 20_788 * 24 * 60 * MINUTE_MS - 1_000_000_000;
    let house = House::new(SCENARIO).await;
    house.clock.advance_ms(CHANGE_MS - MINUTE_MS);
    let root = house.root("gemini/gemini-4-argon").await;
    let first = house.say(root, "Good day.").await;
    house.clock.advance_ms(2 * MINUTE_MS);
    let second = house.say(root, "Good day again.").await;
    let tokens = |usage: &Usage| {
        let read = usage.read.unwrap_or(0) as f64;
        (2.0 * usage.uncached as f64 + 0.1 * read + 10.0 * usage.output as f64) / 1e6
    };
    let expected = tokens(&first.usage) + 2.0 * tokens(&second.usage);
    let cost = house.runtime.cost(root).await.unwrap();
    let dollars = cost.own[0].dollars.unwrap();
    assert!((dollars - expected).abs() < 1e-9, "{dollars} is not {expected}");
    let explained = house.runtime.explain_cache(root).await.unwrap();
    let explained: f64 = explained.iter().map(|request| request.dollars.unwrap()).sum();
    assert!((explained - expected).abs() < 1e-9, "{explained} is not {expected}");
}

/// What nobody ever wrote was not lost.
#[tokio::test]
async fn a_stranger_with_the_same_head_has_lost_the_head_and_no_more() {
    let house = House::new(SCENARIO).await;
    let one = house.root(MODEL).await;
    house.say(one, "Good day.").await;
    house.clock.advance_ms(10 * MINUTE_MS);
    let other = house.root(MODEL).await;
    house.say(other, &"Quite another conversation. ".repeat(400)).await;
    let explained = house.runtime.explain_cache(other).await.unwrap();
    let note = explained[0].note.as_ref().unwrap();
    let head = note.places[0].tokens;
    assert_eq!(explained[0].verdict.as_deref(), Some("expired"));
    assert!(note.missed.abs_diff(head) < 100, "{} of {head}", note.missed);
}

#[tokio::test]
async fn usage_that_is_not_reported_is_unknown_and_not_zero() {
    let silent = "[[turn]]\ntext = \"Hm.\"\nfault = { no_usage = true }";
    let house = House::new(&format!("name = \"silent\"\n{silent}")).await;
    let root = house.root(MODEL).await;
    house.say(root, "Good day.").await;
    house.say(root, "Good day again.").await;
    assert_eq!(house.verdicts(root).await, ["unknown", "unknown"]);
}

#[tokio::test]
async fn siblings_that_start_together_on_a_cold_prefix_race() {
    let scenario = SCENARIO.replacen("[[turn]]", "first_byte_ms = 1000\n\n[[turn]]", 1);
    let house = House::new(&scenario).await;
    let root = house.root(MODEL).await;
    house.say(root, "Good day.").await;
    house.clock.advance_ms(60 * MINUTE_MS);
    let report = house.fan(root, 3, Asked::Together).await;
    let mut verdicts = Vec::new();
    for task in &report.tasks {
        verdicts.extend(house.verdicts(task.agent).await);
    }
    verdicts.sort();
    assert_eq!(verdicts, ["expired", "race", "race"]);
    let cost = house.runtime.cost(root).await.unwrap();
    let causes: Vec<_> =
        cost.causes.iter().map(|line| (line.cause.as_str(), line.requests)).collect();
    assert!(causes.contains(&("race", 2)), "{causes:?}");
}

#[tokio::test]
async fn marks_that_are_lost_on_the_way_are_told_from_entries_that_are() {
    let house = House::new(&SCENARIO.replacen(
        "name = \"harbour\"",
        "name = \"harbour\"\ncache_min_tokens = 1000000",
        1,
    ))
    .await;
    let root = house.root(MODEL).await;
    house.say(root, "Good day.").await;
    house.say(root, "Good day again.").await;
    assert_eq!(house.verdicts(root).await[1], "marker_misplaced");
}

#[tokio::test]
async fn a_clock_that_goes_back_expires_nothing() {
    let house = House::new(SCENARIO).await;
    let root = house.root(MODEL).await;
    house.say(root, "Good day.").await;
    house.clock.advance_ms(-10 * MINUTE_MS);
    house.say(root, "Is it early?").await;
    assert_eq!(house.verdicts(root).await, ["cold", "ok"]);
}

#[tokio::test]
async fn the_provider_is_asked_about_the_parents_last_reply() {
    let house = House::new(SCENARIO).await;
    let root = house.root(MODEL).await;
    house.say(root, "Good day.").await;
    let report = house.fan(root, 2, Asked::Auto).await;
    assert_eq!(report.tasks.len(), 2);
    let bodies = house.bodies();
    let asked = |body: &Vec<u8>| {
        let body: serde_json::Value = serde_json::from_slice(body).unwrap();
        body["diagnostics"]["previous_message_id"].as_str().map(str::to_owned)
    };
    let ids: Vec<_> = bodies.iter().map(asked).collect();
    assert_eq!(ids[0], None);
    assert!(ids[1].is_some() && ids[1] == ids[2], "{ids:?}");
}

#[tokio::test]
async fn what_somebody_else_wrote_is_welcome() {
    let mut lab = Lab::new(SCENARIO).await;
    let mut base = conversation(MODEL);
    lab.say(MODEL, &mut base, "Please look around.").await;
    // Another process, which has seen nothing of it.
    lab.engine = CacheEngine::new();
    let heard = lab.say(MODEL, &mut base.fork(), "And now?").await;
    let judgement = &heard.requests[0].cache.as_ref().unwrap().judgement;
    assert_eq!(heard.verdicts(), ["ok"]);
    assert!(judgement.read > Some(judgement.expected_read), "{judgement:?}");
    insta::assert_snapshot!(judgement.why, @"read 5,992 tokens, more than was expected");
}

#[tokio::test]
async fn what_is_too_short_to_be_kept_is_no_fault() {
    let lab = Lab::new(SCENARIO).await;
    for model in ["anthropic/claude-opus-5-5", "openai/gpt-6.1-sol", "deepseek/deepseek-v4-flash"] {
        let mut short = beginning(HeadParts { system: "Be brief.".into(), ..parts(model) });
        let mut verdicts = lab.say(model, &mut short, "Good day.").await.verdicts();
        verdicts.extend(lab.say(model, &mut short, "Still there?").await.verdicts());
        let expected = match model.starts_with("deepseek") {
            // It keeps nearly everything.
            true => ["below_minimum", "ok"],
            false => ["below_minimum"; 2],
        };
        assert_eq!(verdicts, expected, "{model}");
    }
}

/// The chance that an implicit cache hits is none here. Gemini leaves the count out then, which is not zero; a server that
/// reports it is known to have served nothing.
#[tokio::test]
async fn a_cache_that_promises_nothing_is_unreliable_and_not_broken() {
    let never = "name = \"harbour\"\nimplicit_hit_rate = 0.0\nprofile = \"gemini\"";
    let lab = Lab::new(&SCENARIO.replacen("name = \"harbour\"", never, 1)).await;
    for (model, verdict) in
        [("gemini/gemini-3.8-flash", "unknown"), ("deepseek/deepseek-v4-flash", "unreliable")]
    {
        let mut agent = conversation(model);
        lab.say(model, &mut agent, "Good day.").await;
        let heard = lab.say(model, &mut agent, "Still there?").await;
        assert_eq!(heard.verdicts(), [verdict], "{model}");
    }
}

/// A reply with this usage.
fn reply(usage: &str) -> Canned {
    let records = [
        format!(
            r#"{{"type":"message_start","message":{{"id":"msg_1","role":"assistant","model":"m","content":[],"usage":{usage}}}}}"#
        ),
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}"#.into(),
        r#"{"type":"content_block_stop","index":0}"#.into(),
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#.into(),
        r#"{"type":"message_stop"}"#.into(),
    ];
    Canned::events().piece(records.map(|data| format!("data: {data}\n\n")).concat())
}

#[tokio::test]
async fn counts_that_are_missing_or_cannot_be_true_are_unknown() {
    let cases = [
        "{}",
        r#"{"input_tokens":7000}"#,
        r#"{"input_tokens":12,"cache_read_input_tokens":-1,"cache_creation_input_tokens":7000}"#,
        r#"{"input_tokens":12,"cache_read_input_tokens":"6000"}"#,
        r#"{"input_tokens":12,"cache_read_input_tokens":99000000000,"cache_creation_input_tokens":0}"#,
        r#"{"input_tokens":12,"cache_read_input_tokens":18446744073709551615}"#,
        r#"{"input_tokens":1,"cache_read_input_tokens":1,"cache_creation_input_tokens":0}"#,
    ];
    for usage in cases {
        let mut lab = Lab::new(SCENARIO).await;
        let mut agent = conversation(MODEL);
        lab.say(MODEL, &mut agent, "Good day.").await;
        let odd = CaptureServer::start([reply(usage)]).await.unwrap();
        lab.moved_to(odd.base_url());
        let heard = lab.say(MODEL, &mut agent, "Still there?").await;
        let judgement = &heard.requests[0].cache.as_ref().unwrap().judgement;
        assert_eq!(heard.verdicts(), ["unknown"], "{usage}: {judgement:?}");
        assert_eq!((judgement.read, judgement.missed), (None, 0), "{usage}");
    }
}

/// The entry lives and the bytes agree: the provider asked another machine.
#[tokio::test]
async fn nothing_read_of_a_live_entry_is_told_from_a_change() {
    let lab = Lab::new(SCENARIO).await;
    let mut agent = conversation(MODEL);
    lab.say(MODEL, &mut agent, "Good day.").await;
    let mut elsewhere = Lab::new(SCENARIO).await;
    elsewhere.engine = lab.engine.clone();
    let heard = elsewhere.say(MODEL, &mut agent, "Still there?").await;
    insta::assert_snapshot!(explained(&heard), @"race: nothing was read though an entry lives: a race, another workspace or another machine");
}

fn explained(heard: &Heard) -> String {
    let judgement = &heard.requests[0].cache.as_ref().unwrap().judgement;
    format!("{}: {}", judgement.verdict.as_str(), judgement.why)
}
