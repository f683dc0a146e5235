//! One request: where it goes, what is refused, and the answer.

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, UPGRADE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use tine_wire::{continues_thread, refuse, refuse_thread};

use crate::ahead::Ahead;
use crate::gateway::{Format, Threads};
use crate::headers::{asks_for_websocket, pass_on};
use crate::lend::{self, Lender};
use crate::observe::{Exchange, Observer, Passed, Reply};
use crate::upstream::Upstream;

/// The path of Anthropic's requests, behind the base URL.
const MESSAGES: &str = "/v1/messages";

/// The paths of requests that hold a conversation, behind the base URL. Only these are read before they are passed on.
const CONVERSATIONS: [&str; 3] = [MESSAGES, "/responses", "/chat/completions"];

/// A longer request is not looked into for a thread, and not told of. Anthropic refuses requests above 32 MB.
const LOOKED_INTO_BYTES_MAX: usize = 32 << 20;

/// Says to the host's user why a request is sent twice.
const NO_THREADS: &str =
    "tine's gateway does not pass on message threads; send the conversation in full";

/// Said to a fork whose host has sent nothing through this gateway.
const NOTHING_LENT: &str = "tine's gateway has seen no credentials of this account";

/// An answer: the upstream's as it comes, or the gateway's own.
type Answer = Response<Either<Reply, Full<Bytes>>>;

/// All that a gateway needs to answer a request.
pub(crate) struct Relay {
    token: String,
    anthropic: Upstream,
    openai: Upstream,
    threads: Threads,
    observer: Option<Observer>,
    exchanges: AtomicU64,
}

impl Relay {
    pub(crate) fn new(
        token: String,
        [anthropic, openai]: [Upstream; 2],
        threads: Threads,
        observer: Option<Observer>,
    ) -> Self {
        Self { token, anthropic, openai, threads, observer, exchanges: AtomicU64::new(0) }
    }

    /// The path before a format's own paths.
    pub(crate) fn prefix(&self, format: Format) -> String {
        format!("/{}/{}", self.token, format.path())
    }

    /// Answers a request. Fails only if the host's connection breaks, or sends what is no HTTP.
    pub(crate) async fn answer(&self, request: Request<Incoming>) -> hyper::Result<Answer> {
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        let Some((format, rest)) = self.route(target) else {
            return Ok(own(StatusCode::NOT_FOUND, "text/plain", "not found\n".to_owned()));
        };
        let rest = rest.to_owned();
        let (mut head, body) = request.into_parts();
        if asks_for_websocket(&head.headers) {
            return Ok(no_websocket());
        }
        let path = rest.split('?').next().unwrap_or_default();
        let is_post = head.method == Method::POST;
        let may_be_thread = is_post && format == Format::Anthropic && path.ends_with(MESSAGES);
        let is_refused = may_be_thread && self.threads == Threads::Refused;
        let holds_one = || CONVERSATIONS.iter().any(|one| path.ends_with(one));
        let is_told = is_post && self.observer.is_some() && holds_one();
        let (body, exchange) = match is_refused || is_told {
            false => (Ahead::none(body), None),
            true => {
                let (ahead, bytes) = Ahead::whole(body, LOOKED_INTO_BYTES_MAX).await?;
                let is_thread = may_be_thread && bytes.as_deref().is_some_and(continues_thread);
                if is_thread && is_refused {
                    return Ok(json(StatusCode::BAD_REQUEST, refuse_thread(NO_THREADS)));
                }
                // One that is passed on holds no conversation.
                let bytes = bytes.filter(|_| !is_thread);
                let tell = |bytes| self.tell(format, path.to_owned(), &head.headers, bytes);
                (ahead, bytes.and_then(tell))
            }
        };
        let upstream = self.upstream(format);
        head.headers = pass_on(head.headers, Some(upstream.host()));
        Ok(match upstream.send(head, &rest, body).await {
            Ok(reply) => {
                let (mut head, body) = reply.into_parts();
                head.headers = pass_on(head.headers, None);
                if let Some(exchange) = &exchange {
                    exchange.begun(head.status.as_u16(), head.headers.clone());
                }
                Response::from_parts(head, Either::Left(Reply::new(body, exchange)))
            }
            Err(error) => unreached(format, upstream, &*error),
        })
    }

    /// Answers a request of a fork, which goes out with the credentials of an account that has sent some through this gateway.
    pub(crate) async fn answer_fork(
        &self,
        request: Request<Incoming>,
        lender: &Lender,
    ) -> hyper::Result<Answer> {
        let target = request.uri().path_and_query().map_or("", |target| target.as_str());
        let Some((account, format, rest)) = lend::route(target) else {
            return Ok(own(StatusCode::NOT_FOUND, "text/plain", "not found\n".to_owned()));
        };
        let (lent, rest) = (lender(account), rest.to_owned());
        let Some(lent) = lent else {
            return Ok(json(StatusCode::UNAUTHORIZED, refuse(format.wire(), NOTHING_LENT)));
        };
        let (mut head, body) = request.into_parts();
        let upstream = self.upstream(format);
        for name in lent.keys() {
            head.headers.remove(name);
        }
        head.headers.extend(lent);
        head.headers = pass_on(head.headers, Some(upstream.host()));
        Ok(match upstream.send(head, &rest, Ahead::none(body)).await {
            Ok(reply) => {
                let (mut head, body) = reply.into_parts();
                head.headers = pass_on(head.headers, None);
                Response::from_parts(head, Either::Left(Reply::new(body, None)))
            }
            Err(error) => unreached(format, upstream, &*error),
        })
    }

    fn upstream(&self, format: Format) -> &Upstream {
        match format {
            Format::Anthropic => &self.anthropic,
            Format::OpenAi => &self.openai,
        }
    }

    /// Tells of a request; `None` where nobody is to be told.
    fn tell(
        &self,
        format: Format,
        path: String,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Option<Exchange> {
        let observer = self.observer.clone()?;
        let exchange = self.exchanges.fetch_add(1, Ordering::Relaxed);
        let headers = headers.clone();
        observer(Passed::Request { exchange, format, path, headers, body });
        Some(Exchange::new(observer, exchange))
    }

    /// The format and the path behind its prefix. Every token is compared whole, so that time tells nothing of it.
    fn route<'a>(&self, target: &'a str) -> Option<(Format, &'a str)> {
        let (token, rest) = target.strip_prefix('/')?.split_once('/')?;
        let differs = |all: u8, (a, b): (u8, u8)| all | (a ^ b);
        let different = token.bytes().zip(self.token.bytes()).fold(0, differs);
        if token.len() != self.token.len() || different != 0 {
            return None;
        }
        Format::of_path(rest)
    }
}

/// A host that wants a WebSocket falls back to requests at once at this status.
fn no_websocket() -> Answer {
    let text = "tine's gateway passes on no WebSockets; use HTTP requests\n";
    let mut answer = own(StatusCode::UPGRADE_REQUIRED, "text/plain", text.to_owned());
    // The status asks for both.
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    answer.headers_mut().insert(UPGRADE, HeaderValue::from_static("HTTP/1.1"));
    answer
}

/// All causes of the failure; its own text is left out, as it says only that a request failed.
fn unreached(format: Format, upstream: &Upstream, error: &(dyn Error + 'static)) -> Answer {
    let mut message = format!("tine's gateway got no answer from {}", upstream.origin());
    let mut source = error.source();
    while let Some(error) = source {
        message = format!("{message}: {error}");
        source = error.source();
    }
    json(StatusCode::BAD_GATEWAY, refuse(format.wire(), &message))
}

fn json(status: StatusCode, body: String) -> Answer {
    own(status, "application/json", body)
}

fn own(status: StatusCode, content_type: &'static str, body: String) -> Answer {
    let mut answer = Response::new(Either::Right(Full::new(Bytes::from(body))));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}
