//! Caches that nobody marks, over the Chat format: what is read, and which fields say so.

use serde_json::{Value, json};

use crate::support::{chat_ask, client, manual, post, start};

const ECHO: &str = "name = \"echo\"\n[[turn]]\ntext = \"A fine answer.\"\n";

/// Bytes of the shared system text; with the template's words it is 1,005 tokens.
const SYSTEM_BYTES: usize = 4_000;

/// A child of the shared prefix, with a directive that shares no token with another's.
fn child(model: &str, directive: &str) -> Value {
    let system = "p".repeat(SYSTEM_BYTES);
    let messages = json!([
        {"role": "system", "content": system},
        {"role": "user", "content": format!("{directive}{directive} is yours")},
    ]);
    json!({"model": model, "messages": messages})
}

async fn usage(server: &tine_sim::SimServer, body: &Value) -> Value {
    post(server, "/v1/chat/completions", body).await.json()["usage"].clone()
}

#[tokio::test]
async fn deepseek_siblings_miss_twice_and_then_hit_where_they_parted() {
    let (server, clock) = manual(ECHO).await;
    let mut hits = Vec::new();
    for directive in ["aa", "bb", "cc", "dd"] {
        let usage = usage(&server, &child("deepseek-v4-flash", directive)).await;
        let (hit, miss) = (&usage["prompt_cache_hit_tokens"], &usage["prompt_cache_miss_tokens"]);
        let sum = hit.as_u64().zip(miss.as_u64()).map(|(hit, miss)| hit + miss);
        assert_eq!(sum, usage["prompt_tokens"].as_u64());
        hits.push(hit.as_u64());
    }
    // 1,005 tokens of the system text, and the two tokens with which a user's message begins.
    assert_eq!(hits, [Some(0), Some(0), Some(1_007), Some(1_007)]);
    clock.advance(2 * 60 * 60 * 1_000);
    let late = usage(&server, &child("deepseek-v4-flash", "ee")).await;
    assert_eq!(late["prompt_cache_hit_tokens"], 0, "hours later the unit is gone");
}

#[tokio::test]
async fn deepseek_children_that_extend_a_whole_exchange_read_all_of_it() {
    let (server, _clock) = manual(ECHO).await;
    let parent = child("m@deepseek", "aa");
    let first = usage(&server, &parent).await;
    let mut grown = parent;
    let more = [
        json!({"role": "assistant", "content": "A fine answer."}),
        json!({"role": "user", "content": "go on"}),
    ];
    grown["messages"].as_array_mut().expect("messages").extend(more);
    let second = usage(&server, &grown).await;
    // `<|assistant|>A fine answer.<|end|>` is 34 bytes.
    let whole = first["prompt_tokens"].as_u64().map(|prompt| prompt + 9);
    assert_eq!(second["prompt_cache_hit_tokens"].as_u64(), whole);
}

#[tokio::test]
async fn own_servers_say_what_was_cached_only_when_told_to() {
    for (profile, expected) in [("vllm", 1_008), ("sglang", 1_011)] {
        for (flag, shown) in [("", None), ("report_cached_tokens = true\n", Some(expected))] {
            let server = start(&format!("{flag}{ECHO}")).await;
            let body = child(&format!("m@{profile}"), "aa");
            let first = usage(&server, &body).await;
            let second = usage(&server, &body).await;
            assert_eq!(first["prompt_tokens"], 1_012);
            let details = second.get("prompt_tokens_details");
            let cached = details.and_then(|it| it["cached_tokens"].as_u64());
            assert_eq!(cached, shown, "{profile} {flag}");
            assert_eq!(details.is_some(), shown.is_some(), "absent, not zero");
            let read = server.requests()[1].usage.and_then(|usage| usage.read);
            assert_eq!(read, Some(expected), "the simulator knows in any case");
        }
    }
}

#[tokio::test]
async fn own_servers_need_no_key_and_salts_keep_caches_apart() {
    let server = start(&format!("report_cached_tokens = true\n{ECHO}")).await;
    let salted = |salt: &str| {
        let mut body = child("m@vllm", "aa");
        body["cache_salt"] = json!(salt);
        body
    };
    usage(&server, &salted("one")).await;
    let other = usage(&server, &salted("two")).await;
    assert_eq!(other["prompt_tokens_details"]["cached_tokens"], 0);
    let url = format!("{}/v1/chat/completions", server.base_url());
    let keyless = crate::support::client().post(url).body(salted("one").to_string()).send().await;
    assert_eq!(keyless.expect("a response").status(), 200);
}

#[tokio::test]
async fn llama_cpp_reports_its_timings_and_serves_one_child_a_slot() {
    let server = start(&format!("slots = 2\n{ECHO}")).await;
    let body = child("m@llamacpp", "aa");
    let first = post(&server, "/v1/chat/completions", &body).await.json();
    assert_eq!(first["timings"], json!({"cache_n": 0, "prompt_n": 1_012, "predicted_n": 4}));
    let second = post(&server, "/v1/chat/completions", &body).await.json();
    assert_eq!(second["timings"]["cache_n"], 1_011);
    assert_eq!(second["usage"]["prompt_tokens_details"]["cached_tokens"], 1_011);
    let mut pinned = child("m@llamacpp", "aa");
    pinned["id_slot"] = json!(1);
    let third = post(&server, "/v1/chat/completions", &pinned).await.json();
    assert_eq!(third["timings"]["cache_n"], 0, "the other slot holds something else");
    pinned["id_slot"] = json!(2);
    assert_eq!(post(&server, "/v1/chat/completions", &pinned).await.status, 400);
}

#[tokio::test]
async fn a_stream_that_is_cut_frees_its_slot() {
    let cut = "[[turn]]\nwhen = { user_contains = \"cut\" }\ntext = \"A fine answer.\"\nfault = { cut_after_events = 1 }\n";
    let server = start(&ECHO.replace("[[turn]]", &format!("slots = 1\n{cut}[[turn]]"))).await;
    let warm = child("m@llamacpp", "aa");
    post(&server, "/v1/chat/completions", &warm).await;
    let mut broken = child("m@llamacpp", "cut ");
    broken["stream"] = json!(true);
    assert!(!post(&server, "/v1/chat/completions", &broken).await.is_complete);
    let again = post(&server, "/v1/chat/completions", &warm).await.json();
    // What the two share: of the rest the cut one has taken the place.
    assert_eq!(again["timings"]["cache_n"], 1_007);
}

#[tokio::test]
async fn a_stream_of_llama_cpp_carries_timings_at_its_end() {
    let server = start(ECHO).await;
    let mut body = chat_ask("go");
    body["model"] = json!("m@llamacpp");
    body["stream"] = json!(true);
    let text = post(&server, "/v1/chat/completions", &body).await.text();
    let last = text.lines().rfind(|line| line.contains("finish_reason\":\"stop"));
    assert!(last.is_some_and(|line| line.contains("\"timings\":{\"cache_n\":0")), "{text}");
}

#[tokio::test]
async fn kimi_reads_whole_chunks_for_as_long_as_the_request_asked() {
    let (server, clock) = manual(ECHO).await;
    let asked = |ttl: &str| {
        let mut body = child("kimi-k3", "aa");
        body["prompt_cache_options"] = json!({"ttl": ttl});
        body
    };
    usage(&server, &asked("1h")).await;
    clock.advance(59 * 60 * 1_000);
    let warm = usage(&server, &child("kimi-k3", "bb")).await;
    assert_eq!(warm["prompt_tokens_details"]["cached_tokens"], 768);
    clock.advance(60 * 60 * 1_000);
    let cold = usage(&server, &child("kimi-k3", "cc")).await;
    assert_eq!(cold["prompt_tokens_details"]["cached_tokens"], 0);
}

#[tokio::test]
async fn reasoning_is_shown_beside_the_answer() {
    let server = start("name = \"t\"\n[[turn]]\nthinking = \"hm\"\ntext = \"yes\"\n").await;
    let body = child("deepseek-v4-pro", "aa");
    let message =
        post(&server, "/v1/chat/completions", &body).await.json()["choices"][0]["message"].clone();
    assert_eq!(message["reasoning_content"], "hm");
}

#[tokio::test]
async fn minimax_reads_what_was_not_marked_too_where_it_caches_passively() {
    let text = "p".repeat(4_000);
    let ask = json!({"model": "MiniMax-M3", "max_tokens": 50, "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]});
    for (key, read) in [("", 0), ("minimax_passive = true\n", 1_007)] {
        let server = start(&format!("{key}{ECHO}")).await;
        for expected in [0, read] {
            let usage = post(&server, "/v1/messages", &ask).await.json()["usage"].clone();
            assert_eq!(usage["cache_read_input_tokens"], expected, "{key}");
            assert_eq!(usage["cache_creation_input_tokens"], 0, "passive caching has no fee");
        }
    }
    let server = start(ECHO).await;
    let mut marked = ask;
    marked["messages"][0]["content"][0]["cache_control"] = crate::support::ephemeral();
    let first = post(&server, "/v1/messages", &marked).await.json()["usage"].clone();
    let second = post(&server, "/v1/messages", &marked).await.json()["usage"].clone();
    assert_eq!(
        (first["cache_creation_input_tokens"].as_u64(), second["cache_read_input_tokens"].as_u64()),
        (Some(1_007), Some(1_007))
    );
}

/// The answer to a question without a body.
async fn page(server: &tine_sim::SimServer, path: &str) -> Option<Value> {
    let answer = client().get(format!("{}{path}", server.base_url())).send().await.ok()?;
    let is_served = answer.status().is_success();
    let body = answer.bytes().await.ok()?;
    serde_json::from_slice(&body).ok().filter(|_| is_served)
}

#[tokio::test]
async fn each_server_of_ones_own_says_what_it_is_as_the_real_one_does() {
    let paths = ["/v1/models", "/props", "/slots", "/version", "/api/version"];
    let cases = [
        ("llamacpp", json!("llamacpp"), [true, true, true, false, false]),
        ("vllm", json!("vllm"), [true, false, false, true, false]),
        ("sglang", json!("sglang"), [true, false, false, false, false]),
        ("ollama", json!("library"), [true, false, false, false, true]),
        ("deepseek", Value::Null, [false; 5]),
    ];
    for (profile, owner, served) in cases {
        let server = start(&format!("profile = \"{profile}\"\n{ECHO}")).await;
        for (path, is_served) in paths.into_iter().zip(served) {
            assert_eq!(page(&server, path).await.is_some(), is_served, "{profile} {path}");
        }
        let list = page(&server, "/v1/models").await.unwrap_or_default();
        assert_eq!(list["data"][0]["owned_by"], owner, "{profile}");
    }
}

#[tokio::test]
async fn a_llama_server_tells_its_slots_and_which_of_them_is_at_work() {
    let slow = "profile = \"llamacpp\"\nslots = 2\nname = \"slow\"\n[[turn]]\ntext = \"A fine answer.\"\nfault = { stall_after_events = 1 }\n";
    let server = start(slow).await;
    let props = page(&server, "/props").await.unwrap_or_default();
    assert_eq!(props["total_slots"], 2);
    let at_work = |slots: Value| -> Vec<bool> {
        let slots = slots.as_array().expect("slots").clone();
        slots.iter().map(|slot| slot["is_processing"].as_bool().expect("word")).collect()
    };
    assert_eq!(at_work(page(&server, "/slots").await.unwrap_or_default()), [false, false]);
    let mut body = child("m", "aa");
    body["stream"] = json!(true);
    let url = format!("{}/v1/chat/completions", server.base_url());
    let mut answer =
        client().post(url).body(body.to_string()).send().await.expect("an answer begins");
    answer.chunk().await.expect("its first part");
    assert_eq!(at_work(page(&server, "/slots").await.unwrap_or_default()), [true, false]);
}

#[tokio::test]
async fn ollama_has_one_slot_and_says_nothing_of_what_it_read() {
    let server = start(&format!("profile = \"ollama\"\n{ECHO}")).await;
    let first = post(&server, "/v1/chat/completions", &child("m", "aa")).await.json();
    assert_eq!(first["usage"]["prompt_tokens_details"], Value::Null);
    assert_eq!(first["usage"]["prompt_tokens"], 1_012);
}
