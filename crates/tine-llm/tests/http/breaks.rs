//! Connections that fail, limits that strike, callers that cancel.

use std::net::TcpListener;
use std::time::Duration;

use tine_llm::{HttpLimits, LlmError, RetryLimits, TimeLimit};
use tokio_util::sync::CancellationToken;

use crate::server::{BLOCK, PING, START, Server, Step, TEXT, answer, failure, hello, stream};
use crate::{Outcome, client, limits, send, send_and, send_to};

/// A limit that strikes, whatever else happens.
const SHORT: Duration = Duration::from_millis(40);

/// A limit that strikes after what the test needs, for which the clock of the runtime is moved.
const LONG: Duration = Duration::from_secs(40);

fn limit(outcome: &Outcome) -> TimeLimit {
    match outcome.error() {
        LlmError::Timeout { limit, .. } => *limit,
        other => panic!("{other:?}"),
    }
}

/// Sends to a server that does this with its only connection.
async fn send_under(limits: HttpLimits, script: Vec<Step>) -> Outcome {
    let server = Server::start(vec![script]);
    send(&client(&server.base_url, limits), &CancellationToken::new()).await
}

/// Sends to a server that is silent after these records, `TEXT` among them. Time passes only from then on, so that no limit strikes
/// before.
pub(crate) async fn send_and_hear_no_more(limits: HttpLimits, records: &[&str]) -> Outcome {
    let script = vec![Step::Send(stream(records)), Step::Hold];
    let server = Server::start(vec![script]);
    let stop_clock = |line: &str| {
        if line.contains("Hello") {
            tokio::time::pause();
        }
    };
    send_and(&client(&server.base_url, limits), &CancellationToken::new(), stop_clock).await
}

/// A stream whose connection breaks in the middle of a chunk.
fn cut_stream(records: &[&str]) -> Vec<u8> {
    let body: String = records.iter().map(|record| format!("data: {record}\n\n")).collect();
    let headers = ["content-type: text/event-stream", "transfer-encoding: chunked"];
    let chunk = format!("{:x}\r\n{body}", body.len() + 10);
    answer("200 OK", &headers, &chunk)
}

#[tokio::test]
async fn nobody_listening_is_tried_twice() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let client = client(&format!("http://127.0.0.1:{port}"), limits());
    let outcome = send(&client, &CancellationToken::new()).await;
    assert_eq!(outcome.retries(), 1);
    let words = outcome.words().replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(words, @"cannot reach http://127.0.0.1:PORT/v1/messages (tried 2 times): Connection refused (os error 111)");
}

#[tokio::test]
async fn a_connection_that_closes_before_its_answer_is_tried_again() {
    let server = Server::answering([Vec::new(), b"HTTP/1.1 200 OK\r\n".to_vec(), hello()]);
    let outcome = send_to(&server).await;
    assert_eq!((outcome.retries(), outcome.text().as_str()), (2, "Hello"));
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_stream_keeps_what_came() {
    let outcome = send_to(&Server::answering([cut_stream(&[START, BLOCK, TEXT])])).await;
    assert_eq!(outcome.retries(), 0);
    assert!(outcome.error().is_retryable());
    assert_eq!(outcome.partial_text().as_deref(), Some("Hello"));
    insta::assert_snapshot!(outcome.words(), @"the reply broke off: the connection was lost: end of file before message length reached");
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_first_event_is_tried_again() {
    let outcome = send_to(&Server::answering([cut_stream(&[PING]), hello()])).await;
    assert_eq!((outcome.retries(), outcome.text().as_str()), (1, "Hello"));
}

#[tokio::test]
async fn silence_after_the_request_strikes_the_first_limit() {
    let limits = HttpLimits { first_event: SHORT, ..limits() };
    assert_eq!(limit(&send_under(limits, vec![Step::Hold]).await), TimeLimit::FirstEvent);
}

#[tokio::test]
async fn signs_of_life_alone_do_not_put_off_the_first_limit() {
    let limits = HttpLimits { first_event: SHORT, ..limits() };
    let script = vec![Step::Send(stream(&[PING])), Step::Hold];
    assert_eq!(limit(&send_under(limits, script).await), TimeLimit::FirstEvent);
}

#[tokio::test]
async fn silence_in_the_stream_strikes_the_idle_limit_and_keeps_what_came() {
    let limits = HttpLimits { idle: LONG, ..limits() };
    let outcome = send_and_hear_no_more(limits, &[START, BLOCK, TEXT]).await;
    assert_eq!(limit(&outcome), TimeLimit::Idle);
    assert_eq!(outcome.partial_text().as_deref(), Some("Hello"));
    insta::assert_snapshot!(outcome.words(), @"the limit of 40 s between two parts of the reply passed");
}

#[tokio::test]
async fn the_whole_limit_strikes_in_a_stream_too() {
    let limits = HttpLimits { whole: Some(SHORT), ..limits() };
    let script = vec![Step::Send(stream(&[START, BLOCK, TEXT])), Step::Hold];
    assert_eq!(limit(&send_under(limits, script).await), TimeLimit::Whole);
}

#[tokio::test]
async fn a_reply_that_trickles_for_ever_strikes_the_limit_of_a_reply() {
    let limits = HttpLimits { reply: LONG, ..limits() };
    let outcome = send_and_hear_no_more(limits, &[START, BLOCK, TEXT]).await;
    assert_eq!((limit(&outcome), outcome.retries()), (TimeLimit::Reply, 0));
    assert_eq!(outcome.partial_text().as_deref(), Some("Hello"));
}

#[tokio::test]
async fn a_stream_without_end_is_given_up_at_the_limit_in_bytes() {
    let limits = HttpLimits { reply_bytes: 10_000, ..limits() };
    let records: Vec<&str> = [START, BLOCK].into_iter().chain([TEXT; 200]).collect();
    let outcome = send_under(limits, vec![Step::Send(stream(&records))]).await;
    insta::assert_snapshot!(outcome.words(), @"the reply is not what the format says: the stream passes the limit of 10000 bytes");
}

#[tokio::test]
async fn a_failure_whose_body_never_ends_is_still_a_failure() {
    // The body has come by then, and real time passes.
    let limits = HttpLimits { idle: Duration::from_secs(2), ..limits() };
    let refused = failure("400 Bad Request", &[], "invalid_request_error", "no such field");
    let outcome = send_under(limits, vec![Step::Send(refused), Step::Hold]).await;
    insta::assert_snapshot!(outcome.words(), @"invalid request (status 400, invalid_request_error): no such field");
}

#[tokio::test]
async fn a_handshake_that_hangs_strikes_the_connect_limit_after_two_tries() {
    let limits = HttpLimits { connect: SHORT, ..limits() };
    let server = Server::start(vec![vec![Step::Hold], vec![Step::Hold]]);
    let client = client(&server.base_url.replace("http:", "https:"), limits);
    let outcome = send(&client, &CancellationToken::new()).await;
    assert_eq!((limit(&outcome), outcome.retries()), (TimeLimit::Connect, 1));
}

#[tokio::test]
async fn cancelled_before_it_is_sent() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = send(&client("http://127.0.0.1:1", limits()), &cancel).await;
    assert!(matches!(outcome.error(), LlmError::Cancelled { .. }));
    assert_eq!(outcome.partial_text(), None);
}

#[tokio::test]
async fn cancelled_while_connecting() {
    let server = Server::start(vec![vec![Step::Hold]]);
    let client = client(&server.base_url.replace("http:", "https:"), limits());
    let cancel = CancellationToken::new();
    let stop = async {
        tokio::time::sleep(SHORT).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(send(&client, &cancel), stop);
    assert!(matches!(outcome.error(), LlmError::Cancelled { .. }), "{:?}", outcome.result);
}

#[tokio::test]
async fn cancelled_in_the_stream_keeps_what_came() {
    let script = vec![Step::Send(stream(&[START, BLOCK, TEXT])), Step::Hold];
    let server = Server::start(vec![script]);
    let cancel = CancellationToken::new();
    let client = client(&server.base_url, limits());
    let outcome = send_and(&client, &cancel, |line| {
        if line.starts_with("Text") {
            cancel.cancel();
        }
    })
    .await;
    assert!(matches!(outcome.error(), LlmError::Cancelled { .. }), "{:?}", outcome.result);
    assert_eq!(outcome.partial_text().as_deref(), Some("Hello"));
}

#[tokio::test]
async fn cancelled_while_waiting_for_the_next_try() {
    let refused = failure("500 Internal Server Error", &[], "api_error", "oops");
    let server = Server::answering([refused]);
    let hour = Duration::from_secs(3600);
    let retry = RetryLimits {
        patience: hour * 2,
        backoff_first: hour,
        backoff_max: hour,
        ..limits().retry
    };
    let client = client(&server.base_url, HttpLimits { retry, ..limits() });
    let cancel = CancellationToken::new();
    let outcome = send_and(&client, &cancel, |_| cancel.cancel()).await;
    assert!(matches!(outcome.error(), LlmError::Cancelled { .. }), "{:?}", outcome.result);
    assert_eq!(outcome.retries(), 1);
}
