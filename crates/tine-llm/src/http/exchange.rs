//! One try: a request goes out, an answer comes in.
//!
//! What kind of answer it is follows from its status and content type, never from what was asked for: gateways and
//! local servers answer as they like. This module decides for each failure whether it may be tried again; it never
//! tries again itself.

use bytes::Bytes;
use reqwest::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Response, StatusCode};
use tine_model::WireFormat;
use tine_wire::{DecodeError, Failure, Partial, Reply, decode_failure, decode_reply};
use tokio::time::Instant;

use crate::error::{BrokenCause, LlmError, TimeLimit, TransportError};
use crate::http::address::without_credentials;
use crate::http::failing::{nothing, transport};
use crate::http::gate::{Permit, foreseen};
use crate::http::incoming::{Incoming, Report, Seen, report_whole};
use crate::http::retry::Retry;
use crate::http::secret::Secret;
use crate::http::watch::{Deadline, Stop, Watch};

/// Most bytes read of an answer that is a failure; the rest is left. Real ones are under a kilobyte, web pages under
/// a hundred.
pub const ERROR_BYTES_MAX: usize = 256 * 1024;

/// Headers that hold the provider's id of a request.
const REQUEST_ID_HEADERS: [&str; 2] = ["request-id", "x-request-id"];

/// A try that gave no reply.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) error: LlmError,
    pub(crate) retry: Retry,
}

impl Failed {
    /// Without the key in what was quoted.
    pub(crate) fn redacted(self, key: &Secret) -> Self {
        Self { error: self.error.redacted(key), ..self }
    }

    fn stopped(stop: Stop, partial: Box<Partial>) -> Self {
        // A request that ran into a limit is probably still being worked on; sent again it would be paid twice.
        Self { error: stop.with(partial), retry: Retry::Never }
    }

    fn refused(failure: Failure, retry: Retry) -> Self {
        Self { error: LlmError::Refused { failure, attempts: 1, asked_wait: None }, retry }
    }

    /// `begun` forbids another try: a part of the reply was shown already.
    fn broken(cause: BrokenCause, partial: Box<Partial>, begun: bool) -> Self {
        let retry = if begun { Retry::Never } else { Retry::Backoff };
        Self { error: LlmError::Broken { partial, cause }, retry }
    }

    fn undecodable(error: DecodeError, partial: Box<Partial>, seen: Seen) -> Self {
        match error {
            DecodeError::Provider(failure) if seen.content => {
                Self::broken(BrokenCause::Provider(failure), partial, true)
            }
            DecodeError::Provider(failure) => {
                let retry = Retry::after_event(&failure);
                Self::refused(failure, retry)
            }
            DecodeError::Truncated => Self::broken(BrokenCause::Ended, partial, seen.begun),
            source @ (DecodeError::Protocol { .. } | DecodeError::TooLarge { .. }) => {
                Self { error: LlmError::Protocol { partial, source }, retry: Retry::Never }
            }
        }
    }
}

/// One try under its limits.
pub(crate) struct Exchange<'a> {
    pub(crate) format: WireFormat,
    /// Where the request goes, for the error text.
    pub(crate) url: &'a str,
    pub(crate) watch: &'a Watch<'a>,
    /// When the request is sent: now.
    pub(crate) sent: Instant,
    /// For the first part of the reply.
    pub(crate) first: Deadline,
    /// For all of it.
    pub(crate) end: Deadline,
    /// Told when the provider takes the request, and what it says of its limits.
    pub(crate) permit: &'a Permit,
}

impl Exchange<'_> {
    /// Sends and reads the reply to its end.
    pub(crate) async fn run(
        &self,
        sending: impl Future<Output = Result<Response, reqwest::Error>>,
        report: &mut Report<'_>,
    ) -> Result<Reply, Failed> {
        let response = self.answer(sending).await?;
        match content(response.headers()) {
            Content::Stream if response.status().is_success() => {
                self.streamed(response, report).await
            }
            Content::Json if response.status().is_success() => self.whole(response, report).await,
            Content::Stream | Content::Json | Content::Other => Err(self.failure(response).await),
        }
    }

    /// Sends, and returns the bytes of an answer that is no model's reply: JSON, or nothing.
    pub(crate) async fn call(
        &self,
        sending: impl Future<Output = Result<Response, reqwest::Error>>,
    ) -> Result<Vec<u8>, Failed> {
        let response = self.answer(sending).await?;
        let headers = response.headers();
        let empty = headers.get(CONTENT_LENGTH).is_some_and(|length| length == "0")
            || response.status() == StatusCode::NO_CONTENT;
        if response.status().is_success() && (empty || content(headers) == Content::Json) {
            self.permit.taken();
            self.all(response).await
        } else {
            Err(self.failure(response).await)
        }
    }

    async fn answer(
        &self,
        sending: impl Future<Output = Result<Response, reqwest::Error>>,
    ) -> Result<Response, Failed> {
        let response = match self.watch.over(self.first, sending).await {
            Err(stop) => return Err(Failed::stopped(stop, nothing())),
            Ok(Err(error)) => return Err(self.unanswered(error)),
            Ok(Ok(response)) => response,
        };
        tracing::debug!(status = response.status().as_u16(), "answer");
        self.permit.answered();
        // A refusal says itself how long to wait.
        if response.status().is_success()
            && let Some(wait) = foreseen(response.headers())
        {
            tracing::info!(?wait, "the rate limit is used up");
            self.permit.used_up(wait);
        }
        Ok(response)
    }

    /// There is no answer at all.
    fn unanswered(&self, error: reqwest::Error) -> Failed {
        if !error.is_connect() {
            let cause = BrokenCause::Connection(transport(error));
            return Failed::broken(cause, nothing(), false);
        }
        let error = if error.is_timeout() {
            let allowed = self.watch.limits().connect;
            LlmError::Timeout { limit: TimeLimit::Connect, allowed, partial: nothing() }
        } else {
            let (url, source) = (self.url.to_owned(), transport(error));
            LlmError::Unreachable { url, attempts: 1, source }
        };
        Failed { error, retry: Retry::Backoff }
    }

    async fn streamed(
        &self,
        mut response: Response,
        report: &mut Report<'_>,
    ) -> Result<Reply, Failed> {
        let mut incoming = Incoming::new(self.format, self.sent);
        let most = self.watch.limits().reply_bytes;
        let mut room = most;
        loop {
            let seen = incoming.seen();
            let deadline = if seen.begun { self.watch.idle() } else { self.first };
            match self.watch.over(deadline.or_sooner(self.end), response.chunk()).await {
                Ok(Ok(Some(bytes))) if bytes.len() > room => {
                    let error = DecodeError::TooLarge { limit: most };
                    return Err(Failed::undecodable(error, incoming.partial(), seen));
                }
                Ok(Ok(Some(bytes))) => {
                    room -= bytes.len();
                    let pushed = incoming.push(&bytes, report);
                    let now = incoming.seen();
                    if now.begun && !seen.begun {
                        self.permit.taken();
                    }
                    if let Err(error) = pushed {
                        return Err(Failed::undecodable(error, incoming.partial(), now));
                    }
                }
                Ok(Ok(None)) => {
                    return incoming
                        .end()
                        .map_err(|(error, partial)| Failed::undecodable(error, partial, seen));
                }
                Ok(Err(lost)) => {
                    return incoming.end().map_err(|(error, partial)| match error {
                        DecodeError::Truncated => {
                            let cause = BrokenCause::Connection(transport(lost));
                            Failed::broken(cause, partial, seen.begun)
                        }
                        error => Failed::undecodable(error, partial, seen),
                    });
                }
                Err(stop @ Stop::Cancelled) => {
                    return Err(Failed::stopped(stop, incoming.partial()));
                }
                Err(stop @ Stop::Limit { .. }) => {
                    // A server that leaves the connection open after the end of its reply has replied.
                    return incoming.end().map_err(|(_, partial)| Failed::stopped(stop, partial));
                }
            }
        }
    }

    async fn whole(&self, response: Response, report: &mut Report<'_>) -> Result<Reply, Failed> {
        self.permit.taken();
        let bytes = self.all(response).await?;
        let reply = decode_reply(self.format, &bytes)
            .map_err(|error| Failed::undecodable(error, nothing(), Seen::default()))?;
        report_whole(&reply, self.sent, report);
        Ok(reply)
    }

    /// The whole body of an answer.
    async fn all(&self, response: Response) -> Result<Vec<u8>, Failed> {
        let most = self.watch.limits().reply_bytes;
        let (bytes, end) = self.read(response, most).await;
        match end {
            End::Complete => Ok(bytes),
            End::TooLarge => {
                let error = DecodeError::TooLarge { limit: most };
                Err(Failed::undecodable(error, nothing(), Seen::default()))
            }
            End::Lost(error) => {
                Err(Failed::broken(BrokenCause::Connection(error), nothing(), false))
            }
            End::Stopped(stop) => Err(Failed::stopped(stop, nothing())),
        }
    }

    /// An answer that is no reply. What can be read of it is read; its status alone says enough to go on.
    async fn failure(&self, response: Response) -> Failed {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let (bytes, end) = self.read(response, ERROR_BYTES_MAX).await;
        if let End::Stopped(stop @ Stop::Cancelled) = end {
            return Failed::stopped(stop, nothing());
        }
        let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let mut failure = decode_failure(self.format, status, content_type, &bytes);
        if let Some(there) = redirection(status, &headers) {
            failure.message = format!("it redirects to {there}, and redirects are not followed");
        }
        let mut named = REQUEST_ID_HEADERS.into_iter().filter_map(|name| headers.get(name));
        failure.request_id =
            failure.request_id.or_else(|| Some(named.next()?.to_str().ok()?.to_owned()));
        let retry = Retry::after_answer(&failure, &headers);
        Failed::refused(failure, retry)
    }

    /// Reads a body of at most `most` bytes.
    async fn read(&self, mut response: Response, most: usize) -> (Vec<u8>, End) {
        let mut bytes = Vec::new();
        let mut deadline = self.first.or_sooner(self.end);
        loop {
            let chunk: Bytes = match self.watch.over(deadline, response.chunk()).await {
                Err(stop) => return (bytes, End::Stopped(stop)),
                Ok(Err(error)) => return (bytes, End::Lost(transport(error))),
                Ok(Ok(None)) => return (bytes, End::Complete),
                Ok(Ok(Some(chunk))) => chunk,
            };
            let room = most - bytes.len();
            bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                return (bytes, End::TooLarge);
            }
            deadline = self.watch.idle().or_sooner(self.end);
        }
    }
}

/// Where a redirect leads. Told, because the cure is to set that address as the base URL.
fn redirection(status: u16, headers: &HeaderMap) -> Option<String> {
    let there = headers.get(LOCATION)?.to_str().ok()?;
    (300..400).contains(&status).then(|| without_credentials(there))
}

/// How a body ended.
enum End {
    Complete,
    TooLarge,
    Lost(TransportError),
    Stopped(Stop),
}

/// What an answer claims to be.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Stream,
    Json,
    Other,
}

fn content(headers: &HeaderMap) -> Content {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match essence.as_str() {
        "text/event-stream" => Content::Stream,
        "application/json" => Content::Json,
        other if other.ends_with("+json") => Content::Json,
        _ => Content::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn content_types_are_read_without_their_parameters() {
        let check = |value: &'static str, expected| {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))]);
            assert_eq!(content(&headers), expected, "{value}");
        };
        check("text/event-stream; charset=utf-8", Content::Stream);
        check("Text/Event-Stream", Content::Stream);
        check("application/json;charset=UTF-8", Content::Json);
        check("application/problem+json", Content::Json);
        check("text/html", Content::Other);
        assert_eq!(content(&HeaderMap::new()), Content::Other);
    }
}
