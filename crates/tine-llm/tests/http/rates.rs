//! The rate gate over real HTTP: who waits for whom after a refusal.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tine_llm::{HttpLimits, LlmError, RateGates, RetryLimits, TimeLimit};
use tine_testkit::{Canned, CaptureServer, Gate};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::server::{BLOCK, BLOCK_STOP, DELTA, START, STOP, TEXT};
use crate::{Outcome, client_of, limits, send, send_and};

const MODEL: &str = "anthropic/claude-x";

/// A refusal that asks for this wait.
fn refusal(kind: &str, header: &str, wait: &str) -> Canned {
    let body = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"too much"}}}}"#);
    Canned::json(429, body).header(header, wait)
}

fn reply() -> Canned {
    Canned::events().piece(records())
}

/// A reply that waits at `gate` before its first byte.
fn reply_behind(gate: &Gate) -> Canned {
    Canned::events().wait(gate).piece(records())
}

fn records() -> String {
    let records = [START, BLOCK, TEXT, BLOCK_STOP, DELTA, STOP];
    records.iter().map(|record| format!("data: {record}\n\n")).collect()
}

/// Limits under which a refused request fails at once.
fn one_try() -> HttpLimits {
    HttpLimits { retry: RetryLimits { tries: 1, ..limits().retry }, ..limits() }
}

/// Sends one request that the first answer closes the gate with, and then, with `second`, one that is cancelled when it is held.
async fn second_after(
    first: Canned,
    gates: &RateGates,
    second: &str,
    limits: HttpLimits,
) -> Outcome {
    let server = CaptureServer::start([first, reply()]).await.unwrap();
    let client = client_of(MODEL, &server.base_url(), one_try(), gates);
    send(&client, &CancellationToken::new()).await;
    let client = client_of(second, &server.base_url(), limits, gates);
    let cancel = CancellationToken::new();
    let outcome = send_and(&client, &cancel, |line| {
        if line.starts_with("held") {
            cancel.cancel();
        }
    })
    .await;
    let sent = server.requests().len();
    assert_eq!(sent, if outcome.result.is_ok() { 2 } else { 1 });
    outcome
}

#[tokio::test]
async fn siblings_that_were_refused_at_once_come_back_in_waves() {
    const SIBLINGS: usize = 8;
    let waits: Vec<Gate> = (0..SIBLINGS).map(|_| Gate::new()).collect();
    // The first tries are refused when all have come, so that none finds the gate closed before.
    let (mut refusals, everybody) = (SIBLINGS, Gate::new());
    let mut answers: VecDeque<Gate> = waits.iter().cloned().collect();
    let all_here = everybody.clone();
    let server = CaptureServer::answering(move |_| {
        if refusals > 0 {
            refusals -= 1;
            if refusals == 0 {
                all_here.open();
            }
            let refused = Canned::new(429).wait(&all_here);
            return refused
                .header("content-type", "application/json")
                .header("retry-after-ms", "20");
        }
        answers.pop_front().map_or_else(|| Canned::new(500), |gate| reply_behind(&gate))
    });
    let server = server.await.unwrap();
    let client = Arc::new(client_of(MODEL, &server.base_url(), limits(), &RateGates::new()));
    let mut siblings = JoinSet::new();
    for _ in 0..SIBLINGS {
        let client = Arc::clone(&client);
        siblings.spawn(async move { send(&client, &CancellationToken::new()).await });
    }
    let mut begun = 0;
    for wave in [1, 2, 4, 1] {
        for gate in &waits[begun..begun + wave] {
            gate.reached().await;
        }
        assert_eq!(server.requests().len(), SIBLINGS + begun + wave, "more than the wave came");
        for gate in &waits[begun..begun + wave] {
            gate.open();
        }
        begun += wave;
    }
    for outcome in siblings.join_all().await {
        assert_eq!((outcome.retries(), outcome.text().as_str()), (1, "Hello"));
    }
}

#[tokio::test]
async fn a_refusal_holds_the_next_request_too() {
    let first = refusal("rate_limit_error", "retry-after", "50");
    let outcome = second_after(first, &RateGates::new(), MODEL, limits()).await;
    assert!(matches!(outcome.error(), LlmError::Cancelled { .. }), "{:?}", outcome.result);
    assert_eq!(outcome.log, ["held: the provider limits the rate"]);
}

#[tokio::test]
async fn the_wait_at_the_gate_counts_against_the_whole_limit() {
    let server = CaptureServer::start([refusal("rate_limit_error", "retry-after", "50")]);
    let server = server.await.unwrap();
    let gates = RateGates::new();
    let client = client_of(MODEL, &server.base_url(), one_try(), &gates);
    send(&client, &CancellationToken::new()).await;
    let limits = HttpLimits { whole: Some(Duration::from_secs(40)), ..limits() };
    let client = client_of(MODEL, &server.base_url(), limits, &gates);
    // Time passes once it waits at the gate, and then at once.
    let outcome = send_and(&client, &CancellationToken::new(), |_| tokio::time::pause()).await;
    let LlmError::Timeout { limit, .. } = outcome.error() else { panic!("{:?}", outcome.result) };
    assert_eq!((*limit, outcome.log.len()), (TimeLimit::Whole, 1));
}

#[tokio::test]
async fn a_limit_that_is_used_up_holds_the_next_request() {
    let first = reply()
        .header("x-ratelimit-remaining-requests", "0")
        .header("x-ratelimit-reset-requests", "6m0s");
    let outcome = second_after(first, &RateGates::new(), MODEL, limits()).await;
    assert_eq!(outcome.log, ["held: the rate limit is used up"]);
}

#[tokio::test]
async fn another_model_is_not_held() {
    let first = refusal("rate_limit_error", "retry-after", "50");
    let outcome = second_after(first, &RateGates::new(), "anthropic/other", limits()).await;
    assert_eq!(outcome.text(), "Hello");
}

#[tokio::test]
async fn an_empty_purse_holds_nobody() {
    let first = refusal("insufficient_quota", "retry-after", "50");
    let outcome = second_after(first, &RateGates::new(), MODEL, limits()).await;
    assert_eq!(outcome.text(), "Hello");
}

#[tokio::test]
async fn a_request_behind_a_wave_is_told_so_once() {
    let gate = Gate::new();
    let refused = refusal("rate_limit_error", "retry-after-ms", "5");
    let server = CaptureServer::start([refused, reply_behind(&gate), reply()]).await.unwrap();
    let client = client_of(MODEL, &server.base_url(), limits(), &RateGates::new());
    let (first_cancel, cancel) = (CancellationToken::new(), CancellationToken::new());
    let second = async {
        gate.reached().await;
        send_and(&client, &cancel, |line| {
            if line.starts_with("held") {
                // The one before ends without a reply, and lets this one through.
                first_cancel.cancel();
            }
        })
        .await
    };
    let (first, second) = tokio::join!(send(&client, &first_cancel), second);
    assert!(matches!(first.error(), LlmError::Cancelled { .. }), "{:?}", first.result);
    assert_eq!(second.text(), "Hello");
    assert_eq!(second.log[0], "held: after a rate limit requests go one after another");
    assert_eq!(second.log.iter().filter(|line| line.starts_with("held")).count(), 1);
}
