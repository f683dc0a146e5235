//! Asking a server of one's own what it is.

use std::time::Duration;

use tine_llm::{HttpLimits, HttpOptions, Secret, probe};
use tine_model::{Engine, Served};

use crate::server::{Server, Step, answer};
use crate::{KEY, limits};

fn options(base_url: &str) -> HttpOptions {
    HttpOptions {
        model: "openai-compat/m".parse().unwrap(),
        base_url: base_url.to_owned(),
        key: Some(Secret::new(KEY)),
        limits: HttpLimits { ..limits() },
    }
}

fn json(body: &str) -> Vec<u8> {
    answer("200 OK", &["content-type: application/json"], body)
}

/// Probes a server that gives these answers; returns what was learnt and the paths that were asked for.
async fn probed(answers: Vec<Vec<u8>>) -> (Option<Served>, Vec<String>) {
    let server = Server::answering(answers);
    let served = probe(&options(&format!("{}/v1", server.base_url))).await;
    let asked = server.requests();
    assert!(asked.iter().all(|request| request.body.is_empty()));
    let path = |head: &str| head.split(' ').nth(1).unwrap().to_owned();
    (served, asked.iter().map(|request| path(&request.head)).collect())
}

fn served(engine: Engine, slots: Option<u32>, window_tokens: Option<u64>) -> Option<Served> {
    Some(Served { engine: Some(engine), slots, window_tokens })
}

#[tokio::test]
async fn each_engine_is_known_by_its_own_answers() {
    let llama = json(r#"{"data":[{"id":"m","owned_by":"llamacpp"}]}"#);
    let props = json(r#"{"total_slots":4,"default_generation_settings":{"n_ctx":4096}}"#);
    let (found, asked) = probed(vec![llama, props]).await;
    assert_eq!(found, served(Engine::LlamaServer, Some(4), Some(4096)));
    assert_eq!(asked, ["/v1/models", "/props"]);

    let vllm = json(r#"{"data":[{"id":"m","owned_by":"vllm","max_model_len":32768}]}"#);
    let (found, asked) = probed(vec![vllm]).await;
    assert_eq!(found, served(Engine::Vllm, None, Some(32768)));
    assert_eq!(asked, ["/v1/models"]);

    let sglang = json(r#"{"data":[{"id":"m","owned_by":"sglang"}]}"#);
    assert_eq!(probed(vec![sglang]).await.0, served(Engine::Sglang, None, None));

    let ollama = json(r#"{"data":[{"id":"m:latest","owned_by":"library"}]}"#);
    let version = json(r#"{"version":"0.14.2"}"#);
    let loaded = json(r#"{"models":[{"name":"m:latest","context_length":8192}]}"#);
    let (found, asked) = probed(vec![ollama, version, loaded]).await;
    assert_eq!(found, served(Engine::Ollama, None, Some(8192)));
    assert_eq!(asked, ["/v1/models", "/api/version", "/api/ps"]);
}

// On another thread the connection is closed whose answer nobody reads; the server waits for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_server_that_says_nothing_known_is_no_engine_and_no_error() {
    let list = json(r#"{"data":[{"id":"m","owned_by":"somebody"}]}"#);
    let missing = answer("404 Not Found", &[], "");
    let (found, _) = probed(vec![list, missing.clone()]).await;
    assert_eq!(found, Some(Served::default()));
    for refusal in [missing, answer("401 Unauthorized", &[], "{}"), json("<html>"), b"?".to_vec()] {
        assert_eq!(probed(vec![refusal]).await.0, None);
    }
    let moved = answer("302 Found", &["location: http://127.0.0.1:1/"], "");
    assert_eq!(probed(vec![moved]).await.0, None);
}

/// Time stands still but for waits, so the limit is met without waiting.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_holds_nobody_up() {
    let server = Server::start(vec![vec![Step::Hold]]);
    assert_eq!(probe(&options(&server.base_url)).await, None);
}

#[tokio::test]
async fn nobody_on_the_internet_is_asked() {
    let options = options("https://models.example.com/v1");
    // Were it asked, the name would have to be looked up, and the answer would not be immediate.
    let asked = tokio::time::timeout(Duration::ZERO, probe(&options)).await;
    assert_eq!(asked.ok(), Some(None));
}
