//! Rate limits by the clock, the vendors' headers, and the simulator's own paths.

use reqwest::Method;
use serde_json::{Value, json};
use tine_sim::SimServer;

use crate::support::{ask, chat_ask, ephemeral, manual, post, send_as, start};

fn limited(limits: &str) -> String {
    format!("name = \"limits\"\n[[turn]]\ntext = \"ok\"\n[limits]\n{limits}\n")
}

/// A prompt of 1,008 tokens, marked at its end.
fn marked(letter: &str) -> Value {
    ask(json!([{"type": "text", "text": letter.repeat(4_000), "cache_control": ephemeral()}]))
}

#[tokio::test]
async fn reads_are_free_of_the_token_limit_on_anthropic() {
    let (server, clock) = manual(&limited("input_tokens_per_minute = 1200")).await;
    for _ in 0..5 {
        let reply = post(&server, "/v1/messages", &marked("a")).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("anthropic-ratelimit-input-tokens-remaining"), "193");
    }
    let cold = post(&server, "/v1/messages", &marked("b")).await;
    assert_eq!((cold.status, cold.header("retry-after")), (429, "41"));
    assert_eq!(cold.json()["error"]["type"], "rate_limit_error");
    clock.advance(40_800);
    assert_eq!(post(&server, "/v1/messages", &marked("b")).await.status, 200);
}

#[tokio::test]
async fn every_token_counts_on_openai() {
    let (server, _clock) = manual(&limited("input_tokens_per_minute = 2400")).await;
    let body = chat_ask(&"a".repeat(4_400));
    let first = post(&server, "/v1/chat/completions", &body).await;
    let prompt = first.json()["usage"]["prompt_tokens"].as_u64().expect("a count");
    let second = post(&server, "/v1/chat/completions", &body).await;
    let left = (2_400 - 2 * prompt).to_string();
    assert_eq!(second.header("x-ratelimit-remaining-tokens"), left);
    assert!(second.json()["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64() > Some(0));
    let third = post(&server, "/v1/chat/completions", &body).await;
    assert_eq!(
        (third.status, third.json()["error"]["code"].as_str()),
        (429, Some("rate_limit_exceeded"))
    );
}

#[tokio::test]
async fn requests_are_limited_and_the_headers_tell_the_truth() {
    let (server, clock) = manual(&limited("requests_per_minute = 2")).await;
    let remaining = ["1", "0"];
    for remaining in remaining {
        let reply = post(&server, "/v1/messages", &ask(json!("go"))).await;
        assert_eq!(reply.header("anthropic-ratelimit-requests-remaining"), remaining);
    }
    let refused = post(&server, "/v1/messages", &ask(json!("go"))).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "30"));
    assert_eq!(refused.header("anthropic-ratelimit-requests-reset"), "1970-01-01T00:17:40Z");
    clock.advance(30_000);
    assert_eq!(post(&server, "/v1/messages", &ask(json!("go"))).await.status, 200);
}

#[tokio::test]
async fn a_ramp_is_slowed_down_in_each_vendors_way() {
    let (server, _clock) = manual(&limited("requests_per_second = 1")).await;
    post(&server, "/v1/messages", &ask(json!("go"))).await;
    let ramp = post(&server, "/v1/messages", &ask(json!("go"))).await;
    assert_eq!((ramp.status, ramp.header("retry-after")), (429, "1"));
    let (server, _clock) = manual(&limited("requests_per_second = 1")).await;
    post(&server, "/v1/chat/completions", &chat_ask("go")).await;
    let ramp = post(&server, "/v1/chat/completions", &chat_ask("go")).await;
    assert_eq!((ramp.status, ramp.json()["error"]["code"].as_str()), (503, Some("slow_down")));
}

#[tokio::test]
async fn a_spent_cap_names_no_time_to_come_back() {
    let server = start(&limited("spend_tokens = 1")).await;
    assert_eq!(post(&server, "/v1/messages", &ask(json!("go"))).await.status, 200);
    let refused = post(&server, "/v1/messages", &ask(json!("go"))).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, ""));
    assert_eq!(refused.json()["error"]["details"]["error_code"], "enforced_spend_limit_reached");
}

async fn get(server: &SimServer, path: &str) -> Value {
    send_as(server, Method::GET, path, json!({})).await.1
}

#[tokio::test]
async fn a_manual_clock_moves_from_outside_and_another_does_not() {
    let (server, _clock) = manual(&limited("requests_per_minute = 1")).await;
    assert_eq!(get(&server, "/sim/clock").await, json!({"now_ms": 1_000_000, "manual": true}));
    post(&server, "/v1/messages", &ask(json!("go"))).await;
    assert_eq!(post(&server, "/v1/messages", &ask(json!("go"))).await.status, 429);
    let moved = post(&server, "/sim/clock", &json!({"advance_ms": 60_000})).await;
    assert_eq!(moved.json(), json!({"now_ms": 1_060_000, "manual": true}));
    assert_eq!(post(&server, "/v1/messages", &ask(json!("go"))).await.status, 200);
    assert_eq!(post(&server, "/sim/clock", &json!({"by": 1})).await.status, 400);
    assert_eq!(server.requests().len(), 3, "the simulator's own paths are not captured");
    let server = start(&limited("")).await;
    assert_eq!(post(&server, "/sim/clock", &json!({"advance_ms": 1})).await.status, 409);
    assert_eq!(get(&server, "/sim/clock").await["manual"], false);
}

#[tokio::test]
async fn totals_add_up_by_kind_and_model() {
    let (server, _clock) = manual(&limited("")).await;
    for _ in 0..3 {
        post(&server, "/v1/messages", &marked("a")).await;
    }
    let mut other = chat_ask("go");
    other["model"] = json!("other");
    post(&server, "/v1/chat/completions", &other).await;
    let mut refused = ask(json!("go"));
    refused["messages"][0]["role"] = json!("assistant");
    post(&server, "/v1/messages", &refused).await;
    insta::assert_snapshot!(serde_json::to_string_pretty(&get(&server, "/sim/usage").await).expect("JSON"), @r#"
    {
      "total": {
        "requests": 4,
        "refused": 0,
        "uncached_tokens": 8,
        "write_short_tokens": 1007,
        "write_long_tokens": 0,
        "read_tokens": 2014,
        "output_tokens": 4
      },
      "models": {
        "m": {
          "requests": 3,
          "refused": 0,
          "uncached_tokens": 0,
          "write_short_tokens": 1007,
          "write_long_tokens": 0,
          "read_tokens": 2014,
          "output_tokens": 3
        },
        "other": {
          "requests": 1,
          "refused": 0,
          "uncached_tokens": 8,
          "write_short_tokens": 0,
          "write_long_tokens": 0,
          "read_tokens": 0,
          "output_tokens": 1
        }
      },
      "cached_content_token_ms": 0
    }
    "#);
}
