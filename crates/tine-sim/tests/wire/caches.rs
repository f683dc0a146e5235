//! The deterministic cache tests of the reference (section I.4) that need no client of tine's, over real sockets.

use crate::support::{
    ask, billed, chat_ask, ephemeral, input, manual, post, read_and_written, start,
};
use insta::assert_snapshot;
use serde_json::{Value, json};

const PLAIN: &str = "name = \"plain\"\ncache_min_tokens = 10\n";

fn block(index: usize, is_marked: bool) -> Value {
    let text = format!("{index:03} {}", "p".repeat(200));
    match is_marked {
        false => json!({"type": "text", "text": text}),
        true => json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}),
    }
}

/// One user message of so many blocks, some of them marked.
fn blocks(count: usize, marks: &[usize]) -> Value {
    let blocks: Vec<Value> = (0..count).map(|index| block(index, marks.contains(&index))).collect();
    ask(json!(blocks))
}

#[tokio::test]
async fn a_gap_of_twenty_blocks_needs_an_anchor() {
    let server = start(PLAIN).await;
    let parent = blocks(10, &[9]);
    let written = billed(&server, &parent).await[2];
    let per_block = written / 10;
    for (gap, anchor, read) in [(20, false, 0), (19, false, written), (20, true, written)] {
        let server = start(PLAIN).await;
        billed(&server, &parent).await;
        let last = 9 + gap;
        let marks = if anchor { vec![9, last] } else { vec![last] };
        let total = per_block * (10 + gap as u64);
        let child = billed(&server, &blocks(10 + gap, &marks)).await;
        assert_eq!(child, [0, read, total - read, 0], "gap {gap}, anchor {anchor}");
    }
}

#[tokio::test]
async fn generation_counts_against_the_lifetime() {
    // The answer takes 4:50; the clock of the cache and the timers of the runtime move together.
    for (later_ms, is_alive) in [(9_999, true), (11_000, false)] {
        let (server, clock) = manual(&format!("{PLAIN}first_byte_ms = 290000\n")).await;
        let body = blocks(10, &[9]);
        let ask = async || {
            let reply = post(&server, "/v1/messages", &body);
            let generate = async {
                let before = server.requests().len();
                while server.requests().len() == before {
                    tokio::task::yield_now().await;
                }
                clock.advance(290_000);
                tokio::time::pause();
                tokio::time::advance(std::time::Duration::from_secs(291)).await;
                tokio::time::resume();
            };
            tokio::join!(reply, generate).0.json()["usage"]["cache_read_input_tokens"].as_u64()
        };
        assert_eq!(ask().await, Some(0));
        clock.advance(later_ms);
        assert_eq!(ask().await > Some(0), is_alive, "4:50 and {later_ms} ms");
    }
}

#[tokio::test]
async fn mixed_lifetimes_are_billed_by_hit_and_marks() {
    let (server, clock) = manual(PLAIN).await;
    let mut body = blocks(12, &[3, 9]);
    body["messages"][0]["content"][3]["cache_control"]["ttl"] = json!("1h");
    let per_block = 58;
    let in_blocks = async |body: &Value| {
        billed(&server, body).await.map(|tokens| (tokens / per_block, tokens % per_block))
    };
    let whole = |blocks: [u64; 4]| blocks.map(|count| (count, 0));
    assert_eq!(in_blocks(&body).await, whole([2, 0, 6, 4]), "A is nothing, B is 4, C is 10");
    clock.advance(600_000);
    assert_eq!(in_blocks(&body).await, whole([2, 4, 6, 0]), "A and B are 4, C is 10");
    clock.advance(600_000);
    body["messages"][0]["content"][5]["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!(in_blocks(&body).await, whole([2, 4, 4, 2]), "A is 4, B is 6, C is 10");
}

/// A prompt of more than 1,024 tokens whose shared part is marked.
fn child(number: usize, key: &str) -> Value {
    let shared = "p".repeat(6_000);
    let directive = format!("You are worker {number}");
    let mut body = input(&[(&shared, true), (&directive, false)]);
    body["prompt_cache_key"] = json!(key);
    body
}

#[tokio::test]
async fn a_key_per_child_shares_nothing_and_one_key_shares_all() {
    for (is_shared, cold) in [(false, 8), (true, 1)] {
        let (server, _clock) = manual(PLAIN).await;
        let mut writers = 0;
        for number in 0..8 {
            let key = if is_shared { "lineage".to_owned() } else { format!("child-{number}") };
            let reply = post(&server, "/v1/responses", &child(number, &key)).await;
            let (read, written) = read_and_written(&reply);
            assert!((read == 0) != (written == 0), "{read} {written}");
            writers += usize::from(written > 0);
        }
        assert_eq!(writers, cold, "one key: {is_shared}");
    }
}

#[tokio::test]
async fn more_than_fifteen_requests_a_minute_overflow_to_a_cold_machine() {
    for (switch, cold) in [("", vec![0, 15]), ("machines = false\n", vec![0])] {
        let (server, clock) = manual(&format!("{PLAIN}{switch}")).await;
        let mut writers = Vec::new();
        for number in 0..20 {
            let reply = post(&server, "/v1/responses", &child(number, "lineage")).await;
            if read_and_written(&reply).1 > 0 {
                writers.push(number);
            }
        }
        assert_eq!(writers, cold);
        clock.advance(60_000);
        let reply = post(&server, "/v1/responses", &child(20, "lineage")).await;
        assert_eq!(read_and_written(&reply).1, 0, "a minute later the first machine has room");
    }
}

#[tokio::test]
async fn chat_has_the_same_breakpoints_with_fewer_options() {
    let server = start("name = \"plain\"\n").await;
    let chat = |directive: &str| {
        let mark = json!({"mode": "explicit"});
        let shared =
            json!({"type": "text", "text": "p".repeat(6_000), "prompt_cache_breakpoint": mark});
        let directive = json!({"type": "text", "text": directive});
        json!({
            "model": "echo@openai-chat",
            "prompt_cache_key": "k",
            "prompt_cache_options": {"mode": "explicit", "ttl": "30m"},
            "messages": [{"role": "user", "content": [shared, directive]}],
        })
    };
    let first = post(&server, "/chat/completions", &chat("one")).await;
    let (_, written) = read_and_written(&first);
    assert!(written > 1_500);
    let second = post(&server, "/v1/chat/completions", &chat("two")).await;
    assert_eq!(read_and_written(&second), (written, 0));
    let mut long = chat("three");
    long["prompt_cache_options"]["ttl"] = json!("12h");
    let reply = post(&server, "/v1/chat/completions", &long).await;
    assert_eq!(reply.status, 400);
    assert_snapshot!(reply.text(), @r#"{"error":{"message":"Invalid value: \"12h\". Supported values are: '30m'.","type":"invalid_request_error","param":"prompt_cache_options.ttl","code":"invalid_value"}}"#);
    long["prompt_cache_options"] = json!({"prewarm": true});
    assert_eq!(post(&server, "/v1/chat/completions", &long).await.status, 400);
}

#[tokio::test]
async fn older_models_keep_their_automatic_prefixes() {
    let (server, clock) = manual(PLAIN).await;
    for (retention, after_ms, cached) in [("in_memory", 299_999, 1_408), ("24h", 3_600_000, 1_408)]
    {
        let mut body = chat_ask(&format!("{retention} {}", "p".repeat(6_000)));
        body["model"] = json!("gpt-5.4");
        body["prompt_cache_retention"] = json!(retention);
        post(&server, "/v1/chat/completions", &body).await;
        clock.advance(after_ms);
        let usage = post(&server, "/v1/chat/completions", &body).await.json()["usage"].clone();
        assert_eq!(usage["prompt_tokens_details"], json!({"cached_tokens": cached}), "{retention}");
    }
    let mut body = input(&[("hi", true)]);
    body["model"] = json!("gpt-5.4");
    let usage = post(&server, "/v1/responses", &body).await.json()["usage"].clone();
    // The vendor's type has both members, whatever the model.
    let details = json!({"cached_tokens": 0, "cache_write_tokens": 0});
    assert_eq!(usage["input_tokens_details"], details);
    let mut body = chat_ask("hi");
    (body["model"], body["prompt_cache_retention"]) = (json!("gpt-6-luna"), json!("in_memory"));
    assert_eq!(post(&server, "/v1/chat/completions", &body).await.status, 400);
}

#[tokio::test]
async fn a_scenario_chooses_the_profile() {
    let server = start("name = \"x\"\nprofile = \"anthropic\"\ncache_min_tokens = 10\n").await;
    let mut body = input(&[("shared by all of them", true), ("mine", false)]);
    body["prompt_cache_key"] = json!("k");
    post(&server, "/responses", &body).await;
    assert!(read_and_written(&post(&server, "/responses", &body).await).0 > 0);
    let mut marked =
        ask(json!([{"type": "text", "text": "p".repeat(100), "cache_control": ephemeral()}]));
    marked["model"] = json!("gpt-6.1-sol");
    billed(&server, &marked).await;
    assert!(billed(&server, &marked).await[1] > 0);
}
