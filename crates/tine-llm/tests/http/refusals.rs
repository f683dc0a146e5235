//! Answers that are failures: which are tried again, and what the last one says.

use std::time::Duration;

use tine_llm::{HttpLimits, LlmError, RetryLimits};
use tokio_util::sync::CancellationToken;

use crate::server::{Server, failure, hello};
use crate::{KEY, client, limits, send, send_to};

#[tokio::test]
async fn passing_statuses_are_tried_again_after_the_wait_that_was_asked_for() {
    let statuses = [
        "408 Request Timeout",
        "409 Conflict",
        "429 Too Many Requests",
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
        "529 Overloaded",
    ];
    for status in statuses {
        for wait in ["retry-after: 0", "retry-after-ms: 1", "x-other: 1"] {
            let refused = failure(status, &[wait], "some_error", "later");
            let outcome = send_to(&Server::answering([refused, hello()])).await;
            assert_eq!(
                (outcome.retries(), outcome.text().as_str()),
                (1, "Hello"),
                "{status} {wait}"
            );
        }
    }
}

#[tokio::test]
async fn the_last_refusal_says_how_often_it_was_tried() {
    let refused = failure("529 Overloaded", &[], "overloaded_error", "too busy");
    let server = Server::answering(vec![refused; 4]);
    let outcome = send_to(&server).await;
    assert_eq!(server.requests().len(), 4);
    assert!(outcome.error().is_retryable());
    insta::assert_snapshot!(outcome.log.join("\n") + "\n" + &outcome.words(), @r#"
    retry after try 1: overloaded (status 529, overloaded_error): too busy
    retry after try 2: overloaded (status 529, overloaded_error): too busy (tried 2 times)
    retry after try 3: overloaded (status 529, overloaded_error): too busy (tried 3 times)
    overloaded (status 529, overloaded_error): too busy (tried 4 times)
    "#);
}

#[tokio::test]
async fn the_number_of_tries_is_an_option() {
    for tries in [0, 1, 2] {
        let limits = HttpLimits { retry: RetryLimits { tries, ..limits().retry }, ..limits() };
        let refused = failure("500 Internal Server Error", &[], "api_error", "oops");
        let count = tries.max(1) as usize;
        let server = Server::answering(vec![refused; count]);
        send(&client(&server.base_url, limits), &CancellationToken::new()).await;
        assert_eq!(server.requests().len(), count);
    }
}

#[tokio::test]
async fn a_wait_beyond_the_patience_is_told_instead_of_waited_for() {
    let refused =
        failure("429 Too Many Requests", &["retry-after: 90"], "rate_limit_error", "slow");
    let server = Server::answering([refused]);
    let patience = Duration::from_secs(89);
    let limits = HttpLimits { retry: RetryLimits { patience, ..limits().retry }, ..limits() };
    let outcome = send(&client(&server.base_url, limits), &CancellationToken::new()).await;
    let LlmError::Refused { asked_wait, .. } = outcome.error() else {
        panic!("{:?}", outcome.result)
    };
    assert_eq!(*asked_wait, Some(Duration::from_secs(90)));
    insta::assert_snapshot!(outcome.words(), @"rate limited (status 429, rate_limit_error): slow; it asked for a wait of 90 s");
}

#[tokio::test]
async fn all_waits_together_stay_within_the_patience() {
    let retry = RetryLimits {
        patience: Duration::from_millis(60),
        tries: 100,
        backoff_first: Duration::from_millis(10),
        backoff_max: Duration::from_millis(10),
        ..limits().retry
    };
    let limits = HttpLimits { retry, ..limits() };
    let refused = failure("503 Service Unavailable", &[], "api_error", "soon");
    let server = Server::answering(vec![refused; 7]);
    let outcome = send(&client(&server.base_url, limits), &CancellationToken::new()).await;
    // Each wait is from 10 to 20 ms.
    assert!((3..=6).contains(&outcome.retries()), "{} waits", outcome.retries());
}

#[tokio::test]
async fn a_server_that_may_have_failed_for_good_is_asked_less_often() {
    let retry = RetryLimits { tries: 100, tries_failing: 3, ..limits().retry };
    let limits = HttpLimits { retry, ..limits() };
    let refused = failure("500 Internal Server Error", &[], "api_error", "oops");
    let server = Server::answering(vec![refused; 3]);
    send(&client(&server.base_url, limits), &CancellationToken::new()).await;
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_wait_that_the_whole_limit_would_cut_is_not_begun() {
    let refused =
        failure("429 Too Many Requests", &["retry-after: 50"], "rate_limit_error", "slow");
    let server = Server::answering([refused]);
    let limits = HttpLimits { whole: Some(Duration::from_secs(40)), ..limits() };
    let outcome = send(&client(&server.base_url, limits), &CancellationToken::new()).await;
    assert!(
        matches!(outcome.error(), LlmError::Refused { attempts: 1, .. }),
        "{:?}",
        outcome.result
    );
}

#[tokio::test]
async fn the_provider_may_forbid_a_retry() {
    let no = failure("500 Internal Server Error", &["x-should-retry: false"], "api_error", "oops");
    assert_eq!(send_to(&Server::answering([no])).await.retries(), 0);
}

#[tokio::test]
async fn an_empty_purse_is_final() {
    let kind = "insufficient_quota";
    let refused = failure("429 Too Many Requests", &["retry-after: 0"], kind, "top up");
    let outcome = send_to(&Server::answering([refused])).await;
    assert_eq!(outcome.retries(), 0);
    insta::assert_snapshot!(outcome.words(), @"spend limit reached (status 429, insufficient_quota): top up");
}

#[tokio::test]
async fn a_wrong_key_is_refused_at_once_and_never_quoted() {
    let message = format!("invalid x-api-key {KEY}");
    let headers = ["request-id: req_of_header"];
    let refused = failure("401 Unauthorized", &headers, "authentication_error", &message);
    let outcome = send_to(&Server::answering([refused])).await;
    assert_eq!(outcome.retries(), 0);
    let LlmError::Refused { failure, .. } = outcome.error() else { panic!("{:?}", outcome.result) };
    assert_eq!(failure.request_id.as_deref(), Some("req_1"));
    insta::assert_snapshot!(outcome.words(), @"not authenticated (status 401, authentication_error): invalid x-api-key …");
}

#[tokio::test]
async fn the_id_of_a_refused_request_may_stand_in_a_header() {
    let answer = crate::server::answer("400 Bad Request", &["x-request-id: req_9"], "no");
    let outcome = send_to(&Server::answering([answer])).await;
    let LlmError::Refused { failure, .. } = outcome.error() else { panic!("{:?}", outcome.result) };
    assert_eq!(failure.request_id.as_deref(), Some("req_9"));
}
